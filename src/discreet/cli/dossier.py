"""`discreet dossier`: what can be shown to an authority, a board or the public, to be printed."""

import json
from pathlib import Path

import click

from discreet.cli.options import curator_option, open_curator, shape_options
from discreet.cli.rows import show


@click.command()
@curator_option
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file to write: .html to print, or .md.",
)
@click.option(
    "--audit",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="What `discreet audit --json` wrote.",
)
@shape_options
def dossier(*, folder: Path, out: Path | None, audit: Path | None) -> None:
    """Collect datasets, units, budgets, charges and audits, by what laws ask.

    For GDPR, HIPAA, FERPA and NIST SP 800-226: what each asks, what this curator shows for it, and
    what stays with you. The ledger is read through; data are not.

    Example: discreet dossier --out dossier.html
    """
    if out is not None and out.suffix not in (".html", ".md"):
        raise click.UsageError("A dossier is written as .html or .md.")
    with open_curator(folder) as curator:
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
