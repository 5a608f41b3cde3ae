# Public names and their homes: type checkers read them here, and so does the package itself.
# ruff: noqa: I001 - one import for each module, whose names are all exported
from discreet.learn.additive import AdditiveClassifier as AdditiveClassifier
from discreet.learn.base import (
    PrivacyWarning as PrivacyWarning,
    PrivateEstimator as PrivateEstimator,
)
from discreet.learn.binning import Binner as Binner
from discreet.learn.classifiers import (
    LinearSVC as LinearSVC,
    LogisticRegression as LogisticRegression,
    Perceptron as Perceptron,
)
from discreet.learn.hypothesis_tests import (
    TESTS as TESTS,
    Anova as Anova,
    ChiSquare as ChiSquare,
    HypothesisTest as HypothesisTest,
    MannWhitney as MannWhitney,
    ProportionTest as ProportionTest,
    TTest as TTest,
    benjamini_hochberg as benjamini_hochberg,
)
from discreet.learn.linear import LinearRegression as LinearRegression, Ridge as Ridge
from discreet.learn.naive_bayes import CategoricalNB as CategoricalNB, GaussianNB as GaussianNB
from discreet.learn.private_schema import (
    private_bounds as private_bounds,
    private_classes as private_classes,
)
from discreet.learn.statistical_queries import StatisticalQueries as StatisticalQueries
from discreet.learn.trees import DecisionTree as DecisionTree, RandomForest as RandomForest
from discreet.learn.tuning import tune as tune
from discreet.learn.unsupervised import (
    PCA as PCA,
    KMeans as KMeans,
    StandardScaler as StandardScaler,
)
