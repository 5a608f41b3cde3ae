# Public names and their homes: type checkers read them here, and so does the package itself.
# ruff: noqa: I001 - one import for each module, whose names are all exported
from discreet.attacks.census import Census as Census, CensusCounts as CensusCounts
from discreet.attacks.census_tables import CensusTables as CensusTables
from discreet.attacks.differencing import (
    Averaging as Averaging,
    Differencing as Differencing,
    Refusals as Refusals,
)
from discreet.attacks.exposure import Exposure as Exposure
from discreet.attacks.heat_map import HeatMap as HeatMap
from discreet.attacks.holdout import (
    Holdout as Holdout,
    HoldoutLabel as HoldoutLabel,
    Leaderboard as Leaderboard,
)
from discreet.attacks.instance_hiding import InstanceHiding as InstanceHiding
from discreet.attacks.intersection import Intersection as Intersection
from discreet.attacks.linkage import Linkage as Linkage
from discreet.attacks.low_bits import LowBits as LowBits, RepeatedZero as RepeatedZero
from discreet.attacks.outcome import Outcome as Outcome, Promise as Promise
from discreet.attacks.reconstruction import (
    Exponential as Exponential,
    LeastSquares as LeastSquares,
    LinearProgram as LinearProgram,
    Posterior as Posterior,
    Robust as Robust,
)
from discreet.attacks.social_graph import SocialGraph as SocialGraph
from discreet.attacks.tracing import Tracing as Tracing
