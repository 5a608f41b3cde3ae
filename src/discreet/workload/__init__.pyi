# Public names and their homes: type checkers read them here, and so does the package itself.
# ruff: noqa: I001 - one import for each module, whose names are all exported
from discreet.workload.counting_query import CountingQuery as CountingQuery
from discreet.workload.domain import Attribute as Attribute, Domain as Domain
from discreet.workload.histogram import JointHistogram as JointHistogram
from discreet.workload.matrix import MatrixMechanism as MatrixMechanism, RangeBlocks as RangeBlocks
from discreet.workload.mwem import MWEM as MWEM
from discreet.workload.online import (
    OnlinePlan as OnlinePlan,
    OnlineSession as OnlineSession,
    OnlineState as OnlineState,
)
from discreet.workload.planner import answer as answer, plan_workload as plan_workload
from discreet.workload.residual import ResidualPlan as ResidualPlan
from discreet.workload.small_database import SmallDatabase as SmallDatabase
from discreet.workload.synthesis import Synthesis as Synthesis
from discreet.workload.synthesizer import SynthesisPlan as SynthesisPlan, synthesize as synthesize
