"""Learning under differential privacy: estimators, tests, queries and tuning.

Everything stands on one path: rows become whole numbers with a public bound on their norm, whole
numbers are summed exactly, and rounded Gaussian noise meets the sums (`noisy_sums`). What an
estimator computes from noisy sums is post-processing.

>>> import numpy as np
>>> x = np.linspace(0, 1, 4000)[:, None]
>>> model = LinearRegression(epsilon=1, delta=1e-6, bounds=(0, 1), target_bounds=(0, 2))
>>> round(float(model.fit(x, 2 * x[:, 0]).coef_[0]))
2
"""

from importlib import import_module

from discreet.argument_names import MissingNameError
from discreet.errors import InputError

try:
    import scipy  # noqa: F401 - to say in one sentence what is missing
    import sklearn  # noqa: F401 - likewise
except ImportError:  # pragma: no cover - the tests have both
    raise InputError(
        "discreet.learn needs scikit-learn and scipy",
        why="they are an extra, so that the rest of the package stays small",
        fix="pip install 'discreet[learn]'",
    ) from None

from discreet.learn.additive import AdditiveClassifier
from discreet.learn.base import PrivacyWarning, PrivateEstimator
from discreet.learn.binning import Binner
from discreet.learn.classifiers import LinearSVC, LogisticRegression, Perceptron
from discreet.learn.hypothesis_tests import (
    TESTS,
    Anova,
    ChiSquare,
    HypothesisTest,
    MannWhitney,
    ProportionTest,
    TTest,
    benjamini_hochberg,
)
from discreet.learn.linear import LinearRegression, Ridge
from discreet.learn.naive_bayes import CategoricalNB, GaussianNB
from discreet.learn.private_schema import private_bounds, private_classes
from discreet.learn.statistical_queries import StatisticalQueries
from discreet.learn.trees import DecisionTree, RandomForest
from discreet.learn.tuning import tune
from discreet.learn.unsupervised import PCA, KMeans, StandardScaler

__all__ = [
    "PCA",
    "TESTS",
    "AdditiveClassifier",
    "Anova",
    "Binner",
    "CategoricalNB",
    "ChiSquare",
    "DecisionTree",
    "GaussianNB",
    "HypothesisTest",
    "KMeans",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "MannWhitney",
    "Perceptron",
    "PrivacyWarning",
    "PrivateEstimator",
    "ProportionTest",
    "RandomForest",
    "Ridge",
    "StandardScaler",
    "StatisticalQueries",
    "TTest",
    "benjamini_hochberg",
    "private_bounds",
    "private_classes",
    "tune",
]


def __getattr__(name: str) -> object:
    if name == "torch":  # an extra, imported where it is used
        return import_module("discreet.learn.torch")
    raise MissingNameError(name, __name__)
