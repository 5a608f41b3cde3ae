// Whose budgets a dataset has, and the forms that change them: raises, limits, groups and links.
import { api, attempt, busy, confirmed, field, h, number, percent, put, say, table } from "/static/shell.js";

const TITLES = { dataset: "Everybody", analyst: "Analyst", group: "Group", link: "Linked datasets", workbook: "Workbook" };
const ORDER = Object.keys(TITLES);
const names = (text) => text.split(",").map((one) => one.trim()).filter(Boolean);
const DELTA = "Empty or 0 for none; else far below one in the number of people";

export async function drawAccounts(panel, dataset) {
  const { accounts } = await api(`/v1/budgets/${encodeURIComponent(dataset.name)}`);
  const sorted = accounts.sort((a, b) => ORDER.indexOf(a.holder.kind) - ORDER.indexOf(b.holder.kind));
  const place = h("div", {});
  const opens = (text, form) => h("button", { class: "small", type: "button", onclick: () => put(place, form(dataset, panel, place)) }, text);
  put(panel,
    table(`Budgets within ${dataset.name}`, ["Whose", "In all", "Left|n"], sorted.map(row)),
    h("div", { class: "row" },
      opens("Raise the budget", raiseForm), opens("Give an analyst a limit", grantForm),
      opens("Group analysts", groupForm), Object.keys(dataset.schema.datasets).length > 1 && opens("Link datasets", linkForm),
      !dataset.schema.retired?.includes(dataset.name) && opens("Retire the dataset", retireForm)),
    place);
}

const row = ({ holder, cap, cap_epsilon, cap_delta, left, measure, members }) => [
  [TITLES[holder.kind], holder.kind !== "dataset" && h("span", { class: "mono" }, ` ${holder.name}`),
    members && h("div", { class: "small quiet" }, members.join(", "))],
  cap_epsilon
    ? `epsilon ${number(cap_epsilon)}${cap_delta ? `, delta ${number(cap_delta)}` : ""}${cap === null ? " for each person" : ""}`
    : cap === null ? h("span", { class: "quiet" }, "no limit of their own") : `${number(cap)} ${measure}`,
  cap ? percent(Math.max(0, left) / cap) : "–",
];

/** A form that says what went wrong beside its button, and draws the panel again when it is done. */
function form(title, words, fields, label, dataset, panel, place, send) {
  const told = h("div", {}), button = h("button", { class: "primary", type: "submit" }, label);
  return h("form", { class: "stack notice", novalidate: true, onsubmit: (event) => {
      event.preventDefault();
      const said = Object.fromEntries([...new FormData(event.target)].map(([key, text]) => [key, text.trim()]));
      attempt(told, async () => {
        const done = await send(said, (text) => void put(told, h("p", { class: "fault", role: "alert" }, text)), (path, body) =>
          busy(button, () => api(path, { method: "POST", body })));
        if (!done) return;
        say(done);
        await (send.all ? dataset.refresh() : drawAccounts(panel, dataset));
      });
    } },
    h("h3", {}, title), h("p", { class: "small" }, words), fields, told,
    h("div", { class: "row" }, button, h("button", { type: "button", onclick: () => put(place) }, "Close")));
}

const budgetFields = (account, label = "In all (epsilon)") =>
  h("div", { class: "two" },
    field("epsilon", label, { inputmode: "decimal", topic: "epsilon", hint: account?.cap_epsilon && `Now ${number(account.cap_epsilon)}` }),
    field("delta", "Chance of an exception (delta)", { inputmode: "decimal", topic: "delta", hint: DELTA, value: account?.cap_delta ? String(account.cap_delta) : "" }));
const budget = ({ epsilon, delta }) => ({ epsilon, delta: delta || "0" });

function raiseForm(dataset, panel, place) {
  const { name, account } = dataset;
  const send = async (said, wrong, post) => {
    if (!said.reason) return wrong("Write down the reason: the ledger keeps it for whoever checks it.");
    const words = "More may be told about everybody in this data from now on. It cannot be taken back, and the reason is kept for ever.";
    if (!(await confirmed(`Raise the budget of ${name}?`, h("p", {}, words), { yes: "Raise it" }))) return null;
    await post(`/v1/budgets/${encodeURIComponent(name)}/raise`, { ...budget(said), reason: said.reason });
    return `The budget of ${name} is changed, and the ledger says why.`;
  };
  send.all = true;
  return form(`Raise the budget of ${name}`, "A new total for ever, not an addition. There is no reset: what was told stays told.",
    [budgetFields(account, "New total (epsilon)"),
      field("reason", "Reason, for the ledger", { class: "wide", maxlength: 1000, placeholder: "Board meeting of 12 May" })],
    "Raise", dataset, panel, place, send);
}

function retireForm(dataset, panel, place) {
  const { name } = dataset;
  const send = async ({ reason }, wrong, post) => {
    if (!reason) return wrong("Write down the reason: the ledger keeps it for whoever checks it.");
    const words = "Nothing new can be asked of it, for ever, and its name is never used again. Its answers stay readable.";
    if (!(await confirmed(`Retire ${name}?`, h("p", {}, words), { yes: "Retire it" }))) return null;
    await post(`/v1/datasets/${encodeURIComponent(name)}/retire`, { reason });
    return `${name} is retired.`;
  };
  send.all = true;
  return form(`Retire ${name}`, "For data that should no longer be asked about.",
    field("reason", "Reason, for the ledger", { class: "wide", maxlength: 200 }), "Retire", dataset, panel, place, send);
}

function grantForm(dataset, panel, place) {
  return form(`A limit for one analyst within ${dataset.name}`, "Without one, an analyst may spend whatever is left of the dataset's budget.",
    [field("analyst", "Analyst, as in their token"), budgetFields()], "Give the limit", dataset, panel, place,
    async (said, _, post) => {
      await post("/v1/grants", { analyst: said.analyst, dataset: dataset.name, budget: budget(said) });
      return `${said.analyst} has a limit within ${dataset.name}.`;
    });
}

function groupForm(dataset, panel, place) {
  return form(`Analysts of ${dataset.name} who are held to one limit together`, "For people who talk to each other: what they spend is added up.",
    [h("div", { class: "two" }, field("name", "Name of the group"), field("analysts", "Analysts, parted by commas", { class: "wide" })), budgetFields()],
    "Make the group", dataset, panel, place,
    async (said, _, post) => {
      const body = { name: said.name, dataset: dataset.name, analysts: names(said.analysts), ...(said.epsilon && { budget: budget(said) }) };
      await post("/v1/groups", body);
      return `${said.name} is held to a limit together.`;
    });
}

function linkForm(dataset, panel, place) {
  const others = Object.keys(dataset.schema.datasets).filter((one) => one !== dataset.name);
  return form(`Datasets with the same people as ${dataset.name}`, "What one person may lose over all of them is added up, and may be capped.",
    [field("name", "Name of the link", { topic: "link" }),
      h("fieldset", { class: "stack-small" }, h("legend", { class: "small" }, "Linked with"),
        others.map((one) => h("label", { class: "check" }, h("input", { type: "checkbox", name: `with ${one}` }), h("span", { class: "mono" }, one)))),
      budgetFields()],
    "Link them", dataset, panel, place,
    async (said, wrong, post) => {
      const chosen = others.filter((one) => `with ${one}` in said);
      if (!chosen.length) return wrong("Choose at least one other dataset.");
      await post("/v1/links", { name: said.name, datasets: [dataset.name, ...chosen], ...(said.epsilon && { budget: budget(said) }) });
      return `${[dataset.name, ...chosen].join(" and ")} are linked.`;
    });
}
