"""`discreet profile`: one private look at every column of a table."""

from fractions import Fraction
from pathlib import Path

import click
from rich.console import Console

from discreet.cli.options import (
    Exact,
    analyst_option,
    curator_option,
    open_curator,
    server_option,
    shape,
    shape_options,
)
from discreet.cli.order import show_explanation, show_release
from discreet.cli.rows import write_csv


@click.command()
@click.argument("table")
@curator_option
@server_option
@click.option("--epsilon", type=Exact(), required=True, help="Epsilon of all of it.")
@click.option("--delta", type=Exact(), help="Delta of all of it  [default: dataset delta / 50]")
@analyst_option
@click.option("--request", help="A name for this attempt: the same name is never charged twice.")
@click.option("--explain", is_flag=True, help="Tell price and noise; charge nothing.")
@click.option("--statement", is_flag=True, help="Add a paragraph on what was protected.")
@shape_options
def profile(
    *,
    table: str,
    folder: Path,
    epsilon: Fraction,
    delta: Fraction | None,
    analyst: str | None,
    request: str | None,
    explain: bool,
    statement: bool,
) -> None:
    """Look at every column of TABLE at one price.

    It counts rows, people and NULLs, and tells different values, ranges, quantiles and frequent
    values. Later questions of the same analyst that need bounds take them from it. The exit status
    is that of `discreet query`.

    Example: discreet profile visits --epsilon 0.5
    """
    from discreet.curator.order_arguments import order_spec  # noqa: PLC0415 - heavy room

    spec = order_spec({"table": table, "epsilon": epsilon, "delta": delta})
    with open_curator(folder) as curator, Console(stderr=True).status("looking"):
        if explain:
            told = curator.explain_order("profile", spec, analyst=analyst)
            show_explanation(told, curator.cost_order("profile", spec, analyst=analyst))
            return
        made = curator.profile(
            table, epsilon=epsilon, delta=delta, analyst=analyst, request=request
        )
    if shape() == "csv":
        click.echo(write_csv(made.to_arrow().to_pylist()), nl=False)
        if statement:
            click.echo(made.statement(), err=True)
    else:
        show_release(made, statement=statement)
