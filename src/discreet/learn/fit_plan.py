"""A fit as plain data: which estimators, with which parameters, one after another.

What is plain can be charged, stored and repeated: the same plan with the same noisy sums gives the
same fitted estimators.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from discreet import learn
from discreet.errors import DiscreetError, InputError
from discreet.learn.base import PrivateEstimator
from discreet.learn.noisy_sums import NoisySums
from discreet.learn.rows import Chunk, PersonRows
from discreet.privacy import Neighbours
from discreet.rationals import read_text, whole

ESTIMATORS: Final[dict[str, type[PrivateEstimator]]] = {
    name: kind
    for name, kind in vars(learn).items()
    if isinstance(kind, type)
    and issubclass(kind, PrivateEstimator)
    and kind not in (PrivateEstimator, learn.HypothesisTest)
}
"""Estimators that can be fitted as an order, by name."""

_MOST: Final = {"max_iter": 1000, "newton_steps": 20, "max_depth": 8, "n_estimators": 200} | {
    "n_clusters": 200,
    "max_rows_per_unit": 10**6,
    "n_categories": 10_000,
}
_STEPS: Final = 16

Step = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class FitPlan:
    """Estimators to fit one after another, each to what the one before makes of the rows.

    Guarantee:
        A run is GDP with the squared mu `mu_squared`, the sum over the steps.
    Edge cases:
        A step without bounds takes those of the step before, `transformed_bounds_`. Parameters that
        would take too long are refused, and so is whatever fails on no rows at all: so no run
        fails for what was asked.
    """

    steps: tuple[Step, ...]
    features: int

    def __post_init__(self) -> None:
        if not 0 < len(self.steps) <= _STEPS:
            raise InputError("too few or many steps", why=f"1 to {_STEPS}", fix="name estimators")
        for name, _ in self.steps[:-1]:
            if not hasattr(ESTIMATORS.get(name), "transform"):
                why = "all steps but the last make features for the next"
                raise InputError("a step that transforms nothing", why=why, fix="put it last")
        self._made  # noqa: B018 - refuses what cannot be made

    @property
    def _made(self) -> list[PrivateEstimator]:
        return [_make(name, params) for name, params in self.steps]

    @property
    def mu_squared(self) -> Fraction:
        """The mu^2 of a run."""
        return sum((one._mu_squared for one in self._made), Fraction(0))  # noqa: SLF001 - own

    @property
    def max_rows_per_unit(self) -> int:
        """How many rows of a person count whole."""
        return whole(self._made[-1].max_rows_per_unit, "max_rows_per_unit", at_least=1)

    def rehearse(self, neighbours: Neighbours) -> None:
        """Run on no rows: what fails, fails now and for public reasons."""
        nobody = np.zeros((0, self.features))
        rows = PersonRows(lambda: iter([Chunk(nobody, np.zeros(0), np.zeros(0))]))
        try:
            self.run(rows, neighbours)
        except DiscreetError:
            raise
        except Exception as wrong:  # noqa: BLE001 - parameters of strangers fail in any way
            what = "an estimator that cannot be fitted with its parameters"
            why, fix = type(wrong).__name__, "try it on made-up rows first"
            raise InputError(what, why=why, fix=fix) from None

    def run(
        self, rows: PersonRows, neighbours: Neighbours, tape: Sequence[NDArray[Any]] | None = None
    ) -> tuple[list[PrivateEstimator], list[NDArray[Any]]]:
        """Fitted estimators and the tape of noisy sums; with a tape no row is looked at."""
        recorded = None if tape is None else iter(tape)
        told: list[NDArray[Any]] = []
        fitted: list[PrivateEstimator] = []
        width = self.features
        for one in self._made:
            if fitted and getattr(one, "bounds", 0) is None:
                one.bounds = fitted[-1].transformed_bounds_
            one.n_features_in_ = width
            one._prepare(width)  # noqa: SLF001 - own
            sums = NoisySums(rows, one._mu_squared, neighbours, told, recorded=recorded)  # noqa: SLF001
            one._learn_from(sums)  # noqa: SLF001
            fitted.append(one)
            if len(fitted) < len(self.steps):
                rows = rows.with_features(one.transform)
                width = getattr(one, "_n_features_out", width)
        return fitted, told


def steps_of(estimator: Any) -> tuple[Step, ...]:
    """The plain steps of an estimator, or of a pipeline of estimators of this package."""
    parts = [one for _, one in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    for one in parts:
        if not isinstance(one, PrivateEstimator) or type(one).__name__ not in ESTIMATORS:
            why = "only what learns from noisy sums is private"
            fix = f"use one of discreet.learn: {', '.join(ESTIMATORS)}"
            raise InputError(f"an estimator of type {type(one).__name__}", why=why, fix=fix)
    said = [{k: v for k, v in one.get_params(deep=False).items() if v is not None} for one in parts]
    try:
        plain = json.loads(json.dumps(said, default=_plain))
    except (TypeError, ValueError, RecursionError) as wrong:
        why, fix = "the ledger keeps texts, numbers and lists", "pass plain values"
        raise InputError(f"a parameter that is not plain ({wrong})", why=why, fix=fix) from None
    return tuple((type(one).__name__, params) for one, params in zip(parts, plain, strict=True))


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(Fraction(value))


def _make(name: str, params: Mapping[str, Any]) -> PrivateEstimator:
    """An estimator from plain parameters, none of them too large."""
    kind = ESTIMATORS.get(name)
    known = set() if kind is None else set(kind().get_params(deep=False))
    if kind is None or not set(params) <= known:
        why = f"estimators are {', '.join(ESTIMATORS)}"
        fix = "name one of these and its own parameters"
        raise InputError("an estimator or a parameter that is not known", why=why, fix=fix)
    exact: dict[str, Any] = {k: read_amount(params[k]) for k in {"epsilon", "delta"} & {*params}}
    for key in _MOST.keys() & {*params}:
        if any(whole(one, key, at_least=1) > _MOST[key] for one in np.ravel(params[key]).tolist()):
            why = "it would take too long"
            raise InputError(f"{key} is above {_MOST[key]}", why=why, fix="lower it")
    made = kind(**{**params, **exact})
    if "batch_rows" in known and "batch_rows" not in params:
        made.batch_rows = None  # which is left out where it is None
    return made


def read_amount(value: Any) -> Fraction:
    """An epsilon or delta as it is typed; one of too many digits would take too long to read."""
    found = read_text(str(value))
    if found is not None and found >= 0:
        return found
    what, why = "an epsilon or delta that cannot be read", "it is a short number"
    raise InputError(what, why=why, fix='pass "1/2"')
