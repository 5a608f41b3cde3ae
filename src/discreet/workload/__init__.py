"""Many questions at once: coordinated noise where independent noise would drown the answers."""

from discreet.argument_names import MissingNameError, public
from discreet.workload.counting_query import CountingQuery as CountingQuery
from discreet.workload.domain import Attribute as Attribute
from discreet.workload.domain import Domain as Domain
from discreet.workload.histogram import JointHistogram as JointHistogram
from discreet.workload.matrix import MatrixMechanism as MatrixMechanism
from discreet.workload.matrix import RangeBlocks as RangeBlocks
from discreet.workload.mwem import MWEM as MWEM
from discreet.workload.online import OnlinePlan as OnlinePlan
from discreet.workload.online import OnlineSession as OnlineSession
from discreet.workload.online import OnlineState as OnlineState
from discreet.workload.planner import answer as answer
from discreet.workload.planner import plan_workload as plan_workload
from discreet.workload.residual import ResidualPlan as ResidualPlan
from discreet.workload.small_database import SmallDatabase as SmallDatabase
from discreet.workload.synthesis import Synthesis as Synthesis
from discreet.workload.synthesizer import SynthesisPlan as SynthesisPlan
from discreet.workload.synthesizer import synthesize as synthesize

__all__ = public("workload")  # noqa: PLE0605 - type checkers read the imports


def __getattr__(name: str) -> object:
    raise MissingNameError(name, __name__)
