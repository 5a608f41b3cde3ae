"""discreet answers questions about people and limits what all answers reveal about anyone.

>>> import discreet as dp
>>> dp.Laplace(epsilon=0.5, sensitivity=1).error(0.95)
6.0

The error for an unknown name suggests the right call: `dp.noisy_max`, `dp.zcdp_to_dp`. Names are
imported from their packages when they are first used, so that `import discreet` is quick.
"""

from importlib import import_module

from discreet.argument_names import (
    AGGREGATES,
    PACKAGES,
    MissingNameError,
    class_elsewhere,
    homes,
    tells_calls,
)

_HOME = homes()
"""The module of each public name, from the stub in this folder."""
__all__ = sorted(_HOME)  # noqa: PLE0605 - type checkers read the stub


_OF_ARRAYS = frozenset(
    {"count", "total", "mean", "variance", "stddev", "quantile", "median", "minimum", "maximum"}
)
"""Aggregates of columns that take arrays too: `dp.mean(ages, bounds=(0, 120), epsilon=1)`."""


def __getattr__(name: str) -> object:
    if name in PACKAGES:
        return import_module(f"discreet.{name}")
    found = getattr(import_module(_HOME[name]), name) if name in _HOME else _elsewhere(name)
    if name in _OF_ARRAYS:
        found = import_module("discreet.array_aggregates").of_arrays(found)
    if isinstance(found, type):
        tells_calls(found)
    globals()[name] = found
    return found


def _elsewhere(name: str) -> object:
    """What else a name may mean: an aggregate as others call it, or a class of a package."""
    if name in AGGREGATES:
        return __getattr__(AGGREGATES[name])
    found = None if name.startswith("_") else class_elsewhere(name)
    if found is None:
        raise MissingNameError(name, "discreet")
    return found


def load_ipython_extension(shell: object) -> None:
    """Register the %%discreet cell magic; called by `%load_ext discreet`."""
    from discreet.notebook import load  # noqa: PLC0415 - for notebooks

    load(shell)


def __dir__() -> list[str]:
    return sorted({*__all__, *PACKAGES})
