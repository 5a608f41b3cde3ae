"""Hostile questions, and what neither replies nor logs may hold."""

import io
import json

import pyarrow.parquet as pq

from golden_pairs import GOLDEN
from running_server import QUICK
from visits_folder import CANARY, CANARY_TEXT, rows

COUNT = {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 0.1}


REFUSED = [
    line.partition(": ")[2]
    for line in (GOLDEN / "refused.txt").read_text(encoding="utf-8").splitlines()
    if ": " in line and not line.startswith(("#", "public_only"))  # those are free, about nobody
]
INJECTIONS = [
    *(
        "SELECT * FROM visits",
        "SELECT note FROM visits",
        "SELECT COUNT(*) FROM visits; DROP TABLE x",
    ),
    *("SELECT COUNT(*) FROM read_csv('/etc/passwd')", "COPY visits TO '/tmp/x'", "PRAGMA version"),
    *(
        "ATTACH 'ledger.sqlite' AS l",
        "SELECT COUNT(*) FROM sqlite_master",
        "INSTALL httpfs",
        ";",
        "",
    ),
    *(
        "SELECT getenv('HOME')",
        "SELECT COUNT(*) FROM visits WHERE 1=1 OR sleep(9)",
        "'",
        "\x00",
        "--",
    ),
    *("SELECT " + "(" * 5000 + "1" + ")" * 5000, "SELECT " + "1+" * 9000 + "1", "\U0001f600" * 500),
]


def test_hostile_sql_is_refused_with_a_reason_and_costs_nothing(server, owner, curator):
    before = curator.ledger.head()

    for sql in (*REFUSED[::4], *INJECTIONS):
        for path in ("/v1/explain", "/v1/queries"):
            answer = server.post(path, token=owner, json={"sql": sql, "epsilon": 0.1})
            assert answer.status == 422, sql
            assert answer.error["kind"] in {"QueryRefused", "InputError"}, sql
            assert all(answer.error[part] for part in ("what", "why", "fix"))

    assert curator.ledger.head() == before


def test_neither_replies_nor_logs_hold_what_they_must_not(server, owner):
    said = "an unmistakable literal 31337"
    answers = [
        server.post("/v1/queries", token=owner, json=question)
        for question in (
            COUNT,
            {"sql": f"SELECT COUNT(*) AS n FROM visits WHERE note = '{said}'", "epsilon": 0.1},  # noqa: S608 - ours
            {"sql": "SELECT note, COUNT(*) AS n FROM visits GROUP BY note", "epsilon": 0.1},
            {"sql": "SELECT SUM(cost) AS s FROM visits", "epsilon": 0.1},
            {"sql": "SELECT MAX(cost) AS s FROM visits", "epsilon": 0.1},
            {
                "sql": "SELECT COUNT(*) AS n FROM visits WHERE note / 0 = CAST(note AS INT)",
                "epsilon": 1,
            },
        )
    ]
    answers += [
        server.get(path, token=owner) for path in ("/v1/schema", "/v1/ledger", "/v1/metrics")
    ]
    answers.append(server.get("/v1/nothing/to/see?secret=hunter2"))
    answers.append(server.get("/v1/datasets/a-guessed-name", token=owner))
    canaries = (str(CANARY).encode(), CANARY_TEXT.encode())

    for answer in answers:
        assert not any(one in answer.body for one in canaries)
    server.logged(len(answers))
    logged = "\n".join(server.logs)
    for text in (
        *canaries,
        said,
        "SELECT",
        "hunter2",
        "secret=",
        "to/see",
        "a-guessed-name",
        owner,
        owner.split("_", 2)[2],
    ):
        assert (text.decode() if isinstance(text, bytes) else text) not in logged
    for line in server.logs:
        facts = json.loads(line)
        assert set(facts) <= {
            *("time", "id", "method", "route", "status", "token", "ms", "error", "where"),
        }
        assert facts["ms"] % round(QUICK.quantum * 1000) == 0


def test_an_error_that_nobody_meant_says_nothing(server, owner, curator, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError(f"the value is {CANARY_TEXT}")

    monkeypatch.setattr(curator.ledger, "entries", broken)
    server.logged(0)
    answer = server.get("/v1/ledger", token=owner)
    [line] = server.logged(about="/v1/ledger")

    assert (answer.status, answer.error["kind"]) == (500, "InvariantBroken")
    assert CANARY_TEXT.encode() not in answer.body
    assert (json.loads(line)["status"], json.loads(line)["error"]) == (500, "RuntimeError")
    assert CANARY_TEXT not in line


def test_metrics_count_routes_and_nothing_else(server, owner):
    server.post("/v1/queries", token=owner, json=COUNT)
    text = server.get("/v1/metrics", token=owner).body.decode()

    assert 'route="/v1/queries",method="POST",status="2xx"' in text
    for word in ("visits", "owner", "SELECT", CANARY_TEXT, owner):
        assert word not in text


def test_an_upload_becomes_a_dataset_and_reads_the_header_alone_before(server, owner, folder):
    file = io.BytesIO()
    pq.write_table(rows(50), file)
    made = server.post("/v1/uploads?name=more.parquet", token=owner, body=file.getvalue())
    assert made.status == 201
    assert CANARY_TEXT.encode() not in made.body
    said = {
        "name": "more",
        "upload": made.json()["upload"],
        "unit": "patient",
        "columns": {"city": {"keys": ["Austin", "Haifa"]}, "age": {"bounds": [0, "120"]}},
        "budget": {"epsilon": 3, "delta": "1e-6"},
    }

    preview = server.post("/v1/preview", token=owner, json=said)
    wrong = server.post("/v1/datasets", token=owner, json=said | {"unit": "nonsuch"})
    added = server.post("/v1/datasets", token=owner, json=said)

    assert preview.status == 200
    assert CANARY_TEXT.encode() not in preview.body
    assert str(CANARY).encode() not in preview.body
    assert preview.json()["question"]["answer"]["columns"] == ["city", "n"]
    assert (wrong.status, added.status) == (422, 201)
    assert list((folder / "uploads").iterdir()) == []
    asked = {"sql": "SELECT COUNT(*) AS n FROM more", "epsilon": 1}
    assert server.post("/v1/queries", token=owner, json=asked).status == 200
