// How much to spend: by an accuracy that decides the price, or by the price itself.
import { h, number, put } from "/static/shell.js";

const STOPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

/** A coarse slider on a logarithmic scale beside an exact number; both say the same. */
export function epsilonSlider(value, changed, id = "epsilon", label = "Price") {
  const nearest = (wanted) =>
    STOPS.reduce(
      (best, stop, i) => (Math.abs(Math.log(stop / wanted)) < Math.abs(Math.log(STOPS[best] / wanted)) ? i : best),
      0,
    );
  const slider = h("input", {
    type: "range",
    id: `${id}-slider`,
    min: 0,
    max: STOPS.length - 1,
    step: 1,
    value: nearest(value),
    "aria-label": "From more privacy to more accuracy",
  });
  const exact = h("input", {
    id,
    inputmode: "decimal",
    autocomplete: "off",
    value: String(value),
    "aria-describedby": `${id}-hint`,
  });
  const told = () => slider.setAttribute("aria-valuetext", `price ${number(STOPS[slider.value])}`);
  slider.addEventListener("input", () => {
    exact.value = String(STOPS[slider.value]);
    told();
    changed();
  });
  exact.addEventListener("input", () => {
    const read = Number(exact.value);
    if (read > 0) slider.value = nearest(read);
    told();
    changed();
  });
  told();
  const element = h(
    "div",
    { class: "row" },
    h(
      "div",
      { class: "slider grow" },
      slider,
      h(
        "div",
        { class: "ends", "aria-hidden": "true" },
        h("span", {}, "← more privacy"),
        h("span", {}, "more accuracy →"),
      ),
    ),
    h(
      "div",
      { class: "field" },
      h("label", { for: id }, `${label} `, h("span", { class: "quiet" }, "(epsilon)")),
      exact,
      h(
        "span",
        { id: `${id}-hint`, class: "visually-hidden" },
        "A smaller price means more privacy, a larger one more accuracy.",
      ),
    ),
  );
  return {
    element,
    get epsilon() {
      return exact.value.trim();
    },
    set epsilon(text) {
      exact.value = text;
      slider.value = nearest(Number(text));
      told();
    },
  };
}

export function makePrice(form, changed) {
  const mode = (value, text, checked) =>
    h("label", {}, h("input", { type: "radio", name: "mode", value, checked }), text);
  const epsilon = epsilonSlider(0.1, changed);
  const field = (id, label, facts) =>
    h("div", { class: "field" }, h("label", { for: id }, label), h("input", { id, autocomplete: "off", ...facts }));
  const unit = h(
    "select",
    { id: "unit", "aria-label": "Unit" },
    h("option", { value: "" }, "in its own unit"),
    h("option", { value: "%" }, "per cent"),
  );
  const within = h("input", { id: "within", inputmode: "decimal", autocomplete: "off", value: "50" });
  const size = field("of", "of at least", { inputmode: "numeric", placeholder: "10000" });
  const rows = field("rows", "Rows in the smallest group", {
    inputmode: "numeric",
    placeholder: "needed for means",
  });
  const sure = h(
    "select",
    { id: "confidence" },
    [
      ["0.9", "90"],
      ["0.95", "95"],
      ["0.99", "99"],
    ].map(([value, text]) => h("option", { value, selected: value === "0.95" }, `${text} times in 100`)),
  );
  const byAccuracy = h(
    "div",
    { class: "stack-small" },
    h(
      "div",
      { class: "amounts" },
      h(
        "div",
        { class: "field" },
        h("label", { for: "within" }, "Noise at most ±"),
        h("div", { class: "row" }, within, unit),
      ),
      size,
      h("div", { class: "field" }, h("label", { for: "confidence" }, "this often"), sure),
      rows,
    ),
    h(
      "p",
      { class: "hint" },
      "The least price that gives this accuracy is found for you. Per cent are of a size " +
        "that you state, such as the smallest count you care about.",
    ),
  );
  const byPrice = h("div", {}, epsilon.element);

  function show() {
    const accuracy = form.elements.mode.value === "accuracy";
    byAccuracy.hidden = !accuracy;
    byPrice.hidden = accuracy;
    size.hidden = unit.value !== "%";
  }

  put(
    form,
    h(
      "fieldset",
      { class: "stack-small" },
      h("legend", { class: "label" }, "What matters"),
      h("div", { class: "choice" }, mode("accuracy", "An accuracy"), mode("price", "A price", true)),
    ),
    byAccuracy,
    byPrice,
  );
  form.addEventListener("input", (event) => {
    show();
    if (event.target !== epsilon) changed();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  show();

  const plainNumber = (field) => field.querySelector("input").value.replace(/[\s,_]/g, "");

  return {
    /** What goes into the question beside its text, in the flat words of a link. */
    get words() {
      if (form.elements.mode.value === "price") return { epsilon: epsilon.epsilon };
      const share = unit.value === "%",
        least = plainNumber(rows);
      return {
        within: share ? `${within.value.trim()} %` : within.value.trim(),
        confidence: sure.value,
        ...(share && { of: plainNumber(size) }),
        ...(least && { rows: least }),
      };
    },
    /** Ask for what an earlier question was asked for. */
    set words(said) {
      form.elements.mode.value = said.within ? "accuracy" : "price";
      if (said.epsilon) epsilon.epsilon = said.epsilon;
      if (said.within) {
        const [amount, percent] = said.within.split(/\s*(%)/);
        within.value = amount;
        unit.value = percent ?? "";
        size.querySelector("input").value = said.of ?? "";
        rows.querySelector("input").value = said.rows ?? "";
        if (said.confidence) sure.value = said.confidence;
      }
      show();
    },
    /** What is still missing, or null. */
    missing() {
      if (form.elements.mode.value === "price")
        return Number(epsilon.epsilon) > 0 || /^\d+\/\d+$/.test(epsilon.epsilon) ? null : "Set a price above 0.";
      if (!(Number(within.value) > 0)) return "Say how far noise may move the numbers.";
      return unit.value === "%" && !(Number(plainNumber(size)) > 0)
        ? "Say what the per cent are of: a size that is public, or that you guess."
        : null;
    },
  };
}
