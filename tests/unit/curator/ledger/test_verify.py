"""Every kind of tampering is found, and the first entry that is wrong is named."""

# ruff: noqa: S608 - the statements are these tests' own

import re
import sqlite3

import psycopg
import pytest

import postgres_server
from discreet.curator.ledger.accounts import analyst, dataset, group, link
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import digest
from discreet.errors import LedgerError
from discreet.privacy import Filter

# Entries: 1 founded, 2 opened, 3 linked, 4 grouped, 5 charged, 6 released, 7 charged, 8 shared.
FORGED = '{"sequence":5,"text":"another"}'
TAMPERINGS = {
    "an edited entry": (
        "UPDATE entries SET body = replace(body, '1/10', '1/11') WHERE sequence = 5",
        "entry 5: its text was changed",
    ),
    "an edited entry with its hash": (
        f"UPDATE entries SET body = '{FORGED}', hash = '{digest(FORGED)}' WHERE sequence = 5",
        "entry 5: it cannot be read",
    ),
    "an edited hash": (
        f"UPDATE entries SET hash = '{digest('x')}' WHERE sequence = 4",
        "entry 4: its text was changed",
    ),
    "a removed entry": ("DELETE FROM entries WHERE sequence = 4", "entry 4: it is missing"),
    "a removed first entry": ("DELETE FROM entries WHERE sequence = 1", "entry 1: it is missing"),
    "a removed last entry": (
        "DELETE FROM entries WHERE sequence = 8",
        "the kept head is not entry 7, the last one",
    ),
    "swapped entries": (
        (
            "UPDATE entries SET sequence = -3 WHERE sequence = 3;"
            "UPDATE entries SET sequence = 3 WHERE sequence = 4;"
            "UPDATE entries SET sequence = 4 WHERE sequence = -3"
        ),
        "entry 3: it does not follow the entry before it",
    ),
    "a total made smaller": (
        f"UPDATE accounts SET spent = '{0:078d}' WHERE key LIKE '[\"dataset\"%'",
        "the total or cap of dataset visits",
    ),
    "a cap made larger": (
        f"UPDATE accounts SET cap = '{'9' * 78}' WHERE key LIKE '[\"dataset\"%'",
        "the total or cap of dataset visits",
    ),
    "a removed account": ("DELETE FROM accounts WHERE key LIKE '%carol%'", "analyst carol"),
    "an added account": (
        (
            "INSERT INTO accounts (key, measure, neighbours, spent, spent_delta) VALUES "
            f"('[\"link\",\"x\",null]', 'rho', 'add-remove', '{0:078d}', '{0:078d}')"
        ),
        "account without an entry",
    ),
    "a removed member": ("DELETE FROM members WHERE account LIKE '%team%'", "members of groups"),
    "a removed share": ("DELETE FROM shares", "shared answers"),
    "a removed charge": ("DELETE FROM charges WHERE sequence = 7", "entry 7: the table of charges"),
    "a renamed request": (
        "UPDATE charges SET request = 'r2' WHERE sequence = 5",
        "entry 5: the table of charges",
    ),
    "an answer undone": (
        "UPDATE charges SET released = NULL WHERE sequence = 5",
        "entry 6: the table of charges",
    ),
    "an edited release": (
        "UPDATE releases SET bytes = '\\x00'",
        "entry 6: the stored release",
    ),
    "a removed release": ("DELETE FROM releases", "entry 6: the stored release"),
    "an added release": (
        "INSERT INTO releases (charge, bytes) VALUES (7, '\\x00')",
        "charges or releases without an entry",
    ),
    "an older version": ("UPDATE ledger SET version = 0", "the kept head"),
    "another identity": ("UPDATE ledger SET id = 'x'", "the kept head"),
}


# Entries: 1 founded, 2 opened, 3 charged, 4 measured, 5 charged, 6 failed, 7 charged, 8 measured,
# 9 released, 10 charged, 11 failed by carol, 12 readmitted.
UNFINISHED = {
    "an edited measurement": (
        "UPDATE measurements SET bytes = '\\x00' WHERE charge = 3",
        "entry 4: the stored measurement is not",
    ),
    "a removed measurement": (
        "DELETE FROM measurements",
        "entry 4: the stored measurement is lost",
    ),
    "a forgotten measurement": (
        "DELETE FROM measurements; UPDATE charges SET measured = NULL WHERE sequence = 3",
        "entry 4: the table of charges",
    ),
    "a measurement beside an answer": (
        "INSERT INTO measurements (charge, bytes) VALUES (7, '\\x00')",
        "entry 8: the stored measurement",
    ),
    "a measurement of a failure": (
        "INSERT INTO measurements (charge, bytes) VALUES (5, '\\x00')",
        "measurements without an entry",
    ),
    "a swapped measurement": (
        (
            "UPDATE charges SET measured = NULL WHERE sequence = 7;"
            "UPDATE charges SET measured = 8 WHERE sequence = 3"
        ),
        "entry 4: the table of charges",
    ),
    "an undone failure": (
        "UPDATE charges SET released = NULL, failed = 0 WHERE sequence = 5",
        "entry 6: the table of charges",
    ),
    "a failure that no longer counts": (
        "UPDATE charges SET failed = 2 WHERE sequence = 5",
        "failures that are counted",
    ),
    "a failure that counts again": (
        "UPDATE charges SET failed = 1 WHERE sequence = 10",
        "failures that are counted",
    ),
    "a failure that was never readmitted": (
        "UPDATE charges SET failed = 0 WHERE sequence = 10",
        "failures that are counted",
    ),
    "an answer that is hidden": (
        "UPDATE charges SET failed = 2 WHERE sequence = 7",
        "failures that are counted",
    ),
    "a release of a failure": (
        "INSERT INTO releases (charge, bytes) VALUES (5, '\\x00')",
        "entry 6: there is a release",
    ),
}


def leave(ledger, ask):
    ledger.open_account(dataset("visits"), Filter.basic(epsilon=1).limit, by="owner")
    ledger.keep(ledger.charge(ask("a()")), b"noisy")
    ledger.fail(ledger.charge(ask("b()")))
    ledger.complete(ledger.keep(ledger.charge(ask("c()")), b"noisy"), b"answer")
    ledger.fail(ledger.charge(ask("d()", by="carol")))
    ledger.readmit("carol", "visits", by="owner", reason="the disk was full")
    assert ledger.verify().ok
    assert ledger.head().sequence == 12


def fill(ledger, ask):
    cap, alice = Filter.basic(epsilon=1).limit, analyst("alice", within="visits")
    ledger.open_account(dataset("visits"), cap, by="owner")
    ledger.open_account(link("people"), cap, by="owner", members=[dataset("visits")])
    ledger.open_account(group("team", within="visits"), cap, by="owner", members=[alice])
    ledger.complete(ledger.charge(ask(request="r1")), b"answer")
    ledger.charge(ask("sum()", by="carol"))
    ledger.charge(ask(by="bob"))
    assert ledger.verify().ok
    assert ledger.head().sequence == 8


def tamper_file(path, script):
    with sqlite3.connect(path) as connection:
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in triggers.fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.executescript(script.replace("'\\x00'", "x'00'"))
    connection.close()


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_with_a_file_is_found(tmp_path, ask, name):
    script, problem = TAMPERINGS[name]
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        fill(ledger, ask)
        tamper_file(tmp_path / "ledger.sqlite", script)
        assert problem in str(ledger.verify().problem)


@pytest.mark.parametrize("name", UNFINISHED)
def test_tampering_with_measurements_and_failures_is_found(tmp_path, ask, name):
    script, problem = UNFINISHED[name]
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        leave(ledger, ask)
        tamper_file(tmp_path / "ledger.sqlite", script)
        assert problem in str(ledger.verify().problem)


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_with_postgres_is_found(server, tmp_path, ask, name):
    script, problem = TAMPERINGS[name]
    address = postgres_server.empty_database(server)
    with Ledger.open(address, witness=tmp_path / "head") as ledger:
        fill(ledger, ask)
        with psycopg.connect(address) as connection:
            connection.execute("SET search_path TO discreet")
            connection.execute("SET session_replication_role TO replica")
            connection.execute(script)
        assert problem in str(ledger.verify().problem)


def test_entries_and_releases_cannot_be_changed_by_accident(tmp_path, ask):
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        fill(ledger, ask)
    connection = sqlite3.connect(tmp_path / "ledger.sqlite")
    for table in ("entries", "releases"):
        for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET rowid = 99"):
            with pytest.raises(sqlite3.IntegrityError, match="are kept"):
                connection.execute(statement)
    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        connection.execute(f"UPDATE accounts SET cap = '{0:078d}' WHERE cap IS NOT NULL")
    connection.close()


def test_entries_in_postgres_cannot_be_changed_by_accident(server, ask):
    address = postgres_server.empty_database(server)
    with Ledger.open(address) as ledger:
        fill(ledger, ask)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("SET search_path TO discreet")
        for statement in ("DELETE FROM entries", "UPDATE releases SET charge = 9"):
            with pytest.raises(psycopg.errors.RaiseException, match="are kept"):
                connection.execute(statement)
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute(f"UPDATE accounts SET cap = '{0:078d}' WHERE cap IS NOT NULL")


def test_a_forged_chain_is_found_by_the_witness(tmp_path, ask):
    """Whoever rewrites everything still cannot rewrite what was seen elsewhere."""
    for name in ("real", "forged"):
        (tmp_path / name).mkdir()
        with Ledger.open(tmp_path / name / "ledger.sqlite") as ledger:
            fill(ledger, ask)
    forged, real = (tmp_path / name / "ledger.sqlite" for name in ("forged", "real"))
    with sqlite3.connect(real) as connection:
        [(identity,)] = connection.execute("SELECT id FROM ledger")
    connection.close()
    tamper_file(forged, f"UPDATE ledger SET id = '{identity}'")
    real.write_bytes(forged.read_bytes())
    with pytest.raises(LedgerError, match="restored from an older copy or changed"):
        Ledger.open(real)


def test_an_entry_that_overspends_is_found(tmp_path, ask):
    """Even with a perfect chain, an entry has to obey the rules."""
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        fill(ledger, ask)
        charged = next(entry for entry in ledger.entries() if entry.kind == "charged")
        facts = {**charged.facts, "plan": "p", "request": None, "question": digest("p")}
        facts["debits"] = {key: [str(10**77), "0"] for key in facts["debits"]}
        ledger._committer.submit_alone(lambda page: page.append("charged", "eve", facts))
        assert re.match("entry 9: the table of charges", str(ledger.verify().problem))
        row = f"(9, '{digest('p')}', 'w', 0, 'eve', '{facts['dataset']}')"
        tamper_file(
            tmp_path / "ledger.sqlite",
            f"INSERT INTO charges (sequence, question, worker, claimed, analyst, dataset) "
            f"VALUES {row}",
        )
        assert str(ledger.verify().problem) == "entry 9: it breaks the rules of accounts"


USED = {
    "a stored answer": "UPDATE releases SET bytes = x'00'",
    "the entry of an answer": "UPDATE entries SET body = '{' WHERE sequence = 6",
    "the entry of a charge": (
        "UPDATE entries SET body = replace(body, 'count()', 'counT()') WHERE sequence = 5"
    ),
    "a total": f"UPDATE accounts SET spent = 'x{0:077d}'",
    "a measure": "UPDATE accounts SET measure = 'rhp'",
    "a key": "UPDATE accounts SET key = replace(key, '\"', '') WHERE key LIKE '[\"link%'",
}


@pytest.mark.parametrize("name", USED)
def test_what_is_damaged_is_not_told_and_not_stumbled_over(tmp_path, ask, name):
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        fill(ledger, ask)
        tamper_file(tmp_path / "ledger.sqlite", USED[name])
        # What is told again debits nobody, so totals are read for what is new.
        order = ask("sum()" if name in {"a total", "a measure"} else "count()")
        with pytest.raises(LedgerError, match="changed from outside"):
            ledger.charge(order) if name != "a key" else ledger.accounts()


def test_a_damaged_answer_is_not_read_by_its_number_either(tmp_path, ask):
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        fill(ledger, ask)
        assert ledger.release(5) == b"answer"
        tamper_file(tmp_path / "ledger.sqlite", USED["a stored answer"])
        with pytest.raises(LedgerError, match="not the one that the ledger speaks of"):
            ledger.release(5)
