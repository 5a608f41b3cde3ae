// The last step: how a table would look to analysts, on made-up rows.
import { api, ended, faultBox, fraction, h, number, put } from "/static/shell.js";
import { dummyTable } from "/static/data/tables.js";
import { request } from "/static/data/wizard.js";

export function lookStep(draft, { heading, last }) {
  const shown = h(
    "div",
    { class: "stack" },
    h("p", { class: "quiet" }, h("span", { class: "spinner", "aria-hidden": "true" }), " Making up rows …"),
  );
  preview(draft, shown);
  return [
    heading("Look at it before it is kept"),
    h("p", { class: "quiet" }, "Rows below are made up from what you said: your data has not been read."),
    shown,
    last("Add the dataset"),
  ];
}

async function preview(draft, shown) {
  try {
    const made = await api("/v1/preview", { method: "POST", body: request(draft) });
    const { sql, answer, epsilon, text, half_widths: widths } = made.question;
    put(
      shown,
      dummyTable(made.rows, `What ${draft.name} could look like.`),
      h("h3", {}, "A question on it"),
      h("pre", {}, sql),
      dummyTable(answer, `Its answer on made-up rows, for epsilon ${number(fraction(epsilon))}; ± is the noise, 95 times in 100.`, widths),
      h("details", {}, h("summary", {}, "What the question would do"), h("pre", { class: "small" }, text)),
      h("h3", {}, "Privacy statement"),
      h("p", { class: "small", id: "promise" }, made.statement),
    );
  } catch (fault) {
    if (!ended(fault)) put(shown, faultBox(fault));
  }
}
