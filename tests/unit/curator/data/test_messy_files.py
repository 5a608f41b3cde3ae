"""Files as people have them: loaded right, or questioned before anything is kept."""

import datetime as dt
import io
import sqlite3
import zipfile

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import InputError
from discreet.plan.kinds import Kind
from messy_files import DAYS, MESSY, ROWS, excel, lines

BUDGET = dp.Budget(epsilon=1, delta=1e-6)


def written(tmp_path, messy):
    file = tmp_path / messy.name
    file.write_bytes(messy.content)
    return file


def file_of(tmp_path, text, name="visits.csv"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def loaded(source, **said):
    curator = dp.Curator.in_memory()
    with curator:
        curator.add("visits", source, budget=BUDGET, **{"unit": "patient", **said})
        return curator._data_store._frames["visits"][0]


def asked(report):
    return [question.about for question in report.questions]


@pytest.mark.parametrize("messy", MESSY, ids=lambda one: one.name)
def test_a_messy_file_is_loaded_right_or_questioned(tmp_path, messy):
    file = written(tmp_path, messy)
    report = dp.describe(file, unit=messy.unit)
    assert tuple(asked(report)) == messy.asks

    with dp.Curator(tmp_path / "c") as curator:
        if messy.asks or messy.kind != "text":
            with pytest.raises(InputError) as refused:
                curator.add("visits", file, unit=messy.unit, budget=BUDGET)
            assert not any(str(value) in str(refused.value) for value in messy.holds)
        assert curator.datasets() == {}
        assert not list(curator.ledger.noted("added"))
        said = {"reading": messy.answers, "confirm": "kinds", "unit": "patient"}
        curator.add("visits", file, budget=BUDGET, **said)
        assert curator.schema.tables["visits"].columns[messy.column].kind.value == messy.kind
        [copy] = [one.source for one in curator._data_store.tables.tables["visits"].files]
    rows = pq.read_table(copy)
    assert rows.column(messy.column).to_pylist() == messy.holds
    assert list(map(int, rows.column("patient").to_pylist())) == list(ROWS)


def test_the_first_record_never_becomes_names_silently(tmp_path):
    file = file_of(tmp_path, "Ann,Haifa\nBob,Oslo\nCyd,Haifa\n")
    assert asked(dp.describe(file)) == ["header"]
    named = dp.describe(file, reading={"names": ["who", "city"]})
    assert (named.rows, named.reading.header, asked(named)) == (3, False, [])
    numbered = dp.describe(file, reading=dp.Reading(header=False))
    assert list(numbered.kinds) == ["column1", "column2"]


@pytest.mark.parametrize(
    ("texts", "about"),
    [
        (["03/04/2024", "05/06/2024"], ["dates"]),
        (["3.4.24", "13.4.24"], ["dates"]),
        (["2024-03-13", "13/03/2024"], ["dates"]),
        (["1", "-999", "3"], ["sentinel"]),
        (["1", "-2", "999"], ["sentinel"]),
        (["5", "-1", "3"], ["sentinel"]),
        (["1", "-1", "0"], []),
        (["1", "-9", "-8"], []),
        (["250", "999", "870"], []),
        (["30", "40", "50", "60"] * 4 + ["Total"], ["text"]),
        (['"1,234"', '"5,678"'], ["numbers"]),
        (["NA", "Oslo"], ["nulls"]),
        (["03/04/2024", "25/06/2024"], []),
        (["04/23/2024 10:15", "05/01/2024 00:00"], []),
        (["13 Mar 2024", "1 Apr 2024"], []),
        (['"1,234"', "5"], ["numbers"]),
        (["00123", "00456"], []),
        (["12345678901234567890", "1"], []),
        (["5 %", "7.5%"], ["text"]),
        (["30", "40", "50", "60"] * 4 + ["x"], ["header", "text"]),
        (["65 kg", "70.5 kg"], ["text"]),
        (["12 Oak", "Elm 3", "Pine 7"], []),
        (["$5.00", "-$7.50"], ["text"]),
        (["5.00", "(7.50)"], ["text"]),
        (["2024-03-13T10:15:00+02:00", "2024-03-13T10:15:00Z"], ["text"]),
        (["[1]", "{a}"], ["text"]),
        (["7-", "5", "12-"], ["text"]),
        (["20240313", "20231231"], ["dates"]),
        (["20240313", "20231232"], []),
        (["Haifa", "Oslo", "Summe"], ["text"]),
    ],
)
def test_a_doubt_is_asked_about(tmp_path, texts, about):
    rows = "".join(f"{i},{text}\n" for i, text in enumerate(texts * 3))
    assert asked(dp.describe(file_of(tmp_path, f"patient,x\n{rows}"), unit="patient")) == about


_DAYS = [dt.date(2024, 4, 3), dt.date(2024, 5, 6)]


@pytest.mark.parametrize(
    ("texts", "reading", "values"),
    [
        (["03/04/2024"], {"day_first": True}, [dt.date(2024, 4, 3)]),
        (["03/04/2024"], {"day_first": False}, [dt.date(2024, 3, 4)]),
        (["03.04.24"], {"dates": {"x": "%d.%m.%y"}}, [dt.date(2024, 4, 3)]),
        (['"1,234"'], {"decimal": ".", "thousands": ","}, [1234]),
        (['"1,234"'], {"decimal": ",", "thousands": ""}, [1.234]),
        (["1\u202f234.5"], {"thousands": "\u202f"}, [1234.5]),
        (["1\u00a0234.5"], {}, [1234.5]),
        (["1'234.5"], {}, [1234.5]),
        (["1 234.5"], {}, [1234.5]),
        (["3.4.24", "2024-05-06"], {"dates": {"x": "%d.%m.%y|%Y-%m-%d"}}, _DAYS),
        (["1", "-99", "2", "-99"], {"nulls": ["-99"]}, [1, None, 2, None]),
        (["NA", "y"], {"nulls": ["NA"]}, [None, "y"]),
        (["NA", "y"], {"nulls": []}, ["NA", "y"]),
        (["ja", "nein"], {"true": ["ja"], "false": ["nein"]}, [True, False]),
        (["5", "five"] + ["6"] * 20, {"unreadable": "null"}, [5, None] + [6] * 20),
        (["2024-03-13 10:15:00"], {}, [dt.datetime(2024, 3, 13, 10, 15)]),  # noqa: DTZ001
        (["13/03/2024 10:15"], {}, [dt.datetime(2024, 3, 13, 10, 15)]),  # noqa: DTZ001
        (["3/13/2024 1:15 PM"], {}, [dt.datetime(2024, 3, 13, 13, 15)]),  # noqa: DTZ001
        (["20240403", "20240506"], {"dates": {"x": "%Y%m%d"}}, _DAYS),
    ],
)
def test_an_answer_decides_how_texts_are_read(tmp_path, texts, reading, values):
    file = file_of(tmp_path, "patient,x\n" + "".join(f"{i},{t}\n" for i, t in enumerate(texts)))
    rows = loaded(file, reading=reading, confirm="kinds")
    assert rows.column("x").to_pylist() == values


@pytest.mark.parametrize("other", ["P1", "p1 ", "p1.0"])
def test_people_whose_names_differ_in_writing_alone_are_asked_about(tmp_path, other):
    file = file_of(tmp_path, f"patient,age\np1,30\n{other},40\np2,50\n")
    assert asked(dp.describe(file, unit="patient")) == ["text"]
    assert asked(dp.describe(file, unit="patient", kinds={"patient": "text"})) == []
    other_column = file_of(tmp_path, f"patient,age\np1,{other}\np2,p1\n")
    assert asked(dp.describe(other_column, unit="patient")) == []


def test_lines_that_name_no_person_are_asked_about(tmp_path):
    file = file_of(tmp_path, "patient,age\np1,30\n,40\n")
    assert asked(dp.describe(file, unit="patient")) == ["unreadable"]
    assert loaded(file, reading={"unreadable": "null"}, confirm="kinds").num_rows == 2


def test_a_total_below_many_rows_and_spreadsheet_days_are_asked_about(tmp_path):
    people = "".join(f"p{i},{i % 80}\n" for i in range(21_000))
    below = file_of(tmp_path, f"patient,age\n{people}Total,800000\n")
    assert asked(dp.describe(below, unit="patient")) == ["text"]
    days = "".join(f"{i},{45292 + i}\n" for i in range(20))
    for name, about in (("admission_date", ["text"]), ("income", [])):
        assert asked(dp.describe(file_of(tmp_path, f"id,{name}\n{days}"), unit="id")) == about


ORDINARY = {
    "candidate_votes": lambda i: 20_000 + 7 * i,
    "births": lambda i: 20_000 + 7 * i,
    "updates": lambda i: 20_000 + 7 * i,
    "sales_per_day": lambda i: 20_000 + 7 * i,
    "holiday pay": lambda i: 20_000 + 7 * i,
    "dateOfVisits": lambda i: i % 9,
    "zip": lambda i: 20_000 + 7 * i,
    "case_number": lambda i: 20_000_101 + 7 * i,
    "cholesterol": lambda i: ("total", "hdl", "ldl")[i % 3],
    "cover": lambda i: ("Total", "partial")[i % 2],
    "note": lambda i: ("total mess", "sum of parts", "fine")[i % 3],
}


def test_ordinary_columns_are_not_asked_about(tmp_path):
    lines = [
        ",".join(map(str, (f"p{i // 3}", *(f(i) for f in ORDINARY.values())))) for i in range(90)
    ]
    file = file_of(tmp_path, "\n".join([",".join(["patient", *ORDINARY]), *lines, ""]))
    assert asked(dp.describe(file, unit="patient")) == []


@pytest.mark.parametrize("name", ["visitDate", "Date of visit", "DAY", "admission day", "dob"])
def test_a_name_with_a_word_for_days_tells_those_of_spreadsheets(tmp_path, name):
    days = "".join(f"{i},{45292 + i}\n" for i in range(20))
    assert asked(dp.describe(file_of(tmp_path, f"id,{name}\n{days}"), unit="id")) == ["text"]


def test_a_total_that_its_owner_names_as_a_key_is_no_sum_of_others(tmp_path):
    file = file_of(tmp_path, "patient,kind\np1,total\np2,hdl\np3,hdl\n")
    assert asked(dp.describe(file, unit="patient")) == ["text"]
    assert (
        asked(dp.describe(file, unit="patient", columns={"kind": dp.Keys(["total", "hdl"])})) == []
    )


def test_lines_of_old_macs_are_told(tmp_path):
    (tmp_path / "v.csv").write_bytes(b"patient,age\rp1,30\r")
    with pytest.raises(InputError, match="carriage return"):
        dp.describe(tmp_path / "v.csv")


def test_an_archive_is_told_to_be_unpacked(tmp_path):
    (tmp_path / "v.zip").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"unpack archives; name a file that ends in \.csv"):
        dp.describe(tmp_path / "v.zip")


def test_lines_above_the_names_are_refused(tmp_path):
    rows = "".join(f"{i},{i % 7}\n" for i in ROWS)
    file = file_of(tmp_path, f"# exported\n\n# by the clinic\npatient,x\n{rows}")
    with pytest.raises(InputError, match=r"like a title.*--skip-lines 3\); if it names the col"):
        dp.describe(file)
    read = loaded(file, reading={"skip_lines": 3}, confirm="kinds")
    assert read["patient"].to_pylist() == [*ROWS]
    other = file_of(tmp_path, f"# exported\npatient;x\n{rows.replace(',', ';')}")
    with pytest.raises(InputError, match=r"like a title.*--skip-lines 1\)"):
        dp.describe(other)


def test_a_column_that_would_lose_most_of_its_values_is_refused(tmp_path):
    file = file_of(tmp_path, lines("x", [f'"${i},234.50"' for i in ROWS]))
    assert len(ROWS) > 10
    for reading in ({}, {"unreadable": "null"}):
        with pytest.raises(InputError, match=r"x holds mostly values that cannot be read as real"):
            loaded(file, kinds={"x": "real"}, reading=reading)


def test_questions_tell_the_options_that_answer_them(tmp_path):
    file = file_of(tmp_path, lines("x,y", [f"{i}/3/24,{i if i % 5 else -999}" for i in ROWS]))
    told = repr(dp.describe(file, unit="patient"))
    assert "digits: say its format. (--date-format x '%d/%m/%y', or --date-format x '%m" in told
    assert "--kind y integer). (--null -999)" in told


def test_blanks_around_names_and_values_are_left_out(tmp_path):
    rows = loaded(file_of(tmp_path, 'patient , x, y\n1 , Oslo ,"a b"\n2,  ,""\n3,,c\n'))
    assert rows.to_pydict() == {
        "patient": ["1 ", "2", "3"],  # which name people in frames too
        "x": ["Oslo", None, None],
        "y": ["a b", "", "c"],
    }


def test_blanks_are_kept_on_the_owners_word_and_for_tables_from_before(tmp_path):
    file = file_of(tmp_path, "patient,x\n1, Oslo\n")
    assert loaded(file, reading={"blanks": "keep"}).column("x").to_pylist() == [" Oslo"]
    with dp.Curator.in_memory() as curator:
        curator.add("visits", file, unit="patient", budget=BUDGET)
        known = curator._data_store.tables.tables["visits"]
        assert known.reading["blanks"] == "trim"
        known.reading.pop("blanks")  # as earlier versions stored it
        curator.append("visits", file_of(tmp_path, "patient,x\n2, Bern\n", "more.csv"))
        assert curator._data_store._frames["visits"][1].column("x").to_pylist() == [" Bern"]


@pytest.mark.parametrize("first", ["trim", "keep", None])
@pytest.mark.parametrize("reading", [None, {"delimiter": ","}, {"blanks": "trim"}])
def test_however_parts_are_read_a_person_has_one_name(tmp_path, first, reading):
    file = file_of(tmp_path, "x,patient\na, p1\nb, p2\n")
    more = file_of(tmp_path, "x,patient\nc, p1\n", "more.csv")
    frame = pa.table({"x": ["d"], "patient": [" p1"]})
    with dp.Curator.in_memory() as curator:
        said = {} if first is None else {"reading": {"blanks": first}}
        curator.add("visits", file, unit="patient", budget=BUDGET, **said)
        curator.append("visits", more, reading=reading)
        curator.append("visits", frame)
        curator.add("stays", more, unit="patient", dataset="visits")
        kept = curator._data_store._frames
        assert {name for rows in kept["visits"] for name in rows.column("patient").to_pylist()} == {
            " p1",
            " p2",
        }
        assert kept["stays"][0].column("patient").to_pylist() == [" p1"]


def test_a_stated_reading_leaves_the_blanks_of_a_table_as_they_are(tmp_path):
    for blanks, value in (("keep", " Bern"), ("trim", "Bern")):
        with dp.Curator.in_memory() as curator:
            file = file_of(tmp_path, "patient,x\n1, Oslo\n")
            curator.add("t", file, unit="patient", budget=BUDGET, reading={"blanks": blanks})
            more = file_of(tmp_path, "patient;x\n2; Bern\n", "more.csv")
            curator.append("t", more, reading={"delimiter": ";"})
            assert curator._data_store._frames["t"][1].column("x").to_pylist() == [value]


def test_tables_from_before_take_the_names_and_words_that_they_took(tmp_path):
    frame = pa.table({"patient": ["1"], " x": [" ?"]})
    with dp.Curator.in_memory() as curator:
        curator.add("visits", frame, unit="patient", budget=BUDGET)
        curator.append("visits", file_of(tmp_path, "patient, x\n2, ?\n3, .\n"))
        rows = curator._data_store._frames["visits"][1]
        assert rows.column(" x").to_pylist() == [" ?", " ."]
    assert dp.Reading(true=["?"]).absent(Kind.BOOLEAN).count("?") == 0


def test_keys_that_lead_to_people_are_trimmed_in_both_tables_or_in_none(tmp_path):
    stays = file_of(tmp_path, "patient,stay\n p1, s1\n p2, s2\n", "stays.csv")
    tests = file_of(tmp_path, "x,stay\na, s1\nb, s2\n", "tests.csv")
    frame = pa.table({"patient": [" p1", " p2"], "stay": [" s1", " s2"]})
    more = pa.table({"patient": ["p3"], "stay": [" s3"]})
    for source, keys in ((stays, ["s1", "s2"]), (frame, [" s1", " s2"])):
        with dp.Curator.in_memory() as curator:
            curator.add("stays", source, unit="patient", budget=BUDGET)
            path = dp.KeyPath("stay", "stays", "stay")
            curator.add("tests", tests, unit=path, dataset="stays")
            assert curator._data_store._frames["tests"][0].column("stay").to_pylist() == keys
            if source is frame:
                curator.append("stays", more)
                continue
            with pytest.raises(InputError, match=r"blanks around values of stays\.stay"):
                curator.append("stays", more)
    with dp.Curator.in_memory() as curator:
        curator.add("stays", stays, unit="patient", budget=BUDGET)
        curator.append("stays", more)
        with pytest.raises(InputError, match=r"blanks around values of stays\.stay"):
            curator.add("tests", tests, unit=path, dataset="stays")


def test_a_title_and_an_empty_line_above_a_sheet_are_skipped(tmp_path):
    rows = [["Patients of 2024", ""], ["", ""], ["patient", "x"], *([i, 5] for i in ROWS)]
    (tmp_path / "titled.xlsx").write_bytes(excel(rows))
    report = dp.describe(tmp_path / "titled.xlsx", unit="patient")
    assert (list(report.kinds), report.rows) == (["patient", "x"], len(ROWS))


def test_values_that_cannot_be_read_are_counted_shown_and_refused(tmp_path):
    texts = ["41"] * 20 + ["unknown", "12/03/2024"]
    file = file_of(tmp_path, "patient,age\n" + "".join(f"{i},{t}\n" for i, t in enumerate(texts)))
    report = dp.describe(file, unit="patient", kinds={"age": "integer"})
    [column] = [one for one in report.columns if one.name == "age"]
    assert (column.counts.unreadable, column.nulls) == (2, 0)
    assert set(column.counts.examples) == {"unknown", "12/03/2024"}
    assert not report.ready
    with pytest.raises(InputError, match="cannot be read as integer"):
        loaded(file, kinds={"age": "integer"})
    frame = pa.table({"patient": [1, 2], "age": ["5", "five"]})
    with pytest.raises(InputError, match="cannot be read as integer"):
        loaded(frame, kinds={"age": "integer"})


def test_a_year_of_two_digits_is_not_the_year_24(tmp_path):
    file = file_of(tmp_path, "patient,day\n" + "1,13/03/2024\n" * 20 + "2,13/03/24\n")
    [day] = [one for one in dp.describe(file).columns if one.name == "day"]
    assert (day.kind.value, day.counts.examples) == ("date", ("13/03/24",))


def test_what_is_taken_from_the_data_is_marked_and_counts_only_when_confirmed(tmp_path):
    texts = ["Haifa,30", "Oslo,41"] * 12 + ["Rare,90"]
    rows = "".join(f"{i},{text}\n" for i, text in enumerate(texts))
    file = file_of(tmp_path, f"patient,city,age\n{rows}")
    report = dp.describe(file, unit="patient", columns={"age": dp.Bounds(0, 50)})
    told = {one["name"]: one for one in report.to_dict()["columns"]}
    assert (report.rows, report.people) == (25, 25)
    assert told["city"]["known"] == {"keys": ["Haifa", "Oslo"]}
    assert (told["city"]["known_from"], told["age"]["known_from"]) == ("data", "owner")
    assert (told["age"]["outside"], told["age"]["outside_examples"]) == (1, ["90"])
    assert "taken from the data" in repr(report)
    with dp.Curator.in_memory() as curator:
        for name, confirm in (("a", "kinds"), ("b", ["city", "age"])):
            curator.add(name, file, unit="patient", budget=BUDGET, confirm=confirm)
        known = [curator.schema.tables[name].columns for name in ("a", "b")]
    assert known[0]["city"].keys is None
    assert known[0]["age"].range is None
    assert known[1]["city"].keys == ("Haifa", "Oslo")
    assert (known[1]["age"].range.low, known[1]["age"].range.high) == (0, 100)


def sources(tmp_path):
    rows = pa.table({"patient": list(ROWS), "day": DAYS})
    pyarrow.feather.write_feather(rows, tmp_path / "v.feather")
    for i, part in enumerate((rows.slice(0, 5), rows.slice(5))):
        pq.write_table(part, tmp_path / f"part{i}.parquet")
        text = lines("day", [str(day) for day in DAYS])
        cut = text.split("\n")
        kept = cut[:6] if not i else [cut[0], *cut[6:-1]]
        file_of(tmp_path, "\n".join(kept) + "\n", f"part{i}.tsv".replace(".tsv", ".csv"))
    with sqlite3.connect(tmp_path / "v.sqlite") as file:
        file.execute("CREATE TABLE visits (patient INTEGER, day TEXT)")
        days = [(i, str(day)) for i, day in zip(ROWS, DAYS, strict=True)]
        file.executemany("INSERT INTO visits VALUES (?, ?)", days)
    with duckdb.connect(str(tmp_path / "v.duckdb")) as database:
        database.register("rows", rows)
        database.execute("CREATE TABLE visits AS SELECT * FROM rows")
    tabs = lines("day", [str(day) for day in DAYS], "\t")
    return {
        "feather": tmp_path / "v.feather",
        "parquet glob": tmp_path / "part*.parquet",
        "csv glob": str(tmp_path / "part*.csv"),
        "sqlite": tmp_path / "v.sqlite",
        "duckdb": tmp_path / "v.duckdb",
        "tsv": file_of(tmp_path, tabs, "v.tsv"),
        "pandas": pd.DataFrame({"patient": list(ROWS), "day": rows["day"].to_pandas()}),
        "polars": pl.from_arrow(rows),
        "lazy polars": pl.from_arrow(rows).lazy(),
        "reader": rows.to_reader(),
        "relation": duckdb.from_arrow(rows),
    }


def test_all_kinds_of_sources_hold_the_same_rows(tmp_path):
    for name, source in sources(tmp_path).items():
        rows = loaded(source, confirm="kinds", kinds={"day": "date", "patient": "integer"})
        table = rows if isinstance(rows, pa.Table) else pa.table(rows)
        found = dict(zip(*(table.column(c).to_pylist() for c in ("patient", "day")), strict=True))
        assert found == dict(zip(ROWS, DAYS, strict=True)), name


def test_rows_that_are_appended_are_read_like_those_before(tmp_path):
    text = lines("day", [f"{day:%d/%m/%Y}" for day in DAYS])
    more = "patient,day\n90,05/06/2024\n"  # alone, it could be in May or in June
    with dp.Curator(tmp_path / "c") as curator:
        said = {"unit": "patient", "budget": BUDGET, "confirm": "kinds"}
        curator.add("visits", file_of(tmp_path, text), **said)
    with dp.Curator(tmp_path / "c") as curator:
        assert curator.append("visits", file_of(tmp_path, more, "more.csv")) == 2
        [*_, last] = curator._data_store.tables.tables["visits"].files
        assert pq.read_table(last.source).column("day").to_pylist() == [dt.date(2024, 6, 5)]
        lost = file_of(tmp_path, "patient,day\n91,2024-06-05\n", "lost.csv")
        with pytest.raises(InputError, match="cannot be read as date"):
            curator.append("visits", lost)


def test_a_reading_says_what_it_does_not_understand():
    for wrong in (
        {"delimiter": ";;"},
        {"dates": {"x": "%d"}},
        {"names": "a,b"},
        {"encoding": "klingon"},
        {"decimal": ",", "thousands": ","},
        {"colour": "red"},
        {"header": "no"},
    ):
        with pytest.raises(InputError, match="reading"):
            dp.Reading.from_dict(wrong)
    said = {"delimiter": ";", "nulls": [], "dates": {"x": "%d.%m.%Y"}, "header": False}
    assert dp.Reading.from_dict(said).to_dict() == said


@pytest.mark.parametrize(
    "text",
    [
        'patient,note\n1,a\n2,"5 inches\n3,b\n4,c\n',  # lines 3 and 4 would be part of a note
        'patient,note\n1,"a\n2,"b"\n3,c\n',
        'patient,note\n1,"say \\"hello\\" twice"\n',
    ],
)
def test_a_quote_that_is_not_closed_swallows_no_lines(tmp_path, text):
    with pytest.raises(InputError, match="quote that is not closed"):
        dp.describe(file_of(tmp_path, text))


def test_quotes_that_are_closed_or_inside_of_words_are_read(tmp_path):
    text = 'patient,note\n1,5" pipe\n2,"6"" pipe,\nblue"\n'
    assert loaded(file_of(tmp_path, text))["note"].to_pylist() == ['5" pipe', '6" pipe,\nblue']
    text = "patient,note\n1,'a, \"b'\n"
    rows = loaded(file_of(tmp_path, text), reading={"quote": "'"})
    assert rows["note"].to_pylist() == ['a, "b']


def test_midnight_in_a_workbook_is_a_time_where_others_are(tmp_path):
    days = [["patient", "seen"], [1, dt.date(2024, 3, 1)], [2, dt.date(2024, 3, 2)]]
    number = (dt.date(2024, 3, 2) - dt.date(1899, 12, 30)).days
    file = tmp_path / "v.xlsx"
    with zipfile.ZipFile(io.BytesIO(excel(days))) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            noon = f"<v>{number + 0.5}</v>".encode()
            new.writestr(name, old.read(name).replace(f"<v>{number}</v>".encode(), noon))
    found = ["2024-03-01 00:00:00", "2024-03-02 12:00:00"]
    assert list(map(str, loaded(file, confirm="kinds")["seen"].to_pylist())) == found


def test_bytes_and_empty_texts_of_sqlite_do_not_become_null_silently(tmp_path):
    with sqlite3.connect(tmp_path / "v.sqlite") as file:
        file.execute("CREATE TABLE visits (patient, note)")
        file.executemany("INSERT INTO visits VALUES (?, ?)", [(1, ""), (2, None), (3, "a")])
    assert loaded(tmp_path / "v.sqlite")["note"].to_pylist() == ["", None, "a"]
    with sqlite3.connect(tmp_path / "v.sqlite") as file:
        file.execute("INSERT INTO visits VALUES (?, 'b')", [(4).to_bytes(8, "little")])
    with pytest.raises(InputError, match="patient holds bytes"):
        loaded(tmp_path / "v.sqlite")
    rows = loaded(tmp_path / "v.sqlite", reading={"unreadable": "null"})
    assert rows["patient"].to_pylist() == ["1", "2", "3", None]


def test_keys_of_json_that_differ_in_case_alone_are_refused(tmp_path):
    file = file_of(tmp_path, '{"patient": 1, "Age": 2}\n{"patient": 2, "age": 3}\n', "v.jsonl")
    with pytest.raises(InputError, match="Age and age differ"):
        dp.describe(file)


def test_people_whose_numbers_are_too_large_do_not_vanish_silently():
    rows = pa.table({"patient": pa.array([1, 2**63 + 1], pa.uint64()), "age": [1, 2]})
    with pytest.raises(InputError, match="patient holds values that cannot be read as integer"):
        loaded(rows)
    assert loaded(rows, reading={"unreadable": "null"}) is not None
    assert loaded(rows.slice(0, 1)) is not None


def test_rows_after_the_first_thousands_correct_what_the_first_ones_look_like(tmp_path):
    """Kinds are guessed from 20,000 rows; codes, fractions and words for NULL may come later."""
    many = "".join(f"{i},{10000 + i},{i},x\n" for i in range(20_000))
    file = file_of(tmp_path, f"patient,zip,n,note\n{many}7,01234,2.5,NA\n")
    report = dp.describe(file, unit="patient")
    assert [report.kinds[name].value for name in ("zip", "n", "note")] == ["text", "real", "text"]
    assert [(one.about, one.column) for one in report.questions] == [("nulls", "note")]
    rows = loaded(file, confirm="kinds", reading={"nulls": ["NA"]})
    assert [rows[name].to_pylist()[-1] for name in ("zip", "n", "note")] == ["01234", 2.5, None]


def test_columns_are_measured_and_converted_in_blocks(tmp_path):
    """One statement about 200 columns took as much memory as there is."""
    names = ["patient", *(f"c{i}" for i in range(40))]
    lines = [names, *([str(k), *(str(k + i) for i in range(40))] for k in range(20))]
    file = file_of(tmp_path, "\n".join(map(",".join, lines)) + "\n")
    report = dp.describe(file, unit="patient")
    assert (report.rows, report.people) == (20, 20)
    assert [one.counts.high for one in report.columns[-2:]] == ["57", "58"]
    rows = loaded(file, confirm="kinds")
    assert rows.column_names == names
    assert rows["c39"].to_pylist() == list(range(39, 59))


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_a_point_before_three_digits_is_asked_about_where_commas_part_no_fields(tmp_path, mark):
    file = file_of(tmp_path, f"patient{mark}pay\n1{mark}1.234\n2{mark}5.678\n", "v.txt")
    assert [one.about for one in dp.describe(file, unit="patient").questions] == ["numbers"]


def test_columns_of_a_csv_that_differ_in_case_alone_are_refused(tmp_path):
    with pytest.raises(InputError, match="Age and age differ"):
        dp.describe(file_of(tmp_path, "patient,Age,age\n1,2,3\n"))


def test_blank_lines_of_a_single_column_are_null(tmp_path):
    file = file_of(tmp_path, "age\n30\n\n41\n")
    report = dp.describe(file)
    assert (report.rows, report.columns[0].nulls) == (3, 1)


def test_columns_that_no_question_can_be_about_are_told(tmp_path):
    rows = pa.table({"id": [1, 2], "age": [3, 4], "tags": [["a"], ["b"]]})
    pq.write_table(rows, tmp_path / "visits.parquet")
    told = dp.describe(tmp_path / "visits.parquet", unit="id")
    assert told.left_out == ("tags",)
    assert "left out, since no question can be about such values: tags" in repr(told)


def test_a_file_without_anything_is_called_empty(tmp_path):
    with pytest.raises(InputError, match="is empty: it has neither"):
        dp.describe(file_of(tmp_path, ""), unit="id")


DOUBTFUL = {
    "words": ["Ja" if i % 2 else "Nein" for i in ROWS],
    "text": [f"${i},234.50" for i in ROWS],
    "dates": [f"2024-03-{i:02}" if i % 2 else f"{i:02}/03/2024" for i in ROWS],
    "text with times in zones": [f"2024-03-{i:02}" + "T10:30:00Z" * (i % 2) for i in ROWS],
}


@pytest.mark.parametrize("about", DOUBTFUL)
def test_texts_that_may_be_more_are_questioned_and_kept_where_the_owner_says_so(tmp_path, about):
    file = file_of(tmp_path, lines("x", [f'"{text}"' for text in DOUBTFUL[about]]))
    assert asked(dp.describe(file, unit="patient")) == [about.split()[0]]
    with pytest.raises(InputError, match="leaves a question open"):
        loaded(file)
    assert loaded(file, kinds={"x": "text"})["x"].to_pylist() == DOUBTFUL[about]
    said = {"true": ["ja"], "false": ["nein"]}
    if about == "words":
        read = loaded(file, reading=said, confirm="kinds")["x"].to_pylist()
        assert read == [bool(i % 2) for i in ROWS]


def test_codes_that_end_like_money_are_no_sums(tmp_path):
    file = file_of(tmp_path, lines("x", [f"ABC{i}" for i in ROWS]))
    assert asked(dp.describe(file, unit="patient")) == []


def test_a_title_above_a_sheet_is_no_record_and_no_header(tmp_path):
    (tmp_path / "a.xlsx").write_bytes(
        excel([["Visits, 2024"], ["patient", "age"], [1, 30], [2, 40]])
    )
    found = loaded(tmp_path / "a.xlsx", confirm="kinds")
    assert found.to_pylist() == [{"patient": 1, "age": 30}, {"patient": 2, "age": 40}]


@pytest.mark.parametrize(("head", "why"), [("a,", "column 3 has none"), ("a,a", "a stands twice")])
def test_names_that_are_missing_are_told(tmp_path, head, why):
    file = file_of(tmp_path, lines(head, ["1,2" for _ in ROWS]))
    with pytest.raises(InputError, match=why):
        loaded(file)


def test_blank_lines_above_the_names_and_separators_at_the_ends_of_lines(tmp_path):
    (tmp_path / "blank.csv").write_text("\n\nid,age\n\n1,20\n\n2,30\n", encoding="utf-8")
    report = dp.describe(tmp_path / "blank.csv", unit="id")
    assert (report.rows, [one.name for one in report.columns]) == (2, ["id", "age"])
    (tmp_path / "ends.csv").write_text("id;age;\n1;20;\n2;30;\n", encoding="utf-8")
    report = dp.describe(tmp_path / "ends.csv", unit="id")
    assert [(one.name, one.nulls) for one in report.columns][-1] == ("column3", 2)
    # A column without a name that holds values is the owner's to name.
    (tmp_path / "ends.csv").write_text("id;age;\n1;20;x\n2;30;\n", encoding="utf-8")
    with pytest.raises(dp.InputError, match="column 3 has none"):
        dp.describe(tmp_path / "ends.csv")


def test_a_mark_of_utf_8_before_other_bytes_is_no_part_of_the_first_name(tmp_path):
    file = tmp_path / "visits.csv"
    file.write_bytes(b"\xef\xbb\xbfpatient,city\n" + "p1,Orléans\np2,Köln\n".encode("latin-1"))

    assert asked(dp.describe(file)) == ["encoding"]
    for encoding in ("latin-1", "cp1252"):
        frame = loaded(file, reading=dp.Reading(encoding=encoding), confirm="kinds")
        assert frame.column_names[:2] == ["patient", "city"]
        assert frame["city"].to_pylist() == ["Orléans", "Köln"]


def test_names_that_stand_twice_are_told_the_reading_that_works(tmp_path):
    file = file_of(tmp_path, "patient,day,n,day,n\np1,2024-05-06,1,2024-05-07,2\n")

    with pytest.raises(InputError, match=r"Reading\(header=True, names=\[\.\.\.\]\)"):
        dp.describe(file)
    names = ["patient", "first", "n1", "last", "n2"]
    report = dp.describe(file, reading=dp.Reading(header=True, names=names))
    assert (report.rows, asked(report)) == (1, [])
