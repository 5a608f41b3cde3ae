// An answer: its question, chart first, table, what its error bars are about, what can be done with it.
import { api, copy, faultBox, h, number, percent, put, sentence, when } from "/static/shell.js";
import { drawChart, saveImage, words } from "/static/ask/chart.js";
import { drawTable, figures, halves, isNumber } from "/static/ask/table.js";

let stopChart = () => {};

/** Where a release is kept in a form; one that was measured again is merged with those before it. */
const place = (release, format) =>
  `/v1/releases/${release.id}?format=${format}${release.isMerged ? "&merged=true" : ""}`;

/** What an answer is about, in a line: its numbers, and what they are by. */
export function about({ columns }) {
  const names = (some) => some.map((column) => column.name).join(", ");
  const keys = columns.filter((column) => column.key);
  return `${names(columns.filter((column) => !column.key))}${keys.length ? ` by ${names(keys)}` : ""}`;
}

export function drawResult(element, release, { found, title, bringBack, ...tasks }) {
  stopChart();
  stopChart = () => {};
  const seen = h("figure", { class: "seen", id: "chart" });
  put(
    element,
    h(
      "article",
      { class: "card stack" },
      h(
        "header",
        { class: "stack-small" },
        h("h2", {}, `Answer: ${title ?? about(release)}`),
        h(
          "div",
          { class: "row tags" },
          found && h("span", { class: "tag good" }, "opened again, free"),
          h("span", { class: "tag" }, release.id ? `epsilon ${number(release.price.epsilon)}` : "public: exact and free"),
          release.budget_share > 0 &&
            h("span", { class: "tag" }, `took ${percent(release.budget_share)} of the budget`),
          release.time && h("span", { class: "tag" }, when(release.time)),
        ),
        release.sql &&
          h("pre", { class: "question", tabindex: 0, role: "region", "aria-label": "Its question" }, release.sql),
        h(
          "div",
          { class: "notice noise row apart", id: "old", hidden: true },
          h("p", {}, h("strong", {}, "Not the question above."), " Its text was changed after this answer."),
          h("button", { type: "button", class: "small", onclick: bringBack }, "Bring this question back"),
        ),
      ),
      seen,
      !isFigures(release) && drawTable(release),
      release.rows.length > 0 && twoErrors(release),
      notes(release),
      release.id > 0 && tools(release, tasks), // what is public is computed anew, and kept nowhere
    ),
  );
  element.focus({ preventScroll: true });
  const { top } = element.getBoundingClientRect();
  if (top < 0 || top > innerHeight / 2) element.scrollIntoView();
  return see(seen, release, (stop) => (stopChart = stop));
}

/** Say whether an answer is one to another question than the one that is written now. */
export function markOld(element, old) {
  const note = element.querySelector("#old");
  if (note) note.hidden = !old;
  element.classList.toggle("old", Boolean(note) && old);
}

/** Whether an answer is a few numbers about everybody, with nothing to compare or to sort. */
const isFigures = ({ rows, columns }) => rows.length === 1 && columns.every(isNumber);

/** The chart, or the numbers themselves where there is nothing to compare; `keep` gets what stops it. */
export async function see(element, release, keep) {
  const numbers = release.columns.flatMap((column, c) => (isNumber(column) ? [[column, c]] : []));
  if (!release.rows.length || !numbers.length) return;
  if (isFigures(release)) {
    put(
      element,
      h(
        "dl",
        { class: "figures" },
        numbers.map(([column, c]) =>
          h(
            "div",
            {},
            h("dt", {}, column.name),
            h(
              "dd",
              { class: "big" },
              release.rows[0][c] === null
                ? "NULL"
                : figures(column, release.rows[0][c], halves(release, column.name)?.[0]),
            ),
          ),
        ),
      ),
    );
    return;
  }
  if (!release.id) return;
  const chart = h("div", {
      class: "chart",
      tabindex: release.rows.length > 25 && 0,
      role: "region",
      "aria-label": "Chart",
    }),
    caption = h("figcaption", { class: "small quiet" });
  put(element, chart, caption);
  try {
    const spec = await api(place(release, "chart"));
    if (!chart.isConnected) return; // another answer is shown by now
    put(caption, words(spec).lines.join(" "));
    const stop = await drawChart(chart, spec);
    if (chart.isConnected) keep(stop);
    else stop();
  } catch (fault) {
    put(chart, h("p", { class: "quiet small" }, fault.what ? sentence(fault) : "The chart could not be drawn."));
    if (!fault.what) console.error(fault);
  }
}

/* --- words -------------------------------------------------------------------------------------- */

function twoErrors(release) {
  if (!Object.keys(release.half_widths ?? {}).length) return null;
  return h(
    "div",
    { class: "errors-two" },
    h(
      "div",
      { class: "of-noise" },
      h("h3", {}, h("span", { class: "key noise" }), "Noise interval: shown"),
      h("p", {}, "Noise was added to protect people. ± is a 95 % interval for the number without noise."),
    ),
    h(
      "div",
      { class: "of-sampling" },
      h("h3", {}, "Sampling error: not shown"),
      h(
        "p",
        {},
        "If these people stand for a wider population, how they were picked adds an error of " +
          "its own, which ± does not include.",
      ),
    ),
  );
}

function notes(release) {
  const missing = release.columns
    .filter((column) => isNumber(column) && !halves(release, column.name) && release.how?.[column.name])
    .map((column) => `${column.name} has no ±: ${release.how[column.name]}`);
  const clamps = (release.clamps ?? []).map((text) => `clamped: ${text}`);
  const all = [...new Set([...(release.notes ?? []), ...missing, ...clamps])];
  return (
    all.length > 0 &&
    h(
      "ul",
      { class: "small quiet" },
      all.map((text) => h("li", {}, text)),
    )
  );
}

/* --- tools -------------------------------------------------------------------------------------- */

function tools(release, { remeasure, save, link }) {
  const shown = h("div", { "aria-live": "polite" });
  const after = (work) => async () => {
    try {
      await work();
    } catch (fault) {
      put(shown, faultBox(fault));
    }
  };
  const button = (label, work) => h("button", { class: "small", type: "button", onclick: after(work) }, label);
  const read = (format) => api(place(release, format), { headers: { Accept: "text/plain" }, as: "text" });
  const file = (format, label) =>
    h("a", { class: "button small", href: place(release, format), download: `answer-${release.id}.${format}` }, label);
  const image = (format) =>
    button(format.toUpperCase(), async () =>
      saveImage(await api(place(release, "chart")), format, `answer-${release.id}.${format}`),
    );
  return h(
    "div",
    { class: "stack-small tools-all" },
    h(
      "div",
      { class: "tools" },
      release.sql && button("Save", save),
      release.sql && button("Copy link", link),
      release.sql && button("Measure again", remeasure),
      button("Copy as Python", async () => copy(await read("python"), "Copied as Python.")),
      h("a", { class: "button small", href: `/statement?release=${release.id}`, target: "_blank" }, "Privacy statement"),
    ),
    h(
      "div",
      { class: "tools", role: "group", "aria-label": "Download" },
      h("span", { class: "quiet small" }, "Download"),
      file("csv", "CSV"),
      file("parquet", "Parquet"),
      release.rows.length > 0 && [image("png"), image("svg")],
    ),
    shown,
  );
}

/** A release that is no table: what its kind says, and what was protected. */
export function drawOrder(element, release) {
  clearResult(element);
  put(
    element,
    h(
      "div",
      { class: "card stack-small" },
      h("h2", {}, `An order of kind ${release.kind} about ${release.dataset}`),
      h("pre", { id: "order" }, JSON.stringify(release.release, null, 2)),
      h("p", { id: "statement" }, release.statement),
    ),
  );
}

export function clearResult(element) {
  stopChart();
  stopChart = () => {};
  markOld(put(element), false);
}
