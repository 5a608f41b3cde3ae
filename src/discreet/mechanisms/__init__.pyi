# Public names and their homes: type checkers read them here, and so does the package itself.
# ruff: noqa: I001 - one import for each module, whose names are all exported
from discreet.mechanisms import postprocessing as postprocessing, sensitivity as sensitivity
from discreet.mechanisms.automatic_bounds import AutomaticBounds as AutomaticBounds
from discreet.mechanisms.continual import (
    FactorizedCount as FactorizedCount,
    Stream as Stream,
    TreeCount as TreeCount,
)
from discreet.mechanisms.exponential import ExponentialMechanism as ExponentialMechanism
from discreet.mechanisms.gaussian import Gaussian as Gaussian, RoundedGaussian as RoundedGaussian
from discreet.mechanisms.grid import INTEGERS as INTEGERS, PowerOfTwoGrid as PowerOfTwoGrid
from discreet.mechanisms.histogram import Histogram as Histogram
from discreet.mechanisms.key_selection import KeySelection as KeySelection
from discreet.mechanisms.laplace import Laplace as Laplace
from discreet.mechanisms.mechanism import (
    Claim as Claim,
    Law as Law,
    Mechanism as Mechanism,
    Pair as Pair,
    RowMechanism as RowMechanism,
)
from discreet.mechanisms.median import CellCounts as CellCounts
from discreet.mechanisms.noisy_max import ReportNoisyMax as ReportNoisyMax
from discreet.mechanisms.output_loss import output_loss as output_loss
from discreet.mechanisms.permute_and_flip import PermuteAndFlip as PermuteAndFlip
from discreet.mechanisms.permute_and_flip_quantile import (
    PermuteAndFlipQuantile as PermuteAndFlipQuantile,
)
from discreet.mechanisms.propose_test_release import (
    ProposeTestRelease as ProposeTestRelease,
    TestedMedian as TestedMedian,
)
from discreet.mechanisms.quantile import Quantile as Quantile, Quantiles as Quantiles
from discreet.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
from discreet.mechanisms.required_people import people_for as people_for
from discreet.mechanisms.reusable_holdout import (
    ReusableHoldout as ReusableHoldout,
    Thresholdout as Thresholdout,
)
from discreet.mechanisms.smooth_sensitivity import (
    SmoothMedian as SmoothMedian,
    SmoothSensitivity as SmoothSensitivity,
)
from discreet.mechanisms.sparse_vector import (
    AboveThreshold as AboveThreshold,
    SparseVector as SparseVector,
)
from discreet.mechanisms.stability_histogram import (
    GaussianThreshold as GaussianThreshold,
    LaplaceThreshold as LaplaceThreshold,
)
from discreet.mechanisms.staircase import Staircase as Staircase
from discreet.mechanisms.subsample_aggregate import (
    SubsampleAggregate as SubsampleAggregate,
    heavy_tailed_mean as heavy_tailed_mean,
)
from discreet.mechanisms.top_k import Peel as Peel, TopK as TopK
from discreet.mechanisms.unbounded_quantile import UnboundedQuantile as UnboundedQuantile
from discreet.mechanisms.vector_stream import VectorStream as VectorStream
