"""Random bits: a cryptographic stream, keyed afresh by the operating system for each request.

No state outlives a request, so there is nothing for a forked child, a thread or a restored
machine image to repeat, and nothing for an intruder to run backwards.

`keyed` is for work that a cluster may do twice: the same key and label give the same bits again.

Tests and the auditor replace the source through one private function, `replaced`. It is a context
variable: other threads and new processes keep the real source.

**Decisions about real numbers that are never wrong.** A uniform real U in [0, 1) is known by a
prefix of its bits: it lies in a dyadic cell. A quantity that depends on U is enclosed by MPFR with
directed rounding. While the enclosure straddles the decision, the cell is halved 64 times more
(fresh bits, independent of everything so far) and the precision grows with it. Each decision is
therefore exactly the one that the infinite expansion of U would give: total variation zero, for
ideal bits. The fast paths of this package decide in float64, accept the decision only outside a
certified error band, and hand the rest to this file.

Python's operators on `mpfr` numbers (the unary minus, int() and gmpy2.floor too) round to the 53
bits of the ambient context, whatever the operand's precision; only methods of an explicit context
and exact ratios are used here.
"""

import hmac
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeAlias

import gmpy2
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


Enclosure: TypeAlias = "tuple[gmpy2.mpfr, gmpy2.mpfr]"
"""A lower and an upper bound of one real number."""


class Uniform:
    """A uniform real in [0, 1), known to `size` bits and extended on demand."""

    __slots__ = ("prefix", "size", "source")

    def __init__(self, prefix: int, size: int, source: BitSource) -> None:
        self.prefix = prefix
        self.size = size
        self.source = source

    def extend(self) -> None:
        """Learn 64 more bits."""
        self.prefix = (self.prefix << 64) | self.source.word()
        self.size += 64

    def cell(self) -> tuple[gmpy2.mpq, gmpy2.mpq]:
        """Both ends of the cell, exactly."""
        return gmpy2.mpq(self.prefix, 1 << self.size), gmpy2.mpq(self.prefix + 1, 1 << self.size)

    def minus_log(self) -> Enclosure:
        """Enclose -ln U; learns more bits first while U may still be 0."""
        while self.prefix == 0:
            self.extend()
        down, up = contexts(self.size)
        unit = exact(1 << self.size)
        return (
            down.minus(up.log(up.div(exact(self.prefix + 1), unit))),
            up.minus(down.log(down.div(exact(self.prefix), unit))),
        )


def contexts(bits: int) -> "tuple[gmpy2.context, gmpy2.context]":
    """Rounding down and rounding up, with room to spare over `bits` of information."""
    precision = bits + 64
    return (
        gmpy2.context(precision=precision, round=gmpy2.RoundDown),
        gmpy2.context(precision=precision, round=gmpy2.RoundUp),
    )


def exact(integer: int) -> "gmpy2.mpfr":
    """An integer as an MPFR number, without rounding."""
    return gmpy2.mpfr(integer, max(2, integer.bit_length()))


def floor(number: "gmpy2.mpfr") -> int:
    """The floor of an MPFR number, without rounding first."""
    numerator, denominator = number.as_integer_ratio()
    return int(numerator // denominator)


def quotient(value: Fraction, bits: int) -> Enclosure:
    """Enclose a rational."""
    down, up = contexts(bits)
    above, below = exact(value.numerator), exact(value.denominator)
    return down.div(above, below), up.div(above, below)


def exp_minus(x: Fraction, bits: int) -> Enclosure:
    """Enclose exp(-x) for x >= 0, never below zero."""
    down, up = contexts(bits)
    low, high = quotient(x, bits)
    return down.exp(down.minus(high)), up.exp(up.minus(low))


def is_below(uniform: Uniform, enclose: Callable[[int], Enclosure]) -> bool:
    """Whether U < p, where `enclose(bits)` encloses p ever more tightly."""
    while True:
        low, high = uniform.cell()
        p_low, p_high = enclose(uniform.size)
        if high <= p_low:
            return True
        if low >= p_high:
            return False
        uniform.extend()


def floor_of(uniform: Uniform, enclose: Callable[[Uniform], Enclosure]) -> int:
    """The floor of a quantity that `enclose(uniform)` encloses ever more tightly."""
    while True:
        low, high = map(floor, enclose(uniform))
        if low == high:
            return low
        uniform.extend()
