"""Random bits: a cryptographic stream, keyed afresh by the operating system for each request.

No state outlives a request, so there is nothing for a forked child, a thread or a restored
machine image to repeat, and nothing for an intruder to run backwards.

`keyed` is for work that a cluster may do twice: the same key and label give the same bits again.

Tests and the auditor replace the source through one private function, `replaced`. It is a context
variable: other threads and new processes keep the real source.
"""

import hmac
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint64]

FEW = 16
"""Requests for fewer draws than this skip the cipher, whose set-up would cost more than they do."""

_CHUNK_BYTES = 1 << 20
_ZEROS = bytes(_CHUNK_BYTES)
_WORD = np.dtype("<u8")


class BitSource(Protocol):
    """Independent uniform 64-bit words."""

    def word(self) -> int:
        """One word."""
        ...

    def words(self, count: int) -> Words:
        """`count` words."""
        ...


class Keystream:
    """AES-256 in counter mode: the keystream of one 256-bit key.

    Example:
        >>> Keystream(bytes(32)).word() == Keystream(bytes(32)).word()
        True
    """

    __slots__ = ("_encrypt",)

    def __init__(self, key: bytes) -> None:
        self._encrypt = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor().update

    def word(self) -> int:
        """One word."""
        return int.from_bytes(self._encrypt(_ZEROS[:8]), "little")

    def words(self, count: int) -> Words:
        """`count` words, encrypted at most a mebibyte at a time."""
        if 8 * count <= _CHUNK_BYTES:
            return np.frombuffer(self._encrypt(_ZEROS[: 8 * count]), dtype=_WORD)
        whole, rest = divmod(8 * count, _CHUNK_BYTES)
        chunks = [self._encrypt(_ZEROS) for _ in range(whole)] + [self._encrypt(_ZEROS[:rest])]
        return np.frombuffer(b"".join(chunks), dtype=_WORD)


class SystemBits:
    """The operating system's own generator, a word at a time, for a handful of draws."""

    __slots__ = ()

    def word(self) -> int:
        """One word."""
        return int.from_bytes(os.urandom(8), "little")

    def words(self, count: int) -> Words:
        """`count` words."""
        return np.frombuffer(os.urandom(8 * count), dtype=_WORD)


_replacement: ContextVar[Callable[[], BitSource] | None] = ContextVar("_replacement", default=None)


def open_source(draws: int) -> BitSource:
    """Open the source of one request for about this many draws."""
    opener, meter = _replacement.get(), _meter.get()
    if opener is not None:
        source = opener()
    else:
        source = SystemBits() if draws < FEW else Keystream(os.urandom(32))
    return source if meter is None else MeteredBits(source, meter)


@dataclass(slots=True)
class Meter:
    """How many random bytes were drawn."""

    bytes: int = 0


@dataclass(frozen=True, slots=True)
class MeteredBits:
    """Another source, whose bytes are counted."""

    source: BitSource
    meter: Meter

    def word(self) -> int:
        """One word."""
        self.meter.bytes += 8
        return self.source.word()

    def words(self, count: int) -> Words:
        """`count` words."""
        self.meter.bytes += 8 * count
        return self.source.words(count)


_meter: ContextVar[Meter | None] = ContextVar("_meter", default=None)


@contextmanager
def metered() -> Iterator[Meter]:
    """Count the random bytes that requests in this context draw.

    Example:
        >>> with metered() as meter:
        ...     _ = open_source(100).words(100)
        >>> meter.bytes
        800
    """
    meter = Meter()
    token = _meter.set(meter)
    try:
        yield meter
    finally:
        _meter.reset(token)


def count_drawn(amount: int) -> None:
    """Add bytes that another process drew to the meter of this context, if it has one."""
    if (meter := _meter.get()) is not None:
        meter.bytes += amount


@contextmanager
def keyed(key: bytes, label: bytes) -> Iterator[None]:
    """Give each request in this context a stream that follows from a key, a label and its number.

    Guarantee:
        Without `key` the bits of all labels together cannot be told from uniform ones. The same
        key, label and requests give the same bits, in any process.
    Why:
        HMAC-SHA256 is a pseudo-random function, and request n of a label is given the AES key
        HMAC(key, n || label), n in 8 bytes: inputs differ, so no two requests share a stream.
    Edge cases:
        Two uses of one label are one draw. Keys are drawn from the operating system for one
        purpose, are 32 bytes long, and are never stored.

    Example:
        >>> def drawn(label):
        ...     with keyed(bytes(32), label):
        ...         return open_source(100).word()
        >>> drawn(b"1") == drawn(b"1"), drawn(b"1") == drawn(b"2")
        (True, False)
    """
    numbers = itertools.count()

    def opener() -> Keystream:
        return Keystream(hmac.digest(key, next(numbers).to_bytes(8, "big") + label, "sha256"))

    with replaced(opener):
        yield


@contextmanager
def replaced(opener: Callable[[], BitSource]) -> Iterator[None]:
    """Give every request in this context the bits of `opener()`; for `keyed`, tests and audits."""
    token = _replacement.set(opener)
    try:
        yield
    finally:
        _replacement.reset(token)
