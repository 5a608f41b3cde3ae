"""Popular values, passwords say: found without learning anybody's value, whatever devices do.

A device's value is hashed to a few bits v. The server draws a secret vector r for the device and
learns one bit, <v, r> + e modulo 2, where e is a flip that neither of them knows or chooses:

1. server -> device   the modulus with its proof; encryptions of the bits of r; digests of 64
                      tables of encrypted flips, each in an order of its own
2. device -> server   the number of one table
3. server -> device   that table; the seeds of the others, from which the device makes them again
4. device -> server   the product of the encryptions where v has ones, of one flip of the table,
                      which it chooses at random, and of a random square; and a proof that it is one

Trust:
    *The device's value* is protected from a server that keeps to the protocol by differential
    privacy: the product is uniform among all with its bit, so the server sees the bit and nothing
    else (perfectly, but for 2^-80 that the modulus proof fails, in the random-oracle model), and
    which flip the device chose it does not know. A server that cheats in a table is noticed with
    probability 63/64 by each device it cheats; if it is not, it learns one bit without noise, and
    never more than one bit. *The server's count* is protected from devices: a device learns nothing
    about r or the flips if deciding quadratic residuosity modulo N is hard (a computational
    assumption). By its proof its product is of encryptions, flips and a square, so it votes for
    some v. The most it can take from a value's count is `largest_subtraction` of a vote; that is
    computed, for all ways to combine flips. It can add more than a vote, at most 1/(1 - 2 flip): an
    attacker with many devices can have an unpopular value listed. Devices that end a session early
    have learned nothing by then, and are not counted.

*Argued, not proven here*: the two parties are analysed one session at a time, and hashes as random
oracles. No claim is made that this is the protocol of any paper; the idea of the secret vector is
that of Naor, Pinkas, Ronen, How to (not) Share a Password, 2019.
"""

import hashlib
import math
import secrets
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import gmpy2
import numpy as np

from discreet import noise
from discreet.errors import InputError
from discreet.local import goldwasser_micali as gm
from discreet.local.estimate import Estimate
from discreet.local.hashing import walsh_hadamard
from discreet.local.local_hashing import count_signs
from discreet.local.protocol import likelihood_ratio
from discreet.privacy import Neighbours, Pure
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, positive, rational, whole

if TYPE_CHECKING:
    from discreet.local.device_ledger import DeviceLedger

TABLES: Final = 64
_LONGEST: Final = 32
_SUBTRACTION: Final = Fraction(1, 20)


@dataclass(frozen=True, slots=True)
class ComputationalGuarantee:
    """The guarantee against an honest-but-curious server and a malicious one."""

    kept: Pure
    """Against a server that keeps to the protocol, in the random-oracle model."""
    unnoticed: Fraction
    """The chance that a cheating server is not noticed by the device."""
    bits: int
    """What it then learns at most, in bits of the hash."""
    assumptions: tuple[str, ...] = ("random oracle", "quadratic residuosity (for the server)")


@dataclass(frozen=True, kw_only=True)
class PopularValues:
    """Find values that many devices hold, by one noisy bit of each.

    `length` flips are in a table, `ones` of them ones: as near to 1/(e^epsilon + 1) from above as a
    table of 32 comes, with an even number of ones, so that all flips together cancel.

    Example:
        >>> search = PopularValues(epsilon=1)
        >>> search.length, search.ones, float(search.largest_subtraction) < 0.05
        (22, 6, True)
    """

    epsilon: Fraction = field()
    hash_bits: int = field(default=16)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        if not 4 <= whole(self.hash_bits, "hash_bits", at_least=4) <= 24:
            raise InputError(
                f"{self.hash_bits} bits of hash", why="all hashes are counted", fix="pass 4 to 24"
            )
        _flips(self.epsilon)

    @property
    def length(self) -> int:
        """Flips in a table."""
        return _flips(self.epsilon)[0]

    @property
    def ones(self) -> int:
        """The positions that flip."""
        return _flips(self.epsilon)[1]

    @property
    def flip(self) -> Fraction:
        """The probability that a bit is flipped."""
        return Fraction(self.ones, self.length)

    @property
    def largest_subtraction(self) -> Fraction:
        """The most votes by which a device can lower a count, on average."""
        return subtraction(self.length, self.ones) / (1 - 2 * self.flip)

    @property
    def guarantee(self) -> ComputationalGuarantee:
        """The guarantee for one device's value, against the server."""
        exact = Interval.of((1 - self.flip) / self.flip).log().upper
        return ComputationalGuarantee(
            Pure(Fraction(exact), neighbours=Neighbours.CHANGE_ONE), Fraction(1, TABLES), 1
        )

    def hash(self, value: str) -> int:
        """The few bits of a value that are counted; many values share them."""
        data = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(data, "little") & (1 << self.hash_bits) - 1


@dataclass(frozen=True, slots=True)
class Invitation:
    """Message 1."""

    session: bytes
    modulus: gm.Modulus
    vector: tuple[int, ...]
    digests: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Opening:
    """Message 3: a table, and the seeds of all others, in order."""

    table: tuple[int, ...]
    seeds: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """Message 4."""

    product: int
    proof: gm.SpanProof


class DeviceSession:
    """The device's side of one session, which costs its ledger, if there is one, epsilon.

    Vectors are fresh in every session, so nothing can be answered from memory.
    """

    def __init__(
        self,
        search: PopularValues,
        value: str,
        *,
        known: gm.Modulus | None = None,
        ledger: "DeviceLedger | None" = None,
    ) -> None:
        self._search, self._value, self._known = search, search.hash(value), known
        self._ledger = ledger

    def choose(self, invitation: Invitation) -> int:
        """Message 2: check the modulus, once for all sessions with it, and pick a table."""
        if invitation.modulus != self._known:
            invitation.modulus.check()
        fits = len(invitation.vector) == self._search.hash_bits
        if not fits or len(invitation.digests) != TABLES:
            raise _cheated()
        gm.check_elements(invitation.vector, invitation.modulus.n)
        self._invitation = invitation
        self._choice = int(noise.below(TABLES))
        return self._choice

    def reply(self, opening: Opening) -> Reply:
        """Message 4: check all tables but one, and vote by a flip of that one."""
        search, told = self._search, self._invitation
        n = gmpy2.mpz(told.modulus.n)
        others = [digest for place, digest in enumerate(told.digests) if place != self._choice]
        if len(opening.seeds) != TABLES - 1 or len(opening.table) != search.length:
            raise _cheated()
        gm.check_elements(opening.table, n)
        for digest, seed in zip(others, opening.seeds, strict=True):
            if digest != _digest(_table(search, n, seed)[0]):
                raise _cheated()
        if told.digests[self._choice] != _digest(opening.table):
            raise _cheated()
        if self._ledger is not None:
            self._ledger.charge("popular-values/1", search.guarantee.kept.epsilon0)
        span = gm.Span([*told.vector, *opening.table], n)
        chosen = self._value | 1 << search.hash_bits + int(noise.below(search.length))
        root = gm.unit(n, secrets.token_bytes(32))
        product = span.product(chosen, root)
        about = told.session + told.digests[self._choice]
        return Reply(int(product), gm.prove_span(span, product, chosen, root, about))


class ServerSession:
    """The server's side of one session: a secret vector and secret tables for one device."""

    def __init__(self, search: PopularValues, key: gm.SecretKey) -> None:
        self._search, self._key = search, key
        n = gmpy2.mpz(key.modulus.n)
        self.vector = int(noise.below(1 << search.hash_bits))
        bits = [self.vector >> place & 1 for place in range(search.hash_bits)]
        self._seeds = [secrets.token_bytes(32) for _ in range(TABLES)]
        self._digests = tuple(_digest(_table(search, n, seed)[0]) for seed in self._seeds)
        self.invitation = Invitation(
            secrets.token_bytes(16),
            key.modulus,
            tuple(int(gm.encrypt(bit, n, secrets.token_bytes(32))) for bit in bits),
            self._digests,
        )
        self._choice: int | None = None

    def open(self, choice: int) -> Opening:
        """Message 3; a session opens one choice."""
        if self._choice is not None or not 0 <= choice < TABLES:
            raise InputError("a second choice", why="one table stays closed", fix="begin again")
        self._choice = choice
        n = gmpy2.mpz(self._key.modulus.n)
        self._table = tuple(int(one) for one in _table(self._search, n, self._seeds[choice])[0])
        others = tuple(seed for place, seed in enumerate(self._seeds) if place != choice)
        return Opening(self._table, others)

    def receive(self, reply: Reply) -> tuple[int, int]:
        """The vector and the bit, if the proof holds; a session takes one reply."""
        choice, self._choice = self._choice, -1
        n = gmpy2.mpz(self._key.modulus.n)
        if choice is None or choice < 0:
            raise InputError("a reply out of turn", why="a session takes one", fix="begin again")
        span = gm.Span([*self.invitation.vector, *self._table], n)
        about = self.invitation.session + self._digests[choice]
        fits = isinstance(reply.product, int) and 0 < reply.product < n
        if not fits or not gm.check_span(span, gmpy2.mpz(reply.product), reply.proof, about):
            raise InputError(
                "a reply without a proof",
                why="it could take votes from a value",
                fix="count nothing for this device",
            )
        return self.vector, self._key.decrypt(reply.product)


class PopularCounts:
    """Votes of all devices: which hashes more than a share of them hold."""

    def __init__(self, search: PopularValues) -> None:
        self.search, self.n = search, 0
        self._sums = np.zeros(1 << search.hash_bits, dtype=np.int64)

    def add(self, vectors: Any, bits: Any) -> "PopularCounts":
        """Add what sessions ended with."""
        words = np.atleast_1d(np.asarray(vectors, dtype=np.int64)) << 1
        count_signs(self._sums, words | np.atleast_1d(np.asarray(bits, dtype=np.int64)))
        self.n += len(words)
        return self

    def estimate(self) -> Estimate:
        """How many devices hold each hash."""
        scale = float(1 / (1 - 2 * self.search.flip))
        counts = walsh_hadamard(self._sums) * scale
        values = range(1 << self.search.hash_bits)
        return Estimate(values, counts, self.n, self.n * scale**2, -1.0, 2 * scale)

    def popular(self, share: Real) -> list[int]:
        """Hashes that are estimated at or above this share: values with them should change."""
        least = float(rational(share, "share")) * self.n
        return np.flatnonzero(self.estimate().counts >= least).tolist()


def session_bytes(invitation: Invitation, opening: Opening, reply: Reply) -> tuple[int, int]:
    """How much one session sends, without the modulus and its proof, and how much these are."""
    element, once = gm.BITS // 8, (1 + len(invitation.modulus.roots)) * (gm.BITS // 8)
    sent = 16 + len(invitation.vector) * element + 32 * len(invitation.digests) + 1
    sent += len(opening.table) * element + 32 * len(opening.seeds)
    return sent + element + reply.proof.size, once


def _table(search: PopularValues, n: Any, seed: bytes) -> tuple[list[Any], list[int]]:
    """A table of encrypted flips, in an order that its seed names, and the flips."""
    data = hashlib.shake_256(b"order" + seed).digest(16 * search.length)
    keys = [data[16 * i : 16 * i + 16] for i in range(search.length)]
    order = sorted(range(search.length), key=lambda place: keys[place])
    flips = [int(place < search.ones) for place in order]
    made = [gm.encrypt(bit, n, b"flip" + bytes([i]) + seed) for i, bit in enumerate(flips)]
    return made, flips


def _digest(table: Any) -> bytes:
    digest = hashlib.sha256(b"discreet.local.flips")
    for one in table:
        digest.update(int(one).to_bytes(gm.BITS // 8, "little"))
    return digest.digest()


def subtraction(length: int, ones: int) -> Fraction:
    """The most negative mean of (-1)^(flips chosen), over all numbers of flips to choose.

    Flips are in a random order that the device does not know, so how many it chooses is all that
    matters: with j of s chosen ones, the mean is a sum over hypergeometric probabilities.
    """
    total = math.comb(length, ones)
    means = [
        Fraction(
            sum(
                (-1) ** j * math.comb(s, j) * math.comb(length - s, ones - j)
                for j in range(min(s, ones) + 1)
                if ones - j <= length - s
            ),
            total,
        )
        for s in range(length + 1)
    ]
    return max(Fraction(0), -min(means))


@lru_cache(maxsize=64)
def _flips(epsilon: Fraction) -> tuple[int, int]:
    """The table nearest to the flip probability from above that leaves little to subtract."""
    least = 1 / (1 + likelihood_ratio(epsilon))
    tables = [
        (length, ones)
        for length in range(8, _LONGEST + 1)
        for ones in range(2, (length - 1) // 2 + 1, 2)
        if Fraction(ones, length) >= least
    ]
    fair = [one for one in tables if subtraction(*one) <= _SUBTRACTION]
    if fair:
        return min(fair, key=lambda one: (Fraction(one[1], one[0]), one[0]))
    raise InputError(
        f"epsilon is {float(epsilon):.4g}",
        why=f"a table of {_LONGEST} flips comes near to none that is fair to both sides",
        fix="pass an epsilon from 0.3 to 2",
    )


def _cheated() -> InputError:
    return InputError(
        "the server broke the protocol",
        why="what it sent is not what it said it would be",
        fix="end the session, and tell others",
    )
