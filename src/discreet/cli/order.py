"""`discreet order`: place an order of any kind."""

import json
import sys
from pathlib import Path
from typing import IO, Any

import click
from rich.console import Console

from discreet.cli.explain import charges
from discreet.cli.options import curator_option, open_curator


@click.command()
@click.argument("kind")
@click.argument("file", type=click.File(encoding="utf-8"))
@curator_option
@click.option("--analyst", default="owner", show_default=True, help="Who asks.")
@click.option("--request", help="A name for this attempt: the same name is never charged twice.")
@click.option("--explain", is_flag=True, help="Tell price and quality; charge nothing.")
@click.option("--statement", is_flag=True, help="Add a paragraph on what was protected.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def order(
    *,
    kind: str,
    file: IO[str],
    folder: Path,
    analyst: str,
    request: str | None,
    explain: bool,
    statement: bool,
    as_json: bool,
) -> None:
    """Place an order of any KIND.

    FILE has the order as a JSON object, price included; `-` reads it from standard input. A
    question is an order of kind query.

    The price is charged before data is touched and never refunded; the same order again gives the
    same release for nothing. The exit status is that of `discreet query`.

    Example: echo '{"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 0.1}' | discreet order
    query -
    """
    spec = _read(file)
    with open_curator(folder) as curator, Console(stderr=True).status("asking"):
        if explain:
            told = curator.explain_order(kind, spec, analyst=analyst)
            bill = curator.cost_order(kind, spec, analyst=analyst)
        else:
            release = curator.order(kind, spec, analyst=analyst, request=request)
    if explain:
        from discreet.curator.client.wire import write_bill, write_order_explanation  # noqa: PLC0415 - heavy room

        facts = {**write_order_explanation(told), "bill": write_bill(bill)}
        _show(f"{told!r}\n\n{charges(bill)}", facts, as_json=as_json)
        return
    said = release.statement() if statement else None
    text = f"{release!r}" if said is None else f"{release!r}\n{said}"
    price = {"epsilon": float(release.price.epsilon), "delta": float(release.price.delta)}
    extra = {} if said is None else {"statement": said}
    _show(text, {"price": price, **release.json_facts(), **extra}, as_json=as_json)


def _read(file: IO[str]) -> dict[str, Any]:
    """The JSON object in a file; what JSON has no word for is refused."""
    try:
        spec = json.load(file, parse_constant=_refuse)
    except (ValueError, RecursionError):
        spec = None
    if not isinstance(spec, dict):
        raise click.UsageError('FILE has to hold one JSON object, such as {"sql": "SELECT ..."}.')
    return spec


def _refuse(name: str) -> None:
    raise ValueError(name)


def _show(text: str, facts: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(facts, indent=2))
    else:
        Console(file=sys.stdout).print(text, markup=False, highlight=False, soft_wrap=True)
