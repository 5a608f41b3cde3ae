"""Every statistic keeps its bound on every row, and a row's share never depends on its company."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.learn.additive import CurveGradient
from discreet.learn.binning import (
    BinCounts,
    FeatureBins,
    Tree,
    bins_of_cells,
    equal_bins,
    fine_cells,
    private_bins,
)
from discreet.learn.design import FeatureTotals, NormCounts, RowTotals, Scaling, read_bounds
from discreet.learn.linear_sums import LinkGradient, LogisticCurvature, SecondMoments
from discreet.learn.noisy_sums import NoisySums
from discreet.learn.rows import FULL, Chunk, exact_dot, exact_product, rows_of, weights_of
from discreet.learn.statistical_queries import Expectation
from discreet.learn.unsupervised import ClusterTotals

LOW, HIGH = np.array([-3.0, 0.0, 1e-3]), np.array([3.0, 1e6, 2e-3])
CENTRE, SCALE = np.array([0.5, 10.0, 1.5e-3]), np.array([1.0, 1e-5, 1e4])
SCALING = Scaling(LOW, HIGH, CENTRE, SCALE, 1.7)
BARE = Scaling(LOW, HIGH, CENTRE, SCALE, 2.3, 0)
JOINED = Scaling(LOW, HIGH, CENTRE, SCALE, 1.2, free=1)
BINS = equal_bins(LOW, HIGH, [4, 7, 3])
TREE = Tree(np.array([0, 1, 2]), np.array([2, 3, 1]))
THETA = np.array([[0.3, -60.0, 1.5, 2.0]])
THREE = np.array([[0.3, -6.0, 1.5, 2.0], [1.0, 2.0, -3.0, 0.1], [0.0, 0.0, 9.0, -70.0]])
CURVES = np.linspace(-3, 3, sum(BINS.sizes) + 1)
AXES, CENTRES = np.array([[0.6, 0.8, 0.0]]), np.array([[100.0], [-700.0]])


def _same(chunk):
    return chunk


def _scaled(chunk):
    return Chunk(SCALING.steps(chunk.x), chunk.y, chunk.weight)


def _bare(chunk):
    return Chunk(BARE.steps(chunk.x), chunk.y, chunk.weight)


def _placed(chunk):
    return Chunk(BINS.places(chunk.x), chunk.y, chunk.weight)


CASES = {
    "feature totals": (FeatureTotals(LOW, HIGH), _same),
    "row totals": (RowTotals(BARE), _same),
    "norm counts": (NormCounts(SCALING, 4.0), _same),
    "second moments": (SecondMoments(SCALING), _same),
    "joined moments": (SecondMoments(JOINED), _same),
    "class totals": (FeatureTotals(LOW, HIGH, 3), _same),
    "bin counts": (BinCounts(BINS, 3), _same),
    "logistic": (LinkGradient(THETA, SCALING.radius), _scaled),
    "hinge": (LinkGradient(THREE, SCALING.radius, "hinge", clip=0.5), _scaled),
    "perceptron": (LinkGradient(THREE, SCALING.radius, "perceptron"), _scaled),
    "softmax": (LinkGradient(THREE, SCALING.radius, softmax=True, clip=0.7), _scaled),
    "by row": (LinkGradient(THETA, SCALING.radius, clip=0.25, by_row=True), _scaled),
    "curvature": (LogisticCurvature(THETA[0], SCALING.radius, SCALING.reach), _scaled),
    "curves": (CurveGradient(CURVES, tuple(BINS.sizes), 1, 0.6), _placed),
    "clusters": (ClusterTotals(CENTRES, AXES, BARE.radius, 700), _bare),
    "leaves": (BinCounts(BINS, 3, (TREE, TREE), by_bin=False), _same),
    "leaf bins": (BinCounts(BINS, 3, (TREE, TREE)), _same),
    "expectation": (Expectation(lambda x, _: x[0] * 7), _same),
}
BINARY = {"logistic", "by row", "curvature", "curves"}


def _rows(n=400):
    rng = np.random.default_rng(11)
    x = rng.uniform(2 * LOW - HIGH, 2 * HIGH - LOW, (n, 3))
    odd = np.array([0.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324])
    x[: n // 2] = np.where(
        rng.uniform(size=(n // 2, 3)) < 0.5, x[: n // 2], odd[rng.integers(0, 7, (n // 2, 3))]
    )
    y = np.where(rng.uniform(size=n) < 0.1, np.nan, rng.integers(0, 3, n))
    return x, y


def _chunk(name, weight=1.0):
    x, y = _rows()
    y = np.minimum(y, 1) if name in BINARY else y
    return CASES[name][1](Chunk(x, y, np.full(len(x), weight)))


def _each(name):
    statistic, chunk = CASES[name][0], _chunk(name)
    for i in range(len(chunk.y)):
        alone = Chunk(chunk.x[i : i + 1], chunk.y[i : i + 1], chunk.weight[i : i + 1])
        yield np.asarray(statistic.sums(alone)).ravel()


@pytest.mark.parametrize("name", CASES)
def test_a_row_never_exceeds_the_bound_of_its_statistic(name):
    statistic = CASES[name][0]
    for vector in _each(name):
        whole = [int(one) for one in vector]
        assert np.array_equal(whole, vector)
        assert len(whole) == statistic.width
        assert sum(one * one for one in whole) <= statistic.square


@pytest.mark.parametrize("name", CASES)
def test_a_sum_is_that_of_rows_alone_whatever_their_order_and_weight(name):
    statistic, chunk = CASES[name][0], _chunk(name)
    alone = sum(vector.astype(np.int64) for vector in _each(name))
    turned = Chunk(chunk.x[::-1].copy(), chunk.y[::-1].copy(), chunk.weight)
    heavy = Chunk(chunk.x, chunk.y, np.full(len(chunk.y), float(FULL)))

    assert np.array_equal(np.asarray(statistic.sums(chunk)).ravel(), alone)
    assert np.array_equal(np.asarray(statistic.sums(turned)).ravel(), alone)
    assert np.array_equal(np.asarray(statistic.sums(heavy)).ravel(), FULL * alone)


def test_a_scaling_keeps_its_norm_and_reach():
    x, _ = _rows()
    for scaling in (SCALING, BARE, JOINED):
        steps = scaling.steps(x)
        assert (steps == np.rint(steps)).all()
        assert np.abs(steps).max() <= scaling.reach
        assert max(sum(int(v) ** 2 for v in row) for row in steps) <= scaling.radius**2


def test_a_length_that_rounds_down_to_the_limit_is_cut():
    # 533 |x| is a hair above 136876 GRID / 2; as a double it is the limit itself.
    statistic = LinkGradient(np.array([[0.0, 0.0, 0.0, 21.0]]), 136876, clip=0.5)
    row = Chunk(np.array([[131483.0, 180.0, 60.0, 4.0]]), np.zeros(1), np.ones(1))

    (gradient,) = statistic.sums(row)

    assert sum(int(v) ** 2 for v in gradient) <= statistic.square


def test_the_weights_of_a_person_add_up_to_their_limit_at_most():
    for rows in (1, 2, 3, 7, 1000, 5000):
        for most in (1, 2, 10):
            assert weights_of(np.full(rows, rows), most).sum() <= FULL * most
    assert weights_of(np.array([1]), 1)[0] == FULL


def test_people_are_told_apart_by_name_whatever_it_is():
    x = np.zeros((6, 1))
    for groups in (["a", "b", "a", None, None, 3], np.array([1.0, 2, 1, np.nan, np.nan, 3])):
        (chunk,) = rows_of(x, None, groups, 1).chunks()
        assert chunk.weight.tolist() == [512, 1024, 512, 512, 512, 1024]
    large = [2**53, 2**53 + 1, 2**53, 1, 1.0, np.int64(1)]
    (chunk,) = rows_of(np.zeros((7, 1)), None, [*large, float("nan")], 1).chunks()
    assert chunk.weight.tolist() == [512, 1024, 512, 341, 341, 341, 1024]
    for wrong in ([1, 2], np.zeros((6, 1))):
        with pytest.raises(InputError):
            rows_of(x, None, wrong, 1)


def test_products_are_exact_beyond_what_one_float_sum_holds():
    left = np.full((5000, 1), 2.0**25 - 1)
    exact = 5000 * (2**25 - 1) ** 2

    assert int(exact_product(left, left, np.ones(5000), 2**50)[0, 0]) == exact
    assert int((left.T @ np.ones((5000, 1)))[0, 0]) == 5000 * (2**25 - 1)


def test_a_dot_product_does_not_depend_on_the_rows_beside():
    rng = np.random.default_rng(2)
    rows, columns = rng.uniform(-2, 2, (37, 300)), rng.uniform(-1, 1, (300, 5))
    together = exact_dot(rows, columns)

    for i in range(len(rows)):
        assert np.array_equal(exact_dot(rows[i : i + 1], columns)[0], together[i])
    assert together == pytest.approx(rows @ columns, abs=1e-3)


def test_answers_of_a_tape_are_the_answers_of_the_run():
    x, _ = _rows()
    rows = rows_of(x, None, None, 1)
    run = NoisySums(rows, Fraction(1))
    first = [run.sums(FeatureTotals(LOW, HIGH), Fraction(1, 2)), run.coins(9, (4,))]
    nobody = rows_of(x[:0], None, None, 1)
    again = NoisySums(nobody, Fraction(1), recorded=iter(run.tape))

    assert np.array_equal(again.sums(FeatureTotals(LOW, HIGH), Fraction(1, 2)), first[0])
    assert np.array_equal(again.coins(9, (4,)), first[1])
    assert again.guarantee == run.guarantee


def test_a_heavy_cell_is_a_bin_of_its_own():
    # Nine of ten people are at 0; the others lie far above it and are told apart all the same.
    values = np.concatenate([np.zeros(90_000), np.linspace(20, 100, 10_000)])[:, None]
    sums = NoisySums(rows_of(values, None, None, 1), Fraction(1))
    bins, counts = private_bins(
        sums, fine_cells(np.array([0.0]), np.array([100.0])), 8, Fraction(1)
    )

    assert bins.edges[0][0] < 1
    assert (bins.edges[0] > 20).sum() >= 5
    assert counts[0] == pytest.approx(90_000, abs=100)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 100), (17, 90), (-3, 9), (1e9, 1e9 + 1e-5), (-1e-300, 1e-300), (0, 1e307)]
)
def test_equal_bins_found_by_arithmetic_are_those_found_by_comparing(low, high):
    bins = equal_bins(np.array([low]), np.array([high]), [256])
    edges = bins.edges[0]
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, low, high, 1e308, -1e308])
    x = np.concatenate([odd, *(np.nextafter(edges, way) for way in (-np.inf, np.inf)), edges])

    compared = np.where(np.isnan(x), 256, np.searchsorted(edges, x, side="right"))
    assert np.array_equal(bins.places(x[:, None])[:, 0], compared)


def test_the_bin_of_a_cell_is_that_of_its_values_and_takes_the_fewest_bytes():
    # Tables look up every value of a fit: in wider types, 10^7 rows would take gigabytes.
    low, high = np.array([0.0, 0.0]), np.array([100.0, 9_999.0])
    cells = fine_cells(low, high, frozenset([1]))
    bins = FeatureBins((cells.edges[0][[9, 99, 250]], cells.edges[1]))
    values = np.column_stack([np.linspace(-1, 101, 10_000), np.arange(10_000.0)])
    values[::7] = np.nan
    tables = bins_of_cells(bins, cells)

    assert [one.dtype for one in tables] == [np.uint8, np.uint16]
    found = [one.take(cells.places(values)[:, j]) for j, one in enumerate(tables)]
    assert np.array_equal(np.column_stack(found), bins.places(values))


def test_each_row_is_in_one_batch():
    x = np.arange(70_000.0)[:, None]
    batches = rows_of(x, x[:, 0] % 2, None, 1).batches(7)
    found = [np.concatenate([one.x[:, 0] for one in batch.chunks()]) for batch in batches]

    assert np.array_equal(np.sort(np.concatenate(found)), x[:, 0])
    assert all(abs(len(one) - 10_000) < 700 for one in found)  # 7 deviations
    for batch in batches:
        for one in batch.chunks():
            assert np.array_equal(one.y, one.x[:, 0] % 2)


def test_batches_cost_what_the_one_asked_most_costs():
    rows = rows_of(np.zeros((10, 3)), None, None, 1)
    sums = NoisySums(rows, Fraction(1))
    first, second = rows.batches(2), rows.batches(2)
    statistic, tenth = FeatureTotals(LOW, HIGH), Fraction(1, 10)

    for batch, spent in [
        (rows, 1),
        (first[0], 2),
        (first[1], 2),
        (first[0], 3),
        (first[1], 3),
        (second[1], 4),  # whose rows are in either of the first
        (second[0], 4),
        (first[0].map(_same), 5),
        (first[0].kept(), 6),
    ]:
        sums.sums(statistic, tenth, batch)
        assert sums.spent == spent * tenth


@pytest.mark.parametrize("ends", [(0.0, 1e-307), (0.0, 5e-324), (0.0, 1e308), (-1.0, 1.0)])
def test_every_value_has_a_bin_however_narrow_or_wide_the_bounds_are(ends):
    """A quotient that overflowed raised for some values: a fit failed because of one person."""
    low, high = (np.array([end]) for end in ends)
    values = [0.0, *ends, np.nan, np.inf, -np.inf, 1e308, -1e308, 40.0, 1e-308, sum(ends) / 2]
    bins = equal_bins(low, high, [256])
    found = bins.places(np.array(values)[:, None]).ravel()
    expected = np.searchsorted(bins.edges[0], values, side="right")
    expected[3] = 256

    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("end", [1e308, 1e160, 1e71, 1e-71, 1e-170, 5e-324])
def test_bounds_whose_squares_are_no_doubles_are_refused_in_words(end):
    with pytest.raises(InputError, match="too wide or too close"):
        read_bounds((-end, end), 1)
