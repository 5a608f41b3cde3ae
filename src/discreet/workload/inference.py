"""Estimates with 95 % intervals from a synthesis: counts, means and regression coefficients.

Where a measured marginal holds every column of a question, the answer is the average of all
marginals that do, weighted by precision: it is unbiased and its noise is known exactly. Elsewhere
the model answers, and the interval allows for its misfit as the noisy check of each pair found it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations

import numpy as np

from discreet.errors import InputError
from discreet.workload.histogram import Clique, Floats
from discreet.workload.synthesis import Condition, Synthesis

_Z = 1.959963984540054
"""Deviations of a normal law that hold 95 % of it, to both sides."""


@dataclass(frozen=True, slots=True)
class ModelEstimate:
    """A number and its 95 % interval.

    `measured` says whether marginals that were measured hold the whole question, so that the
    interval is about noise alone; else it rests on the estimated misfit of the model, and covers
    less surely. Where noise hides the number its value is NaN and its interval has no ends.
    """

    value: float
    half_width: float
    measured: bool

    @property
    def low(self) -> float:
        """The lower end."""
        return self.value - self.half_width if math.isfinite(self.half_width) else -math.inf

    @property
    def high(self) -> float:
        """The upper end."""
        return self.value + self.half_width if math.isfinite(self.half_width) else math.inf


def count(
    synthesis: Synthesis, where: Mapping[str, Condition], *, sampling: bool = False
) -> ModelEstimate:
    """How many rows meet all conditions.

    With `sampling` the interval is for a population from which the rows were drawn: it allows for
    the binomial spread of the count as well. Of the rows of bins that a condition cuts any number
    may meet it: the interval reaches from none of them to all, and the value is its middle.

    Example: `count(made, {"age": (18, 30), "city": "Haifa"})`
    """
    met = synthesis.met(where)
    is_cut = any((one == 1).any() for one in met.values())
    ends = []
    for surely in range(2 if is_cut else 1):  # rows of all bins that are met, then of whole ones
        weights = {name: (one > surely).astype(np.float64) for name, one in met.items()}
        found = total(synthesis, weights)
        if sampling:
            share = min(1.0, max(0.0, found.value / synthesis.model.total))
            spread = _Z * math.sqrt(synthesis.model.total * share * (1 - share))
            found = replace(found, half_width=math.hypot(found.half_width, spread))
        ends.append(found)
    most, least = ends[0], ends[-1]
    if not is_cut:
        return most
    middle, half = (least.low + most.high) / 2, (most.high - least.low) / 2
    return ModelEstimate(middle, half, most.measured)


def total(synthesis: Synthesis, weights: Mapping[str, Floats]) -> ModelEstimate:
    """The sum over rows of a product of weights, one for each cell of some columns."""
    holding = [one for one in synthesis.result.measured if set(weights) <= set(one.clique)]
    if not holding:
        return _from_model(synthesis, weights)
    answers, variances = [], []
    for one in holding:
        table = _outer(one.clique, weights, one.counts.shape)
        answers.append(float((table * one.counts).sum()))
        variances.append(one.sigma**2 * float((table**2).sum()))
    if min(variances) == 0:
        return ModelEstimate(0.0, 0.0, measured=True)
    precision = 1 / np.array(variances)
    value = float(precision @ np.array(answers) / precision.sum())
    return ModelEstimate(value, _Z / math.sqrt(precision.sum()), measured=True)


def mean(
    synthesis: Synthesis, column: str, where: Mapping[str, Condition] | None = None
) -> ModelEstimate:
    """The mean of a number over rows that meet conditions and have one; bins count as their middle.

    Why: with m the mean itself, sum (x - m) over the rows is 0; its interval over the number of
    rows is the mean's, to first order. A value is anywhere in its bin: the mean distance of ends
    from middles is added, so that the interval holds whatever values are in the bins.

    Edge cases:
        Bins that a condition cuts count whole. Values beyond declared bounds count as the bounds.
        Outer bins of a column without bounds hold values of any size: the interval has no ends,
        unless a condition leaves them out.
    """
    attribute = synthesis.domain[column]
    middles = attribute.midpoints()
    if np.isnan(middles).all():
        raise InputError(f"{column} has no mean", why="it is no number", fix="name a number")
    masks = {n: (m > 0).astype(np.float64) for n, m in synthesis.met(where or {}).items()}
    there = masks.get(column, np.ones(middles.size)) * ~np.isnan(middles)
    rows = total(synthesis, {**masks, column: there})
    if rows.value <= 2 * rows.half_width:
        return ModelEstimate(float("nan"), math.inf, rows.measured)
    summed = total(synthesis, {**masks, column: there * np.nan_to_num(middles)})
    value = summed.value / rows.value
    around = total(synthesis, {**masks, column: there * (np.nan_to_num(middles) - value)})
    inside = np.where(there > 0, attribute.half_widths(), 0.0)
    spread = np.nan_to_num(inside, posinf=0.0)
    binned = total(synthesis, {**masks, column: spread}).high / rows.value
    return ModelEstimate(
        value + around.value / rows.value,
        around.half_width / rows.value + min(binned, spread.max())
        if np.isfinite(inside).all()
        else math.inf,
        around.measured,
    )


def regression(
    synthesis: Synthesis, target: str, columns: Sequence[str]
) -> dict[str, ModelEstimate]:
    """Least-squares coefficients of a number on others, each with its interval.

    Why: with z the columns less their means, b solves A b = c for A = sum z z', c = sum z y. To
    first order an error of A and c moves b by A^-1 (dc - dA b); errors of different pairs of
    columns are independent, being of different marginals or of different misfits.

    Edge cases:
        Columns that depend on each other, a constant column, and a table that is too small for its
        noise have coefficients of any size: where one deviation of A's error reaches A's smallest
        eigenvalue, with columns scaled to one length, each coefficient is NaN without ends.
        Coefficients are those of the middles of bins; where a column has open-ended bins intervals
        have no ends, as values there may be of any size.
    """
    names = list(columns)
    unknown = dict.fromkeys(names, ModelEstimate(math.nan, math.inf, measured=False))
    means = {name: mean(synthesis, name).value for name in (target, *names)}
    if any(map(math.isnan, means.values())):
        return unknown
    centred = {
        name: np.nan_to_num(synthesis.domain[name].midpoints() - value)
        for name, value in means.items()
    }
    products: dict[frozenset[str], ModelEstimate] = {}
    for one, other in [*combinations(centred, 2), *((n, n) for n in names)]:
        weights = (
            {one: centred[one] * centred[other]}
            if one == other
            else {one: centred[one], other: centred[other]}
        )
        products[frozenset((one, other))] = total(synthesis, weights)
    a = np.array([[products[frozenset((i, j))].value for j in names] for i in names])
    c = np.array([products[frozenset((i, target))].value for i in names])
    doubt = np.array([[products[frozenset((i, j))].half_width for j in names] for i in names])
    if not _determined(a, doubt / _Z):
        return unknown
    inverse = np.linalg.inv(a)
    b = inverse @ c
    variance = np.zeros(len(names))
    for pair, found in products.items():
        by = dict(zip(names, b, strict=True))
        moved = [
            float(pair == {n, target}) - sum(by[o] for o in names if pair == {n, o}) for n in names
        ]
        variance += (inverse @ moved * found.half_width) ** 2
    sure = all(one.measured for one in products.values())
    bounded = not any(synthesis.domain[name].open_ended for name in (target, *names))
    widths = np.sqrt(variance) if bounded else np.full(len(names), math.inf)
    return {
        name: ModelEstimate(float(b[i]), float(widths[i]), sure) for i, name in enumerate(names)
    }


def _determined(a: Floats, deviations: Floats) -> bool:
    """Whether a matrix of products stays invertible when each is wrong by one deviation."""
    lengths = np.sqrt(np.maximum(np.diag(a), 0.0))
    if not (lengths > 0).all() or not np.isfinite(deviations).all():
        return False
    scale = np.outer(lengths, lengths)
    return bool(np.linalg.eigvalsh(a / scale)[0] > np.linalg.norm(deviations / scale))


# --- parts --------------------------------------------------------------------------------------


def _outer(clique: Clique, weights: Mapping[str, Floats], shape: tuple[int, ...]) -> Floats:
    """The product of weights over a marginal; 1 for columns that have none."""
    parts = (weights.get(n, np.ones(size)) for n, size in zip(clique, shape, strict=True))
    return reduce(np.multiply.outer, parts, np.ones(()))


def _from_model(synthesis: Synthesis, weights: Mapping[str, Floats]) -> ModelEstimate:
    """The model's answer, and how far noise and misfit on pairs of columns may move it.

    Why: the total variation distance t of a pair bounds how far the model is off for every subset
    of its cells, and no other column enters. Over several columns the squares are added, as for
    misfits that are independent; t is taken at the upper end of what its check allows. Noise in a
    column's own counts moves the answer by no more than what the other columns' weights leave.
    """
    model, result = synthesis.model, synthesis.result
    value = model.count(weights)
    squared = {name: np.square(w) for name, w in weights.items()}
    sizes = {name: model.count({name: w}) / model.total for name, w in squared.items()}
    spread = max(model.count(squared) / model.total - (value / model.total) ** 2, 0.0)
    order = synthesis.domain.names.index
    misfit = noise = 0.0
    for pair in combinations(sorted(weights, key=order), 2):
        distance = result.distances.get(pair)
        off = 1.0 if distance is None else max(distance, 0.0) / (2 * model.total)
        misfit += (off + result.distance_sigma / (2 * model.total)) ** 2
    for name, weight in weights.items():
        others = math.prod(size for n, size in sizes.items() if n != name)
        noise += total(synthesis, {name: weight}).half_width ** 2 * others
    square = 4 * model.total**2 * spread * misfit + noise
    return ModelEstimate(value, math.sqrt(square), measured=False)
