"""The attackers of noisy answers against the best guess there is, found by brute force.

The proofs are in docs/explanation/attacks.md.
"""

import math
from itertools import combinations
from statistics import NormalDist

import numpy as np
import pytest

from discreet.attacks import CensusCounts, Posterior, Promise, census
from discreet.attacks.reconstruction import databases, posterior
from discreet.attacks.simulation import SplitMix64

PHI = NormalDist().cdf
PEOPLE = 8


def test_databases_weigh_what_their_likelihood_integrates_to_over_all_deviations():
    squares, answers = np.array([3.0, 3.5, 5.0, 40.0]), 7
    logs = np.linspace(-6, 6, 20_001)  # of the deviation: d sigma / sigma
    likelihoods = np.exp(-answers * logs - squares[:, None] / (2 * np.exp(2 * logs)))
    integrals = likelihoods.sum(axis=1)

    assert posterior(squares, answers) == pytest.approx(integrals / integrals.sum(), rel=1e-6)


@pytest.mark.parametrize("mu", [0.6, 1.8, 4.0])
def test_the_posterior_attacker_guesses_as_well_as_anybody_can(mu):
    """Against who knows the deviation and computes the density of all answers, database by one."""
    everything, systems = databases(PEOPLE), 120
    subsets = everything.astype(np.bool_)
    sigma = math.sqrt(len(subsets) / 2) / mu  # a person is in half of the subsets
    rights = np.zeros(2)
    for seed in range(systems):
        draws = SplitMix64(seed)
        secret = draws.bits(PEOPLE)
        answers = subsets @ secret + sigma * draws.normal(len(subsets))
        said = {subset.tobytes(): n for subset, n in zip(subsets, answers, strict=True)}
        attack = Posterior(secret, seed=seed, prior=0.5)
        guess = attack.guess(lambda people, said=said: said[people.tobytes()], len(subsets))
        logs = -((answers - everything @ subsets.T) ** 2).sum(axis=1) / (2 * sigma**2)
        weights = np.exp(logs - logs.max())
        best = weights @ everything / weights.sum() > 0.5
        rights += [(guess == secret).mean(), (best == secret).mean()]
    found, optimum = rights / systems
    error = 0.5 / math.sqrt(systems * PEOPLE)

    assert found == pytest.approx(optimum, abs=0.01)
    assert optimum <= PHI(mu / 2) + 4 * error  # who knows everybody else's bit
    assert optimum >= PHI(mu * math.sqrt((PEOPLE + 1) / (8 * PEOPLE))) - 4 * error  # least squares


@pytest.mark.parametrize("epsilon", [1, 3])
def test_naming_the_highest_counts_is_the_best_that_can_be_named(epsilon, monkeypatch):
    """Two people in eight cells, of which two are named: every pair is weighed by all counts."""
    monkeypatch.setattr(census, "OLDEST", 0)
    monkeypatch.setattr(census, "LARGEST", 2)
    pairs, tables = list(combinations(range(8), 2)), 1000
    lived = np.array([1, 6])
    draws = SplitMix64(5)
    truth = np.isin(np.arange(8), lived)
    counts = truth + draws.laplace(1 / epsilon, tables, 8)
    gains = epsilon * (np.abs(counts) - np.abs(counts - 1))  # logs of likelihood ratios
    weights = np.exp([[gain[list(pair)].sum() for pair in pairs] for gain in gains])
    hits = np.array([[len(set(a) & set(b)) for b in pairs] for a in pairs])
    best = (weights @ hits).argmax(axis=1)
    optimum = np.mean([np.isin(lived, pairs[i]).mean() for i in best])
    rows = iter(counts[:, None, :])
    block = tuple((0, census.KINDS[i]) for i in lived)
    outcome = CensusCounts(block, Promise(epsilon)).run(lambda: next(rows), tables)

    assert outcome.success == pytest.approx(optimum, abs=4 * 0.5 / math.sqrt(2 * tables))
    assert outcome.success <= outcome.bound + 4 * 0.5 / math.sqrt(2 * tables)


@pytest.mark.parametrize("epsilon", [0.5, 1, 3, 10])
def test_believing_a_noisy_count_from_one_half_on_meets_the_bound_exactly(epsilon):
    """Whole Laplace noise: P(1 + noise > 1/2) = e^epsilon P(noise > 1/2)."""
    q = math.exp(-epsilon)
    mass = {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-400, 401)}
    inside, outside = (sum(p for k, p in mass.items() if k + n > 0.5) for n in (1, 0))

    assert inside == pytest.approx(Promise(epsilon).of_event(outside), rel=1e-9)
    for bar in range(-5, 7):
        one, none = (sum(p for k, p in mass.items() if k + n >= bar) for n in (1, 0))
        assert one - none <= inside - outside + 1e-12
