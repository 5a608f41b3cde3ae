// Small pictures in SVG: each has a title, a description, and the same numbers as a table.

import { h, s } from "/static/shell.js";

let drawn = 0;

/** How wide a picture is, in its own units: on a phone fewer, so that its text stays readable. */
export const width = () => (matchMedia("(min-width: 40rem)").matches ? 480 : 330);

/**
 * A figure: {title, desc, width, height} and what is drawn in it. `table` is {head, rows}; it stands
 * below, folded, for those who would rather read numbers.
 */
export function figure({ title, desc, width, height, table, name = "" }, ...children) {
  const id = `figure-${++drawn}`;
  return h("figure", { class: `chart ${name}`.trim() },
    s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": `${id}-title ${id}-desc` },
      s("title", { id: `${id}-title` }, title), s("desc", { id: `${id}-desc` }, desc), ...children),
    table && h("details", { class: "numbers small" }, h("summary", {}, "As a table"), tabled(title, table)));
}

const tabled = (title, { head, rows }) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
  h("table", {}, h("caption", { class: "visually-hidden" }, title),
    h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, rows.map(([first, ...rest]) => h("tr", {}, h("th", { scope: "row" }, first), rest.map((cell) => h("td", { class: "n" }, cell)))))));

/** From values to places: scale([0, 100], [40, 400]). */
export const scale = ([low, high], [from, to]) => (value) => from + ((value - low) / (high - low)) * (to - from);

const place = (value) => value.toFixed(2);

/** A path through points. */
export const through = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${place(x)} ${place(y)}`).join("");

/** The outline of bars of equal width that stand side by side, closed at the floor. */
export function steps(values, x, y, half) {
  const edges = values.flatMap(([value, height]) => [[x(value - half), y(height)], [x(value + half), y(height)]]);
  const first = edges[0], last = edges[edges.length - 1];
  return `${through([[first[0], y(0)], ...edges, [last[0], y(0)]])}Z`;
}

/** An axis along the bottom: {at, from, to, ticks: [[place, text]], label}. */
export const bottom = ({ at, from, to, ticks, label }) => s("g", { class: "axis", "aria-hidden": "true" },
  s("path", { d: `M${from} ${at}H${to}` }),
  ticks.map(([x, text]) => [s("path", { d: `M${place(x)} ${at}v5` }), s("text", { x: place(x), y: at + 19, "text-anchor": "middle" }, text)]),
  s("text", { class: "label", x: (from + to) / 2, y: at + 39, "text-anchor": "middle" }, label));

/** An axis along the left. */
export const left = ({ at, from, to, ticks, label }) => s("g", { class: "axis", "aria-hidden": "true" },
  s("path", { d: `M${at} ${from}V${to}` }),
  ticks.map(([y, text]) => [s("path", { d: `M${at} ${place(y)}h-5` }), s("text", { x: at - 9, y: place(y + 4), "text-anchor": "end" }, text)]),
  label && s("text", { class: "label", x: at - 9, y: Math.min(from, to) - 12, "text-anchor": "start" }, label));

/** A slider with named ends that stops at listed values: {id, label, values, at, said, ends, wide, onchange}. */
export function stops({ id, label, values, at, said, ends = ["more privacy", "more accuracy"], wide = false, onchange }) {
  const output = h("output", { for: id, class: "value" }, said(values[at]));
  const input = h("input", {
    type: "range", id, min: 0, max: values.length - 1, step: 1, "aria-valuetext": said(values[at]),
    oninput: () => {
      const value = values[Number(input.value)];
      output.textContent = said(value);
      input.setAttribute("aria-valuetext", said(value));
      onchange(value);
    },
  });
  input.value = String(at);
  return h("div", { class: wide ? "slider wide" : "slider" },
    h("div", { class: "row apart" }, h("label", { for: id, class: "label" }, label), output),
    input, h("div", { class: "ends" }, h("span", {}, ends[0]), h("span", {}, ends[1])));
}

/** A choice between few: {name, legend, options: [[value, text]], chosen, onchange}. */
export const choice = ({ name, legend, options, chosen, onchange }) => h("fieldset", {},
  h("legend", { class: "label" }, legend),
  h("div", { class: "choice" }, options.map(([value, text]) => h("label", {},
    h("input", { type: "radio", name, value, checked: value === chosen, onchange: () => onchange(value) }), text))));

/** A list to choose from: {id, label, options: [[value, text]], chosen, onchange}. */
export const select = ({ id, label, options, chosen, onchange }) => h("div", { class: "field" },
  h("label", { for: id }, label),
  h("select", { id, onchange: (event) => onchange(event.target.value) },
    options.map(([value, text]) => h("option", { value, selected: String(value) === String(chosen) }, text))));

/** A share as people of a hundred; one digit where it matters. */
export function of100(share) {
  const many = 100 * share;
  if (many > 0 && many < 0.1) return "under 0.1";
  if (many < 100 && many > 99.9) return "over 99.9";
  return new Intl.NumberFormat("en", { maximumFractionDigits: many < 10 || many > 90 ? 1 : 0 }).format(many);
}

/** A hundred people, `count` of them marked. */
export const hundred = (count, label, kind = "was") => h("div", { class: "people", role: "img", "aria-label": label },
  Array.from({ length: 100 }, (_, i) => h("i", { class: i < count ? kind : null })));
