"""Who is asking: headers, cookies, origins."""

import pytest
from fastapi import APIRouter, Depends
from starlette.datastructures import Headers

from discreet.errors import InputError
from discreet.server import sessions, tokens
from discreet.server.access import AccessStore
from discreet.server.error_replies import HttpError
from discreet.server.permissions import (
    Owner,
    allowed,
    anyone,
    check_origin,
    identify,
    route_accesses,
    session_cookie,
    split_host,
)
from discreet.server.settings import Settings


@pytest.fixture
def store():
    return AccessStore(None)


def headers(*pairs):
    return Headers(raw=[(name.lower().encode(), value.encode("latin-1")) for name, value in pairs])


def asked(store, *pairs, method="GET"):
    return identify(headers(("host", "localhost:1"), *pairs), method, store, Settings())


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER   "])
def test_a_bearer_is_known(store, scheme):
    text = tokens.issue(store, "ann", "analyst").text

    assert asked(store, ("Authorization", scheme + text)).name == "ann"


def test_no_other_way_to_send_a_token_is_taken(store):
    text = tokens.issue(store, "ann", "analyst").text

    for pairs in (
        [],
        [("Authorization", text)],
        [("Authorization", f"Basic {text}")],
        [("Authorization", f"Bearer {text}"), ("Authorization", f"Bearer {text}")],
        [("Authorization", f"Bearer {text}, Bearer {text}")],
        [("Authorization", f"Bearer {text}" + "x" * 400)],
        [("Cookie", f"discreet={text}")],
        [("Cookie", f"token={text}")],
        [("X-Authorization", f"Bearer {text}")],
    ):
        with pytest.raises(HttpError) as refused:
            asked(store, *pairs)
        assert refused.value.status == 401


def test_all_who_are_not_let_in_are_told_the_same(store):
    expired = tokens.issue(store, "ann", "analyst", days=1e-12)
    revoked = tokens.issue(store, "ben", "analyst")
    tokens.revoke(store, revoked.token.id)
    told = set()

    for text in (None, "", "dpt_0_0", expired.text, revoked.text):
        with pytest.raises(HttpError) as refused:
            asked(store, *([] if text is None else [("Authorization", f"Bearer {text}")]))
        told.add((refused.value.status, str(refused.value), str(refused.value.headers)))

    assert len(told) == 1


def test_a_wrong_token_is_not_saved_by_a_right_cookie(store):
    token = tokens.issue(store, "ann", "analyst").token
    cookie = sessions.begin(store, token, Settings())

    assert asked(store, ("Cookie", f"discreet={cookie}")).cookie == cookie
    with pytest.raises(HttpError):
        asked(store, ("Cookie", f"discreet={cookie}"), ("Authorization", "Bearer x"))


def test_a_cookie_changes_nothing_without_the_secret_of_its_session(store):
    token = tokens.issue(store, "ann", "analyst").token
    cookie, other = (sessions.begin(store, token, Settings()) for _ in range(2))
    sent = ("Cookie", f"discreet={cookie}")

    for method in ("POST", "DELETE", "PUT", "PATCH", "ODD"):
        for wrong in (None, "", "x", sessions.csrf(other), cookie, "é"):
            more = [] if wrong is None else [("X-CSRF-Token", wrong)]
            with pytest.raises(HttpError) as refused:
                asked(store, sent, *more, method=method)
            assert refused.value.status == 403
        right = ("X-CSRF-Token", sessions.csrf(cookie))
        assert asked(store, sent, right, method=method).name == "ann"


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("localhost:80", "discreet"),
        ("127.0.0.1", "discreet"),
        ("[::1]:8000", "discreet"),
        ("dp.example.org", "__Host-discreet"),
        ("localhost.evil.org", "__Host-discreet"),
    ],
)
def test_away_from_this_machine_only_a_host_bound_cookie_counts(host, name):
    both = ("Cookie", "discreet=plain; __Host-discreet=bound")
    found = session_cookie(headers(("Host", host), both))

    assert found == {"discreet": "plain", "__Host-discreet": "bound"}[name]


@pytest.mark.parametrize(
    ("more", "fine"),
    [
        ([], True),
        ([("Origin", "http://localhost:1")], True),
        ([("Origin", "http://localhost:2")], False),
        ([("Origin", "http://evil.org")], False),
        ([("Origin", "null")], False),
        ([("Origin", "")], False),
        ([("Origin", "http://localhost:1"), ("Origin", "http://evil.org")], False),
        ([("Sec-Fetch-Site", "cross-site")], False),
        ([("Sec-Fetch-Site", "same-site")], False),
        ([("Sec-Fetch-Site", "same-origin")], True),
        ([("Origin", "http://[bad")], False),
    ],
)
def test_requests_of_other_sites_are_told_by_their_origin(more, fine):
    sent = headers(("Host", "localhost:1"), *more)

    if fine:
        check_origin(sent)
    else:
        with pytest.raises(HttpError) as refused:
            check_origin(sent)
        assert refused.value.status == 403


def test_names_are_read_without_their_port():
    assert [split_host(one)[0] for one in ("", ":", "A:1", "[::1]", "a:b:1")] == [
        *("", "", "a", "[::1]", "a:b"),
    ]


def test_a_handler_that_does_not_say_who_is_allowed_is_not_served():
    silent, doubtful, fine = APIRouter(), APIRouter(dependencies=[Depends(anyone)]), APIRouter()
    silent.get("/x")(lambda: None)

    @doubtful.get("/x")
    def both(call: Owner) -> None:
        del call

    @fine.get("/x")
    def one(call: Owner) -> None:
        del call

    for router in (silent, doubtful):
        with pytest.raises(InputError, match="guards"):
            route_accesses([("/v1", router)])
    [gate] = route_accesses([("/v1", fine)])
    assert (gate.template, gate.guard.roles) == ("/v1/x", {"owner"})


def test_only_handlers_can_be_served():
    router = APIRouter(dependencies=[Depends(anyone)])
    router.mount("/files", lambda: None)

    with pytest.raises(InputError, match="Mount"):
        route_accesses([("", router)])


def test_roles_that_do_not_exist_guard_nothing():
    for roles in ((), ("root",), ("owner", "root")):
        with pytest.raises(InputError):
            allowed(*roles)
