// Campaigns of the local model: what devices have reported so far, with intervals.
import { api, attempt, busy, field, h, help, number, plural, put, say, table, when } from "/static/shell.js";

const MOST = 20;

export async function drawCampaigns(element) {
  const { campaigns } = await api("/v1/campaigns");
  element.hidden = false;
  element.setAttribute("aria-labelledby", "campaigns-title");
  put(element, h("h2", { id: "campaigns-title" }, "Campaigns ", help("campaign")),
    h("p", { class: "quiet" }, "Reports are private before they leave a device; this store of them needs no trust."),
    campaigns.map(campaign), beginForm(element));
}

/** Begin a campaign of randomized response over listed answers. */
function beginForm(element) {
  const told = h("div", {}), button = h("button", { class: "primary", type: "submit" }, "Begin the campaign");
  const begin = (event) => {
    event.preventDefault();
    const { name, values, epsilon, ends } = Object.fromEntries([...new FormData(event.target)].map(([key, text]) => [key, text.trim()]));
    const domain = values.split(",").map((one) => one.trim()).filter(Boolean);
    const body = { name, protocol: { protocol: "k-randomized-response/1", epsilon, domain }, ends: ends && `${ends}T23:59:59+00:00` };
    attempt(told, async () => {
      if (!name || domain.length < 2 || !(new Date(body.ends) > new Date()))
        return put(told, h("p", { class: "fault", role: "alert" }, "Name it, list at least two answers, and let it end on a day to come."));
      await busy(button, () => api("/v1/campaigns", { method: "POST", body }));
      say(`The campaign ${name} has begun.`);
      return drawCampaigns(element);
    });
  };
  return h("details", {}, h("summary", {}, "Begin a campaign"),
    h("form", { class: "stack notice", novalidate: true, onsubmit: begin },
      h("p", { class: "small" }, "Devices answer one question by randomized response; no budget is charged, since nobody is trusted with an answer."),
      h("div", { class: "two" },
        field("campaign-name", "What it is called", { name: "name", maxlength: 64 }),
        field("campaign-values", "Possible answers", { name: "values", hint: "Separated by commas: yes, no" }),
        field("campaign-epsilon", "Price of one report (epsilon)", { name: "epsilon", inputmode: "decimal", value: "1", topic: "epsilon" }),
        field("campaign-ends", "Ends on", { name: "ends", type: "date" })),
      told, h("div", {}, button)));
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
    table("Estimates", ["Value", "Estimate, 95 % interval|n"], rows.slice(0, MOST).map((row) => [
      String(row.value),
      row.estimate === null ? "–" : [number(row.estimate), off(row)],
    ]), { named: true }),
    values > MOST && h("p", { class: "quiet" }, `The ${MOST} largest of ${number(values)}.`),
  ];
}
