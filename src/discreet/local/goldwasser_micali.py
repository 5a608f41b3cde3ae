"""Goldwasser-Micali: bits as quadratic residues, and proofs about them.

Elements are of Jacobi symbol 1 modulo N. Where they fall into two classes modulo squares, N hides
one bit in each: a square is 0, and -1 times a square is 1. Multiplying elements adds their bits.
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import gmpy2

from discreet.errors import InputError

BITS: Final = 2048
ROUNDS: Final = 80
"""Challenges of each proof: a false one passes with probability 2^-80."""

_WINDOW: Final = 6
_SPARE: Final = 16
_PRIME_TESTS: Final = 40


@dataclass(frozen=True, slots=True)
class Modulus:
    """The public half of a key: N, and roots that prove that it hides one bit and no more.

    Why: of C classes of elements modulo squares, plus or minus a square covers two. A random
    element is of these with probability 2/C at most, so a root of plus or minus each of 80
    elements that a hash of N chooses shows C <= 2 but for a chance of 2^-80 (random oracle).
    """

    n: int
    roots: tuple[int, ...] = field(repr=False)

    def check(self) -> None:
        """Refuse a modulus whose proof does not hold."""
        n = gmpy2.mpz(self.n)
        fits = n.bit_length() == BITS and n % 4 == 1 and len(self.roots) == ROUNDS
        if not fits or not all(
            root * root % n in (x, n - x)
            for root, x in zip(map(gmpy2.mpz, self.roots), _challenges(n), strict=True)
        ):
            raise InputError(
                "a modulus without a proof",
                why="it could make a reply reveal more than one bit",
                fix="take part only with a server that proves its modulus",
            )


@dataclass(frozen=True, slots=True)
class SecretKey:
    """The primes."""

    p: Any = field(repr=False)
    q: Any = field(repr=False)
    modulus: Modulus

    @staticmethod
    def generate() -> "SecretKey":
        """Two primes of 1,024 bits that are 3 modulo 4, from the operating system's bits."""
        p, q = _prime(), _prime()
        n = p * q
        roots = tuple(int(_root(x, p, q)) for x in _challenges(n))
        return SecretKey(p, q, Modulus(int(n), roots))

    def decrypt(self, element: int) -> int:
        """The bit of an element."""
        return int(gmpy2.legendre(element % self.p, self.p) != 1)


def encrypt(bit: int, n: Any, seed: bytes) -> Any:
    """An element with this bit; its square is made from the seed."""
    square = unit(n, seed) ** 2 % n
    return n - square if bit else square


def unit(n: Any, seed: bytes) -> Any:
    """A number modulo n that a seed determines, uniform up to 2^-128."""
    size = (n.bit_length() + 7) // 8 + _SPARE
    return gmpy2.mpz(int.from_bytes(hashlib.shake_256(seed).digest(size), "little")) % n


def check_elements(elements: Sequence[int], n: Any) -> None:
    """Refuse anything that is not an element of Jacobi symbol 1."""
    if not all(
        isinstance(one, int) and 0 < one < n and gmpy2.jacobi(one, n) == 1 for one in elements
    ):
        raise InputError(
            "a number that is no ciphertext",
            why="its Jacobi symbol is not 1, so it could reveal more than its bit",
            fix="end the session",
        )


class Span:
    """Products of given elements with squares: the sums of their bits.

    Products of six elements at a time are tabulated. That of none is n + 1, which is 1 but as long
    as the others: the time of a product must not reveal which elements are in it.
    """

    def __init__(self, elements: Sequence[Any], n: Any) -> None:
        self.elements, self.n = [gmpy2.mpz(one) for one in elements], n
        self._tables = [
            self._table(self.elements[i : i + _WINDOW])
            for i in range(0, len(self.elements), _WINDOW)
        ]

    def _table(self, few: list[Any]) -> list[Any]:
        table = [self.n + 1]
        for one in few:
            table += [product * one % self.n for product in table]
        return table

    def product(self, chosen: int, root: Any) -> Any:
        """The elements whose bits are set in `chosen`, times root^2."""
        found = root * root % self.n
        for table in self._tables:
            found = found * table[chosen & (len(table) - 1)] % self.n
            chosen >>= len(table).bit_length() - 1
        return found


@dataclass(frozen=True, slots=True)
class SpanProof:
    """That a number is a product of the elements of a span and a square, and nothing about which.

    Why: with two answers to one commitment the exponents and the root could be computed, so
    whoever has none answers each of 80 challenge bits with probability 1/2 (and the challenge is a
    hash: random oracle). What is answered is uniform: exponents plus random ones, a root times
    a random one; so it could have been made without knowing them.
    """

    challenge: bytes
    answers: tuple[bytes | tuple[int, int], ...]
    """For a challenge bit of 0 the seed of the commitment; for 1 exponents and a root."""

    @property
    def size(self) -> int:
        """Size in bytes."""
        each = (len(one) if isinstance(one, bytes) else BITS // 8 + 8 for one in self.answers)
        return len(self.challenge) + sum(each)


def prove_span(span: Span, number: Any, chosen: int, root: Any, about: bytes) -> SpanProof:
    """Prove that `number` is span.product(chosen, root); `about` binds the proof to its session."""
    n, size = span.n, len(span.elements)
    seeds = [secrets.token_bytes(32) for _ in range(ROUNDS)]
    drawn = [_commitment(seed, size, n) for seed in seeds]
    challenge = _challenge(number, [span.product(*one) for one in drawn], about)
    answers: list[bytes | tuple[int, int]] = []
    blind = unit(n, secrets.token_bytes(32))  # for the time that small numbers would save
    undo = gmpy2.invert(blind * blind, n)
    for place, seed in enumerate(seeds):
        exponents, mask = drawn[place]
        if challenge[place // 8] >> place % 8 & 1:
            carried = span.product(exponents & chosen, blind) * undo % n
            answers.append((exponents ^ chosen, int(mask * root * carried % n)))
        else:
            answers.append(seed)
    return SpanProof(challenge, tuple(answers))


def check_span(span: Span, number: Any, proof: SpanProof, about: bytes) -> bool:
    """Whether a proof holds."""
    n, size = span.n, len(span.elements)
    if len(proof.answers) != ROUNDS or gmpy2.gcd(number, n) != 1:
        return False
    inverse, committed = gmpy2.invert(number, n), []
    for place, answer in enumerate(proof.answers):
        is_one = proof.challenge[place // 8] >> place % 8 & 1 if len(proof.challenge) == 32 else 2
        if is_one == 0 and isinstance(answer, bytes) and len(answer) == 32:
            committed.append(span.product(*_commitment(answer, size, n)))
        elif is_one == 1 and isinstance(answer, tuple) and _fits(answer, (1 << size, n)):
            made = span.product(answer[0], gmpy2.mpz(answer[1]))
            committed.append(made * inverse % n)
        else:
            return False
    return secrets.compare_digest(_challenge(number, committed, about), proof.challenge)


def _fits(answer: tuple[Any, ...], below: tuple[Any, Any]) -> bool:
    pairs = zip(answer, below, strict=False)
    return len(answer) == 2 and all(isinstance(a, int) and 0 <= a < b for a, b in pairs)


def _commitment(seed: bytes, size: int, n: Any) -> tuple[int, Any]:
    exponents = int.from_bytes(hashlib.shake_256(b"exponents" + seed).digest(32), "little")
    return exponents & (1 << size) - 1, unit(n, b"mask" + seed)


def _challenge(number: Any, committed: list[Any], about: bytes) -> bytes:
    digest = hashlib.sha256(b"discreet.local.span" + about)
    for one in (number, *committed):
        digest.update(int(one).to_bytes(BITS // 8, "little"))
    return digest.digest()


def _challenges(n: Any) -> list[Any]:
    """Elements that a hash of n chooses."""
    found: list[Any] = []
    name, counter = int(n).to_bytes(BITS // 8, "little"), 0
    while len(found) < ROUNDS:
        one = unit(n, b"discreet.local.modulus" + name + counter.to_bytes(4, "little"))
        counter += 1
        if gmpy2.jacobi(one, n) == 1:
            found.append(one)
    return found


def _prime() -> Any:
    while True:
        one = gmpy2.mpz(secrets.randbits(BITS // 2) | 3 | 3 << BITS // 2 - 2)
        if gmpy2.is_prime(one, _PRIME_TESTS):
            return one


def _root(x: Any, p: Any, q: Any) -> Any:
    """A root of x or -x modulo p q, whichever is a square."""
    n = p * q
    square = x if gmpy2.legendre(x % p, p) == 1 else n - x
    a, b = (gmpy2.powmod(square, (prime + 1) // 4, prime) for prime in (p, q))
    return (a + p * ((b - a) * gmpy2.invert(p, q) % q)) % n
