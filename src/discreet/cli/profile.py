"""`discreet profile`: one private look at every column of a table."""

from fractions import Fraction

import click

from discreet.cli.options import shape
from discreet.cli.order import OrderPlacement, order_options, price_of_all, show_release
from discreet.cli.rows import write_csv


@click.command()
@click.argument("table")
@price_of_all
@order_options
def profile(
    *, table: str, epsilon: Fraction, delta: Fraction | None, order: OrderPlacement
) -> None:
    """Look at every column of TABLE at one price.

    It counts rows, people and NULLs, and tells different values, ranges, quantiles and frequent
    values. Later questions of the same analyst that need bounds take them from it. The exit status
    is that of `discreet query`.

    Example: discreet profile visits --epsilon 0.5
    """
    from discreet.curator.arguments import order_spec  # noqa: PLC0415 - heavy room

    made = order.place("profile", order_spec({"table": table, "epsilon": epsilon, "delta": delta}))
    if made is None:
        return
    if shape() != "csv":
        show_release(made, statement=order.statement)
        return
    click.echo(write_csv(made.to_arrow().to_pylist()), nl=False)
    if order.statement:
        click.echo(made.statement(), err=True)
