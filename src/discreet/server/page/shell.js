// What every page shares: elements, the API with its errors, the frame around a page, numbers.

/* --- elements: text is always text, never markup ----------------------------------------------- */

const SVG = "http://www.w3.org/2000/svg";

/** What a form goes back to when it is reset. */
const DEFAULTS = { value: "defaultValue", checked: "defaultChecked", selected: "defaultSelected" };

function fill(element, facts, children) {
  for (const [name, value] of Object.entries(facts ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "text") element.textContent = value;
    else if (name in DEFAULTS) element[name] = element[DEFAULTS[name]] = value;
    else if (name === "css")
      for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(
    ...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false),
  );
  return element;
}

/** An HTML element: h("p", {class: "quiet"}, "text", child). `css` sets styles, `onclick` listens. */
export const h = (tag, facts, ...children) => fill(document.createElement(tag), facts, children);

/** An SVG element, likewise. */
export const s = (tag, facts, ...children) => fill(document.createElementNS(SVG, tag), facts, children);

export const one = (selector, within = document) => within.querySelector(selector);

/** Replace what is inside an element. */
export function put(element, ...children) {
  element.replaceChildren(
    ...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false),
  );
  return element;
}

/* --- the API ------------------------------------------------------------------------------------ */

/** An error as the server states it: what happened, why, what to do. */
export class Fault extends Error {
  constructor(facts, status = 0) {
    super(facts.what);
    Object.assign(this, { kind: "ServiceError", why: "", fix: "", ...facts, status });
  }
}

const LOST = {
  kind: "ServiceError",
  what: "The server cannot be reached",
  why: "the connection broke off, or the server is not running",
  fix: "check the network; what was charged stays charged once, and its answer can be found again",
  lost: true,
};

let csrf = null;

/** Ask the server. Gives {status, headers, data}; anything but a 2xx is thrown as a Fault. */
export async function call(path, { method = "GET", body, headers = {}, signal, as = "json" } = {}) {
  const sent = { Accept: "application/json", ...headers };
  if (method !== "GET" && csrf) sent["X-CSRF-Token"] = csrf;
  if (body !== undefined) sent["Content-Type"] = "application/json";
  let reply;
  try {
    reply = await fetch(path, {
      method,
      headers: sent,
      signal,
      credentials: "same-origin",
      redirect: "error",
      cache: "no-store",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (wrong) {
    if (wrong.name === "AbortError") throw wrong;
    throw new Fault(LOST);
  }
  return { status: reply.status, headers: reply.headers, data: await read(reply, as) };
}

async function read(reply, as) {
  let data;
  try {
    data = !reply.ok || as === "json" ? await parsed(reply) : await reply[as]();
  } catch (wrong) {
    if (wrong.name === "AbortError") throw wrong;
    throw new Fault(LOST);
  }
  if (reply.ok) return data;
  throw new Fault(data?.error ?? unexplained(reply.status), reply.status);
}

async function parsed(reply) {
  const text = await reply.text();
  if (!text) return null;
  try {
    return JSON.parse(text, exact);
  } catch {
    return reply.ok ? text : null;
  }
}

/** A whole number that has more digits than a double keeps stays the text that it came as. */
const exact = (_, value, from) =>
  Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(from?.source ?? "")
    ? from.source
    : value;

const unexplained = (status) => ({
  kind: "ServiceError",
  what: `The server answered with status ${status}`,
  why: "it gave no further reason",
  fix: "try again; if it stays so, tell whoever runs the server",
});

/** Only what came back. */
export const api = async (path, options) => (await call(path, options)).data;

/** A file is sent as it is; `progress` hears shares from 0 to 1. */
export function upload(path, file, progress = () => {}) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    if (csrf) request.setRequestHeader("X-CSRF-Token", csrf);
    request.upload.addEventListener(
      "progress",
      (event) => event.lengthComputable && progress(event.loaded / event.total),
    );
    request.addEventListener("error", () => reject(new Fault(LOST)));
    request.addEventListener("load", () => {
      let data = null;
      try {
        data = JSON.parse(request.responseText);
      } catch {
        /* told below */
      }
      if (request.status >= 200 && request.status < 300 && data) resolve(data);
      else reject(new Fault(data?.error ?? unexplained(request.status), request.status));
    });
    request.send(file);
  });
}

/** Whoever is signed in, or null. */
export async function whoami() {
  try {
    const me = await api("/v1/me");
    csrf = me.csrf ?? null;
    return me;
  } catch (fault) {
    if (fault.status === 401) return null;
    throw fault;
  }
}

/** Whoever a token belongs to. */
export async function signIn(token) {
  await api("/v1/session", { method: "POST", body: { token } });
  const me = await whoami();
  if (me) return me;
  throw new Fault({
    what: "The browser did not keep the session",
    why: "the token is right, and the cookie that stands for it was not sent back",
    fix: "allow cookies for this site and sign in again",
  });
}

async function signOut() {
  try {
    await api("/v1/session", { method: "DELETE" });
  } catch (fault) {
    if (fault.status !== 401) return say(sentence(fault));
  }
  sessionStorage.clear();
  location.assign("/");
}

/* --- the frame ---------------------------------------------------------------------------------- */

const PAGES = [
  { path: "/ask", name: "Ask", roles: ["analyst", "owner"] },
  { path: "/budget", name: "Budget", roles: ["analyst", "owner", "auditor"] },
  { path: "/data", name: "Data", roles: ["owner"] },
  { path: "/ledger", name: "Ledger", roles: ["auditor", "owner"] },
  { path: "/dossier", name: "Dossier", roles: ["auditor", "owner"] },
  { path: "/lab", name: "Lab", roles: null },
];

/** Where somebody of a role starts. */
export const home = (role) => PAGES.find((page) => page.roles?.includes(role))?.path ?? "/lab";

/**
 * Draw the frame. With `roles`, give the caller, or leave for the sign-in page (nobody is signed
 * in: the promise never settles) or say who may come here (null).
 */
export async function start({ roles = null } = {}) {
  let me = null;
  try {
    me = await whoami();
  } catch (fault) {
    frame(null);
    if (roles) put(one("#main"), h("div", { class: "card" }, faultBox(fault)));
    return roles ? null : me;
  }
  frame(me);
  if (me) alone(me);
  if (!roles) return me;
  if (!me) {
    location.replace(`/?next=${encodeURIComponent(location.pathname + location.search)}${location.hash}`); // a link stays one
    return new Promise(() => {});
  }
  if (roles.includes(me.role)) return me;
  put(
    one("#main"),
    h(
      "div",
      { class: "card empty" },
      h("h2", {}, "This page is not for your role"),
      h("p", {}, `You are signed in as ${me.role}. It is for ${roles.join(" and ")}.`),
      h("div", { class: "row" }, h("a", { class: "button primary", href: home(me.role) }, "Go to your page")),
    ),
  );
  return null;
}

/** What this tab remembers belongs to one person. */
function alone(me) {
  if (sessionStorage.getItem("who") !== me.name) sessionStorage.clear();
  sessionStorage.setItem("who", me.name);
}

function frame(me) {
  const links = PAGES.filter((page) => !page.roles || (me && page.roles.includes(me.role))).map((page) =>
    h("a", { href: page.path, "aria-current": page.path === location.pathname && "page" }, page.name),
  );
  put(
    one("#top"),
    h("a", { class: "brand", href: "/", "aria-label": "discreet, start page" }, mark(), "discreet"),
    h("nav", { class: "nav", "aria-label": "Pages" }, links),
    h(
      "div",
      { class: "who" },
      me && h("span", { class: "name", title: `${me.name}, ${me.role}` }, me.name),
      themeButton(),
      me
        ? h("button", { class: "small", type: "button", onclick: signOut }, "Sign out")
        : location.pathname !== "/" && h("a", { class: "button small", href: "/" }, "Sign in"),
    ),
  );
  if (!one(".foot")) {
    document.body.append(
      h(
        "footer",
        { class: "foot" },
        h(
          "p",
          {},
          "Every answer carries noise, which limits what it can tell about any one person. ",
          "It does not hide facts about people at large, which answers are meant to show.",
        ),
      ),
      h("div", { class: "toasts", role: "status", "aria-live": "polite", id: "toasts" }),
    );
  }
}

const mark = () =>
  s(
    "svg",
    { viewBox: "0 0 24 24", "aria-hidden": "true" },
    ...[
      [5, 6],
      [12, 6],
      [5, 12],
      [12, 18],
      [19, 12],
      [5, 18],
      [19, 18],
      [19, 6],
    ].map(([x, y]) => s("circle", { class: "dot", cx: x, cy: y, r: 2.3 })),
    s("circle", { class: "blur", cx: 12, cy: 12, r: 3.4 }),
  );

function themeButton() {
  const dark = () =>
    document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
  const button = h(
    "button",
    { class: "icon", type: "button", id: "theme" },
    s(
      "svg",
      { viewBox: "0 0 24 24", "aria-hidden": "true" },
      s("path", { d: "M12 3a9 9 0 1 0 0 18V3zm0-2a11 11 0 1 1 0 22 11 11 0 0 1 0-22z" }),
    ),
  );
  const label = () => button.setAttribute("aria-label", dark() ? "Use light colours" : "Use dark colours");
  button.addEventListener("click", () => {
    const chosen = dark() ? "light" : "dark";
    document.documentElement.dataset.theme = chosen;
    try {
      localStorage.setItem("theme", chosen);
    } catch {
      /* it lasts for this page */
    }
    label();
    document.dispatchEvent(new CustomEvent("theme"));
  });
  label();
  return button;
}

/* --- saying things ------------------------------------------------------------------------------ */

/** A short message that goes away; screen readers hear it. */
export function say(text) {
  const toast = h("div", { class: "toast" }, text);
  one("#toasts")?.append(toast);
  setTimeout(() => toast.remove(), 6000);
}

const capital = (text) => (text ? text[0].toUpperCase() + text.slice(1) : text);
const stopped = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);

/** An error on one line. */
export const sentence = (fault) =>
  fault instanceof Fault
    ? [fault.what, fault.why, fault.fix]
        .filter(Boolean)
        .map((part) => stopped(capital(part)))
        .join(" ")
    : `Something in this page went wrong: ${fault.message}`;

/** An error as a box: what, why, what to do. */
export function faultBox(fault) {
  if (!(fault instanceof Fault)) {
    console.error(fault);
    return h(
      "div",
      { class: "fault", role: "alert" },
      h("h3", {}, "Something in this page went wrong"),
      h("p", {}, String(fault.message)),
      h("p", { class: "fix" }, "Reload the page."),
    );
  }
  return h(
    "div",
    { class: "fault", role: "alert", "data-kind": fault.kind },
    h("h3", {}, stopped(capital(fault.what))),
    fault.why && h("p", {}, stopped(capital(fault.why))),
    fault.fix && h("p", { class: "fix" }, "What to do: ", stopped(fault.fix)),
  );
}

/** Leave for the sign-in page when a session has ended in between; tells whether it did. */
export function ended(fault) {
  if (fault.status !== 401) return false;
  location.assign(`/?next=${encodeURIComponent(location.pathname + location.search)}`);
  return true;
}

/** Do something for a place on the page: what goes wrong is told there. */
export async function attempt(place, work) {
  try {
    return await work();
  } catch (fault) {
    if (!ended(fault)) put(place, faultBox(fault));
    return undefined;
  }
}

/** A form's button that waits: disabled and spinning until the work is done. */
export async function busy(button, work) {
  const label = [...button.childNodes];
  button.disabled = true;
  put(button, h("span", { class: "spinner", "aria-hidden": "true" }), ...label);
  try {
    return await work();
  } finally {
    button.disabled = false;
    put(button, ...label);
  }
}

/** Ask before something that cannot be undone; gives whether it was confirmed. */
export function confirmed(title, body, { yes = "Yes", no = "Cancel" } = {}) {
  return new Promise((resolve) => {
    const dialog = h(
      "dialog",
      { "aria-labelledby": "dialog-title" },
      h(
        "form",
        { method: "dialog", class: "stack" },
        h("h2", { id: "dialog-title" }, title),
        body,
        h(
          "div",
          { class: "row end" },
          h("button", { type: "button", onclick: () => dialog.close("no") }, no), // Enter says yes
          h("button", { value: "yes", type: "submit", class: "primary", autofocus: true }, yes),
        ),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
    dialog.querySelector(".primary").focus();
  });
}

export async function copy(text, told = "Copied.") {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { class: "visually-hidden", value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(told);
}

/* --- pieces of pages ---------------------------------------------------------------------------- */

/** A table in a box that scrolls; a column "Price|n" has the class n. A row is a list of cells. */
export function table(label, columns, rows, facts = {}) {
  const [names, classes] = [0, 1].map((i) => columns.map((one) => one.split("|")[i]));
  const cell = (content, i) =>
    i === 0 && facts.named
      ? h("th", { scope: "row", class: classes[i] }, content)
      : h("td", { class: classes[i] }, content);
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    h("table", { class: facts.class },
      facts.caption && h("caption", {}, facts.caption),
      h("thead", {}, h("tr", {}, names.map((name, i) => h("th", { scope: "col", class: classes[i] === "n" && "n" }, name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell))))));
}

/** Names and what they stand for, in a list. */
export const facts = (pairs, kind = "facts small") =>
  h("dl", { class: kind }, pairs.filter(Boolean).map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))));

/** A link from a field to the page that explains it. */
export const help = (topic) =>
  h("a", { class: "help", href: `/help#${topic}`, target: "_blank", title: "What is this?", "aria-label": `Help: ${topic}` }, "?");

/** A field of a form: its label, its control and what helps to fill it in. */
export function field(id, label, { hint, topic, control, ...more } = {}) {
  const input = control ?? h("input", { id, name: id, autocomplete: "off", ...more, "aria-describedby": hint && `${id}-hint` });
  return h("div", { class: "field" },
    h("div", { class: "label" }, h("label", { for: id }, label), topic && help(topic)),
    input, hint && h("p", { class: "hint", id: `${id}-hint` }, hint));
}

/** What orders make, in words, by their kind. */
export const ORDERS = {
  query: "Question",
  stream: "Standing question",
  synthesis: "Synthetic table",
  fit: "Fitted model",
  release: "Census release",
  online: "Online queries",
  participation: "Who takes part",
  profile: "Profile",
  training: "Trained model",
};

/* --- numbers and times -------------------------------------------------------------------------- */

const digits = (places) => new Intl.NumberFormat("en", { maximumSignificantDigits: places });
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** A number to so many significant digits, never fewer than its whole part has. */
export function number(value, places = 4) {
  if (value === null || value === undefined) return "–";
  const read = Number(value);
  if (!Number.isFinite(read)) return String(value);
  if (Number.isInteger(read) || Math.abs(read) >= 10 ** places) return whole.format(read);
  return Math.abs(read) < 1e-4 ? read.toExponential(1).replace(".0e", "e") : digits(places).format(read);
}

/** A rational as the ledger writes it, "1/3", as a number. */
export function fraction(text) {
  const [up, down] = String(text).split("/").map(Number);
  return down ? up / down : up;
}

/** A price: its epsilon, and the share of the budget that it is. */
export const priced = (epsilon, share) =>
  `epsilon ${number(epsilon)}${share == null ? "" : ` (${percent(share)} of the budget)`}`;

/** A share as a percentage; small ones keep a digit that is not 0. */
export function percent(share) {
  if (!Number.isFinite(share)) return "–";
  const all = 100 * share;
  return all > 0 && all < 0.1 ? "under 0.1 %" : `${digits(all < 10 ? 2 : 3).format(all)} %`;
}

export const when = (time) =>
  new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" }).format(new Date(time));
export const plural = (count, word, words = `${word}s`) =>
  `${whole.format(count)} ${count === 1 ? word : words}`;

/** Wait until nothing new has come for a while. */
export function debounce(work, wait) {
  let timer;
  const later = (...facts) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...facts), wait);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

export const pause = (milliseconds) =>
  new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });

/** A hundred dots: how many were meant before, how many now. */
export const people = (before, after) =>
  h(
    "div",
    { class: "people", role: "img", "aria-label": `${after} in 100 instead of ${before} in 100` },
    Array.from({ length: 100 }, (_, i) => h("i", { class: i < before ? "was" : i < after ? "more" : null })),
  );
