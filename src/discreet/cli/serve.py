"""`discreet serve`: the curator behind HTTP, with a page in front."""

import ipaddress
from pathlib import Path
from typing import Any

import click

from discreet.cli.options import curator_option, open_curator, shape, shape_options
from discreet.cli.rows import tell
from discreet.cli.token import token_store

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_TLS = """A server for other machines needs encryption, or tokens and answers travel in the open.
Give --certificate and --key, or put a proxy that does TLS in front of it and say --behind-tls."""
_NOBODY = "Nobody can sign in: no owner has a token that works. Make one: discreet serve --init"

_POSTGRES_TLS = """--postgres for other machines needs --certificate and --key: Postgres clients
begin encryption by themselves, which a proxy for HTTP does not do for them."""


@click.command()
@curator_option
@click.option("--init", is_flag=True, help="Make the first owner's token, show it once, and stop.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=8000,
    show_default=True,
    help="Port to listen on.",
)
@click.option(
    "--postgres",
    type=click.IntRange(1, 65535),
    help="Port for Postgres clients too: psql, psycopg, JDBC, BI tools.",
)
@click.option("--name", "names", multiple=True, help="Host name that people use; repeatable.")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Processes that share the folder.",
)
@click.option("--witness", metavar="URL", help="A `discreet witness`, named once and for ever.")
@click.option("--certificate", type=_FILE, help="Certificate of the server, for TLS.")
@click.option("--key", type=_FILE, help="Private key of the certificate.")
@click.option("--behind-tls", is_flag=True, help="A proxy in front terminates TLS.")
@click.option("--proxy", "proxies", multiple=True, help="Trust X-Forwarded-For from this address.")
@click.option(
    "--quantum",
    type=click.FloatRange(0, min_open=True),
    default=0.25,
    show_default=True,
    help="Send replies at multiples of this many seconds.",
)
@click.option(
    "--grace",
    type=click.FloatRange(0, min_open=True),
    default=30.0,
    show_default=True,
    help="Seconds to finish what is charged when stopping.",
)
@click.option(
    "--upload-limit",
    type=click.IntRange(1),
    default=1 << 30,
    show_default=True,
    help="Bytes of the largest file that an owner may send.",
)
@shape_options
def serve(
    *,
    folder: Path,
    init: bool,
    host: str,
    port: int,
    postgres: int | None,
    names: tuple[str, ...],
    workers: int,
    witness: str | None,
    certificate: Path | None,
    key: Path | None,
    behind_tls: bool,
    proxies: tuple[str, ...],
    quantum: float,
    grace: float,
    upload_limit: int,
) -> None:
    """Put the curator behind HTTP, with a page in front.

    Make the first token with --init; it is shown once. Every answer is charged as on the command
    line. Stopping it (Ctrl-C, SIGTERM) finishes what is charged.

    Example: discreet serve --init && discreet serve --port 8000
    """
    try:
        import uvicorn  # noqa: F401, PLC0415 - an extra

        from discreet.server import tokens  # noqa: PLC0415 - heavy room
        from discreet.server.serving import run  # noqa: PLC0415 - heavy room
        from discreet.server.settings import LOOPBACK, Settings  # noqa: PLC0415 - heavy room
    except ModuleNotFoundError as wrong:
        raise click.UsageError(
            f"{wrong.name} is not installed. Get it with: pip install 'discreet[server]'"
        ) from None

    if init:
        token = _first_token(folder)
        tell(token, {"token": token})
        click.echo(f"Next: discreet serve, and open {_url(host, port)}/#{token}", err=True)
        return
    if not (is_local(host) or behind_tls or (certificate and key)):
        raise click.UsageError(_TLS)
    if postgres is not None and not (is_local(host) or (certificate and key)):
        raise click.UsageError(_POSTGRES_TLS)
    open_curator(folder, witness).close()  # a folder that cannot be opened is told once, and here
    with token_store(folder) as (_, store):
        has_owner = tokens.has_owner(store)
    settings = Settings(
        hosts=(*LOOPBACK, *names), quantum=quantum, grace=grace, upload_limit=upload_limit
    )
    url = _url(host, port, "https" if certificate else "http")
    if not has_owner:
        click.echo(_NOBODY, err=True)
    click.echo(f"Serving {folder} at {url} (stop with Ctrl-C)", err=True)
    facts: dict[str, Any] = {"curator": str(folder), "url": url}
    if postgres is not None:
        facts["postgres"] = f"postgresql://{host}:{postgres}/discreet"
        click.echo(f"Postgres clients connect to {facts['postgres']}", err=True)
    if shape() != "text":
        tell("", facts)
    more: dict[str, Any] = {"proxies": proxies, "certificate": certificate, "key": key}
    more["postgres"] = postgres
    run(folder, settings, host=host, port=port, workers=workers, **more)


def _first_token(folder: Path) -> str:
    from discreet.server import tokens  # noqa: PLC0415 - heavy room

    with token_store(folder) as (curator, store):
        if tokens.has_owner(store):
            raise click.UsageError(
                "There is an owner's token that works. Make further ones with `discreet token make "
                "NAME`, on the page, or with POST /v1/tokens."
            )
        made = tokens.issue(store, "owner", "owner", days=365)
        curator.ledger.record("token made", by="owner", facts=made.token.said)
    return made.text


def _url(host: str, port: int, scheme: str = "http") -> str:
    return f"{scheme}://{host}:{port}"


def is_local(host: str) -> bool:
    """Whether an address is of this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
