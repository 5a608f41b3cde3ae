// How much may ever be told, in chances out of a hundred.
import { h, people, put } from "/static/shell.js";
import { epsilonSlider } from "/static/ask/price.js";

const PRIOR = 0.1;

/**
 * At most how many in 100, where it were 10 without somebody's data; rounded up. Of two worlds
 * that differ in one person, P(A) <= e^epsilon Q(A) + delta, and likewise for what is not A.
 */
export function worst(epsilon, delta) {
  const most = Math.min(Math.exp(epsilon) * PRIOR + delta, 1 - Math.exp(-epsilon) * (1 - PRIOR - delta), 1);
  return Math.min(100, Math.ceil(100 * most - 1e-9));
}

export function budgetStep(draft, { heading, next, changed }) {
  if (draft.dataset) {
    return [
      heading("How much may ever be told?"),
      h("p", {}, `It shares the budget of ${draft.dataset}, because it is about the same people.`),
      next(() => null, "Look at it"),
    ];
  }
  const meaning = h("div", { class: "stack-small", "aria-live": "polite" });
  const delta = h("input", {
    id: "delta",
    inputmode: "decimal",
    autocomplete: "off",
    value: draft.delta,
    "aria-describedby": "delta-hint",
    oninput: read,
  });
  const slider = epsilonSlider(Number(draft.epsilon), read, "total", "In all");

  function read() {
    Object.assign(draft, { epsilon: slider.epsilon, delta: delta.value.trim() });
    const most = worst(Number(draft.epsilon), Number(draft.delta) || 0);
    put(
      meaning,
      h(
        "p",
        {},
        "Suppose that without somebody's data, something that follows from all answers would " +
          "happen to them with ",
        h("strong", {}, "10 chances in 100"),
        ". With their data: at most ",
        h("strong", {}, `${most} in 100`),
        ", whatever is ever asked.",
      ),
      people(10, most),
      Number(draft.delta) > 0 &&
        h(
          "p",
          { class: "hint" },
          "An upper estimate: with a chance of an exception, the way in which the total is kept " +
            "brings it further down.",
        ),
    );
    changed();
  }

  function wrong() {
    const chance = Number(draft.delta || 0);
    return Number(draft.epsilon) > 0 && chance >= 0 && chance < 1
      ? null
      : "The total is above 0, the chance at least 0 and below 1.";
  }

  read();
  return [
    heading("How much may ever be told?"),
    h(
      "p",
      { class: "quiet" },
      "This is the total for all analysts and all time. It never resets. You can raise it " +
        "later, with a reason; you cannot take it back.",
    ),
    slider.element,
    meaning,
    h(
      "div",
      { class: "field" },
      h("label", { for: "delta" }, "Chance of an exception (delta)"),
      delta,
      h(
        "p",
        { class: "hint", id: "delta-hint" },
        "Far below one in the number of people; 0 for none. A little of it lets far more questions through.",
      ),
    ),
    next(wrong, "Look at it"),
  ];
}
