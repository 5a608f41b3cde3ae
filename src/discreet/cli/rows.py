"""Rows as CSV, and what was done in a sentence, as JSON or as a row."""

import csv
import io
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
from rich.console import Console

from discreet.cli.options import shape


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


def plain(text: str) -> None:
    """Print text as it is, and let the terminal break its lines."""
    Console(file=sys.stdout).print(text, markup=False, highlight=False, soft_wrap=True)


def tell(sentence: str, facts: Mapping[str, Any]) -> None:
    """Print what was done: a sentence for people, or its facts for programs."""
    show(facts, lambda: click.echo(sentence), rows=[facts])


def show(
    facts: Any,
    draw: Callable[[], object],
    *,
    rows: Sequence[Mapping[str, Any]],
    names: Sequence[str] = (),
) -> None:
    """Print facts as JSON, rows as CSV, or what people read, as the command is asked to."""
    match shape():
        case "json":
            click.echo(json.dumps(facts, indent=2))
        case "csv":
            click.echo(write_csv(rows, names), nl=False)
        case _:
            draw()
