// What an owner says about columns: kinds, bounds, keys.
import { h, put } from "/static/shell.js";

const KINDS = ["integer", "real", "text", "boolean", "date", "timestamp"];

/** One line of controls for each column. */
export function columnRows(draft, changed) {
  return draft.found.map(({ name }, i) => row(draft, name, `c${i}`, changed));
}

const isUnit = (draft, name) => draft.unit?.column === name;

function row(draft, name, id, changed) {
  const column = draft.columns[name],
    detail = h("div", { class: "stack-small" });
  const input = (key, label, facts) =>
    h(
      "div",
      { class: "field grow" },
      h("label", { for: `${id}-${key}`, class: "small" }, label),
      h("input", {
        id: `${id}-${key}`,
        class: "wide",
        autocomplete: "off",
        value: column[key],
        oninput: (event) => {
          column[key] = event.target.value;
          changed();
        },
        ...facts,
      }),
    );
  const time = () =>
    column.kind === "date"
      ? { type: "date" }
      : column.kind === "timestamp"
        ? { type: "datetime-local" }
        : { inputmode: "decimal" };
  function redraw() {
    put(
      detail,
      column.what === "bounds" &&
        h("div", { class: "row" }, input("low", "Lowest", time()), input("high", "Highest", time())),
      column.what === "keys" && input("keys", "Values, parted by commas", { placeholder: "Austin, Haifa" }),
      h(
        "label",
        { class: "check small" },
        h("input", {
          type: "checkbox",
          checked: column.required,
          onchange: (event) => {
            column.required = event.target.checked;
          },
        }),
        "never NULL",
      ),
    );
  }
  const options = () => [
    ["nothing", "nothing is stated"],
    ...(["integer", "real", "date", "timestamp"].includes(column.kind) ? [["bounds", "bounds"]] : []),
    ...(column.kind !== "boolean" ? [["keys", "a list of values"]] : []),
  ];
  const what = h("select", {
    "aria-label": `What is known about ${name}`,
    onchange: () => {
      column.what = what.value;
      redraw();
      changed();
    },
  });
  const fillWhat = () =>
    put(
      what,
      options().map(([value, text]) => h("option", { value, selected: value === column.what }, text)),
    );
  const kind = h(
    "select",
    {
      "aria-label": `Kind of ${name}`,
      disabled: column.known,
      onchange: () => {
        column.kind = kind.value;
        column.what = "nothing";
        fillWhat();
        redraw();
        changed();
      },
    },
    KINDS.map((one) => h("option", { value: one, selected: one === column.kind }, one)),
  );
  if (!column.kind) column.kind = kind.value = "text";
  fillWhat();
  redraw();
  return h(
    "div",
    { class: "column-row" },
    h(
      "div",
      { class: "name" },
      name,
      isUnit(draft, name) && [" ", h("span", { class: "tag accent" }, "tells people apart")],
    ),
    kind,
    h("div", { class: "stack-small" }, what, detail),
  );
}

/** The same as the server reads it; `problem` says what is missing. */
export function columnFacts(draft) {
  const columns = {},
    kinds = {},
    required = [];
  let problem = null;
  for (const { name } of draft.found) {
    const column = draft.columns[name];
    if (!column.known) kinds[name] = column.kind;
    if (column.required) required.push(name);
    if (column.what === "bounds") {
      if (!String(column.low).trim() || !String(column.high).trim())
        problem ??= `State both bounds of ${name}.`;
      columns[name] = { bounds: [bound(column.low, column.kind), bound(column.high, column.kind)] };
    }
    if (column.what === "keys") {
      const values = parts(column.keys);
      if (!values.length) problem ??= `List the values of ${name}.`;
      columns[name] = { keys: values.map((text) => key(text, column.kind)) };
    }
  }
  return { columns, kinds, required, problem };
}

const numeric = (kind) => kind === "integer" || kind === "real";
const bound = (text, kind) =>
  numeric(kind) && Number.isFinite(Number(text)) ? Number(text) : String(text).trim();

function key(text, kind) {
  if (text === "NULL") return null;
  return numeric(kind) && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** Values parted by commas; one with a comma stands in quotation marks. */
export function parts(text) {
  return [...text.matchAll(/\s*(?:"((?:[^"]|"")*)"|([^,]*))\s*(?:,|$)/g)]
    .map(([, quoted, plain]) => (quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"')))
    .filter((one) => one !== "");
}
