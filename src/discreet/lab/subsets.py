"""Plays that rebuild everybody's secret from sums over subsets of people."""

import numpy as np

from discreet.attacks.outcome import Outcome, pool
from discreet.attacks.reconstruction import (
    LeastSquares,
    LinearProgram,
    Posterior,
    Reconstruction,
    Robust,
    SubsetSum,
    lying,
)
from discreet.lab.setting import Curated, Setting
from discreet.plan.schema import Bounds, Keys, Limits

LIES = 0.2
"""The share of answers that are garbage where the system lies."""


def system(attack: Reconstruction, setting: Setting) -> SubsetSum:
    """A system that answers `setting.effort` subset sums."""
    secret = attack.secret
    match setting.against:
        case "raw":
            return lambda people: float(secret[people].sum())
        case "rounded":
            return lambda people: float(5 * np.round(secret[people].sum() / 5))
        case "private":
            return _curated(attack, setting)


def _curated(attack: Reconstruction, setting: Setting) -> SubsetSum:
    """A curator who is handed all subsets at once: one question with a group for each.

    A person counts once in each of the subsets that they are in. Those are the attacker's own, so
    the most that anybody is in is public, and the noise has to hide no more than that.
    """
    subsets = attack.questions(setting.effort)
    asked, people = np.nonzero(subsets)
    curated = Curated.of(
        "people",
        {"id": people, "subset": asked, "secret": attack.secret[people]},
        {"subset": Keys(list(range(len(subsets)))), "secret": Bounds(0, 1)},
        epsilon=setting.epsilon,
        limits=Limits(max(1, int(subsets.sum(axis=0).max())), 1),
        gaussian=True,
    )
    question = "SELECT subset, COUNT(*) AS n FROM people WHERE secret = 1 GROUP BY subset"
    sums = curated.cells(question, (len(subsets),))
    said = {subset.tobytes(): float(n) for subset, n in zip(subsets, sums, strict=True)}
    return lambda wanted: said[wanted.tobytes()]


def exponential(setting: Setting, people: int = 12, systems: int = 10) -> Outcome:
    """All 2^n databases are weighed, against a few systems."""
    return pool(
        _rebuild(Posterior, setting, people, purpose) for purpose in range(11, 11 + systems)
    )


def reconstruct(setting: Setting, people: int = 128) -> Outcome:
    """Least squares."""
    return _rebuild(LeastSquares, setting, people, 21)


def linear_program(setting: Setting, people: int = 64) -> Outcome:
    """A linear program."""
    return _rebuild(LinearProgram, setting, people, 31)


def robust(setting: Setting, people: int = 64) -> Outcome:
    """A linear program against a system that lies now and then."""
    attack = Robust(setting.draws(41).bits(people), setting.approximate, setting.seed)
    honest = system(attack, setting)
    return attack.run(lying(honest, LIES, people, setting.seed), setting.effort)


def _rebuild(kind: type[Reconstruction], setting: Setting, people: int, purpose: int) -> Outcome:
    attack = kind(setting.draws(purpose).bits(people), setting.approximate, setting.seed)
    return attack.run(system(attack, setting), setting.effort)
