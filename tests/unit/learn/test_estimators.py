"""Estimators keep scikit-learn's contract, spend what they say, and learn."""

import copy
import pickle
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import check_estimator

from discreet import learn
from discreet.errors import BudgetError, InputError, InvariantBroken
from discreet.learn.binning import BinCounts, equal_bins
from discreet.learn.classifiers import normal_curvature
from discreet.learn.fit_plan import FitPlan, steps_of
from discreet.learn.noisy_sums import mu_squared_of
from discreet.learn.tuning import search_guarantee
from discreet.noise.bits import Keystream, replaced
from discreet.privacy import GDP
from learners import ALL, ALONE, BOUNDS, LABELS, PAID, REGRESSION, SUPERVISED, TESTS, fit, people

NOISY = "noise drowns what a handful of rows say"
TOTAL = "an error about one row, or about there being none, would give that row away"
PUBLIC = "classes are a public parameter and do not follow the data of the check"
EXCEPTIONS = {
    "check_classifiers_train": NOISY,
    "check_regressors_train": NOISY,
    "check_dtype_object": TOTAL,
    "check_estimators_empty_data_messages": TOTAL,
    "check_supervised_y_no_nan": TOTAL,
    "check_classifiers_regression_target": TOTAL,
    "check_classifiers_classes": PUBLIC,
    "check_classifiers_one_label": PUBLIC,
    "check_decision_proba_consistency": PUBLIC,
    "check_clustering": "labels_ of the rows that were learned from are no private release",
    "check_estimator_sparse_array": "it sets a parameter of scikit-learn's own StandardScaler",
    "check_estimator_sparse_matrix": "it sets a parameter of scikit-learn's own StandardScaler",
}
CHECKED = [
    one
    for name, one in ALL.items()
    if name not in TESTS and name not in {"logistic errors", "multinomial", "ridge", "perceptron"}
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("one", CHECKED, ids=lambda one: type(one).__name__)
def test_scikit_learns_own_checks_pass_but_for_those_that_privacy_rules_out(one):
    # The checks bring data of any width, so bounds are one pair, and labels 0 to 2.
    asked = {"bounds": (-10, 10), "classes": [0, 1, 2], "n_categories": 4, "categorical": None}
    own = one.get_params()
    made = clone(one).set_params(**{k: v for k, v in asked.items() if k in own})
    if "n_components" in own:
        made.set_params(n_components=1)
    # Every draw the same: so that two fits of the same rows are the same, as the checks ask.
    with replaced(lambda: Keystream(bytes(32))):
        found = check_estimator(made, expected_failed_checks=EXCEPTIONS, on_fail=None)

    wrong = [(r["check_name"], str(r["exception"])) for r in found if r["status"] == "failed"]
    assert not wrong
    assert len(found) > 30


@pytest.mark.parametrize("name", ALL)
def test_a_fit_is_as_private_as_it_says(name):
    one = fit(name, people())

    assert one.guarantee_.epsilon(1e-5) <= 2
    assert one.guarantee_.epsilon(1e-5).upper > 1.999
    assert one.guarantee_ == GDP.of_square(mu_squared_of(2, 1e-5))


@pytest.mark.parametrize("name", [*SUPERVISED, *REGRESSION])
def test_predictions_are_public_values(name):
    one = fit(name, people())
    wild = np.array([[np.nan, np.inf, -np.inf], [3.0, 1.0, 2.0]])

    answer = one.predict(wild)

    assert (
        np.isfinite(answer.astype(float)).all()
        if name in REGRESSION
        else set(answer)
        <= {
            *LABELS,
            "maybe",
        }
    )
    assert pickle.loads(pickle.dumps(one)).predict(wild).tolist() == answer.tolist()  # noqa: S301


@pytest.mark.parametrize("name", [*SUPERVISED, *REGRESSION, *ALONE])
def test_what_is_missing_is_refused_before_a_row_is_looked_at(name):
    one = clone(ALL[name])
    for missing in ("bounds", "classes", "target_bounds", "n_categories"):
        if missing in one.get_params():
            bare = clone(one).set_params(**{missing: None})
            with pytest.raises(InputError, match=r"missing.*pay for .*learn\.private_"):
                bare.fit(np.zeros((2, 3)), [0, 1])


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"epsilon": "1"},
        {"delta": 0},
        {"delta": 1},
        {"bounds": (3, 3)},
        {"bounds": [(0, 1)] * 2},
        {"bounds": (0, float("nan"))},
        {"classes": [1]},
        {"classes": ["a", "a"]},
        {"classes": ["a", 1]},  # a list that numpy would turn into texts, which no 1 equals
        {"classes": ["a", None]},
        {"classes": [1, float("nan")]},
        {"max_iter": 0},
        {"max_rows_per_unit": 0},
        {"classes": list(range(2000))},
    ],
)
def test_parameters_that_mean_nothing_are_refused(wrong):
    with pytest.raises(InputError):
        clone(SUPERVISED["logistic"]).set_params(**wrong).fit(np.zeros((4, 3)), ["no"] * 4)


def test_values_that_are_no_numbers_are_missing_and_quoted_nowhere():
    import pandas as pd

    y = ["no", "yes", None, ["odd"]]
    odd = np.array([["secret", 1, None], [2.0, "3", {}], [1, 2, 3], [4, 5, 6]], dtype=object)
    frame = pd.DataFrame(odd, columns=["a", "b", "c"])
    listed = np.empty(4, dtype=object)
    listed[:] = y
    for table in (odd, frame, odd[:1].astype(str).repeat(4, axis=0)):
        assert fit("gaussian bayes", (table, listed, None)).theta_.shape == (2, 3)
    assert learn.LinearRegression(bounds=(0, 1), target_bounds=(0, 1), **PAID).fit(odd, listed)
    with pytest.raises(InputError, match="too wide"):
        learn.AdditiveClassifier(bounds=(0, 1e9), classes=[0, 1], categorical=[0]).fit(odd, listed)


def test_no_error_quotes_the_data():
    import pandas as pd

    odd = pd.DataFrame({"a": ["secret", 1.0]})
    assert learn.private_bounds(odd, epsilon=1)[0]
    assert learn.StatisticalQueries(odd, epsilon=1)(lambda row, _: row[0] > 0)
    x = np.full((3, 2), 0.1234)
    for wrong in (x[0], x[0].tolist(), x[None], x + 1j, [[0.1234], [0.1234, 0.1234]]):
        for call in (
            lambda wrong: learn.StandardScaler(bounds=(0, 1)).fit(wrong),
            lambda wrong: learn.StatisticalQueries(wrong, epsilon=1),
            lambda wrong: learn.private_bounds(wrong, epsilon=1),
        ):
            with pytest.raises(InputError, match=r"2D|Complex") as caught:
                call(wrong)
            assert "1234" not in str(caught.value)


def test_one_odd_value_in_a_list_changes_nothing_about_the_others():
    x, y = [[float(i % 2)] for i in range(4000)], [i % 2 for i in range(4000)]
    odd = [*x, ["secret"], [10**400]], [*y, "weird", [1]]
    model = learn.GaussianNB(bounds=(0, 1), classes=[0, 1], **PAID).fit(*odd)
    bounds, _ = learn.private_bounds(odd[0], epsilon=2)
    classes, _ = learn.private_classes([*odd[1], *[None] * 4000], epsilon=2, delta=1e-6)

    assert model.theta_.round(1).tolist() == [[0.0], [1.0]]
    assert bounds == [(0.0, 1.0)]
    assert classes == [0, 1]


def test_no_label_whatever_it_is_makes_private_classes_fail():
    import pandas as pd

    labels = pd.Series(["a", "b"] * 500, dtype="string")
    labels[3] = pd.NA
    odd = [pd.NA, pd.NaT, None, Decimal("NaN"), Decimal("sNaN"), np.datetime64("NaT", "s"), {}]
    for one in (labels, *([*["a", "b"] * 500, item, np.array([1, 2])] for item in odd)):
        assert learn.private_classes(one, epsilon=2, delta=1e-6)[0] == ["a", "b"]


def test_a_frame_of_nobody_is_fitted():
    import pandas as pd

    nobody = pd.DataFrame({"a": [], "b": np.zeros(0, "datetime64[s]")})
    assert learn.StandardScaler(bounds=(0, 1), **PAID).fit(nobody).mean_.shape == (2,)


def test_what_is_not_fitted_says_so():
    for one in (*SUPERVISED.values(), *REGRESSION.values()):
        with pytest.raises(NotFittedError):
            clone(one).predict(np.zeros((1, 3)))


def test_a_clone_never_spends_a_second_time_in_silence():
    x, y, _ = people()
    first = learn.GaussianNB(bounds=BOUNDS, classes=LABELS, **PAID).fit(x, y)
    second = clone(first)

    with pytest.warns(learn.PrivacyWarning, match="fit number 2"):
        second.fit(x, y)
    with pytest.warns(learn.PrivacyWarning, match="fit number 3"):
        first.fit(x, y)

    assert first.spent_.epsilon(1e-5) == second.spent_.epsilon(1e-5)
    assert first.spent_.epsilon(1e-5).upper > 3.4
    assert first.guarantee_.epsilon(1e-5) <= 2


def test_a_copy_never_spends_in_silence():
    x, y, _ = people()
    first = learn.GaussianNB(bounds=BOUNDS, classes=LABELS, **PAID)
    for copied in (copy.deepcopy(clone(first)), pickle.loads(pickle.dumps(clone(first)))):  # noqa: S301 - its own
        with pytest.warns(learn.PrivacyWarning, match="this is a copy"):
            copied.fit(x, y)


def test_a_fit_has_a_limit_on_all_its_numbers_together():
    x, y, _ = people()
    many = learn.LogisticRegression(bounds=BOUNDS, classes=[*LABELS, *map(str, range(900))], **PAID)
    with pytest.raises(InputError, match="a fit of more than"):
        many.set_params(max_iter=10**6).fit(x[:0], y[:0])
    with pytest.raises(InputError, match="cells"):
        learn.ChiSquare(probabilities=np.full(4096, 2.0**-12)).fit(x[:, :1])


def test_a_fit_that_is_interrupted_is_counted(monkeypatch):
    x, y, _ = people()
    one = learn.GaussianNB(bounds=BOUNDS, classes=LABELS, **PAID).fit(x, y)

    def interrupted(_, sums):
        sums.sums(BinCounts(equal_bins(np.zeros(3), np.ones(3), [2] * 3)), Fraction(1))
        raise KeyboardInterrupt

    monkeypatch.setattr(learn.GaussianNB, "_learn", interrupted)
    with pytest.raises(KeyboardInterrupt), pytest.warns(learn.PrivacyWarning):
        one.fit(x, y)
    assert (
        one.spent_.epsilon(PAID["delta"]).upper > 1.3 * one.guarantee_.epsilon(PAID["delta"]).upper
    )


def test_transformers_name_their_columns():
    frame = pd.DataFrame(np.zeros((3, 2)), columns=["a", "b"])
    told = {"bounds": (0, 1), **PAID}
    for one, names in (
        (learn.PCA(1, **told), ["pca0"]),
        (learn.KMeans(2, **told), ["kmeans0", "kmeans1"]),
        (learn.Binner(**told), ["a", "b"]),
    ):
        assert list(one.set_output(transform="pandas").fit_transform(frame)) == names


def test_each_step_of_a_pipeline_spends_once():
    x, y, groups = people()
    scaler = learn.StandardScaler(bounds=BOUNDS, **PAID)
    bayes = learn.GaussianNB(bounds=(-4, 4), classes=LABELS, **PAID)
    pipe = Pipeline([("scale", scaler), ("bayes", bayes)])

    pipe.fit(x, y, scale__groups=groups, bayes__groups=groups)

    assert len(scaler.spent_.parts) == len(bayes.spent_.parts) == 1
    assert (pipe.predict(x) == y).mean() > 0.5
    with pytest.warns(learn.PrivacyWarning) as warned:
        clone(pipe).fit(x, y)
    assert len(warned) == 2


def test_estimators_learn_the_small_sets_that_everybody_tries():
    def accuracy(load, bounds):
        x, y = load(return_X_y=True)
        a, b, ya, yb = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)
        one = learn.LogisticRegression(
            epsilon=1, delta=1e-5, bounds=bounds(x), classes=sorted(set(y))
        )
        return (one.fit(a, ya).predict(b) == yb).mean()

    assert accuracy(load_digits, lambda _: (0, 16)) > 0.82
    assert accuracy(load_breast_cancer, lambda x: [(0, 1.2 * v) for v in x.max(axis=0)]) > 0.85


def test_a_line_is_found_within_its_interval():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 10, (20_000, 2))
    y = 1 + 2 * x[:, 0] - x[:, 1] + rng.normal(0, 1, len(x))
    one = learn.LinearRegression(**PAID, bounds=(0, 10), target_bounds=(-20, 30)).fit(x, y)

    assert one.score(x, y) > 0.9
    assert (np.abs(one.coef_ - [2, -1]) < 5 * one.standard_errors_).all()
    assert (one.intervals(0.99)[:, 0] < one.intervals()[:, 0]).all()
    with pytest.raises(InputError):
        one.intervals(1)
    held = one.predict_interval(x)
    assert 0.94 < ((held[:, 0] <= y) & (y <= held[:, 1])).mean() < 0.98


def test_intervals_hold_a_correlated_pair_among_many_features():
    """Noisy second moments that were drawn towards a multiple of 1 left both far outside."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(8000, 30))
    x[:, 1] = 0.6 * x[:, 0] + 0.8 * x[:, 1]
    truth = np.array([2.0, -1.0] + [0.0] * 28)
    y, u = x @ truth + rng.normal(size=len(x)), rng.logistic(size=len(x))
    said = {"epsilon": 1, "delta": 1e-6, "bounds": (-4, 4)}
    with replaced(lambda: Keystream(bytes(32))):
        line = learn.LinearRegression(**said, target_bounds=(-10, 10)).fit(x, y)
        logistic = learn.LogisticRegression(**said, classes=[0, 1], standard_errors=True)
        logistic.fit(x, (x @ truth + u > 0).astype(int))

    for one in (line, logistic):
        off = (one.coef_ - truth).ravel() / one.standard_errors_.ravel()
        assert np.abs(off[:2]).max() < 1.96
        assert (np.abs(off) < 1.96).mean() > 0.85


@pytest.mark.parametrize("epsilon", [1, 100, 10_000, 1_000_000])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_no_variance_is_below_0_where_noise_makes_an_eigenvalue_so(epsilon):
    """Errors of 0 were told of features without any spread, and of two that are one."""
    one = np.random.default_rng(5).uniform(-1, 1, (200, 1))
    said = {"epsilon": epsilon, "delta": 1e-6, "bounds": (-1, 1)}
    for x in (np.zeros((0, 2)), np.zeros((200, 2)), np.repeat(one, 2, axis=1)):
        y = (x[:, 0] > 0).astype(int)
        logistic = learn.LogisticRegression(**said, classes=[0, 1], standard_errors=True)
        line = learn.LinearRegression(**said, target_bounds=(0, 1))
        for model in (logistic, line):
            with replaced(lambda: Keystream(bytes(32))):
                model.fit(x, y)
            assert (model.standard_errors_ > 0).all()
            assert (model.hidden_ >= 0).all()
            assert (model.hidden_ < 1 + 1e-6).all()


def test_a_target_is_cut_at_four_deviations_or_at_its_bounds():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 1, (5000, 1))
    y = x[:, 0] + rng.normal(size=len(x))
    for bounds, cut in (((-8, 9), (0.5 - 4.16, 0.5 + 4.16)), ((-1, 2), (-1, 2))):
        one = learn.LinearRegression(**PAID, bounds=(0, 1), target_bounds=bounds).fit(x, y)
        assert one.target_cut_ == pytest.approx(np.array(cut), abs=1)
    assert one.target_cut_.tolist() == [-1, 2]


def test_predictions_of_a_logistic_model_have_intervals():
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (20_000, 2))
    truth = 1 / (1 + np.exp(-(0.3 + x @ [1.5, -1])))
    y = (rng.uniform(size=len(x)) < truth).astype(int)
    said = {**PAID, "bounds": (-1, 1), "classes": [0, 1], "standard_errors": True}

    held = learn.LogisticRegression(**said).fit(x, y).predict_interval(x)

    assert ((held[:, 0] <= truth) & (truth <= held[:, 1])).mean() > 0.5
    assert (held[:, 1] - held[:, 0]).mean() < 0.2


def test_a_multinomial_model_tells_each_class_against_the_first():
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (20_000, 2))
    beta = np.array([[0.5, 0.2], [1.5, -1], [-1, 3]])
    chances = np.exp(x @ beta.T)
    chances /= chances.sum(axis=1, keepdims=True)
    y = (rng.uniform(size=(len(x), 1)) > chances.cumsum(axis=1)).sum(axis=1)
    said = {**PAID, "bounds": (-1, 1), "classes": [0, 1, 2], "standard_errors": True}

    one = learn.LogisticRegression(**said).fit(x, y)

    assert one.predict_interval(x).shape == (len(x), 3, 2)
    assert (one.coef_[0] == 0).all()
    assert (one.standard_errors_[0] == 0).all()
    assert (np.abs(one.coef_ - (beta - beta[0]))[1:] < 4 * one.standard_errors_[1:]).all()
    assert (one.standard_errors_ < 0.1).all()
    assert np.abs(one.predict_proba(x) - chances).mean() < 0.03


def test_a_sum_beyond_the_budget_is_never_made():
    from fractions import Fraction

    from discreet.learn.design import FeatureTotals
    from discreet.learn.noisy_sums import NoisySums
    from discreet.learn.rows import rows_of

    sums = NoisySums(rows_of(np.zeros((2, 1)), None, None, 1), Fraction(1))
    statistic = FeatureTotals(np.zeros(1), np.ones(1))
    sums.sums(statistic, Fraction(2, 3))
    with pytest.raises(InvariantBroken):
        sums.sums(statistic, Fraction(1, 2))


def test_queries_are_answered_until_the_plan_is_used_up():
    x, _, groups = people()
    oracle = learn.StatisticalQueries(x, None, groups=groups, queries=2, **PAID)

    def breaks(row, label):
        del label
        return 1 / (row[0] - row[0])

    assert abs(oracle(lambda row, _: row[0] > 5).value - 0.5) < 0.5
    assert abs(oracle(breaks).value) < 0.5  # a function that fails counts 0 everywhere
    assert oracle.left == 0
    assert oracle.guarantee.epsilon(1e-5) <= 2
    with pytest.raises(BudgetError):
        oracle(breaks)


def test_queries_are_about_labels_of_any_kind():
    y = np.array(["a", "b", 3, None], dtype=object)[np.arange(4000) % 4]
    oracle = learn.StatisticalQueries(np.zeros((4000, 1)), y, queries=2, **PAID)

    found = oracle(lambda _, label: label == "a"), oracle(lambda _, label: label > 2)

    for one in found:
        assert abs(one.value - 0.25) < 3 * one.tolerance
        assert 1 < one.price < 2  # less than 2 for both, more than a half of that each
    with pytest.raises(InputError, match="no table"):
        learn.StatisticalQueries(np.zeros((4, 1)), epsilon=1)("a > 1")


def test_only_classifiers_are_tuned():
    with pytest.raises(InputError, match="no classifier"):
        learn.tune([learn.LinearRegression(bounds=(0, 1))], [[0.5]], [1], epsilon=1, delta=1e-6)
    steps = [("bayes", learn.GaussianNB(bounds=(0, 1), classes=[0, 1]))]
    with pytest.raises(InputError, match="not pipelines"):
        learn.tune([Pipeline(steps)], [[0.5]], [1], epsilon=1, delta=1e-6)


def test_a_table_pays_for_its_cells_alone():
    """The counts of all rows, which no chi-square needs, doubled the variance of its noise."""
    statistic = learn.ChiSquare(n_categories=3, classes=LABELS)._statistic

    assert (statistic.width, statistic.square) == (8, 1)


@pytest.mark.parametrize("name", ["tree", "t", "goodness", "k-means"])
def test_any_epsilon_however_large_gives_a_fit(name):
    one = type(ALL[name])(**{**ALL[name].get_params(), "epsilon": 10**5})
    x, y, _ = people()

    assert one.fit(x[:, :1] if name in TESTS else x, y).guarantee_


def test_a_limit_of_rows_without_people_is_refused():
    """Else each row would be a person, whatever the limit says."""
    x, y, _ = people()
    one = clone(SUPERVISED["gaussian bayes"]).set_params(max_rows_per_unit=2)

    with pytest.raises(InputError, match="without groups"):
        one.fit(x, y)


def test_tuning_is_paid_once_whatever_the_number_of_runs():
    x, y, groups = people()
    candidates = [
        learn.GaussianNB(bounds=BOUNDS, classes=LABELS),
        learn.GaussianNB(bounds=[(0, 100)] * 3, classes=LABELS),
    ]

    best = learn.tune(candidates, x, y, groups=groups, epsilon=4, delta=1e-5, expected_runs=3)

    assert best.guarantee_.epsilon(1e-5) <= 4
    assert best.guarantee_.epsilon(1e-5).upper > 3.9
    assert 0 <= best.score_ <= 1
    assert best.spent_.epsilon(1e-5) <= 4
    assert "guarantee_" not in vars(candidates[0])
    with pytest.raises(InputError):
        learn.tune([], x, y, epsilon=1, delta=1e-5)
    with pytest.raises(InputError, match="too small"):
        learn.tune(candidates, x, y, epsilon=1e-4, delta=1e-5)


@pytest.mark.filterwarnings("error:X does not have valid feature names")
def test_a_search_among_rows_of_a_frame_says_nothing_of_names():
    """A word about each row; where warnings are errors, no row counted as right."""
    pandas = pytest.importorskip("pandas")
    x = np.linspace(0, 1, 400)[:, None]
    candidate = learn.GaussianNB(bounds=(0, 1), classes=[0, 1])

    with replaced(lambda: Keystream(bytes(32))):
        best = learn.tune(
            [candidate],
            pandas.DataFrame(x, columns=["a"]),
            (x[:, 0] > 0.5).astype(int),
            epsilon=30,
            delta=1e-6,
            expected_runs=1,
        )

    assert best.score_ > 0.8
    assert best.feature_names_in_.tolist() == ["a"]


def test_a_search_costs_what_the_theorem_says():
    # Papernot and Steinke 2022, Theorem 2, at one order, by hand: eta = 1, gamma = 1/2, mu = 0.1.
    import math
    from fractions import Fraction

    found = search_guarantee(Fraction(1, 100), 2).rdp(5).upper
    by_hand = min(
        0.005 * 5 + 2 * (1 - 1 / b) * 0.005 * b + 2 * math.log(2) / b + math.log(2) / 4
        for b in range(2, 2000)
    )

    assert found == pytest.approx(by_hand, rel=1e-3)
    assert found >= by_hand * (1 - 1e-3)


def test_without_noise_the_tests_of_means_are_welchs():
    values = np.random.default_rng(6).uniform(0, 1, 800)
    by = np.repeat([0, 1], [600, 200])
    values[by == 1] = 0.55 + 0.2 * (values[by == 1] - 0.5)
    welch = stats.ttest_ind(values[by == 1], values[by == 0], equal_var=False)
    for test in (learn.TTest, learn.Anova):
        one = test(bounds=(0, 1), classes=[0, 1], epsilon=10**7).fit(values[:, None], by)
        assert 0.98 * welch.pvalue < one.pvalue_ < 1.3 * welch.pvalue


def test_without_noise_ranks_are_mann_and_whitneys_and_rows_without_a_value_have_none():
    rng, by = np.random.default_rng(9), np.repeat([0, 1], [600, 200])
    cells = np.floor(32 * rng.beta(2 + 0.3 * by, 2))
    wilcoxon = stats.mannwhitneyu(cells[by == 1], cells[by == 0], use_continuity=False)
    values = np.concatenate([cells + 0.5, np.full(700, np.nan)])[:, None] / 32
    by = np.concatenate([by, np.full(700, 1)])

    test = learn.MannWhitney(bounds=(0, 1), classes=[0, 1], epsilon=10**5)
    one = test.fit(values, by, groups=np.arange(len(by)))

    assert one.pvalue_ == pytest.approx(wilcoxon.pvalue, rel=0.05)
    # It was 0.51 when rows without a value counted as rows.
    assert one.superiority_ == pytest.approx(wilcoxon.statistic / (600 * 200), abs=0.002)


def test_intervals_of_shares_know_the_noise():
    rng, held = np.random.default_rng(8), []
    for _ in range(200):
        by = rng.integers(0, 2, 1000)
        values = (rng.uniform(size=1000) < np.array([0.3, 0.5])[by]).astype(float)[:, None]
        one = learn.ProportionTest(probability=0.5, epsilon=0.3).fit(values)
        two = learn.ProportionTest(classes=[0, 1], epsilon=0.3).fit(values, by)
        ends = np.stack([one.interval(), two.interval()])
        held.append((ends[:, 0] < [-0.1, 0.2]) & (ends[:, 1] > [-0.1, 0.2]))

    assert (np.mean(held, axis=0) > 0.95 - 5 * (0.95 * 0.05 / 200) ** 0.5).all()
    assert (np.mean(held, axis=0) < 1).all()
    assert two.proportions_.shape == (2,)
    several = learn.ProportionTest(classes=[0, 1, 2], epsilon=1).fit(values, by)
    anova = learn.Anova(bounds=(0, 1), classes=[0, 1], epsilon=1).fit(values, by)
    for paid in (several, anova):  # no word of it invites a second fit
        with pytest.raises(InputError, match=r"has no interval.*pvalue_, which is paid for"):
            paid.interval()
    with pytest.raises(NotFittedError):
        learn.Anova().interval()
    for wrong in (values.repeat(2, axis=1), values[:, :0]):
        with pytest.raises((InputError, ValueError), match=r"columns|feature"):
            learn.ProportionTest().fit(wrong)


@pytest.mark.parametrize(("n", "p", "epsilon"), [(50, 0.02, 100), (50, 0.01, 0.5), (500, 0.5, 1)])
def test_intervals_of_rare_shares_hold(n, p, epsilon):
    rng, held = np.random.default_rng(8), []
    for _ in range(150):
        values = (rng.uniform(size=2 * n) < p).astype(float)[:, None]
        one = learn.ProportionTest(probability=0.3, epsilon=epsilon).fit(values[:n])
        two = learn.ProportionTest(classes=[0, 1], epsilon=epsilon)
        ends = np.stack([one.interval(), two.fit(values, np.arange(2 * n) % 2).interval()])
        held.append((ends[:, 0] <= [p - 0.3, 0]) & (ends[:, 1] >= [p - 0.3, 0]))

    assert (np.mean(held, axis=0) > 0.93 - 4 * (0.93 * 0.07 / 150) ** 0.5).all()


def test_hypotheses_are_rejected_by_their_p_values():
    assert learn.benjamini_hochberg([]).tolist() == []
    assert learn.benjamini_hochberg([0.04, 0.03, 0.02, 0.01]).all()
    assert not learn.benjamini_hochberg([0.04, 0.03, np.nan, 0.021], any_dependence=True).any()
    x, y, _ = people(2000)
    shifted = np.where(y == "yes", x[:, 0], 10 - x[:, 0])[:, None]
    one = learn.TTest(bounds=(0, 10), classes=LABELS, **PAID).fit(shifted, y)
    assert one.rejects(1.0)
    assert not one.rejects(-1.0)


def test_a_fit_that_is_refused_leaves_the_one_before():
    x, y, _ = people()
    one = learn.GaussianNB(bounds=BOUNDS, classes=LABELS, **PAID).fit(x, y)
    told = one.predict(x)
    with pytest.raises(InputError):
        one.set_params(bounds=(-1, 1), classes=["a", "b"]).fit(x, None)
    assert np.array_equal(one.predict(x), told)


def test_the_package_loads_learning_only_when_it_is_named():
    asked = "print('sklearn' in sys.modules)"
    code = f"import sys, discreet; {asked}; discreet.learn.KMeans; {asked}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)

    assert run.stdout.split() == ["False", "True"]


def test_a_plan_has_known_parameters_alone():
    [[_, known]] = steps_of(learn.LogisticRegression(standard_errors=True))
    assert known["newton_steps"] == 3
    with pytest.raises(InputError, match="a parameter that is not known"):
        FitPlan((("GaussianNB", {"classes": [0, 1], "bounds": [0, 1], "form": 3}),), 2)


def test_a_parameter_that_the_ledger_cannot_keep_is_refused_in_words():
    looped = []
    looped.append(looped)
    for odd in ({(1, 2): 3}, object(), {1, 2}, looped, Decimal("NaN"), 1j):
        with pytest.raises(InputError, match="a parameter that is not plain"):
            steps_of(learn.GaussianNB(classes=odd))
    [[_, known]] = steps_of(learn.GaussianNB(epsilon=Fraction(1, 3), classes=np.array([0, 1])))
    assert known["epsilon"] == "1/3"
    assert known["classes"] == [0, 1]


@pytest.mark.parametrize(
    "labels",
    [[True] + [1] * 500, [1.0] + [1] * 500, np.array([-0.0] + [0.0] * 500), [0] * 501],
)
def test_nobodys_spelling_of_a_label_is_told(labels):
    (found,), _ = learn.private_classes(labels, epsilon=1, delta=1e-6)
    assert repr(found) in "01"


def test_logistic_intervals_cover_what_a_newton_step_falls_short():
    rng, beta = np.random.default_rng(1), np.array([3.0, -1.5])
    x = np.clip(rng.normal(size=(20_000, 2)), -4, 4)
    y = (rng.uniform(size=len(x)) < 1 / (1 + np.exp(-x @ beta))).astype(int)
    told = {"bounds": (-4, 4), "classes": [0, 1], "epsilon": 30, "delta": 1e-6}
    few = {"max_iter": 1, "newton_steps": 2}

    found = learn.LogisticRegression(standard_errors=True, **few, **told).fit(x, y)
    low, high = found.intervals()[0].T

    assert (np.abs(found.coef_[0] - beta) > 0.1).all()  # some three sampling errors
    assert ((low <= beta) & (beta <= high)).all()


@pytest.mark.parametrize("theta", [[0, 2, -1, 0], [-2.5, 0.5, -0.3, 0], [-4, 2, -1, 0]])
def test_curvature_of_normal_features_is_foretold(theta):
    """Strong coefficients of a rare label were drawn to 0 where their curvature was symmetric."""
    theta = np.array(theta, dtype=float)
    z = np.column_stack([np.ones(400_000), np.random.default_rng(1).normal(size=(400_000, 3))])
    p = 1 / (1 + np.exp(-z @ theta))
    weight = p * (1 - p)

    shape, size = normal_curvature(theta)

    assert size == pytest.approx(weight.mean(), rel=0.1)
    assert shape == pytest.approx((z * weight[:, None]).T @ z / weight.sum(), abs=0.15)


def test_coefficients_that_noise_hides_are_told():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(4000, 30))
    y = (x[:, 0] + rng.logistic(size=len(x)) > 0).astype(int)
    told = {"bounds": (-4, 4), "epsilon": 1, "delta": 1e-6}

    def hidden(x, y):
        logistic = learn.LogisticRegression(**told, classes=[0, 1], standard_errors=True)
        line = learn.LinearRegression(**told, target_bounds=(-4, 4))
        return np.stack([np.ravel(one.fit(x, y).hidden_) for one in (logistic, line)])

    with replaced(lambda: Keystream(bytes(32))):
        drowned, known = hidden(x[:300], y[:300]), hidden(x[:, :2], y)

    assert drowned.min() > 0.5
    assert known.max() < 0.05


def test_a_fit_without_standard_errors_says_how_to_get_them():
    fitted = fit("logistic", people())
    for ask in (fitted.intervals, lambda: fitted.predict_interval(np.zeros((1, 3)))):
        with pytest.raises(InputError, match="pass standard_errors=True"):
            ask()


@pytest.mark.parametrize("form", [np.asarray, list, pd.Series])
def test_a_test_takes_a_flat_list_of_values(form):
    values, by = np.arange(600.0) % 10, np.arange(600) % 2
    told = learn.TTest(bounds=(0, 10), classes=[0, 1], **PAID).fit(form(values), by)

    assert told.pvalue_ < 0.05
    with pytest.raises(InputError, match="2 columns of values"):
        clone(told).fit(np.zeros((3, 2)), [0, 1, 0])
