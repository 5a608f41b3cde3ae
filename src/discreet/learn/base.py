"""Shared parts of estimators: reading rows, spending, and reporting what was spent."""

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet.errors import InputError
from discreet.learn.design import missing, read_bounds
from discreet.learn.noisy_sums import NoisySums, mu_squared_of
from discreet.learn.rows import Floats, PersonRows, items_of, rows_of
from discreet.privacy import GDP, Guarantee, compose
from discreet.rationals import proper_share, whole

_CLASSES = 1000
CELLS = 255
"""Bins of a feature at most, and equal cells in which it is counted before they are joined.

With one more for NaN, the number of a cell is a byte.
"""

_COUNTS = {"n_bins": 2, "newton_steps": 2} | dict.fromkeys(
    ("max_depth", "max_iter", "n_clusters", "n_components", "n_estimators"), 1
)
"""Parameters that count something, and the least that each may be."""


class PrivacyWarning(UserWarning):
    """Budget was spent again, or less is protected than it may seem."""


@dataclass
class Spending:
    """The total spent by an estimator and all its clones."""

    guarantees: list[Guarantee] = field(default_factory=list)
    copied: bool = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy, as another process gets it: what others spend is not counted here."""
        self.__dict__.update(state, copied=True)

    def add(self, one: Guarantee) -> None:
        """Count one more fit; the second and later ones are warned of, and all of a copy."""
        self.guarantees.append(one)
        if len(self.guarantees) > 1 or self.copied:
            copied = "; this is a copy, whose fits the others do not count" if self.copied else ""
            warnings.warn(
                f"fit number {len(self.guarantees)} of this estimator and its clones: each fit "
                f"spends its own epsilon; spent_ says what all of them cost together{copied}",
                PrivacyWarning,
                stacklevel=4,
            )


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateEstimator(BaseEstimator):  # type: ignore[misc] # ships no types
    """An estimator whose `fit` is differentially private for every person in the rows.

    Guarantee:
        `fit` is (epsilon, delta)-differentially private, exactly GDP (`guarantee_`), about one
        person added or removed with all their rows (`groups`; each row is a person without). Every
        attribute that `fit` sets is a function of parameters and noisy sums alone.
    Edge cases:
        NaN and infinities count as a bound or centre; rows without a known target count nowhere; no
        row and no number of rows makes `fit` fail. `fit` again, of the same estimator or a clone,
        spends again: it warns, and `spent_` says what all of them cost.
    """

    epsilon: Any = 1.0
    delta: Any = 1e-6
    max_rows_per_unit: Any = 1

    _TARGET: ClassVar[str] = "none"
    """What y is: none, label or number."""

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Learn from rows; `groups` names the person of each row."""
        rows = self._rows(X, y, groups, self.max_rows_per_unit)
        self.__dict__.pop("features_", None)  # of an earlier fit, by a curator
        sums = NoisySums(rows, self._mu_squared)
        try:
            self._learn_from(sums)
        finally:  # a fit that is interrupted was paid for as well
            self._spending.add(sums.guarantee)
        return self

    def _rows(self, x: Any, y: Any, groups: Any, max_rows_per_unit: int) -> PersonRows:
        """Rows as `fit` takes them; parameters are checked before any row is looked at.

        What is refused leaves an earlier fit as it was.
        """
        before = dict(vars(self))
        try:
            features = self._read_features(x)
            self._prepare(features.shape[1])
            return rows_of(features, self._target_of(y), groups, max_rows_per_unit)
        except Exception:
            self.__dict__ = before
            raise

    def _learn_from(self, sums: NoisySums) -> None:
        """Fit from noisy sums, fresh or from a tape."""
        self._learn(sums)
        self.guarantee_: GDP = sums.guarantee

    @property
    def _mu_squared(self) -> Fraction:
        return mu_squared_of(self.epsilon, self.delta)

    @property
    def spent_(self) -> Guarantee:
        """The composed guarantee of all fits of this estimator and its clones."""
        check_is_fitted(self, "guarantee_")
        if self._spending.guarantees:
            return compose(self._spending.guarantees)
        what, why = "what a fit through a curator cost", "its ledger counts what was spent"
        raise InputError(what, why=why, fix="ask curator.budget(dataset)")

    @property
    def _spending(self) -> Spending:
        spending: Spending = self.__dict__.setdefault("_spent", Spending())
        return spending

    def __sklearn_clone__(self) -> Self:
        copy: Self = super().__sklearn_clone__()
        copy.__dict__["_spent"] = self._spending
        return copy

    def _prepare(self, features: int) -> None:
        """Read parameters for so many features, before any row is looked at."""
        said = self.get_params(deep=False)
        if "bounds" in said:
            self.bounds_ = read_bounds(self.bounds, features)
        if "classes" in said:
            self.classes_ = read_classes(self.classes)
        for name in sorted(_COUNTS.keys() & said.keys()):
            whole(said[name], name, at_least=_COUNTS[name])
        if said.get("n_bins", 0) > CELLS:
            raise InputError("too many n_bins", why=f"cells are {CELLS}", fix="ask for fewer")

    @abstractmethod
    def _learn(self, sums: NoisySums) -> None:
        """Set the fitted attributes from noisy sums."""

    def _read_features(self, x: Any, *, reset: bool = True) -> Floats:
        """Features as doubles; what is no number is NaN, and nobody is told which it was."""
        if hasattr(x, "columns") and hasattr(x, "map"):  # a frame of pandas keeps its names
            x = x.astype(object).map(number).astype(np.float64)
        else:
            x = numbers(x)
        read: Floats = validate_data(
            self, x, reset=reset, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0
        )
        return read

    def _fitted_features(self, x: Any) -> Floats:
        """Features to predict from, as they are; of a curator's fit by their names in a frame."""
        check_is_fitted(self, "guarantee_")
        named = getattr(self, "features_", None)
        if named and all(isinstance(one, str) for one in getattr(x, "columns", [0])):
            x = x[named].to_numpy()  # who lacks one is told which
        elif named and hasattr(x, "column_names"):  # of Arrow
            x = np.asarray(x.select(named))
        if named and getattr(x, "dtype", np.dtype(object)).kind in "OUS":
            items = np.asarray(x, dtype=object).ravel().tolist()
            if any(isinstance(one, str) and np.isnan(number(one)) for one in items):
                why = "the model learned from the place of each value in the table's list"
                fix = "pass places, from 0 on in the order of the list"
                raise InputError("a text to predict from", why=why, fix=fix)
        return self._read_features(x, reset=False)

    def _clamped(self, x: Any) -> Floats:
        """Features to predict from, within their bounds; NaN is the mean or the middle."""
        read = self._fitted_features(x)
        low, high = self.bounds_
        missing = getattr(self, "mean_", (low + high) / 2)
        return np.asarray(np.where(np.isnan(read), missing, np.clip(read, low, high)))

    def _target_of(self, y: Any) -> Floats | None:
        """Targets as doubles; None where there are none."""
        if self._TARGET == "none":
            return None
        if y is None:
            what = f"This {type(self).__name__} estimator requires y to be passed, but the target y"
            raise InputError(f"{what} is None", why="it learns to predict it", fix="pass y")
        items = column_or_1d(items_of(y), warn=True).tolist()
        read = _places(self.classes_) if self._TARGET == "label" else number
        return np.array([read(item) for item in items], dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = self._TARGET != "none"
        tags.non_deterministic = True
        return tags


def number(item: Any) -> float:
    """A double, or NaN for what is none: no value makes reading fail."""
    try:
        return float(item)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def numbers(x: Any) -> Any:
    """A table of numbers, with NaN for whatever else is in it; what is no array stays as it is.

    Errors of scikit-learn and numpy quote the data, so that what they refuse is refused here.
    """
    if not isinstance(x, (list, tuple)) and not hasattr(x, "__array__"):
        return x
    array = np.array(x, dtype=object) if isinstance(x, (list, tuple)) else np.asarray(x)
    if array.ndim != 2:
        why = "there is a row for each record, and a column for each feature"
        fix = "Reshape your data: x.reshape(-1, 1) has one feature"
        raise InputError(f"Expected 2D array, got {array.ndim}D array instead", why=why, fix=fix)
    if array.dtype.kind == "c":
        raise InputError("Complex data not supported", why="bounds are real", fix="pass x.real")
    if array.dtype.kind in "OUS":
        return np.array([number(item) for item in array.ravel().tolist()]).reshape(array.shape)
    return x


def read_classes(classes: Any) -> Any:
    """The public list of labels; InputError where it is missing."""
    if classes is None:
        raise missing("classes", "whoever has a rare one", "[...]", "private_classes")
    listed, items = np.asarray(classes), list(np.ravel(items_of(classes)))
    plain = (int, float, np.number, np.bool_)
    kinds = {float if isinstance(one, plain) else type(one) for one in items}
    different = len({*listed.tolist()}) == len(items) > 1 == len(kinds)
    if listed.ndim != 1 or not different or any(one != one for one in items):  # noqa: PLR0124 - NaN
        why = "there are two at least, and rows are compared with them"
        fix = "list each label once, all of them texts or all of them numbers"
        raise InputError("classes are not a list of different labels of one kind", why=why, fix=fix)
    if len(listed) > _CLASSES:
        what = f"more than {_CLASSES:,} classes"
        raise InputError(what, why="each takes memory", fix="join some")
    return np.array(sorted(listed.tolist()), dtype=listed.dtype)


def _places(classes: Any) -> Callable[[Any], float]:
    """The place of a label among the classes; NaN of every other."""
    places = {label: float(place) for place, label in enumerate(classes.tolist())}

    def place(item: Any) -> float:
        try:
            return places.get(item, np.nan)
        except TypeError:  # a list, say: it is no label
            return np.nan

    return place


def normal_intervals(values: Floats, errors: Floats, confidence: float) -> Floats:
    """Each value +- z errors: one row (low, high) a value."""
    z = NormalDist().inv_cdf((1 + float(proper_share(confidence, "confidence"))) / 2)
    return np.asarray(np.stack([values - z * errors, values + z * errors], axis=-1))
