// A class with coins: randomized response, one pupil after the other.

import { api, busy, faultBox, h, number, pause, put, s } from "/static/shell.js";
import { bottom, choice, figure, hundred, left, of100, scale, select, stops, through, width } from "/static/lab/draw.js";

const HEADS = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];
const SHARES = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];
const SIZES = [30, 100, 500, 2000];
const SHOWN = 200; // desks that are drawn
const STEPS = 20; // pictures on the way to the last one
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export async function classroom(room) {
  const state = { mode: "made-up", heads: 0.5, pupils: 100, share: 0.3, population: 0, facts: null, answers: [], reports: [], truth: null, turn: 0 };
  const board = h("div", { class: "board" });
  const tells = h("div", { class: "stack-small" });
  const how = h("div", {});

  async function hold() {
    const turn = ++state.turn;
    const { heads, pupils, share, population } = state;
    const facts = await api("/v1/lab/classroom", { method: "POST", body: { heads, pupils, share, population } });
    if (turn !== state.turn) return;
    state.facts = facts;
    put(tells, one(facts));
    if (state.mode === "made-up") {
      [state.answers, state.reports] = [facts.answers, facts.reports].map((digits) => [...digits].map((digit) => digit === "1"));
      state.truth = state.answers.filter(Boolean).length / state.answers.length;
      play(turn);
    } else {
      state.reports = state.answers.map((answer) => toss(answer, facts));
      show(state.reports.length);
    }
  }

  /** One pupil after the other, in about two seconds. */
  async function play(turn) {
    const all = state.reports.length;
    for (let step = 1; !calm() && step < STEPS; step += 1) {
      show(Math.ceil(all * (step / STEPS) ** 1.5), true);
      await pause(2000 / STEPS);
      if (turn !== state.turn) return;
    }
    show(all);
  }

  function show(upto, moving = false) {
    if (!upto) { put(board, h("div", { class: "empty" }, h("p", {}, "Nobody has answered yet."))); return; }
    const path = estimates(state.reports.slice(0, upto), state.facts);
    put(board, said(path, state, moving), curve(path, state), desks(state, upto));
  }

  const attempt = async (button) => {
    try {
      await (button ? busy(button, hold) : hold());
    } catch (fault) {
      put(board, faultBox(fault));
    }
  };

  function madeUp() {
    return h("div", { class: "controls" },
      select({ id: "class-size", label: "Pupils", options: SIZES.map((size) => [size, number(size)]), chosen: state.pupils,
        onchange: (value) => { state.pupils = Number(value); attempt(); } }),
      stops({ id: "class-share", label: "Whose true answer is yes", values: SHARES, at: SHARES.indexOf(state.share), ends: ["nobody", "everybody"],
        said: (share) => `${of100(share)} of 100`, onchange: (value) => { state.share = value; attempt(); } }),
      h("div", { class: "row" },
        h("button", { type: "button", class: "primary", id: "class-ask", onclick: (event) => attempt(event.currentTarget) }, "Ask them again"),
        h("button", { type: "button", id: "class-other", onclick: (event) => { state.population += 1; attempt(event.currentTarget); } }, "Another class")));
  }

  function yourOwn() {
    const add = (answer) => {
      state.answers.push(answer);
      state.reports.push(toss(answer, state.facts));
      show(state.reports.length);
    };
    return h("div", { class: "stack-small" },
      h("p", { class: "hint" }, "Pass this screen around, or answer for everybody you can think of. The coins are tossed in this browser; neither answers nor reports leave it."),
      h("div", { class: "row" },
        h("button", { type: "button", class: "primary", id: "class-yes", onclick: () => add(true) }, "My true answer is yes"),
        h("button", { type: "button", class: "primary", id: "class-no", onclick: () => add(false) }, "My true answer is no"),
        h("button", { type: "button", id: "class-clear", onclick: () => { state.answers = []; state.reports = []; show(0); } }, "Start over")));
  }

  function choose(mode) {
    state.mode = mode;
    state.turn += 1;
    state.truth = null;
    [state.answers, state.reports] = [[], []];
    put(how, mode === "made-up" ? madeUp() : yourOwn());
    if (mode === "made-up") attempt();
    else show(0);
  }

  room.append(
    h("p", { class: "lead" }, "“Have you ever cheated in a test?” Nobody likes to say yes. So everybody tosses a coin that nobody else sees. ",
      h("strong", {}, "Heads: tell the truth. Tails: toss again, and say whatever that coin says."),
      " No answer convicts anybody, and the class as a whole still shows."),
    h("div", { class: "controls" },
      choice({ name: "class-mode", legend: "Who answers", options: [["made-up", "A made-up class"], ["own", "You"]], chosen: state.mode, onchange: choose }),
      stops({ id: "class-heads", label: "How often the first coin says: tell the truth", values: HEADS, at: HEADS.indexOf(0.5), wide: true,
        said: (heads) => `${of100(heads)} of 100`, onchange: (value) => { state.heads = value; attempt(); } })),
    how,
    h("div", { class: "two" }, board, tells),
    whoKnows());
  choose("made-up");
}

/** A report: the truth or its opposite, by coins of this browser. */
function toss(answer, facts) {
  const [word] = crypto.getRandomValues(new Uint32Array(1));
  return word / 2 ** 32 < facts.lie ? !answer : answer;
}

/** The estimate after each pupil, and how far off the coins may have put it. */
function estimates(reports, { truth, lie, half_width: width }) {
  let yes = 0;
  return reports.map((report, i) => {
    yes += report;
    return { n: i + 1, share: (yes / (i + 1) - lie) / (truth - lie), off: width / Math.sqrt(i + 1) };
  });
}

const clamp = (share) => Math.min(1, Math.max(0, share));

function said(path, state, moving) {
  const { n, share, off } = path[path.length - 1];
  const said = `${of100(clamp(share))} of 100`;
  return h("div", { class: "stack-small", "aria-live": moving ? "off" : "polite" },
    h("p", {}, h("span", { class: "big" }, said, " ", h("small", {}, `± ${of100(off)}, the noise of the coins`))),
    h("p", { class: "hint" }, `is the estimate of how many would say yes in truth, after ${number(n)} ${n === 1 ? "pupil" : "pupils"}. `,
      off > 0.5 ? "So few tell nothing yet: it could be anything. " : "In at least 95 of 100 classes the truth is within that. ",
      state.truth !== null && !moving && `The truth, which only the pupils know: ${of100(state.truth)} of 100.`));
}

function curve(path, state) {
  const most = state.reports.length;
  const [wide, end] = [width(), width() - 48];
  const x = scale([0, Math.max(1, most)], [44, end]);
  const y = scale([-0.25, 1.25], [230, 16]);
  const within = (value) => Math.min(1.25, Math.max(-0.25, value));
  const thin = path.filter((_, i) => i % Math.ceil(path.length / 300) === 0 || i === path.length - 1);
  const upper = thin.map(({ n, share, off }) => [x(n), y(within(share + off))]);
  const lower = thin.map(({ n, share, off }) => [x(n), y(within(share - off))]).reverse();
  const last = path[path.length - 1];
  const listed = path.filter(({ n }) => [1, 3, 10, 30, 100, 300, 1000].includes(n) || n === last.n);
  return figure({
    title: "The estimate settles as more pupils answer",
    desc: `After ${last.n} pupils the estimate is ${of100(clamp(last.share))} of 100, and the noise of the coins is at most ${of100(last.off)} in 95 of 100 classes.`,
    width: wide, height: 280, name: "settling",
    table: { head: ["pupils", "estimate, of 100", "± noise of the coins"], rows: listed.map(({ n, share, off }) => [number(n), of100(clamp(share)), of100(off)]) },
  },
    s("path", { class: "grid", d: `M44 ${y(0)}H${end}M44 ${y(1)}H${end}` }),
    s("path", { class: "band", d: `${through([...upper, ...lower])}Z` }),
    state.truth !== null && s("path", { class: "truth", d: `M44 ${y(state.truth)}H${end}` }),
    s("path", { class: "line", d: through(thin.map(({ n, share }) => [x(n), y(within(share))])) }),
    s("circle", { class: "now", cx: x(last.n), cy: y(within(last.share)), r: 5 }),
    bottom({ at: 230, from: 44, to: end, ticks: [0, Math.round(most / 2), most].filter((n, i, all) => all.indexOf(n) === i).map((n) => [x(n), number(n)]), label: "pupils who have answered" }),
    left({ at: 44, from: 230, to: 16, ticks: [[y(0), "0"], [y(0.5), "50"], [y(1), "100"]] }),
    state.truth !== null && s("text", { class: "note truth-note", x: end + 9, y: y(state.truth) + 4, "aria-hidden": "true" }, "truth"));
}

function desks(state, upto) {
  const shown = Math.min(upto, SHOWN);
  const yes = state.reports.slice(0, upto).filter(Boolean).length;
  return h("div", { class: "stack-small" },
    h("div", { class: "desks", role: "img", "aria-label": `${yes} of ${upto} reports say yes` },
      state.reports.slice(0, shown).map((report) => h("i", { class: report ? "yes" : null }))),
    h("p", { class: "hint" }, `What left the desks: ${number(yes)} of ${number(upto)} reports say yes (filled).`,
      upto > shown && ` The first ${shown} are drawn.`, " Which of them are true, nobody can tell."));
}

/** What one report tells about whoever sent it. */
const one = (facts) => h("div", { class: "stack-small" },
  h("h3", {}, "What one answer tells"),
  h("p", {}, `Of 100 pupils who did, ${of100(facts.truth)} say yes. Of 100 who did not, ${of100(facts.lie)} say yes all the same.`),
  h("p", {}, `Say you held ${facts.before} of 100 pupils like this one for cheaters. Then this one answers `, h("strong", {}, "yes"),
    `: now it is `, h("strong", {}, `${facts.after_yes} of 100`), `. After a `, h("strong", {}, "no"), `, ${facts.after_no} of 100.`),
  h("div", { class: "pair three" },
    h("div", {}, h("p", { class: "small" }, "before"), hundred(facts.before, `${facts.before} of 100 before`)),
    h("div", {}, h("p", { class: "small" }, "after a yes"), hundred(facts.after_yes, `${facts.after_yes} of 100 after a yes`, "more")),
    h("div", {}, h("p", { class: "small" }, "after a no"), hundred(facts.after_no, `${facts.after_no} of 100 after a no`, "more"))),
  h("p", { class: "hint" }, `Nothing that anybody learns later can make more of this one answer. Its epsilon is ${number(facts.epsilon, 3)}; pupils who answer twice pay twice.`));

const KNOWS = [
  ["you", "your true answer", "your true answer"],
  ["who collects the answers", "one answer that may be a lie", "your true answer"],
  ["who breaks in there, or comes with a court order", "one answer that may be a lie", "your true answer"],
  ["who reads the result", "an estimate for the class", "an answer with noise, within the budget"],
];

const whoKnows = () => h("details", {}, h("summary", {}, "Who knows what: coins at the desk, or a curator"),
  h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Who knows what" },
    h("table", {}, h("thead", {}, h("tr", {}, ["Who", "Coins at your desk", "A curator (the rest of this server)"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, KNOWS.map(([who, local, central]) => h("tr", {}, h("th", { scope: "row" }, who), h("td", {}, local), h("td", {}, central)))))),
  h("p", { class: "hint" }, "A curator who is trusted with the true answers can be far more accurate for the same promise: the noise is added once, not by every pupil."));
