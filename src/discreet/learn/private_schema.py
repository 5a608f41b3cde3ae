"""Bounds and classes that are not known beforehand, bought from the data."""

from collections import Counter
from typing import Any

import numpy as np

from discreet.learn.base import numbers
from discreet.learn.rows import items_of, name_of, person_codes
from discreet.mechanisms.automatic_bounds import AutomaticBounds
from discreet.mechanisms.stability_histogram import LaplaceThreshold
from discreet.privacy import Guarantee, compose
from discreet.rationals import Real, positive


def private_bounds(
    X: Any, *, epsilon: Real, groups: Any = None, smallest: Real = 1, largest: Real = 2**40
) -> tuple[list[tuple[float, float]], Guarantee]:
    """Bounds of each feature, between powers of two, and what they cost: epsilon in all.

    Guarantee:
        Pure epsilon about a person, of whom the first row counts where `groups` names people.
    Edge cases:
        NaN and infinity count as 0. A feature with few rows has the widest bounds.

    Example:
        >>> bounds, cost = private_bounds(np.full((1000, 1), 70.0), epsilon=1)
        >>> bounds
        [(64.0, 128.0)]

    Reference: Wilson et al., Differentially Private SQL with Bounded User Contribution, 2020.
    """
    x = _first_rows(np.asarray(numbers(X), dtype=np.float64), groups)
    many = max(1, x.shape[1])
    each = positive(epsilon, "epsilon") / many
    mechanism = AutomaticBounds(epsilon=each, smallest=smallest, largest=largest)
    finite = np.where(np.isfinite(x), x, 0.0)
    bounds = [(float(a), float(b)) for a, b in map(mechanism.release, finite.T)]
    return bounds, compose([(mechanism.guarantee, many)])


def private_classes(
    y: Any, *, epsilon: Real, delta: Real, groups: Any = None
) -> tuple[list[Any], Guarantee]:
    """Labels that enough people have, and what they cost.

    Guarantee:
        (epsilon, delta) about a person, of whom the first row counts where `groups` names people.
    Edge cases:
        What is neither a text nor a number, and NaN, is no label. Labels that are equal (True, 1
        and 1.0) are one, told as an int: else one person's spelling would be told.

    Example:
        >>> private_classes(["a"] * 500 + ["b"] * 500 + ["rare"], epsilon=1, delta=1e-6)[0]
        ['a', 'b']

    Reference: Korolova, Kenthapadi, Mishra, Ntoulas, Releasing Search Queries and Clicks
    Privately, 2009.
    """
    labels = map(_label, _first_rows(items_of(y), groups).tolist())
    mechanism = LaplaceThreshold(epsilon=epsilon, delta=delta)
    shown = list(mechanism.release(Counter(one for one in labels if one is not None)))
    return sorted(shown, key=lambda one: (isinstance(one, str), one)), mechanism.guarantee


def _label(one: Any) -> Any:
    """A text or a number, in one spelling of those that are equal; None for what is neither."""
    kinds, name = (str, int, float), name_of(one)
    if not isinstance(one, (*kinds, np.generic)) or not isinstance(name, kinds) or name != one:
        return None
    is_whole = isinstance(name, bool) or (isinstance(name, float) and name.is_integer())
    return int(name) if is_whole else name


def _first_rows(x: Any, groups: Any) -> Any:
    """The first row of each person."""
    if groups is None:
        return x
    _, first = np.unique(person_codes(groups), return_index=True)
    return x[np.sort(first)]
