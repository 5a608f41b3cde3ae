"""`discreet init`: make a curator, and ask the few questions that matter."""

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import discreet as dp
from discreet.cli.add import add_table, copied, from_option, read_kinds, table_options
from discreet.cli.options import FOLDER, budget_options, curator_option, shape_options
from discreet.cli.rows import shown, tell

if TYPE_CHECKING:
    from discreet.curator.budget import Budget


@click.command()
@click.argument("source", type=click.Path(path_type=Path), required=False)
@click.option("--name", help="Name of the table  [default: the file's name]")
@from_option
@curator_option
@budget_options
@click.option("--ledger", help="Keep charges in Postgres: postgresql://host/database.")
@click.option(
    "--witness",
    metavar="FILE|URL",
    help="A file on another disk, or a `discreet witness`, that remembers the newest entry.",
)
@click.option("--change-one", is_flag=True, help="Use change-one neighbours (default: add-remove).")
@table_options
@shape_options
def init(
    *,
    source: Path | None,
    name: str | None,
    declared: Path | None,
    folder: Path,
    budget: "Budget | None",
    ledger: str | None,
    witness: str | None,
    change_one: bool,
    **said: Any,
) -> None:
    """Make a curator.

    Where a file SOURCE is named, it becomes the first table. In a terminal it shows in one table
    what it takes the file for, who is protected and what may be given away in all, for you to
    change and to confirm. Nothing is kept before that.

    Example: discreet init visits.parquet --unit patient_id --epsilon 3 --delta 1e-6
    """
    from discreet.curator.data.folder import is_curator  # noqa: PLC0415 - heavy room

    if is_curator(folder):
        raise click.UsageError(f"There is a curator in {folder} already. See: discreet add")
    if folder.is_dir() and any(folder.iterdir()):
        raise click.UsageError(f"{folder} is full of other things. Name a new folder: --curator")
    neighbours = dp.Neighbours.CHANGE_ONE if change_one else dp.Neighbours.ADD_REMOVE
    made = partial(dp.Curator, folder, ledger=ledger, witness=witness, neighbours=neighbours)
    if declared is not None:
        _init_from(declared, made, folder, neighbours)
        return
    if sys.stdin is not None and sys.stdin.isatty():
        from discreet.cli.interview import interview  # noqa: PLC0415 - for terminals alone

        source, budget, said = interview(source, name, budget, said)
    if source is not None and budget is None:
        read_kinds(source, name or _stem(source), said)  # a name that is wrong is told first
        raise click.UsageError("Say what may be given away in all: --epsilon 3 --delta 1e-6.")
    if source is None and budget is not None:
        raise click.UsageError("A budget belongs to data: name a file.")
    if source is not None:
        with dp.Curator.in_memory(neighbours=neighbours) as trial, shown():  # errors come first
            add_table(trial, name or _stem(source), source, budget, None, (), **said)
    copy, table = said.pop("copy"), None
    with made() as curator, shown():
        if source is not None:
            table = name or _stem(source)
            with copied(source, folder, table, wanted=copy) as file:
                add_table(curator, table, file, budget, None, (), **said)
    facts = {"curator": str(folder), "table": table, "dataset": table}
    tell(f"{folder} is ready. {_next(table, folder)}", facts)


def _init_from(declared: Path, made: Any, folder: Path, neighbours: Any) -> None:
    """Make a curator of what a YAML file says, once all of it was tried out."""
    from discreet.curator.declaration_file import read_declarations  # noqa: PLC0415 - heavy room

    tables = read_declarations(declared)
    for start in (partial(dp.Curator.in_memory, neighbours=neighbours), made):
        with start() as curator, shown():
            for table in tables:
                table.add_to(curator)
    names = [table.name for table in tables]
    facts = {"curator": str(folder), "tables": names}
    tell(f"{folder} is ready. {_next(names[0], folder)}", facts)


def _stem(source: Path) -> str:
    return source.name.partition(".")[0] or "table"


def _next(table: str | None, folder: Path) -> str:
    what = f"describe {table}" if table else "add NAME FILE --unit COLUMN --epsilon 3"
    where = "" if str(folder) == FOLDER else f" --curator {shlex.quote(str(folder))}"
    return f"Next: discreet {what}{where}"
