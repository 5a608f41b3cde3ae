"""Choices of cells for quantiles: how far apart one row moves their scores, on all small data.

A replayed question hears which cells are chosen, at which scale, and believes how far `apart` one
row moves two scores: the same value set the scale. Here it is found out, by the scores that a
choice asks noise for, with and without one row.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from itertools import product
from typing import Any, Final

import numpy as np

from discreet import noise
from discreet.answer.plan.quantile_draws import QuantileDraw, quantile_draws
from discreet.audit.evidence import Evidence, Point
from discreet.audit.recorder import PATCHING
from discreet.audit.replayed_questions import not_drawn
from discreet.audit.report import Audit
from discreet.mechanisms.mechanism import Claim, Pair
from discreet.plan.bounding import FULL, NoiseKind
from discreet.plan.expressions import Column
from discreet.plan.query import Aggregate, AggregateFunction, counted_from_end
from discreet.privacy import BoundedRange, Guarantee, Pure

_SIZE, _PLACES = 6, (0, 2, 5)
"""How many cells there are, and those that have rows before one comes."""

_COUNTS: Final = (0, 4, 8, 12)
"""Rows in each of these: fewer, and more, than a choice is to have to spare."""

Side = tuple[int, ...]
"""Rows in each cell."""


@contextmanager
def _asking(asked: list[tuple[Any, Fraction]]) -> Iterator[None]:
    """Write down what noise is asked to choose by; the first candidate is chosen."""

    def choose(scores: Any, scale: Fraction, _: int, widths: Any = 1) -> Any:
        asked.append((np.repeat(scores, widths), scale))
        return np.zeros(1, dtype=np.int64)

    with PATCHING:
        true = noise.choose, noise.permute_and_flip
        noise.choose = noise.permute_and_flip = choose  # type: ignore[assignment]
        try:
            yield
        finally:
            noise.choose, noise.permute_and_flip = true


def _scores(draw: QuantileDraw, side: Side) -> list[Fraction]:
    """What each candidate is chosen by, at the scale that epsilon 1 takes by what is stated."""
    counts = np.array(side)
    cells, asked = np.flatnonzero(counts), list[tuple[Any, Fraction]]()
    with _asking(asked):
        draw.cell(cells, counts[cells] * FULL, _SIZE, draw.apart * FULL)
    [(scores, temperature)] = asked
    return [int(one) / temperature for one in scores]


def _pairs() -> Iterator[Pair]:
    """One row more, in any cell."""
    rows = product(_COUNTS, repeat=len(_PLACES))
    for some, more in product(rows, range(_SIZE)):
        before = tuple(dict(zip(_PLACES, some, strict=True)).get(i, 0) for i in range(_SIZE))
        yield Pair(before, tuple(n + (i == more) for i, n in enumerate(before)))


def _claim(draw: QuantileDraw) -> Claim:
    promised: Guarantee = Pure(1) if draw.flips else BoundedRange(1)
    return Claim("QuantileDraw", promised, tuple(_pairs()), not_drawn)


def _draws() -> Iterator[tuple[str, QuantileDraw]]:
    """Every kind of choice, by the exponential mechanism and by permute-and-flip."""
    function, x = AggregateFunction, (Column("x"),)
    levels = {"median": Fraction(1, 2), "decile": Fraction(9, 10), "lowest": Fraction(0)}
    inner = [Aggregate(name, function.QUANTILE, x, level=at) for name, at in levels.items()]
    ends = [counted_from_end(Aggregate(one.value, one, x)) for one in (function.MIN, function.MAX)]
    asked = [*inner, *ends, Aggregate("mode", function.MODE, x)]
    for kind, (one, lost) in product(
        NoiseKind, [*((one, None) for one in asked), *product(inner, (0.0, 0.1))]
    ):
        [draw] = quantile_draws([one], [] if lost is None else [one.name], lost or 0.0, kind)
        interval = {None: "", 0.0: "-interval", 0.1: "-interval-moved"}[lost]
        yield f"{one.name.lower()}{interval}{'-flips' if draw.flips else ''}", draw


CHOICES: Final[Mapping[str, QuantileDraw]] = {f"cell-{name}": draw for name, draw in _draws()}
"""Names as the command line takes them."""


def audit_choice(name: str, draw: QuantileDraw) -> Audit:
    """Find how far apart one row moves two scores on all pairs; certain.

    Why: that, over the temperature, is the epsilon of both mechanisms (and all that it hangs on).
    """
    start, claim, apart = time.process_time(), _claim(draw), Fraction(0)
    for pair in claim.pairs:
        both = zip(_scores(draw, pair.left), _scores(draw, pair.right), strict=True)
        moved = [after - before for before, after in both]
        apart = max(apart, max(moved) - min(moved))
    event = "scores of two cells move apart by one row"
    found = Evidence(claim.name, "law", Point(1.0, 0.0), float(apart), event)
    return Audit(name, claim, (found,), time.process_time() - start)
