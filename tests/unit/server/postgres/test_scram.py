"""SCRAM against tokens: who has one is let in, and nobody learns whether there is one."""

import base64
import hashlib
import hmac

import pytest

from discreet.server import tokens
from discreet.server.access import AccessStore
from discreet.server.postgres.scram import (
    BOUND,
    PLAIN,
    LoginRefused,
    ScramExchange,
    ScramKeys,
    keys_of,
    salt_of,
)


def prove(exchange, name, password, *, mechanism=PLAIN, flag="n", binding=b"", nonce=None):
    """What a client sends last, after the challenge."""
    bare = "n=,r=abcdefghijkl"
    challenge = exchange.challenge(mechanism, f"{flag},,{bare}".encode()).decode()
    said = nonce or challenge.split(",")[0].removeprefix("r=")
    channel = base64.b64encode(f"{flag},,".encode() + binding).decode()
    final = f"c={channel},r={said}"
    text = f"{bare},{challenge},{final}".encode()
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt_of(name), 4096)
    key = hmac.digest(salted, b"Client Key", "sha256")
    signature = hmac.digest(hashlib.sha256(key).digest(), text, "sha256")
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True)))
    return f"{final},p={proof.decode()}".encode()


def test_each_of_the_tokens_of_a_name_lets_in_and_is_told_apart():
    store = AccessStore(None)
    made = [tokens.issue(store, "ann", "analyst") for _ in range(3)]
    for one in made:
        exchange = ScramExchange("ann", None)
        sent = prove(exchange, "ann", one.text)
        identity, signature = exchange.finish(sent, tokens.scram_keys(store, "ann"))
        assert identity == one.token.id
        assert signature.startswith(b"v=")


def test_what_is_stored_does_not_hold_the_token():
    store = AccessStore(None)
    made = tokens.issue(store, "ann", "analyst")
    [(_, keys)] = tokens.scram_keys(store, "ann")
    secret = made.text.split("_")[2].encode()
    assert keys == keys_of("ann", made.text)
    assert secret not in keys.stored + keys.server
    assert keys.stored != keys.server


@pytest.mark.parametrize("ended", ["revoked", "expired", "another's"])
def test_a_token_that_has_ended_or_is_anothers_lets_nobody_in(ended):
    now = [0.0]
    store = AccessStore(None, clock=lambda: now[0])
    made = tokens.issue(store, "ann", "analyst", days=1)
    if ended == "revoked":
        tokens.revoke(store, made.token.id)
    elif ended == "expired":
        now[0] = 2 * tokens.DAY
    name = "bob" if ended == "another's" else "ann"
    exchange = ScramExchange(name, None)
    sent = prove(exchange, name, made.text)
    with pytest.raises(LoginRefused):
        exchange.finish(sent, tokens.scram_keys(store, name))


def test_an_unknown_name_is_challenged_like_a_known_one():
    known, unknown = (
        ScramExchange(name, None).challenge(PLAIN, b"n,,n=,r=abcdefghijkl").decode().split(",")
        for name in ("ann", "nobody")
    )
    assert [part[:2] for part in known] == [part[:2] for part in unknown] == ["r=", "s=", "i="]
    again = ScramExchange("nobody", None).challenge(PLAIN, b"n,,n=,r=abcdefghijkl").decode()
    assert again.split(",")[1] == unknown[1]  # a salt that changed would tell


def test_a_proof_for_another_nonce_is_refused():
    exchange = ScramExchange("ann", None)
    sent = prove(exchange, "ann", "dpt_1_x", nonce="abcdefghijklreplayed")
    with pytest.raises(LoginRefused):
        exchange.finish(sent, [("1", keys_of("ann", "dpt_1_x"))])


def test_a_proof_that_is_bound_to_another_certificate_is_refused():
    known = [("1", keys_of("ann", "dpt_1_x"))]
    bound = {"mechanism": BOUND, "flag": "p=tls-server-end-point"}
    exchange = ScramExchange("ann", b"certificate")
    assert exchange.finish(
        prove(exchange, "ann", "dpt_1_x", binding=b"certificate", **bound), known
    )
    exchange = ScramExchange("ann", b"certificate")
    sent = prove(exchange, "ann", "dpt_1_x", binding=b"another", **bound)
    with pytest.raises(LoginRefused):
        exchange.finish(sent, known)


@pytest.mark.parametrize(
    ("mechanism", "sent"),
    [
        (PLAIN, b"y,,n=,r=abcdefghijkl"),  # somebody hid that binding was offered
        (PLAIN, b"p=tls-server-end-point,,n=,r=abcdefghijkl"),
        (BOUND, b"n,,n=,r=abcdefghijkl"),
        ("SCRAM-SHA-1", b"n,,n=,r=abcdefghijkl"),
        (PLAIN, b"n,,n=,r=short"),
        (PLAIN, b"n,,m=ext,n=,r=abcdefghijkl"),
        (PLAIN, b"\xff\xff"),
    ],
)
def test_a_first_message_that_is_not_what_was_offered_is_refused(mechanism, sent):
    with pytest.raises(LoginRefused):
        ScramExchange("ann", b"certificate").challenge(mechanism, sent)


@pytest.mark.parametrize("sent", [b"", b"c=biws", b"c=biws,r=x,p=!!", b"c=*,r=x,p=AAAA", b"\xff"])
def test_a_last_message_that_cannot_be_read_is_refused(sent):
    exchange = ScramExchange("ann", None)
    exchange.challenge(PLAIN, b"n,,n=,r=abcdefghijkl")
    with pytest.raises(LoginRefused):
        exchange.finish(sent, [("1", ScramKeys(b"0" * 32, b"0" * 32))])


def test_a_token_from_before_gets_its_keys_when_it_is_used():
    store = AccessStore(None)
    made = tokens.issue(store, "ann", "analyst", epsilon="0.1")
    assert tokens.default_epsilon(store, made.token.id) == "0.1"
    with store.write() as connection:
        connection.execute("DELETE FROM scram")
    assert tokens.scram_keys(store, "ann") == []
    assert tokens.find(store, made.text) is not None
    assert tokens.scram_keys(store, "ann") == [(made.token.id, keys_of("ann", made.text))]
