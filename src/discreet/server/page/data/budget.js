// How much may ever be told, in chances out of a hundred.
import { field, h, people, put } from "/static/shell.js";
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

export function budgetPart(draft) {
  if (draft.dataset) return h("p", {}, `It shares the budget of ${draft.dataset}, because it is about the same people.`);
  const meaning = h("div", { class: "stack-small", "aria-live": "polite" });
  const slider = epsilonSlider(Number(draft.epsilon), read, "total", "In all");
  const chance = field("delta", "Chance of an exception (delta)", {
    inputmode: "decimal", value: draft.delta, topic: "delta", oninput: read,
    hint: "Far below one in the number of people; 0 for none. A little of it lets far more questions through.",
  });
  function read() {
    Object.assign(draft, { epsilon: slider.epsilon, delta: chance.querySelector("input").value.trim() });
    const most = worst(Number(draft.epsilon), Number(draft.delta) || 0);
    put(meaning,
      h("p", {}, "Suppose that without somebody's data, something that follows from all answers would happen to them with ",
        h("strong", {}, "10 chances in 100"), ". With their data: at most ", h("strong", {}, `${most} in 100`), ", whatever is ever asked."),
      people(10, most),
      Number(draft.delta) > 0 && h("p", { class: "hint" }, "An upper estimate: with a chance of an exception, the way in which the total is kept brings it further down."));
  }
  read();
  return [
    h("p", { class: "quiet" }, "This is the total for all analysts and all time. It never resets. You can raise it later, with a reason; you cannot take it back."),
    slider.element, meaning, chance,
  ];
}
