// The dossier of this server's curator, to be printed.

import { api, faultBox, h, one, put, start } from "/static/shell.js";
import { paper } from "/static/lab/paper.js";

if (await start({ roles: ["auditor", "owner"] })) {
  const place = one("#dossier");
  put(place, h("p", { class: "quiet" }, h("span", { class: "spinner", "aria-hidden": "true" }), " reading the ledger"));
  try {
    const made = await api("/v1/dossier");
    put(place, h("div", { class: "row noprint" }, h("button", { type: "button", class: "primary", onclick: () => print() }, "Print or save as PDF")), paper(made));
  } catch (fault) {
    put(place, faultBox(fault));
  }
}
