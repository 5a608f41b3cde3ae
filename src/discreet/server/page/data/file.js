// The first step: a file, its name in questions, and whose people it is about.
import { ended, faultBox, h, one, put, upload } from "/static/shell.js";

const PUBLIC = "public table";

/** What is known of a column before the owner says anything; a CSV file knows no kinds. */
const unsaid = (kind, typed) => ({
  kind,
  known: Boolean(typed && kind),
  what: "nothing",
  low: "",
  high: "",
  keys: "",
  required: false,
});

export function fileStep(draft, { schema, heading, next, changed, restart }) {
  const bar = h(
    "span",
    { class: "meter", hidden: true, role: "img", "aria-label": "Upload" },
    h("i", { class: "left" }),
  );
  const name = h("input", {
    id: "table-name",
    class: "wide mono",
    autocomplete: "off",
    maxlength: 60,
    value: draft.name,
    oninput: () => {
      draft.name = name.value.trim();
      changed();
    },
  });
  const state = h(
    "p",
    { class: "hint", id: "file-state" },
    draft.upload
      ? `${draft.file.name}: ${draft.found.length} columns.`
      : "Parquet, or CSV with a header. Only names and kinds of columns are looked at.",
  );

  async function take(picked) {
    bar.hidden = false;
    try {
      const path = `/v1/uploads?name=${encodeURIComponent(picked.name)}`;
      const reply = await upload(path, picked, (share) => {
        bar.firstChild.style.width = `${100 * share}%`;
      });
      const columns = Object.fromEntries(
        reply.columns.map((column) => [column.name, unsaid(column.kind, reply.typed)]),
      );
      Object.assign(draft, {
        file: picked,
        upload: reply.upload,
        found: reply.columns,
        unit: null,
        key: [],
        columns,
      });
      draft.name ||= picked.name
        .replace(/\..*$/, "")
        .toLowerCase()
        .replace(/[^a-z0-9_]+/g, "_");
      restart();
    } catch (fault) {
      if (!ended(fault)) put(one("#wrong"), faultBox(fault));
    } finally {
      bar.hidden = true;
    }
  }

  const file = h("input", {
    type: "file",
    id: "file",
    accept: ".parquet,.csv,.gz",
    "aria-describedby": "file-state",
    onchange: () => {
      if (file.files[0]) take(file.files[0]);
    },
  });
  const whose = h(
    "select",
    {
      id: "whose",
      class: "wide",
      onchange: () => {
        draft.isPublic = whose.value === PUBLIC;
        draft.dataset = draft.isPublic ? "" : whose.value;
        restart();
      },
    },
    h("option", { value: "" }, "People with a budget of their own: a new dataset"),
    Object.keys(schema.datasets).map((one) =>
      h(
        "option",
        { value: one, selected: one === draft.dataset },
        `The same people as ${one}: it shares that budget`,
      ),
    ),
    h("option", { value: PUBLIC, selected: draft.isPublic }, "Nobody: a public table to join with"),
  );

  return [
    heading("Which table?"),
    h("div", { class: "field" }, h("label", { for: "file" }, "File"), file, bar, state),
    h("div", { class: "field" }, h("label", { for: "table-name" }, "Name in questions"), name),
    h("div", { class: "field" }, h("label", { for: "whose" }, "Whom it is about"), whose),
    next(() => (!draft.upload ? "Choose a file first." : !draft.name ? "Give the table a name." : null)),
  ];
}
