"""Budgets: `discreet budget` shows what is left and sets caps; `person` is about one person's."""

import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.cli import options
from discreet.cli.rows import plain, show, tell

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.curator.budget import Budget
    from discreet.curator.ledger.accounts import Account

_GAUGE = 10
_WIDE = 76
_NUMBERS: dict[str, Literal["left", "right"]] = {
    "gauge": "left",
    "spent": "right",
    "of": "right",
    "promise": "right",
}
_ORDER = ("link", "dataset", "group", "analyst", "workbook")


@options.group(invoke_without_command=True)
@options.curator_option
@options.server_option
@click.pass_context
def budget(ctx: click.Context, *, folder: Path) -> None:
    """Show what is left of all budgets.

    `grant` gives an analyst a cap, `group` several of them one; `link` counts datasets about the
    same people together; `raise` changes a cap, with a reason that the ledger keeps.

    Example: discreet budget
    """
    if ctx.invoked_subcommand is not None:
        return
    with options.open_curator(folder) as curator:
        accounts = curator.as_auditor().accounts()
    rows = [facts(one) for one in accounts]
    show(rows, lambda: Console().print(_drawn(list(accounts))), rows=rows)


@budget.command()
@click.argument("analyst")
@click.argument("dataset", shell_complete=options.datasets)
@options.curator_option
@options.budget_options
def grant(*, analyst: str, dataset: str, folder: Path, budget: "Budget | None") -> None:
    """Give ANALYST a cap of their own within the cap of DATASET.

    Example: discreet budget grant alice visits --epsilon 1 --delta 1e-7
    """
    with options.open_curator(folder) as curator:
        account = curator.grant(analyst, dataset, _needed(budget))
    tell(f"{analyst} has a cap within {dataset}.", facts(account))


@budget.command(name="raise")
@click.argument("dataset", shell_complete=options.datasets)
@click.option("--reason", required=True, help="Reason, kept in the ledger.")
@click.option("--analyst", help="Raise the cap of this analyst instead.")
@click.option("--group", help="Raise the cap of this group instead.")
@click.option("--link", is_flag=True, help="DATASET is the name of a link.")
@options.curator_option
@options.budget_options
def raise_(
    *,
    dataset: str,
    reason: str,
    analyst: str | None,
    group: str | None,
    link: bool,
    folder: Path,
    budget: "Budget | None",
) -> None:
    """Give DATASET another cap for ever; the ledger keeps the reason.

    Example: discreet budget raise visits --epsilon 5 --delta 1e-6 --reason "board, 12 May"
    """
    if link and (analyst or group):
        raise click.UsageError("A link holds datasets; analysts and groups are within one of them.")
    cap = _needed(budget)
    with options.open_curator(folder) as curator:
        if link:
            account = curator.raise_link(dataset, cap, reason=reason)
        else:
            whose = {"analyst": analyst, "group": group}
            account = curator.raise_budget(dataset, cap, reason=reason, **whose)
    tell(f"The cap of {account.holder} is changed, and the ledger says why.", facts(account))


@budget.command()
@click.argument("name")
@click.argument("dataset", shell_complete=options.datasets)
@click.argument("analysts", nargs=-1, required=True, metavar="ANALYST...")
@options.curator_option
@options.budget_options
def group(
    *, name: str, dataset: str, analysts: tuple[str, ...], folder: Path, budget: "Budget | None"
) -> None:
    """Give several analysts of DATASET one cap, or count what they learn together.

    Example: discreet budget group lab visits alice bob --epsilon 2 --delta 1e-6
    """
    with options.open_curator(folder) as curator:
        account = curator.group(name, dataset, analysts, budget)
    tell(f"{name} is a group within {dataset}.", facts(account))


@budget.command()
@click.argument("name")
@click.argument(
    "datasets", nargs=-1, required=True, metavar="DATASET...", shell_complete=options.datasets
)
@options.curator_option
@options.budget_options
def link(*, name: str, datasets: tuple[str, ...], folder: Path, budget: "Budget | None") -> None:
    """Declare that datasets hold the same people; cap, or count, what one of them loses.

    Example: discreet budget link people visits bills --epsilon 5 --delta 1e-6
    """
    with options.open_curator(folder) as curator:
        account = curator.link(name, datasets, budget)
    tell(f"{name} links {', '.join(datasets)}.", facts(account))


@budget.command()
@options.budget_options
def compare(*, budget: "Budget | None") -> None:
    """Show how precise 1 to 1,000 counts are under a budget, by each --measure.

    Example: discreet budget compare --epsilon 1 --delta 1e-6
    """
    found = _needed(budget).compare()
    rows: list[dict[str, Any]] = [
        {
            "measure": name,
            **{f"{n} questions": width for n, width in zip(found.questions, widths, strict=True)},
        }
        for name, widths in found.half_widths.items()
    ]
    head = "95 % interval of each count, if all share the budget equally:"
    show(rows, lambda: click.echo(f"{head}\n{found}"), rows=rows)


def _needed(budget: "Budget | None") -> "Budget":
    if budget is None:
        raise click.UsageError("Say how much: --epsilon 3 --delta 1e-6.")
    return budget


def facts(account: "Account") -> dict[str, Any]:
    """An account as plain JSON."""
    cap, left = account.limit, account.left
    return {
        "kind": account.holder.kind,
        "name": account.holder.name,
        "within": account.holder.within,
        "measure": account.measure.name,
        "neighbours": account.neighbours.value,
        "cap": None if cap is None else float(cap.amount),
        "spent": float(account.total.amount),
        "left": None if left is None else float(left.amount),
        "cap_delta": None if cap is None else float(cap.delta),
        "spent_delta": float(account.total.delta),
        "stated_epsilon": None if account.stated is None else float(account.stated[0]),
        "stated_delta": None if account.stated is None else float(account.stated[1]),
    }


def gauge(account: "Account", width: int = _GAUGE) -> str:
    """A bar that empties as a budget is spent; green, then yellow, then red."""
    if account.cap is None:
        return "each person's own" if account.is_per_person else "no cap"
    # Whichever of amount and delta runs out first stops questions.
    parts = zip(account.cap, account.spent, strict=True)
    share = min((1 - Fraction(spent, cap) for cap, spent in parts if cap), default=Fraction(0))
    full = round(share * width)
    colour = "green" if share > Fraction(1, 2) else "yellow" if share > Fraction(1, 5) else "red"
    bar = f"[{colour}]{'█' * full}[/][dim]{'░' * (width - full)}[/]"
    return f"{bar} {float(share):.0%} left"


def _drawn(accounts: "list[Account]") -> Table:
    from discreet.curator.reports.privacy_promise import promised  # noqa: PLC0415 - heavy room

    wide = Console().width >= _WIDE  # else names would be squeezed out by numbers
    table = Table(caption="Budgets never reset by themselves.")
    table.add_column("budget of", overflow="fold")
    for heading, side in _NUMBERS.items():
        table.add_column(heading, justify=side, no_wrap=wide, overflow="fold")
    for one in sorted(accounts, key=lambda account: _ORDER.index(account.holder.kind)):
        cap = "" if one.limit is None else f"{float(one.limit.amount):.4g} "
        spent = f"{float(one.total.amount):.4g}"
        promise = "\n".join(f"{name} {amount:.4g}" for name, amount in promised(one).items())
        table.add_row(escape(str(one.holder)), gauge(one), spent, cap + one.measure.name, promise)
    return table


# --- one person with a budget of their own -------------------------------------------------------

_DATASET = "The dataset of the person, if several have per-person budgets."


def _about_person(command: "Callable[..., None]") -> "Callable[..., None]":
    """The name of a person, a dataset, and the curator's folder; no token opens such an account."""
    dataset = click.option("--dataset", help=_DATASET)
    return click.argument("name")(dataset(options.curator_option(command)))


@options.group()
def person() -> None:
    """Manage per-person budgets (owner only).

    NAME is what stands in the column that names people; - reads it from the standard input, so that
    it is in no history of commands.

    Example: discreet person statement 17
    """


@person.command()
@_about_person
def statement(*, name: str, dataset: str | None, folder: Path) -> None:
    """Print what was computed with NAME in it, and what it can have revealed.

    It depends on that person's data: hand it to them, and to nobody else.

    Example: discreet person statement 17
    """
    with options.open_curator(folder) as curator:
        told = curator.statement_for(curator.person_named(_read(name), dataset), dataset=dataset)
    facts = told.to_dict()
    rows = [{**one, "odds": told.odds} for one in facts["releases"]]
    names = ["charge", "time", "dataset", "asked", "share", "odds"]
    show(facts, lambda: plain(str(told)), rows=rows, names=names)


@person.command()
@_about_person
@click.option("--epsilon", type=options.EXACT, required=True, help="The limit of NAME; 0 opts out.")
def limit(*, name: str, dataset: str | None, folder: Path, epsilon: Fraction) -> None:
    """Give NAME a lower limit than the others, from the next question on.

    Nothing checks whether there is such a person.

    Example: discreet person limit 17 --epsilon 0
    """
    with options.open_curator(folder) as curator:
        who = curator.person_named(_read(name), dataset)
        curator.limit_person(who, epsilon=epsilon, dataset=dataset)
    tell("The limit is set.", {"limited": True, "epsilon": str(epsilon)})


@person.command()
@_about_person
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def remove(*, name: str, dataset: str | None, folder: Path, yes: bool) -> None:
    """Close the account of NAME for ever: their rows are in no later answer.

    Rows that come later under this name are left out as well.

    Example: discreet person remove 17 --yes
    """
    who = _read(name)
    options.confirm("Close this account for ever?", yes=yes)
    with options.open_curator(folder) as curator:
        curator.remove_person(curator.person_named(who, dataset), dataset=dataset)
    tell("The account is closed.", {"removed": True})


def _read(name: str) -> str:
    return sys.stdin.readline().rstrip("\r\n") if name == "-" else name
