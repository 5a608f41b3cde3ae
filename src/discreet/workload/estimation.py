"""Fit a graphical model to noisy marginals: entropic mirror descent, from where it stood before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.workload.graphical_model import GraphicalModel
from discreet.workload.marginals import Clique, Floats, NoisyMarginal

_SLOWER, _FASTER = 0.5, 1.4
"""What the step is multiplied by where the loss did not fall enough, and where it did."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is known of a clique: a weighted mean of its measurements and the variance of that."""

    counts: Floats
    variance: float


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted model, how far it is from the measurements, and the step to go on with.

    `misfit` is chi^2 over its expectation: the mean squared residual in standard deviations.
    """

    model: GraphicalModel
    misfit: float
    step: float
    iterations: int


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
    step: float | None = None,
) -> Fit:
    """Move a model towards what was measured until its misfit is `stop`, or for some iterations.

    Why: entropic mirror descent moves the potential of a clique against its residuals. Stopping
    where residuals are a little smaller than noise is leaves cells that noise hides as smooth as
    the rest of the model says. The step is kept from call to call, and halved where the loss does
    not fall.
    """
    wanted = targets(measured)
    zero = {
        one: np.zeros(t.counts.shape) for one, t in wanted.items() if one not in start.potentials
    }
    now = start.replaced({**start.potentials, **zero}, estimate_total(wanted))
    if not zero:
        now = start.replaced(start.potentials, now.total)
    cells = sum(t.counts.size for t in wanted.values())
    size = step if step is not None else 1 / now.total
    loss, residuals = _loss(now, wanted)
    done = 0
    while done < iterations and 2 * loss > stop * cells:
        done += 1
        new = now.replaced(
            {
                one: potential - size * residuals[one] if one in residuals else potential
                for one, potential in now.potentials.items()
            }
        )
        new_loss, new_residuals = _loss(new, wanted)
        if new_loss < loss:
            now, loss, residuals, size = new, new_loss, new_residuals, size * _FASTER
        else:
            size *= _SLOWER
    return Fit(now, 2 * loss / cells, size, done)


def _loss(
    model: GraphicalModel, wanted: Mapping[Clique, Target]
) -> tuple[float, dict[Clique, Floats]]:
    """Half the squared residuals over their variances, and its gradient."""
    loss, gradient = 0.0, {}
    found = model.schedule.marginals(model.beliefs)
    for one, target in wanted.items():
        residual = model.total * found[one] - target.counts
        gradient[one] = residual / target.variance
        loss += float((residual * gradient[one]).sum()) / 2
    return loss, gradient
