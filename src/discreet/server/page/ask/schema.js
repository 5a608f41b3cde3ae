// The tables beside the editor: names go into the question with a click.
import { h, number, plural, put } from "/static/shell.js";
import { examples, keyValue, quoted } from "/static/ask/questions.js";

const DAY = 86_400_000;

const shownKey = (key) => (key === null ? "NULL" : String(keyValue(key)));

function end(value, kind) {
  if (kind === "date") return new Date(value * DAY).toISOString().slice(0, 10);
  if (kind === "timestamp") return new Date(value / 1000).toISOString().slice(0, 16).replace("T", " ");
  return number(value, 8);
}

/** Who a unit of protection is. */
export function unit(table) {
  const of = table.unit;
  if (!of) return table.key ? `Public; key ${table.key.join(", ")}` : "Public";
  if (of.kind === "EachRow") return "Protects each row, and nobody's other rows";
  if (of.kind === "Path") return `Protects people, by ${of.column} → ${of.table}.${of.key}`;
  return `Protects people, as ${of.column} tells them apart`;
}

/** What is stated about a column, in words: its keys or its bounds. */
export function stated(column) {
  if (column.range) return column.range.map((value) => end(value, column.kind)).join(" to ");
  if (!column.keys || column.kind === "boolean") return "";
  const shown = column.keys.slice(0, 6).map(shownKey).join(", ");
  return column.keys.length > 6 ? `${shown} and ${number(column.keys.length - 6)} more` : shown;
}

export function drawSchema(element, tables, editor) {
  const all = Object.values(tables);
  if (!all.length) {
    put(
      element,
      h(
        "p",
        { class: "quiet small" },
        "There are no tables that you may ask about yet. The owner adds them on the Data page.",
      ),
    );
    return;
  }
  put(
    element,
    all.map((table, i) =>
      h(
        "details",
        { open: i === 0 && all.length < 4 },
        h(
          "summary",
          {},
          h("span", { class: "mono" }, table.name),
          " ",
          !table.unit && h("span", { class: "tag" }, "public"),
        ),
        h("p", { class: "hint" }, unit(table)),
        table.limits?.max_rows &&
          h("p", { class: "hint" }, `At most ${plural(table.limits.max_rows, "row")} of one person in a group.`),
        h(
          "ul",
          { class: "columns" },
          table.columns.map((column) =>
            h(
              "li",
              {},
              h(
                "button",
                {
                  type: "button",
                  title: `Put ${column.name} into the question`,
                  onclick: () => editor.insert(quoted(column.name)),
                },
                h("span", { class: "name" }, column.name),
                h("span", { class: "kind" }, column.kind),
                stated(column) && h("span", { class: "said" }, stated(column)),
              ),
            ),
          ),
        ),
        table.unit &&
          h(
            "button",
            { type: "button", class: "plain small", onclick: () => editor.begin(examples({ table }, 1)[0]) },
            "Start a question",
          ),
      ),
    ),
  );
}
