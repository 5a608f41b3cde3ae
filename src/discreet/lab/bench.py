"""Plays that are small enough to be watched: a closed list of sizes, one run at a time, each kept.

Whoever is not known may ask for these, so nothing here is open-ended: so many promises, efforts and
populations, and no others. The people of a population come from its number; the noise of private
answers is fresh when a run is made. A run that was made is told again as it was.
"""

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from types import MappingProxyType

from discreet.errors import InputError, ServiceError
from discreet.lab import PLAYS, Against, Outcome, Play, Setting
from discreet.lab.useful import Learnt, learn
from discreet.rationals import Real, positive

EPSILONS = tuple(map(Fraction, ("1/10", "3/10", "1", "3", "10")))
"""The promises that are played for."""

POPULATIONS = 5
"""Made-up populations that are played with."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A play in a size that is done within a second or two, and how hard the attacker may try."""

    run: Callable[[Setting], Outcome]
    efforts: tuple[int, ...]
    needs: str | None = None

    @property
    def available(self) -> bool:
        """Whether the package it needs is installed."""
        return self.needs is None or find_spec(self.needs) is not None

    def made(self, name: str, setting: Setting) -> tuple[Outcome, Learnt | None]:
        """Run the attacker and, beside private answers, an analyst."""
        sizes = self.run.keywords if isinstance(self.run, partial) else {}
        private = setting.against == "private"
        return self.run(setting), learn(name, setting, **sizes) if private else None


def _watched(play: Play) -> Watched:
    told = play.story
    run = partial(play.run, **told.sizes) if told.sizes else play.run
    return Watched(run, told.efforts, told.needs)


WATCHED: Mapping[str, Watched] = MappingProxyType(
    {name: _watched(play) for name, play in PLAYS.items()}
)
"""By the names of the plays; the last effort is the usual one."""


class Bench:
    """Makes runs one at a time and keeps them; there are only so many that can be asked for.

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

        Beside private answers stands what an analyst learns for the same promise.
        Nobody waits here: whoever waits would hold a thread that answers questions.
        """
        setting = chosen(name, against, epsilon, effort, population)
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
                made = WATCHED[name].made(name, setting)
            return self._kept.setdefault((name, setting), made)
        finally:
            self._turn.release()


def chosen(
    name: str, against: Against, epsilon: Real, effort: int | None, population: int
) -> Setting:
    """One of the runs that can be asked for."""
    if name not in WATCHED:
        raise InputError(
            f"there is no attack {name}", why=f"known are: {', '.join(PLAYS)}", fix="name one"
        )
    efforts = WATCHED[name].efforts
    promise, tries = positive(epsilon, "epsilon"), efforts[-1] if effort is None else effort
    among("epsilon", promise, EPSILONS)
    among("effort", tries, efforts)
    among("population", population, range(POPULATIONS))
    return Setting(against, tries, promise, population)


def among(what: str, value: Real, listed: "tuple[Real, ...] | range") -> None:
    """Refuse what is not on a list."""
    if value not in listed:
        raise InputError(
            f"this {what} is not on the list",
            why=f"the lab plays {', '.join(f'{float(one):g}' for one in listed)}",
            fix="choose one of them",
        )
