"""A release as a piece of HTML: self-contained, no script, at home on light and dark pages."""

from html import escape
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.answer.present.number_text import half, number, plain
from discreet.answer.present.release_text import footer, is_key, is_number

if TYPE_CHECKING:
    from discreet.answer.present.release import Release

_ROWS = 20

# Colours are mixed from the page's own text colour, so that they suit its background, also where a
# notebook is dark and the system is not.
_STYLE = """\
.discreet-release{font-size:13px;line-height:1.45;max-width:100%;overflow-x:auto}
.discreet-release table{border-collapse:collapse;margin:0}
.discreet-release th,.discreet-release td{padding:3px 14px 3px 4px;text-align:left;border:0;\
background:none;vertical-align:top}
.discreet-release thead th{border-bottom:1px solid currentColor;font-weight:600}
.discreet-release tbody tr+tr td{border-top:1px solid rgba(128,128,128,.25)}
.discreet-release td.n,.discreet-release th.n{text-align:right;font-variant-numeric:tabular-nums;\
white-space:nowrap}
.discreet-release .w{color:#b45309;color:color-mix(in srgb,#d97706 70%,currentColor);\
padding-left:.35em}
.discreet-release .null{opacity:.55;font-style:italic}
.discreet-release .bar{display:block;position:relative;height:4px;min-width:90px;margin:2px 0 1px;\
background:rgba(128,128,128,.18);border-radius:2px}
.discreet-release .bar i{position:absolute;top:0;height:4px;min-width:2px;background:#d97706;\
opacity:.75;border-radius:2px}
.discreet-release .bar b{position:absolute;top:-2px;height:8px;width:2px;background:currentColor}
.discreet-release p{margin:.5em 0 0;opacity:.8}"""


def render_page(release: "Release") -> str:
    """The first rows, each number with its half-width and its place among the others."""
    shown = release.table.slice(0, _ROWS)
    blocks = [_block(release, name, shown) for name in shown.column_names]
    heads = "".join(head for head, _ in blocks)
    rows = zip(*(cells for _, cells in blocks), strict=True)
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
    notes = "<br>".join(escape(line) for line in footer(release, _ROWS))
    return (
        f'<div class="discreet-release"><style>{_STYLE}</style>'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table><p>{notes}</p></div>"
    )


def _block(release: "Release", name: str, shown: pa.Table) -> tuple[str, list[str]]:
    values: list[Any] = shown.column(name).to_pylist()
    kind = shown.schema.field(name).type
    title = escape(plain(name))
    if name in release.half_widths:
        widths = release.half_widths[name].slice(0, len(values)).to_pylist()
        noted = f'{title}<span class="w">\N{PLUS-MINUS SIGN} noise</span>'
        return f'<th class="n">{noted}</th>', _measured(values, widths, kind)
    if is_number(kind) and not is_key(release, name):
        return f'<th class="n">{title}</th>', [f'<td class="n">{number(v)}</td>' for v in values]
    return f"<th>{title}</th>", [_key(value) for value in values]


def _key(value: Any) -> str:
    if value is None:
        return '<td><span class="null">NULL</span></td>'
    return f"<td>{escape(plain(value))}</td>"


def _measured(values: list[Any], widths: list[float | None], kind: pa.DataType) -> list[str]:
    """Numbers with their half-widths and their intervals on one scale for the column."""
    whole = bool(pa.types.is_integer(kind))
    ends = [(v - w, v + w) for v, w in zip(values, widths, strict=True) if _drawable(v, w)]
    low = min([0.0, *(end[0] for end in ends)])
    high = max([0.0, *(end[1] for end in ends)])
    return [
        f'<td class="n">{number(v, w)}<span class="w">\N{PLUS-MINUS SIGN} '
        f"{half(w, whole=whole)}</span>{_bar(v, w, low, high)}</td>"
        for v, w in zip(values, widths, strict=True)
    ]


def _drawable(value: Any, width: float | None) -> bool:
    return value is not None and width is not None


def _bar(value: Any, width: float | None, low: float, high: float) -> str:
    """The noise interval as a coloured stretch and the number as a stroke in it."""
    if value is None or width is None or not high > low:
        return ""
    scale = 100 / (high - low)
    left, long, at = (value - width - low) * scale, 2 * width * scale, (value - low) * scale
    return (
        f'<span class="bar"><i style="left:{left:.2f}%;width:{long:.2f}%"></i>'
        f'<b style="left:{at:.2f}%"></b></span>'
    )
