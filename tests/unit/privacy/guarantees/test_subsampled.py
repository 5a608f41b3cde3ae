"""Sampling against direct integration, enumeration, and the published figure."""

import json
import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from scipy import integrate, stats

from cpu_time import quickest
from discreet.errors import InputError
from discreet.privacy.composition.composed import compose
from discreet.privacy.guarantees import subsampled as module
from discreet.privacy.guarantees.bounded_range import BoundedRange
from discreet.privacy.guarantees.gaussian import GDP, DiscreteGaussianNoise, GaussianNoise
from discreet.privacy.guarantees.guarantee import Guarantee
from discreet.privacy.guarantees.laplace import DiscreteLaplaceNoise, LaplaceNoise
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.guarantees.pure import Approximate, Pure
from discreet.privacy.guarantees.randomized_response import RandomizedResponseNoise
from discreet.privacy.guarantees.renyi import RDP
from discreet.privacy.guarantees.subsampled import Scheme, Subsampled
from discreet.privacy.guarantees.zcdp import ZCDP
from discreet.privacy.numerics.moments import Direction, OrderLine

CHANGE = Neighbours.CHANGE_ONE
WITHOUT = Scheme.WITHOUT_REPLACEMENT


def both_deltas(density, shift, q, epsilon):
    """The hockey-stick divergences of a sampled pair of densities, both ways, by integration."""
    x = np.linspace(-40, 40 + shift, 50_001)
    without = density(x)
    mixed = (1 - q) * without + q * density(x - shift)
    grown = math.exp(epsilon)
    removed = integrate.trapezoid(np.maximum(mixed - grown * without, 0), x)
    added = integrate.trapezoid(np.maximum(without - grown * mixed, 0), x)
    return removed, added


def normal(x):
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


@pytest.mark.parametrize("q", [0.001, 0.1, 0.7])
@pytest.mark.parametrize("mu", [0.3, 1, 4])
def test_one_release_is_tight_and_covers_both_directions(mu, q):
    for epsilon in (0.01, 0.1, 0.6, 2):
        removed, added = both_deltas(normal, mu, q, epsilon)
        bound = Subsampled(GaussianNoise(mu), q).delta(epsilon)
        assert added <= removed + 1e-7
        assert bound.upper >= removed - 1e-7
        assert bound.upper == pytest.approx(removed, rel=1e-4, abs=1e-7)
        laplace = Subsampled(LaplaceNoise(mu), q).delta(epsilon)
        removed, added = both_deltas(lambda x: mu / 2 * np.exp(-mu * np.abs(x)), 1, q, epsilon)
        assert laplace.upper == pytest.approx(max(removed, added), rel=1e-3, abs=1e-7)


def test_pure_and_approximate_follow_the_closed_form():
    for epsilon, q in product((0.01, 0.5, 3), (0.001, 0.3, 0.99)):
        grown = math.log1p(q * math.expm1(epsilon))
        assert Subsampled(Pure(epsilon), q).epsilon(0).upper == pytest.approx(grown, rel=1e-14)
        sampled = Subsampled(Approximate(epsilon, Fraction(1, 10**6)), q)
        delta = Fraction(1, 10**6) * Fraction(str(q))
        assert sampled.epsilon(delta).upper == pytest.approx(grown, rel=1e-14)
        assert sampled.epsilon(delta * Fraction(999, 1000)).upper == math.inf


def test_ten_thousand_steps_of_noisy_descent_meet_the_known_truth_in_time():
    def spend():
        return compose([(Subsampled(GaussianNoise(mu=1), rate=0.01), 10_000)]).epsilon(1e-6)

    spent = spend()
    assert 6.9073845 - 1e-7 <= spent.upper <= 6.9073845 + 1e-4
    assert spent.lower <= 6.9073846
    assert quickest(spend) < 0.15


def two_point_losses(epsilon, q, direction):
    """The law of the loss of sampled randomized response: (loss, probability)."""
    own = math.exp(epsilon) / (1 + math.exp(epsilon))
    with_her = [(1 - q) * (1 - own) + q * own, (1 - q) * own + q * (1 - own)]
    without = [1 - own, own]
    first, second = (with_her, without) if direction == "remove" else (without, with_her)
    return [(math.log(a / b), a) for a, b in zip(first, second, strict=True)]


def enumerated_delta(epsilons, q, asked):
    answers = []
    for direction in ("remove", "add"):
        total = 0.0
        for path in product(*(two_point_losses(e, q, direction) for e in epsilons)):
            loss, chance = sum(z for z, _ in path), math.prod(p for _, p in path)
            total += chance * max(0.0, -math.expm1(asked - loss))
        answers.append(total)
    return max(answers)


@pytest.mark.parametrize("kind", [Pure, RandomizedResponseNoise])
def test_compositions_of_sampled_responses_cover_enumeration(kind):
    rng = np.random.default_rng(11)
    for _ in range(25):
        epsilons = [round(float(e), 3) for e in rng.uniform(0.05, 1.5, rng.integers(1, 7))]
        q = round(float(rng.uniform(0.01, 0.95)), 3)
        together = compose([Subsampled(kind(e), q) for e in epsilons])
        for asked in (0, 0.05, 0.3):
            truth = enumerated_delta(epsilons, q, asked)
            assert together.delta(asked).upper >= truth * (1 - 1e-9) - 1e-15


def integrated(p, q, asked):
    """The sum over both steps of (P - e^asked Q)+, in the worse direction.

    For a first step at x it is p(x) times what the second step has above asked - ln p(x)/q(x): one
    sum from the right over second steps in the order of their losses.
    """
    return max(one_way(*pair, asked) for pair in ((p, q), (q, p)))


def one_way(p, q, asked):
    losses = np.log(p) - np.log(q)
    order = np.argsort(losses)
    above, below = (np.append(np.cumsum(side[order][::-1])[::-1], 0.0) for side in (p, q))
    first = np.searchsorted(losses[order], asked - losses, side="right")
    return float((p * above[first] - math.exp(asked) * q * below[first]).sum())


def test_two_steps_of_sampled_gaussian_noise_cover_a_double_integral():
    rng = np.random.default_rng(2)
    for _ in range(6):
        mu, q = (
            round(float(10 ** rng.uniform(-0.7, 0.5)), 3),
            round(float(rng.uniform(0.01, 0.9)), 3),
        )
        x = np.linspace(-9, 9 + mu, 1201)
        without = normal(x)
        mixed = (1 - q) * without + q * normal(x - mu)
        together = compose([(Subsampled(GaussianNoise(mu), q), 2)])
        for asked in (0.05, 0.3, 1):
            truth = integrated(mixed, without, asked) * (x[1] - x[0]) ** 2
            bound = together.delta(asked)
            assert bound.upper >= truth * (1 - 1e-4) - 1e-7
            assert bound.lower <= truth * (1 + 1e-3) + 1e-7


def test_two_steps_of_sampled_laplace_noise_cover_a_double_integral():
    for epsilon0, q in ((0.5, 0.1), (2, 0.5)):
        x = np.linspace(-30, 31, 2441)  # both centres are grid points
        without = epsilon0 / 2 * np.exp(-epsilon0 * np.abs(x))
        mixed = (1 - q) * without + q * epsilon0 / 2 * np.exp(-epsilon0 * np.abs(x - 1))
        together = compose([(Subsampled(LaplaceNoise(epsilon0), q), 2)])
        for asked in (0.01, 0.05, 0.3):
            truth = integrated(mixed, without, asked) * (x[1] - x[0]) ** 2
            bound = together.delta(asked)
            assert truth * (1 - 2e-3) - 1e-6 <= bound.upper <= truth * 1.05 + 1e-4


def test_a_huge_order_is_answered_from_above():
    sampled = Subsampled(GaussianNoise(50), 0.5)
    assert 0 < sampled.log_mgf(10**6).upper <= GaussianNoise(50).log_mgf(10**6).upper
    line = sampled.moments(OrderLine(1e6, 1.0, 3))
    assert line.error >= 1


def test_forgetting_the_direction_add_would_be_caught():
    """Where adding costs more than removing, one direction alone is too little."""
    epsilons, q = [1.0] * 6, 0.5
    asked = -0.3  # orders below 1 are where the directions differ most
    ways = {}
    for direction in ("remove", "add"):
        law = two_point_losses(epsilons[0], q, direction)
        ways[direction] = sum(p * math.exp(-asked * z) for z, p in law)
    assert ways["remove"] != pytest.approx(ways["add"], rel=1e-6)
    remove = Subsampled(Pure(1), q).log_mgf(3, Direction.REMOVE)
    add = Subsampled(Pure(1), q).log_mgf(3, Direction.ADD)
    assert remove.lower > add.upper or add.lower > remove.upper


@pytest.mark.parametrize("order", [0.5, 1, 3, 17])
@pytest.mark.parametrize("q", [0.01, 0.5, 0.97])
def test_renyi_moments_match_direct_integration(order, q):
    for mu in (0.2, 1.5):
        sampled = Subsampled(GaussianNoise(mu), q)
        high = mu * (order + 1) + 12
        for direction, power in ((Direction.REMOVE, order + 1), (Direction.ADD, -order)):

            def weighted(x, power=power, mu=mu):
                ratio = 1 - q + q * np.exp(mu * x - mu * mu / 2)
                return np.exp(stats.norm.logpdf(x) + power * np.log(ratio))

            exact, _ = integrate.quad(
                weighted, -12 - mu * order, high, limit=500, epsabs=0, epsrel=1e-11
            )
            found = sampled.log_mgf(order, direction)
            assert found.lower - 1e-9 <= math.log(exact) <= found.upper + 1e-9
            assert found.upper - found.lower < 1e-9


def test_moments_of_approximate_include_the_outcome_that_only_q_has():
    sampled, q, s = Subsampled(Approximate(1, 0.01), 0.25), 0.25, 2.5
    own = math.e / (1 + math.e)
    law = [((1 - own) * 0.99, 1 - q + q * math.e), (own * 0.99, 1 - q + q / math.e), (0.01, 1 - q)]
    removed = sum(p * g ** (s + 1) for p, g in law)
    added = sum(p * g**-s for p, g in law)
    assert sampled.log_mgf(s).upper == pytest.approx(math.log(removed), abs=1e-12)
    assert sampled.log_mgf(s, Direction.ADD).upper == pytest.approx(math.log(added), abs=1e-12)
    assert sampled.infinity().upper == pytest.approx(0.0025)
    assert sampled.infinity(Direction.ADD).upper == 0


def test_less_sampling_never_costs_more():
    for base in (GaussianNoise(1), LaplaceNoise(1), Pure(1), ZCDP(0.5), BoundedRange(1)):
        rates = (0.001, 0.01, 0.1, 0.5, 0.9, 1)
        for ask in (
            lambda one: one.epsilon(1e-5).upper,
            lambda one: one.rdp(4).upper,
            lambda one: one.delta(0.1).upper,
        ):
            answers = [ask(Subsampled(base, rate)) for rate in rates]
            assert answers == sorted(answers)


def test_sampling_everybody_is_the_mechanism_itself():
    for base in (GaussianNoise(1), LaplaceNoise(1), Pure(1), Approximate(1, 1e-6)):
        everybody = Subsampled(base, 1)
        assert everybody.epsilon(1e-5).upper == pytest.approx(base.epsilon(1e-5).upper, rel=1e-12)
        assert everybody.delta(0.3).upper == base.delta(0.3).upper
        assert everybody.log_mgf(2).upper == base.log_mgf(2).upper
        line = OrderLine(2.0, 0.5, 4)
        assert everybody.moments(line).phi == pytest.approx(base.moments(line).phi)


def test_other_guarantees_compose_by_convexity():
    for base in (ZCDP(0.5), RDP({2: 1, 8: 4}), ZCDP(0.5, 1e-6)):
        sampled = Subsampled(base, 0.1)
        for way in Direction:
            inside = 0.9 + 0.1 * math.exp(base.log_mgf(2).upper)
            slip = 1e-6 * 0.9**-2
            assert sampled.log_mgf(2, way).upper <= math.log(inside + slip) + 1e-12
        assert sampled.moments(OrderLine(2.0, 0.5, 4)) is None
    assert Subsampled(ZCDP(0.5), 0.1).rho().upper == 0.5


def test_discrete_gaussian_noise_approaches_the_continuous():
    smooth = Subsampled(GaussianNoise(0.1), 0.05)
    fine = Subsampled(DiscreteGaussianNoise(10, 10_000), 0.05)
    assert fine.rdp(8).upper == pytest.approx(smooth.rdp(8).upper, rel=1e-6)
    assert compose([(fine, 500)]).epsilon(1e-6).upper == pytest.approx(
        compose([(smooth, 500)]).epsilon(1e-6).upper, rel=1e-4
    )


def test_noise_on_a_grid_is_sampled_by_its_own_atoms():
    fine = Subsampled(DiscreteLaplaceNoise(1, sensitivity=50), 0.1)
    coarse = Subsampled(Pure(1), 0.1)
    smooth = Subsampled(LaplaceNoise(1), 0.1)
    assert smooth.rdp(3).upper < fine.rdp(3).upper < coarse.rdp(3).upper


def without_replacement(n, m, epsilon, asked):
    """The worst delta of a sampled randomized response on membership, enumerated over all sets."""
    own = math.exp(epsilon) / (1 + math.exp(epsilon))
    there = [1 if 0 in chosen else 0 for chosen in combinations(range(n), m)]
    share = sum(there) / len(there)
    hit = [share * own + (1 - share) * (1 - own), share * (1 - own) + (1 - share) * own]
    miss = [1 - own, own]
    pairs = ((hit, miss), (miss, hit))
    return max(
        sum(max(0.0, a - math.exp(asked) * b) for a, b in zip(*pair, strict=True)) for pair in pairs
    )


@pytest.mark.parametrize(("n", "m"), [(2, 1), (5, 2), (8, 7)])
def test_without_replacement_covers_and_meets_enumeration(n, m):
    for epsilon, asked in product((0.2, 1, 3), (0, 0.1, 0.5)):
        truth = without_replacement(n, m, epsilon, asked)
        sampled = Subsampled(Pure(epsilon, neighbours=CHANGE), Fraction(m, n), scheme=WITHOUT)
        assert sampled.delta(asked).upper == pytest.approx(truth, abs=1e-12)
        together = compose([sampled, sampled])
        assert together.delta(asked).upper >= truth - 1e-12
        assert together.epsilon(0).upper == pytest.approx(2 * sampled.epsilon(0).upper)


@pytest.mark.parametrize("alpha", [2, 3, 2.5, 8, 32])
def test_the_renyi_bound_without_replacement_is_above_a_mechanism_that_exists(alpha):
    for mu, q in ((0.5, 0.01), (1, 0.1), (2, 0.3)):
        sampled = Subsampled(GaussianNoise(mu, neighbours=CHANGE), q, scheme=WITHOUT)
        exists = Subsampled(GaussianNoise(mu), q)
        bound = sampled.rdp(alpha).upper
        assert exists.rdp(alpha).lower <= bound <= GaussianNoise(mu).rdp(alpha).upper
    small = Subsampled(GaussianNoise(0.5, neighbours=CHANGE), 0.01, scheme=WITHOUT)
    assert small.rdp(2).upper < 0.01 * GaussianNoise(0.5).rdp(2).upper


def test_releases_without_replacement_compose_far_below_the_mechanism():
    sampled = Subsampled(GaussianNoise(0.25, neighbours=CHANGE), 0.01, scheme=WITHOUT)
    many = compose([(sampled, 1000)]).epsilon(1e-6).upper
    assert many < compose([(GaussianNoise(0.25, neighbours=CHANGE), 1000)]).epsilon(1e-6).upper / 10


def test_a_renyi_sum_that_forgets_a_factor_would_be_caught(monkeypatch):
    true = module._renyi_sum
    monkeypatch.setattr(module, "_renyi_sum", lambda *args: true(*args) / 100)
    with pytest.raises(AssertionError):
        test_the_renyi_bound_without_replacement_is_above_a_mechanism_that_exists(8)


@pytest.mark.parametrize("scheme", list(Scheme))
def test_it_survives_storage(scheme):
    about = CHANGE if scheme else Neighbours.ADD_REMOVE
    sampled = Subsampled(Approximate(1, 1e-6, neighbours=about), Fraction(1, 3), scheme=scheme)
    again = Guarantee.from_dict(json.loads(json.dumps(sampled.to_dict())))
    assert again == sampled
    assert again.scheme is scheme


def test_neighbours_have_to_match_the_scheme():
    with pytest.raises(InputError, match="change-one"):
        Subsampled(Pure(1), 0.1, scheme=WITHOUT)
    with pytest.raises(InputError, match="add-remove"):
        Subsampled(Pure(1, neighbours=CHANGE), 0.1)
    with pytest.raises(InputError):
        Subsampled(Pure(1), 0.1, neighbours=CHANGE)


@pytest.mark.parametrize("rate", [0, -0.1, 1.0001, float("nan"), "0.1", True])
def test_bad_rates_raise_input_errors(rate):
    with pytest.raises(InputError):
        Subsampled(Pure(1), rate)


def test_an_unknown_scheme_is_refused():
    with pytest.raises(InputError):
        Subsampled(Pure(1), 0.1, scheme=7)


def test_groups_come_from_the_profile():
    sampled = Subsampled(GaussianNoise(1), 0.1)
    assert sampled.group(1) is sampled
    assert sampled.group(2).epsilon(1e-6).upper > sampled.epsilon(1e-6).upper
    with pytest.raises(InputError):
        sampled.group(0)


def test_tiny_deltas_and_rates_stay_sound():
    for rate in (1e-9, 1e-4, 0.999999):
        sampled = Subsampled(GDP(1), rate)
        for delta in (1e-20, 1e-12):
            epsilon = sampled.epsilon(delta).upper
            assert 0 <= epsilon <= GDP(1).epsilon(delta).upper
            assert sampled.delta(epsilon).upper <= delta * (1 + 1e-9)
        together = compose([(sampled, 100)])
        assert together.epsilon(1e-20).upper >= sampled.epsilon(1e-20).upper * (1 - 1e-9)


def test_a_number_is_no_guarantee_to_sample():
    with pytest.raises(InputError, match=r"call dp\.Subsampled\(dp\.Pure\(1\), rate=0\.01\)"):
        Subsampled(1.0, 0.01)
