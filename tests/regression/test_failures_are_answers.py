"""What fails, and what is asked again after a failure, tells nothing that was not paid for."""

import datetime as dt
import gc
import hashlib
import sqlite3
import sys
from collections import defaultdict
from contextlib import closing, contextmanager
from fractions import Fraction
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dp
from clinic_curator import BUDGET, BY_CITY, COUNT, add_visits
from discreet.answer.execute.noisy_measurements import pack
from discreet.answer.measurement_plan import MeasurementPlan
from discreet.answer.present.release import Release
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.orders.online_epochs import OnlineReply
from discreet.curator.orders.order_kinds import KINDS
from discreet.curator.orders.planned_orders import Terms
from discreet.curator.orders.streams.stream_reading import StreamQuery
from discreet.engines.timing import ReleaseSchedule
from discreet.errors import DiscreetError, EngineError, LedgerError
from discreet.workload.online import OnlineSession
from order_specs import ORDERS, add_dated, costing
from visits import clinic

PACKAGE = Path(dp.__file__).parent
READING = ("answer", "engines", "mechanisms", "noise", "plan", "sql")
OTHERS = ("curator/orders", "learn", "workload")
"""Where data is read and answers are made; what the ledger does is killed in tests/crash."""
CHECKS = (
    "SELECT MEDIAN(amount) AS m, COUNT(*) * 9007199254740993 AS big FROM visits",
    "SELECT street, COUNT(DISTINCT person) AS n, AVG(amount) AS a FROM visits GROUP BY street",
)
SOME = 9
"""Every ninth of the functions that run after a charge raises, once each."""
SLOWLY_PRICED = {"training"}
FEW = 4
"""Functions that raise after the charge of an order of another kind; under `audit` all of them."""


class Injected(Exception):  # noqa: N818 - a word for the test
    """Something that nobody foresaw."""


def with_bob(rows, count):
    """One person more, who has very many rows far from all others."""
    bob = {
        "person": pa.array([10**6] * count, pa.int64()),
        "city": pa.array(["Oslo"] * count),
        "street": pa.array(["street 1"] * count),
        "amount": pa.array([97.5] * count),
    }
    return pa.concat_tables([rows, pa.table(bob)])


NEIGHBOURS = (clinic(60), with_bob(clinic(60), 3000))


# --- an exception at every step ------------------------------------------------------------------


@contextmanager
def raising_in(place):
    """Raise in the first call of one function, by file and first line; gives where it has.

    Garbage is not collected meanwhile: what is closed at a collection belongs to earlier orders.
    """
    raised, (file, line) = [], place

    def profile(frame, event, _):  # for every call there is: the number first
        code = frame.f_code
        if event == "call" and code.co_firstlineno == line and code.co_filename == file:
            sys.setprofile(None)
            raised.append(place)
            raise Injected("42 rows of Bob")

    gc.disable()
    sys.setprofile(profile)
    try:
        yield raised
    finally:
        sys.setprofile(None)
        gc.enable()


def functions_after_a_charge(curator, receipt, packages=READING):
    """The functions that run once an order is charged, in the order in which they first do."""
    return functions_during(lambda: curator._answer_service.collect(receipt), packages)


def functions_during(call, packages):
    """The functions of some packages that run during a call."""
    seen, places = {}, tuple(str(PACKAGE / name) for name in packages)

    def profile(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(places):
            seen.setdefault((code.co_filename, code.co_firstlineno))

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(seen)


def charge(curator, text, epsilon):
    offer = curator._local.offer(text, Terms(epsilon=epsilon), None)
    return curator._answer_service.charge(offer)


def outcome(call):
    """What an analyst sees: an error in words, or an answer without its numbers."""
    try:
        release = call()
    except (DiscreetError, Injected) as error:
        return type(error).__name__, str(error) if isinstance(error, DiscreetError) else ""
    if not isinstance(release, Release):
        return type(release), release.price, [cost.what for cost in release.costs]
    how = {name: words for name, words in release.how.items() if "sorted order" not in words}
    return release.table.schema, how, release.price, [cost.what for cost in release.costs]


def observed(curator, receipt, ask, place):
    """All that can be seen of an order during which one function raises, and of asking again."""
    with raising_in(place):
        first = outcome(lambda: curator._answer_service.collect(receipt))
    again = [outcome(ask) for _ in range(2)]
    entries = [(one.kind, one.by) for one in curator.ledger.entries(after=receipt.sequence)]
    return first, again, entries, curator.budget("visits").spent


@cache
def remembering(_modules):
    """The functions with caches, of so many modules."""
    return [
        one
        for name, module in list(sys.modules.items())
        for one in (vars(module).values() if name.startswith("discreet.") else ())
        if callable(getattr(one, "cache_clear", None))
    ]


def forget():
    """Empty the caches of functions: what is remembered of one neighbour is not computed again."""
    for one in remembering(len(sys.modules)):
        one.cache_clear()


def observed_question(curator, text, n, place):
    forget()
    epsilon = Fraction(n + 101, 1000)
    receipt = charge(curator, text, epsilon)
    return observed(curator, receipt, lambda: curator.sql(text, epsilon=epsilon), place)


def observed_order(curator, kind, n, place):
    spec = costing(kind, Fraction(n + 101, 100))
    receipt = curator._answer_service.charge(curator._local.offer_order(kind, spec, None))
    return observed(curator, receipt, lambda: curator.order(kind, spec), place)


@pytest.fixture
def presented(monkeypatch):
    """The different measurements that were presented for each question."""
    seen, present = defaultdict(set), MeasurementPlan.present

    def look(plan, drawn):
        digest = hashlib.sha256(pack(drawn)).hexdigest()
        seen[repr(plan.query), plan.price].add(digest)
        return present(plan, drawn)

    monkeypatch.setattr(MeasurementPlan, "present", look)
    return seen


@pytest.mark.parametrize("text", CHECKS)
def test_an_exception_at_any_step_looks_the_same_on_neighbours(text):
    with dp.Curator.in_memory() as curator:
        add_visits(curator, NEIGHBOURS[0], budget=dp.Budget(epsilon=30, delta=1e-3))
        receipt = charge(curator, text, Fraction(1, 100))
        places = functions_after_a_charge(curator, receipt)[::SOME]
    found = []
    for rows in NEIGHBOURS:
        found.append([])
        with dp.Curator.in_memory() as curator:
            add_visits(curator, rows, budget=dp.Budget(epsilon=30, delta=1e-3))
            for n, place in enumerate(places):
                found[-1].append(observed_question(curator, text, n, place))
                curator.readmit("owner", "visits", reason="the test made it fail")
            assert curator.ledger.verify().ok

    for place, left, right in zip(places, *found, strict=True):
        assert left == right, place
    failed = [one for one in found[0] if one[0][0] == "EngineError"]
    assert len(failed) > 10  # while data was read
    assert all(one[1] == [one[0]] * 2 for one in failed)  # for good
    assert "rows of Bob" not in str(found)


def check_order(kind, few=None):
    """What an analyst sees is the same on neighbours, whichever function raises."""
    budget = dp.Budget(epsilon=10**6, delta=1e-2)
    with dp.Curator.in_memory() as curator:
        add_dated(curator, NEIGHBOURS[0], budget)
        offer = curator._local.offer_order(kind, costing(kind, 1), None)
        receipt = curator._answer_service.charge(offer)
        places = functions_after_a_charge(curator, receipt, (*READING, *OTHERS))
    assert any(str(PACKAGE / "curator" / "orders") in file for file, _ in places)
    places = places[:: -(-len(places) // few)] if few else places
    found = []
    for rows in NEIGHBOURS:
        found.append([])
        with dp.Curator.in_memory() as curator:
            add_dated(curator, rows, budget)
            for n, place in enumerate(places):
                found[-1].append(observed_order(curator, kind, n, place))
                curator.readmit("owner", "visits", reason="the test made it fail")
            assert curator.ledger.verify().ok

    for place, left, right in zip(places, *found, strict=True):
        assert left == right, place
    failed = [one for one in found[0] if one[0][0] == "EngineError"]
    assert all(one[1] == [one[0]] * 2 for one in failed)  # for good
    assert "rows of Bob" not in str(found)


@pytest.mark.parametrize("kind", [kind for kind in ORDERS if kind not in SLOWLY_PRICED])
def test_an_exception_after_the_charge_of_any_order_looks_the_same_on_neighbours(kind):
    check_order(kind, FEW)


def test_an_exception_is_raised_in_orders_of_every_kind():
    assert {*ORDERS, "query"} == set(KINDS)


# --- an exception at every later step ------------------------------------------------------------

LATER = {"online": ("workload", "curator/orders"), "stream": ("mechanisms", "curator/orders")}
"""Kinds of orders that read data after their release too, and where they do besides engines."""
ASKED = [{"city": ["Haifa"]}, {"amount": {"low": 0, "high": 30}}]


def curator_of_days(rows):
    """The clinic, with visits of January that are complete, for whoever watches them."""
    curator = dp.Curator.in_memory()
    add_dated(curator, rows, dp.Budget(epsilon=10**6, delta=1e-2))
    day = pa.array([20_458 + i % 20 for i in range(rows.num_rows)], pa.date32())
    dated = rows.append_column("day", day)
    curator.append("days", dated, through=dt.date(2026, 1, 31))
    return curator


def opened(curator, kind, n):
    """An order that is released, and how it goes on."""
    spec = costing(kind, Fraction(n + 101, 100))
    curator.order(kind, spec)
    charge = curator._local.sequence(curator._local.offer_order(kind, spec, None))
    if kind == "online":
        return charge, lambda: curator._local.ask_online(charge, ASKED, 0.95)
    return charge, lambda: curator._local.stream_release(charge)


def seen_later(call):
    """What an analyst sees of a later step, without its numbers."""
    try:
        told = call()
    except (DiscreetError, Injected) as error:
        return type(error).__name__, str(error) if isinstance(error, DiscreetError) else ""
    return told.held if isinstance(told, OnlineReply) else told.table.schema


def check_later(kind, few=None):
    """What an analyst sees of a step that fails is the same on neighbours, and stays so."""
    with curator_of_days(NEIGHBOURS[0]) as curator:
        _, go_on = opened(curator, kind, 0)
        places = functions_during(go_on, ("answer", "engines", "sql", *LATER[kind]))
    places = places[:: -(-len(places) // few)] if few else places
    found = []
    for rows in NEIGHBOURS:
        found.append([])
        with curator_of_days(rows) as curator:
            for n, place in enumerate(places):
                charge, go_on = opened(curator, kind, n)
                with raising_in(place) as raised:
                    first = seen_later(go_on)
                again = [seen_later(go_on) for _ in range(2)]
                entries = [(one.kind, one.by) for one in curator.ledger.entries(after=charge)]
                ended = curator.ledger.has_ended(charge)
                seen = (first, again, "failed" in dict(entries), ended)
                found[-1].append(seen if raised else None)  # an update is measured on a noisy hit
                curator.readmit("owner", "visits", reason="the test made it fail")
            assert curator.ledger.verify().ok

    for place, left, right in zip(places, *found, strict=True):
        assert left is None or right is None or left == right, place
    told = [one for one in found[0] if one and isinstance(one[0], tuple)]
    failed = [one for one in told if one[0][:1] == ("EngineError",)]
    assert len(failed) > len(places) / 3
    for first, again, counted, ended in failed:
        assert counted, first
        assert ended, first
        assert again == [False if kind == "online" else first] * 2
    assert "rows of Bob" not in str(found)


# An exception may hit the function that closes a database: Python reports it and goes on.
in_finalizers = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@in_finalizers
@pytest.mark.parametrize("kind", LATER)
def test_an_exception_at_a_later_step_looks_the_same_on_neighbours(kind):
    check_later(kind, 2 * FEW)


@pytest.mark.audit
@in_finalizers
@pytest.mark.parametrize("kind", LATER)
def test_an_exception_at_every_later_step_looks_the_same_on_neighbours(kind):
    check_later(kind)


@pytest.mark.parametrize("kind", LATER)
def test_later_steps_are_read_at_a_pace_that_is_fixed_before(kind):
    bounds = []
    with curator_of_days(NEIGHBOURS[0]) as curator:
        charge, go_on = opened(curator, kind, 0)
        curator.set_schedule(
            lambda _: ReleaseSchedule(steps=lambda seconds: bounds.append(seconds) or ())
        )
        seen_later(go_on)
        assert curator.ledger.steps(charge)
    assert [one > 0 for one in bounds] == [True]


@pytest.mark.parametrize("kind", LATER)
@pytest.mark.parametrize("by", ["bob", None])
def test_a_later_step_keeps_the_pace_of_whoever_asks_for_it(kind, by):
    names = set()
    with curator_of_days(NEIGHBOURS[0]) as curator:
        charge, go_on = opened(curator, kind, 0)
        curator.set_schedule(lambda name: names.add(name) or ReleaseSchedule())
        if by is None:
            seen_later(go_on)
        elif kind == "online":
            curator.async_session(None).ask_online(charge, ASKED, 0.95, by)
        else:
            curator.async_session(None).stream_release(charge, by)
    assert names == {by or "owner"}


@pytest.mark.parametrize("kind", LATER)
def test_a_later_step_that_overruns_its_time_fails_and_nothing_of_it_is_stored(kind):
    with curator_of_days(NEIGHBOURS[0]) as curator:
        charge, go_on = opened(curator, kind, 0)
        curator.set_schedule(lambda _: ReleaseSchedule(steps=lambda _: (1e-6,)))
        assert seen_later(go_on)[0] == "EngineError"
        assert curator.ledger.steps(charge) == ()
        assert curator.ledger.has_ended(charge)


@pytest.mark.parametrize("kind", LATER)
def test_five_failures_of_later_steps_are_all_that_an_analyst_gets(kind, monkeypatch):
    def fail(*_, **__):
        raise Injected

    with curator_of_days(NEIGHBOURS[0]) as curator:
        later = [opened(curator, kind, n)[1] for n in range(6)]
        if kind == "online":
            assert [seen_later(one) for one in later[3:]] == [True] * 3  # what is open fails too
        monkeypatch.setattr(OnlineSession, "ask", fail)
        monkeypatch.setattr(StreamQuery, "read", fail)
        assert [seen_later(one)[0] for one in later] == ["EngineError"] * 5 + ["AccessError"]
        with pytest.raises(dp.errors.AccessError, match="5 questions of one analyst about visits"):
            opened(curator, kind, 6)


@pytest.mark.audit
@pytest.mark.parametrize("kind", ORDERS)
def test_an_exception_at_every_step_of_any_order_looks_the_same_on_neighbours(kind):
    check_order(kind)


def test_no_charge_is_ever_presented_from_two_draws(presented):
    text = CHECKS[0]
    with dp.Curator.in_memory() as curator:
        add_visits(curator, NEIGHBOURS[0], budget=dp.Budget(epsilon=30, delta=1e-3))
        receipt = charge(curator, text, Fraction(1, 100))
        places = functions_after_a_charge(curator, receipt)[::SOME]
        for n, place in enumerate(places):
            observed_question(curator, text, n, place)
            curator.readmit("owner", "visits", reason="the test made it fail")

    assert len(presented) > 10
    assert all(len(draws) == 1 for draws in presented.values())


@pytest.mark.parametrize("outcome", ["keep", "fail"])
def test_what_cannot_be_stored_is_not_drawn_again(monkeypatch, outcome):
    draws, measure = [], MeasurementPlan.measure

    def counted(*said):
        draws.append(said)
        if outcome == "fail":
            raise Injected
        return measure(*said)

    def full(*_):
        raise LedgerError("the ledger could not be written", why="its disk is full", fix="wait")

    monkeypatch.setattr(MeasurementPlan, "measure", counted)
    with add_visits(dp.Curator.in_memory()) as curator:
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, outcome, full)
            for _ in range(3):
                with pytest.raises(LedgerError, match="could not be written"):
                    curator.sql(COUNT, epsilon=0.1)
        if outcome == "keep":
            assert curator.sql(COUNT, epsilon=0.1).table.num_rows == 1
        else:
            with pytest.raises(EngineError):
                curator.sql(COUNT, epsilon=0.1)
        assert len(draws) == 1
        assert [one.kind for one in curator.ledger.entries()].count("charged") == 1
        assert curator.ledger.verify().ok


# --- the ways in which the promise was broken -----------------------------------------------------


@pytest.mark.parametrize("rows", [1000, 1024, 1025, 5000])
def test_a_quantile_is_answered_however_far_over_the_limit_one_person_is(rows):
    people = pa.table({"id": range(200), "age": [30 + i % 20 for i in range(200)]})
    bob = pa.table({"id": [200] * rows, "age": [111] * rows})
    with dp.Curator.in_memory() as curator:
        curator.add(
            "visits",
            pa.concat_tables([people, bob]),
            unit="id",
            budget=BUDGET,
            columns={"age": dp.Bounds(0, 120)},
            limits=dp.Limits(1, 1),
        )
        release = curator.sql("SELECT MEDIAN(age) AS m FROM visits", epsilon=1)

    assert 0 <= release.table.column("m")[0].as_py() <= 120


def test_a_group_of_people_who_weigh_nothing_has_a_quantile():
    rows = with_bob(
        clinic(60).filter([city != "Oslo" for city in clinic(60)["city"].to_pylist()]), 5000
    )
    with dp.Curator.in_memory() as curator:
        add_visits(curator, rows, limits=dp.Limits(1, 1))
        release = curator.sql(
            "SELECT city, MEDIAN(amount) AS m FROM visits GROUP BY city", epsilon=1
        )

    assert release.table.num_rows == 3


def test_a_derived_number_past_2_to_53_has_an_error_bar():
    with add_visits(dp.Curator.in_memory()) as curator:
        release = curator.sql("SELECT COUNT(*) * 9007199254740993 AS big FROM visits", epsilon=1)

    assert release.half_widths["big"][0].as_py() > 2**53


def lose(folder, stored):
    """Delete what a ledger has stored of measurements or releases, past its own guards.

    With "both", also what leads from a charge to them.
    """
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as file, file:
        for table in STORED if stored == "both" else [stored]:
            for change in ("update", "delete"):
                file.execute(f"DROP TRIGGER IF EXISTS {table}_{change}")
            file.execute(f"DELETE FROM {table}")  # noqa: S608 - one of two names
        if stored == "both":
            file.execute("UPDATE charges SET measured = NULL, released = NULL")


STORED = ["measurements", "releases"]
SOON = 1.0
"""Seconds after which a charge without measurements is taken over, and found to have lost them."""


@pytest.mark.parametrize("kind", ["profile", "workload"])
@pytest.mark.parametrize("step", [*STORED, "both"])
def test_what_is_lost_of_another_order_is_refused_too(tmp_path, monkeypatch, kind, step):
    def fail(*_):
        raise Injected

    with dp.Curator(tmp_path / "c", patience=SOON) as curator:
        add_dated(curator, NEIGHBOURS[0], BUDGET)
        planned = curator._local.offer_order(kind, ORDERS[kind], None).planned
        with monkeypatch.context() as patch:
            if step == "measurements":
                patch.setattr(type(planned), "present", fail)
                with pytest.raises(DiscreetError):
                    curator.order(kind, ORDERS[kind])
            else:
                curator.order(kind, ORDERS[kind])
        lose(tmp_path / "c", step)
        with pytest.raises(LedgerError, match="is lost"):
            curator.order(kind, ORDERS[kind])


@pytest.mark.parametrize("step", [*STORED, "both"])
def test_what_is_lost_is_refused_and_not_drawn_again(tmp_path, monkeypatch, step):
    def fail(*_):
        raise Injected

    with add_visits(dp.Curator(tmp_path / "c", patience=SOON)) as curator:
        with monkeypatch.context() as patch:
            if step == "measurements":
                patch.setattr(MeasurementPlan, "present", fail)
                with pytest.raises(DiscreetError):
                    curator.sql(COUNT, epsilon=0.1)
            else:
                curator.sql(COUNT, epsilon=0.1)
        charge = curator.async_session(None).newest()[0].sequence
        lose(tmp_path / "c", step)
        for ask in (
            lambda: curator.sql(COUNT, epsilon=0.1),
            lambda: curator.sql(COUNT, epsilon=0.1, analyst="bob"),
            lambda: curator.async_session(None).resume(charge, patience=5),
        ):
            with pytest.raises(LedgerError, match="is lost"):
                ask()
        assert not curator.ledger.verify().ok


def test_five_failures_are_all_that_an_analyst_gets(monkeypatch):
    def fail(*_):
        raise Injected

    with add_visits(dp.Curator.in_memory()) as curator:
        kept = curator.sql(BY_CITY, epsilon=0.1, analyst="eve")
        with monkeypatch.context() as patch:
            patch.setattr(MeasurementPlan, "measure", fail)
            for n in range(1, 6):
                with pytest.raises(EngineError):
                    curator.sql(COUNT, epsilon=n / 100, analyst="eve")
        with pytest.raises(dp.errors.AccessError, match="5 questions of one analyst about visits"):
            curator.sql(COUNT, epsilon=0.2, analyst="eve")
        assert curator.sql(BY_CITY, epsilon=0.1, analyst="eve") == kept
        assert curator.sql(COUNT, epsilon=0.2, analyst="ann").table.num_rows == 1
        assert curator.readmit("eve", "visits", reason="it was a full disk") == 5
        assert curator.sql(COUNT, epsilon=0.2, analyst="eve").table.num_rows == 1
        assert curator.ledger.verify().ok
