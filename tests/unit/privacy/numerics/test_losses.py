import itertools
import math
from fractions import Fraction

import pytest

from discreet.privacy import LaplaceNoise, Pure, RandomizedResponseNoise
from discreet.privacy.numerics.losses import LossList, certain, extend
from discreet.privacy.numerics.moments import Atoms
from discreet.privacy.numerics.rounding import Interval


def test_equal_losses_are_merged():
    ten = LossList.of(Pure(0.1).atoms()).times(10)
    assert len(ten.masses) == 11
    assert ten.masses.sum() == pytest.approx(1)


def test_joint_outcomes_are_all_there():
    parts = [RandomizedResponseNoise(0.1, 3), Pure(0.23), Pure(0.5)]
    joint = certain()
    for part in parts:
        joint = extend(joint, part.atoms(), 1)
    truth = 0.0
    for combo in itertools.product(
        *(zip(p.atoms().losses, p.atoms().probabilities, strict=True) for p in parts)
    ):
        z = float(sum(loss for loss, _ in combo))
        truth += math.prod(q.upper for _, q in combo) * max(0.0, -math.expm1(0.2 - z))
    bound = joint.delta(Fraction(1, 5), (0.0, 0.0))
    assert bound.lower <= truth <= bound.upper
    assert bound.width < 1e-14
    back = joint.epsilon(bound.upper, (0.0, 0.0))
    assert back.upper == pytest.approx(0.2, abs=1e-12)
    assert back.lower <= 0.2 <= back.upper + 1e-14


def test_long_lists_are_given_up():
    assert extend(certain(), LaplaceNoise(1).atoms(), 1) is None
    joint = certain()
    for i in range(40):
        joint = extend(joint, Pure(Fraction(1, 101 + i)).atoms(), 1)
        if joint is None:
            break
    assert joint is None
    assert LossList.of(Pure(0.1).atoms()).times(10**6, most=100) is None


def test_losses_too_fine_for_exact_integers_are_given_up():
    assert LossList.of(Pure(Fraction(1, 3**40)).atoms()) is None
    one = LossList.of(Pure(Fraction(1, 2**40 + 15)).atoms())
    assert one.plus(LossList.of(Pure(Fraction(1, 3**25)).atoms())) is None


def test_a_delta_that_is_never_crossed_gives_zero():
    assert LossList.of(Pure(0.1).atoms()).epsilon(0.9, (0.0, 0.0)).upper == 0
    negative = LossList.of(Atoms((Fraction(-1),), (Interval.of(1),)))
    assert negative.epsilon(0.0, (0.0, 0.0)).upper == 0


def test_no_delta_at_all_gives_the_largest_loss():
    assert LossList.of(Pure(0.1).atoms()).times(3).epsilon(0.0, (0.0, 0.0)).upper == pytest.approx(
        0.3
    )
