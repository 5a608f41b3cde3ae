"""Secret-shared sums: shares say nothing, false numbers are refused, sums are signed."""

import dataclasses

import pytest

from discreet.errors import InputError
from discreet.local.secret_shared_sum import (
    PRIME,
    SecretSharedSum,
    Share,
    SumServer,
    _at,
    exchange,
)

STEPS = SecretSharedSum(epsilon=1, bits=6)


def pair():
    return [SumServer(STEPS, 0), SumServer(STEPS, 1)]


def test_two_servers_add_up_what_neither_sees():
    servers = pair()
    numbers = [0, 1, 63, 30]

    assert all(exchange(servers, STEPS.share(number)) for number in numbers)
    assert STEPS.combine([one._total for one in servers]) == sum(numbers)
    assert [one.n for one in servers] == [4, 4]


@pytest.mark.parametrize("bits", [[2, 0, 0, 0, 0, 0], [PRIME - 1, 1, 1, 1, 1, 1], [2] * 6])
def test_numbers_that_are_no_bits_are_refused(bits):
    servers = pair()

    assert not exchange(servers, STEPS.share_bits(bits))
    assert [one.rejected for one in servers] == [1, 1]
    assert STEPS.combine([one._total for one in servers]) == 0


@pytest.mark.parametrize("part", ["bits", "masks", "product", "triple"])
def test_a_share_that_was_changed_is_refused(part):
    one, other = STEPS.share(5)
    changed = getattr(one, part)
    bad = dataclasses.replace(one, **{part: ((changed[0] + 1) % PRIME, *changed[1:])})

    assert not exchange(pair(), (bad, other))


def test_a_false_triple_does_not_make_up_for_false_bits():
    """All bits 2 have x(x - 1) = 2; without t, a triple that is off by 2 would hide that."""
    one, other = STEPS.share_bits([2] * 6)
    a, b, c = one.triple
    for shift in (2, PRIME - 2):
        assert not exchange(pair(), (dataclasses.replace(one, triple=(a, b, c + shift)), other))


def test_a_share_with_more_bits_than_asked_for_is_refused():
    """Its own proof holds, but nothing says that what stands beyond the bits is a bit."""
    longer = dataclasses.replace(STEPS, bits=7)
    bits = [0, 0, 0, 0, 0, 0, 10**12]
    f, g = [5, *bits], [7, *((bit - 1) % PRIME for bit in bits)]
    product = [_at(f, t) * _at(g, t) % PRIME for t in (0, *range(7, 15))]
    whole = Share(tuple(bits), (5, 7), tuple(product), (2, 3, 6))
    nothing = Share((0,) * 7, (0, 0), (0,) * 9, (0, 0, 0))
    servers = pair()

    assert not exchange(servers, (whole, nothing))
    assert [(one.n, one.rejected, one._total) for one in servers] == [(0, 1, 0)] * 2
    assert not exchange(servers, longer.share(64))


def test_a_server_answers_about_a_share_once_and_nowhere_that_tells_a_bit():
    """Two openings at 1 and 2 would tell the difference of two bits."""
    _, half = STEPS.share(2)
    for point in (0, 1, 2, 12, PRIME):
        with pytest.raises(InputError, match="turn"):
            SumServer(STEPS, 1).open(half, point)
    server = SumServer(STEPS, 1)
    opened = server.open(half, 100)
    with pytest.raises(InputError, match="turn"):
        server.open(half, 101)
    with pytest.raises(InputError, match="turn"):
        server.check(half, 101, [opened, opened])
    server.check(half, 100, [opened, opened])
    with pytest.raises(InputError, match="turn"):
        server.check(half, 100, [opened, opened])


def test_a_share_counts_once_and_a_total_is_drawn_once():
    servers, shares = pair(), STEPS.share(9)

    assert [exchange(servers, shares) for _ in range(2)] == [True, False]
    assert [one.n for one in servers] == [1, 1]
    assert len({tuple(one.total() for one in servers) for _ in range(5)}) == 1
    with pytest.raises(InputError, match="turn"):
        exchange(servers, STEPS.share(3))


def test_sums_below_zero_are_read_as_such():
    assert STEPS.combine([PRIME - 5, 2]) == -3


def test_both_servers_add_noise_of_their_own(fixed_bits):
    del fixed_bits
    totals = {STEPS.combine([one.total() for one in pair()]) for _ in range(20)}

    assert len(totals) > 10
    assert STEPS.scale == 63
    assert STEPS.guarantee.epsilon(0).upper == 1


@pytest.mark.parametrize("number", [64, -1, 1.0, True])
def test_other_numbers_cannot_be_shared(number):
    with pytest.raises(InputError):
        STEPS.share(number)


def test_wide_numbers_are_refused():
    with pytest.raises(InputError):
        SecretSharedSum(epsilon=1, bits=49)
