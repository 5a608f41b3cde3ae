"""Counting queries: read from words and JSON, exact on integers."""

import datetime as dt

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.plan.kinds import Kind
from discreet.plan.schema import Bounds
from discreet.workload.counting_query import CountingQuery, plain_where
from discreet.workload.domain import Attribute, Domain

DOMAIN = Domain(
    (
        Attribute("sex", Kind.TEXT, ("female", "male"), nullable=False),
        Attribute("age", Kind.INTEGER, edges=(0, 10, 20, 30)),
        Attribute("day", Kind.DATE, (dt.date(2024, 1, 1), dt.date(2024, 1, 2))),
    )
)


def test_columns_stand_in_the_order_of_the_domain_whatever_the_words():
    one = CountingQuery.of(DOMAIN, {"age": Bounds(5, 15), "sex": "male"})
    assert one == CountingQuery.of(DOMAIN, {"sex": ["male", "male"], "age": [15, 3]})
    assert one.clique == ("sex", "age")
    assert one.cells == ((1,), (0, 1))


def test_the_total_of_cells_is_exact_and_equals_the_vector_product():
    query = CountingQuery.of(DOMAIN, {"age": Bounds(5, 15), "sex": "male"})
    counts = np.arange(24).reshape(2, 4, 3) * 2**40
    assert query.total(counts.sum(axis=2)) == int(query.vector(DOMAIN) @ counts.reshape(-1))
    assert query.size == 2


def test_no_columns_count_all_rows():
    query = CountingQuery.of(DOMAIN, {})
    assert query.total(np.array(7)) == 7
    assert query.vector(DOMAIN).sum() == 24


def test_json_means_the_same_as_values():
    where = {"age": Bounds(5, 15), "day": dt.date(2024, 1, 2), "sex": ["male"]}
    assert CountingQuery.of(DOMAIN, plain_where(where)) == CountingQuery.of(DOMAIN, where)


@pytest.mark.parametrize(
    "where",
    [
        {"sex": "other"},
        {"height": 3},
        {"sex": Bounds(0, 1)},
        {"age": {"low": 3}},
        {"age": [[1]]},
        {"day": "yesterday"},
        "sex",
        ["sex"],
        {"age": {"low": [], "high": 2}},
    ],
)
def test_what_cannot_be_read_is_refused(where):
    with pytest.raises(InputError):
        CountingQuery.of(DOMAIN, where)


def test_bounds_over_listed_numbers_follow_values_in_whatever_order_they_are_listed():
    stars = Domain((Attribute("stars", Kind.INTEGER, (3, 1, 5, 2)),))
    assert CountingQuery.of(stars, {"stars": Bounds(1, 3)}).cells == ((0, 1, 3),)
    assert CountingQuery.of(stars, {"stars": Bounds(3, 1)}).cells == ((),)


def test_no_bound_is_null():
    with pytest.raises(InputError):
        CountingQuery.of(DOMAIN, {"age": {"low": None, "high": 5}})


def test_a_moment_is_in_the_bin_of_its_day():
    days = Domain((Attribute("day", Kind.DATE, edges=(0, 10, 20, 30)),))
    query = CountingQuery.of(days, {"day": dt.datetime(1970, 1, 12, 8)})  # noqa: DTZ001 - no zone
    assert query.cells == ((1,),)
