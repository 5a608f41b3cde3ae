"""Checks of tables that were coarsened: k-anonymity, l-diversity, and whom they still expose.

A missing value is a value like others: a person without values is in a class with others without
values, and may be alone there. Missing is None, and NaN.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from discreet.errors import InputError

Row: TypeAlias = Mapping[str, Hashable]


def classes(
    rows: Iterable[Row], quasi: Sequence[str], sensitive: str
) -> dict[tuple[Hashable, ...], list[Hashable]]:
    """The sensitive values in each class: rows that are alike in all quasi-identifiers."""
    found: dict[tuple[Hashable, ...], list[Hashable]] = defaultdict(list)
    for row in rows:
        *alike, value = (_value(row, name) for name in (*quasi, sensitive))
        found[tuple(alike)].append(value)
    if not found:
        raise InputError("a table without rows", why="it has no classes", fix="pass some rows")
    return dict(found)


def _value(row: Row, name: str) -> Hashable:
    """A comparable value of a cell; NaN becomes None, since NaN differs from itself."""
    if name not in row:
        raise InputError(f"a row without {name}", why="all are compared by it", fix="name a column")
    value = row[name]
    return None if isinstance(value, (float, np.floating)) and np.isnan(value) else value


def k_of(rows: Iterable[Row], quasi: Sequence[str], sensitive: str) -> int:
    """The size of the smallest class (Sweeney 2002)."""
    return min(map(len, classes(rows, quasi, sensitive).values()))


def l_of(rows: Iterable[Row], quasi: Sequence[str], sensitive: str) -> int:
    """The fewest distinct sensitive values in a class (Machanavajjhala et al. 2007)."""
    return min(len(set(values)) for values in classes(rows, quasi, sensitive).values())


def homogeneous(
    rows: Iterable[Row], quasi: Sequence[str], sensitive: str
) -> dict[tuple[Hashable, ...], Hashable]:
    """The classes in which everybody has the same sensitive value, and that value."""
    found = classes(rows, quasi, sensitive)
    return {cell: values[0] for cell, values in found.items() if len(set(values)) == 1}


def candidates(*releases: Iterable[Hashable]) -> set[Hashable]:
    """Sensitive values possible for somebody who is in all of these classes."""
    return set.intersection(*(set(values) for values in releases))


_A = {
    "<30": ["AIDS", "heart", "viral", "viral"],
    "3*": ["cancer", "cancer", "cancer", "cancer"],
    ">=40": ["cancer", "heart", "viral", "viral"],
}
_B = {
    "<35": ["AIDS", "tuberculosis", "flu", "tuberculosis", "cancer", "cancer"],
    ">=35": ["cancer", "cancer", "cancer", "tuberculosis", "viral", "viral"],
}


def _table(groups: Mapping[str, Sequence[str]]) -> tuple[Row, ...]:
    return tuple(
        {"age": age, "condition": condition}
        for age, conditions in groups.items()
        for condition in conditions
    )


HOSPITAL_A: tuple[Row, ...] = _table(_A)
"""A 4-anonymous table, after the example of Ganta, Kasiviswanathan and Smith 2008."""

HOSPITAL_B: tuple[Row, ...] = _table(_B)
"""A 6-anonymous table of another hospital; a patient aged 28 was seen in both."""
