// The sign-in page. The token goes into one request body and is kept nowhere in the browser.
import { busy, faultBox, home, one, put, signIn, start } from "/static/shell.js";

const PAGES = ["/ask", "/budget", "/data", "/ledger", "/lab"];

function onwards(me) {
  const asked = new URLSearchParams(location.search).get("next");
  location.replace(PAGES.includes(asked) ? asked : home(me.role));
}

async function enter(event) {
  event.preventDefault();
  const token = one("#token"),
    told = one("#told");
  token.removeAttribute("aria-invalid");
  put(told);
  try {
    const me = await busy(one("#door button"), () => signIn(token.value.trim()));
    if (me) onwards(me);
  } catch (fault) {
    token.setAttribute("aria-invalid", "true");
    put(told, faultBox(fault));
    token.focus();
  }
}

one("#door").addEventListener("submit", enter);
const me = await start();
if (me) onwards(me);
else one("#token").focus();
