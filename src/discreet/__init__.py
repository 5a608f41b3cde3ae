"""discreet answers questions about people without giving any of them away.

>>> import discreet as dp
>>> dp.Laplace(epsilon=0.5, sensitivity=1).error(0.95)
6.0

Names are imported from their packages when they are first used, so that `import discreet` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING

# ruff: noqa: I001 - one import for each package, whose names are all exported
if TYPE_CHECKING:
    from discreet import attacks as attacks
    from discreet import lab as lab
    from discreet import learn as learn
    from discreet import local as local
    from discreet import workload as workload
    from discreet.answer.plan.accuracy import Accuracy as Accuracy
    from discreet.curator.budget import Budget as Budget
    from discreet.curator.data.intake import describe as describe
    from discreet.curator.opening import Curator as Curator
    from discreet.curator.orders.census.census_plan import releases as releases
    from discreet.engines.reading import Reading as Reading
    from discreet.errors import (
        AccessError as AccessError,
        BudgetError as BudgetError,
        DiscreetError as DiscreetError,
        EngineError as EngineError,
        InputError as InputError,
        LedgerError as LedgerError,
        QueryRefused as QueryRefused,
        ServiceError as ServiceError,
    )
    from discreet.mechanisms import (
        AboveThreshold as AboveThreshold,
        ExponentialMechanism as ExponentialMechanism,
        Gaussian as Gaussian,
        Histogram as Histogram,
        Laplace as Laplace,
        PermuteAndFlip as PermuteAndFlip,
        Quantile as Quantile,
        Quantiles as Quantiles,
        RandomizedResponse as RandomizedResponse,
        ReportNoisyMax as ReportNoisyMax,
        SmoothMedian as SmoothMedian,
        SparseVector as SparseVector,
        Staircase as Staircase,
        TopK as TopK,
        TreeCount as TreeCount,
    )
    from discreet.mechanisms.reusable_holdout import ReusableHoldout as ReusableHoldout
    from discreet.plan.answer_builder import over as over
    from discreet.plan.builder import (
        case as case,
        col as col,
        correlation as correlation,
        count as count,
        count_distinct as count_distinct,
        count_people as count_people,
        covariance as covariance,
        descending as descending,
        first as first,
        lag as lag,
        lit as lit,
        maximum as maximum,
        mean as mean,
        median as median,
        minimum as minimum,
        mode as mode,
        quantile as quantile,
        row_number as row_number,
        running as running,
        stddev as stddev,
        total as total,
        variance as variance,
        when as when,
    )
    from discreet.plan.schema import (
        Bounds as Bounds,
        EachRow as EachRow,
        KeyPath as KeyPath,
        Keys as Keys,
        Limits as Limits,
        PersonPeriod as PersonPeriod,
    )
    from discreet.privacy import (
        GDP as GDP,
        ZCDP as ZCDP,
        Approximate as Approximate,
        CalibrationStep as CalibrationStep,
        Filter as Filter,
        Neighbours as Neighbours,
        Odometer as Odometer,
        Plan as Plan,
        Pure as Pure,
        Shuffled as Shuffled,
        Subsampled as Subsampled,
        advanced_epsilon as advanced_epsilon,
        basic_epsilon as basic_epsilon,
        calibrate as calibrate,
        compose as compose,
        optimal_epsilon as optimal_epsilon,
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
        *("descending", "first", "lag", "row_number", "running", "case", "lit", "mode", "when"),
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
__all__ = sorted(_HOME)  # noqa: PLE0605 - type checkers read the imports above

_PACKAGES = frozenset({"attacks", "lab", "learn", "local", "workload"})
"""Packages that are imported when first named, such as `dp.local.Rappor`."""


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return import_module(f"discreet.{name}")
    aliases = {} if name in _HOME else import_module("discreet.argument_names").AGGREGATES
    own = aliases.get(name, name)
    if own not in _HOME:
        close = (one for one in __all__ if one.startswith(name))
        other = next(close, None)
        hint = f": {other} is its name here" if other else ""
        raise AttributeError(f"module 'discreet' has no attribute {name!r}{hint}", name=name)
    found = getattr(import_module(f"discreet.{_HOME[own]}"), own)
    globals()[name] = found
    return found


def load_ipython_extension(shell: object) -> None:
    """Register the %%discreet cell magic; called by `%load_ext discreet`."""
    from discreet.notebook import load  # noqa: PLC0415 - for notebooks

    load(shell)


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES})
