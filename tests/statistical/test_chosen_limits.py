"""Intervals hold where the system chose the limits, and where numbers are bent or picked.

Bits are fixed. Of 20 intervals that cover 95 times in 100, 5 or more miss with probability 3e-3.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.answer.estimate.aggregates import estimate
from discreet.answer.estimate.error_bars import simulate
from discreet.answer.estimate.noisy_statistics import NoisyStatistics
from discreet.answer.estimate.tabulate import half_width
from discreet.answer.measurement_plan import answer
from discreet.answer.plan.contribution_histogram import (
    LADDER,
    ROWS,
    ContributionHistogram,
    Norm,
    choose,
    clipped_share,
)
from discreet.answer.plan.price import Price
from discreet.engines.duckdb import DuckDBEngine
from discreet.noise.bits import Keystream, replaced
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.kinds import Kind
from discreet.plan.relations import columns_of
from discreet.plan.schema import Bounds, Keys, Limits, Person, Schema, Table, column_type
from discreet.plan.statistics import statistics_of
from discreet.sql.reader.read import read
from planned import plan_set

GROUPS = 100


def schema_of(limits=None):
    columns = {
        "who": column_type("who", Kind.INTEGER),
        "g": column_type("g", Kind.INTEGER, Keys(list(range(GROUPS))), nullable=False),
        "x": column_type("x", Kind.REAL, Bounds(0, 100), nullable=False),
        "y": column_type("y", Kind.REAL, Bounds(0, 100), nullable=False),
    }
    return Schema({"t": Table("t", columns, Person("who"), limits or Limits())})


def engine_of(table, limits=None):
    about, engine = schema_of(limits), DuckDBEngine()
    engine.store("t", table)
    engine.open(about)
    return engine, about


def table_of(rows_each, groups, x, y=None):
    who = np.repeat(np.arange(rows_each.size), rows_each)
    return pa.table({"who": who, "g": groups, "x": x, "y": x if y is None else y})


def releases(text, engine, about, price, count, law):
    query, stream = read(text, about), Keystream(f"{text} {law}".encode()[:32].ljust(32))
    with replaced(lambda: stream):
        return [answer(query, engine, price, noise_kinds=(law,)).to_arrow() for _ in range(count)]


def covered(tables, name, truth):
    """The share of intervals of each release that hold the truth."""
    return [
        float(np.mean((low.to_numpy() <= truth) & (truth <= high.to_numpy())))
        for low, high in ((one[f"{name}_low"], one[f"{name}_high"]) for one in tables)
    ]


@pytest.fixture(scope="module")
def visits():
    """About 200,000 rows of 30,000 people with 1 to 20 rows, whose limits nobody has stated."""
    draws = np.random.default_rng(7)
    rows = np.minimum(draws.geometric(0.15, 30_000), 20)
    size = int(rows.sum())
    table = table_of(rows, draws.integers(0, GROUPS, size), np.rint(draws.uniform(0, 100, size)))
    engine, about = engine_of(table)
    yield table, engine, about
    engine.close()


@pytest.mark.parametrize(
    ("law", "epsilon"),
    [(NoiseKind.LAPLACE, 0.1), (NoiseKind.GAUSSIAN, 0.5), (NoiseKind.LAPLACE, 1)],
)
def test_totals_hold_where_the_system_chose_the_limit(visits, law, epsilon):
    """The tail used to vanish from the limit: 0 of 10 such intervals held."""
    table, engine, about = visits
    told = releases("SELECT COUNT(*) AS n FROM t", engine, about, Price(epsilon, 1e-6), 20, law)

    assert sum(covered(told, "n", table.num_rows)) > 15


@pytest.mark.parametrize(("law", "epsilon"), [(NoiseKind.LAPLACE, 0.3), (NoiseKind.GAUSSIAN, 0.22)])
def test_totals_hold_where_people_far_out_show_at_a_second_look(law, epsilon):
    """5 % of 3,000 people have 200 rows: one look hardly ever shows them."""
    rows = np.where(np.arange(3000) % 20 == 0, 200, 1 + np.arange(3000) % 3)
    size = int(rows.sum())
    engine, about = engine_of(table_of(rows, np.zeros(size, np.int64), np.full(size, 7.0)))
    query, stream = (
        read("SELECT COUNT(*) AS n FROM t", about),
        Keystream(law.value.ljust(32).encode()),
    )
    with replaced(lambda: stream):
        told = [answer(query, engine, Price(epsilon, 1e-6), noise_kinds=(law,)) for _ in range(20)]
    engine.close()

    assert sum(covered([one.to_arrow() for one in told], "n", size)) > 15
    raised = [one for one in told if "people beyond" in one.notes[0]]
    assert len(raised) > 5
    assert all("have more), with noise for" in one.notes[0] for one in raised)
    lower = [one.notes[0] for one in told if one not in raised]
    assert all("if they have more than" in note for note in lower)


@pytest.mark.parametrize("law", list(NoiseKind))
def test_groups_hold_where_the_system_chose_the_limit(visits, law):
    """Of 300 intervals that cover 95 times in 100 fewer than 91 % do with probability 2e-3."""
    table, engine, about = visits
    text = "SELECT g, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM t GROUP BY g ORDER BY g"
    told = releases(text, engine, about, Price(0.3, 1e-6), 3, law)
    groups, x = table["g"].to_numpy(), table["x"].to_numpy()
    counts, sums = np.bincount(groups), np.bincount(groups, x)

    for name, truth in {"n": counts, "s": sums, "m": sums / counts}.items():
        assert np.mean(covered(told, name, truth)) > 0.91


SHAPES = {
    "one row": lambda draws: draws.integers(1, 2, 20_000),
    "uniform": lambda draws: draws.integers(1, 21, 20_000),
    "geometric": lambda draws: draws.geometric(1 / 7, 20_000),
    "log-normal": lambda draws: np.ceil(draws.lognormal(3, 0.5, 20_000)),
    "two kinds": lambda draws: 1 + draws.poisson(np.where(np.arange(20_000) % 10, 2, 50)),
}


@pytest.mark.parametrize("groups", [1, 100])
@pytest.mark.parametrize("shape", list(SHAPES))
def test_intervals_hold_for_many_shapes_of_rows_per_person(shape, groups):
    """The chooser alone, on 60 noisy histograms for each epsilon; given one, Laplace noise covers
    with a probability that is known. Its mean is off by less than 0.01 (three standard errors)."""
    draws = np.random.default_rng(9)
    rows = SHAPES[shape](draws)
    people = np.bincount(np.searchsorted(LADDER, rows), minlength=len(LADDER) + 1)
    share = 0.2 if groups < 10 else 0.1
    for epsilon in (0.1, 0.5, 2):
        scale, noise = 1 / (share * epsilon), 1 / ((1 - share) * epsilon)
        found = []
        for _ in range(60):
            noisy = people + np.rint(draws.laplace(0, scale, people.size))
            seen, norm = (
                ContributionHistogram(noisy, scale, LADDER),
                Norm(ROWS, NoiseKind.LAPLACE, groups),
            )
            limit = choose(seen, norm, noise, groups)
            told, lost = (
                clipped_share(seen, norm, limit),
                np.maximum(rows - limit, 0).sum() / groups,
            )
            allowed = (rows.sum() / groups - lost) * told.lost / (1 - told.lost)
            width = np.log(20) + allowed / (limit * noise)
            found.append(1 - np.exp(-width) * np.cosh(min(lost / (limit * noise), width)))

        assert 0.93 < np.mean(found) < 0.99, (shape, epsilon, np.mean(found))


THIN = {
    "Zipf 2": lambda draws: np.minimum(draws.zipf(2, 20_000), 10**6),
    "Zipf 3": lambda draws: np.minimum(draws.zipf(3, 20_000), 10**6),
    "mostly one": lambda draws: np.where(
        draws.random(20_000) < 0.03, draws.integers(2, 30, 20_000), 1
    ),
    "one of 10^5": lambda draws: np.append(draws.geometric(1 / 4, 20_000), 10**5),
}


@pytest.mark.parametrize("groups", [1, 100])
@pytest.mark.parametrize("shape", list(THIN))
def test_what_an_answer_says_its_interval_is_about_holds_whatever_the_tail(shape, groups):
    """Tails that nobody can see: counts of at most so many rows a person, as the answer says, are
    covered. They used to be in 2 to 90 of 100."""
    draws = np.random.default_rng(9)
    rows = THIN[shape](draws)
    people = np.bincount(
        np.minimum(np.searchsorted(LADDER, rows), len(LADDER)), minlength=len(LADDER) + 1
    )
    share = 0.2 if groups < 10 else 0.1
    for epsilon in (0.1, 0.5, 2):
        scale, noise = 1 / (share * epsilon), 1 / ((1 - share) * epsilon)
        norm, found = Norm(ROWS, NoiseKind.LAPLACE, groups), []
        for _ in range(60):
            noisy = people + np.rint(draws.laplace(0, scale, people.size))
            seen = ContributionHistogram(noisy, scale, LADDER)
            limit = choose(seen, norm, noise, groups)
            told, kept = clipped_share(seen, norm, limit), np.minimum(rows, limit).sum() / groups
            lost = np.minimum(rows, told.most).sum() / groups - kept
            width = np.log(20) + kept * told.lost / (1 - told.lost) / (limit * noise)
            found.append(1 - np.exp(-width) * np.cosh(min(lost / (limit * noise), width)))

        assert np.mean(found) > 0.93, (shape, epsilon, np.mean(found))


SMALL = {
    "weekly and monthly": lambda draws, n: np.where(
        draws.random(n) < 0.3, draws.integers(48, 57, n), draws.integers(10, 15, n)
    ),
    "negative binomial": lambda draws, n: 1 + draws.negative_binomial(0.5, 0.1, n),
    "two kinds": lambda draws, n: 1 + draws.poisson(np.where(np.arange(n) % 10, 2, 50)),
}


@pytest.mark.parametrize("shape", list(SMALL))
def test_intervals_of_small_tables_allow_for_people_who_are_hardly_seen(shape):
    """A third of people with four times the rows were left out of ± 6 %: 0.67, 0.44 and 0.18 of
    intervals covered, 0.82, 0.58 and 0.44 do. Bits are fixed."""
    draws = np.random.default_rng(9)
    epsilon = 1.0 if shape == "two kinds" else 0.3
    rows, scale, noise = SMALL[shape](draws, 500), 5 / epsilon, 1.25 / epsilon
    people = np.bincount(np.searchsorted(LADDER, rows), minlength=len(LADDER) + 1)
    norm, found = Norm(ROWS, NoiseKind.LAPLACE, 1), []
    for _ in range(100):
        noisy = people + np.rint(draws.laplace(0, scale, people.size))
        seen = ContributionHistogram(noisy, scale, LADDER)
        limit = choose(seen, norm, noise, 1)
        told = clipped_share(seen, norm, limit)
        lost, share = np.maximum(rows - limit, 0).sum(), 0.0 if told is None else told.lost
        width = np.log(20) + (rows.sum() - lost) * share / (1 - share) / (limit * noise)
        missed = lost / (limit * noise)
        found.append(
            1 - np.exp(-width) * np.cosh(missed)
            if missed < width
            else np.exp(-missed) * np.sinh(width)
        )

    least = {"weekly and monthly": 0.75, "negative binomial": 0.5, "two kinds": 0.3}
    assert np.mean(found) > least[shape]


def test_correlations_hold_where_noise_takes_them_to_an_end():
    """Around a released 1 most of what is simulated is 1, and the truth is not: 89 in 100 covered.

    They cover 97 in 100 now; of 500 such fewer than 93 in 100 do with probability below 1e-5.
    """
    draws = np.random.default_rng(8)
    a = 15 * draws.normal(size=1000)
    b = 0.95 * a + 4.7 * draws.normal(size=1000)
    query = read("SELECT CORR(x, y) AS r FROM t", schema_of())
    (corr,), scope = query.aggregates, columns_of(query.relation)
    contributions = ContributionBounds(NoiseKind.LAPLACE, 1, 1)
    plan = plan_set(replace(query, limits=Limits(1, 1)), Price(Fraction(3, 10)))
    noises = plan.noises(contributions)
    squares = [(one * one).sum() - 1000 * 1250 for one in (a, b)]  # from the middle of 0 .. 2,500
    exact = [1000, a.sum(), b.sum(), *squares, (a * b).sum()]
    needs, size = statistics_of(corr, scope), 500
    truth = {of: np.full(size, value) for of, value in zip(needs, exact, strict=True)}
    exactly = NoisyStatistics(query, {}, size, truth, {}, noises, contributions)
    told = {of: values[0] for of, values in simulate(exactly, 1).items()}
    noisy = replace(exactly, statistics=told)
    width, _ = half_width(corr, noisy, simulate(noisy, 300))
    true = np.corrcoef(a, b)[0, 1]

    assert estimate(corr, truth, scope)[0] == pytest.approx(true)
    assert np.mean(np.abs(estimate(corr, told, scope) - true) <= width) > 0.93


@pytest.mark.parametrize("law", list(NoiseKind))
def test_numbers_that_jump_hold_in_rows_that_noise_has_picked(law):
    """CASE makes a number jump: an interval twice as wide is not that of noise twice as wide."""
    sizes = np.arange(1, GROUPS + 1) % 60
    groups = np.repeat(np.arange(GROUPS), sizes)
    table = table_of(np.ones(groups.size, dtype=np.int64), groups, np.ones(groups.size))
    engine, about = engine_of(table, Limits(1, 1))
    jump = "CASE WHEN COUNT(*) > 40 THEN COUNT(*) ELSE 0 END"
    text = f"SELECT g, {jump} AS c FROM t GROUP BY g HAVING COUNT(*) > 50"  # noqa: S608 - ours
    told = releases(text, engine, about, Price(0.2, 1e-6), 6, law)
    engine.close()
    truth = np.where(sizes > 40, sizes, 0)
    shares = [covered([one], "c", truth[one["g"].to_numpy()])[0] for one in told if one.num_rows]

    assert np.mean(shares) > 0.93
