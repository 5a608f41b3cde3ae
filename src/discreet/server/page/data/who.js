// Who is protected: the choice that has no default. A public table has a key instead.
import { field, h, help } from "/static/shell.js";

const PERIODS = ["day", "week", "month", "quarter", "year"];

const pick = (label, options) =>
  h("select", { "aria-label": label }, h("option", { value: "" }, `${label} …`), options.map(([key, text]) => h("option", { value: key }, text)));

export function whoPart(draft, schema, changed) {
  const columns = draft.report.columns, names = columns.map(({ name }) => [name, name]);
  const dates = columns.filter(({ kind }) => ["date", "timestamp"].includes(kind)).map(({ name }) => [name, name]);
  const keys = Object.values(schema.tables)
    .filter((table) => table.unit && table.dataset === draft.dataset)
    .flatMap((table) => table.columns.map((column) => [JSON.stringify([table.name, column.name]), `${table.name}.${column.name}`]));
  const person = pick("Column that names the person", names);
  const [by, to] = [pick("Column here", names), pick("Table and key", keys)];
  const [somebody, period, every] = [pick("Column of the person", names), pick("Column of dates", dates), pick("Every", PERIODS.map((one) => [one, one]))];
  const units = {
    Person: [[person], (column) => ({ column })],
    Path: [[by, to], (column, path) => ({ column, table: JSON.parse(path)[0], key: JSON.parse(path)[1] })],
    PersonPeriod: [[somebody, period, every], (column, of, each) => ({ column, period: of, every: each })],
    EachRow: [[], () => ({})],
  };
  const option = (kind, title, words) =>
    h("label", {}, h("input", { type: "radio", name: "unit", value: kind, onchange: read }),
      h("span", {}, h("strong", {}, title), h("span", { class: "small quiet" }, words), units[kind][0].length > 0 && h("span", { class: "row" }, units[kind][0])));
  const options = h("div", { class: "options" },
    option("Person", "A person, with all of their rows", "A column tells people apart: a patient number, a household, a device."),
    keys.length > 0 && option("Path", "A person, by way of another table", "A column here leads to the table that names the person."),
    dates.length > 0 && option("PersonPeriod", "A person in one period", "Weaker: answers together may tell that somebody is there in most periods."),
    option("EachRow", "Each row by itself", "Weak: somebody with several rows is protected for any one of them, not for all. Right only if nobody has two rows."));

  function read() {
    const kind = options.querySelector("input:checked")?.value, [selects, make] = units[kind] ?? [[{}]];
    const values = selects.map(({ value }) => value);
    draft.unit = values.every(Boolean) && make ? { kind, ...make(...values) } : null;
    changed();
  }
  for (const [kind, [selects]] of Object.entries(units))
    for (const select of selects)
      select.addEventListener("change", () => {
        options.querySelector(`input[value=${kind}]`).checked = true;
        read();
      });
  const limit = (id, label, hint) =>
    field(id, label, { inputmode: "numeric", value: draft[id], placeholder: "chosen privately", hint, topic: "limits", oninput: ({ target }) => (draft[id] = target.value.trim()) });
  draft.unit = null;
  return [
    h("p", { class: "quiet" }, "One unit of protection is everything about one of these. There is no default: it is the most important choice here. ", help("unit")),
    h("fieldset", {}, h("legend", { class: "visually-hidden" }, "Who is protected"), options),
    h("div", { class: "two" },
      limit("max_rows", "Rows of one person in one group", "One row per person: 1. Visits to a clinic: perhaps 10."),
      limit("max_groups", "Groups of one answer that one person is in", "Somebody lives in one city: 1. Visits in several months: perhaps 12.")),
  ];
}

/** The columns that tell the rows of a public table apart. */
export const keyPart = (draft) => [
  h("p", { class: "quiet" }, "No two rows may have the same values in these columns; that is checked when it is added."),
  h("fieldset", { class: "stack-small" }, h("legend", { class: "visually-hidden" }, "Key"),
    draft.report.columns.map(({ name }) =>
      h("label", { class: "check" },
        h("input", { type: "checkbox", checked: draft.key.includes(name), onchange: ({ target }) => {
          draft.key = draft.key.filter((one) => one !== name).concat(target.checked ? [name] : []);
        } }),
        h("code", {}, name)))),
];
