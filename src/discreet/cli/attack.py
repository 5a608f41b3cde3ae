"""`discreet attack`: run a published attack against raw, classical or private answers."""

from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

import discreet as dp
from discreet.cli.options import EXACT, HELP, NEW_FILE, Group, command
from discreet.cli.rows import show
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.lab import Against, Outcome, Play, Setting

_LIST = "list"
_AGAINST = ("raw", "rounded", "private")


class Lab(Group):
    """Finds an attack by its name; the lab is imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all attacks, and `list`."""
        return [_LIST, *dp.lab.PLAYS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of one attack."""
        if cmd_name == _LIST:
            return list_attacks
        return _command(cmd_name, dp.lab.PLAYS[cmd_name]) if cmd_name in dp.lab.PLAYS else None


@click.group(cls=Lab, context_settings=HELP)
def attack() -> None:
    """Run a published attack, with the same effort, against raw, classical or private answers.

    People are made up. Success above the bound refutes the promise of epsilon; chance is what
    somebody guesses who sees no answers.

    Example: discreet attack reconstruct --against private --epsilon 1 --plot out.svg
    """


@command(_LIST)
def list_attacks() -> None:
    """List the attacks and what each is played against.

    Example: discreet attack list
    """
    fields = ("summary", "success", "raw", "rounded", "private", "unit", "paper", "effort")
    facts = [
        {"name": name, **{field: getattr(one.story, field) for field in fields}}
        for name, one in dp.lab.PLAYS.items()
    ]
    table = Table("attack", "what it does", "rounded", "private")
    for name, one in dp.lab.PLAYS.items():
        table.add_row(name, one.story.summary, one.story.rounded, one.story.private)
    show(facts, lambda: Console().print(table), rows=facts)


def _command(name: str, one: "Play") -> click.Command:
    """The command of one attack."""
    told = one.story

    @click.option(
        "--against",
        type=click.Choice(_AGAINST),
        default="private",
        help=f"Whose answers. rounded: {told.rounded}; private: {told.private}.",
    )
    @click.option(
        "--epsilon",
        type=EXACT,
        default="1",
        help="The promise for all answers together; private answers keep it.",
    )
    @click.option(
        "--effort",
        type=click.IntRange(min=1, max=10**12),
        default=told.effort,
        help=f"How many {told.unit}.",
    )
    @click.option("--seed", type=int, default=0, help="Seed of the made-up people.")
    @click.option(
        "--plot", type=NEW_FILE, help="Draw the outcome (.svg, or .png with discreet[chart])."
    )
    def call(
        *, against: "Against", epsilon: Fraction, effort: int, seed: int, plot: Path | None
    ) -> None:
        from discreet.lab import Setting, picture  # noqa: PLC0415 - heavy room

        try:
            setting = Setting(against, effort, epsilon, seed)
            outcome = one.run(setting)
        except MemoryError:
            raise InputError(
                f"effort is {effort}",
                why=f"so many {told.unit} do not fit into memory",
                fix="pass a smaller --effort",
            ) from None
        if plot is not None:
            title = f"{name}: what an attacker finds out, epsilon {float(epsilon):g}"
            picture.save(picture.draw(title, {against: outcome}, told.success), plot)
        facts = {"attack": name, "against": against, "epsilon": float(epsilon)}
        facts |= {**asdict(outcome), "refutes": outcome.refutes}
        show(facts, lambda: _show(name, one, setting, outcome), rows=[facts])

    example = f"Example: discreet attack {name} --against raw"
    help_ = f"{told.summary}\n\nSuccess: {told.success}.\n\n{example}"
    return command(name, help=help_)(call)


def _show(name: str, one: "Play", setting: "Setting", outcome: "Outcome") -> None:
    from discreet.lab.useful import learn  # noqa: PLC0415 - heavy room

    console, against = Console(), setting.against
    table = Table("attack", "against", "success", "95 of 100 runs", "baseline", "bound", "n")
    low, high = outcome.interval
    rates = (f"{rate:.3f}" for rate in (outcome.baseline, outcome.bound))
    table.add_row(
        name, against, f"{outcome.success:.3f}", f"{low:.3f} - {high:.3f}", *rates, str(outcome.n)
    )
    console.print(table)
    console.print(f"against {against}: {getattr(one.story, against)}")
    console.print(f"success: {one.story.success}")
    console.print(
        "[bold red]above the bound: answers that keep this epsilon cannot be attacked so well[/]"
        if outcome.refutes
        else f"[green]{outcome.verdict}[/]"
    )
    if against == "private":
        found = learn(name, setting)
        console.print(
            f"the same epsilon buys an analyst: {found.asked} {found.answer:g} ± "
            f"{found.half_width:g} (truth {found.truth})",
            highlight=False,
        )
