"""Orders: `discreet order`, and the commands that place one of a kind.

They are profile, synth, watch, online and release.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from fractions import Fraction
from functools import partial, wraps
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import click
from rich.console import Console

from discreet.cli.options import (
    EXACT,
    F,
    analyst_option,
    curator_option,
    open_curator,
    read_sql,
    server_option,
    shape,
    shape_options,
)
from discreet.cli.query import CHARGED, charges
from discreet.cli.rows import plain, show, shown, write_csv

if TYPE_CHECKING:
    import pyarrow as pa

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
        said = {"statement": release.statement()} if statement else {}
        click.echo(json.dumps({**_facts(release), **said}, indent=2))
    else:
        plain(repr(release))
    _state(release, wanted=statement)


def _facts(release: "BaseRelease") -> dict[str, Any]:
    price = {"epsilon": float(release.price.epsilon), "delta": float(release.price.delta)}
    return {**release.json_facts(), "price": price}


def _state(release: Any, *, wanted: bool) -> None:
    """Print a statement that is not in the JSON already; beside a table on standard error."""
    if wanted and shape() != "json":
        click.echo(release.statement(), err=shape() == "csv")


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


@click.command()
@click.argument("table")
@price_of_all
@order_options
def profile(
    *, table: str, epsilon: Fraction, delta: Fraction | None, order: OrderPlacement
) -> None:
    """Look at every column of TABLE at one price.

    It counts rows, people and NULLs, and tells different values, ranges, quantiles and frequent
    values. Later questions of the same analyst that need bounds take them from it. The exit status
    is that of `discreet query`.

    Example: discreet profile visits --epsilon 0.5
    """
    from discreet.curator.arguments import order_spec  # noqa: PLC0415 - heavy room

    made = order.place("profile", order_spec({"table": table, "epsilon": epsilon, "delta": delta}))
    if made is None:
        return
    if shape() == "csv":
        click.echo(write_csv(made.to_arrow().to_pylist()), nl=False)
        _state(made, wanted=order.statement)
    else:
        show_release(made, statement=order.statement)


@click.command()
@click.argument("table")
@price_of_all
@click.option("--column", "columns", multiple=True, help="A column to keep  [default: all]")
@click.option("--bins", type=click.IntRange(1), help="Bins of numbers and dates  [default: 32]")
@click.option("--max-rows", type=click.IntRange(1), help="Rows that one person counts for.")
@click.option("--rows", type=click.IntRange(1), help="Rows to draw  [default: estimated]")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File for the rows: .csv or .parquet.",
)
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
    options = {"table": table, **said, "columns": list(columns) or None}
    made = order.place("synthesis", order_spec(options))
    if made is None:
        return
    if output is not None:
        _write(made.rows(rows), output)
    if shape() == "csv":
        _write(made.report() if report else made.rows(rows), sys.stdout.buffer)
        return
    show_release(made, statement=order.statement)
    if report and shape() == "text":
        plain(made.report().to_pandas().to_string(index=False))


def _write(table: "pa.Table", to: "Path | IO[bytes]") -> None:
    import pyarrow.csv  # noqa: PLC0415 - for those who want a file
    import pyarrow.parquet  # noqa: PLC0415 - likewise

    from discreet.answer.present.release import inert  # noqa: PLC0415 - heavy room

    if isinstance(to, Path) and to.suffix == ".parquet":
        pyarrow.parquet.write_table(table, to)
    else:
        pyarrow.csv.write_csv(inert(table), to)


_DAY = click.DateTime(["%Y-%m-%d"])


@click.command()
@click.argument("sql")
@curator_option
@click.option("--every", required=True, help="hour, day, week, month, quarter or year.")
@click.option("--until", type=_DAY, required=True, help="The last day.")
@click.option("--since", type=_DAY, help="The first day  [default: the column's lower bound]")
@click.option("--column", help="The column of dates, where there are several.")
@click.option("--max-periods", type=int, help="Periods one person counts in  [default: 1]")
@click.option("--epsilon", type=EXACT, required=True, help="What all periods cost together.")
@click.option("--delta", type=EXACT, help="Its delta  [default: dataset delta / 50]")
@click.option("--analyst", default="owner", help="Who asks.")
@shape_options
def watch(*, sql: str, folder: Path, until: datetime, since: datetime | None, **terms: Any) -> None:
    """Ask a count in every period, for one price, and print what is answered so far.

    The same words go on with the same question and cost nothing more. Periods are answered when
    rows were appended with --through.

    Example: discreet watch "SELECT city, COUNT(*) AS n FROM visits GROUP BY city" --every day
    --until 2026-12-31 --epsilon 1
    """
    text = read_sql(sql)
    days: dict[str, Any] = {"until": until.date(), "since": None if since is None else since.date()}
    with open_curator(folder) as curator:
        show_release(curator.watch(text, **days, **terms).release(), statement=False)


@click.command()
@click.argument("table")
@click.argument("file", type=click.File(encoding="utf-8"), default="-")
@curator_option
@click.option("--column", "columns", multiple=True, required=True, help="A column; repeat it.")
@click.option("--epsilon", type=EXACT, required=True, help="What the whole epoch costs.")
@click.option("--delta", type=EXACT, help="Its delta [default: dataset delta / 50].")
@click.option("--accuracy", type=EXACT, help="Rows from which on an error is measured.")
@click.option("--epoch", type=int, help="Tells epochs with the same words apart [default: 1].")
@click.option("--analyst", default="owner", help="Who asks.")
@shape_options
def online(*, table: str, file: IO[str], folder: Path, **terms: Any) -> None:
    """Answer counting queries about TABLE, one JSON object a line of FILE (standard input).

    The epoch is charged once; the same words go on with it. Each call begins a run, and an epoch
    has a few of them to spare: ask many queries in one call.

    Example: discreet online people queries.jsonl --column sex --epsilon 1

    where a line of queries.jsonl is {"sex": ["female"]}
    """
    with open_curator(folder) as curator:
        session = curator.online(table, **terms)
        for number, line in enumerate(filter(str.strip, file)):
            where = _object(line, 'Each line has to hold one JSON object: {"sex": ["female"]}.')
            found = session.ask(where).to_dict()
            if shape() == "csv":
                text = write_csv([found], list(found))
                click.echo(text if number == 0 else text.partition("\n")[2], nl=False)
            elif shape() == "json":
                click.echo(json.dumps(found))
            else:
                click.echo("{value:,.0f} ({low:,.0f} to {high:,.0f})".format(**found))


@click.command()
@click.argument("plan", type=click.File(encoding="utf-8", errors="replace"))
@curator_option
@click.option(
    "--to",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("release"),
    help="Folder for the tables, one Parquet file for each table and level.",
)
@click.option("--request", help="A name for this attempt: the same name is never charged twice.")
@click.option("--explain", is_flag=True, help="Tell price and noise; charge nothing.")
@click.option("--statement", is_flag=True, help="Add a paragraph on what was protected.")
@shape_options
def release(
    *, plan: IO[str], folder: Path, to: Path, request: str | None, explain: bool, statement: bool
) -> None:
    """Release the tables of PLAN, a YAML file, at all levels of a geography.

    The price is charged before data is touched and never refunded. Interrupted or killed, the same
    command goes on where it stopped, with the same noise and under the same charge; at any later
    time it writes the same tables for nothing. The exit status is that of `discreet query`.

    Example: discreet release plan.yaml --to tables

    where plan.yaml has the lines table: people, geography: places, levels: [state, county, block],
    tables: {total: [], by_age: [sex, age]}, epsilon: 1 and delta: 1e-6
    """
    from discreet.curator.orders.census.census_plan import CensusPlan  # noqa: PLC0415 - heavy room

    wanted = CensusPlan.from_yaml(plan.read())
    with open_curator(folder) as curator, shown():
        if explain:
            told = curator.explain_order("release", wanted.spec)
            show_explanation(told, curator.cost_order("release", wanted.spec))
            return
        made = curator.release(wanted, to, request=request)
    rows = [{"table": t, "level": level, "file": str(f)} for (t, level), f in made.files.items()]
    if shape() == "csv":
        click.echo(write_csv(rows, ("table", "level", "file")), nl=False)
    elif shape() == "json":
        facts = {**_facts(made.release), "random_bytes": made.random_bytes, "charge": made.charge}
        said = {"statement": made.statement()} if statement else {}
        click.echo(json.dumps({**facts, "files": rows, **said}, indent=2))
    else:
        drawn = f"{made.random_bytes:,} random bytes were drawn"
        click.echo(f"{made.release!r}\n{drawn}; {len(rows)} files are in {to}")
    _state(made, wanted=statement)
