// Links to questions: the text and what it is asked for, behind the #, which no server ever sees.

/** What a question is asked for, as a request says it, from the flat words of a link. */
export function terms({ epsilon, within, of, confidence, rows }) {
  if (within === undefined) return { epsilon };
  return { accuracy: { within, confidence, ...(of && { of }), ...(rows && { rows: Number(rows) }) } };
}

const WORDS = ["epsilon", "within", "of", "confidence", "rows"];

/** An address that opens a question, with its answer where whoever opens it was told one. */
export function address({ sql, words, release }) {
  const said = new URLSearchParams({ sql, ...words, ...(release && { answer: String(release) }) });
  return `${location.origin}/ask#${said}`;
}

/** What the address of this page asks to be opened: a question, a dashboard, or nothing. */
export function linked() {
  const said = new URLSearchParams(location.hash.slice(1));
  const words = Object.fromEntries(WORDS.filter((one) => said.has(one)).map((one) => [one, said.get(one)]));
  if (said.get("dashboard")) return { dashboard: said.get("dashboard"), answers: listed(said.get("answers")) };
  return said.get("sql")
    ? { sql: said.get("sql").slice(0, 20_000), words, release: Number(said.get("answer")) || null }
    : null;
}

/** The answers that somebody else's dashboard names: [number, title], or none. */
function listed(text) {
  try {
    return JSON.parse(text ?? "[]").slice(0, 100).map(([release, title]) => ({ release: Number(release), title: String(title) }));
  } catch {
    return [];
  }
}

/** Forget a link once another question is written than the one that it names. */
export const unlink = (sql) => {
  if (linked()?.sql && linked().sql !== sql) history.replaceState(null, "", location.pathname);
};
