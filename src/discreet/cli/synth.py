"""`discreet synth`: make a synthetic table."""

import sys
from fractions import Fraction
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from discreet.cli.options import shape
from discreet.cli.order import OrderPlacement, order_options, price_of_all, show_release
from discreet.cli.rows import plain

if TYPE_CHECKING:
    import pyarrow as pa


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
