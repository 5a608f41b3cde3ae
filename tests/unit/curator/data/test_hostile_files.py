"""Files that somebody made to do harm: refused before they are read, and nothing else is read."""

import io
import sqlite3
import struct
import zipfile

import duckdb
import pyarrow as pa
import pytest

from discreet.curator.data.intake import describe
from discreet.errors import InputError
from messy_files import excel


def test_a_duckdb_file_under_another_name_reads_no_file(tmp_path):
    (tmp_path / "secret.csv").write_text("who\nsomebody\n")
    with duckdb.connect(str(tmp_path / "v.duckdb")) as database:
        database.execute(f"CREATE VIEW v AS FROM read_csv('{tmp_path / 'secret.csv'}')")
    for name in ("v.sqlite", "v.SQLITE3"):
        hidden = (tmp_path / "v.duckdb").rename(tmp_path / name)
        with pytest.raises(InputError, match="cannot be read"):
            describe(hidden)
        hidden.rename(tmp_path / "v.duckdb")


def test_a_view_of_sqlite_that_never_ends_is_not_asked(tmp_path):
    with sqlite3.connect(tmp_path / "v.sqlite") as file:
        file.execute(
            "CREATE VIEW a AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
            " SELECT count(*) AS n FROM c"
        )
        file.execute("CREATE TABLE visits (who TEXT)")
        file.execute("INSERT INTO visits VALUES ('p1')")
    file.close()

    report = describe(tmp_path / "v.sqlite")

    assert (report.tables, report.rows) == (("visits",), 1)


def test_an_arrow_file_that_points_outside_itself_is_refused(tmp_path):
    rows = pa.table({"who": [f"p{i}" for i in range(10, 90)]})
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows)
    places = struct.pack("<4i", 0, 3, 6, 9)
    whole = sink.getvalue()
    assert places in whole
    file = tmp_path / "v.arrow"
    file.write_bytes(whole.replace(places, struct.pack("<4i", 0, 2**31 - 1, 6, 9)))

    with pytest.raises(InputError, match="cannot be read"):
        describe(file)


def test_two_cells_far_from_each_other_are_no_table(tmp_path):
    file, near = tmp_path / "v.xlsx", excel([["who"], ["p1"]])
    with zipfile.ZipFile(io.BytesIO(near)) as parts, zipfile.ZipFile(file, "w") as made:
        for name in parts.namelist():
            far = b'<row r="1048576"><c r="CZZ1048576"><v>1</v></c></row></sheetData>'
            made.writestr(name, parts.read(name).replace(b"</sheetData>", far))

    with pytest.raises(InputError, match="too large"):
        describe(file)
    file.write_bytes(near)
    assert describe(file).rows == 1


def test_a_codec_that_is_none_of_texts_is_refused(tmp_path):
    file = tmp_path / "v.csv"
    file.write_text("who\np1\n")
    with pytest.raises(InputError, match="encoding"):
        describe(file, reading={"encoding": "rot13"})


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("p1,Haifa\np2,Haifa\np3,Oslo\n", "header"),
        ("who,day\n" + "".join(f"p{i},0{i}/0{9 - i}/2024\n" for i in range(1, 9)), "dates"),
        ("who;n\n" + "".join(f"p{i};1,{i}00\n" for i in range(1, 9)), "numbers"),
        ("who,n\ncaf\xe9,x\n", "encoding"),
    ],
)
def test_a_reading_that_is_sent_back_answers_no_question(tmp_path, text, about):
    file = tmp_path / "v.csv"
    file.write_bytes(text.encode("latin-1"))

    first = describe(file)
    again = describe(file, reading=first.reading)

    assert [one.about for one in first.questions] == [about]
    assert again.questions == first.questions
