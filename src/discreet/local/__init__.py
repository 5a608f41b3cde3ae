"""The local model: reports that need no trusted receiver.

A protocol is a frozen object of public parameters. Its reporter runs on a person's device and its
aggregator on any server (`LocalHashing` is OLH, `UnaryEncoding` OUE, `KRandomizedResponse` GRR):

>>> from discreet import local
>>> poll = local.HadamardResponse(epsilon=1, domain=["tea", "coffee", "water", "none"])
>>> report = poll.reporter().report("tea")
>>> poll.aggregator().add(report).n
1
"""

from discreet.argument_names import MissingNameError, public
from discreet.local.aggregator import Aggregator as Aggregator
from discreet.local.campaigns import Campaign as Campaign
from discreet.local.count_mean_sketch import CountMeanSketch as CountMeanSketch
from discreet.local.count_mean_sketch import HadamardCountMeanSketch as HadamardCountMeanSketch
from discreet.local.device_ledger import DeviceLedger as DeviceLedger
from discreet.local.estimate import Estimate as Estimate
from discreet.local.estimate import MeanEstimate as MeanEstimate
from discreet.local.frequency import KRandomizedResponse as KRandomizedResponse
from discreet.local.heavy_hitters import HeavyHitters as HeavyHitters
from discreet.local.local_hashing import HadamardResponse as HadamardResponse
from discreet.local.local_hashing import LocalHashing as LocalHashing
from discreet.local.mean import HybridMean as HybridMean
from discreet.local.mean import Mean1Bit as Mean1Bit
from discreet.local.mean import PiecewiseMean as PiecewiseMean
from discreet.local.planner import Choice as Choice
from discreet.local.planner import choose_protocol as choose_protocol
from discreet.local.popular_values import PopularCounts as PopularCounts
from discreet.local.popular_values import PopularValues as PopularValues
from discreet.local.protocol import LocalProtocol as LocalProtocol
from discreet.local.protocol import Reporter as Reporter
from discreet.local.rappor import Rappor as Rappor
from discreet.local.secret_shared_sum import SecretSharedSum as SecretSharedSum
from discreet.local.shuffle import Shuffle as Shuffle
from discreet.local.unary_encoding import SubsetSelection as SubsetSelection
from discreet.local.unary_encoding import UnaryEncoding as UnaryEncoding
from discreet.local.unit_vector_mean import UnitVectorMean as UnitVectorMean

__all__ = public("local")  # noqa: PLE0605 - type checkers read the imports


def __getattr__(name: str) -> object:
    raise MissingNameError(name, __name__)
