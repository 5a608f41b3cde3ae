"""Plays that rebuild everybody's secret from sums over subsets of people."""

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.exponential import Exponential
from discreet.attacks.least_squares import LeastSquares
from discreet.attacks.linear_program import LinearProgram
from discreet.attacks.outcome import Outcome, pool
from discreet.attacks.reconstruction import Reconstruction, SubsetSum
from discreet.attacks.robust import Robust, lying
from discreet.attacks.simulation import Bits
from discreet.cli.lab.curated import Curated
from discreet.cli.lab.setting import Setting
from discreet.plan.schema import Bounds

LIES = 0.2
"""The share of answers that are garbage where the system lies."""


def system(secret: Bits, setting: Setting) -> SubsetSum:
    """A system that answers `setting.effort` subset sums."""
    match setting.against:
        case "raw":
            return lambda people: float(secret[people].sum())
        case "rounded":
            return lambda people: float(5 * np.round(secret[people].sum() / 5))
        case "private":
            return _curated(secret, setting)


def _curated(secret: Bits, setting: Setting) -> SubsetSum:
    desk = Curated.of(
        "people",
        {"id": np.arange(secret.size), "secret": secret},
        {"secret": Bounds(0, 1)},
        epsilon=setting.epsilon,
        questions=setting.effort,
        gaussian=True,
    )

    def answer(people: NDArray[np.bool_]) -> float:
        if not people.any():
            return 0.0
        named = ", ".join(map(str, np.flatnonzero(people)))
        return desk.number(
            f"SELECT COUNT(*) AS n FROM people WHERE secret = 1 AND id IN ({named})"  # noqa: S608
        )

    return answer


def exponential(setting: Setting, people: int = 12) -> Outcome:
    """All 2^n databases are tried, against four systems."""
    return pool(_rebuild(Exponential, setting, people, purpose) for purpose in (11, 12, 13, 14))


def reconstruct(setting: Setting, people: int = 64) -> Outcome:
    """Least squares."""
    return _rebuild(LeastSquares, setting, people, 21)


def linear_program(setting: Setting, people: int = 64) -> Outcome:
    """A linear program."""
    return _rebuild(LinearProgram, setting, people, 31)


def robust(setting: Setting, people: int = 64) -> Outcome:
    """A linear program against a system that lies now and then."""
    secret = setting.draws(41).bits(people)
    honest = system(secret, setting)
    attack = Robust(secret, setting.approximate, setting.seed)
    return attack.run(lying(honest, LIES, people, setting.seed), setting.effort)


def _rebuild(kind: type[Reconstruction], setting: Setting, people: int, purpose: int) -> Outcome:
    secret = setting.draws(purpose).bits(people)
    attack = kind(secret, setting.approximate, setting.seed)
    return attack.run(system(secret, setting), setting.effort)
