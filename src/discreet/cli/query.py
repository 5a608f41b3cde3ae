"""`discreet query`: ask."""

from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from discreet.cli import options
from discreet.cli.rows import plain, show, show_release

if TYPE_CHECKING:
    from discreet.answer.present.release import Release
    from discreet.curator.ledger.accounts import Account
    from discreet.privacy.budgets.charges import Charge


@options.command()
@click.argument("sql")
@options.curator_option
@options.server_option
@options.price_options
@click.option("--request", help="A name for this attempt: the same name is never charged twice.")
@click.option("--remeasure", is_flag=True, help="Measure again and merge with earlier answers.")
@click.option(
    "--outside",
    type=options.EXACT,
    metavar="EPSILON",
    help="Count the people in none of the answer's groups too, for an epsilon of its own.",
)
@click.option("--statement", is_flag=True, help="Add a paragraph on what was protected.")
def query(
    *,
    sql: str,
    folder: Path,
    price: dict[str, Any],
    analyst: str | None,
    request: str | None,
    remeasure: bool,
    outside: Fraction | None,
    statement: bool,
) -> None:
    """Ask a question in SQL.

    SQL is the question itself, or `-` to read it from standard input.

    The price is charged before data is touched and never refunded; asking the same again gives the
    same answer for nothing. A question about public tables alone is exact and needs no price. Exit
    status 2: refused, 3: the budget does not suffice; nothing was charged. 4: something failed, and
    asking again finishes it under the same charge.

    Example: discreet query "SELECT city, AVG(age) AS a FROM visits GROUP BY city" --epsilon 0.1
    """
    from discreet.sql.reader.read import read_public  # noqa: PLC0415 - heavy room

    if remeasure and request is not None:
        raise click.UsageError("--request names a first attempt; --remeasure makes another.")
    text = options.read_sql(sql)
    with options.open_curator(folder) as curator, Console(stderr=True).status("asking"):
        priced = price["epsilon"] is not None or price["accuracy"] is not None
        if not priced and (remeasure or read_public(text, curator.schema) is None):
            options.check_priced(price)
        if remeasure:
            release = curator.remeasure(text, analyst=analyst, **price)
        else:
            release = curator.sql(text, analyst=analyst, request=request, **price)
        rest = None
        if outside is not None:
            asked = {"epsilon": outside, "shown": release, "as_of": price["as_of"]}
            rest = curator.outside(text, analyst=analyst, **asked)
    left = {} if rest is None else {"outside": facts(rest)}
    show_release(release, lambda: {**facts(release), **left}, statement=statement)
    if rest is not None and options.shape() != "json":
        click.echo(f"\n{rest!r}", err=options.shape() == "csv")


def facts(release: "Release") -> dict[str, Any]:
    """A release as plain JSON; NULL and what JSON has no word for are null."""
    from discreet.answer.present.release_json import plain as value  # noqa: PLC0415 - heavy room

    rows = release.table.to_pylist()
    widths = {name: width.to_pylist() for name, width in release.half_widths.items()}
    return {
        "rows": [{name: value(one) for name, one in row.items()} for row in rows],
        "half_widths": [
            {name: value(width[i]) for name, width in widths.items()} for i in range(len(rows))
        ],
        "confidence": 0.95,
        "price": {"epsilon": float(release.price.epsilon), "delta": float(release.price.delta)},
        "budget_share": release.share,
        "neighbours": release.guarantee.neighbours.value,
        "notes": list(release.notes),
    }


CHARGED = ("account", "measure", "cost", "cost_delta", "cap", "left")
"""What is told of each charge."""


@options.command()
@click.argument("sql")
@options.curator_option
@options.server_option
@options.price_options
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
    """A sentence on the charge to each budget."""
    from discreet.answer.present.number_text import percent  # noqa: PLC0415 - heavy room

    lines = ["Charged, unless the same was asked before"]
    for account, cost in bill.items():
        share = f"{percent(account.share(cost))} of the budget: " if account.cap else ""
        left = "" if account.left is None else f" of {float(account.left.amount):.4g} left"
        paid = f"{float(cost.amount):.4g} {account.measure.name}{left}"
        lines.append(f"  {share}{paid} to {account.holder}")
    return "\n".join(lines)
