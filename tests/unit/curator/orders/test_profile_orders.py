"""Profiles: one order for all columns, bounded people, exact neighbours, and bounds for later."""

import datetime as dt
import json
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.answer.plan.price import Price
from discreet.audit.replay import replay
from discreet.curator.orders.order_kinds import KINDS
from discreet.curator.orders.profile_orders import ProfileOrder
from discreet.curator.orders.profile_release import ProfileRelease
from discreet.errors import BudgetError, InputError, InvariantBroken, QueryRefused
from discreet.plan.bounding import FULL
from discreet.plan.schema import EachRow
from discreet.privacy import Neighbours
from discreet.privacy.budgets.charges import EPSILON, MU_SQUARED, RHO
from discreet.sql.writer.compile_profile import CompiledProfile
from discreet.workload.profile import ProfileNoise
from running_server import served

BUDGET = dp.Budget(epsilon=20, delta=1e-5)
DAY = dt.date(2021, 3, 1)
MANY = 30_000


@cache
def rows(count=MANY, each=3):
    """People of `each` rows; a fixed pattern, so that no count is left to chance."""
    at = np.arange(count)
    return pa.table(
        {
            "id": pa.array([None if i % 1000 == 999 else int(i // each) for i in at], pa.int64()),
            "age": pa.array([None if i % 10 == 0 else 20 + i % 60 for i in at], pa.int64()),
            "pay": (at % 997) * 1.5,
            "year": 1990 + at % 30,
            "city": [("Haifa", "Austin", "Oslo")[min(i % 8, 2)] for i in at],
            "note": [f"note {i}" for i in at],
            "sex": [("F", "M", "?")[i % 3] for i in at],
            "ok": at % 4 == 0,
            "day": [DAY + dt.timedelta(days=int(i % 200)) for i in at],
            "seen": pa.array((at * 60_000_000 + 1_614_556_800_000_000), pa.timestamp("us")),
        }
    )


def add(curator, table=None, **other):
    said = {"unit": "id", "budget": BUDGET, "columns": {"sex": dp.Keys(["F", "M"])}, **other}
    curator.add("people", rows() if table is None else table, **said)
    return curator


@pytest.fixture(scope="module")
def shared():
    """For questions that change nothing for others."""
    with add(dp.Curator.in_memory()) as curator:
        yield curator


@pytest.fixture
def curator():
    with add(dp.Curator.in_memory()) as curator:
        yield curator


def test_every_column_is_told_at_one_price_and_once(curator):
    told = curator.profile("people", epsilon=4)
    assert [one.name for one in told.columns] == rows(1).column_names[1:]
    assert abs(told.rows.value - MANY) < 1000
    assert abs(told.people.value - MANY / 3) < 300
    assert abs(told["age"].nulls.value - MANY / 10) < 5 * told["age"].nulls.error
    assert abs(told["year"].low - 1990) < 5
    assert abs(told["year"].high - 2019) < 5
    assert 47 <= told["age"].quantiles[2].value <= 51
    assert told["age"].quantiles[2].low <= 49 <= told["age"].quantiles[2].high
    assert abs((told["day"].low - DAY).days) < 20
    assert abs((told["day"].high - DAY).days - 199) < 20
    assert told["seen"].low.year == 2021
    assert told["note"].keys == ()  # of one person each
    assert {"Oslo", "Haifa"} <= set(told["city"].keys) <= {"Oslo", "Haifa", "Austin"}
    assert told["city"].top[0].value == "Oslo"
    assert [one.value for one in told["sex"].top] in (["F", "M"], ["M", "F"])
    assert abs(told["sex"].others.value - MANY / 3) < 1000
    assert told["ok"].top[0].value is False
    assert abs(told["note"].distinct.value - MANY) < 1000
    spent = curator.budget("people").spent
    assert curator.profile("people", epsilon=4) == told
    assert curator.budget("people").spent == spent


def test_what_is_charged_is_what_is_planned_and_measured(shared):
    planned = shared._local.offer_order("profile", spec(), None).planned
    assert planned.parts == 3 + 5 * 4 + 2 * 2 + 2  # numbers and times, texts, keys
    heard = []
    true = ProfileNoise.release

    def listen(noise, exact):
        heard.append(noise.mu_squared)
        return true(noise, exact)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProfileNoise, "release", listen)
        planned.measure(shared._data_store.open(planned.tables), None)
    assert sum(heard) == planned.mu_squared
    assert len(heard) == planned.parts
    assert planned.charge(MU_SQUARED).amount >= planned.mu_squared
    assert planned.charge(MU_SQUARED).delta >= planned.key_delta
    assert planned.charge(RHO).amount >= planned.mu_squared / 2


def test_where_epsilons_add_up_noise_is_laplace_and_texts_take_a_delta():
    for budget, texts in ((dp.Budget(epsilon=20), 0), (dp.Budget(20, 1e-5, measure="epsilon"), 2)):
        with add(dp.Curator.in_memory(), budget=budget) as curator:
            planned = curator._local.offer_order("profile", spec(), None).planned
            told = curator.profile("people", epsilon=4)
            assert ProfileRelease.from_bytes(told.to_bytes()).guarantees == told.guarantees
        assert planned.parts * planned.noise(3).epsilon == 4 == planned.charge(EPSILON).amount
        assert (planned.charge(EPSILON).delta > 0) is (texts > 0)
        assert [one.noise for one in told.costs] == ["Laplace", "threshold"][: 1 + (texts > 0)]
        assert told["age"].low >= 0
        assert told["age"].high <= 100
        assert len(told["city"].top) == (3 if texts else 0)


def spec(**other):
    return {"table": "people", "epsilon": "4", **other}


# --- neighbours ---------------------------------------------------------------------------------


def measured(table, **other):
    with add(dp.Curator.in_memory(), table, **other) as curator:
        planned = curator._local.offer_order("profile", spec(), None).planned
        return planned.measure(curator._data_store.open(planned.tables), None)


def neighbours(table):
    """With and without one person of 30 rows, who is in every cell that others are in."""
    table = table.drop_columns(["city", "note"])
    mine = table.slice(0, 30).set_column(0, "id", pa.array([-1] * 30, pa.int64()))
    return pa.concat_tables([table, mine]), table


@pytest.mark.parametrize("budget", [BUDGET, dp.Budget(epsilon=20)])
@pytest.mark.parametrize("limits", [None, dp.Limits(max_rows=2)])
def test_neighbours_see_nothing_but_released_numbers(limits, budget):
    differences = replay(
        lambda table: measured(table, limits=limits, budget=budget), *neighbours(rows(300))
    )
    assert not differences, str(differences)


def test_a_person_who_is_not_weighed_is_caught(monkeypatch):
    true = CompiledProfile.weights

    def nobody(compiled, limit):
        return [one._replace(select=f"{one.select} LIMIT 0") for one in true(compiled, limit)]

    monkeypatch.setattr(CompiledProfile, "weights", nobody)
    differences = replay(
        lambda table: measured(table, limits=dp.Limits(max_rows=2)), *neighbours(rows(300))
    )
    assert "declared" in str(differences)


@pytest.mark.parametrize("epsilon", [None, Fraction(1, 10)])
@pytest.mark.parametrize("about", Neighbours)
@pytest.mark.parametrize("limit", [1, 5])
def test_texts_that_one_person_decides_about_are_shown_with_delta_at_most(about, limit, epsilon):
    """In exact arithmetic, however the person spreads their weight over values."""
    delta = Fraction(1, 10**6)
    noise = ProfileNoise(Fraction(1, 100), FULL, limit, about, epsilon)
    weight = FULL * limit
    for many in (1, 2, 3, 7, 64, FULL, weight):
        assert shown(noise, noise.threshold(delta), weight // many, many) <= delta
    # Without the person's own weight, or for one value alone, it would be too low.
    low = noise.threshold(delta) - weight
    assert shown(noise, low, weight, 1) > shown(noise, noise.threshold(delta), weight, 1)
    single = noise.least + noise.half_width(2 * delta)
    assert shown(noise, single, 1, weight) > delta


def shown(noise, threshold, each, many):
    """The chance that any of the values is shown that the person's weight made candidates."""
    tail = noise.mechanism(1)._tail(threshold - (noise.least - 1 + each))
    return Fraction(tail.upper) * many


def test_rows_that_are_protected_by_themselves_are_counted_in_full():
    with add(dp.Curator.in_memory(), rows(6000).drop_columns(["id"]), unit=EachRow()) as curator:
        told = curator.profile("people", epsilon=4)
    assert told.people is None
    assert abs(told.rows.value - 6000) < 200
    assert "each row is protected" in repr(told)


@pytest.mark.parametrize("empty", [True, False])
def test_a_table_with_nobody_or_one_person_says_that_noise_hides_it(empty):
    table = rows(30).slice(0, 0 if empty else 30)
    if not empty:
        table = table.set_column(0, "id", pa.array([1] * 30))
    with add(dp.Curator.in_memory(), table) as curator:
        told = curator.profile("people", epsilon=1)
    assert [one.low for one in told.columns] == [None] * 9
    assert told.proposals == {}
    assert "hidden by noise" in repr(told)


def test_numbers_at_the_ends_of_their_kind_do_no_harm():
    count = 3000
    ends = [-(1 << 63), (1 << 63) - 1, 0, None]
    reals = [float("inf"), float("nan"), -0.0, 1e308, -5e-324, None]
    table = pa.table(
        {
            "id": range(count),
            "whole": [ends[i % 4] for i in range(count)],
            "real": [reals[i % 6] for i in range(count)],
            "text": [("x" * 100, None, "", "é")[i % 4] for i in range(count)],
        }
    )
    with dp.Curator.in_memory() as curator:
        curator.add("people", table, unit="id", budget=BUDGET)
        told = curator.profile("people", epsilon=8)
    assert abs(told["whole"].nulls.value - count / 4) < 150
    assert abs(told["real"].nulls.value - count / 2) < 150
    assert abs(told["text"].others.value - count / 4) < 150
    assert set(told["text"].keys) == {"", "é"}


# --- what comes of it ----------------------------------------------------------------------------


def test_sums_and_means_take_bounds_from_the_profile_of_the_same_analyst(curator):
    question = "SELECT AVG(pay) AS m, SUM(year) AS s FROM people"
    for who in ("owner", "bob"):
        with pytest.raises(QueryRefused, match="profile"):
            curator.sql(question, epsilon=1, analyst=who)
    told = curator.profile("people", epsilon=4, analyst="bob")
    answer = curator.sql(question, epsilon=4, analyst="bob")
    true = float(np.mean((np.arange(MANY) % 997) * 1.5))
    assert abs(answer.to_arrow()["m"][0].as_py() - true) < true / 10
    assert any(f"pay is clamped to {told['pay'].low}" in note for note in answer.notes)
    assert not any("age" in note for note in answer.notes)
    begun = curator.table("people", analyst="bob").where(dp.col("year") > 1900)
    built = begun.agg(m=dp.mean("pay")).release(epsilon=4)
    assert abs(built.to_arrow()["m"][0].as_py() - true) < true / 10
    with pytest.raises(InputError, match="without bounds"):
        curator.table("people").agg(m=dp.mean("pay"))
    spent = curator.budget("people").spent
    assert curator.sql(question, epsilon=4, analyst="bob").to_bytes() == answer.to_bytes()
    assert curator.budget("people").spent == spent
    with pytest.raises(QueryRefused, match="without bounds"):
        curator.sql(question, epsilon=1)  # nobody told the owner


def test_null_stays_null_where_bounds_come_from_a_profile(shared):
    shared.profile("people", epsilon=4)
    told = shared.sql("SELECT AVG(age) AS m, COUNT(age) AS n FROM people", epsilon=8)
    ages = [20 + i % 60 for i in range(MANY) if i % 10]
    assert abs(told.to_arrow()["m"][0].as_py() - np.mean(ages)) < 1
    assert abs(told.to_arrow()["n"][0].as_py() - len(ages)) < 600


def test_proposals_are_what_an_owner_can_declare(shared):
    told = shared.profile("people", epsilon=4)
    with dp.Curator.in_memory() as other:
        said = {**told.proposals, "sex": dp.Keys(["F", "M"])}
        other.add("people", rows(3000), unit="id", budget=BUDGET, columns=said)
        assert other.sql("SELECT city, AVG(pay) FROM people GROUP BY city", epsilon=1)
        assert other.schema.tables["people"].columns["year"].range.low > 1985


def test_a_profile_survives_a_crash_under_its_charge(tmp_path, monkeypatch):
    with add(dp.Curator(tmp_path / "c")) as curator:
        with monkeypatch.context() as patch:
            patch.setattr(ProfileOrder, "present", lambda *_: 1 / 0)
            with pytest.raises(InvariantBroken):
                curator.profile("people", epsilon=4)
        spent = curator.budget("people").spent
    with dp.Curator(tmp_path / "c") as curator:
        assert curator.recover(patience=0) == 1
        told = curator.profile("people", epsilon=4)
        assert curator.budget("people").spent == spent
        order = curator.ledger.asked(["people"])[0].order
        assert KINDS["profile"].price_of(order) == Price(4, Fraction(1, 10**7))
        assert KINDS["profile"].read(order, curator.schema).text == order.plan
        assert ProfileRelease.from_bytes(told.to_bytes()) == told


def test_it_reads_as_text_html_table_and_json(shared):
    told = shared.profile("people", epsilon=4)
    assert "year    integer" in repr(told)
    assert "<td>year</td>" in told._repr_html_()
    assert told.to_arrow()["column"].to_pylist() == [one.name for one in told.columns]
    facts = json.loads(json.dumps(told.json_facts()))
    assert facts["proposals"]["year"] == {"bounds": [told["year"].low, told["year"].high]}
    assert "one person, with all their rows" in told.statement().replace("\n", " ")
    assert "rows in each column; whoever has more is weighted down" in told.notes()[1]
    assert [one.noise for one in told.costs] == ["Gaussian", "threshold"]
    explained = shared.explain_order("profile", spec())
    assert "values of city, note are shown where" in repr(explained)


@pytest.mark.parametrize(
    ("order", "wrong"),
    [
        ({"table": "nothing", "epsilon": "1"}, "nothing"),
        ({"table": "people"}, "epsilon"),
        ({"table": "people", "epsilon": "many"}, "epsilon"),
        ({"table": ["people"], "epsilon": "1"}, "private table"),
        ({"table": "people", "epsilon": "100000"}, "variance is too small"),
    ],
)
def test_what_cannot_be_profiled_is_refused_for_nothing(shared, order, wrong):
    before = shared.ledger.head()
    with pytest.raises((InputError, QueryRefused), match=wrong):
        shared.order("profile", order)
    assert shared.ledger.head() == before


def test_a_price_above_the_budget_is_refused(shared):
    with pytest.raises(BudgetError):
        shared.profile("people", epsilon=30)
    with pytest.raises(InputError, match="no column"):
        shared.profile("people", epsilon=4)["nothing"]
    with pytest.raises(InputError, match="cannot be read as a profile"):
        ProfileRelease.from_bytes(b"[]")


def test_a_remote_curator_profiles_and_then_sums():
    with (
        add(dp.Curator.in_memory(), rows(3000)) as curator,
        served(curator) as server,
        dp.Curator(server.url, token=server.token(), allow_plain=True) as far,
    ):
        assert "pay" in far.profile("people", epsilon=8).proposals
        assert far.sql("SELECT SUM(pay) AS s FROM people", epsilon=1).to_arrow().num_rows == 1
