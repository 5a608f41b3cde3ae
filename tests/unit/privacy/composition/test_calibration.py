import math
from fractions import Fraction

import pytest

from discreet.errors import InputError
from discreet.privacy import (
    CalibrationStep,
    DiscreteGaussianNoise,
    GaussianNoise,
    LaplaceNoise,
    Plan,
    Pure,
    calibrate,
    compose,
)

PLANS = {
    "gaussian": [CalibrationStep(GaussianNoise, count=100)],
    "laplace": [CalibrationStep(LaplaceNoise, count=100)],
    "weighted": [CalibrationStep(GaussianNoise, 3, 10), CalibrationStep(GaussianNoise, 1, 50)],
    "mixed": [
        CalibrationStep(GaussianNoise, 1, 30),
        CalibrationStep(LaplaceNoise, 2, 5),
        CalibrationStep(Pure, 0.5, 7),
    ],
    "discrete": [CalibrationStep(lambda mu: DiscreteGaussianNoise(1, 1 / (mu * mu)), 1, 20)],
}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (0.05, 1e-9), (8, 1e-5)])
def test_the_target_is_met_within_a_fifth_of_a_percent_and_never_exceeded(plan, epsilon, delta):
    found = calibrate(PLANS[plan], epsilon=epsilon, delta=delta)
    reached = found.plan.epsilon(delta).upper
    assert epsilon * 0.998 <= reached <= epsilon


def test_weights_are_kept():
    found = calibrate(PLANS["weighted"], epsilon=1, delta=1e-6)
    assert found.parameters[0] == 3 * found.parameters[1]
    scales = found.scales([1, 6])
    assert scales == (1 / found.parameters[0], 6 / found.parameters[1])


def test_one_gaussian_release_has_the_analytic_scale():
    found = calibrate([CalibrationStep(GaussianNoise)], epsilon=1, delta=1e-5)
    # Balle and Wang's calibration: sigma = 3.730631634816464 for sensitivity 1.
    assert float(found.scales([1])[0]) == pytest.approx(3.730631634816464, rel=1e-3)
    assert float(found.scales([1])[0]) >= 3.7306316348


def test_pure_parts_without_delta_share_epsilon():
    found = calibrate(
        [CalibrationStep(Pure, 1, 3), CalibrationStep(Pure, 2, 1)], epsilon=1, delta=0
    )
    assert float(found.parameters[0]) == pytest.approx(0.2, rel=1e-3)
    assert found.plan.epsilon(0).upper <= 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda: calibrate([], epsilon=1, delta=1e-6),
        lambda: calibrate([CalibrationStep(GaussianNoise)], epsilon=0, delta=1e-6),
        lambda: calibrate([CalibrationStep(GaussianNoise)], epsilon=1, delta=-1),
        lambda: calibrate([CalibrationStep(GaussianNoise)], epsilon=1, delta=0),
        lambda: calibrate([CalibrationStep(lambda _: Pure(Fraction(1, 10)))], epsilon=1, delta=0),
        lambda: CalibrationStep(GaussianNoise, 0),
        lambda: CalibrationStep(GaussianNoise, 1, 0),
        lambda: calibrate([CalibrationStep(Pure)], epsilon=1, delta=0).scales([1, 2]),
        lambda: calibrate([CalibrationStep(Pure)], epsilon=1, delta=0).scales([0]),
    ],
)
def test_what_cannot_be_met_is_refused(ask):
    with pytest.raises(InputError):
        ask()


def test_more_budget_means_less_noise():
    scales = [calibrate(PLANS["mixed"], epsilon=e, delta=1e-6).parameters[0] for e in (0.1, 0.5, 2)]
    assert scales == sorted(scales)
    assert all(math.isfinite(float(s)) for s in scales)


def test_a_plan_is_priced_as_a_composition():
    plan = Plan([(LaplaceNoise(0.1), 20)]).then(GaussianNoise(0.3)).then(Pure(0.01), 4)
    total = compose([(LaplaceNoise(0.1), 20), GaussianNoise(0.3), (Pure(0.01), 4)])
    assert plan.whole == total
    assert plan.epsilon(1e-6) == total.epsilon(1e-6)
    assert plan.delta(1) == total.delta(1)


def test_adding_a_step_leaves_the_old_plan_as_it_was():
    plan = Plan().then(Pure(0.1))
    plan.then(Pure(0.2))
    assert plan == Plan([Pure(0.1)])
    assert plan.epsilon(0).upper == 0.1


def test_storage_gives_back_the_same_plan():
    plan = Plan([(LaplaceNoise(0.1), 20), Pure(1)])
    assert Plan.from_dict(plan.to_dict()) == plan
    for broken in ({}, {"plan": 1}, {"plan": Pure(1).to_dict()}):
        with pytest.raises(InputError):
            Plan.from_dict(broken)
