// Paying for a question and getting its answer, once, whatever the connection does in between.
import { call, pause } from "/static/shell.js";

const PENDING = "pending question";

/** A name for one attempt to ask: the server charges it once, however often it is sent. */
const name = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The question that was sent and not yet answered, also after the page was loaded again. */
export function pending() {
  try {
    return JSON.parse(sessionStorage.getItem(PENDING));
  } catch {
    return null;
  }
}

export const forget = () => sessionStorage.removeItem(PENDING);

/** Note down a question before it is sent. */
export function prepare(question, path = "/v1/queries") {
  const attempt = { path, name: name(), question };
  sessionStorage.setItem(PENDING, JSON.stringify(attempt));
  return attempt;
}

const FINAL = ["EngineError", "InvariantBroken"];

/** Whether sending the same again may help: a computation that failed has failed for good. */
const passes = ({ lost, status, kind }) => lost || status === 429 || (status === 503 && !FINAL.includes(kind));

/**
 * Send a question, or send it again, until there is an answer. A lost connection is told by
 * `lost(seconds, retryNow)` and tried again under the same name; refusals are thrown.
 */
export async function run(attempt, { lost, back, signal }) {
  for (let tries = 0; ; tries += 1) {
    try {
      const release = await once(attempt, signal, tries > 0 ? back : () => {});
      forget();
      return release;
    } catch (fault) {
      if (!passes(fault)) {
        // A session that has ended does not end the question: it is found again after signing in.
        if (fault.name !== "AbortError" && fault.status !== 401) forget();
        throw fault;
      }
      const wait = Math.min(15, 2 ** tries);
      await Promise.race([
        pause(1000 * wait),
        new Promise((now) => {
          lost(wait, now, fault);
        }),
        aborted(signal),
      ]);
      signal?.throwIfAborted();
    }
  }
}

const aborted = (signal) =>
  new Promise((resolve) => {
    signal?.addEventListener("abort", resolve, { once: true });
  });

async function once(attempt, signal, back) {
  const headers = { "Idempotency-Key": attempt.name, Prefer: "respond-async" };
  const send = () => call(attempt.path, { method: "POST", body: attempt.question, headers, signal });
  let reply = await send();
  back();
  while (reply.status === 202) {
    const found = await finished(reply.data.id, signal);
    // What is measured again is merged with what was told before once its answer is there.
    reply = attempt.path === "/v1/queries" ? found : await send();
  }
  return reply.data;
}

async function finished(id, signal) {
  for (let wait = 150; ; wait = Math.min(1.5 * wait, 2000)) {
    await pause(wait);
    const reply = await call(`/v1/queries/${id}`, { signal });
    if (reply.status !== 202) return reply;
  }
}
