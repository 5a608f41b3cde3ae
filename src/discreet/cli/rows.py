"""Rows as CSV."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any


def write_csv(rows: Sequence[Mapping[str, Any]], names: Sequence[str] = ()) -> str:
    """Rows as CSV under `names`, those of the first row if none are given; None is left empty.

    Example:
        >>> print(write_csv([{"a": 1, "b": None}, {"a": "x, y", "b": True}]), end="")
        a,b
        1,
        "x, y",True
        >>> print(write_csv([], ["a", "b"]), end="")
        a,b
    """
    text = io.StringIO()
    columns = list(names or (rows[0] if rows else ()))
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
