"""All shipped mechanisms, with parameters that make mistakes easy to see.

The code is the same at every epsilon and delta, so a mistake shows at epsilon = 1 and delta = 1e-2,
where few samples are needed, as well as at parameters people use.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from discreet.mechanisms.automatic_bounds import AutomaticBounds
from discreet.mechanisms.continual import FactorizedCount, TreeCount
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.histogram import Histogram
from discreet.mechanisms.key_selection import KeySelection
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.noisy_max import ReportNoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.permute_and_flip_quantile import PermuteAndFlipQuantile
from discreet.mechanisms.propose_test_release import ProposeTestRelease, TestedMedian
from discreet.mechanisms.quantile import Quantile, Quantiles
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.reusable_holdout import Thresholdout
from discreet.mechanisms.rounded_gaussian import RoundedGaussian
from discreet.mechanisms.smooth_sensitivity import SmoothMedian, SmoothSensitivity
from discreet.mechanisms.sparse_vector import AboveThreshold, SparseVector
from discreet.mechanisms.stability_histogram import GaussianThreshold, LaplaceThreshold
from discreet.mechanisms.staircase import Staircase
from discreet.mechanisms.subsample_aggregate import SubsampleAggregate
from discreet.mechanisms.top_k import TopK
from discreet.mechanisms.unbounded_quantile import UnboundedQuantile
from discreet.privacy import GDP, ZCDP, Approximate, Guarantee, Neighbours


@dataclass(frozen=True, slots=True)
class Entry:
    """How to make a mechanism, and the guarantee that its parameters ask for."""

    make: Callable[..., Mechanism]
    listed: tuple[Any, ...]
    named: Mapping[str, Any]

    @staticmethod
    def of(make: Callable[..., Mechanism], *listed: Any, **named: Any) -> "Entry":
        """From what is called, and with what."""
        return Entry(make, listed, MappingProxyType(named))

    def __call__(self) -> Mechanism:
        """The mechanism."""
        return self.make(*self.listed, **self.named)

    @property
    def asked(self) -> Guarantee | None:
        """What the mechanism has to keep; None where its parameters name no price."""
        match self.named:
            case {"rho": rho}:
                return ZCDP(rho)
            case {"mu_squared": square}:
                return GDP.of_square(Fraction(square))
            case {"epsilon": epsilon}:
                return Approximate(epsilon, self.named.get("delta", 0))
        return None


_CHANGE: Final = Neighbours.CHANGE_ONE
_DELTA: Final = Fraction(1, 100)

CATALOGUE: Final[Mapping[str, Entry]] = MappingProxyType(
    {
        "laplace": Entry.of(Laplace, epsilon=1, sensitivity=1),
        "laplace-wide": Entry.of(Laplace, epsilon=1, sensitivity=5),
        "laplace-grid": Entry.of(Laplace, epsilon=1, sensitivity=0.7, grid=Fraction(1, 4)),
        "laplace-fine": Entry.of(Laplace, epsilon=Fraction(1, 2), sensitivity=0.1),
        "laplace-vector": Entry.of(Laplace, epsilon=1, sensitivity=2, dimension=3),
        "laplace-grid-vector": Entry.of(
            Laplace, epsilon=1, sensitivity=0.7, grid=Fraction(1, 4), dimension=3
        ),
        "gaussian": Entry.of(Gaussian, epsilon=1, delta=_DELTA, sensitivity=1),
        "gaussian-zcdp": Entry.of(Gaussian, rho=Fraction(1, 2), sensitivity=2),
        "gaussian-grid": Entry.of(
            Gaussian, rho=Fraction(1, 2), sensitivity=0.3, grid=Fraction(1, 8)
        ),
        "gaussian-vector": Entry.of(Gaussian, rho=Fraction(1, 2), sensitivity=2, dimension=4),
        "gaussian-grid-vector": Entry.of(
            Gaussian, rho=Fraction(1, 2), sensitivity=0.3, grid=Fraction(1, 8), dimension=3
        ),
        "rounded-gaussian": Entry.of(RoundedGaussian, epsilon=1, delta=_DELTA, sensitivity=2),
        "rounded-gaussian-vector": Entry.of(
            RoundedGaussian, mu_squared=1, sensitivity=2, dimension=4
        ),
        "staircase": Entry.of(Staircase, epsilon=1, sensitivity=5),
        "staircase-grid": Entry.of(Staircase, epsilon=3, sensitivity=0.7, grid=Fraction(1, 8)),
        "randomized-response": Entry.of(RandomizedResponse, epsilon=1),
        "randomized-response-two-coins": Entry.of(RandomizedResponse.two_coins),
        "randomized-response-k": Entry.of(RandomizedResponse, epsilon=1, k=4),
        "exponential": Entry.of(ExponentialMechanism, 3, epsilon=1),
        "exponential-monotone": Entry.of(ExponentialMechanism, 3, epsilon=1, monotone=True),
        "permute-and-flip": Entry.of(PermuteAndFlip, 3, epsilon=1),
        "permute-and-flip-monotone": Entry.of(PermuteAndFlip, 3, epsilon=1, monotone=True),
        "noisy-max": Entry.of(ReportNoisyMax, 3, epsilon=1),
        "noisy-max-monotone": Entry.of(ReportNoisyMax, 3, epsilon=1, monotone=True),
        "noisy-max-exponential": Entry.of(ReportNoisyMax, 3, epsilon=1, noise="exponential"),
        "top-k": Entry.of(TopK, 2, 4, epsilon=1),
        "top-k-permute-and-flip": Entry.of(TopK, 2, 4, epsilon=1, peel="permute-and-flip"),
        "top-k-approximate": Entry.of(TopK, 3, 4, epsilon=1, delta=_DELTA),
        "sparse-vector": Entry.of(SparseVector, threshold=0, epsilon=1, hits=2),
        "sparse-vector-monotone": Entry.of(
            SparseVector, threshold=0, epsilon=1, hits=2, monotone=True
        ),
        "sparse-vector-numeric": Entry.of(
            SparseVector, threshold=0, epsilon=1, hits=2, numeric=True
        ),
        "above-threshold": Entry.of(AboveThreshold, threshold=0, epsilon=1),
        "histogram": Entry.of(Histogram, bins=4, epsilon=1),
        "histogram-change-one": Entry.of(Histogram, bins=4, epsilon=1, neighbours=_CHANGE),
        "histogram-gaussian": Entry.of(
            Histogram, bins=4, epsilon=1, delta=_DELTA, neighbours=_CHANGE
        ),
        "key-selection": Entry.of(KeySelection, epsilon=1, delta=_DELTA),
        "key-selection-change-one": Entry.of(
            KeySelection, epsilon=1, delta=_DELTA, neighbours=_CHANGE
        ),
        "key-selection-two-groups": Entry.of(
            KeySelection, epsilon=1, delta=_DELTA, max_groups_per_unit=2
        ),
        "key-selection-many-groups": Entry.of(
            KeySelection, epsilon=1, delta=_DELTA, max_groups_per_unit=20
        ),
        "laplace-threshold": Entry.of(LaplaceThreshold, epsilon=1, delta=_DELTA),
        "laplace-threshold-change-one": Entry.of(
            LaplaceThreshold, epsilon=1, delta=_DELTA, neighbours=_CHANGE
        ),
        "gaussian-threshold": Entry.of(GaussianThreshold, epsilon=1, delta=_DELTA),
        "gaussian-threshold-two-groups": Entry.of(
            GaussianThreshold, epsilon=1, delta=_DELTA, max_groups_per_unit=2
        ),
        "smooth-sensitivity": Entry.of(
            SmoothSensitivity, global_sensitivity=1000, epsilon=1, delta=_DELTA
        ),
        "smooth-sensitivity-student": Entry.of(
            SmoothSensitivity, global_sensitivity=1000, epsilon=1, delta=Fraction(1, 10**9)
        ),
        "smooth-median": Entry.of(SmoothMedian, 0, 128, epsilon=1, delta=_DELTA),
        "propose-test-release": Entry.of(ProposeTestRelease, bound=1, epsilon=1, delta=_DELTA),
        "tested-median": Entry.of(TestedMedian, 0, 128, bound=1, epsilon=1, delta=_DELTA),
        "quantile": Entry.of(Quantile, 0.5, 0, 128, epsilon=1),
        "quantile-low-change-one": Entry.of(Quantile, 0.1, 0, 64, epsilon=1, neighbours=_CHANGE),
        "quantile-lowest": Entry.of(Quantile, 0, 0, 64, epsilon=1),
        "quantile-permute-and-flip": Entry.of(PermuteAndFlipQuantile, 0.5, 0, 128, epsilon=1),
        "quantiles": Entry.of(Quantiles, [0.25, 0.5, 0.75], 0, 11, epsilon=1),
        "quantiles-change-one": Entry.of(
            Quantiles, [0.25, 0.5, 0.75], 0, 11, epsilon=1, neighbours=_CHANGE
        ),
        "unbounded-quantile": Entry.of(UnboundedQuantile, 0.5, epsilon=1, lower=0, growth=2),
        "unbounded-quantile-change-one": Entry.of(
            UnboundedQuantile, 0.5, epsilon=1, lower=0, growth=2, neighbours=_CHANGE
        ),
        "subsample-aggregate": Entry.of(
            SubsampleAggregate,
            max,
            blocks=4,
            aggregate=Quantile(0.5, 0, 8, epsilon=1, neighbours=_CHANGE),
            default=0,
        ),
        "subsample-aggregate-change-one": Entry.of(
            SubsampleAggregate,
            max,
            blocks=3,
            aggregate=Quantile(0.5, 0, 64, epsilon=1, neighbours=_CHANGE),
            default=1,
            neighbours=_CHANGE,
        ),
        "thresholdout": Entry.of(Thresholdout, size=4, threshold=Fraction(1, 4), epsilon=1, hits=1),
        "thresholdout-two-hits": Entry.of(
            Thresholdout, size=4, threshold=Fraction(1, 4), epsilon=1, hits=2
        ),
        "automatic-bounds": Entry.of(
            AutomaticBounds, epsilon=1, largest=16, failure=Fraction(1, 10)
        ),
        "automatic-bounds-change-one": Entry.of(
            AutomaticBounds, epsilon=1, largest=16, failure=Fraction(1, 10), neighbours=_CHANGE
        ),
        "automatic-bounds-two-rows": Entry.of(
            AutomaticBounds, epsilon=1, largest=16, failure=Fraction(1, 10), max_rows_per_unit=2
        ),
        "tree-count": Entry.of(TreeCount, horizon=31, epsilon=1),
        "factorized-count": Entry.of(FactorizedCount, horizon=7, rho=Fraction(1, 2)),
        "factorized-count-two-steps": Entry.of(
            FactorizedCount, horizon=7, rho=Fraction(1, 2), steps_per_unit=2
        ),
    }
)
"""Names as the command line takes them, and how to make each."""
