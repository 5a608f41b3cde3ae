"""Sensitivities against brute force: every tiny dataset, in exact rationals."""

import itertools
from fractions import Fraction

import pytest

from discreet.errors import InputError
from discreet.mechanisms import sensitivity
from discreet.privacy import Neighbours

VALUES = (Fraction(-1), Fraction(0), Fraction(1, 2), Fraction(2))
LOWER, UPPER = -1, 2
ADD_REMOVE, CHANGE_ONE = Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE


def mean(data):
    return Fraction(sum(data)) / len(data)


def covariance(pairs, ddof=0):
    x, y = mean([a for a, _ in pairs]), mean([b for _, b in pairs])
    return sum((a - x) * (b - y) for a, b in pairs) / (len(pairs) - ddof)


def variance(data, ddof=0):
    return covariance([(value, value) for value in data], ddof)


def pairs_of(domain, size, relation):
    """All pairs of neighbours whose smaller has `size` people; order means nothing to these."""
    if relation is CHANGE_ONE:
        for rest in itertools.combinations_with_replacement(domain, size - 1):
            for one, other in itertools.combinations(domain, 2):
                yield (*rest, one), (*rest, other)
    else:
        for data in itertools.combinations_with_replacement(domain, size):
            for one in domain:
                yield data, (*data, one)


def worst(statistic, domain, sizes, relation):
    """The largest move of a statistic over all neighbours of these sizes."""
    return max(
        abs(statistic(data) - statistic(other))
        for size in sizes
        for data, other in pairs_of(domain, size, relation)
    )


@pytest.mark.parametrize("relation", list(Neighbours))
def test_sums(relation):
    found = worst(lambda data: sum(data, Fraction(0)), VALUES, (1, 2, 3), relation)
    assert found == sensitivity.total(LOWER, UPPER, relation)


@pytest.mark.parametrize("relation", list(Neighbours))
def test_counts(relation):
    found = worst(lambda data: sum(value > 0 for value in data), VALUES, (1, 2, 3), relation)
    assert found == sensitivity.count(relation)


@pytest.mark.parametrize("relation", list(Neighbours))
def test_histograms(relation):
    found = max(
        sum(abs(data.count(value) - other.count(value)) for value in VALUES)
        for data, other in pairs_of(VALUES, 2, relation)
    )
    assert found == sensitivity.histogram(relation)


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("n", [1, 2, 3])
def test_means(relation, n):
    found = worst(mean, VALUES, (n, n + 1), relation)
    assert found == sensitivity.mean(n, LOWER, UPPER, relation)


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("n", [1, 2, 4])
def test_proportions(relation, n):
    found = worst(mean, (Fraction(0), Fraction(1)), (n, n + 1), relation)
    assert found == sensitivity.proportion(n, relation)


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize(("n", "ddof"), [(1, 0), (2, 0), (3, 0), (4, 0), (2, 1), (3, 1), (4, 1)])
def test_variances(relation, n, ddof):
    domain = (Fraction(LOWER), Fraction(1, 2), Fraction(UPPER))
    found = worst(lambda data: variance(data, ddof), domain, (n, n + 1), relation)
    assert found == sensitivity.variance(n, LOWER, UPPER, relation, ddof=ddof)


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("ddof", [0, 1])
def test_standard_deviations_are_rounded_up(relation, n, ddof):
    domain = (Fraction(LOWER), Fraction(1, 2), Fraction(UPPER))
    claimed = sensitivity.standard_deviation(n, LOWER, UPPER, relation, ddof=ddof)
    found = worst(lambda data: float(variance(data, ddof)) ** 0.5, domain, (n, n + 1), relation)
    assert float(claimed) == pytest.approx(found, rel=1e-12)
    assert claimed**2 >= sensitivity.variance(n, LOWER, UPPER, relation, ddof=ddof)


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("ddof", [0, 1])
def test_covariances(relation, n, ddof):
    domain = tuple(itertools.product((Fraction(0), Fraction(3, 2), Fraction(3)), (-1, 0, 1)))
    corners = tuple(itertools.product((Fraction(0), Fraction(3)), (-1, 1)))
    claimed = sensitivity.covariance(n, (0, 3), (-1, 1), relation, ddof=ddof)
    assert worst(lambda d: covariance(d, ddof), corners, (n, n + 1), relation) == claimed
    assert worst(lambda d: covariance(d, ddof), domain, (n,), relation) <= claimed


def test_the_mean_of_a_public_number_of_people_moves_by_range_over_n():
    assert sensitivity.mean(50, 0, 10, CHANGE_ONE) == Fraction(1, 5)


def test_floats_are_the_decimals_they_print_as():
    assert sensitivity.total(-0.1, 0.3, CHANGE_ONE) == Fraction(2, 5)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: sensitivity.total(1, 1),
        lambda: sensitivity.total(2, 1),
        lambda: sensitivity.total(float("nan"), 1),
        lambda: sensitivity.total(0, float("inf")),
        lambda: sensitivity.mean(0, 0, 1),
        lambda: sensitivity.mean(1.5, 0, 1),
        lambda: sensitivity.variance(1, 0, 1, ddof=1),
        lambda: sensitivity.variance(3, 0, 1, ddof=2),
        lambda: sensitivity.covariance(3, (0, 1), (1, 0)),
    ],
)
def test_bad_bounds_are_refused(ask):
    with pytest.raises(InputError):
        ask()


@pytest.mark.parametrize(
    "ask",
    [
        sensitivity.histogram,
        lambda about: sensitivity.total(-3, 5, about),
        lambda about: sensitivity.mean(9, 0, 1, about),
        lambda about: sensitivity.proportion(9, about),
        lambda about: sensitivity.variance(9, 0, 1, about),
        lambda about: sensitivity.standard_deviation(9, 0, 1, about, ddof=1),
        lambda about: sensitivity.covariance(9, (0, 1), (0, 2), about),
    ],
)
def test_neighbours_by_name_are_those_they_name(ask):
    """A name that is not read would stand for add-remove, with less noise than was asked for."""
    assert ask("change-one") == ask(Neighbours.CHANGE_ONE) > ask("add-remove")
    with pytest.raises(InputError, match="neighbours"):
        ask("change one")


def test_a_count_is_about_neighbours_that_there_are():
    with pytest.raises(InputError, match="neighbours"):
        sensitivity.count("anyone")
