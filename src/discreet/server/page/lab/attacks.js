// The published attacks, in chapters: raw answers, a classical defence and private ones, with the bound.

import { api, faultBox, h, number, pause, put, s } from "/static/shell.js";
import { figure, of100, scale, select, stops, width } from "/static/lab/draw.js";

const SIDES = ["raw", "rounded", "private"];
const BUSY = 30; // times that a run is asked for again while another one is running
const capital = (text) => text[0].toUpperCase() + text.slice(1);
/** What a bar stands for: raw answers are not always exact ones. */
const side = (attack, against) => ({ raw: capital(attack.raw), rounded: "Classical defence", private: "Private answers" })[against];

/** A chapter: what happened, and attacks of that kind to try. */
export async function attacks(room, { attacks: every, epsilons, populations }, chapter) {
  const all = chapter.plays.map((name) => every.find((one) => one.name === name));
  const state = { attack: all[0], epsilon: 1, effort: null, population: 0, turn: 0 };
  const about = h("div", { class: "stack" });
  const result = h("div", { class: "stack" });
  const status = h("p", { class: "visually-hidden", role: "status" });
  const choices = h("div", { class: "controls" });
  const list = h("ul", { class: "plays" });

  function choose(attack) {
    [state.attack, state.effort] = [attack, attack.efforts.at(-1)];
    put(list, all.map((one) => h("li", {}, h("button", { type: "button", "aria-pressed": String(one === attack), "data-name": one.name,
      disabled: !one.available, title: one.available ? null : "needs scipy on the server", onclick: () => choose(one) }, one.title))));
    put(about, h("h3", {}, attack.title), h("p", {}, attack.story), h("p", { class: "hint" }, attack.paper));
    put(choices, controls());
    run();
  }

  function controls() {
    return [
      stops({ id: `attack-epsilon-${chapter.name}`, label: "The promise", values: epsilons, at: epsilons.indexOf(state.epsilon),
        said: (epsilon) => `epsilon ${number(epsilon)}`, onchange: (value) => { state.epsilon = value; run(); } }),
      state.attack.efforts.length > 1 && select({ id: `attack-effort-${chapter.name}`, label: "How hard the attacker tries", chosen: state.effort,
        options: state.attack.efforts.map((effort) => [effort, `${number(effort)} ${state.attack.unit}`]),
        onchange: (value) => { state.effort = Number(value); run(); } }),
      select({ id: `attack-people-${chapter.name}`, label: "Made-up people", chosen: state.population,
        options: Array.from({ length: populations }, (_, i) => [i, `population ${i + 1}`]),
        onchange: (value) => { state.population = Number(value); run(); } }),
    ];
  }

  async function run() {
    const turn = ++state.turn;
    const runs = {};
    const current = () => turn === state.turn;
    put(result, outcome(state, runs));
    for (const against of SIDES) {
      try {
        const found = await ask(state.attack.name, { against, epsilon: state.epsilon, effort: state.effort, population: state.population }, current);
        if (!current()) return;
        runs[against] = found;
        put(result, outcome(state, runs));
        if (against === "private") status.textContent = meaning(state.attack, runs);
      } catch (fault) {
        if (current()) put(result, faultBox(fault));
        return;
      }
    }
  }

  room.append(
    h("p", { class: "lead" }, chapter.lead),
    h("ul", { class: "cases" }, chapter.cases.map((one) => h("li", {}, h("h3", {}, one.title, " ", h("span", { class: "tag" }, one.year)), h("p", {}, one.text), h("p", { class: "hint" }, one.source)))),
    h("div", { class: "bench" }, h("nav", { "aria-label": `Attacks: ${chapter.title}` }, list), h("div", { class: "stack" }, about, choices, result, status)));
  choose(state.attack);
}

let last = Promise.resolve();

/** One run: this page asks for one at a time and, while another visitor's is on, waits for it. */
function ask(name, body, wanted = () => true) {
  const made = last.then(async () => {
    for (let i = 0; ; i += 1) {
      if (!wanted()) return null;
      try {
        return await api(`/v1/lab/attacks/${name}`, { method: "POST", body });
      } catch (fault) {
        if (i >= BUSY || ![429, 503].includes(fault.status)) throw fault;
        await pause(1000);
      }
    }
  });
  last = made.catch(() => null);
  return made;
}

/* --- one attack --------------------------------------------------------------------------------- */

function outcome({ attack, epsilon }, runs) {
  const done = Object.keys(runs).length === SIDES.length;
  return [bars(attack, runs), h("ul", { class: "points sides" }, SIDES.map((against) => h("li", {},
    h("strong", {}, `${side(attack, against)}${against === "raw" ? "" : ` (${attack[against]})`}. `),
    runs[against] ? runs[against].sentence : h("span", { class: "quiet" }, h("span", { class: "spinner", "aria-hidden": "true" }), " running"),
    runs[against] && " ", runs[against] && verdict(runs[against], against)))),
  done && useful(runs.private.learnt, epsilon),
  done && h("div", { class: "notice" },
    h("p", {}, h("strong", {}, "What it means. "), meaning(attack, runs)),
    h("p", {}, h("strong", {}, attack.control ? "The control. " : "By chance. "), `${attack.without} (${of100(runs.private.baseline)} of 100${attack.control ? " in this run" : ""}.)`),
    h("p", {}, h("strong", {}, "Read with care. "), attack.caution)),
  done && h("p", { class: "hint" }, `People are made up from a number, the same for all three sides. Private answers at epsilon ${number(epsilon)} carry fresh noise; `,
    "a run is kept, so asking for it again shows the same.")];
}

const verdict = ({ refutes, verdict: words }, against) => against === "private"
  ? h("span", { class: refutes ? "tag bad" : "tag good" }, words)
  : h("span", { class: refutes ? "tag bad" : "tag" }, refutes ? "breaks the promise" : "not broken by this attacker");

function meaning({ proved, raw: met }, { raw, private: kept }) {
  const found = `${of100(raw.success)} of 100 with ${met}, ${of100(kept.success)} of 100 with private answers.`;
  if (!proved) return `${found} The truth is ${of100(kept.baseline)} of 100.`;
  const bound = `While the promise is kept, no attacker at all gets above ${of100(kept.bound)} of 100 in the long run.`;
  return kept.success > kept.bound && !kept.refutes
    ? `${found} ${bound} This run of ${number(kept.n)} guesses is above that by chance, as ${of100(kept.lower)} to ${of100(kept.upper)} are within its sampling error.`
    : `${found} ${bound}`;
}

/** What an analyst still learns for the same promise: the answer with its interval beside the truth. */
function useful({ asked, truth, answer, half_width: half, people }, epsilon) {
  const wide = width(), x = scale([0, people], [8, wide - 8]);
  const between = (value) => Math.min(people, Math.max(0, value));
  return h("div", { class: "useful" }, h("h4", {}, "What an analyst still learns"),
    h("p", {}, `${asked} `, h("strong", {}, `${number(answer)} ± ${number(half)}`), ` (truth: ${number(truth)}), for the whole of epsilon ${number(epsilon)}.`),
    figure({ title: "What an analyst still learns", desc: `${asked} ${number(answer)}, give or take ${number(half)}; the truth is ${number(truth)}.`, width: wide, height: 52, name: "learnt",
      table: { head: ["", "people"], rows: [["answer", number(answer)], ["within ±", number(half)], ["truth", number(truth)], ["of", number(people)]] } },
      s("path", { class: "track-line", d: `M${x(0)} 18H${x(people)}` }),
      s("rect", { class: "within", x: x(between(answer - half)), y: 10, width: Math.max(3, x(between(answer + half)) - x(between(answer - half))), height: 16 }),
      s("path", { class: "now", d: `M${x(between(answer)).toFixed(1)} 6v24` }), s("path", { class: "chance", d: `M${x(truth).toFixed(1)} 2v32` }),
      s("text", { x: x(0), y: 48 }, "0"), s("text", { x: x(people), y: 48, "text-anchor": "end" }, number(people)),
      s("text", { x: wide / 2, y: 48, "text-anchor": "middle" }, "bar: answer · dotted: truth")));
}

function bars(attack, runs) {
  const wide = width();
  const x = scale([0, 1], [2, wide - 48]);
  const row = (i) => 46 + 56 * i;
  const told = SIDES.filter((against) => runs[against]);
  const bound = runs.private?.bound;
  return figure({
    title: `${attack.title}: how far the attacker came`,
    desc: told.map((against) => `${side(attack, against)}: ${of100(runs[against].success)} of 100`).join(". ")
      + (runs.private && attack.proved ? `. No attacker passes ${of100(bound)} of 100 in the long run while the promise is kept.` : ""),
    width: wide, height: 220, name: "bars",
    table: told.length === SIDES.length && { head: ["answers", "success, of 100", "95 of 100 runs", "without answers", "bound", "guesses"],
      rows: told.map((against) => [side(attack, against), of100(runs[against].success), `${of100(runs[against].lower)} to ${of100(runs[against].upper)}`, of100(runs[against].baseline), of100(runs[against].bound), number(runs[against].n)]) },
  },
    runs.private && s("rect", { class: "beyond", x: x(bound), y: 20, width: x(1) - x(bound), height: 170 }),
    SIDES.map((against, i) => s("g", {},
      s("rect", { class: "track", x: x(0), y: row(i), width: x(1) - x(0), height: 24 }),
      runs[against] && s("rect", { class: `bar ${against}`, x: x(0), y: row(i), width: Math.max(1.5, x(runs[against].success) - x(0)), height: 24 }),
      runs[against] && s("path", { class: "sampled", d: `M${x(runs[against].lower).toFixed(1)} ${row(i) + 12}H${x(runs[against].upper).toFixed(1)}m0 -4v8M${x(runs[against].lower).toFixed(1)} ${row(i) + 8}v8` }),
      runs[against] && s("path", { class: "chance", d: `M${x(runs[against].baseline).toFixed(1)} ${row(i) - 3}v30` }),
      runs[against] && s("text", { class: "value", x: x(1) + 8, y: row(i) + 17 }, of100(runs[against].success)))),
    runs.private && s("path", { class: "bound", d: `M${x(bound).toFixed(1)} 20v170` }),
    SIDES.map((against, i) => s("text", { class: "label halo", x: x(0), y: row(i) - 7 }, side(attack, against))),
    runs.private && s("text", { class: "note bound-note", x: Math.min(Math.max(x(bound), x(0.22)), x(0.78)), y: 13, "text-anchor": "middle" }, `${attack.proved ? "no attacker passes" : "the truth plus 5:"} ${of100(bound)}`),
    s("text", { class: "note", x: x(0), y: 210 }, "dotted: without answers · whisker: 95 of 100 runs"));
}

/* --- all of them -------------------------------------------------------------------------------- */

/** Every attack at one promise, raw and private. */
export async function overview(room, { attacks: every, epsilons }) {
  const all = every.filter(({ available }) => available);
  const table = h("div", {});
  const state = { epsilon: 1 };
  let stopped = true;
  const go = h("button", { type: "button", id: "attack-all", onclick: () => (stopped ? start() : stop()) }, "Run all attacks");
  const stop = () => { stopped = true; go.textContent = "Run all attacks"; };

  async function start() {
    stopped = false;
    go.textContent = "Stop";
    const [promised, rows] = [state.epsilon, []];
    try {
      for (const attack of all) {
        const row = { attack };
        rows.push(row);
        for (const against of ["raw", "private"]) {
          if (stopped) return;
          put(table, rowsOf(rows, promised));
          row[against] = await ask(attack.name, { against, epsilon: promised, effort: attack.efforts.at(-1), population: 0 }, () => !stopped);
        }
        put(table, rowsOf(rows, promised));
      }
    } catch (fault) {
      put(table, faultBox(fault));
    } finally {
      stop();
    }
  }

  room.append(
    h("p", { class: "lead" }, "The same attackers, with the same effort, meet what was published and a curator who keeps a promise. The promise is for every attacker; these are some of them."),
    h("div", { class: "controls" }, stops({ id: "all-epsilon", label: "The promise", values: epsilons, at: epsilons.indexOf(1),
      said: (epsilon) => `epsilon ${number(epsilon)}`, onchange: (value) => { state.epsilon = value; } }), h("div", { class: "row" }, go)),
    table);
}

const rowsOf = (rows, epsilon) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "All attacks" },
  h("table", { class: "all" }, h("caption", {}, `Success of 100, at epsilon ${number(epsilon)}. A filled mark is the attacker on private answers, a hollow one on raw answers; the shaded part is closed to every attacker${rows.every(({ attack }) => attack.proved) ? "" : " (of the holdout: beyond the truth plus 5)"}.`),
    h("thead", {}, h("tr", {}, ["Attack", "Raw", "Private", "Bound", "By chance or control", ""].map((text, i) => h("th", { scope: "col", class: i && i < 5 ? "n" : null }, text || h("span", { class: "visually-hidden" }, "picture"))))),
    h("tbody", {}, rows.map(({ attack, raw, private: kept }) => h("tr", {},
      h("th", { scope: "row" }, attack.title),
      h("td", { class: "n" }, raw ? of100(raw.success) : "…"), h("td", { class: "n" }, kept ? of100(kept.success) : "…"),
      h("td", { class: "n" }, kept ? of100(kept.bound) : ""), h("td", { class: "n" }, kept ? of100(kept.baseline) : ""),
      h("td", { class: "mini" }, raw && kept && mini(raw, kept)))))));

function mini(raw, kept) {
  const x = scale([0, 1], [6, 154]);
  return s("svg", { viewBox: "0 0 160 20", "aria-hidden": "true" },
    s("rect", { class: "beyond", x: x(kept.bound), y: 2, width: x(1) - x(kept.bound), height: 16 }),
    s("path", { class: "track-line", d: `M${x(0)} 10H${x(1)}` }),
    s("path", { class: "bound", d: `M${x(kept.bound).toFixed(1)} 2v16` }),
    s("circle", { class: "hollow", cx: x(raw.success), cy: 10, r: 4.5 }),
    s("circle", { class: "full", cx: x(kept.success), cy: 10, r: 4.5 }));
}
