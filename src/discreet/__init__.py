"""discreet answers questions about people without giving any of them away.

>>> import discreet as dp
>>> dp.Laplace(epsilon=0.5, sensitivity=1).error(0.95)
6.0

Names are imported from their packages when they are first used, so that `import discreet` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet import attacks as attacks
    from discreet import lab as lab
    from discreet import learn as learn
    from discreet import local as local
    from discreet import workload as workload
    from discreet.answer.plan.accuracy import Accuracy
    from discreet.curator.budget import Budget
    from discreet.curator.data.intake import describe
    from discreet.curator.opening import Curator
    from discreet.curator.orders.census.census_plan import releases
    from discreet.engines.reading import Reading
    from discreet.errors import (
        AccessError,
        BudgetError,
        DiscreetError,
        EngineError,
        InputError,
        LedgerError,
        QueryRefused,
        ServiceError,
    )
    from discreet.mechanisms import (
        AboveThreshold,
        ExponentialMechanism,
        Gaussian,
        Histogram,
        Laplace,
        PermuteAndFlip,
        Quantile,
        Quantiles,
        RandomizedResponse,
        ReportNoisyMax,
        SmoothMedian,
        SparseVector,
        Staircase,
        TopK,
        TreeCount,
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
        descending,
        first,
        lag,
        maximum,
        mean,
        median,
        minimum,
        quantile,
        row_number,
        running,
        stddev,
        total,
        variance,
    )
    from discreet.plan.schema import Bounds, EachRow, KeyPath, Keys, Limits, PersonPeriod
    from discreet.privacy import (
        GDP,
        ZCDP,
        Approximate,
        CalibrationStep,
        Filter,
        Neighbours,
        Odometer,
        Plan,
        Pure,
        Shuffled,
        Subsampled,
        advanced_epsilon,
        basic_epsilon,
        calibrate,
        compose,
        optimal_epsilon,
    )

_HOMES = {
    "answer.plan.accuracy": ["Accuracy"],
    "mechanisms.reusable_holdout": ["ReusableHoldout"],
    "curator.budget": ["Budget"],
    "curator.orders.census.census_plan": ["releases"],
    "curator.data.intake": ["describe"],
    "curator.opening": ["Curator"],
    "engines.reading": ["Reading"],
    "plan.answer_builder": ["over"],
    "plan.builder": [
        *("col", "correlation", "count", "count_distinct", "count_people", "covariance", "mean"),
        *("maximum", "median", "minimum", "quantile", "stddev", "total", "variance"),
        *("descending", "first", "lag", "row_number", "running"),
    ],
    "plan.schema": ["Bounds", "EachRow", "KeyPath", "Keys", "Limits", "PersonPeriod"],
    "errors": [
        *("AccessError", "BudgetError", "DiscreetError", "EngineError", "InputError"),
        *("LedgerError", "QueryRefused", "ServiceError"),
    ],
    "mechanisms": [
        *("AboveThreshold", "ExponentialMechanism", "Gaussian", "Histogram", "Laplace"),
        *("PermuteAndFlip", "Quantile", "RandomizedResponse", "SmoothMedian", "SparseVector"),
        *("Quantiles", "ReportNoisyMax", "Staircase", "TopK", "TreeCount"),
    ],
    "privacy": [
        *("Approximate", "CalibrationStep", "Filter", "GDP", "Neighbours", "Odometer", "Plan"),
        *("Pure", "Shuffled", "Subsampled", "ZCDP", "calibrate", "compose"),
        *("advanced_epsilon", "basic_epsilon", "optimal_epsilon"),
    ],
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "GDP",
    "ZCDP",
    "AboveThreshold",
    "AccessError",
    "Accuracy",
    "Approximate",
    "Bounds",
    "Budget",
    "BudgetError",
    "CalibrationStep",
    "Curator",
    "DiscreetError",
    "EachRow",
    "EngineError",
    "ExponentialMechanism",
    "Filter",
    "Gaussian",
    "Histogram",
    "InputError",
    "KeyPath",
    "Keys",
    "Laplace",
    "LedgerError",
    "Limits",
    "Neighbours",
    "Odometer",
    "PermuteAndFlip",
    "PersonPeriod",
    "Plan",
    "Pure",
    "Quantile",
    "Quantiles",
    "QueryRefused",
    "RandomizedResponse",
    "Reading",
    "ReportNoisyMax",
    "ReusableHoldout",
    "ServiceError",
    "Shuffled",
    "SmoothMedian",
    "SparseVector",
    "Staircase",
    "Subsampled",
    "TopK",
    "TreeCount",
    "advanced_epsilon",
    "basic_epsilon",
    "calibrate",
    "col",
    "compose",
    "correlation",
    "count",
    "count_distinct",
    "count_people",
    "covariance",
    "descending",
    "describe",
    "first",
    "lag",
    "maximum",
    "mean",
    "median",
    "minimum",
    "optimal_epsilon",
    "over",
    "quantile",
    "releases",
    "row_number",
    "running",
    "stddev",
    "total",
    "variance",
]


_PACKAGES = frozenset({"attacks", "lab", "learn", "local", "workload"})
"""Packages that are imported when first named, such as `dp.local.Rappor`."""


_OTHER_NAMES = {"sum": "total", "avg": "mean", "max": "maximum", "min": "minimum"}
"""What others call aggregates whose names Python has taken."""


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return import_module(f"discreet.{name}")
    if name not in _HOME:
        other = _OTHER_NAMES.get(name) or next((one for one in __all__ if name in one), None)
        hint = f": {other} is its name here" if other else ""
        raise AttributeError(f"module 'discreet' has no attribute {name!r}{hint}", name=name)
    found = getattr(import_module(f"discreet.{_HOME[name]}"), name)
    globals()[name] = found
    return found


def load_ipython_extension(shell: object) -> None:
    """Register the %%discreet cell magic; called by `%load_ext discreet`."""
    from discreet.notebook import load  # noqa: PLC0415 - for notebooks

    load(shell)


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES})
