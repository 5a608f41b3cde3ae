# Public names and their homes: type checkers read them here, and so does the package itself.
# ruff: noqa: I001 - one import for each module, whose names are all exported
from discreet.privacy.budgets.charges import (
    EPSILON as EPSILON,
    MU_SQUARED as MU_SQUARED,
    RHO as RHO,
    Charge as Charge,
    Measure as Measure,
    renyi as renyi,
)
from discreet.privacy.budgets.filters import Filter as Filter
from discreet.privacy.budgets.individual import IndividualFilter as IndividualFilter
from discreet.privacy.budgets.odometer import Odometer as Odometer
from discreet.privacy.composition.calibration import (
    Calibration as Calibration,
    CalibrationStep as CalibrationStep,
    Plan as Plan,
    calibrate as calibrate,
)
from discreet.privacy.composition.composed import Composed as Composed, compose as compose
from discreet.privacy.composition.theorems import (
    advanced_epsilon as advanced_epsilon,
    basic_epsilon as basic_epsilon,
    heterogeneous_epsilon as heterogeneous_epsilon,
    optimal_delta as optimal_delta,
    optimal_epsilon as optimal_epsilon,
)
from discreet.privacy.contour.contour import Contour as Contour
from discreet.privacy.guarantees.bounded_range import BoundedRange as BoundedRange, Ranges as Ranges
from discreet.privacy.guarantees.gaussian import (
    GDP as GDP,
    DiscreteGaussianNoise as DiscreteGaussianNoise,
    GaussianNoise as GaussianNoise,
)
from discreet.privacy.guarantees.guarantee import Guarantee as Guarantee
from discreet.privacy.guarantees.interpretation import (
    Region as Region,
    odds_after as odds_after,
    read as read,
)
from discreet.privacy.guarantees.laplace import (
    DiscreteLaplaceNoise as DiscreteLaplaceNoise,
    LaplaceNoise as LaplaceNoise,
)
from discreet.privacy.guarantees.neighbours import Neighbours as Neighbours
from discreet.privacy.guarantees.pure import Approximate as Approximate, Pure as Pure
from discreet.privacy.guarantees.randomized_response import (
    RandomizedResponseNoise as RandomizedResponseNoise,
)
from discreet.privacy.guarantees.renyi import RDP as RDP
from discreet.privacy.guarantees.shuffled import (
    Shuffled as Shuffled,
    ShuffledRandomizedResponse as ShuffledRandomizedResponse,
)
from discreet.privacy.guarantees.subsampled import Scheme as Scheme, Subsampled as Subsampled
from discreet.privacy.guarantees.tabulated import Tabulated as Tabulated
from discreet.privacy.guarantees.zcdp import ZCDP as ZCDP
from discreet.privacy.numerics.rounding import Bound as Bound
