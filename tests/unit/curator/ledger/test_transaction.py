"""Shared transactions: nobody is told too early, and nobody pays for another's fault."""

import threading

import pytest

from discreet.curator.ledger import charging
from discreet.curator.ledger.account_cache import read_tree
from discreet.curator.ledger.accounts import dataset, write_units
from discreet.curator.ledger.orders import State
from discreet.curator.ledger.transaction import Transaction, _Job
from discreet.errors import InputError, LedgerError
from discreet.privacy import Filter


def together(ledger, works):
    """Run operations in one transaction, by letting them queue behind a slow one."""
    shared, outcomes, begun = ledger._committer, {}, threading.Event()
    release = threading.Event()

    def slow(page):
        begun.set()
        release.wait(30)
        return page.head

    def run(n, work):
        try:
            outcomes[n] = shared.submit(work)
        except BaseException as error:  # noqa: BLE001
            outcomes[n] = error

    first = threading.Thread(target=run, args=("slow", slow))
    first.start()
    begun.wait(30)
    threads = [threading.Thread(target=run, args=each) for each in enumerate(works)]
    for thread in threads:
        thread.start()
    while len(shared._queue) < len(works):
        pass
    release.set()
    for thread in (first, *threads):
        thread.join()
    return [outcomes[n] for n in range(len(works))]


def note(page):
    return page.append("noted", "somebody", {})


def spoil(page):
    page.append("noted", "somebody", {})
    raise InputError("half done", why="planted", fix="roll back")


def break_a_rule(page):
    page.append("noted", "somebody", {})
    page.update("UPDATE accounts SET spent = 'no number'", ())
    page.read("SELECT 1")


def lose_a_row(page):
    page.update("UPDATE accounts SET key = key WHERE key = 'nobody'", ())


def test_operations_that_wait_share_a_transaction(visits):
    transactions, transact = [], visits._store.transact

    def counted(work, **more):
        transactions.append(work)
        return transact(work, **more)

    visits._store.transact = counted
    outcomes = together(visits, [note] * 10)
    assert sorted(entry.sequence for entry in outcomes) == list(range(3, 13))
    assert len(transactions) <= 3
    assert visits.verify().ok


@pytest.mark.parametrize(
    ("fault", "error"), [(spoil, "half done"), (break_a_rule, "refused a change")]
)
def test_a_fault_is_told_to_the_one_who_made_it(visits, fault, error):
    outcomes = together(visits, [note, fault, note])
    assert {entry.sequence for entry in (outcomes[0], outcomes[2])} == {3, 4}
    assert error in str(outcomes[1])
    assert visits.verify().ok


def test_a_row_that_is_not_there_stops_the_transaction(visits):
    with pytest.raises(LedgerError, match="one after another"):
        visits._committer.submit(lose_a_row)
    assert visits.record("noted", by="owner", facts={}).sequence == 3


def test_an_interruption_is_told_to_all_who_shared(visits):
    def interrupted(page):
        page.append("noted", "somebody", {})
        raise KeyboardInterrupt

    outcomes = together(visits, [interrupted, note])
    kinds = {type(outcome) for outcome in outcomes}
    assert kinds in ({KeyboardInterrupt, LedgerError}, {LedgerError, KeyboardInterrupt})
    assert visits.head().sequence == 2
    visits.open_account(dataset("labs"), Filter.basic(1).limit, by="owner")
    assert visits.verify().ok


def test_who_is_interrupted_while_waiting_leaves_the_queue(visits):
    """Otherwise the lead would be handed to somebody who is gone."""

    class Impatient(threading.Event):
        def wait(self, timeout=None):  # noqa: ARG002
            raise KeyboardInterrupt

    begun, release = threading.Event(), threading.Event()

    def slow(page):
        begun.set()
        release.wait(30)
        return page.head

    first = threading.Thread(target=visits._committer.submit, args=(slow,))
    first.start()
    begun.wait(30)
    job = _Job(note)
    job.called = Impatient()
    with pytest.raises(KeyboardInterrupt):
        visits._committer._submit(job)
    assert not visits._committer._queue
    release.set()
    first.join()
    assert visits.record("noted", by="owner", facts={}).sequence == 3


def test_a_total_that_changed_after_it_was_read_is_not_written_over(visits, ask):
    """The guard under the lock: it would matter on a store that does not isolate."""

    def work(execute):
        transaction = Transaction(execute)
        transaction.tree = read_tree(transaction)
        transaction.cache.read([ask()])
        execute("UPDATE accounts SET spent = ?", (write_units(1),))
        charging.charge(transaction, ask(), charging.Turn("worker", 0, 0, 0))
        transaction.finish()

    with pytest.raises(LedgerError, match="one after another"):
        visits._store.transact(work)
    assert visits.verify().ok


def test_who_asks_while_another_cancels_is_not_charged_for_an_error(visits, ask):
    receipt, asked = visits.charge(ask("count", by="ann")), ask("count", by="bob")
    cancel = _Job(lambda page: charging.cancel(page, receipt, by="ann", for_all=False))
    charge = _Job(lambda page: charging.charge(page, asked, visits._turn()), asked)
    visits._committer._run([cancel, charge])
    assert {cancel.result().state, charge.result().state} == {State.PENDING}
    assert visits.charge(asked).state is State.PENDING  # it goes on for whoever has paid
