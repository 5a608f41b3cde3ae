"""What is opened, what is refused, and that refusing changes nothing."""

# ruff: noqa: S608 - the statements are these tests' own

import os
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest

import fresh_process
import postgres_server
from discreet.curator.ledger import create, migrations
from discreet.curator.ledger.accounts import analyst, dataset
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import State
from discreet.curator.ledger.store import APPLICATION, prepare
from discreet.curator.ledger.transaction import Transaction
from discreet.curator.ledger.witness import Witness
from discreet.errors import DiscreetError, LedgerError
from discreet.privacy import Filter

VISITS, LIMIT = dataset("visits"), Filter.basic(epsilon=1).limit


def contents(folder):
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


@pytest.fixture
def place(tmp_path, ask):
    """A closed ledger with an answer in it."""
    path = tmp_path / "ledger.sqlite"
    with Ledger.open(path) as ledger:
        ledger.open_account(VISITS, LIMIT, by="owner")
        ledger.complete(ledger.charge(ask()), b"answer")
    return path


@pytest.mark.parametrize(
    "stored", [b"", b"hello", b"\0" * 8192, b"SQLite format 3\0" + b"\7" * 4096, b"PAR1" * 1000]
)
def test_a_foreign_file_is_refused_and_left_alone(tmp_path, stored):
    (tmp_path / "ledger.sqlite").write_bytes(stored)
    before = contents(tmp_path)
    with pytest.raises(LedgerError, match="is not a ledger"):
        Ledger.open(tmp_path / "ledger.sqlite")
    assert contents(tmp_path) == before


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_somebody_elses_database_is_refused_and_left_alone(tmp_path, journal):
    connection = sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {journal}")
    connection.execute("CREATE TABLE entries (sequence INTEGER, hash TEXT, body TEXT)")
    connection.close()
    before = contents(tmp_path)
    with pytest.raises(LedgerError, match="is not a ledger"):
        Ledger.open(tmp_path / "ledger.sqlite")
    assert contents(tmp_path) == before


def test_a_folder_in_the_place_of_a_ledger_is_refused(tmp_path):
    (tmp_path / "ledger.sqlite").mkdir()
    with pytest.raises(LedgerError, match="is not a ledger"):
        Ledger.open(tmp_path / "ledger.sqlite")
    with pytest.raises(LedgerError, match="cannot be used"):
        Ledger.open(tmp_path / "nowhere" / "ledger.sqlite")


@pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
def test_a_damaged_ledger_is_refused_or_found_out(place, part):
    stored = bytearray(place.read_bytes())
    start = int(len(stored) * part) // 4096 * 4096
    stored[start : start + 4096] = b"\7" * 4096
    place.write_bytes(stored)
    try:
        with Ledger.open(place) as ledger:
            assert not ledger.verify().ok
    except LedgerError as refused:
        assert "SQLite says" in str(refused)  # noqa: PT017


def test_a_restored_old_copy_is_refused(tmp_path, place, ask):
    old = place.read_bytes()
    with Ledger.open(place) as ledger:
        ledger.charge(ask("more"))
    place.write_bytes(old)
    with pytest.raises(LedgerError, match="restored from an older copy"):
        Ledger.open(place)
    with Ledger.adopt(place, by="owner", reason="the disk burnt") as ledger:
        assert ledger.entries()[-1].kind == "adopted"
        assert ledger.verify().ok
    Ledger.open(place).close()
    assert contents(tmp_path).keys() == {"ledger.sqlite", "ledger.sqlite.head"}


def test_an_old_copy_put_in_place_while_running_is_refused(place, ask):
    old = place.read_bytes()
    with Ledger.open(place) as ledger:
        ledger.charge(ask("more"))
        ledger.close()
        place.write_bytes(old)
        with pytest.raises(LedgerError, match="restored from an older copy"):
            ledger.charge(ask("again"))


def test_a_file_replaced_under_an_open_ledger_is_refused(tmp_path, place, ask):
    with Ledger.open(place) as ledger:
        ledger.charge(ask("more"))
        shutil.copy(place, tmp_path / "copy")
        (tmp_path / "copy").rename(place)
        with pytest.raises(LedgerError, match="was replaced"):
            ledger.charge(ask("again"))


def test_a_deleted_ledger_does_not_begin_again_with_full_budgets(place, ask):
    ledger = Ledger.open(place)
    ledger.charge(ask("more"))
    place.unlink()
    with pytest.raises(LedgerError, match="cannot be opened"):
        ledger.charge(ask("again"))
    ledger.close()
    with pytest.raises(LedgerError, match="is gone"):
        Ledger.open(place)


def test_a_missing_or_foreign_witness_is_refused(tmp_path, place):
    head = place.with_name("ledger.sqlite.head")
    (tmp_path / "other").mkdir()
    Ledger.open(tmp_path / "other" / "ledger.sqlite").close()
    shutil.copy(tmp_path / "other" / "ledger.sqlite.head", head)
    with pytest.raises(LedgerError, match="different ledgers"):
        Ledger.open(place)
    head.write_bytes(b"garbage")
    with pytest.raises(LedgerError, match="cannot be read"):
        Ledger.open(place)
    head.unlink()
    with pytest.raises(LedgerError, match="is missing"):
        Ledger.open(place)


def test_only_a_whole_ledger_is_adopted(place):
    with sqlite3.connect(place) as connection:
        connection.execute(f"UPDATE accounts SET spent = '{0:078d}'")
    connection.close()
    with pytest.raises(LedgerError, match="changed from outside"):
        Ledger.adopt(place, by="owner", reason="trust me")


def test_an_interrupted_birth_begins_again(tmp_path):
    """The witness is there, with nothing but a beginning, and the ledger is not."""
    Ledger.open(tmp_path / "ledger.sqlite").close()
    (tmp_path / "ledger.sqlite").unlink()
    Ledger.open(tmp_path / "ledger.sqlite").close()


def test_a_newer_ledger_is_refused(place):
    with sqlite3.connect(place) as connection:
        connection.execute("UPDATE ledger SET version = 99")
    connection.close()
    with pytest.raises(LedgerError, match="version 99"):
        Ledger.open(place)


def test_a_ledger_of_the_first_version_still_opens(tmp_path, ask):
    """The dump was written by the first release and is never renewed."""
    path = tmp_path / "ledger.sqlite"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.executescript((Path(__file__).parent / "version_1.sql").read_text())
    connection.close()
    with Ledger.adopt(path, by="owner", reason="from a dump") as ledger:
        assert ledger.charge(ask()).state is State.RELEASED
        assert ledger.charge(ask("sum()", by="carol")).state is State.CHARGED
        assert ledger.verify().ok


def test_accounts_with_long_names_are_counted_in_as_many_entries_as_they_need():
    with Ledger.in_memory() as ledger:
        ledger.open_account(VISITS, LIMIT, by="owner")
        for n in range(60):
            name = chr(0x4E00 + 7 * n) * 1500
            ledger.open_account(analyst(name, within="visits"), LIMIT, by="owner")

        def count(execute):
            page = Transaction(execute)
            create._attest(page)
            page.finish()

        ledger._store.transact(count)
        assert ledger.verify().ok
        assert ledger.account(analyst(name, within="visits")).left == LIMIT


def planted(*statements):
    return lambda _: statements


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_an_old_ledger_is_brought_up_to_date(tmp_path, monkeypatch, request, ask, kind):
    path = tmp_path / "ledger.sqlite"
    if kind == "postgres":
        path = postgres_server.empty_database(request.getfixturevalue("server"))
    head = tmp_path / "head"
    with Ledger.open(path, witness=head) as ledger:
        ledger.open_account(VISITS, LIMIT, by="owner")
    step = planted("ALTER TABLE charges ADD COLUMN note TEXT", "CREATE TABLE notes (n INTEGER)")
    now = migrations.version()
    monkeypatch.setattr(migrations, "STEPS", (*migrations.STEPS, step))
    with Ledger.open(path, witness=head) as ledger:
        entry = ledger.entries()[-1]
        assert (entry.kind, entry.facts) == ("migrated", {"from": now, "to": now + 1})
        assert ledger.charge(ask()).state is State.CHARGED
        assert ledger.verify().ok
    Ledger.open(path, witness=head).close()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_migration_that_fails_changes_nothing(tmp_path, monkeypatch, request, kind):
    path = tmp_path / "ledger.sqlite"
    if kind == "postgres":
        path = postgres_server.empty_database(request.getfixturevalue("server"))
    with Ledger.open(path) as ledger:
        head = ledger.head()
    with monkeypatch.context() as patch:
        step = planted("CREATE TABLE notes (n INTEGER)", "CREATE TABLE notes (n INTEGER)")
        patch.setattr(migrations, "STEPS", (*migrations.STEPS, step))
        with pytest.raises(LedgerError):
            Ledger.open(path)
    with Ledger.open(path) as ledger:
        assert ledger.head() == head
        tables = "SELECT * FROM notes"
        with pytest.raises(DiscreetError):
            ledger._store.snapshot(lambda execute: execute(tables))


def test_two_ledgers_in_one_process_share_one_file(place, ask):
    """Opening and closing the second must not drop the first one's locks."""
    with Ledger.open(place) as first:
        first.charge(ask("a"))
        with Ledger.open(place) as second:
            second.charge(ask("b"))
        first.charge(ask("c"))
        assert first.verify().ok


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_opens_its_own_connection(place):
    script = f"""
import os
from discreet.curator.ledger.ledger import Ledger
ledger = Ledger.open({str(place)!r})
ledger.record("noted", by="parent", facts={{}})
before = ledger._store._connection
child = os.fork()
ledger.record("noted", by="child" if child == 0 else "parent", facts={{}})
if child == 0:
    os._exit(ledger._store._connection is before)
assert os.waitpid(child, 0)[1] == 0
memory = Ledger.in_memory()
child = os.fork()
if child == 0:
    try:
        memory.record("noted", by="child", facts={{}})
    except Exception as refused:
        os._exit(7 if "another process" in str(refused) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    fresh_process.run(script).check_returncode()
    with Ledger.open(place) as ledger:
        assert [entry.kind for entry in ledger.entries()].count("noted") == 3
        assert ledger.verify().ok


def test_postgres_without_its_ledger_does_not_begin_again(server, tmp_path):
    address = postgres_server.empty_database(server)
    with Ledger.open(address, witness=tmp_path / "head") as ledger:
        ledger.open_account(VISITS, LIMIT, by="owner")
    postgres_server.empty_database(server)
    with pytest.raises(LedgerError, match="is gone"):
        Ledger.open(address, witness=tmp_path / "head")
    assert Witness(tmp_path / "head").read().head.sequence == 2


def test_a_server_that_is_not_there_is_named_without_its_password():
    with pytest.raises(LedgerError, match="OperationalError") as refused:
        Ledger.open("postgresql://me:secret@127.0.0.1:1/db?connect_timeout=2")
    text = repr(refused.value) + str(refused.value.__cause__) + str(refused.value.fix)
    assert "secret" not in text


def test_the_driver_is_asked_for_when_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(LedgerError, match="discreet\\[postgres\\]"):
        Ledger.open("postgresql://localhost/db")


def test_a_changed_newest_entry_is_refused_at_once(place):
    with sqlite3.connect(place) as connection:
        connection.execute("DROP TRIGGER entries_update")
        connection.execute("UPDATE entries SET body = body || ' ' WHERE sequence = 4")
    connection.close()
    with pytest.raises(LedgerError, match="newest entry"):
        Ledger.open(place)


def test_a_ledger_that_another_process_just_made_or_mended_is_taken_as_it_is(place, ask):
    witness = Witness(place.with_name("ledger.sqlite.head"))
    create.make_file(place, witness)
    with Ledger.open(place) as ledger:
        head = ledger.head()
        ledger._store.transact(lambda execute: create.bring_up_to_date(execute, "sqlite"))
        assert (ledger.head(), ledger.charge(ask()).state) == (head, State.RELEASED)


def test_a_file_system_that_cannot_keep_a_ledger_is_refused():
    connection = sqlite3.connect(":memory:")
    with pytest.raises(LedgerError, match="cannot keep a ledger"):
        prepare(connection)
    connection.close()


def test_a_folder_without_room_for_a_birth_is_left_empty(tmp_path, monkeypatch):
    def no_room(*_):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(create, "prepare", no_room)
    with pytest.raises(LedgerError, match="disk is full"):
        Ledger.open(tmp_path / "ledger.sqlite")
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.sqlite.head"]
    monkeypatch.undo()
    Ledger.open(tmp_path / "ledger.sqlite").close()


def test_a_file_system_without_hard_links_holds_a_ledger_too(tmp_path, monkeypatch, ask):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    path = tmp_path / "ledger.sqlite"
    with Ledger.open(path) as ledger:
        ledger.open_account(dataset("visits"), Filter.basic(1).limit, by="owner")
        ledger.charge(ask())
        assert ledger.verify().ok
    assert sorted(one.name for one in tmp_path.iterdir()) == ["ledger.sqlite", "ledger.sqlite.head"]
