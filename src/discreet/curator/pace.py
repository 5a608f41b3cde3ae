"""When a computation may begin, and at which moments what came of it may be known."""

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Pace:
    """How a server hides the time that reading data takes.

    Guarantee:
        Measuring is known to be over, with an answer or a failure, at one of the moments that
        `steps` gives for a bound on its work: seconds after it began, fixed before data is read.
        At the last of them it is stopped.
    Edge cases:
        What overruns a step is known at the next one, and `late` is called: the bound did not hold,
        or the machine is overloaded. Without steps nothing waits and nothing is stopped.

    `turn` is entered to compute, and left after the last wait: whoever waits for the next turn
    would see the end of a computation otherwise. `settle` is called before an answer is stored.
    """

    turn: Callable[[], AbstractContextManager[None]] = nullcontext
    settle: Callable[[], None] = lambda: None
    steps: Callable[[float], tuple[float, ...]] = lambda _: ()
    late: Callable[[], None] = lambda: None
    longest: float = math.inf
    """Seconds; questions whose work may take longer are refused."""

    def hold(self, began: float, steps: tuple[float, ...]) -> None:
        """Wait for the first of these steps that is not over."""
        elapsed = time.monotonic() - began
        if steps and elapsed > steps[0]:
            self.late()
        ahead = [step for step in steps if step >= elapsed]
        if ahead:
            time.sleep(ahead[0] - elapsed)


AT_ONCE: Final = Pace()
