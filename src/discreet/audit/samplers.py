"""The samplers under all mechanisms, each beside its exact law, on every path that makes draws.

Draws are made in bulk, a few at once, one by one or with a parameter each, and wide ones of two
words: a path that no mechanism of the catalogue takes would go unseen. Here paths are the inputs.
"""

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.audit.enumerate import check_law
from discreet.audit.report import Audit
from discreet.mechanisms import smooth_laws
from discreet.mechanisms.comparison_laws import Bins, Tail, ends
from discreet.mechanisms.exponential import weights_law
from discreet.mechanisms.mechanism import Claim, Law, Pair, View
from discreet.mechanisms.noise_tails import gaussian_tail, laplace_tail, rounded_tail
from discreet.mechanisms.permute_and_flip import flips_law
from discreet.mechanisms.staircase import Staircase
from discreet.noise.bits import FEW, keyed
from discreet.privacy import Pure
from discreet.privacy.numerics.rounding import Interval, total

_MANY, _SOME = 1_000_000, 40_000
"""Draws in bulk, and by the slower paths."""

_WIDE: Final = 3 << 30
_HALF, _RARE = Fraction(1, 2), Fraction(1, 300)
_EVEN: Final[Law] = dict.fromkeys(range(2), (0.4998, 0.5002))
"""The law of a bit far below the scale, to two ten-thousandths."""


@dataclass(frozen=True, slots=True)
class Sampler:
    """A sampler `draw(parameter, size)`, and views of its draws with their exact laws.

    `each` says whether it takes one parameter a draw.
    """

    draw: Callable[[Any, Any], Any]
    parameter: Any
    views: tuple[View, ...]
    each: bool = True

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
    paths = ("one by one", "a few at once", "under one key", *["a parameter each"] * sampler.each)
    slow = sampler.claim(*paths)
    both = (
        check_law(bulk, samples=_MANY, alpha=alpha / 2),
        check_law(slow, samples=_SOME, alpha=alpha / 2),
    )
    return Audit(name, bulk, both, time.process_time() - start)


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
    return Sampler(noise.rounded_student, scale, views, each=False)


def _staircase(steps: int) -> Sampler:
    rule = Staircase(epsilon=1, sensitivity=steps)
    views = _numbers(rule._tail, Fraction(steps), 16)  # noqa: SLF001 - its law
    draw = lambda scale, size: noise.staircase(scale, steps, rule.first, size)  # noqa: E731
    return Sampler(draw, Fraction(1), views, each=False)


def _listed(draw: Callable[..., Any], parameter: Any, law: Law, *, each: bool = True) -> Sampler:
    return Sampler(draw, parameter, (View(lambda drawn: drawn, lambda _: law),), each)


def _coin(draw: Callable[..., Any], p: Interval, parameter: Fraction = _HALF) -> Sampler:
    return _listed(draw, parameter, ends({0: 1 - p, 1: p}))


def _choice(choose: Callable[..., Any], law: Callable[..., Law]) -> Sampler:
    """A choice by score among candidates of which some stand for several that are alike."""
    scores, many, scale = np.array([0, 2, 1, -1]), np.array([1, 2, 5, 4]), Fraction(3, 2)
    places = np.repeat(np.arange(scores.size), many)
    alone = [Interval.between(*p) for p in law(scores[places], scale).values()]
    shares = {i: total(alone[at] for at in np.flatnonzero(places == i)) for i in range(scores.size)}
    draw = lambda t, size: choose(scores, t, size, many)  # noqa: E731
    return _listed(draw, scale, ends(shares), each=False)


def _two_sided(variance: Fraction, steps: int) -> Interval:
    return gaussian_tail(variance, steps - 1) / 2


_KINDS: Final[Mapping[str, Callable[[Fraction], Sampler]]] = {
    "laplace": lambda scale: Sampler(
        noise.discrete_laplace, scale, _numbers(partial(laplace_tail, scale), scale, 16)
    ),
    "gaussian": partial(_gaussian, draw=noise.discrete_gaussian, tail=_two_sided),
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
    "noise-flips": lambda: _choice(noise.permute_and_flip, flips_law),
}
"""Names as the command line takes them, and how to make each."""
