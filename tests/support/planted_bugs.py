"""What it takes to plant a bug: the bug, its control, the tools that have to see through it."""

import contextvars
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import noise
from discreet.audit import (
    check_law,
    check_mechanism,
    compare_paths,
    enumerate_loss,
    refute,
    replay,
)
from discreet.errors import DiscreetError
from discreet.mechanisms.mechanism import Claim, Pair
from discreet.mechanisms.sparse_vector import SparseVector
from repetition import repeats

Tool = Callable[..., str]


@dataclass(frozen=True)
class Mutant:
    """What is wrong, which tool sees it, the broken thing and the sound one."""

    name: str
    tool: Tool
    broken: Any
    sound: Any


# --- tools: what they say of a subject, or nothing -----------------------------------------------


def samples(claim: Claim, *, runs: int, alpha: float) -> str:
    found = refute(claim, samples=runs, alpha=alpha)
    return f"{found.event}: {found.bound:.3f} > {found.point.epsilon:.3f}" if found.refuted else ""


def law(claim: Claim, **_: float) -> str:
    found = enumerate_loss(claim)
    return (found.reason or found.event) if found.refuted else ""


def counts(claim: Claim, *, runs: int, alpha: float) -> str:
    return check_law(claim, samples=runs, alpha=alpha).reason


def replaying(subject: tuple[Callable, Any, Any], **_: float) -> str:
    found = replay(*subject)
    return str(found) if found else ""


def conformance(mechanism: Any, **_: float) -> str:
    try:
        check_mechanism(mechanism)
    except DiscreetError as error:
        return str(error)
    return ""


def fork(draw: Callable, **_: float) -> str:
    # An empty context has the real source of bits, whatever the test has put in its place.
    return "a child repeats its parent" if contextvars.Context().run(repeats, draw) else ""


def paths(mechanism: Any, *, alpha: float, **_: float) -> str:
    return compare_paths(mechanism, alpha=alpha).reason


# --- a sparse vector in pieces -------------------------------------------------------------------


class Sparse:
    """A sparse vector in pieces that mutants replace; its scales are the shipped mechanism's."""

    def __init__(self, **parameters):
        self.rule = SparseVector(threshold=0, **parameters)

    def query_noise(self, shape):
        return noise.discrete_laplace(self.rule.query_scale, size=shape)

    def threshold_noise(self, runs):
        return noise.discrete_laplace(self.rule.threshold_scale, size=(runs, 1))

    def marks(self, reached):
        before = np.cumsum(reached, axis=1) - reached
        return np.where(before < self.rule.hits, reached, -1)

    def draw(self, values, runs):
        shaken = self.query_noise((runs, len(values))) + np.array(values)
        marks = self.marks(shaken >= self.threshold_noise(runs))
        if not self.rule.numeric:
            return marks
        return np.concatenate([marks, np.where(marks == 1, self.answers(values, shaken), 0)], 1)

    def answers(self, values, shaken):
        fresh = noise.discrete_laplace(self.rule.answer_scale, size=shaken.shape)
        return fresh + np.array(values)


def sparse(kind: type, below: int = 4, above: int = 4, **parameters: Any) -> Claim:
    """Questions that one person moves up, then questions that the same person moves down."""
    run = kind(**{"epsilon": 1, **parameters})
    pair = Pair((0,) * below + (1,) * above, (1,) * below + (0,) * above)
    return Claim(kind.__name__, run.rule.guarantee, (pair,), run.draw)
