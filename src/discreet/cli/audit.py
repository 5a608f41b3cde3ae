"""`discreet audit`: try to refute what the shipped mechanisms and local protocols claim."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from discreet.cli.options import HELP, NEW_FILE, command
from discreet.cli.rows import show

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.audit.report import Audit
    from discreet.local.protocol import LocalProtocol
    from discreet.mechanisms.mechanism import Claim, Mechanism

_HEAD = (
    *("name", "claim", "neighbours", "epsilon_claimed", "delta", "epsilon_refuted_up_to"),
    *("verdict", "seconds"),
)


@command(context_settings=HELP)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--samples",
    type=click.IntRange(min=100),
    default=None,
    show_default="200,000 to 2,000,000, as each claim calls for",
    help="Runs of each mechanism on each of two neighbours.",
)
@click.option(
    "--search",
    "tries",
    type=click.IntRange(min=0),
    default=0,
    help="Other neighbours to try for each mechanism, to audit the hardest of them too.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.01,
    help="Probability that true claims, all together, are refuted.",
)
@click.option("--html", type=NEW_FILE, help="Write a report.")
def audit(
    *, names: tuple[str, ...], samples: int | None, tries: int, alpha: float, html: Path | None
) -> None:
    """Try to refute the privacy claims of the shipped mechanisms and local protocols.

    Runs every one, or those NAMEd, on the neighbours that are hardest to hide, and looks for
    an event that tells them apart better than the claim allows. A curator's own limits and joins
    are replayed on neighbouring tables. Exit status 1 if a claim is refuted.

    Example: discreet audit laplace gaussian --html report.html
    """
    from discreet.audit.page import as_page  # noqa: PLC0415 - heavy room
    from discreet.audit.report import as_facts  # noqa: PLC0415 - the same

    audits = _run(names, samples, tries, alpha)
    claims = list(map(as_facts, audits))
    facts = {"samples": samples, "alpha": alpha, "claims": claims}
    show(facts, lambda: _show(audits), rows=claims, names=_HEAD)
    if html is not None:
        html.write_text(as_page(audits, samples=samples, alpha=alpha), encoding="utf-8")
    if any(one.refuted for one in audits):
        raise SystemExit(1)


def _run(names: tuple[str, ...], samples: int | None, tries: int, alpha: float) -> "list[Audit]":
    """Audit the named claims, or all: samplers, mechanisms, protocols, questions, accounting."""
    from discreet.audit.account_sequences import SEQUENCES, audit_sequence  # noqa: PLC0415 - heavy room
    from discreet.audit.accounting import ACCOUNTING, audit_accounting  # noqa: PLC0415 - the same
    from discreet.audit.catalogue import CATALOGUE, TRAINING, asked  # noqa: PLC0415 - the same
    from discreet.audit.cell_choices import CHOICES, audit_choice  # noqa: PLC0415 - the same
    from discreet.audit.curator_questions import QUESTIONS  # noqa: PLC0415 - the same
    from discreet.audit.local_protocols import PATHS, PROTOCOLS, audit_protocols  # noqa: PLC0415 - the same
    from discreet.audit.parameters import PARAMETERS, audit_parameters  # noqa: PLC0415 - the same
    from discreet.audit.replayed_questions import audit_question  # noqa: PLC0415 - the same
    from discreet.audit.report import audit_all  # noqa: PLC0415 - the same
    from discreet.audit.samplers import SAMPLERS, audit_sampler  # noqa: PLC0415 - the same

    made: dict[str, Callable[[], Mechanism]] = {**CATALOGUE, **TRAINING}
    local: dict[str, Callable[[], LocalProtocol | Claim]] = {**PROTOCOLS, **PATHS}
    known = (*SAMPLERS, *PARAMETERS, *made, *local, *QUESTIONS, *CHOICES, *SEQUENCES, *ACCOUNTING)
    if unknown := [name for name in names if name not in known]:
        raise click.UsageError(
            f"No claim is named {', '.join(unknown)}. The names are: {', '.join(known)}."
        )
    wanted = names or known
    mechanisms = {name: made[name]() for name in wanted if name in made}
    protocols = {name: local[name]() for name in wanted if name in local}
    samplers = [name for name in wanted if name in SAMPLERS]
    kinds = [name for name in wanted if name in PARAMETERS]
    each = alpha / max(1, len(mechanisms) + len(protocols) + len(samplers) + len(kinds))
    audits = [audit_sampler(name, SAMPLERS[name](), alpha=each) for name in samplers]
    audits += [audit_parameters(name, PARAMETERS[name], alpha=each) for name in kinds]
    share, prices = each * len(mechanisms), {name: asked(name) for name in mechanisms}
    audits += audit_all(mechanisms, samples=samples, alpha=share, tries=tries, asked=prices)
    audits += audit_protocols(protocols, samples=samples, alpha=each * len(protocols))
    audits += [audit_question(name, QUESTIONS[name]) for name in wanted if name in QUESTIONS]
    audits += [audit_choice(name, CHOICES[name]) for name in wanted if name in CHOICES]
    audits += [audit_sequence(name, SEQUENCES[name]) for name in wanted if name in SEQUENCES]
    audits += [audit_accounting(name, ACCOUNTING[name]) for name in wanted if name in ACCOUNTING]
    return audits


def _show(audits: "list[Audit]") -> None:
    console = Console()
    console.print(_table(audits))
    for one in audits:
        if one.refuted:
            console.print(f"{one.name}: {one.why}", soft_wrap=True, markup=False, highlight=False)


def _table(audits: "list[Audit]") -> Table:
    table = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        caption="A claim that stands was not proved: it survived this attempt.",
    )
    table.add_column("claim", no_wrap=True)
    for heading in ("epsilon claimed", "at delta", "refuted up to", "time"):
        table.add_column(heading, justify="right")
    table.add_column("verdict", no_wrap=True)
    for one in audits:
        best = one.measured
        numbers = (best.point.epsilon, best.point.delta, one.bound)
        cells = (*(f"{number:.3g}" for number in numbers), f"{one.seconds:.1f} s")
        colour = "bold red" if one.refuted else "green"
        table.add_row(one.name, *cells, f"[{colour}]{one.verdict}[/]")
    return table
