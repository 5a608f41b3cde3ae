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

from discreet.argument_names import MissingNameError, public
from discreet.errors import InputError

try:
    import scipy  # noqa: F401 - to say in one sentence what is missing
    import sklearn  # noqa: F401 - likewise
except ImportError:  # pragma: no cover - the tests have both
    why = "they are an extra, so that the rest of the package stays small"
    what, fix = "discreet.learn needs scikit-learn and scipy", "pip install 'discreet[learn]'"
    raise InputError(what, why=why, fix=fix) from None

from discreet.learn.additive import AdditiveClassifier as AdditiveClassifier
from discreet.learn.base import PrivacyWarning as PrivacyWarning
from discreet.learn.base import PrivateEstimator as PrivateEstimator
from discreet.learn.binning import Binner as Binner
from discreet.learn.classifiers import LinearSVC as LinearSVC
from discreet.learn.classifiers import LogisticRegression as LogisticRegression
from discreet.learn.classifiers import Perceptron as Perceptron
from discreet.learn.hypothesis_tests import TESTS as TESTS
from discreet.learn.hypothesis_tests import Anova as Anova
from discreet.learn.hypothesis_tests import ChiSquare as ChiSquare
from discreet.learn.hypothesis_tests import HypothesisTest as HypothesisTest
from discreet.learn.hypothesis_tests import MannWhitney as MannWhitney
from discreet.learn.hypothesis_tests import ProportionTest as ProportionTest
from discreet.learn.hypothesis_tests import TTest as TTest
from discreet.learn.hypothesis_tests import benjamini_hochberg as benjamini_hochberg
from discreet.learn.linear import LinearRegression as LinearRegression
from discreet.learn.linear import Ridge as Ridge
from discreet.learn.naive_bayes import CategoricalNB as CategoricalNB
from discreet.learn.naive_bayes import GaussianNB as GaussianNB
from discreet.learn.private_schema import private_bounds as private_bounds
from discreet.learn.private_schema import private_classes as private_classes
from discreet.learn.statistical_queries import StatisticalQueries as StatisticalQueries
from discreet.learn.trees import DecisionTree as DecisionTree
from discreet.learn.trees import RandomForest as RandomForest
from discreet.learn.tuning import tune as tune
from discreet.learn.unsupervised import PCA as PCA
from discreet.learn.unsupervised import KMeans as KMeans
from discreet.learn.unsupervised import StandardScaler as StandardScaler

__all__ = public("learn")  # noqa: PLE0605 - type checkers read the imports


def __getattr__(name: str) -> object:
    if name == "torch":  # an extra, imported where it is used
        return import_module("discreet.learn.torch")
    raise MissingNameError(name, __name__)
