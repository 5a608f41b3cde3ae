// Law and policy: what is asked, what a curator shows, and a dossier to print.

import { api, h, put } from "/static/shell.js";
import { choice } from "/static/lab/draw.js";
import { paper } from "/static/lab/paper.js";

const ASKED = {
  GDPR: "European law protects data about people who can be identified by any means reasonably likely to be used. It wants protection by design, as little data as needed, and that you can show all this.",
  HIPAA: "Health data in the United States may be shared once an expert finds the risk of recognising anybody very small and writes down why, or once 18 kinds of identifiers are gone.",
  FERPA: "School records in the United States: nobody may be recognised, through single or multiple releases, by somebody from the school community.",
  "NIST SP 800-226": "Guidelines of 2025 for judging a claim of differential privacy: epsilon and the unit first, then everything that the claim rests on.",
};

export async function law(room, me) {
  const made = await api("/v1/lab/dossier");
  const named = (name) => made.sections.find(({ title }) => title === name);
  const place = h("div", { class: "stack" });
  const show = (name) => put(place, h("p", {}, ASKED[name]), paper({ title: name, made: named(name).text, sections: [{ ...named(name), title: "What it asks, and what this shows", text: "" }] }, 3));
  room.append(
    h("p", { class: "lead" }, "No law names an epsilon. Laws ask for a judgement and for evidence, and evidence is what a curator has: who is protected, how much may ever be lost, what was asked. ",
      "A dossier puts it under the headings that each law uses, and says what stays with you. It is no certificate."),
    choice({ name: "law", legend: "What is asked by", options: Object.keys(ASKED).map((name) => [name, name]), chosen: "GDPR", onchange: show }),
    place,
    h("details", {}, h("summary", {}, "The whole dossier of a made-up clinic"), paper(made, 3)),
    h("p", { class: "row" }, ["owner", "auditor"].includes(me?.role)
      ? h("a", { class: "button primary", href: "/dossier" }, "Print the dossier of this server")
      : h("span", { class: "hint" }, "Owners and auditors print the one of this server once they have signed in; on a terminal: discreet dossier --out dossier.html")));
  show("GDPR");
}
