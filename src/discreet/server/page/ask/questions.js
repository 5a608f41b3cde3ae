// Questions without SQL: what can be measured, by what, where; and the SQL and the words for it.
import { WORDS } from "/static/ask/editor.js";

const DAY = 86_400_000;

/** A name as SQL needs it. */
export const quoted = (name) =>
  /^[a-z_][a-z0-9_]*$/.test(name) && !WORDS.has(name) ? name : `"${name.replaceAll('"', '""')}"`;
const text = (value) => `'${String(value).replaceAll("'", "''")}'`;

/** The key of a schema as a plain value: some kinds are wrapped. */
export const keyValue = (key) => (key !== null && typeof key === "object" ? Object.values(key)[0] : key);

const isNumber = (column) => ["integer", "real"].includes(column.kind);
const isTime = (column) => ["date", "timestamp"].includes(column.kind);
const listed = (column) => column.kind === "boolean" || (column.keys && column.keys.length <= 60);
const days = (column) => (column.range[1] - column.range[0]) / (column.kind === "date" ? 1 : 1000 * DAY);

/** A round width that cuts a range into 15 bands at most. */
export function bandWidth([low, high]) {
  for (let power = 1; ; power *= 10)
    for (const step of [1, 2, 5]) if ((high - low) / (step * power) <= 15) return step * power;
}

/** What can be asked of a table: measures, and what to group by; each with its SQL and its words. */
export function choices(table) {
  const person = table.unit?.kind === "EachRow" ? null : table.unit?.column;
  const measures = [{ group: "Count", words: "Number of rows", sql: "COUNT(*)", as: "n" }];
  if (person && table.unit.kind !== "Path")
    measures.push({
      group: "Count",
      words: "Number of people",
      sql: `COUNT(DISTINCT ${quoted(person)})`,
      as: "people",
    });
  for (const [group, call, as] of [
    ["Average", "AVG", "average"],
    ["Total", "SUM", "total"],
    ["Median", "MEDIAN", "median"],
  ])
    for (const column of table.columns.filter((one) => isNumber(one) && one.range && one.name !== person))
      measures.push({
        group,
        words: `${group} ${column.name}`,
        sql: `${call}(${quoted(column.name)})`,
        as: `${as}_${column.name}`,
      });
  return { measures, groups: table.columns.filter((one) => one.name !== person).flatMap(grouping) };
}

function grouping(column) {
  const name = quoted(column.name);
  if (listed(column)) return [{ words: column.name, sql: name, as: column.name }];
  if (!column.range) return [];
  if (isTime(column)) {
    const part = days(column) > 1200 ? "year" : days(column) > 62 ? "month" : "day";
    const sql = `DATE_TRUNC('${part}', ${name})`;
    return [{ words: `${part} (${column.name})`, sql, as: part === column.name ? `${part}_of` : part }];
  }
  if (column.range[1] - column.range[0] < 2) return [];
  const width = bandWidth(column.range);
  if (width === 1 && column.kind === "integer") return [{ words: column.name, sql: name, as: column.name }];
  return [
    {
      words: `${column.name} in steps of ${width}`,
      sql: width === 1 ? `FLOOR(${name})` : `FLOOR(${name} / ${width}) * ${width}`,
      as: `${column.name}_from`,
    },
  ];
}

/** How a column can be compared, and the values there are, where they are known. */
export function comparing(column) {
  if (column.kind === "boolean") return { signs: { "=": "is" }, values: [true, false] };
  if (isNumber(column) || isTime(column))
    return {
      signs: { ">=": "at least", "<=": "at most", "=": "is" },
      type: isNumber(column) ? "number" : column.kind === "date" ? "date" : "datetime-local",
    };
  const values = listed(column) ? column.keys.map(keyValue).filter((one) => one !== null) : null;
  return { signs: { "=": "is", "<>": "is not" }, values };
}

/** A value that somebody chose, as SQL; null where it is none of its column's kind. */
function literal(column, value) {
  if (value === "") return null;
  if (column.kind === "boolean") return value === "true" ? "TRUE" : "FALSE";
  if (isNumber(column)) return Number.isFinite(Number(value)) ? String(Number(value)) : null;
  if (column.kind === "date") return `DATE ${text(value)}`;
  return column.kind === "timestamp" ? `TIMESTAMP ${text(value.replace("T", " "))}` : text(value);
}

const conditions = ({ table, where }) =>
  where
    .map(({ column: name, sign, value }) => {
      const column = table.columns.find((one) => one.name === name);
      const sql = column && literal(column, value);
      return (
        sql && { sql: `${quoted(name)} ${sign} ${sql}`, words: `${name} ${comparing(column).signs[sign]} ${value}` }
      );
    })
    .filter(Boolean);

/** The SQL of a question: {table, measures, groups, where}. */
export function write(question) {
  const { table, measures, groups } = question;
  const where = conditions(question).map((one) => one.sql);
  const named = ({ sql, as }) => (sql === quoted(as) ? sql : `${sql} AS ${quoted(as)}`);
  const lines = [
    `SELECT ${[...groups, ...measures].map(named).join(", ")}`,
    `FROM ${quoted(table.name)}`,
    where.length > 0 && `WHERE ${where.join("\n  AND ")}`,
    groups.length > 0 && `GROUP BY ${groups.map((one) => one.sql).join(", ")}`,
  ];
  return lines.filter(Boolean).join("\n");
}

/** The same in words: "Average age by city". */
export function title(question) {
  const where = conditions(question).map((one) => one.words);
  return [
    question.measures.map((one) => one.words).join(", "),
    question.groups.length > 0 && `by ${question.groups.map((one) => one.words).join(" and ")}`,
    where.length > 0 && `where ${where.join(" and ")}`,
  ]
    .filter(Boolean)
    .join(" ");
}

/** Questions to begin with, made from what is public about the tables. */
export function examples(tables, most = 5) {
  const found = Object.values(tables)
    .filter((table) => table.unit)
    .map((table) => {
      const { measures, groups } = choices(table);
      const [rows, second] = measures;
      const mean = measures.find((one) => one.group === "Average");
      const plain = groups.find((one) => !one.sql.includes("("));
      const time = groups.find((one) => one.sql.startsWith("DATE_TRUNC"));
      const bands = groups.find((one) => one.sql.startsWith("FLOOR"));
      return [
        [rows, plain],
        [mean, plain],
        [rows, time],
        [rows, bands],
        [second?.group === "Count" ? second : rows, null],
        [mean, time],
      ]
        .filter(([measure, group]) => measure && group !== undefined)
        .map(([measure, group]) => ({ table, measures: [measure], groups: group ? [group] : [], where: [] }));
    });
  const several = found.length > 1;
  const turns = Array.from({ length: most }, (_, i) => found.map((one) => one[i])).flat();
  return turns
    .filter(Boolean)
    .slice(0, most)
    .map((one) => ({ ...one, words: `${title(one)}${several ? `, ${one.table.name}` : ""}`, sql: write(one) }));
}
