"""A client's connection: encrypted, renewed when it was closed, tried again where that is safe."""

import datetime as dt
import http.server
import json
import ssl
import threading

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from discreet.curator.client import connection
from discreet.curator.client.connection import ServerConnection
from discreet.errors import AccessError, InputError, ServiceError

WORD = "dpt_some_token"


class Handler(http.server.BaseHTTPRequestHandler):
    """Tells what it was sent; `script` has replies to give first."""

    protocol_version = "HTTP/1.1"
    timeout = 5

    def do_GET(self):
        self.reply()

    def do_POST(self):
        self.reply()

    def reply(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.server.seen.append((self.command, self.path, dict(self.headers), body))
        status, headers, text = self.server.script.pop(0) if self.server.script else (200, {}, "{}")
        if status is None:
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())
        if "Connection" in headers:
            self.close_connection = True

    def log_message(self, *_):
        pass


@pytest.fixture
def start():
    """Start a server, encrypted if it is given a certificate."""
    running = []

    def begin(certificate=None):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.seen, server.script = [], []
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        running.append(server)
        return server

    yield begin
    for server in running:
        server.shutdown()
        server.server_close()


@pytest.fixture
def server(start):
    return start()


@pytest.fixture
def link(server):
    made = ServerConnection(f"http://127.0.0.1:{server.server_port}/under", WORD, allow_plain=False)
    yield made
    made.close()


def certificate(path, name="localhost"):
    """A certificate that signs itself, and its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    path.write_bytes(key.private_bytes(pem, form, plain) + made.public_bytes(pem))
    return path


def test_the_token_goes_in_a_header_and_never_in_the_address(server, link):
    link.get("/v1/x")
    link.post("/v1/y", {"a": 1})
    (get, post) = server.seen

    assert get[:2] == ("GET", "/under/v1/x")
    assert get[2]["Authorization"] == f"Bearer {WORD}"
    assert (post[0], json.loads(post[3])) == ("POST", {"a": 1})
    assert WORD not in get[1] + post[1]


def test_a_redirect_is_not_followed(server, link):
    server.script.append((302, {"Location": "http://127.0.0.1:1/steal"}, ""))

    with pytest.raises(ServiceError):
        link.get("/v1/x")
    assert len(server.seen) == 1


def test_a_connection_that_the_server_closed_while_idle_is_renewed(server, link):
    """Also for what may not be sent twice: it was not sent."""
    server.script.append((200, {"Connection": "close"}, "{}"))
    link.get("/v1/x")
    link.post("/v1/y", {})

    assert len(server.seen) == 2


def test_reading_is_tried_again_and_writing_is_not(server, link, monkeypatch):
    monkeypatch.setattr(connection, "_PAUSE", 0.001)
    lost = (None, {}, "")
    server.script += [lost, lost]
    assert link.get("/v1/x").status_code == 200
    server.script += [lost, lost]
    assert link.post("/v1/queries", {}, safe=True).status_code == 200
    server.script += [lost]
    with pytest.raises(ServiceError):
        link.post("/v1/grants", {})
    assert [path for _, path, _, _ in server.seen].count("/under/v1/grants") == 1


def test_a_busy_server_is_asked_again_when_it_says(server, link, monkeypatch):
    slept = []
    monkeypatch.setattr(connection.time, "sleep", slept.append)
    server.script += [(429, {"Retry-After": "3"}, "{}")]
    link.get("/v1/x")
    assert slept == [3.0]
    server.script += [(429, {"Retry-After": "never"}, "{}")] * connection.TRIES
    with pytest.raises(ServiceError):
        link.get("/v1/x")


@pytest.mark.parametrize("body", ["", "<html>", "[]", "null", '{"error": 7}', '{"error": {}}'])
def test_an_error_that_cannot_be_read_is_a_failure_of_the_service(server, link, body):
    server.script.append((500, {}, body))

    with pytest.raises(ServiceError):
        link.get("/v1/x")


def test_an_encrypted_server_is_believed_if_its_certificate_is_known(start, tmp_path, monkeypatch):
    known = certificate(tmp_path / "known.pem")
    server = start(known)
    address = f"https://localhost:{server.server_port}"
    with pytest.raises(AccessError, match="not who it says it is"):
        ServerConnection(address, WORD, allow_plain=False).get("/v1/x")
    assert server.seen == []

    monkeypatch.setenv("SSL_CERT_FILE", str(known))
    link = ServerConnection(address, WORD, allow_plain=False)
    server.script.append((200, {"Connection": "close"}, "{}"))
    assert link.get("/v1/x").status_code == 200
    assert link.post("/v1/y", {}).status_code == 200
    link.close()
    with pytest.raises(AccessError):
        ServerConnection(f"https://127.0.0.1:{server.server_port}", WORD, allow_plain=False).get(
            "/v1/x"
        )


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "127.8.9.10"])
def test_this_machine_may_be_spoken_to_plainly(host):
    ServerConnection(f"http://{host}:1", WORD, allow_plain=False).close()


@pytest.mark.parametrize("host", ["dp.example.org", "10.0.0.1", "[::]", "localhost.evil"])
def test_other_machines_may_not(host):
    with pytest.raises(InputError, match="unencrypted"):
        ServerConnection(f"http://{host}", WORD, allow_plain=False)
