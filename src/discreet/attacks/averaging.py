"""Ask the same question until the noise has averaged out."""

from dataclasses import dataclass

import numpy as np

from discreet.attacks.differencing import Differencing, WardSums, mean_answer
from discreet.attacks.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Averaging(Differencing):
    """Knows everybody in a ward but one, and asks for the ward's total `effort` times.

    Fresh noise on each answer averages out as 1/sqrt(effort). A curator that stores its answers
    says the same every time, and the hundredth answer tells what the first did.
    """

    def run(self, target: WardSums, effort: int = 1000) -> Outcome:
        """Average, subtract those who are known, and round."""
        everybody = np.ones(self.secret.shape, dtype=np.bool_)
        total = mean_answer(target, everybody, effort)
        return self.scored(total - self.secret[:, 1:].sum(axis=1) > 0.5)
