"""A curator's folder: nobody else's, shared by processes, with a ledger here or in Postgres."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
import postgres_server
from clinic_curator import ABOUT, BUDGET, BY_CITY, COUNT, add_cities, add_visits, spent
from discreet.curator.data import folder, registry
from discreet.curator.data.folder import without_password
from discreet.curator.data.registry import fingerprint
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import BudgetError, EngineError, InputError, LedgerError
from visits import clinic


def picture(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_curator_remembers_tables_charges_and_answers(tmp_path):
    with add_cities(add_visits(dp.Curator(tmp_path / "c"))) as first:
        told = first.sql(BY_CITY, epsilon=0.1)
        gone = spent(first)
        schema = first.schema
    with dp.Curator(tmp_path / "c") as second:
        assert second.schema == schema
        assert second.sql(BY_CITY, epsilon=0.1) == told
        assert spent(second) == gone
        assert second.ledger.verify().ok


@pytest.mark.parametrize(
    "name", ["C:\\clinic\\visits", "mit Leerzeichen", "ä 名 'quoted\"", "100% [x]{y}*?", "-rf"]
)
def test_odd_names_of_folders_files_and_tables(tmp_path, name):
    file = tmp_path / f"{name}.parquet"
    pq.write_table(clinic(20), file)
    with dp.Curator(tmp_path / name) as curator:
        curator.add(
            name,
            file,
            unit="person",
            budget=dp.Budget(epsilon=9, delta=1e-6),
            limits=dp.Limits(1, 2),
        )
        curator.add(f"copy of {name}", clinic(20), unit="person", dataset=name)
        quoted = name.replace('"', '""')
        told = curator.sql(f'SELECT COUNT(*) AS n FROM "{quoted}"', epsilon=3)  # noqa: S608
    with dp.Curator(tmp_path / name) as again:
        assert again.sql(f'SELECT COUNT(*) AS n FROM "{quoted}"', epsilon=3) == told  # noqa: S608


def test_a_name_that_looks_like_a_pattern_reads_no_other_file(tmp_path):
    pq.write_table(clinic(20), tmp_path / "v1.parquet")
    pq.write_table(clinic(2000), tmp_path / "v[1].parquet")
    with add_visits(dp.Curator.in_memory(), tmp_path / "v[1].parquet") as curator:
        count = curator.sql(COUNT, epsilon=2).table.column("n")[0].as_py()

    assert count > 2000


def test_a_folder_of_something_else_is_refused_and_nothing_changes(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    before = picture(tmp_path)

    with pytest.raises(LedgerError, match="not a curator's folder"):
        dp.Curator(tmp_path)
    with pytest.raises(LedgerError, match="it is a file"):
        dp.Curator(tmp_path / "thesis.txt")
    assert picture(tmp_path) == before


@pytest.mark.parametrize(
    ("broken", "how"),
    [
        *(("curator.json", how) for how in ("cut", "other", "format")),
        *(("tables.json", how) for how in ("cut", "other", "format")),
        *(("ledger.sqlite", how) for how in ("other", "format")),
        *(("ledger.sqlite.head", how) for how in ("other", "format")),
    ],
)
def test_a_damaged_folder_is_refused_with_a_message(tmp_path, broken, how):
    with add_visits(dp.Curator(tmp_path / "c")) as curator:
        curator.sql(COUNT, epsilon=0.1)
    file = tmp_path / "c" / broken
    whole = file.read_bytes()
    damaged = {"cut": whole[: len(whole) // 2], "other": b"[1, 2, 3]", "format": b'{"format": 9}'}
    file.write_bytes(damaged[how])

    with pytest.raises(LedgerError) as refused:
        dp.Curator(tmp_path / "c")
    assert "Fix: " in str(refused.value)
    assert file.read_bytes() == damaged[how]


def test_a_ledger_that_is_gone_is_missed(tmp_path):
    with add_visits(dp.Curator(tmp_path / "c")) as curator:
        curator.sql(COUNT, epsilon=0.1)
    for file in (tmp_path / "c").glob("ledger.sqlite*"):
        if file.name != "ledger.sqlite.head":
            file.unlink()

    with pytest.raises(LedgerError, match="gone"):
        dp.Curator(tmp_path / "c")


def test_neighbours_are_settled_when_the_folder_is_made(tmp_path):
    dp.Curator(tmp_path / "c", neighbours=dp.Neighbours.CHANGE_ONE).close()

    assert dp.Curator(tmp_path / "c").neighbours is dp.Neighbours.CHANGE_ONE
    with pytest.raises(LedgerError, match="other neighbours"):
        dp.Curator(tmp_path / "c", neighbours=dp.Neighbours.ADD_REMOVE)


def test_changed_data_is_refused_and_charges_nothing(tmp_path):
    file = tmp_path / "visits.parquet"
    pq.write_table(clinic(50), file)
    with add_visits(dp.Curator(tmp_path / "c"), file) as curator:
        curator.sql(COUNT, epsilon=0.1)
        before = curator.ledger.head()
        pq.write_table(clinic(51), file)
        with pytest.raises(InputError, match="changed or is gone"):
            curator.sql(BY_CITY, epsilon=0.1)
        file.unlink()
        with pytest.raises(InputError, match="changed or is gone"):
            curator.sql(BY_CITY, epsilon=0.1)
        assert curator.ledger.head() == before


def test_a_file_that_was_only_touched_is_the_same_data(tmp_path):
    file = tmp_path / "visits.parquet"
    pq.write_table(clinic(50), file)
    with add_visits(dp.Curator(tmp_path / "c"), file) as curator:
        told = curator.sql(COUNT, epsilon=0.1)
        gone = spent(curator)
        os.utime(file, (1, 1))
        assert curator.sql(COUNT, epsilon=0.1) == told
        assert spent(curator) == gone


def test_an_account_that_a_crash_left_without_its_table_is_taken_over(tmp_path, monkeypatch):
    with dp.Curator(tmp_path / "c") as curator:
        with monkeypatch.context() as patch:
            patch.setattr(type(curator._folder), "save", _crash)
            with pytest.raises(KeyboardInterrupt):
                add_visits(curator)
        add_visits(curator, budget=dp.Budget(epsilon=1, delta=1e-6))
        told = curator.budget("visits").limit
        assert told == dp.Budget(epsilon=1, delta=1e-6).cap()
        curator.sql(COUNT, epsilon=0.1)


def test_the_same_budget_again_changes_nothing(tmp_path, monkeypatch):
    with dp.Curator(tmp_path / "c") as curator:
        with monkeypatch.context() as patch:
            patch.setattr(type(curator._folder), "save", _crash)
            with pytest.raises(KeyboardInterrupt):
                add_visits(curator)
        add_visits(curator)
        kinds = [entry.kind for entry in curator.ledger.entries()]

    assert kinds == ["founded", "opened", "added", "added"]


def test_a_charge_is_not_finished_from_data_that_was_put_in_its_place(tmp_path, monkeypatch):
    file = tmp_path / "visits.parquet"
    pq.write_table(clinic(50), file)
    with add_visits(dp.Curator(tmp_path / "c"), file) as curator:
        monkeypatch.setattr(type(curator._data_store), "open", _crash)
        with pytest.raises(KeyboardInterrupt):
            curator.sql(COUNT, epsilon=0.1)
        monkeypatch.undo()
    pq.write_table(clinic(51), file)
    tables = tmp_path / "c" / "tables.json"
    said = json.loads(tables.read_text())
    said["tables"]["visits"]["fingerprint"] = fingerprint(file)
    tables.write_text(json.dumps(said))
    with dp.Curator(tmp_path / "c") as other:
        [receipt] = other.ledger.recover(patience=0)
        with pytest.raises(LedgerError, match="another version of the data"):
            other._answer_service.finish(receipt)
        assert other.ledger.verify().pending == 1


def _crash(*_):
    raise KeyboardInterrupt


def test_a_table_that_another_process_adds_can_be_asked_at_once(tmp_path):
    with dp.Curator(tmp_path / "c") as first, dp.Curator(tmp_path / "c") as second:
        add_visits(first)
        second.sql(COUNT, epsilon=0.1)
        add_cities(second)
        assert list(first.schema.tables) == ["visits", "cities"]
        assert spent(first) == spent(second) > (0, 0)


SCRIPT = """
import sys
import discreet as dp
from discreet.curator.data.folder import without_password
from discreet.curator.data.registry import fingerprint
from discreet.errors import BudgetError
curator = dp.Curator(sys.argv[1])
for i in range(20):
    try:
        told = curator.sql("SELECT COUNT(*) AS n FROM visits", epsilon=(i % 10 + 1) / 100)
        print(i % 10, told.table.column("n")[0].as_py())
    except BudgetError:
        print(i % 10, "none")
"""


def test_two_processes_share_one_folder_and_tell_the_same_answers(tmp_path):
    with add_visits(dp.Curator(tmp_path / "c"), budget=dp.Budget(epsilon=0.45)):
        pass
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "c")]
    with ThreadPoolExecutor() as pool:
        runs = list(pool.map(lambda _: subprocess.check_output(command, text=True), range(2)))

    told = [{line for line in run.splitlines() if "none" not in line} for run in runs]
    questions = {line.split()[0] for line in told[0] | told[1]}
    assert len(told[0] | told[1]) == len(questions)  # one answer a question, whoever asked
    with dp.Curator(tmp_path / "c") as curator:
        assert curator.ledger.verify().ok
        assert curator.budget("visits").left.amount >= 0


def test_threads_that_ask_the_same_get_the_same_for_one_charge(tmp_path):
    with add_visits(dp.Curator(tmp_path / "c")) as curator, ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda _: curator.sql(BY_CITY, epsilon=0.1).to_bytes(), range(8)))
        kinds = [entry.kind for entry in curator.ledger.entries()]

    assert len(set(told)) == 1
    assert kinds.count("charged") == kinds.count("released") == 1


@pytest.fixture(scope="module")
def server():
    return postgres_server.start()


def test_charges_in_postgres_and_everything_else_in_a_folder(tmp_path, server):
    address = postgres_server.empty_database(server)
    with add_visits(dp.Curator(tmp_path / "c", ledger=address)) as curator:
        told = curator.sql(COUNT, epsilon=0.1)
        gone = spent(curator)
    with dp.Curator(address, folder=tmp_path / "c") as again:
        assert again.sql(COUNT, epsilon=0.1) == told
        assert spent(again) == gone
        assert again.ledger.verify().ok
    with dp.Curator(tmp_path / "c") as by_itself:
        assert spent(by_itself) == gone
    with pytest.raises(LedgerError, match="another ledger"):
        dp.Curator(tmp_path / "c", ledger="postgresql://elsewhere/other")


def test_a_password_is_not_kept(tmp_path, server):
    address = postgres_server.empty_database(server)
    scheme, _, rest = address.partition("://")
    login, at, place = rest.rpartition("@")
    user = login.partition(":")[0]
    secret = f"{scheme}://{user}:s3cret{at}{place}" if at else address
    dp.Curator(tmp_path / "c", ledger=secret).close()

    assert "s3cret" not in (tmp_path / "c" / "curator.json").read_text()


@pytest.mark.parametrize(
    "said",
    [
        {"place": "postgresql://host/db"},
        {"place": None, "ledger": "postgresql://host/db"},
        {"place": "a", "folder": "b"},
        {"place": "postgresql://a/b", "folder": "c", "ledger": "postgresql://d/e"},
    ],
)
def test_a_curator_has_one_folder(said):
    with pytest.raises(InputError, match="without one folder"):
        dp.Curator(**said)


def test_what_is_said_of_tables_survives_being_stored(tmp_path):
    import datetime as dt

    rows = pa.table(
        {
            "who": ["a", "b"],
            "day": pa.array([dt.date(2024, 1, 1)] * 2),
            "noon": pa.array([dt.datetime(2024, 1, 1, 12)] * 2, pa.timestamp("us")),  # noqa: DTZ001
            "at": pa.array([dt.datetime(2024, 1, 1)] * 2, pa.timestamp("us")),  # noqa: DTZ001
            "yes": [True, False],
            "mass": [1.5, 2.5],
            "blob": [b"1", b"2"],
        }
    )
    said = {
        "day": dp.Keys([dt.date(2024, 1, 1), None]),
        "at": dp.Bounds(dt.date(2024, 1, 1), dt.datetime(2025, 1, 1, 5)),  # noqa: DTZ001
        "noon": dp.Keys([dt.datetime(2024, 1, 1, 12)]),  # noqa: DTZ001
        "yes": dp.Keys([True, False]),
        "mass": dp.Bounds(0.1, 99.9),
    }
    with dp.Curator(tmp_path / "c") as curator:
        curator.add("t", rows, unit="who", budget=dp.Budget(rho=1), columns=said)
        curator.add("u", rows, unit=dp.EachRow(), budget=dp.Budget(rho=1))
        schema = curator.schema
    with dp.Curator(tmp_path / "c") as again:
        assert again.schema == schema
        assert "blob" not in again.schema.tables["t"].columns
    assert json.loads((tmp_path / "c" / "tables.json").read_text())["format"] == 1


def test_a_budget_error_crosses_nothing(tmp_path):
    with add_visits(dp.Curator(tmp_path / "c"), budget=dp.Budget(rho=0.001)) as curator:
        with pytest.raises(BudgetError):
            curator.sql(COUNT, epsilon=3)
        assert spent(curator) == (0, 0)


def test_a_folder_that_is_moved_takes_what_was_copied_in_with_it(tmp_path):
    with add_visits(dp.Curator(tmp_path / "c")) as curator:
        told = curator.sql(COUNT, epsilon=0.1)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "c").rename(tmp_path / "elsewhere" / "d")

    with dp.Curator(tmp_path / "elsewhere" / "d") as moved:
        assert moved.sql(COUNT, epsilon=0.1) == told
        assert moved.sql(COUNT, epsilon=0.2).table.num_rows == 1


def test_a_folder_that_names_its_copies_in_full_can_be_moved_too(tmp_path):
    """As folders of the first release do."""
    with add_visits(dp.Curator(tmp_path / "c")):
        pass
    settings = tmp_path / "c" / "tables.json"
    stored = json.loads(settings.read_text())
    [visits] = stored["tables"].values()
    assert visits["source"].startswith("data/")
    visits["source"] = str(tmp_path / "c" / visits["source"])
    settings.write_text(json.dumps(stored))
    (tmp_path / "c").rename(tmp_path / "d")

    with dp.Curator(tmp_path / "d") as moved:
        assert moved.sql(COUNT, epsilon=0.2).table.num_rows == 1


def test_a_file_elsewhere_is_read_where_it_is(tmp_path):
    """Also one in somebody else's folder `data`."""
    (tmp_path / "data").mkdir()
    pq.write_table(clinic(30), tmp_path / "data" / "v.parquet")
    with dp.Curator(tmp_path / "c") as curator:
        curator.add("v", tmp_path / "data" / "v.parquet", **ABOUT, budget=BUDGET)
    with dp.Curator(tmp_path / "c") as curator:
        assert curator.sql("SELECT COUNT(*) AS n FROM v", epsilon=0.2).table.num_rows == 1
    stored = json.loads((tmp_path / "c" / "tables.json").read_text())
    assert stored["tables"]["v"]["source"] == str((tmp_path / "data" / "v.parquet").resolve())


def test_a_damaged_file_stops_its_own_dataset_alone(tmp_path):
    """What is charged about other data is answered, and nothing is charged about this."""
    pq.write_table(clinic(50), tmp_path / "v.parquet")
    whole = (tmp_path / "v.parquet").read_bytes()
    with dp.Curator(tmp_path / "c") as curator:
        add_visits(curator, tmp_path / "v.parquet")
        curator.add("bills", clinic(20), **ABOUT, budget=BUDGET)
    (tmp_path / "v.parquet").write_bytes(b"something else")
    with dp.Curator(tmp_path / "c") as curator:
        before = spent(curator)
        assert curator.sql("SELECT COUNT(*) AS n FROM bills", epsilon=0.1).table.num_rows == 1
        with pytest.raises(InputError, match="has changed or is gone"):
            curator.sql(COUNT, epsilon=0.1)
        assert spent(curator) == before
        (tmp_path / "v.parquet").write_bytes(whole)
        assert curator.sql(COUNT, epsilon=0.1).table.num_rows == 1


@pytest.mark.parametrize(
    "name", ["VISITS", "\uff56isits", "vis\u200bits", "visits ", "Visits\u00ad"]
)
def test_names_that_only_a_close_look_tells_apart_are_refused(tmp_path, name):
    with dp.Curator(tmp_path / "c") as curator:
        add_visits(curator)
        with pytest.raises(InputError, match="reads like visits"):
            curator.add(name, clinic(20), **ABOUT, budget=BUDGET)
        assert list(curator.datasets()) == ["visits"]


@pytest.mark.parametrize("name", ["", "\ud800", "a\0b", 7, None])
def test_what_is_no_name_is_refused_before_anything_is_kept(tmp_path, name):
    with dp.Curator(tmp_path / "c") as curator:
        with pytest.raises(InputError, match="not a name"):
            curator.add(name, clinic(20), **ABOUT, budget=BUDGET)
        with pytest.raises(InputError, match="not a name"):
            curator.add_public(name, clinic(20), key="person")
        assert not curator.datasets()
    assert not list((tmp_path / "c").rglob("*.parquet"))


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("postgresql://ann:secret@db:5432/clinic", "postgresql://ann@db:5432/clinic"),
        ("postgres://ann:se@cret/x@db/clinic", "postgres://ann@db/clinic"),
        ("postgresql:///clinic?host=/tmp/x&user=ann", "postgresql:///clinic?host=/tmp/x&user=ann"),
        ("postgresql://db/clinic?password=secret", "postgresql://db/clinic"),
        ("postgresql://db/c?%70assword=secret&a=b@c:1", "postgresql://db/c?a=b@c:1"),
        ("postgresql://db/c?PASSWORD=secret&sslpassword=secret", "postgresql://db/c"),
    ],
)
def test_no_secret_of_an_address_is_kept(address, kept):
    assert without_password(address) == kept
    assert without_password(kept) == kept


def test_an_engine_that_does_not_open_whole_files_is_told(tmp_path, monkeypatch):
    with add_visits(dp.Curator(tmp_path / "c")):
        pass

    def broken(*_):
        raise duckdb.IOException("no memory")

    monkeypatch.setattr(DuckDBEngine, "_make_views", broken)
    with dp.Curator(tmp_path / "c") as curator:
        with pytest.raises(EngineError, match="cannot be opened"):
            curator.sql(COUNT, epsilon=0.1)
        monkeypatch.undo()
        assert curator.sql(COUNT, epsilon=0.1).table.num_rows == 1


def _edited(folder, **changes):
    """Change what tables.json says about the visits."""
    path = folder / "tables.json"
    stored = json.loads(path.read_text())
    stored["tables"]["visits"] |= changes
    path.write_text(json.dumps(stored))


@pytest.mark.parametrize(
    "changes",
    [
        {"unit": {"kind": "EachRow"}},
        {"limits": {"max_groups": 1, "max_rows": 1}},
        {"limits": {"max_groups": 1, "max_rows": 1}, "entry": 0},
        {"limits": {"max_groups": 1, "max_rows": 1}, "entry": 2},
        {"dataset": "others"},
    ],
)
def test_what_was_said_cannot_be_changed_in_the_folder(tmp_path, changes):
    """The ledger has the proof, and it is looked at before anything is charged."""
    with add_visits(dp.Curator(tmp_path / "c")) as curator:
        curator.sql(COUNT, epsilon=0.1)
        curator.check_tables()
    _edited(tmp_path / "c", **changes)
    with dp.Curator(tmp_path / "c") as curator:
        head = curator.ledger.head()
        with pytest.raises(LedgerError, match="is not what the ledger has"):
            curator.check_tables()
        with pytest.raises((LedgerError, InputError)):
            curator.sql(COUNT, epsilon=0.2)
        assert curator.ledger.head() == head


@pytest.mark.parametrize("gone", ["visits", "cities", "all"])
def test_a_table_that_is_gone_from_the_folder_is_missed(tmp_path, gone):
    with add_cities(add_visits(dp.Curator(tmp_path / "c"))) as curator:
        curator.check_tables()
    file = tmp_path / "c" / "tables.json"
    kept = file.read_text()
    if gone == "all":
        file.unlink()
    else:
        stored = json.loads(kept)
        del stored["tables"][gone]
        file.write_text(json.dumps(stored))
    with dp.Curator(tmp_path / "c") as curator:
        with pytest.raises(LedgerError, match="was added, and tables"):
            curator.check_tables()
        file.write_text(kept)
        curator.check_tables()


def test_a_folder_that_kept_no_numbers_of_entries_is_read_as_before(tmp_path):
    with add_visits(dp.Curator(tmp_path / "c")):
        pass
    _edited(tmp_path / "c", entry=0)
    with dp.Curator(tmp_path / "c") as curator:
        curator.check_tables()
        assert curator.sql(COUNT, epsilon=0.1).table.num_rows == 1


def test_a_dataset_is_not_added_anew_in_other_words_once_something_is_spent(tmp_path):
    with add_visits(dp.Curator(tmp_path / "c")) as curator:
        curator.sql(COUNT, epsilon=0.1)
        before = curator.budget("visits")
    (tmp_path / "c" / "tables.json").unlink()
    with dp.Curator(tmp_path / "c") as curator:
        for other in ({"limits": dp.Limits(1, 1)}, {"budget": dp.Budget(epsilon=9, delta=1e-6)}):
            with pytest.raises(InputError, match="was added before"):
                add_visits(curator, **other)
        add_visits(curator)
        assert curator.budget("visits") == before
        curator.sql(COUNT, epsilon=0.2)


def test_a_file_of_the_same_size_and_time_with_other_rows_is_noticed(tmp_path):
    file = tmp_path / "visits.parquet"
    rows = clinic(50)
    pq.write_table(rows, file, compression="none", use_dictionary=False, write_statistics=False)
    with add_visits(dp.Curator(tmp_path / "c"), file) as curator:
        curator.sql(COUNT, epsilon=0.1)
        before, packed = file.stat(), bytearray(file.read_bytes())
        packed[len(packed) // 2] ^= 1
        file.write_bytes(packed)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        now = file.stat()
        assert (now.st_size, now.st_mtime_ns) == (before.st_size, before.st_mtime_ns)

        with pytest.raises(InputError, match="has changed"):
            curator.sql(BY_CITY, epsilon=0.1)


def test_a_file_that_changes_while_it_is_added_is_read_again(tmp_path, monkeypatch):
    file = tmp_path / "visits.parquet"
    pq.write_table(clinic(50), file)

    def changed(path):
        found = fingerprint(path)
        pq.write_table(clinic(60), path)
        return found

    monkeypatch.setattr("discreet.curator.data.registry.fingerprint", changed)
    with add_visits(dp.Curator(tmp_path / "c"), file) as curator:
        monkeypatch.undo()
        with pytest.raises(InputError, match="has changed"):
            curator.sql(COUNT, epsilon=0.1)


def test_a_program_may_go_to_another_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with add_visits(dp.Curator("c")) as curator:
        monkeypatch.chdir(tmp_path / "elsewhere")
        told = curator.sql(COUNT, epsilon=0.1)
        curator.add("more", clinic(5), unit="person", dataset="visits")
    with dp.Curator(tmp_path / "c") as again:
        assert again.sql(COUNT, epsilon=0.1) == told
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_folder_that_was_moved_while_it_is_open_is_told_as_that(tmp_path):
    with add_visits(dp.Curator(tmp_path / "c")) as curator:
        (tmp_path / "c").rename(tmp_path / "d")
        with pytest.raises(LedgerError, match="c is gone: it was moved"):
            curator.sql(COUNT, epsilon=0.1)
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("left", ["curator.new", "curator.json.0123456789abcdef"])
def test_what_a_crash_left_of_a_beginning_is_no_folder_of_others(tmp_path, left):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / left).write_text('{"form')

    with add_visits(dp.Curator(tmp_path / "c")) as curator:
        curator.sql(COUNT, epsilon=0.1)


@pytest.mark.parametrize("place", ["_check_empty", "is_curator"])
def test_whoever_makes_a_folder_first_settles_it(tmp_path, monkeypatch, place):
    other, look = ["change-one"], getattr(folder, place)

    def looked(path):  # another process makes it before what was seen is acted on
        found = look(path)
        if other and not found:
            add_visits(dp.Curator(tmp_path / "c", neighbours=other.pop())).close()
        return found

    monkeypatch.setattr(folder, place, looked)
    with dp.Curator(tmp_path / "c") as curator:
        assert curator.neighbours is dp.Neighbours.CHANGE_ONE
        told = curator.sql(COUNT, epsilon=0.1)
    with pytest.raises(LedgerError, match="other neighbours"):
        dp.Curator(tmp_path / "c", neighbours="add-remove")
    with dp.Curator(tmp_path / "c") as curator:
        assert curator.sql(COUNT, epsilon=0.1) == told


def test_processes_that_make_a_folder_at_once_open_the_same(tmp_path):
    script = (
        "import sys, time, discreet as dp\n"
        "import discreet.curator.curator\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "for place in sys.argv[1:]: dp.Curator(place).close()"
    )
    places = [str(tmp_path / f"c{i}") for i in range(12)]
    run = [sys.executable, "-c", script, *places]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    makers = [subprocess.Popen(run, **pipes, text=True) for _ in range(3)]
    for one in makers:
        assert one.stdout.readline() == "ready\n"
    for one in makers:
        one.stdin.write("go\n")
        one.stdin.flush()
    told = [one.communicate(timeout=60)[1] for one in makers]
    assert [one.returncode for one in makers] == [0, 0, 0], told


@pytest.mark.parametrize("name", ["a\0b", "x" * 300, "visits.parquet/c"])
def test_names_that_no_folder_can_have_are_refused(tmp_path, name):
    pq.write_table(clinic(5), tmp_path / "visits.parquet")

    with pytest.raises(InputError, match="cannot be a curator's folder"):
        dp.Curator(str(tmp_path / name))
    with pytest.raises(InputError, match="cannot be"):
        add_visits(dp.Curator.in_memory(), str(tmp_path / f"{name}.parquet"))
    assert [one.name for one in tmp_path.iterdir()] == ["visits.parquet"]


def test_an_address_where_no_ledger_answers_leaves_nothing_behind(tmp_path):
    with pytest.raises(LedgerError, match="Postgres says"):
        dp.Curator(tmp_path / "c", ledger="postgresql://127.0.0.1:1/nowhere")
    assert not list((tmp_path / "c").iterdir())
    with add_visits(dp.Curator(tmp_path / "c")) as curator:
        curator.sql(COUNT, epsilon=0.1)


def test_a_new_folder_is_nobody_elses_to_read(tmp_path):
    with add_visits(dp.Curator(tmp_path / "c")):
        assert (tmp_path / "c").stat().st_mode & 0o077 == 0


def test_rows_of_a_table_that_is_refused_do_not_stay(tmp_path):
    cities = pa.table({"name": ["Oslo", "Oslo"]})
    with add_visits(dp.Curator(tmp_path / "c")) as curator:
        before = picture(tmp_path / "c" / "data")
        with pytest.raises(InputError, match="is not unique"):
            curator.add_public("cities", cities, key="name")
        assert picture(tmp_path / "c" / "data") == before


@pytest.mark.parametrize("wrong", [OSError(5, "a bad disk"), KeyboardInterrupt()])
@pytest.mark.parametrize("kept", [0, 1])
def test_what_fails_once_a_table_is_kept_leaves_its_rows(tmp_path, monkeypatch, wrong, kept):
    def fail(_):
        raise wrong

    with dp.Curator(tmp_path / "c") as curator:
        with monkeypatch.context() as patch:
            patch.setattr(registry, "sync_folder" if kept else "sync", fail)
            with pytest.raises((LedgerError, KeyboardInterrupt)):
                add_visits(curator)
        if not kept:  # nothing is there of it
            add_visits(curator)
        curator.sql(COUNT, epsilon=0.1)
    with dp.Curator(tmp_path / "c") as curator:
        assert [one.name[-8:] for one in (tmp_path / "c" / "data").iterdir()] == [".parquet"]
        curator.sql(COUNT, epsilon=0.2)


@pytest.mark.parametrize("touched", ["mode", "link", "copy", "older release"])
def test_a_file_that_was_touched_is_read_through_once(tmp_path, monkeypatch, touched):
    file, found = tmp_path / "visits.parquet", []
    pq.write_table(clinic(50), file)
    add_visits(dp.Curator(tmp_path / "c"), file).close()
    tables = tmp_path / "c" / "tables.json"
    match touched:
        case "mode":
            file.chmod(0o600)
        case "link":
            os.link(file, tmp_path / "other")
        case "copy":
            shutil.copy2(file, tmp_path / "copy")
            (tmp_path / "copy").replace(file)
        case _:  # whose stamps were shorter
            tables.write_text(tables.read_text().replace('"stamp": "', '"stamp": "1-'))
    read = "discreet.curator.data.registry.fingerprint"
    monkeypatch.setattr(read, lambda path: found.append(path) or fingerprint(path))

    for turn in range(3):
        with dp.Curator(tmp_path / "c") as curator:
            curator.sql(COUNT, epsilon=0.1 + turn / 100)
    assert len(found) == 1


def test_a_folder_in_which_nothing_can_be_written_is_asked_all_the_same(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError

    file = tmp_path / "visits.parquet"
    pq.write_table(clinic(50), file)
    add_visits(dp.Curator(tmp_path / "c"), file).close()
    file.chmod(0o600)
    monkeypatch.setattr("discreet.curator.data.registry.write_whole", refuse)
    with dp.Curator(tmp_path / "c") as curator:
        curator.sql(COUNT, epsilon=0.1)


def test_a_stamp_does_not_bring_back_what_was_said_before(tmp_path):
    with add_visits(dp.Curator(tmp_path / "c")) as curator:
        old = curator._data_store.tables.tables["visits"]
        folder, picture_before = curator._folder, (tmp_path / "c" / "tables.json").read_bytes()
        for other in (replace(old, stamp="x", fingerprint="y"), replace(old, stamp="x", entry=9)):
            folder.restamp(other)
        assert (tmp_path / "c" / "tables.json").read_bytes() == picture_before
        folder.restamp(replace(old, stamp="x"))
        assert curator._data_store.tables.tables["visits"].stamp == "x"
        curator.sql(COUNT, epsilon=0.1)


def test_rows_whose_table_was_lost_outlast_a_table_that_is_refused(tmp_path):
    tables = tmp_path / "c" / "tables.json"
    with add_visits(dp.Curator(tmp_path / "c")) as curator:
        told = curator.sql(COUNT, epsilon=0.1)
    kept = tables.read_bytes()
    tables.unlink()
    with dp.Curator(tmp_path / "c") as curator:
        with pytest.raises(InputError, match="was added before, with other data"):
            add_visits(curator, clinic(60))
        assert len(list((tmp_path / "c" / "data").iterdir())) == 1

    tables.write_bytes(kept)
    with dp.Curator(tmp_path / "c") as curator:
        assert curator.sql(COUNT, epsilon=0.1) == told
        curator.sql(BY_CITY, epsilon=0.1)


def test_a_table_has_a_public_bound_on_its_rows(tmp_path):
    rows = pa.table({"who": range(10_001)})
    with dp.Curator(tmp_path / "c") as curator:
        curator.add("derived", rows, unit="who", budget=BUDGET)
        curator.add("stated", rows, unit="who", dataset="derived", max_table_rows=20_000)
        with pytest.raises(InputError, match="max_table_rows=10000"):
            curator.add("wrong", rows, unit="who", dataset="derived", max_table_rows=10_000)
        assert sorted(curator.schema.tables) == ["derived", "stated"]
    with dp.Curator(tmp_path / "c") as again:
        bound = again._data_store.max_table_rows
        assert [bound(name) for name in ("derived", "stated")] == [100_000, 20_000]


def test_a_bound_is_derived_for_tables_that_were_added_without_one(tmp_path):
    with dp.Curator(tmp_path / "c") as curator:
        curator.add("t", pa.table({"who": range(3)}), unit="who", budget=BUDGET)
    (file,) = [f for f in (tmp_path / "c").glob("*.json") if "max_table_rows" in f.read_text()]
    facts = json.loads(file.read_text())
    del facts["tables"]["t"]["max_table_rows"]
    file.write_text(json.dumps(facts))
    with dp.Curator(tmp_path / "c") as again:
        assert again._data_store.max_table_rows("t") == 10_000


@pytest.mark.parametrize(
    "place", ["pathlib.Path.touch", "discreet.curator.data.data_store.sync_file"]
)
def test_a_disk_that_is_full_while_rows_are_copied_in_is_refused_in_words(
    tmp_path, monkeypatch, place
):
    def full(*_args, **_named):
        raise OSError(28, "No space left on device")

    with dp.Curator(tmp_path / "c") as curator:
        with monkeypatch.context() as patched:
            patched.setattr(place, full)
            with pytest.raises(InputError, match="cannot be copied in"):
                add_visits(curator)
        assert not list((tmp_path / "c" / "data").iterdir())
        add_visits(curator)
        with monkeypatch.context() as patched:
            patched.setattr("discreet.curator.data.data_store.sync_file", full)
            with pytest.raises(InputError, match="cannot be copied in"):
                curator.append("visits", clinic(5))
        assert curator.version("visits") == 1
        assert curator.append("visits", clinic(5)) == 2


def test_tables_that_are_nested_for_ever_are_refused(tmp_path):
    (tmp_path / "tables.json").write_text("[" * 100_000)
    with pytest.raises(LedgerError, match=r"tables\.json cannot be read"):
        registry.load(tmp_path / "tables.json")
