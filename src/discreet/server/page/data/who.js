// Who is protected: the choice that has no default. A public table has a key instead.
import { h } from "/static/shell.js";

/** A unit of protection in a few words. */
export function unitWords(unit) {
  if (unit.kind === "EachRow") return "each single row, and nobody's other rows";
  if (unit.kind === "Path") return `people, by ${unit.column} → ${unit.table}.${unit.key}`;
  return `people, as ${unit.column} tells them apart`;
}

function pick(label, value, options) {
  return h(
    "select",
    { "aria-label": label },
    h("option", { value: "" }, `${label} …`),
    options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)),
  );
}

export function whoStep(draft, { schema, heading, next, changed }) {
  const names = draft.found.map(({ name }) => [name, name]),
    unit = draft.unit ?? {};
  const tables = Object.values(schema.tables).filter((table) => table.unit && table.dataset === draft.dataset);
  const keys = tables.flatMap((table) =>
    table.columns.map((column) => [
      JSON.stringify([table.name, column.name]),
      `${table.name}.${column.name}`,
    ]),
  );
  const person = pick("Column that names the person", unit.kind === "Person" ? unit.column : "", names);
  const by = pick("Column here", unit.kind === "Path" ? unit.column : "", names);
  const to = pick("Table and key", unit.kind === "Path" ? JSON.stringify([unit.table, unit.key]) : "", keys);

  const option = (kind, title, words, ...more) =>
    h(
      "label",
      {},
      h("input", { type: "radio", name: "unit", value: kind, checked: unit.kind === kind, onchange: read }),
      h(
        "span",
        {},
        h("strong", {}, title),
        h("span", { class: "small quiet" }, words),
        more.length > 0 && h("span", { class: "row" }, more),
      ),
    );
  const options = h(
    "div",
    { class: "options" },
    option(
      "Person",
      "A person, with all of their rows",
      "A column tells people apart: a patient number, a household, a device.",
      person,
    ),
    keys.length > 0 &&
      option(
        "Path",
        "A person, by way of another table",
        "A column here leads to the table that names the person.",
        by,
        to,
      ),
    option(
      "EachRow",
      "Each row by itself",
      "Weak: somebody with several rows is protected for any one of them, not for all. Right " +
        "only if nobody has two rows.",
    ),
  );

  function read() {
    draft.unit = chosen(options.querySelector("input:checked")?.value);
    changed();
  }

  function chosen(kind) {
    if (kind === "EachRow") return { kind };
    if (kind === "Person" && person.value) return { kind, column: person.value };
    if (kind !== "Path" || !by.value || !to.value) return null;
    const [table, key] = JSON.parse(to.value);
    return { kind, column: by.value, table, key };
  }

  for (const [select, kind] of [
    [person, "Person"],
    [by, "Path"],
    [to, "Path"],
  ]) {
    select.addEventListener("change", () => {
      options.querySelector(`input[value=${kind}]`).checked = true;
      read();
    });
  }
  return [
    heading("Who is protected?"),
    h(
      "p",
      { class: "quiet" },
      "One unit of protection is everything about one of these. There is no default: it is " +
        "the most important choice here.",
    ),
    h("fieldset", {}, h("legend", { class: "visually-hidden" }, "Who is protected"), options),
    next(() => {
      read();
      return draft.unit ? null : "Choose who is protected, and the column.";
    }),
  ];
}

/** The columns that tell the rows of a public table apart. */
export function keyStep(draft, { heading, next, changed }) {
  const box = ({ name }) =>
    h(
      "label",
      { class: "check" },
      h("input", {
        type: "checkbox",
        checked: draft.key.includes(name),
        onchange: (event) => {
          draft.key = draft.key.filter((one) => one !== name).concat(event.target.checked ? [name] : []);
          changed();
        },
      }),
      h("code", {}, name),
    );
  return [
    heading("What tells its rows apart?"),
    h(
      "p",
      { class: "quiet" },
      "No two rows may have the same values in these columns; that is checked when it is added.",
    ),
    h(
      "fieldset",
      { class: "stack-small" },
      h("legend", { class: "visually-hidden" }, "Key"),
      draft.found.map(box),
    ),
    next(() => (draft.key.length ? null : "Choose at least one column.")),
  ];
}
