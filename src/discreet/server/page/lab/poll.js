// A poll without a trusted server: noisy reports in, counts with intervals out.

import { api, busy, faultBox, h, number, put, s } from "/static/shell.js";
import { bottom, figure, scale, select, stops, width } from "/static/lab/draw.js";

const PROTOCOLS = [
  ["randomized-response", "the drink itself, or another one"],
  ["hadamard", "one bit about it"],
  ["hashing", "a hash of it"],
  ["unary", "a bit for every drink"],
];
const SIZES = [100, 1000, 10000, 100000];
const EPSILONS = [0.25, 0.5, 1, 2, 4];

export async function poll(room) {
  const state = { protocol: "randomized-response", epsilon: 1, people: 10000 };
  const board = h("div", { class: "board" });

  async function ask(button) {
    try {
      const held = () => api("/v1/lab/poll", { method: "POST", body: state });
      const facts = await (button ? busy(button, held) : held());
      put(board, picture(facts), told(facts));
    } catch (fault) {
      put(board, faultBox(fault));
    }
  }

  room.append(
    h("p", {}, "Every device randomizes its own answer before it leaves. Nobody has to be trusted with the truth: not the network, not the server, not whoever steals its disk."),
    h("div", { class: "controls" },
      select({ id: "poll-protocol", label: "What a device reports", options: PROTOCOLS, chosen: state.protocol,
        onchange: (value) => { state.protocol = value; ask(); } }),
      select({ id: "poll-people", label: "People", options: SIZES.map((size) => [size, number(size)]), chosen: state.people,
        onchange: (value) => { state.people = Number(value); ask(); } }),
      stops({ id: "poll-epsilon", label: "Epsilon", values: EPSILONS, at: EPSILONS.indexOf(state.epsilon), ends: ["more privacy", "more accuracy"],
        said: (epsilon) => number(epsilon), onchange: (value) => { state.epsilon = value; ask(); } }),
      h("div", { class: "row" },
        h("button", { type: "button", class: "primary", id: "poll-ask", onclick: (event) => ask(event.currentTarget) }, "Report again"))),
    board,
  );
  await ask();
}

function told({ first, report_bytes: bytes, rows }) {
  const inside = rows.filter((row) => row.lower <= row.truth && row.truth <= row.upper).length;
  return h("p", { id: "poll-said" }, `The first of them drinks ${first.value} and sent ${first.report} (${bytes} ${bytes === 1 ? "byte" : "bytes"}). ` +
    `The intervals hold the truth for ${inside} of ${rows.length} drinks; 95 of 100 do.`);
}

function picture({ rows }) {
  const wide = width(), line = 26, height = rows.length * line + 50;
  const x = scale([0, Math.max(...rows.map((row) => row.upper), 1)], [70, wide - 12]);
  const ticks = [0, 0.5, 1].map((part) => part * Math.max(...rows.map((row) => row.upper), 1));
  return figure(
    { title: "What the reports say", desc: "For each drink the estimate, its interval and the truth.", width: wide, height, name: "poll",
      table: { head: ["Drink", "People", "Estimate", "From", "To"],
        rows: rows.map((row) => [row.value, ...[row.truth, row.estimate, row.lower, row.upper].map((one) => number(one, 3))]) } },
    rows.map((row, i) => {
      const y = 16 + i * line;
      return s("g", {},
        s("text", { x: 62, y: y + 4, "text-anchor": "end" }, row.value),
        s("path", { class: "curve", d: `M${x(row.lower)} ${y}H${x(row.upper)}`, stroke: "currentColor", "stroke-width": 2 }),
        s("circle", { cx: x(Math.max(0, row.estimate)), cy: y, r: 4, fill: "currentColor" }),
        s("path", { class: "truth", d: `M${x(row.truth)} ${y - 8}v16`, stroke: "currentColor", "stroke-dasharray": "3 2" }));
    }),
    bottom({ at: height - 42, from: 70, to: wide - 12, ticks: ticks.map((tick) => [x(tick), number(tick, 2)]), label: "people" }),
  );
}
