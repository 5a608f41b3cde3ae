"""`discreet ledger`: read it, check it, take it along."""

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.cli.options import curator_option, open_curator

if TYPE_CHECKING:
    from discreet.curator.entries import Entry


@click.group()
def ledger() -> None:
    """Read, check and export the ledger.

    Example: discreet ledger verify
    """


@ledger.command(name="list")
@curator_option
@click.option("--after", type=click.IntRange(0), help="Begin after this entry; else the newest.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines instead of a table.")
def list_(*, folder: Path, after: int | None, limit: int, as_json: bool) -> None:
    """Show entries; the newest ones unless you say after which.

    Example: discreet ledger list --limit 5
    """
    with open_curator(folder) as curator:
        start = max(0, curator.ledger.head().sequence - limit) if after is None else after
        entries = curator.ledger.entries(after=start, limit=limit)
    if as_json:
        for entry in entries:
            click.echo(entry.text)
    else:
        Console().print(_drawn(entries))


@ledger.command()
@curator_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a sentence.")
def verify(*, folder: Path, as_json: bool) -> None:
    """Read everything and compare; exit status 1 if an entry was changed, removed or moved.

    Example: discreet ledger verify
    """
    with open_curator(folder) as curator, Console(stderr=True).status("reading the ledger"):
        report = curator.ledger.verify()
    facts = {
        "ok": report.ok,
        "entries": report.entries,
        "head": report.head.hash,
        "pending": report.pending,
        "problem": None if report.problem is None else str(report.problem),
    }
    if as_json:
        click.echo(json.dumps(facts, indent=2))
    elif report.ok:
        click.echo(f"Whole: {report.entries} entries, {report.pending} answers still to finish.")
        click.echo(f"Head: {report.head.hash}")
    else:
        click.echo(f"NOT whole: {report.problem}", err=True)
    if not report.ok:
        raise SystemExit(1)


@ledger.command()
@curator_option
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="A file to write.")
@click.option("--deployment", metavar="DATASET", help="A record for the registry of deployments.")
@click.option("--organisation", default="", help="Who runs the deployment.")
@click.option("--use", default="", help="What the answers are for.")
def export(
    *, folder: Path, out: Path | None, deployment: str | None, organisation: str, use: str
) -> None:
    """Write every entry as a line of JSON with its hash, or a deployment record.

    The record has the fields of the public registry of deployments of differential privacy.

    Example: discreet ledger export --out ledger.jsonl
    """
    with open_curator(folder) as curator, _opened(out) as file:
        if deployment is None:
            curator.ledger.export(file)
        else:
            record = _record(curator, deployment, organisation, use)
            file.write(json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def _opened(out: Path | None) -> Any:
    return nullcontext(sys.stdout) if out is None else out.open("w", encoding="utf-8")


def _record(curator: Any, dataset: str, organisation: str, use: str) -> dict[str, Any]:
    from discreet.curator.deployment import Purpose, deployment_record  # noqa: PLC0415 - heavy room

    purpose = Purpose(dataset, organisation, intended_use=use)
    return deployment_record(curator, dataset, purpose)


def _drawn(entries: "tuple[Entry, ...]") -> Table:
    table = Table("entry", "time (UTC)", "kind", "by", "about")
    for one in entries:
        cells = (str(one.sequence), one.time[:19], one.kind, one.by, _about(one))
        table.add_row(*map(escape, cells))
    return table


def _about(entry: "Entry") -> str:
    """The part of an entry that a reader looks for."""
    facts = entry.facts
    if entry.kind == "charged":
        prices = ", ".join(
            f"{float(_fraction(price['amount'])):.4g} {price['measure']}"
            for price in facts["prices"]
        )
        return f"{facts['dataset']}: {prices}"
    account = [_holder(facts["account"])] if "account" in facts else []
    known = [(name, facts.get(name)) for name in ("table", "charge", "reason")]
    words = [f"{name} {value}" for name, value in known if value]
    return ", ".join([*account, *words])


def _holder(key: str) -> str:
    from discreet.curator.accounts import Holder  # noqa: PLC0415 - heavy room

    return str(Holder.read(key))


def _fraction(text: str) -> Any:
    from fractions import Fraction  # noqa: PLC0415 - used here alone

    return Fraction(text)
