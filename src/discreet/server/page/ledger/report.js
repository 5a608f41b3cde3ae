// What an auditor takes along: verification, budgets and every entry in words, as pages to print.
import { api, h, number, plural, put, table, when } from "/static/shell.js";

const MOST = 1000;

/** Read everything, draw it, and open the browser's print dialog, which also saves a PDF. */
export async function printReport(place, me) {
  const checked = await api("/v1/ledger/verify", { method: "POST" });
  const [{ accounts }, entries] = [await api("/v1/budgets"), await all()];
  put(place, sheet(checked, accounts, entries, me));
  window.print();
}

async function all() {
  const found = [];
  for (;;) {
    const { entries } = await api(`/v1/ledger?after=${found.at(-1)?.sequence ?? 0}&limit=${MOST}`);
    found.push(...entries);
    if (entries.length < MOST) return found;
  }
}

const amount = ({ cap, cap_epsilon, cap_delta, measure }) =>
  cap_epsilon
    ? `epsilon ${number(cap_epsilon)}${cap_delta ? `, delta ${number(cap_delta)}` : ""}${cap === null ? " for each person" : ""}`
    : cap === null ? "no limit" : `${number(cap)} ${measure}`;

const sheet = (checked, accounts, entries, me) => [
  h("h2", {}, "Report of the ledger"),
  h("p", {}, `Made on ${when(Date.now())} for ${me.name} (${me.role}) from ${location.host}. `,
    "It holds no answer and no value from data. Numbers are rounded; the export as lines of JSON has them exactly."),
  verdict(checked),
  h("h3", {}, "Budgets"),
  table("Budgets", ["Whose", "In all", "Spent|n", "Left|n"], accounts.map((one) => [
    `${one.holder.kind} ${one.holder.name}${one.holder.within ? ` within ${one.holder.within}` : ""}`,
    amount(one),
    `${number(one.spent)} ${one.measure}`,
    one.left === null ? "–" : number(one.left),
  ])),
  h("h3", {}, "Entries"),
  table("All entries", ["No.|n", "Time|time", "By", "What happened|asked"], entries.map((one) => [
    number(one.sequence), when(one.time), one.by,
    [one.sentence, one.told.map(([name, text]) => h("div", { class: "small quiet" }, `${name}: ${text}`))],
  ]), { class: "small" }),
  h("p", { class: "small" }, `Head: entry ${checked.head.sequence}, `, h("code", {}, checked.head.hash)),
  h("p", {}, "Checked by: ______________________________    Date: ____________________"),
];

/** What verifying has shown. */
export function verdict({ problem, entries, pending, head }) {
  if (problem)
    return h("div", { class: "fault", role: "alert" },
      h("h3", {}, "The ledger is not what it was."),
      h("p", {}, `${problem.sequence ? `Entry ${problem.sequence}: ` : ""}${problem.what}`),
      h("p", { class: "fix" }, "What to do: stop asking, keep the folder as it is, and compare it with a copy."));
  return h("div", { class: "notice good", role: "status" },
    h("strong", {}, "The ledger is whole."),
    h("p", {}, `${plural(entries, "entry follows", "entries follow")} each other and add up.`,
      pending > 0 && ` ${plural(pending, "charge")} still being answered.`),
    h("p", { class: "small" }, "Head to note down: ", h("code", {}, head.hash)));
}
