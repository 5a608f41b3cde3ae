"""The budget is split where it makes the expected errors least, by public facts alone."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from discreet.answer.estimate.aggregates import estimate
from discreet.answer.measurement_plan import answer
from discreet.answer.plan.planning import check_groups
from discreet.answer.plan.price import Influence, Price, best_shares, influences
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.duckdb_dialect import DuckDBDialect
from discreet.errors import InputError
from discreet.plan.bounding import NoiseKind
from discreet.plan.kinds import Kind
from discreet.plan.query import AggregateFunction
from discreet.plan.relations import columns_of
from discreet.plan.schema import Bounds, Limits, Person, Schema, Table, column_type
from discreet.plan.sensitivity import Strategy, apart
from discreet.plan.statistics import Ranks, Rows, Total, needed, statistics_in, statistics_of
from discreet.sql.reader.read import read
from planned import explain, plan_set

POWER = {NoiseKind.LAPLACE: 1.0, NoiseKind.GAUSSIAN: 0.5}
COLUMNS = {
    "id": column_type("id", Kind.INTEGER),
    "x": column_type("x", Kind.REAL, Bounds(0, 100), nullable=False),
    "y": column_type("y", Kind.REAL, Bounds(-8, 8), nullable=False),
    "year": column_type("year", Kind.INTEGER, Bounds(1990, 2020), nullable=False),
    "edge": column_type("edge", Kind.REAL, Bounds(-1e300, 1e300), nullable=False),
}
SCHEMA = Schema({"t": Table("t", COLUMNS, Person("id"))})


def question(what):
    return read(f"SELECT {what} FROM t", SCHEMA)  # noqa: S608 - ours


def influences_of(query, law):
    return influences(statistics_in(query), law, apart(needed(query)))


def shares_of(query, law):
    costs = plan_set(replace(query, limits=Limits(1, 1)), Price(1, 1e-6), law).costs
    whole = sum(costs.values())
    return {one: cost / whole for one, cost in costs.items()}


def cost(influences_, shares, law):
    noise = {statistic: share ** -POWER[law] for statistic, share in shares.items()}
    return sum(one.weight * one.error(noise) for one in influences_)


@pytest.mark.parametrize("law", list(NoiseKind))
@pytest.mark.parametrize(
    "what",
    [
        "COUNT(*), SUM(x), AVG(x), COUNT(DISTINCT id), MEDIAN(x)",
        "COUNT(*), VARIANCE(y), CORR(x, y)",
        "AVG(y), QUANTILE_CONT(x, [0.1, 0.5])",
    ],
)
def test_no_other_split_is_expected_to_err_less(law, what):
    found = influences_of(question(what), law)
    best = best_shares(found, law)
    least = cost(found, best, law)
    rng = np.random.default_rng(0)

    assert sum(best.values()) == pytest.approx(1)
    for step in (0.01, 0.1, 1.0):
        for _ in range(50):
            other = {s: share * np.exp(step * rng.normal()) for s, share in best.items()}
            whole = sum(other.values())
            other = {s: share / whole for s, share in other.items()}
            assert cost(found, other, law) >= least * (1 - 1e-12)


@pytest.mark.parametrize("law", list(NoiseKind))
@pytest.mark.parametrize(
    "what", ["COUNT(*), SUM(edge)", "AVG(edge), MEDIAN(edge)", "SUM(y)", "COVAR_POP(x, x)"]
)
def test_every_statistic_has_a_share_and_they_are_the_whole(law, what):
    query = question(what)
    shares = shares_of(query, law)

    assert min(shares.values()) > 0
    assert sum(shares.values()) == 1


def test_a_quantile_needs_less_where_noise_is_gaussian():
    query = question("COUNT(*), MEDIAN(x)")
    shares = {law: shares_of(query, law) for law in NoiseKind}
    rows, ranks = shares[NoiseKind.LAPLACE]

    assert rows.statistics == (Rows(None),)
    assert isinstance(ranks.statistics[0], Ranks)
    assert shares[NoiseKind.LAPLACE][ranks] > shares[NoiseKind.LAPLACE][rows]
    assert shares[NoiseKind.GAUSSIAN][ranks] < shares[NoiseKind.LAPLACE][ranks]


def test_a_mean_far_from_zero_is_as_dear_as_its_spread():
    (near,) = influences_of(question("AVG(x)"), NoiseKind.LAPLACE)
    (far,) = influences_of(question("AVG(year)"), NoiseKind.LAPLACE)

    assert sorted(near.on.values()) == sorted(far.on.values()) == [0.5, 1.0]


USUAL = {"variance": 1 / 4, "stddev": 1 / 2, "covariance": 1 / 8, "correlation": 1 / 2}
ROWS = 1e6


def made_up(query):
    """Statistics of a usual group of y and 2y: means half-way out, deviations of a half."""
    (aggregate,) = query.aggregates
    needs = statistics_of(aggregate, columns_of(query.relation))
    values = 2 if len(needs) > 3 else 1
    found = {needs[0]: ROWS}
    for i, one in enumerate(needs[1:], 1):
        across = one.grid.high - one.grid.centre
        share = 0.5 if i <= values else 0.0 if one.grid.low == 0 else 3 / 8
        found[one] = ROWS * share * across
    return aggregate, needs, found


@pytest.mark.parametrize(
    "what", ["VAR_POP(y)", "STDDEV_POP(y)", "COVAR_POP(y, y * 2)", "CORR(y, y * 2)"]
)
def test_slopes_of_moments_are_those_of_the_estimators(what):
    query = question(what)
    aggregate, needs, usual = made_up(query)
    scope = columns_of(query.relation)
    (influence,) = influences_of(query, NoiseKind.LAPLACE)
    scale = USUAL[aggregate.measure.value]
    if aggregate.measure is not AggregateFunction.CORRELATION:
        power = 1 if aggregate.measure is AggregateFunction.STDDEV else 2
        across = [s.grid.high for s in needs[1:] if isinstance(s, Total)][:2]
        scale *= across[0] if power == 1 else across[0] * across[min(1, len(needs) - 3)]
    for one in needs:
        step = 1e-3 * ROWS * (one.grid.high - one.grid.centre if isinstance(one, Total) else 1)
        ends = []
        for sign in (-1, 1):
            moved = {s: np.array([v + sign * step * (s == one)]) for s, v in usual.items()}
            ends.append(float(estimate(aggregate, moved, scope)[0]))
        slope = abs(ends[1] - ends[0]) / 2e-3 / scale
        assert slope == pytest.approx(influence.on[Strategy.of((one,))], rel=0.02), one


def test_errors_of_one_aggregate_add_up_as_independent_noises_do():
    assert Influence(1.0, {Rows(None): 3.0}).error({Rows(None): 2.0}) == 6.0


# --- a sum by itself ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "count"),
    [
        ("SUM(x)", 1),
        ("SUM(x), COUNT(DISTINCT id)", 2),
        ("SUM(x), SUM(x) FILTER (WHERE y > 1)", 2),
        ("SUM(x), COUNT(*)", 2),
        ("SUM(x), AVG(x)", 2),
        ("SUM(x), SUM(y)", 3),
    ],
)
def test_a_sum_pays_for_a_count_only_where_others_use_it(what, count):
    assert len(needed(question(what))) == count


def test_a_sum_by_itself_is_as_wide_as_its_largest_value_needs():
    """Half of the budget each for a centred total and a count would make it 1.38 times as wide."""
    table = Table("t", COLUMNS, Person("id"), Limits(1, 1))
    schema = Schema({"t": table})
    query = read("SELECT SUM(x) AS s FROM t", schema)

    assert explain(query, DuckDBDialect(), Price(1)).half_width("s") == pytest.approx(
        100 * math.log(20), rel=0.01
    )


@pytest.mark.parametrize(("low", "high"), [(0, 100), (-100, 0), (40, 100), (-100, 100), (0, 1e9)])
def test_a_sum_by_itself_is_the_sum(low, high):
    columns = {
        "id": column_type("id", Kind.INTEGER),
        "x": column_type("x", Kind.REAL, Bounds(low, high), nullable=False),
    }
    schema = Schema({"t": Table("t", columns, Person("id"), Limits(1, 1))})
    engine = DuckDBEngine()
    values = [low, high, low / 2 + high / 2, 0.0, 10 * high]
    engine.store("t", pa.table({"id": range(5), "x": [float(value) for value in values]}))
    engine.open(schema)
    release = answer(read("SELECT SUM(x) AS s FROM t", schema), engine, Price(10**6))
    engine.close()
    truth = sum(min(max(value, low), high) for value in values)

    assert release.table["s"][0].as_py() == pytest.approx(truth, abs=1e-3 * max(-low, high))
    assert release.how == {"s": "exact"}


# --- too many groups ------------------------------------------------------------------------------


def test_more_public_groups_than_can_be_answered_are_refused_before_any_charge():
    parts = ", ".join(f"WIDTH_BUCKET(x, 0, 100, {998 - i}) AS b{i}" for i in range(3))
    wide = read(f"SELECT {parts}, COUNT(*) AS n FROM t GROUP BY b0, b1, b2", SCHEMA)  # noqa: S608

    for ask in (
        lambda: explain(wide, DuckDBDialect(), Price(1)),
        lambda: plan_set(wide, Price(1), NoiseKind.LAPLACE),
    ):
        with pytest.raises(InputError, match=r"997,002,000 groups.*b0 1,000, b1 999, b2 998"):
            ask()


def test_the_groups_of_all_grouping_sets_count():
    bins = {"a": 2998, "b": 2999, "c": 2}
    parts = ", ".join(f"WIDTH_BUCKET(x, 0, 100, {n}) AS {name}" for name, n in bins.items())
    text = f"SELECT {parts}, COUNT(*) AS n FROM t GROUP BY GROUPING SETS "  # noqa: S608
    check_groups(read(text + "((a, b), (c))", SCHEMA))

    with pytest.raises(InputError, match="groups"):
        check_groups(read(text + "((a, b), (a, b, c))", SCHEMA))
