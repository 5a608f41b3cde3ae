// What is left of a budget, question by question: a staircase that only goes down.
import { h, percent, plural, put, s, when } from "/static/shell.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [48, 12, 12, 30];

export function drawBurn(account, history, height = 220) {
  if (!account.cap) return h("p", { class: "quiet small" }, "This account counts and has no limit.");
  const figure = h("figure", { class: "stack-small" });
  let width = 0;
  new ResizeObserver(() => {
    if (Math.abs(figure.clientWidth - width) < 4) return;
    width = figure.clientWidth;
    put(
      figure,
      picture(account, history, width, height),
      h(
        "figcaption",
        { class: "small quiet" },
        "Left of the budget, question by question. It never goes up by itself.",
      ),
    );
  }).observe(figure);
  return figure;
}

function picture(account, history, W, H) {
  const cap = account.cap;
  const steps = stairs(cap, history, account.spent);
  const x = (i) => LEFT + ((W - LEFT - RIGHT) * i) / Math.max(steps.length - 1, 1);
  const y = (left) => TOP + (H - TOP - BOTTOM) * (1 - Math.max(0, left) / cap);
  const line = steps
    .map((left, i) => (i ? `H${x(i).toFixed(1)}V${y(left).toFixed(1)}` : `M${x(0)},${y(left).toFixed(1)}`))
    .join("");
  const title = `What is left after each of ${plural(history.length, "question")}`;
  return s(
    "svg",
    {
      class: "burn",
      viewBox: `0 0 ${W} ${H}`,
      height: H,
      role: "img",
      "aria-label": `${title}: now ${percent(account.left / cap)}`,
    },
    s("title", {}, title),
    s("path", { class: "area", d: `${line}V${y(0)}H${LEFT}Z` }),
    [0, 0.25, 0.5, 0.75, 1].map((share) =>
      s(
        "g",
        {},
        s("line", {
          class: share ? "grid" : "axis",
          x1: LEFT,
          x2: W - RIGHT,
          y1: y(share * cap),
          y2: y(share * cap),
        }),
        s("text", { x: LEFT - 8, y: y(share * cap) + 4, "text-anchor": "end" }, `${100 * share} %`),
      ),
    ),
    s("path", { class: "line", d: line }),
    history.length > 0 &&
      history.length <= 60 &&
      steps
        .slice(1)
        .map((left, i) =>
          s(
            "circle",
            { class: "point", cx: x(i + 1), cy: y(left), r: 3.5 },
            s("title", {}, `${when(history[i].time)}: ${percent(history[i].cost / cap)} of the whole`),
          ),
        ),
    s("text", { x: LEFT, y: H - 10 }, "at first"),
    s(
      "text",
      { x: W - RIGHT, y: H - 10, "text-anchor": "end" },
      history.length ? `after ${plural(history.length, "question")}` : "now",
    ),
  );
}

/** What was left at first and after each question. */
function stairs(cap, history, spent) {
  if (!history.length) return [cap - spent, cap - spent];
  const first = history[0].spent_after - history[0].cost;
  return [cap - first, ...history.map((one) => cap - one.spent_after)];
}
