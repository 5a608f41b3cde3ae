"""What is particular to Postgres: the log is on disk before anything is told."""

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


@pytest.fixture
def lazy(address):
    """A server whose log writer sleeps, so that only a commit that waits gets to the disk."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET wal_writer_delay TO '10s'")
        connection.execute("SELECT pg_reload_conf()")
        yield connection
        connection.execute("ALTER SYSTEM RESET wal_writer_delay")
        connection.execute("SELECT pg_reload_conf()")


def unsynced(connection):
    """Bytes of the log that a power cut would lose."""
    [(size,)] = connection.execute(
        "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), pg_current_wal_flush_lsn())"
    ).fetchall()
    return size


def test_the_log_is_on_disk_when_a_charge_returns(address, lazy, ask):
    with Ledger.open(address) as ledger:
        ledger.open_account(dataset("visits"), Filter.basic(1).limit, by="owner")
        for n in range(5):
            receipt = ledger.charge(ask(f"q{n}"))
            assert unsynced(lazy) == 0
            ledger.complete(receipt, b"answer")
            assert unsynced(lazy) == 0
            ledger.charge(ask(f"q{n}"))
            assert unsynced(lazy) == 0


def test_a_commit_that_does_not_wait_is_caught(address, lazy, ask, monkeypatch):
    """The planted fault: the same, without waiting for the log."""
    with Ledger.open(address) as ledger:
        ledger.open_account(dataset("visits"), Filter.basic(1).limit, by="owner")
        monkeypatch.setattr(postgres, "COMMIT", "COMMIT")
        left = []
        for n in range(5):
            ledger.charge(ask(f"q{n}"))
            left.append(unsynced(lazy))
    assert any(left)


def test_a_server_or_session_set_to_forget_is_not_believed(address, ask):
    with psycopg.connect(address, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET synchronous_commit TO off")
        with Ledger.open(address) as ledger:
            ledger.open_account(dataset("visits"), Filter.basic(1).limit, by="owner")
            ledger.charge(ask())
            assert unsynced(connection) == 0
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
