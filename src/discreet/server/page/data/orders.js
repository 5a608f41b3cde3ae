// Orders of every kind from one form: what each kind needs is a table, price and confirmation are the same.
import { api, attempt, busy, call, confirmed, field, h, number, ORDERS, pause, percent, put, say } from "/static/shell.js";
import { odds, share, tightest, whose } from "/static/ask/told.js";

const list = (text) => text.split(",").map((one) => one.trim()).filter(Boolean);
const price = ({ epsilon, delta }) => ({ epsilon, ...(delta && { delta }) });
const MODELS = ["LinearRegression", "Ridge", "LogisticRegression", "LinearSVC", "Perceptron", "GaussianNB", "CategoricalNB",
  "DecisionTree", "RandomForest", "AdditiveClassifier", "KMeans", "PCA", "StandardScaler"];

/** Each kind: what it makes, its fields beside table and price, and the order they mean. */
export const FORMS = {
  profile: ["One private look at every column: counts, NULLs, ranges, quantiles, frequent values. Sums and means then need no bounds.",
    [], ({ table, ...said }) => ({ table, ...price(said) })],
  synthesis: ["A table of made-up people that resembles the data, to take along.",
    [["columns", "Columns", "Separated by commas; empty for all"]],
    ({ table, columns, ...said }) => ({ table, ...(columns && { columns: list(columns) }), ...price(said) })],
  fit: ["A model that was fitted privately.",
    [["model", "Model", "", MODELS], ["features", "Features", "Columns, separated by commas"], ["target", "Target", "Empty where there is none"]],
    ({ table, model, features, target, ...said }) =>
      ({ table, steps: [[model, price(said)]], features: list(features), ...(target && { target }) })],
  release: ["Tables by place that add up, as a census publishes them.",
    [["by", "Tables", "Columns of each table; tables separated by ; as in sex, age; city"],
      ["geography", "Public table of places", "Empty for one unit"], ["levels", "Its levels", "From large to small: state, county"]],
    ({ table, by, geography, levels, ...said }) => ({
      table, tables: by.split(";").map(list).map((names) => [names.join(" by ") || "total", names]),
      ...(geography && { geography, levels: list(levels) }), ...price(said) })],
  participation: ["How many people take part, for questions that each person pays for by themselves.",
    [], ({ table, ...said }) => ({ table, ...price(said) })],
};

/** The form of all kinds; `done()` is called when an order was placed. */
export function orderForm({ tables, name }, done) {
  const told = h("div", {}), rest = h("div", { class: "two" }), about = h("p", { class: "small quiet" });
  const kind = pick("order-kind", "kind", Object.keys(FORMS).map((one) => [one, ORDERS[one]]));
  const table = pick("order-table", "table", tables.map((one) => [one.name, one.name]));
  const button = h("button", { class: "primary", type: "submit" }, "Look at the price");

  function choose() {
    const [words, fields] = FORMS[kind.value];
    put(about, words);
    put(rest, fields.map(([id, label, hint, options]) =>
      field(`order-${id}`, label, options ? { control: pick(`order-${id}`, id, options.map((one) => [one, one])) } : { name: id, hint })));
    put(told);
  }

  async function place(event) {
    event.preventDefault();
    const said = Object.fromEntries([...new FormData(event.target)].map(([key, text]) => [key, text.trim()]));
    const order = { kind: kind.value, spec: FORMS[kind.value][2](said) };
    await attempt(told, async () => {
      put(told);
      const offer = await busy(button, () => api("/v1/orders/explain", { method: "POST", body: order }));
      if (!offer.before && !(await agreed(offer))) return;
      await busy(button, () => finished(order));
      say(`${ORDERS[order.kind]} of ${name}: done.`);
      await done();
    });
  }

  kind.addEventListener("change", choose);
  choose();
  return h("details", {}, h("summary", {}, "Order something"),
    h("form", { class: "stack notice", novalidate: true, onsubmit: place },
      h("div", { class: "two" }, field("order-kind", "What", { control: kind }), field("order-table", "Of the table", { control: table })),
      about, rest,
      h("div", { class: "two" },
        field("order-epsilon", "Price (epsilon)", { name: "epsilon", inputmode: "decimal", value: "1", topic: "epsilon" }),
        field("order-delta", "Chance of an exception (delta)", { name: "delta", inputmode: "decimal", topic: "delta", hint: "Empty for a fiftieth of the dataset's" })),
      told, h("div", {}, button)));
}

const pick = (id, name, options) =>
  h("select", { id, name }, options.map(([value, text]) => h("option", { value }, text)));

/** The price in per cent and what it means for one person; gives whether it is to be spent. */
export function agreed(offer) {
  const worst = tightest(offer.charges);
  return confirmed(
    worst ? `Spend ${percent(share(worst))} of what is left?` : `Spend epsilon ${number(offer.price.epsilon)}?`,
    h("div", { class: "stack" },
      worst && h("p", {}, `It is taken from ${whose(worst)} and never comes back. What is made is kept and free to open again.`),
      h("details", {}, h("summary", { class: "small" }, "How it is made"), h("pre", { class: "small wrap" }, offer.text)),
      odds(offer)),
    { yes: "Spend and begin", no: "Not now" });
}

/** Place an order and wait for it: what is charged is charged once, however often it is looked for. */
export async function finished(order) {
  let { status, headers } = await call("/v1/orders", { method: "POST", body: order });
  const place = headers.get("Location");
  while (status === 202) {
    await pause(1000);
    ({ status } = await call(place));
  }
}
