"""`discreet release`: publish many tables at all levels of a geography."""

from pathlib import Path
from typing import IO

import click

from discreet.cli.options import curator_option, open_curator, shape, shape_options
from discreet.cli.order import show_explanation
from discreet.cli.progress import shown
from discreet.cli.rows import write_csv


@click.command()
@click.argument("plan", type=click.File(encoding="utf-8", errors="replace"))
@curator_option
@click.option(
    "--to",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("release"),
    show_default=True,
    help="Folder for the tables, one Parquet file for each table and level.",
)
@click.option("--request", help="A name for this attempt: the same name is never charged twice.")
@click.option("--explain", is_flag=True, help="Tell price and noise; charge nothing.")
@click.option("--statement", is_flag=True, help="Add a paragraph on what was protected.")
@shape_options
def release(
    *,
    plan: IO[str],
    folder: Path,
    to: Path,
    request: str | None,
    explain: bool,
    statement: bool,
) -> None:
    """Release the tables of PLAN, a YAML file, at all levels of a geography.

    The price is charged before data is touched and never refunded. Interrupted or killed, the same
    command goes on where it stopped, with the same noise and under the same charge; at any later
    time it writes the same tables for nothing. The exit status is that of `discreet query`.

    Example: discreet release plan.yaml --to tables

    where plan.yaml has the lines table: people, geography: places, levels: [state, county, block],
    tables: {total: [], by_age: [sex, age]}, epsilon: 1 and delta: 1e-6
    """
    import json  # noqa: PLC0415 - as much as the rest of this command

    from discreet.curator.orders.census.census_plan import CensusPlan  # noqa: PLC0415 - heavy room

    wanted = CensusPlan.from_yaml(plan.read())
    as_json, as_csv = (shape() == one for one in ("json", "csv"))
    with open_curator(folder) as curator, shown():
        if explain:
            told = curator.explain_order("release", wanted.spec)
            show_explanation(told, curator.cost_order("release", wanted.spec))
            return
        made = curator.release(wanted, to, request=request)
    rows = [{"table": t, "level": level, "file": str(f)} for (t, level), f in made.files.items()]
    if as_csv:
        click.echo(write_csv(rows, ("table", "level", "file")), nl=False)
    elif as_json:
        price = {"epsilon": float(made.release.price.epsilon)}
        price["delta"] = float(made.release.price.delta)
        said = {"statement": made.statement()} if statement else {}
        facts = {**made.release.json_facts(), "price": price, "random_bytes": made.random_bytes}
        click.echo(json.dumps({**facts, "charge": made.charge, "files": rows, **said}, indent=2))
    else:
        drawn = f"{made.random_bytes:,} random bytes were drawn"
        click.echo(f"{made.release!r}\n{drawn}; {len(rows)} files are in {to}")
    if statement and not as_json:
        click.echo(made.statement(), err=as_csv)
