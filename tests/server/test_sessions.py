"""Sessions of the page, and what other sites make a browser send."""

from discreet.server.settings import Settings
from running_server import served

COUNT = {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 0.1}


def log_in(server, token, **headers):
    return server.post("/v1/session", json={"token": token}, headers=headers)


def cookie_of(answer):
    return answer.headers["Set-Cookie"].partition(";")[0]


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(server, owner):
    here = log_in(server, owner).headers["Set-Cookie"]
    flags = {part.strip().lower() for part in here.split(";")[1:]}

    assert {"httponly", "samesite=strict", "path=/"} <= flags
    assert not any(flag.startswith("domain") for flag in flags)


def test_away_from_this_machine_cookies_need_encryption(curator, folder):
    settings = Settings(hosts=("dp.example.org",), quantum=0.02)
    with served(curator, settings=settings, folder=folder) as server:
        answer = log_in(server, server.token(), Host="dp.example.org")

        flags = {part.strip().lower() for part in answer.headers["Set-Cookie"].split(";")[1:]}
        assert answer.headers["Set-Cookie"].startswith("__Host-discreet=")
        assert {"secure", "httponly", "samesite=strict", "path=/"} <= flags
        cookie = {"Cookie": cookie_of(answer), "Host": "dp.example.org"}
        assert server.get("/v1/me", headers=cookie).status == 200
        assert server.get("/v1/me", headers={"Host": "localhost"}).status == 400


def test_a_session_that_was_planted_is_not_taken_over(server, owner):
    planted = "discreet=" + "A" * 43
    answer = log_in(server, owner, Cookie=planted)

    assert cookie_of(answer) != planted
    assert server.get("/v1/me", headers={"Cookie": planted}).status == 401


def test_logging_in_again_ends_the_session_before(server, owner):
    first = cookie_of(log_in(server, owner))
    second = cookie_of(log_in(server, owner, Cookie=first))

    assert server.get("/v1/me", headers={"Cookie": first}).status == 401
    assert server.get("/v1/me", headers={"Cookie": second}).status == 200


def test_logging_out_ends_the_session(server, owner):
    answer = log_in(server, owner)
    sent = {"Cookie": cookie_of(answer), "X-CSRF-Token": answer.json()["csrf"]}

    gone = server.delete("/v1/session", headers=sent)

    assert gone.status == 204
    assert "max-age=0" in gone.headers["Set-Cookie"].lower()
    assert server.get("/v1/me", headers=sent).status == 401


def test_the_page_needs_its_secret_and_its_own_origin(server, owner):
    answer = log_in(server, owner)
    cookie = {"Cookie": cookie_of(answer)}
    right = {**cookie, "X-CSRF-Token": answer.json()["csrf"]}
    other = log_in(server, owner).json()["csrf"]

    def explain(**more):
        return server.post("/v1/explain", json=COUNT, headers=right | more).status

    assert server.post("/v1/explain", json=COUNT, headers=cookie).status == 403
    assert explain() == 200
    assert explain(**{"X-CSRF-Token": other}) == 403
    assert explain(Origin=f"http://127.0.0.1:{server.port}") == 200
    assert explain(Origin="http://evil.org") == 403
    assert explain(Origin="null") == 403
    assert explain(**{"Sec-Fetch-Site": "cross-site"}) == 403
    assert server.get("/v1/me", headers=cookie).json()["csrf"] == answer.json()["csrf"]
    assert server.get("/v1/me", token=owner).json()["csrf"] is None


def test_other_sites_cannot_log_a_browser_in(server, owner):
    assert log_in(server, owner, Origin="http://evil.org").status == 403
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = server.post("/v1/session", body=f"token={owner}", headers=form)
    assert answer.status == 422
    assert "Set-Cookie" not in answer.headers
