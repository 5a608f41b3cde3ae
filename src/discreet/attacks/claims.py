"""What differential privacy allows any attacker, whoever they are and whatever they know."""

import math
from dataclasses import dataclass

from discreet.errors import InputError


@dataclass(frozen=True, slots=True)
class Promise:
    """The guarantee that is claimed for all answers together; without epsilon, none.

    Example:
        >>> round(Promise(1).of_bit(), 3), Promise().of_bit()
        (0.731, 1.0)
    """

    epsilon: float | None = None
    delta: float = 0.0

    def __post_init__(self) -> None:
        if self.epsilon is not None and not 0 <= self.epsilon < math.inf:
            raise InputError(
                f"epsilon is {self.epsilon}", why="it bounds a loss", fix="pass epsilon >= 0"
            )
        if not 0 <= self.delta <= 1:
            raise InputError(
                f"delta is {self.delta}", why="it is a probability", fix="keep it in [0, 1]"
            )

    def of_bit(self) -> float:
        """The most often that one fair secret bit is guessed: e^epsilon/(1 + e^epsilon) + delta.

        For answers that see a person through the bit alone, such as sums of it: there, a bit that
        flips is a person who joins or leaves.
        """
        if self.epsilon is None:
            return 1.0
        return min(1.0, 1 / (1 + math.exp(-self.epsilon)) + self.delta)

    def of_event(self, without: float) -> float:
        """The most probable an event can be with a person in the data, from that without them."""
        if self.epsilon is None:
            return 1.0
        grown = without * _exp(self.epsilon) + self.delta
        kept = 1 - math.exp(-self.epsilon) * max(0.0, 1 - without - self.delta)
        return min(1.0, grown, kept)

    def of_measured(self, hits: int, n: int) -> float:
        """`of_event` where the rate without was measured: an event never seen is not impossible."""
        return self.of_event((hits + 1) / (n + 1))


def _exp(epsilon: float) -> float:
    """e^epsilon, or infinity where a float ends."""
    return math.exp(epsilon) if epsilon < 700 else math.inf
