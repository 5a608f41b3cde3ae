"""Saving questions over HTTP: one's own, within one's sight, and never charged."""

SQL = "SELECT COUNT(*) AS n FROM visits"


def test_a_question_is_saved_listed_and_forgotten_for_nothing(server, curator, owner):
    body = {"title": "all / visits", "sql": SQL, "terms": {"epsilon": "0.1"}, "dashboard": "Week"}
    before = curator.ledger.head()

    made = server.post("/v1/saved", token=owner, json=body).json()

    assert made.items() >= body.items()
    assert server.get("/v1/saved", token=owner).json() == [made]
    assert server.get("/v1/saved", token=server.token("ann", "analyst")).json() == []
    assert server.delete(f"/v1/saved/{made['id']}", token=owner).status == 204
    assert server.delete(f"/v1/saved/{made['id']}", token=owner).status == 404
    assert curator.ledger.head() == before


def test_an_answer_of_somebody_else_cannot_be_saved(server, curator, owner):
    curator.sql(SQL, epsilon=0.01, analyst="ben")
    [newest] = server.get("/v1/releases?limit=1", token=owner).json()
    body = {"title": "theirs", "sql": SQL, "release": newest["id"]}

    assert server.post("/v1/saved", token=server.token("ann", "analyst"), json=body).status == 404
    assert server.post("/v1/saved", token=server.token("ben", "analyst"), json=body).status == 200


def test_texts_have_limits(server, owner):
    for wrong in ({"title": "x" * 121}, {"sql": "x" * 20_001}, {"terms": {"epsilon": "1" * 401}}):
        body = {"title": "one", "sql": SQL, **wrong}
        assert server.post("/v1/saved", token=owner, json=body).status == 422
