// The load report: what a file holds, what would be lost, and what its owner has to decide.
import { h, plural } from "/static/shell.js";

const DELIMITERS = { ",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars" };

export function reportPart(draft, look) {
  const { rows, people, skipped, reading, typed, tables, questions } = draft.report;
  const how = [
    reading.delimiter && `parted by ${DELIMITERS[reading.delimiter] ?? reading.delimiter}`,
    reading.encoding && `written in ${reading.encoding}`,
    reading.decimal === "," && "numbers with a comma",
    ...Object.entries(reading.dates ?? {}).map(([name, format]) => `${name} as ${format}`),
  ].filter(Boolean);
  return [
    h("div", { class: "notice good", id: "load-report" },
      h("strong", {}, `${draft.file.name}: ${plural(rows, "row")}, ${plural(draft.report.columns.length, "column")}`,
        people !== null && `, ${plural(people, "person", "people")}`, "."),
      skipped > 0 && h("p", {}, `${plural(skipped, "line")} with too few or too many fields ${skipped === 1 ? "is" : "are"} left out.`),
      h("p", { class: "small" }, typed ? "Kinds of columns are those of the file." : `Read as text${how.length ? `, ${how.join(", ")}` : ""}. Kinds below are as the columns look: check them.`),
      h("p", { class: "small quiet" }, "For you alone, and kept nowhere.")),
    tables.length > 1 && sheets(draft, tables, look),
    questions.map((question) => asked(question, draft, look)),
  ];
}

function sheets(draft, tables, look) {
  const pick = h("select", { "aria-label": "Sheet or table of the file", onchange: () => {
      Object.assign(draft, { source: pick.value || null, columns: {}, unit: null, reading: {} });
      look();
    } },
    h("option", { value: "" }, "Sheet or table …"),
    tables.map((name) => h("option", { value: name, selected: name === draft.source }, name)));
  return pick;
}

/** A question about the file: one click answers it, and the file is read again. */
function asked({ about, column, text, answers }, draft, look) {
  const merge = (more) => {
    draft.reading = { ...draft.reading, ...more, dates: { ...draft.reading.dates, ...more.dates } };
    look();
  };
  const free = about === "dates" && !answers.length &&
    h("input", { "aria-label": `Format of ${column}`, placeholder: "%d/%m/%Y", onchange: ({ target }) => merge({ dates: { [column]: target.value.trim() } }) });
  const { kind } = draft.report.columns.find((one) => one.name === column) ?? {};
  const plain = ["text", "sentinel", "words"].includes(about) || (about === "dates" && !["date", "timestamp"].includes(kind));
  const keep = () => { // the kind, once its owner says it, answers what the column looks like
    draft.columns[column].changed = true;
    look();
  };
  return h("div", { class: "notice noise stack-small question", role: "group", "aria-label": `Question about ${column ?? about}` },
    h("p", {}, text.replace(/:? kinds=\{.*$/, ".")),
    h("div", { class: "row" },
      answers.map(({ label, reading }) => h("button", { type: "button", class: "small", onclick: () => merge(reading) }, label)), free,
      kind && plain && h("button", { type: "button", class: "small", onclick: keep }, `${column} holds ${kind}`)));
}
