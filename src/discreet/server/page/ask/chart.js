// The chart of a release, from the same Vega-Lite definition as .chart(), fitted to page and theme.
import { h, one, put } from "/static/shell.js";

let loading = null;

/** Vega's script, when a chart is first wanted. */
function vega() {
  loading ??= import("/static/vega.js").then(() => window.vegaEmbed);
  loading.catch(() => (loading = null));
  return loading;
}

/** Have the script on its way before there is anything to draw. */
export const readyChart = () => void vega().catch(() => {});

/** A colour of the stylesheet as Vega needs it. */
function colour(name) {
  const probe = h("span", { css: { color: `var(${name})` } });
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** The title and its lines belong to the page, where they wrap. */
export function words(spec) {
  const title = spec.title ?? {};
  return {
    title: typeof title === "string" ? title : (title.text ?? ""),
    lines: [title.subtitle ?? []].flat(),
  };
}

/** The same chart in the width there is: panels side by side only where each has room. */
export function fitted(spec, width) {
  const { title: _, ...rest } = spec;
  const longest = Math.max(0, ...(rest.data?.values ?? []).map(({ place }) => String(place).length));
  const labels = Math.min(130, 50 + 7 * longest);
  if (rest.hconcat) {
    const each = (width - labels) / rest.hconcat.length - 30;
    if (each >= 150)
      return { ...rest, hconcat: rest.hconcat.map((panel) => ({ ...panel, width: Math.min(each, 320) })) };
    const { hconcat, ...others } = rest;
    return {
      ...others,
      vconcat: hconcat.map((panel) => ({
        ...withNames(panel, hconcat[0]),
        width: Math.max(width - labels - 20, 120),
      })),
    };
  }
  if (rest.vconcat)
    return {
      ...rest,
      vconcat: rest.vconcat.map((panel) => ({ ...panel, width: Math.max(width - 90, 160) })),
    };
  const bars = typeof rest.height === "object";
  return { ...rest, width: Math.max(Math.min(width - (bars ? labels + 30 : 90), 620), 120) };
}

/** Side by side only the first panel names its places; below each other all have to. */
function withNames(panel, first) {
  const named = first.layer?.find((layer) => layer.encoding?.y?.axis)?.encoding.y.axis;
  if (!named) return panel;
  return {
    ...panel,
    layer: panel.layer.map((layer) =>
      layer.encoding?.y && layer.encoding.y.axis === null
        ? { ...layer, encoding: { ...layer.encoding, y: { ...layer.encoding.y, axis: named } } }
        : layer,
    ),
  };
}

function themed(spec) {
  const [ink, muted, line] = ["--ink", "--muted", "--line"].map(colour);
  const text = { labelColor: muted, titleColor: ink };
  const config = spec.config ?? {};
  return {
    ...spec,
    background: "transparent",
    config: {
      ...config,
      font: "system-ui, sans-serif",
      axis: {
        ...config.axis,
        ...text,
        labelSeparation: 8,
        gridColor: line,
        domainColor: muted,
        tickColor: muted,
      },
      legend: { ...config.legend, ...text },
      view: { ...config.view, stroke: null },
    },
  };
}

/** A tooltip of plain text: names and values, no markup and no styles of its own. */
function tip(_, event, __, value) {
  one(".tip")?.remove();
  if (!value || typeof value !== "object") return;
  const box = h(
    "div",
    { class: "tip", role: "presentation" },
    h(
      "dl",
      {},
      Object.entries(value).flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, String(text))]),
    ),
  );
  document.body.append(box);
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
  box.style.top = `${Math.max(8, Math.min(event.clientY + 14, innerHeight - height - 8))}px`;
}

const OPTIONS = { actions: false, ast: true, renderer: "svg", defaultStyle: false };

/** A chart as a file: with its title and on white, whatever the page looks like. */
export async function saveImage(spec, format, name) {
  const embed = await vega();
  const made = await embed(h("div"), { ...spec, background: "white" }, { ...OPTIONS, tooltip: false });
  h("a", { href: await made.view.toImageURL(format, 2), download: name }).click();
  made.finalize();
}

const MOST = 100;
const STEP = { step: 12 };

/** Draw a chart and keep it fitting; gives what stops it. More bars than can be drawn at once are turned over. */
export async function drawChart(element, spec) {
  const places = [...new Set((spec.data?.values ?? []).map(({ place }) => place))];
  const bars = [spec, ...(spec.hconcat ?? [])].some(({ height }) => typeof height === "object");
  if (!bars || places.length <= MOST) return drawWhole(element, spec);
  let stop = () => {};
  const box = h("div", {}), told = h("span", { class: "small quiet", role: "status" });
  const turn = async (from) => {
    stop();
    const shown = new Set(places.slice(from, from + MOST));
    const values = spec.data.values.filter(({ place }) => shown.has(place));
    put(told, `${from + 1} to ${from + shown.size} of ${places.length}`);
    for (const [button, to] of [[before, from - MOST], [after, from + MOST]]) {
      button.disabled = to < 0 || to >= places.length;
      button.onclick = () => turn(to);
    }
    stop = await drawWhole(box, { ...stepped(spec), ...(spec.hconcat && { hconcat: spec.hconcat.map(stepped) }), data: { ...spec.data, values } });
  };
  const [before, after] = ["Earlier bars", "Later bars"].map((text) => h("button", { type: "button", class: "small" }, text));
  put(element, h("div", { class: "row" }, before, told, after), box);
  await turn(0);
  return () => stop();
}

/** With room for a label beside each bar. */
const stepped = (panel) => (typeof panel.height === "object" ? { ...panel, height: STEP } : panel);

async function drawWhole(element, spec) {
  const embed = await vega();
  let view = null,
    width = 0,
    turn = 0;

  async function draw() {
    if (!element.isConnected) return stop();
    width = element.clientWidth;
    const mine = ++turn,
      box = h("div", {});
    const made = await embed(box, themed(fitted(spec, width)), { ...OPTIONS, tooltip: tip });
    if (mine !== turn) return made.finalize();
    view?.finalize();
    view = made;
    put(element, box);
  }

  const resized = new ResizeObserver(() => {
    if (Math.abs(element.clientWidth - width) > 8) draw();
  });
  const stop = () => {
    resized.disconnect();
    document.removeEventListener("theme", draw);
    view?.finalize();
    view = null;
  };
  document.addEventListener("theme", draw);
  await draw();
  resized.observe(element);
  return stop;
}
