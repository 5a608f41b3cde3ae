"""`discreet order`: place an order of any kind."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial, wraps
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import click
from rich.console import Console

from discreet.cli.explain import CHARGED, charges
from discreet.cli.options import (
    EXACT,
    F,
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
    from discreet.curator.orders.planned_orders import OrderExplanation
    from discreet.privacy.budgets.charges import Charge


@dataclass(frozen=True, slots=True)
class OrderPlacement:
    """Where, for whom and how an order of a command is placed, and what is told of it."""

    folder: Path
    analyst: str | None
    request: str | None
    explain: bool
    statement: bool

    def place(self, kind: str, spec: Mapping[str, Any]) -> Any:
        """Place an order and return its release; with --explain, only price and quality."""
        with open_curator(self.folder) as curator, Console(stderr=True).status("asking"):
            if self.explain:
                told = curator.explain_order(kind, spec, analyst=self.analyst)
                show_explanation(told, curator.cost_order(kind, spec, analyst=self.analyst))
                return None
            return curator.order(kind, spec, analyst=self.analyst, request=self.request)


def order_options(command: F) -> F:
    """The options of all orders; the command gets an `order`."""

    @wraps(command)
    def read(**said: Any) -> Any:
        own = {one.name: said.pop(one.name) for one in fields(OrderPlacement)}
        return command(order=OrderPlacement(**own), **said)

    options = shape_options(cast("F", read))
    for name, text in (
        ("--statement", "Add a paragraph on what was protected."),
        ("--explain", "Tell price and quality; charge nothing."),
    ):
        options = click.option(name, is_flag=True, help=text)(options)
    attempt = "A name for this attempt: the same name is never charged twice."
    options = click.option("--request", help=attempt)(options)
    return curator_option(server_option(analyst_option(options)))


def price_of_all(command: F) -> F:
    """`--epsilon` and `--delta` of all that an order makes."""
    delta = "Delta of all of it  [default: dataset delta / 50]"
    command = click.option("--delta", type=EXACT, help=delta)(command)
    return click.option("--epsilon", type=EXACT, required=True, help="Epsilon of all of it.")(
        command
    )


@click.command()
@click.argument("kind")
@click.argument("file", type=click.File(encoding="utf-8"))
@order_options
def order(*, kind: str, file: IO[str], order: OrderPlacement) -> None:
    """Place an order of any KIND.

    FILE has the order as a JSON object, price included; `-` reads it from standard input. A
    question is an order of kind query.

    The price is charged before data is touched and never refunded; the same order again gives the
    same release for nothing. The exit status is that of `discreet query`.

    Example: discreet order query count.json --explain

    where count.json is {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 0.1}
    """
    if (made := order.place(kind, _read(file))) is not None:
        show_release(made, statement=order.statement)


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
