"""`discreet witness`: remember the heads of ledgers that are on other machines."""

from pathlib import Path

import click

from discreet.cli.options import shape_options
from discreet.cli.rows import tell
from discreet.cli.serve import is_local

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_TLS = """A witness for other machines needs encryption, or ledgers' secrets travel in the open.
Give --certificate and --key, or put a proxy that does TLS in front of it and say --behind-tls."""


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8001,
    show_default=True,
    help="Port to listen on; 0 for any that is free.",
)
@click.option("--certificate", type=_FILE, help="Certificate of the witness, for TLS.")
@click.option("--key", type=_FILE, help="Private key of the certificate.")
@click.option("--behind-tls", is_flag=True, help="A proxy in front terminates TLS.")
@click.option("--forget", metavar="LEDGER", help="Forget a ledger that is lost for good, and stop.")
@shape_options
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
    """Sign heads of ledgers, on another machine than theirs.

    FOLDER keeps its key and what it has signed. A curator names it once, by its address: discreet
    init --witness, or discreet serve --witness. From then on an older copy of the curator's folder
    is refused, and nothing is charged that the witness has not seen. It sees sizes and hashes.

    Example: discreet witness /srv/witness --port 8001
    """
    from discreet.curator.ledger.cosigner import Cosigner  # noqa: PLC0415 - heavy room
    from discreet.curator.ledger.witness_service import WitnessService  # noqa: PLC0415 - likewise

    if not (forget or is_local(host) or behind_tls or (certificate and key)):
        raise click.UsageError(_TLS)
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
