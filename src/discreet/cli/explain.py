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
    with open_curator(folder) as curator:
        told = curator.explain(read_sql(sql), analyst=analyst, **price)
    if as_json:
        click.echo(json.dumps(facts(told), indent=2))
    else:
        Console().print(repr(told), markup=False, highlight=False, soft_wrap=True)


def facts(told: "Explanation") -> dict[str, Any]:
    """An explanation as plain JSON."""
    columns = {name for part in told.parts for one in part.options for name in one.expected}
    return {
        "price": {"epsilon": float(told.price.epsilon), "delta": float(told.price.delta)},
        "neighbours": told.neighbours.value,
        "protects": told.facts.unit,
        "half_widths": {name: told.half_width(name) for name in sorted(columns)},
        "laws": sorted({one.weighing.law.value for part in told.parts for one in part.options}),
        "sql": list(told.sql),
    }
