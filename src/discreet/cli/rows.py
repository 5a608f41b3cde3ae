"""Rows as CSV, and what was done in a sentence, as JSON or as a row."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import click


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
    writer.writerows({name: _inert(row.get(name)) for name in columns} for row in rows)
    return text.getvalue()


def _inert(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula."""
    odd = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if odd else value


def tell(sentence: str, facts: Mapping[str, Any], *, as_json: bool, as_csv: bool) -> None:
    """Print what was done: a sentence for people, or its facts for programs."""
    if as_json:
        click.echo(json.dumps(facts, indent=2))
    elif as_csv:
        click.echo(write_csv([facts]), nl=False)
    else:
        click.echo(sentence)
