"""A witness on another machine: whoever is killed, no older copy of a ledger is ever believed."""

import contextlib
import json
import shutil
import signal
import subprocess
import sys
import threading

import pytest

import discreet as dp
from clinic_curator import add_visits
from discreet.curator.ledger.accounts import dataset
from discreet.curator.ledger.cosigner import Cosigner
from discreet.curator.ledger.create import find_place
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.merkle import MerkleTree, TreeHead
from discreet.curator.ledger.remote_witness import RemoteWitness, WitnessAddress
from discreet.errors import InputError, LedgerError


@contextlib.contextmanager
def witness(folder, port=0):
    """A `discreet witness` in a process of its own: its address, and the process."""
    command = [sys.executable, "-m", "discreet", "witness", str(folder), "--json"]
    with subprocess.Popen(
        [*command, "--port", str(port)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            text = ""
            while not text.endswith("}\n"):
                line = process.stdout.readline()
                assert line, "the witness did not start"
                text += line
            yield json.loads(text)["url"], process
        finally:
            process.kill()


def spent(curator):
    return curator.ledger.account(dataset("visits")).spent


def test_a_folder_put_back_as_a_whole_is_refused_also_where_the_witness_was_killed(tmp_path):
    folder, home = tmp_path / "c", tmp_path / "witness"
    with witness(home) as (url, process):
        port = int(url.rpartition(":")[2])
        with add_visits(dp.Curator(folder, witness=url, patience=1)) as curator:
            shutil.copytree(folder, tmp_path / "old")
            curator.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.1)
            size = curator.ledger.head().sequence
            process.send_signal(signal.SIGKILL)
            process.wait()
            with pytest.raises(LedgerError, match="cannot be reached"):
                curator.sql("SELECT COUNT(*) AS m FROM visits", epsilon=0.1)
            before = spent(curator)
            with pytest.raises(
                LedgerError, match="cannot be reached"
            ):  # and charges no second time
                curator.sql("SELECT COUNT(*) AS m FROM visits", epsilon=0.1)
            assert spent(curator) == before
            ledger = curator.ledger.tree_head().ledger
            assert Cosigner(home).newest(ledger).size == size
            with witness(home, port):  # what it signed is on its disk
                curator.sql("SELECT COUNT(*) AS m FROM visits", epsilon=0.1)
                assert spent(curator) == before
                assert Cosigner(home).newest(ledger).size == curator.ledger.head().sequence
    shutil.rmtree(folder)
    (tmp_path / "old").rename(folder)
    with pytest.raises(LedgerError, match="cannot be reached"):
        dp.Curator(folder)
    with witness(home, port), pytest.raises(LedgerError, match="restored from an older copy"):
        dp.Curator(folder)
    told = subprocess.run(
        [sys.executable, "-m", "discreet", "witness", str(home), "--forget", ledger], check=True
    )
    assert told.returncode == 0
    with witness(home, port), dp.Curator(folder) as curator:
        curator.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.1)


def test_a_fork_of_the_ledger_is_refused_and_an_impostor_is_not_believed(tmp_path):
    folder, home = tmp_path / "c", tmp_path / "witness"
    with witness(home) as (url, _):
        port = int(url.rpartition(":")[2])
        with add_visits(dp.Curator(folder)):
            pass
        with dp.Curator(folder, witness=url):  # it may be named later
            shutil.copytree(folder, tmp_path / "fork")
        with dp.Curator(folder) as curator:
            curator.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.1)
        settings = json.loads((tmp_path / "fork" / "curator.json").read_text())
        kept = settings.pop("elsewhere")
        (tmp_path / "fork" / "curator.json").write_text(json.dumps(settings))
        with pytest.raises(LedgerError, match="opened without it"):
            dp.Curator(tmp_path / "fork")
        with Ledger(*find_place(tmp_path / "fork" / "ledger.sqlite", None)) as ledger:
            for n in range(4):  # another history, as long as the other
                ledger.record("noted", by="owner", facts={"n": n})
        settings["elsewhere"] = kept
        (tmp_path / "fork" / "curator.json").write_text(json.dumps(settings))
        with pytest.raises(LedgerError, match="restored from an older copy or changed"):
            dp.Curator(tmp_path / "fork")
        with pytest.raises(LedgerError, match="another witness"):
            dp.Curator(folder, witness="http://localhost:1")
    with witness(tmp_path / "impostor", port), pytest.raises(LedgerError, match="believed"):
        dp.Curator(folder)


def test_processes_that_share_a_ledger_are_all_witnessed(tmp_path):
    place, home = tmp_path / "ledger.sqlite", tmp_path / "witness"
    with witness(home) as (url, _):
        address = WitnessAddress.meet(url)
        shared = [Ledger.open(place, elsewhere=RemoteWitness(address)) for _ in range(3)]

        def work(ledger):
            for n in range(5):
                ledger.record("noted", by="owner", facts={"n": n})

        threads = [threading.Thread(target=work, args=(one,)) for one in shared]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        head = shared[0].tree_head()
        assert head.size == 17
        assert Cosigner(home).newest(head.ledger) == head
        stranger = RemoteWitness(WitnessAddress(url, address.key, "another secret"))
        with pytest.raises(LedgerError, match="another secret"):
            Ledger.open(place, elsewhere=stranger)


def test_what_is_no_request_for_a_witness_is_refused(tmp_path):
    import http.client

    with witness(tmp_path / "witness") as (url, _):
        head = TreeHead("0" * 32, 1, MerkleTree([b"x" * 32]).root().hex())
        whole = {"ledger": head.ledger, "size": 1, "root": head.root}
        for path, body in {
            "/": {},
            "/ledgers/x": {"head": whole, "proof": []},
            f"/ledgers/{'1' * 32}": {"head": whole, "proof": []},
            f"/ledgers/{'0' * 32}": {"head": {**whole, "size": True}, "proof": []},
            f"/ledgers/{'0' * 32}?": {"head": {**whole, "size": -1}, "proof": []},
            f"/ledgers/{'0' * 32}?x": {"head": whole, "proof": ["0" * 64] * 200},
            f"/ledgers/{'0' * 32}?y": {"head": {**whole, "root": "?"}, "proof": []},
        }.items():
            link = http.client.HTTPConnection(url.removeprefix("http://"), timeout=20)
            link.request("POST", path, json.dumps(body))
            assert link.getresponse().status == 400, path
            link.close()
    assert Cosigner(tmp_path / "witness").newest(head.ledger) is None
    with pytest.raises(InputError, match="https://"):
        WitnessAddress.meet("http://")
