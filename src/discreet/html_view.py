"""Pieces of HTML for notebooks: self-contained, no script, every text escaped."""

from collections.abc import Iterable, Sequence
from html import escape

# Colours are mixed from the page's own text colour, so that they suit its background, also where a
# notebook is dark and the system is not.
STYLE = """\
.discreet{font-size:13px;line-height:1.45;max-width:100%;max-height:70em;overflow:auto}
.discreet table{border-collapse:collapse;margin:0}
.discreet th,.discreet td{padding:3px 14px 3px 4px;text-align:left;border:0;background:none;\
vertical-align:top}
.discreet thead th{border-bottom:1px solid currentColor;font-weight:600}
.discreet tbody tr+tr td{border-top:1px solid rgba(128,128,128,.25)}
.discreet td.n,.discreet th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.discreet .w{color:#b45309;color:color-mix(in srgb,#d97706 70%,currentColor);padding-left:.35em}
.discreet .null{opacity:.55;font-style:italic}
.discreet .bar{display:block;position:relative;height:4px;min-width:90px;margin:2px 0 1px;\
background:rgba(128,128,128,.18);border-radius:2px}
.discreet .bar i{position:absolute;top:0;height:4px;min-width:2px;background:#d97706;opacity:.75;\
border-radius:2px}
.discreet .bar b{position:absolute;top:-2px;height:8px;width:2px;background:currentColor}
.discreet p{margin:.5em 0 0;opacity:.8}"""


def framed(*parts: str) -> str:
    """Parts that are HTML already, in one box."""
    return f'<div class="discreet"><style>{STYLE}</style>{"".join(parts)}</div>'


def table(heads: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """A table of texts.

    Example:
        >>> table(["name"], [["<b>"]])
        '<table><thead><tr><th>name</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(str(one))}</th>" for one in heads)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(str(one))}</td>' for one in row)}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def note(*lines: object) -> str:
    """Lines of text below a table."""
    return f"<p>{'<br>'.join(escape(str(line)) for line in lines)}</p>"


def share_bar(share: float) -> str:
    """A part of a whole as a stretch."""
    return (
        f'<span class="bar"><i style="left:0;width:{100 * min(max(share, 0), 1):.2f}%"></i></span>'
    )


def folded(title: str, text: str) -> str:
    """A long text behind its title."""
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"
