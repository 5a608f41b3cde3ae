// A dossier as a document: sections of text and tables.

import { h } from "/static/shell.js";

export const paper = ({ title, made, sections }, level = 2) => h("article", { class: "paper" },
  h(`h${level}`, {}, title), h("p", { class: "quiet" }, made),
  sections.map((one) => h("section", {},
    h(`h${level + 1}`, {}, one.title), h("p", {}, one.text),
    one.rows.length > 0 && h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": one.title }, h("table", {},
      h("thead", {}, h("tr", {}, one.head.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, one.rows.map(([first, ...rest]) => h("tr", {}, h("th", { scope: "row" }, first), rest.map((cell) => h("td", {}, cell))))))))));
