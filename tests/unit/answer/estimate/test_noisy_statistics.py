"""Intervals are wider by what chosen limits cut off, in every way they are told."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.answer.estimate.answer_tables import AnswerTables
from discreet.answer.estimate.merging import merge_parts
from discreet.answer.estimate.noisy_statistics import interpret, pack_sets, unpack_sets
from discreet.answer.estimate.tabulate import Simulation, tabulate
from discreet.answer.execute import measure_set as production
from discreet.answer.execute.measure_set import measure_set
from discreet.answer.measurement_plan import answer
from discreet.answer.plan.contribution_histogram import ClippedShare
from discreet.answer.plan.planning import histograms_of
from discreet.answer.plan.price import Price
from discreet.engines.duckdb import DuckDBEngine
from discreet.plan.bounding import NoiseKind
from discreet.plan.schema import Limits
from discreet.plan.statistics import People, Rows, Total
from discreet.sql.reader.read import read
from planned import explain, plan_set
from visits import clinic, engine_of, schema

FREE = schema(limits=Limits())
ALL = (
    "SELECT city, COUNT(*) AS n, COUNT(DISTINCT person) AS p, SUM(amount) AS s, AVG(amount) AS m,"
    " COUNT(*) / 2 AS h FROM visits GROUP BY city"
)
CLIPPED = {"rows": ClippedShare(0.1, 0.01, 0.2, 50), "groups": ClippedShare(0.1, 0.01, 0.1, 3)}


@pytest.fixture(scope="module")
def measured():
    engine = engine_of(clinic(people=2000), FREE)
    query = read(ALL, FREE)
    plan = plan_set(query, Price(2, 1e-6))
    drawn = measure_set(plan, engine, "5a" * 16)
    engine.close()
    return query, interpret(plan, drawn)


def test_each_statistic_loses_its_share(measured):
    _, part = measured
    lost = replace(part, clipped=CLIPPED).cut_off
    rows = part.statistics[Rows(None)]
    (total,) = [of for of in part.statistics if isinstance(of, Total)]

    assert lost[Rows(None)] == pytest.approx(0.25 * rows)
    assert lost[People(None)] == pytest.approx(part.statistics[People(None)] / 9)
    assert lost[total] == pytest.approx(0.25 * rows * 50, rel=1e-4)  # values are 0 .. 100
    assert replace(part, clipped={}).cut_off == {}


def test_all_intervals_are_wider_by_what_is_cut_off(measured):
    query, part = measured
    widths = []
    for clipped in ({}, CLIPPED):
        one = [replace(part, clipped=clipped)]
        widths.append(Simulation.of(query, one).half_widths(tabulate(query, one[0]))[0])
    plain, wide = widths
    rows = part.statistics[Rows(None)]

    assert wide["n"] - plain["n"] == pytest.approx(0.25 * rows)
    assert wide["p"] - plain["p"] == pytest.approx(part.statistics[People(None)] / 9)
    assert wide["s"] - plain["s"] == pytest.approx(0.25 * rows * 100, rel=1e-3)
    assert np.all(wide["m"] > plain["m"])
    assert np.all(wide["h"] > plain["h"] + 0.1 * rows)


OVER = "SELECT city, COUNT(*) AS n, SUM(amount) AS s FROM visits GROUP BY city"
ROWS_ALONE = {"rows": ClippedShare(0.1, 0.01, 0.2, 50, 1.0)}


@pytest.fixture(scope="module")
def cities():
    engine = engine_of(clinic(people=2000), FREE)
    plan = plan_set(read(OVER, FREE), Price(2, 1e-6))
    drawn = measure_set(plan, engine, "5a" * 16)
    engine.close()
    return interpret(plan, drawn)


def widths_over(part, outputs, clipped):
    """Half-widths of what is computed from the cities."""
    query = read(f"SELECT {outputs} FROM ({OVER}) AS g", FREE)  # noqa: S608 - ours
    tables = AnswerTables.of(query, [replace(part, clipped=clipped)], {})
    return tables.half_widths(len(tables.table()))[0]


def test_what_is_cut_off_adds_up_over_groups(cities):
    """It was taken for noise of each group, of which a sum of k has sqrt(k) times as much."""
    sums = "SUM(n) AS a, AVG(n) AS b, SUM(s) AS c, SUM(LN(GREATEST(n, 1))) AS d"
    plain, wide = (widths_over(cities, sums, one) for one in ({}, ROWS_ALONE))
    rows = cities.statistics[Rows(None)]
    more = {name: wide[name][0] - plain[name][0] for name in plain}

    assert -1 < more["a"] - 0.25 * rows.sum() < 2 * np.sqrt(0.25 * rows.sum())
    assert more["b"] == pytest.approx(more["a"] / rows.size, abs=1)
    assert more["c"] > 0.25 * rows.sum() * 99
    assert more["d"] > rows.size * np.log(1.24)


def test_what_is_cut_off_alike_cancels_in_quotients_and_differences(cities):
    """Of one rate everywhere a share of all rows knows nothing; chance leaves some of it."""
    quotients = (
        "n / SUM(n) OVER () AS a, n / AVG(n) OVER () AS b, n - LAG(n) OVER (ORDER BY city) AS d"
    )
    plain, wide, uneven = (
        widths_over(cities, quotients, one)
        for one in ({}, ROWS_ALONE, {"rows": replace(ROWS_ALONE["rows"], each=50.0)})
    )
    rows = cities.statistics[Rows(None)]
    apart = 0.25 * np.abs(np.diff(rows))

    assert np.all(wide["a"] < plain["a"] + 4 * np.sqrt(0.25 * rows) / rows.sum())
    assert np.all(wide["b"] < plain["b"] + 4 * np.sqrt(0.25 * rows) / rows.mean())
    assert np.all(wide["d"][1:] < plain["d"][1:] + apart + 4 * np.sqrt(0.25 * rows[1:] * 2))
    for name in ("a", "b", "d"):
        assert np.nansum(uneven[name]) > np.nansum(wide[name]) > np.nansum(plain[name])


def test_where_it_is_not_known_how_unevenly_all_that_is_cut_off_may_be_noise(cities):
    """Answers that older versions stored do not tell what each person loses."""
    lags = "n - LAG(n) OVER (ORDER BY city) AS d"
    old = {"rows": replace(ROWS_ALONE["rows"], each=None)}
    least, most = (widths_over(cities, lags, one)["d"][1:] for one in (ROWS_ALONE, old))

    assert np.all(most > 1.5 * least)
    assert np.all(np.isfinite(most))


def test_columns_of_one_question_are_clipped_alike():
    """A quotient of counts knows nothing of one rate, a sum of two loses what both lose."""
    text = "SELECT city, COUNT(*) + COUNT(amount) AS a, COUNT(amount) / COUNT(*) AS r FROM visits"
    engine = engine_of(clinic(people=2000), FREE)
    query = read(f"{text} GROUP BY city", FREE)
    plan = plan_set(query, Price(2, 1e-6))
    part = interpret(plan, measure_set(plan, engine, "5a" * 16))
    engine.close()
    widths = []
    for clipped in ({}, ROWS_ALONE):
        one = replace(part, clipped=clipped)
        widths.append(Simulation.of(query, [one]).half_widths(tabulate(query, one))[0])
    plain, wide = widths
    rows = part.statistics[Rows(None)]

    assert np.all(wide["a"] - plain["a"] > 0.25 * rows)
    assert np.all(wide["r"] < plain["r"] + 4 * np.sqrt(0.25 * rows) / rows)


def test_what_is_cut_off_is_stored_and_does_not_average_out(measured):
    query, part = measured
    stored = unpack_sets(pack_sets(_kept(replace(part, clipped=CLIPPED))))

    assert stored[0].clipped == CLIPPED
    known = unpack_sets(pack_sets(_kept(replace(part, clipped=ROWS_ALONE))))
    assert known[0].clipped == ROWS_ALONE
    assert stored[0].beyond == CLIPPED["rows"].share
    one, many = (merge_parts(query, [stored] * times) for times in (1, 4))
    rows = part.statistics[Rows(None)]
    for merged in (one, many):
        assert np.all(merged.half_widths["n"].to_numpy() > 0.25 * rows)


def test_an_answer_that_was_stored_without_it_is_read(measured):
    _, part = measured
    old = tuple(replace(one, beyond=0.25, clipped={}) for one in _kept(part))

    assert unpack_sets(pack_sets(old))[0].clipped == {}
    assert unpack_sets(pack_sets(old))[0].beyond == 0.25
    assert pack_sets(unpack_sets(pack_sets(old))) == pack_sets(old)


def _kept(part):
    from discreet.answer.estimate.noisy_statistics import kept

    return kept([part])


# --- only what is needed is bought ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "limits", "bought"),
    [
        ("SELECT COUNT(*) AS n FROM visits", Limits(), ("rows",)),
        ("SELECT COUNT(DISTINCT person) AS n FROM visits", Limits(), ()),
        ("SELECT COUNT(*) AS n, COUNT(DISTINCT person) AS p FROM visits", Limits(), ("rows",)),
        ("SELECT city, SUM(amount) AS n FROM visits GROUP BY city", Limits(), ("rows",)),
        (
            "SELECT city, COUNT(DISTINCT person) AS n FROM visits GROUP BY city",
            Limits(),
            ("groups",),
        ),
        (ALL, Limits(), ("rows", "groups")),
        (ALL, Limits(max_groups=2), ("rows",)),
        (ALL, Limits(2, 4), ()),
        ("SELECT street, COUNT(*) AS n FROM visits GROUP BY street", Limits(), ("rows", "groups")),
    ],
)
def test_only_what_is_needed_is_learnt_and_charged_for(text, limits, bought):
    about = schema(limits=limits)
    query, price = read(text, about), Price(1, 1e-6)
    plan = plan_set(query, price, NoiseKind.LAPLACE)
    groups = 1 if "GROUP" not in text else 3 if "city" in text else 100
    share = Fraction(0) if not bought else Fraction(1, 10) if groups > 9 else Fraction(1, 5)

    assert histograms_of(query) == plan.histograms == bought
    assert plan.choice == share
    engine = engine_of(clinic(people=500), about)
    release = answer(query, engine, price, noise_kinds=(NoiseKind.LAPLACE,))
    engine.close()
    charged = [guarantee for _, guarantee in plan.guarantees]
    names = [cost.what for cost in release.costs if cost.what.startswith("people by")]
    assert names == [f"people by {what}" for what in bought]
    assert len(charged) == len(release.costs)
    for promised, cost in zip(charged[: len(bought)], release.costs, strict=False):
        assert promised.epsilon(0) == cost.guarantee.epsilon(0)


def test_people_who_count_once_are_told_to_be_cut_off_nowhere():
    query = read("SELECT COUNT(DISTINCT person) AS n FROM visits", FREE)
    told = explain(query, DuckDBEngine.dialect, Price(1, 1e-6))

    assert told.parts[0].clipped == 0
    assert "none needed: each person counts once" in repr(told)


def test_quantiles_allow_for_what_is_cut_off(monkeypatch):
    """Whoever is over a limit may have other values than the rest: a share of rows is missing."""
    query, rows = read("SELECT MEDIAN(amount) AS q FROM visits", FREE), clinic(people=5000)
    engine, plan = engine_of(rows, FREE), plan_set(query, Price(50))
    amounts, how = rows.column("amount").to_numpy(), []
    for lost in (0.0, 0.1, 0.25):
        monkeypatch.setattr(production, "lost_rows", lambda *_, lost=lost, **__: lost)
        part = interpret(plan, measure_set(plan, engine, "5a" * 16))
        part = replace(part, clipped={"rows": ClippedShare(0.1, 0.01, lost, 50)})
        (shown,), (width,) = part.quantiles["q"], part.widths["q"]
        least = np.abs(np.quantile(amounts, [0.5 - lost, 0.5 + lost]) - shown).max()
        assert least - 0.1 <= width <= 1.25 * least + 5
        how.append(Simulation.of(query, [part]).half_widths(tabulate(query, part))[1]["q"])
    engine.close()

    assert "for what limits cut off" not in how[0]
    assert "and 10 % of all rows for what limits cut off" in how[1]


def test_noise_that_is_nearly_always_0_divides_nothing():
    query = read("SELECT COUNT(*) / 2 AS h, AVG(amount) AS m FROM visits", FREE)
    engine = engine_of(clinic(people=500), FREE)
    with np.errstate(all="raise"):
        release = answer(query, engine, Price(10**6), noise_kinds=(NoiseKind.LAPLACE,))
    engine.close()

    assert all(np.isfinite(width.to_numpy()).all() for width in release.half_widths.values())


# --- in words -------------------------------------------------------------------------------------


def test_an_answer_says_what_its_intervals_are_about():
    query = read("SELECT COUNT(*) AS n FROM visits", FREE)
    engine = engine_of(clinic(people=5000), FREE)
    release = answer(query, engine, Price(1, 1e-6))
    engine.close()

    assert "intervals allow for what that cuts off, up to" in release.notes[0]
    assert "± is a 95 % interval for noise and for what chosen limits cut off" in repr(release)
    assert "and what the limits cut off" in release.statement()
    stated = engine_of(clinic(people=500))
    noise = answer(read("SELECT COUNT(*) AS n FROM visits", schema()), stated, Price(1, 1e-6))
    stated.close()
    assert "± is a 95 % interval for noise alone" in repr(noise)
    assert "cover this noise alone" in noise.statement()


def test_a_limit_that_could_not_be_learnt_is_called_a_guess():
    table = pa.table(
        {"person": [1, 2], "city": ["Haifa"] * 2, "street": ["a"] * 2, "amount": [1.0] * 2}
    )
    engine = engine_of(table, FREE)
    release = answer(read("SELECT COUNT(*) AS n FROM visits", FREE), engine, Price(0.01))
    engine.close()

    assert (
        "16 rows (a guess: epsilon was too small to learn how many people have" in release.notes[0]
    )
    assert "intervals do not allow for them" in release.notes[0]
    assert "± is a 95 % interval for noise alone" in repr(release)
    assert "cover this noise alone" in release.statement()


def test_an_answer_that_was_stored_before_intervals_allowed_for_limits_says_noise_alone():
    """Its limits were chosen, and paid for; its intervals are those of the noise."""
    engine = engine_of(clinic(people=5000), FREE)
    release = answer(read("SELECT COUNT(*) AS n FROM visits", FREE), engine, Price(1, 1e-6))
    engine.close()
    old = replace(release, notes=("Laplace noise; one person counts for at most 9 rows", "merged"))

    assert any(cost.what == "people by rows" for cost in old.costs)
    assert "± is a 95 % interval for noise alone" in repr(old)
    assert "9 rows; whoever has more is weighted down. Merged." in " ".join(old.statement().split())
