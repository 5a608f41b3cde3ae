# Public names and their homes: type checkers read them here, and so does the package itself.
# ruff: noqa: I001 - one import for each module, whose names are all exported
from discreet.local.aggregator import Aggregator as Aggregator
from discreet.local.campaigns import Campaign as Campaign
from discreet.local.count_mean_sketch import (
    CountMeanSketch as CountMeanSketch,
    HadamardCountMeanSketch as HadamardCountMeanSketch,
)
from discreet.local.device_ledger import DeviceLedger as DeviceLedger
from discreet.local.estimate import Estimate as Estimate, MeanEstimate as MeanEstimate
from discreet.local.frequency import KRandomizedResponse as KRandomizedResponse
from discreet.local.heavy_hitters import HeavyHitters as HeavyHitters
from discreet.local.local_hashing import (
    HadamardResponse as HadamardResponse,
    LocalHashing as LocalHashing,
)
from discreet.local.mean import (
    HybridMean as HybridMean,
    Mean1Bit as Mean1Bit,
    PiecewiseMean as PiecewiseMean,
)
from discreet.local.planner import Choice as Choice, choose_protocol as choose_protocol
from discreet.local.popular_values import (
    PopularCounts as PopularCounts,
    PopularValues as PopularValues,
)
from discreet.local.protocol import LocalProtocol as LocalProtocol, Reporter as Reporter
from discreet.local.rappor import Rappor as Rappor
from discreet.local.secret_shared_sum import SecretSharedSum as SecretSharedSum
from discreet.local.shuffle import Shuffle as Shuffle
from discreet.local.unary_encoding import (
    SubsetSelection as SubsetSelection,
    UnaryEncoding as UnaryEncoding,
)
from discreet.local.unit_vector_mean import UnitVectorMean as UnitVectorMean
