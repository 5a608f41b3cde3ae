// The sign-in page. The token goes into one request body and is kept nowhere in the browser.
import { busy, faultBox, home, one, put, signIn, start } from "/static/shell.js";

const PAGES = ["/ask", "/budget", "/data", "/ledger", "/lab"];

function onwards(me) {
  const asked = new URLSearchParams(location.search).get("next");
  location.replace(PAGES.includes(asked) ? asked + location.hash : home(me.role));
}

async function enter(event) {
  event.preventDefault();
  const token = one("#token"),
    told = one("#told");
  token.removeAttribute("aria-invalid");
  put(told);
  try {
    onwards(await busy(one("#door button"), () => signIn(token.value.trim())));
  } catch (fault) {
    token.setAttribute("aria-invalid", "true");
    put(told, faultBox(fault));
    token.focus();
  }
}

// Until now the button is disabled: a form without this script would forget the token and `next`.
one("#door").addEventListener("submit", enter);
one("#door button").disabled = false;
const me = await start();
if (me) onwards(me);
else one("#token").focus();
