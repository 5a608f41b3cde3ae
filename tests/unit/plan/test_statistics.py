"""Values as integers on a grid."""

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.plan.builder import From
from discreet.plan.expression_builder import count, quantile
from discreet.plan.expressions import Column
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.relations import Scan
from discreet.plan.schema import Person, Table
from discreet.plan.statistics import Ranks, grid, ranks, ranks_of

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(FINITE, FINITE, st.floats(0, 1))
def test_every_value_lies_within_reach(one, other, share):
    low, high = sorted((one, other))
    assume(Fraction(high) - Fraction(low) < Fraction(2) ** 1023)
    fine = grid(low, high, whole=False)
    for value in (low, high, low + share * (high - low)):
        steps = round((value - fine.centre) / fine.step)
        assert abs(steps) <= fine.reach


@pytest.mark.parametrize(("low", "high"), [(0.0, 1e9), (-3.3, 7.7), (0.0, 0.1), (-1e-300, 5.0)])
def test_zero_is_a_point_of_the_grid(low, high):
    fine = grid(low, high, whole=False)
    zero = round((0.0 - fine.centre) / fine.step)
    assert fine.centre + zero * fine.step == 0
    assert (Fraction(fine.centre) / Fraction(fine.step)).denominator == 1


def test_a_range_of_one_value_keeps_it():
    assert grid(0.1, 0.1, whole=False).centre == 0.1


@pytest.mark.parametrize("value", [0, 1, -7, 1 << 40])
def test_a_constant_has_a_reach_for_noise_to_hide(value):
    for whole in (True, False):
        one = grid(value, value, whole=whole)
        assert one.reach >= 1
        assert one.centre == value


@pytest.mark.parametrize(
    ("kind", "low", "high", "cells"),
    [
        (Kind.INTEGER, 0, 9, (-0.5, 9.5, 10)),
        (Kind.INTEGER, 0, 5000, (0, 5000, 2048)),
        (Kind.REAL, 0.0, 9.0, (0.0, 9.0, 2048)),
        (Kind.REAL, 3.0, 3.0, (3.0, 3.0, 1)),
        (Kind.REAL, 0.0, 5e-324, (0.0, 5e-324, 1)),
    ],
)
def test_whole_numbers_have_a_cell_each_and_values_that_hardly_differ_share_one(
    kind, low, high, cells
):
    scope = {"x": Type(kind, range=Range(low, high))}
    assert ranks(Column("x"), None, scope) == Ranks(Column("x"), None, *cells)


def test_quantiles_alone_have_ranks():
    columns = {"who": Type(Kind.TEXT), "x": Type(Kind.INTEGER, nullable=False, range=Range(0, 9))}
    rows = From(Scan(Table("t", columns, Person("who"))))
    query = rows.agg(n=count(), q=quantile("x", 0.5)).query()
    by_name = {one.name: ranks_of(query, one) for one in query.aggregates}
    assert by_name == {"n": None, "q": ranks(Column("x"), None, columns)}
