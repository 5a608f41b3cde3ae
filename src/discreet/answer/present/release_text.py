"""A release as a text table, as HTML (self-contained, no script), and as a privacy statement."""

import textwrap
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.answer.plan.contribution_histogram import ALLOWED
from discreet.answer.present.number_text import columns, cost, half, number, pad, percent, plain
from discreet.html_view import framed, note
from discreet.privacy import Neighbours
from discreet.privacy.guarantees.interpretation import read

if TYPE_CHECKING:
    from discreet.answer.present.release import Release


_ROWS = 200
_SIGN = "\N{PLUS-MINUS SIGN}"


_PAID_BEFORE = (
    "this answer was paid for before: nothing was charged again; another epsilon measures anew"
)


def render_text(release: "Release") -> str:
    """All rows, as far as people read them, each number with its half-width, and what it cost."""
    shown = release.table.slice(0, _ROWS)
    blocks = [_block(release, name, shown) for name in shown.column_names]
    lines = ["  ".join(cells).rstrip() for cells in zip(*blocks, strict=True)]
    return "\n".join([*lines, "", *footer(release, _ROWS)])


def footer(release: "Release", rows: int) -> list[str]:
    """The lines under every printed table."""
    lines = [f"{release.table.num_rows:,} row{'s' if release.table.num_rows != 1 else ''}"]
    if release.table.num_rows > rows:
        lines[0] += f", the first {rows} shown"
    if release.half_widths:
        what = "noise and for what chosen limits cut off" if allows(release) else "noise alone"
        lines.append(f"{_SIGN} is a 95 % interval for {what}; it does not include sampling error")
    missing = ((n, how) for n, how in release.how.items() if n not in release.half_widths)
    lines += [f"{plain(name)} has no {_SIGN}: {why}" for name, why in missing]
    return [
        *lines,
        price_line(release),
        *(plain_note(note) for note in dict.fromkeys(release.notes)),
        *([_PAID_BEFORE] if release.paid_before else []),
    ]


def allows(release: "Release") -> bool:
    """Whether intervals allow for what chosen limits cut off.

    They do not where a limit is a guess, nor in answers that were stored before they did: what the
    notes of an answer say was written with its intervals.
    """
    return any(ALLOWED in note for note in release.notes)


def price_line(release: "Release") -> str:
    """The price of a release in one line."""
    if release.price.is_free:
        return "price: nothing"
    price = f"price: epsilon {cost(release.price.epsilon)}"
    if release.price.delta:
        price += f", delta {cost(release.price.delta)}"
    if release.share is not None:
        price += f" ({percent(release.share)} of the budget)"
    unit = "one person" if release.facts is None else release.facts.unit
    return f"{price}; protects {unit}; {release.guarantee.neighbours.value} neighbours"


def plain_note(note: str) -> str:
    """A note on one line."""
    return "".join(c if c.isprintable() else " " for c in note)


def is_number(kind: pa.DataType) -> bool:
    """Whether a column holds numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def is_key(release: "Release", name: str) -> bool:
    """Whether a column was asked by, and not for."""
    return name in release.facts.keys if release.facts is not None else name not in release.how


def _block(release: "Release", name: str, shown: pa.Table) -> list[str]:
    """One column as texts of one width: title, rule, cells."""
    cells, right = _cells(release, name, shown)
    title = plain(name)
    width = max(columns(text) for text in (title, *cells))
    rule = "\N{BOX DRAWINGS LIGHT HORIZONTAL}" * width
    return [pad(title, width, right=right), rule, *(pad(c, width, right=right) for c in cells)]


def _cells(release: "Release", name: str, shown: pa.Table) -> tuple[list[str], bool]:
    values: list[Any] = shown.column(name).to_pylist()
    kind = shown.schema.field(name).type
    if not is_number(kind):
        return [plain(value) for value in values], False
    if name not in release.half_widths:
        grouped = not is_key(release, name)
        return [number(v) if grouped else plain(v) for v in values], True
    widths = release.half_widths[name].slice(0, len(values)).to_pylist()
    whole = bool(pa.types.is_integer(kind))
    right = [half(width, whole=whole) for width in widths]
    most = max((len(text) for text in right), default=0)
    return [
        f"{number(value, width)} {_SIGN} {text.rjust(most)}"
        for value, width, text in zip(values, widths, right, strict=True)
    ], True


_PAGE_ROWS = 5_000
"""Rows that are shown; nobody pays for more to read them."""


def render_page(release: "Release") -> str:
    """All rows, each number with its half-width and its place among the others."""
    shown = release.table.slice(0, _PAGE_ROWS)
    blocks = [_html_block(release, name, shown) for name in shown.column_names]
    heads = "".join(head for head, _ in blocks)
    rows = zip(*(cells for _, cells in blocks), strict=True)
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
    rows_ = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    return framed(rows_, note(*footer(release, _PAGE_ROWS)))


def _html_block(release: "Release", name: str, shown: pa.Table) -> tuple[str, list[str]]:
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


CHANGE = {
    Neighbours.ADD_REMOVE: "adding or removing one",
    Neighbours.CHANGE_ONE: "replacing one by any other",
}


_LIMITS = (
    "The guarantee limits what taking part adds to what is known. It does not hide facts about"
    " people at large, which these numbers are meant to show. Other releases about the same data"
    " add to the loss stated here."
)
_NOISE = "The intervals cover this noise alone: 95 % of them contain the number without noise."
_CHOSEN = (
    "The intervals cover this noise and what the limits cut off: 95 % of them contain the number"
    " without either. They do not cover what people too few to show in noisy counts have beyond the"
    " rows and groups stated above."
)
_WIDER = (
    "They are not confidence intervals for a wider population: they do not include sampling error,"
    " mistakes in the data, or the effect of clamping values to ranges."
)


def statement(release: "Release") -> str:
    """The privacy statement, in paragraphs: protection, clamping, and what the intervals cover."""
    if release.price.is_free:
        return "These numbers are computed from public tables alone: they are exact and free."
    odds = read(release.guarantee, delta=release.price.delta or None)
    intervals = ["The numbers carry noise; no intervals are stated here."]
    if release.half_widths:
        intervals = [_CHOSEN if allows(release) else _NOISE, _WIDER]
    said = [_protected(release), [odds], _clamped(release), intervals, [_LIMITS]]
    wrap = partial(textwrap.fill, width=100, break_long_words=False, break_on_hyphens=False)
    return "\n\n".join(wrap(" ".join(part)) for part in said if part)


def _protected(release: "Release") -> list[str]:
    unit = "one person" if release.facts is None else release.facts.unit
    change = CHANGE[release.guarantee.neighbours]
    epsilon, delta = cost(release.price.epsilon), cost(release.price.delta)
    lines = [
        "These numbers were released with differential privacy.",
        f"They protect {unit}: {change} changes the probability of any output by no more than the",
        "guarantee allows, whatever else an attacker knows.",
        f"The price was epsilon = {epsilon} and delta = {delta}.",
    ]
    return [*lines, *([BY_ROW] if release.facts and release.facts.by_row else by_period(unit))]


BY_ROW = (
    "A person with several rows is protected for any one of them, not for all together;"
    " below, 'person' means one such row."
)


def by_period(unit: str) -> list[str]:
    """What a person in a period is not protected from; nothing for another unit.

    Example:
        >>> by_period("one person in one day, with all of their rows of that day")[0][:50]
        'A person is protected for any one day, not for sev'
    """
    who, _, every = unit.partition(",")[0].partition(" in one ")
    if not every:
        return []
    said = f"A person is protected for any one {every}, not for several together;"
    return [f"{said} below, 'person' means {who} in one {every}."]


def _clamped(release: "Release") -> list[str]:
    lines = []
    if release.facts is not None and release.facts.clamped:
        held = "; ".join(release.facts.clamped)
        lines.append(f"Values were first clamped to ranges that the owner stated: {held}.")
    remarks = () if release.facts is None else release.facts.remarks
    notes = dict.fromkeys(note for note in release.notes if note not in remarks)
    for one in notes:
        bare = " counts for at most " in one and "weighted down" not in one
        less = "; whoever has more is weighted down" if bare else ""
        lines.append(f"{one[:1].upper()}{one[1:]}{less}.")
    return lines + [f"{remark}." for remark in remarks]  # some begin with the name of a column
