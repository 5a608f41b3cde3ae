// The tables of a dataset: columns and what is public about them, and made-up rows.
import { api, attempt, busy, h, number, put, table } from "/static/shell.js";
import { stated, unit } from "/static/ask/schema.js";
import { ofOnePerson } from "/static/data/dataset.js";

export function drawTables(panel, { tables }) {
  const rows = h("div", { class: "stack" });
  const show = ({ currentTarget }) =>
    attempt(rows, async () => {
      const made = await busy(currentTarget, () =>
        Promise.all(tables.map(({ name }) => api(`/v1/tables/${encodeURIComponent(name)}/dummy?rows=8`))));
      put(rows, tables.map(({ name }, i) => dummyTable(made[i], `Made-up rows of ${name}: nothing here was read from your data.`)));
    });
  put(panel, tables.map(columns), h("div", {}, h("button", { class: "small", type: "button", onclick: show }, "Made-up rows")), rows);
}

const columns = (one) =>
  table(`Columns of ${one.name}`, ["Column|mono", "Kind", "Public facts"],
    one.columns.map((column) => [
      column.name,
      column.kind,
      [stated(column) || h("span", { class: "quiet" }, "none"), !column.nullable && [" ", h("span", { class: "tag" }, "never NULL")]],
    ]),
    { caption: [h("strong", { class: "mono" }, one.name), ` ${unit(one)}. ${ofOnePerson([one])}`] });

const shown = (value) =>
  value === null ? h("span", { class: "null" }, "NULL") : typeof value === "number" ? number(value, 5) : String(value);

/** Rows that were made up, labelled as such; where noise was added, how much stands beside it. */
export function dummyTable({ columns: names, rows }, caption, widths = {}) {
  const cells = (row, i) =>
    row.map((value, j) => {
      const off = widths[names[j]]?.[i];
      return [shown(value), off != null && h("span", { class: "pm" }, `± ${number(Math.ceil(off))}`)];
    });
  return table("Made-up rows", names, rows.slice(0, 8).map(cells),
    { class: "small", caption: [h("span", { class: "tag accent" }, "made up"), " ", caption] });
}
