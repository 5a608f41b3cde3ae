"""Rows that cannot be: combinations of values that neither model nor rows will hold."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.workload.domain import Domain
from discreet.workload.marginals import Clique

MOST_CELLS = 1 << 20
"""Cells of the columns that one constraint names."""


def structural_zeros(
    domain: Domain, impossible: Iterable[Mapping[str, Any]]
) -> dict[Clique, NDArray[np.bool_]]:
    """Tables that are False where a row would be impossible, by the columns they are over.

    Each of `impossible` names a combination: a value, or a list of values, for some columns. They
    are public facts, said without looking at the data.

    Example:
        >>> from discreet.plan.kinds import Kind
        >>> from discreet.workload.domain import Attribute
        >>> columns = ("age", (0, 18, 120)), ("years employed", (0, 1, 50))
        >>> domain = Domain(tuple(Attribute(n, Kind.INTEGER, edges=e) for n, e in columns))
        >>> zeros = structural_zeros(domain, [{"age": 5, "years employed": 20}])
        >>> {names: table.sum() for names, table in zeros.items()}
        {('age', 'years employed'): np.int64(8)}
    """
    found: dict[Clique, NDArray[np.bool_]] = {}
    for combination in impossible:
        names = tuple(name for name in domain.names if name in combination)
        if not names or len(names) < len(combination):
            raise InputError(
                "an impossible combination of columns that there are not",
                why=f"columns are {', '.join(domain.names)}",
                fix="name some of them",
            )
        shape = domain.shape(names)
        if math.prod(shape) > MOST_CELLS:
            raise InputError(
                f"a constraint over {math.prod(shape):,} cells",
                why=f"at most {MOST_CELLS:,} are looked at together",
                fix="name fewer columns in one combination",
            )
        table = found.setdefault(names, np.ones(shape, dtype=bool))
        cells = [_cells(domain, name, combination[name]) for name in names]
        table[np.ix_(*cells)] = False
    return found


def _cells(domain: Domain, name: str, values: Any) -> list[int]:
    several = values if isinstance(values, (list, tuple, set, frozenset)) else [values]
    return [domain[name].cell_of(value) for value in several]
