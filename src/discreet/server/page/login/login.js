// The sign-in page. The token goes into one request body and is kept nowhere in the browser.
import { api, busy, Fault, faultBox, home, one, put, signIn, start } from "/static/shell.js";

const PAGES = ["/ask", "/budget", "/data", "/ledger", "/lab", "/dossier", "/statement"];
const WRONG = {
  what: "This token does not work here",
  why: "it was mistyped, has expired or was revoked, or it belongs to another server",
  fix: "copy it again, all of it, from dpt_ to its last character; if it still does not work, ask the owner of the data for a new one",
};
const SHAPE = {
  what: "This is not a token",
  why: "a token begins with dpt_ and has no spaces; a password or a name does not sign in here",
  fix: "paste the token that the owner gave you; whoever runs the server makes the first one with discreet serve --init",
};

async function onwards(me) {
  const asked = new URLSearchParams(location.search).get("next");
  location.replace(PAGES.includes(asked?.split("?")[0]) ? asked + location.hash : await first(me));
}

/** Where to begin: owners without any data begin with it. */
async function first({ role }) {
  const empty = role === "owner" && !Object.keys((await api("/v1/schema")).datasets).length;
  return empty ? "/data" : home(role);
}

/** What the server says about a token, in the words of somebody at a form. */
function inWords(fault) {
  return fault.status === 401 || fault.status === 422 ? new Fault(WRONG, fault.status) : fault;
}

async function enter(event) {
  event.preventDefault();
  const token = one("#token"),
    told = one("#told"),
    text = token.value.trim();
  token.removeAttribute("aria-invalid");
  put(told);
  try {
    if (!/^dpt_\S+$/.test(text)) throw new Fault(SHAPE);
    await onwards(await busy(one("#login button"), () => signIn(text)));
  } catch (fault) {
    token.setAttribute("aria-invalid", "true");
    put(told, faultBox(inWords(fault)));
    token.focus();
  }
}

/** A link that `discreet serve --init` prints brings the token behind #, which is never sent. */
function fromLink() {
  const text = location.hash.slice(1);
  if (!text.startsWith("dpt_")) return false;
  history.replaceState(null, "", location.pathname + location.search);
  one("#token").value = text;
  one("#token-hint").textContent = "The token of your link is filled in.";
  return true;
}

// Until now the button is disabled: a form without this script would forget the token and `next`.
const filled = fromLink();
addEventListener("hashchange", fromLink); // a link that is pasted where this page is open
one("#login").addEventListener("submit", enter);
one("#login button").disabled = false;
const me = await start();
if (me) await onwards(me);
else one(filled ? "#login button" : "#token").focus();
