// A privacy statement of a dataset in the owner's words, to print and to sign.
import { api, ended, faultBox, h, number, one, put } from "/static/shell.js";
import { stated } from "/static/ask/schema.js";

const CHANGE = {
  "add-remove": "adding or removing that one person",
  "change-one": "replacing that one person by any other",
};

function protectedWords(table) {
  const unit = table.unit;
  if (unit.kind === "EachRow")
    return (
      `each single row of ${table.name}; a person with several rows is protected for any one ` +
      "of them, not for all together"
    );
  if (unit.kind === "Path")
    return (
      `each person with all of their rows in ${table.name}, found by ${unit.column} and ` +
      `${unit.table}.${unit.key}`
    );
  return (
    `each person with all of their rows in ${table.name}, as the column ${unit.column} ` +
    "tells people apart"
  );
}

export async function printStatement(target, name, tables, account, neighbours, back) {
  let full = account,
    promise = "";
  try {
    const [data, dataset] = await Promise.all([
      api(`/v1/budgets/${encodeURIComponent(name)}`),
      api(`/v1/datasets/${encodeURIComponent(name)}`),
    ]);
    promise = dataset.statement;
    full = data.accounts.find((one) => one.holder.kind === "dataset") ?? account;
  } catch (fault) {
    if (ended(fault)) return;
    put(target, faultBox(fault));
    return;
  }
  one(".title").hidden = true;
  put(
    target,
    h(
      "div",
      { class: "row no-print" },
      h("button", { type: "button", onclick: back }, "Back"),
      h("button", { class: "primary", type: "button", onclick: () => window.print() }, "Print"),
    ),
    sheet(name, tables, full, neighbours, promise),
  );
  target.querySelector("button").focus();
  window.scrollTo(0, 0);
}

function sheet(name, tables, account, neighbours, promise) {
  const odds = account?.odds ?? {};
  const bounded = tables.flatMap((table) =>
    table.columns
      .filter((column) => column.range)
      .map((column) => `${table.name}.${column.name}: ${stated(column)}`),
  );
  return h(
    "article",
    { class: "card sheet", id: "sheet" },
    h("h1", {}, "Privacy statement"),
    h(
      "p",
      { class: "quiet" },
      `Dataset ${name}, ${new Intl.DateTimeFormat("en-GB", { dateStyle: "long" }).format(new Date())}`,
    ),
    h("h2", {}, "Who is protected"),
    h(
      "ul",
      {},
      tables.filter((table) => table.unit).map((table) => h("li", {}, protectedWords(table))),
    ),
    h(
      "p",
      {},
      "Answers about this dataset are released with differential privacy. That means: " +
        `${CHANGE[neighbours]} changes the probability of anything that can be seen in all answers ` +
        "together only within the limits below, whatever else is known or will be.",
    ),
    h("h2", {}, "How well"),
    Number.isFinite(odds.after_cap) &&
      h(
        "p",
        {},
        "Suppose that without somebody's data, something that follows from the answers would " +
          `happen to them with ${odds.before} chances in 100. With their data it is at most ` +
          `${odds.after_cap} in 100, even if the whole budget is spent; with what was answered ` +
          `so far, at most ${odds.after_spent} in 100.`,
      ),
    promise && h("p", {}, promise),
    account &&
      h(
        "p",
        { class: "quiet" },
        account.cap_epsilon
          ? `In numbers: epsilon ${number(account.cap_epsilon)}, delta ${number(account.cap_delta ?? 0)}. `
          : "",
        `The budget is ${number(account.cap)} ${account.measure}; ${number(account.spent)} is ` +
          "spent. Budgets do not reset.",
      ),
    h("h2", {}, "What is done to the data"),
    bounded.length > 0 && [
      h(
        "p",
        {},
        "Before anything is added up, values are held to ranges that were stated without " +
          "looking at the data; values outside count as the nearest end:",
      ),
      h(
        "ul",
        {},
        bounded.map((text) => h("li", {}, text)),
      ),
    ],
    h(
      "p",
      {},
      "How much one person can weigh in an answer is limited. Noise is then added to every " +
        "number that is released; each answer states how much.",
    ),
    h("h2", {}, "Who sees what"),
    h(
      "ul",
      {},
      [
        "Whoever runs this server, or breaks into it, can read the raw data: the protection " +
          "begins where answers leave it.",
        "Analysts see answers with noise, never a row.",
        "Auditors see what was asked and charged, and no answer.",
        "The owner can be made to hand over raw data, by a court for instance: nothing here " +
          "protects against that.",
      ].map((text) => h("li", {}, text)),
    ),
    h("h2", {}, "What is not protected"),
    h(
      "p",
      {},
      "Facts that hold for people at large can be learned, and are meant to be. Somebody who " +
        "is known to belong to a group shares in what is learned about the group, whether or " +
        "not they are in the data.",
    ),
    h("p", { class: "quiet" }, "Signed: ______________________________    Date: ____________________"),
  );
}
