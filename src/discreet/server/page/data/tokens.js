// Who may come in: tokens are shown once, expire, and can be revoked at once.
import { api, attempt, busy, confirmed, copy, field, h, help, put, say, table, when } from "/static/shell.js";

const ROLES = [
  ["analyst", "Analyst", "asks, sees what is left"],
  ["auditor", "Auditor", "reads and checks the ledger, sees no answer"],
  ["owner", "Owner", "everything on this page"],
];

export async function drawTokens(element, datasets) {
  const told = h("div", { "aria-live": "polite" }), list = h("div", {});
  put(element, h("h2", { id: "tokens-title" }, "People ", help("token")), list, told,
    h("details", {}, h("summary", {}, "Let somebody in"), form(datasets, told, () => load(list, told))));
  await load(list, told);
}

const load = (list, told) =>
  attempt(list, async () => {
    const { tokens } = await api("/v1/tokens");
    put(list, table("Tokens", ["Name", "Role", "Datasets", "Token", "Action|n"], tokens.map((token) => [
      token.name,
      token.role,
      token.datasets ? token.datasets.join(", ") : "all",
      state(token),
      !token.revoked && token.works && h("button", {
        class: "small danger", type: "button", "aria-label": `Revoke the token of ${token.name}`,
        onclick: () => attempt(told, () => revoke(token, list, told)),
      }, "Revoke"),
    ])));
  });

function state(token) {
  if (token.revoked) return h("span", { class: "tag bad" }, "revoked");
  if (!token.works) return h("span", { class: "tag" }, "expired");
  return h("span", { class: "tag good" }, `until ${when(token.expires)}`);
}

async function revoke(token, list, told) {
  const words = h("p", {}, "It stops working at once, and their open pages are signed out. What they spent stays spent.");
  if (!(await confirmed(`Revoke the token of ${token.name}?`, words, { yes: "Revoke" }))) return;
  await api(`/v1/tokens/${encodeURIComponent(token.id)}`, { method: "DELETE" });
  say(`The token of ${token.name} is revoked.`);
  await load(list, told);
}

function form(datasets, told, refresh) {
  const button = h("button", { class: "primary", type: "submit" }, "Make a token");
  const make = (event) => {
    event.preventDefault();
    const said = new FormData(event.target), chosen = said.getAll("dataset");
    const body = { name: said.get("token-name").trim(), role: said.get("role"), datasets: chosen.length ? chosen : null, days: Number(said.get("token-days")) };
    return attempt(told, async () => {
      put(told, secret(await busy(button, () => api("/v1/tokens", { method: "POST", body }))));
      event.target.reset();
      refresh();
    });
  };
  return h("form", { class: "stack", novalidate: true, onsubmit: make },
    h("div", { class: "two" },
      field("token-name", "Name", { class: "wide", maxlength: 100, hint: "Budgets and the ledger know them by it." }),
      field("token-days", "Valid for (days)", { type: "number", min: 1, max: 3650, value: 90 })),
    h("fieldset", { class: "stack-small" }, h("legend", {}, "Role"),
      h("div", { class: "options" }, ROLES.map(([value, name, words], i) =>
        h("label", {}, h("input", { type: "radio", name: "role", value, checked: i === 0 }),
          h("span", {}, h("strong", {}, name), h("span", { class: "small quiet" }, words)))))),
    datasets.length > 0 && h("fieldset", { class: "stack-small" }, h("legend", {}, "Datasets"),
      h("p", { class: "hint" }, "None ticked means all, also those to come."),
      h("div", { class: "row" }, datasets.map((name) => h("label", { class: "check" }, h("input", { type: "checkbox", name: "dataset", value: name }), name)))),
    h("div", { class: "row" }, button));
}

const secret = ({ name, token }) =>
  h("div", { class: "notice good stack-small" },
    h("strong", {}, `The token of ${name}`),
    h("p", {}, "Shown this once: hand it over by a safe way. Only its fingerprint is kept here."),
    h("p", { class: "secret", id: "secret" }, token),
    h("div", { class: "row" },
      h("button", { class: "small", type: "button", onclick: () => copy(token, "Token copied.") }, "Copy"),
      h("button", { class: "small", type: "button", onclick: () => copy(`${location.origin}/#${token}`, "Link copied.") }, "Copy a link that fills it in")));
