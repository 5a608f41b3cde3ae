"""Closed forms of the families against independent computations."""

import math
import random
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpfr
from scipy import optimize, stats

from discreet.privacy import (
    GDP,
    RDP,
    ZCDP,
    Approximate,
    BoundedRange,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    LaplaceNoise,
    Pure,
    RandomizedResponseNoise,
    Tabulated,
)
from discreet.privacy.guarantees import gaussian
from discreet.privacy.guarantees.guarantee import GroupPrivacy
from discreet.privacy.numerics.rounding import Interval


def hockey_stick(losses, masses, epsilon):
    return sum(p * max(0.0, -math.expm1(epsilon - z)) for z, p in zip(losses, masses, strict=True))


@pytest.mark.parametrize(
    "one",
    [
        Pure(0.7),
        RandomizedResponseNoise(0.7, 4),
        DiscreteLaplaceNoise(0.7, 5),
        Approximate(0.7, 0.01),
    ],
)
@pytest.mark.parametrize("epsilon", [0, 0.1, 0.35, 0.69, 0.7, 2])
def test_profiles_are_those_of_their_atoms(one, epsilon):
    atoms = one.atoms()
    masses = [p.upper for p in atoms.probabilities]
    lost = one.infinity().upper
    assert sum(masses) + lost == pytest.approx(1)
    truth = hockey_stick([float(z) for z in atoms.losses], masses, epsilon) + lost
    bound = one.delta(epsilon)
    assert bound.lower <= truth * (1 + 1e-12) + 1e-15
    assert bound.upper >= truth * (1 - 1e-12)
    assert bound.width <= 1e-12


@pytest.mark.parametrize("e", [0.01, 0.5, 3, 40])
def test_laplace_noise_by_its_densities(e):
    for x in (0, 0.3 * e, 0.9 * e, e):
        # The loss exceeds x left of (e - x)/2, in units of the scale.
        edge = (e - x) / 2
        truth = stats.laplace.cdf(edge) - math.exp(x) * stats.laplace.cdf(edge - e)
        assert LaplaceNoise(e).delta(x).upper == pytest.approx(truth, rel=1e-9, abs=1e-15)


def test_gaussian_noise_by_its_densities():
    for mu in (0.05, 0.7, 4):
        for e in (0.0, 0.2, 1.0, 5.0):
            truth = stats.norm.cdf(mu / 2 - e / mu) - math.exp(e) * stats.norm.cdf(-mu / 2 - e / mu)
            assert GDP(mu).delta(e).upper == pytest.approx(truth, rel=1e-8, abs=1e-14)
        for alpha in (1e-6, 0.05, 0.5, 0.99):
            truth = stats.norm.cdf(stats.norm.isf(alpha) - mu)
            assert GDP(mu).tradeoff(alpha) == pytest.approx(truth, rel=1e-9)
            assert GDP(mu).tradeoff(alpha) <= truth * (1 + 1e-13)


def test_the_ends_of_the_gaussian_tradeoff():
    assert GDP(1).tradeoff(0) == 1
    assert GDP(1).tradeoff(1) == 0
    assert GDP(0).tradeoff(0.25) == pytest.approx(0.75)


def test_the_pure_tradeoff_is_two_lines():
    e = 0.7
    for alpha in (0, 0.1, 0.4, 0.9, 1):
        truth = max(0, 1 - math.exp(e) * alpha, math.exp(-e) * (1 - alpha))
        assert Pure(e).tradeoff(alpha) == pytest.approx(truth, abs=1e-15)
        assert Pure(e).tradeoff(alpha) <= truth + 1e-16


def test_the_generic_tradeoff_agrees_with_closed_forms():
    for alpha in (0.01, 0.2, 0.6):
        generic = super(type(Pure(0.7)), Pure(0.7))._tradeoff(Fraction(alpha))
        assert generic == pytest.approx(Pure(0.7).tradeoff(alpha), abs=1e-7)
        assert generic <= Pure(0.7).tradeoff(alpha) + 1e-15
        laplace = LaplaceNoise(0.7)
        edge = stats.laplace.isf(alpha)
        assert laplace.tradeoff(alpha) == pytest.approx(stats.laplace.cdf(edge - 0.7), abs=1e-6)
        assert laplace.tradeoff(alpha) <= stats.laplace.cdf(edge - 0.7) + 1e-12


@pytest.mark.parametrize("e", [0.01, 0.3, 2, 9])
def test_bounded_range_is_the_worst_of_its_two_point_laws(e):
    def delta(t, x):
        p = (math.exp(e) - math.exp(t)) / math.expm1(e)
        return p * max(0.0, -math.expm1(x - t)) + (1 - p) * max(0.0, -math.expm1(x - t + e))

    for x in (0, 0.2 * e, 0.8 * e):
        worst = max(delta(t, x) for t in np.linspace(0, e, 2001))
        assert BoundedRange(e).delta(x).upper >= worst * (1 - 1e-12)
        assert BoundedRange(e).delta(x).upper == pytest.approx(worst, rel=1e-4, abs=1e-12)


@pytest.mark.parametrize("e", [0.01, 0.3, 2, 9])
@pytest.mark.parametrize("s", [0.1, 1, 7])
def test_bounded_range_moments_are_those_of_the_worst_law(e, s):
    def moment(t):
        p = (math.exp(e) - math.exp(t)) / math.expm1(e)
        return math.log(p * math.exp(s * t) + (1 - p) * math.exp(s * (t - e)))

    worst = max(moment(t) for t in np.linspace(0, e, 4001))
    found = BoundedRange(e).log_mgf(s).upper
    assert found >= worst - 1e-13
    assert found == pytest.approx(worst, rel=1e-5)
    assert found <= s * (s + 1) * e * e / 8 * (1 + 1e-12)


def test_the_exponential_mechanism_costs_a_quarter_of_what_pure_privacy_costs():
    assert BoundedRange(1).rho().upper == 0.125
    assert Pure(1).rho().upper == pytest.approx(math.tanh(0.5))
    assert Pure(1).rho().upper <= 0.5
    assert Pure(0.001).rho().upper == pytest.approx(0.001**2 / 2, rel=1e-6)


@pytest.mark.parametrize("one", [Pure(1.3), LaplaceNoise(1.3), GaussianNoise(1.3)])
def test_rho_is_reached_as_the_order_falls_to_one(one):
    assert one.rdp(1 + 1e-9).upper == pytest.approx(one.rho().upper, rel=1e-6)


@pytest.mark.parametrize("variance", [0.2, 0.9, 7, 300])
@pytest.mark.parametrize("steps", [1, 3])
def test_discrete_gaussian_profile_term_by_term(variance, steps):
    with gmpy2.context(precision=200):
        v = mpfr(gmpy2.mpq(str(Fraction(str(variance)))))
        one = DiscreteGaussianNoise(steps, variance)
        for epsilon in (Fraction(0), Fraction(1, 3), Fraction(5, 2)):
            e = mpfr(gmpy2.mpq(str(epsilon)))
            reach = int(40 * variance**0.5 + 40 + 3 * variance)
            top = bottom = mpfr(0)
            for x in range(-reach, reach + 1):
                mass = gmpy2.exp(-mpfr(x * x) / (2 * v))
                bottom += mass
                loss = (steps * steps + 2 * steps * x) / (2 * v)
                top += mass * -gmpy2.expm1(e - loss) if loss > e else 0
            bound = one.delta(epsilon)
            assert bound.lower <= top / bottom <= bound.upper
            assert bound.width <= 1e-9 * bound.upper + 1e-300


def test_a_wide_discrete_gaussian_is_a_gaussian():
    wide = DiscreteGaussianNoise(1, 10**6).epsilon(1e-6).upper
    assert wide == pytest.approx(GaussianNoise(Fraction(1, 1000)).epsilon(1e-6).upper, rel=1e-6)


@pytest.mark.parametrize(
    ("steps", "variance", "depths"),
    [
        (1, 10**6, (0, Fraction(1, 1000), Fraction(1, 200))),
        (3, 10**8, (0, Fraction(1, 10**4), Fraction(1, 2000))),
        (1000, 10**6, (0, 1, 3, 9)),
        (5000, 10**6, (0, 4, 20, 45)),
        (10**5, 10**8, (0, 50, 120)),
    ],
)
def test_the_integral_encloses_the_sum_it_stands_for(steps, variance, depths, monkeypatch):
    one = DiscreteGaussianNoise(steps, variance)
    for epsilon in depths:
        monkeypatch.setattr(gaussian, "_TERMS", 2**40)
        added = one.delta(epsilon)
        monkeypatch.setattr(gaussian, "_TERMS", 0)
        integral = one.delta(epsilon)
        assert integral.lower <= added.upper
        assert added.lower <= integral.upper
        assert integral.width <= 1000 / variance * added.upper


def test_without_its_error_the_integral_would_miss_the_sum(monkeypatch):
    one, epsilon = DiscreteGaussianNoise(30, 10**4), Fraction(1, 2)
    added = one.delta(epsilon)
    c = epsilon * one.variance / 30 - 15
    first = Fraction(math.floor(c)) + Fraction(1, 2)
    mu = Interval.of(one.variance).sqrt()
    bare = (first / mu).normal_tail() - Interval.of(epsilon).exp() * (
        (first + 30) / mu
    ).normal_tail()
    assert not bare.lower <= added.upper or not added.lower <= bare.upper
    monkeypatch.setattr(gaussian, "_TERMS", 0)
    assert one.delta(epsilon).lower <= added.lower <= added.upper <= one.delta(epsilon).upper


@pytest.mark.parametrize("mu", [Fraction(1, 10**7), Fraction(1, 10), Fraction(3)])
@pytest.mark.parametrize("delta", [1e-6, 1e-9, 1e-20])
def test_very_wide_discrete_noise_costs_what_gaussian_noise_costs(mu, delta):
    steps = 10**9
    wide = DiscreteGaussianNoise(steps, (steps / mu) ** 2).epsilon(delta)
    exact = GaussianNoise(mu).epsilon(delta)
    assert wide.upper == pytest.approx(exact.upper, rel=1e-9, abs=1e-15)
    assert wide.lower <= exact.upper
    assert wide.method == "discrete gaussian"


def test_steps_far_beyond_the_noise_give_everything_away():
    for steps in (10**3, 10**7, 10**400):
        found = DiscreteGaussianNoise(steps, Fraction(1, 2)).delta(1)
        assert found.lower > 1 - 1e-9
        assert found.upper == 1


def test_many_small_steps_approach_continuous_laplace_noise_from_above():
    costs = [DiscreteLaplaceNoise(1, n).delta(0.3).upper for n in (1, 2, 10, 1000, 10**6)]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == pytest.approx(LaplaceNoise(1).delta(0.3).upper, rel=1e-6)
    assert DiscreteLaplaceNoise(1, 1000).atoms() is None
    assert len(DiscreteLaplaceNoise(1, 6).atoms().losses) == 7


def test_zcdp_lies_between_gaussian_noise_and_the_classical_conversion():
    for rho in (0.001, 0.1, 3):
        for delta in (1e-3, 1e-6, 1e-12):
            bound = ZCDP(rho).epsilon(delta)
            exact = GaussianNoise(Fraction(math.sqrt(2 * rho))).epsilon(delta)
            assert bound.lower == pytest.approx(exact.upper, rel=1e-6)
            assert exact.lower <= bound.upper <= rho + 2 * math.sqrt(rho * math.log(1 / delta))


def test_zcdp_conversion_is_the_optimum_over_orders():
    rho, delta = 0.3, 1e-6

    def cost(log_order):
        s = math.exp(log_order)
        return rho * (s + 1) + (s * math.log(s) - (s + 1) * math.log(s + 1) - math.log(delta)) / s

    best = optimize.minimize_scalar(
        cost, bounds=(-5, 8), method="bounded", options={"xatol": 1e-10}
    )
    assert ZCDP(rho).epsilon(delta).upper == pytest.approx(best.fun, rel=1e-9)


def test_zcdp_at_the_edges():
    assert ZCDP(0).epsilon(0).upper == 0
    assert ZCDP(0, 0.1).delta(1).upper == 0.1
    assert ZCDP(1).epsilon(0).upper == math.inf
    assert ZCDP(1, 0.1).epsilon(0.1).upper == math.inf
    assert ZCDP(1, 0.1).epsilon(0.05).upper == math.inf
    assert ZCDP(1e-8).delta(0).upper <= math.sqrt(1e-8 / 2) * (1 + 1e-9)
    assert isinstance(ZCDP(1, 0.1).group(2), GroupPrivacy)


def test_approximate_at_the_edges():
    assert Approximate(1, 1).delta(5).upper == 1
    assert Approximate(1, 0.1).epsilon(0.05).upper == math.inf
    assert Approximate(1, 0.1).epsilon(0.1).upper == 1
    assert Approximate(0, 0.1).group(3) == Approximate(0, Fraction(3, 10)) or Approximate(
        0, 0.1
    ).group(3).delta0 >= Fraction(3, 10)
    assert Approximate(1, 0.4).group(3).delta0 == 1
    assert Approximate(1, 0).group(3) == Approximate(3, 0)


def test_groups_of_approximate_privacy_by_the_recursion():
    e, d, k = 0.3, 1e-6, 5
    total = sum(d * math.exp(i * e) for i in range(k))
    grouped = Approximate(e, d).group(k)
    assert float(grouped.epsilon0) == k * e
    assert total <= grouped.delta0 * (1 + 1e-14)
    assert float(grouped.delta0) == pytest.approx(total)


def test_a_renyi_curve_of_a_gaussian_converts_like_it():
    curve = RDP({1 + Fraction(i, 2): Fraction(1 + Fraction(i, 2), 20) for i in range(1, 90)})
    assert curve.epsilon(1e-6).upper == pytest.approx(
        ZCDP(Fraction(1, 20)).epsilon(1e-6).upper, rel=1e-4
    )
    assert curve.epsilon(1e-6).upper >= ZCDP(Fraction(1, 20)).epsilon(1e-6).upper * (1 - 1e-12)
    assert curve.delta(1).upper == pytest.approx(ZCDP(Fraction(1, 20)).delta(1).upper, rel=1e-3)
    assert curve.epsilon(0).upper == math.inf


def test_renyi_curves_interpolate_from_above():
    rng = random.Random(5)  # noqa: S311 - a fixed choice of cases
    curve = RDP({alpha: Pure(1).rdp(alpha).upper for alpha in (1.5, 2, 3, 6, 20)})
    for _ in range(50):
        alpha = 1 + 19 * rng.random()
        assert curve.rdp(alpha).upper >= Pure(1).rdp(alpha).lower
    assert curve.rdp(21).upper == math.inf


def test_groups_of_renyi_curves():
    curve = RDP({4: 1, 16: 2})
    assert curve.group(1) is curve
    assert curve.group(2) == RDP({2: 3, 8: 6})
    assert curve.group(3) == RDP({4: 18})
    assert isinstance(curve.group(100), GroupPrivacy)


def test_a_group_from_the_profile_is_no_better_than_the_closed_form():
    for epsilon in (0, 0.5, 2):
        assert GroupPrivacy(Pure(0.3), 3).delta(epsilon).upper >= Pure(0.9).delta(epsilon).lower
        assert (
            GroupPrivacy(GaussianNoise(0.3), 2).delta(epsilon).upper
            >= GaussianNoise(0.6).delta(epsilon).lower
        )
    assert GroupPrivacy(Pure(0.3), 3).group(2) == GroupPrivacy(Pure(0.3), 6)
    assert GroupPrivacy(Pure(0.3), 3).epsilon(0).upper == pytest.approx(0.9)
    assert GroupPrivacy(Pure(1), 2).rdp(2).upper == math.inf


def test_a_table_speaks_for_both_directions_or_for_each():
    one = Tabulated([0.5], [0.9], add=([0.7, 0], [0.5, 0.5]))
    assert one.delta(0.6).upper == pytest.approx(max(0.1, 0.5 * -math.expm1(-0.1)))
    assert one.delta(10).upper == pytest.approx(0.1)
    assert one.epsilon(0.05).upper == math.inf
    assert one.epsilon(0).upper == math.inf
    assert Tabulated([0.5, -1], [0.5, 0.5]).epsilon(0).upper == 0.5
    assert Tabulated([-1], [1]).epsilon(0).upper == 0
    assert Tabulated([1], [1]).group(1) == Tabulated([1], [1])


def test_a_binned_table_is_close_to_what_it_tabulates():
    edges = np.linspace(-1, 1, 201)
    upper = edges[1:]
    # Laplace noise with epsilon = 1: atoms of 1/2 at 1 and e^-1/2 at -1, density between.
    masses = np.diff(0.5 * np.exp((edges - 1) / 2)) * 1.0
    table = [(z, float(p)) for z, p in zip(upper, masses, strict=True)]
    table += [(1.0, 0.5), (-1.0, 0.5 * math.exp(-1))]
    z, p = zip(*table, strict=True)
    scaled = [Fraction(float(x)) for x in p]
    one = Tabulated([float(x) for x in z], [x / max(1, sum(scaled)) for x in scaled])
    assert one.delta(0.3).upper == pytest.approx(LaplaceNoise(1).delta(0.3).upper, rel=0.02)


def test_tiny_and_huge_parameters():
    assert Pure(Fraction(1, 10**30)).delta(0).upper == pytest.approx(0.5e-30)
    assert Pure(10**6).delta(0).upper <= 1
    assert Pure(10**6).delta(999_999).upper == pytest.approx(-math.expm1(-1))
    assert LaplaceNoise(10**5).rho().upper == pytest.approx(10**5 - 1)
    assert GaussianNoise(Fraction(1, 10**9)).delta(0).upper == pytest.approx(
        1e-9 / math.sqrt(2 * math.pi)
    )
    assert GaussianNoise(1000).delta(1).upper == 1.0
    assert 0 < GaussianNoise(1).delta(60).upper < 1e-300


def test_zero_epsilon_is_one_atom():
    assert Pure(0).atoms().losses == (0,)
    assert Pure(0).delta(0).upper == 0
    assert RDP({2: 1}).delta(5).upper < 1


@pytest.mark.parametrize(("epsilon", "steps"), [(2, 10**6), (2, 3), (0.5, 5), (5, 2), (1, 1)])
def test_the_rho_of_discrete_laplace_noise_is_the_mean_of_its_loss(epsilon, steps):
    one = DiscreteLaplaceNoise(epsilon, steps)
    rho = one.rho()
    assert one.rdp(1 + 1e-9).upper == pytest.approx(rho.upper, rel=1e-6)
    for alpha in (1.001, 1.5, 2, 7, 100):
        assert one.rdp(alpha).lower <= rho.upper * alpha
    limit = LaplaceNoise(epsilon).rho().upper
    assert limit * (1 - 1e-9) <= rho.upper <= Pure(epsilon).rho().upper * (1 + 1e-15)
    assert steps < 10**6 or rho.upper == pytest.approx(limit, rel=1e-9)
