"""The samplers under all mechanisms, each beside its exact law, on every path that makes draws.

Draws are made in bulk, a few at once, one by one or with a parameter each, and wide ones of two
words: a path that no mechanism of the catalogue takes would go unseen. Here paths are the inputs.
"""

import math
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.audit.enumerate import check_law
from discreet.audit.evidence import Evidence, points
from discreet.audit.report import Audit
from discreet.mechanisms import smooth_laws
from discreet.mechanisms.comparison_laws import Bins, Tail, ends
from discreet.mechanisms.exponential import weights_law
from discreet.mechanisms.gaussian import rounded_tail
from discreet.mechanisms.mechanism import Claim, Law, Pair, View
from discreet.mechanisms.noise_tails import gaussian_tail, laplace_tail
from discreet.mechanisms.permute_and_flip import flips_law
from discreet.mechanisms.staircase import Staircase
from discreet.noise.bits import FEW, keyed
from discreet.privacy import Pure
from discreet.privacy.numerics.rounding import Interval, total

_MANY, _SOME, _LONG = 1_000_000, 40_000, 1_200_000
"""Draws in bulk, by the slower paths, and in one call: more coins than a MiB of bytes has."""

_WIDE: Final = 3 << 30
_HALF, _RARE = Fraction(1, 2), Fraction(1, 300)
_EVEN: Final[Law] = dict.fromkeys(range(2), (0.4998, 0.5002))
"""The law of a bit far below the scale, to two ten-thousandths."""


_PATHS: Final = ("one by one", "a few at once", "under one key", "a parameter each")
_ALIKE: Final = _PATHS[:-1]
"""Of draws that have one parameter together."""


@dataclass(frozen=True, slots=True)
class Sampler:
    """A sampler `draw(parameter, size)`, and views of its draws with their exact laws.

    `paths` are the slower ones that it has beside draws in bulk.
    """

    draw: Callable[[Any, Any], Any]
    parameter: Any
    views: tuple[View, ...]
    paths: tuple[str, ...] = _PATHS

    def drawn(self, path: str, runs: int) -> NDArray[Any]:
        """So many draws by one path."""
        match path:
            case "one by one":
                return np.array([self.draw(self.parameter, None) for _ in range(runs)])
            case "a few at once":
                parts = [self.draw(self.parameter, FEW - 1) for _ in range(-(-runs // (FEW - 1)))]
                return np.concatenate(parts)[:runs]
            case "under one key":
                with keyed(secrets.token_bytes(32), b"one part"):
                    return self.drawn("a few at once", runs)
            case "a parameter each":
                return np.asarray(self.draw([self.parameter, 1] * runs, None))[::2]
        return np.asarray(self.draw(self.parameter, runs))

    def claim(self, *paths: str) -> Claim:
        """That draws by these paths have the stated laws."""
        pairs = tuple(Pair(one, one) for one in paths)
        return Claim("Sampler", Pure(0), pairs, self.drawn, views=self.views)


def audit_sampler(name: str, sampler: Sampler, *, alpha: float = 0.01) -> Audit:
    """Hold the draws of every path against the law; a sound sampler fails with chance alpha."""
    start, bulk = time.process_time(), sampler.claim("at once")
    found = [check_law(bulk, samples=_MANY, alpha=alpha / 3), _repeats(sampler, alpha / 3)]
    if sampler.paths:
        slow = sampler.claim(*sampler.paths)
        found.append(check_law(slow, samples=_SOME, alpha=alpha / 3))
    return Audit(name, bulk, tuple(found), time.process_time() - start)


def _repeats(sampler: Sampler, alpha: float) -> Evidence:
    """Whether draws of one call are alike at any distance: noise that is used twice cancels.

    Why: which draws are above the middle is a row of coins. At a distance, the products of two of
    them, less their mean p, are martingale differences of at most 1, whose variances add up to
    v = n p^2 (1 - p)^2. By Freedman's inequality their sum is above L/3 + sqrt(L^2/9 + 2 L v) with
    probability at most e^-L; p is estimated, which moves the sum by less than 2 L.
    """
    drawn = np.asarray(sampler.drawn("at once", _LONG))
    middle = np.median(drawn)
    high = drawn > middle if bool((drawn > middle).any()) else drawn >= middle
    coins, n, p = high - high.mean(), drawn.size, float(high.mean())
    sums = np.fft.irfft(np.abs(np.fft.rfft(coins, 2 * n)) ** 2, 2 * n)[1:n]
    rare, variance = math.log(2 * n / alpha), n * (p * (1 - p)) ** 2
    most = rare / 3 + math.sqrt(rare**2 / 9 + 2 * rare * variance) + 2 * rare
    far = int(np.abs(sums).argmax())
    reason = f"draws that are {far + 1} apart are alike" if abs(sums[far]) > most else ""
    promised, event = Pure(0), "draws of one call are independent"
    top = points(promised)[-1]
    return Evidence("Sampler", "repeats", top, 0.0, event, alpha, n, reason=reason)


def _numbers(tail: Tail, scale: Fraction, far: int) -> tuple[View, ...]:
    """Bins out to so many scales, and every bit of its size that is far below the scale."""
    bins, low = Bins.growing(int(far * scale) + 2, Fraction(1)), int(scale).bit_length() - 13
    law = ends(bins.law(0, tail))
    bits = (View(partial(_bit, place), lambda _: _EVEN) for place in range(low))
    return View(bins.code, lambda _: law), *bits


def _bit(place: int, drawn: NDArray[Any]) -> NDArray[Any]:
    return np.abs(drawn.astype(np.int64)) >> place & 1


def _gaussian(deviation: Fraction, draw: Any, tail: Callable[[Fraction, int], Interval]) -> Sampler:
    return Sampler(draw, deviation**2, _numbers(partial(tail, deviation**2), deviation, 6))


def _student(scale: Fraction) -> Sampler:
    scale = min(scale, Fraction(3 << 22))  # beyond, every draw takes arbitrary precision
    views = _numbers(partial(smooth_laws.upper_tail, scale), scale, 99)
    return Sampler(noise.rounded_student, scale, views, _ALIKE)


def _staircase(steps: int) -> Sampler:
    rule = Staircase(epsilon=1, sensitivity=steps)
    views = _numbers(rule._tail, Fraction(steps), 16)  # noqa: SLF001 - its law
    draw = lambda scale, size: noise.staircase(scale, steps, rule.first, size)  # noqa: E731
    return Sampler(draw, Fraction(1), views, _ALIKE)


def _listed(
    draw: Callable[..., Any], parameter: Any, law: Law, paths: tuple[str, ...] = _PATHS
) -> Sampler:
    return Sampler(draw, parameter, (View(lambda drawn: drawn, lambda _: law),), paths)


def _people() -> Sampler:
    """The steps at which each of many people is sampled: at any of one of two places, or at none.

    Everybody has 1 to 4 rows, which must not make a person likelier.
    """
    sampling, torch = (import_module(name) for name in ("discreet.learn.torch.sampling", "torch"))
    steps, places, rate = 4, 2, Fraction(1, 4)

    def draw(rate: Fraction, size: int) -> NDArray[Any]:
        owners = np.repeat(np.arange(size), 1 + np.arange(size) % 4)
        rows = (torch.zeros(owners.size, 1),)
        people = sampling.PeopleSampler(rows, None, owners, rows=2, at_once=8, places=places)
        found = np.zeros(size, dtype=np.int64)
        for step in range(steps):
            found[people.sample(step, rate)] |= 1 << step
        return found

    law: dict[Any, Interval] = {}
    for place, coins in product(range(places), product((0, 1), repeat=steps // places)):
        code = sum(coin << (place + places * i) for i, coin in enumerate(coins))
        share = math.prod((rate if coin else 1 - rate for coin in coins), start=Fraction(1, places))
        law[code] = law.get(code, Interval.of(0)) + share
    return _listed(draw, rate, ends(law), ())


def _dealt() -> Sampler:
    """The batch that each of many rows is dealt to: one of two, by a fair coin."""
    rows = import_module("discreet.learn.rows")

    def draw(many: int, size: int) -> NDArray[Any]:
        one = rows.Chunk(np.zeros((size, 1)), np.arange(size), np.ones(size))
        found = np.zeros(size, dtype=np.int64)
        for place, batch in enumerate(rows.PersonRows(lambda: iter([one])).batches(many)):
            for chunk in batch.chunks():
                np.add.at(found, chunk.y.astype(np.int64), 5**place)
        return found

    return _listed(draw, 2, dict.fromkeys((1, 5), (0.5, 0.5)), ())


def _coin(draw: Callable[..., Any], p: Interval, parameter: Fraction = _HALF) -> Sampler:
    return _listed(draw, parameter, ends({0: 1 - p, 1: p}))


def _choice(choose: Callable[..., Any], law: Callable[..., Law]) -> Sampler:
    """A choice by score among candidates of which some stand for several that are alike."""
    scores, many, scale = np.array([0, 2, 1, -1]), np.array([1, 2, 5, 4]), Fraction(3, 2)
    places = np.repeat(np.arange(scores.size), many)
    alone = [Interval.between(*p) for p in law(scores[places], scale).values()]
    shares = {i: total(alone[at] for at in np.flatnonzero(places == i)) for i in range(scores.size)}
    draw = lambda t, size: choose(scores, t, size, many)  # noqa: E731
    return _listed(draw, scale, ends(shares), _ALIKE)


_KINDS: Final[Mapping[str, Callable[[Fraction], Sampler]]] = {
    "laplace": lambda scale: Sampler(
        noise.discrete_laplace, scale, _numbers(partial(laplace_tail, scale), scale, 16)
    ),
    "gaussian": partial(
        _gaussian,
        draw=noise.discrete_gaussian,
        tail=lambda variance, steps: gaussian_tail(variance, steps - 1) / 2,
    ),
    "rounded-gaussian": partial(_gaussian, draw=noise.rounded_gaussian, tail=rounded_tail),
    "student": _student,
}

SAMPLERS: Final[Mapping[str, Callable[[], Sampler]]] = {
    **{f"noise-{name}": partial(make, Fraction(2)) for name, make in _KINDS.items()},
    **{f"noise-{name}-wide": partial(make, Fraction(_WIDE)) for name, make in _KINDS.items()},
    "noise-staircase": partial(_staircase, 5),
    "noise-coins": lambda: _coin(noise.bernoulli, Interval.of(_HALF)),
    "noise-rare-coins": lambda: _coin(noise.bernoulli, Interval.of(_RARE), _RARE),
    "noise-exponential-coins": lambda: _coin(noise.bernoulli_exp, Interval.of(-_HALF).exp()),
    "noise-uniform": lambda: _listed(noise.below, 7, dict.fromkeys(range(7), (1 / 7, 1 / 7))),
    "noise-choice": lambda: _choice(noise.choose, weights_law),
    **({"training-samples": _people} if find_spec("torch") else {}),
    **({"training-batches": _dealt} if find_spec("sklearn") else {}),
    "noise-flips": lambda: _choice(noise.permute_and_flip, flips_law),
}
"""Names as the command line takes them, and how to make each."""
