"""What was measured is kept with an answer, and older answers stay what they were."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from discreet.answer.estimate import noisy_statistics
from discreet.answer.estimate.noisy_statistics import NoisyStatistics, called, part_of
from discreet.answer.measurement_plan import answer
from discreet.answer.plan.price import Price
from discreet.answer.present.release import Release
from discreet.errors import InputError
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.expressions import Column
from discreet.plan.schema import Limits
from discreet.plan.statistics import Distinct, Grid, People, Rows, Total
from discreet.sql.reader.read import read
from visits import ask, clinic, engine_of, schema

ALL = """SELECT street, city, COUNT(*) AS n, AVG(amount) AS m, MEDIAN(amount) AS q
FROM visits GROUP BY ROLLUP (street, city)"""


@pytest.fixture(scope="module")
def release():
    rows = clinic()
    street = pa.array([None if i % 7 == 0 else one for i, one in enumerate(rows["street"])])
    with_gaps = rows.set_column(rows.column_names.index("street"), "street", street)
    return ask(ALL, engine_of(with_gaps), epsilon=3)


def test_parts_come_back_as_they_were(release):
    again = Release.from_bytes(release.to_bytes())

    assert again == release
    assert again.to_bytes() == release.to_bytes()
    assert len(again.parts) == 3
    for one, other in zip(again.parts, release.parts, strict=True):
        assert one.keys == other.keys
        assert one.contributions == other.contributions
        assert one.statistics.keys() == other.statistics.keys()
        for name, noisy in one.statistics.items():
            assert np.array_equal(noisy.values, other.statistics[name].values)
            assert noisy.scale == other.statistics[name].scale > 0
        assert np.array_equal(one.quantiles["q"].values, other.quantiles["q"].values)
        assert one.quantiles["q"].off > 0


def test_an_answer_stored_without_parts_is_read_as_it_was(release):
    bare = replace(release, parts=())
    stored = bare.to_bytes()

    assert b"discreet.parts" not in stored
    assert Release.from_bytes(stored) == bare
    assert Release.from_bytes(stored).parts == ()


def test_the_shown_numbers_follow_from_the_parts(release):
    whole = release.parts[-1]
    count = next(noisy for name, noisy in whole.statistics.items() if name.startswith("rows "))
    shown = release.table.filter(pa.compute.is_null(release.table["city"])).to_pylist()

    assert round(count.values[0]) in {row["n"] for row in shown if row["street"] is None}


def test_parts_of_very_many_groups_are_not_kept(monkeypatch):
    monkeypatch.setattr(noisy_statistics, "MOST_GROUPS", 2)
    text = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"

    assert ask(text, engine_of(clinic(20))).parts == ()


def test_nothing_is_left_under_a_null():
    """What an engine left in the slot of a missing key was never released."""
    keys = pa.Array.from_buffers(
        pa.string(),
        2,
        [
            pa.py_buffer(b"\x01"),
            pa.py_buffer(np.array([0, 4, 10], dtype=np.int32).tobytes()),
            pa.py_buffer(b"OsloSECRET"),
        ],
    )
    query = read("SELECT city, COUNT(*) AS n FROM visits GROUP BY city", schema())
    contributions = ContributionBounds.stated(Limits(1, 1), NoiseKind.LAPLACE)
    measured = NoisyStatistics(query, {"k0": keys}, 2, {}, {}, {}, contributions)
    assert b"SECRET" in keys.buffers()[2].to_pybytes()

    buffers = part_of(measured).keys["k0"].buffers()
    assert b"SECRET" not in b"".join(one.to_pybytes() for one in buffers if one is not None)


@pytest.mark.parametrize("harm", [b"[", b'["!"]', b'["AAAA"]', b'{"a": 1}'])
def test_damaged_parts_are_refused_as_damaged_bytes_are(release, harm):
    stored = release.to_bytes()
    table = pa.ipc.open_stream(stored).read_all()
    metadata = {**table.schema.metadata, b"discreet.parts": harm}
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema.with_metadata(metadata)) as writer:
        writer.write_table(table.replace_schema_metadata(metadata))
    with pytest.raises(InputError, match="cannot be read as a release"):
        Release.from_bytes(sink.getvalue().to_pybytes())


@pytest.mark.parametrize(
    ("law", "widths"), [(NoiseKind.LAPLACE, np.log(20)), (NoiseKind.GAUSSIAN, 1.95996)]
)
def test_the_scale_that_is_kept_is_that_of_the_noise(law, widths):
    query = read("SELECT COUNT(*) AS n FROM visits", schema())
    release = answer(query, engine_of(clinic(20)), Price(1, 1e-6), noise_kinds=(law,))
    [noisy] = release.parts[0].statistics.values()
    width = release.half_widths["n"][0].as_py() - 0.5

    assert noisy.noise_kind is law
    assert width == pytest.approx(widths * noisy.scale, rel=1e-3)


def test_a_quantile_keeps_the_interval_that_its_neighbours_give():
    text = """SELECT COUNT(*) AS n, QUANTILE_CONT(amount, 0.1) AS a, MEDIAN(amount) AS m,
    QUANTILE_CONT(amount, 0.9) AS z FROM visits"""
    release = ask(text, engine_of(clinic()), epsilon=3)
    [part] = Release.from_bytes(release.to_bytes()).parts

    assert part.quantiles["m"].widths[0] == release.half_widths["m"][0].as_py()


@pytest.mark.parametrize(
    ("statistic", "name"),
    [
        (Rows(None), "rows 42eed06d6f3faa2b"),
        (People(Column("x")), "people ceacea38761a46af"),
        (Total(Column("x"), None, Grid(0.0, 1.0, 0.5, 0.25, 2)), "total 08332ab2c57e89ca"),
        (Distinct(Column("x"), None), "distinct da841fe3a6284f59"),
    ],
)
def test_names_of_statistics_never_change(statistic, name):
    assert called(statistic) == name
