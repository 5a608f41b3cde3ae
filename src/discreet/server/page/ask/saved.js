// Saved questions: a name, the text, what it is asked for, its answer, and the dashboard it is on.
import { api, confirmed, h, number, one, plural, put, say, sentence } from "/static/shell.js";

const held = (words) =>
  words.epsilon ? `epsilon ${number(words.epsilon)}` : words.within ? `noise at most ± ${words.within}` : "";

/** The list beside the editor; `open(saved)` opens one, `board(name)` a dashboard. */
export function makeSaved(element, { open, board }) {
  let all = [];

  async function load() {
    try {
      all = await api("/v1/saved");
      draw();
    } catch (fault) {
      put(element, h("p", { class: "small quiet" }, sentence(fault)));
    }
  }

  const boards = () => [...new Set(all.map((it) => it.dashboard).filter(Boolean))];

  async function remove(it) {
    const sure = await confirmed(`Delete “${it.title}”?`, h("p", {}, "Its answer stays among the earlier answers."), {
      yes: "Delete",
    });
    if (!sure) return;
    try {
      await api(`/v1/saved/${it.id}`, { method: "DELETE" });
    } catch (fault) {
      say(sentence(fault));
    }
    await load();
    one("#saved-title").focus();
  }

  function draw() {
    if (!all.length)
      return put(
        element,
        h(
          "p",
          { class: "small quiet" },
          "Name a question to find it here; put answers on a dashboard to see them together.",
        ),
      );
    return put(
      element,
      boards().map((name) => {
        const count = all.filter((it) => it.dashboard === name).length;
        return h(
          "button",
          { type: "button", class: "board", onclick: () => board(name) },
          h("span", { class: "name" }, name),
          h("span", { class: "about" }, `Dashboard, ${plural(count, "answer")}`),
        );
      }),
      all.map((it) =>
        h(
          "div",
          { class: "saved" },
          h(
            "button",
            { type: "button", onclick: () => open(it) },
            h("span", { class: "name" }, it.title),
            h("span", { class: "about" }, [held(it.terms), !it.release && "not asked yet"].filter(Boolean).join(" · ")),
          ),
          h(
            "button",
            { type: "button", class: "icon", "aria-label": `Delete ${it.title}`, onclick: () => remove(it) },
            "×",
          ),
        ),
      ),
    );
  }

  /** Ask for a name and keep a question {sql, words, release}. */
  async function save({ sql, words, release, title = "" }) {
    const known = all.find((it) => it.sql === sql);
    const name = h("input", {
      id: "save-title",
      class: "wide",
      required: true,
      maxlength: 120,
      value: known?.title ?? title,
    });
    const where = h("input", {
      id: "save-board",
      class: "wide",
      maxlength: 120,
      list: "boards",
      autocomplete: "off",
      value: known?.dashboard ?? "",
    });
    const field = (label, control, hint) =>
      h("div", { class: "field" }, h("label", { for: control.id }, label), control, h("p", { class: "hint" }, hint));
    const agreed = confirmed(
      "Save this question",
      h(
        "div",
        { class: "stack" },
        field("Name", name, "The same name replaces what it had."),
        field("Dashboard", where, "May stay empty. Answers of one dashboard open together, free."),
        h(
          "datalist",
          { id: "boards" },
          boards().map((it) => h("option", { value: it })),
        ),
        !release && h("p", { class: "small quiet" }, "It has no answer yet: saving it costs nothing and asks nothing."),
      ),
      { yes: "Save" },
    );
    name.focus();
    name.select();
    if (!(await agreed) || !name.value.trim()) return null;
    const body = {
      title: name.value.trim(),
      sql,
      terms: words,
      release: release ?? null,
      dashboard: where.value.trim() || null,
    };
    await keep(body);
    say(`Saved as “${body.title}”.`);
    return body.title;
  }

  async function keep(body) {
    await api("/v1/saved", { method: "POST", body });
    await load();
  }

  return {
    load,
    save,
    on: (name) => all.filter((it) => it.dashboard === name).sort((a, b) => (a.place ?? a.id) - (b.place ?? b.id)),
    /** Keep the answers of a dashboard in this order. */
    order: async (list) => {
      for (const [at, { id: _, time: __, ...it }] of list.entries())
        if (it.place !== at + 1) await api("/v1/saved", { method: "POST", body: { ...it, place: at + 1 } });
      await load();
    },
    named: (release) => all.find((it) => it.release === release)?.title,
    /** Take an answer off its dashboard. */
    take: ({ id: _, time: __, ...it }) => keep({ ...it, dashboard: null }),
    /** A question was answered: those saved without an answer have one now. */
    answered: async (release) => {
      const open = all.filter((it) => it.sql === release.sql && !it.release);
      for (const { id: _, time: __, ...it } of open) await keep({ ...it, release: release.id });
    },
  };
}
