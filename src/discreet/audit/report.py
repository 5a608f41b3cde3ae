"""The audit of many claims, as facts for machines and as one page for people."""

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, Final

from discreet.audit.chart import claimed_curve, draw_curves
from discreet.audit.enumerate import check_law, enumerate_loss
from discreet.audit.evidence import Evidence, strongest
from discreet.audit.refute import refute
from discreet.mechanisms.claim import Claim


@dataclass(frozen=True, slots=True)
class Audit:
    """One claim, all the evidence against it, and the processor time that took."""

    name: str
    claim: Claim
    evidence: tuple[Evidence, ...]
    seconds: float

    @property
    def refuted(self) -> bool:
        """Whether any attempt succeeded."""
        return any(one.refuted for one in self.evidence)

    @property
    def strongest(self) -> Evidence:
        """The attempt that came closest, or went furthest."""
        return strongest([one for one in self.evidence if one.refuted] or [self.evidence[-1]])

    @property
    def bound(self) -> float:
        """The epsilon below which the claim cannot be true, at the delta of `strongest`."""
        return max(0.0, self.strongest.bound)

    @property
    def verdict(self) -> str:
        """In a word."""
        return "REFUTED" if self.refuted else "stands"


def audit_claim(name: str, claim: Claim, *, samples: int, alpha: float) -> Audit:
    """Try everything on one claim; a true claim is refuted with probability at most alpha."""
    start = time.process_time()
    found = list(_attempts(claim, samples, alpha))
    return Audit(name, claim, tuple(found), time.process_time() - start)


def _attempts(claim: Claim, samples: int, alpha: float) -> Iterator[Evidence]:
    """The law first, if there is one, and the samples last."""
    if claim.law is None:
        yield refute(claim, samples=samples, alpha=alpha)
        return
    yield enumerate_loss(claim)
    yield check_law(claim, samples=samples, alpha=alpha / 2)
    yield refute(claim, samples=samples, alpha=alpha / 2)


def audit_all(claims: Mapping[str, Claim], *, samples: int, alpha: float) -> Iterator[Audit]:
    """Audit one claim after another; all of them together err with probability at most alpha."""
    for name, claim in claims.items():
        yield audit_claim(name, claim, samples=samples, alpha=alpha / len(claims))


def as_facts(audit: Audit) -> dict[str, Any]:
    """Plain numbers and strings, for JSON."""
    return {
        "name": audit.name,
        "claim": audit.claim.name,
        "guarantee": audit.claim.guarantee.to_dict(),
        "neighbours": audit.claim.guarantee.neighbours.value,
        "epsilon_claimed": audit.strongest.point.epsilon,
        "delta": audit.strongest.point.delta,
        "epsilon_refuted_up_to": _finite(audit.bound),
        "verdict": audit.verdict,
        "seconds": audit.seconds,
        "evidence": [_as_facts(one) for one in audit.evidence],
    }


def _as_facts(one: Evidence) -> dict[str, Any]:
    """JSON has no infinity, so an epsilon that is one becomes null."""
    facts = {name: fact for name, fact in asdict(one).items() if name != "curve"}
    return facts | {"bound": _finite(one.bound), "refuted": one.refuted}


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def as_page(audits: Iterable[Audit], *, samples: int, alpha: float) -> str:
    """One page that needs nothing but itself."""
    all_audits = list(audits)
    refuted = sum(one.refuted for one in all_audits)
    table = "".join(map(_table_row, all_audits))
    figures = "".join(map(_figure, all_audits))
    return _PAGE.format(
        summary=f"{len(all_audits)} claims, {refuted} refuted",
        method=f"{samples:,} runs on each of two neighbours, error rate {alpha:g} for all claims "
        "together.",
        table=table,
        figures=figures,
    )


def _table_row(audit: Audit) -> str:
    best = audit.strongest
    cells = (
        audit.name,
        f"{best.point.epsilon:.4g}",
        f"{best.point.delta:.4g}",
        f"{audit.bound:.4g}",
        best.reason or best.event,
        audit.verdict,
    )
    kind = "refuted" if audit.refuted else "stands"
    return f'<tr class="{kind}">' + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _figure(audit: Audit) -> str:
    found = next((one.curve for one in audit.evidence if one.curve), ())
    if not found:
        return ""
    drawing = draw_curves(audit.name, claimed_curve(audit.claim.guarantee), found)
    return f"<figure>{drawing}<figcaption>{escape(audit.name)}</figcaption></figure>"


_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>discreet audit: {summary}</title>
<style>
:root {{ color-scheme: light dark; --ink: light-dark(#1c2430, #e6e9ee);
  --paper: light-dark(#ffffff, #14181e); --quiet: light-dark(#6b7684, #95a0ae);
  --rule: light-dark(#d9dee5, #323a45); --claimed: light-dark(#1f5fbf, #7fb0ff);
  --found: light-dark(#c2410c, #ff9a5c); --bad: light-dark(#b3261e, #ff8a80); }}
body {{ font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 64rem; margin: 3rem auto; padding: 0 1.25rem; }}
h1 {{ font-size: 1.5rem; margin: 0; }} p {{ color: var(--quiet); max-width: 46rem; }}
table {{ border-collapse: collapse; width: 100%; margin: 1.5rem 0;
  font-variant-numeric: tabular-nums; }}
th, td {{ text-align: left; padding: .4rem .6rem; border-bottom: 1px solid var(--rule); }}
th {{ font-weight: 600; color: var(--quiet); }}
.refuted td:last-child {{ color: var(--bad); font-weight: 700; }}
.figures {{ display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); }}
figure {{ margin: 0; }} figcaption {{ text-align: center; font-size: .85rem; }}
svg text {{ font-size: 10px; fill: var(--quiet); }}
.frame {{ fill: none; stroke: var(--rule); }}
.forbidden {{ fill: var(--claimed); opacity: .12; }}
.claimed {{ fill: none; stroke: var(--claimed); stroke-width: 1.5; }}
.found {{ fill: none; stroke: var(--found); stroke-width: 1.5; }}
.key span {{ font-weight: 600; }}
.key .c {{ color: var(--claimed); }} .key .f {{ color: var(--found); }}
</style></head><body>
<h1>discreet audit: {summary}</h1>
<p>{method} A claim is refuted when the certified epsilon exceeds the claimed one at the same delta.
A claim that stands was not proved; it survived this attempt.</p>
<table><thead><tr><th>claim</th><th>epsilon claimed</th><th>at delta</th>
<th>epsilon refuted up to</th><th>by the event</th><th>verdict</th></tr></thead>
<tbody>{table}</tbody></table>
<p class="key">Errors of the best attacker found (<span class="f">line</span>) who tells two
neighbours apart, and the least errors the claim allows (<span class="c">line</span>). A
mechanism that keeps its promise stays out of the shaded region, up to sampling error.</p>
<div class="figures">{figures}</div>
</body></html>
"""
