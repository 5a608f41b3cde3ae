"""Runs the attacks and writes the two tables in docs/explanation/attacks.md between their markers.

`python docs/figures/attacks.py` rewrites both, in a few minutes; with names it prints those rows.
People are made up from fixed seeds, so all figures without private noise are the same on every run
of one machine, and within their standard error on another. Private noise is fresh, and its figures
move a little.
"""

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from pathlib import Path

import numpy as np

from discreet.attacks import (
    Averaging,
    CensusTables,
    Exponential,
    Holdout,
    LeastSquares,
    LinearProgram,
    Linkage,
    Posterior,
    Promise,
    Robust,
    Tracing,
)
from discreet.attacks.linkage import DAYS, STARS, Ratings
from discreet.attacks.outcome import pool
from discreet.attacks.reconstruction import Reconstruction, SubsetSum, lying
from discreet.attacks.simulation import Bits, SplitMix64
from discreet.curator.budget import Budget
from discreet.lab import AGAINST, PLAYS, Outcome, Setting, play, releases, samples
from discreet.lab.setting import DELTA
from discreet.mechanisms import Gaussian

PAGE = Path(__file__).parents[1] / "explanation/attacks.md"
BEGIN, END = "<!-- attacks: begin -->", "<!-- attacks: end -->"
HEAD = "| attack | chance | raw | classical | private | bound at epsilon 1 | n |"
RULE = "|---|---|---|---|---|---|---|"
FIGURES_BEGIN, FIGURES_END = "<!-- figures: begin -->", "<!-- figures: end -->"
FIGURES_HEAD = "| name | what | expected | measured | standard error |"
FIGURES_RULE = "|---|---|---|---|---|"


@dataclass(frozen=True, slots=True)
class Measured:
    """A rate and its standard error."""

    rate: float
    error: float

    @staticmethod
    def of(outcome: Outcome) -> "Measured":
        """The success of an attack."""
        return Measured(outcome.success, _error(outcome.success, outcome.n))

    @staticmethod
    def advantage(outcome: Outcome) -> "Measured":
        """Success less a baseline that was measured by as many guesses."""
        two = (_error(rate, outcome.n) for rate in (outcome.success, outcome.baseline))
        return Measured(outcome.success - outcome.baseline, math.hypot(*two))


def _error(rate: float, n: int) -> float:
    return max(math.sqrt(rate * (1 - rate) / n), 1 / n)


@dataclass(frozen=True, slots=True)
class Figure:
    """A rate that is known from elsewhere or from theory, and a run that measures it again.

    `side` says what it is to be: about the expected rate, at most that, or at least that. What was
    published about other data stands beside the rate and binds it to nothing.
    """

    what: str
    side: str
    expected: float
    run: Callable[[], Measured]
    private: bool = False

    def agrees(self, found: Measured) -> bool:
        """Whether a measurement is within three standard errors of what is expected."""
        off, slack = found.rate - self.expected, 3 * found.error
        sides = {"about": abs(off), "at most": off, "at least": -off, "published": 0.0}
        return sides[self.side] <= slack


def _repeat(
    kind: type[Reconstruction],
    target: Callable[[Reconstruction], SubsetSum],
    people: int,
    questions: int,
    trials: int,
) -> Measured:
    attacks = [kind(SplitMix64(100 + i).bits(people), Promise(1), i) for i in range(trials)]
    return Measured.of(pool(attack.run(target(attack), questions) for attack in attacks))


def _noisy(sigma: float, attack: Reconstruction) -> SubsetSum:
    draws = SplitMix64(attack.seed).split()  # not those of the questions
    return lambda people: float(attack.secret[people].sum() + sigma * draws.normal(1)[0])


def _rounded(attack: Reconstruction) -> SubsetSum:
    return lambda people: float(5 * np.round(attack.secret[people].sum() / 5))


def _within(most: float, attack: Reconstruction) -> SubsetSum:
    draws = SplitMix64(attack.seed).split()  # not those of the questions
    return lambda people: float(attack.secret[people].sum() + most * (2 * draws.uniform(1)[0] - 1))


def _garbage(share: float, attack: Reconstruction) -> SubsetSum:
    return lying(_noisy(0, attack), share, attack.people, seed=8)


def _gaussian(epsilon: int, questions: int, attack: Reconstruction) -> SubsetSum:
    """All subset sums with exact Gaussian noise under one budget."""
    rho = Budget(epsilon=epsilon, delta=DELTA).cap().amount / (2 * questions)  # the cap is mu^2
    subsets = attack.questions(questions)
    sums = Gaussian(rho=rho, sensitivity=1).release(subsets @ attack.secret)
    said = {subset.tobytes(): float(n) for subset, n in zip(subsets, sums, strict=True)}
    return lambda people: said[people.tobytes()]


def _averaging(repeats: int) -> Measured:
    """Fresh noise of epsilon 0.1 on every repeat."""
    secret, draws = SplitMix64(4).bits(500, 2), SplitMix64(9)
    attack = Averaging(secret, Promise(0.1))
    sums = secret.sum(axis=1)
    return Measured.of(attack.run(lambda _: sums + draws.laplace(10.0, 500), repeats))


def _tracing(attributes: int) -> Measured:
    studies = 8 if attributes <= 1000 else 2
    outcome = Tracing(attributes=attributes).run(lambda rows: rows.mean(axis=0), studies)
    # The bar is the 99th percentile of 2000 strangers, which adds about a fifth.
    return Measured(outcome.success, 1.2 * _error(outcome.success, outcome.n))


def _linkage(known: int, wrong: int, days: int, films: int = 1000) -> Measured:
    """50,000 viewers, about 37 ratings each."""
    attack = Linkage(50_000, films, known=known, wrong=wrong, days=days, seed=1)
    return Measured.of(attack.run(lambda ratings: ratings, 400))


VIEWERS, FILMS = 480_189, 17_770
"""How many there are in the Netflix Prize data; published: Narayanan, Shmatikov 2008."""
SAMPLE = 20_000


def netflix(people: int, films: int, draws: SplitMix64) -> Ratings:
    """Ratings with the medians and means of the Netflix Prize data, and nothing else of them.

    A viewer rates 96 films in the median and 209 in the mean, a film has 561 and 5,655 ratings, of
    at most 48 % of viewers: both log-normal, before films that are drawn twice are dropped (then 89
    and 163, and 600 and 4,393). Viewers join on any of the first 80 % of 2,000 days and rate about
    ten films on a day.
    """
    counts = np.clip(96 * np.exp(1.247 * draws.normal(people)), 10, 3000).astype(np.int64)
    # The same films for every part of a population.
    popular = np.sort(np.exp(2.15 * SplitMix64(17).normal(films)))
    popular = np.cumsum(np.minimum(popular, 0.0023 * popular.sum()))
    person = np.repeat(np.arange(people), counts)
    film = np.searchsorted(popular, draws.uniform(person.size) * popular[-1], side="right")
    joined = np.repeat(draws.uniform(people) * 0.8, counts)
    session = draws.below(2**31, person.size) % np.maximum(np.repeat(counts // 10, counts), 1)
    # A day for each of a viewer's sessions, hashed from the two.
    when = ((person * 1_000_003 + session) * 0x9E3779B1 % 2**32) / 2**32
    day = np.floor(DAYS * (joined + (1 - joined) * when)).astype(np.int64)
    liked = 1 + STARS * SplitMix64(18).uniform(films)[film] + draws.normal(person.size)
    stars = np.clip(np.floor(liked), 1, STARS).astype(np.int64)
    _, kept = np.unique(person * films + film, return_index=True)
    return Ratings(person, film, stars, day).where(kept)


def _identified(known: int, wrong: int) -> Measured:
    attack = Linkage(SAMPLE, FILMS, known, wrong, 3, seed=2, population=netflix)
    return Measured.of(attack.run(lambda ratings: ratings, 300))


def _few(viewers: int, most: int) -> Measured:
    """How often at most so many viewers have two ratings that are known."""
    counts = _candidates(viewers)
    rate = float(np.mean(counts <= most))
    return Measured(rate, _error(rate, counts.size))


@cache
def _candidates(viewers: int, targets: int = 300) -> Bits:
    """Of how many viewers two ratings can be, stars as they are and days off by up to 3."""
    draws = SplitMix64(3)
    theirs = netflix(targets, FILMS, draws)
    edges = np.searchsorted(theirs.person, np.arange(targets + 1))
    two = [edges[i] + draws.order(edges[i + 1] - edges[i])[:2] for i in range(targets)]
    known = [theirs.where(places) for places in two]
    off = draws.below(7, targets, 2) - 3
    counts = np.ones(targets, dtype=np.int64)  # the target
    for start in range(0, viewers, SAMPLE):
        others = netflix(min(SAMPLE, viewers - start), FILMS, draws.split())
        order = np.argsort(others.film, kind="stable")
        films = np.searchsorted(others.film[order], np.arange(FILMS + 1))
        for i, one in enumerate(known):
            near = []
            for film, stars, day in zip(one.film, one.stars, one.day + off[i], strict=True):
                here = order[films[film] : films[film + 1]]
                alike = (others.stars[here] == stars) & (np.abs(others.day[here] - day) <= 3)
                near.append(others.person[here[alike]])
            counts[i] += np.intersect1d(*near).size
    return counts


@cache
def _tracts() -> dict[str, Measured]:
    """Three tracts of 80 blocks, rebuilt."""
    found = [CensusTables().rebuild(lambda tables: tables, SplitMix64(s)) for s in range(3)]
    n = sum(one.people for one in found)

    def mean(name: str) -> Measured:
        rate = sum(getattr(one, name) * one.people for one in found) / n
        # People of one tract have its races in common: a standard error of tracts, not of people.
        return Measured(rate, float(np.std([getattr(one, name) for one in found])))

    return {name: mean(name) for name in ("exactly", "within_a_year", "named", "rightly")}


def _private(name: str, epsilon: Fraction = Fraction(1)) -> Outcome:
    return play(name, "private", epsilon=epsilon)


@cache
def _worn_out() -> Outcome:
    return Holdout().run(lambda _, hold: hold.mean, 5)


def _truth() -> Measured:
    outcome = _worn_out()
    return Measured(outcome.baseline, _error(0.5, 4 * outcome.n))  # four times as many are fresh


def _reusable(analyses: int, examples: int, features: int) -> Measured:
    """How far the mean report of a reusable holdout is from the truth."""
    setting = Setting("private", analyses)
    outcome = samples.holdout(setting, examples=examples, features=features)
    return Measured(abs(outcome.success - outcome.baseline), _error(0.5, outcome.n))


def _fair(setting: Setting) -> float:
    return setting.pure.of_bit()


def _gaussian_bound(setting: Setting) -> float:
    return setting.approximate.of_bit()


def _one_of_100(setting: Setting) -> float:
    return setting.pure.of_event(0.01)


_LIKELIEST = {1: 0.53, 10: 0.72, 50: 0.97}
"""Between Phi(mu/4), where nothing is known of the other bits, and Phi(mu/sqrt(8)), where all is: a
person is in half of the subsets."""
_N, _M = 128, 1024
_POLYNOMIAL = {"least-squares": (LeastSquares, 3), "linear-program": (LinearProgram, 1)}
FIGURES = {
    "exponential-errors-within-3": Figure(
        "12 people, 4096 subset sums, errors drawn from ±3",
        "about",
        1.0,
        lambda: _repeat(Exponential, partial(_within, 3), 12, 4096, 4),
    ),
    **{
        f"posterior-{epsilon}": Figure(
            f"12 people, Gaussian noise of epsilon {epsilon} on all sums, posterior",
            "about",
            expected,
            lambda epsilon=epsilon: _repeat(
                Posterior, partial(_gaussian, epsilon, 4096), 12, 4096, 40
            ),
            private=True,
        )
        for epsilon, expected in _LIKELIEST.items()
    },
    **{
        f"{name}-{how}": Figure(
            f"{_N} people, {_M} subset sums, {told}",
            "about",
            1.0,
            partial(_repeat, kind, target, _N, _M, trials),
        )
        for name, (kind, trials) in _POLYNOMIAL.items()
        for how, told, target in (
            ("exact", "exact", partial(_noisy, 0.0)),
            ("rounded", "rounded to 5", _rounded),
            ("quarter-root", "errors within 0.25 sqrt(n)", partial(_within, 0.25 * math.sqrt(_N))),
        )
    },
    "least-squares-sigma-4": Figure(
        "noise of 4, least squares",
        "about",
        0.97,
        lambda: _repeat(LeastSquares, partial(_noisy, 4.0), _N, _M, 5),
    ),
    "linear-program-sigma-4": Figure(
        "noise of 4, linear program",
        "about",
        0.95,
        lambda: _repeat(LinearProgram, partial(_noisy, 4.0), _N, _M, 1),
    ),
    **{
        f"gaussian-{epsilon}": Figure(
            f"Gaussian noise of epsilon {epsilon}, least squares",
            "about",
            expected,
            lambda epsilon=epsilon: _repeat(
                LeastSquares, partial(_gaussian, epsilon, _M), _N, _M, 20
            ),
            private=True,
        )
        for epsilon, expected in ((1, 0.53), (3, 0.56), (10, 0.65))
    },
    **{
        f"garbage-{percent}": Figure(
            f"100 people, 1000 sums, {percent} % garbage, l1 program",
            "about",
            1.0,
            lambda percent=percent: _repeat(Robust, partial(_garbage, percent / 100), 100, 1000, 1),
        )
        for percent in (10, 20, 30, 40)
    },
    "robust-private": Figure(
        "64 people, a curator's sums and 20 % garbage, epsilon 1",
        "about",
        0.5,
        lambda: Measured.of(_private("robust")),
        private=True,
    ),
    "differencing-exact": Figure(
        "two exact answers, subtracted",
        "about",
        1.0,
        lambda: Measured.of(play("differencing", "raw")),
    ),
    "differencing-private": Figure(
        "two answers of a curator, epsilon 1",
        "at most",
        math.e / (1 + math.e),
        lambda: Measured.of(_private("differencing")),
        private=True,
    ),
    "averaging-4000": Figure(
        "4000 repeats, fresh noise of epsilon 0.1 on each", "about", 0.99, lambda: _averaging(4000)
    ),
    "averaging-private": Figure(
        "200 repeats by a curator, epsilon 1",
        "at most",
        math.e / (1 + math.e),
        lambda: Measured.of(_private("averaging")),
        private=True,
    ),
    **{
        f"tracing-{attributes}": Figure(
            f"{attributes} means of 100 people, 1 % of strangers pass",
            "about",
            expected,
            partial(_tracing, attributes),
        )
        for attributes, expected in ((100, 0.10), (1000, 0.78), (5000, 1.0))
    },
    "tracing-private": Figure(
        "1000 means from a curator, epsilon 1",
        "at most",
        Setting("private", 1).approximate.of_event(0.01),
        lambda: Measured.of(_private("tracing")),
        private=True,
    ),
    "linkage-8": Figure(
        "50,000 viewers, 8 ratings known, 2 of them wrong, 14 days off",
        "about",
        0.998,
        lambda: _linkage(8, 2, 14),
    ),
    "linkage-2": Figure(
        "the same viewers, 2 ratings known, 3 days off", "about", 0.83, lambda: _linkage(2, 0, 3)
    ),
    "linkage-2-more-films": Figure(
        "as many viewers of 6,000 films",
        "at least",
        0.83,
        lambda: _linkage(2, 0, 3, films=6000),
    ),
    "netflix-8": Figure(
        "20,000 viewers of 17,770 films, 8 ratings known, 2 of them wrong, 3 days off",
        "published",
        0.96,
        lambda: _identified(8, 2),
    ),
    "netflix-2-candidates": Figure(
        "480,189 such viewers, 2 ratings known, 3 days off: at most 8 fit",
        "published",
        0.89,
        lambda: _few(VIEWERS, 8),
    ),
    "netflix-2-alone": Figure(
        "the same: only one fits", "published", 0.64, lambda: _few(VIEWERS, 1)
    ),
    **{
        f"linkage-private-{epsilon}": Figure(
            f"a curator's count of who fits, epsilon {epsilon}",
            "about",
            1 - math.exp(-epsilon / 2) / 2,
            lambda epsilon=epsilon: Measured.of(_private("linkage", Fraction(epsilon))),
            private=True,
        )
        for epsilon in (1, 3, 10)
    },
    "intersection-private": Figure(
        "two hospitals' private counts, epsilon 1",
        "at most",
        math.e / 30,
        lambda: Measured.of(_private("intersection")),
        private=True,
    ),
    "intersection-private-tenth": Figure(
        "the same, epsilon 0.1: chance is 1/30",
        "about",
        1 / 30,
        lambda: Measured.of(_private("intersection", Fraction(1, 10))),
        private=True,
    ),
    "census-exact": Figure(
        "seven people from seven groups' statistics",
        "about",
        1.0,
        lambda: Measured.of(releases.census(Setting("raw", 2_000_000))),
    ),
    **{
        f"census-private-{epsilon}": Figure(
            f"ten names from a curator's counts of ages and kinds, epsilon {epsilon}",
            "at most",
            Promise(epsilon).of_event(10 / 928),
            lambda epsilon=epsilon: Measured.of(_private("census", Fraction(epsilon))),
            private=True,
        )
        for epsilon in (1, 3, 10)
    },
    **{
        f"census-2010-{name.replace('_', '-')}": Figure(
            what, "published", published, lambda name=name: _tracts()[name]
        )
        for name, what, published in (
            ("exactly", "three tracts of 80 blocks from their tables: people rebuilt", 0.46),
            ("within_a_year", "the same, or with their age a year off", 0.71),
            ("named", "joined to a name in a file of 70 % of them", 0.579),
            ("rightly", "joined to a name, and of the race that was rebuilt", 0.239),
        )
    },
    **{
        f"{name}-private-{epsilon}": Figure(
            f"{what}, epsilon {epsilon}",
            "at most",
            bound(Setting("private", 1, Fraction(epsilon))),
            lambda name=name, epsilon=epsilon: Measured.of(_private(name, Fraction(epsilon))),
            private=True,
        )
        for name, what, bound in (
            ("refusals", "a curator's sums of three", _fair),
            ("social-graph", "randomized response by every pair", _fair),
            ("instance-hiding", "mixtures with Gaussian noise", _gaussian_bound),
            ("definitions", "randomized response, 100 codes", _one_of_100),
        )
        for epsilon in (1, 10)
    },
    "holdout-reports": Figure(
        "what a worn-out holdout of 2000 reports",
        "about",
        0.64,
        lambda: Measured.of(_worn_out()),
    ),
    "holdout-truth": Figure("the truth about that classifier", "about", 0.5, _truth),
    "holdout-reusable": Figure(
        "Thresholdout of 2000: distance from the truth, mean of 12 analyses",
        "at most",
        0.01,
        lambda: _reusable(12, 2000, 1000),
        private=True,
    ),
    "holdout-reusable-large": Figure(
        "Thresholdout of 20,000: distance from the truth, one analysis",
        "at most",
        0.01,
        lambda: _reusable(1, 20_000, 500),
        private=True,
    ),
    "low-bits-textbook": Figure(
        "textbook noise: zeros proved by the bits of one answer",
        "at least",
        0.3,
        lambda: Measured.of(play("low-bits", "raw")),
    ),
    "low-bits-grid": Figure(
        "a curator's noise", "about", 0.0, lambda: Measured.of(_private("low-bits")), private=True
    ),
    "repeated-zero-textbook": Figure(
        "textbook noise: zeros proved by 20 answers",
        "at least",
        0.98,
        lambda: Measured.of(play("repeated-zero", "raw")),
    ),
    "repeated-zero-grid": Figure(
        "a curator's noise",
        "about",
        0.0,
        lambda: Measured.of(_private("repeated-zero")),
        private=True,
    ),
}


def main() -> None:
    """Run everything and rewrite the page, or run what is named and print it."""
    if names := sys.argv[1:]:
        for name in names:
            print(figure_row(name, FIGURES[name].run()) if name in FIGURES else _played(name))
        return
    page = PAGE.read_text(encoding="utf-8")
    page = replaced(page, "\n".join(_plays()), (BEGIN, END))
    page = replaced(page, "\n".join(_figures()), (FIGURES_BEGIN, FIGURES_END))
    PAGE.write_text(page, encoding="utf-8")


def _plays() -> Iterator[str]:
    yield from (HEAD, RULE)
    yield from map(_played, PLAYS)


def _played(name: str) -> str:
    line = row(name, {against: play(name, against) for against in AGAINST})
    print(line, file=sys.stderr, flush=True)
    return line


def _figures() -> Iterator[str]:
    yield from (FIGURES_HEAD, FIGURES_RULE)
    for name, figure in FIGURES.items():
        line = figure_row(name, figure.run())
        print(line, file=sys.stderr, flush=True)
        yield line


def row(name: str, outcomes: dict[str, Outcome]) -> str:
    """One line of the first table; chance and bound are those of the private arm."""
    raw, rounded, private = (outcomes[against].success for against in AGAINST)
    last = outcomes["private"]
    return (
        f"| `{name}` | {last.baseline:.3f} | {raw:.3f} | {rounded:.3f} | {private:.3f} "
        f"| {last.bound:.3f} | {last.n} |"
    )


def figure_row(name: str, found: Measured) -> str:
    """One line of the second table."""
    figure = FIGURES[name]
    side = "" if figure.side == "about" else f"{figure.side} "
    return (
        f"| `{name}` | {figure.what} | {side}{figure.expected:.3f} | {found.rate:.3f} "
        f"| {found.error:.4f} |"
    )


def replaced(page: str, table: str, marks: tuple[str, str] = (BEGIN, END)) -> str:
    """The page with another table between its markers."""
    begin, end = marks
    before, rest = page.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n{table}\n{end}{after}"


if __name__ == "__main__":
    main()
