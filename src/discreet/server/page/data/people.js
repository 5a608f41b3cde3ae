// One person of a dataset whose people have budgets of their own: their statement, their limit, their removal.
import { api, attempt, busy, field, h, put, say } from "/static/shell.js";

export function drawPeople(panel, dataset) {
  const told = h("div", { "aria-live": "polite" });
  const ask = (path, words) => async ({ currentTarget }) => {
    const said = new FormData(currentTarget.form), name = said.get("person");
    await attempt(told, async () => {
      if (!name) return put(told, h("p", { class: "fault", role: "alert" }, "Name somebody first."));
      if (path === "remove" && !confirm("Close this account for ever?")) return null;
      const body = { name, dataset: dataset.name, ...(path === "limit" && { epsilon: said.get("epsilon") }) };
      const done = await busy(currentTarget, () => api(`/v1/people/${path}`, { method: "POST", body }));
      if (words) say(words);
      return put(told, done.text ? h("pre", { class: "notice" }, done.text) : h("p", {}, words));
    });
  };
  const button = (title, path, words, kind) => h("button", { type: "button", class: kind, onclick: ask(path, words) }, title);

  put(panel, h("form", { class: "stack notice", novalidate: true, onsubmit: (event) => event.preventDefault() },
    h("h3", { tabindex: -1 }, "One person"),
    h("p", { class: "small quiet" }, "Whether there is such a person is not looked at. A statement depends on that person's data: hand it to them, and to nobody else."),
    h("div", { class: "two" },
      field("person", "Name, as it stands in the data", { autocomplete: "off" }),
      field("epsilon", "Limit (epsilon)", { inputmode: "decimal", value: "0", hint: "0 opts out of all later questions." })),
    told,
    h("div", { class: "row" },
      button("Statement", "statement", null, "primary"),
      button("Set the limit", "limit", "The limit is set."),
      button("Remove for ever", "remove", "The account is closed."))));
}
