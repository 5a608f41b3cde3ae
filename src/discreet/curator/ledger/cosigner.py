"""A witness elsewhere: signs a ledger's newest head if it continues the one that was signed last.

It runs on another machine, under another operator, and sees only hashes. A whole restored folder,
including the head file, has no head that continues what the witness has signed.
"""

import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from discreet.curator.data.registry import write_whole
from discreet.curator.ledger import merkle
from discreet.curator.ledger.merkle import TreeHead
from discreet.curator.ledger.orders import canonical, digest
from discreet.curator.ledger.witness import Witness, sync_file, sync_folder
from discreet.errors import AccessError, LedgerError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


MOST_LEDGERS: Final = 10_000
"""Strangers may bring ledgers, but must not fill the disk."""


class Cosigner:
    """A witness's memory and signing key, in its own folder.

    Guarantee:
        Of each ledger it signs heads of one history alone: each continues all that it has signed
        before, and is on disk before its signature is returned.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._heads = folder / "heads.json"
        self._lock = Witness(folder / "heads.lock")
        with self._lock.held():
            if not (folder / "key.pem").exists() and not self._heads.exists():
                write_whole(self._heads, {})  # before the key: one without it has lost them
            self._key = _key(folder / "key.pem")
        self._read()

    @property
    def public_key(self) -> str:
        """The public key for `is_signed`, in hexadecimal."""
        return self._key.public_key().public_bytes_raw().hex()

    def newest(self, ledger: str) -> TreeHead | None:
        """The head of a ledger that was signed last."""
        found = self._read().get(ledger)
        return None if found is None else _head(found)

    def newest_signed(self, ledger: str, secret: str, nonce: str) -> tuple[TreeHead | None, str]:
        """The head that was signed last, signed with the caller's nonce."""
        found = self._read().get(ledger)
        _check_secret(found, secret)
        head = None if found is None else _head(found)
        return head, self._key.sign(newest_text(ledger, head, nonce)).hex()

    def forget(self, ledger: str) -> bool:
        """Begin anew with a ledger that its owner has lost; whether it was known."""
        with self._lock.held():
            heads = self._read()
            known = heads.pop(ledger, None) is not None
            write_whole(self._heads, heads)
        return known

    def cosign(self, head: TreeHead, proof: Sequence[str], *, secret: str = "") -> str:
        """Sign a head that continues the newest; LedgerError if it does not.

        AccessError if the secret is not that of the ledger's first head.
        """
        with self._lock.held():
            heads = self._read()
            _check_secret(heads.get(head.ledger), secret)
            known = self.newest(head.ledger)
            if known is None and len(heads) >= MOST_LEDGERS:
                raise AccessError(
                    f"a ledger beyond the {MOST_LEDGERS:,} that a witness remembers",
                    why="all of them are written down again with each head",
                    fix="have it forget some that are not used any more, or run another witness",
                )
            if known is not None and not continues(known, head, proof):
                raise LedgerError(
                    f"a head of {head.size} entries does not continue the one of {known.size}",
                    why="the ledger was put back to an earlier state, or changed",
                    fix="put back the newest copy of the ledger's folder",
                )
            heads[head.ledger] = {**asdict(head), "secret": digest(secret)}
            write_whole(self._heads, heads)
        return self._key.sign(head_text(head)).hex()

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            found: dict[str, dict[str, Any]] = json.loads(self._heads.read_text("utf-8"))
        except (ValueError, FileNotFoundError) as wrong:
            raise LedgerError(
                "what the witness remembers cannot be read",
                why="heads.json is damaged or gone",
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


def is_signed(text: bytes, signature: str, public_key: str) -> bool:
    """Whether a witness with this key has signed a `head_text` or a `newest_text`."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - for witnesses alone
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - likewise

    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        key.verify(bytes.fromhex(signature), text)
    except (InvalidSignature, ValueError):
        return False
    return True


def _head(stored: Mapping[str, Any]) -> TreeHead:
    return TreeHead(stored["ledger"], stored["size"], stored["root"])


def _check_secret(stored: Mapping[str, Any] | None, secret: str) -> None:
    """Only a ledger itself may have its heads signed, or ask for them."""
    kept = "" if stored is None else stored.get("secret", digest(""))
    if stored is not None and not hmac.compare_digest(kept, digest(secret)):
        raise AccessError(
            "a head of a ledger whose secret is another",
            why="the ledger's first head came with its secret",
            fix="use the curator's own folder, whose curator.json has the secret",
        )


def newest_text(ledger: str, head: TreeHead | None, nonce: str) -> bytes:
    """The text by which a witness that was sent a nonce says that this is the newest head."""
    said = None if head is None else asdict(head)
    return b"discreet newest head\n" + canonical([ledger, nonce, said]).encode()


def head_text(head: TreeHead) -> bytes:
    """The text of a head that continues all that were signed before."""
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
        fresh = path.with_suffix(".new")
        fresh.touch(mode=0o600)
        fresh.write_bytes(text)
        sync_file(fresh)
        fresh.replace(path)  # a crash leaves no half of a key
        sync_folder(path.parent)
    found = serialization.load_pem_private_key(path.read_bytes(), None)
    if not isinstance(found, ed25519.Ed25519PrivateKey):
        raise LedgerError(
            f"{path.name} is not the key of a witness",
            why="it is of another kind",
            fix="restore it from a copy",
        )
    return found
