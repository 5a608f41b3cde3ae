"""Options that several commands share, and how their values are read."""

import datetime as dt
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

if TYPE_CHECKING:
    from discreet.curator.budget import Budget, MeasureName
    from discreet.curator.curator import Curator

F = TypeVar("F", bound=Callable[..., Any])

HELP = {"help_option_names": ["-h", "--help"]}
"""How a command is asked for help, also where it is called by itself."""

FOLDER = "curator.discreet"
_DIGITS = 400
_DAY = len("2024-12-31")


class Exact(click.ParamType[Fraction]):
    """A number as it was typed: 0.1 is one tenth."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Fraction:
        """Read a decimal or a fraction."""
        found = read_number(str(value))
        if found is None:
            self.fail(f"{value!r} is not a number", param, ctx)
        return found


class Weight(click.ParamType[tuple[str, Fraction]]):
    """A column and how much its error matters."""

    name = "column=number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Fraction]:
        """Read a name and a number; the name itself may have an equals sign."""
        name, equals, number = str(value).rpartition("=")
        found = read_number(number)
        if not equals or not name or found is None:
            self.fail(f"{value!r} is not a column and a number, such as m=4", param, ctx)
        return name, found


class End(click.ParamType[Fraction | dt.date]):
    """An end of a range: a number, a date or a time."""

    name = "end"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Fraction | dt.date:
        """Read whatever fits first."""
        number = read_number(str(value))
        if number is not None:
            return number
        try:
            day = dt.datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor a date such as 2024-12-31", param, ctx)
        return day if len(value) > _DAY else day.date()


def read_number(text: str) -> Fraction | None:
    """A decimal or a fraction, None where it is neither.

    Edge cases: 1e999999999 has a billion digits and is nothing that anybody means.

    Example:
        >>> read_number("1e-6"), read_number("1/3"), read_number("1e999999999")
        (Fraction(1, 1000000), Fraction(1, 3), None)
    """
    _, _, exponent = text.lower().partition("e")
    try:
        small = not exponent or abs(int(exponent)) <= _DIGITS
        return Fraction(text) if small and len(text) <= _DIGITS else None
    except (ValueError, ZeroDivisionError):
        return None


def curator_option(command: F) -> F:
    """`--curator`: the folder of the curator."""
    return click.option(
        "--curator",
        "folder",
        type=click.Path(path_type=Path, file_okay=False),
        envvar="DISCREET_CURATOR",
        default=FOLDER,
        show_default=True,
        show_envvar=True,
        help="Folder of the curator.",
    )(command)


def budget_options(command: F) -> F:
    """`--epsilon`, `--delta`, `--rho` and `--measure`; the command gets a `budget`, or None."""

    @wraps(command)
    def read(*, epsilon: Any, delta: Any, rho: Any, measure: Any, **said: Any) -> Any:
        return command(budget=read_budget(epsilon, delta, rho, measure), **said)

    options = click.option(
        "--measure",
        type=click.Choice(["epsilon", "rho", "mu-squared", "per-person"]),
        help="What is added up to keep epsilon and delta: epsilon suits a few precise questions; "
        "per-person gives every person of a dataset a budget of their own.",
    )(cast("F", read))
    for name, text in (
        ("--rho", "Or: the cap as zero-concentrated privacy."),
        ("--delta", "Chance that more than epsilon is given away: far below 1 / people."),
        ("--epsilon", "The most that may ever be given away."),
    ):
        options = click.option(name, type=Exact(), help=text)(options)
    return options


def price_options(command: F) -> F:
    """What a question is asked for: the command gets a `price`, as the curator takes it."""

    @wraps(command)
    def read(
        *,
        epsilon: Any,
        delta: Any,
        within: Any,
        weights: Any,
        as_of: Any,
        no_intervals: bool,
        **said: Any,
    ) -> Any:
        price = read_price(epsilon, delta, within, weights, as_of)
        return command(price={**price, "intervals": not no_intervals}, **said)

    options: tuple[Callable[[F], F], ...] = (
        click.option("--analyst", default="owner", show_default=True, help="Who asks."),
        click.option(
            "--no-intervals",
            is_flag=True,
            help="Let quantiles spend all of their price on themselves, none on an interval.",
        ),
        click.option("--as-of", type=int, help="A version of the dataset  [default: the newest]"),
        click.option(
            "--weight",
            "weights",
            type=Weight(),
            multiple=True,
            help="How much the error of a column matters beside the others: m=4.",
        ),
        click.option("--delta", type=Exact(), help="Query delta  [default: dataset delta / 50]"),
        click.option(
            "--within", type=Exact(), help="Instead of epsilon: the largest error of each number."
        ),
        click.option("--epsilon", type=Exact(), help="Query epsilon."),
    )
    priced = cast("F", read)
    for option in options:
        priced = option(priced)
    return priced


def shape_options(command: F) -> F:
    """`--json` and `--csv`, one of them at a time; `shape` tells which."""
    for name in ("csv", "json"):
        text = f"Print {name.upper()} instead of a table."
        command = click.option(
            f"--{name}", is_flag=True, expose_value=False, callback=_only_shape, help=text
        )(command)
    return command


def _only_shape(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's own
    """Remember a shape, and refuse a second one."""
    if value and ctx.meta.setdefault("shape", param.name) != param.name:
        raise click.UsageError("Say --json or --csv, not both.", ctx)


def shape() -> str:
    """How the command that runs is asked to print: json, csv, or text."""
    return str(click.get_current_context().meta.get("shape", "text"))


def open_curator(folder: Path, witness: str | None = None) -> "Curator":
    """The curator in a folder, which has to be there."""
    from discreet.curator.curator import Curator  # noqa: PLC0415 - heavy room
    from discreet.curator.data.folder import is_curator  # noqa: PLC0415 - heavy room

    if not is_curator(folder):
        raise click.UsageError(
            f"There is no curator in {folder}. Make one with: discreet init --curator {folder}"
        )
    return Curator(folder, witness=witness)


def read_budget(
    epsilon: Fraction | None,
    delta: Fraction | None,
    rho: Fraction | None,
    measure: "MeasureName | None" = None,
) -> "Budget | None":
    """A budget, None where nothing was said."""
    from discreet.curator.budget import Budget  # noqa: PLC0415 - heavy room

    if epsilon is None and rho is None:
        return None
    return Budget(epsilon, delta or 0, rho=rho, measure=measure)


def read_price(
    epsilon: Fraction | None,
    delta: Fraction | None,
    within: Fraction | None,
    weights: tuple[tuple[str, Fraction], ...] = (),
    as_of: int | None = None,
) -> dict[str, Any]:
    """The price of a question, as the curator takes it."""
    from discreet.answer.plan.accuracy import Accuracy  # noqa: PLC0415 - heavy room

    if (epsilon is None) is (within is None):
        raise click.UsageError("Say what the answer is worth: --epsilon 0.1, or --within 50.")
    if len(dict(weights)) < len(weights):
        raise click.UsageError("Give a column one --weight.")
    accuracy = None if within is None else Accuracy(within)
    price = {"epsilon": epsilon, "delta": delta, "accuracy": accuracy, "weights": dict(weights)}
    return {**price, "as_of": as_of}


def read_sql(text: str) -> str:
    """SQL from the command line, or from standard input for `-`."""
    if text == "-" and sys.stdin is None:
        raise click.UsageError("Standard input is closed: give the question itself.")
    sql = sys.stdin.read() if text == "-" else text
    click.get_current_context().find_root().meta["sql"] = sql  # an error can point into it
    return sql
