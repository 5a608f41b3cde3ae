"""What was answered, in every form; what was spent, and on what."""

import io
import json

import pyarrow.parquet as pq
import pytest

import discreet as dp
from clinic_curator import ABOUT, BUDGET, BY_CITY, COUNT, add_visits
from discreet.answer.measurement_plan import MeasurementPlan
from discreet.errors import EngineError
from running_server import served
from visits import clinic


@pytest.fixture(scope="module")
def app_state():
    with dp.Curator.in_memory() as curator:
        add_visits(curator)
        curator.add("bills", clinic(20), **ABOUT, budget=BUDGET)
        for name in ("alice", "bob"):
            desk = curator.as_analyst(name)
            desk.sql(BY_CITY, epsilon=0.1)
            desk.sql(f"{COUNT} WHERE amount < {len(name)}", epsilon=0.2)
        built = curator.table("visits", analyst="alice").group_by("city").agg(n=dp.count())
        built.release(epsilon=0.3)
        with served(curator) as server:
            yield curator, server, server.token("alice", "analyst"), server.token("ann", "owner")


def read(app_state, path, *, owner=False, status=200, **how):
    _, server, alice, ann = app_state
    reply = server.get(path, token=ann if owner else alice, **how)
    assert reply.status == status, reply.body
    return reply


def newest(app_state, **how):
    return read(app_state, "/v1/releases", **how).json()


def by_city(app_state):
    return next(one["id"] for one in newest(app_state) if one["sql"] == BY_CITY)


def test_the_list_has_ones_own_newest_first(app_state):
    mine = newest(app_state)[-3:]  # before what other tests ask
    all_ = newest(app_state, owner=True)[-4:]  # one of them is two analysts'

    assert [one["sql"] for one in mine] == [None, f"{COUNT} WHERE amount < 5", BY_CITY]
    assert {one["analyst"] for one in mine} == {"alice"}
    assert {one["analyst"] for one in all_} == {"alice", "bob"}
    assert [one["id"] for one in all_] == sorted((one["id"] for one in all_), reverse=True)
    assert all(one["released"] for one in all_)
    assert mine[-1]["epsilon"] == 0.1


def test_the_list_comes_in_pages(app_state):
    first = newest(app_state)[0]["id"]
    rest = read(app_state, f"/v1/releases?before={first}&limit=1").json()

    assert [one["id"] for one in rest] == [newest(app_state)[1]["id"]]
    for odd in ("before=0", "limit=0", "limit=201", "before=x", "limit=-1"):
        read(app_state, f"/v1/releases?{odd}", status=422)


def test_an_answer_told_again_is_in_the_list_of_whoever_was_told(app_state):
    curator, server, *_ = app_state
    curator.as_analyst("carol").sql(BY_CITY, epsilon=0.1)
    token = server.token("carol", "analyst")
    [told] = server.get("/v1/releases", token=token).json()

    assert (told["id"], told["analyst"]) == (by_city(app_state), "carol")
    assert server.get(f"/v1/releases/{told['id']}", token=token).status == 200


def test_a_release_can_be_had_in_every_form(app_state):
    curator, charge = app_state[0], by_city(app_state)
    release = curator.sql(BY_CITY, epsilon=0.1, analyst="alice")
    got = {
        form: read(app_state, f"/v1/releases/{charge}?format={form}")
        for form in ("json", "arrow", "csv", "parquet", "chart", "statement")
    }

    assert got["arrow"].body == release.to_bytes()
    assert got["csv"].body.decode() == release.to_csv()
    assert pq.read_table(io.BytesIO(got["parquet"].body)).equals(release.to_arrow())
    assert json.loads(got["chart"].body) == release.chart().to_dict()
    assert got["statement"].body.decode() == release.statement()
    assert got["json"].json()["rows"] == [list(row.values()) for row in release.table.to_pylist()]
    assert 'filename="release-' in got["csv"].headers["content-disposition"]
    read(app_state, f"/v1/releases/{charge}?format=exe", status=422)
    for media, form in (("text/csv", "csv"), ("application/vnd.apache.parquet", "parquet")):
        again = read(app_state, f"/v1/releases/{charge}", headers={"Accept": media})
        assert again.body == got[form].body


def test_python_to_paste_finds_the_same_answer_for_nothing(app_state, monkeypatch):
    curator, server, alice, _ = app_state
    monkeypatch.setenv("DISCREET_TOKEN", alice)
    ratio = "SELECT SUM(amount) / COUNT(*) AS r, COUNT(DISTINCT person) AS u FROM visits"
    curator.as_analyst("alice").sql(ratio, epsilon=0.1, weights={"r": 4, "u": 0.5})
    before = curator.budget("visits")
    for one in newest(app_state):
        text = read(app_state, f"/v1/releases/{one['id']}?format=python").body.decode()
        names = {}
        exec(compile(text.replace("print(answer)", ""), "pasted", "exec"), names)  # noqa: S102 - our own text
        stored = read(app_state, f"/v1/releases/{one['id']}?format=arrow").body
        assert names["answer"].to_bytes() == stored
        names["curator"].close()

    assert curator.budget("visits") == before
    assert str(server.port) in text


def test_odd_numbers_lead_nowhere(app_state):
    for odd in ("0", "-1", "1.5", "x", "99999999999999999999999"):
        read(app_state, f"/v1/releases/{odd}", status=422)
    read(app_state, "/v1/releases/1", status=404)
    read(app_state, "/v1/releases/123456", status=404, owner=True)


def test_budgets_tell_amounts_and_chances(app_state):
    curator = app_state[0]
    told = read(app_state, "/v1/budgets").json()["accounts"]
    names = [(one["holder"]["kind"], one["holder"]["name"]) for one in told]
    visits = next(one for one in told if one["holder"]["name"] == "visits")

    assert sorted(names) == [("analyst", "alice"), ("dataset", "bills"), ("dataset", "visits")]
    assert visits["spent"] + visits["left"] == pytest.approx(visits["cap"])
    assert visits["cap_epsilon"] == 3.0
    odds = visits["odds"]
    assert odds["before"] < odds["after_spent"] < odds["after_cap"] < 100
    everybody = read(app_state, "/v1/budgets?odds=false", owner=True).json()["accounts"]
    assert len(everybody) == len(curator.ledger.accounts())
    assert "odds" not in everybody[0]


def test_history_adds_up_and_names_nobody_else(app_state):
    curator = app_state[0]
    mine = read(app_state, "/v1/budgets/visits").json()["history"]
    all_ = read(app_state, "/v1/budgets/visits", owner=True).json()["history"]
    spent = float(curator.budget("visits").total.amount)

    assert [one["id"] for one in mine] == [one["id"] for one in all_]
    assert mine[-1]["spent_after"] == pytest.approx(spent)
    assert sum(one["cost"] for one in mine) == pytest.approx(spent)
    assert {one["analyst"] for one in mine} == {"alice", None}
    assert {one["analyst"] for one in all_} >= {"alice", "bob"}
    assert all(one["sql"] is None for one in mine if one["analyst"] is None)
    read(app_state, "/v1/budgets/nowhere", status=404)


def test_a_question_that_is_asked_again_is_known_to_be_free(app_state):
    _, server, alice, _ = app_state
    body = {"sql": BY_CITY, "epsilon": "0.1"}
    facts = server.post("/v1/explain", token=alice, json=body).json()["facts"]
    other = server.post("/v1/explain", token=alice, json={**body, "epsilon": "0.15"}).json()[
        "facts"
    ]

    assert facts["before"] == by_city(app_state)
    assert other["before"] is None


def test_a_question_that_failed_is_told_as_that_wherever_its_answer_is_looked_for(monkeypatch):
    def fail(*_):
        raise EngineError("42 rows of Bob", why="he is there", fix="none")

    with add_visits(dp.Curator.in_memory()) as curator, served(curator) as server:
        alice = server.token("alice", "analyst")
        with monkeypatch.context() as broken:
            broken.setattr(MeasurementPlan, "measure", fail)
            body = {"sql": COUNT, "epsilon": "0.1"}
            first = server.post("/v1/queries", token=alice, json=body)
        [listed] = server.get("/v1/releases", token=alice).json()
        places = (f"/v1/{place}/{listed['id']}" for place in ("queries", "releases"))
        again = [server.get(place, token=alice) for place in places]

    assert (listed["failed"], listed["released"]) == (True, False)
    assert [(one.status, one.error) for one in again] == [(503, first.error)] * 2
    assert "Bob" not in str(first.error)


def test_who_shares_an_answer_sees_neither_the_comments_nor_the_share_of_who_asked_first(app_state):
    curator, server, *_ = app_state
    curator.grant("dora", "visits", dp.Budget(epsilon=1, delta=1e-6))
    text = f"{COUNT} WHERE amount < 77"
    first = f"{text} -- before the layoffs"
    curator.as_analyst("dora").sql(first, epsilon=0.1)
    token = server.token("emil", "analyst")
    asked = {"sql": f"{text}  /* mine */", "epsilon": 0.1}
    told = server.post("/v1/queries", json=asked, token=token).json()
    again = server.get(f"/v1/queries/{told['id']}", token=token).json()
    listed = server.get("/v1/releases", token=token).json()
    python = server.get(f"/v1/releases/{told['id']}?format=python", token=token)

    assert not told["charged"]
    assert told["sql"] == asked["sql"]
    assert {again["sql"], listed[0]["sql"]} == {text}
    assert b"layoffs" not in python.body
    assert again["budget_share"] == told["budget_share"] < 0.02
