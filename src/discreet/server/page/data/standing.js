// Standing questions: bought once, answered period by period as rows become complete.
import { api, attempt, busy, call, field, h, priced, put, say } from "/static/shell.js";
import { agreed, finished } from "/static/data/orders.js";
import { drawChart } from "/static/ask/chart.js";

const PERIODS = ["day", "week", "month", "quarter", "year", "hour"];

export async function drawStanding(panel, dataset) {
  const all = await api("/v1/releases?kind=stream&limit=50");
  const found = all.filter((one) => one.dataset === dataset.name);
  put(panel,
    found.length ? found.map(standing) : h("p", { class: "quiet" }, "A standing question is a count that is bought once and answered every day, week or month, as rows are appended."),
    dates(dataset).length > 0 ? beginForm(panel, dataset) : h("p", { class: "quiet" }, "It needs a column of dates with bounds, which no table here has."));
}

const dates = ({ tables }) => tables.filter((table) => table.columns.some((column) => column.kind === "date" && column.range));

const quoted = (name) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);

/** A count by the first listed column, to begin with. */
function beginning({ name, columns }) {
  const by = columns.find((one) => one.keys && one.kind !== "boolean"), from = `COUNT(*) AS n FROM ${quoted(name)}`;
  return by ? `SELECT ${quoted(by.name)}, ${from} GROUP BY ${quoted(by.name)}` : `SELECT ${from}`;
}

function standing({ id, sql, epsilon, budget_share, analyst }) {
  const chart = h("div", { class: "chart" }, h("p", { class: "quiet" }, "…"));
  const load = () => attempt(chart, async () => {
    await call(`/v1/streams/${id}`, { as: "blob" }); // answers what has become due
    const { table } = await told(id);
    if (!table) return put(chart, h("p", { class: "quiet" }, "Nothing is complete yet: append rows with a day through which they are."));
    return drawChart(chart, await api(`/v1/releases/${id}?format=chart`));
  });
  load();
  return h("section", { class: "stack-small" },
    h("div", { class: "row apart" }, h("code", {}, sql),
      h("button", { class: "small", type: "button", onclick: load }, "Bring up to date")),
    h("p", { class: "small quiet" }, `For ${analyst}, ${priced(epsilon, budget_share)} for all periods together; lines grow, bands are noise.`),
    chart);
}

/** Whether there is anything to draw. */
async function told(id) {
  const release = await api(`/v1/releases/${id}`);
  return { table: release.rows?.length > 0 };
}

function beginForm(panel, dataset) {
  const [table] = dates(dataset);
  const pick = h("select", { id: "every", name: "every" }, PERIODS.map((one) => h("option", { value: one }, one)));
  const sql = h("textarea", { id: "standing-sql", name: "sql", class: "wide sql", rows: 3, spellcheck: "false", value: beginning(table) });
  const told = h("div", {}), button = h("button", { class: "primary", type: "submit" }, "Look at the price");

  async function begin(event) {
    event.preventDefault();
    const spec = Object.fromEntries([...new FormData(event.target)].map(([key, text]) => [key, text.trim()]).filter(([, text]) => text));
    if (spec.max_periods) spec.max_periods = Number(spec.max_periods);
    await attempt(told, async () => {
      const order = { kind: "stream", spec };
      const offer = await busy(button, () => api("/v1/orders/explain", { method: "POST", body: order }));
      if (!offer.before && !(await agreed(offer))) return;
      await busy(button, () => finished(order));
      say("The standing question has begun.");
      await drawStanding(panel, dataset);
    });
  }

  return h("details", {}, h("summary", {}, "Begin a standing question"),
    h("form", { class: "stack notice", novalidate: true, onsubmit: begin },
      field("standing-sql", "A count by listed values", { control: sql, topic: "standing" }),
      h("div", { class: "two" },
        field("every", "Answered every", { control: pick }),
        field("until", "Until", { type: "date" }),
        field("epsilon", "Price of all periods together (epsilon)", { inputmode: "decimal", value: "1", topic: "epsilon" }),
        field("max_periods", "Periods that one person counts in", { inputmode: "numeric", placeholder: "1" })),
      told, h("div", {}, button)));
}
