"""Limits that the system chooses: do intervals cover, and how much better is the best limit?

The chooser itself runs on histograms of made-up people with noise from numpy (breadth), then a few
of the same through a curator in memory (end to end). A miss is marked: ! where the error is above
1.5 times that of the best stated limit in hindsight (the median over runs; cells with a higher mean
are listed below, with what they come from), * where intervals cover less than
93 % or more than 99 %. "few", hit or miss: fewer people than a histogram can show hold half of what
is cut off.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import discreet as dp
from discreet.answer.plan.contribution_histogram import (
    FEW,
    GAP,
    LADDER,
    ROWS,
    SURE,
    ContributionHistogram,
    Norm,
    choose,
    clipped_share,
    far_beyond,
    raise_limit,
)
from discreet.answer.plan.planning import CHOICE
from discreet.plan.bounding import ContributionBounds, NoiseKind

Ints = NDArray[np.int64]

PEOPLE = 20_000
EPSILONS = (0.05, 0.1, 0.3, 1.0, 3.0)
RUNS = 400
SEEN = 25
"""Noise scales of people that any histogram shows, however thin they are spread over it."""

_GAUSSIAN = 4.8
"""The deviation of Gaussian noise at epsilon 1 and delta 1e-6, for a limit of 1."""


def shapes(rng: np.random.Generator, n: int = PEOPLE) -> dict[str, Ints]:
    """Rows per person."""
    giant = rng.geometric(1 / 4, n)
    giant[0] = 100_000
    heavy, far, rare = (rng.random(n) < part for part in (0.1, 0.05, 0.03))
    return {
        "one row": np.ones(n, dtype=np.int64),
        "constant 9": np.full(n, 9),
        "uniform 1-20": rng.integers(1, 21, n),
        "geometric, mean 7": rng.geometric(1 / 7, n),
        "Poisson 10": 1 + rng.poisson(10, n),
        "log-normal, 0.5": np.ceil(rng.lognormal(3, 0.5, n)).astype(np.int64),
        "log-normal, 1": np.ceil(rng.lognormal(1.5, 1, n)).astype(np.int64),
        "two kinds": np.where(heavy, 40 + rng.poisson(10, n), 1 + rng.poisson(2, n)),
        "bimodal, far": np.where(far, rng.integers(1000, 1200, n), rng.integers(1, 4, n)),
        "mostly one": np.where(rare, rng.integers(2, 30, n), 1),
        "Zipf 3": np.minimum(rng.zipf(3, n), 10**6),
        "Zipf 2": np.minimum(rng.zipf(2, n), 10**6),
        "one of 10^5": giant,
    }


# --- breadth: the chooser on histograms -----------------------------------------------------------


def main() -> None:
    """Print both tables."""
    print("covered / error beside the best limit / limit (best)")
    rng = np.random.default_rng(1)
    counts: Counter[tuple[bool, str]] = Counter()
    high: list[str] = []
    for law in NoiseKind:
        for groups in (1, 100):
            print(f"\n{law.value} noise, {groups} group{'s' if groups > 1 else ''}")
            print(f"{'':<20}" + "".join(f"{f'epsilon {e:g}':^28}" for e in EPSILONS))
            for name, rows in shapes(rng).items():
                cells = [cell(rng, name, rows, law, groups, e, counts, high) for e in EPSILONS]
                print(f"{name:<20}" + "".join(f"{one:<28}" for one in cells), flush=True)
    for few in (False, True):
        names = ("cells", "uncovered", "untold", "median", "mean")
        found = {what: counts[few, what] for what in names}
        print(
            f"\nheld by {'few' if few else 'enough'}: {found['cells']} cells; {found['uncovered']}"
            f" outside 93-99 %, {found['untold']} below 93 % of what they say they are about;"
            f" error above 1.5: {found['median']} by median,"
            f" {found['mean']} by mean"
        )
    print("\nmean error above 1.5: of most runs, what others add to it, and its regime")
    print("\n".join(high))
    end_to_end()


def cell(
    rng: np.random.Generator,
    name: str,
    rows: Ints,
    law: NoiseKind,
    groups: int,
    epsilon: float,
    counts: "Counter[tuple[bool, str]]",
    high: list[str],
) -> str:
    """How often intervals cover and how far answers are off, over runs of the chooser."""
    share = float(CHOICE[law]) * (2 if groups < FEW else 1)
    pure = law is NoiseKind.LAPLACE
    noise = (1.0 if pure else _GAUSSIAN) / epsilon
    # Shares are of epsilon, or of mu^2; scales of the histogram have one deviation.
    scale = noise / share if pure else noise / math.sqrt(2 * share)
    left = noise / (1 - share) if pure else noise / math.sqrt(1 - share)
    best, least = hindsight(rows, noise, groups, law)
    exact = np.bincount(np.minimum(np.searchsorted(LADDER, rows), len(LADDER)))
    people = np.zeros(len(LADDER) + 1)
    people[: exact.size] = exact
    found = []
    for _ in range(RUNS):
        drawn = (
            rng.laplace(0, scale, (2, people.size))
            if pure
            else rng.normal(0, scale * 2**0.5, (2, people.size))
        )
        looks = 2 if groups < FEW else 1
        seen = ContributionHistogram(people + np.rint(drawn[0]), scale, LADDER, None, law, looks)
        found.append(run(rows, seen, law, groups, left, people + np.rint(drawn[1])))
    covered, errors, limits, told = map(np.array, zip(*found, strict=True))
    covers, ratio, mean = float(covered.mean()), np.median(errors) / least, errors.mean() / least
    limit = int(np.median(limits))
    missed = "*" if not 0.93 <= covers <= 0.99 else ""
    few = held_by_few(rows, limit, SEEN * scale)
    counts[few, "cells"] += 1
    counts[few, "uncovered"] += bool(missed)
    counts[few, "untold"] += float(told.mean()) < 0.93
    counts[few, "median"] += bool(ratio > 1.5)
    counts[few, "mean"] += bool(mean > 1.5)
    if mean > 1.5:
        where = f"{law.value}, {groups} groups, {name}{', few' * few}, epsilon {epsilon:g}"
        low, far = limits < 0.9 * best, limits > 2 * limit
        usual = errors[~(low | far)].mean() / least if not (low | far).all() else ratio
        made = f"{where}: {mean:.2f} = {usual:.2f}" + "".join(
            f" + {float((errors[which] / least - usual).sum()) / RUNS:.2f} ({why} in "
            f"{100 * which.mean():.1f} % of runs)"
            for which, why in ((low, "people missed"), (far, "noise taken for people"))
        )
        high.append(f"{made}; {regime(rows, limits, best, epsilon, scale, law, groups)}")
    marks = missed + ("!" if ratio > 1.5 else "") + (" few" if few else "")
    return f"{covers:.2f} / {ratio:.2f} / {limit} ({best}) {marks}"


def held_by_few(rows: Ints, limit: int, seen: float) -> bool:
    """Whether fewer people than can be seen hold half of what a limit cuts off."""
    lost = np.sort(np.maximum(rows - limit, 0))[::-1]
    return bool(lost[: int(seen)].sum() > lost.sum() / 2)


def regime(
    rows: Ints,
    limits: Ints,
    best: int,
    epsilon: float,
    scale: float,
    law: NoiseKind,
    groups: int,
) -> str:
    """Whether a private rule can see the people beyond the lowest limit that some run chose.

    With one group, k people r times further out than all others are out of reach of any private
    rule while (k epsilon - 3) e^(-k epsilon) r > 3. The histogram, with its share of epsilon, sees
    them from 5 + 1.5 ln r noise scales in one bucket on, and misses one in a hundred at four
    scales (log 50) more.
    """
    low = int(limits.min())
    beyond = int(np.sum(rows > low))
    if low >= best or not beyond:
        return f"in: nobody is missed, no run is below the best limit {best}"
    k, r = beyond * epsilon, float(np.quantile(rows[rows > low], 0.9)) / low
    densest = np.bincount(np.searchsorted(LADDER, rows[rows > low])).max() / scale
    if groups == 1 and k > 3 and (k - 3) * math.exp(-k) * r > 3:
        return f"out of reach of any private rule: k epsilon {k:.1f}, r {r:.0f}"
    sure = SURE[law] + GAP * math.log(r)
    if law is NoiseKind.LAPLACE:
        sure += math.log(50)
    else:
        normal = NormalDist(0, 2**0.5)
        sure = normal.inv_cdf(1 - math.exp(-sure) / 2) + normal.inv_cdf(0.99)
    seen = "in: surely seen" if densest > sure else "between: not out of reach, not surely seen"
    return (
        f"{seen}; k epsilon {k:.0f} beyond {low}, r {r:.0f}, {densest:.0f} of {sure:.0f} noise"
        " scales in one bucket"
    )


def run(
    rows: Ints,
    spread: ContributionHistogram,
    law: NoiseKind,
    groups: int,
    noise: float,
    again: NDArray[np.float64],
) -> tuple[float, float, int, float]:
    """The probability to cover, the mean error and the limit of one histogram.

    With few groups people far out are counted `again`. Last the probability to cover the truth if
    nobody has more rows than the answer says.
    """
    # A group has as many rows of each person as another: their norm is their rows.
    norm = Norm(ROWS, law if groups == 1 else NoiseKind.LAPLACE, groups)
    limit = choose(spread, norm, noise, groups)
    bounds = ContributionBounds(law, limit, 1)
    if spread.looks == 2:
        price = 2 * CHOICE[law]  # of what is left, the second histogram takes as much as the first
        far, share = far_beyond(limit), Fraction(1 - price / (1 - price))
        if far is not None:
            bounds = replace(bounds, far=far, share=share)
            both = spread.with_second(again[LADDER.index(far) + 1 :])
            raised = raise_limit(both, norm, bounds, noise, groups)
            bounds, spread = (bounds, spread) if raised is None else (raised, both)
    limit = bounds.full_rows
    told = clipped_share(spread, replace(norm, rows=bounds), limit)
    kept = np.minimum(rows, limit)
    if bounds.far is not None:
        kept = np.where(rows > bounds.far, np.minimum(rows, bounds.far_rows), kept)
    lost = (rows - kept).sum() / groups
    left = rows.sum() / groups - lost
    allowed = left * told.lost / (1 - told.lost) if told is not None else 0.0
    scale = noise * bounds.rows
    width = (math.log(20) if law is NoiseKind.LAPLACE else 1.96) * scale + allowed
    most = rows.max() if told is None else max(told.most, limit)
    fewer = np.maximum(rows - most, 0)
    if bounds.far is not None and most <= bounds.far:  # so it says
        fewer = np.where(rows > bounds.far, rows - kept, fewer)
    said = _covers(law, (lost - fewer.sum() / groups) / scale, width / scale)
    return _covers(law, lost / scale, width / scale), _error(law, scale, lost), limit, said


def hindsight(rows: Ints, noise: float, groups: int, law: NoiseKind) -> tuple[int, float]:
    """The limit with the least mean error for all of epsilon, by somebody who knows the data."""
    limits = np.unique([*range(1, 300), *LADDER, *np.quantile(rows, [0.9, 0.99, 0.999, 1])])
    options = []
    for limit in limits[limits <= rows.max()].astype(int):
        lost = np.maximum(rows - limit, 0).sum() / groups
        options.append((_error(law, noise * limit, lost), int(limit)))
    least, best = min(options)
    return best, least


def _error(law: NoiseKind, scale: float, lost: float) -> float:
    """The mean distance from the truth of a number with noise of a scale that lacks `lost`."""
    if law is NoiseKind.LAPLACE:
        return lost + scale * math.exp(-lost / scale)
    middle = NormalDist(lost, scale)
    return 2 * scale * scale * middle.pdf(0) + lost * (1 - 2 * middle.cdf(0))


def _covers(law: NoiseKind, lost: float, width: float) -> float:
    """How often noise of scale 1 leads no further than `width` from `lost`."""

    def below(x: float) -> float:
        if law is NoiseKind.GAUSSIAN:
            return NormalDist().cdf(x)
        return math.exp(x) / 2 if x < 0 else 1 - math.exp(-x) / 2

    return below(lost + width) - below(lost - width)


# --- end to end -----------------------------------------------------------------------------------

ALL = "SELECT COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM t"
EACH = "SELECT g, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM t GROUP BY g ORDER BY g"


def end_to_end() -> None:
    """The same through a curator: coverage of counts, sums and means, in all and by 100 groups."""
    rng = np.random.default_rng(2)
    made = shapes(rng)
    names = ("uniform 1-20", "geometric, mean 7", "two kinds", "log-normal, 0.5")
    cases = {name: made[name] for name in names}
    cases["30,000 of 1 to 20"] = np.minimum(rng.geometric(0.15, 30_000), 20)
    print("\nthrough a curator: share of intervals that cover, 20 answers each")
    heads = f"{'n':>6}{'s':>6}{'m':>6}{'by 100: n':>12}{'s':>6}{'m':>6}"
    print(f"{'':<20}{'noise':<10}{'epsilon':<9}{heads}")
    for name, rows in cases.items():
        for law, epsilon, covers in curated(rng, rows):
            shown = "".join(f"{one:>{12 if i == 3 else 6}.2f}" for i, one in enumerate(covers))
            print(f"{name:<20}{law:<10}{epsilon:<9g}{shown}", flush=True)


def curated(rng: np.random.Generator, rows: Ints) -> Iterator[tuple[str, float, list[float]]]:
    """Coverage through a curator whose budget is in epsilon (Laplace) or in rho (Gaussian)."""
    who = np.repeat(np.arange(rows.size), rows)
    group, x = rng.integers(0, 100, who.size), np.rint(rng.uniform(0, 100, who.size))
    counts = np.bincount(group, minlength=100)
    sums = np.bincount(group, x, minlength=100)
    truths = {
        ALL: {"n": who.size, "s": x.sum(), "m": x.mean()},
        EACH: {"n": counts, "s": sums, "m": sums / counts},
    }
    table = pa.table({"who": who, "g": group, "x": x})
    budgets = {"Laplace": dp.Budget(epsilon=10**6), "Gaussian": dp.Budget(rho=10**6, delta=1e-3)}
    for law, budget in budgets.items():
        with dp.Curator.in_memory() as curator:
            curator.add(
                "t",
                table,
                unit="who",
                budget=budget,
                columns={"g": dp.Keys(range(100)), "x": dp.Bounds(0, 100)},
            )
            for epsilon in (0.1, 0.5, 1.0):
                hits: dict[str, list[float]] = {}
                for i in range(20):
                    price = epsilon * (1 + i / 10**6)  # the same question again would be free
                    for text, truth in truths.items():
                        told = curator.sql(text, epsilon=price).to_arrow()
                        for column, true in truth.items():
                            low, high = (told[f"{column}_{e}"].to_numpy() for e in ("low", "high"))
                            share = float(np.mean((low <= true) & (true <= high)))
                            hits.setdefault(f"{text} {column}", []).append(share)
                yield law, epsilon, [float(np.mean(hit)) for hit in hits.values()]
