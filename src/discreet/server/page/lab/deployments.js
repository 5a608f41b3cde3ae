// Epsilons of real releases, on one scale.

import { api, h, number, s } from "/static/shell.js";
import { bottom, figure, width } from "/static/lab/draw.js";

const [LOW, HIGH] = [0.05, 100];

export async function deployments(room) {
  const all = await api("/v1/lab/deployments");
  room.append(
    h("p", { class: "lead" }, "What others have stated in public. A smaller epsilon is a stronger promise, but only for the same unit: ",
      "to protect a report, a day or a person are three promises. Compare like with like."),
    picture(all),
    h("p", { class: "hint" }, "Facts: OpenDP Differential Privacy Deployments Registry, July 2026, and the sources it names. Where only rho is stated, epsilon is converted at delta 1e-10. Hollow: people randomize their own data."));
}

function picture(all) {
  const phone = width() < 400, wide = phone ? 330 : 760;
  const line = phone ? 50 : 34, left = phone ? 8 : 250, height = all.length * line + 62;
  const x = (epsilon) => left + ((Math.log(epsilon) - Math.log(LOW)) / (Math.log(HIGH) - Math.log(LOW))) * (wide - left - 14);
  const ticks = [0.1, 1, 10, 100].map((one) => [x(one), number(one)]);
  return figure({
    title: "Epsilons of real releases", desc: `From ${number(all[0].shown)} (${all[0].name}, ${all[0].by}) to ${number(all.at(-1).shown, 3)} (${all.at(-1).name}, ${all.at(-1).by}), on a logarithmic scale.`,
    width: wide, height, name: "epsilons",
    table: { head: ["Release", "By", "Year", "Protects", "Epsilon", "Source"],
      rows: all.map((one) => [one.name, one.by, one.year, one.protects, one.epsilon === null ? `${number(one.shown, 3)} (rho ${number(one.rho)})` : number(one.epsilon), one.source]) },
  },
    ticks.map(([at]) => s("path", { class: "grid", d: `M${at.toFixed(1)} 0V${height - 50}` })),
    all.map((one, i) => {
      const top = 14 + i * line, y = phone ? top + 20 : top, at = x(one.shown), before = at > wide - 60;
      return s("g", {},
        s("text", { class: "label halo", x: 0, y: top + 1 }, `${one.name}, ${one.by}`),
        !phone && s("text", { class: "halo", x: 0, y: top + 15 }, `protects ${one.protects}`),
        s("circle", { class: one.local ? "dot local" : "dot", cx: at, cy: y, r: 6 }),
        s("text", { class: "value halo", x: at + (before ? -12 : 12), y: y + 5, "text-anchor": before ? "end" : "start" }, number(one.shown, 3)));
    }),
    bottom({ at: height - 46, from: left, to: wide - 14, ticks, label: "epsilon, stronger to the left" }));
}
