"""Rows as CSV, and what was done in a sentence, as JSON or as a row."""

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
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
    """Print text unchanged, and let the terminal break its lines."""
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


def show_release(
    release: Any,
    facts: Callable[[], Mapping[str, Any]],
    *,
    statement: bool,
    csv: Callable[[], str] | None = None,
    draw: Callable[[], object] | None = None,
) -> None:
    """Print a release; its statement within the JSON, after text, or with CSV on standard error.

    `csv` is how it is written as CSV, if not as the table that it is; `draw` for people.
    """
    if shape() == "json":
        said = {"statement": release.statement()} if statement else {}
        click.echo(json.dumps({**facts(), **said}, indent=2))
        return
    if shape() == "csv":
        from discreet.answer.present.release import as_table  # noqa: PLC0415 - heavy room

        click.echo((csv or as_table(release).to_csv)(), nl=False)
    else:
        (draw or partial(plain, repr(release)))()
    if statement:
        click.echo(release.statement(), err=shape() == "csv")  # a table stays a table


@contextmanager
def shown() -> Iterator[None]:
    """Show the progress of the jobs within, and clear it at the end."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with _bar(console):
        yield


@contextmanager
def _bar(console: Console) -> Iterator[None]:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415 - seen in terminals alone

    from discreet.curator.progress import watched  # noqa: PLC0415 - heavy room

    percent = TextColumn("{task.percentage:>3.0f}%")
    columns = (TextColumn("{task.description}"), BarColumn(), percent, TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        tasks = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        with watched(by=tell):
            yield
