// Noise on a count: two laws that are hard to tell apart, and the errors of those who try.

import { api, faultBox, h, number, put, s } from "/static/shell.js";
import { check } from "/static/lab/check.js";
import { bottom, choice, figure, hundred, left, of100, scale, steps, stops, through, width } from "/static/lab/draw.js";

const COUNT = 41; // how many people have the trait, without you
const REACH = 15; // answers drawn on either side
const STOPS = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5];
const NAMES = { laplace: "Laplace", gaussian: "Gaussian" };

export async function noise(room) {
  const state = { noise: "laplace", epsilon: 1, from: 1, drawn: null, asked: 0 };
  const pictures = h("div", { class: "pictures" });
  const found = h("div", { class: "found", "aria-live": "polite" });
  const bound = h("div", {});
  const quiz = check();

  async function load() {
    const turn = ++state.asked;
    pictures.setAttribute("aria-busy", "true");
    try {
      const drawn = await api(`/v1/lab/noise?noise=${state.noise}&epsilon=${state.epsilon}`);
      if (turn !== state.asked) return;
      state.drawn = drawn;
      draw();
      put(bound, promise(drawn));
      quiz.update(drawn);
    } catch (fault) {
      if (turn === state.asked) put(pictures, faultBox(fault));
    } finally {
      if (turn === state.asked) pictures.removeAttribute("aria-busy");
    }
  }

  function draw() {
    put(pictures, laws(state.drawn, state.from), errors(state.drawn, state.from));
    put(found, attacker(state.drawn, state.from));
  }

  room.append(
    h("p", { class: "lead" }, `${COUNT} people in a dataset have some trait, and you are about to join as number ${COUNT + 1}. `,
      "The published count carries noise. Can somebody who sees it tell whether you joined?"),
    h("div", { class: "controls" },
      choice({ name: "noise", legend: "Kind of noise", options: Object.entries(NAMES), chosen: state.noise,
        onchange: (value) => { state.noise = value; load(); } }),
      stops({ id: "noise-epsilon", label: "How much noise", values: STOPS, at: STOPS.indexOf(1), wide: true,
        said: (epsilon) => `epsilon ${number(epsilon)}`, onchange: (value) => { state.epsilon = value; load(); } })),
    pictures,
    h("div", { class: "two" },
      h("div", { class: "stack-small" },
        h("h3", {}, "Be the attacker"),
        stops({ id: "noise-from", label: "You say “they joined” from this answer on", ends: ["cry wolf", "be careful"],
          values: Array.from({ length: 2 * REACH + 1 }, (_, i) => i - REACH), at: REACH + 1, said: (from) => String(COUNT + from),
          onchange: (value) => { state.from = value; if (state.drawn) draw(); } }),
        found),
      bound),
    quiz.element);
  await load();
}

/* --- the two laws ------------------------------------------------------------------------------- */

function laws(drawn, from) {
  const shown = drawn.answers.map((answer, i) => [answer, drawn.without[i], drawn.joined[i]]).filter(([answer]) => Math.abs(answer) <= REACH);
  const most = Math.max(...shown.flatMap(([, out, inside]) => [out, inside]));
  const wide = width();
  const x = scale([-REACH - 0.5, REACH + 0.5], [16, wide - 16]);
  const y = scale([0, most], [230, 40]);
  const side = (column, kind) => {
    const values = shown.map((row) => [row[0], row[column]]);
    const caught = values.filter(([answer]) => answer >= from);
    return [s("path", { class: `law ${kind}`, d: steps(values, x, y, 0.5) }), caught.length && s("path", { class: `caught ${kind}`, d: steps(caught, x, y, 0.5) })];
  };
  const ticks = [-15, -10, -5, 0, 5, 10, 15].map((answer) => [x(answer), String(COUNT + answer)]);
  return figure({
    title: "How probable each published count is",
    desc: `With ${NAMES[drawn.noise]} noise at epsilon ${drawn.epsilon}. Without you the counts lie around ${COUNT}, with you around ${COUNT + 1}. `
      + `95 of 100 published counts are within ${number(drawn.half_width)} of the truth.`,
    width: wide, height: 280, name: "laws",
    table: { head: ["published count", "without you, of 100", "with you, of 100"],
      rows: shown.map(([answer, out, inside]) => [COUNT + answer, of100(out), of100(inside)]) },
  },
    side(1, "without"), side(2, "joined"),
    s("path", { class: "threshold", d: `M${x(from - 0.5).toFixed(2)} 34V230` }),
    bottom({ at: 230, from: 16, to: wide - 16, ticks, label: "published count" }),
    s("g", { class: "legend", "aria-hidden": "true" },
      s("rect", { class: "law without", x: 16, y: 8, width: 14, height: 14 }), s("text", { x: 36, y: 20 }, `you stay out (${COUNT})`),
      s("rect", { class: "law joined", x: wide / 2, y: 8, width: 14, height: 14 }), s("text", { x: wide / 2 + 20, y: 20 }, `you join (${COUNT + 1})`)));
}

/* --- the errors --------------------------------------------------------------------------------- */

function errors(drawn, from) {
  const x = scale([0, 1], [48, 332]);
  const y = scale([0, 1], [300, 16]);
  const floor = drawn.floor.map(([alarms, misses]) => [x(alarms), y(misses)]);
  const at = drawn.answers.indexOf(from);
  const ticks = (axis) => [0, 0.25, 0.5, 0.75, 1].map((share) => [axis(share), String(100 * share)]);
  const rows = drawn.alarms.map((alarms, i) => [COUNT + drawn.answers[i], of100(alarms), of100(drawn.misses[i])]).filter((_, i) => Math.abs(drawn.answers[i]) <= REACH);
  return figure({
    title: "The two errors of an attacker",
    desc: "False alarms across, misses upward, of a hundred each. The shaded area below the curve is closed to every attacker. "
      + `Yours has ${of100(drawn.alarms[at])} false alarms and ${of100(drawn.misses[at])} misses.`,
    width: 348, height: 348, name: "errors",
    table: { head: ["“joined” from this count on", "false alarms, of 100", "misses, of 100: no attacker has fewer"], rows },
  },
    s("path", { class: "closed", d: `${through([[x(0), y(0)], ...floor, [x(1), y(0)]])}Z` }),
    s("path", { class: "blind", d: through([[x(0), y(1)], [x(1), y(0)]]) }),
    s("path", { class: "floor", d: through(floor) }),
    drawn.alarms.map((alarms, i) => s("circle", { class: "other", cx: x(alarms), cy: y(drawn.misses[i]), r: 2 })),
    s("circle", { class: "yours", cx: x(drawn.alarms[at]), cy: y(drawn.misses[at]), r: 6 }),
    s("text", { class: "note closed-note", x: x(0.04), y: y(0.05), "aria-hidden": "true" }, Math.max(...drawn.floor.map(([alarms, misses]) => Math.min(alarms, misses))) > 0.15 ? "no attacker can be here" : ""),
    s("text", { class: "note", x: x(0.72), y: y(0.34), "aria-hidden": "true" }, "blind guess"),
    bottom({ at: 300, from: 48, to: 332, ticks: ticks(x), label: "false alarms, of 100 who stayed out" }),
    left({ at: 48, from: 300, to: 16, ticks: ticks(y) }),
    s("text", { class: "label", x: 0, y: 0, transform: "translate(12 158) rotate(-90)", "text-anchor": "middle", "aria-hidden": "true" }, "misses, of 100 who joined"));
}

/* --- in words ----------------------------------------------------------------------------------- */

function attacker(drawn, from) {
  const at = drawn.answers.indexOf(from);
  const [wrong, right] = [drawn.alarms[at], 1 - drawn.misses[at]];
  return h("div", { class: "stack-small" },
    h("p", {}, "You find ", h("strong", {}, `${of100(right)} of 100`), " people who joined, and wrongly point at ",
      h("strong", {}, `${of100(wrong)} of 100`), " who stayed out."),
    h("p", { class: "hint" }, right - wrong < 0.1
      ? "That is close to guessing blindly: your finger says little about anybody."
      : "Finding more people always costs more false alarms; the curve says how many."));
}

const promise = (drawn) => h("div", { class: "stack-small" },
  h("h3", {}, "What no attacker can do"),
  h("p", {}, "Whoever points at ", h("strong", {}, `${drawn.of_strangers} of 100`), " who stayed out can point at ",
    h("strong", {}, `at most ${drawn.of_people} of 100`), " who joined. However clever, whatever else they know."),
  h("div", { class: "pair" },
    h("div", {}, h("p", { class: "small" }, "if you stay out"), hundred(drawn.of_strangers, `${drawn.of_strangers} of 100 people who stayed out are pointed at`)),
    h("div", {}, h("p", { class: "small" }, "if you join, at most"), hundred(drawn.of_people, `at most ${drawn.of_people} of 100 people who joined are pointed at`, "more"))),
  h("p", { class: "hint" }, `The price: 95 of 100 published counts are within ${number(drawn.half_width)} of the truth, the others further off.`),
  h("details", { class: "small" }, h("summary", {}, "The promise, to the letter"),
    h("p", {}, `${NAMES[drawn.noise]} noise, epsilon ${number(drawn.epsilon)}${drawn.delta ? `, delta ${number(drawn.delta)}` : ""}. ${drawn.reading}`)));
