"""How many people an error takes."""

import pytest

from discreet.errors import InputError
from discreet.mechanisms import Gaussian, Laplace, people_for, sensitivity


def mean(n):
    return Laplace(epsilon=1, sensitivity=sensitivity.mean(n, 0, 100))


@pytest.mark.parametrize("error", [0.01, 1, 20])
def test_one_person_fewer_would_not_do(error):
    n = people_for(error, mean)
    assert mean(n).error() <= error < mean(n - 1).error()


def test_more_confidence_takes_more_people():
    assert people_for(1, mean, confidence=0.99) > people_for(1, mean)
    assert people_for(1000, mean) == 1
    assert people_for(1000, mean, at_least=30) == 30


def test_an_error_that_people_do_not_lower_is_refused():
    with pytest.raises(InputError, match="no number of people"):
        people_for(1, lambda _: Gaussian(rho=0.001, sensitivity=1))
