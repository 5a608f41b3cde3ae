// Quantum data: a noisy measurement is gentle exactly when it is private.

import { api, faultBox, h, number, put, s } from "/static/shell.js";
import { bottom, choice, figure, left, of100, scale, stops, through, width } from "/static/lab/draw.js";

const SIZES = [1, 2, 4, 8];
const EPSILONS = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 8];

export async function quantum(room) {
  const state = { qubits: 8, at: EPSILONS.indexOf(1), swept: null };
  const board = h("div", { class: "stack" });
  const draw = () => put(board, h("div", { class: "pictures" }, curves(state), coins(state)), meaning(state));

  async function load() {
    try {
      state.swept = await api(`/v1/lab/quantum?qubits=${state.qubits}`);
      draw();
    } catch (fault) {
      put(board, faultBox(fault));
    }
  }

  room.append(
    h("p", { class: "lead" }, "Everybody holds a qubit. A machine counts how many of them are 1. Looking changes a qubit: an exact count collapses what was in superposition. ",
      "A noisy count tells less about each, and harms each less. Scott Aaronson and Guy Rothblum proved in 2019 that these are one thing: on qubits that are not entangled, what is private is gentle, and what is gentle is private."),
    h("div", { class: "controls" },
      choice({ name: "qubits", legend: "Qubits", options: SIZES.map((n) => [n, String(n)]), chosen: state.qubits, onchange: (n) => { state.qubits = n; load(); } }),
      stops({ id: "quantum-epsilon", label: "Noise on the count", values: EPSILONS, at: state.at, wide: true, ends: ["private and gentle", "exact and harmful"],
        said: (epsilon) => `epsilon ${number(epsilon)}`, onchange: (epsilon) => { state.at = EPSILONS.indexOf(epsilon); if (state.swept) draw(); } })),
    board);
  await load();
}

function curves({ swept, at }) {
  const wide = width(), [bottomAt, top] = [250, 34];
  const x = (epsilon) => scale([Math.log(0.05), Math.log(8)], [44, wide - 14])(Math.log(epsilon));
  const y = scale([0, 1], [bottomAt, top]);
  const line = (values) => through(values.map((value, i) => [x(swept.epsilons[i]), y(value)]));
  // What one answer can move a fair guess by: epsilon as a share of certainty, on the same axis.
  const told = swept.loss.map((loss) => Math.tanh(loss / 2));
  const band = `${line(swept.most)}${through(swept.least.map((value, i) => [x(swept.epsilons[i]), y(value)]).reverse()).replace("M", "L")}Z`;
  const rows = swept.epsilons.map((epsilon, i) => [number(epsilon), number(swept.loss[i], 3), ...[told, swept.damage, swept.coins, swept.least, swept.most].map((one) => number(one[i], 3))]);
  return figure({
    title: "Privacy and gentleness", width: wide, height: 300, name: "gentle",
    desc: `For ${swept.qubits} qubits: what an answer tells about one qubit, and the worst damage to all of them, both from 0 to 1. At epsilon ${number(swept.epsilons[at])} they are ${number(told[at], 2)} and ${number(swept.damage[at], 2)}.`,
    table: { head: ["epsilon", "log ratio", "told", "worst damage", "damage to coins", "at least", "at most"], rows },
  },
    s("path", { class: "between", d: band }),
    s("path", { class: "told", d: line(told) }), s("path", { class: "harm", d: line(swept.damage) }),
    s("path", { class: "threshold", d: `M${x(swept.epsilons[at]).toFixed(1)} ${top}V${bottomAt}` }),
    s("circle", { class: "told", cx: x(swept.epsilons[at]), cy: y(told[at]), r: 5 }), s("circle", { class: "harm", cx: x(swept.epsilons[at]), cy: y(swept.damage[at]), r: 5 }),
    bottom({ at: bottomAt, from: 44, to: wide - 14, ticks: [0.05, 0.2, 1, 3, 8].map((one) => [x(one), number(one)]), label: "epsilon of the count" }),
    left({ at: 44, from: bottomAt, to: top, ticks: [0, 0.5, 1].map((one) => [y(one), String(one)]) }),
    s("g", { class: "legend", "aria-hidden": "true" },
      s("path", { class: "told", d: "M8 12h20" }), s("text", { x: 34, y: 16 }, "told about one qubit"),
      s("path", { class: "harm", d: `M${wide / 2} 12h20` }), s("text", { x: wide / 2 + 26, y: 16 }, "damage to all")));
}

function coins({ swept, at }) {
  const wide = width(), many = swept.qubits + 1, after = swept.after[at];
  const x = scale([-0.5, many - 0.5], [12, wide - 12]), y = scale([0, 1], [230, 40]);
  const each = (wide - 24) / many;
  const column = (values, kind, shift) => values.map((value, i) => s("rect", { class: kind, x: x(i) + shift * each * 0.36, y: y(value), width: each * 0.34, height: Math.max(0.5, 230 - y(value)) }));
  return figure({
    title: "Fair coins, before and after", width: wide, height: 280, name: "laws",
    desc: `How probable each number of ones is among ${swept.qubits} qubits in even superposition, before a count and after the noisy answer ${swept.qubits}.`,
    table: { head: ["ones", "before, of 100", "after, of 100"], rows: after.map((value, i) => [i, of100(swept.before[i]), of100(value)]).concat([["damage", "", number(swept.coins[at], 2)]]) },
  },
    column(swept.before, "law without", -1), column(after, "law joined", 0.05),
    bottom({ at: 230, from: 12, to: wide - 12, ticks: after.map((_, i) => [x(i), String(i)]), label: "number of ones" }),
    s("g", { class: "legend", "aria-hidden": "true" },
      s("rect", { class: "law without", x: 12, y: 8, width: 14, height: 14 }), s("text", { x: 32, y: 20 }, "before"),
      s("rect", { class: "law joined", x: 100, y: 8, width: 14, height: 14 }), s("text", { x: 120, y: 20 }, `after the answer “${swept.qubits}”`)));
}

function meaning({ swept, at }) {
  const n = swept.qubits;
  return h("div", { class: "notice" },
    h("p", {}, h("strong", {}, "At this noise. "), `Changing one qubit makes no answer more than ${number(Math.exp(swept.loss[at]), 3)} times as likely. Whatever the answer, ${n === 1 ? "the qubit is" : `all ${n} qubits together are`} left within trace distance ${number(swept.damage[at], 3)} of what ${n === 1 ? "it was" : "they were"}.`),
    h("p", {}, h("strong", {}, "The theorem. "), `The worst damage to product states lies between tanh(ε/4) = ${number(swept.least[at], 3)} and √(1 − cosh(ε/4)^−${2 * n}) = ${number(swept.most[at], 3)}, the shaded band${n === 1 ? ", which for one qubit is a line" : "; the second is at most √n ε/4"}. Both curves are computed from ${number(2 ** n)} amplitudes, not from the formulas.`),
    h("p", {}, h("strong", {}, "Read with care. "), "The theorem is about qubits that are not entangled with each other. What is told is drawn as tanh(ε/2): how far one answer can move a fair guess about one qubit."),
    h("p", { class: "hint" }, "Aaronson, Rothblum 2019, Gentle Measurement of Quantum States and Differential Privacy, arXiv 1904.08747; the constants are proved in discreet.lab.quantum."));
}
