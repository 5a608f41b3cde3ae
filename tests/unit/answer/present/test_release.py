"""Releases: reading never changes them, tables agree everywhere, words and bytes hold up."""

import dataclasses
import datetime as dt
import html.parser
import json
import math
import re
from fractions import Fraction

import pyarrow as pa
import pytest

from clinic import CLINIC
from discreet.answer.execute.noisy_measurements import arrow_bytes
from discreet.answer.measurement_plan import MeasurementPlan, answer
from discreet.answer.plan.price import Price
from discreet.answer.present.base_release import Cost
from discreet.answer.present.release import Release
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import InputError
from discreet.noise.bits import Keystream, replaced
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.dummy import dummy
from discreet.plan.public_facts import PublicFacts, facts_of
from discreet.privacy import Neighbours, Pure, compose
from discreet.sql.reader.read import read

ASKED = (
    "SELECT city, COUNT(*) AS n, AVG(age) AS mean_age, SUM(cost) / COUNT(*) AS each,"
    " MEDIAN(cost) AS middle, MIN(age) AS youngest FROM visits GROUP BY city"
)


@pytest.fixture(scope="module")
def engine():
    made = DuckDBEngine()
    for name, table in dummy(CLINIC, rows=3000).items():
        made.store(name, table)
    made.open(CLINIC)
    yield made
    made.close()


@pytest.fixture(scope="module")
def released(engine):
    """One release for all tests: reading it never changes it."""
    query = read(ASKED, CLINIC)
    stream = Keystream(bytes(32))
    with replaced(lambda: stream):
        return dataclasses.replace(answer(query, engine, Price(1, 1e-6)), facts=facts_of(query))


@pytest.mark.parametrize(
    ("rows", "far", "said"),
    [
        (8, 32, "at most 8 rows, or 4 if they have more than 32"),
        (
            512,
            12,
            "at most 256 rows, with noise for 512: people beyond 12 were counted a second time",
        ),
        (512, 300, "at most 300 rows, or 256 if they have more than 300"),
    ],
)
def test_a_release_says_how_much_counts_of_whom_where_people_are_counted_twice(
    engine, rows, far, said
):
    query = read("SELECT COUNT(*) AS n FROM visits", CLINIC)
    plan = MeasurementPlan.of(query, Price(1))
    drawn = plan.measure(engine)
    bounds = ContributionBounds(NoiseKind.LAPLACE, rows, 1, far, Fraction(1, 2))
    (note, *_) = plan.present([dataclasses.replace(drawn[0], contributions=bounds)]).notes
    assert said in re.sub(r" \([^)]*\)", "", note)


def made(columns, widths=None, *, keys=(), neighbours=Neighbours.ADD_REMOVE, **more):
    guarantee = Pure(1, neighbours=neighbours)
    widths = {name: pa.array(width, pa.float64()) for name, width in (widths or {}).items()}
    return Release(
        table=pa.table(columns),
        half_widths=widths,
        how=more.pop("how", dict.fromkeys(widths, "exact")),
        price=Price(1),
        guarantee=compose([guarantee]),
        costs=(Cost("rows", "Laplace", guarantee),),
        facts=more.pop("facts", PublicFacts("one person", by_row=False, keys=keys)),
        **more,
    )


# --- tables -------------------------------------------------------------------------------------


def test_every_frame_holds_the_same_numbers(released):
    rows = released.to_arrow().to_pylist()
    assert released.to_polars().to_dicts() == rows
    again = released.to_pandas().to_dict("records")
    assert [row["n"] for row in again] == [row["n"] for row in rows]
    assert list(again[0]) == list(rows[0])


def test_intervals_are_centred_on_the_numbers_and_can_be_left_out(released):
    for row in released.to_arrow().to_pylist():
        for name in ("n", "mean_age", "each"):
            assert math.isclose(row[f"{name}_low"] + row[f"{name}_high"], 2 * row[name])
            assert row[f"{name}_low"] < row[name] < row[f"{name}_high"]
    bare = released.to_arrow(intervals=False)
    assert bare.column_names == ["city", "n", "mean_age", "each", "middle", "youngest"]
    assert "n_low" not in released.to_csv(intervals=False).splitlines()[0]


def test_a_column_that_looks_like_an_interval_is_not_overwritten():
    release = made({"n": [10], "n_low": ["kept"]}, {"n": [2.0]}, keys=("n_low",))
    assert release.to_arrow().to_pylist() == [
        {"n": 10, "n_low_": 8.0, "n_high": 12.0, "n_low": "kept"}
    ]


def test_numbers_past_the_reach_of_doubles_do_not_fail():
    release = made({"n": [2**62 - 1]}, {"n": [4.0]})
    assert release.to_arrow().column("n").to_pylist() == [2**62 - 1]
    assert repr(release)


def test_csv_is_returned_and_written_alike(released, tmp_path):
    path = tmp_path / "answer.csv"
    text = released.to_csv(path)
    assert path.read_text() == text
    assert text.splitlines()[0].startswith('"city","n","n_low","n_high","mean_age"')
    assert len(text.splitlines()) == 1 + released.table.num_rows


def test_reading_a_release_never_changes_it(released):
    before = released.to_bytes()
    for look in (repr, Release._repr_html_, Release.to_pandas, Release.to_csv, Release.statement):
        assert str(look(released)) == str(look(released))
    released.chart()
    assert released.to_bytes() == before
    with pytest.raises(TypeError):
        released.half_widths["n"] = None
    with pytest.raises(dataclasses.FrozenInstanceError):
        released.price = Price(2)


def test_half_widths_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="half-widths of n"):
        made({"n": [1, 2]}, {"n": [1.0]})
    with pytest.raises(InputError, match="half-widths of m"):
        made({"n": [1, 2]}, {"m": [1.0, 1.0]})
    with pytest.raises(InputError, match="same name"):
        made(pa.table([[1], [2]], names=["n", "n"]))


# --- what stands under a NULL -------------------------------------------------------------------


def hidden(kind, values, validity):
    """An array whose NULL slots still hold what an engine left there."""
    buffers = pa.array(values, kind).buffers()
    return pa.Array.from_buffers(kind, len(values), [pa.py_buffer(validity), *buffers[1:]])


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int64(), [7, 4242424242, 9]),
        (pa.float64(), [7.0, 4242.5, 9.0]),
        (pa.string(), ["a", "the secret", "b"]),
        (pa.bool_(), [True, True, False]),
        (pa.date32(), [dt.date(2020, 1, 1), dt.date(1984, 4, 4), dt.date(2020, 1, 2)]),
        (pa.timestamp("us"), [dt.datetime(2020, 1, 1)] * 3),  # noqa: DTZ001 - no zone
    ],
)
def test_nothing_is_left_under_a_null(kind, values):
    dirty = hidden(kind, values, b"\x05")  # the one in the middle is NULL
    clean = pa.array([values[0], None, values[2]], kind)
    assert dirty.to_pylist() == clean.to_pylist()
    releases = [made({"key": column, "n": [1, 2, 3]}, keys=("key",)) for column in (dirty, clean)]
    assert releases[0].to_bytes() == releases[1].to_bytes()
    assert b"secret" not in releases[0].to_bytes()
    assert releases[0].to_arrow().column("key").to_pylist() == clean.to_pylist()


def test_chunks_and_slices_do_not_show_in_the_bytes():
    whole = made({"k": ["a", None, "c"], "n": [1, 2, 3]}, keys=("k",))
    pieces = pa.concat_tables(
        [
            pa.table({"k": ["z", "a"], "n": [0, 1]}).slice(1),
            pa.table({"k": [None, "c"], "n": [2, 3]}),
        ]
    )
    assert made(pieces, keys=("k",)) == whole


# --- bytes --------------------------------------------------------------------------------------


def test_a_release_comes_back_from_its_bytes_whole(released):
    again = Release.from_bytes(released.to_bytes())
    assert again == released
    assert hash(again) == hash(released)
    assert again.to_bytes() == released.to_bytes()
    assert again.to_arrow().equals(released.to_arrow())
    assert again.guarantee == released.guarantee
    assert again.guarantee.epsilon(1e-6) == released.guarantee.epsilon(1e-6)
    for field in ("how", "price", "costs", "notes", "facts"):
        assert getattr(again, field) == getattr(released, field)


def test_an_answer_without_groups_is_stored_shown_and_read_like_any_other():
    columns = {"k": pa.array([], pa.string()), "n": pa.array([], pa.int64())}
    empty = made(columns, {"n": []}, keys=("k",))
    again = Release.from_bytes(empty.to_bytes())
    assert again == empty
    assert again.to_arrow().num_rows == 0
    assert again.to_csv().startswith('"k","n"')
    assert "0 rows" in repr(again)
    assert again._repr_html_()


def test_two_draws_are_two_releases(engine):
    query = read("SELECT COUNT(*) AS n FROM visits", CLINIC)
    first, second = (answer(query, engine, Price(0.01)) for _ in range(2))
    assert first != second


def test_the_bytes_open_in_any_arrow_reader(released):
    table = pa.ipc.open_stream(released.to_bytes()).read_all()
    assert table.column("n").to_pylist() == released.table.column("n").to_pylist()


def test_an_exact_price_survives_storage():
    release = dataclasses.replace(made({"n": [1]}), price=Price(Fraction(1, 3), Fraction(1, 7)))
    assert Release.from_bytes(release.to_bytes()).price == release.price


@pytest.mark.parametrize("cut", [0, 1, 10, 200, -9])
def test_damaged_bytes_are_refused(released, cut):
    with pytest.raises(InputError, match=r"stored bytes cannot be read|stored release"):
        Release.from_bytes(released.to_bytes()[:cut])


def test_other_arrow_streams_and_other_versions_are_refused(released):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("a", pa.int64())])):
        pass
    with pytest.raises(InputError, match="stored bytes"):
        Release.from_bytes(sink.getvalue().to_pybytes())
    later = released.to_bytes().replace(b'"version":1', b'"version":2')
    with pytest.raises(InputError, match="version 2"):
        Release.from_bytes(later)


# --- words --------------------------------------------------------------------------------------


def test_the_text_shows_numbers_with_half_widths_and_the_price(released):
    text = repr(released)
    assert (
        "± is a 95 % interval for noise and for what chosen limits cut off; it does not include"
        " sampling error" in text
    )
    assert "epsilon 1, delta 1e-06" in text
    assert "visits.patient_id" in text
    assert "youngest has no ±" in text
    assert "Austin" in text.splitlines()[2]
    assert "±" in text.splitlines()[2]


def test_all_rows_that_were_paid_for_are_shown_and_of_very_many_the_first():
    count = 5100
    release = made({"k": list(range(count)), "n": [5] * count}, {"n": [1.0] * count}, keys=("k",))
    assert "5,100 rows, the first 200 shown" in repr(release)
    assert release._repr_html_().count("<tr>") == 5001


def test_rounding_never_narrows_an_interval():
    text = repr(made({"n": [100], "m": [1.5]}, {"n": [3.01], "m": [0.101]}))
    assert "100 ± 4" in text
    assert "1.50 ± 0.11" in text


def test_keys_cannot_play_tricks_on_a_terminal_or_a_page():
    keys = ["<script>alert(1)</script>", "\x1b[31mred\n", "\u202egnol", "&amp;", "x" * 500, None]
    release = made({"<b>": keys, "n": [1] * 6}, {"n": [1.0] * 6}, keys=("<b>",))
    text, page = repr(release), release._repr_html_()
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len(text.splitlines()) == 2 + 6 + 1 + 3
    assert "<script" not in page
    assert "<b>" not in page.replace('<b style="', "")
    assert "&amp;amp;" in page
    assert "x" * 100 not in page


class Balanced(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        del attrs
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_stands_alone(released):
    page = released._repr_html_()
    parser = Balanced()
    parser.feed(page)
    assert not parser.open
    assert "http" not in page
    assert "<script" not in page
    assert "it does not include sampling error" in page


def test_wide_characters_keep_columns_straight():
    release = made({"k": ["東京", "Haifa"], "n": [1, 2]}, {"n": [1.0, 1.0]}, keys=("k",))
    tokyo, haifa = repr(release).splitlines()[2:4]
    assert len(tokyo) == len(haifa) - 2


def test_numbers_without_a_value_or_a_width_are_shown_as_such():
    release = made({"m": [None, 2.0, math.inf]}, {"m": [1.0, math.nan, 1.0]})
    assert release.half_widths["m"].to_pylist() == [1.0, None, 1.0]
    assert "NULL ±" in repr(release)
    assert "2 ±   ?" in repr(release)
    assert release._repr_html_()


def test_the_statement_names_the_unit_the_odds_the_clamps_and_the_noise(released):
    text = " ".join(released.statement().split())
    assert "visits.patient_id" in text
    assert "epsilon = 1 and delta = 1e-06" in text
    assert "odds of a person having taken part were 1:9" in text
    assert "visits.age to 0 .. 120; visits.cost to 0 .. 1000" in text
    assert "visits.day" not in text  # not read
    assert "youngest aims a few rows from the end" in text
    assert "not confidence intervals for a wider population" in text
    assert "Other releases about the same data add to" in text


def test_the_statement_of_row_protection_says_what_it_does_not_protect(engine):
    query = read("SELECT SUM(load) AS total FROM events", CLINIC)
    release = dataclasses.replace(answer(query, engine, Price(1)), facts=facts_of(query))
    text = " ".join(release.statement().split())
    assert "one row of events, not all rows of a person" in text
    assert "A person with several rows is protected for any one of them, not for all" in text


def test_the_statement_speaks_of_the_neighbours_that_hold():
    added, changed = (
        " ".join(made({"n": [1]}, neighbours=about).statement().split()) for about in Neighbours
    )
    assert "adding or removing one" in added
    assert "replacing one by any other" in changed


def test_facts_follow_columns_through_joins_and_subqueries():
    text = (
        "SELECT sex, AVG(LEAST(GREATEST(total, 0), 5000)) AS mean"
        " FROM (SELECT patient_id, SUM(cost) AS total FROM visits"
        " WHERE age > 17 GROUP BY patient_id) AS v JOIN patients AS p ON v.patient_id = p.id"
        " GROUP BY sex"
    )
    facts = facts_of(read(text, CLINIC))
    assert facts.clamped == ("visits.age to 0 .. 120", "visits.cost to 0 .. 1000")
    assert facts.keys == ("sex",)
    assert "visits.patient_id and patients.id" in facts.unit


def test_facts_name_the_way_to_the_person():
    facts = facts_of(read("SELECT COUNT(*) AS n FROM tests", CLINIC))
    assert "tests.patient through patients.id" in facts.unit
    assert not facts.clamped


@pytest.mark.parametrize("price", [["1e400000000", "0"], [0.5, None], [[], {}], ["1"]])
def test_a_stored_price_is_two_numbers_as_they_are_written(released, price):
    table = pa.ipc.open_stream(released.to_bytes()).read_all()
    about = json.loads(table.schema.metadata[b"discreet.release"])
    metadata = {b"discreet.release": json.dumps({**about, "price": price}).encode()}
    with pytest.raises(InputError, match="cannot be read"):
        Release.from_bytes(arrow_bytes(table.replace_schema_metadata(metadata)))
