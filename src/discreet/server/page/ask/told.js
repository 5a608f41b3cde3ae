// What a question would do, from public facts: its cost, its error, its odds, what is clamped.
import { h, number, people, percent, plural, put } from "/static/shell.js";

const NAMES = {
  dataset: "everybody's budget",
  analyst: "your budget",
  group: "your group's budget",
  link: "the people's budget over linked datasets",
  workbook: "your workbook's share",
};

/** Whose budget an account is, in words. */
export function whose(charge) {
  const holder = charge.holder;
  const of = holder.kind === "dataset" ? holder.name : holder.within;
  const named = holder.kind === "group" || holder.kind === "link" ? ` (${holder.name})` : "";
  return `${NAMES[holder.kind]}${of ? ` for ${of}` : ""}${named}`;
}

/** The account that this question weighs on most. */
export const tightest = (charges) =>
  charges
    .filter((one) => one.left !== null)
    .reduce((worst, one) => (!worst || share(one) > share(worst) ? one : worst), null);

export const share = (charge) => (charge.left > 0 ? charge.cost / charge.left : Infinity);
export const fits = (facts) => facts.charges.every((one) => one.left === null || one.cost <= one.left * (1 + 1e-12));

/** The sentence that screen readers hear when the explanation changes. */
export function summary(facts) {
  if (facts.before) return "Free: you asked this before.";
  const worst = tightest(facts.charges);
  const errors = expected(facts).map(
    (one) => `${one.column} ± ${number(one.half_width, 3)}${one.unit ? ` ${one.unit}` : ""}`,
  );
  const cost = !worst
    ? `Price ${number(facts.price.epsilon)}.`
    : fits(facts)
      ? `Costs ${percent(share(worst))} of what is left.`
      : "Costs more than is left.";
  return `${cost} Expected noise: ${errors.join(", ") || "known after limits are chosen"}.`;
}

/** How far noise is expected to move each column. */
export function expected(facts) {
  return facts.expected.filter((one) => facts.half_widths[one.column] !== null && one.half_width !== null);
}

/** A drawing of explanations that keeps its scale while the price of one question is moved. */
export function makeTold(element) {
  let scales = {};
  return {
    empty: () =>
      put(
        element,
        h(
          "div",
          { class: "empty" },
          h("h3", {}, "No question yet"),
          h("p", {}, "Take an example, choose what to measure, or write SQL."),
        ),
      ),
    waiting: (on) => element.setAttribute("aria-busy", String(on)),
    note: (text) => put(element, h("p", { class: "quiet" }, text)),
    fresh: () => {
      scales = {};
    },
    draw: (facts) => put(element, facts.before ? free(facts, scales) : all(facts, scales)),
  };
}

const all = (facts, scales) => [
  h("div", { class: "pair" }, h("div", { class: "stack" }, cost(facts), errors(facts, scales)), odds(facts)),
  small(facts),
];

/** What was paid for already: that it is, and the rest for whoever wants to see it. */
const free = (facts, scales) => [
  h(
    "div",
    { class: "notice good" },
    h("strong", {}, "Free."),
    " You asked exactly this before; the same answer is opened again.",
  ),
  h(
    "details",
    {},
    h("summary", { class: "small" }, "Expected noise, what it means, what is clamped"),
    h("div", { class: "pair" }, errors(facts, scales), odds(facts)),
    small(facts),
  ),
];

function cost(facts) {
  const worst = tightest(facts.charges);
  if (!worst) return h("p", {}, `Price: epsilon ${number(facts.price.epsilon)}`);
  const over = !fits(facts);
  return h(
    "div",
    { class: "stack-small" },
    h(
      "p",
      {},
      h("span", { class: "big", id: "cost" }, over ? "More than is left" : percent(share(worst))),
      " ",
      h("span", { class: "quiet" }, over ? `of ${whose(worst)}` : `of what is left of ${whose(worst)}`),
    ),
    meter(worst),
    h(
      "p",
      { class: "small quiet" },
      h("span", { class: "key spent" }),
      "spent ",
      h("span", { class: "key cost" }),
      "this question ",
      h("span", { class: "key left" }),
      "left after it",
    ),
    facts.charges
      .filter((one) => one !== worst)
      .map((one) =>
        h(
          "p",
          { class: "small quiet" },
          one.left === null
            ? `Also counted in ${whose(one)}, which has no limit.`
            : `Also ${percent(share(one))} of what is left of ${whose(one)}.`,
        ),
      ),
  );
}

function meter(charge) {
  const cap = charge.cap ?? charge.left,
    spent = Math.max(cap - charge.left, 0);
  const at = (value) => `${Math.min(100, (100 * value) / cap)}%`;
  return h(
    "span",
    {
      class: "meter",
      role: "img",
      "aria-label":
        `Spent ${percent(spent / cap)}, this question ${percent(charge.cost / cap)} of the ` + "whole budget",
    },
    h("i", { class: "left", css: { width: "100%" } }),
    h("i", { class: "cost", css: { left: at(spent), width: `max(3px, ${at(charge.cost)})` } }),
    h("i", { class: "spent", css: { width: at(spent) } }),
  );
}

function errors(facts, scales) {
  const all = expected(facts);
  if (!all.length) {
    return h(
      "div",
      {},
      h("h3", {}, "Expected noise"),
      h(
        "p",
        { class: "quiet small" },
        "Not known yet: how many rows and groups of one person count is chosen privately, and " +
          "the noise with it. The answer will state it.",
      ),
    );
  }
  const sized = all.find((one) => one.rows);
  return h(
    "div",
    { class: "stack-small" },
    h("h3", {}, "Expected 95 % interval"),
    all.map((one) => {
      const widest = (scales[one.column] ??= 2.5 * one.half_width || 1);
      const half = Math.min(50, (50 * one.half_width) / widest);
      return h(
        "div",
        { class: "error-bar" },
        h("span", { class: "name mono" }, one.column),
        h(
          "span",
          { class: "track", "aria-hidden": "true" },
          h("i", { css: { left: `${50 - half}%`, width: `${2 * half}%` } }),
          h("b"),
        ),
        h(
          "span",
          { class: "value" },
          `± ${number(one.half_width, 3)}${one.unit ? ` ${one.unit}` : ""}${one.rows ? "*" : ""}`,
        ),
      );
    }),
    h(
      "p",
      { class: "small quiet" },
      sized ? `* in a group of ${number(sized.rows)} rows; larger in smaller groups. ` : "",
      "Noise only: it does not include sampling error.",
    ),
  );
}

/** What this price means for somebody in the data. */
export function odds(facts) {
  const { before, after, text } = facts.odds;
  const byRow = facts.protects?.startsWith("one row");
  return h(
    "div",
    { class: "stack-small" },
    h("h3", {}, "What it means for one person in the data"),
    h(
      "p",
      {},
      "Suppose that without somebody's data, something that follows from this answer would happen to them with ",
      h("strong", {}, `${before} chances in 100`),
      ". With their data in it: at most ",
      h("strong", {}, `${after} in 100`),
      ".",
    ),
    people(before, after),
    byRow &&
      h(
        "p",
        { class: "small notice noise" },
        "Their data is one row here: somebody with several rows is less protected.",
      ),
    h("details", {}, h("summary", { class: "small" }, "In full"), h("p", { class: "small quiet" }, text)),
  );
}

function small(facts) {
  const clamps = facts.clamps;
  const groups = facts.groups.map(grouped).filter(Boolean);
  return h(
    "div",
    { class: "pair" },
    h(
      "div",
      { class: "stack-small" },
      h("h3", {}, "What is clamped"),
      clamps.length
        ? h(
            "ul",
            { class: "small", id: "clamps" },
            clamps.map((text) => h("li", {}, text)),
          )
        : h("p", { class: "small quiet" }, "Nothing: no column it reads has bounds."),
      clamps.length > 0 &&
        h("p", { class: "hint" }, "Values outside are moved to the nearest end, which can bias a mean."),
    ),
    h(
      "div",
      { class: "stack-small" },
      h("h3", {}, "Who is protected"),
      h("p", { class: "small" }, facts.protects),
      groups.map((text) => h("p", { class: "small quiet" }, text)),
      facts.remarks.map((text) => h("p", { class: "small quiet" }, text)),
    ),
  );
}

function grouped(part) {
  const limits = part.limits;
  const most = limits?.max_rows
    ? ` One person counts for at most ${plural(limits.max_groups ?? 1, "group")} with ` +
      `${plural(limits.max_rows, "row")} in each.`
    : "";
  if (part.finding)
    return (
      `Groups are not public: those of about ${number(part.finding.people)} people or more ` + `are shown.${most}`
    );
  if (!part.keys?.length) return `One group of all rows.${most}`;
  return `${plural(part.groups, "group")}, all public: each is answered, also if it is empty.${most}`;
}
