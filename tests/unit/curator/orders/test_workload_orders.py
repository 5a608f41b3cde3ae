"""Workloads as orders: charged once, stored, recovered, served, and refused where they must be."""

import json

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.audit.replay import replay
from discreet.curator.orders.fits.fit_orders import fit_spec
from discreet.curator.orders.order_kinds import KINDS
from discreet.curator.orders.workload_orders import WorkloadRelease
from discreet.errors import InputError, InvariantBroken, QueryRefused
from running_server import served

AGES = np.arange(3000) % 100
QUERIES = [{"age": dp.Bounds(low, low + 9)} for low in range(0, 90, 10)]
SPEC = {
    "table": "people",
    "queries": [{"age": {"low": 0, "high": 9}}, {"sex": ["f"]}, {}],
    "epsilon": "2",
    "bins": 100,
}


def rows(extra=()):
    ages = np.concatenate([AGES, np.array(extra, dtype=np.int64)])
    sexes = ["f" if age % 2 else "m" for age in ages]
    return pa.table({"id": np.arange(ages.size), "age": ages, "sex": sexes})


def add_people(curator, table=None, **other):
    said = {"unit": "id", "budget": dp.Budget(epsilon=20, delta=1e-5), **other}
    columns = {"age": dp.Bounds(0, 99), "sex": dp.Keys(["f", "m"])}
    curator.add("people", rows() if table is None else table, columns=columns, **said)
    return curator


@pytest.fixture
def curator():
    with add_people(dp.Curator.in_memory()) as curator:
        yield curator


def spent(curator):
    return curator.budget("people").spent[0]


def test_many_counts_are_answered_for_one_price_and_free_when_asked_again(curator):
    told = curator.answer("people", QUERIES, epsilon=2, bins=100)
    assert told.to_arrow().column_names == ["query", "rows", "rows_low", "rows_high"]
    assert np.abs(told.values - 300).max() < 6 * told.deviations.max() < 60
    paid = spent(curator)
    assert curator.as_analyst("ann").answer("people", QUERIES, epsilon=2, bins=100) == told
    assert spent(curator) == paid
    assert "add-remove" in told.statement()
    assert told.json_facts()["answers"][0]["query"] == "age: 0 .. 9"
    assert "matrix mechanism" in repr(told)
    assert WorkloadRelease.from_bytes(told.to_bytes()) == told
    assert len({told, WorkloadRelease.from_bytes(told.to_bytes())}) == 1
    assert told.to_pandas().shape == (9, 4)
    assert [one.noise for one in told.costs] == ["Gaussian"]


def test_statements_do_not_speak_of_people_where_each_row_is_protected_by_itself():
    with add_people(dp.Curator.in_memory(), unit=dp.EachRow()) as curator:
        online = {"table": "people", "columns": ["sex"], "epsilon": "2"}
        fit = fit_spec(dp.learn.GaussianNB(epsilon=1), "people", ["age"], "sex")
        said = {
            "privacy of one row (add-remove)": curator.answer("people", QUERIES, epsilon=2),
            "or of one row where the table protects each": curator.order("online", online),
            "for each row by itself": curator.order("fit", fit),
        }
        for words, release in said.items():
            assert words in release.statement().replace("\n", " ")


def test_an_explanation_tells_the_error_of_every_strategy_for_nothing(curator):
    told = curator.explain_order("workload", SPEC)
    assert set(told.facts["errors"]) >= {"independent", "identity", "matrix mechanism"}
    assert spent(curator) == 0
    assert "one person counts for at most 1 row" in told.text


def test_a_stored_order_is_measured_by_the_strategy_that_was_chosen(curator):
    offer = curator._local.offer_order("workload", SPEC, None)
    again = KINDS["workload"].read(offer.order(), curator.schema)
    assert again.text == offer.planned.text
    assert again.decisions() == offer.planned.decisions()
    measured = offer.planned.measure(curator._data_store.open(()), None)
    assert again.present(measured) == offer.planned.present(measured)
    text = json.loads(again.text)
    assert text["queries"] == [[0, "0-9"], [1, "0"], []]
    assert again.queries == offer.planned.queries


def test_a_crash_after_measuring_is_finished_with_the_same_noise(tmp_path, monkeypatch):
    with add_people(dp.Curator(tmp_path / "c")) as curator:
        planned = curator._local.offer_order("workload", SPEC, None).planned
        with monkeypatch.context() as patch:
            patch.setattr(type(planned), "present", lambda *_: 1 / 0)
            with pytest.raises(InvariantBroken):
                curator.order("workload", SPEC)
        paid = spent(curator)
        assert isinstance(curator.order("workload", SPEC), WorkloadRelease)
        assert spent(curator) == paid


def test_a_server_gives_the_same_answers(tmp_path):
    with add_people(dp.Curator(tmp_path / "c")) as curator, served(curator) as server:
        with dp.Curator(server.url, token=server.token(), allow_plain=True) as remote:
            told = remote.answer("people", QUERIES, epsilon=2, bins=100)
            assert "errors" in remote.explain_order("workload", SPEC).facts
        (listed,) = server.get("/v1/releases", token=server.token()).json()
        assert listed["kind"] == "workload"
        assert len(told.values) == len(QUERIES)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"queries": []}, "queries are no list"),
        ({"queries": [5]}, "a query"),
        ({"queries": [{}]}, "no columns"),
        ({"queries": {"age": 1}}, "queries are no list"),
        ({"queries": [{"shoe": [1]}]}, "no column shoe"),
        ({"queries": [{"id": [1]}]}, "no column id"),
        ({"table": "cats"}, "no private table"),
        ({"queries": [{"sex": ["x"]}]}, "no such value"),
        ({"rounds": 1}, "rounds"),
    ],
)
def test_what_cannot_be_read_is_refused_for_nothing(curator, spec, said):
    with pytest.raises(InputError, match=said):
        curator.order("workload", {**SPEC, **spec})
    assert spent(curator) == 0


def test_without_a_delta_it_is_refused():
    with (
        add_people(dp.Curator.in_memory(), budget=dp.Budget(epsilon=2)) as curator,
        pytest.raises(QueryRefused, match="without delta"),
    ):
        curator.answer("people", QUERIES, epsilon=1)


@pytest.mark.parametrize("bins", [10, 100])
def test_neighbours_look_alike_but_for_what_is_released(bins):
    def ask(table):
        with add_people(dp.Curator.in_memory(), table) as curator:
            few = QUERIES if bins == 10 else [{**q, "sex": "f"} for q in QUERIES]
            told = curator.answer("people", few, epsilon=1, bins=bins)
            return told.to_arrow().to_pylist(), told.notes

    assert not replay(ask, rows(), rows([7]))


def test_damaged_bytes_are_refused():
    with pytest.raises(InputError, match="cannot be read"):
        WorkloadRelease.from_bytes(b'{"workload": 1}\n123')
