"""All shipped mechanisms, with parameters that make mistakes easy to see.

The code is the same at every epsilon and delta, so a mistake shows at epsilon = 1 and delta = 1e-2,
where few samples are needed, as well as at parameters people use.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, TypeAlias

from discreet.mechanisms.automatic_bounds import AutomaticBounds
from discreet.mechanisms.continual import FactorizedCount, TreeCount
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.gaussian import Gaussian, RoundedGaussian
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
from discreet.mechanisms.smooth_sensitivity import SmoothMedian, SmoothSensitivity
from discreet.mechanisms.sparse_vector import AboveThreshold, SparseVector
from discreet.mechanisms.stability_histogram import GaussianThreshold, LaplaceThreshold
from discreet.mechanisms.staircase import Staircase
from discreet.mechanisms.subsample_aggregate import SubsampleAggregate
from discreet.mechanisms.top_k import TopK
from discreet.mechanisms.unbounded_quantile import UnboundedQuantile
from discreet.privacy import ZCDP, Approximate, Guarantee, Neighbours, Pure

Makers: TypeAlias = Mapping[str, Callable[[], Mechanism]]
"""Names as the command line takes them, and how to make each."""

_DELTA: Final = Fraction(1, 100)
_HALF: Final = Fraction(1, 2)
_SMALL: Final[dict[str, Any]] = {"epsilon": 1, "delta": _DELTA}
_CHANGE: Final[dict[str, Any]] = {"neighbours": Neighbours.CHANGE_ONE}
_THRICE: Final[dict[str, Any]] = {"sensitivity": 3, "monotone": True}
_ROUNDED: Final[dict[str, Any]] = {"sensitivity": Fraction(7, 10), "grid": Fraction(1, 4)}

_PURE: Final[Makers] = {
    "laplace": lambda: Laplace(epsilon=1, sensitivity=1),
    "laplace-wide": lambda: Laplace(scale=5, sensitivity=5),
    "laplace-grid": lambda: Laplace(epsilon=1, **_ROUNDED),
    "laplace-vector": lambda: Laplace(epsilon=1, sensitivity=2, dimension=3),
    "staircase": lambda: Staircase(epsilon=1, sensitivity=5),
    "randomized-response": lambda: RandomizedResponse(epsilon=1),
    "randomized-response-truth": lambda: RandomizedResponse(truth=0.475, k=4),
    "randomized-response-k": lambda: RandomizedResponse(epsilon=1, k=4),
    "exponential": lambda: ExponentialMechanism(3, epsilon=1),
    "exponential-monotone": lambda: ExponentialMechanism(3, scale=3, **_THRICE),
    "permute-and-flip": lambda: PermuteAndFlip(3, epsilon=1),
    "permute-and-flip-monotone": lambda: PermuteAndFlip(3, scale=3, **_THRICE),
    "noisy-max": lambda: ReportNoisyMax(3, epsilon=1),
    "top-k": lambda: TopK(2, 4, epsilon=1),
    "top-k-permute-and-flip": lambda: TopK(2, 4, scale=12, sensitivity=3, peel="permute-and-flip"),
    "sparse-vector": lambda: SparseVector(threshold=0, epsilon=1, hits=2),
    "sparse-vector-monotone": lambda: SparseVector(threshold=0, epsilon=1, hits=2, **_THRICE),
    "sparse-vector-grid": lambda: SparseVector(threshold=0, epsilon=1, hits=2, **_ROUNDED),
    "sparse-vector-numeric": lambda: SparseVector(
        threshold=0, epsilon=1, hits=2, numeric=True, sensitivity=3
    ),
    "above-threshold": lambda: AboveThreshold(threshold=0, epsilon=1),
    "above-threshold-scale": lambda: AboveThreshold(
        threshold=0, scale=Fraction(3, 2), **_ROUNDED, monotone=True
    ),
    "histogram": lambda: Histogram(bins=4, epsilon=1),
    "histogram-change-one": lambda: Histogram(bins=4, epsilon=1, **_CHANGE),
    "histogram-edges": lambda: Histogram(bins=[0, 18, 65], epsilon=1),
    "histogram-range": lambda: Histogram(bins=3, range=(0, 6), epsilon=1, **_CHANGE),
    "histogram-texts": lambda: Histogram(bins=["a", "b"], epsilon=1, **_CHANGE),
    "smooth-sensitivity-student": lambda: SmoothSensitivity(
        global_sensitivity=1000, epsilon=1, delta=Fraction(1, 10**9), grid=Fraction(1, 4)
    ),
    "quantile": lambda: Quantile(0.5, 0, 128, epsilon=1),
    "quantile-low-change-one": lambda: Quantile(0.1, 0, 32, scale=2, grid=_HALF, **_CHANGE),
    "quantile-lowest": lambda: Quantile(0, 0, 64, epsilon=1),
    "quantile-permute-and-flip": lambda: PermuteAndFlipQuantile(0.5, 0, 128, epsilon=1),
    "quantiles": lambda: Quantiles([0.25, 0.5, 0.75], 0, 11, epsilon=1),
    "quantiles-two": lambda: Quantiles([0.25, 0.5], 0, 63, epsilon=1),
    "quantiles-four": lambda: Quantiles([0.125, 0.25, 0.5, 0.75], 0, 7, epsilon=1),
    "quantiles-change-one": lambda: Quantiles(
        [0.25, 0.5, 0.75], 0, 5.5, epsilon=1, grid=_HALF, **_CHANGE
    ),
    "unbounded-quantile": lambda: UnboundedQuantile(0.5, epsilon=1, lower=0, growth=2),
    "unbounded-quantile-change-one": lambda: UnboundedQuantile(
        0.5, epsilon=1, lower=0, growth=2, grid=_HALF, **_CHANGE
    ),
    "subsample-aggregate": lambda: SubsampleAggregate(
        max, blocks=4, aggregate=Quantile(0.5, 0, 8, epsilon=1, **_CHANGE), default=0
    ),
    "subsample-aggregate-change-one": lambda: SubsampleAggregate(
        max, blocks=3, aggregate=Quantile(0.5, 0, 64, epsilon=1, **_CHANGE), default=1, **_CHANGE
    ),
    "thresholdout": lambda: Thresholdout(size=4, threshold=Fraction(1, 4), epsilon=1, hits=1),
    "thresholdout-two-hits": lambda: Thresholdout(
        size=4, threshold=Fraction(1, 4), epsilon=1, hits=2, default=1
    ),
    "automatic-bounds": lambda: AutomaticBounds(epsilon=1, largest=16, failure=Fraction(1, 10)),
    "automatic-bounds-change-one": lambda: AutomaticBounds(
        epsilon=1, largest=16, failure=Fraction(1, 10), max_rows_per_unit=2, **_CHANGE
    ),
    "automatic-bounds-two-rows": lambda: AutomaticBounds(
        scale=2, smallest=2, largest=32, failure=Fraction(1, 10), max_rows_per_unit=2
    ),
    "tree-count": lambda: TreeCount(horizon=31, epsilon=1),
    "tree-count-wide": lambda: TreeCount(horizon=31, scale=6, sensitivity=3),
}
"""Made for epsilon = 1."""

_APPROXIMATE: Final[Makers] = {
    "gaussian": lambda: Gaussian(**_SMALL, sensitivity=1),
    "rounded-gaussian": lambda: RoundedGaussian(**_SMALL, sensitivity=2),
    "top-k-approximate": lambda: TopK(3, 4, **_SMALL),
    "histogram-gaussian": lambda: Histogram(bins=4, **_SMALL, **_CHANGE),
    "key-selection": lambda: KeySelection(**_SMALL),
    "key-selection-change-one": lambda: KeySelection(**_SMALL, max_groups_per_unit=2, **_CHANGE),
    "key-selection-many-groups": lambda: KeySelection(**_SMALL, max_groups_per_unit=20),
    "laplace-threshold": lambda: LaplaceThreshold(**_SMALL),
    "laplace-threshold-change-one": lambda: LaplaceThreshold(
        **_SMALL, max_groups_per_unit=2, **_CHANGE
    ),
    "gaussian-threshold": lambda: GaussianThreshold(**_SMALL),
    "smooth-sensitivity": lambda: SmoothSensitivity(global_sensitivity=1000, **_SMALL),
    "smooth-median": lambda: SmoothMedian(0, 128, **_SMALL),
    "smooth-median-change-one": lambda: SmoothMedian(0, 64, **_SMALL, grid=_HALF, **_CHANGE),
    "propose-test-release": lambda: ProposeTestRelease(bound=1, **_SMALL),
    "tested-median": lambda: TestedMedian(0, 128, bound=1, **_SMALL),
    "tested-median-change-one": lambda: TestedMedian(
        0, 32, bound=1, **_SMALL, grid=Fraction(1, 4), **_CHANGE
    ),
    "factorized-count-wide": lambda: FactorizedCount(horizon=7, **_SMALL, sensitivity=3),
}
"""Made for epsilon = 1 and delta = 1/100."""

_CONCENTRATED: Final[Makers] = {
    "gaussian-zcdp": lambda: Gaussian(scale=2, sensitivity=2),
    "gaussian-grid": lambda: Gaussian(rho=_HALF, sensitivity=0.375, grid=Fraction(1, 8)),
    "gaussian-vector": lambda: Gaussian(rho=_HALF, sensitivity=2, dimension=4),
    "rounded-gaussian-vector": lambda: RoundedGaussian(mu_squared=1, **_ROUNDED, dimension=4),
    "factorized-count": lambda: FactorizedCount(horizon=7, rho=_HALF),
    "factorized-count-two-steps": lambda: FactorizedCount(horizon=7, rho=_HALF, steps_per_unit=2),
}
"""Made for rho = 1/2."""

_OTHERS: Final[Makers] = {
    "laplace-fine": lambda: Laplace(epsilon=_HALF, sensitivity=0.1),
    "staircase-grid": lambda: Staircase(epsilon=3, sensitivity=0.7, grid=Fraction(1, 8)),
    "randomized-response-two-coins": RandomizedResponse.two_coins,
    "top-k-zcdp": lambda: TopK(3, 4, rho=Fraction(1, 8)),
}

CATALOGUE: Final[Makers] = {**_PURE, **_APPROXIMATE, **_CONCENTRATED, **_OTHERS}


def _gradient_noise() -> Mechanism:
    kind = import_module("discreet.learn.torch.grid_noise").GradientNoise
    made: Mechanism = kind(sensitivity=40, sigma=40, dimension=3)
    return made


TRAINING: Final[Makers] = {"gradient-noise": _gradient_noise} if find_spec("torch") else {}
"""The noise of training steps, where what it needs is installed."""

_ASKED: Final[Mapping[str, Guarantee]] = {
    **dict.fromkeys(_APPROXIMATE, Approximate(1, _DELTA)),
    **dict.fromkeys((*_CONCENTRATED, *TRAINING), ZCDP(_HALF)),
    "laplace-fine": Pure(_HALF),
    "staircase-grid": Pure(3),
    "randomized-response-two-coins": Pure(Fraction(10987, 10000)),
    "top-k-zcdp": ZCDP(Fraction(1, 8)),
}


def asked(name: str) -> Guarantee | None:
    """The guarantee that a mechanism of the catalogue is made for."""
    return _ASKED.get(name, Pure(1) if name in CATALOGUE else None)
