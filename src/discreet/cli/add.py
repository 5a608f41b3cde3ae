"""Tables: `discreet init` makes a curator of one, `add`, `append` and `retire` keep them."""

import csv
import secrets
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

import discreet as dp
from discreet.cli import options
from discreet.cli.rows import show, shown, tell

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.engines.reading import Reading
    from discreet.plan.kinds import Kind
    from discreet.plan.schema import Unit


F = TypeVar("F", bound=Callable[..., Any])

KINDS = ("boolean", "integer", "real", "text", "date", "timestamp")
_MOST = click.IntRange(1)


_SAID: dict[str, dict[str, Any]] = {
    "--unit": {"metavar": "COLUMN", "help": "The column that names the person."},
    "--each-row": {"is_flag": True, "help": "Protect single rows, not whole people."},
    "--period": {
        "type": (str, str, str),
        "metavar": "COLUMN DATE EVERY",
        "help": "Protect the person that COLUMN names in each hour, day, week, ... of DATE.",
    },
    "--path key_path": {
        "type": (str, str, str),
        "metavar": "COLUMN TABLE KEY",
        "help": "COLUMN refers to TABLE.KEY, which names the person.",
    },
    "--bounds": {
        "type": (str, options.END, options.END),
        "multiple": True,
        "metavar": "COLUMN LOW HIGH",
        "help": "Clip a column's values to this range.",
    },
    "--keys": {
        "type": (str, str),
        "multiple": True,
        "metavar": "COLUMN LIST",
        "help": "Public values of a column, separated by commas.",
    },
    "--kind kinds": {
        "type": (str, click.Choice(KINDS)),
        "multiple": True,
        "metavar": "COLUMN KIND",
        "help": f"What a CSV file's column holds: {', '.join(KINDS)}.",
    },
    "--required": {"multiple": True, "metavar": "COLUMN", "help": "A column that is never NULL."},
    "--max-groups": {"type": _MOST, "help": "Groups that one person may count in."},
    "--max-rows": {"type": _MOST, "help": "Rows that one person may have in a group."},
    "--max-table-rows": {
        "type": _MOST,
        "help": "A public bound on the table's rows  [default: the next power of ten]",
    },
    "--confirm": {
        "multiple": True,
        "metavar": "kinds|COLUMN|all",
        "help": "What `discreet describe FILE` proposes from the data is public knowledge.",
    },
    "--source-table": {"help": "Sheet or table to read in a file, if not NAME."},
    "--copy": {"is_flag": True, "help": "Copy a Parquet file too; other files always are."},
}
"""Options that declare a table."""


def table_options(command: F) -> F:
    """Let a command declare a table, and say how its file is read."""
    return options.reading_options(options.with_options(command, _SAID))


from_option = click.option(
    "--from",
    "declared",
    type=options.OLD_FILE,
    metavar="FILE.yaml",
    help="Read declarations of tables from a file that `discreet describe --yaml` wrote.",
)


@options.command()
@click.argument("source", type=click.Path(path_type=Path), required=False)
@click.option("--name", help="Name of the table  [default: the file's name]")
@from_option
@options.curator_option
@options.budget_options
@click.option("--ledger", help="Keep charges in Postgres: postgresql://host/database.")
@click.option(
    "--witness",
    metavar="FILE|URL",
    help="A file on another disk, or a `discreet witness`, that remembers the newest entry.",
)
@click.option("--change-one", is_flag=True, help="Use change-one neighbours (default: add-remove).")
@table_options
def init(
    *,
    source: Path | None,
    name: str | None,
    declared: Path | None,
    folder: Path,
    budget: "dp.Budget | None",
    ledger: str | None,
    witness: str | None,
    change_one: bool,
    **said: Any,
) -> None:
    """Make a curator.

    A file SOURCE becomes the first table. In a terminal the command shows in one table how it reads
    the file, who is protected and the budget, for you to change and to confirm. Nothing is kept
    before that.

    Example: discreet init visits.parquet --unit patient_id --epsilon 3 --delta 1e-6
    """
    from discreet.curator.data.folder import is_curator  # noqa: PLC0415 - heavy room

    if is_curator(folder):
        raise click.UsageError(f"There is a curator in {folder} already. See: discreet add")
    if folder.is_dir() and any(folder.iterdir()):
        raise click.UsageError(f"{folder} is full of other things. Name a new folder: --curator")
    neighbours = dp.Neighbours.CHANGE_ONE if change_one else dp.Neighbours.ADD_REMOVE
    made = partial(dp.Curator, folder, ledger=ledger, witness=witness, neighbours=neighbours)
    trial = partial(dp.Curator.in_memory, neighbours=neighbours)
    if declared is not None:
        names = _add_declared(declared, trial, made)  # once all of it was tried out
        told = {"curator": str(folder), "tables": names}
        tell(f"{folder} is ready. {_next(names[0], folder)}", told)
        return
    if sys.stdin is not None and sys.stdin.isatty():
        from discreet.cli.interview import interview  # noqa: PLC0415 - for terminals alone

        source, budget, said = interview(source, name, budget, said)
    table = None if source is None else name or source.name.partition(".")[0] or "table"
    if source is None or table is None:
        if budget is not None:
            raise click.UsageError("A budget belongs to data: name a file.")
        made().close()
    else:
        if budget is None:
            read_kinds(source, table, said)  # a name that is wrong is told first
            raise click.UsageError("Say what may be given away in all: --epsilon 3 --delta 1e-6.")
        with trial() as curator, shown():  # errors come first
            add_table(curator, table, source, budget, None, (), **said)
        copy = said.pop("copy")
        with made() as curator, shown(), copied(source, folder, table, wanted=copy) as file:
            add_table(curator, table, file, budget, None, (), **said)
    facts = {"curator": str(folder), "table": table, "dataset": table}
    tell(f"{folder} is ready. {_next(table, folder)}", facts)


def _next(table: str | None, folder: Path) -> str:
    what = f"describe {table}" if table else "add NAME FILE --unit COLUMN --epsilon 3"
    where = "" if str(folder) == options.FOLDER else f" --curator {shlex.quote(str(folder))}"
    return f"Next: discreet {what}{where}"


def _add_declared(declared: Path, *starts: "Callable[[], Curator]") -> list[str]:
    """Add what a YAML file says to each of some curators; the names of the tables."""
    from discreet.curator.client.declarations import read_declarations  # noqa: PLC0415 - heavy room

    tables = read_declarations(declared)
    for start in starts:
        with start() as curator, shown():
            for table in tables:
                table.add_to(curator)
    return [table.name for table in tables]


@options.command()
@click.argument("name", required=False)
@click.argument("source", type=click.Path(path_type=Path), required=False)
@from_option
@options.curator_option
@options.budget_options
@click.option(
    "--dataset",
    metavar="DATASET",
    shell_complete=options.datasets,
    help="Share the people and budget of a dataset.",
)
@click.option("--public-key", multiple=True, metavar="COLUMN", help="A public table's unique key.")
@table_options
def add(
    *,
    name: str | None,
    source: Path | None,
    declared: Path | None,
    folder: Path,
    budget: "dp.Budget | None",
    dataset: str | None,
    public_key: tuple[str, ...],
    **said: Any,
) -> None:
    """Add a table to the curator.

    The table NAME is read from the file SOURCE. Types come from the file (Parquet, DuckDB) or from
    you (CSV, Excel, JSON): `discreet describe SOURCE` proposes them, and reports what would be
    lost. Declarations cannot be changed later, because answers will depend on them.

    Example: discreet add visits visits.parquet --unit patient_id --epsilon 3 --delta 1e-6
    --bounds age 0 120 --keys city Austin,Haifa
    """
    if declared is not None:
        names = _add_declared(declared, partial(options.open_curator, folder))
        tell(f"{', '.join(names)} in {folder}.", {"curator": str(folder), "tables": names})
        return
    if name is None or source is None:
        raise click.UsageError("Name a table and its file: discreet add NAME FILE, or --from.")
    with (
        options.open_curator(folder) as curator,
        shown(),
        copied(source, folder, name, wanted=said.pop("copy")) as file,
    ):
        add_table(curator, name, file, budget, dataset, public_key, **said)
    dataset = None if public_key else dataset or name
    facts = {"curator": str(folder), "table": name, "dataset": dataset}
    tell(f"{name} is in {folder}.", facts)


@contextmanager
def copied(source: Path, folder: Path, name: str, *, wanted: bool) -> Iterator[Path]:
    """A Parquet file copied into the curator's folder, if requested; gone if no table has it."""
    if not wanted or source.suffix.lower() != ".parquet":
        yield source
        return
    from discreet.curator.data.data_store import file_name  # noqa: PLC0415 - heavy room
    from discreet.curator.data.folder import Folder  # noqa: PLC0415 - heavy room
    from discreet.curator.ledger.witness import sync_file  # noqa: PLC0415 - heavy room

    target = folder / "data" / f"{secrets.token_hex(4)}-{file_name(name)}"
    target.parent.mkdir(exist_ok=True)
    try:
        shutil.copyfile(source, target)
        sync_file(target)
        yield target
    except BaseException:
        if target.name not in Folder(folder).tables().file_names():
            target.unlink(missing_ok=True)
        raise


def add_table(
    curator: "Curator",
    name: str,
    source: Path,
    budget: Any,
    dataset: str | None,
    public_key: tuple[str, ...],
    **said: Any,
) -> None:
    """Add a table as the options say."""
    kinds = read_kinds(source, name, said)
    columns = read_columns(said["bounds"], said["keys"], kinds)
    facts: dict[str, Any] = {
        "columns": {**columns, **said.get("columns", {})},
        "kinds": dict(said["kinds"]),
        "source_table": said["source_table"],
        "reading": said["reading"],
    }
    if public_key:
        if budget is not None or dataset is not None:
            raise click.UsageError("A public table has no people, so it has no budget either.")
        curator.add_public(name, source, key=public_key, **facts)
        return
    if (budget is None) is (dataset is None):
        raise click.UsageError(
            "Say what may be given away in all, --epsilon 3 --delta 1e-6, or whose people and "
            "budget it shares, --dataset DATASET; one of them."
        )
    limits = dp.Limits(said["max_groups"], said["max_rows"])
    unit = read_unit(said["unit"], said["key_path"], said["period"], each_row=said["each_row"])
    with reported(source, unit, **facts):
        curator.add(
            name,
            source,
            unit=unit,
            budget=budget,
            dataset=dataset,
            required=said["required"],
            limits=limits,
            max_table_rows=said.get("max_table_rows"),
            confirm=said["confirm"],
            **facts,
        )


@contextmanager
def reported(source: Path, unit: "str | Unit", **facts: Any) -> Iterator[None]:
    """Show the owner, where a file is refused, what it holds and what is to be decided."""
    try:
        yield
    except dp.InputError:
        with suppress(dp.InputError):
            column = unit if isinstance(unit, str) else getattr(unit, "column", None)
            found = dp.describe(source, unit=column, **facts)
            if not found.ready:
                click.echo(repr(found), err=True)
        raise


def read_unit(
    unit: str | None,
    key_path: tuple[str, str, str] | None,
    period: tuple[str, str, str] | None,
    *,
    each_row: bool,
) -> "str | Unit":
    """The privacy unit, given in exactly one way."""
    path = dp.KeyPath(*key_path) if key_path else None
    said = (unit, path, dp.PersonPeriod(*period) if period else None)
    given = [one for one in (*said, dp.EachRow() if each_row else None) if one is not None]
    if len(given) != 1:
        raise click.UsageError(
            "Say who is protected: --unit COLUMN that names the person, --path COLUMN TABLE KEY, "
            "--period COLUMN DATE EVERY, or --each-row."
        )
    return given[0]


def read_kinds(source: Path, name: str, said: Mapping[str, Any]) -> "dict[str, Kind]":
    """The kind of each column, to read keys by; InputError where an option names no column."""
    from discreet.curator.data.load_report import (  # noqa: PLC0415 - heavy room
        Stated,
        check_source,
        proposed_kinds,
    )
    from discreet.curator.data.sources import open_source  # noqa: PLC0415 - heavy room
    from discreet.plan.kinds import Kind  # noqa: PLC0415 - heavy room

    opened = open_source(source, said["reading"], said["source_table"], name)
    listed = [one[0] for option in ("kinds", "bounds", "keys") for one in said[option]]
    ways = [said["unit"], (said["key_path"] or [None])[0], *(said["period"] or ())[:2]]
    check_source(opened, (*ways, *said["required"], *listed))
    kinds = {column: Kind(kind) for column, kind in said["kinds"]}
    return proposed_kinds(opened, Stated(kinds=kinds))


def read_columns(
    bounds: tuple[tuple[str, Any, Any], ...],
    keys: tuple[tuple[str, str], ...],
    kinds: "Mapping[str, Kind]",
) -> "dict[str, dp.Bounds | dp.Keys]":
    """Declared columns."""
    from discreet.curator.client.declarations import read_key  # noqa: PLC0415 - heavy room

    columns: dict[str, dp.Bounds | dp.Keys] = {
        name: dp.Bounds(low, high) for name, low, high in bounds
    }
    for name, text in keys:
        if name in columns:
            raise click.UsageError(f"{name} has both bounds and keys; one of them says enough.")
        [values] = csv.reader([text])
        columns[name] = dp.Keys([read_key(value, kinds.get(name), name) for value in values])
    return columns


@options.command()
@click.argument("table")
@click.argument("source", type=click.Path(path_type=Path))
@options.curator_option
@click.option("--through", type=click.DateTime(["%Y-%m-%d"]), help="Rows are complete to this day.")
@click.option("--again", is_flag=True, help="Accept rows that were appended before.")
@options.reading_options
def append(
    *,
    table: str,
    source: Path,
    folder: Path,
    through: datetime | None,
    again: bool,
    reading: "Reading",
) -> None:
    """Append rows to a private table.

    They begin a version of its dataset; earlier versions can still be asked about. No budget grows:
    known people keep their accounts. Standing questions are answered through the day of --through.
    Texts are read like those of the first file, unless you say otherwise.

    Example: discreet append visits monday.parquet --through 2026-01-05
    """
    with options.open_curator(folder) as curator:
        day = None if through is None else through.date()
        read = reading if reading.to_dict() else None
        version = curator.append(table, source, through=day, again=again, reading=read)
    told = {"table": table, "version": version}
    draw = partial(click.echo, f"{table} is at version {version}")
    show(told, draw, rows=[told], names=list(told))


@options.command()
@click.argument("dataset", shell_complete=options.datasets)
@click.option("--reason", required=True, help="Why; the ledger keeps it.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@options.curator_option
def retire(*, dataset: str, reason: str, yes: bool, folder: Path) -> None:
    """End a dataset for ever.

    It takes no new questions, and its name is never used again. Its account stays, and its answers
    can still be read. Its files are no longer needed.

    Example: discreet retire visits --reason "the study is over" --yes
    """
    with options.open_curator(folder) as curator:
        options.confirm(f"End {dataset} for ever?", yes=yes)
        curator.retire(dataset, reason=reason)
    tell(f"{dataset} is retired.", {"curator": str(folder), "dataset": dataset, "retired": True})
