"""A shuffler forwards whole batches, in an order that says nothing."""

import numpy as np
import pytest

from discreet import local
from discreet.errors import InputError
from discreet.local.reports import HEAD

POLL = local.HadamardResponse(epsilon=1, domain=16)


def test_a_shuffled_batch_has_the_same_reports_in_another_order():
    stage = local.Shuffle(POLL, batch=1000, delta=1e-6)
    reports = b"".join(POLL.reporter().report(i % 16) for i in range(1000))
    sent = stage.shuffle(reports)
    rows = [
        reports[i + HEAD.size : i + HEAD.size + 1] for i in range(0, len(reports), HEAD.size + 1)
    ]
    forwarded = [sent[i : i + 1] for i in range(HEAD.size, len(sent))]

    assert sorted(rows) == sorted(forwarded)
    assert rows != forwarded
    assert POLL.aggregator().add(sent).estimate().counts.tolist() == pytest.approx(
        POLL.aggregator().add(reports).estimate().counts.tolist()
    )


def test_every_order_is_as_likely(fixed_bits):
    del fixed_bits
    from discreet.local.shuffle import _permutation

    counts = np.zeros((3, 3))
    for _ in range(3000):
        counts[np.arange(3), _permutation(3)] += 1

    assert (abs(counts - 1000) < 130).all()


def test_small_or_broken_batches_are_not_forwarded():
    stage = local.Shuffle(POLL, batch=1000, delta=1e-6)
    few = POLL.reporter().report([1] * 999)
    for batch in (few, b"?", few + POLL.reporter().report(1)[:-1]):
        with pytest.raises(InputError, match="too small"):
            stage.shuffle(batch)


def test_the_bound_is_refused_outside_its_validity():
    """Epsilon 4 in batches of 10,000 at delta 1e-6 is outside; in 100,000 it is inside."""
    loud = local.HadamardResponse(epsilon=4, domain=16)
    with pytest.raises(InputError, match="proven"):
        local.Shuffle(loud, batch=10_000, delta=1e-6)
    stage = local.Shuffle(loud, batch=100_000, delta=1e-6)

    assert stage.guarantee.epsilon(1e-6).upper < 0.535


def test_shuffled_randomized_response_has_the_bound_of_its_own():
    coin = local.KRandomizedResponse(epsilon=2, domain=2)
    any_report = local.HadamardResponse(epsilon=2, domain=2)
    own, clones = (
        local.Shuffle(one, batch=10_000, delta=1e-6).guarantee.epsilon(1e-6).upper
        for one in (coin, any_report)
    )

    assert own < 0.6 * clones


def test_a_report_that_comes_twice_is_no_crowd():
    stage = local.Shuffle(POLL, batch=1000, delta=1e-6)
    many = POLL.reporter().report([1] * 600)
    for batch in (POLL.reporter().report(1) * 1000, many + many):
        with pytest.raises(InputError, match="too small"):
            stage.shuffle(batch)
    assert (
        POLL.aggregator().add(stage.shuffle(many + many + POLL.reporter().report([2] * 400))).n
        == 1000
    )
