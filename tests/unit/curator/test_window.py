"""Asking now and being answered later; what a caller sees; many threads at one curator."""

import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace

import pyarrow as pa
import pytest

import discreet as dp
from desk import ABOUT, BUDGET, BY_CITY, COUNT, add_cities, add_visits, spent
from discreet.curator import till
from discreet.curator.jobs import Pace
from discreet.curator.orders import State
from discreet.curator.pricing import Terms
from discreet.curator.till import Till
from discreet.errors import (
    DiscreetError,
    EngineError,
    InputError,
    InvariantBroken,
    QueryRefused,
)
from discreet.plan import canonical
from visits import clinic

PRICE = Terms(epsilon=0.1)
OUT_OF_SIGHT = "SELECT COUNT(*) AS n FROM {}"


@pytest.fixture(params=["memory", "folder"])
def curator(request, tmp_path):
    made = dp.Curator.in_memory() if request.param == "memory" else dp.Curator(tmp_path / "c")
    with made:
        yield add_cities(add_visits(made))


@pytest.fixture
def window(curator):
    return curator.window("alice")


def failing(monkeypatch, times):
    """The engine fails so many times."""
    compute, left = Till._compute, [times]

    def fail(till, receipt):
        if left[0] > 0:
            left[0] -= 1
            time.sleep(0.1)
            raise EngineError("the engine failed", why="it was told to", fix="ask again")
        return compute(till, receipt)

    monkeypatch.setattr(Till, "_compute", fail)


def slow(monkeypatch, seconds):
    compute, calls = Till._compute, []

    def wait(till, receipt):
        calls.append(receipt.sequence)
        time.sleep(seconds)
        return compute(till, receipt)

    monkeypatch.setattr(Till, "_compute", wait)
    return calls


def test_a_charge_is_durable_before_it_is_pursued(curator, window):
    receipt = window.submit(COUNT, PRICE, "alice")

    assert receipt.state is State.CHARGED
    assert spent(curator) > (0, 0)
    assert curator.ledger.verify().pending == 1
    assert window.find(receipt.sequence).order.asked == COUNT
    assert window.release(receipt.sequence) is None
    release = window.pursue(receipt, patience=30)
    assert window.release(receipt.sequence) == release
    assert curator.sql(COUNT, epsilon=0.1) == release


def test_whoever_loses_patience_finds_the_answer_later(window, monkeypatch):
    calls = slow(monkeypatch, 0.2)
    receipt = window.submit(COUNT, PRICE, "alice")

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
                lambda n: window.pursue(window.submit(COUNT, PRICE, f"a{n % 2}"), patience=30),
                range(8),
            )
        )

    assert len({one.to_bytes() for one in found}) == 1
    assert len(calls) == 1
    assert curator.ledger.verify().ok


def test_a_failure_is_told_once_and_the_charge_can_be_finished(curator, window, monkeypatch):
    failing(monkeypatch, 2)
    receipt = window.submit(COUNT, PRICE, "alice")
    with pytest.raises(EngineError):
        window.pursue(receipt, patience=30)
    before = spent(curator)
    with pytest.raises(EngineError):
        window.resume(receipt.sequence, patience=30)
    release = window.resume(receipt.sequence, patience=30)

    assert release.table.num_rows == 1
    assert spent(curator) == before


def test_a_failure_that_nobody_waited_for_is_told_to_the_next(window, monkeypatch):
    failing(monkeypatch, 1)
    receipt = window.submit(COUNT, PRICE, "alice")
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
    assert window.resume(receipt.sequence, patience=30) is not None


def test_another_process_finishes_what_a_dead_worker_left(tmp_path):
    """The claim of the first has lapsed: with no patience at all, at once."""
    with add_visits(dp.Curator(tmp_path / "c")) as first:
        receipt = first.window("alice").submit(COUNT, PRICE, "alice")
        with dp.Curator(tmp_path / "c", patience=0.05) as second:
            assert second.window("bob").find(receipt.sequence) is None
            time.sleep(0.1)
            release = second.window("alice").resume(receipt.sequence, patience=30)
            assert release is not None
            assert first.window("alice").resume(receipt.sequence) == release


def test_a_worker_waits_for_another_that_is_computing(tmp_path, monkeypatch):
    slow(monkeypatch, 0.3)
    with (
        add_visits(dp.Curator(tmp_path / "c")) as first,
        dp.Curator(tmp_path / "c") as second,
    ):
        mine, theirs = first.window("alice"), second.window("alice")
        receipt = mine.submit(COUNT, PRICE, "alice")
        mine.pursue(receipt, patience=0)
        same = theirs.submit(COUNT, PRICE, "alice")
        assert same.state is State.PENDING
        assert theirs.pursue(same, patience=0.05) is None
        assert theirs.pursue(same, patience=30) == mine.pursue(receipt, patience=30)


def test_an_answer_is_stored_when_its_pace_allows_and_not_before(curator, window):
    order = []

    @contextmanager
    def turn():
        order.append("in")
        yield
        order.append("out")

    def settle():
        order.append("settled" if window.release(receipt.sequence) is None else "too late")

    receipt = window.submit(COUNT, PRICE, "alice")
    assert window.pursue(receipt, patience=30, pace=Pace(turn, settle)) is not None
    assert order == ["in", "settled", "out"]
    assert curator.ledger.verify().pending == 0


def test_a_failure_keeps_its_pace_too(window, monkeypatch):
    failing(monkeypatch, 1)
    order = []
    receipt = window.submit(COUNT, PRICE, "alice")
    with pytest.raises(EngineError):
        window.pursue(receipt, patience=30, pace=Pace(settle=lambda: order.append("settled")))

    assert order == ["settled"]


def test_closing_finishes_what_was_begun(tmp_path, monkeypatch):
    slow(monkeypatch, 0.2)
    curator = add_visits(dp.Curator(tmp_path / "c"))
    window = curator.window("alice")
    receipt = window.submit(COUNT, PRICE, "alice")
    window.pursue(receipt, patience=0)
    curator.close()

    with dp.Curator(tmp_path / "c") as again:
        assert again.ledger.verify().pending == 0


@pytest.mark.parametrize("wrong", [ValueError("42 rows"), InputError("42", why="42", fix="42")])
def test_what_nobody_foresaw_is_told_without_a_word_about_data(curator, window, monkeypatch, wrong):
    def fail(*_):
        raise wrong

    monkeypatch.setattr(till, "answer", fail)
    receipt = window.submit(COUNT, PRICE, "alice")
    with pytest.raises(InvariantBroken) as broken:
        window.pursue(receipt, patience=30)
    shown = "".join(traceback.format_exception(broken.value))

    assert "42" not in str(broken.value)
    assert "42 rows" not in shown
    assert curator.ledger.verify().pending == 1


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
    assert seen(shared.window("alice")) == [("alice", "bills"), ("alice", "visits")]
    assert seen(shared.window("alice", ["visits"])) == [("alice", "visits")]
    assert len(seen(shared.window(None))) == 4
    assert seen(shared.window(None, ["bills"])) == [("bob", "bills"), ("alice", "bills")]
    assert seen(shared.window("carol")) == []


def test_a_charge_of_somebody_else_cannot_be_told_from_none(shared):
    theirs = shared.window("bob").newest()[0].sequence

    assert shared.window("alice").find(theirs) is None
    assert shared.window(None).find(theirs) is not None
    assert shared.window("bob", ["visits"]).find(theirs) is None
    for odd in (0, -1, 10**30, 1):
        assert shared.window(None).find(odd) is None


def test_accounts_are_seen_by_whom_they_concern(shared):
    def kinds(window):
        return sorted(str(one.holder) for one in window.accounts())

    assert kinds(shared.window("alice")) == [
        "analyst alice within bills",
        "analyst alice within visits",
        "dataset bills",
        "dataset visits",
    ]
    assert kinds(shared.window("alice", ["bills"])) == [
        "analyst alice within bills",
        "dataset bills",
    ]
    assert len(kinds(shared.window(None))) == 8


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
    monkeypatch.setattr("discreet.curator.holdings.check_people", lambda *_: None)
    people = pa.table({"id": range(5), "age": [1] * 5})
    orders = pa.table({"who": range(5), "sum": [1.0] * 5})
    with dp.Curator.in_memory() as curator:
        curator.add("people", people, unit="id", budget=BUDGET)
        curator.add("orders", orders, unit=dp.Path("who", "people", "id"), budget=BUDGET)

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


@pytest.mark.parametrize(("seconds", "rest"), [(0.0, 0.0), (0.12, 0.38), (0.62, 0.38)])
def test_what_recovery_stores_does_not_tell_how_long_it_took(curator, monkeypatch, seconds, rest):
    """Half a second after the computing began, or a multiple of it; by a clock of our own."""
    receipt = curator.window("alice").submit(COUNT, PRICE, "alice")
    clock, slept, compute = [100.0], [], Till._compute

    def computed(till, receipt):
        clock[0] += seconds
        return compute(till, receipt)

    def sleep(pause):
        assert curator.window("alice").release(receipt.sequence) is None
        slept.append(pause)

    monkeypatch.setattr(Till, "_compute", computed)
    monkeypatch.setattr(till, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
    curator.keep_time(0.5)

    assert curator.recover(patience=0) == 1
    assert slept == [pytest.approx(rest)]
    assert curator.window("alice").release(receipt.sequence) is not None


def test_a_window_recalls_for_whom_it_explains():
    text = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
    with dp.Curator.in_memory() as curator:
        add_visits(curator, limits=dp.Limits(), budget=dp.Budget(rho=500, delta=1e-3))
        told = curator.sql(text, epsilon=20, analyst="alice").parts[0].beyond

        assert told is not None
        for name, known in (("alice", told), ("bob", None)):
            seen = curator.window(name)
            offer = seen.offer(text, PRICE, name)
            assert [part.clipped for part in seen.explain(offer).parts] == [known]
