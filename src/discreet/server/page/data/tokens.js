// Who may come in: tokens are shown once, expire, and can be revoked at once.
import { api, busy, confirmed, copy, ended, faultBox, h, put, say, when } from "/static/shell.js";

const ROLES = [
  ["analyst", "Analyst", "asks, sees what is left"],
  ["auditor", "Auditor", "reads and checks the ledger, sees no answer"],
  ["owner", "Owner", "everything on this page"],
];

export async function drawTokens(element, datasets) {
  const told = h("div", { "aria-live": "polite" }),
    list = h("div", {});
  put(
    element,
    h("h2", { id: "tokens-title" }, "People"),
    list,
    told,
    h(
      "details",
      {},
      h("summary", {}, "Let somebody in"),
      form(datasets, told, () => load(list, told)),
    ),
  );
  await load(list, told);
}

async function load(list, told) {
  try {
    const data = await api("/v1/tokens");
    draw(list, told, data.tokens);
  } catch (fault) {
    if (!ended(fault)) put(list, faultBox(fault));
  }
}

function state(token) {
  if (token.revoked) return h("span", { class: "tag bad" }, "revoked");
  if (!token.works) return h("span", { class: "tag" }, "expired");
  return h("span", { class: "tag good" }, `until ${when(token.expires)}`);
}

function draw(list, told, tokens) {
  put(
    list,
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Tokens" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["Name", "Role", "Datasets", "Token"].map((text) => h("th", { scope: "col" }, text)),
            h("th", { scope: "col" }, h("span", { class: "visually-hidden" }, "Action")),
          ),
        ),
        h(
          "tbody",
          {},
          tokens.map((token) =>
            h(
              "tr",
              {},
              h("td", {}, token.name),
              h("td", {}, token.role),
              h("td", {}, token.datasets ? token.datasets.join(", ") : "all"),
              h("td", {}, state(token)),
              h(
                "td",
                { class: "n" },
                !token.revoked &&
                  token.works &&
                  h(
                    "button",
                    {
                      class: "small danger",
                      type: "button",
                      "aria-label": `Revoke the token of ${token.name}`,
                      onclick: () => revoke(token, list, told),
                    },
                    "Revoke",
                  ),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

async function revoke(token, list, told) {
  const sure = await confirmed(
    `Revoke the token of ${token.name}?`,
    h("p", {}, "It stops working at once, and their open pages are signed out. What they spent stays spent."),
    { yes: "Revoke" },
  );
  if (!sure) return;
  try {
    await api(`/v1/tokens/${encodeURIComponent(token.id)}`, { method: "DELETE" });
    say(`The token of ${token.name} is revoked.`);
    await load(list, told);
  } catch (fault) {
    if (!ended(fault)) put(told, faultBox(fault));
  }
}

function form(datasets, told, refresh) {
  const role = (value, name, words, i) =>
    h(
      "label",
      {},
      h("input", { type: "radio", name: "role", value, checked: i === 0 }),
      h("span", {}, h("strong", {}, name), h("span", { class: "small quiet" }, words)),
    );
  const made = h(
    "form",
    {
      class: "stack",
      novalidate: true,
      onsubmit: async (event) => {
        event.preventDefault();
        const facts = new FormData(made);
        const chosen = facts.getAll("dataset");
        const body = {
          name: facts.get("name").trim(),
          role: facts.get("role"),
          datasets: chosen.length ? chosen : null,
          days: Number(facts.get("days")),
        };
        try {
          const token = await busy(made.querySelector(".primary"), () =>
            api("/v1/tokens", { method: "POST", body }),
          );
          put(told, secret(token));
          made.reset();
          refresh();
        } catch (fault) {
          if (!ended(fault)) put(told, faultBox(fault));
        }
      },
    },
    h(
      "div",
      { class: "two" },
      h(
        "div",
        { class: "field" },
        h("label", { for: "token-name" }, "Name"),
        h("input", {
          id: "token-name",
          name: "name",
          class: "wide",
          required: true,
          maxlength: 100,
          autocomplete: "off",
        }),
        h("p", { class: "hint" }, "Budgets and the ledger know them by it."),
      ),
      h(
        "div",
        { class: "field" },
        h("label", { for: "token-days" }, "Valid for (days)"),
        h("input", { id: "token-days", name: "days", type: "number", min: 1, max: 3650, value: 90 }),
      ),
    ),
    h(
      "fieldset",
      { class: "stack-small" },
      h("legend", {}, "Role"),
      h(
        "div",
        { class: "options" },
        ROLES.map((one, i) => role(...one, i)),
      ),
    ),
    datasets.length > 0 &&
      h(
        "fieldset",
        { class: "stack-small" },
        h("legend", {}, "Datasets"),
        h("p", { class: "hint" }, "None ticked means all, also those to come."),
        h(
          "div",
          { class: "row" },
          datasets.map((name) =>
            h(
              "label",
              { class: "check" },
              h("input", { type: "checkbox", name: "dataset", value: name }),
              name,
            ),
          ),
        ),
      ),
    h("div", { class: "row" }, h("button", { class: "primary", type: "submit" }, "Make a token")),
  );
  return made;
}

const secret = (token) =>
  h(
    "div",
    { class: "notice good stack-small" },
    h("strong", {}, `The token of ${token.name}`),
    h("p", {}, "Shown this once: hand it over by a safe way. Only its fingerprint is kept here."),
    h("p", { class: "secret", id: "secret" }, token.token),
    h(
      "div",
      { class: "row" },
      h(
        "button",
        { class: "small", type: "button", onclick: () => copy(token.token, "Token copied.") },
        "Copy",
      ),
    ),
  );
