"""What an observer sees besides the released numbers is the same on neighbouring datasets."""

import logging
import pickle
import traceback

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from clinic_curator import BY_CITY, COUNT, add_visits
from discreet.audit import replay
from discreet.errors import (
    DiscreetError,
    EngineError,
    InputError,
    InvariantBroken,
    QueryRefused,
)
from visits import clinic

CANARY = "kanarek-7319"
QUESTIONS = [
    (COUNT, 0.1),
    (BY_CITY, 0.2),
    (COUNT, 0.1),
    ("SELECT * FROM visits", 0.1),
    ("SELECT COUNT(*) AS n FROM nowhere", 0.1),
    (BY_CITY, 50),
    ("SELECT AVG(amount) AS a FROM visits WHERE amount / (amount - amount) > 1", 0.3),
]


def session(rows):
    """Everything that is seen of a session: answers, errors, prices and what is left."""
    seen = []
    with dp.Curator.in_memory() as curator:
        add_visits(curator, rows)
        for text, epsilon in QUESTIONS:
            try:
                seen.append(curator.sql(text, epsilon=epsilon).to_bytes())
            except DiscreetError as error:
                seen.append(str(error))
            seen.append(curator.budget("visits").spent)
        charges = [e.facts for e in curator.ledger.entries() if e.kind == "charged"]
        seen.append([(facts["prices"], facts["measurements"]) for facts in charges])
    return seen


def without(rows, person):
    return rows.filter([one != person for one in rows.column("person").to_pylist()])


@pytest.mark.parametrize("person", [0, 7])
def test_cost_and_everything_else_is_the_same_on_neighbours(person):
    rows = clinic(40)

    assert not replay(session, rows, without(rows, person))


def test_record_and_replay_would_notice_a_price_that_depends_on_data():
    rows = clinic(40)

    def leaking(data):
        return [*session(data), data.num_rows]

    assert replay(leaking, rows, without(rows, 7))


def canaries(tmp_path):
    rows = clinic(50).to_pydict()
    rows["street"][3] = CANARY
    file = tmp_path / "visits.parquet"
    pq.write_table(pa.table(rows), file)
    return file


def test_no_value_of_the_data_reaches_errors_logs_or_the_folder(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    shown = []
    with add_visits(dp.Curator(tmp_path / "c"), canaries(tmp_path)) as curator:
        for text in (
            "SELECT CAST(street AS INTEGER) AS x, COUNT(*) AS n FROM visits GROUP BY 1",
            "SELECT SUM(CAST(street AS INTEGER)) AS s FROM visits",
            "SELECT COUNT(*) AS n FROM visits WHERE street / 2 > 1",
            "SELECT street, COUNT(*) AS n FROM visits GROUP BY street",
            "SELECT MAX(street) AS m FROM visits",
            "SELECT * FROM visits",
        ):
            try:
                shown.append(curator.sql(text, epsilon=0.1))
            except DiscreetError as error:
                shown += ["".join(traceback.format_exception(error)), pickle.dumps(error)]
        shown += [curator, curator.schema, curator.as_analyst("a"), curator.as_auditor()]
        shown += [curator.ledger.entries(), curator.explain(COUNT, epsilon=0.1)]
    seen = " ".join(map(repr, shown)) + caplog.text

    assert CANARY not in seen
    for file in (tmp_path / "c").rglob("*"):
        assert not file.is_file() or CANARY.encode() not in file.read_bytes()


def test_an_error_of_the_database_is_not_passed_on(tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.curator.data.registry.stamp", lambda _: "a change is not noticed")
    file = canaries(tmp_path)
    curator = add_visits(dp.Curator(tmp_path / "c"), file)
    broken = file.read_bytes()[:-300] + CANARY.encode() * 25
    file.write_bytes(broken)
    curator._data_store.close()
    with curator, pytest.raises(EngineError) as error:
        curator.sql(COUNT, epsilon=0.1)

    assert CANARY not in "".join(traceback.format_exception(error.value))
    assert error.value.__cause__ is error.value.__context__ is None


@pytest.mark.parametrize("step", ["measure", "present"])
def test_what_nobody_foresaw_while_answering_carries_nothing_along(monkeypatch, step):
    def stumble(*_):
        raise KeyError(CANARY)

    monkeypatch.setattr(f"discreet.answer.measurement_plan.MeasurementPlan.{step}", stumble)
    expected = EngineError if step == "measure" else InvariantBroken
    with add_visits(dp.Curator.in_memory()) as curator, pytest.raises(expected) as error:
        curator.sql(COUNT, epsilon=0.1)

    assert error.value.__cause__ is error.value.__context__ is None


@pytest.mark.parametrize("place", ["c", None])
def test_a_frame_of_several_types_is_refused_without_quoting_it(tmp_path, place):
    frame = clinic(2000).to_pandas()
    frame["street"] = pd.Series([1] * (len(frame) - 1) + [CANARY], dtype=object)
    with (
        dp.Curator(place and tmp_path / place) as curator,
        pytest.raises((InputError, EngineError), match="several types") as error,
    ):
        add_visits(curator, frame)

    assert CANARY not in "".join(traceback.format_exception(error.value))
    assert place is None or error.value.__context__ is None
    assert not list((tmp_path / "c").glob("data/*"))


def test_a_file_that_cannot_be_read_is_refused_without_quoting_it(tmp_path):
    file = tmp_path / "visits.parquet"
    file.write_text(CANARY * 50)
    with dp.Curator.in_memory() as curator, pytest.raises(InputError) as error:
        add_visits(curator, file)

    assert CANARY not in str(error.value)


def test_a_refusal_says_where(tmp_path):
    with add_visits(dp.Curator(tmp_path / "c")) as curator, pytest.raises(QueryRefused) as refused:
        curator.sql("SELECT * FROM visits", epsilon=0.1)

    assert refused.value.start == 7
