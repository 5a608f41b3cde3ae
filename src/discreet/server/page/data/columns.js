// What an owner says about columns, as one table: kinds, bounds, listed values, beside what the file holds.
import { h, help, number, plural, put, table } from "/static/shell.js";

const KINDS = ["integer", "real", "text", "boolean", "date", "timestamp"];
const NUMERIC = ["integer", "real"];
const BOUNDED = [...NUMERIC, "date", "timestamp"];
const INPUTS = { date: { type: "date" }, timestamp: { type: "datetime-local" } };

const unsaid = ({ kind }) => ({ kind, changed: false, what: "nothing", low: "", high: "", keys: "", required: false });

/** The table of columns: `fits` tells whether it is still about the same ones, `update` shows a new report. */
export function columnsPart(draft, changed) {
  const { columns } = draft.report;
  draft.columns = Object.fromEntries(columns.map((one) => [one.name, draft.columns[one.name] ?? unsaid(one)]));
  const rows = columns.map((one) => row(draft.columns[one.name], one, changed, draft.report.typed));
  const update = (report) => report.columns.forEach((one, i) => rows[i].update(one));
  update(draft.report);
  return {
    fits: (report) => report.columns.map(({ name }) => name).join("\n") === columns.map(({ name }) => name).join("\n"),
    update,
    element: [
      h("p", { class: "quiet" }, "Bounds ", help("bounds"), " let a column be summed and averaged; listed values ", help("keys"), " are grouped by. ",
        !draft.isPublic && h("strong", {}, "Both become public: take them from what everybody knows, never from the data.")),
      table("Columns of the file", ["Column|mono", "Kind", "In the file", "What is public about it|asked", "Never NULL"],
        rows.map(({ cells }) => cells), { class: "editable", named: true }),
    ],
  };
}

function row(column, { name }, changed, typed) {
  const holds = h("div", { class: "small" }), detail = h("div", { class: "stack-small" });
  let found = null;
  const pick = (label, options, value, onchange) =>
    h("select", { "aria-label": label, onchange }, options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)));
  const input = (key, label, more) =>
    h("input", { "aria-label": `${label} of ${name}`, placeholder: label, autocomplete: "off", value: column[key], ...more, oninput: ({ target }) => {
      column[key] = target.value;
      changed();
    } });
  const what = h("select", { "aria-label": `What is known about ${name}`, onchange: () => say(what.value) });
  const kind = pick(`Kind of ${name}`, KINDS.map((one) => [one, one]), column.kind, () => {
    Object.assign(column, { kind: kind.value, changed: true });
    say("nothing");
  });

  function say(value, more = {}) {
    Object.assign(column, { what: value, ...more });
    draw();
    changed();
  }
  function draw() {
    const { kind: of } = column;
    put(what, [["nothing", "nothing"], ...(BOUNDED.includes(of) ? [["bounds", "bounds"]] : []), ...(of !== "boolean" ? [["keys", "listed values"]] : [])]
      .map(([value, text]) => h("option", { value, selected: value === column.what }, text)));
    put(detail,
      column.what === "bounds" && h("div", { class: "pair" }, input("low", "Lowest", INPUTS[of] ?? { inputmode: "decimal" }), input("high", "Highest", INPUTS[of] ?? { inputmode: "decimal" })),
      column.what === "keys" && input("keys", "Values, parted by commas,", { class: "wide", placeholder: "Austin, Haifa" }),
      column.what === "nothing" && proposal());
  }
  /** What the data would suggest: for owners to judge, never taken by itself. */
  function proposal() {
    const { known, known_from: from } = found ?? {};
    if (!known || from !== "data") return null;
    const [bounds, keys] = [known.bounds?.map(plainEnd), known.keys];
    const words = bounds ? `${bounds[0]} to ${bounds[1]}` : keys.slice(0, 4).map(String).join(", ") + (keys.length > 4 ? ` and ${number(keys.length - 4)} more` : "");
    const use = () => (bounds ? say("bounds", { low: bounds[0], high: bounds[1] }) : say("keys", { keys: keys.map(quoted).join(", ") }));
    return h("div", {}, h("button", { type: "button", class: "small", onclick: use }, `Use ${words}`),
      h("p", { class: "hint" }, "Taken from the data: only if it is public knowledge."));
  }
  const never = h("input", { type: "checkbox", "aria-label": `${name} is never NULL`, checked: column.required, onchange: () => (column.required = never.checked) });

  function update(one) {
    found = one;
    if (!column.changed) column.kind = kind.value = one.kind;
    kind.disabled = typed && one.kind_from === "file";
    put(holds,
      `${plural(one.values, "value")}${one.distinct ? `, ${number(one.distinct)} different` : ""}`,
      one.nulls > 0 && h("div", { class: "quiet" }, `${number(one.nulls)} NULL`),
      one.unreadable > 0 && h("div", {}, h("span", { class: "tag bad" }, `${number(one.unreadable)} unreadable`), ` ${one.examples.slice(0, 2).join(", ")}`),
      one.outside > 0 && h("div", {}, h("span", { class: "tag noise" }, `${number(one.outside)} outside`), ` ${one.outside_examples.slice(0, 2).join(", ")}`),
      one.kind_from === "data" && !column.changed && h("div", { class: "quiet" }, `looks like ${one.kind}`));
    if (column.what === "nothing" || !what.options.length) draw();
  }
  return { cells: [name, kind, holds, [what, detail], never], update };
}

const plainEnd = (end) => (end !== null && typeof end === "object" ? Object.values(end)[0] : String(end));
const quoted = (key) => (key === null ? "NULL" : /[",]/.test(plainEnd(key)) ? `"${plainEnd(key).replaceAll('"', '""')}"` : plainEnd(key));

/** The same as the server reads it; `problem` says what is missing, `changed` the kinds that the owner chose. */
export function columnFacts(draft) {
  const told = { columns: {}, kinds: {}, changed: {}, required: [], problem: null };
  for (const [name, column] of Object.entries(draft.columns)) {
    const from = draft.report?.columns.find((one) => one.name === name)?.kind_from;
    if (from !== "file" || !draft.report.typed) told.kinds[name] = column.kind;
    if (column.changed) told.changed[name] = column.kind;
    if (column.required) told.required.push(name);
    const ends = [column.low, column.high].map((text) => String(text).trim());
    if (column.what === "bounds" && ends.every(Boolean)) told.columns[name] = { bounds: ends.map((text) => typed(text, column.kind)) };
    else if (column.what === "bounds") told.problem ??= `State both bounds of ${name}.`;
    const values = column.what === "keys" ? parts(column.keys) : [];
    if (values.length) told.columns[name] = { keys: values.map((text) => (text === "NULL" ? null : typed(text, column.kind))) };
    else if (column.what === "keys") told.problem ??= `List the values of ${name}.`;
  }
  return told;
}

const typed = (text, kind) => (NUMERIC.includes(kind) && Number.isFinite(Number(text)) ? Number(text) : text);

/** Values parted by commas; one with a comma stands in quotation marks. */
export function parts(text) {
  return [...text.matchAll(/\s*(?:"((?:[^"]|"")*)"|([^,]*))\s*(?:,|$)/g)]
    .map(([, quotedText, plain]) => (quotedText === undefined ? plain.trim() : quotedText.replaceAll('""', '"')))
    .filter((one) => one !== "");
}
