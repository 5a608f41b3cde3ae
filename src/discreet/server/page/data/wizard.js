// Adding a table in steps; what was chosen stays in sight, and nothing is read but the header.
import { busy, confirmed, ended, faultBox, h, one, plural, put, say, api } from "/static/shell.js";
import { budgetStep, worst } from "/static/data/budget.js";
import { columnRows, columnFacts } from "/static/data/columns.js";
import { fileStep } from "/static/data/file.js";
import { lookStep } from "/static/data/look.js";
import { keyStep, unitWords, whoStep } from "/static/data/who.js";

const PRIVATE = [
  ["File", fileStep],
  ["Who", whoStep],
  ["How much of one", muchStep],
  ["Columns", columnStep],
  ["Budget", budgetStep],
  ["Look", lookStep],
];
const PUBLIC = [
  ["File", fileStep],
  ["Key", keyStep],
  ["Columns", columnStep],
  ["Add", addStep],
];

/** What is asked of an owner, before anything is answered. */
const blank = () => ({
  name: "",
  file: null,
  upload: null,
  found: [],
  dataset: "",
  isPublic: false,
  key: [],
  unit: null,
  max_rows: "",
  max_groups: "",
  columns: {},
  epsilon: "1",
  delta: "1e-6",
});

/** The draft as the server reads it. */
export function request(draft) {
  const { columns, kinds, required } = columnFacts(draft);
  const told = { name: draft.name, upload: draft.upload, columns, kinds };
  if (draft.isPublic) return { ...told, key: draft.key };
  const { kind, ...where } = draft.unit;
  const unit = kind === "Person" ? where.column : kind === "EachRow" ? { each_row: true } : where;
  const limit = (text) => (text && kind !== "EachRow" ? Number(text) : null);
  const limits = { max_groups: limit(draft.max_groups), max_rows: limit(draft.max_rows) };
  const paid = draft.dataset
    ? { dataset: draft.dataset }
    : { budget: { epsilon: draft.epsilon, delta: draft.delta || "0" } };
  return { ...told, unit, limits, required, ...paid };
}

export function openWizard(target, schema, done) {
  const draft = blank();
  const body = h("section", { class: "card stack", id: "step" });
  const summary = h("aside", { class: "card stack-small", "aria-label": "Your choices so far" });
  const steps = h("ol", { class: "steps", "aria-label": "Steps" });
  let step = 0,
    reached = 0;

  const plan = () => (draft.isPublic ? PUBLIC : PRIVATE);
  const changed = () => put(summary, chosen(draft, reached));

  function show(place) {
    step = place;
    reached = Math.max(reached, place);
    put(
      steps,
      plan().map(([name], i) =>
        h(
          "li",
          {},
          h(
            "button",
            {
              type: "button",
              class: i < step && "done",
              "aria-current": i === step && "step",
              disabled: i > reached,
              onclick: () => show(i),
            },
            name,
          ),
        ),
      ),
    );
    changed();
    put(body, plan()[step][1](draft, wizard));
    body.querySelector("h3")?.focus();
  }

  async function leave() {
    const words = h("p", {}, "What you filled in here is dropped. Nothing was added.");
    if (!draft.upload || (await confirmed("Leave without adding?", words, { yes: "Leave", no: "Stay" })))
      done();
  }

  async function keep() {
    try {
      const path = draft.isPublic ? "/v1/public-tables" : "/v1/datasets";
      await busy(one("#keep"), () => api(path, { method: "POST", body: request(draft) }));
      say(`${draft.name} ${draft.isPublic ? "can be asked about" : "is protected"} from now on.`);
      done();
    } catch (fault) {
      if (!ended(fault)) put(one("#wrong"), faultBox(fault));
    }
  }

  const back = () =>
    step > 0 ? h("button", { type: "button", onclick: () => show(step - 1) }, "Back") : h("span");
  const told = () => h("div", { id: "wrong", "aria-live": "assertive" });
  const wizard = {
    schema,
    changed,
    heading: (text) => h("h3", { tabindex: -1, class: "big" }, text),
    /** Where to go on to, unless `check` says what is missing. */
    next: (check, label = "Next") => [
      told(),
      h(
        "div",
        { class: "row apart" },
        back(),
        h(
          "button",
          {
            type: "button",
            class: "primary",
            onclick: () => {
              const missing = check();
              if (missing) put(one("#wrong"), h("p", { class: "fault", role: "alert" }, missing));
              else show(step + 1);
            },
          },
          label,
        ),
      ),
    ],
    last: (label) => [
      told(),
      h(
        "div",
        { class: "row apart" },
        back(),
        h("button", { type: "button", class: "primary", id: "keep", onclick: keep }, label),
      ),
    ],
    /** Steps after the first depend on the file and on whose it is. */
    restart: () => {
      reached = 0;
      show(0);
    },
  };

  put(
    target,
    h(
      "div",
      { class: "row apart" },
      h("h2", {}, "Add a table"),
      h("button", { type: "button", class: "plain", onclick: leave }, "Leave without adding"),
    ),
    steps,
    h("div", { class: "wizard" }, body, summary),
  );
  show(0);
}

/* --- what was chosen ---------------------------------------------------------------------------- */

function chosen(draft, reached) {
  const line = (name, text) =>
    text && h("div", {}, h("dt", { class: "small quiet" }, name), h("dd", { class: "small" }, text));
  const lines = [
    line("Table", draft.name && `${draft.name}${draft.file ? `, from ${draft.file.name}` : ""}`),
    line("Protected", draft.isPublic ? "nobody: it is public" : draft.unit && unitWords(draft.unit)),
    line("Key", draft.isPublic && draft.key.join(", ")),
    line(
      "Of one person",
      !draft.isPublic && reached > 2 && draft.unit?.kind !== "EachRow" && limitWords(draft),
    ),
    line("Columns", stated(draft)),
    line(
      "Budget",
      !draft.isPublic &&
        reached > 4 &&
        (draft.dataset
          ? `shared with ${draft.dataset}`
          : `at most ${worst(Number(draft.epsilon), Number(draft.delta) || 0)} in 100 instead of 10`),
    ),
  ].filter(Boolean);
  return [
    h("h3", {}, "So far"),
    lines.length
      ? h("dl", { class: "stack-small" }, lines)
      : h("p", { class: "small quiet" }, "Your choices will be listed here."),
    h("p", { class: "hint" }, "What is said here cannot be changed later, because answers will rest on it."),
  ];
}

function limitWords(draft) {
  const rows = draft.max_rows ? plural(Number(draft.max_rows), "row") : "privately chosen rows";
  const groups = draft.max_groups ? plural(Number(draft.max_groups), "group") : "privately chosen groups";
  return `${rows} in each of ${groups}`;
}

const stated = (draft) =>
  Object.entries(draft.columns)
    .filter(([, column]) => column.what !== "nothing")
    .map(([name, column]) => `${name}: ${column.what}`)
    .join(", ");

/* --- the plain steps ---------------------------------------------------------------------------- */

function muchStep(draft, { heading, next, changed }) {
  const whole = (id, label, hint) =>
    h(
      "div",
      { class: "field" },
      h("label", { for: id }, label),
      h("input", {
        id,
        inputmode: "numeric",
        autocomplete: "off",
        value: draft[id],
        placeholder: "chosen privately",
        "aria-describedby": `${id}-hint`,
        oninput: (event) => {
          draft[id] = event.target.value.trim();
          changed();
        },
      }),
      h("p", { class: "hint", id: `${id}-hint` }, hint),
    );
  if (draft.unit?.kind === "EachRow") {
    return [
      heading("How much of one person?"),
      h("p", {}, "Each row stands for itself, so there is nothing to limit."),
      next(() => null),
    ];
  }
  return [
    heading("How many rows may one person have?"),
    h(
      "p",
      { class: "quiet" },
      "The fewer rows one person may weigh, the less noise is needed. Whoever has more " +
        "counts for less. State what you know without looking; leave empty what you do not.",
    ),
    h(
      "div",
      { class: "two" },
      whole(
        "max_rows",
        "Rows of one person in one group",
        "One row per person: 1. Visits to a clinic: perhaps 10.",
      ),
      whole(
        "max_groups",
        "Groups of one answer that one person is in",
        "Somebody lives in one city: 1. Visits in several months: perhaps 12.",
      ),
    ),
    next(() =>
      ["max_rows", "max_groups"].some((id) => draft[id] && !/^[1-9]\d*$/.test(draft[id]))
        ? "These are whole numbers from 1 on, or empty."
        : null,
    ),
  ];
}

function columnStep(draft, { heading, next, changed }) {
  return [
    heading("What is known about the columns?"),
    draft.isPublic
      ? h("p", { class: "quiet" }, "Bounds let a column be summed and averaged. Keys are values to group by.")
      : h(
          "p",
          { class: "quiet" },
          "Bounds let a column be summed and averaged: values outside count as the nearest end, " +
            "so too narrow bounds pull a mean inwards and too wide ones add noise. Keys are values " +
            "to group by. ",
          h("strong", {}, "Both become public: take them from what everybody knows, never from the data."),
        ),
    h("div", {}, columnRows(draft, changed)),
    next(() => columnFacts(draft).problem),
  ];
}

function addStep(draft, { heading, last }) {
  return [
    heading("Add a public table"),
    h(
      "p",
      {},
      "Everybody who may ask here can learn all of it, exactly. It protects nobody, so " +
        "nobody's data may be in it.",
    ),
    last("Add the table"),
  ];
}
