"""Secret-shared sums: shares say nothing, false numbers are refused, sums are signed."""

import dataclasses

import pytest

from discreet.errors import InputError
from discreet.local.secret_shared_sum import PRIME, SecretSharedSum, SumServer, exchange

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


def test_sums_below_zero_are_read_as_such():
    assert STEPS.combine([PRIME - 5, 2]) == -3


def test_both_servers_add_noise_of_their_own(fixed_bits):
    del fixed_bits
    servers = pair()
    totals = {STEPS.combine([one.total() for one in servers]) for _ in range(20)}

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
