// A dashboard: saved answers side by side. They are read from the store, so opening one is free.
import { api, copy, faultBox, h, put, when } from "/static/shell.js";
import { see } from "/static/ask/result.js";
import { drawTable } from "/static/ask/table.js";

let stops = [];

export function closeBoard(element) {
  for (const stop of stops) stop();
  stops = [];
  element.hidden = true;
  put(element);
}

/** An address that opens these answers for whoever may see them. */
const shared = (name, saved) => {
  const answers = saved.filter((it) => it.release).map(({ release, title }) => [release, title]);
  return `${location.origin}/ask#${new URLSearchParams({ dashboard: name, answers: JSON.stringify(answers) })}`;
};

/**
 * Draw what is saved on a dashboard; `back()` leaves it. Of those that are one's own `open(saved)` opens one,
 * `take(saved)` removes it and `order(list)` keeps another order.
 */
export function drawBoard(element, name, saved, { back, open, take, order }) {
  const move = (it, by) => {
    const at = saved.indexOf(it), list = saved.filter((one) => one !== it);
    list.splice(Math.max(0, at + by), 0, it);
    return order(list);
  };
  closeBoard(element);
  element.hidden = false;
  put(
    element,
    h(
      "div",
      { class: "row apart" },
      h("h2", { tabindex: -1 }, name),
      h(
        "div",
        { class: "row" },
        h(
          "button",
          { type: "button", class: "small", onclick: () => copy(shared(name, saved), "Link copied: it opens for all who may see these answers.") },
          "Copy link",
        ),
        h("button", { type: "button", class: "small", onclick: () => print() }, "Print"),
        h("button", { type: "button", class: "primary small", onclick: back }, "Back to asking"),
      ),
    ),
    saved.length
      ? h("p", { class: "quiet small" }, "Stored answers: opening them costs nothing, and nothing is asked again.")
      : h("p", { class: "empty card" }, "Nothing of yours is saved on this dashboard."),
    h(
      "div",
      { class: "answers" },
      saved.map((it, at) => card(it, { open, take, move, first: at === 0, last: at === saved.length - 1 })),
    ),
  );
  element.querySelector("h2").focus();
}

function card(it, { open, take, move, first, last }) {
  const body = h("div", { class: "stack-small" });
  fill(body, it);
  return h(
    "article",
    { class: "card stack-small", "aria-label": it.title },
    h("h3", {}, it.title),
    body,
    it.id && h(
      "div",
      { class: "row" },
      !first && small("Earlier", `Move ${it.title} before the one before it`, () => move(it, -1)),
      !last && small("Later", `Move ${it.title} behind the next one`, () => move(it, 1)),
      h(
        "button",
        { type: "button", class: "small", "aria-label": `Open ${it.title}`, onclick: () => open(it) },
        "Open",
      ),
      h(
        "button",
        { type: "button", class: "plain small", "aria-label": `Take off ${it.title}`, onclick: () => take(it) },
        "Take off",
      ),
    ),
  );
}

const small = (text, label, onclick) => h("button", { type: "button", class: "plain small", "aria-label": label, onclick }, text);

async function fill(body, it) {
  if (!it.release) return void put(body, h("p", { class: "quiet" }, "Not asked yet: open it to see its price."));
  try {
    const release = await api(`/v1/releases/${it.release}`);
    if (!release.columns) return void put(body, h("p", { class: "quiet" }, "Its answer is not here yet."));
    const seen = h("figure", { class: "seen" });
    put(
      body,
      h("p", { class: "quiet small" }, when(release.time)),
      seen,
      h("details", {}, h("summary", { class: "small" }, "Table"), drawTable(release, `${it.title} as a table`)),
    );
    await see(seen, release, (stop) => stops.push(stop));
  } catch (fault) {
    put(body, faultBox(fault));
  }
}
