// An answer: table, chart, what its error bars are about, and what can be done with it.
import { api, copy, faultBox, h, number, plural, put, sentence, when } from "/static/shell.js";
import { drawChart, words } from "/static/ask/chart.js";

const ROWS = 200;
let stopChart = () => {};

/** Where a release is kept in a form; one that was measured again is merged with those before it. */
const place = (release, format) =>
  `/v1/releases/${release.id}?format=${format}${release.isMerged ? "&merged=true" : ""}`;

export function drawResult(element, release, { remeasure, found }) {
  stopChart();
  const title = h("figcaption", { id: "chart-title" });
  const chart = h("div", { class: "chart", id: "chart" });
  put(
    element,
    h(
      "div",
      { class: "card stack" },
      h(
        "div",
        { class: "row apart" },
        h("h2", {}, "Answer"),
        h(
          "div",
          { class: "row" },
          found && h("span", { class: "tag good" }, "opened again, free"),
          h("span", { class: "tag" }, `epsilon ${number(release.price.epsilon)}`),
          release.time && h("span", { class: "tag" }, when(release.time)),
        ),
      ),
      table(release),
      release.rows.length > 0 && twoErrors(release),
      notes(release),
      h("figure", { class: "stack-small" }, title, chart),
      tools(release, remeasure),
    ),
  );
  element.focus({ preventScroll: true });
  element.scrollIntoView({ block: "nearest" });
  return release.rows.length ? showChart(title, chart, release) : Promise.resolve();
}

/* --- the table ---------------------------------------------------------------------------------- */

const halves = (release, name) => release.half_widths?.[name] ?? null;

function table(release) {
  if (!release.rows.length) return h("p", { class: "empty" }, "No group was large enough to be shown.");
  const shown = release.rows.slice(0, ROWS);
  const scales = release.columns.map((column, i) => scale(shown, halves(release, column.name), i));
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Answer as a table" },
    h(
      "table",
      {},
      h(
        "caption",
        {},
        plural(release.rows.length, "row"),
        release.rows.length > ROWS && `, the first ${ROWS} shown`,
      ),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          release.columns.map((column) =>
            h(
              "th",
              { scope: "col", class: isNumber(column) && "n" },
              column.name,
              halves(release, column.name) && h("span", { class: "pm" }, "± noise"),
            ),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        shown.map((row, r) =>
          h(
            "tr",
            {},
            row.map((value, c) =>
              cell(release.columns[c], value, halves(release, release.columns[c].name)?.[r], scales[c]),
            ),
          ),
        ),
      ),
    ),
  );
}

const isNumber = (column) => !column.key && ["integer", "real"].includes(column.kind);

function scale(rows, widths, i) {
  if (!widths) return null;
  const ends = rows.flatMap((row, r) =>
    row[i] === null || widths[r] === null || widths[r] === undefined
      ? []
      : [Number(row[i]) - widths[r], Number(row[i]) + widths[r]],
  );
  const low = Math.min(0, ...ends),
    high = Math.max(0, ...ends);
  return high > low ? { low, high } : null;
}

function cell(column, value, width, scale) {
  if (value === null)
    return h("td", { class: isNumber(column) && "n" }, h("span", { class: "null" }, "NULL"));
  if (!isNumber(column)) return h("td", {}, String(value));
  if (width === null || width === undefined) return h("td", { class: "n" }, figure(value));
  return h(
    "td",
    { class: "n" },
    figure(value, width),
    h("span", { class: "pm" }, `± ${number(column.kind === "integer" ? Math.ceil(width) : width, 2)}`),
    scale && interval(Number(value), width, scale),
  );
}

/** A number to the digits that its noise leaves. */
function figure(value, width) {
  if (Number.isInteger(value)) return number(value, 15);
  if (!(width > 0)) return number(value, 6);
  const places = Math.min(10, Math.max(0, 1 - Math.floor(Math.log10(width))));
  return new Intl.NumberFormat("en", { minimumFractionDigits: places, maximumFractionDigits: places }).format(
    value,
  );
}

function interval(value, width, { low, high }) {
  const at = (x) => (100 * (x - low)) / (high - low);
  return h(
    "span",
    { class: "interval", "aria-hidden": "true" },
    h("i", { css: { left: `${at(value - width)}%`, width: `${at(value + width) - at(value - width)}%` } }),
    h("b", { css: { left: `${at(value)}%` } }),
  );
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
      h(
        "p",
        {},
        "Noise was added to protect people. 95 times in 100, the number without noise lies within ±.",
      ),
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

async function showChart(caption, chart, release) {
  try {
    const spec = await api(place(release, "chart"));
    if (!chart.isConnected) return; // another answer is shown by now
    const { title, lines } = words(spec);
    put(
      caption,
      h("h3", {}, [title].flat().join(" ")),
      h("p", { class: "small quiet" }, lines.join(" ")),
    );
    const stop = await drawChart(chart, spec);
    if (chart.isConnected) stopChart = stop;
    else stop();
  } catch (fault) {
    put(
      chart,
      h("p", { class: "quiet small" }, fault.what ? sentence(fault) : "The chart could not be drawn."),
    );
    if (!fault.what) console.error(fault);
  }
}

/* --- tools -------------------------------------------------------------------------------------- */

function tools(release, remeasure) {
  const shown = h("div", {});
  const text = async (format, work) => {
    try {
      work(await api(place(release, format), { headers: { Accept: "text/plain" }, as: "text" }));
    } catch (fault) {
      put(shown, faultBox(fault));
    }
  };
  return h(
    "div",
    { class: "stack-small" },
    h(
      "div",
      { class: "tools" },
      h(
        "a",
        { class: "button small", href: place(release, "csv"), download: `answer-${release.id}.csv` },
        "Download CSV",
      ),
      h(
        "a",
        { class: "button small", href: place(release, "parquet"), download: `answer-${release.id}.parquet` },
        "Parquet",
      ),
      h(
        "button",
        {
          class: "small",
          type: "button",
          onclick: () => text("python", (code) => copy(code, "Copied as Python.")),
        },
        "Copy as Python",
      ),
      h(
        "button",
        {
          class: "small",
          type: "button",
          onclick: () => text("statement", (words) => put(shown, h("pre", { id: "statement" }, words))),
        },
        "Privacy statement",
      ),
      release.sql && h("button", { class: "small", type: "button", onclick: remeasure }, "Measure again"),
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
  put(element);
}
