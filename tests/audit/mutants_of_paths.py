"""More planted bugs: on the way from data to noise (blocks, keys), in `release`, in runs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from discreet import noise
from discreet.mechanisms.automatic_bounds import AutomaticBounds
from discreet.mechanisms.continual import TreeCount
from discreet.mechanisms.histogram import Histogram
from discreet.mechanisms.key_selection import KeySelection
from discreet.mechanisms.key_tables import keep_table
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Claim, Pair, fill
from discreet.mechanisms.noisy_max import ReportNoisyMax
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.reusable_holdout import Thresholdout
from discreet.mechanisms.sparse_vector import SparseVector, SparseVectorRun
from discreet.mechanisms.stability_histogram import GaussianThreshold, LaplaceThreshold
from discreet.mechanisms.subsample_aggregate import SubsampleAggregate
from discreet.mechanisms.top_k import TopK
from discreet.mechanisms.unknown_keys import KeyCounts
from discreet.privacy import BoundedRange, Neighbours, Pure
from planted_bugs import Mutant, Sparse, conformance, law, paths, replaying, samples, sparse

# --- what release does and the claim does not ----------------------------------------------------


class ThinRelease(Laplace):
    """Half the noise, where nobody draws."""

    __slots__ = ()

    def release(self, value):
        return value + noise.discrete_laplace(self.scale / 2)


class EarlyKeys(LaplaceThreshold):
    """Released from one below the threshold on; drawn from the threshold on."""

    __slots__ = ()

    def release(self, value):
        counted = KeyCounts.read(value)
        noisy = counted.counts + noise.discrete_laplace(self.law.scale, size=counted.counts.shape)
        return {
            key: int(count)
            for key, count in zip(counted.keys, noisy, strict=True)
            if count >= self.threshold - 1
        }


class ShortClaim(Histogram):
    """A claim about two bins of four, which release refuses."""

    __doc__ = Histogram.__doc__
    __slots__ = ()

    @property
    def claim(self):
        return replace(Histogram.claim.fget(self), pairs=(Pair([0, 0], [1, 0]),))


# --- blocks --------------------------------------------------------------------------------------

CHANGE = Neighbours.CHANGE_ONE


def blockwise(kind: type, blocks: int = 3) -> SubsampleAggregate:
    middle = Quantile(0.5, 0, 64, epsilon=1, neighbours=CHANGE)
    return kind(max, blocks=blocks, aggregate=middle, default=1, neighbours=CHANGE)


class TwoBlocksEach(SubsampleAggregate):
    """Every row in two blocks."""

    __slots__ = ()

    def _parts(self, rows, block):
        parts = SubsampleAggregate._parts(self, rows, block)
        return [[*one, *other] for one, other in zip(parts, parts[1:] + parts[:1], strict=True)]


class BlocksByRank(SubsampleAggregate):
    """Sorted rows, cut into equal pieces: one row at the end moves all others along."""

    __slots__ = ()

    def _parts(self, rows, block):
        del block
        return [part.tolist() for part in np.array_split(np.sort(np.asarray(rows)), self.blocks)]


def one_changed(kind: type) -> tuple[Callable, Any, Any]:
    rule = blockwise(kind, blocks=4)
    return rule.release, [1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 5, 6, 7, 0]


# --- holdouts ------------------------------------------------------------------------------------

HOLDOUT = {"threshold": 0.25, "epsilon": 1, "hits": 1}


class BareMeans(Thresholdout):
    """The holdout's own mean, where it contradicts."""

    __slots__ = ()

    def said(self, held, runs):
        return np.full(runs, float(held))


def noise_for(size: int) -> Claim:
    """A holdout of four, with noise for this many."""
    rule = Thresholdout(size=4, **HOLDOUT)
    other = Thresholdout(size=size, **HOLDOUT)
    fill(rule, guard=other.guard, answers=other.answers)
    return rule.claim


# --- keys, levels, rounds, rows ------------------------------------------------------------------


class OneKeyCharged(KeySelection):
    """A person under two keys, each charged the whole budget."""

    __slots__ = ()

    def _table(self):
        return keep_table(self.epsilon, self.delta, 1)


def gaussian_keys(threshold: int | None) -> Claim:
    """Gaussian noise with the threshold of Laplace noise."""
    rule = GaussianThreshold(epsilon=1, delta=0.01)
    fill(rule, threshold=threshold or rule.threshold)
    return rule.claim


class OneLevelCharged(TreeCount):
    """Noise as if an event were in one block."""

    __slots__ = ()

    def _measure(self, steps, runs):
        fill(thin := TreeCount(horizon=self.horizon, scale=self.scale / self.levels))
        return TreeCount._measure(thin, steps, runs)


def two_steps(kind: type[TreeCount]) -> Claim:
    """The first step, and one in the middle; an audit of the catalogue has all of them."""
    claim = kind(horizon=31, epsilon=1).claim
    return replace(claim, pairs=claim.pairs[:: len(claim.pairs) // 2])


def rounds(charged: float) -> Claim:
    """Two rounds of epsilon 1."""
    return replace(TopK(2, 4, epsilon=2).claim, guarantee=Pure(charged))


def quantile(charged: float) -> Claim:
    return replace(Quantile(0.5, 0, 128, epsilon=1).claim, guarantee=BoundedRange(charged))


def rows_charged(rows: int) -> Claim:
    """A person with two rows."""
    rule = AutomaticBounds(epsilon=1, largest=16, failure=0.1, max_rows_per_unit=rows)
    return replace(rule.claim, pairs=(Pair((), (16, 16)), Pair((16,) * 4, (16,) * 6)))


def noisy_max(*, telling: bool) -> Claim:
    """The place of the largest noisy score, and with it that score."""
    rule = ReportNoisyMax(3, epsilon=1)

    def draw(scores, runs):
        shaken = noise.discrete_laplace(rule.scale, size=(runs, 3)) + np.array(scores)
        places = shaken.argmax(axis=1)
        return np.stack([places, shaken.max(axis=1)], axis=1) if telling else places

    return Claim("noisy max", rule.guarantee, (Pair((0, 0, 0), (1, 1, 1)),), draw)


class ComparedAnswers(Sparse):
    """The answer is the very number that was compared, so the noise of the threshold shows."""

    def query_noise(self, shape):
        return noise.discrete_laplace(2 / self.rule.epsilon, size=shape)

    def threshold_noise(self, runs):
        return noise.discrete_laplace(2 / self.rule.epsilon, size=(runs, 1))

    def answers(self, _values, shaken):
        return shaken


# --- question by question, step by step ----------------------------------------------------------


class LazyRun(SparseVectorRun):
    """No noise for a question that is far from the threshold."""

    __slots__ = ()

    def _answer(self, value):
        return False if value < FAR else SparseVectorRun._answer(self, value)


FAR = -50


def asked(kind: type, *, rows: bool) -> tuple[Callable, Any, Any]:
    """A sparse vector asked once for every row, or three times about how many there are."""

    def call(data):
        run = kind(SparseVector(threshold=0, epsilon=1))
        values = data if rows else [len(data) + FAR - 4] * 3
        return [run.ask(value) for value in values]

    return call, [FAR] * 3, [FAR] * 3 + [-1]


def counted(times: int) -> tuple[Callable, Any, Any]:
    """A person who comes so many times, in a stream charged for one event."""

    def call(data):
        stream = TreeCount(horizon=4, epsilon=1).start()
        return [stream.release(step) for step in data]

    return call, [0] * 4, [1] * times + [0] * (4 - times)


def sum_of_four(value: float, runs: int) -> np.ndarray:
    """Floating-point noise from four uniforms, which was to hide what one of them shows."""
    a, b, c, d = (noise.below(1 << 53, size=runs).astype(np.float64) * 2.0**-53 for _ in range(4))
    return value + np.log1p(-a) * np.cos(np.pi * b) + np.log1p(-c) * np.cos(np.pi * d)


def on_a_grid(value: float, runs: int) -> np.ndarray:
    return Laplace(epsilon=1, sensitivity=1, grid=2.0**-40).draw(value, runs)


MUTANTS = (
    Mutant(
        "float-noise-of-four-samples",
        samples,
        Claim("four", Pure(1), (Pair(0.0, 1.0),), sum_of_four),
        Claim("grid", Pure(1), (Pair(0.0, 1.0),), on_a_grid),
    ),
    Mutant(
        "question-answered-without-noise",
        replaying,
        asked(LazyRun, rows=False),
        asked(SparseVectorRun, rows=False),
    ),
    Mutant(
        "a-question-a-row",
        replaying,
        asked(SparseVectorRun, rows=True),
        asked(SparseVectorRun, rows=False),
    ),
    Mutant("stream-charged-for-one-event-of-two", replaying, counted(2), counted(1)),
    Mutant(
        "release-thinner-than-its-claim",
        paths,
        ThinRelease(epsilon=1, sensitivity=1),
        Laplace(epsilon=1, sensitivity=1),
    ),
    Mutant(
        "release-shows-keys-too-early",
        paths,
        EarlyKeys(epsilon=1, delta=0.01),
        LaplaceThreshold(epsilon=1, delta=0.01),
    ),
    Mutant(
        "claim-about-what-release-refuses",
        conformance,
        ShortClaim(bins=4, epsilon=1),
        Histogram(bins=4, epsilon=1),
    ),
    Mutant(
        "row-in-two-blocks",
        law,
        blockwise(TwoBlocksEach).claim,
        blockwise(SubsampleAggregate).claim,
    ),
    Mutant("blocks-by-rank", replaying, one_changed(BlocksByRank), one_changed(SubsampleAggregate)),
    Mutant(
        "holdout-mean-without-noise",
        samples,
        BareMeans(size=4, **HOLDOUT).claim,
        Thresholdout(size=4, **HOLDOUT).claim,
    ),
    Mutant("holdout-noise-for-the-training-size", samples, noise_for(16), noise_for(4)),
    Mutant(
        "two-keys-charged-as-one",
        law,
        OneKeyCharged(epsilon=1, delta=0.01, max_groups_per_unit=2).claim,
        KeySelection(epsilon=1, delta=0.01, max_groups_per_unit=2).claim,
    ),
    Mutant(
        "laplace-threshold-for-gaussian-noise",
        samples,
        gaussian_keys(LaplaceThreshold(epsilon=1, delta=0.01).threshold),
        gaussian_keys(None),
    ),
    Mutant(
        "tree-charged-for-one-level",
        samples,
        two_steps(OneLevelCharged),
        two_steps(TreeCount),
    ),
    Mutant("top-k-charged-for-one-round", law, rounds(1), rounds(2)),
    Mutant("quantile-charged-half", law, quantile(0.5), quantile(1)),
    Mutant("second-row-not-charged", samples, rows_charged(1), rows_charged(2)),
    Mutant("noisy-max-tells-its-score", samples, noisy_max(telling=True), noisy_max(telling=False)),
    Mutant(
        "sparse-vector-answers-with-the-compared-noise",
        samples,
        sparse(ComparedAnswers, numeric=True, below=5, above=1),
        sparse(Sparse, numeric=True, below=5, above=1),
    ),
)
