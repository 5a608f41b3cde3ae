"""Pieces of HTML for notebooks: self-contained, no script, every text escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

# Colours are mixed from the page's own text colour, so that they suit its background, also where a
# notebook is dark and the system is not.
STYLE = Path(__file__).with_suffix(".css").read_text("utf-8").rstrip()


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
