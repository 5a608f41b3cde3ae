"""Plays that are small enough to be watched: a closed list of sizes, one run at a time, each kept.

Anonymous visitors may ask for these, so nothing here is open-ended: a fixed list of promises,
efforts and populations. The people of a population come from its number; the noise of private
answers is fresh when a run is made. A finished run is returned again unchanged.
"""

import threading
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction

from discreet.errors import ServiceError
from discreet.lab import Against, Outcome, Setting, find
from discreet.lab.setting import among
from discreet.lab.useful import Learnt, learn
from discreet.rationals import Real, positive

EPSILONS = tuple(map(Fraction, ("1/10", "3/10", "1", "3", "10")))
"""The promises that are played for."""

POPULATIONS = 5
"""Made-up populations that are played with."""


class Bench:
    """Makes runs one at a time and keeps them; their number is limited.

    Example:
        >>> Bench().run("differencing", "raw")[0].success
        1.0
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, Setting], tuple[Outcome, Learnt | None]] = {}
        self._turn = threading.Lock()

    def run(
        self,
        name: str,
        against: Against,
        *,
        epsilon: Real = 1,
        effort: int | None = None,
        population: int = 0,
        within: AbstractContextManager[object] | None = None,
    ) -> tuple[Outcome, Learnt | None]:
        """The outcome of a run, made `within` a context; ServiceError while another is made.

        With private answers it shows what an analyst learns for the same promise. Nobody waits
        here: a waiting visitor would hold a thread that answers questions.
        """
        one, promise = find(name), positive(epsilon, "epsilon")
        efforts, sizes = one.story.efforts, one.story.sizes
        tries = efforts[-1] if effort is None else effort
        among("epsilon", promise, EPSILONS)
        among("effort", tries, efforts)
        among("population", population, range(POPULATIONS))
        setting = Setting(against, tries, promise, population)
        if (found := self._kept.get((name, setting))) is not None:
            return found
        if not self._turn.acquire(blocking=False):
            raise ServiceError(
                "another attack is running",
                why="the lab runs one at a time, so that questions are answered beside it",
                fix="try again in a moment",
            )
        try:
            with within or nullcontext():
                outcome = one.run(setting, **sizes)
                learnt = learn(name, setting, **sizes) if against == "private" else None
            return self._kept.setdefault((name, setting), (outcome, learnt))
        finally:
            self._turn.release()
