"""Record and replay over HTTP: on neighbouring datasets everything but released numbers is alike.

The same session is held with two servers whose data differ in one person. Status, headers and
bodies have to be the same bytes once released numbers, moments and names of requests are masked.
"""

import json
import re

import pyarrow as pa
import pytest

import discreet as dp
from clinic_curator import ABOUT, BY_CITY, COUNT, add_cities
from discreet.answer.present import release_json
from discreet.answer.present.release import Release
from discreet.plan import canonical
from running_server import served
from visits import clinic

CANARY = "kanarek-7319"
HEAVY = 5000
QUESTIONS = [
    COUNT,
    BY_CITY,
    COUNT,
    "SELECT city, AVG(amount) AS a, MEDIAN(amount) AS m FROM visits GROUP BY city ORDER BY city",
    "SELECT VARIANCE(amount) AS v FROM visits WHERE amount / (amount - amount) > 1",
    "SELECT COUNT(*) AS n FROM visits WHERE CAST(street AS INTEGER) > 3",
    "SELECT SUM(CAST(street AS INTEGER)) AS s FROM visits",
    "SELECT country, COUNT(*) AS n FROM visits JOIN cities ON city = name GROUP BY country",
    "SELECT * FROM visits",
    "SELECT street FROM visits",
    "SELECT MAX(street) AS m FROM visits",
    "SELECT COUNT(*) AS n FROM nowhere",
    "SELECT",
    "SELECT COUNT(*) AS n FROM visits; DROP TABLE visits",
]
NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
HIDDEN = ("date", "x-request-id", "content-length")


def neighbours():
    """A clinic, and the same with one person more: many rows, and values that nobody else has."""
    rows = clinic(60)
    heavy = pa.table(
        {
            "person": pa.array([777] * HEAVY, pa.int64()),
            "city": pa.array(["Oslo"] * HEAVY),
            "street": pa.array([CANARY] * HEAVY),
            "amount": pa.array([99.0 + 7319e-6] * HEAVY),
        }
    )
    return rows, pa.concat_tables([rows, heavy])


def held(rows):
    """Everything that a session shows: replies, masked, and the server's log."""
    seen, raw = [], []
    with dp.Curator.in_memory() as curator:
        curator.add("visits", rows, **ABOUT, budget=dp.Budget(epsilon=3, delta=1e-6))
        add_cities(curator)
        plan = curator.table("visits").group_by("city").agg(n=dp.count()).query()
        with served(curator) as server:
            for method, path, body, headers, role in session(canonical.write(plan)):
                token = server.token(f"{role} one", role)
                reply = server.request(method, path, json=body, headers=headers, token=token)
                raw += [reply.body, str(reply.headers).encode()]
                seen.append((method, path, body, *masked(reply)))
        logs = [masked_line(line) for line in server.logs]
    return seen, logs, b"\n".join([*raw, *(line.encode() for line in server.logs)])


def session(plan):
    """Requests of an analyst, an owner and an auditor, good ones and bad ones."""
    for text in QUESTIONS:
        question = {"sql": text, "epsilon": "0.1"}
        yield "POST", "/v1/explain", question, {}, "analyst"
        yield "POST", "/v1/queries", question, {}, "analyst"
        yield "POST", "/v1/queries", question, {"Accept": Release.media_type}, "analyst"
        yield "POST", "/v1/remeasure", {**question, "epsilon": "1/7"}, {}, "analyst"
    yield "POST", "/v1/queries", {"plan": plan, "epsilon": "0.1"}, {}, "analyst"
    yield "POST", "/v1/queries", {"plan": plan[:-5], "epsilon": "0.1"}, {}, "analyst"
    for odd in (
        {"sql": BY_CITY, "epsilon": "50"},
        {"sql": BY_CITY, "epsilon": "-1"},
        {"sql": BY_CITY},
        {"sql": BY_CITY, "accuracy": {"within": 100}},
        {"sql": BY_CITY, "accuracy": {"within": "1e-9"}},
        {"epsilon": "1"},
        {"sql": 7, "epsilon": "1"},
    ):
        yield "POST", "/v1/queries", odd, {}, "analyst"
    key = {"Idempotency-Key": "once"}
    yield "POST", "/v1/queries", {"sql": COUNT, "epsilon": "0.01"}, key, "analyst"
    yield "POST", "/v1/queries", {"sql": COUNT, "epsilon": "0.02"}, key, "analyst"
    for path in ("/v1/releases", "/v1/releases/5", "/v1/queries/5", "/v1/releases/999"):
        yield "GET", path, None, {}, "analyst"
    for form in ("csv", "parquet", "chart", "statement", "python", "odd"):
        yield "GET", f"/v1/releases/5?format={form}", None, {}, "owner"
    for path in ("/v1/schema", "/v1/budgets", "/v1/budgets/visits", "/v1/budgets/nowhere"):
        yield "GET", path, None, {}, "analyst"
        yield "GET", path, None, {}, "owner"
    yield "GET", "/v1/tables/visits/dummy", None, {}, "analyst"
    yield "GET", "/v1/health", None, {}, "analyst"
    yield "GET", "/v1/metrics", None, {}, "owner"
    yield "POST", "/v1/queries", {"sql": COUNT, "epsilon": "1"}, {}, "auditor"


# --- masks --------------------------------------------------------------------------------------


def masked(reply):
    headers = [(k.lower(), v) for k, v in reply.headers.items() if k.lower() not in HIDDEN]
    kind = reply.headers.get("content-type", "")
    if kind == Release.media_type:
        return reply.status, headers, masked_release(reply.body)
    if "vegalite" in kind:
        return reply.status, headers, masked_chart(reply.body)
    if "json" in kind:
        return reply.status, headers, masked_json(json.loads(reply.body))
    if "parquet" in kind:
        return reply.status, headers, "binary"
    return reply.status, headers, NUMBER.sub("#", reply.body.decode())


def masked_release(body):
    """The columns, their types, keys, cost and notes; what noise has touched is left out."""
    release = Release.from_bytes(body)
    keys = [release.table.column(name).to_pylist() for name in release.facts.keys]
    return (
        str(release.table.schema),
        keys,
        release.table.num_rows,
        dict(release.how),
        str(release.price),
        str(release.guarantee.to_dict()),
        [(c.what, c.noise, str(c.guarantee.to_dict())) for c in release.costs],
        release.notes,
        release.facts,
    )


def masked_json(facts, name=""):
    """Released numbers, how far noise has moved them, and moments are masked; nothing else is."""
    match facts:
        case dict() if name == "half_widths":
            return {key: mask_numbers(value) for key, value in facts.items()}
        case dict():
            return {key: masked_json(value, key) for key, value in facts.items()}
        case list() if name == "rows":
            return [[x if isinstance(x, str) else "#" for x in row] for row in facts]
        case list():
            return [masked_json(value, name) for value in facts]
        case str() if name == "time":
            return "moment"
    return facts


def mask_numbers(value):
    return ["#" if x is not None else x for x in value] if isinstance(value, list) else value


def masked_chart(body):
    """A chart holds the numbers, under a name that is their digest."""
    return NUMBER.sub("#", re.sub(r"data-[0-9a-f]+", "data", body.decode()))


def masked_line(line):
    """A line of the log without its moment, its request and how many ticks it took."""
    facts = json.loads(line)
    return {k: v for k, v in facts.items() if k not in {"time", "id", "token", "ms"}}


# --- what has to hold ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def both():
    return [held(rows) for rows in neighbours()]


def test_replies_on_neighbours_are_the_same_but_for_released_numbers(both):
    (first, _, _), (second, _, _) = both

    assert len(first) == len(second) > 80
    for one, other in zip(first, second, strict=True):
        assert one == other


def test_the_session_has_answers_and_every_kind_of_refusal(both):
    statuses = {entry[3] for entry in both[0][0]}

    assert {200, 402, 403, 404, 422} <= statuses
    assert not statuses & {500, 503}


def test_logs_on_neighbours_are_the_same(both):
    assert both[0][1] == both[1][1]


def test_no_value_of_the_data_is_in_any_reply_or_log(both):
    for _, _, raw in both:
        assert CANARY.encode() not in raw
        assert b"99.007319" not in raw


def test_what_is_compared_is_not_masked_away(both):
    """Prices, columns, keys and texts are still there to be compared."""
    text = json.dumps(both[0][0], default=str)

    assert all(word in text for word in ("Haifa", "one person, with all of their rows", "0.1"))


def test_a_reply_that_depends_on_data_would_be_noticed(monkeypatch):
    """The planted fault: a server that tells how many rows there are."""
    plain, told = release_json.release_facts, []
    for rows in neighbours():

        def leaking(release, rows=rows):
            return {**plain(release), "notes": [f"of {rows.num_rows} rows"]}

        monkeypatch.setattr(release_json, "release_facts", leaking)
        with dp.Curator.in_memory() as curator:
            curator.add("visits", rows, **ABOUT, budget=dp.Budget(epsilon=3, delta=1e-6))
            with served(curator) as server:
                question = {"sql": COUNT, "epsilon": "0.1"}
                token = server.token("ann", "analyst")
                told.append(masked(server.post("/v1/queries", token=token, json=question)))

    assert told[0] != told[1]
