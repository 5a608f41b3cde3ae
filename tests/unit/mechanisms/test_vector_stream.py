"""A stream of vectors, step by step: the same numbers as all at once, from wherever it goes on."""

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.mechanisms import FactorizedCount, VectorStream, vector_stream
from discreet.mechanisms.prefix_sums import convolve, right_factor

COUNTER = FactorizedCount(horizon=5, rho=0.5, sensitivity=7, steps_per_unit=2)
STEPS = np.array([[3, 0], [0, -2], [5, 1 << 60], [1, 1], [9, 4]], dtype=object)


@pytest.fixture
def silent(monkeypatch):
    def nothing(variance, shape):
        assert variance == COUNTER.variance
        return np.zeros(shape, dtype=np.int64)

    monkeypatch.setattr(vector_stream, "rounded_gaussian", nothing)


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("done", range(6))
def test_without_noise_the_numbers_are_the_factor_times_the_increments(done):
    exact = np.stack([convolve(right_factor(5), column) for column in STEPS.T], axis=1)
    stream = VectorStream(COUNTER, STEPS[:done])
    assert [stream.release(step).tolist() for step in STEPS[done:]] == exact[done:].tolist()
    with pytest.raises(InputError, match="had its 5 steps"):
        stream.release([0, 0])


@pytest.mark.usefixtures("silent")
def test_a_step_that_fails_changes_nothing():
    stream = VectorStream(COUNTER)
    for wrong in (3, [[1], [2]], ["a"], [None]):
        with pytest.raises(InputError):
            stream.release(wrong)
    assert stream.release([1, 2]).tolist() == [1 << 20, 2 << 20]
    assert [one.tolist() for one in stream.asked([[1, 2]])] == [[1, 2]]


def test_noise_is_fresh_for_every_number_and_step():
    counter = FactorizedCount(horizon=2, rho=0.5)
    noisy = [
        VectorStream(counter).release([0] * 2000) / np.sqrt(float(counter.variance)) for _ in "ab"
    ]
    for one in noisy:
        assert 0.9 < one.std() < 1.1
    assert abs(np.corrcoef(*noisy)[0, 1]) < 0.2
