"""Proofs that an entry is in a ledger, and that one ledger continues another, in a few hashes.

The leaves of the tree are the hashes of the entries, in order. Whoever remembers a size and a root
needs no entries to be convinced.

Reference: RFC 6962, sections 2.1, 2.1.1 and 2.1.2.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import InputError


@dataclass(frozen=True, slots=True)
class TreeHead:
    """How many entries a ledger has, and the root of the tree over them."""

    ledger: str
    size: int
    root: str


def root(leaves: Sequence[bytes]) -> bytes:
    """The hash of all leaves.

    Example:
        >>> root([]).hex()[:8], root([bytes(1)]) == hashlib.sha256(bytes(2)).digest()
        ('e3b0c442', True)
    """
    if not leaves:
        return hashlib.sha256(b"").digest()
    level = [_leaf(one) for one in leaves]
    while len(level) > 1:  # a last one without a neighbour goes up as it is
        pairs = [_node(*level[i : i + 2]) for i in range(0, len(level) - 1, 2)]
        level = pairs + level[len(pairs) * 2 :]
    return level[0]


def prove_inclusion(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """What leads from one leaf to the root."""
    _check(0 <= index < len(leaves), "there is no such leaf")
    if len(leaves) == 1:
        return []
    split = _split(len(leaves))
    if index < split:
        return [*prove_inclusion(leaves[:split], index), root(leaves[split:])]
    return [*prove_inclusion(leaves[split:], index - split), root(leaves[:split])]


def includes(leaf: bytes, index: int, size: int, proof: Sequence[bytes], whole: bytes) -> bool:
    """Whether a proof leads from a leaf to a root of a tree of so many leaves."""
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


def prove_consistency(leaves: Sequence[bytes], size: int) -> list[bytes]:
    """What shows that the first `size` leaves are still the first ones."""
    _check(0 < size <= len(leaves), "an older tree has some of the leaves")
    return _subproof(leaves, size, whole=True)


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


def _subproof(leaves: Sequence[bytes], size: int, *, whole: bool) -> list[bytes]:
    if size == len(leaves):
        return [] if whole else [root(leaves)]
    split = _split(len(leaves))
    if size <= split:
        return [*_subproof(leaves[:split], size, whole=whole), root(leaves[split:])]
    return [*_subproof(leaves[split:], size - split, whole=False), root(leaves[:split])]


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
