// A released table: sorted by a click on a heading, a page at a time, each number with its ±.
import { h, number, plural, put } from "/static/shell.js";

const ROWS = 25;

export const halves = (release, name) => release.half_widths?.[name] ?? null;
export const isNumber = (column) => !column.key && ["integer", "real"].includes(column.kind);

export function drawTable(release, label = "Answer as a table") {
  const { columns, rows } = release;
  if (!rows.length) return h("p", { class: "empty" }, "No group was large enough to be shown.");
  const order = rows.map((_, r) => r);
  const scales = columns.map((column, i) => scale(rows, halves(release, column.name), i));
  const pages = Math.ceil(rows.length / ROWS);
  const body = h("tbody"),
    caption = h("caption", { "aria-live": "polite" });
  let page = 0;

  function draw() {
    const [from, to] = [page * ROWS, Math.min((page + 1) * ROWS, rows.length)];
    put(caption, plural(rows.length, "row"), pages > 1 && `: ${from + 1} to ${to}`);
    put(
      body,
      order.slice(from, to).map((r) =>
        h(
          "tr",
          {},
          rows[r].map((value, c) => cell(columns[c], value, halves(release, columns[c].name)?.[r], scales[c])),
        ),
      ),
    );
  }

  const heads = columns.map((column, c) =>
    h(
      "th",
      { scope: "col", class: isNumber(column) && "n", "aria-sort": "none" },
      h(
        "button",
        { type: "button", class: "sort", onclick: () => sort(c) },
        column.name,
        halves(release, column.name) && h("span", { class: "pm" }, "± noise"),
      ),
    ),
  );

  function sort(c) {
    const next = { none: "ascending", ascending: "descending", descending: "none" };
    const way = next[heads[c].getAttribute("aria-sort")];
    for (const head of heads) head.setAttribute("aria-sort", "none");
    heads[c].setAttribute("aria-sort", way);
    const side = { none: 0, ascending: 1, descending: -1 }[way],
      value = sortable(rows, c);
    order.sort((a, b) => side * compare(value(a), value(b)) || a - b);
    page = 0;
    draw();
  }

  const turn = (by, label) =>
    h(
      "button",
      {
        type: "button",
        class: "small",
        onclick: () => {
          page = Math.min(Math.max(page + by, 0), pages - 1);
          draw();
        },
      },
      label,
    );

  draw();
  return h(
    "div",
    { class: "stack-small" },
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
      h("table", {}, caption, h("thead", {}, h("tr", {}, heads)), body),
    ),
    pages > 1 && h("div", { class: "row end" }, turn(-1, "Previous rows"), turn(1, "Next rows")),
  );
}

/** NULL last. */
function compare(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  return a < b ? -1 : +(a > b);
}

/** What a column is sorted by: whole numbers, some of which came as texts, are compared exactly. */
function sortable(rows, c) {
  const whole = rows.every((row) => row[c] === null || /^-?\d+$/.test(String(row[c])));
  return (r) => (whole && rows[r][c] !== null ? BigInt(rows[r][c]) : rows[r][c]);
}

function scale(rows, widths, i) {
  if (!widths) return null;
  let low = 0,
    high = 0;
  for (const [r, row] of rows.entries()) {
    if (row[i] === null || widths[r] === null || widths[r] === undefined) continue;
    low = Math.min(low, Number(row[i]) - widths[r]);
    high = Math.max(high, Number(row[i]) + widths[r]);
  }
  return high > low ? { low, high } : null;
}

function cell(column, value, width, scale) {
  if (value === null) return h("td", { class: isNumber(column) && "n" }, h("span", { class: "null" }, "NULL"));
  if (!isNumber(column)) return h("td", {}, String(value));
  return h(
    "td",
    { class: "n" },
    figures(column, value, width),
    scale && typeof width === "number" && interval(Number(value), width, scale),
  );
}

/** A number and its ±, to the digits that its noise leaves. */
export function figures(column, value, width) {
  if (width === null || width === undefined) return [figure(value)];
  const shown = number(column.kind === "integer" ? Math.ceil(width) : width, 2);
  return [figure(value, width), h("span", { class: "pm" }, `± ${shown}`)];
}

function figure(value, width) {
  if (Number.isInteger(value)) return number(value, 15);
  if (!(width > 0)) return number(value, 6);
  const places = Math.min(10, Math.max(0, 1 - Math.floor(Math.log10(width))));
  return new Intl.NumberFormat("en", { minimumFractionDigits: places, maximumFractionDigits: places }).format(value);
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
