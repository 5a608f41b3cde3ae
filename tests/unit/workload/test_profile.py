"""Cells of values of any size: every value is in the cell that says so, and parts cover them."""

import datetime as dt

import numpy as np
import pytest

from discreet.plan.kinds import Kind
from discreet.workload.profile import ValueCells, refine, seen


@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.REAL, Kind.DATE, Kind.TIMESTAMP])
def test_every_value_is_in_the_cell_that_holds_it(kind):
    cells = ValueCells.of(kind)
    sizes = np.array([2.0**e * m for e in range(52) for m in (1, 1.25, 1.999)])
    values = np.concatenate([[0.0], sizes, -sizes]).round()
    places = cells.place((values + cells.origin).astype(np.int64))
    assert np.all(cells.edges[places] <= values)
    ends = cells.edges[places + 1]
    assert np.all((values < ends) | ((kind is Kind.REAL) & (values <= ends)))
    assert np.all(np.diff(cells.edges) >= 0)
    assert cells.edges.size == cells.size + 1
    assert np.all(np.diff(cells.octave_starts) > 0)


def test_the_ends_of_every_kind_have_a_cell_and_a_value():
    low, high = ValueCells.of(Kind.INTEGER).place(np.array([-(1 << 63), (1 << 63) - 1]))
    assert low + high == 2 * ValueCells.of(Kind.INTEGER).side
    reals = np.array([-1e308, 1e308, 5e-324, -0.0])
    side = ValueCells.of(Kind.REAL).side
    assert ValueCells.of(Kind.REAL).place(reals).tolist() == [0, 2 * side, side, side]
    for kind in (Kind.INTEGER, Kind.REAL, Kind.DATE, Kind.TIMESTAMP):
        cells = ValueCells.of(kind)
        low, high = cells.value(0), cells.value(cells.size, last=True)
        assert low < high
    assert ValueCells.of(Kind.DATE).value(0) == dt.date.min
    assert ValueCells.of(Kind.TIMESTAMP).value(0).year == 1


def test_parts_of_what_is_seen_hold_about_equally_much():
    cells = ValueCells.of(Kind.INTEGER)
    exact = np.zeros(cells.size, dtype=np.int64)
    exact[cells.place(np.arange(1990, 2022))] = 1000
    starts = refine(
        cells.octave_starts,
        np.add.reduceat(exact, cells.octave_starts),
        10,
        cells.size,
        64,
        outer=0,
    )
    starts = refine(starts, np.add.reduceat(exact, starts), 10, cells.size, 16, outer=1)
    parts = np.add.reduceat(exact, starts)
    assert parts.sum() == exact.sum()
    assert parts[1:-1].max() <= 6000
    assert seen(parts, 10, outer=1)
    nothing = refine(cells.octave_starts, np.zeros(129, dtype=np.int64), 1, 131_073, 9, outer=0)
    assert nothing.size == 3
