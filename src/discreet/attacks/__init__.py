"""Published attacks, each runnable against anybody's answers.

An attack is a small class: what it holds are public facts and, for scoring alone, the truth.
`run(target, effort)` plays the attacker against `target`, a callable that answers as the attacked
system does, and returns an `Outcome`. People are made up; draws come from `simulation`, which must
not be used for a release.
"""

from discreet.argument_names import MissingNameError, public
from discreet.attacks.census import Census as Census
from discreet.attacks.census import CensusCounts as CensusCounts
from discreet.attacks.census_tables import CensusTables as CensusTables
from discreet.attacks.differencing import Averaging as Averaging
from discreet.attacks.differencing import Differencing as Differencing
from discreet.attacks.differencing import Refusals as Refusals
from discreet.attacks.exposure import Exposure as Exposure
from discreet.attacks.heat_map import HeatMap as HeatMap
from discreet.attacks.holdout import Holdout as Holdout
from discreet.attacks.holdout import HoldoutLabel as HoldoutLabel
from discreet.attacks.holdout import Leaderboard as Leaderboard
from discreet.attacks.instance_hiding import InstanceHiding as InstanceHiding
from discreet.attacks.intersection import Intersection as Intersection
from discreet.attacks.linkage import Linkage as Linkage
from discreet.attacks.low_bits import LowBits as LowBits
from discreet.attacks.low_bits import RepeatedZero as RepeatedZero
from discreet.attacks.outcome import Outcome as Outcome
from discreet.attacks.outcome import Promise as Promise
from discreet.attacks.reconstruction import Exponential as Exponential
from discreet.attacks.reconstruction import LeastSquares as LeastSquares
from discreet.attacks.reconstruction import LinearProgram as LinearProgram
from discreet.attacks.reconstruction import Posterior as Posterior
from discreet.attacks.reconstruction import Robust as Robust
from discreet.attacks.social_graph import SocialGraph as SocialGraph
from discreet.attacks.tracing import Tracing as Tracing

__all__ = public("attacks")  # noqa: PLE0605 - type checkers read the imports


def __getattr__(name: str) -> object:
    raise MissingNameError(name, __name__)
