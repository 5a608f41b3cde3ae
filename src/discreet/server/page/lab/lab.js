// The lab: a story in chapters, with experiments on made-up people.

import { api, faultBox, h, one, put, start } from "/static/shell.js";
import { attacks, overview } from "/static/lab/attacks.js";
import { classroom } from "/static/lab/classroom.js";
import { deployments } from "/static/lab/deployments.js";
import { law } from "/static/lab/law.js";
import { noise } from "/static/lab/noise.js";
import { poll } from "/static/lab/poll.js";
import { quantum } from "/static/lab/quantum.js";
import { society } from "/static/lab/society.js";

const OPENED = { classroom, poll, noise, deployments, society, law, quantum };
const rooms = [...document.querySelectorAll(".lab > section")];

/** A chapter is furnished when somebody comes near it: what nobody reads costs nothing. */
const near = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    target.classList.remove("waiting");
    open(target).catch((fault) => target.append(faultBox(fault)));
  }
}, { rootMargin: "300px" });

let listed = null;

async function open(room) {
  const { chapter } = room.dataset;
  if (OPENED[room.id]) return OPENED[room.id](room, me);
  if (!chapter) return undefined;
  listed ??= api("/v1/lab/attacks");
  const all = await listed;
  if (chapter === "all") return overview(room, all);
  return attacks(room, all, all.chapters.find(({ name }) => name === chapter));
}

const me = await start();
put(one("#chapters"), rooms.map((room, i) => h("li", {}, h("span", { class: "no", "aria-hidden": "true" }, i + 1), h("a", { href: `#${room.id}` }, one("h2", room).textContent))));
for (const [i, room] of rooms.entries()) {
  one("h2", room).before(h("p", { class: "chapter-no" }, `Chapter ${i + 1}`));
  if (room.id !== "limits") room.classList.add("waiting");
  near.observe(room);
}
