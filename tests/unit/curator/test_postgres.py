"""What is particular to Postgres: the log is on disk before anything is told."""

import subprocess
import sys

import psycopg
import pytest

import postgres_server
from discreet.curator import postgres
from discreet.curator.accounts import dataset
from discreet.curator.ledger import Ledger
from discreet.errors import LedgerError
from discreet.privacy import Filter


@pytest.fixture
def address(server):
    return postgres_server.empty_database(server)


@pytest.fixture(scope="module")
def lazy():
    """A server for nobody else whose log writer sleeps: only a commit that waits gets to disk."""
    server = postgres_server.start(alone=True)
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET wal_writer_delay TO '10s'")
        connection.execute("SELECT pg_reload_conf()")
    yield server
    server.cleanup()


def unsynced(ledger, work):
    """Bytes of the log of one transaction that a power cut right after it would lose."""
    written, transact = [], ledger._store.transact

    def noted(inner):
        def outer(execute):
            answer = inner(execute)
            written.extend(execute("SELECT pg_current_wal_insert_lsn()"))
            return answer

        return transact(outer)

    ledger._store.transact = noted
    try:
        work()
    finally:
        del ledger._store.transact
    sql = "SELECT greatest(0, pg_wal_lsn_diff(?, pg_current_wal_flush_lsn()))"
    [(size,)] = ledger._store.snapshot(lambda execute: execute(sql, written[-1]))
    return size


def sizes(address, ask):
    with Ledger.open(address) as ledger:
        ledger.open_account(dataset("visits"), Filter.basic(1).limit, by="owner")
        for n in range(5):
            order, receipts = ask(f"q{n}"), []
            yield unsynced(ledger, lambda order=order, to=receipts: to.append(ledger.charge(order)))
            yield unsynced(ledger, lambda to=receipts: ledger.complete(to[0], b"answer"))


def test_the_log_is_on_disk_when_a_charge_returns(lazy, ask):
    assert not any(sizes(postgres_server.empty_database(lazy), ask))


def test_a_commit_that_does_not_wait_is_caught(lazy, ask, monkeypatch):
    """The planted fault: the same, without waiting for the log."""
    monkeypatch.setattr(postgres, "COMMIT", "COMMIT")
    assert any(sizes(postgres_server.empty_database(lazy), ask))


def test_a_server_or_session_set_to_forget_is_not_believed(address, ask):
    with psycopg.connect(address, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET synchronous_commit TO off")
        with Ledger.open(address) as ledger:
            ledger.open_account(dataset("visits"), Filter.basic(1).limit, by="owner")
            assert unsynced(ledger, lambda: ledger.charge(ask())) == 0
        connection.execute(f"ALTER DATABASE {name} RESET synchronous_commit")


def test_a_lost_connection_is_told_and_opened_again(address, ask):
    with Ledger.open(address) as ledger, psycopg.connect(address, autocommit=True) as connection:
        ledger.open_account(dataset("visits"), Filter.basic(1).limit, by="owner")
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
        with pytest.raises(LedgerError, match="found, not made twice"):
            ledger.charge(ask())
        ledger.charge(ask())
        assert ledger.verify().ok


def test_conflicts_are_tried_again_and_then_told(address, monkeypatch):
    store = postgres.Postgres(address)
    Ledger.open(address).close()
    tries = []

    def conflict(execute):
        tries.append(1)
        if len(tries) < 4:
            execute("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$")
        return "done"

    assert (store.transact(conflict), len(tries)) == ("done", 4)
    monkeypatch.setattr(postgres, "TRIES", 2)
    tries[:] = [1] * -(10**6)
    with pytest.raises(LedgerError, match="too busy"):
        store.transact(lambda execute: execute("DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$"))
    store.close()


def test_a_server_that_does_not_sync_is_refused(lazy):
    address = postgres_server.empty_database(lazy)
    with psycopg.connect(address, autocommit=True) as connection:
        for value in ("off", "on"):
            connection.execute(f"ALTER SYSTEM SET fsync TO {value}")
            connection.execute("SELECT pg_reload_conf()")
            while connection.execute("SHOW fsync").fetchall() != [(value,)]:
                pass
            if value == "off":
                with pytest.raises(LedgerError, match="fsync is off"):
                    Ledger.open(address)


def test_a_child_opens_its_own_session(address):
    script = f"""
import os
from discreet.curator.ledger import Ledger
ledger = Ledger.open({address!r})
ledger.record("noted", by="parent", facts={{}})
before = ledger._store._connection
child = os.fork()
ledger.record("noted", by="child" if child == 0 else "parent", facts={{}})
if child == 0:
    os._exit(ledger._store._connection is before)
assert os.waitpid(child, 0)[1] == 0
ledger.record("noted", by="parent", facts={{}})
ledger.close()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=60)
    with Ledger.open(address) as ledger:
        assert [entry.kind for entry in ledger.entries()].count("noted") == 4
        assert ledger.verify().ok
