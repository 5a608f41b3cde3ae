"""A Postgres client that says exactly what it is told to, for what real clients never say."""

import base64
import hashlib
import hmac
import socket
import struct


def message(kind, body=b""):
    """A message of the protocol."""
    return kind + struct.pack("!i", len(body) + 4) + body


def startup(user="ann", **more):
    """The first message."""
    fields = {"user": user, "database": "discreet", **more}
    body = b"".join(k.encode() + b"\0" + v.encode() + b"\0" for k, v in fields.items()) + b"\0"
    return struct.pack("!ii", len(body) + 8, 3 << 16) + body


class WireClient:
    """A connection, message by message."""

    def __init__(self, port, *, timeout=20):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.key = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, *parts):
        self.socket.sendall(b"".join(parts))

    def exactly(self, count):
        found = b""
        while len(found) < count:
            part = self.socket.recv(count - len(found))
            if not part:
                raise ConnectionError
            found += part
        return found

    def receive(self):
        """The next message: its type and its body."""
        kind = self.exactly(1)
        [length] = struct.unpack("!i", self.exactly(4))
        return kind, self.exactly(length - 4)

    def until(self, *kinds):
        """All messages up to one of these types."""
        found = [self.receive()]
        while found[-1][0] not in kinds:
            found.append(self.receive())
        return found

    def log_in(self, password, user="ann", **more):
        """SCRAM-SHA-256, by hand."""
        self.send(startup(user, **more))
        assert self.receive()[0] == b"R"
        bare = "n=,r=abcdefghijkl"
        first = f"n,,{bare}".encode()
        self.send(message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(first)) + first))
        kind, body = self.receive()
        if kind != b"R":
            raise PermissionError
        challenge = body[4:].decode()
        said = dict(part.split("=", 1) for part in challenge.split(","))
        salted = hashlib.pbkdf2_hmac(
            "sha256", password.encode(), base64.b64decode(said["s"]), int(said["i"])
        )
        final = f"c=biws,r={said['r']}"
        text = f"{bare},{challenge},{final}".encode()
        key = hmac.digest(salted, b"Client Key", "sha256")
        signature = hmac.digest(hashlib.sha256(key).digest(), text, "sha256")
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True)))
        self.send(message(b"p", final.encode() + b",p=" + proof))
        found = self.until(b"Z", b"E")
        if found[-1][0] == b"E":
            raise PermissionError(fields(found[-1][1])["C"])
        self.key = next(body for kind, body in found if kind == b"K")
        return self

    def query(self, sql):
        """All messages that a statement of the simple protocol is answered with."""
        self.send(message(b"Q", sql.encode() + b"\0"))
        return self.until(b"Z")


def fields(body):
    """The fields of an error or a notice."""
    parts = (part for part in body.split(b"\0") if part)
    return {part[:1].decode(): part[1:].decode() for part in parts}


def errors(messages):
    """The errors among messages."""
    return [fields(body) for kind, body in messages if kind == b"E"]
