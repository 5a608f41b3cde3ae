"""Plans of questions, for tests."""

from discreet.answer.measurement_plan import MeasurementPlan
from discreet.plan.bounding import NoiseKind
from discreet.privacy import Neighbours


def explain(query, engine, price, neighbours=Neighbours.ADD_REMOVE, noise_kinds=tuple(NoiseKind)):
    """What a question will do for a price."""
    dialect = getattr(engine, "dialect", engine)
    return MeasurementPlan.of(query, price, neighbours, noise_kinds).explain(dialect)


def plan_set(query, price, law=None, neighbours=Neighbours.ADD_REMOVE):
    """The plan of the only grouping set of a question."""
    laws = tuple(NoiseKind) if law is None else (law,)
    (plan,) = MeasurementPlan.of(query, price, neighbours, laws).sets
    return plan
