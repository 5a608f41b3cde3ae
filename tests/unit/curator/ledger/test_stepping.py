"""Steps of a charge: kept in order, by the one worker whose turn it is."""

import time
from queue import Queue

import pytest

import postgres_server
from discreet.curator.ledger import charging, migrations
from discreet.curator.ledger.accounts import dataset
from discreet.curator.ledger.charging import failures_of
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import State
from discreet.curator.ledger.stepping import NOBODY
from discreet.errors import AccessError, LedgerError
from discreet.privacy.budgets.charges import EPSILON, Charge


@pytest.fixture
def charge(visits, ask):
    receipt = visits.charge(ask())
    visits.complete(receipt, b"begun")
    return receipt.sequence


def test_steps_are_kept_in_order_and_verified(visits, charge):
    assert visits.hold(charge)
    for number in (1, 2, 3):
        visits.step(charge, number, b"step %d" % number, by="alice")
    assert visits.steps(charge) == (b"step 1", b"step 2", b"step 3")
    assert visits.steps(charge, after=2) == (b"step 3",)
    assert visits.verify().ok
    assert [one.kind for one in visits.entries()][-3:] == ["stepped"] * 3


@pytest.mark.parametrize("number", [0, 2])
def test_a_step_out_of_order_is_refused(visits, charge, number):
    visits.hold(charge)
    with pytest.raises(LedgerError, match="another worker"):
        visits.step(charge, number, b"", by="alice")


def test_only_a_release_can_be_gone_on_with(visits, ask):
    pending = visits.charge(ask("other"))
    for number in (pending.sequence, 10**6):
        with pytest.raises(LedgerError, match="no charge"):
            visits.hold(number)


def test_one_worker_has_the_turn_until_it_lets_go(visits, charge):
    other = Ledger(visits._store, visits._witness)
    eager = Ledger(visits._store, visits._witness, patience=0)
    assert visits.hold(charge)
    assert visits.hold(charge)
    assert not other.hold(charge)
    with pytest.raises(LedgerError, match="another worker"):
        other.step(charge, 1, b"", by="bob")
    other.let_go(charge)
    assert not other.hold(charge)
    visits.let_go(charge)
    assert other.hold(charge)
    assert eager.hold(charge)
    with pytest.raises(LedgerError, match="another worker"):
        other.step(charge, 1, b"", by="bob")
    eager.step(charge, 1, b"mine", by="bob")
    assert visits.steps(charge) == (b"mine",)


def test_a_turn_is_kept_for_longer_than_a_claim_lasts(visits, charge, monkeypatch):
    visits.let_go(charge)
    now = [time.time_ns()]
    monkeypatch.setattr(time, "time_ns", lambda: now[0])
    ours, other = (Ledger(visits._store, visits._witness, patience=0.4) for _ in range(2))
    hold, renewed = ours.hold, Queue()
    assert hold(charge)

    def noted(charge):
        began = now[0]
        assert hold(charge)
        renewed.put(began)

    monkeypatch.setattr(ours, "hold", noted)
    with ours.keep_turn(charge):
        for _ in range(4):
            now[0] += 3 * 10**8
            while renewed.get(timeout=60) < now[0]:
                pass
            assert not other.hold(charge)
    now[0] += 5 * 10**8
    assert other.hold(charge)


def test_a_removed_step_is_found_and_not_drawn_again(visits, charge):
    visits.hold(charge)
    visits.step(charge, 1, b"one", by="alice")
    visits.step(charge, 2, b"two", by="alice")

    def remove(execute):
        drop = "DROP TRIGGER steps_delete" if visits._store.dialect == "sqlite" else None
        execute(drop or "DROP TRIGGER steps_kept ON steps")
        execute("DELETE FROM steps WHERE number = 2")

    visits._store.transact(remove)
    assert visits.steps(charge) == (b"one",)
    for go_on in (
        lambda: visits.step(charge, 2, b"again", by="alice"),
        lambda: visits.fail_step(charge, by="alice"),
    ):
        with pytest.raises(LedgerError, match="is lost, and it is not drawn again"):
            go_on()
    assert "steps" in str(visits.verify().problem)


def test_a_step_that_failed_ends_a_charge_until_its_analyst_is_readmitted(visits, charge):
    assert visits.hold(charge)
    visits.step(charge, 1, b"told", by="alice")
    assert not visits.has_ended(charge)
    for forgiven in range(2):
        visits.fail_step(charge, by="alice")
        assert visits.has_ended(charge)
        assert not visits.hold(charge)
        for go_on in (
            lambda: visits.step(charge, 2, b"", by="alice"),
            lambda: visits.fail_step(charge, by="alice"),
        ):
            with pytest.raises(LedgerError, match="another worker"):
                go_on()
        assert (visits.steps(charge), visits.release(charge)) == ((b"told",), b"begun")
        assert visits.verify().ok, forgiven
        analyst = visits.find(charge).order.analyst
        assert visits.readmit(analyst, "visits", by="owner", reason="a full disk") == 1
        assert visits.hold(charge)
        assert visits.verify().ok
    visits.step(charge, 2, b"more", by="alice")
    assert visits.verify().ok
    failed = [one.facts for one in visits.entries() if one.kind == "failed"]
    assert failed == [{"charge": charge, "step": 2}] * 2


def test_a_worker_without_the_turn_ends_nothing(visits, charge):
    visits.hold(charge)
    with pytest.raises(LedgerError, match="another worker"):
        Ledger(visits._store, visits._witness).fail_step(charge, by="bob")
    assert visits.hold(charge)


@pytest.mark.parametrize("step", [1, 3])
def test_a_failure_of_a_step_that_is_not_the_next_is_found(visits, charge, step):
    visits.hold(charge)
    visits.step(charge, 1, b"told", by="alice")

    def forge(page):
        page.append("failed", "alice", {"charge": charge, "step": step})
        page.update("UPDATE charges SET failed = 1 WHERE sequence = ?", (charge,))

    visits._committer.submit_alone(forge)
    assert not visits.verify().ok


def test_a_failure_that_is_told_twice_is_found(visits, charge):
    visits.hold(charge)
    visits.fail_step(charge, by="alice")
    again = {"charge": charge, "step": 1}
    visits._committer.submit_alone(lambda page: page.append("failed", "alice", again))
    assert not visits.verify().ok


# --- whose failure it is --------------------------------------------------------------------------


def failures(ledger, analyst):
    return ledger._store.snapshot(lambda execute: execute(*failures_of(analyst, "visits")))[0][0]


@pytest.mark.parametrize(("readmitted", "left"), [("bob", 0), ("alice", 1), ("carol", 1)])
def test_a_failed_step_counts_against_who_asked_until_they_are_readmitted(
    visits, charge, readmitted, left
):
    assert visits.find(charge).order.analyst == "alice"
    visits.hold(charge)
    visits.fail_step(charge, by="bob")
    assert (failures(visits, "alice"), failures(visits, "bob")) == (0, 1)
    assert visits.verify().ok
    assert visits.readmit(readmitted, "visits", by="owner", reason="looked") == 1 - left
    assert failures(visits, "bob") == left
    assert visits.has_ended(charge) == bool(left)
    assert visits.verify().ok


def begin(ledger, order):
    receipt = ledger.charge(order)
    ledger.complete(receipt, b"begun")
    ledger.hold(receipt.sequence)
    return receipt.sequence


def test_to_readmit_an_analyst_lifts_the_limit_of_nobody_else(visits, ask):
    for charge in [begin(visits, ask(f"question {n}")) for n in range(5)]:
        visits.fail_step(charge, by="bob")
    assert visits.readmit("alice", "visits", by="owner", reason="looked") == 0
    with pytest.raises(AccessError, match="5 questions of one analyst"):
        visits.check_failures("bob", "visits")
    assert visits.verify().ok


def test_a_readmission_says_whose_failures_no_longer_count(visits, ask):
    charges = [begin(visits, ask(f"question {n}")) for n in range(3)]
    for charge, by in zip(charges, ["bob", "alice", "bob"], strict=True):
        visits.fail_step(charge, by=by)
    assert visits.readmit("bob", "visits", by="owner", reason="looked") == 2
    [said] = [one.facts for one in visits.entries() if one.kind == "readmitted"]
    assert (said["failures"], said["charges"]) == (2, [charges[0], charges[2]])
    assert [visits.has_ended(one) for one in charges] == [False, True, False]
    named = "SELECT sequence FROM charges WHERE failed_by IS NOT NULL"
    assert visits._store.snapshot(lambda execute: execute(named)) == [(charges[1],)]
    assert visits.verify().ok


def test_a_readmission_of_other_charges_than_failed_is_found(visits, charge, ask):
    visits.hold(charge)
    visits.fail_step(charge, by="bob")
    other = begin(visits, ask("other"))
    facts = {"analyst": "bob", "dataset": "visits", "failures": 1, "charges": [other]}

    def forge(page):
        page.append("readmitted", "owner", facts)
        page.update("UPDATE charges SET failed = 2, failed_by = NULL WHERE failed = 1", ())

    visits._committer.submit_alone(forge)
    assert not visits.verify().ok


def test_an_older_package_that_has_the_ledger_open_cannot_readmit(visits, charge):
    visits.hold(charge)
    visits.fail_step(charge, by="bob")
    before = {"analyst": "bob", "dataset": "visits", "failures": 0, "reason": "looked"}
    with pytest.raises(LedgerError):
        visits._committer.submit_alone(lambda page: page.append("readmitted", "owner", before))
    assert failures(visits, "bob") == 1
    assert visits.verify().ok


def test_a_failure_that_an_older_package_stores_counts_against_the_analyst(visits, charge):
    def fail_as_before(page):
        page.append("failed", "alice", {"charge": charge, "step": 1})
        page.update("UPDATE charges SET failed = 1 WHERE sequence = ?", (charge,))

    visits.hold(charge)
    visits.fail_step(charge, by="bob")
    visits.readmit("bob", "visits", by="owner", reason="looked")
    visits._committer.submit_alone(fail_as_before)
    assert (failures(visits, "alice"), failures(visits, "bob")) == (1, 0)
    assert visits.verify().ok


def test_steps_that_nobody_asked_for_count_against_the_analyst_of_the_charge(visits, ask):
    for charge in [begin(visits, ask(f"question {n}")) for n in range(5)]:
        visits.check_failures("alice", "visits")
        visits.fail_step(charge, by=NOBODY)
    with pytest.raises(AccessError, match="5 questions of one analyst"):
        visits.charge(ask("another"))
    assert visits.verify().ok
    assert visits.readmit("alice", "visits", by="owner", reason="looked") == 5
    assert visits.charge(ask("another")).state is State.CHARGED
    assert visits.verify().ok


@pytest.mark.parametrize("name", ["'alice'", "''", "NULL"])
def test_a_failure_that_is_counted_against_another_is_found(visits, charge, name):
    visits.hold(charge)
    visits.fail_step(charge, by="bob")
    visits._store.transact(lambda execute: execute(f"UPDATE charges SET failed_by = {name}"))  # noqa: S608 - a constant
    assert "failures" in str(visits.verify().problem)


def test_failures_are_counted_by_an_index(tmp_path):
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        sql, values = failures_of("alice", "visits")
        plan = ledger._store.snapshot(lambda run: run(f"EXPLAIN QUERY PLAN {sql}", values))
    assert "USING INDEX failures (<expr>=? AND dataset=?)" in plan[0][3]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_step_that_failed_before_failures_had_names_counts_against_its_analyst(
    tmp_path, request, monkeypatch, ask, kind
):
    place = tmp_path / "ledger.sqlite"
    if kind == "postgres":
        place = postgres_server.empty_database(request.getfixturevalue("server"))

    def fail_as_before(page):
        page.append("failed", "alice", {"charge": charged.sequence, "step": 1})
        page.update("UPDATE charges SET failed = 1 WHERE sequence = ?", (charged.sequence,))

    with monkeypatch.context() as patch:
        patch.setattr(migrations, "STEPS", migrations.STEPS[:5])
        patch.setattr(
            charging, "_FAILURES", charging._FAILURES.replace("failed_by, analyst", "analyst, ''")
        )
        with Ledger.open(place, witness=tmp_path / "head") as old:
            old.open_account(dataset("visits"), Charge(1, measure=EPSILON), by="owner")
            charged = old.charge(ask())
            old.complete(charged, b"begun")
            old._committer.submit_alone(fail_as_before)
            assert old.verify().ok
    with Ledger.open(place, witness=tmp_path / "head") as ledger:
        assert failures(ledger, "alice") == 1
        assert ledger.verify().ok
        assert ledger.readmit("alice", "visits", by="owner", reason="looked") == 1
        assert not ledger.has_ended(charged.sequence)
        assert ledger.verify().ok
