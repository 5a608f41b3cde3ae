"""`discreet watch`: a standing question, as far as it is answered."""

import json
import sys
from datetime import datetime
from fractions import Fraction
from pathlib import Path

import click
from rich.console import Console

from discreet.cli.options import EXACT, curator_option, open_curator, read_sql, shape, shape_options

_DAY = click.DateTime(["%Y-%m-%d"])


@click.command()
@click.argument("sql")
@curator_option
@click.option("--every", required=True, help="hour, day, week, month, quarter or year.")
@click.option("--until", type=_DAY, required=True, help="The last day.")
@click.option("--since", type=_DAY, help="The first day  [default: the column's lower bound]")
@click.option("--column", help="The column of dates, where there are several.")
@click.option("--max-periods", type=int, help="Periods one person counts in  [default: 1]")
@click.option("--epsilon", type=EXACT, required=True, help="What all periods cost together.")
@click.option("--delta", type=EXACT, help="Its delta  [default: dataset delta / 50]")
@click.option("--analyst", default="owner", show_default=True, help="Who asks.")
@shape_options
def watch(
    *,
    sql: str,
    folder: Path,
    every: str,
    until: datetime,
    since: datetime | None,
    column: str | None,
    max_periods: int | None,
    epsilon: Fraction,
    delta: Fraction | None,
    analyst: str,
) -> None:
    """Ask a count in every period, for one price, and print what is answered so far.

    The same words go on with the same question and cost nothing more. Periods are answered when
    rows were appended with --through.

    Example: discreet watch "SELECT city, COUNT(*) AS n FROM visits GROUP BY city" --every day
    --until 2026-12-31 --epsilon 1
    """
    text = read_sql(sql)
    with open_curator(folder) as curator:
        release = curator.watch(
            text,
            every=every,
            until=until.date(),
            since=None if since is None else since.date(),
            column=column,
            max_periods=max_periods,
            epsilon=epsilon,
            delta=delta,
            analyst=analyst,
        ).release()
    if shape() == "csv":
        click.echo(release.to_csv(), nl=False)
    elif shape() == "json":
        click.echo(json.dumps(release.json_facts(), indent=2))
    else:
        Console(file=sys.stdout).print(repr(release), markup=False, highlight=False, soft_wrap=True)
