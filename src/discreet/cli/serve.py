"""The server: `discreet serve`, `token` (who is let in) and `witness`."""

import datetime as dt
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import options
from discreet.cli.rows import show, tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.curator.curator import Curator
    from discreet.server.access import AccessStore
    from discreet.server.tokens import Token


_PORT = click.IntRange(1, 65535)
_ABOVE_0 = click.FloatRange(0, min_open=True)
_TLS = """A {} for other machines needs encryption, or {} travel in the open.
Give --certificate and --key, or put a proxy that does TLS in front of it and say --behind-tls."""
_NOBODY = "Nobody can sign in: no owner has a token that works. Make one: discreet serve --init"

_POSTGRES_TLS = """--postgres for other machines needs --certificate and --key: Postgres clients
begin encryption by themselves, which a proxy for HTTP does not do for them."""


@options.command()
@options.curator_option
@click.option("--init", is_flag=True, help="Make the first owner's token, show it once, and stop.")
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", type=_PORT, default=8000, help="Port to listen on.")
@click.option(
    "--postgres", type=_PORT, help="Port for Postgres clients too: psql, psycopg, JDBC, BI tools."
)
@click.option("--name", "names", multiple=True, help="Host name that people use; repeatable.")
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, help="Processes that share the folder."
)
@click.option("--witness", metavar="URL", help="A `discreet witness`; name it once.")
@click.option("--certificate", type=options.OLD_FILE, help="Certificate of the server, for TLS.")
@click.option("--key", type=options.OLD_FILE, help="Private key of the certificate.")
@click.option("--behind-tls", is_flag=True, help="A proxy in front terminates TLS.")
@click.option("--proxy", "proxies", multiple=True, help="Trust X-Forwarded-For from this address.")
@click.option(
    "--quantum", type=_ABOVE_0, default=0.25, help="Send replies at multiples of this many seconds."
)
@click.option(
    "--grace", type=_ABOVE_0, default=30.0, help="Seconds to finish what is charged when stopping."
)
@click.option(
    "--upload-limit",
    type=click.IntRange(1),
    default=1 << 30,
    help="Bytes of the largest file that an owner may send.",
)
def serve(
    *,
    folder: Path,
    init: bool,
    names: tuple[str, ...],
    witness: str | None,
    behind_tls: bool,
    quantum: float,
    grace: float,
    upload_limit: int,
    **where: Any,
) -> None:
    """Serve the curator over HTTP, with a web page.

    Make the first token with --init; it is shown once. Every answer is charged as on the command
    line. Stopping it (Ctrl-C, SIGTERM) finishes what is charged.

    Example: discreet serve --init && discreet serve --port 8000
    """
    try:
        import uvicorn  # noqa: F401, PLC0415 - an extra

        from discreet.curator.arguments import is_loopback  # noqa: PLC0415 - heavy room
        from discreet.server import tokens  # noqa: PLC0415 - heavy room
        from discreet.server.serving import run  # noqa: PLC0415 - heavy room
        from discreet.server.settings import LOOPBACK, Settings  # noqa: PLC0415 - heavy room
    except ModuleNotFoundError as wrong:
        raise click.UsageError(
            f"{wrong.name} is not installed. Get it with: pip install 'discreet[server]'"
        ) from None

    host, port, postgres = where["host"], where["port"], where["postgres"]
    if init:
        token = _first_token(folder)
        tell(token, {"token": token})
        click.echo(f"Next: discreet serve, and open {_url(host, port)}/#{token}", err=True)
        return
    encrypted = bool(where["certificate"] and where["key"])
    if not (is_loopback(host) or behind_tls or encrypted):
        raise click.UsageError(_TLS.format("server", "tokens and answers"))
    if postgres is not None and not (is_loopback(host) or encrypted):
        raise click.UsageError(_POSTGRES_TLS)
    options.open_curator(
        folder, witness
    ).close()  # a folder that cannot be opened is told once, and here
    with token_store(folder) as (_, store):
        has_owner = tokens.has_owner(store)
    settings = Settings((*LOOPBACK, *names), quantum, grace=grace, upload_limit=upload_limit)
    url = _url(host, port, "https" if where["certificate"] else "http")
    if not has_owner:
        click.echo(_NOBODY, err=True)
    click.echo(f"Serving {folder} at {url} (stop with Ctrl-C)", err=True)
    facts: dict[str, Any] = {"curator": str(folder), "url": url}
    if postgres is not None:
        facts["postgres"] = f"postgresql://{host}:{postgres}/discreet"
        click.echo(f"Postgres clients connect to {facts['postgres']}", err=True)
    if options.shape() != "text":
        tell("", facts)
    run(folder, settings, **where)


def _first_token(folder: Path) -> str:
    from discreet.server import tokens  # noqa: PLC0415 - heavy room

    with token_store(folder) as (curator, store):
        if tokens.has_owner(store):
            raise click.UsageError(
                "There is an owner's token that works. Make further ones with `discreet token make "
                "NAME`, on the page, or with POST /v1/tokens."
            )
        return tokens.make(store, curator.ledger, "owner", "owner", "owner", days=365).text


def _url(host: str, port: int, scheme: str = "http") -> str:
    return f"{scheme}://{host}:{port}"


_HEAD = ("id", "name", "role", "datasets", "expires", "state")


@options.group(invoke_without_command=True)
@options.curator_option
@click.pass_context
def token(ctx: click.Context, *, folder: Path) -> None:
    """Show, make and revoke tokens for the server.

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
    help="What its holder may do.",
)
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    shell_complete=options.datasets,
    help="A dataset that an analyst may ask about; repeatable  [default: all]",
)
@click.option("--days", type=float, default=90, help="Days that it is valid.")
@options.curator_option
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
        about = {"datasets": datasets or None, "days": days}
        made = tokens.make(store, curator.ledger, name, role, "owner", **about)
        facts = {"token": made.text, **_facts(made.token, store.now())}
    tell(made.text, facts)


@token.command()
@click.argument("identity", metavar="ID")
@options.curator_option
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

    with options.open_curator(folder) as curator, closing(AccessStore(folder / FILE)) as store:
        yield curator, store


def _facts(one: "Token", now: float) -> dict[str, Any]:
    state = "revoked" if one.revoked is not None else "in force" if one.works(now) else "expired"
    scope = None if one.datasets is None else sorted(one.datasets)
    until = dt.datetime.fromtimestamp(one.expires, dt.UTC).date().isoformat()
    about = {"id": one.id, "name": one.name, "role": one.role, "datasets": scope}
    return {**about, "expires": until, "state": state}


@options.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8001,
    help="Port to listen on; 0 for any that is free.",
)
@click.option("--certificate", type=options.OLD_FILE, help="Certificate of the witness, for TLS.")
@click.option("--key", type=options.OLD_FILE, help="Private key of the certificate.")
@click.option("--behind-tls", is_flag=True, help="A proxy in front terminates TLS.")
@click.option("--forget", metavar="LEDGER", help="Forget a ledger that is lost for good, and stop.")
def witness(
    *,
    folder: Path,
    host: str,
    port: int,
    certificate: Path | None,
    key: Path | None,
    behind_tls: bool,
    forget: str | None,
) -> None:
    """Run a witness, which signs the heads of ledgers of other machines.

    FOLDER keeps its key and what it has signed. A curator names it once, by its address: discreet
    init --witness, or discreet serve --witness. From then on an older copy of the curator's folder
    is refused, and nothing is charged that the witness has not seen. It sees sizes and hashes.

    Example: discreet witness /srv/witness --port 8001
    """
    from discreet.curator.arguments import is_loopback  # noqa: PLC0415 - heavy room
    from discreet.curator.ledger.cosigner import Cosigner  # noqa: PLC0415 - likewise
    from discreet.curator.ledger.witness_service import WitnessService  # noqa: PLC0415 - likewise

    if not (forget or is_loopback(host) or behind_tls or (certificate and key)):
        raise click.UsageError(_TLS.format("witness", "ledgers' secrets"))
    cosigner = Cosigner(folder)
    if forget is not None:
        if not cosigner.forget(forget):
            raise click.UsageError(f"Nothing was signed for {forget}.")
        facts = {"witness": str(folder), "forgotten": forget}
        tell(f"{forget} is forgotten.", facts)
        return
    pair = (certificate, key) if certificate and key else None
    with WitnessService(cosigner, host, port, pair) as service:
        url = f"{'https' if pair else 'http'}://{host}:{service.server_address[1]}"
        facts = {"witness": str(folder), "url": url, "key": cosigner.public_key}
        tell(f"Witness at {url} (stop with Ctrl-C)", facts)
        service.serve_forever()
