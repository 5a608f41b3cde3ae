"""The local model: reports that nobody has to be trusted with.

A protocol is a frozen object of public parameters. Its reporter runs on a person's device and its
aggregator on any server (`LocalHashing` is OLH, `UnaryEncoding` OUE, `KRandomizedResponse` GRR):

>>> from discreet import local
>>> poll = local.HadamardResponse(epsilon=1, domain=["tea", "coffee", "water", "none"])
>>> report = poll.reporter().report("tea")
>>> poll.aggregator().add(report).n
1
"""

from discreet.argument_names import MissingNameError
from discreet.local.aggregator import Aggregator
from discreet.local.campaigns import Campaign
from discreet.local.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from discreet.local.device_ledger import DeviceLedger
from discreet.local.estimate import Estimate, MeanEstimate
from discreet.local.frequency import KRandomizedResponse
from discreet.local.heavy_hitters import HeavyHitters
from discreet.local.local_hashing import HadamardResponse, LocalHashing
from discreet.local.mean import HybridMean, Mean1Bit, PiecewiseMean
from discreet.local.planner import Choice, choose_protocol
from discreet.local.popular_values import PopularCounts, PopularValues
from discreet.local.protocol import LocalProtocol, Reporter
from discreet.local.rappor import Rappor
from discreet.local.secret_shared_sum import SecretSharedSum
from discreet.local.shuffle import Shuffle
from discreet.local.unary_encoding import SubsetSelection, UnaryEncoding
from discreet.local.unit_vector_mean import UnitVectorMean

__all__ = [
    "Aggregator",
    "Campaign",
    "Choice",
    "CountMeanSketch",
    "DeviceLedger",
    "Estimate",
    "HadamardCountMeanSketch",
    "HadamardResponse",
    "HeavyHitters",
    "HybridMean",
    "KRandomizedResponse",
    "LocalHashing",
    "LocalProtocol",
    "Mean1Bit",
    "MeanEstimate",
    "PiecewiseMean",
    "PopularCounts",
    "PopularValues",
    "Rappor",
    "Reporter",
    "SecretSharedSum",
    "Shuffle",
    "SubsetSelection",
    "UnaryEncoding",
    "UnitVectorMean",
    "choose_protocol",
]


def __getattr__(name: str) -> object:
    raise MissingNameError(name, __name__)
