// What was made from a dataset besides answers, and the form to order more: synthetic tables, fitted models, census releases, online epochs.
import { api, h, ORDERS, priced, put, table, when } from "/static/shell.js";
import { orderForm } from "/static/data/orders.js";

const KINDS = Object.keys(ORDERS).filter((kind) => !["query", "stream"].includes(kind));

const TABLES = ["synthesis", "participation"];

export async function drawMade(panel, dataset) {
  const { name } = dataset;
  const all = await api(`/v1/releases?limit=200&${KINDS.map((kind) => `kind=${kind}`).join("&")}`);
  const found = all.filter((one) => one.dataset === name);
  put(panel,
    found.length
      ? table(`Made from ${name}`, ["What", "When|time", "By", "Price|n", "Take along"], found.map(row))
      : h("p", { class: "quiet" }, "Profiles, synthetic tables, fitted models, census releases and online queries are listed here once they are made."),
    orderForm(dataset, () => drawMade(panel, dataset)));
}

const row = ({ id, kind, time, analyst, epsilon, budget_share, released, failed }) => [
  ORDERS[kind] ?? kind,
  when(time),
  analyst,
  priced(epsilon, budget_share),
  failed ? h("span", { class: "tag bad" }, "no answer")
    : !released ? h("span", { class: "tag" }, "being made")
      : h("span", { class: "row" },
          (TABLES.includes(kind) ? ["CSV", "Parquet"] : ["JSON"]).map((form) =>
            h("a", { href: `/v1/releases/${id}?format=${form.toLowerCase()}`, download: `${kind}-${id}.${form.toLowerCase()}` }, form)),
          h("a", { href: `/statement?release=${id}` }, "Statement")),
];
