"""What the head commits to: rows that were true once are refused before they are charged."""

import threading

import pytest

from discreet.curator.ledger.account_cache import AccountTree
from discreet.curator.ledger.accounts import COLUMNS, analyst, dataset, group
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Entry
from discreet.curator.ledger.store import Refused
from discreet.errors import InputError, LedgerError
from discreet.privacy import Filter

VISITS = dataset("visits")
ANN = analyst("ann", within="visits")
BUDGET = Filter.basic(epsilon=1)


def again(ledger):
    """The same ledger as another process opens it."""
    return Ledger(ledger._store, ledger._witness)


def row_of(ledger, holder):
    sql = f"SELECT {COLUMNS} FROM accounts WHERE key = ?"  # noqa: S608 - a constant
    [row] = ledger._store.snapshot(lambda execute: execute(sql, (holder.key,)))
    return row


def put_back(ledger, row):
    sql = "UPDATE accounts SET cap = ?, spent = ?, spent_delta = ?, entry = ? WHERE key = ?"
    values = (row[3], row[5], row[6], row[8], row[0])
    ledger._store.transact(lambda execute: execute(sql, values))


@pytest.mark.parametrize("restarted", [False, True], ids=["going on", "opened again"])
def test_an_account_that_is_put_back_as_it_was_is_refused_before_a_charge(visits, ask, restarted):
    visits.charge(ask("first", epsilon=0.5))
    before = row_of(visits, VISITS)
    visits.charge(ask("second", epsilon=0.4))
    put_back(visits, before)
    assert visits.account(VISITS).left.amount > 0.4  # true to its entry: readers cannot tell
    ledger = again(visits) if restarted else visits
    with pytest.raises(LedgerError, match="total"):
        ledger.charge(ask("third", epsilon=0.5))
    with pytest.raises(LedgerError, match="total"):
        ledger.set_cap(VISITS, Filter.basic(epsilon=2).limit, by="owner", reason="more")
    assert not visits.verify().ok


@pytest.mark.parametrize("restarted", [False, True], ids=["going on", "opened again"])
def test_an_account_that_was_removed_is_refused_before_a_charge(visits, ask, restarted):
    visits.open_account(ANN, Filter.basic(epsilon=0.2).limit, by="owner")
    visits.charge(ask("first", by="ann", epsilon=0.2))
    visits._store.transact(lambda run: run("DELETE FROM accounts WHERE key = ?", (ANN.key,)))
    ledger = again(visits) if restarted else visits
    with pytest.raises(LedgerError, match="total"):
        ledger.charge(ask("second", by="ann", epsilon=0.2))


@pytest.mark.parametrize("restarted", [False, True], ids=["going on", "opened again"])
def test_somebody_who_was_taken_out_of_a_group_is_refused_before_a_charge(visits, ask, restarted):
    team = group("team", within="visits")
    visits.open_account(team, Filter.basic(epsilon=0.3).limit, by="owner", members=[ANN])
    visits.charge(ask("first", by="ann", epsilon=0.3))
    visits._store.transact(lambda run: run("DELETE FROM members"))
    ledger = again(visits) if restarted else visits
    with pytest.raises(LedgerError, match=r"groups or links|memberships"):
        ledger.charge(ask("second", by="ann", epsilon=0.3))


def test_all_accounts_put_back_together_are_refused(visits, ask):
    visits.charge(ask("first", epsilon=0.5))
    alice = analyst("alice", within="visits")
    before = [row_of(visits, VISITS), row_of(visits, alice)]
    visits.charge(ask("second", epsilon=0.4))
    for row in before:
        put_back(visits, row)
    with pytest.raises(LedgerError, match="newest entry"):
        again(visits).charge(ask("third", epsilon=0.5))


def test_a_transaction_that_was_undone_leaves_nothing_behind(visits, ask, monkeypatch):
    visits.charge(ask("first"))
    transact = visits._store.transact

    def undone(work, **rest):
        def broken(execute):
            work(execute)
            raise LedgerError("no room", why="the disk is full", fix="make room")

        return transact(broken, **rest)

    with monkeypatch.context() as patch:
        patch.setattr(visits._store, "transact", undone)
        with pytest.raises(LedgerError, match="no room"):
            visits.charge(ask("second"))
    assert visits.charge(ask("third")).sequence == 4
    assert visits.verify().ok


def test_processes_follow_what_others_charge(visits, ask):
    others = [visits, again(visits), again(visits)]

    def charge(which):
        for number in range(8):
            others[which].charge(ask(f"{which} {number}", by=f"analyst {which}", epsilon=0.01))

    threads = [threading.Thread(target=charge, args=(which,)) for which in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    report = visits.verify()
    assert report.ok
    assert report.pending == 24


def test_trees_that_say_the_same_have_one_root_whatever_the_order():
    keys = [analyst(f"analyst {number}", within="visits").key for number in range(300)]
    one, other = AccountTree(), AccountTree()
    for number, key in enumerate(keys):
        one.take(number + 1, {"after": {key: "a" * 64}})
    for number, key in reversed(list(enumerate(keys))):
        other.take(number + 1, {"after": {key: "a" * 64}})
    assert one.root == other.root
    assert other.take(9, {"after": {keys[0]: "a" * 64}}) != one.root


@pytest.mark.parametrize("restarted", [False, True], ids=["going on", "opened again"])
def test_an_entry_that_is_too_long_leaves_nothing_behind(visits, ask, restarted):
    with pytest.raises(InputError, match="bytes at most"):
        visits.open_account(dataset("other"), BUDGET.limit, by="owner", reason="x" * 300_000)
    with pytest.raises(InputError, match="bytes at most"):
        visits.charge(ask("x" * 300_000))
    (again(visits) if restarted else visits).charge(ask("first"))
    assert visits.verify().ok


def test_an_older_package_that_has_the_ledger_open_is_refused(visits, ask):
    """It would add entries that commit to nothing, and the ledger would never be whole again."""
    entry = Entry.after(visits.head(), "charged", "ann", {"after": {VISITS.key: "0" * 64}})
    values = (entry.sequence, entry.head.hash, entry.text)

    def as_before(execute):
        execute.change([("INSERT INTO entries (sequence, hash, body) VALUES (?, ?, ?)", values, 1)])

    with pytest.raises(Refused):
        visits._store.transact(as_before)
    visits.charge(ask("first"))
    assert visits.verify().ok
