from fractions import Fraction

import numpy as np
import pytest

from discreet.answer.plan.measure import Measurement
from discreet.answer.plan.planning import KEYS
from discreet.answer.plan.price import Price
from discreet.answer.plan.set_plan import amount_for
from discreet.answer.plan.thresholded_count import ThresholdedCount
from discreet.errors import InputError
from discreet.mechanisms import KeySelection
from discreet.plan.bounding import FULL, ContributionBounds, NoiseKind
from discreet.plan.schema import EachRow
from discreet.plan.sensitivity import Strategy
from discreet.plan.statistics import People, Rows
from discreet.privacy import Approximate, Neighbours, compose
from discreet.sql.reader.read import read
from planned import plan_set
from visits import schema

ADD, CHANGE = Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE
PRICE = Price(1, 1e-6)
PEOPLE = "SELECT street, COUNT(DISTINCT person) AS n FROM visits GROUP BY street"
VISITS = "SELECT street, COUNT(*) AS n FROM visits GROUP BY street"


def showing(law=NoiseKind.LAPLACE, groups=3, cost=1, delta=Fraction(1, 10**6), neighbours=ADD):
    alone, contributions = Strategy.of((People(None),)), ContributionBounds(law, groups, groups)
    count = Measurement(alone, contributions, Fraction(cost), neighbours)
    return ThresholdedCount(count.view(People(None)), delta, groups)


def noisy(one, counts):
    [found] = one.count.measurement.release([np.asarray(counts, dtype=np.int64)])
    return found


def planned(text, unit=None, price=PRICE, law=NoiseKind.LAPLACE):
    return plan_set(read(text, schema(unit)), price, law)


@pytest.mark.parametrize("law", list(NoiseKind))
@pytest.mark.parametrize("neighbours", [ADD, CHANGE])
def test_one_person_alone_is_shown_with_delta_at_most(law, neighbours):
    one = showing(law, delta=Fraction(1, 20), neighbours=neighbours)
    runs, groups = 4000, 3 * (1 if neighbours is ADD else 2)
    shaken = noisy(one, np.full(runs * groups, FULL))
    shown = one.shows(shaken).reshape(runs, groups).any(axis=1).mean()

    assert 0.03 < shown < 0.05 + 5 * (0.05 * 0.95 / runs) ** 0.5  # not far below: not wasteful


@pytest.mark.parametrize("law", list(NoiseKind))
def test_a_threshold_that_forgets_a_group_is_caught(law):
    one = showing(law, groups=6, delta=Fraction(1, 20))
    lower = ThresholdedCount(one.count, one.delta, 1).threshold
    runs = 4000
    shaken = noisy(one, np.full(runs * 6, FULL))
    shown = (shaken >= lower).reshape(runs, 6).any(axis=1).mean()

    assert shown > 0.05 + 5 * (0.05 * 0.95 / runs) ** 0.5


@pytest.mark.parametrize("law", list(NoiseKind))
def test_groups_that_are_certain_are_shown(law):
    one = showing(law)
    people = one.certain_people(Fraction(19, 20))
    shaken = noisy(one, np.full(4000, people * FULL))

    assert one.shows(shaken).mean() > 0.95 - 5 * (0.05 * 0.95 / 4000) ** 0.5
    assert people > one.people > 1


def test_a_count_of_people_finds_the_groups_and_a_count_of_rows_does_not():
    shared, apart = (planned(text) for text in (PEOPLE, VISITS))

    assert shared.shared == People(None)
    assert (shared.keys, sum(shared.costs.values())) == (None, 1)
    assert (apart.shared, sum(apart.costs.values())) == (None, 1 - KEYS)
    contributions = ContributionBounds(NoiseKind.LAPLACE, 2, 2)
    found = [one.selection(contributions) for one in (shared, apart)]
    assert [type(one) for one in found] == [ThresholdedCount, KeySelection]


def test_rows_that_are_protected_by_themselves_are_people():
    assert planned(VISITS, EachRow()).shared == Rows(None)


def test_public_groups_are_not_looked_for():
    by_city = "SELECT city, COUNT(DISTINCT person) FROM visits GROUP BY city"
    plan = planned(by_city, law=NoiseKind.GAUSSIAN)

    assert not plan.finds_keys
    amount = amount_for(PRICE.epsilon, PRICE.delta, NoiseKind.GAUSSIAN)
    assert sum(plan.costs.values()) == amount / 2


def test_the_count_that_finds_groups_has_at_least_what_finding_is_worth():
    sums = ", ".join(f"SUM(amount + {i}) AS s{i}" for i in range(20))
    text = f"SELECT street, COUNT(DISTINCT person) AS n, {sums} FROM visits GROUP BY street"  # noqa: S608 - numbers
    for law in NoiseKind:
        costs = planned(text, law=law).costs
        assert costs[Strategy.of((People(None),))] == KEYS * sum(costs.values())


@pytest.mark.parametrize("law", list(NoiseKind))
def test_what_is_charged_keeps_the_price(law):
    parts = [guarantee for _, guarantee in planned(PEOPLE, law=law).guarantees]

    assert Approximate(0, Fraction(1, 2 * 10**6)) in parts
    assert compose(parts).delta(1).upper <= 1e-6 * (1 + 1e-9)


@pytest.mark.parametrize("law", list(NoiseKind))
def test_intervals_of_shown_counts_widen_only_near_the_threshold(law):
    one = showing(law, groups=1)
    plain = one.count.error(0.95)
    far, near = one.people + 20 * plain, one.people + 0.01
    widths = one.half_widths(np.array([far, near]), plain)

    assert widths[0] == pytest.approx(plain, rel=0.01)
    assert widths[1] == pytest.approx(near - 1)


@pytest.mark.parametrize("text", [PEOPLE, VISITS])
def test_a_delta_that_no_threshold_can_keep_is_refused_before_data_is_touched(text):
    with pytest.raises(InputError, match="delta"):
        planned(text, price=Price(1, Fraction(1, 1 << 110)))
