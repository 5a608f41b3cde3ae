"""How far one person moves what is measured: the one rule for each statistic, in exact integers.

Statistics may be measured together, as whole-number combinations of which one row can only move
some: `Strategy`. The proof is in `docs/explanation/proofs/bounding.md`.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from discreet.mechanisms.grid import sqrt_up
from discreet.plan.bounding import FULL, ContributionBounds, NoiseKind
from discreet.plan.expressions import conjuncts
from discreet.plan.statistics import Distinct, DistinctTotal, People, Ranks, Rows, Statistic, Total


@dataclass(frozen=True, slots=True)
class Strategy:
    """Whole-number combinations of statistics that are measured together, with one noise for each.

    Guarantee:
        One row that counts moves all combinations together by at most `each` in the l1 norm, so in
        the l2 norm too. `inverse` gives the statistics back: the i-th is the sum of combinations
        with the signs `inverse[i]`, divided by `divisors[i]`.
    Neighbours:
        One row more or less. What a person's rows add is bounded by `sensitivity`.
    Why:
        A row whose value is v, |v| <= r, adds (r + v, r - v) to (r n + t, r n - t): both are at
        least 0 and add up to 2r. A row without a value adds 2r to 2r (all - n), and nothing else.
    Edge cases:
        A row whose value is NULL or NaN has v = 0. A range of one value has r = 1, not 0. What no
        rule joins is a TypeError, and never measured.

    Example:
        >>> rows = Strategy.of((Rows(None),))
        >>> rows.combinations, rows.each, rows.inverse, rows.divisors
        (((1,),), 1, ((1,),), (1,))

    Reference:
        `docs/explanation/proofs/bounding.md`, Strategies. Measuring combinations and inverting
        them: Li et al., "Optimizing linear counting queries under differential privacy", PODS 2010,
        Section 3.
    """

    statistics: tuple[Statistic, ...]
    combinations: tuple[tuple[int, ...], ...]
    each: int
    inverse: tuple[tuple[int, ...], ...]
    divisors: tuple[int, ...]

    @staticmethod
    def of(statistics: tuple[Statistic, ...]) -> "Strategy":
        """The strategy for one statistic, or for several for which `together` finds one.

        TypeError for others, whose sensitivity would be another.
        """
        match statistics:
            case (one,):
                most = one.grid.reach if isinstance(one, Total) else 1
                most = one.reach if isinstance(one, DistinctTotal) else most
                return Strategy(statistics, ((1,),), most, ((1,),), (1,))
            case (Rows() as all_, Rows() as some) if _is_among(some, all_):
                return Strategy(statistics, ((1, -1), (0, 1)), 1, ((1, 1), (0, 1)), (1, 1))
            case (Rows() as count, Total(_, _, grid) as total) if _is_total(total, count):
                r = grid.reach
                return Strategy(statistics, ((r, 1), (r, -1)), 2 * r, ((1, 1), (1, -1)), (2 * r, 2))
            case (Rows() as all_, Rows() as some, Total(_, _, grid) as total) if _is_among(
                some, all_
            ) and _is_total(total, some):
                r = grid.reach
                return Strategy(
                    statistics,
                    ((2 * r, -2 * r, 0), (0, r, 1), (0, r, -1)),
                    2 * r,
                    ((1, 1, 1), (0, 1, 1), (0, 1, -1)),
                    (2 * r, 2 * r, 2),
                )
        raise TypeError(statistics)

    def terms(self, statistic: Statistic) -> int:
        """How many noises a statistic has in it."""
        return sum(map(abs, self.inverse[self.statistics.index(statistic)]))


def sensitivity(strategy: Strategy, contributions: ContributionBounds) -> Fraction:
    """How far adding or removing one person moves what is measured, in the norm of the noise.

    Guarantee:
        A whole number: so the noise of a group is the same alone or among others, which may be
        there because of one person.
    Neighbours:
        Adding or removing a person. Changing one moves it twice as far: see `Measurement`.
    Why:
        Rows are weighted so that the norm of a person's rows is at most FULL * rows, and each adds
        `each` at most. In a count of people, a person has weights whose norm is at most FULL *
        groups, or FULL * sqrt(groups). Of different values a person adds at most `rows` to all
        groups together, each of which counts FULL.
    Edge cases:
        Roots are rounded up to whole numbers. Exact sums that an engine saturates move no further.

    Example:
        >>> people = Strategy.of((People(None),))
        >>> [int(sensitivity(people, ContributionBounds(kind, 1, 2))) for kind in NoiseKind]
        [2048, 1449]

    Reference:
        `docs/explanation/proofs/bounding.md`, the theorem. Dwork and Roth, "The algorithmic
        foundations of differential privacy", 2014, Definitions 3.1 (l1) and 3.8 (l2).
    """
    statistic = strategy.statistics[0]
    match statistic:
        case Rows() | Total() | Ranks() | Distinct():
            return Fraction(FULL * contributions.rows * strategy.each)
        case People():
            if contributions.noise_kind is NoiseKind.LAPLACE:
                return Fraction(FULL * contributions.groups)
            return Fraction(math.ceil(FULL * sqrt_up(Fraction(contributions.groups))))
        case _:
            assert_never(statistic)


def apart(statistics: Iterable[Statistic]) -> tuple[Strategy, ...]:
    """Each statistic separately."""
    return tuple(Strategy.of((one,)) for one in statistics)


def together(
    statistics: Sequence[Statistic], noise_kind: NoiseKind, alone: Statistic | None = None
) -> tuple[Strategy, ...]:
    """Statistics of which one row moves only some, measured together if that helps.

    A count of rows goes with one of some of them, for which another condition holds besides; under
    Laplace noise a count of values goes with their total. `alone` stays by itself.
    """
    left = [one for one in statistics if one != alone]
    found: dict[Statistic, Strategy] = {}
    counts = [one for one in left if isinstance(one, Rows)]
    for first in sorted(counts, key=lambda one: len(conjuncts(one.where))):  # the widest first
        if first not in left:
            continue
        joined: list[Statistic] = [first]
        left.remove(first)
        inner = next((one for one in left if isinstance(one, Rows) and _is_among(one, first)), None)
        if inner is not None:
            joined.append(inner)
            left.remove(inner)
        total = next((one for one in left if _is_total(one, joined[-1])), None)
        if noise_kind is NoiseKind.LAPLACE and total is not None:
            joined.append(total)
            left.remove(total)
        found[first] = Strategy.of(tuple(joined))
    taken = {one for strategy in found.values() for one in strategy.statistics}
    return tuple(
        found[one] if one in found else Strategy.of((one,))
        for one in statistics
        if one in found or one not in taken
    )


def _is_total(statistic: Statistic, count: Statistic) -> bool:
    return isinstance(statistic, Total) and Rows(statistic.where) == count


def _is_among(some: Rows, all_: Rows) -> bool:
    """Whether rows count for one only if they count for the other, by further conditions."""
    return set(conjuncts(some.where)) > set(conjuncts(all_.where))
