"""Odd paths lead nowhere, and names of uploads never become paths."""

from urllib.parse import quote

import pytest

import discreet as dp
from clinic_curator import ABOUT
from running_server import head, served, status
from visits import clinic

TRICKS = [
    *("/v1", "/v1/", "//v1/health", "/v1//health", "/v1/health/", "/V1/health", "/v1/./health"),
    *(
        "/v1/../v1/health",
        "/v1/%2e%2e/v1/health",
        "/v1/health%00",
        "/v1/health%0a",
        "/v1/health%20",
    ),
    *("/v1/health;x", "/v1%2fhealth%2f", "/%76%31/nothing", "/v1/tokens%2f..%2fhealth"),
    *("/static/../access.sqlite", "/static/..%2f..%2fapp.py", "/static/%2e%2e/%2e%2e/app.py"),
    *("/static//etc/passwd", "/static/....//app.py", "/static/..%5c..%5capp.py", "/static/%00"),
    *("/static/", "/static", "/static/%c0%ae%c0%ae/app.py", "/static/%252e%252e/app.py"),
    *(
        "/access.sqlite",
        "/ledger.sqlite",
        "/.env",
        "/etc/passwd",
        "/docs",
        "/redoc",
        "/openapi.json",
    ),
    *("/v1/datasets/..%2f..%2fetc%2fpasswd", "/v1/datasets/%00", "/v1/datasets/%ff%fe"),
    *("/v1/tables/..%2fvisits/dummy", "/v1/tables/%00/dummy", "/v1/budgets/%2e%2e"),
    *("/v1/releases/-1", "/v1/releases/1e9", "/v1/releases/99999999999999999999999999"),
    *("/v1/releases/0x1", "/v1/releases/٣", "/v1/queries/-1", "/v1/queries/1;drop"),
    *("/v1/queries/99999999999999999999999999", "/v1/tokens/%27%20OR%201=1", "/v1/lab/attacks/.."),
]


@pytest.mark.parametrize("path", TRICKS)
def test_odd_paths_lead_nowhere(server, owner, path):
    sent = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {owner}\r\n"
    reply = server.raw(f"{sent}Connection: close\r\n\r\n".encode())

    assert status(reply) in {400, 404, 405, 422}
    assert b"root:" not in reply
    assert b"import" not in reply
    assert b"SQLite" not in reply


@pytest.mark.parametrize(
    "line",
    [
        *("GET http://evil.org/v1/me HTTP/1.1", "GET * HTTP/1.1", "OPTIONS * HTTP/1.1"),
        *("GET /v1/health", "GET  /v1/health HTTP/1.1", "\x00\x01"),
        *(
            "CONNECT evil.org:443 HTTP/1.1",
            "TRACE / HTTP/1.1",
            "PRI * HTTP/2.0",
            "GET /\xff HTTP/1.1",
        ),
    ],
)
def test_odd_request_lines_are_refused(server, line):
    reply = server.raw(f"{line}\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode("latin-1"))

    assert status(reply) in {None, 400, 404, 405}
    assert server.get("/v1/health").status == 200


@pytest.mark.parametrize(
    "name",
    [
        *(
            "..%2f..%2fevil.csv",
            "%2fetc%2fcron.csv",
            "a%00.csv",
            "C:%5cevil.csv",
            "-rf.csv",
            ".csv",
        ),
        *("%0d%0aSet-Cookie:x.csv", "a" * 240 + ".csv", "%ff.csv", "CON.csv", "*.csv", "a.csv%2f"),
        *("a.parquet.csv", "ä ö.csv"),
    ],
)
def test_the_name_of_an_upload_never_becomes_a_path(server, owner, folder, name):
    before = set(folder.rglob("*"))
    path = f"/v1/uploads?name={name}".encode().decode("latin-1")
    sent = head(owner, path, "Content-Length: 8", "Connection: close").decode().encode("latin-1")

    found = status(server.raw(sent + b"a,b\n1,2\n"))

    assert found in {201, 400, 422}
    made = [one for one in set(folder.rglob("*")) - before if one.name != "uploads"]
    assert all(one.parent == folder / "uploads" for one in made)
    assert all(one.name.removesuffix(".csv").isalnum() for one in made)
    for one in made:
        one.unlink()


@pytest.mark.parametrize("name", ["x.duckdb", "x.sqlite", "x", "", "x.csv.exe", "x.py", "x.gz"])
def test_other_formats_are_not_taken(server, owner, name):
    assert server.post(f"/v1/uploads?name={name}", token=owner, body=b"a").status == 422


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("a.parquet", b"PAR1" + b"\x00" * 50 + b"PAR1"),
        ("a.parquet", b""),
        ("a.csv.gz", b"\x1f\x8b garbage"),
        ("a.parquet", b"a,b\n1,2\n"),
    ],
)
def test_a_damaged_upload_is_refused_and_not_kept(server, owner, folder, name, body):
    answer = server.post(f"/v1/uploads?name={name}", token=owner, body=body)

    assert (answer.status, answer.error["kind"]) == (422, "InputError")
    assert list((folder / "uploads").iterdir()) == []


@pytest.mark.parametrize(
    "upload", ["../../x", "*", "", "0" * 32, "é" * 32, "0" * 32 + "\n", "?" * 32]
)
def test_an_upload_is_found_by_its_name_alone(server, owner, upload):
    said = {"name": "t", "upload": upload, "unit": "a", "budget": {"epsilon": 1}}

    for path in ("/v1/datasets", "/v1/preview"):
        assert server.post(path, token=owner, json=said).status in {404, 422}


@pytest.mark.parametrize("name", ["visits 2024/25", "a/raise", "/", "a//b", "50 % of ?#é"])
def test_a_dataset_is_found_whatever_its_name(name):
    said, place = dp.Budget(epsilon=3, delta=1e-6), quote(name, safe="")
    with dp.Curator.in_memory() as curator:
        curator.add(name, clinic(20), **ABOUT, budget=dp.Budget(epsilon=1, delta=1e-6))
        with served(curator) as server:
            token = server.token()
            answers = {
                path: server.get(path, token=token)
                for path in (f"/v1/budgets/{place}", f"/v1/datasets/{place}")
            }
            rows = server.get(f"/v1/tables/{place}/dummy?rows=3", token=token).json()["rows"]
            with dp.Curator(server.url, token=token) as remote:
                raised = remote.raise_budget(name, said, reason="more people")

    assert {answer.status for answer in answers.values()} == {200}
    assert answers[f"/v1/datasets/{place}"].json()["name"] == name
    assert len(rows) == 3
    assert raised.limit == said.cap()
