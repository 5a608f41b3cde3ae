"""Encryption end to end: a real certificate, a real server, and clients that check it."""

import dataclasses
import http.client
import json
import ssl

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import AccessError, ServiceError
from running_server import QUICK, served

QUESTION = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture(scope="module")
def server(certificate):
    with dp.Curator.in_memory() as curator:
        rows = pa.table({"id": range(100)})
        budget = dp.Budget(epsilon=3, delta=1e-6)
        curator.add("visits", rows, unit="id", budget=budget, limits=dp.Limits(1, 1))
        settings = dataclasses.replace(QUICK, hosts=("localhost", "127.0.0.1", "dp.example.org"))
        with served(curator, settings=settings, tls=certificate) as server:
            yield server


def test_a_client_that_trusts_the_certificate_is_answered(server, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    place = f"https://localhost:{server.port}"
    with dp.Curator(place, token=server.token("ann", "analyst")) as curator:
        assert curator.sql(QUESTION, epsilon=0.5).table.column_names == ["n"]


def test_a_certificate_that_nobody_signed_is_refused_before_the_token_is_sent(server):
    token = server.token("bob", "analyst")
    identity = token.split("_")[1]
    with (
        dp.Curator(f"https://localhost:{server.port}", token=token) as curator,
        pytest.raises(AccessError, match="certificate"),
    ):
        curator.sql(QUESTION, epsilon=0.5)
    assert identity not in "".join(server.logs)  # lines of others may still come


def test_a_certificate_for_another_name_is_refused(server, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    token = server.token("cyd", "analyst")
    with (
        dp.Curator(f"https://127.0.0.1:{server.port}", token=token) as curator,
        pytest.raises(AccessError, match="certificate"),
    ):
        curator.sql(QUESTION, epsilon=0.5)


def test_who_speaks_plainly_to_an_encrypted_port_is_told(server):
    token = server.token("dan", "analyst")
    with (
        dp.Curator(f"http://localhost:{server.port}", token=token) as curator,
        pytest.raises(ServiceError),
    ):
        curator.sql(QUESTION, epsilon=0.5)


def test_the_cookie_of_a_public_name_never_travels_in_the_open(server, certificate):
    context = ssl.create_default_context(cafile=str(certificate[0]))
    connection = http.client.HTTPSConnection("localhost", server.port, context=context)
    body = json.dumps({"token": server.token("eva", "analyst")})
    sent = {"Content-Type": "application/json", "Host": "dp.example.org"}
    connection.request("POST", "/v1/session", body, sent)
    cookie = connection.getresponse().headers["set-cookie"]
    connection.close()
    assert cookie.startswith("__Host-discreet=")
    assert {"httponly", "samesite=strict", "secure"} <= set(cookie.lower().split("; "))
