// One release of a whole town: a slider from privacy to accuracy, and who pays for which end.

import { api, faultBox, h, number, put, s } from "/static/shell.js";
import { bottom, figure, left, of100, scale, stops, through, width } from "/static/lab/draw.js";

const STOPS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16];

export async function society(room) {
  const state = { epsilon: 1, turn: 0 };
  const board = h("div", { class: "stack" });

  async function load() {
    const turn = ++state.turn;
    board.setAttribute("aria-busy", "true");
    try {
      const made = await api(`/v1/lab/society?epsilon=${state.epsilon}`);
      if (turn === state.turn) put(board, h("div", { class: "pictures" }, towns(made), choices(made)), voices(made));
    } catch (fault) {
      if (turn === state.turn) put(board, faultBox(fault));
    } finally {
      if (turn === state.turn) board.removeAttribute("aria-busy");
    }
  }

  room.append(
    h("p", { class: "lead" }, "A town counts its people and publishes the counts once: of the town, of four quarters and of 64 blocks. Nobody can have full privacy and exact counts. ",
      "Where to stop is no question of mathematics; mathematics only says what every stop costs, and whom (Abowd, Schmutte 2019)."),
    stops({ id: "society-epsilon", label: "Epsilon of the whole release", values: STOPS, at: STOPS.indexOf(1), wide: true,
      said: (epsilon) => `epsilon ${number(epsilon)}`, onchange: (value) => { state.epsilon = value; load(); } }),
    board);
  await load();
}

function towns({ truth, published }) {
  const side = Math.sqrt(truth.length), wide = width(), cell = (wide - 24) / (2 * side), most = Math.max(...truth);
  const grid = (counts, from, name) => s("g", { transform: `translate(${from} 22)` },
    s("text", { class: "label", x: 0, y: -8 }, name),
    counts.map((count, i) => s("rect", { class: "block", x: (i % side) * cell, y: Math.floor(i / side) * cell, width: cell - 1.5, height: cell - 1.5,
      "fill-opacity": (0.06 + 0.94 * Math.min(1, Math.max(0, count) / most)).toFixed(3) })));
  return figure({
    title: "The town, as it is and as it is published", desc: `${side * side} blocks, shaded by how many people live there. The most in a block are ${most}.`,
    width: wide, height: side * cell + 26, name: "towns",
    table: { head: ["block", "people", "published"], rows: truth.map((count, i) => [i + 1, count, published[i]]) },
  }, grid(truth, 0, "as it is"), grid(published, wide / 2 + 12, "as published"));
}

function choices({ frontier: told, epsilon }) {
  const frontier = told.map(([price, found, off]) => ({ epsilon: price, found, off }));
  const stop = (one) => STOPS.includes(one.epsilon);
  const wide = width(), [bottomAt, top] = [230, 28];
  const x = scale([10, 100], [52, wide - 16]);
  const y = (off) => scale([Math.log(0.02), Math.log(200)], [bottomAt, top])(Math.log(off));
  const points = frontier.map((one) => [x(one.found), y(one.off)]);
  const at = frontier.findIndex((one) => one.epsilon === epsilon);
  return figure({
    title: "Every choice there is", desc: `Across: people of 100 who joined and can be pointed at, at most, where 10 of 100 others are. Upward: how far off a block is on average, in per cent. At epsilon ${epsilon}: ${of100(frontier[at].found / 100)} and ${number(frontier[at].off, 2)} per cent.`,
    width: wide, height: 290, name: "choices",
    table: { head: ["epsilon", "pointed at, of 100", "error of a block, %"], rows: frontier.filter(stop).map((one) => [number(one.epsilon), of100(one.found / 100), number(one.off, 2)]) },
  },
    s("path", { class: "floor", d: through(points) }),
    frontier.map((one, i) => stop(one) && s("circle", { class: "other", cx: points[i][0], cy: points[i][1], r: 3.5 })),
    s("circle", { class: "yours", cx: points[at][0], cy: points[at][1], r: 7 }),
    bottom({ at: bottomAt, from: 52, to: wide - 16, ticks: [10, 25, 50, 75, 100].map((one) => [x(one), String(one)]), label: "can be pointed at, of 100" }),
    left({ at: 52, from: bottomAt, to: top, ticks: [0.1, 1, 10, 100].map((one) => [y(one), `${one} %`]), label: "error of a block" }));
}

function voices({ levels, found, misplaced }) {
  const [whole, quarter, block] = levels;
  const percent = (level) => `± ${number(level.percent, 2)} %`;
  return h("ul", { class: "points voices" },
    h("li", {}, h("strong", {}, "The mayor. "), `The town's total is within ${percent(whole)}, 95 times in 100; a quarter's within ${percent(quarter)}.`),
    h("li", {}, h("strong", {}, "Whoever plans for a block. "), `Its ${number(block.people, 2)} people are published within ${percent(block)}. Of 100 coins handed out by published heads, ${number(misplaced, 2)} land in the wrong block this time.`),
    h("li", {}, h("strong", {}, "A family that is easily told from others. "), `Whoever points at 10 of 100 people who stayed out can point at up to ${of100(found / 100)} of 100 who were counted.`));
}
