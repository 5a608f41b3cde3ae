"""Fifteen tasks of a first course on differential privacy, with `import discreet as dp` alone."""

import math
import pickle
import pydoc

import numpy as np
import pytest

import discreet as dp


def test_1_randomized_response_estimates_a_share():
    survey = dp.RandomizedResponse.two_coins()
    answers = survey.release([1] * 30_000 + [0] * 70_000)
    assert abs(survey.estimate(answers) - 0.3) < 0.03
    assert math.isclose(survey.guarantee.epsilon(0).upper, math.log(3))


def test_2_a_count_with_laplace_noise_and_its_error():
    count = dp.Laplace(epsilon=0.5, sensitivity=1)
    assert abs(count.release(1000) - 1000) < 100
    assert count.error(0.95) == 6.0


def test_3_gaussian_noise_for_an_epsilon_and_a_delta():
    noise = dp.Gaussian(epsilon=1, delta=1e-6, sensitivity=1)
    assert noise.guarantee.epsilon(1e-6).upper <= 1
    assert dp.Gaussian(scale=3, sensitivity=1).variance == 9
    assert dp.Gaussian(scale=3, sensitivity=1).sigma == 3


def test_4_the_exponential_mechanism_chooses_the_best_lunch():
    lunch = dp.ExponentialMechanism(["falafel", "pasta", "sushi"], epsilon=1)
    assert lunch.release([20, 900, 40]) == "pasta"


def test_5_a_histogram_costs_no_more_than_a_count():
    one, many = (dp.Histogram(bins=bins, epsilon=0.5) for bins in (1, 1000))
    assert many.noise.scale == one.noise.scale


def test_5_a_histogram_counts_values_in_named_bins():
    ages = dp.Histogram(bins=[0, 18, 65], epsilon=1).release([7] * 3000 + [30] * 5000 + [80] * 9000)
    assert abs(ages - [3000, 5000]).max() < 100
    drinks = dp.Histogram(["tea", "coffee"], epsilon=1).release(["tea"] * 900 + ["water"] * 500)
    assert abs(drinks - [900, 0]).max() < 100


def test_5_means_and_quantiles_of_an_array():
    ages = np.array([20, 30, 40, 50, 60] * 1000)
    assert abs(dp.mean(ages, bounds=(0, 120), epsilon=1) - 40) < 5
    assert abs(dp.sum(ages > 30, bounds=(0, 1), epsilon=1) - 3000) < 100
    assert abs(dp.median(list(ages), lower=0, upper=120, eps=1) - 40) < 5
    low, high = dp.quantile(ages, [0.25, 0.75], range=(0, 120), epsilon=1)
    assert abs(low - 30) < 5
    assert abs(high - 50) < 5
    for wrong in (lambda: dp.mean(ages), lambda: dp.mean(ages, epsilon=1)):
        with pytest.raises(dp.InputError, match=r"call dp\.mean\(\[23, 45, 31\], bounds=\(0, 12"):
            wrong()
    assert abs(dp.count(ages, epsilon=1) - 5000) < 100
    with pytest.raises(dp.InputError, match=r"call dp\.count\(ages\[ages > 40\], epsilon=1\)"):
        dp.count(ages > 30, epsilon=1)


@pytest.mark.parametrize(
    "odd", [math.nan, math.inf, "?", None, 10**400, [1]], ids=lambda odd: type(odd).__name__
)
def test_5_no_value_of_one_person_decides_whether_a_mean_is_told(odd):
    ages = [20, 30, 40] * 1000
    assert abs(dp.mean([*ages, odd], bounds=(0, 120), epsilon=1) - 30) < 5


@pytest.mark.parametrize(
    "value", [np.ones((3, 2)), {"age": 3}, {3, 4}, b"12", (one for one in "1")]
)
def test_5_an_array_has_one_axis(value):
    with pytest.raises(dp.InputError, match=r"call dp\.mean\(\[23, 45, 31\]"):
        dp.mean(value, bounds=(0, 120), epsilon=1)


@pytest.mark.parametrize("said", [{"bounds": 9}, {"bounds": (0, 9), "lower": 0, "upper": 8}])
def test_5_bounds_are_two_numbers_said_once(said):
    with pytest.raises(TypeError, match="pass bounds, or lower and upper, once"):
        dp.mean([1, 2], epsilon=1, **said)


def test_5_help_tells_the_guarantee_of_an_array_and_its_call():
    told = pydoc.render_doc(dp.mean, renderer=pydoc.plaintext)
    for word in ("epsilon", "bounds=(0, 120)", "Guarantee", "Neighbours", "missing", "clamped"):
        assert word in told
    assert pickle.loads(pickle.dumps(dp.mean)) is dp.mean  # noqa: S301 - its own dump
    assert dp.sum([True] * 1000, bounds=(0, 1), epsilon=1) > 900


def test_6_top_k_and_a_noisy_maximum():
    assert dp.TopK(2, ["a", "b", "c"], epsilon=1).release([0, 9000, 90_000]) == ["c", "b"]
    for best in (dp.PermuteAndFlip, dp.ReportNoisyMax):
        assert best(["red", "green"], epsilon=1).release([0, 5000]) == "green"


def test_7_a_private_median_by_ranks_and_by_smooth_sensitivity():
    assert dp.Quantile(0.5, 0, 128, epsilon=1).release([40] * 5000) == 40
    smooth = dp.SmoothMedian(0, 128, epsilon=1, delta=1e-6)
    assert abs(smooth.release([30] * 3000 + [40] * 3000 + [50] * 3000) - 40) < 10


def test_8_three_composition_theorems_take_one_argument_and_improve():
    hundred = [(dp.Pure(0.1), 100)]
    ways = (dp.basic_epsilon, dp.advanced_epsilon, dp.optimal_epsilon)
    basic, advanced, optimal = (way(hundred, 1e-6).upper for way in ways)
    assert basic > advanced > optimal


def test_9_concentrated_privacy_converts_and_composes():
    assert 1.9 < dp.ZCDP(0.1).epsilon(1e-6).upper < 2.6
    mixed = dp.compose(
        [(dp.Laplace(epsilon=0.1, sensitivity=1).guarantee, 50), (dp.ZCDP(0.01), 10)]
    )
    assert mixed.epsilon(1e-6).upper < 5


def test_10_a_sample_is_more_private():
    step = dp.Subsampled(dp.Gaussian(rho=0.5, sensitivity=1).guarantee, 0.01)
    assert dp.compose([(step, 1000)]).epsilon(1e-6).upper < 3


def test_11_groups_and_shuffled_reports():
    assert dp.Pure(0.5).group(4).epsilon().upper == 2
    assert dp.Shuffled(1, 10_000).epsilon(1e-6).upper < 0.06


def test_12_a_filter_stops_and_an_odometer_counts():
    budget = dp.Filter.within(1, 1e-6)
    assert budget.fits(dp.ZCDP(0.001))
    assert not budget.fits(dp.ZCDP(1))
    assert dp.Filter(dp.Budget(epsilon=1)).left.amount == 1
    spent = dp.Odometer().charge(dp.ZCDP(0.1)).charge(dp.Pure(0.1))
    assert spent.epsilon(1e-6).upper < 4


def test_13_sparse_vector_and_counts_in_a_stream():
    alarm = dp.SparseVector(threshold=10_000, epsilon=1, hits=1).start()
    assert [alarm.ask(value) for value in (3, 250_000)] == [False, True]
    stream = dp.TreeCount(horizon=1000, epsilon=1).start()
    assert all(abs(stream.release(5) - total) < 200 for total in (5, 10, 15))
    assert abs(stream.add(5) - 20) < 200
    with pytest.raises(AttributeError, match=r"one value at a time: .*\.start\(\)\.ask"):
        dp.TreeCount(horizon=9, epsilon=1).add(1)


def test_14_reconstruction_succeeds_without_noise():
    secret = [1, 0, 1, 1, 0, 0, 1, 0]
    attack = dp.attacks.LeastSquares(secret)
    outcome = attack.run(lambda people: sum(secret[i] for i in people.nonzero()[0]), effort=40)
    assert outcome.success == 1


def test_15_a_curator_answers_until_the_budget_is_spent():
    curator = dp.Curator.in_memory()
    rows = {"id": list(range(1000)), "age": [20 + i % 50 for i in range(1000)]}
    curator.add(
        "visits",
        rows,
        unit="id",
        budget=dp.Budget(epsilon=1, delta=1e-6),
        columns={"age": dp.Bounds(0, 120)},
    )
    with pytest.raises(dp.InputError, match="one length"):
        curator.add("odd", {"id": [1, 2], "age": [3]}, unit="id", dataset="visits")
    assert curator.sql("SELECT AVG(age) AS m FROM visits", epsilon=0.5).table.num_rows == 1
    with pytest.raises(dp.BudgetError, match="of the budget"):
        curator.sql("SELECT COUNT(*) AS n FROM visits", epsilon=5)
