"""What a guarantee is, how guarantees compose, and the budgets that guard them; knows no data."""

from discreet.privacy.advanced import advanced_epsilon
from discreet.privacy.approximate import Approximate
from discreet.privacy.basic import basic_epsilon
from discreet.privacy.bound import Bound
from discreet.privacy.bounded_range import BoundedRange
from discreet.privacy.calibration import Calibration, Request, calibrate
from discreet.privacy.charges import EPSILON, MU_SQUARED, RHO, Charge, Measure, renyi
from discreet.privacy.composition import Composed, compose
from discreet.privacy.contour import Contour
from discreet.privacy.discrete_gaussian import DiscreteGaussianNoise
from discreet.privacy.discrete_laplace import DiscreteLaplaceNoise
from discreet.privacy.filters import Filter
from discreet.privacy.gaussian import GDP, GaussianNoise
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.heterogeneous import heterogeneous_epsilon
from discreet.privacy.individual import IndividualFilter
from discreet.privacy.laplace import LaplaceNoise
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.odometer import Odometer
from discreet.privacy.optimal import optimal_delta, optimal_epsilon
from discreet.privacy.plan import Plan
from discreet.privacy.pure import Pure
from discreet.privacy.randomized_response import RandomizedResponse
from discreet.privacy.ranges import Ranges
from discreet.privacy.reading import Region, odds_after, read
from discreet.privacy.renyi import RDP
from discreet.privacy.shuffled import Shuffled
from discreet.privacy.subsampled import Scheme, Subsampled
from discreet.privacy.tabulated import Tabulated
from discreet.privacy.zcdp import ZCDP

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
    "RandomizedResponse",
    "Ranges",
    "Region",
    "Request",
    "Scheme",
    "Shuffled",
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
