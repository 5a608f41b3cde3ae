"""Sampled Gaussian noise over the grid that training uses: how far apart bounds are, and CPU time.

The excess is (upper - lower)/lower, so it bounds what the reported epsilon exceeds the truth by.
"""

import itertools
import time
from fractions import Fraction
from statistics import mean, median

from discreet.privacy import CalibrationStep, GaussianNoise, Subsampled, calibrate, compose

RATES = ("0.000001", "0.0001", "0.001", "0.01", "0.1")
NOISES = ("0.5", "1", "2", "4")
STEPS = (1, 10, 100, 1000, 10_000, 100_000)
DELTAS = ("1e-5", "1e-10")

GOAL = 1e-3


def sampled(rate: str, noise: str) -> Subsampled:
    return Subsampled(GaussianNoise(1 / Fraction(noise)), Fraction(rate))


def point(rate: str, noise: str, steps: int, delta: str) -> tuple[float, float]:
    """The excess at one point of the grid, and its CPU time."""
    start = time.process_time()
    bound = compose([(sampled(rate, noise), steps)]).epsilon(Fraction(delta))
    seconds = time.process_time() - start
    if bound.upper == bound.lower:
        return 0.0, seconds
    return (bound.upper / bound.lower - 1 if bound.lower else float("inf")), seconds


def grid(rate: str) -> list[tuple[float, float]]:
    """One line of the table: all noises, steps and deltas at one rate."""
    cells = list(itertools.product(NOISES, STEPS, DELTAS))
    found = [point(rate, *cell) for cell in cells]
    excesses, seconds = [excess for excess, _ in found], [one for _, one in found]
    worst = max(range(len(cells)), key=excesses.__getitem__)
    print(
        f"rate {rate:<10}{sum(one <= GOAL for one in excesses):>4} of {len(cells)}"
        f"{median(excesses):>12.1e}{excesses[worst]:>12.1e}"
        f"{mean(seconds) * 1e3:>10.0f} ms{max(seconds) * 1e3:>8.0f} ms   worst at {cells[worst]}",
        flush=True,
    )
    return found


def calibrated() -> None:
    """The least noise for a target: how far below the target even a thousandth less noise is."""
    rate = Fraction("0.002")
    request = CalibrationStep(lambda c: Subsampled(GaussianNoise(c), rate), count=1000)
    start = time.process_time()
    found = calibrate([request], epsilon=Fraction(2, 5), delta=1e-6)
    seconds = time.process_time() - start
    unused = 1 - found.plan.epsilon(1e-6).lower / 0.4
    print(
        f"calibrated to (0.4, 1e-6), rate 0.002, 1000 steps: sigma"
        f" {float(1 / found.parameters[0]):.5f}, unused {unused:.1e}, {seconds:.1f} s"
    )


def main() -> None:
    print(f"{'':<15}{'within 1e-3':>10}{'median':>10}{'worst':>12}{'mean':>10}{'most':>11}")
    found = [cell for rate in RATES for cell in grid(rate)]
    within = sum(excess <= GOAL for excess, _ in found)
    print(f"{within} of {len(found)} within {GOAL:g}, worst {max(e for e, _ in found):.1e}")
    calibrated()
