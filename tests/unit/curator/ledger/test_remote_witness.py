"""A witness elsewhere: nothing is told that it has not signed, and nothing that it did is undone."""

import sqlite3
import threading
from contextlib import closing

import pytest

from discreet.curator.ledger.accounts import dataset
from discreet.curator.ledger.cosigner import Cosigner
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.remote_witness import RemoteWitness, WitnessAddress
from discreet.curator.ledger.witness_service import WitnessService
from discreet.errors import LedgerError
from discreet.privacy import Filter


@pytest.fixture
def service(tmp_path):
    with WitnessService(Cosigner(tmp_path / "witness"), "127.0.0.1", 0) as service:
        thread = threading.Thread(target=service.serve_forever, args=(0.01,))
        thread.start()
        yield service
        service.shutdown()
        thread.join()


@pytest.fixture
def watched(tmp_path, service):
    address = WitnessAddress.meet(f"http://127.0.0.1:{service.server_address[1]}")
    with Ledger.open(tmp_path / "ledger.db", elsewhere=RemoteWitness(address)) as ledger:
        ledger.open_account(dataset("visits"), Filter.basic(epsilon=1).limit, by="owner")
        yield ledger


def copy(source, target):
    with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(target)) as other:
        one.backup(other)


@pytest.mark.parametrize("more", [0, 1], ids=["fewer entries", "entries of another process"])
def test_a_ledger_that_is_put_back_while_it_is_in_use_is_refused(tmp_path, watched, ask, more):
    """What it lacks would be spent again, under numbers that the witness has signed."""
    file, head, old = tmp_path / "ledger.db", tmp_path / "ledger.db.head", tmp_path / "old.db"
    copy(file, old)
    seen = head.read_bytes()
    watched.complete(watched.charge(ask("first", epsilon=1)), b"answer")
    copy(old, file)
    head.write_bytes(seen)
    if more:
        with Ledger.open(file) as other:
            for number in range(9):
                other.record("note", by="owner", facts={"number": number})
    for _ in range(2):
        with pytest.raises(LedgerError, match="restored from an older copy"):
            watched.charge(ask("second", epsilon=1))


def test_an_answer_is_not_told_before_the_witness_has_signed_it(watched, service, ask, monkeypatch):
    receipt = watched.charge(ask("first"))

    def away(*_, **__):
        raise ValueError("not today")

    with monkeypatch.context() as patch:
        patch.setattr(service.cosigner, "cosign", away)
        with pytest.raises(LedgerError, match="cannot be believed"):
            watched.complete(receipt, b"answer")
        with pytest.raises(LedgerError, match="cannot be believed"):
            watched.release(receipt.sequence)
    assert watched.release(receipt.sequence) == b"answer"
