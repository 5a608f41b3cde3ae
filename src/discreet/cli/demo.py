"""`discreet demo`: what a newcomer runs first."""

import math
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet import noise
from discreet.cli.options import command, shape
from discreet.cli.rows import show
from discreet.mechanisms import Laplace

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.curator.curator import Curator

EPSILON = 0.5
TRIES = 100_000
TARGET = 17
STRAYS = 4.9
"""Standard errors that a sample passes once in a million times, to either side."""
SMOKERS = """SELECT ward, COUNT(*) AS smokers, AVG(age) AS age
FROM patients WHERE smokes GROUP BY ward"""
ALL = "SELECT COUNT(*) AS n FROM patients WHERE smokes"
BUT_ONE = f"{ALL} AND id <> {TARGET}"
NOSY = f"SELECT * FROM patients WHERE id = {TARGET}"  # noqa: S608 - our own number


@command()
def demo() -> None:
    """See a curator answer and an attack fail.

    JSON and CSV have the figures of the story alone; CSV those of the answers.

    Example: discreet demo
    """
    from discreet.curator import demo_clinic  # noqa: PLC0415 - heavy package
    from discreet.curator.curator import Curator  # noqa: PLC0415 - heavy package

    console = Console(quiet=shape() != "text")
    console.print("[bold]discreet[/]: differentially private answers about people\n")
    show_noise(console)
    patients, curator = demo_clinic.make_patients(), Curator.in_memory()
    demo_clinic.add_clinic(curator, patients)
    answers = show_answers(console, curator, patients)
    show_refusal(console, curator)
    attack = show_attack(console, curator, patients)
    report = curator.ledger.verify()
    ending = (
        f"\nThe ledger of this session: {report.entries} entries, "
        f"{'whole' if report.ok else 'NOT whole'}.\n"
        "Next: [bold]discreet init FILE[/] protects your own data;\n"
        "      [bold]discreet audit[/] tries to refute every promise made here."
    )
    show({"answers": answers, "attack": attack}, lambda: console.print(ending), rows=answers)


def show_noise(console: Console) -> None:
    """A picture of exact noise."""
    draws = noise.discrete_laplace(4, size=100_000)
    console.print("100,000 exact draws of discrete Laplace noise, scale 4:")
    most = int((draws == 0).sum())
    for k in range(-8, 9, 4):
        seen = int((draws == k).sum())
        console.print(f"  {k:>3} {'█' * round(44 * seen / most)} {seen}")


def show_answers(
    console: Console, curator: "Curator", patients: "pa.Table"
) -> list[dict[str, Any]]:
    """Private answers with error bars and the truth, and the same again for nothing."""
    console.print(
        f"\n{len(patients):,} made-up patients, one row each. The owner allows epsilon 3 in all:"
    )
    show_budget(console, curator)
    console.print(f"\n[cyan]{SMOKERS}[/]  (epsilon {EPSILON})")
    release = curator.sql(SMOKERS, epsilon=EPSILON)
    truth = true_answers(patients)
    table = Table("ward", "smokers", "truth", "mean age", "truth")
    widths = {name: release.half_widths[name].to_pylist() for name in ("smokers", "age")}
    told = []
    for i, row in enumerate(release.table.to_pylist()):
        count, age = truth[row["ward"]]
        errors = {f"{name}_half_width": width[i] for name, width in widths.items()}
        told.append({**row, **errors, "true_smokers": count, "true_age": age})
        table.add_row(
            row["ward"],
            f"{row['smokers']} ± {math.ceil(widths['smokers'][i])}",
            str(count),
            f"{row['age']:.1f} ± {widths['age'][i]:.1f}",
            f"{age:.1f}",
        )
    console.print(table)
    console.print("± is a 95 % interval. Asking the same again returns the same answer for free:")
    assert curator.sql(SMOKERS, epsilon=EPSILON) == release  # noqa: S101 - what the line says
    show_budget(console, curator)
    return told


def true_answers(patients: "pa.Table") -> dict[str, tuple[int, float]]:
    """Smokers and their mean age, ward by ward."""
    smokers = patients.filter(patients["smokes"]).group_by("ward")
    found = smokers.aggregate([("age", "count"), ("age", "mean")]).to_pylist()
    return {one["ward"]: (one["age_count"], one["age_mean"]) for one in found}


def show_budget(console: Console, curator: "Curator") -> None:
    """The gauge of the dataset's budget."""
    from discreet.cli.budget import gauge  # noqa: PLC0415 - shares its picture

    account = curator.budget("patients")
    spent = float(account.total.amount)
    console.print(f"  budget {gauge(account, width=24)}, epsilon {spent:g} of 3 spent")


def show_refusal(console: Console, curator: "Curator") -> None:
    """A question about one person, which is refused."""
    from discreet.errors import QueryRefused  # noqa: PLC0415 - used here alone

    console.print(f"\n[cyan]{NOSY}[/]")
    try:
        curator.sql(NOSY, epsilon=EPSILON)
    except QueryRefused as refused:
        console.print(f"  refused, nothing is charged:\n  {escape(refused.why)}")


def show_attack(console: Console, curator: "Curator", patients: "pa.Table") -> dict[str, float]:
    """Differencing: ask with and without one person, and subtract."""
    smokes = patients.column("smokes").to_pylist()
    exact = sum(smokes), sum(smokes) - smokes[TARGET]
    noisy = [
        curator.sql(text, epsilon=EPSILON).table.column("n")[0].as_py() for text in (ALL, BUT_ONE)
    ]
    count = Laplace(epsilon=EPSILON, sensitivity=1)
    bound = math.exp(EPSILON) / (1 + math.exp(EPSILON))
    rate = guessed_right(count)
    strays = STRAYS * math.sqrt(bound * (1 - bound) / TRIES)
    found = "do" if smokes[TARGET] else "do not"
    console.print(
        f"\nDoes patient {TARGET} smoke? An attacker counts with and without them, and subtracts:\n"
        f"  exact answers    {exact[0]} - {exact[1]} = {exact[0] - exact[1]}: they {found}\n"
        f"  private answers  {noisy[0]} - {noisy[1]} = {noisy[0] - noisy[1]}, "
        f"and each may be off by {count.error(0.95):.0f}\n"
        f"An attacker who knows everybody else tries it on {TRIES:,} people:\n"
        f"  exact answers    100 % found out\n"
        f"  private answers  {rate:.1%} guessed right; a coin guesses 50 %\n"
        f"                   in the long run nobody passes {bound:.1%}, by proof;\n"
        f"                   a sample of this size strays from that by up to {strays:.1%}"
    )
    facts = {"exact": 1.0, "private": rate, "coin": 0.5, "bound": bound}
    return {**facts, "strays": strays, "tries": TRIES}


def guessed_right(count: Laplace) -> float:
    """How often the best guess from one private count is right."""
    secrets = noise.bernoulli(0.5, size=TRIES)
    answers = count.release(1000 + secrets.astype(int))
    return float(((answers - 1000 > 0.5) == secrets).mean())
