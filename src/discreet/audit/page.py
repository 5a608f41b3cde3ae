"""The report of an audit as one page of HTML, with a picture for each claim."""

import math
from collections.abc import Iterable
from html import escape
from pathlib import Path
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
    page = Path(__file__).with_name("page.html").read_text("utf-8")
    return page.format(
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
