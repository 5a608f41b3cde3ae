"""Many questions at once: coordinated noise where independent noise would drown the answers."""

from discreet.argument_names import MissingNameError
from discreet.workload.counting_query import CountingQuery
from discreet.workload.domain import Attribute, Domain
from discreet.workload.histogram import JointHistogram
from discreet.workload.matrix import MatrixMechanism, RangeBlocks
from discreet.workload.mwem import MWEM
from discreet.workload.online import OnlinePlan, OnlineSession, OnlineState
from discreet.workload.planner import answer, plan_workload
from discreet.workload.residual import ResidualPlan
from discreet.workload.small_database import SmallDatabase
from discreet.workload.synthesis import Synthesis
from discreet.workload.synthesizer import SynthesisPlan, synthesize

__all__ = [
    "MWEM",
    "Attribute",
    "CountingQuery",
    "Domain",
    "JointHistogram",
    "MatrixMechanism",
    "OnlinePlan",
    "OnlineSession",
    "OnlineState",
    "RangeBlocks",
    "ResidualPlan",
    "SmallDatabase",
    "Synthesis",
    "SynthesisPlan",
    "answer",
    "plan_workload",
    "synthesize",
]


def __getattr__(name: str) -> object:
    raise MissingNameError(name, __name__)
