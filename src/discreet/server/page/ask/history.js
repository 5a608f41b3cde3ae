// Earlier answers: free to open again.
import { api, h, priced, put, sentence, when } from "/static/shell.js";

const PAGE = 12;

export function makeHistory(element, open) {
  let shown = [],
    end = false;

  async function fetchPage(before) {
    const query = new URLSearchParams({ limit: String(PAGE), ...(before ? { before: String(before) } : {}) });
    return api(`/v1/releases?${query}`);
  }

  async function load(more = false) {
    try {
      const page = await fetchPage(more ? shown.at(-1)?.id : null);
      shown = more ? [...shown, ...page] : page;
      end = page.length < PAGE;
      draw();
    } catch (fault) {
      put(element, h("p", { class: "small quiet" }, sentence(fault)));
    }
  }

  function draw(current = element.dataset.current) {
    if (!shown.length) {
      put(element, h("p", { class: "small quiet" }, "Nothing asked yet. What you ask will be kept here."));
      return;
    }
    put(
      element,
      shown.map((release) =>
        h(
          "button",
          {
            type: "button",
            "data-id": release.id,
            "aria-current": String(release.id) === current && "true",
            onclick: () => open(release),
          },
          h("span", { class: "asked" }, release.sql ?? `a ${release.kind} about ${release.dataset}, not in SQL`),
          h(
            "span",
            { class: "about" },
            `${when(release.time)} · ${priced(release.epsilon, release.budget_share)}`,
            !release.released && (release.failed ? " · failed" : " · being computed"),
            element.dataset.me && release.analyst !== element.dataset.me ? ` · ${release.analyst}` : "",
          ),
        ),
      ),
      !end && h("button", { type: "button", class: "plain small", onclick: () => load(true) }, "Show older"),
    );
  }

  return {
    load,
    select(id) {
      element.dataset.current = String(id);
      for (const button of element.querySelectorAll("[data-id]")) {
        if (button.dataset.id === String(id)) button.setAttribute("aria-current", "true");
        else button.removeAttribute("aria-current");
      }
    },
  };
}
