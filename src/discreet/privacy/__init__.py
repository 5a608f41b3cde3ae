"""Guarantees, their composition, and the budgets that guard them; knows no data."""

from discreet.privacy.budgets.charges import EPSILON, MU_SQUARED, RHO, Charge, Measure, renyi
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.budgets.individual import IndividualFilter
from discreet.privacy.budgets.odometer import Odometer
from discreet.privacy.composition.calibration import Calibration, CalibrationStep, Plan, calibrate
from discreet.privacy.composition.composed import Composed, compose
from discreet.privacy.composition.theorems import (
    advanced_epsilon,
    basic_epsilon,
    heterogeneous_epsilon,
    optimal_delta,
    optimal_epsilon,
)
from discreet.privacy.contour.contour import Contour
from discreet.privacy.guarantees.bounded_range import BoundedRange, Ranges
from discreet.privacy.guarantees.gaussian import GDP, DiscreteGaussianNoise, GaussianNoise
from discreet.privacy.guarantees.guarantee import Guarantee
from discreet.privacy.guarantees.interpretation import Region, odds_after, read
from discreet.privacy.guarantees.laplace import DiscreteLaplaceNoise, LaplaceNoise
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.guarantees.pure import Approximate, Pure
from discreet.privacy.guarantees.randomized_response import RandomizedResponseNoise
from discreet.privacy.guarantees.renyi import RDP
from discreet.privacy.guarantees.shuffled import Shuffled, ShuffledRandomizedResponse
from discreet.privacy.guarantees.subsampled import Scheme, Subsampled
from discreet.privacy.guarantees.tabulated import Tabulated
from discreet.privacy.guarantees.zcdp import ZCDP
from discreet.privacy.numerics.rounding import Bound

__all__ = [
    "EPSILON",
    "GDP",
    "MU_SQUARED",
    "RDP",
    "RHO",
    "ZCDP",
    "Approximate",
    "Bound",
    "BoundedRange",
    "Calibration",
    "CalibrationStep",
    "Charge",
    "Composed",
    "Contour",
    "DiscreteGaussianNoise",
    "DiscreteLaplaceNoise",
    "Filter",
    "GaussianNoise",
    "Guarantee",
    "IndividualFilter",
    "LaplaceNoise",
    "Measure",
    "Neighbours",
    "Odometer",
    "Plan",
    "Pure",
    "RandomizedResponseNoise",
    "Ranges",
    "Region",
    "Scheme",
    "Shuffled",
    "ShuffledRandomizedResponse",
    "Subsampled",
    "Tabulated",
    "advanced_epsilon",
    "basic_epsilon",
    "calibrate",
    "compose",
    "heterogeneous_epsilon",
    "odds_after",
    "optimal_delta",
    "optimal_epsilon",
    "read",
    "renyi",
]
