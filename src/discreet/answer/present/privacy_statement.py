"""A release in words that hold up outside the house."""

import textwrap
from functools import partial
from typing import TYPE_CHECKING

from discreet.answer.present.number_text import cost
from discreet.answer.present.release_text import allows
from discreet.privacy import Neighbours
from discreet.privacy.guarantees.interpretation import read

if TYPE_CHECKING:
    from discreet.answer.present.release import Release

_DONE = {
    Neighbours.ADD_REMOVE: "adding or removing that one",
    Neighbours.CHANGE_ONE: "replacing that one by any other",
}


_LIMITS = (
    "The guarantee is about what taking part adds: facts that hold for people at large can be"
    " learned from these numbers, and are meant to be. Other releases about the same data come on"
    " top of this one."
)
_NOISE = (
    "The intervals beside the numbers are about this noise alone: 95 times in 100 the number"
    " without noise lies within."
)
_CHOSEN = (
    "The intervals beside the numbers are about this noise and about what the limits cut off, which"
    " were chosen from noisy counts of people: 95 times in 100 the number without either lies"
    " within, but for what people too few to be seen have beyond the rows and groups stated above."
)
_WIDER = (
    "They are not confidence intervals for a wider population: they say nothing about sampling"
    " error, about mistakes in the data, or about what holding values to ranges cut off."
)


def statement(release: "Release") -> str:
    """The privacy statement, in paragraphs: protection, clamping, and what the intervals cover."""
    if release.price.is_free:
        return "These numbers are computed from public tables alone: exact, about nobody, and free."
    parts = (
        _protected(release),
        [_odds(release)],
        _clamped(release),
        _intervals(release),
        [_LIMITS],
    )
    wrap = partial(textwrap.fill, width=100, break_long_words=False, break_on_hyphens=False)
    return "\n\n".join(wrap(" ".join(part)) for part in parts if part)


def _protected(release: "Release") -> list[str]:
    unit = "one person" if release.facts is None else release.facts.unit
    change = _DONE[release.guarantee.neighbours]
    epsilon, delta = cost(release.price.epsilon), cost(release.price.delta)
    lines = [
        "These numbers were released with differential privacy.",
        f"What is protected is {unit}: {change} changes the probability of anything that can be",
        "seen here only within the stated limits, whatever else is known or will be.",
        f"The price was epsilon = {epsilon} and delta = {delta}.",
    ]
    if release.facts is not None and release.facts.by_row:
        lines.append(
            "Somebody with several rows is protected for any one of them, not for all together;"
            " where a person is named below, their one row is meant."
        )
    return lines


def _odds(release: "Release") -> str:
    delta = release.price.delta or None
    return f"In odds: {read(release.guarantee, delta=delta)}"


def _clamped(release: "Release") -> list[str]:
    lines = []
    if release.facts is not None and release.facts.clamped:
        held = "; ".join(release.facts.clamped)
        lines.append(
            "Before anything was added up, values were held to ranges that the owner has stated;"
            f" values outside count as the nearest end: {held}."
        )
    remarks = () if release.facts is None else release.facts.remarks
    notes = dict.fromkeys(note for note in release.notes if note not in remarks)
    lines += [f"{note[:1].upper()}{note[1:]}{_less(note)}." for note in notes]
    return lines + [f"{remark}." for remark in remarks]  # some begin with the name of a column


def _less(note: str) -> str:
    """What happens to people over the limits, beside the note that states them."""
    return "; whoever has more counts for less" if " weighs at most " in note else ""


def _intervals(release: "Release") -> list[str]:
    if not release.half_widths:
        return ["The numbers carry noise; no interval of it is stated here."]
    return [_CHOSEN if allows(release) else _NOISE, _WIDER]
