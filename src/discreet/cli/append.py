"""`discreet append`: more rows for a table that is there."""

from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.options import curator_option, open_curator, reading_options, shape_options
from discreet.cli.rows import show

if TYPE_CHECKING:
    from discreet.engines.reading import Reading


@click.command()
@click.argument("table")
@click.argument("source", type=click.Path(path_type=Path))
@curator_option
@click.option("--through", type=click.DateTime(["%Y-%m-%d"]), help="Rows are complete to this day.")
@click.option("--again", is_flag=True, help="Take rows that were appended before.")
@reading_options
@shape_options
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
    known people have the accounts they had. Standing questions go on through the day of --through.
    Texts are read as those of the file that was added, unless you say otherwise.

    Example: discreet append visits monday.parquet --through 2026-01-05
    """
    with open_curator(folder) as curator:
        day = None if through is None else through.date()
        read = reading if reading.to_dict() else None
        version = curator.append(table, source, through=day, again=again, reading=read)
    told = {"table": table, "version": version}
    draw = partial(click.echo, f"{table} is at version {version}")
    show(told, draw, rows=[told], names=list(told))
