// A privacy statement to read, print and sign: of a dataset, or of one answer.
import { api, attempt, facts, h, number, one, priced, put, start, when } from "/static/shell.js";
import { stated } from "/static/ask/schema.js";

const CHANGE = {
  "add-remove": "adding or removing that one person",
  "change-one": "replacing that one person by any other",
};
const SIGNED = "Signed: ______________________________    Date: ____________________";
const asked = new URLSearchParams(location.search);
const me = await start({ roles: ["analyst", "owner", "auditor"] });
if (me) {
  one("#print").disabled = false;
  one("#print").addEventListener("click", () => window.print());
  one("#back").href = asked.has("release") ? "/ask" : me.role === "owner" ? "/data" : "/budget";
  attempt(one("#sheet"), async () => put(one("#sheet"), asked.has("release") ? await answer(asked.get("release")) : await dataset(asked.get("dataset"))));
}

const list = (items) => h("ul", {}, items.map((text) => h("li", {}, text)));
const part = (title, ...content) => [h("h2", {}, title), content];
const heading = (about) => [h("h1", {}, "Privacy statement"), h("p", { class: "quiet" }, about)];

/* --- one answer --------------------------------------------------------------------------------- */

async function answer(id) {
  const place = `/v1/releases/${encodeURIComponent(id)}`;
  const [told, text] = await Promise.all([api(place), api(`${place}?format=statement`, { as: "text" })]);
  const paragraphs = text.split(/\n{2,}/).map((one) => one.replace(/\s+/g, " ").trim());
  return [
    heading(`Answer ${told.id} about ${told.dataset}, ${when(told.time)}`),
    told.sql && h("pre", {}, told.sql),
    facts([
      ["Asked by", told.analyst],
      ["Price", `${priced(told.price.epsilon, told.budget_share)}${told.price.delta ? `, delta ${number(told.price.delta)}` : ""}`],
      told.protects && ["Protects", told.protects],
    ], "facts"),
    paragraphs.map((one) => h("p", {}, one)),
    h("p", { class: "quiet sign" }, SIGNED),
  ];
}

/* --- a dataset ---------------------------------------------------------------------------------- */

function protectedWords({ name, unit }) {
  if (unit.kind === "EachRow")
    return `each single row of ${name}; a person with several rows is protected for any one of them, not for all together`;
  if (unit.kind === "Path")
    return `each person, with all of their rows in ${name} (identified by ${unit.column} through ${unit.table}.${unit.key})`;
  return `each person, with all of their rows in ${name} (identified by the column ${unit.column})`;
}

async function dataset(name) {
  const [schema, { accounts }, told] = await Promise.all([
    api("/v1/schema"),
    api(`/v1/budgets/${encodeURIComponent(name)}`),
    api(`/v1/datasets/${encodeURIComponent(name)}`),
  ]);
  const tables = schema.datasets[name].map((one) => schema.tables[one]);
  const account = accounts.find((one) => one.holder.kind === "dataset");
  const odds = account?.odds ?? {};
  const bounded = tables.flatMap((table) =>
    table.columns.filter((column) => column.range).map((column) => `${table.name}.${column.name}: ${stated(column)}`));
  return [
    heading(`Dataset ${name}, ${new Intl.DateTimeFormat("en-GB", { dateStyle: "long" }).format(new Date())}`),
    part("Who is protected",
      list(tables.filter((table) => table.unit).map(protectedWords)),
      h("p", {}, "Answers about this dataset are released with differential privacy. That means: " +
        `${CHANGE[schema.neighbours]} changes the probability of what all answers together show by no more than ` +
        "the limits below allow, whatever else an attacker knows.")),
    part("How well",
      Number.isFinite(odds.after_cap) && h("p", {},
        "Suppose that without somebody's data, something that follows from the answers would happen to them with ",
        h("strong", {}, `${odds.before} chances in 100`), ". With their data it is at most ",
        h("strong", {}, `${odds.after_cap} in 100`), ", even if the whole budget is spent; with what was answered so far, at most ",
        h("strong", {}, `${odds.after_spent} in 100`), "."),
      facts([
        account?.cap_epsilon && ["In all", `epsilon ${number(account.cap_epsilon)}, delta ${number(account.cap_delta ?? 0)}`],
        account?.cap && ["As it is added up", `${number(account.spent)} of ${number(account.cap)} ${account.measure} is spent`],
        ["Reset", "never"],
      ], "facts"),
      h("p", {}, told.statement)),
    part("What is done to the data",
      bounded.length > 0 && [
        h("p", {}, "Values are first clamped to ranges that were stated without looking at the data:"),
        list(bounded),
      ],
      h("p", {}, "Limits bound how much one person contributes to an answer. Noise is then added to every released number; each answer states how much.")),
    part("Who sees what", list([
      "Whoever runs this server, or breaks into it, can read the raw data: the protection begins where answers leave it.",
      "Analysts see answers with noise, never a row.",
      "Auditors see what was asked and charged, and no answer.",
      "The owner can be made to hand over raw data, by a court for instance: nothing here protects against that.",
    ])),
    part("What is not protected",
      h("p", {}, "Facts about people at large are not hidden: answers are meant to show them. What is learned about a group applies to its known members, whether or not they are in the data.")),
    h("p", { class: "quiet sign" }, SIGNED),
  ];
}
