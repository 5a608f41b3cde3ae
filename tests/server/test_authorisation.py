"""Every route x every role x no, expired, revoked or strange token, against a table of who may."""

import json
import re

import pytest
from fastapi.routing import APIRoute

import discreet as dp
from discreet.server import tokens
from discreet.server.app import build_app

EVERYBODY = frozenset({"owner", "analyst", "auditor", "nobody"})
MEMBERS = frozenset({"owner", "analyst", "auditor"})
ASKERS = frozenset({"owner", "analyst"})
READERS = frozenset({"owner", "auditor"})
OWNERS = frozenset({"owner"})

EXPECTED = {
    ("GET", "/v1/health"): EVERYBODY,
    ("GET", "/v1/metrics"): READERS,
    ("GET", "/v1/openapi.json"): EVERYBODY,
    ("POST", "/v1/session"): EVERYBODY,
    ("DELETE", "/v1/session"): MEMBERS,
    ("GET", "/v1/me"): MEMBERS,
    ("GET", "/v1/tokens"): OWNERS,
    ("POST", "/v1/tokens"): OWNERS,
    ("DELETE", "/v1/tokens/{token_id}"): OWNERS,
    ("GET", "/v1/schema"): MEMBERS,
    ("GET", "/v1/datasets"): MEMBERS,
    ("GET", "/v1/datasets/{name}"): MEMBERS,
    ("GET", "/v1/tables/{table}/dummy"): MEMBERS,
    ("POST", "/v1/explain"): ASKERS,
    ("POST", "/v1/queries"): ASKERS,
    ("POST", "/v1/workbooks"): ASKERS,
    ("GET", "/v1/queries/{charge}"): ASKERS,
    ("DELETE", "/v1/queries/{charge}"): ASKERS,
    ("POST", "/v1/remeasure"): ASKERS,
    ("POST", "/v1/orders"): ASKERS,
    ("POST", "/v1/orders/explain"): ASKERS,
    ("POST", "/v1/online/{charge}/ask"): ASKERS,
    ("GET", "/v1/online/{charge}"): ASKERS,
    ("GET", "/v1/streams/{charge}"): ASKERS,
    ("GET", "/v1/releases"): ASKERS,
    ("GET", "/v1/releases/{charge}"): ASKERS,
    ("GET", "/v1/saved"): ASKERS,
    ("POST", "/v1/saved"): ASKERS,
    ("DELETE", "/v1/saved/{saved}"): ASKERS,
    ("GET", "/v1/budgets"): MEMBERS,
    ("GET", "/v1/budgets/{dataset}"): MEMBERS,
    ("POST", "/v1/budgets/{dataset}/raise"): OWNERS,
    ("POST", "/v1/grants"): OWNERS,
    ("POST", "/v1/groups"): OWNERS,
    ("POST", "/v1/links"): OWNERS,
    ("POST", "/v1/links/{name}/raise"): OWNERS,
    ("POST", "/v1/uploads"): OWNERS,
    ("POST", "/v1/uploads/{upload}/report"): OWNERS,
    ("POST", "/v1/datasets/{dataset}/retire"): OWNERS,
    ("POST", "/v1/datasets"): OWNERS,
    ("POST", "/v1/parts"): OWNERS,
    ("GET", "/v1/parts/{dataset}"): ASKERS,
    ("POST", "/v1/people/statement"): OWNERS,
    ("POST", "/v1/people/limit"): OWNERS,
    ("POST", "/v1/people/remove"): OWNERS,
    ("POST", "/v1/public-tables"): OWNERS,
    ("POST", "/v1/preview"): OWNERS,
    ("POST", "/v1/demo"): OWNERS,
    ("GET", "/v1/ledger"): READERS,
    ("POST", "/v1/ledger/verify"): READERS,
    ("GET", "/v1/ledger/export"): READERS,
    ("GET", "/v1/dossier"): READERS,
    ("GET", "/v1/campaigns"): EVERYBODY,
    ("POST", "/v1/campaigns"): OWNERS,
    ("GET", "/v1/campaigns/{campaign}"): EVERYBODY,
    ("GET", "/v1/campaigns/{campaign}/estimate"): MEMBERS,
    ("POST", "/v1/campaigns/{campaign}/table"): OWNERS,
    ("POST", "/v1/reports/{campaign}"): EVERYBODY,
    ("GET", "/v1/lab/noise"): EVERYBODY,
    ("POST", "/v1/lab/classroom"): EVERYBODY,
    ("POST", "/v1/lab/poll"): EVERYBODY,
    ("GET", "/v1/lab/attacks"): EVERYBODY,
    ("POST", "/v1/lab/attacks/{name}"): EVERYBODY,
    ("GET", "/v1/lab/deployments"): EVERYBODY,
    ("GET", "/v1/lab/society"): EVERYBODY,
    ("GET", "/v1/lab/dossier"): EVERYBODY,
    ("GET", "/v1/lab/quantum"): EVERYBODY,
    ("GET", "/"): EVERYBODY,
    ("GET", "/ask"): EVERYBODY,
    ("GET", "/budget"): EVERYBODY,
    ("GET", "/data"): EVERYBODY,
    ("GET", "/ledger"): EVERYBODY,
    ("GET", "/lab"): EVERYBODY,
    ("GET", "/dossier"): EVERYBODY,
    ("GET", "/help"): EVERYBODY,
    ("GET", "/statement"): EVERYBODY,
    ("GET", "/favicon.ico"): EVERYBODY,
    ("GET", "/static/{path}"): EVERYBODY,
}
"""Who may call what. A route that is not here fails the tests."""

ROUTES = pytest.mark.parametrize(("method", "template"), sorted(EXPECTED))


@pytest.fixture(scope="module")
def working(server):
    return {role: server.token(f"a working {role}", role) for role in tokens.ROLES}


@pytest.fixture(scope="module")
def strange(server):
    """Texts that open nothing: one of each kind for each role."""
    expired = {f"expired {r}": server.token(f"late {r}", r, days=1e-12) for r in tokens.ROLES}
    revoked = {}
    for role in tokens.ROLES:
        made = tokens.issue(server.access, f"gone {role}", role)
        tokens.revoke(server.access, made.token.id)
        revoked[f"revoked {role}"] = made.text
    forged = {"forged": f"{made.text[:-4]}AAAA", "empty": "", "odd": "dpt_", "words": "let me in"}
    return expired | revoked | forged


@pytest.fixture(scope="module")
def cookies(server, working):
    return {role: log_in(server, token) for role, token in working.items()}


@pytest.fixture
def untouched(server):
    """Nothing that a test does here may reach the ledger."""
    before = server.app.state.app_state.curator.ledger.head()
    yield
    assert server.app.state.app_state.curator.ledger.head() == before


def called(server, method, template, token=None, **how):
    """A route with parameters that lead nowhere and a body that no route takes."""
    path = re.sub(r"\{[^}]*\}", "999999999", template)
    body = None if method == "GET" else "{"
    headers = {"Content-Type": "application/json", **how.pop("headers", {})}
    return server.request(method, path, token=token, body=body, headers=headers, **how)


def routes_of(app):
    """Every route that the application has, however it is nested."""
    pending, found = list(app.routes), set()
    while pending:
        one = pending.pop()
        inner = getattr(one, "effective_route_contexts", None)
        if inner is not None:
            pending += list(inner())
        elif getattr(one, "methods", None):
            found |= {(method, one.path_format) for method in one.methods}
    return found


def test_the_table_knows_every_route_and_no_other(server):
    gates = {
        (method, gate.template)
        for gate in server.app.state.route_accesses
        for method in gate.methods
    }
    described = {
        (method.upper(), path)
        for path, methods in server.app.openapi()["paths"].items()
        for method in methods
    }

    assert gates == set(EXPECTED)
    assert described <= gates
    assert routes_of(server.app) <= gates


def test_the_door_reads_the_same_as_the_table(server):
    for gate in server.app.state.route_accesses:
        for method in gate.methods:
            allowed = EVERYBODY if gate.guard is None else gate.guard.roles
            assert allowed == EXPECTED[method, gate.template], (method, gate.template)


@pytest.mark.usefixtures("untouched")
@ROUTES
def test_each_role_gets_through_to_its_own_routes_alone(server, working, method, template):
    for role, token in working.items():
        if (method, template) == ("DELETE", "/v1/session"):
            continue  # see below
        answer = called(server, method, template, token)
        if role in EXPECTED[method, template]:
            assert answer.status not in {401, 403}, (role, answer)
        else:
            assert (answer.status, answer.error["kind"]) == (403, "AccessError"), role
        assert answer.status < 500, (role, answer)


@pytest.mark.usefixtures("untouched")
@ROUTES
def test_without_a_token_that_works_only_open_routes_answer(server, strange, method, template):
    told = set()
    for token in (None, *strange.values()):
        answer = called(server, method, template, token)
        if "nobody" in EXPECTED[method, template]:
            assert answer.status not in {401, 403}
        else:
            assert answer.status == 401
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            told.add(answer.body)
    assert len(told) <= 1


@pytest.mark.usefixtures("untouched")
@ROUTES
def test_a_cookie_alone_reads_and_changes_nothing(server, cookies, method, template):
    for role, cookie in cookies.items():
        answer = called(server, method, template, headers={"Cookie": cookie})
        allowed = EXPECTED[method, template]
        if "nobody" in allowed:
            assert answer.status not in {401, 403}
        elif method == "GET":
            assert (answer.status == 403) is (role not in allowed)
        else:
            assert answer.status == 403


def test_a_token_for_another_dataset_sees_and_asks_nothing_of_this_one(server):
    token = server.token("elsewhere", "analyst", datasets=["salaries"])
    question = {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 0.1}
    before = server.app.state.app_state.curator.ledger.head()

    told = {
        "schema": server.get("/v1/schema", token=token),
        "datasets": server.get("/v1/datasets", token=token),
        "budgets": server.get("/v1/budgets", token=token),
        "releases": server.get("/v1/releases", token=token),
    }
    refused = [
        server.get("/v1/datasets/visits", token=token),
        server.get("/v1/tables/visits/dummy", token=token),
        server.get("/v1/budgets/visits", token=token),
        server.post("/v1/explain", token=token, json=question),
        server.post("/v1/queries", token=token, json=question),
        server.post("/v1/remeasure", token=token, json=question),
    ]

    for name, answer in told.items():
        assert answer.status == 200, name
        assert b"visits" not in answer.body, name
        assert b"patient" not in answer.body, name
    for answer in refused:
        assert answer.status in {403, 404, 422}, answer
        assert b"patient" not in answer.body
    assert server.app.state.app_state.curator.ledger.head() == before
    assert told["schema"].json()["datasets"] == {}


def test_for_a_scoped_token_a_hidden_dataset_reads_like_one_that_does_not_exist(server):
    token = server.token("elsewhere", "analyst", datasets=["salaries"])

    def told(name):
        question = {"sql": f"SELECT COUNT(*) AS n FROM {name}", "epsilon": 0.1}  # noqa: S608 - ours
        answers = [
            server.get(f"/v1/datasets/{name}", token=token),
            server.get(f"/v1/tables/{name}/dummy", token=token),
            server.get(f"/v1/budgets/{name}", token=token),
            server.post("/v1/explain", token=token, json=question),
            server.post("/v1/queries", token=token, json=question),
        ]
        return [(one.status, one.body.replace(name.encode(), b"NAME")) for one in answers]

    assert told("visits") == told("absent")


def test_releases_belong_to_whoever_asked(server, working):
    question = {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 0.125}
    ann, ben = (server.token(name, "analyst") for name in ("ann", "ben"))
    before = {one["id"] for one in server.get("/v1/releases", token=working["owner"]).json()}
    assert server.post("/v1/queries", token=ann, json=question).status == 200

    [made] = [
        one["id"]
        for one in server.get("/v1/releases", token=working["owner"]).json()
        if one["id"] not in before
    ]

    for path in (f"/v1/queries/{made}", f"/v1/releases/{made}"):
        assert server.get(path, token=ann).status == 200
        assert server.get(path, token=working["owner"]).status == 200
        assert server.get(path, token=ben).status == 404
        assert server.get(path, token=working["auditor"]).status == 403
        assert server.get(path).status == 401
    assert server.get("/v1/releases", token=ben).json() == []


def test_revoking_ends_tokens_and_their_sessions_at_once(server, working):
    made = server.post(
        "/v1/tokens", token=working["owner"], json={"name": "brief", "role": "analyst"}
    ).json()
    cookie = log_in(server, made["token"])
    assert server.get("/v1/me", token=made["token"]).status == 200
    assert server.get("/v1/me", headers={"Cookie": cookie}).status == 200

    assert server.delete(f"/v1/tokens/{made['id']}", token=working["owner"]).status == 204

    assert server.get("/v1/me", token=made["token"]).status == 401
    assert server.get("/v1/me", headers={"Cookie": cookie}).status == 401
    assert server.post("/v1/session", json={"token": made["token"]}).status == 401


def test_an_owner_can_prove_who_was_let_in(server, working):
    made = server.post(
        "/v1/tokens", token=working["owner"], json={"name": "cleo", "role": "auditor"}
    ).json()
    server.delete(f"/v1/tokens/{made['id']}", token=working["owner"])
    ledger = server.app.state.app_state.curator.ledger
    kinds = {
        (one.kind, one.by) for one in ledger.entries(limit=1000) if made["id"] in str(one.facts)
    }

    assert kinds == {("token made", "a working owner"), ("token revoked", "a working owner")}
    listed = server.get("/v1/tokens", token=working["owner"])
    assert made["token"].encode() not in listed.body
    assert ledger.verify().ok


def test_a_planted_route_without_a_guard_is_not_served():
    from discreet.errors import InputError
    from discreet.server.routes import health

    route = APIRoute("/planted", lambda: {"open": True}, methods=["GET"])
    health.router.routes.append(route)
    try:
        with pytest.raises(InputError, match="guards"):
            build_app(dp.Curator.in_memory())
    finally:
        health.router.routes.remove(route)


def log_in(server, token):
    answer = server.post("/v1/session", json={"token": token})
    assert answer.status == 200, json.dumps(answer.json())
    return answer.headers["Set-Cookie"].partition(";")[0]
