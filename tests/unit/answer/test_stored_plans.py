"""A stored plan is read for the question it was made for, or not at all.

Statistics are stored by their places. Another version may place them otherwise, and what was
bounded for one pair of counts does not hold for another.
"""

import copy

import pytest

from discreet.answer.measurement_plan import MeasurementPlan
from discreet.answer.plan.price import Price
from discreet.errors import InputError
from discreet.plan.expressions import Call, Column, Function
from discreet.plan.kinds import Kind
from discreet.plan.schema import Bounds, Limits, Person, Schema, Table, column_type
from discreet.plan.sensitivity import Strategy
from discreet.plan.statistics import Rows, Total, grid
from discreet.sql.reader.read import read

COLUMNS = {
    "person": column_type("person", Kind.INTEGER),
    "street": column_type("street", Kind.TEXT),
    "x": column_type("x", Kind.REAL, Bounds(0, 100)),
}
SCHEMA = Schema({"t": Table("t", COLUMNS, Person("person"), Limits(1, 3))})

COUNTS = "SELECT COUNT(*), COUNT(x), SUM(x) FROM t"
STREETS = "SELECT street, COUNT(*), COUNT(DISTINCT person) FROM t GROUP BY street"


def plan_of(question):
    return MeasurementPlan.of(read(question, SCHEMA), Price(1, 1e-6))


def read_back(plan, stored):
    return MeasurementPlan.from_dict(stored, plan.query, plan.price, plan.neighbours)


@pytest.mark.parametrize("question", [COUNTS, STREETS])
def test_a_stored_plan_is_the_plan(question):
    plan = plan_of(question)
    assert read_back(plan, plan.to_dict()) == plan


@pytest.mark.parametrize(
    ("question", "changed"),
    [
        (COUNTS, {"measured": [[[1, 0, 2], "1"]]}),  # some are not among all
        (COUNTS, {"measured": [[[0], "1/2"], [[1], "1/2"]]}),  # a total is missing
        (COUNTS, {"measured": [[[0, 1, 7], "1"]]}),
        (COUNTS, {"measured": [[[0, 1, 2], "1/0"]]}),
        (COUNTS, {"bounds": None}),  # nothing would bound people
        (COUNTS, {"noise": "none"}),
        (STREETS, {"count": 0}),  # rows, of which one person has many
        (STREETS, {"count": None}),  # nothing would hide who is alone
        (STREETS, {"keys": ["1/4", "1/10"]}),
        (STREETS, {"count": 1, "measured": None}),
    ],
    ids=range(10),
)
def test_what_does_not_suit_the_question_is_refused(question, changed):
    plan = plan_of(question)
    stored = copy.deepcopy(plan.to_dict())
    stored["sets"][0] |= changed
    with pytest.raises(InputError, match="a stored plan cannot be read"):
        read_back(plan, stored)


@pytest.mark.parametrize("stored", [{}, [], {"version": 2, "sets": []}, {"version": 1, "sets": []}])
def test_what_is_no_plan_is_refused(stored):
    with pytest.raises(InputError, match="a stored plan cannot be read"):
        read_back(plan_of(COUNTS), stored)


def test_only_counts_of_which_one_holds_the_other_are_measured_together():
    known = Call(Function.NOT, (Call(Function.IS_NULL, (Column("x"),)),))
    total = Total(Column("x"), known, grid(0, 100, whole=False))
    everyone, some = Rows(None), Rows(known)
    assert Strategy.of((everyone, some, total)).each == 2 * total.grid.reach
    for foreign in ((some, everyone), (everyone, total), (some, everyone, total), (total, some)):
        with pytest.raises(TypeError):
            Strategy.of(foreign)
