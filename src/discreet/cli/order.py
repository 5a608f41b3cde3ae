"""Orders: `discreet order`, and the commands that place one of a kind.

They are profile, synth, watch, online and release.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from fractions import Fraction
from functools import partial, wraps
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, cast

import click
from rich.console import Console

from discreet.cli import options
from discreet.cli.options import F
from discreet.cli.query import CHARGED, charges
from discreet.cli.rows import plain, show, show_release, shown, write_csv

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.answer.present.base_release import BaseRelease
    from discreet.curator.ledger.accounts import Account
    from discreet.curator.orders.planned_orders import OrderExplanation
    from discreet.privacy.budgets.charges import Charge


@dataclass(frozen=True, slots=True)
class OrderPlacement:
    """Where, for whom and how a command places an order, and what it prints."""

    folder: Path
    analyst: str | None
    request: str | None
    explain: bool
    statement: bool

    def place(self, kind: str, spec: Mapping[str, Any]) -> Any:
        """Place an order and return its release; with --explain, only price and quality."""
        with options.open_curator(self.folder) as curator, Console(stderr=True).status("asking"):
            if self.explain:
                told = curator.explain_order(kind, spec, analyst=self.analyst)
                show_explanation(told, curator.cost_order(kind, spec, analyst=self.analyst))
                return None
            return curator.order(kind, spec, analyst=self.analyst, request=self.request)

    def show(self, made: Any, csv: Callable[[], str] | None = None) -> None:
        """Print what came of it, if it was placed."""
        if made is not None:
            show_release(made, partial(_facts, made), statement=self.statement, csv=csv)


def order_options(command: F) -> F:
    """The options of all orders; the command gets an `order`."""

    @wraps(command)
    def read(**said: Any) -> Any:
        own = {one.name: said.pop(one.name) for one in fields(OrderPlacement)}
        return command(order=OrderPlacement(**own), **said)

    placing = options.with_options(cast("F", read), _PLACING)
    return options.curator_option(options.server_option(options.analyst_option(placing)))


_PLACING: Final[dict[str, dict[str, Any]]] = {
    "--request": {"help": "A name for this attempt: the same name is never charged twice."},
    "--explain": {"is_flag": True, "help": "Show price and quality; charge nothing."},
    "--statement": {"is_flag": True, "help": "Add a paragraph on what was protected."},
}
_PRICE: Final[dict[str, dict[str, Any]]] = {
    "--epsilon": {"type": options.EXACT, "required": True, "help": "Epsilon of all of it."},
    "--delta": {"type": options.EXACT, "help": "Delta of all of it  [default: dataset delta / 50]"},
}


def price_of_all(command: F) -> F:
    """`--epsilon` and `--delta` of all that an order makes."""
    return options.with_options(command, _PRICE)


@options.command()
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
    order.show(order.place(kind, _read(file)))


def show_explanation(told: "OrderExplanation", bill: "dict[Account, Charge]") -> None:
    """Print what an order would cost."""
    from discreet.curator.reports.json_views import charge_facts  # noqa: PLC0415 - heavy room

    costs = [charge_facts(account, cost) for account, cost in bill.items()]
    price = {"epsilon": float(told.price.epsilon), "delta": float(told.price.delta)}
    facts = {"price": price, "neighbours": told.neighbours.value, "charges": costs}
    draw = partial(plain, f"{told!r}\n\n{charges(bill)}")
    show({**told.facts, **facts}, draw, rows=costs, names=CHARGED)


def _facts(release: "BaseRelease") -> dict[str, Any]:
    price = {"epsilon": float(release.price.epsilon), "delta": float(release.price.delta)}
    return {**release.json_facts(), "price": price}


def _read(file: IO[str]) -> dict[str, Any]:
    """The JSON object in a file; what JSON has no word for is refused."""
    try:
        text = file.read()
    except UnicodeDecodeError:
        text = ""
    return _object(text, 'FILE has to hold one JSON object, such as {"sql": "SELECT ..."}.')


def _object(text: str, otherwise: str) -> dict[str, Any]:
    """The JSON object that a text is; what JSON has no word for, such as NaN, makes it none."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    try:
        found = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise click.UsageError(otherwise)
    return found


@options.command()
@click.argument("table")
@price_of_all
@order_options
def profile(
    *, table: str, epsilon: Fraction, delta: Fraction | None, order: OrderPlacement
) -> None:
    """Measure every column of TABLE for one price.

    It measures rows, people, NULLs, different values, ranges, quantiles and frequent values. Later
    questions of the same analyst that need bounds take them from it. The exit status is that of
    `discreet query`.

    Example: discreet profile visits --epsilon 0.5
    """
    from discreet.curator.arguments import order_spec  # noqa: PLC0415 - heavy room

    made = order.place("profile", order_spec({"table": table, "epsilon": epsilon, "delta": delta}))
    order.show(made, csv=lambda: write_csv(made.to_arrow().to_pylist()))


@options.command()
@click.argument("table")
@price_of_all
@click.option("--column", "columns", multiple=True, help="A column to keep  [default: all]")
@click.option("--bins", type=click.IntRange(1), help="Bins of numbers and dates  [default: 32]")
@click.option("--max-rows", type=click.IntRange(1), help="Rows that one person counts for.")
@click.option("--rows", type=click.IntRange(1), help="Rows to draw  [default: estimated]")
@click.option("--output", type=options.NEW_FILE, help="File for the rows: .csv or .parquet.")
@click.option("--report", is_flag=True, help="Print the error of each marginal.")
@order_options
def synth(
    *,
    table: str,
    columns: tuple[str, ...],
    rows: int | None,
    output: Path | None,
    report: bool,
    order: OrderPlacement,
    **said: Fraction | int | None,
) -> None:
    """Make a synthetic table with the columns and types of TABLE.

    The price is charged before data is touched and never refunded; the same again, with any number
    of rows, costs nothing. The exit status is that of `discreet query`.

    Example: discreet synth visits --epsilon 1 --delta 1e-6 --output synthetic.csv
    """
    from discreet.curator.arguments import order_spec  # noqa: PLC0415 - heavy

    if output is not None and output.suffix not in {".csv", ".parquet"}:
        raise click.UsageError("--output ends in .csv or .parquet.")
    wanted = {"table": table, **said, "columns": list(columns) or None}
    made = order.place("synthesis", order_spec(wanted))
    if made is None:
        return
    if output is not None:
        _write(made.rows(rows), output)
    if options.shape() == "csv":
        _write(made.report() if report else made.rows(rows), sys.stdout.buffer)
        return
    order.show(made)
    if report and options.shape() == "text":
        plain(made.report().to_pandas().to_string(index=False))


def _write(table: "pa.Table", to: "Path | IO[bytes]") -> None:
    from discreet.answer.present.release_files import write_rows  # noqa: PLC0415 - heavy room

    write_rows(table, to, "parquet" if isinstance(to, Path) and to.suffix == ".parquet" else "csv")


_DAY = click.DateTime(["%Y-%m-%d"])


@options.command()
@click.argument("sql")
@options.curator_option
@click.option("--every", required=True, help="hour, day, week, month, quarter or year.")
@click.option("--until", type=_DAY, required=True, help="The last day.")
@click.option("--since", type=_DAY, help="The first day  [default: the column's lower bound]")
@click.option("--column", help="The column of dates, if there are several.")
@click.option("--max-periods", type=int, help="Periods one person counts in  [default: 1]")
@price_of_all
@click.option("--analyst", default="owner", help="Who asks.")
def watch(*, sql: str, folder: Path, until: datetime, since: datetime | None, **terms: Any) -> None:
    """Ask a count in every period, for one price, and print what is answered so far.

    The same arguments continue the same question and cost nothing more. Periods are answered when
    rows were appended with --through.

    Example: discreet watch "SELECT city, COUNT(*) AS n FROM visits GROUP BY city" --every day
    --until 2026-12-31 --epsilon 1
    """
    text = options.read_sql(sql)
    days: dict[str, Any] = {"until": until.date(), "since": None if since is None else since.date()}
    with options.open_curator(folder) as curator:
        made = curator.watch(text, **days, **terms).release()
        show_release(made, partial(_facts, made), statement=False)


@options.command()
@click.argument("table")
@click.argument("file", type=click.File(encoding="utf-8"), default="-")
@options.curator_option
@click.option("--column", "columns", multiple=True, required=True, help="A column; repeat it.")
@price_of_all
@click.option("--accuracy", type=options.EXACT, help="Largest error in rows that is not measured.")
@click.option("--epoch", type=int, help="Number of an epoch with the same arguments [default: 1].")
@click.option("--analyst", default="owner", help="Who asks.")
def online(*, table: str, file: IO[str], folder: Path, **terms: Any) -> None:
    """Answer counting queries about TABLE, one JSON object a line of FILE (standard input).

    The epoch is charged once; the same arguments continue it. Each call begins a run, and an epoch
    has only a few: ask many queries in one call.

    Example: discreet online people queries.jsonl --column sex --epsilon 1

    where a line of queries.jsonl is {"sex": ["female"]}
    """
    with options.open_curator(folder) as curator:
        session = curator.online(table, **terms)
        for number, line in enumerate(filter(str.strip, file)):
            where = _object(line, 'Each line has to hold one JSON object: {"sex": ["female"]}.')
            found = session.ask(where).to_dict()
            if options.shape() == "csv":
                text = write_csv([found], list(found))
                click.echo(text if number == 0 else text.partition("\n")[2], nl=False)
            elif options.shape() == "json":
                click.echo(json.dumps(found))
            else:
                click.echo("{value:,.0f} ({low:,.0f} to {high:,.0f})".format(**found))


@options.command()
@click.argument("plan", type=click.File(encoding="utf-8", errors="replace"))
@options.curator_option
@click.option(
    "--to",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("release"),
    help="Folder for the tables, one Parquet file for each table and level.",
)
@click.option("--request", help="A name for this attempt: the same name is never charged twice.")
@click.option("--explain", is_flag=True, help="Show price and noise; charge nothing.")
@click.option("--statement", is_flag=True, help="Add a paragraph on what was protected.")
def release(
    *, plan: IO[str], folder: Path, to: Path, request: str | None, explain: bool, statement: bool
) -> None:
    """Release the tables of PLAN, a YAML file, at all levels of a geography.

    The price is charged before data is touched and never refunded. After an interruption the same
    command continues where it stopped, with the same noise and under the same charge; later it
    writes the same tables for nothing. The exit status is that of `discreet query`.

    Example: discreet release plan.yaml --to tables

    where plan.yaml has the lines table: people, geography: places, levels: [state, county, block],
    tables: {total: [], by_age: [sex, age]}, epsilon: 1 and delta: 1e-6
    """
    from discreet.curator.orders.census.census_plan import CensusPlan  # noqa: PLC0415 - heavy room

    wanted = CensusPlan.from_yaml(plan.read())
    with options.open_curator(folder) as curator, shown():
        if explain:
            told = curator.explain_order("release", wanted.spec)
            show_explanation(told, curator.cost_order("release", wanted.spec))
            return
        made = curator.release(wanted, to, request=request)
    rows = [{"table": t, "level": level, "file": str(f)} for (t, level), f in made.files.items()]
    drawn = f"{made.random_bytes:,} random bytes were drawn; {len(rows)} files are in {to}"
    facts = {"random_bytes": made.random_bytes, "charge": made.charge, "files": rows}
    show_release(
        made,
        lambda: {**_facts(made.release), **facts},
        statement=statement,
        csv=partial(write_csv, rows, ("table", "level", "file")),
        draw=partial(click.echo, f"{made.release!r}\n{drawn}"),
    )
