"""`discreet ledger`: read it, check it, take it along; `discreet dossier`: what it shows others."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.cli import options
from discreet.cli.rows import show, shown, tell, write_csv

if TYPE_CHECKING:
    from discreet.curator.curator import Curator


_HEAD = ("entry", "time", "kind", "by", "about")


class _Number(click.IntRange):
    """A number of entries; beyond what a ledger can count, all of them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read it."""
        return min(int(super().convert(value, param, ctx)), 1 << 62)


@options.group()
def ledger() -> None:
    """Read, check and export the ledger.

    Example: discreet ledger verify
    """


@ledger.command(name="list")
@options.curator_option
@click.option(
    "--after", type=_Number(0), help="Show entries after this number  [default: the newest]"
)
@click.option("--limit", type=_Number(1), default=20, help="Number of entries.")
def list_(*, folder: Path, after: int | None, limit: int) -> None:
    """Show entries, by default the newest.

    JSON has everything that the ledger keeps of an entry, one in a line.

    Example: discreet ledger list --limit 5
    """
    from discreet.curator.reports.ledger_words import entry_words  # noqa: PLC0415 - heavy room

    with options.open_curator(folder) as curator:
        start = max(0, curator.ledger.head().sequence - limit) if after is None else after
        entries = curator.ledger.entries(after=start, limit=limit)
    if options.shape() == "json":
        for entry in entries:
            click.echo(entry.text)
        return
    cells = [
        (str(one.sequence), one.time[:19], one.kind, one.by, entry_words(one).sentence)
        for one in entries
    ]
    rows = [dict(zip(_HEAD, one, strict=True)) for one in cells]
    table = Table("entry", "time (UTC)", "kind", "by", "about")
    for one in cells:
        table.add_row(*map(escape, one))
    show(rows, lambda: Console().print(table), rows=rows, names=_HEAD)


@ledger.command()
@options.curator_option
def verify(*, folder: Path) -> None:
    """Read everything and compare; exit status 1 if an entry was changed, removed or moved.

    What the folder says about tables and tokens is compared with what the ledger says, and all
    files of data are read through.

    Example: discreet ledger verify
    """
    from discreet.server.access import FILE, AccessStore  # noqa: PLC0415 - heavy room
    from discreet.server.tokens import verify_all  # noqa: PLC0415 - the same

    known = (folder / FILE).exists()
    with options.open_curator(folder) as curator, shown(), ExitStack() as stack:
        store = stack.enter_context(closing(AccessStore(folder / FILE))) if known else None
        report = verify_all(curator, store)
    problem = None if report.problem is None else str(report.problem)
    facts = {
        "ok": report.ok,
        "entries": report.entries,
        "head": report.head.hash,
        "pending": report.pending,
        "problem": problem,
    }
    told = f"Whole: {report.entries} entries, {report.pending} answers still to finish."
    if problem is None:
        tell(f"{told}\nHead: {report.head.hash}", facts)
        return
    show(facts, lambda: click.echo(f"NOT whole: {problem}", err=True), rows=[facts])
    raise SystemExit(1)


@ledger.command()
@options.curator_option
@click.argument("analyst")
@click.argument("dataset", shell_complete=options.datasets)
@click.option("--reason", required=True, help="Reason, kept in the ledger.")
def readmit(*, folder: Path, analyst: str, dataset: str, reason: str) -> None:
    """Unblock an analyst after too many failed questions.

    Whether a question fails while data is read may depend on data: find out why before.

    Example: discreet ledger readmit alice visits --reason "the disk was full, it has room again"
    """
    with options.open_curator(folder) as curator:
        failed = curator.readmit(analyst, dataset, reason=reason)
    told = f"{analyst} can ask about {dataset} again; {failed} questions had failed."
    tell(told, {"analyst": analyst, "dataset": dataset, "failed": failed})


@ledger.command()
@options.curator_option
@click.argument("charge", type=click.IntRange(1))
def cancel(*, folder: Path, charge: int) -> None:
    """Cancel a question that is charged but not yet computed; the charge stays.

    CHARGE is its number in the ledger. A server that computes it stops within
    seconds. Analysts cancel their own with DELETE /v1/queries/CHARGE.

    Example: discreet ledger cancel 17
    """
    with options.open_curator(folder) as curator:
        curator.cancel(charge)
    told = f"Question {charge} is cancelled; its charge stays."
    tell(told, {"charge": charge, "cancelled": True})


@ledger.command()
@options.curator_option
@click.option("--reason", required=True, help="Reason, kept in the ledger.")
@click.option(
    "--without-witness", is_flag=True, help="Retire the witness on another machine, on record."
)
def adopt(*, folder: Path, reason: str, without_witness: bool) -> None:
    """Accept the ledger as it is, after a newer copy or its witness was lost.

    What the lost entries spent is spent and no longer counted. A ledger that is not whole in itself
    is refused.

    Example: discreet ledger adopt --reason "disk lost, restored from the copy of 12 May"
    """
    from discreet.curator.data.folder import is_curator, open_folder  # noqa: PLC0415 - heavy room

    if not is_curator(folder):
        raise click.UsageError(f"There is no curator in {folder}.")
    place = open_folder(folder)
    settle = place.retire_witness if without_witness else place.adopt_ledger
    with settle(by="owner", reason=reason) as adopted:
        head = adopted.head()
    told = f"Adopted with {head.sequence} entries; the last one says why."
    tell(told, {"entries": head.sequence, "head": head.hash})


@ledger.command()
@options.curator_option
@click.option("--out", type=options.NEW_FILE, help="A file to write.")
@click.option(
    "--deployment",
    metavar="DATASET",
    shell_complete=options.datasets,
    help="A record for the registry of deployments.",
)
@click.option("--name", help="Name of the deployment  [default: DATASET]")
@click.option("--organisation", help="Who runs the deployment.")
@click.option("--description", help="What is released.")
@click.option("--use", "intended_use", help="What the answers are for.")
@click.option("--region", help="Where the people live, or whose laws apply.")
@click.option("--sector", help="Technology, Healthcare, Education, Government ...")
@click.option("--author", "authors", multiple=True, help="Who filled in the record.")
def export(
    *, folder: Path, out: Path | None, deployment: str | None, name: str | None, **said: Any
) -> None:
    """Write every entry as a line of JSON with its hash, or a deployment record.

    The record has the fields of the public registry of deployments of differential privacy, which
    takes it as a file of YAML. JSON is what is written anyway; CSV has a row for each entry, or for
    each field of a record, and is to look at: only JSON can be checked.

    Example: discreet ledger export --out ledger.jsonl
    """
    as_csv = options.shape() == "csv"
    with options.open_curator(folder) as curator:
        if deployment is not None:
            known = {key: text for key, text in said.items() if text is not None}
            record = _record(curator, deployment, {"name": name or deployment, **known})
            pretty = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
            text = write_csv(list(_fields(record))) if as_csv else pretty
            _write(out, lambda file: file.write(text))
        else:
            with nullcontext() if out is None else shown():
                _write(out, partial(_write_rows, curator) if as_csv else curator.ledger.export)


def _write(out: Path | None, write: Callable[[TextIO], Any]) -> None:
    with nullcontext(sys.stdout) if out is None else out.open("w", encoding="utf-8") as file:
        write(file)


def _write_rows(curator: "Curator", file: TextIO) -> None:
    """Every entry as a row, a page at a time."""
    names, after = ("sequence", "time", "kind", "by", "facts", "previous"), 0
    file.write(write_csv([], names))
    while page := curator.ledger.entries(after=after):
        rows = [
            {**{name: getattr(one, name) for name in names}, "facts": json.dumps(dict(one.facts))}
            for one in page
        ]
        file.write(write_csv(rows, names).partition("\n")[2])
        after = page[-1].sequence


def _fields(record: Any, place: str = "") -> Iterator[dict[str, Any]]:
    """The fields of a record, each with its place."""
    inside = record.items() if isinstance(record, dict) else enumerate(record)
    for name, value in inside:
        here = f"{place}.{name}" if place else str(name)
        if isinstance(value, dict | list):
            yield from _fields(value, here)
        else:
            yield {"field": here, "value": value}


def _record(curator: "Curator", dataset: str, said: dict[str, Any]) -> dict[str, Any]:
    from discreet.curator.reports.deployment_record import (  # noqa: PLC0415 - heavy room
        Purpose,
        blanks,
        deployment_record,
    )

    record = deployment_record(curator, dataset, Purpose(**said))
    empty = [place.rpartition(".")[2] for place in blanks(record)]
    if empty:
        click.echo(f"Still to be filled in: {', '.join(empty)}.", err=True)
    return record


@options.command()
@options.curator_option
@click.option("--out", type=options.NEW_FILE, help="A file to write: .html to print, or .md.")
@click.option("--audit", type=options.OLD_FILE, help="What `discreet audit --json` wrote.")
def dossier(*, folder: Path, out: Path | None, audit: Path | None) -> None:
    """Collect datasets, units, budgets, charges and audits, by what laws ask.

    For GDPR, HIPAA, FERPA and NIST SP 800-226: what each asks, what this curator shows for it, and
    what stays with you. The ledger is read through; data are not.

    Example: discreet dossier --out dossier.html
    """
    if out is not None and out.suffix not in (".html", ".md"):
        raise click.UsageError("A dossier is written as .html or .md.")
    with options.open_curator(folder) as curator:
        made = curator.dossier(audit=None if audit is None else _read(audit))
    if out is not None:
        text = made.to_html() if out.suffix == ".html" else made.to_markdown()
        out.write_text(text, encoding="utf-8")
    rows = [
        {"section": one.title, **dict(zip(one.head, cells, strict=True))}
        for one in made.sections
        for cells in one.rows
    ]
    names = list(dict.fromkeys(name for row in rows for name in row))
    told = made.to_markdown() if out is None else f"Written to {out}."
    show(made.to_dict(), lambda: click.echo(told), rows=rows, names=names)


def _read(audit: Path) -> object:
    try:
        return json.loads(audit.read_text(encoding="utf-8"))
    except ValueError:
        return "not JSON"
