"""`discreet explain`: what a question would cost, before it is asked."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import options
from discreet.cli.rows import plain, show

if TYPE_CHECKING:
    from discreet.curator.ledger.accounts import Account
    from discreet.privacy.budgets.charges import Charge

CHARGED = ("account", "measure", "cost", "cost_delta", "cap", "left")
"""What is told of each charge."""


@click.command()
@click.argument("sql")
@options.curator_option
@options.server_option
@options.price_options
@options.shape_options
def explain(*, sql: str, folder: Path, price: dict[str, Any], analyst: str | None) -> None:
    """Show the price and error of a question.

    Only the question and public facts are read, so this can be done as often as you like.

    Example: discreet explain "SELECT city, COUNT(*) AS n FROM visits GROUP BY city" --within 50
    """
    from discreet.curator.reports.json_views import explanation_facts  # noqa: PLC0415 - heavy room

    text = options.read_sql(sql)
    options.check_priced(price)
    with options.open_curator(folder) as curator:
        told = curator.explain(text, analyst=analyst, **price)
        bill = curator.cost(text, analyst=analyst, **price)
    facts = explanation_facts(told, bill)
    draw = partial(plain, f"{told!r}\n\n{charges(bill)}")
    show(facts, draw, rows=facts["charges"], names=CHARGED)


def charges(bill: "dict[Account, Charge]") -> str:
    """The charge to each budget, in words."""
    from discreet.answer.present.number_text import percent  # noqa: PLC0415 - heavy room

    lines = ["Charged, unless the same was asked before"]
    for account, cost in bill.items():
        share = f"{percent(account.share(cost))} of the budget: " if account.cap else ""
        left = "" if account.left is None else f" of {float(account.left.amount):.4g} left"
        paid = f"{float(cost.amount):.4g} {account.measure.name}{left}"
        lines.append(f"  {share}{paid} to {account.holder}")
    return "\n".join(lines)
