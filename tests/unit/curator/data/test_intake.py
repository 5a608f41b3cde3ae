"""Data on its way in: types come from headers and owners, never from values."""

import datetime as dt
import gzip

import duckdb
import pyarrow as pa
import pyarrow.csv
import pytest

import discreet as dp
from clinic_curator import COUNT, add_visits, spent
from discreet.curator.data.intake import take
from discreet.curator.data.load_report import Stated, kind_stated
from discreet.curator.data.registry import fingerprint
from discreet.errors import InputError
from discreet.plan.kinds import Kind
from visits import clinic

HEADER = "person,city,street,amount\n"


def csv_file(tmp_path, text, name="visits.csv"):
    file = tmp_path / name
    file.write_text(HEADER + text, encoding="utf-8")
    return file


def kinds(curator):
    return {name: of.kind.value for name, of in curator.schema.tables["visits"].columns.items()}


def rows_of(curator):
    return curator._data_store._frames["visits"][0]


@pytest.mark.parametrize("text", ["1,Haifa,a,5\n", "x,Haifa,3,five\n", "", '"1","Haifa",,\n'])
def test_the_types_of_a_csv_file_do_not_depend_on_its_values(tmp_path, text):
    said = {"kinds": {"street": "text"}, "reading": {"unreadable": "null"}}
    with add_visits(dp.Curator.in_memory(), csv_file(tmp_path, text), **said) as curator:
        assert kinds(curator) == {
            "person": "text",
            "city": "text",
            "street": "text",
            "amount": "real",
        }


@pytest.mark.parametrize("confirm", ["bounds", ["kinds", "Street"]])
def test_what_is_confirmed_of_no_column_is_refused(tmp_path, confirm):
    file = csv_file(tmp_path, "1,Haifa,a,5\n")
    with dp.Curator.in_memory() as curator, pytest.raises(InputError, match="there is no column"):
        add_visits(curator, file, confirm=confirm)


def test_an_owner_says_what_a_csv_file_cannot(tmp_path):
    said = {"person": "integer", "street": Kind.DATE}
    file = csv_file(tmp_path, "1,Haifa,2024-02-29,5\nx,Oslo,2023-02-29,x\n2,Oslo,,1e3\n")
    with dp.Curator.in_memory() as strict, pytest.raises(InputError, match="cannot be read"):
        add_visits(strict, file, kinds=said)
    lenient = {"kinds": said, "reading": dp.Reading(unreadable="null")}
    with add_visits(dp.Curator.in_memory(), file, **lenient) as curator:
        rows = rows_of(curator)

    assert rows.column("person").to_pylist() == [1, None, 2]
    assert rows.column("street").to_pylist() == [dt.date(2024, 2, 29), None, None]
    assert rows.column("amount").to_pylist() == [5.0, None, 1000.0]


def test_rows_of_a_csv_file_that_are_not_whole_are_left_out_if_the_owner_says_so(tmp_path):
    file = csv_file(tmp_path, '1,Haifa,"a, b",5\n2,Oslo\n3,a,b,c,d\n4,Oslo,"two\nlines",7\n')
    with dp.Curator.in_memory() as strict, pytest.raises(InputError, match="too few or too many"):
        add_visits(strict, file)
    with add_visits(dp.Curator.in_memory(), file, reading={"unreadable": "null"}) as curator:
        rows = rows_of(curator)

    assert rows.column("person").to_pylist() == ["1", "4"]
    assert rows.column("street").to_pylist() == ["a, b", "two\nlines"]


def test_packed_csv_files_are_read(tmp_path):
    plain = csv_file(tmp_path, "1,Haifa,a,5\n" * 3)
    packed = tmp_path / "visits.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    with add_visits(dp.Curator.in_memory(), packed) as curator:
        assert rows_of(curator).num_rows == 3


def test_a_csv_file_and_a_frame_give_the_same_table(tmp_path):
    file = tmp_path / "visits.csv"
    pyarrow.csv.write_csv(clinic(30), file)
    with add_visits(dp.Curator.in_memory(), file, kinds={"person": "integer"}) as curator:
        assert rows_of(curator).to_pylist() == clinic(30).to_pylist()


def test_a_copied_csv_file_may_change_afterwards(tmp_path):
    file = csv_file(tmp_path, "1,Haifa,a,5\n" * 50)
    with add_visits(dp.Curator(tmp_path / "c"), file) as curator:
        first = curator.sql(COUNT, epsilon=0.1)
        file.unlink()
        assert curator.sql(COUNT, epsilon=0.1) == first


@pytest.mark.parametrize("header", ["", "a,a\n1,2\n", "a,,b\n1,2,3\n"])
def test_a_csv_file_that_does_not_name_its_columns_is_refused(tmp_path, header):
    file = tmp_path / "visits.csv"
    file.write_text(header)
    with pytest.raises(InputError, match="name"):
        take(file, Stated(), name="visits")


@pytest.mark.parametrize("name", ["gone.csv", "gone.parquet", "gone.duckdb", "notes.txt", ""])
def test_a_file_that_is_not_there_or_something_else_is_refused(tmp_path, name):
    (tmp_path / "notes.txt").write_text("hm")
    with dp.Curator.in_memory() as curator, pytest.raises(InputError):
        add_visits(curator, tmp_path / name)


def test_bytes_that_are_no_text_are_refused_without_quoting_them(tmp_path):
    file = tmp_path / "visits.csv"
    file.write_bytes(HEADER.encode() + b"1,Haifa,\xff\xfe,5\n")
    with pytest.raises(InputError, match="not in UTF-8") as refused:
        take(file, Stated(), name="visits")
    assert "\xff" not in str(refused.value)


def test_a_table_of_a_duckdb_file_is_copied_in(tmp_path):
    file = tmp_path / "clinic.duckdb"
    rows = clinic(30)
    with duckdb.connect(str(file)) as connection:
        connection.register("incoming", rows)
        connection.execute('CREATE TABLE "all visits" AS SELECT *, [1] AS list FROM incoming')
    with add_visits(dp.Curator(tmp_path / "c"), file, source_table="all visits") as curator:
        assert "list" not in curator.schema.tables["visits"].columns
        curator.sql(COUNT, epsilon=0.1)
        assert spent(curator) > (0, 0)
    with dp.Curator.in_memory() as other, pytest.raises(InputError, match="no visits in clinic"):
        add_visits(other, file, source_table="visits")
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE more AS SELECT 1 AS person")
    with dp.Curator.in_memory() as other, pytest.raises(InputError, match="all visits, more"):
        add_visits(other, file)


def test_frames_of_other_libraries_are_taken(tmp_path):
    frames = [clinic(30), clinic(30).to_pandas()]
    for i, frame in enumerate(frames):
        with add_visits(dp.Curator(tmp_path / str(i)), frame) as curator:
            assert curator.sql(COUNT, epsilon=1).table.num_rows == 1


def test_something_that_is_no_data_is_refused():
    with dp.Curator.in_memory() as curator, pytest.raises(InputError):
        add_visits(curator, 42)


def test_keys_of_a_csv_file_have_the_kind_of_the_keys(tmp_path):
    file = csv_file(tmp_path, "1,3,a,5\n")
    columns = {"city": dp.Keys([1, 2, 3]), "amount": dp.Bounds(0, 9)}
    with add_visits(dp.Curator.in_memory(), file, columns=columns) as curator:
        assert kinds(curator)["city"] == "integer"
        assert rows_of(curator).schema.field("city").type == pa.int64()


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        (dp.Bounds(dt.date(2024, 1, 1), dt.date(2025, 1, 1)), Kind.DATE),
        (dp.Bounds(dt.date(2024, 1, 1), dt.datetime(2025, 1, 1, 5)), Kind.TIMESTAMP),  # noqa: DTZ001
        (dp.Bounds(0, 1), Kind.REAL),
        (dp.Keys([True, None]), Kind.BOOLEAN),
        (dp.Keys([1, "a"]), Kind.TEXT),
        (None, Kind.TEXT),
    ],
)
def test_what_is_said_of_a_column_tells_its_kind(spec, kind):
    assert kind_stated(spec) is kind


def test_a_file_that_may_not_be_read_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        fingerprint(tmp_path / "gone")


def test_a_unit_that_is_no_column_is_said_before_anything_else(tmp_path):
    file = tmp_path / "visits.csv"
    file.write_text("id,age\n1,30\n2,40\n")  # nobody has said what age holds
    with dp.Curator.in_memory() as curator, pytest.raises(InputError, match="no column nope"):
        curator.add("visits", file, unit="nope", budget=dp.Budget(epsilon=1))


def test_bounds_and_keys_of_a_public_table_come_from_its_rows():
    cities = pa.table(
        {"name": ["Haifa", "Oslo"], "people": [280_000, 700_000], "coast": ["x", None]}
    )
    with dp.Curator.in_memory() as curator:
        curator.add_public("cities", cities, key="name", columns={"people": dp.Bounds(0, 9**9)})
        curator.add_public("towns", cities, key="name")
        stated, found = (curator.schema.tables[name].columns for name in ("cities", "towns"))
    assert found["name"].keys == stated["name"].keys == ("Haifa", "Oslo")
    assert (stated["people"].range.high, found["people"].range.high) == (9**9, 1_000_000)
    assert found["coast"].keys == ("x", None)
