"""SCRAM-SHA-256 (RFC 5802, RFC 7677) against tokens: the token's text is the password.

What is stored beside a token's hash are the keys that SCRAM checks with; neither of them lets
anybody in. A token has 256 random bits, so salts and iterations protect nothing: the salt follows
from the name of whoever logs in, which is the same for all tokens of a name, and for names that
nobody has. So the server need not know before the proof which token it is, and does not tell
whether there is any.
"""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

PLAIN, BOUND = "SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"
ITERATIONS: Final = 4096
"""What RFC 7677 asks for at least; drivers refuse fewer."""

_FIRST: Final = re.compile(
    r"(y|n|p=tls-server-end-point),,(n=[^,]*,r=([\x21-\x2b\x2d-\x7e]{8,200}))"
)
_FINAL: Final = re.compile(r"(c=([A-Za-z0-9+/=]+),r=([^,]+)),p=([A-Za-z0-9+/=]+)")


class LoginRefused(Exception):  # noqa: N818 - one word for all reasons
    """Authentication failed."""


@dataclass(frozen=True, slots=True)
class ScramKeys:
    """Keys that prove a client's token, and the server's knowledge of it."""

    stored: bytes
    server: bytes


def salt_of(name: str) -> bytes:
    """The salt of a name, whether anybody is called so or not."""
    return hashlib.sha256(b"discreet scram " + name.encode("utf-8", "surrogatepass")).digest()[:16]


def keys_of(name: str, password: str) -> ScramKeys:
    """The keys of a password.

    Example:
        >>> len(keys_of("ann", "dpt_1_x").stored)
        32
    """
    salted = hashlib.pbkdf2_hmac(
        "sha256", password.encode("utf-8", "surrogatepass"), salt_of(name), ITERATIONS
    )
    client = hmac.digest(salted, b"Client Key", "sha256")
    return ScramKeys(hashlib.sha256(client).digest(), hmac.digest(salted, b"Server Key", "sha256"))


def end_point(certificate: bytes) -> bytes:
    """The hash of a certificate that a client may bind its proof to (RFC 5929)."""
    found = x509.load_pem_x509_certificate(certificate)
    used = found.signature_hash_algorithm
    name = "sha256" if used is None or used.name in {"md5", "sha1"} else used.name
    return hashlib.new(name, found.public_bytes(Encoding.DER)).digest()


_NOBODY: Final = ScramKeys(secrets.token_bytes(32), secrets.token_bytes(32))
"""What proofs are compared with as well, so that a name without tokens takes as long as others."""


class ScramExchange:
    """One login: the client's first message in, a challenge out, its proof in.

    `binding` is what the proof may be bound to; None without TLS.
    """

    def __init__(self, name: str, binding: bytes | None) -> None:
        self._name = name
        self._binding = binding
        self._flag = self._header = self._nonce = self._messages = ""

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The offered mechanisms, the best first."""
        return (PLAIN,) if self._binding is None else (BOUND, PLAIN)

    def challenge(self, mechanism: str, sent: bytes) -> bytes:
        """Answer the first message; LoginRefused where somebody in between took an offer away."""
        found = _FIRST.fullmatch(sent.decode("utf-8", "replace"))
        if found is None or mechanism not in self.mechanisms:
            raise LoginRefused
        self._flag = found[1]
        if self._flag.startswith("p") is not (mechanism == BOUND):
            raise LoginRefused
        if self._flag == "y" and self._binding is not None:
            raise LoginRefused
        self._nonce = found[3] + secrets.token_urlsafe(18)
        salt = base64.b64encode(salt_of(self._name)).decode()
        said = f"r={self._nonce},s={salt},i={ITERATIONS}"
        self._messages = f"{found[2]},{said}"
        return said.encode()

    def finish(self, sent: bytes, known: Iterable[tuple[str, ScramKeys]]) -> tuple[str, bytes]:
        """The token whose text the client has, and the server's proof; LoginRefused for none."""
        found = _FINAL.fullmatch(sent.decode("utf-8", "replace"))
        if found is None or not self._nonce:
            raise LoginRefused
        head = f"{self._flag},,".encode()
        expected = head + (self._binding or b"") if self._flag.startswith("p") else head
        same = hmac.compare_digest(_decoded(found[2]), expected)
        same &= hmac.compare_digest(found[3].encode(), self._nonce.encode())
        message, proof = f"{self._messages},{found[1]}".encode(), _decoded(found[4])
        chosen = None
        for token, keys in (*known, ("", _NOBODY)):
            if _proves(keys, message, proof) and same and token:
                chosen = token, keys
        if chosen is None:
            raise LoginRefused
        signature = hmac.digest(chosen[1].server, message, "sha256")
        return chosen[0], b"v=" + base64.b64encode(signature)


def _proves(keys: ScramKeys, message: bytes, proof: bytes) -> bool:
    signature = hmac.digest(keys.stored, message, "sha256")
    client = bytes(a ^ b for a, b in zip(signature, proof, strict=False))
    return hmac.compare_digest(hashlib.sha256(client).digest(), keys.stored) and len(proof) == 32


def _decoded(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except ValueError:
        raise LoginRefused from None
