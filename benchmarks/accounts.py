"""How many of 1,000 ordinary orders an account answers, by the measure that it adds up.

Every order wants a 95 % half-width; the account buys the noise that costs it least. The same
orders in the same sequence meet each account, until the first one that does not fit. Scales are
such that an account in rho answers some 300, or some 10 ("few"). A training run of 1,000 Poisson
sampled steps, which alone would be (epsilon/3, delta/3)-private, comes first; an account that
cannot pay for it goes on without.

    epsilon   epsilons add up; delta pays for found keys alone
    rho       approximate zCDP
    mu^2      Gaussian DP of the whole order's curve, + (0, delta'), as far as rounding goes
    renyi     divergence of one order, fixed by the cap
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from discreet.privacy import (
    EPSILON,
    GDP,
    MU_SQUARED,
    RHO,
    BoundedRange,
    CalibrationStep,
    Filter,
    GaussianNoise,
    Guarantee,
    LaplaceNoise,
    Measure,
    Subsampled,
    calibrate,
    compose,
)
from discreet.privacy.budgets.charges import least_mu
from discreet.privacy.budgets.filters import renyi_for

CAPS = ((1.0, 1e-9), (1.0, 1e-5), (3.0, 1e-6), (0.3, 1e-6))
ORDERS, MANY, FEW = 1000, 300, 10
KINDS = {"count": 0.35, "mean": 0.25, "median": 0.15, "found keys": 0.15, "five aggregates": 0.1}
MIXES = {"mix": KINDS, "counts and means": {"count": 0.6, "mean": 0.4}, "medians": {"median": 1.0}}
STEPS, RATE = 1000, Fraction(1, 100)

Order = tuple[tuple[str, float], ...]
"""Measurements: ("noise", half-width) or ("median", epsilon) or ("training", mu of a step)."""


def orders(mix: dict[str, float], scale: float) -> Iterator[Order]:
    """1,000 orders with half-widths within a factor of 3 around `scale`."""
    rng = np.random.default_rng(7)
    for kind in rng.choice(list(mix), ORDERS, p=list(mix.values())):
        width = scale * float(np.exp(rng.uniform(-1.1, 1.1)))
        count = {"mean": 2, "five aggregates": 5}.get(kind, 1)
        if kind == "median":  # as much rho as a count of this half-width
            yield (("median", 1.96 * 2 / width),)
        else:
            yield (("noise", width * math.sqrt(count)),) * count


@cache
def training(epsilon: float, delta: float) -> float:
    """The mu of one step such that the run alone is (epsilon/3, delta/3)-private."""
    step = CalibrationStep(lambda mu: Subsampled(GaussianNoise(mu), RATE), count=STEPS)
    return float(calibrate([step], epsilon=epsilon / 3, delta=delta / 3).parameters[0])


def gaussian(width: float) -> GaussianNoise:
    """Gaussian noise of this half-width."""
    return GaussianNoise(1.959964 / width)


def laplace(width: float) -> LaplaceNoise:
    """Laplace noise of this half-width."""
    return LaplaceNoise(math.log(20) / width)


@dataclass(frozen=True)
class Account:
    """A cap, and the cost of one order in the same unit."""

    name: str
    cap: float
    cost: Callable[[Order], float]

    def answers(self, asked: list[Order], run: Order | None = None) -> tuple[int, bool]:
        """How many orders fit, and whether the run did before them."""
        first = math.inf if run is None else self.cost(run)
        left = self.cap - (first if first <= self.cap else 0)
        for i, order in enumerate(asked):
            left -= self.cost(order)
            if left < 0:
                return i, first <= self.cap
        return len(asked), first <= self.cap


def accounts(epsilon: float, delta: float) -> list[Account]:
    """The four of one (epsilon, delta); half of delta is for found keys, but by epsilon all."""
    rest = delta / 2
    order = renyi_for(epsilon, rest)
    caps = [Filter.within(epsilon, rest, by=by).limit for by in (RHO, MU_SQUARED, order)]
    rho, mu, divergence = (float(cap.amount) for cap in caps)
    tail = rest / ORDERS / 10  # the delta' of each order that mu^2 may use
    return [
        Account("epsilon", epsilon, lambda one: by_parts(one, EPSILON)),
        Account("rho", rho, lambda one: by_parts(one, RHO)),
        Account("mu^2", mu, lambda one: by_curve(one, tail)),
        Account(f"renyi({float(order.order or 0):g})", divergence, lambda o: by_parts(o, order)),
    ]


@cache
def by_parts(order: Order, by: Measure) -> float:
    """The sum of the least costs of its measurements."""
    return sum(_part(kind, size, by) for kind, size in order)


def _part(kind: str, size: float, by: Measure) -> float:
    if kind == "median":
        choices: list[Guarantee] = [BoundedRange(size)]
    elif kind == "training":
        choices = [Subsampled(GaussianNoise(size), RATE)]
    else:
        choices = [gaussian(size), laplace(size)]
    times = STEPS if kind == "training" else 1
    return times * min(_cost(one, by) for one in choices)


def _cost(one: Guarantee, by: Measure) -> float:
    if by == EPSILON:
        return one.epsilon(0).upper
    return one.rho().upper if by == RHO else one.rdp(by.order or 2).upper


@cache
def by_curve(order: Order, tail: float) -> float:
    """The least mu^2 with (0, tail) whose curve is above the order's."""
    square = sum((1.959964 / size) ** 2 for kind, size in order if kind == "noise")
    others = [BoundedRange(size) for kind, size in order if kind == "median"]
    steps = [Subsampled(GaussianNoise(size), RATE) for kind, size in order if kind == "training"]
    if not others and not steps:
        pure = sum(math.log(20) / size for kind, size in order)
        return min(square, float(least_mu(Fraction(pure))) ** 2)
    whole = compose([(one, STEPS) for one in steps] or others)
    top = whole.epsilon(tail).upper
    return max(_mu(e, (whole.delta(e).upper - tail) / (1 - tail)) for e in _epsilons(top)) ** 2


def _epsilons(top: float) -> list[float]:
    return [float(e) for e in top * np.linspace(0, 1, 24)]


def _mu(epsilon: float, delta: float) -> float:
    """The mu whose delta(epsilon) is this."""
    low, high = 0.0, 64.0
    for _ in range(60 if delta > 0 else 0):
        middle = (low + high) / 2
        fits = GDP(Fraction(middle)).delta(epsilon).upper < delta
        low, high = (middle, high) if fits else (low, middle)
    return high if delta > 0 else 0.0


def scale_for(mix: dict[str, float], account: Account, wanted: int) -> float:
    """The half-width at which an account answers so many of the orders."""
    low, high = 1e-2, 1e6
    for _ in range(24):
        middle = math.sqrt(low * high)
        enough = account.answers(list(orders(mix, middle)))[0] >= wanted
        low, high = (low, middle) if enough else (middle, high)
    return high


def main() -> None:
    """Print how many orders each account answers."""
    head = "".join(f"{name:>16}" for name in ("epsilon", "rho", "mu^2", "renyi"))
    print(f"{'cap, mix':<42}{head}    (+: and the training run)")
    for epsilon, delta in CAPS:
        table = accounts(epsilon, delta)
        run: Order = (("training", training(epsilon, delta)),)
        for name, mix in MIXES.items():
            for wanted in (MANY, FEW):
                asked = list(orders(mix, scale_for(mix, table[1], wanted)))
                for before in (None, run) if name == "mix" else (None,):
                    cells = [one.answers(asked, before) for one in table]
                    what = f"({epsilon:g}, {delta:g}) {name}{', few' if wanted == FEW else ''}"
                    what += "" if before is None else ", training first"
                    shown = "".join(f"{n}{'+' if ran else '':<2}".rjust(16) for n, ran in cells)
                    print(f"{what:<42}{shown}", flush=True)
        share = [one.cost(run) / one.cap for one in table]
        print(f"{'   the training run / cap':<42}" + "".join(f"{x:>14.3g}  " for x in share))


if __name__ == "__main__":
    main()
