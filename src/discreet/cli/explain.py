"""`discreet explain`: what a question would cost, before it is asked."""

import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from discreet.cli.options import (
    curator_option,
    open_curator,
    price_options,
    read_price,
    read_sql,
)

if TYPE_CHECKING:
    from discreet.answer.explain import Explanation
    from discreet.curator.accounts import Account
    from discreet.privacy.charges import Charge


@click.command()
@click.argument("sql")
@curator_option
@price_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def explain(
    *,
    sql: str,
    folder: Path,
    epsilon: Fraction | None,
    within: Fraction | None,
    delta: Fraction | None,
    analyst: str,
    as_json: bool,
) -> None:
    """Tell price and error of a question.

    Only the question and public facts are read, so this can be done as often as you like.

    Example: discreet explain "SELECT city, COUNT(*) AS n FROM visits GROUP BY city" --within 50
    """
    price = read_price(epsilon, delta, within)
    text = read_sql(sql)
    with open_curator(folder) as curator:
        told = curator.explain(text, analyst=analyst, **price)
        bill = curator.cost(text, analyst=analyst, **price)
    if as_json:
        click.echo(json.dumps(facts(told, bill), indent=2))
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


def facts(told: "Explanation", bill: "dict[Account, Charge]") -> dict[str, Any]:
    """An explanation as plain JSON."""
    columns = {name for part in told.parts for one in part.options for name in one.expected}
    return {
        "price": {"epsilon": float(told.price.epsilon), "delta": float(told.price.delta)},
        "neighbours": told.neighbours.value,
        "protects": told.facts.unit,
        "charges": [
            {
                "account": str(account.holder),
                "measure": account.measure.name,
                "cost": float(cost.amount),
                "cost_delta": float(cost.delta),
                "left": None if account.left is None else float(account.left.amount),
            }
            for account, cost in bill.items()
        ],
        "half_widths": {name: told.half_width(name) for name in sorted(columns)},
        "laws": sorted({one.weighing.law.value for part in told.parts for one in part.options}),
        "sql": list(told.sql),
    }
