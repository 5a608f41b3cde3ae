"""Shell completion of names that the curator's owner gave."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from discreet.cli.options import FOLDER
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.curator.data.registry import Registry


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
