"""Secret-shared sums (Prio style): two servers add up numbers that neither of them sees.

A small teaching implementation: one number a device, two servers, everything in Python integers. It
says how the parts work together; for deployments there are maintained implementations of VDAF.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Final

from discreet import noise
from discreet.errors import InputError
from discreet.privacy import Guarantee, Neighbours, Pure
from discreet.rationals import positive, whole

PRIME: Final = (1 << 127) - 1
"""Shares are numbers modulo this prime; a false proof passes with probability 2^-118 at most."""


_CHECKED, _SETTLED = -1, -2
"""Where the messages about a share are, once it was opened at a point."""


@dataclass(frozen=True, slots=True)
class Share:
    """One server's half of a number and of its proof: random on its own.

    `bits` of the number; masks of both factors at 0; the product at 0 and beyond the bits; a random
    product of two numbers, to multiply with.
    """

    bits: tuple[int, ...]
    masks: tuple[int, int]
    product: tuple[int, ...]
    triple: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class ProofShare:
    """A server's message about a proof: two numbers hidden by the triple."""

    first: int
    second: int


@dataclass(frozen=True, kw_only=True)
class SecretSharedSum:
    """The sum of everybody's whole number from 0 to 2^bits - 1, with noise from both servers.

    Guarantee:
        Against one server, and whoever reads the sum, if the other server is honest: epsilon, by
        the discrete Laplace noise of the honest one alone. Shares by themselves are uniform and say
        nothing. The sum is as noisy as if there were two of them. Both servers together see
        everything. *Secret sharing without the noise is not differentially private.*
    Neighbours:
        One person is added or removed. Both servers see who takes part.
    Why (the proof, Corrigan-Gibbs and Boneh 2017):
        f and g are the polynomials through the bits x_i and x_i - 1 at 1, ..., bits, with random
        values at 0; their product h is 0 at all of these if and only if all x_i are 0 or 1. The
        servers know shares of all three, and check t (f(t) g(t) - h(t)) = 0 at a random t that
        devices do not know. A false h passes for 2 bits + 1 values of t at most; the factor t
        keeps a device from making up for it by a false triple.
    Edge cases:
        A server answers about a share once, and at no point where its polynomials are known: two
        answers would reveal their difference. Shares of another size, or seen before, are refused.
        A total is drawn once, and nothing is added after it. Sums are read as signed numbers, so
        noise below 0 does not wrap to a large one.

    Example:
        >>> steps = SecretSharedSum(epsilon=1, bits=8)
        >>> servers = [SumServer(steps, 0), SumServer(steps, 1)]
        >>> [exchange(servers, steps.share(number)) for number in (3, 200)]
        [True, True]
        >>> -10_000 < steps.combine([one.total() for one in servers]) < 10_000
        True

    Reference: Corrigan-Gibbs, Boneh, Prio, 2017, section 4.
    """

    epsilon: Fraction = field()
    bits: int = field(default=16)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        if whole(self.bits, "bits", at_least=1) > 48:
            raise InputError("over 48 bits", why="sums would wrap", fix="pass fewer bits")

    @property
    def guarantee(self) -> Guarantee:
        """Against one server and the reader, if the other server is honest."""
        return Pure(self.epsilon, neighbours=Neighbours.ADD_REMOVE)

    @property
    def scale(self) -> Fraction:
        """Scale of each server's noise."""
        return ((1 << self.bits) - 1) / self.epsilon

    def share(self, number: int) -> tuple[Share, Share]:
        """A number in two halves, one for each server; refused in words that do not quote it."""
        if isinstance(number, bool) or not isinstance(number, int) or number >> self.bits:
            raise InputError(
                "a number that cannot be shared",
                why=f"numbers are whole, from 0 to {(1 << self.bits) - 1}",
                fix="clamp and round it on the device",
            )
        bits = [number >> place & 1 for place in range(self.bits)]
        return self.share_bits(bits)

    def share_bits(self, bits: Sequence[int]) -> tuple[Share, Share]:
        """The halves of these bits and of a proof about them, which holds if they are bits."""
        f = [_random(), *bits]
        g = [_random(), *((bit - 1) % PRIME for bit in bits)]
        places = [0, *range(self.bits + 1, 2 * self.bits + 1)]
        product = [_at(f, t) * _at(g, t) % PRIME for t in places]
        a, b = _random(), _random()
        halves = [_split(part) for part in (bits, (f[0], g[0]), product, (a, b, a * b))]
        one, other = (
            Share(*(half[side] for half in halves))  # type: ignore[arg-type]
            for side in (0, 1)
        )
        return one, other

    def combine(self, totals: Sequence[int]) -> int:
        """The sum, from both servers' totals, as a signed number."""
        found = sum(totals) % PRIME
        return found - PRIME if found > PRIME // 2 else found


class SumServer:
    """One of the two servers, number 0 or 1."""

    def __init__(self, protocol: SecretSharedSum, number: int) -> None:
        self.protocol, self.number = protocol, number
        self.n = self.rejected = 0
        self._total = 0
        self._noisy: int | None = None
        self._points: dict[Share, int] = {}

    def fits(self, share: Share) -> bool:
        """Whether a share has the size of an honest one, and is new."""
        size = self.protocol.bits
        sizes = tuple(map(len, (share.bits, share.masks, share.product, share.triple)))
        return sizes == (size, 2, size + 1, 3) and share not in self._points

    def open(self, share: Share, point: int) -> ProofShare:
        """The first message about a proof, at a point that the servers draw together."""
        in_time = self._noisy is None and 2 * self.protocol.bits < point < PRIME
        if not in_time or not self.fits(share):
            raise _out_of_turn()
        self._points[share] = point
        f, g, _ = self._values(share, point)
        a, b, _ = share.triple
        return ProofShare((f - a) % PRIME, (point * g - b) % PRIME)

    def check(self, share: Share, point: int, opened: Sequence[ProofShare]) -> int:
        """The second message: a half of t (f(t) g(t) - h(t)), which is 0 in all for bits."""
        self._turn(share, point, then=_CHECKED)
        first = sum(one.first for one in opened) % PRIME
        second = sum(one.second for one in opened) % PRIME
        a, b, c = share.triple
        product = first * b + second * a + c + (first * second if self.number == 0 else 0)
        return (product - point * self._values(share, point)[2]) % PRIME

    def settle(self, share: Share, checks: Sequence[int]) -> bool:
        """Add the number if the proof holds, and count it as rejected if it does not."""
        self._turn(share, _CHECKED, then=_SETTLED)
        if sum(checks) % PRIME:
            self.rejected += 1
            return False
        self.n += 1
        self._total += sum(bit << place for place, bit in enumerate(share.bits))
        return True

    def total(self) -> int:
        """This server's half of the sum, with noise that is drawn once."""
        if self._noisy is None:
            drawn = int(noise.discrete_laplace(self.protocol.scale))
            self._noisy = (self._total + drawn) % PRIME
        return self._noisy

    def _turn(self, share: Share, now: int, *, then: int) -> None:
        if self._noisy is not None or self._points.get(share) != now:
            raise _out_of_turn()
        self._points[share] = then

    def _values(self, share: Share, point: int) -> tuple[int, int, int]:
        """Halves of f, g and h at a point."""
        size = self.protocol.bits
        one = 1 if self.number == 0 else 0  # one of the servers subtracts the public 1
        f = [share.masks[0], *share.bits]
        g = [share.masks[1], *((bit - one) % PRIME for bit in share.bits)]
        h = [share.product[0], *[0] * size, *share.product[1:]]
        return _at(f, point), _at(g, point), _at(h, point)


def exchange(servers: Sequence[SumServer], shares: Sequence[Share]) -> bool:
    """Both servers' messages about one device's shares; whether they were added."""
    known = 2 * servers[0].protocol.bits + 1  # points at which the polynomials are known
    point = known + secrets.randbelow(PRIME - known)
    pairs = list(zip(servers, shares, strict=True))
    if not all(server.fits(share) for server, share in pairs):
        for server in servers:
            server.rejected += 1
        return False
    opened = [server.open(share, point) for server, share in pairs]
    checks = [server.check(share, point, opened) for server, share in pairs]
    settled = [server.settle(share, checks) for server, share in pairs]
    return all(settled)


def _out_of_turn() -> InputError:
    return InputError(
        "a message out of turn",
        why="two answers about a share would reveal what it hides",
        fix="send every message once, in order, before the total",
    )


def _random() -> int:
    return secrets.randbelow(PRIME)


def _split(numbers: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    masks = tuple(_random() for _ in numbers)
    return masks, tuple((one - mask) % PRIME for one, mask in zip(numbers, masks, strict=True))


def _at(values: Sequence[int], point: int) -> int:
    """The polynomial through values at 0, 1, 2, ..., at a point (Lagrange)."""
    size = len(values)
    if point < size:
        return values[point] % PRIME
    whole_product = 1
    for i in range(size):
        whole_product = whole_product * (point - i) % PRIME
    terms = zip(values, _denominators(size), strict=True)
    total = sum(
        value * pow(below * (point - i), -1, PRIME) for i, (value, below) in enumerate(terms)
    )
    return total * whole_product % PRIME


@cache
def _denominators(size: int) -> list[int]:
    """The product over j != i of (i - j)."""
    factorials = [1]
    for i in range(1, size):
        factorials.append(factorials[-1] * i % PRIME)
    return [
        (-1) ** (size - 1 - i) * factorials[i] * factorials[size - 1 - i] % PRIME
        for i in range(size)
    ]
