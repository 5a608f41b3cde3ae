"""A picture of outcomes: how far the attacker came, from chance to what the promise allows."""

from collections.abc import Mapping
from html import escape
from pathlib import Path

from discreet.attacks.outcome import Outcome
from discreet.errors import InputError

WIDTH, LEFT, RIGHT, TOP, ROW = 720, 150, 70, 64, 46
_FONT = "font-family='system-ui, sans-serif'"
_COLOURS = {"raw": "#c8553d", "rounded": "#d9a441", "private": "#7aa6c2"}


def draw(title: str, outcomes: Mapping[str, Outcome]) -> str:
    """Bars of success, one a defence, with chance (dotted) and the bound (solid)."""
    height = TOP + ROW * len(outcomes) + 30
    legend = "bar: success · dotted: without any answers · line: the most the promise allows"
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' role='img'>",
            f"<title>{escape(title)}</title>",
            f"<rect width='{WIDTH}' height='{height}' fill='white'/>",
            f"<text x='16' y='24' font-size='16' fill='#333' {_FONT}>{escape(title)}</text>",
            f"<text x='16' y='44' font-size='12' fill='#333' {_FONT}>{legend}</text>",
            *(_bar(i, name, outcome) for i, (name, outcome) in enumerate(outcomes.items())),
            "</svg>",
            "",
        ]
    )


def _bar(place: int, name: str, outcome: Outcome) -> str:
    y = TOP + ROW * place
    success, chance, bound = map(_x, (outcome.success, outcome.baseline, outcome.bound))
    colour = _COLOURS.get(name, "#888")
    return (
        f"<text x='{LEFT - 10}' y='{y + 19}' text-anchor='end' font-size='13' fill='#333' {_FONT}>"
        f"{escape(name)}</text>"
        f"<rect x='{LEFT}' y='{y}' width='{max(success - LEFT, 1):.1f}' height='28' "
        f"fill='{colour}'/>"
        f"<path d='M{chance:.1f} {y - 5}v38' stroke='#333' stroke-width='2' "
        f"stroke-dasharray='2 3'/>"
        f"<path d='M{bound:.1f} {y - 5}v38' stroke='#1b2a41' stroke-width='2'/>"
        f"<text x='{WIDTH - RIGHT + 12}' y='{y + 19}' font-size='13' fill='#333' {_FONT}>"
        f"{outcome.success:.3f}</text>"
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
