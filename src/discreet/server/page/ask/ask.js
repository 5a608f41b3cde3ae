// The Ask page: a question, its price while it is written, its answer; and dashboards of answers.
import {
  api,
  confirmed,
  copy,
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
import { closeBoard, drawBoard } from "/static/ask/board.js";
import { makeBuilder } from "/static/ask/builder.js";
import { makeCompletion } from "/static/ask/complete.js";
import { makeEditor } from "/static/ask/editor.js";
import { address, linked, terms, unlink } from "/static/ask/link.js";
import { epsilonSlider, makePrice } from "/static/ask/price.js";
import { examples } from "/static/ask/questions.js";
import { makeSaved } from "/static/ask/saved.js";
import { makeTold, odds, share, summary, tightest, fits, whose } from "/static/ask/told.js";
import { readyChart } from "/static/ask/chart.js";
import { about, clearResult, drawOrder, drawResult, markOld } from "/static/ask/result.js";
import { drawSchema } from "/static/ask/schema.js";
import { makeHistory } from "/static/ask/history.js";
import { forget, pending, prepare, run } from "/static/ask/run.js";

const DRAFT = "draft question";
const SHARES = [0, 0.01, 0.05, 0.1, 0.25];
const schema = api("/v1/schema"); // asked for at once, beside who is asking
schema.catch(() => {});
const me = await start({ roles: ["analyst", "owner"] });
if (me) page();

function page() {
  const told = makeTold(one("#told")),
    answer = one("#answer"),
    runButton = one("#run"),
    board = one("#board");
  let explained = null,
    asking = null,
    turn = 0,
    stale = true,
    running = false,
    current = null; // the answer that is shown, and the texts of its question

  const editor = makeEditor(one("#sql"), one("#paint"), () => {
    told.fresh();
    changed();
  });
  const completion = makeCompletion(one("#sql"), one("#paint"));
  const price = makePrice(one("#price"), () => changed());
  const history = makeHistory(one("#history"), open);
  const saved = makeSaved(one("#saved"), { open: recall, board: enter });
  const builder = makeBuilder(one("#builder"), { text: () => editor.text, write: (sql) => replace(sql) });
  const above = shareAbove(one("#above"), () => ready());
  one("#history").dataset.me = me.name;

  /** Put another question in place of the one that is written. */
  function replace(sql, words) {
    editor.text = sql;
    if (words) price.words = words;
    told.fresh();
    changed();
  }
  editor.begin = (example) => {
    replace(example.sql);
    builder.show(example);
    if (matchMedia("(pointer: fine)").matches) one("#sql").focus();
    else one("#sql").scrollIntoView({ block: "nearest" });
  };

  /* --- while typing ----------------------------------------------------------------------------- */

  const soon = debounce(() => explain(), 300);

  function changed() {
    stale = true;
    explained = null;
    unlink(editor.text);
    ready();
    builder.look();
    markOld(answer, Boolean(current) && !current.texts.includes(editor.text.trim()));
    sessionStorage.setItem(DRAFT, editor.text);
    told.waiting(Boolean(editor.text.trim()));
    soon();
  }

  const question = () => ({ sql: editor.text, ...terms(price.words) });

  async function explain() {
    soon.cancel(); // else it would put an end to this one, and to what waits for it
    asking?.abort();
    const mine = ++turn;
    put(one("#refused"));
    const missing = editor.text.trim() ? price.missing() : "";
    if (missing !== null) {
      told.waiting(false);
      one("#told-summary").textContent = "";
      if (missing) told.note(missing);
      else told.empty();
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
      if (fault.code === "public_only") free();
      else refuse(fault);
    } finally {
      if (mine === turn) {
        told.waiting(false);
        ready();
      }
    }
  }

  /** About public tables alone: there is no price. */
  function free() {
    explained = { free: true, charges: [] };
    stale = false;
    editor.clear();
    told.note("It reads public tables alone: the answer is exact and free.");
    one("#told-summary").textContent = "Exact and free.";
  }

  function refuse(fault) {
    one("#told-summary").textContent = "";
    if (fault.kind === "QueryRefused") editor.refuse(fault.start, fault.end);
    put(one("#refused"), faultBox(fault));
    told.note(
      fault.kind === "QueryRefused"
        ? "Nothing was charged. Mend the question and its price appears here."
        : "No price can be told yet.",
    );
  }

  /** Whether the analyst wants to be asked before this is spent; always where there is no share. */
  function asksFirst(facts) {
    const worst = tightest(facts.charges);
    return !worst || share(worst) > above();
  }

  function ready() {
    const over = explained && !explained.before && !fits(explained);
    runButton.disabled = running || !explained || over;
    one("#save").disabled = one("#link").disabled = !editor.text.trim();
    one("#run-note").textContent = !explained
      ? ""
      : over
        ? "This does not fit into what is left. Ask for less accuracy, or ask the owner."
        : explained.before || explained.free
          ? explained.free ? "" : "Opening it again costs nothing."
          : `${asksFirst(explained) ? "You confirm first." : "Runs at once."} Asking the same again is free.`;
    put(runButton, explained?.before ? "Open again" : "Run");
  }

  /* --- paying ----------------------------------------------------------------------------------- */

  async function pay() {
    if (running) return;
    if (stale) await explain();
    if (!explained || runButton.disabled) return;
    const sent = question(),
      facts = explained;
    if (facts.before) return open({ id: facts.before }, sent.sql); // read from the store: never charged
    if (!facts.free && asksFirst(facts) && !(await agreed(facts))) return;
    await follow(prepare(sent));
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
            `It is taken from ${whose(worst)} and never comes back. The answer is kept and free to ` + "open again.",
          ),
        odds(facts),
      ),
      { yes: "Spend and run", no: "Not now" },
    );
  }

  async function follow(attempt) {
    const stop = new AbortController();
    running = true;
    current = null;
    ready();
    clearResult(answer);
    waiting("Computing the answer …", stop);
    try {
      const release = await run(attempt, {
        signal: stop.signal,
        lost: (seconds, now, fault) => broken(seconds, now, fault, stop),
        back: () => waiting("Connected again: finding the answer …", stop),
      });
      await shown({ ...release, isMerged: attempt.path === "/v1/remeasure" }, false, attempt.question.sql);
      history.load().then(() => history.select(release.id));
      saved.answered(release).catch(() => {});
    } catch (fault) {
      if (fault.name === "AbortError")
        put(answer, note("You stopped waiting. If it was charged, its answer appears under earlier answers."));
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

  async function shown(release, found, asked) {
    history.select(release.id);
    if (release.release) {
      current = null;
      heard("The release is here.");
      drawOrder(answer, release);
      return;
    }
    heard(`The answer is here: ${plural(release.rows.length, "row")}.`);
    current = release.sql && { texts: [release.sql, asked].filter(Boolean).map((text) => text.trim()) };
    const words = { epsilon: String(release.price.epsilon) };
    const kept = { sql: release.sql, words, release: release.id };
    await drawResult(answer, release, {
      found,
      title: saved.named(release.id),
      remeasure: () => again(release),
      save: () => name(kept, about(release)),
      link: () => shareLink(kept),
      bringBack: () => {
        replace(release.sql, words);
        one("#sql").focus();
      },
    });
  }

  async function open(entry, asked) {
    const waiting = note("Opening …");
    current = null;
    put(answer, waiting);
    try {
      const release = await api(`/v1/releases/${entry.id}`);
      if (!waiting.isConnected) return; // another answer was asked for meanwhile
      if (release.sql && !asked) replace(release.sql, { epsilon: String(release.price.epsilon) });
      if (release.state === "pending")
        put(answer, note("It is charged and being computed: open it again in a moment."));
      else await shown(release, true, asked);
    } catch (fault) {
      if (!ended(fault)) put(answer, h("div", { class: "card" }, faultBox(fault)));
    }
  }

  const shareLink = (asked) => copy(address(asked), "Link copied. It shows the question, and runs nothing.");

  /** Keep a question under a name. */
  async function name(kept, title) {
    try {
      const chosen = await saved.save({ ...kept, title });
      if (chosen && kept.release) put(one("#answer h2"), `Answer: ${chosen}`);
    } catch (fault) {
      if (!ended(fault)) say(`${fault.message}.`);
    }
  }

  /** Write down a question that was saved or linked, and show the answer to it that is stored. */
  async function recall({ sql, words, terms: said, release }) {
    current = null;
    clearResult(answer);
    replace(sql, said ?? words);
    await explain();
    const found = release && (await api(`/v1/releases/${release}`).catch(() => null));
    if (editor.text !== sql) return; // somebody wrote on meanwhile
    if (found?.rows && found.sql === sql) await shown(found, true, sql);
    else if (explained?.before) await open({ id: explained.before }, sql);
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

  /* --- dashboards ------------------------------------------------------------------------------- */

  const leave = () => {
    window.history.pushState(null, "", location.pathname);
    route();
  };

  function enter(name) {
    location.hash = new URLSearchParams({ dashboard: name });
  }

  /** Show what the address names: a dashboard, a question, or the page as it is. */
  function route() {
    const to = linked();
    one("#asking").hidden = Boolean(to?.dashboard);
    if (!to?.dashboard) closeBoard(board);
    if (to?.sql) recall(to);
    if (!to?.dashboard) return;
    const own = saved.on(to.dashboard);
    drawBoard(board, to.dashboard, own.length ? own : to.answers, {
      order: (list) => saved.order(list).then(route, (fault) => say(`${fault.message}.`)),
      back: leave,
      open: (it) => {
        leave();
        recall(it);
      },
      take: (it) => saved.take(it).then(route, (fault) => say(`${fault.message}.`)),
    });
  }

  /* --- beginning -------------------------------------------------------------------------------- */

  runButton.addEventListener("click", pay);
  one("#link").addEventListener("click", () => shareLink({ sql: editor.text, words: price.words }));
  one("#save").addEventListener("click", () => name({ sql: editor.text, words: price.words }, ""));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !one("dialog[open]") && board.hidden) {
      event.preventDefault();
      pay();
    }
  });

  window.addEventListener("online", () => {
    if (editor.text.trim() && !explained) explain();
  });
  window.addEventListener("hashchange", () => location.hash !== "#main" && route()); // to skip is to stay

  async function begin() {
    try {
      const { tables } = await schema;
      drawSchema(one("#schema"), tables, editor);
      completion.load(tables);
      builder.load(tables);
      drawExamples(examples(tables));
      if (!Object.keys(tables).length && me.role === "owner") say("Add a dataset on the Data page to begin.");
    } catch (fault) {
      put(one("#schema"), faultBox(fault));
    }
    await Promise.all([history.load(), saved.load()]);
    const left = pending();
    if (left) {
      if (left.question.sql) editor.text = left.question.sql;
      await follow(left);
    } else route();
  }

  function drawExamples(all) {
    one("#examples").hidden = !all.length;
    put(
      one("#examples"),
      h("span", { class: "label" }, "Try"),
      all.map((one) => h("button", { type: "button", class: "chip", onclick: () => editor.begin(one) }, one.words)),
    );
  }

  editor.text = editor.text || (sessionStorage.getItem(DRAFT) ?? ""); // somebody may have typed before all was here
  told.empty();
  if (editor.text) changed();
  else ready();
  begin();
}

/** Above which share of what is left somebody wants to confirm first; kept in this browser. */
function shareAbove(select, changed) {
  const key = `ask above, ${me.name}`;
  const kept = Number(localStorage.getItem(key) ?? 0.01);
  put(
    select,
    SHARES.map((value) =>
      h("option", { value, selected: value === kept }, value ? `${percent(value)} of what is left` : "nothing: always"),
    ),
  );
  if (!select.value) select.value = "0.01";
  select.addEventListener("change", () => {
    localStorage.setItem(key, select.value);
    changed();
  });
  return () => Number(select.value);
}
