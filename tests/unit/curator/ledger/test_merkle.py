"""Proofs of RFC 6962: whatever is true is proved, and nothing else."""

import pytest

from discreet.curator.ledger import merkle
from discreet.curator.ledger.merkle import MerkleTree
from discreet.errors import InputError

LEAVES = [bytes([n]) * 32 for n in range(40)]
# Certificate Transparency's own test vectors: eight leaves and the roots of their first n.
VECTORS = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657"]
VECTORS.append("606162636465666768696a6b6c6d6e6f")
ROOTS = {
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}


def test_roots_are_those_of_the_published_vectors():
    leaves = [bytes.fromhex(one) for one in VECTORS]
    assert {n: MerkleTree(leaves[:n]).root().hex() for n in ROOTS} == ROOTS


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 13, 40])
def test_every_leaf_is_proved_to_be_in_its_place_and_nowhere_else(size):
    leaves = LEAVES[:size]
    whole = MerkleTree(leaves).root()
    for index, leaf in enumerate(leaves):
        proof = MerkleTree(leaves).prove_inclusion(index, size)
        places = [n for n in range(size) if merkle.includes(leaf, n, size, proof, whole)]
        assert places == [index]
        assert not merkle.includes(b"x" * 32, index, size, proof, whole)
        assert not merkle.includes(leaf, index, size, [*proof, whole], whole)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 13, 40])
def test_a_tree_continues_its_beginnings_and_no_others(size):
    new = size, MerkleTree(LEAVES[:size]).root()
    for first in range(1, size + 1):
        proof = MerkleTree(LEAVES).prove_consistency(first, size)
        assert merkle.continues((first, MerkleTree(LEAVES[:first]).root()), new, proof)
        forged = MerkleTree([*LEAVES[: first - 1], b"forged" * 5]).root()
        assert not merkle.continues((first, forged), new, proof)
        assert not merkle.continues(
            (first, MerkleTree(LEAVES[:first]).root()), (size, forged), proof
        )
        if size > 1:
            assert not merkle.continues(
                (first, MerkleTree(LEAVES[:first]).root()), new, [*proof, b"x" * 32]
            )
    assert not merkle.continues((size + 1, new[1]), new, [])


def test_what_is_not_there_is_not_proved():
    with pytest.raises(InputError, match="cannot be made"):
        MerkleTree(LEAVES).prove_inclusion(40, 40)
    with pytest.raises(InputError, match="cannot be made"):
        MerkleTree(LEAVES).prove_consistency(0, 40)


def test_a_tree_that_grows_is_the_tree_of_all_its_leaves():
    growing = MerkleTree()
    for start, end in ((0, 1), (1, 6), (6, 6), (6, 13), (13, 40)):
        growing.extend(LEAVES[start:end])
        assert growing.root() == MerkleTree(LEAVES[:end]).root()
    assert growing.root(7) == MerkleTree(LEAVES[:7]).root()
