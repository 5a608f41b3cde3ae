"""A release as a piece of HTML: self-contained, no script, at home on light and dark pages."""

from html import escape
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.answer.present.number_text import half, number, plain
from discreet.answer.present.release_text import footer, is_key, is_number
from discreet.html_view import framed, note

if TYPE_CHECKING:
    from discreet.answer.present.release import Release

_ROWS = 5_000
"""Rows that are shown; nobody pays for more to read them."""


def render_page(release: "Release") -> str:
    """All rows, each number with its half-width and its place among the others."""
    shown = release.table.slice(0, _ROWS)
    blocks = [_block(release, name, shown) for name in shown.column_names]
    heads = "".join(head for head, _ in blocks)
    rows = zip(*(cells for _, cells in blocks), strict=True)
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
    rows_ = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    return framed(rows_, note(*footer(release, _ROWS)))


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
    ends = [(v - w, v + w) for v, w in zip(values, widths, strict=True) if None not in (v, w)]
    low = min([0.0, *(end[0] for end in ends)])
    high = max([0.0, *(end[1] for end in ends)])
    return [
        f'<td class="n">{number(v, w)}<span class="w">\N{PLUS-MINUS SIGN} '
        f"{half(w, whole=whole)}</span>{_bar(v, w, low, high)}</td>"
        for v, w in zip(values, widths, strict=True)
    ]


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
