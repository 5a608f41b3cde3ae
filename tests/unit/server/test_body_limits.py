"""Bodies are bounded before anybody reads them, whatever the client says about them."""

import asyncio
from contextlib import suppress

import pytest
from starlette.requests import ClientDisconnect

from discreet.server.body_limits import BodyLimitMiddleware
from discreet.server.settings import Settings

SETTINGS = Settings(body_limit=10, upload_limit=100, body_timeout=0.05, upload_timeout=0.2)


class Handler:
    """Reads what it is given, and answers with its length."""

    def __init__(self):
        self.body = None

    async def __call__(self, _, receive, send):
        body, more = b"", True
        while more:
            message = await receive()
            body += message["body"]
            more = message["more_body"]
        self.body = body
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def served(parts, *, template="/v1/explain", length=None, pause=0.0, settings=SETTINGS):
    """What a handler read and what was replied, for a body that comes in parts."""
    handler, sent, left = Handler(), [], list(parts)
    headers = [] if length is None else [(b"content-length", str(length).encode())]
    scope = {"type": "http", "headers": headers, "state": {"template": template}}

    async def receive():
        await asyncio.sleep(pause)
        if left and left[0] is None:
            return {"type": "http.disconnect"}
        part = left.pop(0) if left else b""
        return {"type": "http.request", "body": part, "more_body": bool(left)}

    async def send(message):
        sent.append(message)

    with suppress(ClientDisconnect):
        asyncio.run(BodyLimitMiddleware(handler, settings=settings)(scope, receive, send))
    status = sent[0]["status"] if sent else None
    return handler.body, status


def test_a_body_within_its_limit_is_handed_on_whole():
    assert served([b"abc", b"def", b"ghij"]) == (b"abcdefghij", 200)
    assert served([]) == (b"", 200)


def test_one_byte_more_is_refused_and_nothing_is_handed_on():
    assert served([b"abcdefghij", b"k"]) == (None, 413)
    assert served([b"a"], length=11) == (None, 413)
    assert served([b"abcdefghijk"], length=1) == (None, 413)  # whatever it said before


@pytest.mark.parametrize("length", ["x", "-1", "", " 1", "1 ", "²", "9" * 5000])
def test_senseless_lengths_are_refused(length):
    body, status = served([b"a"], length=length.encode().decode("latin-1"))

    assert (body, status) == (None, 413)


def test_a_slow_body_is_refused():
    assert served([b"a", b"b"], pause=0.2) == (None, 408)


def test_a_client_that_goes_away_is_not_answered():
    assert served([b"a", None]) == (None, None)


def test_owners_have_more_room_to_describe_a_table():
    assert served([b"x" * 160], template="/v1/datasets") == (b"x" * 160, 200)
    assert served([b"x" * 161], template="/v1/datasets") == (None, 413)


def test_uploads_are_streamed_up_to_a_limit_of_their_own():
    assert served([b"x" * 50] * 2, template="/v1/uploads") == (b"x" * 100, 200)
    assert served([b"x"], template="/v1/uploads", length=101) == (None, 413)
    assert served([b"x", None], template="/v1/uploads") == (None, None)


def test_a_reply_that_nobody_takes_is_given_up():
    from starlette.requests import ClientDisconnect

    async def stuck(_):
        await asyncio.sleep(10)

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {"type": "http", "headers": [], "state": {"template": "/v1/health"}}
    layer = BodyLimitMiddleware(Handler(), settings=Settings(send_timeout=0.02))
    with pytest.raises(ClientDisconnect):
        asyncio.run(layer(scope, receive, stuck))
