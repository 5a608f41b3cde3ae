"""Asking now and being answered later; what a caller sees; many threads at one curator."""

import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from types import SimpleNamespace

import pyarrow as pa
import pytest

import discreet as dp
from clinic_curator import ABOUT, BUDGET, BY_CITY, COUNT, add_cities, add_visits, spent
from discreet.answer.measurement_plan import MeasurementPlan
from discreet.curator import answer_service
from discreet.curator.ledger.charging import MOST_FAILURES
from discreet.curator.ledger.orders import Order, State
from discreet.curator.orders.planned_orders import Terms
from discreet.curator.orders.query_orders import QueryOrder
from discreet.engines import timing
from discreet.engines.timing import Deadline, ReleaseSchedule
from discreet.errors import (
    AccessError,
    DiscreetError,
    EngineError,
    InputError,
    InvariantBroken,
    LedgerError,
    QueryRefused,
)
from discreet.plan import canonical
from discreet.plan.bounding import NoiseKind
from visits import clinic

PRICE = Terms(epsilon=0.1)
OUT_OF_SIGHT = "SELECT COUNT(*) AS n FROM {}"


def submit(window, question, terms, analyst, request=None):
    """Price and charge a question."""
    return window.service.charge(window.offer(question, terms, analyst), request)


@pytest.fixture(params=["memory", "folder"])
def curator(request, tmp_path):
    made = dp.Curator.in_memory() if request.param == "memory" else dp.Curator(tmp_path / "c")
    with made:
        yield add_cities(add_visits(made))


@pytest.fixture
def window(curator):
    return curator.async_session("alice")


def failing(monkeypatch):
    """The engine fails."""

    def fail(*_):
        time.sleep(0.1)
        raise EngineError("the engine failed", why="it was told to", fix="ask again")

    monkeypatch.setattr(MeasurementPlan, "measure", fail)


def slow(monkeypatch, seconds):
    measure, calls = MeasurementPlan.measure, []

    def wait(*question):
        calls.append(question)
        time.sleep(seconds)
        return measure(*question)

    monkeypatch.setattr(MeasurementPlan, "measure", wait)
    return calls


def test_a_charge_is_durable_before_it_is_pursued(curator, window):
    receipt = submit(window, COUNT, PRICE, "alice")

    assert receipt.state is State.CHARGED
    assert spent(curator) > (0, 0)
    assert curator.ledger.verify().pending == 1
    assert window.find(receipt.sequence).order.asked == COUNT
    assert window.release(receipt.sequence) is None
    release = window.pursue(receipt, patience=30)
    assert window.release(receipt.sequence) == release
    assert curator.sql(COUNT, epsilon=0.1) == release


OTHERWISE = dict.fromkeys(NoiseKind, Fraction(1, 20))
"""Shares of prices that another version of the package had."""


def test_a_charge_is_measured_as_it_was_planned_whatever_the_package_plans_now(monkeypatch):
    with add_visits(dp.Curator.in_memory(), limits=None) as curator:
        window = curator.async_session("alice")
        with monkeypatch.context() as earlier:  # a package that split prices otherwise
            earlier.setattr("discreet.answer.plan.planning.CHOICE", OTHERWISE)
            receipt = submit(window, COUNT, PRICE, "alice")
        release = window.pursue(receipt, patience=30)

        charged = Order.from_dict("alice", receipt.order.to_dict())
        [decided] = charged.decisions["sets"]
        [(_, rho)] = decided["measured"]
        assert 9 * Fraction(decided["histogram_rho"]) == Fraction(rho)  # 1/20 twice
        assert len(release.costs) == len(charged.measurements)


def test_a_charge_that_would_be_measured_otherwise_than_it_was_charged_is_not(monkeypatch):
    """What is stored beside a charge says other prices of its parts than the charge does."""

    def otherwise(order):
        told = order.plan.to_dict()
        told["sets"][0]["measured"][0][1] = "1/1000"
        return told

    with add_visits(dp.Curator.in_memory()) as curator:
        window = curator.async_session("alice")
        with monkeypatch.context() as earlier:
            earlier.setattr(QueryOrder, "decisions", otherwise)
            receipt = submit(window, COUNT, Terms(epsilon=0.123), "alice")  # planned nowhere else
        curator._answer_service._plans.clear()  # as a worker that did not make the charge
        with pytest.raises(LedgerError, match="planned by another version"):
            window.pursue(receipt, patience=30)

        assert curator.recover(patience=0) == 0
        assert [one.kind for one in curator.ledger.entries(after=receipt.sequence)] == []


def test_whoever_loses_patience_finds_the_answer_later(window, monkeypatch):
    calls = slow(monkeypatch, 0.2)
    receipt = submit(window, COUNT, PRICE, "alice")

    assert window.pursue(receipt, patience=0) is None
    assert window.pursue(receipt, patience=0) is None
    assert window.resume(receipt.sequence) is None
    release = window.resume(receipt.sequence, patience=30)
    assert release == window.resume(receipt.sequence)
    assert len(calls) == 1


def test_all_who_wait_for_one_charge_get_what_was_computed_once(curator, window, monkeypatch):
    calls = slow(monkeypatch, 0.1)
    with ThreadPoolExecutor(8) as pool:
        found = list(
            pool.map(
                lambda n: window.pursue(submit(window, COUNT, PRICE, f"a{n % 2}"), patience=30),
                range(8),
            )
        )

    assert len({one.to_bytes() for one in found}) == 1
    assert len(calls) == 1
    assert curator.ledger.verify().ok


def test_a_failure_while_data_is_read_is_final_and_the_charge_stays(curator, window, monkeypatch):
    failing(monkeypatch)
    receipt = submit(window, COUNT, PRICE, "alice")
    told = []
    with pytest.raises(EngineError) as first:
        window.pursue(receipt, patience=30)
    charged = spent(curator)
    monkeypatch.undo()
    for again in (
        lambda: window.resume(receipt.sequence, patience=30),
        lambda: window.pursue(submit(window, COUNT, PRICE, "alice"), patience=30),
        lambda: curator.sql(COUNT, epsilon=0.1, analyst="alice"),
    ):
        with pytest.raises(EngineError) as error:
            again()
        told.append(str(error.value))

    assert told == [str(first.value)] * 3
    assert (spent(curator), curator.ledger.verify().pending) == (charged, 0)
    assert window.find(receipt.sequence).failed
    assert window.release(receipt.sequence) is None
    assert curator.sql(COUNT, epsilon=0.2, analyst="alice").table.num_rows == 1


def test_a_failure_that_nobody_waited_for_is_told_to_the_next(window, monkeypatch):
    failing(monkeypatch)
    receipt = submit(window, COUNT, PRICE, "alice")
    window.pursue(receipt, patience=0)
    end = time.monotonic() + 30
    told = None
    while told is None and time.monotonic() < end:
        try:
            assert window.resume(receipt.sequence) is None
        except EngineError as error:
            told = error
        time.sleep(0.01)

    assert told is not None


def test_a_failure_to_present_is_tried_again_from_the_same_measurements(
    curator, window, monkeypatch
):
    def fail(*_):
        raise ValueError("42 rows")

    drawn = slow(monkeypatch, 0)
    with monkeypatch.context() as patch:
        patch.setattr(MeasurementPlan, "present", fail)
        receipt = submit(window, COUNT, PRICE, "alice")
        with pytest.raises(InvariantBroken) as error:
            window.pursue(receipt, patience=30)
    assert "42 rows" not in "".join(traceback.format_exception(error.value))
    assert curator.ledger.verify().pending == 1
    release = window.resume(receipt.sequence, patience=30)

    assert release == curator.sql(COUNT, epsilon=0.1, analyst="alice")
    assert len(drawn) == 1
    assert curator.ledger.verify().pending == 0


def test_what_failed_before_its_turn_came_is_computed_for_the_next_at_once(window):
    receipt = submit(window, COUNT, PRICE, "alice")
    with pytest.raises(ZeroDivisionError):
        window.pursue(receipt, patience=30, schedule=ReleaseSchedule(turn=lambda _: 1 / 0))
    again = submit(window, COUNT, PRICE, "alice")
    assert again.state is State.PENDING
    assert window.pursue(again, patience=10) is not None  # others would wait for a claim to lapse


def test_another_process_finishes_what_a_dead_worker_left(tmp_path):
    """The claim of the first has lapsed: with no patience at all, at once."""
    with add_visits(dp.Curator(tmp_path / "c")) as first:
        receipt = submit(first.async_session("alice"), COUNT, PRICE, "alice")
        with dp.Curator(tmp_path / "c", patience=0.05) as second:
            assert second.async_session("bob").find(receipt.sequence) is None
            time.sleep(0.1)
            release = second.async_session("alice").resume(receipt.sequence, patience=30)
            assert release is not None
            assert first.async_session("alice").resume(receipt.sequence) == release


def test_a_worker_waits_for_another_that_is_computing(tmp_path, monkeypatch):
    slow(monkeypatch, 0.3)
    with (
        add_visits(dp.Curator(tmp_path / "c")) as first,
        dp.Curator(tmp_path / "c") as second,
    ):
        mine, theirs = first.async_session("alice"), second.async_session("alice")
        receipt = submit(mine, COUNT, PRICE, "alice")
        mine.pursue(receipt, patience=0)
        same = submit(theirs, COUNT, PRICE, "alice")
        assert same.state is State.PENDING
        assert theirs.pursue(same, patience=0.05) is None
        assert theirs.pursue(same, patience=30) == mine.pursue(receipt, patience=30)


def test_an_answer_is_stored_when_its_pace_allows_and_not_before(curator, window):
    order = []

    @contextmanager
    def turn(seconds):
        assert seconds > 0
        order.append("in")
        yield
        order.append("out")

    def settle():
        order.append("settled" if window.release(receipt.sequence) is None else "too late")

    def steps(_):
        order.append("planned")
        return (0.2,)

    receipt = submit(window, COUNT, PRICE, "alice")
    began = time.monotonic()
    assert (
        window.pursue(receipt, patience=30, schedule=ReleaseSchedule(turn, settle, steps))
        is not None
    )
    assert time.monotonic() - began >= 0.2
    assert order == ["in", "planned", "settled", "out"]
    assert curator.ledger.verify().pending == 0


def test_a_failure_keeps_its_pace_too(window, monkeypatch):
    failing(monkeypatch)
    receipt = submit(window, COUNT, PRICE, "alice")
    began = time.monotonic()
    with pytest.raises(EngineError):
        window.pursue(receipt, patience=30, schedule=ReleaseSchedule(steps=lambda _: (0.4,)))

    assert time.monotonic() - began >= 0.4


@pytest.mark.timed
def test_what_overruns_its_step_is_known_at_the_next_and_stopped_at_the_last(
    curator, window, monkeypatch
):
    curator.sql(COUNT, epsilon=0.05)  # what is loaded once is loaded
    late = []
    kept = ReleaseSchedule(steps=lambda _: (0.05, 1.5), late=lambda: late.append(True))
    with monkeypatch.context() as patch:
        slow(patch, 0.1)
        began = time.monotonic()
        receipt = submit(window, COUNT, PRICE, "alice")
        assert window.pursue(receipt, patience=30, schedule=kept) is not None
        assert time.monotonic() - began >= 1.5
    slow(monkeypatch, 1.6)
    receipt = submit(window, BY_CITY, PRICE, "alice")
    with pytest.raises(EngineError):
        window.pursue(receipt, patience=30, schedule=kept)

    assert late == [True, True]


def test_that_a_question_is_late_is_known_at_the_step_and_not_before():
    told = []
    kept = ReleaseSchedule(late=lambda: told.append(time.monotonic()))
    for elapsed, step in ((0.1, 0.3), (0.5, 0.8)):
        began = time.monotonic() - elapsed
        kept.hold(began, (0.05, 0.3, 0.4), Deadline(began + 0.4))
        assert told.pop() - began >= step
        assert told == []


@pytest.mark.parametrize("seconds", [0.0, 1.0])
@pytest.mark.timed
def test_when_a_cancelled_question_is_over_tells_not_whether_it_was_computed(
    curator, window, monkeypatch, seconds
):
    late = []
    kept = ReleaseSchedule(steps=lambda _: (4.0,), late=lambda: late.append(True))
    slow(monkeypatch, seconds)
    receipt = submit(window, COUNT, PRICE, "alice")
    assert window.pursue(receipt, patience=0.4, schedule=kept) is None
    curator.as_analyst("alice").cancel(receipt.sequence)
    began = time.monotonic()
    with pytest.raises(EngineError):
        window._awaited(receipt, 30)

    assert 0.9 < time.monotonic() - began < 1.8
    assert late == []


@pytest.mark.timed
def test_a_late_question_that_is_cancelled_was_late_all_the_same(curator, window, monkeypatch):
    late = []
    kept = ReleaseSchedule(steps=lambda _: (0.1, 4.0), late=lambda: late.append(True))
    slow(monkeypatch, 0.5)
    receipt = submit(window, COUNT, PRICE, "alice")
    assert window.pursue(receipt, patience=0.3, schedule=kept) is None
    curator.as_analyst("alice").cancel(receipt.sequence)  # which tells that it was late
    with pytest.raises(EngineError):
        window._awaited(receipt, 30)

    assert late == [True]


@pytest.mark.timed
def test_what_does_not_stop_by_the_last_step_fails_at_a_multiple_of_it(window, monkeypatch):
    slow(monkeypatch, 0.6)  # nothing that an engine could interrupt
    receipt = submit(window, COUNT, PRICE, "alice")
    began = time.monotonic()
    with pytest.raises(EngineError):
        window.pursue(receipt, patience=30, schedule=ReleaseSchedule(steps=lambda _: (0.5,)))

    assert time.monotonic() - began >= 1.0


def test_closing_finishes_what_was_begun(tmp_path, monkeypatch):
    slow(monkeypatch, 0.2)
    curator = add_visits(dp.Curator(tmp_path / "c"))
    window = curator.async_session("alice")
    receipt = submit(window, COUNT, PRICE, "alice")
    window.pursue(receipt, patience=0)
    curator.close()

    with dp.Curator(tmp_path / "c") as again:
        assert again.ledger.verify().pending == 0


@pytest.mark.parametrize("wrong", [ValueError("42 rows"), InputError("42", why="42", fix="42")])
def test_what_nobody_foresaw_is_told_without_a_word_about_data(curator, window, monkeypatch, wrong):
    def fail(*_):
        raise wrong

    monkeypatch.setattr(MeasurementPlan, "measure", fail)
    receipt = submit(window, COUNT, PRICE, "alice")
    with pytest.raises(EngineError) as failed:
        window.pursue(receipt, patience=30)
    shown = "".join(traceback.format_exception(failed.value))

    assert "42" not in str(failed.value)
    assert "42 rows" not in shown
    assert curator.ledger.verify().pending == 0


# --- who sees what ------------------------------------------------------------------------------


@pytest.fixture
def shared(curator):
    curator.add("bills", clinic(30), **ABOUT, budget=BUDGET)
    curator.grant("alice", "visits", dp.Budget(epsilon=1, delta=1e-7))
    curator.group("lab", "visits", ["alice"])
    curator.link("people", ["visits", "bills"])
    for name in ("alice", "bob"):
        desk = curator.as_analyst(name)
        for table in ("visits", "bills"):
            desk.sql(f"{OUT_OF_SIGHT.format(table)} WHERE amount < {len(name)}", epsilon=0.1)
    return curator


def seen(window):
    return [(one.order.analyst, one.order.dataset) for one in window.newest()]


def test_analysts_see_their_own_questions_and_owners_all(shared):
    assert seen(shared.async_session("alice")) == [("alice", "bills"), ("alice", "visits")]
    assert seen(shared.async_session("alice", ["visits"])) == [("alice", "visits")]
    assert len(seen(shared.async_session(None))) == 4
    assert seen(shared.async_session(None, ["bills"])) == [("bob", "bills"), ("alice", "bills")]
    assert seen(shared.async_session("carol")) == []


@pytest.mark.parametrize("name", ["", None])
def test_a_view_of_nobody_does_not_ask_as_the_owner(curator, name):
    with pytest.raises(InputError, match="analyst is not a name"):
        curator.as_analyst(name)


def test_a_charge_of_somebody_else_cannot_be_told_from_none(shared):
    theirs = shared.async_session("bob").newest()[0].sequence

    assert shared.async_session("alice").find(theirs) is None
    assert shared.async_session(None).find(theirs) is not None
    assert shared.async_session("bob", ["visits"]).find(theirs) is None
    for odd in (0, -1, 10**30, 1):
        assert shared.async_session(None).find(odd) is None


def test_accounts_are_seen_by_whom_they_concern(shared):
    def kinds(window):
        return sorted(str(one.holder) for one in window.accounts())

    assert kinds(shared.async_session("alice")) == [
        "analyst alice within bills",
        "analyst alice within visits",
        "dataset bills",
        "dataset visits",
    ]
    assert kinds(shared.async_session("alice", ["bills"])) == [
        "analyst alice within bills",
        "dataset bills",
    ]
    assert len(kinds(shared.async_session(None))) == 8


def test_a_table_out_of_scope_is_unknown_in_the_same_words_as_one_that_is_not_there(shared):
    desk = shared.as_analyst("alice", datasets=["visits"])
    told = {}
    for name in ("bills", "nowhere"):
        told[name] = []
        for ask in (
            lambda name=name: desk.sql(OUT_OF_SIGHT.format(name), epsilon=0.1),
            lambda name=name: desk.explain(OUT_OF_SIGHT.format(name), epsilon=0.1),
            lambda name=name: desk.cost(OUT_OF_SIGHT.format(name), epsilon=0.1),
            lambda name=name: desk.remeasure(OUT_OF_SIGHT.format(name), epsilon=0.1),
            lambda name=name: desk.table(name),
            lambda name=name: desk.budget(name),
        ):
            with pytest.raises((InputError, QueryRefused)) as refused:
                ask()
            told[name].append(str(refused.value).replace(name, "X"))

    assert told["bills"] == told["nowhere"]
    assert desk.datasets() == {"visits": ["visits"]}
    assert sorted(desk.schema.tables) == ["cities", "visits"]
    assert sorted(desk.dummy().datasets()) == ["visits"]


def test_a_plan_about_a_table_out_of_scope_is_refused(shared):
    query = shared.table("bills").agg(n=dp.count()).query()
    desk = shared.as_analyst("alice", datasets=["visits"])

    with pytest.raises(InputError, match="cannot be read"):
        desk.ask(query, epsilon=0.1)
    inside = shared.table("visits").agg(n=dp.count()).query()
    assert desk.ask(inside, epsilon=0.1).table.num_rows == 1
    assert canonical.write(inside)


def test_a_table_whose_people_are_out_of_scope_is_out_of_scope(monkeypatch):
    """Such a table is refused today; it may have been added before."""
    monkeypatch.setattr("discreet.curator.data.table_checks.check_people", lambda *_: None)
    people = pa.table({"id": range(5), "age": [1] * 5})
    orders = pa.table({"who": range(5), "sum": [1.0] * 5})
    with dp.Curator.in_memory() as curator:
        curator.add("people", people, unit="id", budget=BUDGET)
        curator.add("orders", orders, unit=dp.KeyPath("who", "people", "id"), budget=BUDGET)

        assert sorted(curator.as_analyst("a", datasets=["orders"]).schema.tables) == []
        assert len(curator.as_analyst("a", datasets=["orders", "people"]).schema.tables) == 2


def test_the_ledger_names_which_owner_did_it(curator):
    curator.as_owner("ann").grant("bob", "visits", dp.Budget(epsilon=1, delta=1e-7))
    curator.as_owner("ann").add("more", clinic(5), **ABOUT, budget=BUDGET)
    newest = [(entry.kind, entry.by) for entry in curator.ledger.entries()][-3:]

    assert newest == [("granted", "ann"), ("opened", "ann"), ("added", "ann")]
    with pytest.raises(InputError):
        curator.as_owner("")


# --- threads ------------------------------------------------------------------------------------


@pytest.mark.parametrize("curator", ["folder"], indirect=True)
def test_sixty_four_threads_ask_one_curator(curator):
    """Some the same, some their own, while tables are added: no error, and every charge counts."""
    errors, start = [], threading.Barrier(64)

    def ask(n):
        start.wait()
        try:
            if n == 7:
                curator.add("late", clinic(10), **ABOUT, budget=BUDGET)
            curator.sql(BY_CITY, epsilon=0.01, analyst=f"a{n}")
            curator.sql(f"{COUNT} WHERE amount < {n}", epsilon=0.01)
        except DiscreetError as error:
            errors.append(error)

    with ThreadPoolExecutor(64) as pool:
        list(pool.map(ask, range(64)))
    charges = curator.ledger.asked(["visits"], limit=1000)

    assert errors == []
    assert len(charges) == 65
    total = sum(one.debits['["dataset","visits",null]'][0] for one in charges)
    assert total == spent(curator)[0]
    assert curator.ledger.verify().ok
    assert curator.sql("SELECT COUNT(*) AS n FROM late", epsilon=0.1).table.num_rows == 1


def test_measuring_again_in_many_threads_weighs_each_answer_once(curator):
    curator.sql(COUNT, epsilon=0.1)
    with ThreadPoolExecutor(8) as pool:
        merged = list(pool.map(lambda _: curator.remeasure(COUNT, epsilon=0.2), range(8)))

    assert len({one.to_bytes() for one in merged}) == 1
    assert len(merged[0].costs) == 2


@pytest.mark.parametrize(("seconds", "rest"), [(0.0, 0.5), (0.12, 0.38), (0.62, 1.38)])
def test_what_recovery_stores_does_not_tell_how_long_it_took(curator, monkeypatch, seconds, rest):
    """Half a second after the computing began, or two; by a clock of our own."""
    receipt = submit(curator.async_session("alice"), COUNT, PRICE, "alice")
    clock, slept, measure = [100.0], [], MeasurementPlan.measure

    def measured(*question):
        clock[0] += seconds
        return measure(*question[:2], None, *question[3:])

    def wait(_, pause):
        assert curator.ledger.charge(receipt.order).measured is None
        slept.append(pause)

    ours = SimpleNamespace(monotonic=lambda: clock[0])
    monkeypatch.setattr(Deadline, "wait", wait)
    monkeypatch.setattr(MeasurementPlan, "measure", measured)
    monkeypatch.setattr(answer_service, "time", ours)
    monkeypatch.setattr(timing, "time", ours)
    curator.set_schedule(lambda _: ReleaseSchedule(steps=lambda _: (0.5, 2.0)))

    assert curator.recover(patience=0) == 1
    assert slept == [pytest.approx(rest)]
    assert curator.async_session("alice").release(receipt.sequence) is not None


def test_a_window_recalls_for_whom_it_explains():
    text = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
    with dp.Curator.in_memory() as curator:
        add_visits(curator, limits=dp.Limits(), budget=dp.Budget(rho=500, delta=1e-3))
        told = curator.sql(text, epsilon=20, analyst="alice").parts[0].beyond

        assert told is not None
        for name, known in (("alice", told), ("bob", None)):
            seen = curator.async_session(name)
            offer = seen.offer(text, PRICE, name)
            assert [part.clipped for part in seen.explain(offer).parts] == [known]


def test_whoever_asks_first_does_not_wait_for_what_others_left(tmp_path):
    with add_visits(dp.Curator(tmp_path / "c")) as left:
        submit(left.async_session("bob"), BY_CITY, PRICE, "bob")
    with dp.Curator(tmp_path / "c") as curator:
        curator.ledger._patience = 0.0
        curator.set_schedule(lambda _: ReleaseSchedule(steps=lambda _: (20.0,)))
        began = time.monotonic()
        submit(curator.async_session("alice"), COUNT, PRICE, "alice")

        assert time.monotonic() - began < 10
        assert curator.ledger.verify().pending == 2


def test_questions_that_were_charged_before_too_many_failed_wait_for_an_owner(curator, monkeypatch):
    window = curator.async_session("alice")
    texts = [f"{COUNT} WHERE amount < {n}" for n in range(MOST_FAILURES + 2)]
    receipts = [submit(window, text, PRICE, "alice") for text in texts]
    with monkeypatch.context() as broken:
        failing(broken)
        for receipt in receipts[:MOST_FAILURES]:
            with pytest.raises(EngineError):
                window.pursue(receipt, patience=30)
        for receipt in receipts[MOST_FAILURES:]:
            with pytest.raises(AccessError, match="readmit"):
                window.pursue(receipt, patience=30)

    other = curator.async_session("bob")
    with pytest.raises(AccessError, match="readmit") as told:
        other.pursue(submit(other, texts[-1], PRICE, "bob"), patience=30)
    assert "alice" not in str(told.value)
    assert curator.ledger.verify().pending == 2
    curator.readmit("alice", "visits", reason="the test made them fail")
    for receipt in receipts[MOST_FAILURES:]:
        assert window.resume(receipt.sequence, patience=30) is not None
