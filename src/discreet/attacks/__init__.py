"""Published attacks, each runnable against anybody's answers.

An attack is a small class: what it holds are public facts and, for scoring alone, the truth.
`run(target, effort)` plays the attacker against `target`, a callable that answers as the attacked
system does, and returns an `Outcome`. People are made up; draws come from `simulation`, which is
good for that and for no release.
"""

from discreet.attacks.averaging import Averaging
from discreet.attacks.census import Census
from discreet.attacks.census_counts import CensusCounts
from discreet.attacks.census_tables import CensusTables
from discreet.attacks.claims import Promise
from discreet.attacks.differencing import Differencing
from discreet.attacks.exponential import Exponential, Posterior
from discreet.attacks.exposure import Exposure
from discreet.attacks.holdout import Holdout
from discreet.attacks.holdout_label import HoldoutLabel
from discreet.attacks.instance_hiding import InstanceHiding
from discreet.attacks.intersection import Intersection
from discreet.attacks.leaderboard import Leaderboard
from discreet.attacks.least_squares import LeastSquares
from discreet.attacks.linear_program import LinearProgram
from discreet.attacks.linkage import Linkage
from discreet.attacks.low_bits import LowBits
from discreet.attacks.outcome import Outcome
from discreet.attacks.refusals import Refusals
from discreet.attacks.repeated_zero import RepeatedZero
from discreet.attacks.robust import Robust
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
