"""Measurements of several answers are averaged, and what was asked is computed from the averages.

Coverage is tried on made-up answers whose truth is known, each group a trial of its own.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.answer.estimate import merging
from discreet.answer.estimate.merging import Average, fits, merge_parts
from discreet.answer.estimate.noisy_statistics import (
    MeasuredSet,
    NoisyQuantile,
    NoisyStatistic,
    NoisyStatistics,
    called,
    part_of,
)
from discreet.answer.execute.measure_set import known_keys
from discreet.answer.plan.measure import Measurement
from discreet.answer.plan.planning import single_sets
from discreet.answer.plan.thresholded_count import ThresholdedCount
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.schema import EachRow, Limits
from discreet.plan.sensitivity import Strategy
from discreet.plan.statistics import People, Ranks, Rows, Total, needed
from discreet.privacy import Neighbours
from discreet.sql.reader.read import read
from visits import schema

GROUPS = 400
ROWS, MEAN, SPREAD = 2000, 60.0, 12.0
"""What the made-up groups are: rows, their mean, and their standard deviation."""

TEXT = """SELECT city, COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS m,
VAR_POP(amount) AS v, STDDEV_POP(amount) AS d, SUM(amount) / COUNT(*) AS r
FROM visits GROUP BY city"""
TRUTH = {
    "n": ROWS,
    "s": ROWS * MEAN,
    "m": MEAN,
    "v": SPREAD**2,
    "d": SPREAD,
    "r": MEAN,
}
QUERY = read(TEXT, schema())
LAPLACE, GAUSSIAN = NoiseKind.LAPLACE, NoiseKind.GAUSSIAN


def exact(statistic):
    """A statistic of one made-up group, without noise."""
    match statistic:
        case Rows():
            return float(ROWS)
        case Total(_, _, grid) if (grid.low, grid.high) == (0.0, 100.0):
            return ROWS * (MEAN - grid.centre)
        case Total(_, _, grid):  # of squares around the middle of the range
            return ROWS * (SPREAD**2 + (MEAN - 50.0) ** 2 - grid.centre)


def noisy(values, law, scale, bits):
    draw = bits.laplace if law is LAPLACE else bits.normal
    return NoisyStatistic(values + draw(0.0, scale, values.size), law, scale)


def made_up(query, law, size, seed, groups=GROUPS, names=None):
    """A part with noise of `size` rows on counts, and as much on all else in its own unit."""
    bits = np.random.default_rng(seed)
    found = {}
    for one in needed(query):
        if isinstance(one, Ranks):
            continue
        unit = (one.grid.high - one.grid.low) / 4 if isinstance(one, Total) else 1.0
        found[called(one)] = noisy(np.full(groups, exact(one)), law, size * unit, bits)
    keys = pa.array([f"g{i}" for i in range(groups)] if names is None else names)
    return MeasuredSet({"k0": keys}, groups, found, {}, ContributionBounds(law, 1, 1))


LAWS = [
    [(LAPLACE, 20), (GAUSSIAN, 25), (LAPLACE, 40)],
    [(GAUSSIAN, 20), (GAUSSIAN, 30)],
    [(LAPLACE, 15), (LAPLACE, 25)],
    [(GAUSSIAN, 10), (GAUSSIAN, 30)],
]


@pytest.mark.parametrize(
    ("laws", "groups", "slack"),
    [
        (LAWS[0], 400, 0.035),
        *(pytest.param(laws, 1500, 0.025, marks=pytest.mark.audit) for laws in LAWS),
    ],
)
def test_intervals_of_merged_answers_hold_and_are_narrower(laws, groups, slack):
    """Every column, 95 % of all groups: the slack is 3 standard errors or more; noise is fixed."""
    parts = [made_up(QUERY, law, size, i, groups) for i, (law, size) in enumerate(laws)]
    merged = merge_parts(QUERY, [[part] for part in parts])
    alone = [merge_parts(QUERY, [[part]]) for part in parts]

    for column, truth in TRUTH.items():
        widths = merged.half_widths[column].to_numpy()
        values = merged.table.column(column).to_numpy()
        inside = np.abs(values - truth) <= widths
        assert abs(inside.mean() - 0.95) <= slack, column
        narrowest = min(one.half_widths[column].to_numpy().mean() for one in alone)
        assert widths.mean() < 1.03 * narrowest, column
        errors = [np.abs(one.table.column(column).to_numpy() - truth).mean() for one in alone]
        assert np.abs(values - truth).mean() < min(errors), column


@pytest.mark.parametrize("rows", [2, 30])
def test_groups_as_small_as_their_noise_are_not_promised_too_much(monkeypatch, rows):
    """A mean and a deviation of 300 groups: 95 % are inside, or more; short by 3 % at most."""
    monkeypatch.setitem(globals(), "ROWS", rows)
    parts = [made_up(QUERY, GAUSSIAN, size, size, groups=300) for size in (20, 30)]
    merged = merge_parts(QUERY, [[part] for part in parts])

    for column in ("m", "v", "d"):
        away = np.abs(merged.table.column(column).to_numpy() - TRUTH[column])
        assert (away <= merged.half_widths[column].to_numpy()).mean() >= 0.92, column


def test_many_groups_are_treated_some_at_a_time(monkeypatch):
    parts = [made_up(QUERY, law, 20, i, groups=100) for i, law in enumerate(NoiseKind)]
    whole = merge_parts(QUERY, [[part] for part in parts])
    monkeypatch.setattr(merging, "_CELLS", 60_000)  # 600 points, so 100 groups; then 500 and 30
    monkeypatch.setattr(merging, "_POINTS", 500)
    sliced = merge_parts(QUERY, [[part] for part in parts])
    monkeypatch.setattr(merging, "_CELLS", 15_000)
    again = merge_parts(QUERY, [[part] for part in parts])

    assert whole.table == sliced.table == again.table
    assert sliced.half_widths == again.half_widths
    assert whole.how == again.how


def test_a_mean_is_the_merged_total_over_the_merged_count():
    parts = [made_up(QUERY, GAUSSIAN, size, size, groups=50) for size in (20, 30)]
    table = merge_parts(QUERY, [[part] for part in parts]).table
    weights = np.array([1 / 20**2, 1 / 30**2])
    weights /= weights.sum()
    rows, totals = (
        sum(w * part.statistics[name].values for w, part in zip(weights, parts, strict=True))
        for name in list(parts[0].statistics)[:2]
    )

    assert np.allclose(table["m"].to_numpy(), 50.0 + totals / rows)
    assert np.array_equal(table["n"].to_numpy(), np.rint(rows))


def test_the_newest_alone_is_itself():
    part = made_up(QUERY, GAUSSIAN, 20, 1, groups=50)
    table = merge_parts(QUERY, [[part]]).table
    count = next(iter(part.statistics.values())).values

    assert np.array_equal(table["n"].to_numpy(), np.rint(count))


def test_the_same_parts_give_the_same_numbers():
    answers = [[made_up(QUERY, law, 20, i, groups=50)] for i, law in enumerate(NoiseKind)]
    one, two = merge_parts(QUERY, answers), merge_parts(QUERY, answers)

    assert one.table == two.table
    assert one.half_widths == two.half_widths


def test_groups_are_answered_from_whatever_has_them():
    nan = math.nan
    fresh = made_up(QUERY, GAUSSIAN, 20, 1, groups=3, names=[1.0, nan, None])
    older = made_up(QUERY, GAUSSIAN, 10, 2, groups=3, names=[nan, 1.0, 2.0])
    merged = merge_parts(QUERY, [[fresh], [older]])
    keys, width = merged.table["city"].to_pylist(), merged.half_widths["n"].to_pylist()

    assert [keys[0], keys[2], keys[3]] == [1.0, None, 2.0]
    assert math.isnan(keys[1])
    assert len(keys) == 4
    assert width[0] == width[1] < width[3] < width[2]
    (first, *_) = older.statistics.values()
    assert merged.table["n"][3].as_py() == round(first.values[2])


def test_groups_are_hidden_after_merging():
    """HAVING and LIMIT see averages, of all groups that were measured."""
    text = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city HAVING COUNT(*) > 2000"
    query = read(f"{text} ORDER BY n DESC LIMIT 5", schema())
    parts = [made_up(query, GAUSSIAN, 20, seed, groups=100) for seed in (1, 2)]
    merged = merge_parts(query, [[part] for part in parts])
    (name,) = parts[0].statistics
    mean = sum(part.statistics[name].values for part in parts) / 2

    assert merged.table["n"].to_pylist() == sorted(np.rint(mean).astype(int))[:-6:-1]
    assert len(merged.half_widths["n"]) == 5


def test_grouping_sets_are_merged_each():
    query = read("SELECT city, COUNT(*) AS n FROM visits GROUP BY ROLLUP (city)", schema())
    inner = [made_up(query, GAUSSIAN, 20, seed, groups=3, names=["a", "b", "c"]) for seed in (1, 2)]
    outer = [replace(made_up(query, GAUSSIAN, 20, seed, groups=1), keys={}) for seed in (3, 4)]
    merged = merge_parts(query, list(zip(inner, outer, strict=True)))

    assert merged.table["city"].to_pylist() == ["a", "b", "c", None]
    assert len(set(merged.half_widths["n"].to_pylist())) == 1


def test_of_quantiles_the_surest_is_taken():
    query = read("SELECT city, MEDIAN(amount) AS q FROM visits GROUP BY city", schema())
    keys = {"k0": pa.array(["a", "b"])}
    sure = MeasuredSet(
        {"k0": pa.array(["b"])},
        1,
        {},
        {"q": NoisyQuantile(np.array([7.0]), 3.0)},
        ContributionBounds(LAPLACE, 1, 1),
    )
    rough = MeasuredSet(
        keys,
        2,
        {},
        {"q": NoisyQuantile(np.array([1.0, 2.0]), 9.0)},
        ContributionBounds(LAPLACE, 1, 1),
    )

    for order in ([sure, rough], [rough, sure]):
        rows = merge_parts(query, [[part] for part in order]).table.to_pylist()
        assert {row["city"]: row["q"] for row in rows} == {"a": 1.0, "b": 7.0}


@pytest.mark.parametrize(("law", "cost"), [(LAPLACE, 0.5), (GAUSSIAN, 0.05)])
@pytest.mark.parametrize("above", [-0.5, 0.0, 0.5, 1.0, 3.0])
@pytest.mark.usefixtures("fixed_bits")
def test_counts_that_noise_has_shown_are_not_promised_too_much(law, cost, above):
    """Groups near the threshold, of those that both answers show: at least 93 % inside.

    `above` is how far the true count is above the threshold, in half-widths of the noise.
    """
    query = read("SELECT street, COUNT(DISTINCT person) AS n FROM visits GROUP BY street", schema())
    statistic = People(None)
    alone, contributions = Strategy.of((statistic,)), ContributionBounds(law, 1, 1)
    one = Measurement(alone, contributions, Fraction(cost), Neighbours.ADD_REMOVE).view(statistic)
    showing = ThresholdedCount(one, Fraction(1, 10**5), 1)
    people = max(1, round(showing.people + above * one.error(0.95)))
    parts = [_shown(query, one, showing, people) for _ in range(2)]
    merged = merge_parts(query, [[part] for part in parts])
    twice = set.intersection(*(set(part.keys["k0"].to_pylist()) for part in parts))
    both = [key in twice for key in merged.table["street"].to_pylist()]
    values = merged.table["n"].to_numpy()[both]
    inside = np.abs(values - people) <= merged.half_widths["n"].to_numpy()[both]

    assert len(inside) > 300
    assert inside.mean() >= 0.93


def _shown(query, one, showing, people):
    """The groups of many with as many people that were shown."""
    [counts] = one.measurement.release([np.full(20_000, people * int(one.unit))])
    shown = showing.shows(counts)
    keys = {"k0": pa.array(np.flatnonzero(shown))}
    statistics = {one.statistic: one.values([counts[shown]])}
    plan = {one.statistic: one}
    groups = int(shown.sum())
    found = NoisyStatistics(
        query, keys, groups, statistics, {}, plan, one.measurement.contributions, showing
    )
    return part_of(found)


def test_an_average_weighs_by_inverse_variance():
    places = np.zeros((2, 1), dtype=np.int64)
    one, two = (NoisyStatistic(np.array([v]), GAUSSIAN, s) for v, s in ((10.0, 1.0), (20.0, 2.0)))
    average = Average.of([one, two], places)

    assert average.values == pytest.approx(12)
    assert average.error() == pytest.approx(1.959964 * math.sqrt(0.8), rel=1e-5)
    assert replace(one, noise_kind=LAPLACE).variance == 2


def test_parts_of_another_question_do_not_fit():
    part = made_up(QUERY, GAUSSIAN, 20, 1, groups=2)
    other = read("SELECT city, COUNT(DISTINCT person) AS n FROM visits GROUP BY city", schema())
    median = read("SELECT city, MEDIAN(amount) AS q FROM visits GROUP BY city", schema())

    assert fits(QUERY, [[part]])
    assert not fits(QUERY, [[part], []])
    assert not fits(other, [[part]])
    assert not fits(median, [[part]])


@pytest.mark.parametrize("scales", [(1.0, 0.5), (1.0, 1.0)])
@pytest.mark.parametrize("signs", [((0, 1, 1), (0, 1, -1)), ((1, 1), (1, -1))])
def test_noise_that_is_laid_out_once_for_all_is_laid_out_finely(signs, scales):
    """The same points serve every answer: were they few, all of its intervals would miss alike."""
    chance, even, drawn = np.random.default_rng(9), 0.0, 0.0
    weights = np.array(scales) ** -2.0
    for place, (scale, weight) in enumerate(zip(scales, weights / weights.sum(), strict=True)):
        each = chance.laplace(scale=scale, size=(len(signs[0]), 200_000))
        drawn = drawn + weight * (np.array(signs[0]) + np.array(signs[1])) @ each
        for one in signs:
            noise = NoisyStatistic(np.zeros(1), NoiseKind.LAPLACE, scale, None, one)
            even = even + weight * merging._laid_out(place, noise, merging._POINTS)
    width = np.quantile(np.abs(even), 0.95)
    assert 0.942 < np.mean(np.abs(drawn) <= width) < 0.958


# --- grouping sets --------------------------------------------------------------------------------

CUBE = (
    "SELECT amount > 1 AS a, amount > 2 AS b, amount > 3 AS c, COUNT(*) AS n FROM visits"
    " GROUP BY CUBE (a, b, c)"
)


def answered(text, about, law, scale, seed, rows=2):
    """Parts of an answer to a question about counts, each cell of all keys with 50 rows."""
    bits = np.random.default_rng(seed)
    parts = []
    for one in single_sets(read(text, about)):
        keys = dict(known_keys(one)[0])
        exact = np.full(one.group_count, 8 * 50.0 / one.group_count)
        found = {called(Rows(None)): noisy(exact, law, scale, bits)}
        bounds = ContributionBounds(law, rows, 1)
        parts.append(MeasuredSet(keys, one.group_count, found, {}, bounds))
    return parts


def test_merged_grouping_sets_add_up_with_narrower_intervals_that_hold():
    about = schema(unit=EachRow())
    query, held, widths = read(CUBE, about), [], []
    for seed in range(20):
        answers = [answered(CUBE, about, GAUSSIAN, s, (seed, i)) for i, s in enumerate((8.0, 6.0))]
        made = merge_parts(query, answers)
        shown = made.table.column("n").to_numpy()
        assert abs(shown[:8].sum() - shown[-1]) <= 4.5  # each is rounded by itself
        sizes = [part.groups for part in answers[0]]
        truth = np.concatenate([np.full(size, 8 * 50.0 / size) for size in sizes])
        held.append(np.abs(shown - truth) <= made.half_widths["n"].to_numpy())
        widths.append(made.half_widths["n"].to_numpy().max())
    assert 0.93 <= np.mean(held) <= 0.98  # of 540 intervals, not independent
    assert max(widths) < 0.9 * 1.96 * (1 / (1 / 8**2 + 1 / 6**2)) ** 0.5 + 0.5


def test_answers_whose_exact_totals_may_differ_are_averaged_set_by_set():
    stated = schema(limits=Limits(2, 3))
    by_person = [answered(CUBE, stated, LAPLACE, 3.0, i) for i in range(2)]
    other = [*by_person[:1], answered(CUBE, stated, LAPLACE, 3.0, 1, rows=3)]
    gaussian = [answered(CUBE, stated, GAUSSIAN, 3.0, i) for i in range(2)]
    widths = [
        merge_parts(read(CUBE, about), answers).half_widths["n"].to_numpy().max()
        for about, answers in (
            (stated, by_person),
            (stated, other),
            (stated, gaussian),
            (schema(limits=Limits()), by_person),
        )
    ]
    alone = 1.96 * 3 / 2**0.5 + 0.5
    assert widths[2] == pytest.approx(alone, rel=0.01)
    assert widths[0] < 0.95 * widths[1] == pytest.approx(0.95 * widths[3])
