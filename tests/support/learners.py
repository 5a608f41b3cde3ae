"""Every estimator of `discreet.learn`, with parameters for the small made-up table of its tests."""

import numpy as np

from discreet import learn

BOUNDS = [(0, 10), (-5, 5), (0, 4)]
LABELS = ["no", "yes"]
PAID = {"epsilon": 2, "delta": 1e-5}

SUPERVISED = {
    "logistic": learn.LogisticRegression(bounds=BOUNDS, classes=LABELS, max_iter=3, **PAID),
    "logistic errors": learn.LogisticRegression(
        bounds=BOUNDS, classes=[*LABELS, "maybe"], max_iter=3, standard_errors=True, **PAID
    ),
    "multinomial": learn.LogisticRegression(
        bounds=BOUNDS, classes=[*LABELS, "maybe"], max_iter=3, **PAID
    ),
    "svc": learn.LinearSVC(bounds=BOUNDS, classes=LABELS, max_iter=3, **PAID),
    "perceptron": learn.Perceptron(bounds=BOUNDS, classes=LABELS, max_iter=3, **PAID),
    "gaussian bayes": learn.GaussianNB(bounds=BOUNDS, classes=LABELS, **PAID),
    "categorical bayes": learn.CategoricalNB(n_categories=11, classes=LABELS, **PAID),
    "tree": learn.DecisionTree(bounds=BOUNDS, classes=LABELS, **PAID),
    "forest": learn.RandomForest(bounds=BOUNDS, classes=LABELS, n_estimators=3, **PAID),
    "additive": learn.AdditiveClassifier(
        bounds=BOUNDS, classes=LABELS, categorical=[2], max_iter=3, **PAID
    ),
}
REGRESSION = {
    "linear": learn.LinearRegression(bounds=BOUNDS, target_bounds=(0, 20), **PAID),
    "ridge": learn.Ridge(bounds=BOUNDS, target_bounds=(0, 20), **PAID),
}
ALONE = {
    "k-means": learn.KMeans(3, bounds=BOUNDS, max_iter=2, **PAID),
    "pca": learn.PCA(2, bounds=BOUNDS, **PAID),
    "scaler": learn.StandardScaler(bounds=BOUNDS, **PAID),
    "binner": learn.Binner(4, bounds=BOUNDS, **PAID),
}
TESTS = {
    "t": learn.TTest(bounds=(0, 10), classes=LABELS, **PAID),
    "anova": learn.Anova(bounds=(0, 10), classes=LABELS, **PAID),
    "mann-whitney": learn.MannWhitney(bounds=(0, 10), classes=LABELS, **PAID),
    "chi-square": learn.ChiSquare(n_categories=11, classes=LABELS, **PAID),
    "goodness": learn.ChiSquare(probabilities=[0.5, 0.25, 0.25], **PAID),
    "proportion": learn.ProportionTest(classes=LABELS, **PAID),
}
ALL = {**SUPERVISED, **REGRESSION, **ALONE, **TESTS}


def people(n=300):
    """Rows, labels and people: everybody has two rows."""
    rng = np.random.default_rng(7)
    x = np.stack([rng.uniform(0, 10, n), rng.uniform(-5, 5, n), rng.integers(0, 5, n)], axis=1)
    y = np.where(x[:, 0] + x[:, 1] > 5, "yes", "no").astype(object)
    return x, y, np.arange(n) // 2


def fit(name, rows):
    """Fit one of `ALL` to (x, y, groups), with as much of it as it takes."""
    from sklearn.base import clone

    x, y, groups = rows
    one = clone(ALL[name])
    one.__dict__.pop("_spent", None)
    x = x[:, :1] if name in TESTS else x
    if name in REGRESSION:
        y = x.astype(float).sum(axis=1)  # NaN and infinities are targets too
    if name in ALONE or name == "goodness":
        return one.fit(x, groups=groups)
    return one.fit(x, y, groups=groups)


def told(one):
    """Everything that an estimator holds after a fit, whatever its name, but for parameters."""
    return {name: value for name, value in vars(one).items() if name not in one.get_params()}
