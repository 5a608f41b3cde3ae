"""Fit a graphical model to noisy marginals by scaled mirror descent, from its current state."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.workload.graphical_model import GraphicalModel
from discreet.workload.histogram import Clique, Floats, NoisyMarginal

_SLOWER, _FASTER, _LEAST = 0.5, 1.4, 2.0**-6
"""The factors of the step if the loss did not fall, and if it did; the least step that another fit
begins with."""


_LOWEST = -30.0
"""The lowest potential of a cell: e^-30 of the highest."""

_DAMPING, _MOST_DAMPING = 30.0, 1e6
"""Deviations of noise that a cell has to be above to move at full speed, at first and at most."""


@dataclass(frozen=True, slots=True)
class Target:
    """The estimate of a clique: a weighted mean of its measurements and its variance."""

    counts: Floats
    variance: float

    @property
    def sigma(self) -> float:
        """The standard deviation of each count, in rows."""
        return math.sqrt(self.variance)


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted model, how far it is from the measurements, and the step to continue with.

    `misfit` is chi^2 over its expectation: the mean squared residual in standard deviations.
    """

    model: GraphicalModel
    misfit: float = math.inf
    step: float = 1.0


def targets(measured: Sequence[NoisyMarginal]) -> dict[Clique, Target]:
    """One target for each clique: repeated measurements weighted by precision."""
    found: dict[Clique, Target] = {}
    for one in measured:
        new = Target(one.counts, one.sigma**2)
        old = found.get(one.clique)
        if old is not None:
            share = old.variance / (old.variance + new.variance)
            new = Target(old.counts + share * (new.counts - old.counts), old.variance * (1 - share))
        found[one.clique] = new
    return found


def estimate_total(wanted: Mapping[Clique, Target]) -> float:
    """The number of rows: sums of marginals, weighted by precision; at least 1."""
    precision = np.array([1 / (t.variance * t.counts.size) for t in wanted.values()])
    sums = np.array([t.counts.sum() for t in wanted.values()])
    return max(1.0, float(precision @ sums / precision.sum()))


def fit(
    start: GraphicalModel,
    measured: Sequence[NoisyMarginal],
    *,
    iterations: int,
    stop: float = 0.8,
    step: float = 1.0,
) -> Fit:
    """Move a model towards what was measured until its misfit is `stop`, or for some iterations.

    Why: entropic mirror descent moves the potential of a clique against its residuals; here each
    cell's by what it answers with. Stopping where residuals are smaller than noise leaves cells
    that noise hides as smooth as the rest of the model says. The step is kept from call to call;
    where the loss does not fall the damping rises, and then the step is halved.
    """
    wanted = targets(measured)
    zero = {o: np.zeros(t.counts.shape) for o, t in wanted.items() if o not in start.potentials}
    now = start.replaced({**start.potentials, **zero}, estimate_total(wanted))
    cells = sum(t.counts.size for t in wanted.values())
    least = 1 / math.sqrt(max(t.variance for t in wanted.values()))
    size, damping, done = step, _DAMPING, 0
    loss, expected = _loss(now, wanted)
    while done < iterations and 2 * loss > stop * cells:
        done += 1
        new = now.replaced(
            {
                one: _held(potential - size * _move(expected[one], wanted[one], damping * least))
                if one in wanted
                else potential
                for one, potential in now.potentials.items()
            }
        )
        new_loss, new_expected = _loss(new, wanted)
        if new_loss < loss:
            now, loss, expected = new, new_loss, new_expected
            size, damping = min(1.0, size * _FASTER), max(_DAMPING, damping / _FASTER)
        elif damping < _MOST_DAMPING:
            damping *= 4
        else:
            size *= _SLOWER
    return Fit(now, 2 * loss / cells, max(size, _LEAST))


def _loss(
    model: GraphicalModel, wanted: Mapping[Clique, Target]
) -> tuple[float, dict[Clique, Floats]]:
    """Half the squared residuals over their variances, and the expected counts."""
    found = model.schedule.marginals(model.beliefs)
    expected = {one: model.total * found[one] for one in wanted}
    squares = (
        float(np.square(expected[one] - target.counts).sum()) / target.variance
        for one, target in wanted.items()
    )
    return sum(squares) / 2, expected


def _move(expected: Floats, target: Target, damping: float) -> Floats:
    """How far each cell's potential should move, times the step.

    Why: a count m answers to its potential with about m, so the residual over m is Newton's step
    for a cell by itself. A multiple of the variance is added to m: cells that noise hides move
    slowly, and with much of it this is the gradient, along which the loss falls for certain.
    Residuals are centred first, weighted by m, as probabilities do not answer to a shift of all
    potentials.
    """
    residual = expected - target.counts
    centre = float((expected * residual).sum()) / float(expected.sum())
    return np.asarray((residual - centre) / (expected + damping * target.variance))


def _held(potential: Floats) -> Floats:
    """A potential whose highest value is 0 and none is so low that products of them vanish."""
    return np.asarray(np.maximum(potential - potential.max(), _LOWEST))
