"""`discreet synth`: make a synthetic table."""

import sys
from fractions import Fraction
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click
from rich.console import Console

from discreet.cli.options import (
    Exact,
    analyst_option,
    curator_option,
    open_curator,
    server_option,
    shape,
    shape_options,
)
from discreet.cli.order import show_explanation, show_release
from discreet.cli.rows import plain

if TYPE_CHECKING:
    import pyarrow as pa


@click.command()
@click.argument("table")
@curator_option
@server_option
@click.option("--epsilon", type=Exact(), required=True, help="Epsilon of all of it.")
@click.option("--delta", type=Exact(), help="Delta of all of it  [default: dataset delta / 50]")
@click.option("--column", "columns", multiple=True, help="A column to keep  [default: all]")
@click.option("--bins", type=click.IntRange(1), help="Bins of numbers and dates  [default: 32]")
@click.option("--max-rows", type=click.IntRange(1), help="Rows that one person counts for.")
@click.option("--rows", type=click.IntRange(1), help="Rows to draw  [default: estimated]")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File for the rows: .csv or .parquet.",
)
@analyst_option
@click.option("--request", help="A name for this attempt: the same name is never charged twice.")
@click.option("--explain", is_flag=True, help="Tell price and quality; charge nothing.")
@click.option("--report", is_flag=True, help="Print the error of each marginal.")
@click.option("--statement", is_flag=True, help="Add a paragraph on what was protected.")
@shape_options
def synth(
    *,
    table: str,
    folder: Path,
    epsilon: Fraction,
    delta: Fraction | None,
    columns: tuple[str, ...],
    bins: int | None,
    max_rows: int | None,
    rows: int | None,
    output: Path | None,
    analyst: str | None,
    request: str | None,
    explain: bool,
    report: bool,
    statement: bool,
) -> None:
    """Make a synthetic table with the columns and types of TABLE.

    The price is charged before data is touched and never refunded; the same again, with any number
    of rows, costs nothing. The exit status is that of `discreet query`.

    Example: discreet synth visits --epsilon 1 --delta 1e-6 --output synthetic.csv
    """
    options = {
        "epsilon": epsilon,
        "delta": delta,
        "columns": list(columns) or None,
        "bins": bins,
        "max_rows": max_rows,
    }
    if output is not None and output.suffix not in {".csv", ".parquet"}:
        raise click.UsageError("--output ends in .csv or .parquet.")
    with open_curator(folder) as curator, Console(stderr=True).status("synthesising"):
        if explain:
            from discreet.curator.order_arguments import order_spec  # noqa: PLC0415 - heavy

            spec = order_spec({"table": table, **options})
            told = curator.explain_order("synthesis", spec, analyst=analyst)
            show_explanation(told, curator.cost_order("synthesis", spec, analyst=analyst))
            return
        made = curator.synthesize(table, analyst=analyst, request=request, **options)  # type: ignore[arg-type]
    if output is not None:
        _write(made.rows(rows), output)
    if shape() == "csv":
        _write(made.report() if report else made.rows(rows), sys.stdout.buffer)
        return
    show_release(made, statement=statement)
    if report and shape() == "text":
        plain(made.report().to_pandas().to_string(index=False))


def _write(table: "pa.Table", to: "Path | IO[bytes]") -> None:
    import pyarrow.csv  # noqa: PLC0415 - for those who want a file
    import pyarrow.parquet  # noqa: PLC0415 - likewise

    from discreet.answer.present.frames import inert  # noqa: PLC0415 - heavy room

    if isinstance(to, Path) and to.suffix == ".parquet":
        pyarrow.parquet.write_table(table, to)
    else:
        pyarrow.csv.write_csv(inert(table), to)
