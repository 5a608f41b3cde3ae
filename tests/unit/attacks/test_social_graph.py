import math

import numpy as np
import pytest

from discreet.attacks import Promise, SocialGraph
from discreet.attacks.simulation import SplitMix64
from discreet.errors import InputError

SMALL = SocialGraph(people=120, planted=12, pairs=10, promise=Promise(1))


def responding(epsilon, draws):
    """Randomized response of every pair, in floating point: for a test, not for a release."""

    def publish(links):
        lies = np.triu(draws.uniform(*links.shape) < 1 / (1 + math.exp(epsilon)), 1)
        return links ^ (lies | lies.T)

    return publish


def test_a_network_without_names_gives_its_friendships_away():
    outcome = SMALL.run(lambda links: links, 5)

    assert outcome.success == 1.0
    assert (outcome.baseline, outcome.n) == (0.5, 50)
    assert outcome.refutes


def test_success_rises_with_epsilon_within_the_bound():
    found = []
    for epsilon in (0.1, 3, 5, 10):
        attack = SocialGraph(120, 12, 10, promise=Promise(epsilon))
        outcome = attack.run(responding(epsilon, SplitMix64(3)), 10)
        found.append(outcome.success)
        assert not outcome.refutes

    assert found[0] < 0.65
    assert 0.75 < found[2] <= found[3]
    assert found[-1] > 0.97


def test_an_unrelated_network_tells_nothing():
    draws = SplitMix64(8)

    def other(links):
        drawn = np.triu(draws.uniform(*links.shape) < links.mean(), 1)
        return (drawn | drawn.T).astype(int)

    outcome = SMALL.run(other, 20)

    assert abs(outcome.success - 0.5) < 3 * 0.5 / np.sqrt(outcome.n)


def test_networks_are_symmetric_and_the_names_are_drawn():
    seen = []
    SMALL.run(lambda links: seen.append(links) or links, 2)

    assert all((links == links.T).all() and not links.diagonal().any() for links in seen)
    assert all(2 < links.sum() / len(links) < 30 for links in seen)
    assert seen[0][-12:].sum() < seen[0].sum() / 3


def test_what_is_no_network_is_refused():
    with pytest.raises(InputError, match="no network"):
        SMALL.run(lambda links: links * 2, 1)


@pytest.mark.parametrize("wrong", [{"planted": 3}, {"pairs": 0}, {"people": 10, "pairs": 6}])
def test_a_plan_that_cannot_be_carried_out_is_refused(wrong):
    with pytest.raises(InputError, match="accounts"):
        SocialGraph(**wrong)
