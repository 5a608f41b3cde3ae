"""`discreet order`: place an order of any kind."""

import json
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from rich.console import Console

from discreet.cli.explain import CHARGED, charges
from discreet.cli.options import (
    analyst_option,
    curator_option,
    open_curator,
    server_option,
    shape,
    shape_options,
)
from discreet.cli.rows import plain, show

if TYPE_CHECKING:
    from discreet.answer.present.base_release import BaseRelease
    from discreet.curator.ledger.accounts import Account
    from discreet.curator.planned_orders import OrderExplanation
    from discreet.privacy.budgets.charges import Charge


@click.command()
@click.argument("kind")
@click.argument("file", type=click.File(encoding="utf-8"))
@curator_option
@server_option
@analyst_option
@click.option("--request", help="A name for this attempt: the same name is never charged twice.")
@click.option("--explain", is_flag=True, help="Tell price and quality; charge nothing.")
@click.option("--statement", is_flag=True, help="Add a paragraph on what was protected.")
@shape_options
def order(
    *,
    kind: str,
    file: IO[str],
    folder: Path,
    analyst: str | None,
    request: str | None,
    explain: bool,
    statement: bool,
) -> None:
    """Place an order of any KIND.

    FILE has the order as a JSON object, price included; `-` reads it from standard input. A
    question is an order of kind query.

    The price is charged before data is touched and never refunded; the same order again gives the
    same release for nothing. The exit status is that of `discreet query`.

    Example: discreet order query count.json --explain

    where count.json is {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 0.1}
    """
    spec = _read(file)
    with open_curator(folder) as curator, Console(stderr=True).status("asking"):
        if explain:
            told = curator.explain_order(kind, spec, analyst=analyst)
            bill = curator.cost_order(kind, spec, analyst=analyst)
        else:
            release = curator.order(kind, spec, analyst=analyst, request=request)
    if explain:
        show_explanation(told, bill)
    else:
        show_release(release, statement=statement)


def show_explanation(told: "OrderExplanation", bill: "dict[Account, Charge]") -> None:
    """Print what an order would cost."""
    from discreet.curator.reports.json_views import charge_facts  # noqa: PLC0415 - heavy room

    costs = [charge_facts(account, cost) for account, cost in bill.items()]
    price = {"epsilon": float(told.price.epsilon), "delta": float(told.price.delta)}
    facts = {"price": price, "neighbours": told.neighbours.value, "charges": costs}
    draw = partial(plain, f"{told!r}\n\n{charges(bill)}")
    show({**told.facts, **facts}, draw, rows=costs, names=CHARGED)


def show_release(release: "BaseRelease", *, statement: bool) -> None:
    """Print a release, and its statement if asked for."""
    from discreet.answer.present.release import as_table  # noqa: PLC0415 - heavy room

    if shape() == "csv":
        click.echo(as_table(release).to_csv(), nl=False)
    elif shape() == "json":
        price = {"epsilon": float(release.price.epsilon), "delta": float(release.price.delta)}
        said = {"statement": release.statement()} if statement else {}
        click.echo(json.dumps({**release.json_facts(), "price": price, **said}, indent=2))
    else:
        plain(repr(release))
    if statement and shape() != "json":
        click.echo(release.statement(), err=shape() == "csv")  # a table stays a table


def _read(file: IO[str]) -> dict[str, Any]:
    """The JSON object in a file; what JSON has no word for is refused."""
    try:
        spec = json.load(file, parse_constant=_refuse)
    except (ValueError, RecursionError):
        spec = None
    if not isinstance(spec, dict):
        raise click.UsageError('FILE has to hold one JSON object, such as {"sql": "SELECT ..."}.')
    return spec


def _refuse(name: str) -> None:
    raise ValueError(name)
