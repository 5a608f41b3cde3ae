// The builder: a question chosen from lists, written as SQL while it is chosen.
import { h, one, put } from "/static/shell.js";
import { choices, comparing, write } from "/static/ask/questions.js";

const options = (all, chosen, words = (it) => it) =>
  all.map((it, i) => h("option", { value: String(i), selected: i === chosen }, words(it)));

/** `text()` is what the editor has, `write(sql)` puts a question there. */
export function makeBuilder(element, editor) {
  let tables = [],
    state = null,
    written = "";

  const table = () => tables[state.table];
  const fresh = (number) => ({ table: number, measures: [0], groups: [], where: [] });
  const question = () => {
    const can = choices(table());
    return {
      table: table(),
      measures: [...new Set(state.measures)].map((i) => can.measures[i]),
      groups: [...new Set(state.groups)].map((i) => can.groups[i]),
      where: state.where,
    };
  };

  /** Write while nobody else did; what was typed by hand is replaced by a click alone. */
  function changed() {
    if ([written, ""].includes(editor.text().trim())) apply();
    else look();
  }
  function apply() {
    written = write(question());
    editor.write(written);
    look();
  }
  function look() {
    if (!state) return;
    const text = editor.text().trim();
    const button = one("#build-write", element);
    button.hidden = text === write(question());
    put(button, text ? "Use this instead of the SQL" : "Write this question");
  }

  function select(label, all, chosen, take, words) {
    const id = `build-${label.toLowerCase().replaceAll(" ", "-")}`;
    const found = h("select", { id, "aria-label": label }, options(all, chosen, words));
    found.addEventListener("change", () => {
      take(Number(found.value));
      draw(id);
      changed();
    });
    return found;
  }

  /** As many lists as were chosen from, and one more to choose from; the first may need a choice. */
  function several(label, all, chosen, none, most) {
    return Array.from({ length: Math.min(chosen.length + 1, most, all.length) }, (_, i) => {
      const free = i || none ? [null] : [];
      return select(
        i ? `${label} ${i + 1}` : label,
        [...free, ...all],
        (chosen[i] ?? -1) + free.length,
        (found) => (found < free.length ? chosen.splice(i, 1) : (chosen[i] = found - free.length)),
        (it) => it?.words ?? (i ? "and also …" : none),
      );
    });
  }

  function condition(row, i) {
    const columns = table().columns;
    const column = columns.find((it) => it.name === row.column);
    const { signs, values, type } = comparing(column);
    const id = `build-value-${i + 1}`;
    const take = (event) => {
      row.value = event.target.value;
      changed();
    };
    const facts = { id, "aria-label": `Value ${i + 1}`, oninput: take };
    return h(
      "div",
      { class: "condition" },
      select(
        `Column ${i + 1}`,
        columns,
        columns.indexOf(column),
        (found) => Object.assign(row, blank(columns[found])),
        (it) => it.name,
      ),
      select(
        `Comparison ${i + 1}`,
        Object.keys(signs),
        Object.keys(signs).indexOf(row.sign),
        (found) => (row.sign = Object.keys(signs)[found]),
        (sign) => signs[sign],
      ),
      values
        ? h(
            "select",
            facts,
            values.map((it) => h("option", { value: String(it), selected: String(it) === row.value }, shown(it))),
          )
        : h("input", { ...facts, type: type ?? "text", step: "any", value: row.value, autocomplete: "off" }),
      h(
        "button",
        {
          type: "button",
          class: "icon",
          "aria-label": `Remove condition ${i + 1}`,
          onclick: () => {
            state.where.splice(i, 1);
            draw("build-add");
            changed();
          },
        },
        "×",
      ),
    );
  }

  const shown = (value) => (value === true ? "yes" : value === false ? "no" : String(value));
  function blank(column) {
    const { signs, values } = comparing(column);
    return { column: column.name, sign: Object.keys(signs)[0], value: String(values?.[0] ?? "") };
  }

  function draw(focused) {
    const can = choices(table());
    const line = (label, ...controls) => h("div", { class: "line" }, h("span", { class: "label" }, label), controls);
    put(
      element,
      tables.length > 1 &&
        line(
          "Table",
          select(
            "Table",
            tables,
            state.table,
            (found) => (state = fresh(found)),
            (it) => it.name,
          ),
        ),
      line("Measure", several("Measure", can.measures, state.measures, null, 4)),
      line("By", several("By", can.groups, state.groups, "everybody together", 3)),
      line(
        "Where",
        state.where.map(condition),
        state.where.length < 6 &&
          h(
            "button",
            {
              type: "button",
              class: "plain small",
              id: "build-add",
              onclick: () => {
                state.where.push(blank(table().columns.find((it) => it.name !== table().unit?.column)));
                draw(`build-column-${state.where.length}`);
                changed();
              },
            },
            state.where.length ? "+ and" : "+ a condition",
          ),
      ),
      h("button", { type: "button", class: "plain small", id: "build-write", onclick: apply }),
    );
    look();
    if (focused) one(`#${focused}`, element)?.focus();
  }

  return {
    look,
    /** Take over a question made of this builder's choices. */
    show(asked) {
      state = fresh(tables.findIndex((it) => it.name === asked.table.name));
      if (!table()) return void (state = fresh(0));
      const can = choices(table()),
        places = (all, some) => some.map((it) => all.findIndex((other) => other.sql === it.sql));
      state.measures = places(can.measures, asked.measures);
      state.groups = places(can.groups, asked.groups);
      written = asked.sql;
      draw();
    },
    load(schema) {
      tables = Object.values(schema).filter((it) => it.unit && it.columns.length > 1);
      element.parentElement.hidden = !tables.length;
      if (!tables.length) return;
      state = fresh(0);
      draw();
    },
  };
}
