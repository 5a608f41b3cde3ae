// What a page owes to everybody: names, unique ids, an order of headings, contrast. Gives complaints.
() => {
  const wrong = [];
  const shown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const where = (element) => `${element.tagName.toLowerCase()}${element.id ? `#${element.id}` : ""}${element.className && typeof element.className === "string" ? `.${element.className.trim().split(/\s+/).join(".")}` : ""} "${(element.textContent ?? "").trim().slice(0, 40)}"`;
  const byIds = (text) => (text ?? "").split(/\s+/).filter(Boolean).map((id) => document.getElementById(id));

  // --- names ---
  const name = (element) => (element.getAttribute("aria-label") ?? "").trim()
    || byIds(element.getAttribute("aria-labelledby")).map((one) => one?.textContent ?? "").join(" ").trim()
    || [...(element.labels ?? [])].map((label) => label.textContent).join(" ").trim()
    || (["BUTTON", "A", "SUMMARY"].includes(element.tagName) ? element.textContent.trim() : "")
    || (element.getAttribute("title") ?? "").trim();
  for (const element of document.querySelectorAll("button, a[href], input, select, textarea, summary, [role=img], [role=region], dialog, nav, [tabindex='0']")) {
    if (shown(element) && !name(element)) wrong.push(`no name: ${where(element)}`);
  }
  for (const image of document.querySelectorAll("img")) if (!image.hasAttribute("alt")) wrong.push(`no alt: ${where(image)}`);

  // --- ids and references ---
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of new Set(ids.filter((one, i) => ids.indexOf(one) !== i))) wrong.push(`two elements are ${id}`);
  for (const attribute of ["aria-labelledby", "aria-describedby", "aria-controls", "for"]) {
    for (const element of document.querySelectorAll(`[${attribute}]`)) {
      if (byIds(element.getAttribute(attribute)).includes(null)) wrong.push(`${attribute} leads nowhere: ${where(element)}`);
    }
  }

  // --- structure ---
  if (!document.documentElement.lang) wrong.push("no language");
  if (!document.title) wrong.push("no title");
  if ([...document.querySelectorAll("h1")].filter(shown).length !== 1) wrong.push("not one h1");
  let level = 1;
  for (const heading of [...document.querySelectorAll("main h1, main h2, main h3, main h4")].filter(shown)) {
    const now = Number(heading.tagName[1]);
    if (now > level + 1 && now > 3) wrong.push(`heading skips a level: ${where(heading)}`);
    level = now;
  }
  for (const table of document.querySelectorAll("table")) if (!table.querySelector("th[scope]")) wrong.push(`table without headings: ${where(table)}`);

  // --- contrast ---
  const read = (text) => { const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number); return { r, g, b, a }; };
  const over = (top, under) => ({ r: top.r * top.a + under.r * (1 - top.a), g: top.g * top.a + under.g * (1 - top.a), b: top.b * top.a + under.b * (1 - top.a), a: 1 });
  const light = ({ r, g, b }) => { const [x, y, z] = [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)); return 0.2126 * x + 0.7152 * y + 0.0722 * z; };
  const ratio = (a, b) => { const [hi, lo] = [light(a), light(b)].sort((x, y) => y - x); return (hi + 0.05) / (lo + 0.05); };
  const behind = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (colour.startsWith("rgb")) layers.push(read(colour));
      if (layers.at(-1)?.a === 1) break;
    }
    return layers.reverse().reduce((under, top) => over(top, under), { r: 255, g: 255, b: 255, a: 1 });
  };
  const opacity = (element) => { let all = 1; for (let one = element; one; one = one.parentElement) all *= Number(getComputedStyle(one).opacity); return all; };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.textContent.trim() || !shown(element) || element.closest("[aria-hidden=true].track, .visually-hidden, .skip, noscript, [disabled]")) continue;
    const style = getComputedStyle(element), paint = element.closest("svg") ? style.fill : style.color;
    if (!paint.startsWith("rgb") || style.clipPath !== "none") continue;
    const ground = behind(element), ink = read(paint);
    const seen = over({ ...ink, a: ink.a * opacity(element) }, ground);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const found = ratio(seen, ground);
    if (found < (large ? 3 : 4.5)) wrong.push(`contrast ${found.toFixed(2)}: ${where(element)}`);
  }
  for (const control of document.querySelectorAll("input:not([type=radio], [type=checkbox], [type=range]), select, textarea")) {
    if (!shown(control) || control.disabled) continue;
    const edge = ratio(read(getComputedStyle(control).borderTopColor), behind(control.parentElement));
    if (edge < 3) wrong.push(`edge ${edge.toFixed(2)}: ${where(control)}`);
  }

  // --- fingers ---
  for (const target of document.querySelectorAll("button, select, input:not([type=radio], [type=checkbox], [type=range]), .button, nav a")) {
    const { width, height } = target.getBoundingClientRect();
    if (shown(target) && width && (height < 24 || width < 24)) wrong.push(`small target ${width.toFixed(0)}x${height.toFixed(0)}: ${where(target)}`);
  }
  const { scrollWidth, clientWidth } = document.documentElement; // a phone's innerWidth grows with the page
  if (scrollWidth > clientWidth + 1) wrong.push(`the page is ${scrollWidth} wide in a window of ${clientWidth}`);
  return wrong;
}
