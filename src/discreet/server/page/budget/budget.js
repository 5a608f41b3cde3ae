// The Budget page: what is left, what each question cost, what it means for one person.
import { api, attempt, facts, h, number, one, ORDERS, people, percent, put, start, table, when } from "/static/shell.js";
import { drawBurn } from "/static/budget/burn.js";

const ORDER = ["dataset", "analyst", "group", "link", "workbook"];
const me = await start({ roles: ["analyst", "owner", "auditor"] });

const page = () =>
  attempt(one("#budget"), async () => {
    const { accounts } = await api("/v1/budgets?odds=false");
    const inside = accounts.map(({ holder }) => (holder.kind === "dataset" ? holder.name : holder.within));
    const datasets = [...new Set(inside.filter(Boolean))].sort();
    if (!datasets.length) return put(one("#budget"), nothing());
    const wanted = new URLSearchParams(location.search).get("dataset");
    const first = datasets.includes(wanted) ? wanted : datasets[0];
    if (datasets.length > 1) pick(datasets, first);
    return load(first);
  });

const nothing = () =>
  h("div", { class: "card empty" },
    h("h2", {}, "No budget yet"),
    h("p", {}, "A budget begins with a dataset."),
    me.role === "owner" && h("div", { class: "row" }, h("a", { class: "button primary", href: "/data" }, "Add data")));

function pick(datasets, first) {
  const select = h("select", { id: "dataset", onchange: () => {
      history.replaceState(null, "", `?dataset=${encodeURIComponent(select.value)}`);
      load(select.value);
    } },
    datasets.map((name) => h("option", { value: name, selected: name === first }, name)));
  put(one("#picker"), h("div", { class: "field" }, h("label", { for: "dataset" }, "Dataset"), select));
}

const load = (name) =>
  attempt(one("#budget"), async () => {
    const { accounts, history: spent } = await api(`/v1/budgets/${encodeURIComponent(name)}`);
    accounts.sort((a, b) => ORDER.indexOf(a.holder.kind) - ORDER.indexOf(b.holder.kind));
    const [whole, ...others] = accounts;
    put(one("#budget"),
      overview(name, whole, spent),
      others.length > 0 && h("section", {}, h("h2", {}, "Whose budgets"), h("div", { class: "accounts" }, others.map((account) => card(account, spent, whole)))),
      costs(whole, spent));
  });

const share = (account) => (account.cap ? Math.max(0, account.left) / account.cap : 1);

function overview(name, account, history) {
  const left = share(account);
  return h(
    "section",
    { class: "card stack" },
    h("h2", {}, name),
    h(
      "p",
      {},
      h("span", { class: "big" }, percent(left)),
      " ",
      h("span", { class: "quiet" }, "of everybody's budget is left"),
    ),
    gauge(account),
    drawBurn(account, history),
    h("div", { class: "two" }, words(account, left), afterAll(account)),
    h("details", {}, h("summary", { class: "small" }, "In numbers"), numbers(account)),
  );
}

/** For those who count in them. */
const numbers = (account) =>
  facts([
    ...[["Spent", account.spent], ["Left", account.left], ["In all", account.cap]].map(([name, value]) =>
      [name, value === null ? "no limit" : `${number(value)} ${account.measure}`]),
    account.cap_epsilon && ["As the owner said it", `epsilon ${number(account.cap_epsilon)}, delta ${number(account.cap_delta ?? 0)}`],
  ]);

function gauge(account) {
  const spent = 1 - share(account);
  return h(
    "span",
    { class: "meter", role: "img", "aria-label": `${percent(spent)} spent` },
    h("i", { class: "left", css: { width: "100%" } }),
    h("i", { class: "spent", css: { width: `${100 * spent}%` } }),
  );
}

function words(account, left) {
  const odds = account.odds;
  const done =
    left <= 0.0005
      ? "The budget is used up. Earlier answers stay free to open; new questions have to wait " +
        "for the owner, who can raise the budget with a reason."
      : left < 0.2
        ? "Little is left. Ask for what you need most, and no more accurate than you need."
        : "";
  return h(
    "div",
    { class: "stack-small" },
    h("h3", {}, "So far"),
    odds &&
      Number.isFinite(odds.after_spent) &&
      h(
        "p",
        {},
        "Suppose that without somebody's data, something that follows from the answers would " +
          "happen to them with ",
        h("strong", {}, `${odds.before} chances in 100`),
        ". With their data, after all answers so far: at most ",
        h("strong", {}, `${odds.after_spent} in 100`),
        ".",
      ),
    odds && Number.isFinite(odds.after_spent) && people(odds.before, odds.after_spent),
    done && h("p", { class: "notice noise small" }, done),
  );
}

function afterAll(account) {
  const odds = account.odds;
  if (!odds || !Number.isFinite(odds.after_cap)) return null;
  return h(
    "div",
    { class: "stack-small" },
    h("h3", {}, "If all of it were spent"),
    h(
      "p",
      {},
      "At most ",
      h("strong", {}, `${odds.after_cap} in 100`),
      " instead of ",
      h("strong", {}, `${odds.before} in 100`),
      ": the line that nobody can cross.",
    ),
    people(odds.before, odds.after_cap),
    odds.text &&
      h(
        "details",
        {},
        h("summary", { class: "small" }, "In full"),
        h("p", { class: "small quiet" }, odds.text),
      ),
  );
}

const TITLES = { analyst: "Analyst", group: "Group", link: "Linked datasets", workbook: "Workbook" };

function card(account, history, whole) {
  const { kind, name } = account.holder;
  const mine = kind === "analyst" ? history.filter((one) => one.analyst === name) : [];
  let spent = 0;
  const own = mine.map((one) => ({ ...one, spent_after: (spent += one.cost) }));
  return h(
    "section",
    { class: "card stack-small" },
    h(
      "h3",
      {},
      `${TITLES[kind] ?? kind} `,
      h("span", { class: "mono" }, name),
      account.members && h("span", { class: "small quiet" }, ` (${account.members.join(", ")})`),
      kind === "analyst" && name === me.name ? " (you)" : "",
    ),
    account.cap === null
      ? h(
          "p",
          { class: "quiet" },
          whole.cap && whole.measure === account.measure
            ? `${percent(account.spent / whole.cap)} of everybody's budget went to them; they have ` +
                "no limit of their own"
            : "counted, with no limit of their own",
        )
      : [
          h("p", {}, h("strong", {}, percent(share(account))), h("span", { class: "quiet" }, " left")),
          gauge(account),
        ],
    own.length > 1 && account.cap && drawBurn(account, own, 150),
  );
}

function costs(account, history) {
  if (!history.length)
    return h("section", { class: "card empty" }, h("h2", {}, "Nothing asked yet"), h("p", {}, "Each question will be listed here with what it cost."));
  const asked = ({ sql, kind, analyst }) =>
    [kind !== "query" && h("div", {}, ORDERS[kind] ?? kind),
      sql ? h("code", {}, sql) : kind === "query" && h("span", { class: "quiet" }, analyst ? "asked in Python" : "not shown")];
  return h("section", { class: "card" },
    h("h2", {}, "What each question cost"),
    table("Questions and their costs", ["When|time", "Who", "Question|asked", "Of the whole|n", "Left after|n"],
      history.toReversed().slice(0, 200).map((one) => [
        when(one.time),
        one.analyst ?? h("span", { class: "quiet" }, "another analyst"),
        asked(one),
        account.cap ? percent(one.cost / account.cap) : number(one.cost),
        account.cap ? percent(Math.max(0, account.cap - one.spent_after) / account.cap) : "–",
      ])));
}

if (me) page();
