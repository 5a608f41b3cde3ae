"""`discreet person`: what an owner does for one person who has a budget of their own."""

import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.options import EXACT, confirm, curator_option, open_curator, shape_options
from discreet.cli.rows import plain, show, tell

if TYPE_CHECKING:
    from collections.abc import Callable

_DATASET = "The dataset of the person, where several have budgets a person."


def _about_person(command: "Callable[..., None]") -> "Callable[..., None]":
    """The name of a person, a dataset, and the curator's folder; no token opens such an account."""
    parts = (
        click.argument("name"),
        click.option("--dataset", help=_DATASET),
        curator_option,
        shape_options,
    )
    for part in reversed(parts):
        command = part(command)
    return command


@click.group()
def person() -> None:
    """Look after people who have budgets of their own: for the owner alone.

    NAME is what stands in the column that names people; - reads it from the standard input, so that
    it is in no history of commands.

    Example: discreet person statement 17
    """


@person.command()
@_about_person
def statement(*, name: str, dataset: str | None, folder: Path) -> None:
    """Print what was computed with NAME in it, and what it can have told anyone.

    It depends on that person's data: hand it to them, and to nobody else.

    Example: discreet person statement 17
    """
    with open_curator(folder) as curator:
        told = curator.statement_for(curator.person_named(_read(name), dataset), dataset=dataset)
    facts = told.to_dict()
    rows = [{**one, "odds": told.odds} for one in facts["releases"]]
    names = ["charge", "time", "dataset", "asked", "share", "odds"]
    show(facts, lambda: plain(str(told)), rows=rows, names=names)


@person.command()
@_about_person
@click.option("--epsilon", type=EXACT, required=True, help="What NAME may lose; 0 opts out.")
def limit(*, name: str, dataset: str | None, folder: Path, epsilon: Fraction) -> None:
    """Let NAME lose less than the others, from the next question on.

    Whether there is such a person is not looked at.

    Example: discreet person limit 17 --epsilon 0
    """
    with open_curator(folder) as curator:
        who = curator.person_named(_read(name), dataset)
        curator.limit_person(who, epsilon=epsilon, dataset=dataset)
    tell("The limit is set.", {"limited": True, "epsilon": str(epsilon)})


@person.command()
@_about_person
@click.option("--yes", is_flag=True, help="Do not ask whether it is meant.")
def remove(*, name: str, dataset: str | None, folder: Path, yes: bool) -> None:
    """Close the account of NAME for ever: their rows are in no later answer.

    Rows that come later under this name are left out as well.

    Example: discreet person remove 17 --yes
    """
    who = _read(name)
    confirm("Close this account for ever?", yes=yes)
    with open_curator(folder) as curator:
        curator.remove_person(curator.person_named(who, dataset), dataset=dataset)
    tell("The account is closed.", {"removed": True})


def _read(name: str) -> str:
    return sys.stdin.readline().rstrip("\r\n") if name == "-" else name
