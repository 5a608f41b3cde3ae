"""The one path from a price to a release: charge, measure, store, present, store."""

import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

import discreet as dp
from clinic_curator import BY_CITY, COUNT, add_cities, add_visits, spent
from discreet.curator.answer_service import AnswerService, _is_planned_alike
from discreet.curator.ledger.orders import State
from discreet.curator.orders.planned_orders import Terms
from discreet.curator.orders.query_orders import QueryOrder, unpriced_query
from discreet.engines.timing import AT_ONCE
from discreet.errors import (
    EngineError,
    InputError,
    InvariantBroken,
    LedgerError,
    QueryRefused,
    ServiceError,
)
from discreet.privacy import Neighbours
from discreet.privacy.budgets.charges import Charge
from discreet.sql.reader.read import read
from visits import clinic

TERMS = Terms(epsilon=0.1)


@pytest.fixture
def curator():
    with dp.Curator.in_memory() as made:
        yield add_visits(made)


@pytest.fixture
def service(curator):
    return curator._answer_service


def offered(curator, text=COUNT, service=None, analyst="alice"):
    query = read(text, curator._data_store.tables.schema)
    return (service or curator._answer_service).offer(unpriced_query(query, TERMS), analyst)


def another(curator):
    """Another worker on the same ledger and data."""
    return AnswerService(curator._ledger, curator._data_store, Neighbours.ADD_REMOVE)


@contextmanager
def broken(monkeypatch, what, wrong):
    """Let one step of the order fail."""

    def fail(*_):
        raise wrong

    with monkeypatch.context() as patch:
        patch.setattr(QueryOrder, what, fail)
        yield


# --- before the charge ----------------------------------------------------------------------------


def test_an_offer_is_priced_and_charges_nothing(curator):
    offer = offered(curator)
    assert offer.planned.tables == {"visits"}
    assert spent(curator) == (0, 0)


def test_a_question_that_could_take_too_long_is_refused(curator, service):
    service.schedule_of = lambda _: replace(AT_ONCE, longest=0.0)
    with pytest.raises(QueryRefused, match="could take"):
        offered(curator)
    assert spent(curator) == (0, 0)


def test_tables_that_the_ledger_does_not_know_so_are_refused(curator, monkeypatch):
    fresh = another(curator)
    added = curator._ledger.added("visits")
    for entry in (None, replace(added, facts={**added.facts, "rows": "other"})):
        monkeypatch.setattr(type(curator._ledger), "added", lambda *_, _found=entry, **__: _found)
        with pytest.raises(LedgerError, match="what is said about visits"):
            offered(curator, service=fresh)


def test_what_was_proved_once_is_not_looked_up_again(curator, monkeypatch):
    fresh = another(curator)
    offered(curator, service=fresh)
    monkeypatch.setattr(type(curator._ledger), "added", lambda *_, **__: None)
    assert offered(curator, service=fresh).planned.tables == {"visits"}


def test_a_question_about_two_datasets_is_refused(curator):
    curator.add("more", clinic(20), **{**ABOUT_MORE, "budget": dp.Budget(epsilon=1)})
    text = "SELECT COUNT(*) FROM (SELECT amount FROM visits UNION ALL SELECT amount FROM more)"
    with pytest.raises(QueryRefused):
        offered(curator, text)


ABOUT_MORE = {"unit": "person", "columns": {"amount": dp.Bounds(0, 100)}, "required": ["amount"]}


def test_of_a_retired_dataset_only_what_was_answered_is_offered_and_nothing_read_again(
    curator, service
):
    receipt = service.charge(offered(curator))
    release = service.finish(receipt)
    planned, _ = service.reopen(receipt)
    assert planned.tables == {"visits"}
    curator.retire("visits", reason="the study is over")
    assert service.collect(service.charge(offered(curator))) == release
    for refused in (lambda: offered(curator, BY_CITY), lambda: service.reopen(receipt)):
        with pytest.raises(QueryRefused, match="visits is retired"):
            refused()


def test_what_was_priced_before_a_dataset_was_retired_is_not_charged_after_it(curator, service):
    offer = offered(curator)
    curator.retire("visits", reason="the study is over")
    with pytest.raises(QueryRefused, match="visits is retired"):
        service.charge(offer)
    assert curator.budget("visits").total.amount == 0


# --- people with budgets of their own -------------------------------------------------------------


@pytest.fixture
def by_person():
    budget = dp.Budget.per_person(epsilon=3, delta=1e-6)
    with dp.Curator.in_memory() as made:
        yield add_visits(made, budget=budget)


def test_people_with_budgets_of_their_own_are_measured_and_each_pays(by_person):
    service = by_person._answer_service
    release = service.answer(offered(by_person))
    assert release.table.num_rows == 1
    assert service.answer(offered(by_person)) == release


def test_where_each_person_pays_only_questions_about_files_are_offered(by_person):
    service, store = by_person._answer_service, by_person._data_store
    query = read(COUNT, store.tables.schema)
    other = replace(unpriced_query(query, TERMS), by_person=False)
    with pytest.raises(QueryRefused, match="an order that is no question"):
        service.offer(other, "alice")
    [used] = store.check(["visits"], 1)
    remote = replace(used, source="postgresql://db", source_table="visits")
    with pytest.raises(QueryRefused, match="tables on a server"):
        service.people.check("visits", [remote], by_person=True)


# --- charge, measure, store -----------------------------------------------------------------------


def test_a_charge_is_finished_once_and_its_answer_is_free(curator, service):
    offer = offered(curator, BY_CITY)
    first = service.answer(offer)
    after = spent(curator)
    assert after > (0, 0)
    receipt = service.charge(offer)
    assert receipt.state is State.RELEASED
    assert service.collect(receipt) == first
    assert spent(curator) == after
    assert service.bound_seconds(receipt) > 0


def test_the_first_charge_looks_for_what_others_left_unless_a_pace_does(curator, monkeypatch):
    looks = []
    monkeypatch.setattr(AnswerService, "recover", lambda *_: looks.append(1))
    paced = another(curator)
    paced.schedule_of = lambda _: replace(AT_ONCE, longest=9.0)
    paced.charge(offered(curator))
    assert not looks
    one = another(curator)
    for _ in range(2):
        one.charge(offered(curator))
    assert looks == [1]


def test_whoever_asks_what_another_computes_waits_for_that_answer(curator, service):
    offer = offered(curator)
    receipt = service.charge(offer)
    other, found = another(curator), []
    pending = other.charge(offer)
    assert pending.state is State.PENDING
    assert not other.is_mine(pending)
    waiting = threading.Thread(target=lambda: found.append(other.collect(pending)))
    waiting.start()
    release = service.finish(receipt)
    waiting.join(30)
    assert found == [release]


def test_what_fails_while_data_is_read_has_failed_for_good(curator, service, monkeypatch):
    receipt = service.charge(offered(curator))
    with broken(monkeypatch, "measure", ZeroDivisionError("the value 17")):
        with pytest.raises(EngineError) as failed:
            service.finish(receipt)
        assert "17" not in str(failed.value)
        assert failed.value.__context__ is None
    with pytest.raises(EngineError):  # measuring would work now: it is too late
        service.collect(service.charge(offered(curator)))
    assert spent(curator) > (0, 0)


def test_a_server_that_broke_off_told_nobody_anything_and_is_asked_again(
    curator, service, monkeypatch
):
    receipt = service.charge(offered(curator))
    gone = ServiceError("the server broke off", why="it is gone", fix="ask again")
    gone.__cause__ = ValueError("the value 17")
    with broken(monkeypatch, "measure", gone), pytest.raises(ServiceError) as failed:
        service.finish(receipt)
    assert failed.value.__cause__ is failed.value.__context__ is None
    assert service.collect(service.charge(offered(curator))).table.num_rows == 1


def test_what_fails_after_measuring_is_tried_again_from_the_same_measurements(
    curator, service, monkeypatch
):
    receipt, drawn = service.charge(offered(curator)), []
    keep = curator._ledger.keep
    monkeypatch.setattr(
        type(curator._ledger), "keep", lambda _, *at: drawn.append(at[1]) or keep(*at)
    )
    with broken(monkeypatch, "present", ValueError("of data")), pytest.raises(InvariantBroken):
        service.finish(receipt)
    again = service.charge(offered(curator))
    assert service.is_mine(again)
    assert again.measured == drawn[0]
    service.collect(again)
    assert len(drawn) == 1
    assert not service._unfinished


def test_recovery_finishes_what_it_can(curator, service, monkeypatch):
    service.charge(offered(curator))
    service.charge(offered(curator, BY_CITY))
    seen = []

    def once(*at):
        seen.append(at)
        if len(seen) == 1:
            raise InputError("not now", why="this one fails", fix="none")
        return check(*at)

    check = AnswerService._check_version
    monkeypatch.setattr(AnswerService, "_check_version", once)
    assert another(curator).recover(patience=0) == 1


def test_a_charge_that_was_planned_otherwise_is_not_measured(curator, service):
    receipt = service.charge(offered(curator))
    for other in ({"measurements": ()}, {"prices": tuple(map(doubled, receipt.order.prices))}):
        changed = replace(receipt, order=replace(receipt.order, **other), sequence=10**6)
        with pytest.raises(LedgerError, match="another version of this package"):
            service.finish(changed)


def test_a_charge_is_measured_by_the_plan_it_was_charged_for(curator, service):
    offer = offered(curator)
    receipt = service.charge(offer)
    assert service._planned(receipt) is offer.planned

    service.finish(receipt)
    assert service._planned(receipt) is not offer.planned  # from here on as the ledger has it

    order = offer.order()
    for otherwise in ({"decisions": None}, {"measurements": ()}):
        assert not _is_planned_alike(replace(order, **otherwise), order)


def doubled(price):
    return Charge(price.amount * 2, price.delta, measure=price.measure, neighbours=price.neighbours)


def test_a_charge_for_another_version_of_the_data_is_not_measured(curator, service):
    receipt = service.charge(offered(curator))
    other = replace(receipt, order=replace(receipt.order, version="another"), sequence=10**6)
    with pytest.raises(LedgerError, match="another version of the data"):
        service.finish(other)


# --- cancelling and deadlines ---------------------------------------------------------------------


def test_a_charge_is_cancelled_until_it_is_measured(curator, service):
    receipt = service.charge(offered(curator))
    service.cancel(receipt, by="alice")
    with pytest.raises(EngineError):
        service.finish(receipt)
    assert spent(curator) > (0, 0)

    answered = service.charge(offered(curator, BY_CITY))
    another(curator).charge(offered(curator, BY_CITY, analyst="bob"))  # one of the two cancels
    service.cancel(answered, by="alice", for_all=False)
    service.finish(answered)
    with pytest.raises(InputError, match="answered already"):
        service.cancel(answered, by="alice")


def paced(seconds):
    """A schedule that stops measuring within so many seconds."""
    return replace(AT_ONCE, steps=lambda _: (seconds,))


def test_what_runs_is_stopped_when_it_is_cancelled_here_or_elsewhere(curator, monkeypatch):
    for elsewhere in (False, True):
        service, begun, stopped = another(curator), threading.Event(), []

        def wait(_, __, until, *, begun=begun, stopped=stopped):
            begun.set()
            while until.cancelled is None:
                time.sleep(0.01)
            stopped.append(until.cancelled)
            raise TimeoutError

        monkeypatch.setattr(QueryOrder, "measure", wait)
        receipt = service.charge(offered(curator, BY_CITY if elsewhere else COUNT))
        ended = []

        def finish(service=service, receipt=receipt, ended=ended):
            try:
                service.finish(receipt, paced(60.0))
            except EngineError as wrong:
                ended.append(wrong)

        running = threading.Thread(target=finish)
        running.start()
        assert begun.wait(30)
        (another(curator) if elsewhere else service).cancel(receipt, by="alice")
        service.stop_cancelled()
        service.stop_cancelled()  # it is stopped once
        running.join(30)
        assert len(stopped) == len(ended) == 1
        assert not service._running


def test_what_overruns_its_deadline_gives_no_answer(curator, service, monkeypatch):
    measure = QueryOrder.measure

    def late(order, engine, until):
        found = measure(order, engine, None)
        time.sleep(max(0.0, until.moment - time.monotonic()) + 0.01)
        return found

    monkeypatch.setattr(QueryOrder, "measure", late)
    receipt = service.charge(offered(curator))
    with pytest.raises(EngineError):
        service.finish(receipt, paced(1.0))


def test_what_keeps_its_deadline_is_answered_at_the_step(curator, service):
    receipt, began = service.charge(offered(curator)), time.monotonic()
    assert service.finish(receipt, paced(2.0)).table.num_rows == 1
    assert time.monotonic() - began >= 2.0


def test_public_tables_may_be_joined(curator):
    add_cities(curator)
    text = "SELECT COUNT(*) AS n FROM visits JOIN cities ON city = name"
    assert offered(curator, text).planned.tables == {"visits", "cities"}
