"""A ledger whose newest head a witness on another machine signs before any answer.

The witness is a `discreet witness`: see `witness_service`. It sees sizes and hashes alone.
"""

import http.client
import json
import secrets
import ssl
import threading
import urllib.parse
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeGuard

from discreet.curator.arguments import is_loopback
from discreet.curator.fork_safety import FORKS
from discreet.curator.ledger.cosigner import head_text, is_signed, newest_text
from discreet.curator.ledger.merkle import MerkleTree, TreeHead
from discreet.curator.ledger.migrations import Execute
from discreet.curator.ledger.orders import Entry, Head
from discreet.curator.ledger.store import LedgerStore
from discreet.curator.ledger.transaction import Transaction
from discreet.errors import InputError, LedgerError

SECRET: Final = "Discreet-Secret"  # noqa: S105 - the name of a header
"""The header by which a ledger proves that a head is its own."""

_LONGEST: Final = 10.0
_TRIES: Final = 5
_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class WitnessAddress:
    """A witness's address and signing key, and the secret that only this ledger knows."""

    url: str
    key: str
    secret: str

    @staticmethod
    def meet(url: str) -> "WitnessAddress":
        """Ask a witness for its key; from now on no other key is believed."""
        parts = urllib.parse.urlsplit(url)
        secret = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname))
        if not (secret and parts.hostname):
            raise InputError(
                f"a witness at {url[:80]!r}",
                why="its key and the ledger's secret travel in the open but for https://; http:// "
                "is for this machine alone",
                fix="pass https://host:port as `discreet witness` shows it, or the path of a file",
            )
        _, told = WitnessAddress(url, "", "").ask("GET", "/key")
        return WitnessAddress(url, str(told.get("key")), secrets.token_hex(16))

    def ask(
        self, method: str, path: str, body: Any = None, patience: float = _LONGEST
    ) -> tuple[int, Any]:
        """Send a request; the status and the JSON of the reply."""
        parts, wait = urllib.parse.urlsplit(self.url), min(_LONGEST, patience)
        place, port = parts.hostname or "", parts.port
        link: http.client.HTTPConnection = (
            http.client.HTTPSConnection(
                place, port, timeout=wait, context=ssl.create_default_context()
            )
            if parts.scheme == "https"
            else http.client.HTTPConnection(place, port, timeout=wait)
        )
        try:
            headers = {SECRET: self.secret, "Content-Type": "application/json"}
            text = None if body is None else json.dumps(body)
            link.request(method, parts.path.rstrip("/") + path, text, headers)
            reply = link.getresponse()
            told = json.loads(reply.read(_BYTES))
            return reply.status, told if isinstance(told, dict) else {}
        except (OSError, http.client.HTTPException, ValueError) as wrong:
            raise _unreachable(self.url, str(wrong) or type(wrong).__name__) from wrong
        finally:
            link.close()


class RemoteWitness:
    """This process's view of its ledger's witness.

    Guarantee:
        After `advance(store, head)` the witness has signed a head with this entry in it, which
        continues all that it has signed before, also for other processes. A ledger that is restored
        while the process runs is refused, too.
    Edge cases:
        Where the witness cannot be reached, what was charged stays charged and LedgerError says so;
        asking again continues. A ledger that the witness does not know yet is trusted as it is.
    """

    def __init__(self, address: WitnessAddress) -> None:
        self.address = address
        self.renew()
        FORKS.renew_in_child(self)

    def renew(self) -> None:
        """Begin anew in a forked child."""
        self._lock = threading.Lock()
        self._tree = MerkleTree()
        self._ledger = ""
        self._signed: TreeHead | None = None

    def has_signed(self, head: Head) -> bool:
        """Whether a head with this entry in it is known to be signed."""
        signed = self._signed
        within = signed is not None and signed.size >= head.sequence
        return within and self._tree.has(head.sequence - 1, bytes.fromhex(head.hash))

    def advance(self, store: LedgerStore, head: Head, *, patience: float = _LONGEST) -> None:
        """Have the ledger's head signed, unless one with this entry in it is."""
        if self.has_signed(head):
            return
        with self._lock:
            self._read(store)
            for _ in range(_TRIES):
                if self._signed is None:
                    self._signed = self._continued(store, self._newest(patience))
                if self.has_signed(head):
                    return
                if not self._tree.has(head.sequence - 1, bytes.fromhex(head.hash)):
                    raise _put_back(self._ledger, len(self._tree), head.sequence)
                self._cosign(patience)
        raise _unreachable(self.address.url, "other processes keep it busy")

    def _read(self, store: LedgerStore) -> None:
        """Add the entries that are new, if they follow those that are known."""
        known = len(self._tree)

        def work(execute: Execute) -> tuple[str, int, list[bytes]]:
            page = Transaction(execute)
            return page.ledger, page.head.sequence, leaves_after(page, max(known - 1, 0))

        self._ledger, size, leaves = store.snapshot(work)
        if known and not (leaves and self._tree.has(known - 1, leaves[0])):
            raise _put_back(self._ledger, known, size)
        self._tree.extend(leaves[1:] if known else leaves)

    def _continued(self, store: LedgerStore, signed: TreeHead | None) -> TreeHead | None:
        """The signed head, if the ledger extends it."""
        if signed is None:
            return None
        if signed.size > len(self._tree):
            self._read(store)  # another process may have added them meanwhile
        if signed.size > len(self._tree) or self._tree.root(signed.size).hex() != signed.root:
            raise _put_back(self._ledger, signed.size, len(self._tree))
        return signed

    def _newest(self, patience: float) -> TreeHead | None:
        """The newest head that the witness signed."""
        nonce = secrets.token_hex(16)
        path = f"/ledgers/{self._ledger}?nonce={nonce}"
        status, told = self.address.ask("GET", path, None, patience)
        head = None if told.get("head") is None else TreeHead(**told["head"])
        text, signature = newest_text(self._ledger, head, nonce), str(told.get("signature"))
        if status == http.client.OK and is_signed(text, signature, self.address.key):
            return head
        raise self._refusal(status)

    def _cosign(self, patience: float) -> None:
        """Have the newest head signed; where another process was faster, it is asked again."""
        head = TreeHead(self._ledger, len(self._tree), self._tree.root().hex())
        old = head.size if self._signed is None else self._signed.size
        proof = [one.hex() for one in self._tree.prove_consistency(old, head.size)]
        body = {"head": asdict(head), "proof": proof}
        status, told = self.address.ask("POST", f"/ledgers/{self._ledger}", body, patience)
        if status == http.client.CONFLICT:
            self._signed = None
        elif status == http.client.OK and is_signed(
            head_text(head), str(told.get("signature")), self.address.key
        ):
            self._signed = head
        else:
            raise self._refusal(status)

    def _refusal(self, status: int) -> LedgerError:
        what = f"the witness at {self.address.url} cannot be believed"
        fix = "see that the address leads to the witness that it led to, with its own folder"
        if status == http.client.OK:
            why = "its signature is not of the key that it had when the curator met it"
        elif status == http.client.FORBIDDEN:
            what = f"the witness at {self.address.url} has met this ledger with another secret"
            why = "the secret is in curator.json, which is another one, or it was retired before"
            fix = "put back that curator.json; if it is lost for good, have the witness forget the "
            fix += f"ledger with `discreet witness FOLDER --forget {self._ledger}`"
        else:
            why = f"it replied {status}"
        return LedgerError(what, why=why, fix=fix)


NAMED: Final = "witness named"
RETIRED: Final = "witness retired"
WITNESS_KINDS: Final = (NAMED, RETIRED)
"""The kinds of entry that say which witness elsewhere a ledger has, the newest of them."""


def find_named(transaction: Transaction) -> Mapping[str, Any] | None:
    """The key and the address of the witness elsewhere that a ledger has; None without one."""
    sql = """SELECT e.body FROM subjects n JOIN entries e ON e.sequence = n.sequence
    WHERE n.kind IN (?, ?) ORDER BY n.sequence DESC LIMIT 1"""
    entries = [Entry.read(body) for (body,) in transaction.read(sql, WITNESS_KINDS)]
    return next((entry.facts for entry in entries if entry.kind == NAMED), None)


def unlike_named(named: Mapping[str, Any]) -> LedgerError:
    """The error where a ledger is opened without its witness, or with another."""
    return LedgerError(
        f"this ledger has a witness at {named['url']}, and is opened without it",
        why="without it a copy that was put back would pass for the newest",
        fix="put back the newest curator.json, which names it; only if the witness is lost for "
        "good, go on without it: `discreet ledger adopt --without-witness`",
    )


def leaves_after(page: Transaction, sequence: int) -> list[bytes]:
    """The hashes of the entries after a number, in order."""
    rows = page.read("SELECT hash FROM entries WHERE sequence > ? ORDER BY sequence", (sequence,))
    return [bytes.fromhex(one) for (one,) in rows]


def _unreachable(url: str, why: str) -> LedgerError:
    return LedgerError(
        f"the witness at {url} cannot be reached",
        why=why,
        fix="start it (`discreet witness`), or see to the network, and ask again: a charge that "
        "was made is found, not made twice",
    )


def _put_back(ledger: str, seen: int, here: int) -> LedgerError:
    return LedgerError(
        f"the witness has signed {seen} entries that this ledger, which has {here}, does not have",
        why="it was restored from an older copy or changed, and budgets would be spent twice",
        fix="put back the newest copy; if it is lost for good, adopt this one with `discreet "
        f"ledger adopt` and have it forgotten with `discreet witness FOLDER --forget {ledger}`",
    )


def is_address(witness: object) -> TypeGuard[str]:
    """Whether a witness is named by an address, and not by the path of a file."""
    return isinstance(witness, str) and witness.startswith(("http://", "https://"))
