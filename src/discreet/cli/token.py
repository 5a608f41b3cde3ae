"""`discreet token`: who is let in at the server, as what, to which datasets, and until when."""

import datetime as dt
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.completion import datasets as complete_datasets
from discreet.cli.options import curator_option, open_curator, shape_options
from discreet.cli.rows import show, tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.curator.curator import Curator
    from discreet.server.access import AccessStore
    from discreet.server.tokens import Token

_HEAD = ("id", "name", "role", "datasets", "expires", "state")


@click.group(invoke_without_command=True)
@curator_option
@shape_options
@click.pass_context
def token(ctx: click.Context, *, folder: Path) -> None:
    """Show who is let in at the server.

    `make` makes a token, which is shown once; `revoke` ends one. This is done in the folder of the
    curator, by whoever can open it; a server that runs takes notice at once.

    Example: discreet token
    """
    if ctx.invoked_subcommand is not None:
        return
    from discreet.server import tokens  # noqa: PLC0415 - heavy room

    with token_store(folder) as (_, store):
        rows = [_facts(one, store.now()) for one in tokens.all_tokens(store)]

    def draw() -> None:
        for row in rows:
            scope = ", ".join(row["datasets"]) if row["datasets"] else "all datasets"
            until = f"{row['state']}, until {row['expires']}"
            click.echo(f"{row['id']}  {row['name']}: {row['role']} of {scope}; {until}")
        if not rows:
            click.echo("Nobody yet. Next: discreet token make NAME")

    show(rows, draw, rows=rows, names=_HEAD)


@token.command()
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(["analyst", "auditor", "owner"]),
    default="analyst",
    show_default=True,
    help="What its holder may do.",
)
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    shell_complete=complete_datasets,
    help="A dataset that an analyst may ask about; repeatable  [default: all]",
)
@click.option("--days", type=float, default=90, show_default=True, help="Days that it lasts.")
@curator_option
@shape_options
def make(*, name: str, role: str, datasets: tuple[str, ...], days: float, folder: Path) -> None:
    """Make a token for NAME and show it once.

    Example: discreet token make alice --dataset visits --days 30
    """
    from discreet.server import tokens  # noqa: PLC0415 - heavy room

    with token_store(folder) as (curator, store):
        known = curator.datasets()
        for one in datasets:
            if one not in known:
                raise click.UsageError(
                    f"There is no dataset {one}. Datasets are: {', '.join(known) or 'none yet'}."
                )
        made = tokens.issue(store, name, role, datasets=datasets or None, days=days)
        curator.ledger.record("token made", by="owner", facts=made.token.said)
        facts = {"token": made.text, **_facts(made.token, store.now())}
    tell(made.text, facts)


@token.command()
@click.argument("identity", metavar="ID")
@curator_option
@shape_options
def revoke(*, identity: str, folder: Path) -> None:
    """End the token with this ID, at once and for ever.

    Example: discreet token revoke 0123456789abcdef
    """
    from discreet.server import tokens  # noqa: PLC0415 - heavy room

    with token_store(folder) as (curator, store):
        found = tokens.end(store, curator.ledger, identity, by="owner")
        if found is None:
            raise click.UsageError(
                f"There is no token {identity} in force. See their ids with: discreet token"
            )
        facts = _facts(found, store.now())
    tell(f"The token of {found.name} lets nobody in any more.", facts)


@contextmanager
def token_store(folder: Path) -> "Iterator[tuple[Curator, AccessStore]]":
    """The curator in a folder, and the tokens that its server lets in."""
    from discreet.server.access import FILE, AccessStore  # noqa: PLC0415 - heavy room

    with open_curator(folder) as curator, closing(AccessStore(folder / FILE)) as store:
        yield curator, store


def _facts(one: "Token", now: float) -> dict[str, Any]:
    state = "revoked" if one.revoked is not None else "in force" if one.works(now) else "expired"
    scope = None if one.datasets is None else sorted(one.datasets)
    until = dt.datetime.fromtimestamp(one.expires, dt.UTC).date().isoformat()
    about = {"id": one.id, "name": one.name, "role": one.role, "datasets": scope}
    return {**about, "expires": until, "state": state}
