// Data that grows: the parts of a dataset, and a form that appends rows.
import { api, attempt, busy, field, h, one, put, say, table, upload, when } from "/static/shell.js";

export async function drawParts(panel, dataset) {
  const { version, parts } = await api(`/v1/parts/${encodeURIComponent(dataset.name)}`);
  const [first, ...more] = dataset.tables;
  const which = h("select", { id: "part-table", name: "table" }, [first, ...more].map(({ name }) => h("option", { value: name }, name)));
  const told = h("div", {}), button = h("button", { class: "primary", type: "submit" }, "Append the rows");

  async function append(event) {
    event.preventDefault();
    const said = new FormData(event.target), file = said.get("file");
    await attempt(told, async () => {
      if (!file?.size) return put(told, h("p", { class: "fault", role: "alert" }, "Choose a file first."));
      const done = await busy(button, async () => {
        const sent = await upload(`/v1/uploads?name=${encodeURIComponent(file.name)}`, file);
        const body = { table: said.get("table"), upload: sent.upload, through: said.get("through") || null, again: said.has("again") };
        return api("/v1/parts", { method: "POST", body });
      });
      say(`${said.get("table")} is at version ${done.version}.`);
      await drawParts(panel, dataset);
      return one("h3", panel)?.focus();
    });
  }

  put(panel,
    h("h3", { tabindex: -1 }, `Version ${version}`),
    h("p", { class: "small quiet" }, "Each time rows are appended, a version begins. Earlier versions can still be asked about, and no budget grows."),
    parts.length > 0 && table(`Parts of ${dataset.name}`, ["Version|n", "Table|mono", "Appended|time", "Complete through"],
      [...parts].reverse().slice(0, 20).map((part) => [part.version, part.table, when(part.time), part.through ?? "–"])),
    h("form", { class: "stack notice", novalidate: true, onsubmit: append },
      h("h3", {}, "Append rows"),
      h("div", { class: "two" },
        field("part-table", "Table", { control: which }),
        field("file", "File with the same columns", { type: "file", accept: ".parquet,.csv,.gz" }),
        field("through", "Complete through (a day)", { type: "date", topic: "through", hint: "Standing questions are answered up to this day." })),
      h("label", { class: "check small" }, h("input", { type: "checkbox", name: "again" }), "Count rows that were appended before once more"),
      told, h("div", {}, button)));
}
