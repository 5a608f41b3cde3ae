"""One plan from a question to its release: what is spent is compared with what was planned."""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.answer.execute.noisy_measurements import pack, unpack
from discreet.answer.measurement_plan import MOST_ROWS, MeasurementPlan, check_rows
from discreet.answer.plan.price import Price
from discreet.answer.present.base_release import Cost
from discreet.errors import InputError, InvariantBroken, QueryRefused
from discreet.plan.bounding import NoiseKind
from discreet.privacy import GDP, RDP, Neighbours, Pure
from discreet.privacy.budgets.charges import EPSILON, RHO
from discreet.sql.reader.read import read
from visits import CITIES, clinic, engine_of, schema

SETS = "SELECT city, COUNT(*) AS n, MEDIAN(amount) AS m FROM visits GROUP BY ROLLUP (city)"
LAPLACE, GAUSSIAN = NoiseKind.LAPLACE, NoiseKind.GAUSSIAN


@pytest.fixture(scope="module")
def engine():
    engine = engine_of(clinic(60))
    yield engine
    engine.close()


def planned(noise_kind=LAPLACE, neighbours=Neighbours.ADD_REMOVE, text=SETS):
    return MeasurementPlan.of(read(text, schema()), Price(1, 1e-6), neighbours, (noise_kind,))


def spending(drawn, paid):
    """Measurements of which the first part gave something else away."""
    first, *others = drawn.spent
    return replace(drawn, spent=(Cost(first.what, first.noise, paid), *others))


@pytest.mark.parametrize("noise_kind", list(NoiseKind))
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_what_is_measured_is_what_was_planned_and_a_release_comes_of_it(
    engine, noise_kind, neighbours
):
    plan = planned(noise_kind, neighbours)
    drawn = plan.measure(engine)
    spent = [part.guarantee for one in drawn for part in one.spent]
    assert len(spent) == len(plan.guarantees) == sum(n for _, n in plan.guarantee.parts)
    assert {one.neighbours for one in (*spent, *plan.guarantees)} == {neighbours}
    assert plan.present(drawn).table.num_rows == 4


def test_parts_of_all_grouping_sets_are_charged_together():
    plan = planned()
    assert len(plan.guarantees) == sum(len(one.guarantees) for one in plan.sets) == 4
    total = sum(part.epsilon0 for part in plan.guarantees)
    assert plan.charge(EPSILON).amount == total == 1
    assert planned(GAUSSIAN).charge(RHO).amount > 0


@pytest.mark.parametrize(
    "paid",
    [
        lambda part: Pure(part.epsilon0 * 2),
        lambda part: Pure(part.epsilon0 + Fraction(1, 10**30)),
        lambda part: Pure(part.epsilon0, neighbours=Neighbours.CHANGE_ONE),
        lambda _: GDP(1),  # epsilon cannot pay for it at all
        lambda _: RDP({2: 1}),
    ],
)
def test_measurements_that_give_away_more_or_otherwise_than_planned_are_refused(engine, paid):
    plan = planned()
    drawn = plan.measure(engine)
    broken = [spending(drawn[0], paid(plan.guarantees[0])), *drawn[1:]]
    for refuse in (plan.check_spent, plan.present):
        with pytest.raises(InvariantBroken, match="not what was charged"):
            refuse(broken)


def test_measurements_that_give_away_less_are_taken(engine):
    plan = planned()
    drawn = plan.measure(engine)
    plan.check_spent([spending(drawn[0], Pure(plan.guarantees[0].epsilon0 / 2)), *drawn[1:]])


def test_a_part_too_few_or_too_many_is_refused(engine):
    plan = planned()
    drawn = plan.measure(engine)
    for spent in (drawn[0].spent[:-1], drawn[0].spent * 2, ()):
        with pytest.raises(InvariantBroken):
            plan.check_spent([replace(drawn[0], spent=spent), *drawn[1:]])


@pytest.mark.parametrize("noise_kind", list(NoiseKind))
def test_a_stored_plan_is_read_back_as_it_was(noise_kind):
    plan = planned(noise_kind)
    back = MeasurementPlan.from_dict(plan.to_dict(), plan.query, plan.price, plan.neighbours)
    assert back == plan


def test_a_plan_of_another_version_is_not_guessed_at():
    plan = planned()
    stored = plan.to_dict() | {"version": 2}
    with pytest.raises(InputError, match="a stored plan cannot be read"):
        MeasurementPlan.from_dict(stored, plan.query, plan.price, plan.neighbours)


def test_all_statements_of_all_sets_are_told(engine):
    plan = planned()
    told = plan.statements(engine.dialect)
    assert len(told) >= len(plan.sets)
    assert all("SELECT" in text for text in told)
    assert len(plan.explain(engine.dialect).parts) == 2


BESIDE_PUBLIC = """SELECT c.country, v.n
    FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) v
    JOIN cities c ON c.name = v.city"""


def test_rows_of_public_tables_are_stored_with_the_measurements_they_are_computed_with(engine):
    plan = planned(text=BESIDE_PUBLIC)
    drawn = unpack(pack(plan.measure(engine)))
    assert drawn[0].public["cities"].to_pydict() == {"name": CITIES, "country": ["US", "IL", "NO"]}
    told = plan.present(drawn).table
    assert sorted(told.column("country").to_pylist()) == ["IL", "NO", "US"]


def test_more_rows_of_public_tables_than_are_computed_with_are_refused():
    assert check_rows(MOST_ROWS) == MOST_ROWS
    with pytest.raises(QueryRefused, match="more than 1,000,000 rows"):
        check_rows(MOST_ROWS + 1)


def test_a_question_is_measured_with_the_people_who_pay_for_it_or_with_none(engine):
    plan = planned(GAUSSIAN, text="SELECT COUNT(*) AS n FROM visits")
    with pytest.raises(InvariantBroken, match="people with budgets"):
        replace(plan, participants=True).measure(engine)
