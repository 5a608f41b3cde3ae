// One dataset of the owner: its tables, made-up rows, its budget, its statement.
import {
  api,
  busy,
  confirmed,
  ended,
  faultBox,
  h,
  number,
  one,
  percent,
  plural,
  put,
  say,
} from "/static/shell.js";
import { stated, unit } from "/static/ask/schema.js";
import { printStatement } from "/static/data/statement.js";

export function datasetCard(name, schema, accounts, refresh) {
  const tables = schema.datasets[name].map((table) => schema.tables[table]);
  const account = accounts.find((one) => one.holder.kind === "dataset" && one.holder.name === name);
  const left = account?.cap ? Math.max(0, account.left) / account.cap : null;
  const shown = h("div", { "aria-live": "polite" });
  return h(
    "section",
    { class: "card stack", "data-dataset": name },
    h(
      "div",
      { class: "row apart" },
      h("h2", { class: "mono" }, name),
      left !== null &&
        h("span", { class: `tag ${left < 0.1 ? "bad" : "accent"}` }, `${percent(left)} of the budget left`),
    ),
    tables.map((table) => tableFacts(table)),
    h(
      "div",
      { class: "row" },
      h(
        "button",
        {
          class: "small",
          type: "button",
          onclick: (event) => busy(event.target, () => showDummy(shown, tables)),
        },
        "Made-up rows",
      ),
      h("a", { class: "button small", href: `/budget?dataset=${encodeURIComponent(name)}` }, "Budget"),
      h(
        "button",
        {
          class: "small",
          type: "button",
          onclick: () => put(shown, raiseForm(name, account, shown, refresh)),
        },
        "Raise the budget",
      ),
      h(
        "button",
        { class: "small", type: "button", onclick: () => put(shown, grantForm(name, shown)) },
        "Give an analyst a limit",
      ),
      h(
        "button",
        {
          class: "small",
          type: "button",
          onclick: () => printStatement(one("#data"), name, tables, account, schema.neighbours, refresh),
        },
        "Privacy statement",
      ),
    ),
    shown,
  );
}

function tableFacts(table) {
  const limits = table.limits ?? {};
  return h(
    "details",
    {},
    h("summary", {}, "Columns of ", h("span", { class: "mono" }, table.name)),
    h("p", { class: "small" }, `${unit(table)}.`),
    h(
      "p",
      { class: "hint" },
      limits.max_rows || limits.max_groups
        ? "One person counts with at most " +
            `${limits.max_rows ? plural(limits.max_rows, "row") : "as many rows as each question finds useful"} ` +
            "in each of " +
            `${limits.max_groups ? plural(limits.max_groups, "group") : "as many groups as it finds useful"}.`
        : "How much of one person counts is chosen privately by each question.",
    ),
    h(
      "div",
      { class: "scroll" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["Column", "Kind", "Public facts"].map((text) => h("th", { scope: "col" }, text)),
          ),
        ),
        h(
          "tbody",
          {},
          table.columns.map((column) =>
            h(
              "tr",
              {},
              h("td", { class: "mono" }, column.name),
              h("td", {}, column.kind),
              h(
                "td",
                {},
                stated(column) || h("span", { class: "quiet" }, "none"),
                column.nullable ? "" : h("span", { class: "tag" }, "never NULL"),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

async function showDummy(shown, tables) {
  try {
    const made = await Promise.all(
      tables.map((table) => api(`/v1/tables/${encodeURIComponent(table.name)}/dummy?rows=8`)),
    );
    put(
      shown,
      tables.map((table, i) =>
        dummyTable(made[i], `Made-up rows of ${table.name}: nothing here was read from your data.`),
      ),
    );
  } catch (fault) {
    if (!ended(fault)) put(shown, faultBox(fault));
  }
}

/** Rows that were made up, labelled as such. */
export function dummyTable({ columns, rows }, caption) {
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Made-up rows" },
    h(
      "table",
      { class: "small" },
      h("caption", {}, h("span", { class: "tag accent" }, "made up"), " ", caption),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          columns.map((name) => h("th", { scope: "col" }, name)),
        ),
      ),
      h(
        "tbody",
        {},
        rows.slice(0, 8).map((row) =>
          h(
            "tr",
            {},
            row.map((value) =>
              h(
                "td",
                {},
                value === null
                  ? h("span", { class: "null" }, "NULL")
                  : typeof value === "number"
                    ? number(value, 5)
                    : String(value),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

/* --- forms -------------------------------------------------------------------------------------- */

const field = (id, label, hint, facts) =>
  h(
    "div",
    { class: "field" },
    h("label", { for: id }, label),
    h("input", { id, name: id, autocomplete: "off", ...facts, "aria-describedby": hint && `${id}-hint` }),
    hint && h("p", { class: "hint", id: `${id}-hint` }, hint),
  );

function raiseForm(name, account, shown, refresh) {
  const told = h("div", {});
  const form = h(
    "form",
    {
      class: "stack notice",
      novalidate: true,
      onsubmit: async (event) => {
        event.preventDefault();
        const { epsilon, delta, reason } = Object.fromEntries(new FormData(form));
        if (!reason.trim()) {
          put(
            told,
            h(
              "p",
              { class: "fault", role: "alert" },
              "Write down the reason: the ledger keeps it for whoever checks it.",
            ),
          );
          return;
        }
        const sure = await confirmed(
          `Raise the budget of ${name}?`,
          h(
            "p",
            {},
            "More may be told about everybody in this data from now on. It cannot be taken back, " +
              "and the reason is kept for ever.",
          ),
          { yes: "Raise it" },
        );
        if (!sure) return;
        try {
          await busy(form.querySelector(".primary"), () =>
            api(`/v1/budgets/${encodeURIComponent(name)}/raise`, {
              method: "POST",
              body: { epsilon: epsilon.trim(), delta: delta.trim() || "0", reason: reason.trim() },
            }),
          );
          say(`The budget of ${name} is changed, and the ledger says why.`);
          refresh();
        } catch (fault) {
          if (!ended(fault)) put(told, faultBox(fault));
        }
      },
    },
    h("h3", {}, `Raise the budget of ${name}`),
    h(
      "p",
      { class: "small" },
      "A new total for ever, not an addition. There is no reset: what was told stays told.",
    ),
    h(
      "div",
      { class: "two" },
      field(
        "epsilon",
        "New total (epsilon)",
        account?.cap_epsilon ? `Now ${number(account.cap_epsilon)}` : null,
        { inputmode: "decimal", required: true },
      ),
      field(
        "delta",
        "Chance of an exception (delta)",
        "Empty or 0 for none; else far below one in the number of people",
        { inputmode: "decimal", value: account?.cap_delta ? String(account.cap_delta) : "" },
      ),
    ),
    field("reason", "Reason, for the ledger", null, {
      class: "wide",
      required: true,
      maxlength: 1000,
      placeholder: "Board meeting of 12 May",
    }),
    told,
    h(
      "div",
      { class: "row" },
      h("button", { class: "primary", type: "submit" }, "Raise"),
      h("button", { type: "button", onclick: () => put(shown) }, "Close"),
    ),
  );
  return form;
}

function grantForm(name, shown) {
  const told = h("div", {});
  const form = h(
    "form",
    {
      class: "stack notice",
      novalidate: true,
      onsubmit: async (event) => {
        event.preventDefault();
        const { analyst, epsilon, delta } = Object.fromEntries(new FormData(form));
        try {
          const budget = { epsilon: epsilon.trim(), delta: delta.trim() || "0" };
          await busy(form.querySelector(".primary"), () =>
            api("/v1/grants", { method: "POST", body: { analyst: analyst.trim(), dataset: name, budget } }),
          );
          say(`${analyst} has a limit within ${name}.`);
          put(shown);
        } catch (fault) {
          if (!ended(fault)) put(told, faultBox(fault));
        }
      },
    },
    h("h3", {}, `A limit for one analyst within ${name}`),
    h("p", { class: "small" }, "Without one, an analyst may spend whatever is left of the dataset's budget."),
    field("analyst", "Analyst, as in their token", null, { required: true }),
    h(
      "div",
      { class: "two" },
      field("epsilon", "In all (epsilon)", null, { inputmode: "decimal", required: true }),
      field("delta", "Chance of an exception (delta)", null, { inputmode: "decimal" }),
    ),
    told,
    h(
      "div",
      { class: "row" },
      h("button", { class: "primary", type: "submit" }, "Give the limit"),
      h("button", { type: "button", onclick: () => put(shown) }, "Close"),
    ),
  );
  return form;
}
