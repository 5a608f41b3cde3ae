"""Guarantees, their composition, and the budgets that guard them; knows no data."""

from discreet.argument_names import public
from discreet.privacy.budgets.charges import EPSILON as EPSILON
from discreet.privacy.budgets.charges import MU_SQUARED as MU_SQUARED
from discreet.privacy.budgets.charges import RHO as RHO
from discreet.privacy.budgets.charges import Charge as Charge
from discreet.privacy.budgets.charges import Measure as Measure
from discreet.privacy.budgets.charges import renyi as renyi
from discreet.privacy.budgets.filters import Filter as Filter
from discreet.privacy.budgets.individual import IndividualFilter as IndividualFilter
from discreet.privacy.budgets.odometer import Odometer as Odometer
from discreet.privacy.composition.calibration import Calibration as Calibration
from discreet.privacy.composition.calibration import CalibrationStep as CalibrationStep
from discreet.privacy.composition.calibration import Plan as Plan
from discreet.privacy.composition.calibration import calibrate as calibrate
from discreet.privacy.composition.composed import Composed as Composed
from discreet.privacy.composition.composed import compose as compose
from discreet.privacy.composition.theorems import advanced_epsilon as advanced_epsilon
from discreet.privacy.composition.theorems import basic_epsilon as basic_epsilon
from discreet.privacy.composition.theorems import heterogeneous_epsilon as heterogeneous_epsilon
from discreet.privacy.composition.theorems import optimal_delta as optimal_delta
from discreet.privacy.composition.theorems import optimal_epsilon as optimal_epsilon
from discreet.privacy.contour.contour import Contour as Contour
from discreet.privacy.guarantees.bounded_range import BoundedRange as BoundedRange
from discreet.privacy.guarantees.bounded_range import Ranges as Ranges
from discreet.privacy.guarantees.gaussian import GDP as GDP
from discreet.privacy.guarantees.gaussian import DiscreteGaussianNoise as DiscreteGaussianNoise
from discreet.privacy.guarantees.gaussian import GaussianNoise as GaussianNoise
from discreet.privacy.guarantees.guarantee import Guarantee as Guarantee
from discreet.privacy.guarantees.interpretation import Region as Region
from discreet.privacy.guarantees.interpretation import odds_after as odds_after
from discreet.privacy.guarantees.interpretation import read as read
from discreet.privacy.guarantees.laplace import DiscreteLaplaceNoise as DiscreteLaplaceNoise
from discreet.privacy.guarantees.laplace import LaplaceNoise as LaplaceNoise
from discreet.privacy.guarantees.neighbours import Neighbours as Neighbours
from discreet.privacy.guarantees.pure import Approximate as Approximate
from discreet.privacy.guarantees.pure import Pure as Pure
from discreet.privacy.guarantees.randomized_response import (
    RandomizedResponseNoise as RandomizedResponseNoise,
)
from discreet.privacy.guarantees.renyi import RDP as RDP
from discreet.privacy.guarantees.shuffled import Shuffled as Shuffled
from discreet.privacy.guarantees.shuffled import (
    ShuffledRandomizedResponse as ShuffledRandomizedResponse,
)
from discreet.privacy.guarantees.subsampled import Scheme as Scheme
from discreet.privacy.guarantees.subsampled import Subsampled as Subsampled
from discreet.privacy.guarantees.tabulated import Tabulated as Tabulated
from discreet.privacy.guarantees.zcdp import ZCDP as ZCDP
from discreet.privacy.numerics.rounding import Bound as Bound

__all__ = public("privacy")  # noqa: PLE0605 - type checkers read the imports
