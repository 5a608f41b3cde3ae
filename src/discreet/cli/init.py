"""`discreet init`: make a curator, and ask the few questions that matter."""

import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.add import add_table, table_options
from discreet.cli.options import Exact, budget_options, curator_option, read_budget

if TYPE_CHECKING:
    from discreet.plan.kinds import Kind

_MANY = 12
"""Columns beyond which nobody wants to be asked about each."""


@click.command()
@click.argument("source", type=click.Path(path_type=Path), required=False)
@click.option("--name", help="What the table is called; the file's name, unless you say.")
@curator_option
@budget_options
@click.option("--ledger", help="Keep charges in Postgres: postgresql://host/database.")
@click.option("--change-one", is_flag=True, help="Neighbours change one person's rows.")
@table_options
def init(
    *,
    source: Path | None,
    name: str | None,
    folder: Path,
    epsilon: Fraction | None,
    delta: Fraction | None,
    rho: Fraction | None,
    ledger: str | None,
    change_one: bool,
    **said: Any,
) -> None:
    """Make a curator.

    Where a file SOURCE is named, it becomes the first table. In a terminal it asks what you have
    not said: who is protected, how much of one person may count, and what may be given away in all.

    Example: discreet init visits.parquet --unit patient_id --epsilon 3 --delta 1e-6
    """
    from discreet.curator.curator import Curator  # noqa: PLC0415 - heavy room
    from discreet.curator.folder import is_curator  # noqa: PLC0415 - heavy room
    from discreet.privacy import Neighbours  # noqa: PLC0415 - heavy room

    if is_curator(folder):
        raise click.UsageError(f"There is a curator in {folder} already. See: discreet add")
    budget = read_budget(epsilon, delta, rho)
    if sys.stdin.isatty():
        source, budget, said = _interview(source, budget, said)
    if source is not None and budget is None:
        raise click.UsageError("Say what may be given away in all: --epsilon 3 --delta 1e-6.")
    if source is None and budget is not None:
        raise click.UsageError("A budget belongs to data: name a file.")
    neighbours = Neighbours.CHANGE_ONE if change_one else Neighbours.ADD_REMOVE
    if source is not None:
        _try_out(source, name, budget, said, neighbours)
    if folder.is_dir() and any(folder.iterdir()):
        raise click.UsageError(f"{folder} is full of other things. Name a new folder: --curator")
    with Curator(folder, ledger=ledger, neighbours=neighbours) as curator:
        if source is not None:
            add_table(curator, name or _stem(source), source, budget, None, (), **said)
    click.echo(f"{folder} is ready. {_next(source, name)}")


def _try_out(source: Path, name: str | None, budget: Any, said: Any, neighbours: Any) -> None:
    """Find what is wrong before anything is made."""
    from discreet.curator.curator import Curator  # noqa: PLC0415 - heavy room

    with Curator.in_memory(neighbours=neighbours) as trial:
        add_table(trial, name or _stem(source), source, budget, None, (), **said)


def _stem(source: Path) -> str:
    return source.name.partition(".")[0] or "table"


def _next(source: Path | None, name: str | None) -> str:
    if source is None:
        return "Next: discreet add NAME FILE --unit COLUMN --epsilon 3"
    table = name or _stem(source)
    return f"Next: discreet describe {table}"


# --- in a terminal ------------------------------------------------------------------------------


def _interview(
    source: Path | None, budget: Any, said: dict[str, Any]
) -> tuple[Path | None, Any, dict[str, Any]]:
    """Ask what was not said; an empty answer leaves it open."""
    from discreet.engines.describe import describe  # noqa: PLC0415 - heavy room

    if source is None:
        text = click.prompt("Which file holds the data", default="", show_default=False)
        if not text:
            return None, None, said
        source = Path(text)
    described = describe(source)
    click.echo(repr(described))
    if not said["unit"] and not said["key_path"] and not said["each_row"]:
        names = [one.name for one in described.columns]
        said["unit"] = click.prompt("Which column names the person", type=click.Choice(names))
    if said["max_groups"] is None and said["max_rows"] is None:
        said["max_rows"] = _number("How many rows of one person may count in a group")
        said["max_groups"] = _number("In how many groups may one person count")
    if not said["bounds"] and not said["keys"] and len(described.columns) <= _MANY:
        kinds = {n: of.kind for n, of in described.types().items() if n != said["unit"]}
        said["bounds"], said["keys"] = _ask_columns(kinds)
    if budget is None:
        budget = _ask_budget()
    return source, budget, said


def _number(question: str) -> int | None:
    text = click.prompt(f"{question} (Enter: found out privately)", default="", show_default=False)
    return int(text) if text.strip().isdigit() and int(text) else None


def _ask_columns(kinds: "dict[str, Kind]") -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    bounds, keys = [], []
    for name, kind in kinds.items():
        if kind.is_number:
            text = click.prompt(f"Bounds of {name}, as 0 120", default="", show_default=False)
            if len(text.split()) == 2:
                bounds.append((name, *(Exact().convert(end, None, None) for end in text.split())))
        elif kind.value == "text":
            text = click.prompt(f"Public values of {name}, as a,b", default="", show_default=False)
            if text:
                keys.append((name, text))
    return tuple(bounds), tuple(keys)


def _ask_budget() -> Any:
    epsilon = click.prompt("How much may be given away in all: epsilon", type=Exact(), default="3")
    delta = click.prompt("and delta, far below 1 / people", type=Exact(), default="1e-6")
    return read_budget(epsilon, delta, None)
