from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.plan.bounding import FULL
from discreet.privacy import Neighbours
from discreet.workload.counting_query import CountingQuery
from discreet.workload.domain import Domain
from discreet.workload.histogram import JointHistogram, exact_bincount, from_digits, mixed_radix
from discreet.workload.mwem import MWEM
from discreet.workload.residual import ResidualPlan
from discreet.workload.small_database import SmallDatabase
from online_cases import DOMAIN, histogram
from small_tables import domain, people


def without(rows, owners, who):
    kept = owners != who
    return rows.filter(kept), owners[kept]


def test_a_person_moves_every_marginal_by_no_more_than_is_stated():
    rows = people(120)
    owners = np.concatenate([np.zeros(60, dtype=int), np.arange(1, 61)])  # one has sixty rows
    whole = JointHistogram.of(rows, domain(), person=owners, max_rows=3)
    for who in (0, 1, 17):
        fewer, others = without(rows, owners, who)
        part = JointHistogram.of(fewer, domain(), person=others, max_rows=3)
        for ways in (1, 2, 5):
            for names in combinations(domain().names, ways):
                moved = whole.marginal(names) - part.marginal(names)
                assert moved.min() >= 0
                assert moved.sum() <= whole.l1_sensitivity()
                assert (moved**2).sum() <= whole.squared_l2_sensitivity()


def test_changing_a_person_moves_two_cells():
    one = JointHistogram.of(people(9), domain(), neighbours=Neighbours.CHANGE_ONE)
    assert (one.l1_sensitivity(), one.squared_l2_sensitivity(marginals=3)) == (2, 6)


def test_repeated_rows_are_one_row_with_more_weight():
    rows = people(50)
    table = {name: rows[name].to_pylist() * 7 for name in rows.column_names}
    once, often = JointHistogram.of(rows, domain()), JointHistogram.of(table, domain())
    assert (once.codes == often.codes).all()
    assert (7 * once.weights == often.weights).all()


def test_an_empty_table_is_a_histogram():
    empty = JointHistogram.of(people(5).slice(0, 0), domain())
    assert empty.total == 0
    assert empty.marginal(("city", "age")).sum() == 0


def test_digits_of_many_columns_come_back():
    shape = (10,) * 100
    codes = np.arange(700).reshape(7, 100) % 10
    numbers = mixed_radix(codes, shape)
    assert len(numbers) == 6
    assert (from_digits(numbers, shape) == codes).all()


def test_sums_of_large_weights_are_exact():
    weights = np.array([2**53 + 1, 2**53 + 1, 3], dtype=np.int64)
    assert exact_bincount(np.array([0, 0, 1]), weights, 2).tolist() == [2**54 + 2, 3]


def test_persons_are_named_for_every_row():
    with pytest.raises(InputError, match="3 persons for 5 rows"):
        JointHistogram.of(people(5), domain(), person=[1, 2, 3])


def answered(rule, data):
    return rule.measure(data) if isinstance(rule, ResidualPlan) else rule.release(data)


@pytest.mark.parametrize(
    "other",
    [{"row_weight": FULL}, {"person_weight": FULL}, {"neighbours": Neighbours.CHANGE_ONE}],
)
def test_noise_for_people_of_other_weights_is_refused(other):
    data, price = histogram(), {"epsilon": 1, "delta": 1e-6}
    small = Domain(DOMAIN.attributes[:1])
    asked = (CountingQuery.of(small, {small.names[0]: 0}),)
    for rule in (
        MWEM(DOMAIN, asked, rounds=1, **price),
        SmallDatabase(small, asked, 1, 1, epsilon=1),
        ResidualPlan.of(DOMAIN, [DOMAIN.names[:1]], mu_squared=1),
    ):
        answered(rule, data)
        with pytest.raises(InputError, match="not planned for"):
            answered(rule, replace(data, **other))
