"""An explanation as a text."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet import html_view
from discreet.answer.estimate.error_bars import GROUP, ExpectedError
from discreet.answer.plan.contribution_histogram import FAR, share_text
from discreet.answer.present.number_text import columns, cost, half, pad, plain
from discreet.plan.bounding import NoiseKind
from discreet.plan.schema import counted

if TYPE_CHECKING:
    from discreet.answer.plan.explain import ExplainedSet, Explanation

_SIGN = "\N{PLUS-MINUS SIGN}"
_WIDE = 11
_LONG = 200
_READ = 85


def render_explanation(explanation: "Explanation") -> str:
    """Price, protection, groups, limits, measurements, what to expect, and the SQL."""
    price, facts = explanation.price, explanation.facts
    clamped = facts.clamped or ("nothing: no column it reads has bounds",)
    lines = [
        "What this question will do (computed from public facts; no data was read)",
        "",
        _item("price", f"epsilon {cost(price.epsilon)}, delta {cost(price.delta)}"),
        *([_item("uses", explanation.share)] if explanation.share else ()),
        _item("protects", f"{facts.unit}; {explanation.neighbours.value} neighbours"),
        *(_item("clamps" if i == 0 else "", what) for i, what in enumerate(clamped)),
        *_notes(facts.remarks),
    ]
    for part in explanation.parts:
        title = ", ".join(plain(key) for key in part.keys) or "all rows"
        lines += ["", f"by {title}" if part.keys else title, *_part(part, facts.unit)]
    return "\n".join([*lines, "", *_sql(explanation)])


def explanation_page(explanation: "Explanation") -> str:
    """Price, what to expect of each column, and all the rest behind a fold."""
    price, parts = explanation.price, []
    paid = f"epsilon {cost(price.epsilon)}, delta {cost(price.delta)}"
    for part in explanation.parts:
        heads, *rows = _expectations(part, "noise")
        by = f"by {', '.join(plain(key) for key in part.keys)}" if part.keys else "of all rows"
        groups = "groups have to be found" if part.groups is None else counted(part.groups, "group")
        parts += [html_view.note(f"{by}: {groups}"), html_view.table(heads, rows)]
    said = [f"price: {paid}", *([f"uses {explanation.share}"] if explanation.share else [])]
    return html_view.framed(
        html_view.note(*said, *explanation.facts.remarks),
        *parts,
        html_view.folded("all of it", render_explanation(explanation)),
    )


def _item(name: str, text: str) -> str:
    return f"  {pad(name, _WIDE)}{text}"


def _part(part: "ExplainedSet", unit: str) -> list[str]:
    return [
        *_groups(part),
        *_limits(part, unit),
        _item("noise", part.options[0].contributions.noise_kind.value),
        *_notes(part.hints),
        "",
        *_measured(part),
        "",
        *_columns(part),
    ]


def _notes(notes: Sequence[str]) -> list[str]:
    return [
        _item("" if i else "note", line)
        for note in notes
        for i, line in enumerate(textwrap.wrap(note, _READ))
    ]


def _groups(part: "ExplainedSet") -> list[str]:
    if part.finding is not None:
        found, delta = part.finding, f"delta {cost(part.finding.delta)}"
        how = f"shown where their noisy count is high, at {delta}"
        if found.epsilon:
            how = f"found with epsilon {cost(found.epsilon)} and {delta}"
        many, more = "people", " (more where people are in several groups)"
        if part.limits is None and not part.choice:
            many, more = "rows", ""
        least = f"a group is shown from about {found.people} {many} on{more}"
        return [_item("groups", f"not public: {how}"), _item("", least)]
    public = f"{part.groups:,}, all public: each is answered, also if it is empty"
    return [_item("groups", public if part.keys else "one, of all rows")]


_ALLOWS = (
    "the answer says what share of people has more, and its intervals allow for that",
    "(if too few people can be seen, the limit is a guess, and the answer says so)",
)


def _limits(part: "ExplainedSet", unit: str) -> list[str]:
    who = unit.partition(",")[0] if unit.startswith("one person in one ") else "one person"
    if part.choice:
        unit_of_cost = "rho" if part.choice_noise is NoiseKind.GAUSSIAN else "epsilon"
        told = [f"according to an earlier answer {_share(part)} of people have more rows"]
        what = f"{' and '.join(part.learnt)} of {who}"
        return [
            _item("limits", f"not stated: limits on the {what} are chosen"),
            _item("", f"from noisy histograms, for {unit_of_cost} {cost(part.choice)}"),
            *(_item("", one) for one in (_second(part) if part.second else ())),
            *(_item("", one) for one in (_ALLOWS if part.clipped is None else told)),
        ]
    if part.limits is None:
        return [_item("limits", "none: each row is protected by itself")]
    if part.clipped == 0 and part.limits.max_rows is None:
        return [_item("limits", "none needed: each person counts once")]
    groups, rows = part.limits.max_groups or 1, part.limits.max_rows or 1
    where = "it" if groups == 1 else "each"
    most = f"{counted(groups, 'group')} with {counted(rows, 'row')} in {where}"
    more = "whoever would count for more is weighted down; how many would is not public"
    if part.clipped == 0:
        more = "nobody has more: a subquery leaves one row per person"
    return [_item("limits", f"{who} counts at most as much as {most};"), _item("", more)]


def _second(part: "ExplainedSet") -> tuple[str, str]:
    """Who pays for the second histogram, and with what."""
    gaussian = part.choice_noise is NoiseKind.GAUSSIAN
    less = 1 - float(1 - part.second) ** (0.5 if gaussian else 1)
    return (
        f"people with more than about {FAR} times the limit on rows are counted a second time,",
        f"for {float(part.second):.0%} of what their rows would cost; they weigh {less:.0%} less",
    )


def _share(part: "ExplainedSet") -> str:
    """The clipped share of people, with its error where an answer told it."""
    share = part.clipped or 0.0
    if part.clipped_error is None:
        return f"about {100 * share:.1f} %"
    return share_text(share, part.clipped_error)


def _measured(part: "ExplainedSet") -> list[str]:
    """The measurements, for the limits that hold or for a limit of 1."""
    rows = [["measured", "for", "share", "noise", "one person changes it by", "scale"]]
    for line in part.options[0].lines:
        unit = "epsilon" if line.noise_kind is NoiseKind.LAPLACE else "rho"
        scale = f"{line.scale:,.4g}" if line.scale else "in ranks"
        pure = line.noise_kind is NoiseKind.LAPLACE
        ranked = "permute-and-flip" if pure else "exponential"
        noise_kind = line.noise_kind.value if line.scale else ranked
        noise = f"{noise_kind}, {unit} {cost(line.cost)}"
        users = ", ".join(plain(name) for name in line.columns)
        share = f"{float(line.share):.0%}" if line.share else "with it"
        rows.append([line.what, users, share, noise, f"{line.moves:,.4g}", scale])
    note = (
        ["    for a limit of 1; the last two columns grow with the limit"]
        if len(part.options) > 1
        else []
    )
    return _table(rows) + note


def _columns(part: "ExplainedSet") -> list[str]:
    """The effect of noise on each column, for each option."""
    notes = []
    if len(part.options) > 1:
        notes.append("    for example limits on the rows (and groups) of one person")
    if any(one.rows for option in part.options for one in option.expected.values()):
        notes.append(f"    * in a group of {GROUP:,} rows; larger in smaller groups")
    return _table(_expectations(part, "95 % interval")) + notes


def _expectations(part: "ExplainedSet", alone: str) -> list[list[str]]:
    """A head, and a row for each column; a head that stands `alone` needs no limits."""
    options, heads = part.options, [alone]
    if len(options) > 1:
        bounds = [one.contributions for one in options]
        heads = [f"{one.noise_kind.value}, limit {one.rows}" for one in bounds]
    return [
        ["column", *heads],
        *(
            [plain(n), *(_expected(one.expected[n]) for one in options)]
            for n in options[0].expected
        ),
    ]


def _expected(expected: ExpectedError) -> str:
    mark = "*" if expected.rows else ""
    unit = f" {expected.unit}" if expected.unit else ""
    return f"{_SIGN} {half(expected.half_width)}{unit}{mark}"


def _table(rows: list[list[str]]) -> list[str]:
    widths = [max(columns(row[i]) for row in rows) for i in range(len(rows[0]))]
    cells = [[pad(text, width) for text, width in zip(row, widths, strict=True)] for row in rows]
    return [f"  {'  '.join(row).rstrip()}" for row in cells]


def _sql(explanation: "Explanation") -> list[str]:
    chosen = any(len(part.options) > 1 for part in explanation.parts)
    title = "SQL that will run" + (", shown for a limit of 10" if chosen else "")
    short = (
        text if len(text) <= _LONG else f"{text[:_LONG]} \N{HORIZONTAL ELLIPSIS}"
        for text in explanation.sql
    )
    return [f"{title} (in full in .sql)", *(f"  {i}. {text}" for i, text in enumerate(short, 1))]
