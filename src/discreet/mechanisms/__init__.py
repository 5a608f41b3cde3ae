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

from discreet.argument_names import public
from discreet.mechanisms import postprocessing as postprocessing
from discreet.mechanisms import sensitivity as sensitivity
from discreet.mechanisms.automatic_bounds import AutomaticBounds as AutomaticBounds
from discreet.mechanisms.continual import FactorizedCount as FactorizedCount
from discreet.mechanisms.continual import Stream as Stream
from discreet.mechanisms.continual import TreeCount as TreeCount
from discreet.mechanisms.exponential import ExponentialMechanism as ExponentialMechanism
from discreet.mechanisms.gaussian import Gaussian as Gaussian
from discreet.mechanisms.gaussian import RoundedGaussian as RoundedGaussian
from discreet.mechanisms.grid import INTEGERS as INTEGERS
from discreet.mechanisms.grid import PowerOfTwoGrid as PowerOfTwoGrid
from discreet.mechanisms.histogram import Histogram as Histogram
from discreet.mechanisms.key_selection import KeySelection as KeySelection
from discreet.mechanisms.laplace import Laplace as Laplace
from discreet.mechanisms.mechanism import Claim as Claim
from discreet.mechanisms.mechanism import Law as Law
from discreet.mechanisms.mechanism import Mechanism as Mechanism
from discreet.mechanisms.mechanism import Pair as Pair
from discreet.mechanisms.mechanism import RowMechanism as RowMechanism
from discreet.mechanisms.median import CellCounts as CellCounts
from discreet.mechanisms.noisy_max import ReportNoisyMax as ReportNoisyMax
from discreet.mechanisms.output_loss import output_loss as output_loss
from discreet.mechanisms.permute_and_flip import PermuteAndFlip as PermuteAndFlip
from discreet.mechanisms.permute_and_flip_quantile import (
    PermuteAndFlipQuantile as PermuteAndFlipQuantile,
)
from discreet.mechanisms.propose_test_release import ProposeTestRelease as ProposeTestRelease
from discreet.mechanisms.propose_test_release import TestedMedian as TestedMedian
from discreet.mechanisms.quantile import Quantile as Quantile
from discreet.mechanisms.quantile import Quantiles as Quantiles
from discreet.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
from discreet.mechanisms.required_people import people_for as people_for
from discreet.mechanisms.reusable_holdout import ReusableHoldout as ReusableHoldout
from discreet.mechanisms.reusable_holdout import Thresholdout as Thresholdout
from discreet.mechanisms.smooth_sensitivity import SmoothMedian as SmoothMedian
from discreet.mechanisms.smooth_sensitivity import SmoothSensitivity as SmoothSensitivity
from discreet.mechanisms.sparse_vector import AboveThreshold as AboveThreshold
from discreet.mechanisms.sparse_vector import SparseVector as SparseVector
from discreet.mechanisms.stability_histogram import GaussianThreshold as GaussianThreshold
from discreet.mechanisms.stability_histogram import LaplaceThreshold as LaplaceThreshold
from discreet.mechanisms.staircase import Staircase as Staircase
from discreet.mechanisms.subsample_aggregate import SubsampleAggregate as SubsampleAggregate
from discreet.mechanisms.subsample_aggregate import heavy_tailed_mean as heavy_tailed_mean
from discreet.mechanisms.top_k import Peel as Peel
from discreet.mechanisms.top_k import TopK as TopK
from discreet.mechanisms.unbounded_quantile import UnboundedQuantile as UnboundedQuantile
from discreet.mechanisms.vector_stream import VectorStream as VectorStream

__all__ = public("mechanisms")  # noqa: PLE0605 - type checkers read the imports
