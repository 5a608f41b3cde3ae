"""`discreet online`: open an epoch of online counting queries and answer them line by line."""

import json
from fractions import Fraction
from pathlib import Path
from typing import IO

import click

from discreet.cli.options import EXACT, curator_option, open_curator, shape, shape_options
from discreet.cli.rows import write_csv


@click.command()
@click.argument("table")
@click.argument("file", type=click.File(encoding="utf-8"), default="-")
@curator_option
@click.option("--column", "columns", multiple=True, required=True, help="A column; repeat it.")
@click.option("--epsilon", type=EXACT, required=True, help="What the whole epoch costs.")
@click.option("--delta", type=EXACT, help="Its delta [default: dataset delta / 50].")
@click.option("--accuracy", type=EXACT, help="Rows from which on an error is measured.")
@click.option("--epoch", type=int, help="Tells epochs with the same words apart [default: 1].")
@click.option("--analyst", default="owner", show_default=True, help="Who asks.")
@shape_options
def online(
    *,
    table: str,
    file: IO[str],
    folder: Path,
    columns: tuple[str, ...],
    epsilon: Fraction,
    delta: Fraction | None,
    accuracy: Fraction | None,
    epoch: int | None,
    analyst: str,
) -> None:
    """Answer counting queries about TABLE, one JSON object a line of FILE (standard input).

    The epoch is charged once; the same words go on with it. Each call begins a run, and an epoch
    has a few of them to spare: ask many queries in one call.

    Example: discreet online people queries.jsonl --column sex --epsilon 1

    where a line of queries.jsonl is {"sex": ["female"]}
    """
    with open_curator(folder) as curator:
        session = curator.online(
            table,
            columns=columns,
            epsilon=epsilon,
            delta=delta,
            accuracy=accuracy,
            epoch=epoch,
            analyst=analyst,
        )
        for number, line in enumerate(filter(str.strip, file)):
            found = session.ask(_where(line)).to_dict()
            if shape() == "csv":
                text = write_csv([found], list(found))
                click.echo(text if number == 0 else text.partition("\n")[2], nl=False)
            elif shape() == "json":
                click.echo(json.dumps(found))
            else:
                click.echo("{value:,.0f} ({low:,.0f} to {high:,.0f})".format(**found))


def _where(line: str) -> dict[str, object]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise click.UsageError('Each line has to hold one JSON object: {"sex": ["female"]}.')
    return found
