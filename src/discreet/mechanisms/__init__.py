"""Mechanisms: sensitivity in; a private answer, its guarantee and its error out.

Every mechanism has one face: `M(parameters).release(value)`, `.guarantee` (a `discreet.privacy`
object that carries its neighbours), `.error(confidence)` and `.claim` (what an auditor tests).
`sensitivity` knows how far one person moves the common statistics; `postprocessing` improves
numbers that were released already.

>>> from discreet.mechanisms import Laplace, sensitivity
>>> total = Laplace(epsilon=0.5, sensitivity=sensitivity.total(0, 10))
>>> total.scale, total.error(0.95)
(Fraction(20, 1), 60.0)
"""

from discreet.mechanisms import postprocessing, sensitivity
from discreet.mechanisms.automatic_bounds import AutomaticBounds
from discreet.mechanisms.continual import FactorizedCount, Stream, TreeCount
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.gaussian import Gaussian, RoundedGaussian
from discreet.mechanisms.grid import INTEGERS, PowerOfTwoGrid
from discreet.mechanisms.histogram import Histogram
from discreet.mechanisms.key_selection import KeySelection
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Claim, Law, Mechanism, Pair, RowMechanism
from discreet.mechanisms.median import CellCounts
from discreet.mechanisms.noisy_max import ReportNoisyMax
from discreet.mechanisms.output_loss import output_loss
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.permute_and_flip_quantile import PermuteAndFlipQuantile
from discreet.mechanisms.propose_test_release import ProposeTestRelease, TestedMedian
from discreet.mechanisms.quantile import Quantile, Quantiles
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.required_people import people_for
from discreet.mechanisms.reusable_holdout import ReusableHoldout, Thresholdout
from discreet.mechanisms.smooth_sensitivity import SmoothMedian, SmoothSensitivity
from discreet.mechanisms.sparse_vector import AboveThreshold, SparseVector
from discreet.mechanisms.stability_histogram import GaussianThreshold, LaplaceThreshold
from discreet.mechanisms.staircase import Staircase
from discreet.mechanisms.subsample_aggregate import SubsampleAggregate, heavy_tailed_mean
from discreet.mechanisms.top_k import Peel, TopK
from discreet.mechanisms.unbounded_quantile import UnboundedQuantile
from discreet.mechanisms.vector_stream import VectorStream

__all__ = [
    "INTEGERS",
    "AboveThreshold",
    "AutomaticBounds",
    "CellCounts",
    "Claim",
    "ExponentialMechanism",
    "FactorizedCount",
    "Gaussian",
    "GaussianThreshold",
    "Histogram",
    "KeySelection",
    "Laplace",
    "LaplaceThreshold",
    "Law",
    "Mechanism",
    "Pair",
    "Peel",
    "PermuteAndFlip",
    "PermuteAndFlipQuantile",
    "PowerOfTwoGrid",
    "ProposeTestRelease",
    "Quantile",
    "Quantiles",
    "RandomizedResponse",
    "ReportNoisyMax",
    "ReusableHoldout",
    "RoundedGaussian",
    "RowMechanism",
    "SmoothMedian",
    "SmoothSensitivity",
    "SparseVector",
    "Staircase",
    "Stream",
    "SubsampleAggregate",
    "TestedMedian",
    "Thresholdout",
    "TopK",
    "TreeCount",
    "UnboundedQuantile",
    "VectorStream",
    "heavy_tailed_mean",
    "output_loss",
    "people_for",
    "postprocessing",
    "sensitivity",
]
