"""Planted bugs, one for each known way to get differential privacy wrong, each with its control.

A mutant is a thing to examine and the tool that has to see through it; the control is the same
thing without the bug, and the same tool has to let it pass.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreet import noise
from discreet.errors import InputError
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Claim, Pair
from discreet.mechanisms.noisy_max import ReportNoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.propose_test_release import ProposeTestRelease
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.smooth_sensitivity import SmoothSensitivity
from discreet.mechanisms.stability_histogram import LaplaceThreshold
from discreet.noise.bits import Keystream, replaced
from discreet.privacy import ZCDP, BoundedRange, Neighbours, Pure
from planted_bugs import (
    Mutant,
    Sparse,
    conformance,
    counts,
    fork,
    law,
    replaying,
    samples,
    sparse,
)

# --- additive noise ------------------------------------------------------------------------------


def laplace_with(draw: Callable, **parameters: Any) -> Claim:
    """Laplace's own claim and release path, over other noise."""

    class Mutated(Laplace):
        def _noise(self, shape):
            return draw(self.scale, shape or None)

    return Mutated(**{"epsilon": 1, "sensitivity": 1, **parameters}).claim


def laplace(**parameters: Any) -> Claim:
    return Laplace(**{"epsilon": 1, "sensitivity": 1, **parameters}).claim


def scaled(factor: float) -> Callable:
    return lambda scale, shape: noise.discrete_laplace(scale * Fraction(str(factor)), shape)


def zero_twice(scale, shape):
    """Sign and size drawn apart: 0 comes as +0 and as -0."""
    return np.where(noise.bernoulli(0.5, shape), 1, -1) * noise.geometric(scale, shape)


def rounded_down(scale, shape):
    return noise.discrete_laplace(int(scale), shape)


def float_noise(value: float, runs: int) -> np.ndarray:
    """What textbooks show: floating-point noise added to a floating-point number."""
    uniform = noise.below(1 << 53, size=runs).astype(np.float64) * 2.0**-53 - 0.5
    return value - np.sign(uniform) * np.log1p(-2 * np.abs(uniform))


def grid_noise(value: float, runs: int) -> np.ndarray:
    return Laplace(epsilon=1, sensitivity=1, grid=2.0**-40).claim.draw(value, runs)


def one_noise_for_all(scale, shape):
    """One draw for the whole vector: differences of coordinates are exact."""
    runs, width = shape
    return np.repeat(noise.discrete_laplace(scale, runs), width).reshape(runs, width)


def vector(draw: Callable | None) -> Claim:
    base = laplace() if draw is None else laplace_with(draw)
    return replace(base, pairs=(Pair([0, 0], [1, 0]),), law=None)


def moved_bins(sensitivity: int) -> Claim:
    """One person changes bins, which moves two counts."""
    about = Neighbours.CHANGE_ONE
    charged = Laplace(epsilon=1, sensitivity=sensitivity, neighbours=about)
    return replace(charged.claim, pairs=(Pair([0, 1], [1, 0]),), law=None)


def group_of_three(charged: int) -> Claim:
    three = replace(laplace(), pairs=(Pair(0, 3),))
    return replace(three, guarantee=laplace().guarantee.group(charged))


class ThinGaussian(Gaussian):
    """The deviation where the variance belongs: sigma for sigma squared."""

    def _noise(self, shape):
        deviation = Fraction(str(round(float(self.variance) ** 0.5, 6)))
        return noise.discrete_gaussian(deviation, shape or None)


def zcdp(rho: float) -> Claim:
    """Gaussian noise charged with this rho."""
    return replace(Gaussian(rho=0.5, sensitivity=2).claim, guarantee=ZCDP(rho))


# --- randomized response -------------------------------------------------------------------------


def bit_vector(bits: int) -> Claim:
    """Vectors of four bits, of which the first `bits` are randomized."""
    rule = RandomizedResponse(epsilon=1)

    def draw(value, runs):
        reports = np.tile(np.array(value), (runs, 1))
        reports[:, :bits] = rule.release(reports[:, :bits])
        return reports

    pair = Pair((0, 1, 0, 0), (0, 1, 0, 1))
    return Claim("bit vector", rule.guarantee, (pair,), draw)


def response_charged(epsilon: float) -> Claim:
    return replace(RandomizedResponse(epsilon=1).claim, guarantee=Pure(epsilon))


# --- selection -----------------------------------------------------------------------------------


def chosen_by(kind: type, charge: Callable) -> Claim:
    """Permute-and-flip or the exponential mechanism, charged as one or the other."""
    return replace(kind(3, epsilon=1).claim, guarantee=charge(1))


class SharedNoiseMax(ReportNoisyMax):
    """One noise for all scores, so the largest score always wins."""

    def select(self, scores, runs):
        return np.full(runs, int(np.argmax(scores)), dtype=np.int64)


class HalfTemperature(ExponentialMechanism):
    """The factor 2 of the exponential mechanism forgotten."""

    def select(self, scores, runs):
        return ExponentialMechanism(len(self.outputs), scale=self.scale / 2).select(scores, runs)


# --- sparse vector -------------------------------------------------------------------------------


class OneQueryNoise(Sparse):
    """The same noise on every question."""

    def query_noise(self, shape):
        return np.repeat(Sparse.query_noise(self, (shape[0], 1)), shape[1], 1)


class NoQueryNoise(Sparse):
    """Noise on the threshold alone."""

    def query_noise(self, shape):
        return np.zeros(shape, dtype=np.int64)


class NotScaledByHits(Sparse):
    """Noise on a question as if there were one hit."""

    def query_noise(self, shape):
        return noise.discrete_laplace(self.rule.query_scale / self.rule.hits, size=shape)


class NeverHalts(Sparse):
    """All questions are answered, however many were hits."""

    def marks(self, reached):
        return reached.astype(np.int64)


class NoThresholdNoise(Sparse):
    """Noise on the questions alone."""

    def threshold_noise(self, runs):
        return np.zeros((runs, 1), dtype=np.int64)


class RawAnswers(Sparse):
    """The comparison is noisy, the answer to a hit is not."""

    def answers(self, values, shaken):
        return np.broadcast_to(np.array(values), shaken.shape)


# --- thresholds, smooth sensitivity, propose-test-release ----------------------------------------


def shown_keys(slack: int) -> Claim:
    """Shown from T on, with the T that is right, or with one that is right for above T."""
    rule = LaplaceThreshold(epsilon=1, delta=0.01)

    def draw(people, runs):
        count = people.get("a", 0)
        noisy = noise.discrete_laplace(rule.law.scale, size=runs) + count
        return np.where((noisy >= rule.threshold - slack) & (count > 0), noisy, 0)

    return replace(rule.claim, draw=draw, law=None)


class LocalSensitivity(SmoothSensitivity):
    """Noise for this dataset's own local sensitivity, unsmoothed."""

    def smooth(self, bounds):
        return Fraction(bounds[0])


def tested(scale: Callable) -> Claim:
    """A distance that is tested with noise of this scale."""
    rule = ProposeTestRelease(bound=1, epsilon=1, delta=0.01)

    def draw(value, runs):
        near = noise.discrete_laplace(scale(rule), size=runs) + value[1]
        answers = noise.discrete_laplace(rule.answer_scale, size=runs) + value[0]
        return np.stack([near >= rule.cutoff, np.where(near >= rule.cutoff, answers, 0)], axis=1)

    pair = Pair((0, rule.cutoff), (1, rule.cutoff - 1))
    return Claim("tested", rule.guarantee, (pair,), draw)


# --- calls on data: sensitivity, bounds, keys, status, words -------------------------------------

ROWS = [3, -2, 1, 0]
SMALLER = [3, -2, 1]


def clamped_sum(data, lower, upper, sensitivity):
    rows = [min(max(row, lower), upper) for row in data]
    return Laplace(epsilon=1, sensitivity=sensitivity).release(sum(rows))


def clamped_too_late(data):
    noisy = Laplace(epsilon=1, sensitivity=5).release(sum(data))
    return min(max(noisy, 0), 5 * len("some"))


def float_sum(data):
    total = 0.0
    for row in data:
        total += row
    return Laplace(epsilon=1, sensitivity=2**53, grid=1).release(total)


def ordered_sum(data):
    """The same rows in another order, and another sum.

    Term by term: from Python 3.12 on, `sum` compensates rounding errors.
    """
    total = 0.0
    for row in data:
        total += row
    return Laplace(epsilon=1, sensitivity=1, grid=1).release(total)


def unordered_sum(data):
    rule = Laplace(epsilon=1, sensitivity=1, grid=1)
    return rule.release(sum(map(Fraction, data), start=Fraction(0)))


def integer_sum(data):
    return Laplace(epsilon=1, sensitivity=2 * 2**53, grid=1).release(sum(int(2 * x) for x in data))


def truncated_sensitivity(data, sensitivity):
    rows = [Fraction(min(max(row, 0), 7)) - Fraction(7, 2) for row in data]
    return Laplace(epsilon=1, sensitivity=sensitivity, grid=0.25).release(sum(rows))


def bounds_from_data(data):
    return clamped_sum(data, 0, max(data), max(data))


def outputs_from_data(data):
    outputs = sorted(set(data))
    return ExponentialMechanism(outputs, epsilon=1).release([data.count(x) for x in outputs])


def outputs_from_schema(data):
    return ExponentialMechanism(range(-5, 6), epsilon=1).release(
        [data.count(x) for x in range(-5, 6)]
    )


def keys_from_data(data):
    return {key: Laplace(epsilon=1, sensitivity=1).release(data.count(key)) for key in set(data)}


def keys_from_schema(data):
    rule = Laplace(epsilon=1, sensitivity=1)
    return {key: rule.release(data.count(key)) for key in range(-5, 6)}


def refuses_few(data):
    if len(data) < len(ROWS):
        raise InputError("too few rows", why="small groups stand out", fix="ask for more")
    return Laplace(epsilon=1, sensitivity=1).release(len(data))


def logs_truth(data):
    logging.getLogger("discreet.test").debug("counted %d rows", len(data))
    return Laplace(epsilon=1, sensitivity=1).release(len(data))


def logs_public(data):
    logging.getLogger("discreet.test").debug("counted rows")
    return Laplace(epsilon=1, sensitivity=1).release(len(data))


def true_size(data):
    return Laplace(epsilon=1, sensitivity=1).release(len(data)), len(data)


def noisy_size(data):
    noisy = Laplace(epsilon=1, sensitivity=1).release(len(data))
    return noisy, max(noisy, 0)


class LazyNoise(Laplace):
    """No noise is drawn where there is nothing to hide."""

    def release(self, value):
        return value + (noise.discrete_laplace(self.scale) if value else 0)


def lazy_count(kind):
    rule = kind(epsilon=1, sensitivity=1)
    return lambda data: rule.release(len(data))


# --- faces ---------------------------------------------------------------------------------------


class Documented(Laplace):
    __doc__ = Laplace.__doc__
    __slots__ = ()


class PassesNaN(Documented):
    """NaN in, NaN out."""

    __doc__ = Laplace.__doc__
    __slots__ = ()

    def release(self, value):
        if isinstance(value, float) and value != value:  # noqa: PLR0124 - only NaN does
            return value
        return Laplace.release(self, value)


class QuotesData(Documented):
    """An error that says which value was wrong."""

    __doc__ = Laplace.__doc__
    __slots__ = ()

    def release(self, value):
        try:
            return Laplace.release(self, value)
        except InputError:
            raise InputError(f"{value} is no count", why="it is not whole", fix="round") from None


class ShrinkingError(Documented):
    """An error bar for the opposite confidence."""

    __doc__ = Laplace.__doc__
    __slots__ = ()

    def error(self, confidence=0.95):
        Laplace.error(self, confidence)
        return Laplace.error(self, 1 - Fraction(str(confidence)))


class FixedSeed(Documented):
    """Reproducible, and so not private."""

    __doc__ = Laplace.__doc__
    __slots__ = ()

    def _noise(self, shape):
        with replaced(lambda: Keystream(bytes(32))):
            return Laplace._noise(self, shape)


_BUFFER = Keystream(bytes(32))


def buffered():
    """A generator that lives in the process and is copied by fork."""
    with replaced(lambda: _BUFFER):
        return noise.discrete_laplace(1000, size=100)


def fresh():
    return noise.discrete_laplace(1000, size=100)


def add_one_row(call: Callable) -> tuple[Callable, Any, Any]:
    return call, SMALLER, ROWS


FLOATS = [1.5] * 20
ONE_HUGE = [2.0**53, *FLOATS]

MUTANTS = (
    Mutant("scale-halved", samples, laplace_with(scaled(0.5)), laplace()),
    Mutant("scale-0.9", samples, laplace_with(scaled(0.9)), laplace()),
    Mutant("scale-0.97", samples, laplace_with(scaled(0.97)), laplace()),
    Mutant(
        "scale-rounded-down",
        samples,
        laplace_with(rounded_down, epsilon=0.6),
        laplace(epsilon=0.6),
    ),
    Mutant("noise-not-of-the-stated-law", counts, laplace_with(scaled(0.95)), laplace()),
    Mutant("one-sided-noise", samples, laplace_with(noise.geometric), laplace()),
    Mutant("minus-zero-kept", samples, laplace_with(zero_twice), laplace()),
    Mutant(
        "float-noise",
        samples,
        Claim("float", Pure(1), (Pair(0.0, 1.0),), float_noise),
        Claim("grid", Pure(1), (Pair(0.0, 1.0),), grid_noise),
    ),
    Mutant("one-noise-for-all-coordinates", samples, vector(one_noise_for_all), vector(None)),
    Mutant("change-one-charged-as-add-remove", samples, moved_bins(1), moved_bins(2)),
    Mutant("group-privacy-off-by-one", law, group_of_three(2), group_of_three(3)),
    Mutant(
        "sigma-for-sigma-squared",
        samples,
        ThinGaussian(epsilon=1, delta=0.01, sensitivity=1).claim,
        Gaussian(epsilon=1, delta=0.01, sensitivity=1).claim,
    ),
    Mutant("rho-without-its-half", law, zcdp(0.25), zcdp(0.5)),
    Mutant("last-bit-not-randomized", samples, bit_vector(3), bit_vector(4)),
    Mutant("response-charged-too-little", law, response_charged(0.99), response_charged(1)),
    Mutant(
        "permute-and-flip-charged-as-bounded-range",
        law,
        chosen_by(PermuteAndFlip, BoundedRange),
        chosen_by(PermuteAndFlip, Pure),
    ),
    Mutant(
        "exponential-mechanism-without-its-2",
        samples,
        HalfTemperature(3, epsilon=1).claim,
        ExponentialMechanism(3, epsilon=1).claim,
    ),
    Mutant(
        "noisy-max-with-one-noise",
        samples,
        SharedNoiseMax(3, epsilon=1).claim,
        ReportNoisyMax(3, epsilon=1).claim,
    ),
    Mutant("sparse-vector-noise-reused", samples, sparse(OneQueryNoise), sparse(Sparse)),
    Mutant("sparse-vector-no-query-noise", samples, sparse(NoQueryNoise), sparse(Sparse)),
    Mutant(
        "sparse-vector-not-scaled-by-hits",
        samples,
        sparse(NotScaledByHits, hits=4),
        sparse(Sparse, hits=4),
    ),
    Mutant("sparse-vector-never-halts", samples, sparse(NeverHalts), sparse(Sparse)),
    Mutant(
        "sparse-vector-no-threshold-noise",
        samples,
        sparse(NoThresholdNoise, below=8, above=2),
        sparse(Sparse, below=8, above=2),
    ),
    Mutant(
        "sparse-vector-answers-without-noise",
        samples,
        sparse(RawAnswers, numeric=True, below=3, above=1),
        sparse(Sparse, numeric=True, below=3, above=1),
    ),
    Mutant(
        "key-threshold-at-least-for-above",
        samples,
        shown_keys(slack=1),
        shown_keys(slack=0),
    ),
    Mutant(
        "local-sensitivity-unsmoothed",
        samples,
        LocalSensitivity(global_sensitivity=1000, epsilon=1, delta=0.01).claim,
        SmoothSensitivity(global_sensitivity=1000, epsilon=1, delta=0.01).claim,
    ),
    Mutant(
        "test-without-noise",
        samples,
        tested(lambda _: Fraction(1, 1000)),
        tested(lambda rule: rule.test_scale),
    ),
    Mutant(
        "sensitivity-of-one-side",
        replaying,
        (partial(clamped_sum, lower=-10, upper=1, sensitivity=1), SMALLER, [*SMALLER, -10]),
        (partial(clamped_sum, lower=-10, upper=1, sensitivity=10), SMALLER, [*SMALLER, -10]),
    ),
    Mutant(
        "clamped-after-the-noise",
        replaying,
        (clamped_too_late, SMALLER, [*SMALLER, 1000]),
        (partial(clamped_sum, lower=0, upper=5, sensitivity=5), SMALLER, [*SMALLER, 1000]),
    ),
    Mutant("float-sum", replaying, (float_sum, FLOATS, ONE_HUGE), (integer_sum, FLOATS, ONE_HUGE)),
    Mutant(
        "sum-that-follows-the-order",
        replaying,
        (ordered_sum, ONE_HUGE, ONE_HUGE[::-1]),
        (unordered_sum, ONE_HUGE, ONE_HUGE[::-1]),
    ),
    Mutant(
        "sensitivity-cut-to-an-integer",
        replaying,
        (partial(truncated_sensitivity, sensitivity=3), SMALLER, [*SMALLER, 7]),
        (partial(truncated_sensitivity, sensitivity=3.5), SMALLER, [*SMALLER, 7]),
    ),
    Mutant(
        "bounds-from-data",
        replaying,
        (bounds_from_data, SMALLER, [*SMALLER, 50]),
        (partial(clamped_sum, lower=0, upper=50, sensitivity=50), SMALLER, [*SMALLER, 50]),
    ),
    Mutant(
        "outputs-from-data",
        replaying,
        add_one_row(outputs_from_data),
        add_one_row(outputs_from_schema),
    ),
    Mutant("keys-from-data", replaying, add_one_row(keys_from_data), add_one_row(keys_from_schema)),
    Mutant("status-from-data", replaying, add_one_row(refuses_few), add_one_row(noisy_size)),
    Mutant("log-line-from-data", replaying, add_one_row(logs_truth), add_one_row(logs_public)),
    Mutant("true-size-beside-noise", replaying, add_one_row(true_size), add_one_row(noisy_size)),
    Mutant(
        "randomness-used-where-needed",
        replaying,
        (lazy_count(LazyNoise), [], [1]),
        (lazy_count(Laplace), [], [1]),
    ),
    Mutant(
        "nan-passes-through",
        conformance,
        PassesNaN(epsilon=1, sensitivity=1),
        Documented(epsilon=1, sensitivity=1),
    ),
    Mutant(
        "error-quotes-data",
        conformance,
        QuotesData(epsilon=1, sensitivity=1),
        Documented(epsilon=1, sensitivity=1),
    ),
    Mutant(
        "error-bar-shrinks",
        conformance,
        ShrinkingError(epsilon=1, sensitivity=1),
        Documented(epsilon=1, sensitivity=1),
    ),
    Mutant(
        "fixed-seed",
        conformance,
        FixedSeed(epsilon=1, sensitivity=1),
        Documented(epsilon=1, sensitivity=1),
    ),
    Mutant("noise-repeated-after-fork", fork, buffered, fresh),
)
