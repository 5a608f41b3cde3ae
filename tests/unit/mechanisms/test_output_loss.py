"""What one answer gave away."""

import math

import pytest

from discreet.errors import InputError
from discreet.mechanisms import (
    ExponentialMechanism,
    Gaussian,
    Laplace,
    PermuteAndFlip,
    Quantiles,
    RoundedGaussian,
    Staircase,
    TopK,
    output_loss,
)


@pytest.mark.parametrize("kind", [Laplace, Staircase])
def test_no_answer_loses_more_than_epsilon_and_some_lose_less(kind):
    rule = kind(epsilon=2, sensitivity=3)
    losses = [output_loss(rule, answer, 0, 3).upper for answer in range(-20, 20)]
    assert max(losses) == pytest.approx(2)
    assert min(losses) == pytest.approx(-2)
    assert any(abs(loss) < 1.9 for loss in losses)


def test_losses_of_gaussian_noise_are_linear_in_the_answer():
    rule = Gaussian(variance=4, sensitivity=1)
    for answer in (-50, 0, 3):
        assert output_loss(rule, answer, 0, 1).upper == pytest.approx((1 - 2 * answer) / 8)
    assert output_loss(RoundedGaussian(variance=4, sensitivity=1), 0, 0, 1).upper > 0


def test_losses_of_coordinates_add_up():
    rule = Laplace(epsilon=1, sensitivity=2, dimension=2)
    assert output_loss(rule, [0, 0], [0, 0], [1, 1]).upper == pytest.approx(1)
    assert output_loss(rule, [1, 0], [0, 0], [1, 1]).upper == pytest.approx(0, abs=1e-12)
    with pytest.raises(InputError):
        output_loss(rule, [1], [0], [1])


def test_losses_of_choices_are_ratios_of_their_law():
    best = ExponentialMechanism(["a", "b"], epsilon=1)
    assert 0.4 < output_loss(best, "a", [1, 0], [0, 1]).upper < 1
    assert output_loss(TopK(2, 3, epsilon=1), [0, 1], [1, 0, 0], [0, 1, 1]).upper < 1
    middle = Quantiles([0.25, 0.75], 0, 4, epsilon=1)
    assert math.isfinite(output_loss(middle, [1, 2], [1, 2, 2], [1, 2]).upper)


def test_answers_that_cannot_be_and_laws_that_are_not_written_are_refused():
    with pytest.raises(InputError, match="neither input"):
        output_loss(Quantiles([0.25, 0.75], 0, 4, epsilon=1), [9, 9], [1], [1, 2])
    with pytest.raises(InputError, match="not written down"):
        output_loss(PermuteAndFlip(20, epsilon=1), 0, [0] * 20, [1] * 20)
