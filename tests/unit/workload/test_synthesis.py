import datetime as dt
import json
import zlib
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow.compute as pc
import pytest

from discreet.errors import InputError
from discreet.noise.bits import Keystream, replaced
from discreet.plan.kinds import Kind
from discreet.workload import inference
from discreet.workload.binning import logarithmic_grid, private_bins
from discreet.workload.domain import Domain
from discreet.workload.histogram import JointHistogram, measure_marginal
from discreet.workload.synthesis import Synthesis, _sorted
from discreet.workload.synthesizer import SynthesisPlan, structural_zeros, synthesize
from small_tables import CITIES, domain, people

ROWS = people(3000)
CELLS = domain(bins=4)
ZEROS = [{"city": "Oslo", "member": [True, None]}]


def make(plan=None):
    plan = plan or SynthesisPlan(CELLS, Fraction(1), allowed=structural_zeros(CELLS, ZEROS))
    result = synthesize(JointHistogram.of(ROWS, CELLS), plan)
    return Synthesis(CELLS, result, bytes(range(32)), plan.guarantee)


@pytest.fixture(scope="module")
def made():
    stream = Keystream(bytes(32))
    with replaced(lambda: stream):  # a fixture of a module has no fixed bits of its own
        return make()


@pytest.mark.parametrize("most", [1, 7, 1 << 20, 1 << 57, (1 << 63) - 1])
def test_rows_are_sorted_as_by_a_stable_sort(most):
    keys = np.random.default_rng(1).integers(0, most, 5000).astype(np.uint64)
    assert (_sorted(keys) == np.argsort(keys, kind="stable")).all()
    assert _sorted(keys[:0]).tolist() == []


def test_rows_have_the_original_names_types_and_nulls(made):
    table = made.table()
    assert table.schema == ROWS.schema
    assert abs(table.num_rows - 3000) < 60
    assert all(0 < table[name].null_count < 600 for name in table.column_names)
    assert set(table["city"].drop_null().to_pylist()) <= set(CITIES)
    assert pc.min(table["day"]).as_py() >= dt.date(2020, 1, 1)


def test_any_number_of_rows_is_drawn_and_always_the_same_ones(made):
    assert made.table(7).num_rows == 7
    assert made.table(0).num_rows == 0
    assert made.table(500).equals(made.table(500))
    assert made.table(10_000).num_rows == 10_000
    with pytest.raises(InputError, match="at once"):
        made.table(10**9)


def test_rows_keep_to_the_model(made):
    table = made.table(20_000)
    shares = JointHistogram.of(table, CELLS).marginal(("city", "age")) / 20_000
    wanted = made.model.marginal(("city", "age")) / made.model.total
    assert np.abs(shares - wanted).max() < 0.005


def test_impossible_rows_are_never_drawn(made):
    table = made.table(20_000)
    oslo = table.filter(pc.equal(table["city"], "Oslo"))
    assert oslo.num_rows
    assert set(oslo["member"].to_pylist()) == {False}


def test_rows_are_drawn_under_conditions(made):
    table = made.table(300, given={"city": ["Haifa", None], "age": (0, 20), "member": False})
    assert set(table["city"].to_pylist()) <= {"Haifa", None}
    assert pc.max(table["age"]).as_py() < 25  # the first bin is whole
    assert set(table["member"].to_pylist()) == {False}
    with pytest.raises(InputError, match="no row can be"):
        made.table(given={"city": "Oslo", "member": True})


def test_bytes_are_read_back_to_the_same(made):
    again = Synthesis.from_bytes(made.to_bytes())
    assert again.to_bytes() == made.to_bytes()
    assert again.table(50).equals(made.table(50))
    assert again.report().equals(made.report())
    with pytest.raises(InputError, match="cannot be read"):
        Synthesis.from_bytes(b"something else")


def test_the_report_tells_the_error_of_every_pair(made):
    report = made.report().to_pylist()
    pairs = [one for one in report if one["error"] is not None]
    assert len(pairs) == 10
    rows = JointHistogram.of(ROWS, CELLS)
    for one in pairs:
        pair = tuple(one["columns"].split(" x "))
        exact = np.abs(rows.marginal(pair) / 3000 - made.model.marginal(pair) / made.model.total)
        # five deviations of the check's noise: once in a million, and the bits are fixed
        assert abs(exact.sum() / 2 - one["error"]) < 2.6 * made.error_half_width + 0.01


def test_counts_over_measured_marginals_have_exact_intervals(made):
    rows = JointHistogram.of(ROWS, CELLS)
    rng = np.random.default_rng(5)
    hit = 0
    cliques = [one.clique for one in made.result.measured if one.clique[0] in CELLS.names]
    for _ in range(400):
        clique = cliques[rng.integers(len(cliques))]
        weights = {n: (rng.random(CELLS.sizes[n]) < 0.5).astype(float) for n in clique}
        table = rows.marginal(clique).astype(float)
        for axis, name in enumerate(clique):
            table = table * weights[name].reshape(
                [-1 if i == axis else 1 for i in range(table.ndim)]
            )
        found = inference.total(made, weights)
        assert found.measured
        hit += abs(found.value - table.sum()) <= found.half_width
    assert hit >= 360


def test_means_and_coefficients_are_near_those_of_the_data(made):
    age = inference.mean(made, "age")
    assert abs(age.value - 49.5) < 3
    assert 12 <= age.half_width < 15  # four bins of 25 years: 12 for where in its bin a value is
    young = inference.mean(made, "age", {"age": (0, 40)})
    assert young.value < 30
    slope = inference.regression(made, "income", ["age"])["age"]
    assert abs(slope.value - 1.3) < 0.4
    endless = Domain(tuple(replace(one, open_ended=one.name == "age") for one in CELLS))
    unbounded = inference.regression(replace(made, domain=endless), "income", ["age"])["age"]
    assert unbounded.value == slope.value
    assert (unbounded.low, unbounded.high) == (-np.inf, np.inf)
    with pytest.raises(InputError, match="no mean"):
        inference.mean(made, "city")


@pytest.mark.parametrize("power", [1.2, 3.0])
def test_means_of_heavy_tails_are_covered_or_have_no_ends(power):
    """Middles of bins are far from the means inside; beyond outer bins there is no telling."""
    values = np.random.default_rng(1).pareto(power, 4000) + 1
    grid = logarithmic_grid("x", Kind.REAL, nullable=False)
    counted = measure_marginal(
        JointHistogram.of({"x": values}, Domain((grid,))), ("x",), Fraction(1)
    )
    bins = private_bins(counted, grid, bins=8)
    bounded = replace(bins, edges=tuple(np.linspace(1, 50, 9)), open_ended=False)
    found = {}
    for cells in (bins, bounded):
        plan = SynthesisPlan(Domain((cells,)), Fraction(1))
        result = synthesize(JointHistogram.of({"x": values}, plan.domain), plan)
        made = Synthesis(plan.domain, result, bytes(32), plan.guarantee)
        found[cells.open_ended] = inference.mean(made, "x")
        if cells.open_ended:  # of inner bins the mean is known again
            low, high = cells.edges[2], cells.edges[4]
            inner = inference.mean(made, "x", {"x": (low, np.nextafter(high, 0))})
            inside = values[(values >= low) & (values < high)]
            assert inner.low <= inside.mean() <= inner.high < np.inf
    assert found[False].low <= np.minimum(values, 50).mean() <= found[False].high < np.inf
    assert found[False].half_width < 50 / 8
    assert (found[True].low, found[True].high) == (-np.inf, np.inf)
    assert found[True].value > 1
    assert Domain.from_dict(Domain((bins,)).to_dict())["x"].open_ended


def test_coefficients_that_noise_hides_have_intervals_without_ends():
    """A column twice, and a table of 60 rows: least squares would give any number."""
    twice = Domain((*CELLS, replace(CELLS["age"], name="again")))
    table = ROWS.append_column("again", ROWS["age"])
    for rows in (table, table.slice(0, 60)):
        plan = SynthesisPlan(twice, Fraction(1, 10))
        result = synthesize(JointHistogram.of(rows, twice), plan)
        several = Synthesis(twice, result, bytes(32), plan.guarantee)
        for one in inference.regression(several, "income", ["age", "again"]).values():
            assert np.isnan(one.value)
            assert (one.low, one.high) == (-np.inf, np.inf)
            assert not one.measured


def test_sampling_widens_an_interval(made):
    where = {"city": "Haifa"}
    assert inference.count(made, where).low < inference.count(made, where).high
    wider = inference.count(made, where, sampling=True)
    assert wider.half_width > inference.count(made, where).half_width


def exact_count(column, low, high):
    values = [one for one in ROWS[column].to_pylist() if one is not None]
    return sum(low <= one <= high for one in values)


@pytest.mark.parametrize("ends", [(0, 1), (0, 30), (10, 90), (60, 60), (26, 48), (-5, 40)])
def test_a_count_covers_the_rows_of_bins_that_its_condition_cuts(made, ends):
    found = inference.count(made, {"age": ends})
    assert found.low <= exact_count("age", *ends) <= found.high
    both = inference.count(made, {"age": ends, "city": [*CITIES, None]})
    assert both.low <= exact_count("age", *ends) <= both.high


def test_whole_bins_and_listed_values_are_not_cut(made):
    edges = [int(edge) for edge in CELLS["age"].edges]
    where = {"age": (edges[1], edges[3] - 1), "city": ["Haifa", None], "member": False}
    assert {1} & {*np.concatenate([*made.met(where).values()]).tolist()} == set()
    assert made.met({"age": (edges[0] - 9, edges[1])})["age"].tolist()[:3] == [2, 1, 0]
    assert made.met({"age": edges[2]})["age"].tolist()[:4] == [0, 0, 1, 0]
    assert made.met({"age": (90, 10)})["age"].tolist() == [0] * CELLS["age"].size
    assert made.met({"age": [None]})["age"].tolist()[-1] == 2
    days = ("2020-01-01", dt.date(2100, 1, 1))
    assert set(made.met({"day": days})["day"].tolist()[:-1]) == {2}
    real = replace(CELLS["age"], kind=Kind.REAL, edges=(0.0, 1.0, 2.0, 3.0))
    for open_ended in (False, True):
        cells = Domain((replace(real, open_ended=open_ended),))
        found = replace(made, domain=cells).met({"age": (0.0, np.nextafter(2, 0))})["age"]
        assert found.tolist()[:3] == [2 - open_ended, 2, 0]
        everything = replace(made, domain=cells).met({"age": (-np.inf, np.inf)})["age"]
        assert everything.tolist()[:3] == [2, 2, 2]


def test_bins_that_were_stored_before_open_ends_were_told_bound_nothing(made):
    head, _, body = zlib.decompress(made.to_bytes()).partition(b"\n")
    about = json.loads(head)
    assert about.pop("tells_open_ends")
    read = Synthesis.from_bytes(zlib.compress(json.dumps(about).encode() + b"\n" + body))
    assert inference.mean(made, "age").high < inference.mean(read, "age").high == np.inf
    assert {one.name for one in read.domain if one.open_ended} == {
        one.name for one in made.domain if one.edges
    }


def test_a_range_has_two_ends(made):
    for condition in ((5, None), (None, 5), [(None, 5)]):
        with pytest.raises(InputError, match="state both ends"):
            inference.count(made, {"age": condition})
    assert inference.count(made, {"age": (np.int64(0), np.int64(50))}) == inference.count(
        made, {"age": (0, 50)}
    )


def test_a_count_that_cuts_a_bin_reaches_from_all_but_it_to_all_of_it(made):
    first, second, third = (int(edge) for edge in CELLS["age"].edges[:3])
    for sampling in (False, True):
        cut, least, most = (
            inference.count(made, {"age": (first, last)}, sampling=sampling)
            for last in (second + 1, second - 1, third - 1)
        )
        assert (cut.low, cut.high) == pytest.approx((least.low, most.high))


def test_what_was_not_measured_says_so(made):
    found = inference.count(made, {"city": "Haifa", "age": (0, 50), "member": False})
    assert not found.measured
    assert found.half_width > 0


@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.REAL])
def test_private_bins_follow_the_data_and_ignore_noise(kind):
    grid = logarithmic_grid("x", kind, nullable=True)
    values = [*range(900, 1900), None] if kind is Kind.INTEGER else np.linspace(0.5, 0.75, 1001)
    rows = JointHistogram.of({"x": values}, Domain((grid,)))
    found = private_bins(measure_marginal(rows, ("x",), Fraction(1, 4)), grid, bins=8)
    low, high = (700, 2500) if kind is Kind.INTEGER else (0.4, 0.9)
    assert low < found.edges[0] < found.edges[-1] < high
    assert found.size <= 9


def test_bins_of_nothing_are_one():
    grid = logarithmic_grid("x", Kind.REAL, nullable=False)
    rows = JointHistogram.of({"x": np.empty(0)}, Domain((grid,)))
    assert private_bins(measure_marginal(rows, ("x",), Fraction(1, 100)), grid).size == 1


def test_a_constraint_over_unknown_columns_is_refused():
    with pytest.raises(InputError, match="of unknown columns"):
        structural_zeros(CELLS, [{"town": "Haifa"}])


def test_bins_are_found_where_rows_stand_out_in_no_cell_alone():
    """800 rows over six octaves, and noise of 17 a cell: one bin around 0 would be all wrong."""
    grid = logarithmic_grid("x", Kind.REAL, nullable=False)
    rows = JointHistogram.of({"x": np.geomspace(1.0, 64.0, 800)}, Domain((grid,)))
    measured = measure_marginal(rows, ("x",), Fraction(1, 300))
    assert rows.marginal(("x",)).max() < 2.5 * measured.sigma
    found = private_bins(measured, grid, bins=8)
    assert found.edges[-1] > 8
    assert found.size > 1


def test_whole_numbers_of_any_size_have_bins():
    grid = logarithmic_grid("x", Kind.INTEGER, nullable=False)
    rows = JointHistogram.of({"x": [-(2**61)] * 50 + [2**61] * 50}, Domain((grid,)))
    found = private_bins(measure_marginal(rows, ("x",), Fraction(1)), grid, bins=8)
    assert found.edges[0] <= -(2**61) < 2**61 < found.edges[-1]
    drawn = found.decode(np.array([0, found.size - 1]), np.array([0.0, 0.999]))
    assert drawn[0].as_py() < -(2**60)
    assert drawn[1].as_py() > 2**60


def test_the_error_of_a_check_that_is_all_noise_is_not_told_as_none():
    few = JointHistogram.of(ROWS.slice(0, 50), CELLS)
    plan = SynthesisPlan(CELLS, Fraction(1, 10**4))
    made = Synthesis(CELLS, synthesize(few, plan), bytes(32), plan.guarantee)
    value, low, high = made.mean_error_interval()
    assert made.mean_error() == value
    assert low == 0
    assert high > 0.5
