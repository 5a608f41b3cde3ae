"""A hypothesis over universes of any size: a graphical model of what was measured."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

import numpy as np

from discreet.workload.domain import Domain
from discreet.workload.estimation import fit
from discreet.workload.graphical_model import GraphicalModel
from discreet.workload.hypothesis import Hypothesis
from discreet.workload.junction_tree import tree_cells
from discreet.workload.marginals import Clique, Floats, NoisyMarginal, sums_of

MODEL_CELLS: Final = 1 << 21
"""Cells of the model's tables: its memory and time, whatever is asked."""

_ITERATIONS: Final = 60


class FactoredHypothesis(Hypothesis):
    """The distribution of largest entropy that agrees with what was measured.

    A marginal that would make the model too large is learnt as those of its parts that fit: pairs
    of its columns, summed from the same noisy cells.
    """

    _lessons: list[NoisyMarginal]
    _model: GraphicalModel
    _step: float

    def __init__(
        self,
        domain: Domain,
        measurements: Sequence[NoisyMarginal],
        *,
        before: "FactoredHypothesis | None" = None,
    ) -> None:
        super().__init__(domain, measurements)
        self._lessons = [] if before is None else list(before._lessons)  # noqa: SLF001 - of the same class
        known = 0 if before is None else len(before.measurements)
        for one in self.measurements[known:]:
            self._lessons += self._learnable(one)
        start = (
            GraphicalModel.uniform(domain.sizes, self.rows) if before is None else before._model  # noqa: SLF001 - of the same class
        )
        step = None if before is None else before._step  # noqa: SLF001 - of the same class
        found = fit(start, self._lessons, iterations=_ITERATIONS, step=step)
        self._model, self._step = found.model, found.step

    def _learnable(self, one: NoisyMarginal) -> list[NoisyMarginal]:
        """A measurement, or what of it keeps the model small enough."""
        learnt = [lesson.clique for lesson in self._lessons]
        found: list[NoisyMarginal] = []
        for width in range(len(one.clique), 0, -1):
            for part in combinations(one.clique, width):
                inside = any(set(part) <= set(lesson.clique) for lesson in found)
                cliques = [*learnt, *(lesson.clique for lesson in found), part]
                if not inside and tree_cells(self.domain.sizes, cliques) <= MODEL_CELLS:
                    found.append(_part(one, part))
            if found:
                break
        return found

    def _marginal(self, clique: Clique) -> Floats:
        return self._model.marginal(clique)

    def updated(self, new: NoisyMarginal) -> "FactoredHypothesis":
        """The model, fitted to one more measurement from where it stands."""
        return FactoredHypothesis(self.domain, (*self.measurements, new), before=self)


def _part(one: NoisyMarginal, part: Clique) -> NoisyMarginal:
    """The noisy marginal of some of its columns; noise adds up with the cells."""
    if part == one.clique:
        return one
    steps = one.steps.sum(axis=sums_of(one.clique, part))
    cells = one.steps.size // max(1, np.size(steps))
    return replace(one, clique=part, steps=np.asarray(steps), variance=one.variance * cells)
