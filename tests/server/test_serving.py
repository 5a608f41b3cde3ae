"""`discreet serve` as people run it: first token, several workers, and how it stops."""

import contextlib
import json
import os
import re
import signal
import sqlite3
import threading
import time

import pytest
from click.testing import CliRunner

import discreet as dp
from discreet.cli import main
from discreet.server import tokens
from discreet.server.access import FILE, AccessStore
from free_ports import free_port
from running_server import served, serving
from visits_folder import CANARY, CANARY_TEXT, make

COUNT = {"sql": "SELECT city, COUNT(*) AS n FROM visits GROUP BY city", "epsilon": 0.5}


def discreet(*words):
    """A command in this process; a server would not come back."""
    return CliRunner().invoke(main, words, prog_name="discreet")


def spent(folder):
    with dp.Curator(folder) as curator:
        return curator.budget("visits").spent


def test_the_first_token_is_made_once_and_kept_by_nobody(tmp_path):
    folder = make(tmp_path, people=50)

    first = discreet("serve", "--init", "--curator", str(folder))
    again = discreet("serve", "--init", "--curator", str(folder))

    token = first.stdout.strip()
    assert re.fullmatch(r"dpt_[0-9a-f]{16}_[\w-]{43}", token)
    assert (first.exit_code, again.exit_code) == (0, 2)
    assert "There is an owner's token that works" in again.output
    secret = token.split("_", 2)[2].encode()
    assert not any(secret in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert tokens.find(AccessStore(folder / FILE), token).role == "owner"
    with dp.Curator(folder) as curator:
        assert [one.facts["role"] for one in curator.ledger.entries() if "token" in one.kind] == [
            "owner"
        ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--host", "0.0.0.0"], "needs encryption"),  # noqa: S104 - it is what is refused
        (["--host", "::"], "needs encryption"),
        (["--quantum", "0"], "quantum"),
        (["--workers", "0"], "workers"),
        (["--port", "70000"], "port"),
    ],
)
def test_senseless_or_open_servers_do_not_start(tmp_path, words, told):
    folder = make(tmp_path, people=10)

    found = discreet("serve", "--curator", str(folder), *words)

    assert found.exit_code == 2
    assert told in found.output


def test_a_folder_without_a_curator_is_not_served(tmp_path):
    found = discreet("serve", "--curator", str(tmp_path / "nothing"), "--port", str(free_port()))

    assert found.exit_code == 2
    assert "There is no curator" in found.output
    assert not (tmp_path / "nothing").exists()


def test_workers_share_tokens_charges_and_answers_and_stop_together(tmp_path):
    folder = make(tmp_path)
    with serving(folder, workers=2, more=["--quantum", "0.02"]) as server:
        owner, ann = server.token(), server.token("ann", "analyst")
        workers, answers = set(), set()
        end = time.monotonic() + 60
        while len(workers) < 2 and time.monotonic() < end:
            answer = server.post("/v1/queries", token=ann, json=COUNT)
            assert answer.status == 200
            answers.add(str(answer.json()["rows"]))
            text = server.get("/v1/metrics", token=owner).body.decode()
            workers |= set(re.findall(r'worker="(\d+)"', text))
        token = next(
            one
            for one in server.get("/v1/tokens", token=owner).json()["tokens"]
            if one["name"] == "ann"
        )
        assert server.delete(f"/v1/tokens/{token['id']}", token=owner).status == 204
        refused = {server.get("/v1/me", token=ann).status for _ in range(20)}

        server.process.send_signal(signal.SIGTERM)
        status = server.process.wait(60)

    assert len(workers) == 2
    assert len(answers) == 1  # charged once, and the same bytes ever after
    assert refused == {401}
    assert status in {0, -signal.SIGTERM}
    assert server.logs[0].startswith("Nobody can sign in")
    for line in server.logs[2:]:
        assert isinstance(json.loads(line), dict)
        assert not any(text in line for text in (CANARY_TEXT, str(CANARY), "SELECT", owner, ann))
    with dp.Curator(folder) as curator:
        assert curator.ledger.verify().ok
        assert len([one for one in curator.ledger.entries() if one.kind == "charged"]) == 1


def asking(server, token, found):
    def ask():
        with contextlib.suppress(OSError):
            found.append(server.post("/v1/queries", token=token, json=COUNT))

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


def await_charge(folder):
    with contextlib.closing(sqlite3.connect(folder / "ledger.sqlite")) as ledger:
        end = time.monotonic() + 60
        while ledger.execute("SELECT count(*) FROM charges").fetchall() == [(0,)]:
            assert time.monotonic() < end
            time.sleep(0.02)


@pytest.mark.audit
def test_frozen_workers_are_replaced(tmp_path):
    """Both are frozen, so that nobody answers; the supervisor once waited a minute for each."""
    with serving(make(tmp_path), workers=2, more=["--quantum", "0.02"]) as server:
        owner, workers = server.token(), set()
        while len(workers) < 2:
            text = server.get("/v1/metrics", token=owner).body.decode()
            workers |= set(map(int, re.findall(r'worker="(\d+)"', text)))
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)
        frozen = time.monotonic()
        while time.monotonic() < frozen + 120:
            with contextlib.suppress(OSError):
                if server.get("/v1/health", timeout=2).status == 200:
                    break
        assert time.monotonic() - frozen < 55


def test_a_stop_in_mid_question_lets_the_answer_out(tmp_path):
    folder = make(tmp_path, people=50)
    found = []
    with serving(folder, more=["--quantum", "4", "--grace", "20"]) as server:
        thread = asking(server, server.token(), found)
        await_charge(folder)
        assert found == []  # it is charged and on its way

        server.process.send_signal(signal.SIGTERM)
        status = server.process.wait(60)
        thread.join(60)

    assert status in {0, -signal.SIGTERM}
    assert [one.status for one in found] == [200]
    with dp.Curator(folder) as curator:
        assert curator.ledger.verify().pending == 0


@pytest.mark.parametrize(
    "how", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.audit)]
)
def test_an_answer_that_could_not_be_finished_is_found_under_its_charge(tmp_path, how):
    folder = make(tmp_path, people=50)
    found = []
    with serving(folder, more=["--quantum", "15", "--grace", "0.2"]) as server:
        thread = asking(server, server.token(), found)
        await_charge(folder)
        charged = spent(folder)
        server.process.send_signal(how)
        server.process.wait(60)
        thread.join(60)

    assert found == [] or found[0].status >= 500
    with serving(folder, more=["--quantum", "0.02"]) as server:
        owner = server.token()
        answer = server.post("/v1/queries", token=owner, json=COUNT)
        again = server.post("/v1/queries", token=owner, json=COUNT)

    assert (answer.status, again.json()["rows"]) == (200, answer.json()["rows"])
    assert spent(folder) == charged  # paid once
    with dp.Curator(folder) as curator:
        report = curator.ledger.verify()
        assert (report.ok, report.pending) == (True, 0)


def test_verifying_over_http_reads_data_and_tokens(tmp_path):
    folder = make(tmp_path, people=50)
    with dp.Curator(folder) as curator, served(curator, folder=folder) as server:
        token = server.token()
        server.record_tokens(curator.ledger)
        assert server.post("/v1/ledger/verify", token=token).json()["ok"]
        server.token("eve", "owner")  # whom the ledger knows nothing of
        told = server.post("/v1/ledger/verify", token=token).json()
        assert not told["ok"]
        assert "eve" in told["problem"]["what"]
        server.record_tokens(curator.ledger)
        [file] = [one for one in tmp_path.rglob("*") if one.suffix in {".parquet", ".csv"}]
        facts = file.stat()
        file.write_bytes(file.read_bytes()[:-9] + b"x" + file.read_bytes()[-8:])
        os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        told = server.post("/v1/ledger/verify", token=token).json()
        assert not told["ok"]
        assert "visits" in told["problem"]["what"]
