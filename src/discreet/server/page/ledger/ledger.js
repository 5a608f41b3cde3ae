// The Ledger page: entries in words, verification, and what an auditor takes along.
import { api, attempt, busy, facts, h, number, one, put, start, table, when } from "/static/shell.js";
import { printReport, verdict } from "/static/ledger/report.js";

const PAGE = 50;
const me = await start({ roles: ["auditor", "owner"] });
if (me) page();

function page() {
  const places = [0];
  const load = () =>
    attempt(one("#entries"), async () => {
      const { entries, head } = await api(`/v1/ledger?after=${places.at(-1)}&limit=${PAGE}`);
      put(one("#entries"), entries.length || places.length > 1 ? shown(entries, head) : nothing());
    });
  const turn = (text, disabled, move) =>
    h("button", { class: "small", type: "button", disabled, onclick: () => (move(), load()) }, text);
  const shown = (entries, head) => [
    table("Entries as a table", ["No.|n", "Time|time", "By", "What happened|asked"], entries.map(row)),
    h("div", { class: "row apart" },
      turn("Earlier", places.length === 1, () => places.pop()),
      h("span", { class: "small quiet" },
        entries.length
          ? `${number(entries[0].sequence)} to ${number(entries.at(-1).sequence)} of ${number(head.sequence)}`
          : "No more entries"),
      turn("Later", entries.length < PAGE || entries.at(-1).sequence === head.sequence, () =>
        places.push(entries.at(-1).sequence))),
  ];

  const verify = one("#verify"),
    print = one("#print");
  verify.disabled = print.disabled = false;
  verify.addEventListener("click", () =>
    attempt(one("#verified"), async () => {
      const report = await busy(verify, () => api("/v1/ledger/verify", { method: "POST" }));
      put(one("#verified"), verdict(report));
    }));
  print.addEventListener("click", () =>
    attempt(one("#verified"), () => busy(print, () => printReport(one("#report"), me))));
  load();
}

const nothing = () =>
  h("div", { class: "empty" }, h("h3", {}, "Nothing yet"), h("p", {}, "The first entry is written when a dataset is added."));

const row = (entry) => [
  number(entry.sequence),
  when(entry.time),
  entry.by,
  h("details", {},
    h("summary", {}, h("span", { class: `tag ${entry.kind === "charged" ? "noise" : ""}` }, entry.kind), " ", entry.sentence),
    facts(entry.told.map(([name, text]) => [name, name === "Question" ? h("code", {}, text) : text])),
    h("details", {},
      h("summary", { class: "small quiet" }, "As it is stored, exactly"),
      h("pre", { class: "small" }, JSON.stringify(entry.facts, null, 1)))),
];
