// One dataset of the owner: who is protected, what is left, and a panel for each thing to do with it.
import { attempt, h, percent, plural, put } from "/static/shell.js";
import { unit } from "/static/ask/schema.js";
import { drawAccounts } from "/static/data/accounts.js";
import { drawMade } from "/static/data/made.js";
import { drawParts } from "/static/data/parts.js";
import { drawPeople } from "/static/data/people.js";
import { drawStanding } from "/static/data/standing.js";
import { drawTables } from "/static/data/tables.js";

const PANELS = [
  ["Tables", drawTables],
  ["Budgets", drawAccounts],
  ["New rows", drawParts],
  ["Standing questions", drawStanding],
  ["Made from it", drawMade],
];

export function datasetCard(name, schema, accounts, refresh) {
  const tables = schema.datasets[name].map((table) => schema.tables[table]);
  const account = accounts.find((one) => one.holder.kind === "dataset" && one.holder.name === name);
  const left = account?.cap ? Math.max(0, account.left) / account.cap : null;
  const id = `panel-${Object.keys(schema.datasets).indexOf(name)}`;
  const panel = h("div", { id, class: "panel stack", hidden: true, "aria-live": "polite" });
  const dataset = { name, tables, account, schema, refresh };
  const panels = account?.cap === null ? [...PANELS, ["One person", drawPeople]] : PANELS;
  const buttons = panels.map(([title, draw]) =>
    h("button", { type: "button", "aria-expanded": "false", "aria-controls": id, onclick: ({ currentTarget }) => open(currentTarget, draw) }, title));

  function open(button, draw) {
    const opening = button.getAttribute("aria-expanded") === "false";
    for (const each of buttons) each.setAttribute("aria-expanded", String(each === button && opening));
    panel.hidden = !opening;
    put(panel, opening && h("p", { class: "quiet" }, h("span", { class: "spinner", "aria-hidden": "true" }), " …"));
    if (opening) attempt(panel, () => draw(panel, dataset));
  }

  return h("section", { class: "card stack", "data-dataset": name, "aria-label": `Dataset ${name}` },
    h("div", { class: "row apart" },
      h("div", { class: "row" }, h("h2", { class: "mono" }, name), schema.retired?.includes(name) && h("span", { class: "tag bad" }, "retired: nothing new is asked")),
      h("a", { class: "button small", href: `/statement?dataset=${encodeURIComponent(name)}` }, "Privacy statement")),
    h("p", { class: "quiet" }, [...new Set(tables.map(unit))].join("; "), ". ", ofOnePerson(tables)),
    left !== null && budget(left, name),
    account?.cap === null && h("p", { class: "quiet" }, "Each person has a budget of their own. Whoever has used it up is left out of later answers."),
    h("div", { class: "tabs", role: "group", "aria-label": `About ${name}` }, buttons),
    panel);
}

const budget = (left, name) =>
  h("a", { class: "budget-line", href: `/budget?dataset=${encodeURIComponent(name)}` },
    h("span", { class: "meter", role: "img", "aria-label": `${percent(1 - left)} spent` },
      h("i", { class: "left", css: { width: "100%" } }), h("i", { class: "spent", css: { width: `${100 * (1 - left)}%` } })),
    h("span", {}, `${percent(left)} of the budget left`));

/** How much of one person counts, where all tables say the same. */
export function ofOnePerson(tables) {
  const words = new Set(tables.map(({ limits }) => limitWords(limits?.max_rows, limits?.max_groups)));
  return words.size === 1 ? `${[...words][0]}.` : "Limits differ from table to table.";
}

export const limitWords = (rows, groups) =>
  rows || groups
    ? `One person counts with at most ${rows ? plural(rows, "row") : "privately chosen rows"} in each of ${groups ? plural(groups, "group") : "privately chosen groups"}`
    : "How much of one person counts is chosen privately by each question";
