"""Published attacks, each runnable against anybody's answers.

An attack is a small class: what it holds are public facts and, for scoring alone, the truth.
`run(target, effort)` plays the attacker against `target`, a callable that answers as the attacked
system does, and returns an `Outcome`. People are made up; draws come from `simulation`, which is
good for that and for no release.
"""

from importlib import import_module

from discreet.attacks.census import Census, CensusCounts
from discreet.attacks.census_tables import CensusTables
from discreet.attacks.differencing import Averaging, Differencing, Refusals
from discreet.attacks.exposure import Exposure
from discreet.attacks.heat_map import HeatMap
from discreet.attacks.holdout import Holdout, HoldoutLabel, Leaderboard
from discreet.attacks.instance_hiding import InstanceHiding
from discreet.attacks.intersection import Intersection
from discreet.attacks.linkage import Linkage
from discreet.attacks.low_bits import LowBits, RepeatedZero
from discreet.attacks.outcome import Outcome, Promise
from discreet.attacks.reconstruction import (
    Exponential,
    LeastSquares,
    LinearProgram,
    Posterior,
    Robust,
)
from discreet.attacks.social_graph import SocialGraph
from discreet.attacks.tracing import Tracing

__all__ = [
    "Averaging",
    "Census",
    "CensusCounts",
    "CensusTables",
    "Differencing",
    "Exponential",
    "Exposure",
    "HeatMap",
    "Holdout",
    "HoldoutLabel",
    "InstanceHiding",
    "Intersection",
    "Leaderboard",
    "LeastSquares",
    "LinearProgram",
    "Linkage",
    "LowBits",
    "Outcome",
    "Posterior",
    "Promise",
    "Refusals",
    "RepeatedZero",
    "Robust",
    "SocialGraph",
    "Tracing",
]


def __getattr__(name: str) -> object:
    raise import_module("discreet.argument_names").MissingNameError(name, __name__)
