"""The head file survives torn writes, stale writers and being looked at while written."""

import threading

import pytest

from discreet.curator.ledger.orders import Head
from discreet.curator.ledger.witness import BLOCK, Sighting, Witness
from discreet.errors import LedgerError


def seen(sequence, ledger="one"):
    return Sighting(ledger, Head(sequence, f"{sequence:064d}"))


@pytest.fixture
def witness(tmp_path):
    return Witness(tmp_path / "head")


def test_the_newest_sighting_is_read_back(witness):
    assert witness.read() is None
    for n in (1, 2, 3, 7):
        witness.advance(seen(n))
        assert witness.read() == seen(n)
    assert witness.path.stat().st_size == 2 * BLOCK


def test_a_stale_writer_does_not_take_it_back(witness):
    witness.advance(seen(5))
    witness.advance(seen(4))
    assert witness.read() == seen(5)


@pytest.mark.parametrize("length", [0, 1, 100, 4000])
@pytest.mark.parametrize("last", [2, 3])
def test_a_torn_write_leaves_the_one_before(witness, last, length):
    for n in range(1, last):
        witness.advance(seen(n))
    before = witness.path.read_bytes()
    witness.advance(seen(last))
    after = witness.path.read_bytes()
    start = next(
        n for n in range(0, 2 * BLOCK, BLOCK) if before[n : n + BLOCK] != after[n : n + BLOCK]
    )
    torn = after[: start + length] + b"\7" * 50 + after[start + length + 50 :]
    witness.path.write_bytes(torn[: 2 * BLOCK])
    assert witness.read() in ((seen(last - 1), seen(last)) if length == 4000 else (seen(last - 1),))
    witness.advance(seen(last + 1))
    assert witness.read() == seen(last + 1)


def test_garbage_is_refused(witness):
    witness.path.write_bytes(b"x" * 2 * BLOCK)
    with pytest.raises(LedgerError, match="cannot be read"):
        witness.read()
    with pytest.raises(LedgerError, match="cannot be read"):
        witness.advance(seen(1))


def test_it_starts_over_when_told_to(witness):
    witness.advance(seen(9))
    with witness.held() as file:
        witness.renew(file, seen(1, "two"))
    assert witness.read() == seen(1, "two")


def test_readers_always_see_a_whole_one(witness):
    witness.advance(seen(1))
    threads = [
        threading.Thread(
            target=lambda k=k: [witness.advance(seen(4 * n + k)) for n in range(1, 30)]
        )
        for k in range(4)
    ]
    for thread in threads:
        thread.start()
    last = 0
    while any(thread.is_alive() for thread in threads):
        now = witness.read().head.sequence
        assert now >= last
        last = now
    assert witness.read() == seen(4 * 29 + 3)


def test_a_witness_that_is_a_folder_is_refused(tmp_path):
    with pytest.raises(LedgerError, match="cannot be used"):
        Witness(tmp_path).read()
    with pytest.raises(LedgerError, match="cannot be used"):
        Witness(tmp_path).advance(seen(1))


def test_one_writes_at_a_time(witness):
    """A late writer must see what an early one left, or it would overwrite something newer."""
    witness.advance(seen(1))
    with witness.held():
        late = threading.Thread(target=witness.advance, args=(seen(2),))
        late.start()
        late.join(0.2)
        assert late.is_alive()
        assert witness.read() == seen(1)
    late.join()
    assert witness.read() == seen(2)
