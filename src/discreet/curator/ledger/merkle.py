"""Proofs that an entry is in a ledger, and that one ledger continues another, in a few hashes.

The leaves of the tree are the hashes of the entries, in order. A verifier who remembers a size and
a root needs no entries.

Reference: RFC 6962, sections 2.1, 2.1.1 and 2.1.2.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from discreet.errors import InputError


@dataclass(frozen=True, slots=True)
class TreeHead:
    """How many entries a ledger has, and the root of the tree over them."""

    ledger: str
    size: int
    root: str


class MerkleTree:
    """A growing tree that keeps the hashes of its whole subtrees.

    Adding a leaf takes constant time on average; a root or a proof takes the logarithm's square.
    """

    def __init__(self, leaves: Iterable[bytes] = ()) -> None:
        self._levels: list[list[bytes]] = [[]]
        self.extend(leaves)

    def __len__(self) -> int:
        return len(self._levels[0])

    def extend(self, leaves: Iterable[bytes]) -> None:
        """Add leaves."""
        self._levels[0].extend(_leaf(one) for one in leaves)
        for height, level in enumerate(self._levels):
            if height + 1 == len(self._levels) and len(level) > 1:
                self._levels.append([])
            if len(level) > 1:
                above = self._levels[height + 1]
                pairs = range(2 * len(above), len(level) - 1, 2)
                above.extend(_node(level[i], level[i + 1]) for i in pairs)

    def has(self, index: int, leaf: bytes) -> bool:
        """Whether this is the leaf at a place."""
        return 0 <= index < len(self) and self._levels[0][index] == _leaf(leaf)

    def root(self, size: int | None = None) -> bytes:
        """The hash of the first `size` leaves, or of all."""
        return self._hash(0, len(self) if size is None else size)

    def prove_consistency(self, old: int, new: int) -> list[bytes]:
        """Proof that the first `new` leaves extend the first `old`."""
        _check(0 < old <= new <= len(self), "an older tree has some of the leaves")
        return self._subproof(old, 0, new, whole=True)

    def prove_inclusion(self, index: int, size: int) -> list[bytes]:
        """Proof that a leaf is under the root of the first `size`."""
        _check(0 <= index < size <= len(self), "there is no such leaf")
        return self._path(index, 0, size)

    def _hash(self, start: int, end: int) -> bytes:
        """The hash of the leaves from a place that is a multiple of a power of two above them."""
        size = end - start
        if size == 0:
            return hashlib.sha256(b"").digest()
        if size & (size - 1) == 0:
            height = size.bit_length() - 1
            return self._levels[height][start >> height]
        middle = start + _split(size)
        return _node(self._hash(start, middle), self._hash(middle, end))

    def _path(self, index: int, start: int, end: int) -> list[bytes]:
        if end - start == 1:
            return []
        middle = start + _split(end - start)
        if index < middle:
            return [*self._path(index, start, middle), self._hash(middle, end)]
        return [*self._path(index, middle, end), self._hash(start, middle)]

    def _subproof(self, old: int, start: int, end: int, *, whole: bool) -> list[bytes]:
        if old == end:
            return [] if whole else [self._hash(start, end)]
        middle = start + _split(end - start)
        if old <= middle:
            return [*self._subproof(old, start, middle, whole=whole), self._hash(middle, end)]
        return [*self._subproof(old, middle, end, whole=False), self._hash(start, middle)]


def includes(leaf: bytes, index: int, size: int, proof: Sequence[bytes], whole: bytes) -> bool:
    """Whether a proof leads from a leaf to a root of a tree of that many leaves."""
    if not 0 <= index < size:
        return False
    place, last, found = index, size - 1, _leaf(leaf)
    for step in proof:
        if last == 0:
            return False
        if place & 1 or place == last:
            found = _node(step, found)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            found = _node(found, step)
        place, last = place >> 1, last >> 1
    return last == 0 and found == whole


def continues(old: tuple[int, bytes], new: tuple[int, bytes], proof: Sequence[bytes]) -> bool:
    """Whether a tree (size, root) continues an older one."""
    (first, before), (second, after) = old, new
    if not 0 < first <= second:
        return False
    if first == second:
        return before == after and not proof
    steps = list(proof) if first & (first - 1) else [before, *proof]
    if not steps:
        return False
    place, last = first - 1, second - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    one = other = steps[0]
    for step in steps[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            one, other = _node(step, one), _node(step, other)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            other = _node(other, step)
        place, last = place >> 1, last >> 1
    return last == 0 and one == before and other == after


def _split(size: int) -> int:
    """The largest power of two below `size`."""
    return 1 << ((size - 1).bit_length() - 1)


def _leaf(data: bytes) -> bytes:
    return hashlib.sha256(b"\0" + data).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


def _check(holds: bool, why: str) -> None:  # noqa: FBT001 - one assertion
    if not holds:
        raise InputError("a proof that cannot be made", why=why, fix="name an entry that is there")
