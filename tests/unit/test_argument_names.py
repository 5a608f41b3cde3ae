"""Calls as papers, numpy and other libraries write them, and what a wrong call is told."""

import ast
import builtins
import copy
import itertools
import math
import pickle
import subprocess
import sys
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.argument_names import PACKAGES, also_called, course_calls, fix_of, public
from discreet.mechanisms import TreeCount

AGES = list(range(18, 90)) * 10


@pytest.mark.parametrize(
    ("natural", "own"),
    [
        (
            lambda: dp.Gaussian(sigma=4, sensitivity=1),
            lambda: dp.Gaussian(scale=4, sensitivity=1),
        ),
        (lambda: dp.Laplace(b=2, sensitivity=1), lambda: dp.Laplace(scale=2, sensitivity=1)),
        (
            lambda: dp.TreeCount(length=64, epsilon=1),
            lambda: dp.TreeCount(horizon=64, epsilon=1),
        ),
        (lambda: dp.TreeCount(T=64, epsilon=1), lambda: dp.TreeCount(horizon=64, epsilon=1)),
        (
            lambda: dp.SparseVector(threshold=9, epsilon=1, c=3),
            lambda: dp.SparseVector(threshold=9, epsilon=1, hits=3),
        ),
        (
            lambda: dp.ExponentialMechanism(candidates=["a", "b"], epsilon=1),
            lambda: dp.ExponentialMechanism(["a", "b"], epsilon=1),
        ),
        (
            lambda: dp.TopK(k=1, candidates=["a", "b"], epsilon=1),
            lambda: dp.TopK(1, ["a", "b"], epsilon=1),
        ),
        (
            lambda: dp.Quantile(q=0.9, bounds=(0, 120), epsilon=1),
            lambda: dp.Quantile(0.9, 0, 120, epsilon=1),
        ),
        (
            lambda: dp.Quantiles([0.25, 0.75], range=(0, 120), epsilon=1),
            lambda: dp.Quantiles([0.25, 0.75], 0, 120, epsilon=1),
        ),
        (
            lambda: dp.SmoothMedian(bounds=(0, 120), epsilon=1, delta=1e-6),
            lambda: dp.SmoothMedian(0, 120, epsilon=1, delta=1e-6),
        ),
        (
            lambda: dp.RandomizedResponse(p=0.75),
            lambda: dp.RandomizedResponse(gamma=0.25),
        ),
        (
            lambda: dp.Subsampled(dp.Gaussian(sigma=1, sensitivity=1), sampling_rate=0.01),
            lambda: dp.Subsampled(dp.Gaussian(scale=1, sensitivity=1).guarantee, 0.01),
        ),
        (lambda: dp.compose(dp.Pure(1), 3), lambda: dp.compose([(dp.Pure(1), 3)])),
        (
            lambda: dp.compose(dp.Pure(1), dp.ZCDP(0.1)),
            lambda: dp.compose([dp.Pure(1), dp.ZCDP(0.1)]),
        ),
        (
            lambda: dp.compose([dp.Laplace(epsilon=1, sensitivity=1)]),
            lambda: dp.compose([dp.Laplace(epsilon=1, sensitivity=1).guarantee]),
        ),
        (lambda: dp.compose(Counter([dp.Pure(1)] * 9)), lambda: dp.compose(dp.Pure(1), 9)),
        (lambda: dp.basic_epsilon({dp.Pure(1): 3}), lambda: dp.basic_epsilon(dp.Pure(1), 3)),
        (lambda: dp.basic_epsilon([0.1] * 10), lambda: dp.basic_epsilon([(dp.Pure(0.1), 10)])),
        (lambda: dp.basic_epsilon(0.1, 10), lambda: dp.basic_epsilon([(dp.Pure(0.1), 10)])),
        (
            lambda: dp.advanced_epsilon(0.1, 100, 1e-6),
            lambda: dp.advanced_epsilon([(dp.Pure(0.1), 100)], 1e-6),
        ),
        (
            lambda: dp.optimal_epsilon(epsilon=0.1, k=100, delta=1e-6),
            lambda: dp.optimal_epsilon([(dp.Pure(0.1), 100)], 1e-6),
        ),
        (lambda: dp.Filter(epsilon=1), lambda: dp.Filter.basic(1)),
        (lambda: dp.Filter(epsilon=1, delta=1e-6), lambda: dp.Filter.within(1, 1e-6)),
        (lambda: dp.Filter(dp.ZCDP(0.1)), lambda: dp.Filter.zcdp(0.1)),
        (lambda: dp.Filter(dp.Approximate(1, 1e-6)), lambda: dp.Filter.basic(1, 1e-6)),
        (
            lambda: dp.Odometer().charge(dp.Laplace(epsilon=1, sensitivity=1)),
            lambda: dp.Odometer().charge(dp.Laplace(epsilon=1, sensitivity=1).guarantee),
        ),
    ],
)
def test_a_natural_call_means_the_same_as_the_documented_one(natural, own):
    assert natural() == own()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: dp.Histogram(epsilon=1), r"call dp.Histogram\(bins=.*release\("),
        (
            lambda: dp.TopK(k=2, epsilon=1),
            r"call dp.TopK\(k=2, outputs=\[\"a\", \"b\", ",
        ),
        (lambda: dp.Laplace(epsilon=1), r"call dp.Laplace\(epsilon=0.5, .*release\(42.0\)"),
        (lambda: dp.Gaussian(scale=2), r"call dp.Gaussian\(scale=1.1, sensitivity=1\)"),
        (lambda: dp.Gaussian(noise_multiplier=2), r"call dp.Gaussian\(epsilon=1, delta="),
        (lambda: dp.Staircase(epsilon=1), r"call dp.Staircase\(epsilon="),
        (lambda: dp.PermuteAndFlip(epsilon=1), r"call dp.PermuteAndFlip\(\["),
        (
            lambda: dp.calibrate(dp.GDP, error=5),
            r"call dp.calibrate\(\[dp.Calibrat",
        ),
        (lambda: dp.Quantile(0.5, 0, 9, bounds=(0, 9), epsilon=1), "multiple values"),
        (lambda: dp.Quantile(0.5, lower=0, bounds=(0, 9), epsilon=1), "pass bounds, or lower and"),
    ],
)
def test_a_call_that_does_not_fit_is_told_one_that_does(call, told):
    with pytest.raises(TypeError, match=told):
        call()


def test_an_error_inside_a_call_that_fits_stays_as_it_is():
    @also_called(other="own")
    def broken(own):
        return own + "text"

    with pytest.raises(TypeError, match="unsupported operand"):
        broken(other=1)


def test_a_function_without_an_example_points_to_its_help():
    @also_called()
    def plain(own):
        return own

    with pytest.raises(TypeError, match=r"see help\(plain\)"):
        plain()


@pytest.mark.parametrize("limit", [None, 3])
def test_a_filter_refuses_what_has_no_price(limit):
    with pytest.raises(dp.InputError, match="has no cost"):
        dp.Filter(limit)


def test_a_histogram_says_how_to_have_values_counted():
    for value in (AGES, 3):
        with pytest.raises(dp.InputError, match=r"Histogram\(bins=\[0, 18, 65\], epsilon=1\)"):
            dp.Histogram(bins=10, epsilon=1).release(value)


@pytest.mark.parametrize("bins", [None, [3], [3, 1], [], ["a", "a"], ["a", 1]])
def test_bins_that_are_none_are_refused(bins):
    with pytest.raises(dp.InputError, match=r"pass bins=\[0, 18, 65\]"):
        dp.Histogram(bins, epsilon=1)


@pytest.mark.parametrize(
    ("package", "name", "told"),
    [
        (dp, "when", r"call dp\.case\(\(dp\.col"),
        (dp, "Lapplace", r"call dp\.Laplace\(epsilon=0\.5"),
        (dp, "GaussianMechanism", r"call dp\.Gaussian\(epsilon"),
        (dp, "membership_inference", r"call dp\.attacks\.Tracing\("),
        (dp, "winsorized_mean", r"call dp\.mean\("),
        (dp, "gaussian_tradeoff", r"call dp\.Approximate\(1, 1e-5\)\.tradeoff"),
        (dp, "SubsampledGaussianEpsilon", r"call dp\.(Gaussian|Subsampled)\("),
        (dp, "gaussian_threshold", r"see help\(dp\.mechanisms\.GaussianThreshold\)"),
        (dp.attacks, "reconstruct", r"dp\.attacks\.LeastSquares\(secret\)"),
        (dp.local, "OLH", r"call poll = dp\.local\.LocalHashing\("),
        (dp.learn, "KMeanz", r"call dp\.learn\.KMeans"),
        (dp.workload, "xyz", r"nothing here is called that or nearly so: see dir\(dp\.workload\)"),
        (dp.audit, "check_mechanisms", r"call dp\.audit\.check_mechanism\(dp\.Laplace\("),
    ],
)
def test_a_name_that_is_missing_is_told_the_call(package, name, told):
    with pytest.raises(AttributeError, match=told):
        getattr(package, name)


@pytest.mark.parametrize("name", ["tpot", "pandas", "kernel", "Foo", "bagging", "epsilon_greedy"])
def test_no_name_is_offered_that_is_nothing_like_what_was_asked(name):
    with pytest.raises(AttributeError, match=r"nothing here is called that or nearly so: see dir"):
        getattr(dp, name)


@pytest.mark.parametrize("call", sorted(set(course_calls().values())))
def test_every_call_that_is_told_for_a_word_of_a_course_runs(call):
    exec(call, {"dp": dp})  # noqa: S102 - what is under test


def test_every_call_that_is_told_from_a_docstring_names_only_what_is_there():
    for home in PACKAGES:
        package = getattr(dp, home)
        for name in public(home):
            fix = fix_of(name, getattr(package, name))
            kind, _, what = fix.partition(" ")
            nodes = list(ast.walk(ast.parse(what if kind == "call" else "")))
            used = {node.id for node in nodes if isinstance(node, ast.Name)}
            own = {node.arg for node in nodes if isinstance(node, ast.arg)}
            assert kind in ("call", "see")
            assert used - own - set(dir(builtins)) <= {"dp", "curator", "np", "poll", "secret"}, fix


def test_classes_of_packages_are_found_without_naming_the_package():
    assert dp.LogisticRegression is dp.learn.LogisticRegression
    assert dp.SubsampleAggregate is dp.mechanisms.SubsampleAggregate
    assert dp.LocalHashing is dp.local.LocalHashing


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            lambda: dp.Curator("x", epsilon=1),
            r"unexpected keyword.*call curator = dp\.Curator\.in_mem",
        ),
        (lambda: dp.Curator.in_memory().add("t", {"x": [1]}), r"'unit'\. Fix: call curator = dp"),
        (lambda: dp.LaplaceNoise(scale=2), r"Fix: call dp\.Laplace\("),
        (lambda: dp.Bounds(1), r"Fix: call dp\.Bounds\(0, 120\)"),
        (
            lambda: dp.mean(AGES, bounds=(0, 9), epsilon=1, delta=1e-6),
            r"'delta'.*call dp\.mean\(\[",
        ),
        (lambda: dp.audit(len, epsilon=1), r"call dp\.audit\.refute\("),
        (lambda: dp.Budget(epsilon=1).spend(0.1), r"no spend: .*dp\.Filter\.basic"),
    ],
)
def test_wrong_arguments_of_public_classes_are_told_the_call(call, told):
    with pytest.raises((TypeError, AttributeError), match=told):
        call()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: dp.Subsampled(1.0, 0.01), r"call dp\.Subsampled\(dp\.Pure"),
        (lambda: dp.compose(0.1, 10), r"dp\.compose\(dp\.Pure\(0\.1\), 10\)"),
        (lambda: dp.Curator({"a": [1]}), r"dp\.Curator\.in_memory\(\)\.add"),
        (lambda: dp.Budget(epsilon=1, delta=2), r"delta is 2: it is a probability below 1"),
    ],
)
def test_values_of_another_kind_are_told_what_to_pass(call, told):
    with pytest.raises(dp.InputError, match=told):
        call()


def test_rows_are_counted_whatever_holds_them():
    for rows in (AGES, np.array(AGES), np.ones((len(AGES), 2)), pa.table({"age": AGES})):
        assert abs(dp.count(rows, epsilon=1) - len(AGES)) < 40
    for wrong in (np.array(AGES) > 40, {"age": AGES}):
        with pytest.raises(dp.InputError, match=r"dp\.count\(ages\[ages > 40\], epsilon=1\)"):
            dp.count(wrong, epsilon=1)
    with pytest.raises(dp.InputError, match="without rows and epsilon"):
        dp.count(AGES)


def test_a_curve_may_be_a_function_and_errors_come_by_the_list():
    by_function = dp.RDP(lambda alpha: alpha / 128)
    assert by_function.rdp(8).upper == 8 / 128
    assert by_function.epsilon(1e-6).upper >= dp.GDP(0.125).epsilon(1e-6).lower
    assert dp.GDP(1).tradeoff([0.1, 0.5]) == [dp.GDP(1).tradeoff(0.1), dp.GDP(1).tradeoff(0.5)]
    with pytest.raises(dp.InputError, match="alpha"):
        dp.GDP(1).tradeoff("0.1")


def test_a_guarantee_tells_what_it_has():
    with pytest.raises(AttributeError, match=r"ZCDP has no to_dp: it has epsilon\(delta\)"):
        _ = dp.ZCDP(0.1).to_dp


def test_any_function_can_be_audited():
    leaky = dp.Laplace(epsilon=3, sensitivity=1).release
    assert dp.audit.refute(leaky, neighbours=(0, 1), epsilon=1, samples=20_000).refuted
    sound = dp.Laplace(epsilon=0.5, sensitivity=1).release
    assert not dp.audit.refute(sound, inputs=(0, 1), eps=1, samples=20_000).refuted
    with pytest.raises(dp.InputError, match=r"refute\(function, inputs=\(0, 1\), epsilon=1\)"):
        dp.audit.refute(leaky, epsilon=1)


def test_a_name_that_is_missing_travels_and_is_told_without_what_is_slow_to_import():
    with pytest.raises(AttributeError) as missing:
        _ = dp.Lapplace
    for copied in (copy.copy(missing.value), pickle.loads(pickle.dumps(missing.value))):  # noqa: S301 - its own dump
        assert str(copied) == str(missing.value)
    blocked = "import sys; sys.modules['sklearn'] = None; import discreet; discreet.Lapplace"
    told = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True)  # noqa: PLW1510 - it fails
    assert "Fix: call dp.Laplace(epsilon=0.5, " in told.stderr


def _sometimes(odd):
    return lambda value: odd if value and dp.RandomizedResponse(epsilon=9).release(1) else 0.5


@pytest.mark.parametrize(
    "odd", ["text", None, ["a", "b"], 10**30, np.array(["a"]), np.array(9)], ids=str
)
def test_outputs_of_any_kind_are_audited(odd):
    leaky = _sometimes(odd)
    assert dp.audit.refute(leaky, inputs=(0, 1), epsilon=1, samples=200).refuted
    assert not dp.audit.refute(leaky, inputs=(1, 1), epsilon=1, samples=200).refuted


def test_an_error_is_an_output_unless_every_run_has_one():
    assert dp.audit.refute(lambda x: 1 / x, inputs=(0, 1), epsilon=1, samples=200).refuted
    with pytest.raises(ZeroDivisionError):
        dp.audit.refute(lambda _: 1 / 0, inputs=(0, 1), epsilon=1, samples=200)

    turns = itertools.count(1)

    def rarely(value):
        return 1 / (next(turns) % 7) + 0 * value

    assert not dp.audit.refute(rarely, inputs=(0, 1), epsilon=1, samples=400).refuted


def test_a_mechanism_is_audited_by_its_own_claim_and_no_other():
    laplace = dp.Laplace(epsilon=1, sensitivity=1)
    assert not dp.audit.refute(mechanism=laplace, samples=2000, alpha=1e-6).refuted
    for said in ({"epsilon": 0.1}, {"inputs": (0, 1)}, {"delta": 0.1}):
        for own in (laplace, laplace.claim):
            with pytest.raises(dp.InputError, match="said twice"):
                dp.audit.refute(own, **said)
    with pytest.raises(dp.InputError, match="an epsilon are not said"):
        dp.audit.refute(laplace.release, inputs=(0, 1))


def test_scores_come_by_name_where_the_names_are_the_public_outputs():
    best = dp.ExponentialMechanism(["a", "b"], epsilon=1)
    assert best.release({"b": 9000, "a": 0}) == "b"
    with pytest.raises(dp.InputError, match="or by name"):
        best.release({"b": 9000})


@pytest.mark.parametrize(("truth", "k"), [(0.5, 2), (0.2, 5), (1.1, 2)])
def test_a_truth_no_likelier_than_a_lie_is_refused(truth, k):
    with pytest.raises(dp.InputError, match=r"truth in \(1/k, 1\]"):
        dp.RandomizedResponse(truth=truth, k=k)


def test_truth_among_more_answers():
    survey = dp.RandomizedResponse(truth=0.6, k=5)
    assert survey.lie * 6 == survey.truth
    assert math.isclose(survey.guarantee.epsilon(0).upper, math.log(6))


def test_an_interval_surrounds_an_answer():
    low, high = dp.Laplace(epsilon=0.5, sensitivity=1).interval(42, 0.95)
    assert (low, high) == (36, 48)


def test_ends_of_an_interval_that_are_no_doubles_are_rounded_outward():
    laplace, large = dp.Laplace(epsilon=1, sensitivity=1), 2**60 + 3
    width = int(laplace.error())
    for answer in (large, -large, 2**53 + 1):
        low, high = laplace.interval(answer)
        assert int(low) <= answer - width < answer + width <= int(high)
    low, high = laplace.interval(np.array([1, large]))
    assert (low[0], high[0]) == (1 - width, 1 + width)
    assert int(low[1]) <= large - width < large + width <= int(high[1])


def test_names_that_are_missing_tell_what_is_meant():
    for one in (dp.SparseVector(threshold=9, epsilon=1), TreeCount(epsilon=1, horizon=8)):
        with pytest.raises(AttributeError, match=r"or one value at a time: dp\..*\.start\(\)"):
            _ = one.ask
    for wrong, told in (
        (lambda: dp.Laplace(epsilon=1, sensitivity=1).add_noise(3), r"call dp\.Laplace\(.*release"),
        (lambda: dp.RandomizedResponse(epsilon=1).randomize(1), r"call dp\.RandomizedResponse\("),
        (lambda: dp.Filter(epsilon=1).spend(0.1), r"Filter has no spend.*call dp\.Filter\.basic"),
        (lambda: dp.Odometer().spend(0.1), r"Odometer has no spend.*call dp\.Odometer\(\)\.charge"),
        (lambda: dp.KMeans(n_clusters=2).labels(), r"KMeans has no labels.*call dp\.learn\.KMeans"),
    ):
        with pytest.raises(AttributeError, match=told) as missing:
            wrong()
        assert str(pickle.loads(pickle.dumps(missing.value))) == str(missing.value)  # noqa: S301 - its own dump


def test_ranges_and_values_of_columns_need_no_names_of_their_own():
    curator = dp.Curator.in_memory()
    rows = {"age": AGES, "sex": ["f", "m"] * (len(AGES) // 2)}
    known = {"age": (0, 120), "sex": ["f", "m"]}
    curator.add("t", rows, unit=dp.EachRow(), budget=dp.Budget(epsilon=9), columns=known)
    assert list(curator) == ["t"]
    assert "u" not in curator
    people = curator.table("t")
    assert people.where(sex="f").group_by(["sex"]).mean("age").release(epsilon=1).table.num_rows
    assert people.median("age").release(epsilon=1).table.num_rows == 1
    with pytest.raises(AttributeError, match="a table has no average: it has where, group_by"):
        _ = people.average
    with pytest.raises(dp.InputError, match="Bounds"):
        curator.add("u", rows, unit=dp.EachRow(), dataset="t", columns={"age": (0, 1, 2)})


@pytest.mark.parametrize(
    "call",
    [
        lambda: dp.compose((dp.Pure(5), 10)),
        lambda: dp.compose([dp.Pure(5), 10]),
        lambda: dp.compose(dp.Pure(5), 10.0),
        lambda: dp.compose(1, 3),
        lambda: dp.basic_epsilon([0.5, dp.Pure(1)]),
        lambda: dp.basic_epsilon([(0.5, 10)]),
        lambda: dp.basic_epsilon([0.5], 2),
        lambda: dp.advanced_epsilon(0.5, 1.5, 1e-6),
        lambda: dp.advanced_epsilon(0.5, 2),
        lambda: dp.Filter(dp.Pure(3), epsilon=1),
        lambda: dp.Filter(dp.Pure(3), delta=1e-6),
        lambda: dp.Shuffled(dp.Approximate(1, 0.01), 10),
    ],
)
def test_numbers_that_could_mean_two_things_are_refused(call):
    with pytest.raises(dp.InputError):
        call()


def test_a_count_said_twice_is_refused():
    with pytest.raises(TypeError):
        dp.advanced_epsilon(0.5, 100, k=7, delta=1e-6)


def test_a_delta_after_one_guarantee_is_a_delta():
    assert dp.basic_epsilon(dp.Pure(0.5), 1e-6) == dp.basic_epsilon([dp.Pure(0.5)], 1e-6)
    assert dp.advanced_epsilon(0.5, 1e-6) == dp.advanced_epsilon([dp.Pure(0.5)], 1e-6)
