"""Epochs of online queries: paid once, stored before told, held by one worker at a time."""

import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
import fresh_process
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.orders import online_epochs
from discreet.errors import BudgetError, InputError, LedgerError, QueryRefused
from discreet.privacy import EPSILON, MU_SQUARED, RHO

SPEC = {
    "columns": ["age", "sex", "night"],
    "epsilon": 20,  # so that what is easy passes and what is hard hits, for certain
    "accuracy": 200,
    "delta": 1e-6,
    "updates": 2,
    "restarts": 2,
    "queries": 50,
}
HARD = {"age": dp.Bounds(0, 49), "sex": "male", "night": "no"}  # no two of them depend


def table(count=3000):
    place = np.arange(count)
    age, female = place % 100, place // 100 % 2 == 0
    return pa.table(
        {
            "id": place,
            "age": age,
            "sex": np.where(female, "female", "male"),
            "night": np.where((age >= 50) == female, "yes", "no"),
        }
    )


COLUMNS = {
    "age": dp.Bounds(0, 99),
    "sex": dp.Keys(["female", "male"]),
    "night": dp.Keys(["no", "yes"]),
}


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "people.discreet"
    with dp.Curator(path) as curator:
        budget = dp.Budget(epsilon=100, delta=1e-5)
        curator.add("people", table(), unit="id", budget=budget, columns=COLUMNS)
    return path


@pytest.fixture
def curator(folder):
    with dp.Curator(folder) as opened:
        yield opened


def test_one_charge_pays_for_any_number_of_queries(curator):
    session = curator.online("people", **SPEC)
    spent = curator.budget("people").spent
    for _ in range(5):
        told = session.ask(HARD)
    assert told.low <= 0 <= told.high
    assert session.ask({"sex": "female"}).value == pytest.approx(1500, abs=200)
    assert curator.budget("people").spent == spent
    assert curator.online("people", **SPEC).charge == session.charge
    other = curator.online("people", **SPEC, epoch=2)
    assert other.charge != session.charge
    assert curator.budget("people").spent[0] == 2 * spent[0]
    assert curator.ledger.verify().ok


def test_a_hard_query_is_a_step_of_the_charge(curator):
    session = curator.online("people", **SPEC)
    told = session.ask(HARD)
    assert told.bought
    state = session.state
    assert (state.updates_left, state.runs_left) == (1, 4)
    assert state.measurements[-1].clique == ("age", "sex", "night")
    kinds = [one.kind for one in curator.ledger.entries()]
    assert kinds[-2:] == ["stepped", "stepped"]
    assert session.state.answer(HARD).value == pytest.approx(told.value, abs=100)


def _ask_all(session, wheres, told):
    for where in wheres:
        told.append(session.ask(where))


class Killed(BaseException):
    """A process that ends here."""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_an_epoch_killed_at_every_step_loses_nothing_and_pays_for_all(
    folder, monkeypatch, when, step
):
    """Steps: a run begins, an update, a run, an update. Who comes next goes on from the ledger."""
    store, calls, told = Ledger.step, [], []

    def dying(self, charge, number, stored, *, by):
        calls.append(number)
        if len(calls) == step and when == "before":
            raise Killed
        store(self, charge, number, stored, by=by)
        if len(calls) == step:
            raise Killed

    first = dp.Curator(folder)
    session = first.online("people", **SPEC)
    spent = first.budget("people").spent
    hard = [HARD, {"sex": "male", "night": "no"}, {"age": dp.Bounds(60, 99), "night": "no"}] * 4
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "step", dying)
        patch.setattr("discreet.workload.online.round", lambda _: 10**6, raising=False)
        with pytest.raises(Killed):
            _ask_all(session, hard, told)
    bought = sum(one.bought for one in told)
    with dp.Curator(folder, patience=0) as second:
        again = second.online("people", **SPEC)
        stored = again.state
        kept = stored.plan.updates - stored.updates_left
        assert kept == bought + (when == "after" and step in {2, 4})
        runs = stored.plan.runs - stored.runs_left
        assert runs == len([one for one in calls if one % 2]) - (
            when == "before" and step in {1, 3}
        )
        reply = again.ask_all([{"sex": "male"}])
        assert reply.held
        assert reply.runs_left == stored.runs_left - 1  # a fresh threshold, planned into the price
        assert second.budget("people").spent == spent
        assert stored.filter.left.amount >= 0
        assert second.ledger.verify().ok
    first.close()


def test_runs_that_were_planned_are_all_there_are(folder):
    for expected in (True, True, True, True, True, False):
        with dp.Curator(folder, patience=0) as curator:
            reply = curator.online("people", **SPEC).ask_all([{"sex": "male"}])
            assert reply.answers[0].checked is expected
    assert reply.runs_left == 0
    assert reply.answers[0].low <= 1500 <= reply.answers[0].high


def test_nobody_waits_for_an_epoch_while_they_have_a_slot_to_plan(curator):
    session, epochs, seen = curator.online("people", **SPEC), curator._epochs, []
    epoch = epochs._epoch(epochs._receipt(session.charge))
    lock, planning = epoch.lock, threading.Lock()

    class Busy:
        """An epoch that another asker has the first time."""

        def acquire(self, *, blocking=True):
            seen.append((blocking, planning.locked()))
            return len(seen) > 1 and lock.acquire(blocking=blocking)

        def release(self):
            lock.release()

        def __enter__(self):
            seen.append((True, planning.locked()))
            return lock.__enter__()

        def __exit__(self, *said):
            lock.release()

    epoch.lock = Busy()
    assert epochs.ask(session.charge, [{"sex": ["male"]}], planning=lambda: planning).held
    assert seen[:3] == [(False, True), (True, False), (False, True)]
    assert (True, True) not in seen


def test_one_worker_holds_an_epoch_and_the_next_goes_on_when_it_lets_go(folder):
    with dp.Curator(folder) as second:
        with dp.Curator(folder) as first:
            session = first.online("people", **SPEC)
            assert session.ask_all([HARD]).held
            other = second.online("people", **SPEC)
            waiting = other.ask_all([HARD])
            assert not waiting.held
            assert not waiting.answers[0].checked
            assert waiting.updates_left == 1
            assert session.ask_all([HARD]).held
        assert other.ask_all([HARD]).held
        assert second.ledger.verify().ok


def test_a_worker_that_lost_its_turn_stores_no_step_and_tells_no_update(folder):
    late = dp.Curator(folder)
    session = late.online("people", **SPEC)
    assert session.ask({"sex": "male"}).checked
    epoch = late._epochs._epochs[session.charge]
    with dp.Curator(folder, patience=0) as other:
        assert other.online("people", **SPEC).ask_all([{"sex": "male"}]).held
        with pytest.raises(LedgerError, match="another worker"):
            epoch.journal(None)
        assert not session.ask_all([HARD]).held
    late.close()


def test_a_worker_that_was_killed_is_followed_at_once(folder):
    script = f"""
    import os, discreet as dp
    curator = dp.Curator({str(folder)!r})
    session = curator.online("people", **{SPEC!r})
    assert session.ask({{"sex": "male"}}).checked
    os._exit(0)
    """
    fresh_process.run(textwrap.dedent(script)).check_returncode()
    with dp.Curator(folder) as curator:
        session = curator.online("people", **SPEC)
        reply = session.ask_all([{"sex": "male"}])
        assert reply.held
        assert reply.runs_left == session.release.state.plan.runs - 2


def test_data_that_was_swapped_is_refused(folder):
    with dp.Curator(folder) as curator:
        session = curator.online("people", **SPEC)
        [file] = folder.rglob("*.parquet")
        file.chmod(0o600)
        file.write_bytes(file.read_bytes()[:-10])
        with pytest.raises(InputError, match="has changed"):
            session.ask(HARD)


def test_a_step_that_was_changed_is_found(curator):
    session = curator.online("people", **SPEC)
    session.ask(HARD)

    def change(execute):
        execute("DROP TRIGGER steps_update")
        execute("UPDATE steps SET bytes = ? WHERE number = 2", (b"u",))

    curator.ledger._store.transact(change)
    report = curator.ledger.verify()
    assert "steps" in str(report.problem)
    with pytest.raises(LedgerError, match="changed from outside"):
        curator.ledger.steps(session.charge)


@pytest.mark.parametrize("measure", [EPSILON, RHO, MU_SQUARED])
def test_accounts_of_every_measure_pay_what_the_epoch_gives_away(measure):
    curator = dp.Curator.in_memory()
    budget = dp.Budget(epsilon=3, delta=1e-5, measure=measure.name)
    curator.add("people", table(100), unit="id", budget=budget, columns=COLUMNS)
    session = curator.online("people", **{**SPEC, "epsilon": 2, "accuracy": None})
    spent = curator.budget("people").total
    guarantee = session.release.guarantee
    assert guarantee.delta(2).upper <= 1e-6
    assert spent.amount > 0
    if measure == EPSILON:
        assert (spent.amount, spent.delta) == (2, dp.Budget(1, 1e-6).delta)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"columns": ["height"]}, InputError),
        ({"columns": ["id"]}, InputError),
        ({"delta": 0}, QueryRefused),
        ({"epsilon": 500}, BudgetError),
        ({"accuracy": 1}, InputError),
        ({"bins": "many"}, InputError),
    ],
)
def test_what_cannot_be_opened_is_refused_and_costs_nothing(curator, options, error):
    spent = curator.budget("people").spent
    with pytest.raises(error):
        curator.online("people", **{**SPEC, **options})
    assert curator.budget("people").spent == spent


def test_wrong_queries_are_refused_before_any_is_answered(curator):
    session = curator.online("people", **SPEC)
    for wheres in ([], [{"sex": "male"}, {"sex": "other"}], "sex", [3]):
        with pytest.raises(InputError):
            session.ask_all(wheres)
    with pytest.raises(InputError):
        session.ask({}, confidence=1.0)
    with pytest.raises(InputError, match="no epoch"):
        curator._epochs.ask(1, [{}])
    assert session.state.runs_left == session.release.state.plan.runs


def test_an_order_explains_itself_and_its_release_is_read_back(curator):
    spec = {"table": "people", "columns": ["sex"], "epsilon": "1", "delta": "1e-6"}
    told = curator.explain_order("online", spec)
    assert "counting queries" in repr(told)
    release = curator.order("online", spec)
    assert release.json_facts()["columns"] == ["sex"]
    assert "differential privacy" in release.statement()
    assert [one.what for one in release.costs] == ["marginals", "runs of sparse vector"]
    assert "14 updates" in repr(release)


def test_analysts_open_epochs_of_their_own(curator):
    curator.grant("ann", "people", dp.Budget(epsilon=50, delta=1e-5))
    session = curator.as_analyst("ann").online("people", **SPEC)
    assert session.ask({"sex": "male"}).checked
    assert curator.budget("people", analyst="ann").total.amount > 0


def test_a_confidence_too_near_to_1_costs_no_run(curator):
    session = curator.online("people", **SPEC)
    session.ask({"sex": "male"})
    left = session.state.runs_left
    with pytest.raises(InputError, match="probability"):
        session.ask({"sex": "male"}, confidence=1 - 1e-16)
    assert session.ask({"sex": "male"}, confidence=0.999999).checked
    assert session.state.runs_left == left


@pytest.mark.parametrize("said", [{"epsilon": "1e999999999"}, {"accuracy": "1e999999999"}])
def test_numbers_that_nobody_means_are_refused_at_once(curator, said):
    spec = {"table": "people", "columns": ["sex"], "epsilon": "1", **said}
    with pytest.raises(InputError, match="not a number"):
        curator.explain_order("online", spec)


def test_one_request_is_about_so_many_cells_at_most(curator, monkeypatch):
    session = curator.online("people", **SPEC)
    monkeypatch.setattr(online_epochs, "MOST_CELLS_AT_ONCE", 40)
    session.ask_all([{"age": 3}] * 50)
    with pytest.raises(InputError, match="cells"):
        session.ask_all([{"age": 3}, {"age": 3, "sex": "male"}])


def test_pairs_that_marginals_are_fitted_to_count_as_cells(curator, monkeypatch):
    session = curator.online("people", **SPEC)
    one = session.state.plan.domain.shape(("age", "sex"))
    both = np.prod(one) + 1000  # fitting to a pair takes as long as a larger table
    monkeypatch.setattr(online_epochs, "MOST_CELLS_AT_ONCE", both)
    session.ask({"age": 3, "sex": "male"})
    monkeypatch.setattr(online_epochs, "MOST_CELLS_AT_ONCE", both - 1)
    with pytest.raises(InputError, match="cells"):
        session.ask({"age": 3, "sex": "male"})


def test_an_epoch_of_a_retired_dataset_answers_from_what_is_stored(curator):
    session = curator.online("people", **SPEC)
    session.ask(HARD)
    steps = curator.ledger.steps(session.charge)
    curator.retire("people", reason="over")
    reply = curator._backend.ask_online(session.charge, [HARD, {"sex": "female"}], 0.95)
    assert reply.held is False
    assert not any(one.checked or one.bought for one in reply.answers)
    assert curator.ledger.steps(session.charge) == steps
    with pytest.raises(QueryRefused, match="is retired"):
        curator.online("people", **SPEC, epoch=2)


def test_an_analyst_holds_the_rows_of_few_epochs_in_memory(curator):
    def opened(analyst, epoch):
        cheap = {**SPEC, "epsilon": 1, "delta": 1e-8, "accuracy": 1000}
        return curator.online("people", **cheap, epoch=epoch, analyst=analyst)

    def held():
        return {charge for charge, one in curator._epochs._epochs.items() if one.session}

    other = opened("ben", 1)
    other.ask({"sex": "female"})
    mine = [opened("ann", 2 + n) for n in range(online_epochs.MOST_HELD + 2)]
    for one in mine:
        one.ask({"sex": "female"})
    assert held() == {other.charge, *(one.charge for one in mine[2:])}
    again = mine[0].ask_all([{"sex": "female"}])  # it goes on, with another run
    assert again.held
    assert again.runs_left == other.ask_all([{"sex": "female"}]).runs_left - 1
    assert held() == {other.charge, mine[0].charge, *(one.charge for one in mine[3:])}


def test_reading_states_and_wrong_queries_take_no_run_of_another_epoch(curator):
    cheap = {**SPEC, "epsilon": 1, "delta": 1e-8, "accuracy": 1000}
    several = range(online_epochs.MOST_HELD + 2)
    mine, *others = [curator.online("people", **cheap, epoch=2 + n) for n in several]
    left = mine.ask_all([{"sex": "female"}]).runs_left
    for one in others:
        assert one.state.runs_left == left + 1
        with pytest.raises(InputError):
            one.ask({"sex": "other"})
    assert mine.ask_all([{"sex": "female"}]).runs_left == left
    assert all(one.state.runs_left == left + 1 for one in others)
    known = [one for one in curator._epochs._epochs.values() if one.known and not one.session]
    assert len(known) <= online_epochs.MOST_HELD  # what is stored is not kept of more


def test_closing_goes_on_while_epochs_are_asked(curator):
    """The table of epochs changes while a closing curator waits for one of them."""
    first, second = (curator.online("people", **SPEC, epoch=n) for n in (1, 2))
    epochs = curator._epochs
    for one in (first, second):
        assert one.ask_all([{"sex": "male"}]).held
    with ThreadPoolExecutor(1) as pool, epochs._epochs[first.charge].lock:
        closing = pool.submit(epochs.close)
        while not epochs._epochs[first.charge].opening.locked():
            time.sleep(0.001)
        epochs._epoch(epochs._receipt(second.charge))
        epochs._epoch(epochs._receipt(first.charge))
        epochs._epochs[0] = online_epochs._Epoch("ann")
    closing.result()
    assert not any(one.session for one in epochs._epochs.values())
