from fractions import Fraction

import numpy as np
import pytest
from discreet.answer.ask import plan_budget, selecting
from discreet.answer.budget import KEYS, Price, split
from discreet.answer.quote import quote

from discreet.answer.measure import Measurement, measurements
from discreet.answer.showing import Showing
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import InputError
from discreet.mechanisms import KeySelection
from discreet.plan.bounding import FULL, Compiled, Law, Weighing
from discreet.plan.schema import EachRow
from discreet.plan.statistics import People, Rows, needed
from discreet.privacy import Approximate, Neighbours, compose
from discreet.sql.read import read
from visits import schema

ADD, CHANGE = Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE
PEOPLE = "SELECT street, COUNT(DISTINCT person) AS n FROM visits GROUP BY street"
VISITS = "SELECT street, COUNT(*) AS n FROM visits GROUP BY street"


def showing(law=Law.LAPLACE, groups=3, cost=1, delta=Fraction(1, 10**6), neighbours=ADD):
    count = Measurement(People(None), Weighing(law, groups, groups), Fraction(cost), neighbours)
    return Showing(count, delta, groups)


def compiled(text, unit=None):
    query = read(text, schema(unit))
    return Compiled(query, needed(query), DuckDBEngine.dialect)


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("neighbours", [ADD, CHANGE])
def test_one_person_alone_is_shown_with_delta_at_most(law, neighbours):
    one = showing(law, delta=Fraction(1, 20), neighbours=neighbours)
    runs, groups = 4000, 3 * (1 if neighbours is ADD else 2)
    noisy = one.measurement.release(np.full(runs * groups, FULL, dtype=np.int64))
    shown = one.shows(noisy).reshape(runs, groups).any(axis=1).mean()

    assert 0.03 < shown < 0.05 + 5 * (0.05 * 0.95 / runs) ** 0.5  # not far below: not wasteful


@pytest.mark.parametrize("law", list(Law))
def test_a_threshold_that_forgets_a_group_is_caught(law):
    one = showing(law, groups=6, delta=Fraction(1, 20))
    lower = Showing(one.measurement, one.delta, 1).threshold
    runs = 4000
    noisy = one.measurement.release(np.full(runs * 6, FULL, dtype=np.int64))
    shown = (noisy >= lower).reshape(runs, 6).any(axis=1).mean()

    assert shown > 0.05 + 5 * (0.05 * 0.95 / runs) ** 0.5


@pytest.mark.parametrize("law", list(Law))
def test_groups_that_are_certain_are_shown(law):
    one = showing(law)
    people = one.certain_people(Fraction(19, 20))
    noisy = one.measurement.release(np.full(4000, people * FULL, dtype=np.int64))

    assert one.shows(noisy).mean() > 0.95 - 5 * (0.05 * 0.95 / 4000) ** 0.5
    assert people > one.people > 1


def test_a_count_of_people_finds_the_groups_and_a_count_of_rows_does_not():
    price = Price(1, 1e-6)
    shared, apart = (plan_budget(compiled(text), price) for text in (PEOPLE, VISITS))

    assert shared.shared == People(None)
    assert (shared.keys, shared.epsilon) == (None, 1)
    assert (apart.shared, apart.epsilon) == (None, 1 - KEYS)
    weighing = Weighing(Law.LAPLACE, 2, 2)
    found = [
        selecting(budget, measurements(budget, weighing, ADD), weighing, ADD)
        for budget in (shared, apart)
    ]
    assert [type(one) for one in found] == [Showing, KeySelection]


def test_rows_that_are_protected_by_themselves_are_people():
    assert plan_budget(compiled(VISITS, EachRow()), Price(1, 1e-6)).shared == Rows(None)


def test_public_groups_are_not_looked_for():
    by_city = "SELECT city, COUNT(DISTINCT person) FROM visits GROUP BY city"
    budget = plan_budget(compiled(by_city), Price(1, 1e-6))

    assert not budget.finds_keys
    assert budget.delta == Fraction(1, 10**6)


def test_the_count_that_finds_groups_has_at_least_what_finding_is_worth():
    sums = ", ".join(f"SUM(amount + {i}) AS s{i}" for i in range(20))
    text = f"SELECT COUNT(DISTINCT person) AS n, {sums} FROM visits"  # noqa: S608 - numbers
    query = read(text, schema())
    budget = split(Price(1, 1e-6), query, find_keys=True, shared=People(None))

    for shares in budget.shares.values():
        assert shares[People(None)] == KEYS
        assert sum(shares.values()) == 1


@pytest.mark.parametrize("law", list(Law))
def test_what_is_charged_keeps_the_price(law):
    query = read(PEOPLE, schema())
    parts = quote(query, Price(1, 1e-6), law, DuckDBEngine.dialect, ADD)

    assert Approximate(0, Fraction(1, 2 * 10**6)) in parts
    assert compose(list(parts)).delta(1).upper <= 1e-6 * (1 + 1e-9)


@pytest.mark.parametrize("law", list(Law))
def test_intervals_of_shown_counts_widen_only_near_the_threshold(law):
    one = showing(law, groups=1)
    plain = one.measurement.error(0.95)
    far, near = one.people + 20 * plain, one.people + 0.01
    widths = one.half_widths(np.array([far, near]), plain)

    assert widths[0] == pytest.approx(plain, rel=0.01)
    assert widths[1] == pytest.approx(near - 1)


@pytest.mark.parametrize("text", [PEOPLE, VISITS])
def test_a_delta_that_no_threshold_can_keep_is_refused_before_data_is_touched(text):
    with pytest.raises(InputError, match="delta"):
        plan_budget(compiled(text), Price(1, Fraction(1, 1 << 110)))
