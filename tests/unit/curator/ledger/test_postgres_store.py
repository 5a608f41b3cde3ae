"""What is particular to Postgres: the log is on disk before anything is told."""

import psycopg
import pytest

import fresh_process
import postgres_server
from discreet.curator.ledger import postgres_store
from discreet.curator.ledger.accounts import dataset
from discreet.curator.ledger.ledger import Ledger
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

    def noted(inner, **more):
        def outer(execute):
            answer = inner(execute)
            written.extend(execute("SELECT pg_current_wal_insert_lsn()"))
            return answer

        return transact(outer, **more)

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
    monkeypatch.setattr(postgres_store, "COMMIT", ("COMMIT",))
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
    store = postgres_store.PostgresStore(address)
    Ledger.open(address).close()
    tries = []

    def conflict(execute):
        tries.append(1)
        if len(tries) < 4:
            execute("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$")
        return "done"

    assert (store.transact(conflict), len(tries)) == ("done", 4)
    monkeypatch.setattr(postgres_store, "TRIES", 2)
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
from discreet.curator.ledger.ledger import Ledger
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
    fresh_process.run(script).check_returncode()
    with Ledger.open(address) as ledger:
        assert [entry.kind for entry in ledger.entries()].count("noted") == 4
        assert ledger.verify().ok


def test_a_charge_and_its_answer_take_two_messages_each(address, ask, tmp_path, monkeypatch):
    """The turn is held for as long as they take, so more of them would slow everybody down."""
    messages, execute = [], psycopg.Cursor.execute

    def counted(self, *args, **more):
        messages.append(args)
        return execute(self, *args, **more)

    with Ledger.open(address, witness=tmp_path / "head") as ledger:
        ledger.open_account(dataset("visits"), Filter.basic(1).limit, by="owner")
        for plan in ("opens an account for alice", "has the server plan it"):
            ledger.complete(ledger.charge(ask(plan)), b"answer")
        with Ledger.open(address, witness=tmp_path / "head") as other:
            other.charge(ask("somebody else moves the head"))
        monkeypatch.setattr(psycopg.Cursor, "execute", counted)
        receipt = ledger.charge(ask())
        assert len(messages) == 2
        ledger.complete(receipt, b"answer")
        assert len(messages) == 4


@pytest.mark.parametrize(
    "odd",
    [
        "it's",
        "back\\slash",
        "100 % sure?",
        "%s and %(name)s",
        "; DROP",
        "ü🙂",
        "line\nbreak\x01",
        "E'\\'",
    ],
)
def test_odd_texts_and_bytes_come_back_as_they_were(address, ask, odd):
    with Ledger.open(address) as ledger:
        ledger.open_account(dataset("visits"), Filter.basic(1).limit, by="owner")
        receipt = ledger.charge(ask(odd, by="o'neil \\ 50 %?", request="r'1"))
        answer = bytes(range(256)) + odd.encode()
        ledger.complete(receipt, answer)
        again = ledger.charge(ask(odd, by="o'neil \\ 50 %?", request="r'1"))
        assert (again.release, again.order.plan, again.order.analyst) == (
            answer,
            odd,
            "o'neil \\ 50 %?",
        )
        assert ledger.verify().ok


def test_a_change_that_misses_its_row_undoes_the_whole_message(address):
    with Ledger.open(address) as ledger:
        before = ledger.head()

        def work(execute):
            moved = ("UPDATE ledger SET sequence = sequence + 1", (), 1)
            missed = ("UPDATE ledger SET id = id WHERE id = ?", ("nobody",), 1)
            execute.change([moved, missed])

        with pytest.raises(LedgerError, match="one after another"):
            ledger._store.transact(work)
        assert ledger.head() == before


def test_statements_are_planned_by_their_indexes_and_not_without_end(address, ask, monkeypatch):
    """A plan that was made for a small table would read all of a large one."""
    monkeypatch.setattr(postgres_store, "SHAPES", 5)
    with Ledger.open(address) as ledger:
        ledger.open_account(dataset("visits"), Filter.basic(1).limit, by="owner")
        for n in range(8):
            ledger.complete(ledger.charge(ask(f"q{n}", epsilon=0.01)), b"answer")
        assert len(ledger._store._prepared) == 5
        [found] = [one for sql, one in ledger._store._prepared.items() if "c.question IN" in sql]
        connection = ledger._store._connection
        plan = connection.execute(f"EXPLAIN EXECUTE {found} ('x')").fetchall()
        assert "Seq Scan" not in str(plan)
        assert "charges_question_key" in str(plan)
        assert ledger.verify().ok
