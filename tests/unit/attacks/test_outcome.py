import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks import LowBits, Outcome, Promise
from discreet.attacks.outcome import _chance_of, pool
from discreet.attacks.simulation import SplitMix64
from discreet.errors import InputError


@pytest.mark.parametrize("field", ["success", "baseline", "bound"])
@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan])
def test_a_rate_outside_the_unit_interval_is_refused(field, value):
    rates = {"success": 0.5, "baseline": 0.5, "bound": 0.5, field: value}

    with pytest.raises(InputError, match=field):
        Outcome(**rates, n=1)


def test_an_outcome_of_nothing_is_refused():
    with pytest.raises(InputError, match="scored"):
        Outcome(0.5, 0.5, 0.5, 0)


def test_success_refutes_only_where_chance_would_once_in_100_000_runs():
    # Of 100 fair coins, 71 or more are right 16 times in a million runs, 72 or more 6 times.
    assert not Outcome(0.71, 0.5, 0.5, 100).refutes
    assert Outcome(0.72, 0.5, 0.5, 100).refutes


@pytest.mark.parametrize(("n", "rate"), [(10, 0.25), (60, 0.5), (80, 0.03125), (50, 0.96875)])
def test_the_chance_of_so_many_is_that_of_the_binomial_law(n, rate):
    p = Fraction(rate)
    for hits in {0, round(n * rate), min(n, round(n * rate) + 5), n}:
        exact = sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(hits, n + 1))
        found = _chance_of(hits, n, rate)
        assert found == pytest.approx(float(exact), rel=1e-6) or (found == 1 and hits <= n * rate)


def test_a_bound_of_zero_still_allows_accidents():
    assert not Outcome(0.03, 0.0, 0.0, 100).refutes
    assert Outcome(0.1, 0.0, 0.0, 100).refutes


def test_a_chance_run_above_its_bound_is_no_broken_promise():
    run = Outcome(success=0.624, baseline=0.5, bound=0.622, n=100_000)

    assert run.success > run.bound
    assert run.interval[0] < run.bound < run.interval[1]
    assert not run.refutes
    assert run.verdict == "at the bound, within chance"
    assert Outcome(0.62, 0.5, 0.622, 100_000).verdict == "within the bound"
    assert Outcome(0.64, 0.5, 0.622, 100_000).verdict == "above the bound"


@pytest.mark.parametrize("success", [0.0, 0.01, 0.5, 1.0])
def test_the_sampling_interval_holds_the_rate_and_stays_a_rate(success):
    low, high = Outcome(success, 0.5, 0.7, 100).interval

    assert 0 <= low <= success <= high <= 1
    assert low < high


def test_pooled_runs_weigh_as_much_as_they_scored():
    pooled = pool([Outcome(1.0, 0.5, 0.7, 1), Outcome(0.0, 0.1, 0.3, 3)])

    assert (pooled.success, pooled.n) == (0.25, 4)
    assert (pooled.baseline, pooled.bound) == pytest.approx((0.2, 0.4))


@pytest.mark.parametrize(
    ("epsilon", "rate"), [(0, 0.5), (0.1, 0.525), (0.5, 0.622), (1, 0.731), (3, 0.953)]
)
def test_a_bit_is_guessed_at_most_as_often_as_randomized_response_tells_it(epsilon, rate):
    assert Promise(epsilon).of_bit() == pytest.approx(rate, abs=5e-4)


@pytest.mark.parametrize("prior", [0.05, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_a_skewed_bit_is_guessed_as_often_as_the_best_pair_of_errors_allows(prior, epsilon):
    # All false alarms on a fine grid, each with the most hits that epsilon lets it have.
    alarms = [i / 10_000 for i in range(10_001)]
    hits = [min(math.exp(epsilon) * a, 1 - math.exp(-epsilon) * (1 - a)) for a in alarms]
    best = max(prior * h + (1 - prior) * (1 - a) for h, a in zip(hits, alarms, strict=True))

    assert Promise(epsilon).of_bit(prior) == pytest.approx(best, abs=1e-4)


def test_an_event_grows_by_e_to_the_epsilon_and_its_opposite_shrinks_no_faster():
    promise = Promise(1, 1e-6)

    assert promise.of_event(0.01) == pytest.approx(0.01 * math.e + 1e-6)
    assert promise.of_event(0.9) == pytest.approx(1 - (0.1 - 1e-6) / math.e)
    assert promise.of_event(1.0) == 1.0
    assert Promise(1e4).of_event(0.5) <= 1.0


def test_without_a_promise_everything_is_allowed():
    assert Promise().of_bit() == Promise().of_event(0.0) == 1.0


def test_an_event_that_was_never_seen_is_not_taken_for_impossible():
    assert Promise(0).of_measured(0, 99) == pytest.approx(9 / 108)
    assert Promise(1).of_measured(99, 99) == 1.0


@pytest.mark.parametrize("hits", [1, 50, 500, 999])
def test_a_measured_rate_is_three_standard_errors_below_what_it_may_be(hits):
    rate = Promise(0).of_measured(hits, 1000)

    assert rate - hits / 1000 == pytest.approx(3 * math.sqrt(rate * (1 - rate) / 1000))


def test_a_system_that_just_keeps_its_promise_is_not_accused_by_chance():
    # About 0 it says 0 as often as epsilon 1 allows, given how often it does about 1. Held against
    # the measured rate itself it would be accused in 6 of 100 runs; 200 runs, fixed draws.
    draws = SplitMix64(5)

    def honest(count, runs):
        return np.where(draws.uniform(runs) < 0.05 * (math.e if count == 0 else 1), 0.0, 0.5)

    runs = [LowBits(promise=Promise(1)).run(honest, 500) for _ in range(200)]

    assert not any(run.refutes for run in runs)
    assert np.mean([run.success for run in runs]) == pytest.approx(0.05 * math.e, abs=0.01)


@pytest.mark.parametrize("wrong", [{"epsilon": -1}, {"epsilon": math.inf}, {"delta": 2}])
def test_a_promise_that_means_nothing_is_refused(wrong):
    with pytest.raises(InputError):
        Promise(**{"epsilon": 1, **wrong})


@pytest.mark.parametrize("mu", [0.0, 0.01, 0.2, 1.0, 3.0])
@pytest.mark.parametrize("prior", [0.5, 0.1])
def test_mu_bounds_guesses_and_events_by_two_normal_laws(mu, prior):
    """Of N(0, 1) and N(mu, 1): the best threshold, by trying all."""
    cuts = np.linspace(-8, 12, 4001)
    tail = np.array([math.erfc(cut / math.sqrt(2)) / 2 for cut in cuts])
    shifted = np.array([math.erfc((cut - mu) / math.sqrt(2)) / 2 for cut in cuts])
    best = float(np.max(prior * shifted + (1 - prior) * (1 - tail)))
    promise = Promise(1e6, mu=mu)

    assert promise.of_bit(prior) == pytest.approx(best, abs=1e-5)
    told = np.interp(prior, tail[::-1], shifted[::-1])
    assert promise.of_event(prior) == pytest.approx(told, abs=1e-5)
    assert Promise(0.5, mu=mu).of_event(prior) <= Promise(0.5).of_event(prior)
    certain = Promise(3, mu=mu)
    assert (certain.of_event(0), certain.of_event(1), certain.of_bit(1)) == (0, 1, 1)


@pytest.mark.parametrize("mu", [-1.0, math.inf, math.nan])
def test_a_mu_that_bounds_no_loss_is_refused(mu):
    with pytest.raises(InputError, match="mu"):
        Promise(1, mu=mu)
