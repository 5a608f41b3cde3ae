// Adding a table: one form. The file is read through for its owner alone, and nothing is kept before the end.
import { api, attempt, busy, confirmed, debounce, field, fraction, h, number, one, put, say, upload } from "/static/shell.js";
import { budgetPart } from "/static/data/budget.js";
import { columnFacts, columnsPart } from "/static/data/columns.js";
import { reportPart } from "/static/data/report.js";
import { dummyTable } from "/static/data/tables.js";
import { keyPart, whoPart } from "/static/data/who.js";

const PUBLIC = "public table";
const FORMATS = ".parquet,.csv,.tsv,.txt,.gz,.json,.jsonl,.ndjson,.xlsx,.sqlite,.feather,.arrow";

/** What is asked of an owner, before anything is answered. */
const blank = () => ({
  name: "", file: null, upload: null, report: null, reading: {}, source: null, dataset: "", isPublic: false,
  key: [], unit: null, max_rows: "", max_groups: "", columns: {}, epsilon: "1", delta: "1e-6",
});

function unitSent({ unit }) {
  if (!unit) return null;
  const { kind, ...where } = unit;
  return kind === "Person" ? where.column : kind === "EachRow" ? { each_row: true } : where;
}

const reading = (draft) => ({ reading: draft.reading, source_table: draft.source });

/** The draft as the server adds it; kinds of all columns are said, so nothing is guessed. */
function request(draft) {
  const { columns, kinds, required } = columnFacts(draft);
  const told = { name: draft.name, upload: draft.upload, columns, kinds, ...reading(draft) };
  if (draft.isPublic) return { ...told, key: draft.key };
  const limit = (text) => (text && draft.unit.kind !== "EachRow" ? Number(text) : null);
  const limits = { max_groups: limit(draft.max_groups), max_rows: limit(draft.max_rows) };
  const paid = draft.dataset ? { dataset: draft.dataset } : { budget: { epsilon: draft.epsilon, delta: draft.delta || "0" } };
  return { ...told, unit: unitSent(draft), limits, required, ...paid };
}

/** What is missing first, or null. */
function missing(draft) {
  if (!draft.upload || !draft.report) return "Choose a file first.";
  if (!draft.name) return "Give the table a name.";
  if (draft.report.questions.length) return "Answer the questions about the file first.";
  if (draft.isPublic && !draft.key.length) return "Choose at least one column that tells rows apart.";
  if (!draft.isPublic && !draft.unit) return "Choose who is protected, and the column.";
  if (["max_rows", "max_groups"].some((id) => draft[id] && !/^[1-9]\d*$/.test(draft[id])))
    return "Limits are whole numbers from 1 on, or empty.";
  const chance = Number(draft.delta || 0);
  if (!draft.isPublic && !draft.dataset && !(Number(draft.epsilon) > 0 && chance >= 0 && chance < 1))
    return "The budget is above 0, the chance of an exception at least 0 and below 1.";
  return columnFacts(draft).problem;
}

export function openWizard(target, schema, done) {
  const draft = blank();
  const rest = h("div", { class: "stack-large" }), found = h("div", { class: "stack", "aria-live": "polite" });
  let columns = null, asked = 0;

  /** Read the file through as it is described so far; the newest reply counts. */
  async function look() {
    const turn = ++asked;
    const { columns: known, changed: kinds } = columnFacts(draft);
    const body = { unit: draft.isPublic ? null : unitSent(draft), columns: known, kinds, ...reading(draft) };
    await attempt(found, async () => {
      const report = await api(`/v1/uploads/${draft.upload}/report`, { method: "POST", body });
      if (turn !== asked) return;
      draft.report = report;
      draft.reading = draft.report.reading;
      put(found, reportPart(draft, look));
      if (columns?.fits(draft.report)) columns.update(draft.report);
      else drawRest();
    });
  }
  const lookSoon = debounce(look, 500);

  function drawRest() {
    columns = columnsPart(draft, lookSoon);
    const preview = h("div", { class: "stack" }), told = h("div", { "aria-live": "assertive" });
    const checked = (work) => async ({ currentTarget }) => {
      const wrong = missing(draft);
      put(told, wrong && h("p", { class: "fault", role: "alert" }, wrong));
      if (!wrong) await attempt(told, () => busy(currentTarget, work));
    };
    put(rest,
      draft.isPublic ? card("What tells its rows apart?", keyPart(draft)) : card("Who is protected?", whoPart(draft, schema, lookSoon)),
      card("What is known about the columns?", columns.element),
      !draft.isPublic && card("How much may ever be told?", budgetPart(draft)),
      h("section", { class: "card stack" }, preview, told,
        h("div", { class: "row" },
          h("button", { type: "button", class: "primary", onclick: checked(keep) }, draft.isPublic ? "Add the table" : "Add the dataset"),
          !draft.isPublic && h("button", { type: "button", onclick: checked(() => showPreview(draft, preview)) }, "Try it on made-up rows"),
          h("span", { class: "hint" }, "What is said here cannot be changed later, because answers will rest on it."))));
  }

  async function keep() {
    await api(draft.isPublic ? "/v1/public-tables" : "/v1/datasets", { method: "POST", body: request(draft) });
    say(`${draft.name} ${draft.isPublic ? "can be asked about" : "is protected"} from now on.`);
    await done();
    one(`[data-dataset="${CSS.escape(draft.dataset || draft.name)}"] h2`)?.scrollIntoView({ block: "center" });
  }

  async function leave() {
    const words = h("p", {}, "What you filled in here is dropped. Nothing was added.");
    if (!draft.upload || (await confirmed("Leave without adding?", words, { yes: "Leave", no: "Stay" }))) done();
  }

  put(target,
    h("div", { class: "row apart" }, h("h2", { tabindex: -1 }, "Add a table"),
      h("button", { type: "button", class: "plain", onclick: leave }, "Leave without adding")),
    card("Which table?", filePart(draft, schema, { look, redraw: () => draft.report && drawRest() }), found),
    rest);
  one("h2", target).focus();
}

const card = (title, ...content) => h("section", { class: "card stack", "aria-label": title }, h("h3", { class: "big" }, title), content);

/* --- the file ----------------------------------------------------------------------------------- */

function filePart(draft, schema, { look, redraw }) {
  const told = h("div", { "aria-live": "assertive" });
  const bar = h("span", { class: "meter", hidden: true, role: "img", "aria-label": "Upload" }, h("i", { class: "left" }));
  const name = h("input", { id: "table-name", class: "wide mono", autocomplete: "off", maxlength: 60, oninput: () => (draft.name = name.value.trim()) });
  async function take(picked) {
    put(told);
    bar.hidden = false;
    await attempt(told, async () => {
      const sent = await upload(`/v1/uploads?name=${encodeURIComponent(picked.name)}`, picked, (share) => {
        bar.firstChild.style.width = `${100 * share}%`;
      });
      Object.assign(draft, { file: picked, upload: sent.upload, report: null, reading: {}, source: null, unit: null, key: [], columns: {} });
      draft.name ||= picked.name.replace(/\..*$/, "").toLowerCase().replace(/[^a-z0-9_]+/g, "_");
      name.value = draft.name;
      await look();
    });
    bar.hidden = true;
  }
  const file = h("input", { type: "file", id: "file", accept: FORMATS, "aria-describedby": "file-state", onchange: () => file.files[0] && take(file.files[0]) });
  const whose = h("select", { id: "whose", class: "wide", onchange: () => {
      draft.isPublic = whose.value === PUBLIC;
      draft.dataset = draft.isPublic ? "" : whose.value;
      redraw();
    } },
    h("option", { value: "" }, "People with a budget of their own: a new dataset"),
    Object.keys(schema.datasets).map((each) => h("option", { value: each }, `The same people as ${each}: it shares that budget`)),
    h("option", { value: PUBLIC }, "Nobody: a public table to join with"));
  return [
    field("file", "File", { control: file }), bar,
    h("p", { class: "hint", id: "file-state" }, "CSV, Excel, Parquet, JSON lines, SQLite or Arrow. It is read through for you alone; analysts see nothing of it before you add it."),
    told,
    h("div", { class: "two" }, field("table-name", "Name in questions", { control: name }), field("whose", "Whom it is about", { control: whose, topic: "link" })),
  ];
}

/* --- how it would look to analysts -------------------------------------------------------------- */

async function showPreview(draft, place) {
  const made = await api("/v1/preview", { method: "POST", body: request(draft) });
  const { sql, answer, epsilon, text, half_widths: widths } = made.question;
  put(place,
    h("h3", { class: "big" }, "How it would look to analysts"),
    dummyTable(made.rows, `What ${draft.name} could look like: nothing here was read from your data.`),
    h("pre", {}, sql),
    dummyTable(answer, `Its answer on made-up rows, for epsilon ${number(fraction(epsilon))}; ± is the noise (95 %).`, widths),
    h("details", {}, h("summary", {}, "What the question would do"), h("pre", { class: "small" }, text)),
    h("h4", {}, "Privacy statement"), h("p", { class: "small", id: "promise" }, made.statement));
}
