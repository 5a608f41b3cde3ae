// The Ask page: a question, its price while it is typed, its answer.
import {
  api,
  confirmed,
  debounce,
  ended,
  faultBox,
  h,
  number,
  one,
  people,
  percent,
  plural,
  put,
  say,
  start,
} from "/static/shell.js";
import { makeEditor } from "/static/ask/editor.js";
import { epsilonSlider, makePrice } from "/static/ask/price.js";
import { makeTold, odds, share, summary, tightest, fits, whose } from "/static/ask/told.js";
import { readyChart } from "/static/ask/chart.js";
import { clearResult, drawOrder, drawResult } from "/static/ask/result.js";
import { drawSchema } from "/static/ask/schema.js";
import { makeHistory } from "/static/ask/history.js";
import { forget, pending, prepare, run } from "/static/ask/run.js";

const DRAFT = "draft question";
const me = await start({ roles: ["analyst", "owner"] });
if (me) page();

function page() {
  const told = makeTold(one("#told")),
    answer = one("#answer"),
    runButton = one("#run");
  let explained = null,
    asking = null,
    turn = 0,
    stale = true,
    running = false;

  const editor = makeEditor(one("#sql"), one("#paint"), () => {
    told.fresh();
    changed();
  });
  const price = makePrice(one("#price"), () => changed());
  const history = makeHistory(one("#history"), open);
  one("#history").dataset.me = me.name;
  editor.begin = (text) => {
    editor.text = text;
    told.fresh();
    one("#sql").focus();
    changed();
  };

  /* --- while typing ----------------------------------------------------------------------------- */

  const soon = debounce(() => explain(), 300);

  function changed() {
    stale = true;
    explained = null;
    ready();
    sessionStorage.setItem(DRAFT, editor.text);
    told.waiting(Boolean(editor.text.trim()));
    soon();
  }

  const question = () => ({ sql: editor.text, ...price.terms() });

  async function explain() {
    asking?.abort();
    const mine = ++turn;
    put(one("#refused"));
    if (!editor.text.trim()) {
      told.waiting(false);
      told.empty();
      return;
    }
    const missing = price.missing();
    if (missing) {
      told.waiting(false);
      told.note(missing);
      return;
    }
    asking = new AbortController();
    try {
      const reply = await api("/v1/explain", { method: "POST", body: question(), signal: asking.signal });
      if (mine !== turn) return;
      explained = reply.facts;
      stale = false;
      editor.clear();
      told.draw(explained);
      one("#told-summary").textContent = summary(explained);
    } catch (fault) {
      if (fault.name === "AbortError" || mine !== turn || ended(fault)) return;
      refuse(fault);
    } finally {
      if (mine === turn) {
        told.waiting(false);
        ready();
      }
    }
  }

  function refuse(fault) {
    if (fault.kind === "QueryRefused") editor.refuse(fault.start, fault.end);
    put(one("#refused"), faultBox(fault));
    told.note(
      fault.kind === "QueryRefused"
        ? "Nothing was charged. Mend the question and its price appears here."
        : "No price can be told yet.",
    );
    one("#told-summary").textContent = "";
  }

  function ready() {
    const over = explained && !explained.before && !fits(explained);
    runButton.disabled = running || !explained || over;
    one("#run-note").textContent = over
      ? "This does not fit into what is left. Ask for less accuracy, or ask the owner."
      : explained?.before
        ? "Free: you asked this before."
        : "Asking the same again is free.";
    put(runButton, explained?.before ? "Open again" : "Run");
  }

  /* --- paying ----------------------------------------------------------------------------------- */

  async function pay() {
    if (running) return;
    if (stale) await explain();
    if (!explained || runButton.disabled) return;
    const sent = question(),
      facts = explained;
    if (!facts.before && !(await agreed(facts))) return;
    await follow(prepare(sent), { found: Boolean(facts.before) });
  }

  function agreed(facts) {
    readyChart();
    const worst = tightest(facts.charges);
    const title = worst
      ? `Spend ${percent(share(worst))} of what is left?`
      : `Spend epsilon ${number(facts.price.epsilon)}?`;
    return confirmed(
      title,
      h(
        "div",
        { class: "stack" },
        worst &&
          h(
            "p",
            {},
            `It is taken from ${whose(worst)} and never comes back. The answer is kept and free to ` +
              "open again.",
          ),
        odds(facts),
      ),
      { yes: "Spend and run", no: "Not now" },
    );
  }

  async function follow(attempt, { found = false } = {}) {
    const stop = new AbortController();
    running = true;
    ready();
    clearResult(answer);
    waiting("Computing the answer …", stop);
    try {
      const release = await run(attempt, {
        signal: stop.signal,
        lost: (seconds, now, fault) => broken(seconds, now, fault, stop),
        back: () => waiting("Connected again: finding the answer …", stop),
      });
      await shown({ ...release, isMerged: attempt.path === "/v1/remeasure" }, found);
      history.load().then(() => history.select(release.id));
    } catch (fault) {
      if (fault.name === "AbortError")
        put(
          answer,
          note("You stopped waiting. If it was charged, its answer appears under earlier answers."),
        );
      else if (!ended(fault)) failed(fault);
    } finally {
      running = false;
      explain();
    }
  }

  function failed(fault) {
    if (fault.kind === "QueryRefused") editor.refuse(fault.start, fault.end);
    put(answer, h("div", { class: "card" }, faultBox(fault)));
  }

  const note = (text) => h("div", { class: "card" }, h("p", { class: "quiet" }, text));
  const stopButton = (stop) =>
    h(
      "button",
      {
        type: "button",
        class: "small",
        onclick: () => {
          stop.abort();
          forget();
        },
      },
      "Stop waiting",
    );

  const heard = (text) => {
    one("#answer-status").textContent = text;
  };

  function waiting(text, stop) {
    heard(text);
    put(
      answer,
      h(
        "div",
        { class: "card row apart" },
        h("p", { class: "row" }, h("span", { class: "spinner", "aria-hidden": "true" }), text),
        stopButton(stop),
      ),
    );
  }

  function broken(seconds, now, fault, stop) {
    heard("The connection was lost. Your question is charged at most once.");
    put(
      answer,
      h(
        "div",
        { class: "card stack", id: "lost" },
        h(
          "div",
          { class: "notice noise" },
          h("strong", {}, fault.lost ? "The connection was lost." : fault.what),
          h(
            "p",
            {},
            "Your question has a name, so it is charged at most once: asking again under the same " +
              "name finds the same answer.",
          ),
          h("p", { class: "quiet small" }, `Trying again in ${seconds} s.`),
        ),
        h(
          "div",
          { class: "row" },
          h("button", { type: "button", class: "primary small", onclick: now }, "Try now"),
          stopButton(stop),
        ),
      ),
    );
  }

  /* --- answers ---------------------------------------------------------------------------------- */

  async function shown(release, found) {
    if (release.release) {
      heard("The release is here.");
      history.select(release.id);
      drawOrder(answer, release);
      return;
    }
    heard(`The answer is here: ${plural(release.rows.length, "row")}.`);
    history.select(release.id);
    await drawResult(answer, release, { found, remeasure: () => again(release) });
  }

  async function open(entry) {
    const waiting = note("Opening …");
    put(answer, waiting);
    try {
      const release = await api(`/v1/releases/${entry.id}`);
      if (!waiting.isConnected) return; // another answer was asked for meanwhile
      if (release.sql) {
        editor.text = release.sql;
        price.epsilon = String(release.price.epsilon);
        told.fresh();
        changed();
      }
      await shown(release, true);
    } catch (fault) {
      if (!ended(fault)) put(answer, h("div", { class: "card" }, faultBox(fault)));
    }
  }

  /** Pay a further price for the same question; what was told before is not thrown away. */
  async function again(release) {
    const box = h("div", { class: "stack-small", "aria-live": "polite" });
    const terms = () => ({ sql: release.sql, epsilon: slider.epsilon });
    const tell = debounce(async () => {
      try {
        const { facts } = await api("/v1/explain", { method: "POST", body: terms() });
        const worst = tightest(facts.charges);
        put(
          box,
          h(
            "p",
            {},
            facts.before
              ? "You asked for this price before, so nothing new would be measured: choose another."
              : worst
                ? `This further price is ${percent(share(worst))} of what is left of ${whose(worst)}.`
                : "",
          ),
          !facts.before && facts.odds && people(facts.odds.before, facts.odds.after),
        );
      } catch (fault) {
        put(box, faultBox(fault));
      }
    }, 200);
    const slider = epsilonSlider(2 * release.price.epsilon, tell, "again");
    tell();
    const agreed = await confirmed(
      "Measure again",
      h(
        "div",
        { class: "stack" },
        h(
          "p",
          {},
          "Answers to one question at several prices are averaged by how well each is known, so " +
            "the noise shrinks. Only the new price is charged.",
        ),
        slider.element,
        box,
      ),
      { yes: "Spend and measure", no: "Not now" },
    );
    if (agreed) await follow(prepare(terms(), "/v1/remeasure"));
  }

  /* --- beginning -------------------------------------------------------------------------------- */

  runButton.addEventListener("click", pay);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !one("dialog[open]")) {
      event.preventDefault();
      pay();
    }
  });

  window.addEventListener("online", () => {
    if (editor.text.trim() && !explained) explain();
  });

  async function begin() {
    try {
      const { tables } = await api("/v1/schema");
      drawSchema(one("#schema"), tables, editor);
      if (!Object.keys(tables).length && me.role === "owner") say("Add a dataset on the Data page to begin.");
    } catch (fault) {
      put(one("#schema"), faultBox(fault));
    }
    await history.load();
    const left = pending();
    if (left) {
      if (left.question.sql) editor.text = left.question.sql;
      await follow(left);
    }
  }

  editor.text = editor.text || (sessionStorage.getItem(DRAFT) ?? ""); // somebody may have typed before all was here
  told.empty();
  if (editor.text) changed();
  begin();
}
