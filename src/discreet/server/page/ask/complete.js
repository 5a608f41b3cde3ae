// Suggestions while SQL is typed: tables, columns, functions, from the schema and the reader's list.
import { h, one, put } from "/static/shell.js";
import { pieces } from "/static/ask/editor.js";
import { quoted } from "/static/ask/questions.js";

const MOST = 8;
const AGGREGATES = "COUNT SUM AVG MEDIAN MIN MAX STDDEV VARIANCE QUANTILE_CONT COUNT_IF CORR COVAR_SAMP".split(" ");
const FUNCTIONS = (
  "DATE_TRUNC EXTRACT DATE_DIFF FLOOR CEIL ROUND ABS LN SQRT POWER LEAST GREATEST WIDTH_BUCKET " +
  "COALESCE NULLIF LOWER UPPER TRIM LENGTH SUBSTRING REPLACE CONCAT CAST"
).split(" ");
const KEYWORDS = [
  ..."SELECT FROM WHERE HAVING LIMIT JOIN DISTINCT BETWEEN".split(" "),
  "GROUP BY",
  "ORDER BY",
  "IS NOT NULL",
];

const call = (kind) => (name) => ({
  name,
  kind,
  text: name === "COUNT" ? "COUNT(*)" : `${name}()`,
  back: name !== "COUNT",
});

/** Everything that can stand in a question about these tables. */
export function vocabulary(tables) {
  const all = Object.values(tables);
  return [
    ...all.flatMap((table) =>
      table.columns.map(({ name, kind }) => ({ name, kind, text: quoted(name), table: table.name })),
    ),
    ...all.map(({ name }) => ({ name, kind: "table", text: quoted(name) })),
    ...AGGREGATES.map(call("aggregate")),
    ...FUNCTIONS.map(call("function")),
    ...KEYWORDS.map((name) => ({ name, kind: "", text: name })),
  ];
}

/** What fits the word before the caret, the best first; `every` also without a word. */
export function suggestions(words, text, caret, every = false) {
  const before = text.slice(0, caret);
  if (["text", "remark"].includes(pieces(before).at(-1)?.kind)) return null;
  const [, table, typed] = /(?:(\w+)\.)?"?(\w*)$/.exec(before);
  if ((!typed && !table && !every) || /^\d/.test(typed)) return null;
  const wanted = typed.toLowerCase(),
    said = text.toLowerCase();
  const rank = (word) =>
    (word.name.toLowerCase().startsWith(wanted) ? 0 : 4) +
    (word.table ? (said.includes(word.table.toLowerCase()) ? 0 : 2) : 1) +
    (word.kind === "" ? 1 : 0);
  const seen = new Set();
  const fit = words
    .filter((word) => (table ? word.table?.toLowerCase() === table.toLowerCase() : true))
    .filter((word) => word.name.toLowerCase().includes(wanted))
    .sort((a, b) => rank(a) - rank(b))
    .filter((word) => !seen.has(word.text) && seen.add(word.text))
    .slice(0, MOST);
  const whole = fit.length === 1 && fit[0].name.toLowerCase() === wanted;
  return fit.length && !whole
    ? { from: caret - typed.length - (before.at(-typed.length - 1) === '"' ? 1 : 0), fit }
    : null;
}

/** A list under the caret of the editor. */
export function makeCompletion(area, paper) {
  const list = one("#completions"),
    heard = one("#completions-heard");
  let words = [],
    found = null,
    chosen = -1,
    taking = false;

  function close() {
    found = null;
    list.hidden = true;
    put(list);
    heard.textContent = "";
    area.removeAttribute("aria-activedescendant");
  }

  function open(every) {
    found =
      area.selectionStart === area.selectionEnd ? suggestions(words, area.value, area.selectionStart, every) : null;
    if (!found) return close();
    chosen = -1;
    put(
      list,
      found.fit.map((word, i) =>
        h(
          "li",
          { role: "option", id: `completion-${i}`, "aria-selected": "false", onmousedown: (event) => take(i, event) },
          h("span", {}, word.name),
          h("span", { class: "kind" }, word.kind),
        ),
      ),
    );
    list.hidden = false;
    heard.textContent = `${found.fit.length} suggestions, ${found.fit[0].name} first. Tab takes it.`;
    place();
  }

  /** Beside the letters of the painted copy, which stand where those of the textarea do. */
  function place() {
    const range = document.createRange(),
      walker = document.createTreeWalker(paper, NodeFilter.SHOW_TEXT);
    let left = found.from,
      node = walker.nextNode();
    while (node && left > node.length) {
      left -= node.length;
      node = walker.nextNode();
    }
    if (!node) return;
    range.setStart(node, left);
    const at = range.getBoundingClientRect(),
      box = paper.getBoundingClientRect();
    list.style.left = `${Math.max(0, Math.min(at.left - box.left, box.width - list.offsetWidth))}px`;
    list.style.top = `${at.bottom - box.top + 4}px`;
  }

  function choose(i) {
    list.children[chosen]?.setAttribute("aria-selected", "false");
    chosen = (i + found.fit.length) % found.fit.length;
    list.children[chosen].setAttribute("aria-selected", "true");
    area.setAttribute("aria-activedescendant", `completion-${chosen}`);
  }

  function take(i, event) {
    event.preventDefault();
    const { text, back } = found.fit[i];
    area.setRangeText(text, found.from, area.selectionStart, "end");
    if (back) area.setSelectionRange(area.selectionStart - 1, area.selectionStart - 1);
    close();
    taking = true;
    area.dispatchEvent(new Event("input"));
    taking = false;
  }

  area.addEventListener("input", () => !taking && document.activeElement === area && open(false));
  area.addEventListener("blur", close);
  area.addEventListener("click", close);
  area.addEventListener("scroll", close);
  area.addEventListener("keydown", (event) => {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      return open(true);
    }
    if (!found || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose(event.key === "ArrowDown" ? chosen + 1 : Math.max(chosen, 0) - 1);
    } else if (event.key === "Tab" && !event.shiftKey) take(Math.max(chosen, 0), event);
    else if (event.key === "Enter" && chosen >= 0) take(chosen, event);
    else if (event.key === "Escape") {
      event.preventDefault();
      close();
    } else if (/^(Arrow|Home|End|Page|Enter)/.test(event.key)) close();
  });

  return {
    load(tables) {
      words = vocabulary(tables);
    },
  };
}
