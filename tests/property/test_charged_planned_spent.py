"""Charged = planned = spent, over generated questions.

Found and known keys, both kinds of noise, both neighbour relations, grouping sets, quantiles.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest

from discreet.answer.execute.noisy_measurements import pack, unpack
from discreet.answer.measurement_plan import MeasurementPlan
from discreet.answer.plan.price import Price
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import InputError, InvariantBroken
from discreet.plan import canonical
from discreet.plan.bounding import NoiseKind
from discreet.plan.schema import Limits
from discreet.privacy import GDP, ZCDP, Neighbours, Pure, Ranges, compose
from discreet.privacy.budgets.charges import EPSILON, MU_SQUARED, RHO, price
from reference.growth import Seeded
from reference.plan_growth import POISON, SCHEMA, SINGLE, arrow, grow_query, labels, stored_rows

PRICES = [Price(1, 1e-6), Price(Fraction(1, 10), 1e-9), Price(3, 1e-5)]


@cache
def engine():
    made = DuckDBEngine()
    rows = stored_rows(40, "spent")
    for table in (POISON, SINGLE):
        made.store(table.name, arrow(rows))
    made.store("labels", labels())
    made.open(SCHEMA)
    return made


def grow(choose):
    """A question, with grouping sets at times, and a plan for it."""
    while True:
        try:
            query = grow_query(choose, choose.one([POISON, POISON, SINGLE]))
            places = tuple(range(len(query.keys)))
            if places and choose.one([False, True]):
                query = replace(query, sets=(places, places[:-1]))
            query = replace(query, limits=choose.one([Limits(), Limits(2, 3), Limits(1, 1)]))
            about = choose.one(list(Neighbours))
            laws = choose.one([tuple(NoiseKind), (NoiseKind.LAPLACE,), (NoiseKind.GAUSSIAN,)])
            measure = choose.one([None, EPSILON, RHO, MU_SQUARED])
            return MeasurementPlan.of(query, choose.one(PRICES), about, laws, measure)
        except InputError:  # a question that is refused is charged nothing
            continue


def check_price(plan):
    """The parts of a plan keep within its price, by basic composition of what each kind allows."""
    parts = [part for one in plan.sets for _, part in one.guarantees]
    exact = [part for part in parts if not isinstance(part, GDP | Ranges)]
    epsilon = sum((price(part, EPSILON).amount for part in exact), Fraction(0))
    delta = sum((price(part, EPSILON).delta for part in exact), Fraction(0))
    noisy = [price(part, MU_SQUARED).amount for part in parts if isinstance(part, GDP | Ranges)]
    assert epsilon <= plan.price.epsilon
    if noisy:
        whole = GDP.of_square(sum(noisy), neighbours=plan.neighbours)
        left = plan.price.epsilon - epsilon
        delta += Fraction(whole.delta(left).upper)
    assert delta <= plan.price.delta * Fraction(1 + 10**-9)
    assert all(part.neighbours is plan.neighbours for part in parts)


def check_charged(plan):
    """What an account is charged is what the parts cost; the stored plan is the plan."""
    laws = {one.noise_kind for one in plan.sets}
    for measure in (RHO, MU_SQUARED) if NoiseKind.GAUSSIAN in laws else (EPSILON, RHO, MU_SQUARED):
        charged = plan.charge(measure)
        prices = [price(part, measure) for part in plan.guarantees]
        whole = sum((one.amount for one in prices), Fraction(0))
        # By mu^2 an order is priced as a whole, which may be less than its parts.
        assert charged.amount <= whole if measure == MU_SQUARED else charged.amount == whole
        assert charged.delta == sum((one.delta for one in prices), Fraction(0))
    text = canonical.write(plan.query)
    query = canonical.read(text, SCHEMA)
    stored = plan.to_dict()
    assert MeasurementPlan.from_dict(stored, query, plan.price, plan.neighbours) == plan


def check_spent(plan):
    """What mechanisms say was given away is what was planned, also once it was stored."""
    drawn = unpack(pack(plan.measure(engine())))
    plan.check_spent(drawn)
    for one, measured in zip(plan.sets, drawn, strict=True):
        planned = [part for _, part in one.guarantees]
        for part, spent in zip(planned, measured.spent, strict=True):
            measure = EPSILON if not isinstance(part, GDP | Ranges) else RHO
            assert price(spent.guarantee, measure).amount <= price(part, measure).amount
            assert price(spent.guarantee, measure).delta == price(part, measure).delta
    release = plan.present(drawn)
    assert release.guarantee == compose([one.guarantee for one in release.costs])
    assert len(release.costs) == len(plan.guarantees)


def test_charged_is_planned_for_generated_questions():
    choose = Seeded("charged")
    for _ in range(400):
        plan = grow(choose)
        check_price(plan)
        check_charged(plan)


def test_planned_is_spent_for_generated_questions():
    choose = Seeded("spent")
    for _ in range(60):
        check_spent(grow(choose))


@pytest.mark.audit
@pytest.mark.parametrize("seed", range(20))
def test_charged_is_planned_is_spent_for_very_many_questions(seed):
    choose = Seeded(f"many {seed}")
    for _ in range(500):
        plan = grow(choose)
        check_price(plan)
        check_charged(plan)
        check_spent(plan)


def test_a_measurement_that_spends_more_than_planned_is_refused():
    choose = Seeded("planted")
    plan = grow(choose)
    while any(one.histograms for one in plan.sets):
        plan = grow(choose)
    dearer = replace(
        plan,
        sets=tuple(
            replace(one, costs={s: 2 * cost for s, cost in one.costs.items()}) for one in plan.sets
        ),
    )
    drawn = dearer.measure(engine())
    with pytest.raises(InvariantBroken, match="not what was charged"):
        plan.present(drawn)


def test_a_free_part_is_refused_too():
    plan = grow(Seeded("missing"))
    drawn = [replace(one, spent=one.spent[:-1]) for one in plan.measure(engine())]
    with pytest.raises(InvariantBroken):
        plan.present(drawn)
    assert Pure(0) not in plan.guarantees


@pytest.mark.parametrize("kind", [Ranges, ZCDP])
def test_as_much_zcdp_is_less_than_a_gaussian_guarantee(kind):
    choose = Seeded("as much")
    plan = grow(choose)
    while not isinstance(plan.guarantees[-1], GDP):
        plan = grow(choose)
    paid, drawn = plan.guarantees[-1], plan.measure(engine())
    other = kind(price(paid, RHO).amount, neighbours=plan.neighbours)
    spent = (*drawn[-1].spent[:-1], replace(drawn[-1].spent[-1], guarantee=other))
    with pytest.raises(InvariantBroken):
        plan.check_spent([*drawn[:-1], replace(drawn[-1], spent=spent)])
