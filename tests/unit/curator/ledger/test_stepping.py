"""Steps of a charge: kept in order, by the one worker whose turn it is."""

import pytest

from discreet.curator.ledger.ledger import Ledger
from discreet.errors import LedgerError


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


def test_a_removed_step_is_found(visits, charge):
    visits.hold(charge)
    visits.step(charge, 1, b"one", by="alice")

    def remove(execute):
        drop = "DROP TRIGGER steps_delete" if visits._store.dialect == "sqlite" else None
        execute(drop or "DROP TRIGGER steps_kept ON steps")
        execute("DELETE FROM steps")

    visits._store.transact(remove)
    assert "steps" in str(visits.verify().problem)
