// The Ledger page: entries page by page, verification, export.
import {
  api,
  busy,
  ended,
  faultBox,
  fraction,
  h,
  number,
  one,
  plural,
  put,
  start,
  when,
} from "/static/shell.js";

const PAGE = 50;
const me = await start({ roles: ["auditor", "owner"] });
if (me) page();

function page() {
  const places = [0];

  async function load() {
    try {
      const data = await api(`/v1/ledger?after=${places.at(-1)}&limit=${PAGE}`);
      draw(data.entries, data.head);
    } catch (fault) {
      if (!ended(fault)) put(one("#entries"), faultBox(fault));
    }
  }

  function draw(entries, head) {
    if (!entries.length && places.length === 1) {
      put(
        one("#entries"),
        h(
          "div",
          { class: "empty" },
          h("h3", {}, "Nothing yet"),
          h("p", {}, "The first entry is written when a dataset is added."),
        ),
      );
      return;
    }
    put(
      one("#entries"),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Entries as a table" },
        h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ["No.", "Time", "What", "By", "About"].map((text, i) =>
                h("th", { scope: "col", class: i === 0 && "n" }, text),
              ),
            ),
          ),
          h("tbody", {}, entries.map(row)),
        ),
      ),
      h(
        "div",
        { class: "row apart" },
        h(
          "button",
          {
            class: "small",
            type: "button",
            disabled: places.length === 1,
            onclick: () => {
              places.pop();
              load();
            },
          },
          "Earlier",
        ),
        h(
          "span",
          { class: "small quiet" },
          entries.length
            ? `${number(entries[0].sequence)} to ${number(entries.at(-1).sequence)} of ${number(head.sequence)}`
            : "No more entries",
        ),
        h(
          "button",
          {
            class: "small",
            type: "button",
            disabled: entries.length < PAGE || entries.at(-1).sequence === head.sequence,
            onclick: () => {
              places.push(entries.at(-1).sequence);
              load();
            },
          },
          "Later",
        ),
      ),
    );
  }

  function row(entry) {
    return h(
      "tr",
      {},
      h("td", { class: "n" }, number(entry.sequence)),
      h("td", { class: "time" }, when(entry.time)),
      h("td", {}, h("span", { class: `tag ${entry.kind === "charged" ? "noise" : ""}` }, entry.kind)),
      h("td", {}, entry.by),
      h(
        "td",
        { class: "asked" },
        h(
          "details",
          {},
          h("summary", { class: "small" }, about(entry)),
          h("pre", { class: "small" }, JSON.stringify(entry.facts, null, 1)),
        ),
      ),
    );
  }

  const verify = one("#verify");
  verify.disabled = false;
  verify.addEventListener("click", async () => {
    try {
      const report = await busy(verify, () => api("/v1/ledger/verify", { method: "POST" }));
      put(one("#verified"), verdict(report));
    } catch (fault) {
      if (!ended(fault)) put(one("#verified"), faultBox(fault));
    }
  });

  load();
}

/** What an entry is about, in a few words. */
function about({ kind, facts }) {
  const price = facts.prices?.[0];
  if (kind === "charged")
    return `${facts.dataset}${price ? `: ${number(fraction(price.amount))} ${price.measure ?? ""}` : ""}`;
  if (kind === "released") return `answer to entry ${facts.charge}`;
  if (kind === "measured") return `noisy measurements for entry ${facts.charge}`;
  if (kind === "failed") return `entry ${facts.charge} has no answer`;
  if (kind === "readmitted") return `${facts.analyst} in ${facts.dataset}, because: ${facts.reason}`;
  if (facts.account) return account(facts);
  if (facts.table) return `${facts.table}${facts.dataset ? ` in ${facts.dataset}` : ""}`;
  return facts.reason || facts.name || Object.keys(facts).join(", ");
}

/** Whose cap, how high, and why. */
function account(facts) {
  const [kind, name, within] = JSON.parse(facts.account);
  const cap = facts.cap ? `: ${number(fraction(facts.cap.amount))} ${facts.cap.measure}` : "";
  const why = facts.reason ? `, because: ${facts.reason}` : "";
  return `${kind} ${name}${within ? ` within ${within}` : ""}${cap}${why}`;
}

function verdict(report) {
  const problem = report.problem;
  if (!problem) {
    return h(
      "div",
      { class: "notice good", role: "status" },
      h("strong", {}, "The ledger is whole."),
      h(
        "p",
        {},
        `${plural(report.entries, "entry", "entries")} follow each other and add up.`,
        report.pending > 0 && ` ${plural(report.pending, "charge")} still being answered.`,
      ),
      h("p", { class: "small" }, "Head to note down: ", h("code", {}, report.head.hash)),
    );
  }
  const what = `${problem.sequence ? `Entry ${problem.sequence}: ` : ""}${problem.what}`;
  return h(
    "div",
    { class: "fault", role: "alert" },
    h("h3", {}, "The ledger is not what it was."),
    h("p", {}, what),
    h(
      "p",
      { class: "fix" },
      "What to do: stop asking, keep the folder as it is, and compare it with a copy.",
    ),
  );
}
