"""The audit of many claims as one page for people; it needs nothing but itself."""

from collections.abc import Iterable
from html import escape
from typing import Final

from discreet.audit.chart import claimed_curve, draw_curves
from discreet.audit.report import Audit


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
