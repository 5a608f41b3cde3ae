"""Planted bugs in the shipped code itself: one function is replaced, and everything is audited.

A subject is how to make a mechanism, and what to replace while it is audited: the owner, the name,
and what becomes of the original. The control replaces nothing.
"""

from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import wraps
from typing import Any

import numpy as np

from discreet import noise
from discreet.audit.evidence import samples_for
from discreet.audit.report import against_mechanism
from discreet.mechanisms import (
    continual,
    gaussian,
    key_tables,
    laplace,
    permute_and_flip,
    quantile,
    reusable_holdout,
)
from discreet.mechanisms.automatic_bounds import AutomaticBounds
from discreet.mechanisms.continual import FactorizedCount, TreeCount
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.grid import INTEGERS, PowerOfTwoGrid
from discreet.mechanisms.histogram import Histogram
from discreet.mechanisms.key_selection import KeySelection
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Mechanism, fill
from discreet.mechanisms.median import CellCounts, Median
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.propose_test_release import ProposeTestRelease, TestedMedian
from discreet.mechanisms.quantile import Quantile, Quantiles
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.reusable_holdout import Thresholdout
from discreet.mechanisms.smooth_laws import LaplaceLaw
from discreet.mechanisms.smooth_sensitivity import SmoothMedian, SmoothSensitivity
from discreet.mechanisms.sparse_vector import AboveThreshold, SparseVector, SparseVectorRun
from discreet.mechanisms.stability_histogram import GaussianThreshold, LaplaceThreshold
from discreet.mechanisms.staircase import Staircase
from discreet.mechanisms.subsample_aggregate import SubsampleAggregate
from discreet.mechanisms.top_k import TopK
from discreet.mechanisms.unbounded_quantile import UnboundedQuantile
from discreet.privacy import BoundedRange, DiscreteGaussianNoise, Neighbours
from discreet.privacy import RandomizedResponseNoise as ResponseLaw
from planted_bugs import Mutant

CHANGE = Neighbours.CHANGE_ONE
DELTA = Fraction(1, 100)


@dataclass(frozen=True)
class Code:
    """How to make a mechanism, and what is wrong with the code while it is audited."""

    make: Callable[[], Mechanism]
    changes: tuple[tuple[Any, str, Callable], ...] = ()

    @contextmanager
    def planted(self):
        with ExitStack() as stack:
            for owner, name, change in self.changes:
                original = vars(owner)[name]
                stack.callback(setattr, owner, name, original)
                setattr(owner, name, change(original))
            yield


def audited(code: Code, *, runs: int | None, alpha: float) -> str:
    """What refutes it first; what comes after that is not tried."""
    with code.planted():
        mechanism = code.make()
        many = samples_for(mechanism.guarantee) if runs is None else runs
        tried = against_mechanism(mechanism, mechanism.claim, many, alpha)
        found = next((one for one in tried if one.refuted), None)
    return f"{found.method}: {found.reason or found.event}" if found else ""


def wrong(name: str, make: Callable, owner: Any, part: str, change: Callable) -> Mutant:
    """A bug in one function."""
    return Mutant(name, audited, Code(make, ((owner, part, change),)), Code(make))


def made_wrong(name: str, make: Callable, spoil: Callable) -> Mutant:
    """A bug in how a mechanism is made: a field that is not what it should be."""

    def spoiled():
        mechanism = make()
        fill(mechanism, **spoil(mechanism))
        return mechanism

    return Mutant(name, audited, Code(spoiled), Code(make))


def scaled(factor: float) -> Callable:
    """A property that is so many times what it should be."""
    return lambda original: property(lambda self: original.fget(self) * Fraction(str(factor)))


def after(change: Callable) -> Callable:
    """What a function gives, changed."""
    return lambda original: lambda *args, **named: change(original(*args, **named))


def narrower(factor: float) -> Callable:
    """Noise of a scale or variance that is so many times what is asked for."""
    part = Fraction(str(factor))
    return lambda draw: lambda scale, *args, **named: draw(scale * part, *args, **named)


# --- what samples of 200,000 did not see before --------------------------------------------------


def bare(step: int) -> Callable:
    """No noise in the block that ends at this step."""

    def change(draw):
        def drawn(scale, size=None):
            table = draw(scale, size)
            if np.ndim(table) and table.shape[-1] >= step:
                table[..., step - 1] = 0
            return table

        return drawn

    return change


def poisoned_mean(_: Callable) -> Callable:
    """A NaN counts as a million below 0."""

    def mean(query, examples, size, _):
        read = np.nan_to_num(reusable_holdout._values(query, examples), nan=-1e6, neginf=0.0)
        return Fraction(int(np.minimum(read, 1.0).sum()), size)

    return mean


def bare_in_streams(opened: Callable) -> Callable:
    """No noise at step 3 of a stream that is asked step by step."""

    def opening(self):
        stream = opened(self)
        advance, exact = stream._advance, []

        def step(time, increment):
            exact.append(increment)
            answer = advance(time, increment)
            return sum(exact) if time == 3 else answer

        stream._advance = step
        return stream

    return opening


def bare_block_in_streams(opened: Callable) -> Callable:
    """No noise in the block of step 3 of a stream, wherever that block is in a count."""

    def opening(self):
        stream = opened(self)
        advance, last, over = stream._advance, 0, 0

        def step(time, increment):
            nonlocal last, over
            answer = advance(time, increment)
            over = answer - last - increment if time == 3 else over * (time <= self.digits.half)
            last = answer
            return answer - over

        stream._advance = step
        return stream

    return opening


def thin_answers(said: Callable) -> Callable:
    def answered(self, held, runs):
        thin = Laplace(
            epsilon=2 * self.answers.epsilon,
            sensitivity=self.answers.sensitivity,
            grid=self.answers.grid,
            neighbours=CHANGE,
        )
        return np.clip(np.asarray(thin.draw(held, runs), dtype=np.float64), 0.0, 1.0)

    del said
    return answered


def one_word_more(release: Callable) -> Callable:
    """A word is drawn, and thrown away, if the value is above 0."""

    @wraps(release)
    def released(self, value):
        if np.ndim(value) == 0 and value > 0:
            noise.below(2)
        return release(self, value)

    return released


def counted():
    return Laplace(epsilon=1, sensitivity=1)


def tree():
    return TreeCount(horizon=31, epsilon=1)


def short_tree():
    return TreeCount(horizon=7, epsilon=1)


def factorized():
    return FactorizedCount(horizon=7, rho=Fraction(1, 2))


def three_quantiles():
    return Quantiles([0.25, 0.5, 0.75], 0, 11, epsilon=1, neighbours=CHANGE)


def sparse():
    return SparseVector(threshold=0, epsilon=1, hits=2)


def holdout():
    return Thresholdout(size=4, threshold=Fraction(1, 4), epsilon=1, hits=1)


def smooth():
    return SmoothSensitivity(global_sensitivity=1000, epsilon=1, delta=DELTA)


MISSED = (
    *(
        wrong(f"{name}-of-{horizon}", make, *bug)
        for horizon, make in ((7, short_tree), (31, tree))
        for name, *bug in (
            ("no-noise-in-the-block-of-step-3", continual, "discrete_laplace", bare(3)),
            ("no-noise-in-the-block-of-step-6", continual, "discrete_laplace", bare(6)),
            ("no-noise-at-step-3-of-a-stream", TreeCount, "start", bare_in_streams),
            ("a-bare-block-in-a-stream", TreeCount, "start", bare_block_in_streams),
        )
    ),
    wrong(
        "change-one-quantiles-at-twice-their-epsilon",
        three_quantiles,
        Quantiles,
        "round_epsilon",
        scaled(2),
    ),
    wrong("half-the-noise-on-a-threshold", sparse, SparseVector, "threshold_scale", scaled(0.5)),
    wrong("holdout-answers-at-twice-their-epsilon", holdout, Thresholdout, "said", thin_answers),
    wrong(
        "half-the-scale-of-smooth-sensitivity",
        smooth,
        LaplaceLaw,
        "scale",
        after(lambda scale: scale / 2),
    ),
    wrong(
        "factorized-variance-times-0.8",
        factorized,
        continual,
        "rounded_gaussian",
        narrower(0.8),
    ),
    wrong("one-word-more-above-0", counted, Laplace.__mro__[1], "release", one_word_more),
)


# --- noise ---------------------------------------------------------------------------------------


def cut_off(scales: int) -> Callable:
    """Noise without its tails."""
    return lambda draw: (
        lambda scale, size=None: np.clip(
            draw(scale, size), -int(scales * scale), int(scales * scale)
        )
    )


def away_from_zero(draws: Any) -> Any:
    return draws + np.sign(np.asarray(draws)).astype(np.int64) * (np.asarray(draws) > 0)


def opposite(draw: Callable) -> Callable:
    """The second number of a vector has the first one's noise with the other sign."""

    def drawn(scale, size=None):
        table = draw(scale, size)
        if np.ndim(table):
            table[..., 1] = -table[..., 0]
        return table

    return drawn


def first_of_all(below: Callable) -> Callable:
    """The first point of each run, where any point should come."""
    return lambda bound, *args, **named: 0 * below(bound, *args, **named)


class NoiseModule:
    """`discreet.noise` with one function replaced, for modules that use it by name."""

    def __init__(self, **replaced):
        self._replaced = replaced

    def __getattr__(self, name):
        return self._replaced.get(name) or getattr(noise, name)


def without_order(scores, scale, runs):
    """Permute-and-flip that does not permute."""
    gaps = (np.asarray(scores, dtype=np.float64) - max(scores)) / float(scale)
    chosen = np.full(runs, -1)
    while (chosen < 0).any():
        for i, gap in enumerate(gaps):
            heads = noise.below(1 << 53, size=runs) < np.exp(gap) * 2.0**53
            chosen = np.where((chosen < 0) & heads, i, chosen)
    return chosen


def unweighted(scores, scale, runs, widths=None):
    """A choice of runs of points that forgets how many points each has."""
    del widths
    return noise.choose(scores, scale, runs)


NOISE = (
    wrong("tails-cut-off", counted, laplace, "discrete_laplace", cut_off(2)),
    wrong(
        "noise-in-steps-of-two",
        counted,
        laplace,
        "discrete_laplace",
        after(lambda draws: 2 * (draws // 2)),
    ),
    wrong("noise-pushed-up-above-0", counted, laplace, "discrete_laplace", after(away_from_zero)),
    wrong(
        "opposite-noise",
        lambda: Laplace(epsilon=1, sensitivity=2, dimension=3),
        laplace,
        "discrete_laplace",
        opposite,
    ),
    wrong(
        "low-bits-without-noise",
        lambda: Laplace(epsilon=Fraction(1, 2), sensitivity=0.1),
        laplace,
        "discrete_laplace",
        after(lambda draws: draws >> 12 << 12),
    ),
    wrong(
        "variance-rounded-down",
        lambda: Gaussian(epsilon=1, delta=DELTA, sensitivity=1),
        gaussian,
        "discrete_gaussian",
        lambda draw: lambda v, *size: draw(int(v), *size),
    ),
    wrong(
        "gaussian-tails-cut-off",
        lambda: Gaussian(rho=Fraction(1, 2), sensitivity=2),
        gaussian,
        "discrete_gaussian",
        after(lambda draws: np.clip(draws, -5, 5)),
    ),
    wrong(
        "thin-vector-noise",
        lambda: Gaussian(rho=Fraction(1, 2), sensitivity=2, dimension=4),
        gaussian,
        "rounded_gaussian",
        narrower(0.85),
    ),
    wrong(
        "quantile-at-a-person",
        lambda: Quantile(0.5, 0, 128, epsilon=1),
        quantile,
        "noise",
        lambda _: NoiseModule(below=first_of_all(noise.below)),
    ),
    wrong(
        "runs-of-points-unweighted",
        lambda: Quantile(0.5, 0, 128, epsilon=1),
        quantile,
        "noise",
        lambda _: NoiseModule(choose=unweighted),
    ),
    wrong(
        "flips-without-permuting",
        lambda: PermuteAndFlip(3, epsilon=1),
        permute_and_flip,
        "noise",
        lambda _: NoiseModule(permute_and_flip=without_order),
    ),
)


# --- mechanisms ----------------------------------------------------------------------------------


def one_hit_more(runs: Callable) -> Callable:
    def running(self, bars, count):
        hits = self.hits
        fill(self, hits=hits + 1)
        try:
            return runs(self, bars, count)
        finally:
            fill(self, hits=hits)

    return running


def fresh_thresholds(reached: Callable) -> Callable:
    """Another threshold for every question."""

    def reaching(self, bars, bent):
        fresh = (
            noise.discrete_laplace(scale, size=(bent.size, bars.size)) for scale in scales(self)
        )
        return sum(fresh) >= bars

    def scales(rule):
        return rule.query_scale, rule.threshold_scale

    del reached
    return reaching


def thin_questions(answer: Callable) -> Callable:
    """Half the noise on questions that are asked one by one."""

    def answering(self, value):
        hit = noise.discrete_laplace(self.rule.query_scale / 4) + self._bent
        return bool(hit >= int(self.rule.bars([value])[0]))

    del answer
    return answering


def no_noise_where_empty(bounds: Callable) -> Callable:
    def bounding(self, counts, runs):
        drawn = noise.discrete_laplace(self.scale, size=(runs, self.bins)) + counts
        occupied = (drawn >= self.threshold) & (counts > 0)
        found = occupied.any(axis=1)
        first = np.where(found, occupied.argmax(axis=1), 0)
        last = self.bins - 1 - np.where(found, occupied[:, ::-1].argmax(axis=1), 0)
        return np.stack([self._ends()[first], self._ends()[last + 1]], axis=1)

    del bounds
    return bounding


def on_both_sides(split: Callable) -> Callable:
    """People on an answer go to the left and to the right."""
    return lambda self, cell, _: (
        split(self, cell, Fraction(1))[0],
        split(self, cell, Fraction(0))[1],
    )


def further(reduce: Callable) -> Callable:
    """A distance that is too large by two where it is not 0."""

    def reducing(self, values):
        median, distance = reduce(self, values)
        return median, distance + 2

    return reducing


def at_distance_0(local: Callable) -> Callable:
    return lambda self, cells, distance: local(self, cells, 0 * distance)


def lies_among_all(release: Callable) -> Callable:
    """Half of all people report the truth before any coin is tossed."""

    @wraps(release)
    def released(self, value):
        kept = np.asarray(noise.bernoulli(Fraction(1, 2), size=np.shape(value)))
        return np.where(kept, value, release(self, value))

    return released


def half_of(*names: str, by: int = 2) -> Callable:
    return lambda mechanism: {name: getattr(mechanism, name) / by for name in names}


MECHANISMS = (
    made_wrong(
        "two-sided-scores-at-the-monotone-scale",
        lambda: ExponentialMechanism(3, epsilon=1),
        half_of("scale"),
    ),
    made_wrong(
        "top-k-at-one-round-s-scale",
        lambda: TopK(2, 4, epsilon=1, peel="permute-and-flip"),
        half_of("scale"),
    ),
    wrong("one-hit-more", sparse, SparseVector, "runs", one_hit_more),
    wrong(
        "numeric-answers-at-half-scale",
        lambda: SparseVector(threshold=0, epsilon=1, numeric=True),
        SparseVector,
        "answer_scale",
        scaled(0.5),
    ),
    wrong(
        "a-threshold-a-question",
        lambda: AboveThreshold(threshold=0, epsilon=1),
        SparseVector,
        "_reached",
        fresh_thresholds,
    ),
    wrong("thin-noise-question-by-question", sparse, SparseVectorRun, "_answer", thin_questions),
    made_wrong(
        "keys-shown-one-early",
        lambda: LaplaceThreshold(epsilon=1, delta=DELTA),
        lambda rule: {"threshold": rule.threshold - 1},
    ),
    made_wrong(
        "half-the-deviation-of-key-counts",
        lambda: GaussianThreshold(epsilon=1, delta=DELTA, max_groups_per_unit=2),
        lambda rule: {
            "law": Gaussian(
                variance=rule.law.variance / 4, sensitivity=1, grid=INTEGERS, dimension=2
            )
        },
    ),
    wrong(
        "keys-at-twice-their-delta",
        lambda: KeySelection(epsilon=1, delta=DELTA),
        KeySelection,
        "_table",
        lambda table: (
            lambda self: (
                table(KeySelection(epsilon=1, delta=2 * self.delta))
                if self.delta == DELTA
                else table(self)
            )
        ),
    ),
    made_wrong(
        "tested-one-early",
        lambda: ProposeTestRelease(bound=1, epsilon=1, delta=DELTA),
        lambda rule: {"cutoff": rule.cutoff - 1},
    ),
    wrong(
        "tested-answers-at-half-scale",
        lambda: ProposeTestRelease(bound=1, epsilon=1, delta=DELTA),
        ProposeTestRelease,
        "answer_scale",
        scaled(0.5),
    ),
    wrong(
        "distance-too-large",
        lambda: TestedMedian(0, 128, bound=1, epsilon=1, delta=DELTA),
        TestedMedian,
        "_reduce",
        further,
    ),
    wrong(
        "unsmoothed-median",
        lambda: SmoothMedian(0, 128, epsilon=1, delta=DELTA),
        Median,
        "local",
        at_distance_0,
    ),
    wrong(
        "the-smaller-rank-sensitivity",
        lambda: Quantile(0.1, 0, 64, epsilon=1),
        quantile,
        "rank_sensitivity",
        lambda _: lambda q, _: min(q, 1 - q) * 2,
    ),
    wrong(
        "people-on-an-answer-counted-twice",
        lambda: Quantiles([0.25, 0.5, 0.75], 0, 11, epsilon=1),
        CellCounts,
        "split",
        on_both_sides,
    ),
    made_wrong(
        "ladder-without-its-denominator",
        lambda: UnboundedQuantile(0.25, epsilon=1, lower=0, growth=2),
        lambda _: {"test": AboveThreshold(threshold=0, epsilon=1)},
    ),
    made_wrong(
        "ladder-for-people-who-come-and-go",
        lambda: UnboundedQuantile(0.5, epsilon=1, lower=0, growth=2, neighbours=CHANGE),
        lambda _: {"test": AboveThreshold(threshold=0, epsilon=1, sensitivity=1)},
    ),
    wrong(
        "no-noise-in-empty-bins",
        lambda: AutomaticBounds(epsilon=1, largest=16, failure=Fraction(1, 10)),
        AutomaticBounds,
        "_bounds",
        no_noise_where_empty,
    ),
    made_wrong(
        "blocks-charged-for-coming-and-going",
        lambda: SubsampleAggregate(
            max,
            blocks=3,
            default=1,
            neighbours=CHANGE,
            aggregate=Quantile(0.5, 0, 64, epsilon=1, neighbours=CHANGE),
        ),
        lambda rule: {"aggregate": spoiled(rule.aggregate, scale=rule.aggregate.scale / 2)},
    ),
    made_wrong(
        "moved-person-charged-as-one-who-comes",
        lambda: Histogram(bins=4, epsilon=1, neighbours=CHANGE),
        lambda rule: {"noise": spoiled(rule.noise, scale=rule.noise.scale / 2)},
    ),
    wrong(
        "truth-among-lies",
        lambda: RandomizedResponse(epsilon=1, k=4),
        RandomizedResponse,
        "release",
        lies_among_all,
    ),
    wrong(
        "thin-streams",
        factorized,
        FactorizedCount,
        "start",
        lambda opened: (
            lambda self: opened(
                spoiled(
                    FactorizedCount(horizon=self.horizon, rho=self.rho), variance=self.variance / 4
                )
            )
        ),
    ),
    made_wrong(
        "guard-for-one-hit-of-two",
        lambda: Thresholdout(size=4, threshold=Fraction(1, 4), epsilon=1, hits=2),
        lambda rule: {
            "guard": spoiled(rule.guard, epsilons=tuple(2 * e for e in rule.guard.epsilons))
        },
    ),
)


def spoiled(mechanism: Mechanism, **facts: Any) -> Mechanism:
    fill(mechanism, **facts)
    return mechanism


# --- privacy: a guarantee that is not what the theorem says --------------------------------------


def promised(change: Callable) -> Callable:
    return lambda original: property(lambda self: change(original.fget(self)))


PRIVACY = (
    wrong(
        "a-level-not-composed",
        three_quantiles,
        Quantiles,
        "levels",
        lambda levels: property(lambda self: levels.fget(self) - 1),
    ),
    wrong(
        "four-answers-charged-for-two",
        lambda: RandomizedResponse(epsilon=1),
        RandomizedResponse,
        "guarantee",
        promised(lambda law: ResponseLaw(law.epsilon0, k=4, neighbours=law.neighbours)),
    ),
    wrong(
        "variance-overstated",
        lambda: Gaussian(epsilon=1, delta=DELTA, sensitivity=1),
        Gaussian,
        "guarantee",
        promised(
            lambda law: DiscreteGaussianNoise(
                law.sensitivity, law.variance * Fraction(21, 20), neighbours=law.neighbours
            )
        ),
    ),
    wrong(
        "flips-charged-as-bounded-range",
        lambda: PermuteAndFlip(3, epsilon=1),
        PermuteAndFlip,
        "guarantee",
        promised(lambda pure: BoundedRange(pure.epsilon0, neighbours=pure.neighbours)),
    ),
    wrong(
        "bounded-range-understated",
        lambda: ExponentialMechanism(3, epsilon=1),
        ExponentialMechanism,
        "guarantee",
        promised(
            lambda law: BoundedRange(law.epsilon0 * Fraction(9, 10), neighbours=law.neighbours)
        ),
    ),
)

LESS_NOISE = (
    wrong(
        "rounding-of-all-but-one-number-unpaid",
        lambda: Laplace(epsilon=1, sensitivity=0.7, grid=Fraction(1, 4), dimension=3),
        PowerOfTwoGrid,
        "l1_steps",
        lambda _: lambda self, s, _=1: -(-s // self.step),
    ),
    wrong(
        "every-quantile-moved-one-way",
        lambda: Quantile(0.5, 0, 128, epsilon=1),
        quantile,
        "rank_range",
        lambda _: lambda *_: Fraction(1, 2),
    ),
    made_wrong(
        "an-end-at-half-its-range",
        lambda: Quantile(0, 0, 64, epsilon=1),
        lambda rule: {"scale": rule.scale / 2},
    ),
    made_wrong(
        "smooth-sensitivity-with-twice-its-share",
        smooth,
        lambda rule: {
            "law": replace(rule.law, share=2 * rule.law.share, wide_share=2 * rule.law.wide_share)
        },
    ),
    wrong(
        "stairs-half-as-wide",
        lambda: Staircase(epsilon=1, sensitivity=6),
        Staircase,
        "_noise",
        lambda _: lambda self, shape: noise.staircase(1, self.steps // 2, self.first, shape),
    ),
    wrong("a-nan-poisons-a-holdout", holdout, reusable_holdout, "_mean", poisoned_mean),
    wrong(
        "divergences-not-shared-by-keys",
        lambda: KeySelection(epsilon=1, delta=DELTA, max_groups_per_unit=4),
        KeySelection,
        "_table",
        lambda _: lambda self: key_tables.keep_table(self.epsilon, self.delta, 2),
    ),
    wrong(
        "blocks-to-come-without-noise",
        tree,
        continual,
        "discrete_laplace",
        bare(9),
    ),
    made_wrong(
        "top-k-at-half-its-scale",
        lambda: TopK(3, 4, epsilon=1, delta=DELTA),
        lambda rule: {"scale": rule.scale / 2},
    ),
)

MUTANTS = (*MISSED, *NOISE, *MECHANISMS, *PRIVACY, *LESS_NOISE)
