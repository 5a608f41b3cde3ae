// Campaigns of the local model: what devices have reported so far, with intervals.
import { api, attempt, h, help, number, plural, put, table, when } from "/static/shell.js";

const MOST = 20;

export async function drawCampaigns(element) {
  const { campaigns } = await api("/v1/campaigns");
  element.hidden = campaigns.length === 0;
  put(element, h("h2", { id: "campaigns-title" }, "Campaigns ", help("campaign")),
    h("p", { class: "quiet" }, "Reports are private before they leave a device; this store of them needs no trust."),
    campaigns.map(campaign));
}

function campaign({ name, protocol, ends }) {
  const board = h("div", {}, h("p", { class: "quiet" }, "…"));
  const load = () => attempt(board, async () => put(board, shown(await api(`/v1/campaigns/${encodeURIComponent(name)}/estimate`))));
  load();
  return h("section", { class: "stack-small" },
    h("div", { class: "row apart" }, h("h3", {}, h("code", {}, name)), h("button", { class: "small", type: "button", onclick: load }, "Count again")),
    h("p", { class: "quiet" }, `${protocol.protocol.split("/")[0]}, epsilon ${protocol.epsilon}, until ${when(ends)}`),
    board);
}

function shown({ n, rejected, values, rows }) {
  const refused = Object.values(rejected).reduce((sum, one) => sum + one, 0);
  const off = ({ lower, upper }) => lower !== null && h("span", { class: "pm" }, `± ${number(Math.ceil((upper - lower) / 2))}`);
  return [
    h("p", {}, `${plural(n, "report")}, ${number(refused)} refused.`),
    table("Estimates", ["Value", "Estimate, 95 times in 100|n"], rows.slice(0, MOST).map((row) => [
      String(row.value),
      row.estimate === null ? "–" : [number(row.estimate), off(row)],
    ]), { named: true }),
    values > MOST && h("p", { class: "quiet" }, `The ${MOST} largest of ${number(values)}.`),
  ];
}
