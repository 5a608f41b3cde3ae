"""A witness elsewhere: nothing is told that it has not signed."""

import json
import socket
import sqlite3
import threading
import time
from contextlib import closing

import pytest
from click.testing import CliRunner

import discreet as dp
from discreet.cli import main
from discreet.curator.data import folder as folder_module
from discreet.curator.ledger import cosigner, witness_service
from discreet.curator.ledger.accounts import dataset
from discreet.curator.ledger.cosigner import Cosigner
from discreet.curator.ledger.create import find_place
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.merkle import TreeHead
from discreet.curator.ledger.orders import digest
from discreet.curator.ledger.remote_witness import RemoteWitness, WitnessAddress
from discreet.curator.ledger.witness_service import WitnessService
from discreet.errors import AccessError, InputError, LedgerError
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
    address = WitnessAddress.meet(address_of(service))
    with Ledger.open(tmp_path / "ledger.db", elsewhere=RemoteWitness(address)) as ledger:
        ledger.open_account(dataset("visits"), Filter.basic(epsilon=1).limit, by="owner")
        yield ledger


def address_of(service):
    return f"http://127.0.0.1:{service.server_address[1]}"


def copy(source, target):
    with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(target)) as other:
        one.backup(other)


def test_a_witness_that_was_taken_out_of_the_folder_is_missed_until_its_owner_retires_it(
    tmp_path, service
):
    place = tmp_path / "clinic.discreet"
    dp.Curator(place, witness=address_of(service)).close()
    kept, said = place / "curator.json", json.loads((place / "curator.json").read_text())
    del said["elsewhere"]
    kept.write_text(json.dumps(said))
    with pytest.raises(LedgerError, match="and is opened without it"):
        dp.Curator(place)
    told = CliRunner().invoke(
        main, ["ledger", "adopt", "--curator", str(place), "--without-witness", "--reason", "fire"]
    )
    assert told.exit_code == 0, told.output
    with dp.Curator(place) as curator:
        kinds = [one.kind for one in curator.ledger.entries()]
        assert curator.ledger.verify().ok
        ledger = curator.ledger.tree_head().ledger
    assert kinds == ["founded", "witness named", "adopted", "witness retired"]
    with pytest.raises(LedgerError, match=rf"another secret.*--forget {ledger}"):
        dp.Curator(place, witness=address_of(service))
    service.cosigner.forget(ledger)
    dp.Curator(place).close()


def test_a_folder_whose_ledger_has_a_witness_is_not_made_to_name_another(tmp_path, service):
    place = tmp_path / "clinic.discreet"
    dp.Curator(place, witness=address_of(service)).close()
    kept, said = place / "curator.json", json.loads((place / "curator.json").read_text())
    del said["elsewhere"]
    kept.write_text(json.dumps(said))
    with pytest.raises(LedgerError, match="and is opened without it"):
        dp.Curator(place, witness=address_of(service))
    assert json.loads(kept.read_text()) == said


def test_a_ledger_is_opened_with_its_own_witness_alone(tmp_path, watched, service):
    watched.close()
    stranger = WitnessAddress(address_of(service), "00" * 32, "secret")
    with pytest.raises(LedgerError):
        Ledger.open(tmp_path / "ledger.db", elsewhere=RemoteWitness(stranger))
    assert [one.kind for one in watched.entries()].count("witness named") == 1


@pytest.mark.parametrize("url", ["http://witness.example.org:8001", "http://192.0.2.7", "ftp://x"])
def test_a_witness_on_another_machine_is_met_over_tls_alone(url):
    with pytest.raises(InputError, match="witness at"):
        WitnessAddress.meet(url)


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
        with Ledger(*find_place(file, None)) as other:  # by somebody who asks no witness
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


def test_processes_that_meet_the_witness_at_once_have_one_secret(tmp_path, service):
    """Else the ledger's first head is signed for a secret that its folder does not have."""
    folder, url = tmp_path / "curator", address_of(service)
    dp.Curator(folder).close()
    both = threading.Barrier(2)

    def meet(read=folder_module._check):
        def together(*rest):
            found = read(*rest)
            both.wait(10)
            return found

        return together

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folder_module, "_check", meet())
        threads = [
            threading.Thread(target=lambda: dp.Curator(folder, witness=url).close())
            for _ in range(2)
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    for _ in range(2):
        dp.Curator(folder).close()
    kept = json.loads((folder / "curator.json").read_text())["elsewhere"]["secret"]
    [head] = json.loads((tmp_path / "witness" / "heads.json").read_text()).values()
    assert head["secret"] == digest(kept)


def test_a_witness_that_lost_what_it_signed_signs_no_more(tmp_path, watched, service, ask):
    (tmp_path / "witness" / "heads.json").unlink()
    with pytest.raises(LedgerError, match="damaged or gone"):
        Cosigner(tmp_path / "witness")
    with pytest.raises(LedgerError):
        watched.charge(ask("first"))
    with pytest.raises(LedgerError):
        Ledger.open(
            tmp_path / "ledger.db",
            elsewhere=RemoteWitness(WitnessAddress.meet(address_of(service))),
        )


def test_strangers_cannot_fill_a_witness(watched, service, ask, monkeypatch):
    monkeypatch.setattr(cosigner, "MOST_LEDGERS", 1)
    with pytest.raises(AccessError, match="that a witness remembers"):
        service.cosigner.cosign(TreeHead("0" * 32, 1, "0" * 64), [])
    watched.charge(ask("first"))


def test_a_client_that_is_slow_as_a_whole_is_hung_up_on(service, monkeypatch):
    monkeypatch.setattr(witness_service, "_PATIENCE", 0.3)

    def drip(link):
        for _ in range(100):
            time.sleep(0.05)
            link.sendall(b"X: y\r\n")

    with socket.create_connection(service.server_address) as link:
        link.sendall(b"GET /key HTTP/1.0\r\n")
        with pytest.raises(ConnectionError):
            drip(link)
