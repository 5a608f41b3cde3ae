// The Data page: datasets, budgets, who may ask, and adding a dataset in steps.
import { api, ended, faultBox, h, one, plural, put, start } from "/static/shell.js";
import { drawCampaigns } from "/static/data/campaigns.js";
import { datasetCard } from "/static/data/dataset.js";
import { drawTokens } from "/static/data/tokens.js";
import { openWizard } from "/static/data/wizard.js";

const me = await start({ roles: ["owner"] });
if (me) overview();

async function overview() {
  const target = one("#data");
  one(".title").hidden = false;
  try {
    const [schema, budgets] = await Promise.all([api("/v1/schema"), api("/v1/budgets")]);
    const publics = Object.values(schema.tables).filter((table) => !table.unit);
    const names = Object.keys(schema.datasets);
    const people = h("section", { class: "card stack", "aria-labelledby": "tokens-title" });
    const campaigns = h("section", { class: "card stack", "aria-labelledby": "campaigns-title", hidden: true });
    put(
      target,
      h(
        "div",
        { class: "row apart no-print" },
        h("h2", {}, names.length ? plural(names.length, "dataset") : "Datasets"),
        h(
          "button",
          {
            class: "primary",
            type: "button",
            id: "add",
            onclick: () => openWizard(target, schema, overview),
          },
          "Add a table",
        ),
      ),
      names.length
        ? names.map((name) => datasetCard(name, schema, budgets.accounts, overview))
        : h(
            "div",
            { class: "card empty" },
            h("h2", {}, "Nothing is protected yet"),
            h(
              "p",
              {},
              "Add a table: say who is protected, how much of one person may count, and how much may " +
                "ever be told. It takes six short steps.",
            ),
          ),
      publics.length > 0 &&
        h(
          "section",
          { class: "card" },
          h("h2", {}, "Public tables"),
          h(
            "ul",
            {},
            publics.map((table) =>
              h(
                "li",
                {},
                h("code", {}, table.name),
                h("span", { class: "quiet" }, ` with key ${table.key.join(", ")}`),
              ),
            ),
          ),
        ),
      campaigns,
      people,
    );
    await Promise.all([drawTokens(people, names), drawCampaigns(campaigns)]);
  } catch (fault) {
    if (!ended(fault)) put(target, faultBox(fault));
  }
}
