// Campaigns of the local model: what devices have reported so far, with intervals.
import { api, faultBox, h, number, plural, put, when } from "/static/shell.js";

export async function drawCampaigns(element) {
  const { campaigns } = await api("/v1/campaigns");
  element.hidden = campaigns.length === 0;
  put(element, h("h2", { id: "campaigns-title" }, "Campaigns"),
    h("p", { class: "quiet" }, "Reports are private before they leave a device; this store of them needs no trust."),
    campaigns.map((one) => campaign(one)));
}

function campaign({ name, protocol, ends }) {
  const board = h("div", {}, h("p", { class: "quiet" }, "…"));
  const load = async () => {
    try {
      put(board, shown(await api(`/v1/campaigns/${name}/estimate`)));
    } catch (fault) {
      put(board, faultBox(fault));
    }
  };
  load();
  return h("section", { class: "stack-small" },
    h("div", { class: "row apart" }, h("h3", {}, h("code", {}, name)),
      h("button", { type: "button", onclick: load }, "Count again")),
    h("p", { class: "quiet" }, `${protocol.protocol.split("/")[0]}, epsilon ${protocol.epsilon}, until ${when(Date.parse(ends) / 1000)}`),
    board);
}

function shown({ n, rejected, values, rows }) {
  const refused = Object.values(rejected).reduce((sum, one) => sum + one, 0);
  return h("div", {},
    h("p", {}, `${plural(n, "report")}, ${number(refused)} refused.`),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Estimates" },
      h("table", {},
        h("thead", {}, h("tr", {}, ["Value", "Estimate", "95 % interval"].map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, rows.slice(0, 20).map((row) => h("tr", {},
          h("th", { scope: "row" }, String(row.value)),
          h("td", { class: "n" }, row.estimate === null ? "–" : number(row.estimate)),
          h("td", { class: "n" }, row.lower === null ? "–" : `${number(row.lower)} to ${number(row.upper)}`)))))),
    values > 20 && h("p", { class: "quiet" }, `The 20 largest of ${number(values)}.`));
}
