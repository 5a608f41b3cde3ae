"""`discreet retire`: end a dataset for ever."""

import sys
from pathlib import Path

import click

from discreet.cli.completion import datasets
from discreet.cli.options import curator_option, open_curator, shape_options
from discreet.cli.rows import tell


@click.command()
@click.argument("dataset", shell_complete=datasets)
@click.option("--reason", required=True, help="Why; the ledger keeps it.")
@click.option("--yes", is_flag=True, help="Do not ask whether it is meant.")
@curator_option
@shape_options
def retire(*, dataset: str, reason: str, yes: bool, folder: Path) -> None:
    """End a dataset for ever.

    Nothing new is asked of it, and its name is never used again. Its account stays, and so do the
    answers, which can still be read. Its files are no longer needed.

    Example: discreet retire visits --reason "the study is over" --yes
    """
    with open_curator(folder) as curator:
        if not yes:
            if sys.stdin is None or not sys.stdin.isatty():
                raise click.UsageError("It cannot be undone: say --yes.")
            click.confirm(f"End {dataset} for ever?", abort=True)
        curator.retire(dataset, reason=reason)
    tell(f"{dataset} is retired.", {"curator": str(folder), "dataset": dataset, "retired": True})
