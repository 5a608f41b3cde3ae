import pytest
from scipy.stats import beta, binom

from discreet.audit.confidence import least, most, tail, unlikely
from discreet.errors import InputError

CASES = [(k, n) for n in (1, 10, 1000, 140_000, 10**7) for k in {0, 1, n // 100, n // 3, n - 1, n}]


@pytest.mark.parametrize("alpha", [0.3, 0.01, 1e-9])
@pytest.mark.parametrize(("k", "n"), CASES)
def test_the_ends_are_those_of_the_beta_law(k, n, alpha):
    below = beta.ppf(alpha, k, n - k + 1) if k else 0.0
    above = beta.isf(alpha, k + 1, n - k) if k < n else 1.0

    assert least(k, n, alpha) == pytest.approx(below, rel=2e-9, abs=1e-15)
    assert most(k, n, alpha) == pytest.approx(above, rel=2e-9, abs=1e-15)


@pytest.mark.parametrize("n", [5, 60])
@pytest.mark.parametrize("p", [0.01, 0.3, 0.5, 0.99])
def test_coverage_is_at_least_as_stated_for_every_probability(n, p):
    alpha = 0.05
    wrong = sum(binom.pmf(k, n, p) for k in range(n + 1) if least(k, n, alpha) > p)
    wrong_above = sum(binom.pmf(k, n, p) for k in range(n + 1) if most(k, n, alpha) < p)

    assert wrong <= alpha
    assert wrong_above <= alpha


@pytest.mark.parametrize(("k", "n", "p"), [(1, 1, 0.5), (3, 10, 0.1), (60_000, 10**6, 0.0599)])
def test_the_tail_is_that_of_the_binomial_law_from_above(k, n, p):
    exact = binom.sf(k - 1, n, p)

    assert exact * (1 - 1e-11) <= tail(k, n, p) <= exact * (1 + 1e-8)


def test_the_ends_of_the_tail():
    assert tail(0, 10, 0.0) == 1
    assert tail(3, 10, 0.0) == 0


def test_a_count_is_unlikely_on_either_side_only():
    assert unlikely(0, 1000, 0.1, 0.2, 1e-6)
    assert unlikely(400, 1000, 0.1, 0.2, 1e-6)
    assert not unlikely(150, 1000, 0.1, 0.2, 1e-6)
    assert not unlikely(0, 1000, 0.0, 0.0, 1e-6)
    assert unlikely(1, 1000, 0.0, 0.0, 1e-6)


@pytest.mark.parametrize(("k", "n", "alpha"), [(3, 2, 0.1), (1, 2, 0.0), (1, 2, 1.0), (-1, 2, 0.1)])
def test_impossible_counts_and_rates_are_refused(k, n, alpha):
    with pytest.raises(InputError):
        least(k, n, alpha)
