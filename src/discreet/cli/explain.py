"""`discreet explain`: what a question would cost, before it is asked."""

import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from discreet.cli.options import (
    curator_option,
    open_curator,
    price_options,
    read_price,
    read_sql,
    shape_options,
)
from discreet.cli.rows import write_csv

if TYPE_CHECKING:
    from discreet.curator.ledger.accounts import Account
    from discreet.privacy.budgets.charges import Charge

CHARGED = ("account", "measure", "cost", "cost_delta", "cap", "left")
"""What is told of each charge."""


@click.command()
@click.argument("sql")
@curator_option
@price_options
@shape_options
def explain(
    *,
    sql: str,
    folder: Path,
    epsilon: Fraction | None,
    within: Fraction | None,
    delta: Fraction | None,
    weights: tuple[tuple[str, Fraction], ...],
    as_of: int | None,
    analyst: str,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Show the price and error of a question.

    Only the question and public facts are read, so this can be done as often as you like.

    Example: discreet explain "SELECT city, COUNT(*) AS n FROM visits GROUP BY city" --within 50
    """
    from discreet.curator.reports.json_views import explanation_facts  # noqa: PLC0415 - heavy room

    price = read_price(epsilon, delta, within, weights, as_of)
    text = read_sql(sql)
    with open_curator(folder) as curator:
        told = curator.explain(text, analyst=analyst, **price)
        bill = curator.cost(text, analyst=analyst, **price)
    if as_json:
        click.echo(json.dumps(explanation_facts(told, bill), indent=2))
    elif as_csv:
        click.echo(write_csv(explanation_facts(told, bill)["charges"], CHARGED), nl=False)
    else:
        shown = f"{told!r}\n\n{charges(bill)}"
        Console().print(shown, markup=False, highlight=False, soft_wrap=True)


def charges(bill: "dict[Account, Charge]") -> str:
    """What each budget pays, in words."""
    lines = ["Charged, unless the same was asked before"]
    for account, cost in bill.items():
        left = "" if account.left is None else f" of {float(account.left.amount):.4g} left"
        lines.append(f"  {float(cost.amount):.4g} {account.measure.name}{left} to {account.holder}")
    return "\n".join(lines)
