"""A picture of outcomes: the attacker's success, with a baseline and a bound."""

from collections.abc import Mapping
from html import escape
from pathlib import Path

from discreet.attacks.outcome import Outcome
from discreet.errors import InputError

WIDTH, LEFT, RIGHT, TOP, ROW = 720, 90, 190, 78, 50
_FONT = "font-family='system-ui, sans-serif'"
_COLOURS = {"raw": "#c8553d", "rounded": "#d9a441", "private": "#7aa6c2"}
_LEGEND = "bar: success · thick: 95 of 100 runs · dotted: baseline · line: bound"


def draw(title: str, outcomes: Mapping[str, Outcome], success: str = "rate of success") -> str:
    """Bars of success, one a defence, with the baseline (dotted) and the bound (solid)."""
    foot = TOP + ROW * len(outcomes)
    size = f"0 0 {WIDTH} {foot + 34}"
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='{size}' role='img'>",
            f"<title>{escape(title)}</title>",
            f"<rect width='{WIDTH}' height='{foot + 34}' fill='white'/>",
            _text(16, 24, title, size=16),
            _text(16, 43, success, size=12),
            _text(16, 60, _LEGEND, size=12),
            *(_tick(share / 4, foot) for share in range(5)),
            *(_bar(i, name, outcome) for i, (name, outcome) in enumerate(outcomes.items())),
            "</svg>",
            "",
        ]
    )


def _text(x: float, y: float, text: str, *, size: int = 13, anchor: str = "start") -> str:
    return (
        f"<text x='{x:.1f}' y='{y}' font-size='{size}' text-anchor='{anchor}' fill='#333' {_FONT}>"
        f"{escape(text)}</text>"
    )


def _tick(share: float, foot: int) -> str:
    line = f"<line x1='{_x(share):.1f}' x2='{_x(share):.1f}' y1='{TOP - 8}' y2='{foot}'"
    return f"{line} stroke='#ddd'/>" + _text(
        _x(share), foot + 16, f"{share:g}", size=11, anchor="middle"
    )


def _bar(place: int, name: str, outcome: Outcome) -> str:
    y = TOP + ROW * place
    low, high = outcome.interval
    chance, bound, right = _x(outcome.baseline), _x(outcome.bound), WIDTH - RIGHT + 14
    return (
        _text(LEFT - 10, y + 19, name, anchor="end")
        + f"<rect x='{LEFT}' y='{y}' width='{max(_x(outcome.success) - LEFT, 1):.1f}' height='28' "
        f"fill='{_COLOURS.get(name, '#888')}'/>"
        f"<line x1='{_x(low):.1f}' x2='{_x(high):.1f}' y1='{y + 14}' y2='{y + 14}' stroke='#333' "
        f"stroke-width='3'/>"
        f"<path d='M{chance:.1f} {y - 5}v38' stroke='#333' stroke-width='2' "
        f"stroke-dasharray='2 3'/>"
        f"<path d='M{bound:.1f} {y - 5}v38' stroke='#1b2a41' stroke-width='2'/>"
        + _text(right, y + 11, f"{outcome.success:.3f} ({low:.3f} to {high:.3f})")
        + _text(
            right, y + 28, f"baseline {outcome.baseline:.3f}, bound {outcome.bound:.3f}", size=11
        )
    )


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def save(svg: str, path: Path) -> None:
    """Write an SVG or, with vl-convert, a PNG."""
    match path.suffix.lower():
        case ".svg":
            path.write_text(svg, encoding="utf-8")
        case ".png":
            path.write_bytes(_png(svg))
        case other:
            raise InputError(
                f"a picture of kind {other or 'unknown'}",
                why="pictures are written as .svg or .png",
                fix="name the file out.svg",
            )


def _png(svg: str) -> bytes:
    try:
        import vl_convert  # noqa: PLC0415 - heavy, and optional
    except ImportError as error:
        raise InputError(
            "vl-convert is not installed",
            why="it turns a picture into PNG",
            fix="write a .svg, or install it with: pip install 'discreet[chart]'",
        ) from error
    return bytes(vl_convert.svg_to_png(svg, scale=2))
