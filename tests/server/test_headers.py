"""Headers that lie, and what every reply tells browsers."""

from dataclasses import replace

import pytest

from discreet.server.security_headers import HEADERS
from running_server import QUICK, head, served, status


def test_two_tokens_are_none(server, owner):
    twice = head(
        owner, "/v1/me", f"Authorization: Bearer {owner}", "Connection: close", method="GET"
    )

    assert status(server.raw(twice)) == 401


@pytest.mark.parametrize("kind", ["X-Long: {}", "Cookie: discreet={}", "Authorization: Bearer {}"])
def test_huge_headers_are_refused(server, kind):
    long = kind.format("x" * 100_000)
    reply = server.raw(
        f"GET /v1/me HTTP/1.1\r\nHost: localhost\r\n{long}\r\n\r\n".encode(), timeout=3
    )

    assert status(reply) in {None, 400, 431}


def test_many_short_headers_are_refused(server):
    many = "\r\n".join(f"X-{i}: {i}" for i in range(200))
    reply = server.raw(f"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n{many}\r\n\r\n".encode())

    assert status(reply) == 431


def test_many_headers_are_refused(server):
    many = "\r\n".join(f"X-{i}: {i}" for i in range(20_000))
    reply = server.raw(
        f"GET /v1/me HTTP/1.1\r\nHost: localhost\r\n{many}\r\n\r\n".encode(), timeout=3
    )

    assert status(reply) in {None, 400, 431}


@pytest.mark.parametrize(
    "hosts",
    [
        [],
        ["evil.org"],
        ["localhost.evil.org"],
        ["localhost", "evil.org"],
        ["localhost", "localhost"],
        [""],
        ["localhost@evil.org"],
        ["evil.org:80:localhost"],
        ["localhost/"],
    ],
)
def test_other_names_are_not_answered_to(server, hosts):
    lines = "".join(f"Host: {one}\r\n" for one in hosts)
    reply = server.raw(f"GET /v1/health HTTP/1.1\r\n{lines}Connection: close\r\n\r\n".encode())

    assert status(reply) == 400
    assert b'"ok"' not in reply


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"])
def test_this_machines_names_are_answered_to_with_the_port_it_listens_on(server, name):
    ports = ("", f":{server.port}", ":1", ":80", ":", ":x", f":{server.port}:1", f":0{server.port}")
    told = [server.get("/v1/health", headers={"Host": name + port}).status for port in ports]

    assert told == [200, 200, *(6 * [400])]


def test_a_proxys_port_is_part_of_the_name(curator, folder):
    settings = replace(QUICK, hosts=("dp.example.org", "dp.example.org:8443"))
    with served(curator, settings=settings, folder=folder) as server:
        hosts = ("dp.example.org", "DP.example.org:8443", "dp.example.org:8444")
        told = [server.get("/v1/health", headers={"Host": host}).status for host in hosts]

    assert told == [200, 200, 400]


def test_what_a_client_says_it_was_forwarded_from_is_ignored(server, owner):
    lies = {
        "X-Forwarded-For": "127.0.0.1",
        "X-Forwarded-Host": "evil.org",
        "X-Forwarded-Proto": "https",
        "Forwarded": "for=127.0.0.1;host=evil.org;proto=https",
        "X-Original-URL": "/v1/tokens",
        "X-Rewrite-URL": "/v1/tokens",
        "X-HTTP-Method-Override": "DELETE",
    }
    answer = server.post("/v1/session", json={"token": owner}, headers=lies)

    assert answer.status == 200
    assert "Secure" not in answer.headers["Set-Cookie"]
    assert b"evil.org" not in answer.body + str(answer.headers).encode()
    assert server.get("/v1/health", headers=lies).json() == {"status": "ok"}


@pytest.mark.parametrize(
    "framing",
    [
        ["Content-Length: 6", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
        ["Transfer-Encoding: xchunked"],
        ["Transfer-Encoding : chunked"],
        ["Content-Length: 0", "Content-Length: 44"],
        ["Transfer-Encoding: chunked, identity"],
    ],
)
def test_two_ways_to_frame_a_body_do_not_smuggle_a_request(server, owner, framing):
    smuggled = (
        f"GET /v1/tokens HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {owner}\r\n\r\n"
    )
    sent = head("x", "/v1/explain", *framing) + b"0\r\n\r\n" + smuggled.encode()

    reply = server.raw(sent, timeout=60, replies=3, pause=1)

    assert reply.count(b"HTTP/1.1 ") == 1  # the connection ends: no proxy goes on with it
    assert b'"tokens"' not in reply
    assert status(reply) in {400, 501}


def test_what_proxies_of_old_and_new_end_elsewhere_is_refused(server, owner):
    body = b'{"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.1"}'
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    kind = "Content-Type: application/json"
    sent = head(owner, "/v1/explain", kind, "Transfer-Encoding: chunked") + chunked

    assert status(server.raw(sent, timeout=60)) == 200
    assert status(server.raw(sent.replace(b"HTTP/1.1", b"HTTP/1.0", 1), timeout=60)) == 400


@pytest.mark.parametrize(
    "line",
    ["X-Odd: a\x00b", "X-Odd: a\rb", " folded: x", "No-Colon", ": empty", "X Y: z", "X-\xe9: z"],
)
def test_odd_header_lines_are_refused(server, line):
    sent = f"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n{line}\r\nConnection: close\r\n\r\n"

    assert status(server.raw(sent.encode("latin-1"), timeout=3)) in {None, 400}
    assert server.get("/v1/health").status == 200


def test_nobody_is_upgraded_to_a_web_socket(server):
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }

    assert server.get("/v1/health", headers=headers).status == 200
    assert server.get("/v1/nothing", headers=headers).status == 404


def test_every_reply_tells_browsers_what_not_to_do(server, owner):
    answers = [
        server.get("/v1/health"),
        server.get("/v1/me"),
        server.get("/v1/me", token=owner),
        server.get("/nothing"),
        server.get("/"),
        server.request("PUT", "/v1/health"),
        server.get("/v1/health", headers={"Host": "evil.org"}),
        server.post("/v1/explain", token=owner, body=b" " * 70_000),
        server.post("/v1/explain", token=owner, json={}),
        server.get("/v1/ledger/export", token=owner),
    ]

    for answer in answers:
        for name, value in HEADERS.items():
            assert answer.headers.get_all(name) == [value], answer
        assert "Server" not in answer.headers
        assert "Access-Control-Allow-Origin" not in answer.headers
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert answers[0].headers["Cache-Control"] == "no-store"


def test_other_sites_may_not_ask(server):
    headers = {"Origin": "http://evil.org", "Access-Control-Request-Method": "POST"}
    answer = server.request("OPTIONS", "/v1/queries", headers=headers)

    assert answer.status == 405
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]
