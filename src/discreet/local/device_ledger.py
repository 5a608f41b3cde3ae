"""A device's ledger for life: what it has ever reported, and its privacy cost."""

import base64
import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from discreet.errors import BudgetError, LedgerError
from discreet.rationals import Real, positive

if TYPE_CHECKING:
    from discreet.local.protocol import LocalProtocol

_FORM = "discreet device ledger 1"
_FIRST = b' {"form":"discreet device ledger 1","key":"'


class DeviceLedger:
    """One small file on the device: every answer that was drawn, and its epsilon.

    Guarantee:
        The sum of the epsilons of all answers ever drawn, of all protocols and on all days, is at
        most `limit`. Nothing resets it: there is no clock in it, and no way to forget. A repeat of
        a value is answered from memory, byte for byte, and costs nothing.
    Neighbours:
        One value of the device is changed into another, on every day it is held. Which reports are
        about the same value is not hidden: repeated answers keep reports from adding up, and show
        when the value changes.
    Why:
        An answer and its charge are one line, on disk before the answer leaves. A crash before that
        has revealed nothing; a line that a crash cut short is dropped for the same reason. A line
        that was changed is refused, by a chain of digests. A child after a fork tells nothing new.
    Edge cases:
        The limit may be lowered when the file is opened, and never raised. Restoring an old copy of
        the file makes the device forget; only the device's owner can see to that.

    Example:
        >>> import tempfile
        >>> from discreet.local import KRandomizedResponse
        >>> survey = KRandomizedResponse(epsilon=1, domain=2)
        >>> ledger = DeviceLedger(tempfile.mkdtemp() + "/told.jsonl", limit=1)
        >>> first = survey.reporter(ledger).report(1)
        >>> survey.reporter(ledger).report(1)[-1] == first[-1], ledger.left
        (True, Fraction(0, 1))
    """

    def __init__(self, path: str | Path, *, limit: Real) -> None:
        self.path = Path(path)
        self._asked = positive(limit, "limit")
        self._lock = threading.Lock()  # threads must not pass the check together
        self._process = os.getpid()
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise LedgerError(
                "this device's ledger is open elsewhere",
                why="two programs could spend the same budget",
                fix="close the other one",
            ) from None
        try:
            self._load()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def spent(self) -> Fraction:
        """All answers ever drawn."""
        return self._spent

    @property
    def limit(self) -> Fraction:
        """The least that was ever asked for."""
        return self._limit

    @property
    def left(self) -> Fraction:
        """The epsilon that may still be spent."""
        return max(Fraction(0), self._limit - self._spent)

    def remember(self, protocol: "LocalProtocol", value: bytes, draw: Callable[[], bytes]) -> bytes:
        """The answer that was given about this value, or a new one within the limit."""
        name = hmac.digest(self._key, protocol.digest + value, "sha256").hex()
        with self._lock:
            if name not in self._told:
                self._check(protocol.epsilon)
                answer = draw()
                self._append(self._line(name, protocol.kind, protocol.epsilon, answer))
                self._told[name] = answer
                self._spent += protocol.epsilon
            return self._told[name]

    def charge(self, kind: str, epsilon: Fraction) -> None:
        """Pay for an answer that cannot be kept, before it is given."""
        with self._lock:
            self._check(epsilon)
            self._append(self._line(secrets.token_hex(32), kind, epsilon, b""))
            self._spent += epsilon

    def _check(self, epsilon: Fraction) -> None:
        if self._spent + epsilon > self._limit:
            raise BudgetError(
                "the lifetime budget of this device is spent",
                why="the owner's limit covers all protocols and all days together",
                fix="report nothing more from this device: its limit is never raised",
                asked=float(epsilon),
                left=float(self.left),
            )

    def once(self, protocol: "LocalProtocol", draw: Callable[[], bytes]) -> bytes:
        """A draw that the protocol makes once for the device's life, independent of any value."""
        name = hmac.digest(self._key, b"once" + protocol.digest, "sha256").hex()
        with self._lock:
            if name not in self._told:
                drawn = draw()
                self._append(self._line(name, protocol.kind, Fraction(0), drawn))
                self._told[name] = drawn
            return self._told[name]

    def _load(self) -> None:
        data = b""
        while part := os.read(self._file, 1 << 20):
            data += part
        lines = data.split(b"\n")
        torn = len(lines.pop())  # what follows the last whole line
        self._told: dict[str, bytes] = {}
        self._spent, self._limit, self._chain = Fraction(0), self._asked, b""
        if not lines:
            if not _is_begun(data):
                raise _changed()
            os.ftruncate(self._file, 0)
            self._end = 0
            self._key = secrets.token_bytes(32)
            self._append({"form": _FORM, "key": self._key.hex(), "limit": str(self._asked)})
            sync_folder(self.path.parent)
            return
        for line in lines:
            self._read(line)
        self._end = len(data) - torn
        if torn:
            os.ftruncate(self._file, self._end)
        if self._asked < self._limit:
            self._limit = self._asked
            self._append({"limit": str(self._asked)})

    @staticmethod
    def _line(name: str, kind: str, epsilon: Fraction, answer: bytes) -> dict[str, str]:
        kept = base64.b64encode(answer).decode()
        return {"told": name, "protocol": kind, "epsilon": str(epsilon), "answer": kept}

    def _read(self, line: bytes) -> None:
        try:
            digest, _, text = line.partition(b" ")
            chain = hashlib.sha256(self._chain + text).hexdigest().encode()
            facts = json.loads(text)
            first = not self._chain
            if not hmac.compare_digest(chain, digest) or first != (facts.get("form") == _FORM):
                raise ValueError  # noqa: TRY301 - one refusal for all that is wrong
            if first:
                self._key, self._limit = bytes.fromhex(facts["key"]), Fraction(facts["limit"])
            elif "limit" in facts:
                self._limit = min(self._limit, Fraction(facts["limit"]))
            else:
                self._told[facts["told"]] = base64.b64decode(facts["answer"])
                self._spent += Fraction(facts["epsilon"])
        except (ValueError, KeyError, AttributeError):
            raise _changed() from None
        self._chain = chain

    def _append(self, facts: dict[str, Any]) -> None:
        """One line, whole and on disk, or none: a failure leaves the file where it was.

        A child after a fork has the file and its lock, and would spend the same budget again.
        """
        if os.getpid() != self._process:
            raise LedgerError(
                "this device's ledger was opened by another process",
                why="a copy after a fork would spend the same budget",
                fix="open the ledger in the process that reports; nothing was reported",
            )
        text = json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()
        chain = hashlib.sha256(self._chain + text).hexdigest().encode()
        line = chain + b" " + text + b"\n"
        if wrong := append_whole(self._file, line, self._end):
            raise LedgerError(
                "this device's ledger cannot be written",
                why=wrong,
                fix="make room on its disk; nothing was reported",
            )
        self._end += len(line)
        self._chain = chain


def _is_begun(data: bytes) -> bool:
    """Whether a crash can have left this of a first line; others' files stay as they are."""
    rest = data[64:]
    fits = _FIRST.startswith(rest) or rest.startswith(_FIRST)
    return fits and re.fullmatch(rb"[0-9a-f]*", data[:64]) is not None


def _changed() -> LedgerError:
    return LedgerError(
        "this device's ledger was changed",
        why="its record can no longer be trusted, so the device reports nothing more",
        fix="restore the file as it was",
    )


def append_whole(file: int, data: bytes, end: int) -> str:
    """Write bytes at the end of a file, whole and on disk, or none; the error in words, or ""."""
    try:
        if os.pwrite(file, data, end) != len(data):
            raise OSError("a part of it")  # noqa: TRY301 - handled as the disk's own
        os.fsync(file)
    except OSError as wrong:
        with suppress(OSError):  # what is left of it must not stand behind a shorter line
            os.ftruncate(file, end)
        return wrong.strerror or str(wrong) or type(wrong).__name__
    return ""


def sync_folder(folder: Path) -> None:
    """Make the name of a new file durable, too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
