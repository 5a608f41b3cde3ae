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

/** Draw what is saved on a dashboard; `back()` leaves it, `open(saved)` opens one, `take(saved)` removes it. */
export function drawBoard(element, name, saved, { back, open, take }) {
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
          { type: "button", class: "small", onclick: () => copy(location.href, "Link copied.") },
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
      saved.map((it) => card(it, open, take)),
    ),
  );
  element.querySelector("h2").focus();
}

function card(it, open, take) {
  const body = h("div", { class: "stack-small" });
  fill(body, it);
  return h(
    "article",
    { class: "card stack-small", "aria-label": it.title },
    h("h3", {}, it.title),
    body,
    h(
      "div",
      { class: "row" },
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
