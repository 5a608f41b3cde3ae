"""`discreet demo`: what a newcomer runs first."""

import math

import click
from rich.console import Console
from rich.table import Table

from discreet import noise
from discreet.mechanisms import Laplace

PATIENTS = 4_000
WARDS = {"Ward A": 0.31, "Ward B": 0.12, "Ward C": 0.55, "Ward D": 0.07}
EPSILON = 0.5
TRIES = 100_000


@click.command()
def demo() -> None:
    """Draw exact noise, answer a question privately, and watch an attack fail.

    Example: discreet demo
    """
    console = Console()
    console.print("[bold]discreet[/]: answers about people that give none of them away\n")
    show_noise(console)
    smokers = make_patients()
    show_counts(console, smokers)
    show_attack(console, sum(smokers.values()))
    console.print("\nNext: [bold]discreet audit[/] tries to refute every promise made here.")


def make_patients() -> dict[str, int]:
    """Patients who smoke, ward by ward: made-up people, so the truth may be shown."""
    return {
        ward: int(noise.bernoulli(share, size=PATIENTS // len(WARDS)).sum())
        for ward, share in WARDS.items()
    }


def show_noise(console: Console) -> None:
    """A picture of exact noise."""
    draws = noise.discrete_laplace(4, size=100_000)
    console.print("100,000 exact draws of discrete Laplace noise, scale 4:")
    most = int((draws == 0).sum())
    for k in range(-8, 9, 2):
        seen = int((draws == k).sum())
        console.print(f"  {k:>3} {'█' * round(44 * seen / most)} {seen}")


def show_counts(console: Console, smokers: dict[str, int]) -> None:
    """A private count for each ward, with its error bar."""
    count = Laplace(epsilon=EPSILON, sensitivity=1)
    width = count.error(0.95)
    console.print(
        f"\nHow many patients smoke? One patient is in one ward, so all four answers\n"
        f"together cost epsilon = {EPSILON}. Each is within {width:.0f} of the truth, "
        f"95 times in 100."
    )
    table = Table("ward", "private answer", "95 % interval", "truth (made-up data)")
    for ward, truth in smokers.items():
        answer = count.release(truth)
        table.add_row(
            ward, str(answer), f"{answer - width:.0f} to {answer + width:.0f}", str(truth)
        )
    console.print(table)


def show_attack(console: Console, total: int) -> None:
    """Differencing: ask with and without one person, and subtract."""
    count = Laplace(epsilon=EPSILON, sensitivity=1)
    secrets = noise.bernoulli(0.5, size=TRIES)
    answers = count.release(total + secrets.astype(int))
    guesses = answers - total > 0.5
    rate = (guesses == secrets).mean()
    bound = math.exp(EPSILON) / (1 + math.exp(EPSILON))
    sampling = 2 * math.sqrt(bound * (1 - bound) / TRIES)
    console.print(
        "\nAn attacker knows everybody but one person, asks once more, and subtracts:\n"
        f"  exact answers    100 % of {TRIES:,} people found out\n"
        f"  private answers  {rate:.1%} guessed right; a coin guesses 50 %\n"
        f"                   no attacker can pass {bound:.1%} (give or take {sampling:.1%} here)"
    )
