"""Decisions about real numbers that are never wrong.

A uniform real U in [0, 1) is known by a prefix of its bits: it lies in a dyadic cell. A quantity
that depends on U is enclosed by MPFR with directed rounding. While the enclosure straddles the
decision, the cell is halved 64 times more (fresh bits, independent of everything so far) and the
precision grows with it. Each decision is therefore exactly the one that the infinite expansion
of U would give: total variation zero, for ideal bits.

The fast paths of this package decide in float64, accept the decision only outside a certified error
band, and hand the rest to this file.

Python's operators on `mpfr` numbers (the unary minus, int() and gmpy2.floor too) round to the 53
bits of the ambient context, whatever the operand's precision; only methods of an explicit context
and exact ratios are used here.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import gmpy2

from discreet.noise.bits import BitSource

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
