// The Data page: datasets, public tables, campaigns, who may ask, and adding a table.
import { api, attempt, busy, h, one, plural, put, start } from "/static/shell.js";
import { drawCampaigns } from "/static/data/campaigns.js";
import { datasetCard } from "/static/data/dataset.js";
import { drawTokens } from "/static/data/tokens.js";
import { openWizard } from "/static/data/wizard.js";

const me = await start({ roles: ["owner"] });
if (me) overview();

function overview() {
  const target = one("#data");
  return attempt(target, async () => {
    const [schema, { accounts }] = await Promise.all([api("/v1/schema"), api("/v1/budgets")]);
    const names = Object.keys(schema.datasets);
    const publics = Object.values(schema.tables).filter((table) => !table.unit);
    const people = h("section", { class: "card stack", "aria-labelledby": "tokens-title" });
    const campaigns = h("section", { class: "card stack", hidden: true });
    const add = () => openWizard(target, schema, overview);
    put(target,
      names.length
        ? h("div", { class: "row apart" }, h("h2", {}, plural(names.length, "dataset")),
            h("button", { class: "primary", type: "button", onclick: add }, "Add a table"))
        : firstVisit(add),
      names.map((name) => datasetCard(name, schema, accounts, overview)),
      publics.length > 0 && publicTables(publics),
      campaigns,
      people);
    await Promise.all([drawTokens(people, names), drawCampaigns(campaigns)]);
  });
}

/** Nothing is here yet: two ways to begin. */
function firstVisit(add) {
  const told = h("div", { "aria-live": "polite" });
  const demo = h("button", { class: "primary", type: "button", onclick: () => attempt(told, tryDemo) }, "Try the demo clinic");
  async function tryDemo() {
    const { name } = await busy(demo, () => api("/v1/demo", { method: "POST", body: { name: "clinic" } }));
    const sql = `SELECT ward, COUNT(*) AS smokers, AVG(age) AS age\nFROM ${name}\nWHERE smokes\nGROUP BY ward`;
    sessionStorage.setItem("draft question", sql);
    location.assign(`/ask#${new URLSearchParams({ sql, epsilon: "0.5" })}`);
  }
  return h("section", { class: "begin", "aria-label": "How to begin" },
    h("div", { class: "card stack-small" },
      h("h2", {}, "See how it works"),
      h("p", { class: "quiet" }, "4,000 made-up patients with a budget of their own. Ask something, see the noise, spend nothing that matters."),
      demo, told),
    h("div", { class: "card stack-small" },
      h("h2", {}, "Protect your data"),
      h("p", { class: "quiet" }, "A CSV or Parquet file. You say who is protected and how much may ever be told; nothing is answered before that."),
      h("button", { type: "button", onclick: add }, "Add a table")));
}

const publicTables = (tables) =>
  h("section", { class: "card stack-small" },
    h("h2", {}, "Public tables"),
    h("p", { class: "quiet" }, "They protect nobody, and can be joined with and asked for free."),
    h("ul", {}, tables.map((table) => h("li", {}, h("code", {}, table.name), h("span", { class: "quiet" }, ` with key ${table.key.join(", ")}`)))));
