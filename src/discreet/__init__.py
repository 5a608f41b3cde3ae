"""discreet answers questions about people without giving any of them away.

>>> import discreet as dp
>>> dp.Laplace(epsilon=0.5, sensitivity=1).error(0.95)
6.0

Names are imported from their rooms when they are first used, so that `import discreet` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet import learn as learn
    from discreet import local as local
    from discreet import workload as workload
    from discreet.answer.plan.accuracy import Accuracy
    from discreet.curator.budget import Budget
    from discreet.curator.opening import Curator
    from discreet.errors import DiscreetError
    from discreet.mechanisms import (
        AboveThreshold,
        ExponentialMechanism,
        Gaussian,
        Histogram,
        Laplace,
        PermuteAndFlip,
        Quantile,
        RandomizedResponse,
        SparseVector,
    )
    from discreet.mechanisms.reusable_holdout import ReusableHoldout
    from discreet.plan.answer_builder import over
    from discreet.plan.builder import (
        col,
        correlation,
        count,
        count_distinct,
        count_people,
        covariance,
        maximum,
        mean,
        median,
        minimum,
        quantile,
        stddev,
        total,
        variance,
    )
    from discreet.plan.schema import Bounds, EachRow, KeyPath, Keys, Limits
    from discreet.privacy import Filter, Neighbours, Odometer, Plan, calibrate, compose

_HOMES = {
    "answer.plan.accuracy": ["Accuracy"],
    "mechanisms.reusable_holdout": ["ReusableHoldout"],
    "curator.budget": ["Budget"],
    "curator.opening": ["Curator"],
    "plan.answer_builder": ["over"],
    "plan.builder": [
        *("col", "correlation", "count", "count_distinct", "count_people", "covariance", "mean"),
        *("maximum", "median", "minimum", "quantile", "stddev", "total", "variance"),
    ],
    "plan.schema": ["Bounds", "EachRow", "KeyPath", "Keys", "Limits"],
    "errors": ["DiscreetError"],
    "mechanisms": [
        *("AboveThreshold", "ExponentialMechanism", "Gaussian", "Histogram", "Laplace"),
        *("PermuteAndFlip", "Quantile", "RandomizedResponse", "SparseVector"),
    ],
    "privacy": ["Filter", "Neighbours", "Odometer", "Plan", "calibrate", "compose"],
}
_HOME = {name: room for room, names in _HOMES.items() for name in names}

__all__ = [
    "AboveThreshold",
    "Accuracy",
    "Bounds",
    "Budget",
    "Curator",
    "DiscreetError",
    "EachRow",
    "ExponentialMechanism",
    "Filter",
    "Gaussian",
    "Histogram",
    "KeyPath",
    "Keys",
    "Laplace",
    "Limits",
    "Neighbours",
    "Odometer",
    "PermuteAndFlip",
    "Plan",
    "Quantile",
    "RandomizedResponse",
    "ReusableHoldout",
    "SparseVector",
    "calibrate",
    "col",
    "compose",
    "correlation",
    "count",
    "count_distinct",
    "count_people",
    "covariance",
    "maximum",
    "mean",
    "median",
    "minimum",
    "over",
    "quantile",
    "stddev",
    "total",
    "variance",
]


_PACKAGES = frozenset({"learn", "local", "workload"})
"""Packages that are imported when first named, such as `dp.local.Rappor`."""


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return import_module(f"discreet.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    found = getattr(import_module(f"discreet.{_HOME[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
