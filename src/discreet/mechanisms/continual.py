"""Continual counting: after every step of a stream, the total so far.

Both mechanisms answer after each of at most `horizon` steps, and all answers together have one
guarantee. `open()` starts a stream; `release` takes a whole one at once. Later increments may
depend on earlier answers; each mechanism's guarantee holds then as well.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.argument_names import also_called
from discreet.errors import InputError
from discreet.mechanisms.comparison_laws import Bins
from discreet.mechanisms.gaussian import rounded_half_width, rounded_tail
from discreet.mechanisms.gaussian_calibration import GaussianTarget
from discreet.mechanisms.grid import INTEGERS, PowerOfTwoGrid, add, compact
from discreet.mechanisms.interaction import Interaction
from discreet.mechanisms.laplace_sum import half_width
from discreet.mechanisms.mechanism import Claim, Mechanism, Pair, View, exactly_one, fill
from discreet.mechanisms.noise_tails import laplace_half_width, laplace_tail, normal_half_width
from discreet.mechanisms.prefix_sums import (
    BITS,
    ROOM,
    convolve,
    largest_square,
    left_factor,
    right_factor,
)
from discreet.mechanisms.signed_digits import SignedDigits
from discreet.noise import discrete_laplace, rounded_gaussian
from discreet.noise.exponential import read_scale
from discreet.noise.gaussian import read_rounded_variance
from discreet.privacy import GDP, Composed, DiscreteLaplaceNoise, Neighbours, Pure, compose
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, failure, positive, whole

_AUDITED = 16
"""How many steps of a stream an audit looks at."""

_RARE = Fraction(1, 1000)
_SAFE = 1 << 62


class Stream(Interaction):
    """A running count: `release(increment)` answers with the noisy sum of all increments so far.

    Edge cases: increments are ints; after `horizon` of them no more are taken. The stream remembers
    what it needs of the private past: it is as secret as the data.
    """

    __slots__ = ("_advance", "_time")

    rule: "ContinualCount"

    def __init__(
        self, rule: "ContinualCount", advance: Callable[[int, Any], Any], time: int = 0
    ) -> None:
        super().__init__(rule)
        self._advance = advance
        self._time = time

    @property
    def time(self) -> int:
        """How many steps were answered."""
        return self._time

    def asked(self, values: Sequence[Any]) -> list[Any]:
        """The increments, in their order."""
        return list(values)

    def _admit(self) -> None:
        horizon = self.rule.horizon
        if self._time == horizon:
            raise InputError(
                f"the stream has had its {horizon} steps",
                why="noise and guarantee were settled for that many",
                fix="open another stream and pay for it, or set a larger horizon",
            )

    def _answer(self, value: Any) -> Any:
        return self._advance(self._time + 1, self._read(value))

    def _read(self, value: Any) -> Any:
        step = INTEGERS.index(value)
        if isinstance(step, int):
            return step
        raise InputError(
            "a vector where one increment belongs",
            why="a stream goes one step at a time",
            fix="pass one int, or all increments to the mechanism's own release",
        )

    def _note(self, answer: Any) -> None:
        self._time += 1


@dataclass(frozen=True, slots=True, init=False)
class ContinualCount(Mechanism):
    """Base of both counters; `sensitivity` is the most that one event adds to an increment."""

    horizon: int
    sensitivity: int
    neighbours: Neighbours

    @abstractmethod
    def start(self) -> Stream:
        """Start a fresh stream; every stream is paid for by another `guarantee`."""

    def release(self, value: Any) -> NDArray[Any]:
        """All running counts of a stream that is known whole."""
        steps = INTEGERS.index(value)
        if isinstance(steps, int) or steps.ndim != 1 or steps.size > self.horizon:
            raise InputError(
                "increments are not a flat list within the horizon",
                why=f"noise and guarantee were settled for {self.horizon} steps at most",
                fix="pass a list of ints, one for each step, or take a stream: .start()",
            )
        return self._counts(self._measure(steps, ()), steps.size)

    @property
    def claim(self) -> Claim:
        """One event at each of the first steps, seen in the first answers."""
        steps, reach = min(self.horizon, _AUDITED), getattr(self, "steps_per_unit", 1)
        pairs = tuple(
            Pair([0] * steps, [self.sensitivity * (0 <= at - event < reach) for at in range(steps)])
            for event in range(steps)
        )
        views = tuple(view for view in map(self._view, range(steps)) if view)
        return Claim(type(self).__name__, self.guarantee, pairs, self._draw, views=views)

    @abstractmethod
    def _view(self, step: int) -> View | None:
        """The noisy measurement of one step, if it has one: its noise and the increments so far."""

    def _draw(self, value: Any, runs: int) -> NDArray[Any]:
        steps = np.asarray(INTEGERS.index(value))
        return self._counts(self._measure(steps, (runs,)), steps.size)

    @abstractmethod
    def _measure(self, steps: NDArray[Any], runs: tuple[int, ...]) -> NDArray[Any]:
        """The noisy measurements of a whole stream, which are all that is released."""

    @abstractmethod
    def _counts(self, measured: NDArray[Any], size: int) -> NDArray[Any]:
        """The running counts of a stream of this size, from the measurements alone."""


@dataclass(frozen=True, slots=True, init=False)
class TreeCount(ContinualCount):
    """Noisy sums of blocks of 1, k, k^2, ... steps; a running count adds some and takes off others.

    `digits` says which: the signed digits of the time in base k.

    Guarantee:
        epsilon-differential privacy for all answers together: an event is in at most one block of
        each of the `levels` lengths, and so moves all block sums by levels x sensitivity in l1.
        `composition` is tighter for a stream that was fixed before any answer.
    Neighbours:
        Event-level: two streams that differ in one increment, by at most `sensitivity`. A person
        with up to k events is covered by `guarantee.group(k)`.
    Why:
        Of a block that has not ended only the noise is used: the answer is the exact count plus its
        blocks' noise. That is the same as if later blocks were known, since their sums cancel.
        Where increments depend on the answers, fix the answers: these fix both streams, and the
        ratio of chances is that of fixed streams, at most e^epsilon. `digits` has the least mean
        square error: at 1000 steps a sixth of a binary tree's.
    Edge cases:
        Answers are ints of any size. At the end of the horizon nothing more is answered.

    Example:
        >>> visits = TreeCount(horizon=1000, epsilon=1)
        >>> visits.digits, visits.scale
        (SignedDigits(levels=3, arity=11), Fraction(3, 1))
        >>> stream = visits.start()
        >>> [isinstance(stream.release(arrivals), int) for arrivals in (3, 0, 5)]
        [True, True, True]

    Reference: Andersson, Pagh, Torkamani, Improved Counting under Continual Observation with Pure
    Differential Privacy (wide trees with subtraction); Chan, Shi, Song, Private and Continual
    Release of Statistics (the binary mechanism); Dwork, Naor, Pitassi, Rothblum, Differential
    Privacy under Continual Observation (the counter).
    """

    epsilon: Fraction
    scale: Fraction
    digits: SignedDigits

    @also_called(length="horizon", T="horizon", steps="horizon")
    def __init__(
        self,
        *,
        horizon: int,
        epsilon: Real | None = None,
        scale: Real | None = None,
        sensitivity: int = 1,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        exactly_one(epsilon=epsilon, scale=scale)
        steps = whole(horizon, "horizon", at_least=1)
        most = whole(sensitivity, "sensitivity", at_least=1)
        digits = SignedDigits.of(steps)
        reach = digits.levels * most
        width = reach / positive(epsilon, "epsilon") if epsilon is not None else Fraction(reach)
        width = read_scale(width if scale is None else scale)
        fill(
            self,
            horizon=steps,
            sensitivity=most,
            neighbours=Neighbours(neighbours),
            epsilon=reach / width,
            scale=width,
            digits=digits,
        )

    @property
    def levels(self) -> int:
        """How many lengths of blocks there are."""
        return self.digits.levels

    @property
    def guarantee(self) -> Pure:
        """Pure epsilon, also where increments depend on earlier answers."""
        return Pure(self.epsilon, neighbours=self.neighbours)

    @property
    def composition(self) -> Composed:
        """The composition of all levels, for a stream fixed before any answer: far less rho."""
        level = DiscreteLaplaceNoise(
            self.epsilon / self.levels, self.sensitivity, neighbours=self.neighbours
        )
        return compose([(level, self.levels)])

    def error(self, confidence: Real = 0.95, time: int | None = None) -> float:
        """The half-width of the running count after `time` steps, by default of the worst.

        The number of independent noises in it is the sum of the digits of `time` in absolute value.
        """
        if time is None:
            blocks = self.digits.largest_size(self.horizon)
        else:
            blocks = self.digits.size(_within(time, self.horizon))
        return float(half_width(self.scale, blocks, failure(confidence)))

    def start(self) -> Stream:
        """Start a stream; it remembers the exact count, and noise drawn ahead for each level."""
        count, sums = 0, [0] * self.levels
        ahead: list[list[int]] = [[] for _ in sums]
        half = self.digits.half

        def advance(time: int, increment: int) -> int:
            nonlocal count
            digits = self.digits.moved(time)
            # First all that is drawn, as nothing has changed if it fails.
            fresh = [
                [discrete_laplace(self.scale) for _ in range(half if digit == -half else digit > 0)]
                for digit in digits
            ]
            for level, (digit, drawn) in enumerate(zip(digits, fresh, strict=True)):
                if digit == -half:  # from here on, as seen from the end of a block
                    sums[level], ahead[level] = -sum(drawn), drawn
                else:
                    sums[level] += drawn[0] if drawn else ahead[level].pop(0)
            count += increment
            return count + sum(sums)

        return Stream(self, advance)

    def _measure(self, steps: NDArray[Any], runs: tuple[int, ...]) -> NDArray[Any]:
        so_far = np.concatenate([np.zeros(1, dtype=object), np.cumsum(steps.astype(object))])
        sums = [
            np.diff(so_far[np.minimum(np.arange(count + 1) * self.digits.arity**level, steps.size)])
            for level, count in enumerate(self.digits.blocks(steps.size))
        ]
        blocks = compact(np.concatenate(sums))
        return np.asarray(add(blocks, discrete_laplace(self.scale, (*runs, blocks.size))))

    def _view(self, step: int) -> View | None:
        length = self.digits.last_block(step + 1)
        if length is None:
            return None
        start = step + 1 - length
        return Bins.of(laplace_half_width(self.scale, _RARE), Fraction(1)).view(
            lambda rows: rows[:, step] - (rows[:, start - 1] if start else 0),
            lambda value: int(sum(np.asarray(INTEGERS.index(value))[start : step + 1].tolist())),
            partial(laplace_tail, self.scale),
        )

    def _counts(self, measured: NDArray[Any], size: int) -> NDArray[Any]:
        most = np.abs(measured).max(initial=0) if measured.dtype != object else _SAFE
        wide = int(most) * (measured.shape[-1] + 1) >= _SAFE
        counts: NDArray[Any] = np.zeros(1, dtype=object if wide else np.int64)
        places, first = self.digits.places(np.arange(1, size + 1)), 0
        for level, blocks in enumerate(self.digits.blocks(size)):
            part = measured[..., first : first + blocks].astype(counts.dtype)
            none = np.zeros((*part.shape[:-1], 1), dtype=part.dtype)
            sums = np.concatenate([none, np.cumsum(part, axis=-1)], axis=-1)
            counts = counts + sums[..., places[level]]
            if level + 1 < self.levels:
                counts = counts - sums[..., self.digits.arity * places[level + 1]]
            first += blocks
        return counts


@dataclass(frozen=True, slots=True, init=False)
class FactorizedCount(ContinualCount):
    """The square-root factorization of prefix sums, with rounded Gaussian noise.

    Guarantee:
        mu-Gaussian differential privacy with mu^2 = 2 rho for all answers together. Prefix sums are
        A = L R with R = A^(1/2) rounded to multiples of 2^-20 and L = A/R. Released are the
        integers R x + noise; the answers are L times them, which is post-processing. Events in
        `steps_per_unit` different steps move R x by at most sensitivity x the l2 norm of the sum
        of R's first so many columns, exactly as integers.
    Neighbours:
        Two streams that differ in at most `steps_per_unit` increments (1: event-level), by at most
        `sensitivity` each. Increments may be vectors, then it bounds their l2 norm.
    Why:
        Entries along R's columns are positive and never grow, so two columns have the larger
        product the earlier and the closer they are. The square of the change is a sum of such
        products, largest for the first columns, at full size and with one sign; of vectors, the
        inner products are no more than the products of their norms.
        Coefficient k of both factors is about (2k choose k)/4^k ~ 1/sqrt(pi k), so the variance of
        an answer grows like (ln(horizon)/pi)^2/(2 rho), a tree's like log2(horizon)^2/(2 rho).
        Every noisy number has its own noise, so they compose adaptively.
    Edge cases:
        Answers are floats. Step t costs about t operations, and the private past is kept whole.

    Example:
        >>> visits = FactorizedCount(horizon=1000, rho=0.5)
        >>> visits.error() < 6.5, visits.guarantee == GDP(1)
        (True, True)
        >>> visits.release([3, 0, 5]).shape
        (3,)

    Reference: Fichtenberger, Henzinger, Upadhyay, Constant Matters: Fine-grained Complexity of
    Differentially Private Continual Observation (the factorization); Denisov, McMahan, Rush,
    Smith, Thakurta, Improved Differential Privacy for SGD via Optimal Private Linear Operators on
    Adaptive Streams (privacy for adaptively chosen streams).
    """

    steps_per_unit: int
    rho: Fraction
    variance: Fraction

    def __init__(
        self,
        *,
        horizon: int,
        rho: Real | None = None,
        epsilon: Real | None = None,
        delta: Real | None = None,
        sensitivity: int = 1,
        steps_per_unit: int = 1,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        exactly_one(rho=rho, epsilon=epsilon)
        steps = whole(horizon, "horizon", at_least=1)
        most = whole(sensitivity, "sensitivity", at_least=1)
        each = min(whole(steps_per_unit, "steps_per_unit", at_least=1), steps)
        square = most**2 * largest_square(steps, each)
        spread = read_rounded_variance(
            _spread(square, GaussianTarget.read(rho, epsilon, delta, None))
        )
        fill(
            self,
            horizon=steps,
            sensitivity=most,
            neighbours=Neighbours(neighbours),
            steps_per_unit=each,
            rho=square / (2 * spread),
            variance=spread,
        )

    @property
    def guarantee(self) -> GDP:
        """The mu of all answers together, its root rounded up."""
        return GDP.of_square(2 * self.rho, neighbours=self.neighbours)

    def error(self, confidence: Real = 0.95, time: int | None = None) -> float:
        """The half-width of the running count after `time` steps, by default of the last.

        Why: rounding moves noise by half a step at most. So the noise is a normal of known variance
        and at most half the sum of L's entries in steps.
        """
        last = self.horizon if time is None else time
        return self._error(left_factor(self.horizon)[: _within(last, self.horizon)], confidence)

    def running(self, measured: NDArray[np.float64]) -> NDArray[np.float64]:
        """The running counts that noisy numbers make: post-processing."""
        return self._counts(measured, measured.size)

    def increment_error(self, confidence: Real = 0.95, time: int | None = None) -> float:
        """The half-width of what a running count grows by in one step, by default the last."""
        last = _within(self.horizon if time is None else time, self.horizon)
        return self._error(np.diff(left_factor(self.horizon)[:last], prepend=0.0), confidence)

    def _error(self, entries: NDArray[np.float64], confidence: Real) -> float:
        """The half-width of the sum of noisy numbers, each times an entry."""
        norm, reach = math.fsum(entries**2), math.fsum(np.abs(entries))
        deviation = (Interval.of(self.variance) * Interval.of(norm)).sqrt()
        width = deviation * normal_half_width(failure(confidence)) + reach / 2
        # A millionth of a millionth is far more than all rounding of L and its sums.
        return (width * _STEP * (1 + Fraction(1, 10**12))).upper

    def start(self) -> Stream:
        """Start a stream; it remembers all increments and all noisy numbers."""
        right, left = right_factor(self.horizon), left_factor(self.horizon)
        past: NDArray[Any] = np.zeros(self.horizon, dtype=np.int64)
        measured = np.empty(self.horizon)
        reach = 0

        def advance(time: int, increment: int) -> float:
            nonlocal past, reach
            fresh = rounded_gaussian(self.variance)
            reach += abs(increment)
            if reach >= ROOM and past.dtype != object:
                past = past.astype(object)
            past[time - 1] = increment
            exact = int(right[time - 1 :: -1] @ past[:time])
            measured[time - 1] = GRID.value(exact + fresh)
            return float(_combine(lambda: left[time - 1 :: -1] @ measured[:time]))

        return Stream(self, advance)

    def _measure(self, steps: NDArray[Any], runs: tuple[int, ...]) -> NDArray[Any]:
        exact = convolve(right_factor(self.horizon)[: steps.size], steps)
        noisy = add(exact, rounded_gaussian(self.variance, (*runs, steps.size)))
        return np.asarray(GRID.value(noisy))

    def _view(self, step: int) -> View:
        right = right_factor(self.horizon)[: step + 1]
        # The answers are whole multiples of the measurements: differences undo the left factor.
        undo = np.diff(np.concatenate([[0.0], right * 2.0**-BITS]))[::-1]
        return Bins.of(rounded_half_width(self.variance, _RARE), _STEP).view(
            lambda rows: rows[:, : step + 1] @ undo,
            lambda value: int(convolve(right, np.asarray(INTEGERS.index(value))[: step + 1])[step]),
            partial(rounded_tail, self.variance),
        )

    def _counts(self, measured: NDArray[Any], size: int) -> NDArray[Any]:
        left = left_factor(self.horizon)[: measured.shape[-1]]
        if measured.ndim == 1 and measured.size:
            return _combine(lambda: np.convolve(measured, left)[: measured.size])
        lags = np.subtract.outer(np.arange(left.size), np.arange(left.size))
        return _combine(lambda: measured @ np.where(lags >= 0, left[lags], 0.0).T)


_STEP = Fraction(1, 1 << BITS)
GRID = PowerOfTwoGrid(_STEP)
"""What the noisy numbers of a factorization are multiples of."""


def _spread(square: int, wanted: GaussianTarget) -> Fraction:
    """The variance in squared steps."""
    spread = wanted.spread(square, one_law=False, step=Fraction(1))
    if spread >= 1:
        return spread
    raise InputError("rho is too large", why="noise would be below the grid", fix="lower it")


def _combine(product: Callable[[], Any]) -> NDArray[Any]:
    """A product of noisy numbers; the largest float represents everything beyond them."""
    with np.errstate(over="ignore", invalid="ignore"):
        answers: NDArray[Any] = np.nan_to_num(product())
    return answers


def _within(time: int, horizon: int) -> int:
    at = whole(time, "time", at_least=1)
    if at <= horizon:
        return at
    raise InputError(f"time is {at}", why=f"the horizon is {horizon}", fix="ask for an earlier one")
