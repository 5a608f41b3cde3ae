# Public names and their homes: type checkers read them here, and so does `discreet` itself.
# ruff: noqa: I001 - one import for each package, whose names are all exported
from discreet import attacks as attacks
from discreet import audit as audit
from discreet import lab as lab
from discreet import learn as learn
from discreet import local as local
from discreet import mechanisms as mechanisms
from discreet import privacy as privacy
from discreet import workload as workload
from discreet.answer.plan.accuracy import Accuracy as Accuracy
from discreet.curator.budget import Budget as Budget
from discreet.curator.data.intake import describe as describe
from discreet.curator.opening import Curator as Curator
from discreet.curator.orders.census.census_plan import releases as releases
from discreet.engines.reading import Reading as Reading
from discreet.errors import (
    AccessError as AccessError,
    BudgetError as BudgetError,
    DiscreetError as DiscreetError,
    EngineError as EngineError,
    InputError as InputError,
    LedgerError as LedgerError,
    QueryRefused as QueryRefused,
    ServiceError as ServiceError,
)
from discreet.mechanisms import (
    AboveThreshold as AboveThreshold,
    ExponentialMechanism as ExponentialMechanism,
    Gaussian as Gaussian,
    Histogram as Histogram,
    Laplace as Laplace,
    PermuteAndFlip as PermuteAndFlip,
    Quantile as Quantile,
    Quantiles as Quantiles,
    RandomizedResponse as RandomizedResponse,
    ReportNoisyMax as ReportNoisyMax,
    SmoothMedian as SmoothMedian,
    SparseVector as SparseVector,
    Staircase as Staircase,
    TopK as TopK,
    TreeCount as TreeCount,
)
from discreet.mechanisms.reusable_holdout import ReusableHoldout as ReusableHoldout
from discreet.plan.answer_builder import over as over
from discreet.plan.builder import (
    descending as descending,
    first as first,
    lag as lag,
    row_number as row_number,
    running as running,
)
from discreet.plan.expression_builder import (
    case as case,
    col as col,
    correlation as correlation,
    count as count,
    count_distinct as count_distinct,
    count_people as count_people,
    covariance as covariance,
    maximum as maximum,
    mean as mean,
    median as median,
    minimum as minimum,
    quantile as quantile,
    stddev as stddev,
    total as total,
    variance as variance,
)
from discreet.plan.schema import (
    Bounds as Bounds,
    EachRow as EachRow,
    KeyPath as KeyPath,
    Keys as Keys,
    Limits as Limits,
    PersonPeriod as PersonPeriod,
)
from discreet.privacy import (
    GDP as GDP,
    RDP as RDP,
    ZCDP as ZCDP,
    Approximate as Approximate,
    CalibrationStep as CalibrationStep,
    Filter as Filter,
    Neighbours as Neighbours,
    Odometer as Odometer,
    Plan as Plan,
    Pure as Pure,
    Shuffled as Shuffled,
    Subsampled as Subsampled,
    advanced_epsilon as advanced_epsilon,
    basic_epsilon as basic_epsilon,
    calibrate as calibrate,
    compose as compose,
    optimal_epsilon as optimal_epsilon,
)

def load_ipython_extension(shell: object) -> None: ...
