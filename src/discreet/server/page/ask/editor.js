// The SQL editor: a textarea over a painted copy of its text, which carries colours and the mark.
import { h, put } from "/static/shell.js";

/** Words of SQL: painted, and quoted where they are names. */
export const WORDS = new Set(
  (
    "select from where group by having order limit offset as and or not in is null between " +
    "like case when then " +
    ("else end join inner left right full outer on using with union all distinct asc desc " +
      "count sum avg min max median ") +
    "percentile_cont within rollup cube grouping sets cast true false extract date"
  ).split(" "),
);
const PARTS =
  /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^']|'')*'?)|("(?:[^"]|"")*"?)|([A-Za-z_][A-Za-z_0-9]*)|([\s\S])/g;

/** Pieces of SQL with the class each is painted in. */
export function pieces(text) {
  const found = [];
  for (const [all, remark, quoted, , word] of text.matchAll(PARTS)) {
    const kind = remark ? "remark" : quoted ? "text" : word && WORDS.has(word.toLowerCase()) ? "word" : "";
    const last = found.at(-1);
    if (last && last.kind === kind) last.text += all;
    else found.push({ text: all, kind });
  }
  return found;
}

/** Offsets count characters as Python does; a string here counts halves of the rare ones. */
export function place(text, offset) {
  let units = 0,
    seen = 0;
  for (const character of text) {
    if (seen++ === offset) break;
    units += character.length;
  }
  return units;
}

export function makeEditor(area, paper, changed) {
  let mark = null;

  function paint() {
    const nodes = [];
    let at = 0;
    for (const { text, kind } of pieces(area.value)) {
      for (const [part, marked] of cut(text, at, mark)) {
        const node = kind ? h("span", { class: kind }, part) : document.createTextNode(part);
        nodes.push(marked ? h("mark", {}, node) : node);
      }
      at += text.length;
    }
    put(paper, nodes, "\n");
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight + 2, 480)}px`;
    follow();
  }

  const follow = () => {
    paper.scrollTop = area.scrollTop;
  };

  area.addEventListener("input", () => {
    mark = null;
    area.removeAttribute("aria-invalid");
    paint();
    changed();
  });
  area.addEventListener("scroll", follow);
  new ResizeObserver(follow).observe(area);
  paint();

  return {
    get text() {
      return area.value;
    },
    set text(value) {
      area.value = value;
      mark = null;
      area.removeAttribute("aria-invalid");
      paint();
    },
    /** Underline what was refused; offsets of the whole text as the server counts them. */
    refuse(start, end) {
      area.setAttribute("aria-invalid", "true");
      mark =
        Number.isInteger(start) && Number.isInteger(end) && end > start
          ? [place(area.value, start), place(area.value, end)]
          : null;
      paint();
    },
    clear() {
      mark = null;
      area.removeAttribute("aria-invalid");
      paint();
    },
    /** Put a word where the caret is. */
    insert(word) {
      const [from, to] = [area.selectionStart, area.selectionEnd];
      const space = from > 0 && !/[\s(.,]$/.test(area.value.slice(0, from)) ? " " : "";
      area.setRangeText(space + word, from, to, "end");
      area.focus();
      mark = null;
      paint();
      changed();
    },
  };
}

/** A piece in parts before, inside and after the mark. */
function* cut(text, at, mark) {
  if (!mark) return void (yield [text, false]);
  const [from, to] = mark.map((place) => Math.min(Math.max(place - at, 0), text.length));
  if (from) yield [text.slice(0, from), false];
  if (to > from) yield [text.slice(from, to), true];
  if (to < text.length) yield [text.slice(Math.max(to, from)), false];
}
