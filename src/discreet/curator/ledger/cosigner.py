"""A witness elsewhere: signs a ledger's newest head if it continues the one that was signed last.

It is run by somebody else, on another machine, and sees hashes alone. A folder that is put back as
a whole, the head file included, cannot show a head that continues what the witness has signed.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.curator.canonical_json import canonical
from discreet.curator.data.registry import write_whole
from discreet.curator.ledger import merkle
from discreet.curator.ledger.merkle import TreeHead
from discreet.curator.ledger.witness import Witness
from discreet.errors import LedgerError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class Cosigner:
    """What a witness remembers, and its key, in a folder of its own.

    Guarantee:
        Of each ledger it signs heads of one history alone: each continues all that it has signed
        before, and is on disk before its signature is told.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._heads = folder / "heads.json"
        self._lock = Witness(folder / "heads.lock")
        self._key = _key(folder / "key.pem")

    @property
    def public_key(self) -> str:
        """What `is_signed` needs, in hexadecimal."""
        return self._key.public_key().public_bytes_raw().hex()

    def newest(self, ledger: str) -> TreeHead | None:
        """The head of a ledger that was signed last."""
        found = self._read().get(ledger)
        return None if found is None else TreeHead(**found)

    def cosign(self, head: TreeHead, proof: Sequence[str]) -> str:
        """Sign a head that continues the newest; LedgerError if it does not."""
        with self._lock.held():
            known = self.newest(head.ledger)
            if known is not None and not continues(known, head, proof):
                raise LedgerError(
                    f"a head of {head.size} entries does not continue the one of {known.size}",
                    why="the ledger was put back to an earlier state, or changed",
                    fix="put back the newest copy of the ledger's folder",
                )
            write_whole(self._heads, {**self._read(), head.ledger: asdict(head)})
        return self._key.sign(_text(head)).hex()

    def _read(self) -> dict[str, dict[str, Any]]:
        if not self._heads.exists():
            return {}
        try:
            found: dict[str, dict[str, Any]] = json.loads(self._heads.read_text("utf-8"))
        except ValueError as wrong:
            raise LedgerError(
                "what the witness remembers cannot be read",
                why="heads.json is damaged",
                fix="restore it from a copy; without it older heads would be signed",
            ) from wrong
        return found


def continues(old: TreeHead, new: TreeHead, proof: Sequence[str]) -> bool:
    """Whether a proof shows that one head continues another."""
    try:
        steps = [bytes.fromhex(one) for one in proof]
        before, after = ((one.size, bytes.fromhex(one.root)) for one in (old, new))
    except ValueError:
        return False
    return old.ledger == new.ledger and merkle.continues(before, after, steps)


def is_signed(head: TreeHead, signature: str, public_key: str) -> bool:
    """Whether a witness with this key has signed a head."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - for witnesses alone
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415 - likewise
        Ed25519PublicKey,
    )

    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
    try:
        key.verify(bytes.fromhex(signature), _text(head))
    except (InvalidSignature, ValueError):
        return False
    return True


def _text(head: TreeHead) -> bytes:
    return b"discreet tree head\n" + canonical(asdict(head)).encode()


def _key(path: Path) -> "Ed25519PrivateKey":
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - for witnesses alone
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415 - likewise

    if not path.exists():
        made = ed25519.Ed25519PrivateKey.generate()
        text = made.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        path.touch(mode=0o600)
        path.write_bytes(text)
    found = serialization.load_pem_private_key(path.read_bytes(), None)
    if not isinstance(found, ed25519.Ed25519PrivateKey):
        raise LedgerError(
            f"{path.name} is not the key of a witness",
            why="it is of another kind",
            fix="restore it from a copy",
        )
    return found
