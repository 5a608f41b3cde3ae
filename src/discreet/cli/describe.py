"""`discreet describe`: what may be asked about, or what a file holds."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.cli import options
from discreet.cli.options import tables_and_files
from discreet.cli.rows import plain, show

if TYPE_CHECKING:
    from discreet.plan.schema import PublicTable
    from discreet.plan.schema import Table as Private

_HEAD = ("table", "public", "protects", "column", "kind", "nullable", "range", "keys")
_REPORTED = (
    *("column", "kind", "kind_from", "known", "known_from", "values", "nulls", "unreadable"),
    *("outside", "low", "high", "distinct"),
)
_SHOWN = 8
"""Keys of a column that are shown."""


@options.command()
@click.argument("what", required=False, shell_complete=tables_and_files)
@options.curator_option
@options.server_option
@click.option("--dummy", is_flag=True, help="Print made-up rows of the table WHAT as CSV.")
@click.option("--unit", metavar="COLUMN", help="Of a file: the column that names the person.")
@click.option("--source-table", help="Of a file: the sheet or table to read.")
@click.option(
    "--yaml", "as_yaml", is_flag=True, help="Of a file: write proposed declarations, for --from."
)
@options.reading_options
def describe(*, what: str | None, folder: Path, dummy: bool, as_yaml: bool, **said: Any) -> None:
    """Show what may be asked about.

    WHAT is a table of the curator or a file that is not added yet; by default all tables are shown.
    For a file the report says what it holds, what could not be read, and which declarations are
    possible. It is computed from the data: only its owner may see it.

    Example: discreet describe visits.parquet
    """
    from discreet.curator.data.folder import is_curator  # noqa: PLC0415 - heavy room

    known = options.server() is not None or is_curator(folder)
    tables: dict[str, Private | PublicTable] = {}
    if known or what is None:
        with options.open_curator(folder) as curator:
            tables |= curator.schema.tables
    if what is not None and what not in tables:
        _describe_file(_found(what, folder, known=known), as_yaml=as_yaml, **said)
    elif dummy:
        _print_dummy(tables, what)
    else:
        _describe_tables(tables if what is None else {what: tables[what]})


def _found(what: str, folder: Path, *, known: bool) -> Path:
    if Path(what).is_file() or set("*?[") & set(what):
        return Path(what)
    where = options.server() or f"in {folder}"
    inside = f"the curator {where} has no such table" if known else "there is no such file"
    raise click.UsageError(f"{what} is nothing to describe: {inside}.")


def _describe_file(file: Path, *, as_yaml: bool, **said: Any) -> None:
    from discreet.curator.client.declarations import write_declarations  # noqa: PLC0415 - heavy room
    from discreet.curator.data.intake import describe as describe_source  # noqa: PLC0415 - heavy room

    found = describe_source(file, **said)
    if as_yaml:
        click.echo(write_declarations(found, file.name.partition(".")[0], str(file)), nl=False)
        return
    facts = found.to_dict()
    rows = [
        {**one, "column": one["name"], "known": _json(one["known"])} for one in facts["columns"]
    ]
    show(facts, lambda: plain(repr(found)), rows=rows, names=_REPORTED)


def _json(known: Any) -> str | None:
    return None if known is None else json.dumps(known, ensure_ascii=False)


def _describe_tables(tables: "dict[str, Private | PublicTable]") -> None:
    told = {name: facts(table) for name, table in tables.items()}
    rows = [
        {
            "table": name,
            "public": said["public"],
            "protects": said.get("unit"),
            "column": column,
            **of,
            "keys": _json(of["keys"]),
        }
        for name, said in told.items()
        for column, of in said["columns"].items()
    ]

    def draw() -> None:
        for name, said in told.items():
            Console().print(_drawn(name, said))
        if not told:
            click.echo("Nothing yet. Next: discreet add NAME FILE --unit COLUMN --epsilon 3")

    show(told, draw, rows=rows, names=_HEAD)


def _print_dummy(tables: "dict[str, Private | PublicTable]", what: str | None) -> None:
    import pyarrow as pa  # noqa: PLC0415 - heavy
    import pyarrow.csv  # noqa: PLC0415 - heavy

    from discreet.plan.dummy import dummy  # noqa: PLC0415 - heavy room
    from discreet.plan.schema import Schema  # noqa: PLC0415 - heavy room

    if what is None:
        raise click.UsageError("Name the table to make up rows for.")
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(dummy(Schema(tables))[what], sink)
    click.echo(sink.getvalue().to_pybytes().decode(), nl=False)


def facts(table: "Private | PublicTable") -> dict[str, Any]:
    """The declaration of a table as plain JSON."""
    from discreet.answer.present.release_json import plain as plain_value  # noqa: PLC0415 - heavy room
    from discreet.curator.reports.privacy_promise import unit_words  # noqa: PLC0415 - heavy room
    from discreet.plan.schema import PublicTable, range_words  # noqa: PLC0415 - heavy room

    columns = {
        name: {
            "kind": of.kind.value,
            "nullable": of.nullable,
            "range": None if of.range is None else range_words(of.range, of.kind),
            "keys": None if of.keys is None else list(map(plain_value, of.keys)),
        }
        for name, of in table.columns.items()
    }
    if isinstance(table, PublicTable):
        return {"public": True, "key": list(table.key), "columns": columns}
    limits = {"max_groups": table.limits.max_groups, "max_rows": table.limits.max_rows}
    return {"public": False, "unit": unit_words(table.unit), "limits": limits, "columns": columns}


def _drawn(name: str, said: dict[str, Any]) -> Table:
    caption = "public" if said["public"] else f"protects {said['unit']}{_limits(said['limits'])}"
    drawn = Table("column", "kind", "known", title=name, caption=caption, title_justify="left")
    for column, of in said["columns"].items():
        keys = of["keys"] or []
        more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
        listed = ", ".join(map(str, keys[:_SHOWN])) + more
        kind = of["kind"] + ("" if of["nullable"] else ", never NULL")
        cells = (column, kind, of["range"] or listed)
        shown = ("".join(c if c.isprintable() else repr(c)[1:-1] for c in one) for one in cells)
        drawn.add_row(*map(escape, shown))  # a name may look like markup
    return drawn


def _limits(limits: dict[str, int | None]) -> str:
    words = {"max_groups": "{} groups", "max_rows": "{} rows in each"}
    known = [words[name].format(limit) for name, limit in limits.items() if limit is not None]
    return f"; one person counts in at most {', '.join(known)}" if known else ""
