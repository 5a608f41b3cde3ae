"""When a computation may begin, and at which moments what came of it may be known."""

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final

from discreet.engines.engine import Deadline


@dataclass(frozen=True, slots=True)
class ReleaseSchedule:
    """How a server hides the time that reading data takes.

    Guarantee:
        Measuring is known to be over, with an answer or a failure, at one of the moments that
        `steps` gives for a bound on its work: seconds after it began, fixed before data is read.
        It is stopped shortly before the last of them.
    Edge cases:
        What overruns a step is known at the next one, and `late` is called then: the bound did not
        hold, or the machine is overloaded. What does not stop in time is known at a multiple of
        the last step. Without steps nothing waits and nothing is stopped.

    `turn` is entered to compute what takes some seconds by its public bound, and left after the
    last wait: whoever waits for the next turn would see the end of a computation otherwise.
    `settle` is called before an answer is stored. `engine` is entered while data is read; what
    waits there waits within its steps.
    """

    turn: Callable[[float], AbstractContextManager[object]] = nullcontext
    settle: Callable[[], None] = lambda: None
    steps: Callable[[float], tuple[float, ...]] = lambda _: ()
    late: Callable[[], None] = lambda: None
    longest: float = math.inf
    """Seconds; questions whose work may take longer are refused."""
    engine: Callable[[float], AbstractContextManager[object]] = nullcontext

    def stop(self, began: float, steps: tuple[float, ...]) -> Deadline | None:
        """When to stop what began, so that it has stopped by the last step."""
        return Deadline(began + steps[-1] - min(_STOPPING, steps[-1] / 10)) if steps else None

    def hold(self, began: float, steps: tuple[float, ...]) -> None:
        """Wait for the first of these steps that is not over."""
        if not steps:
            return
        elapsed = time.monotonic() - began
        beyond = steps[-1] * math.ceil(elapsed / steps[-1])
        time.sleep(next((step for step in steps if step >= elapsed), beyond) - elapsed)
        if elapsed > steps[0]:  # told after waiting: it moves steps, and is counted
            self.late()

    def let_go(self, cancelled: float) -> None:
        """Wait for a whole second after a cancellation: how long it takes to stop stays here."""
        elapsed = time.monotonic() - cancelled
        time.sleep(max(1, math.ceil(elapsed)) - elapsed)


_STOPPING: Final = 1.0
"""Seconds that an engine may take to stop."""

AT_ONCE: Final = ReleaseSchedule()
