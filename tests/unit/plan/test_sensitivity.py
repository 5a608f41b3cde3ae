"""Strategies, exactly: what one row adds, what comes back, and how far one person moves it all."""

import itertools
from fractions import Fraction

import pytest

from discreet.plan.bounding import FULL, ContributionBounds, NoiseKind
from discreet.plan.expressions import Call, Column, Function
from discreet.plan.sensitivity import Strategy, apart, sensitivity, together
from discreet.plan.statistics import Distinct, DistinctTotal, Grid, People, Ranks, Rows, Total

LAPLACE, GAUSSIAN = NoiseKind.LAPLACE, NoiseKind.GAUSSIAN
X, P, Q = Column("x"), Column("p"), Column("q")
BOTH = Call(Function.AND, (P, Q))
ALL, SOME, FEW = Rows(None), Rows(P), Rows(BOTH)
GRID = Grid(-5.0, 5.0, 0.0, 1.0, 5)
OF_ALL, OF_SOME, OF_FEW = (Total(X, where, GRID) for where in (None, P, BOTH))
DISTINCTS = DistinctTotal(X, None, 5)
RANKS, DISTINCT, PEOPLE = Ranks(X, None, 0.0, 1.0, 8), Distinct(X, None), People(None)

STRATEGIES = [
    (ALL,),
    (OF_ALL,),
    (PEOPLE,),
    (RANKS,),
    (DISTINCT,),
    (DISTINCTS,),
    (ALL, SOME),
    (SOME, OF_SOME),
    (ALL, SOME, OF_SOME),
]


def of(statistics):
    return Strategy.of(statistics)


def rows_of(statistics):
    """What one row can add to each statistic: those for which it does not count are 0."""
    counts = sum(isinstance(one, Rows) for one in statistics)
    totals = len(statistics) > counts
    for level in range(counts + 1):
        seen = [int(i < level) for i in range(counts)]
        values = range(-GRID.reach, GRID.reach + 1) if level == counts else (0,)
        yield from ([*seen, value] for value in values) if totals else (seen,)


def combined(strategy, statistics):
    return [
        sum(a * b for a, b in zip(row, statistics, strict=True)) for row in strategy.combinations
    ]


@pytest.mark.parametrize("statistics", [s for s in STRATEGIES if isinstance(s[0], Rows | Total)])
def test_no_row_adds_more_than_each_and_some_row_adds_as_much(statistics):
    strategy = of(statistics)
    moved = [sum(map(abs, combined(strategy, row))) for row in rows_of(statistics)]
    assert max(moved) == strategy.each


@pytest.mark.parametrize("statistics", STRATEGIES)
def test_the_inverse_gives_the_statistics_back(statistics):
    strategy = of(statistics)
    for exact in itertools.product((0, 1, 7, -3), repeat=len(statistics)):
        numbers = combined(strategy, exact)
        back = [
            Fraction(sum(s * n for s, n in zip(signs, numbers, strict=True)), divisor)
            for signs, divisor in zip(strategy.inverse, strategy.divisors, strict=True)
        ]
        assert back == list(exact)


def test_a_statistic_has_as_many_noises_as_combinations_it_is_made_of():
    three = of((ALL, SOME, OF_SOME))
    assert [three.terms(one) for one in three.statistics] == [3, 2, 2]
    assert [of((ALL, SOME)).terms(one) for one in (ALL, SOME)] == [2, 1]
    assert of((OF_ALL,)).terms(OF_ALL) == 1


@pytest.mark.parametrize(
    "statistics",
    [
        (),
        (OF_ALL, ALL),
        (PEOPLE, ALL),
        (ALL, PEOPLE),
        (ALL, SOME, OF_FEW),  # the total is of other rows
        (SOME, ALL, OF_ALL),  # the first count is not of more rows
    ],
)
def test_statistics_that_no_rule_joins_are_no_strategy(statistics):
    with pytest.raises(TypeError):
        of(statistics)


@pytest.mark.parametrize("statistics", [s for s in STRATEGIES if s != (PEOPLE,)])
@pytest.mark.parametrize("noise_kind", list(NoiseKind))
def test_rows_move_a_strategy_by_full_weight_times_rows_times_each(statistics, noise_kind):
    each = {1: 1, 2: 1, 3: 10}[len(statistics)]
    each = {(OF_ALL,): 5, (DISTINCTS,): 5, (SOME, OF_SOME): 10}.get(statistics, each)
    moved = sensitivity(of(statistics), ContributionBounds(noise_kind, 12, 3))
    assert moved == FULL * 12 * each


@pytest.mark.parametrize("groups", [1, 2, 3, 4, 9, 10, 999])
def test_people_move_counts_by_their_groups_or_by_the_root_of_them_rounded_up(groups):
    laplace, gaussian = (
        sensitivity(of((PEOPLE,)), ContributionBounds(kind, 1, groups)) for kind in NoiseKind
    )
    assert laplace == FULL * groups
    assert gaussian.denominator == 1
    assert (gaussian - 1) ** 2 < FULL**2 * groups <= gaussian**2


def test_apart_measures_each_statistic_by_itself_in_its_order():
    assert apart([SOME, OF_SOME, PEOPLE]) == (of((SOME,)), of((OF_SOME,)), of((PEOPLE,)))


@pytest.mark.parametrize(
    ("statistics", "laplace", "gaussian"),
    [
        ((ALL,), [(ALL,)], [(ALL,)]),
        ((ALL, SOME), [(ALL, SOME)], [(ALL, SOME)]),
        ((SOME, ALL), [(ALL, SOME)], [(ALL, SOME)]),
        ((ALL, OF_ALL), [(ALL, OF_ALL)], [(ALL,), (OF_ALL,)]),
        ((ALL, SOME, OF_SOME), [(ALL, SOME, OF_SOME)], [(ALL, SOME), (OF_SOME,)]),
        ((SOME, OF_ALL), [(SOME,), (OF_ALL,)], [(SOME,), (OF_ALL,)]),
        ((SOME, FEW, OF_FEW), [(SOME, FEW, OF_FEW)], [(SOME, FEW), (OF_FEW,)]),
        ((SOME, Rows(Q)), [(SOME,), (Rows(Q),)], [(SOME,), (Rows(Q),)]),
        ((PEOPLE, ALL, RANKS, DISTINCT), None, None),
        ((FEW, Rows(Call(Function.AND, (Q, P)))), None, None),  # the same rows, not some of them
        ((OF_ALL, PEOPLE, ALL), [(PEOPLE,), (ALL, OF_ALL)], [(OF_ALL,), (PEOPLE,), (ALL,)]),
        # A count that goes with another takes its total from it, and each count goes with one.
        ((ALL, SOME, FEW, OF_FEW), [(ALL, SOME), (FEW, OF_FEW)], [(ALL, SOME), (FEW,), (OF_FEW,)]),
    ],
)
def test_statistics_of_which_a_row_moves_only_some_go_together(statistics, laplace, gaussian):
    for kind, expected in ((LAPLACE, laplace), (GAUSSIAN, gaussian)):
        found = [one.statistics for one in together(statistics, kind)]
        assert found == (expected or [(one,) for one in statistics])


def test_what_is_to_stay_alone_stays_alone():
    assert [one.statistics for one in together((ALL, SOME, OF_SOME), LAPLACE, alone=SOME)] == [
        (ALL,),
        (SOME,),
        (OF_SOME,),
    ]
    assert [one.statistics for one in together((ALL, SOME, OF_SOME), LAPLACE, alone=ALL)] == [
        (ALL,),
        (SOME, OF_SOME),
    ]
