"""Options that several commands share, and how their values are read."""

import csv
import datetime as dt
import os
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import click
from click.shell_completion import CompletionItem

import discreet as dp
from discreet.errors import DiscreetError
from discreet.rationals import read_text

if TYPE_CHECKING:
    from discreet.curator.budget import MeasureName
    from discreet.curator.curator import Curator
    from discreet.curator.data.registry import Registry


F = TypeVar("F", bound=Callable[..., Any])

HELP = {"help_option_names": ["-h", "--help"], "show_default": True}
"""The help option of commands, and its text."""

FOLDER = "curator.discreet"
TOKEN = "DISCREET_TOKEN"  # noqa: S105 - the name of a variable
OLD_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
NEW_FILE = click.Path(path_type=Path, dir_okay=False)
_DAY = len("2024-12-31")


class _Typed(click.ParamType[Any]):
    """A value that `read` understands; it gives None for others."""

    def __init__(self, name: str, read: Callable[[str], Any], otherwise: str) -> None:
        self.name = name
        self._read = read
        self._otherwise = otherwise

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read what was typed."""
        found = self._read(str(value))
        return self.fail(f"{value!r} is {self._otherwise}", param, ctx) if found is None else found


def _weight(text: str) -> tuple[str, Fraction] | None:
    """A column and how much its error matters; the name itself may have an equals sign."""
    name, _, number = text.rpartition("=")
    found = read_text(number)
    return (name, found) if name and found is not None else None


def read_end(text: str) -> Fraction | dt.date | None:
    """An end of a range: a number, a date or a time."""
    if (number := read_text(text)) is not None:
        return number
    try:
        day = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return day if len(text) > _DAY else day.date()


EXACT = _Typed("number", read_text, "not a number, such as 0.1, 1e-6 or 1/3")
_WEIGHT = _Typed("column=number", _weight, "not a column and a number, such as m=4")
END = _Typed("end", read_end, "neither a number nor a date such as 2024-12-31")


def with_options(command: F, options: dict[str, dict[str, Any]]) -> F:
    """Add options by their names, in this order; what click is told of each is its value."""
    for names, facts in reversed(options.items()):
        command = click.option(*names.split(), **facts)(command)
    return command


def server() -> str | None:
    """The address of the server that the command that runs is to ask, if any."""
    ctx = click.get_current_context(silent=True)
    return None if ctx is None else ctx.find_root().meta.get("server")


def _remember_server(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    ctx.find_root().meta["server"] = value


def _asker(ctx: click.Context, param: click.Parameter, value: str) -> str | None:
    said = ctx.get_parameter_source(str(param.name)) is not click.core.ParameterSource.DEFAULT
    return value if said or not server() else None


curator_option = click.option(
    "--curator",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="DISCREET_CURATOR",
    default=FOLDER,
    show_envvar=True,
    help="Folder of the curator.",
)
server_option = click.option(
    "--server",
    metavar="URL",
    envvar="DISCREET_SERVER",
    show_envvar=True,
    is_eager=True,
    expose_value=False,
    callback=_remember_server,
    help="Ask a server instead, with the token in DISCREET_TOKEN.",
)
"""`open_curator` then opens that one."""

analyst_option = click.option("--analyst", default="owner", callback=_asker, help="Who asks.")
"""None behind a server, where the token says so."""


def budget_options(command: F) -> F:
    """`--epsilon`, `--delta`, `--rho` and `--measure`; the command gets a `budget`, or None."""

    @wraps(command)
    def read(*, epsilon: Any, delta: Any, rho: Any, measure: Any, **said: Any) -> Any:
        return command(budget=read_budget(epsilon, delta, rho, measure), **said)

    return with_options(cast("F", read), _BUDGET)


_BUDGET: Final[dict[str, dict[str, Any]]] = {
    "--epsilon": {"type": EXACT, "help": "Budget: the epsilon of all answers together."},
    "--delta": {
        "type": EXACT,
        "help": "Chance that epsilon does not hold: far below 1 / people.",
    },
    "--rho": {"type": EXACT, "help": "Instead of epsilon: rho of zero-concentrated DP."},
    "--measure": {
        "type": click.Choice(["epsilon", "rho", "mu-squared", "per-person"]),
        "help": "What is added up to keep epsilon and delta: epsilon suits a few precise "
        "questions; per-person gives every person of a dataset a budget of their own.",
    },
}


def price_options(command: F) -> F:
    """Price options; the command gets a `price` as the curator takes it."""

    @wraps(command)
    def read(*, within: Any, weights: Any, no_intervals: bool, **said: Any) -> Any:
        price = {name: said.pop(name) for name in ("epsilon", "delta", "as_of")}
        if price["epsilon"] is not None and within is not None:
            raise click.UsageError(_WORTH)
        if len(dict(weights)) < len(weights):
            raise click.UsageError("Give a column one --weight.")
        price |= {"accuracy": None if within is None else dp.Accuracy(within)}
        price |= {"weights": dict(weights), "intervals": not no_intervals}
        return command(price=price, **said)

    return with_options(analyst_option(cast("F", read)), _PRICE)


_WORTH: Final = "Say what the answer is worth: --epsilon 0.1, or --within 50."
_PRICE: Final[dict[str, dict[str, Any]]] = {
    "--epsilon": {"type": EXACT, "help": "Query epsilon."},
    "--within": {"type": EXACT, "help": "Instead of epsilon: the largest error of each number."},
    "--delta": {"type": EXACT, "help": "Query delta  [default: dataset delta / 50]"},
    "--weight weights": {
        "type": _WEIGHT,
        "multiple": True,
        "help": "How much the error of a column matters relative to the others: m=4.",
    },
    "--as-of": {"type": int, "help": "A version of the dataset  [default: the newest]"},
    "--no-intervals": {
        "is_flag": True,
        "help": "Choose quantiles without intervals in values: they are up to a quarter closer.",
    },
}
_READING: Final[dict[str, dict[str, Any]]] = {
    "--header/--no-header": {"default": None, "help": "Does the first line name the columns?"},
    "--skip-lines": {
        "type": click.IntRange(0), "default": 0, "metavar": "N", "help": "Lines above the names.",
    },
    "--names": {"metavar": "LIST", "help": "Names of the columns, separated by commas."},
    "--delimiter": {"help": "Field delimiter: , ; | or tab."},
    "--encoding": {"help": "utf-8, cp1252, latin-1, utf-16, ..."},
    "--decimal": {"type": click.Choice([".", ","]), "help": "The decimal mark."},
    "--thousands": {"help": "Thousands separator, such as , in 1,234."},
    "--day-first/--month-first": {"default": None, "help": "Is 03/04/2024 in April, or in March?"},
    "--date-format dates": {
        "type": (str, str), "multiple": True, "metavar": "COLUMN FORMAT", "help": "%d/%m/%Y",
    },
    "--null nulls": {"multiple": True, "metavar": "WORD", "help": "A word for NULL."},
    "--no-null": {"is_flag": True, "help": "NA and N/A in columns of text are texts."},
    "--true": {"multiple": True, "metavar": "WORD", "help": "A further word for true."},
    "--false": {"multiple": True, "metavar": "WORD", "help": "A further word for false."},
    "--unreadable": {
        "type": click.Choice(["refuse", "null"]),
        "default": "refuse",
        "help": "What to do with values that cannot be read",
    },
}  # fmt: skip


def reading_options(command: F) -> F:
    """How the texts of a file are read; the command gets a `reading`."""

    @wraps(command)
    def read(*, no_null: bool, names: str | None, **said: Any) -> Any:
        fields = {key: said.pop(key) for key in _READING_FIELDS}
        fields["dates"] = dict(fields["dates"])
        fields["nulls"] = () if no_null else fields["nulls"] or None
        fields["delimiter"] = {"tab": "\t", "\\t": "\t"}.get(*2 * (fields["delimiter"],))
        listed = None if names is None else tuple(next(csv.reader([names]), ()))
        return command(reading=dp.Reading(names=listed, **fields), **said)

    return with_options(cast("F", read), _READING)


_READING_FIELDS = (
    *("header", "delimiter", "encoding", "decimal", "thousands", "day_first", "dates", "nulls"),
    *("true", "false", "unreadable", "skip_lines"),
)


class Command(click.Command):
    """A command that prints what people read, or with --json or --csv what programs do."""

    def __init__(self, *args: Any, **about: Any) -> None:
        super().__init__(*args, **about)
        if getattr(self, "invoke_without_command", True):
            for name in ("json", "csv"):
                text = f"Print {name.upper()} instead of a table."
                about = {"is_flag": True, "expose_value": False, "help": text}
                self.params.append(click.Option([f"--{name}"], callback=_only_shape, **about))


class Group(Command, click.Group):
    """Commands like it below one name; it prints something itself where it can be called alone."""

    command_class = Command


def command(name: str | None = None, **about: Any) -> Callable[[Callable[..., Any]], Command]:
    """Make a command of a function."""
    return click.command(name, cls=Command, **about)


def group(**about: Any) -> Callable[[Callable[..., Any]], Group]:
    """Make a group of commands of a function."""
    return click.group(cls=Group, **about)


def _only_shape(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's own
    """Remember a shape, and refuse a second one."""
    if value and ctx.meta.setdefault("shape", param.name) != param.name:
        raise click.UsageError("Say --json or --csv, not both.", ctx)


def shape() -> str:
    """How the command that runs is asked to print: json, csv, or text."""
    return str(click.get_current_context().meta.get("shape", "text"))


def open_curator(folder: Path, witness: str | None = None) -> "Curator":
    """The curator in a folder, which has to be there, or behind the server that was named."""
    from discreet.curator.data.folder import is_curator  # noqa: PLC0415 - heavy room

    if (address := server()) is not None:
        return _open_server(address)
    if not is_curator(folder):
        raise click.UsageError(
            f"There is no curator in {folder}. Make one with: discreet init --curator {folder}"
        )
    return dp.Curator(folder, witness=witness)


def _open_server(address: str) -> "Curator":
    ctx = click.get_current_context()
    if ctx.get_parameter_source("folder") is click.core.ParameterSource.COMMANDLINE:
        raise click.UsageError("Say --curator or --server, not both.")
    if not address.lower().startswith(("http://", "https://")):
        raise click.UsageError(f"--server {address} is no address: write https://host:port.")
    token = os.environ.get(TOKEN)
    if not token:
        raise click.UsageError(
            f"A server lets nobody in without a token, and {TOKEN} is not set. Set it with: export "
            f"{TOKEN}=dpt_...  The owner makes one with: discreet token make NAME"
        )
    return dp.Curator(address, token=token)


def read_budget(
    epsilon: Fraction | None,
    delta: Fraction | None,
    rho: Fraction | None,
    measure: "MeasureName | None" = None,
) -> "dp.Budget | None":
    """A budget, None where nothing was said."""
    if epsilon is None and rho is None:
        return None
    return dp.Budget(epsilon, delta or 0, rho=rho, measure=measure)


def check_priced(price: dict[str, Any]) -> None:
    """Refuse a question that nothing is offered for."""
    if price["epsilon"] is None and price["accuracy"] is None:
        raise click.UsageError(_WORTH)


def confirm(question: str, *, yes: bool) -> None:
    """Ask whether what cannot be undone is meant, unless --yes said so."""
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise click.UsageError("It cannot be undone: say --yes.")
    click.confirm(question, abort=True)


def read_sql(text: str) -> str:
    """SQL from the command line, or from standard input for `-`."""
    if text == "-" and sys.stdin is None:
        raise click.UsageError("Standard input is closed: give the question itself.")
    sql = sys.stdin.read() if text == "-" else text
    click.get_current_context().find_root().meta["sql"] = sql  # an error can point into it
    return sql


def datasets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Datasets whose names begin so."""
    del param
    found = _registry(ctx)
    names = [] if found is None else list(found.datasets())
    return [name for name in names if name.startswith(incomplete)]


def tables_and_files(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Tables whose names begin so, and files."""
    del param
    found = _registry(ctx)
    names = [] if found is None else list(found.tables)
    known = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return [*known, CompletionItem(incomplete, type="file")]


def _registry(ctx: click.Context) -> "Registry | None":
    """Declared tables, read without opening the ledger; empty if unreadable."""
    from discreet.curator.data.folder import Folder  # noqa: PLC0415 - heavy room

    said = ctx.params.get("folder") or os.environ.get("DISCREET_CURATOR") or FOLDER
    try:
        return Folder(Path(said)).tables()
    except (DiscreetError, OSError):
        return None
