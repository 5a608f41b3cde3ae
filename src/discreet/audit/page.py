"""The report of an audit as one page of HTML, with a picture for each claim."""

import math
from collections.abc import Iterable
from html import escape
from typing import Final

from discreet.audit.evidence import Curve, Point, points
from discreet.audit.report import Audit
from discreet.privacy import Guarantee

_SIDE: Final = 240
_MARGIN: Final = 50
_LEVELS: Final = (0.0, 0.002, 0.005, 0.01, 0.02, 0.035, *(step / 40 for step in range(2, 41)))
_SHARES: Final = tuple(step / 20 for step in range(31))


def claimed_curve(guarantee: Guarantee) -> Curve:
    """The least errors that the guarantee allows an attacker, at a few type-I errors.

    Every promise (epsilon, delta) keeps the errors above two lines; the best of a few dozen is as
    good as all of them to the eye, and a fraction of the work of `guarantee.tradeoff`.
    """
    top = points(guarantee)[-1].epsilon
    lines = [Point(e, guarantee.delta(e).upper) for e in (share * top for share in _SHARES)]
    return tuple((level, max(0.0, *(_allowed(line, level) for line in lines))) for level in _LEVELS)


def _allowed(line: Point, level: float) -> float:
    clear, grown = 1 - line.delta, math.exp(line.epsilon)
    return max(clear - grown * level, (clear - level) / grown)


def draw_curves(title: str, claimed: Curve, found: Curve) -> str:
    """One picture as SVG: the forbidden region, its border, and the attacker's curve."""
    whole = _SIDE + 2 * _MARGIN
    forbidden = _path([(0.0, 0.0), *claimed, (1.0, 0.0)])
    return (
        f'<svg viewBox="0 0 {whole} {whole}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{_frame()}"
        f'<path class="forbidden" d="{forbidden}Z"/>'
        f'<path class="claimed" d="{_path(claimed)}"/>'
        f'<path class="found" d="{_path(found)}"/>'
        "</svg>"
    )


def _frame() -> str:
    marks = "".join(_mark(half / 2) for half in range(3))
    middle, far = _MARGIN + _SIDE / 2, _SIDE + 2 * _MARGIN - 6
    return (
        f'<rect class="frame" x="{_MARGIN}" y="{_MARGIN}" width="{_SIDE}" height="{_SIDE}"/>{marks}'
        f'<text x="{middle}" y="{far}" text-anchor="middle">type I error</text>'
        f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">'
        "type II error</text>"
    )


def _mark(share: float) -> str:
    x, y = _place(share, 0.0)
    left, height = _place(0.0, share)
    return (
        f'<text x="{x:g}" y="{y + 16:g}" text-anchor="middle">{share:g}</text>'
        f'<text x="{left - 6:g}" y="{height + 5:g}" text-anchor="end">{share:g}</text>'
    )


def _path(points: Iterable[tuple[float, float]]) -> str:
    places = (_place(x, y) for x, y in points)
    return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in places)


def _place(x: float, y: float) -> tuple[float, float]:
    """Map errors in [0, 1] to the drawing, whose y axis points down."""
    return _MARGIN + _SIDE * x, _MARGIN + _SIDE * (1 - y)


def as_page(audits: Iterable[Audit], *, samples: int | None, alpha: float) -> str:
    """A table and a drawing for each claim, those that are refuted first."""
    runs = "As many runs as the claim calls for" if samples is None else f"{samples:,} runs"
    ordered = sorted(audits, key=lambda one: not one.refuted)
    refuted = sum(one.refuted for one in ordered)
    return _PAGE.format(
        summary=f"{len(ordered)} claim{'s' * (len(ordered) != 1)}, {refuted} refuted",
        method=f"{runs} on each of two neighbours; all claims together are wrongly "
        f"refuted with probability at most {alpha:g}.",
        table="".join(map(_row, ordered)),
        figures="".join(map(_figure, ordered)),
    )


def _row(audit: Audit) -> str:
    best, promise = audit.measured, audit.claim.guarantee
    about = f"{type(promise).__name__}, {promise.neighbours.value}"
    numbers = (f"{best.point.epsilon:.4g}", f"{best.point.delta:.4g}", f"{audit.bound:.4g}")
    return (
        f'<tr class="{_kind(audit)}"><th scope="row">{escape(audit.name)}'
        f"<small>{escape(about)}</small></th>"
        f'<td class="verdict">{audit.verdict}</td>'
        + "".join(f'<td class="number">{number}</td>' for number in numbers)
        + f'<td class="why">{escape(audit.why)}</td></tr>'
    )


def _figure(audit: Audit) -> str:
    found = next((one.curve for one in audit.evidence if one.curve), ())
    if not found:
        return ""
    drawing = draw_curves(audit.name, claimed_curve(audit.claim.guarantee), found)
    name = escape(audit.name) + (f", {audit.verdict}" if audit.refuted else "")
    return f'<figure class="{_kind(audit)}">{drawing}<figcaption>{name}</figcaption></figure>'


def _kind(audit: Audit) -> str:
    return "refuted" if audit.refuted else "stands"


_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>discreet audit: {summary}</title>
<style>
:root {{ color-scheme: light dark; --ink: light-dark(#1c2430, #e6e9ee);
  --paper: light-dark(#ffffff, #14181e); --quiet: light-dark(#5b6674, #9aa5b3);
  --rule: light-dark(#d9dee5, #323a45); --claimed: light-dark(#1f5fbf, #7fb0ff);
  --found: light-dark(#b63c06, #ff9a5c); --bad: light-dark(#b3261e, #ff8a80);
  --good: light-dark(#1d6b3a, #7fd39b); }}
body {{ font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 68rem; margin: 3rem auto; padding: 0 1.25rem; }}
h1 {{ font-size: 1.5rem; margin: 0; }} p {{ color: var(--quiet); max-width: 46rem; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; width: 100%; margin: 1.5rem 0;
  font-variant-numeric: tabular-nums; }}
th, td {{ text-align: left; vertical-align: top; padding: .45rem .7rem;
  border-bottom: 1px solid var(--rule); }}
thead th {{ font-weight: 600; color: var(--quiet); vertical-align: bottom; }}
tbody th {{ font-weight: 600; white-space: nowrap; }}
small {{ display: block; font-weight: 400; color: var(--quiet); }}
.number {{ text-align: right; }} .why {{ min-width: 16rem; color: var(--quiet); }}
.stands .verdict {{ color: var(--good); }}
.refuted .verdict, .refuted figcaption {{ color: var(--bad); font-weight: 700; }}
.refuted .why {{ color: var(--ink); }}
.figures {{ display: grid; gap: 1.5rem 1rem;
  grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); }}
@media (max-width: 40rem) {{ tbody th {{ white-space: normal; }} }}
figure {{ margin: 0; break-inside: avoid; }}
figcaption {{ text-align: center; font-size: .9rem; }}
svg {{ display: block; width: 100%; height: auto; }}
svg text {{ font-size: 15px; fill: var(--quiet); }}
.frame {{ fill: none; stroke: var(--rule); }}
.forbidden {{ fill: var(--claimed); opacity: .12; }}
.claimed {{ fill: none; stroke: var(--claimed); stroke-width: 5; opacity: .45; }}
.found {{ fill: none; stroke: var(--found); stroke-width: 1.75; }}
.key {{ display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; list-style: none; padding: 0; }}
.key svg {{ display: inline-block; width: 2.2rem; height: .8rem; margin-right: .5rem; }}
</style></head><body>
<h1>discreet audit: {summary}</h1>
<p>{method} A claim is refuted when the certified epsilon exceeds the claimed one at the same delta,
when its output law breaks the guarantee, or when what is released is not what the claim says.
A claim that stands was not proved; it survived this attempt.</p>
<div class="scroll"><table><thead><tr><th>claim</th><th>verdict</th>
<th class="number">epsilon claimed</th><th class="number">at delta</th>
<th class="number">refuted up to</th><th>by what</th></tr></thead>
<tbody>{table}</tbody></table></div>
<p>An attacker has to tell which of two neighbours an answer is about. A mechanism that keeps its
promise stays out of the shaded region, up to sampling error.</p>
<ul class="key">
<li><svg viewBox="0 0 36 12"><path class="found" d="M0 6H36"/></svg>errors of the best attacker
found</li>
<li><svg viewBox="0 0 36 12"><path class="claimed" d="M0 6H36"/></svg>least errors that the claim
allows</li></ul>
<div class="figures">{figures}</div>
</body></html>
"""
