"""BLR: the choice of a small database against plain enumeration."""

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.plan.kinds import Kind
from discreet.workload.counting_query import CountingQuery
from discreet.workload.domain import Attribute, Domain
from discreet.workload.histogram import JointHistogram
from discreet.workload.small_database import SmallDatabase

DOMAIN = Domain(
    tuple(Attribute(n, Kind.BOOLEAN, (False, True), nullable=False) for n in ("x", "y"))
)
QUERIES = tuple(
    CountingQuery.of(DOMAIN, where)
    for where in ({"x": True}, {"y": True}, {"x": True, "y": True}, {"x": False})
)
ROWS = {"x": [True] * 6 + [False] * 3, "y": [True] * 5 + [False] * 4}


def rule(**options):
    return SmallDatabase(DOMAIN, QUERIES, size=3, rows_each=3, epsilon=1, **options)


def test_the_law_of_the_choice_is_the_one_of_the_textbook():
    data = JointHistogram.of(ROWS, DOMAIN)
    one = rule()
    exact = [6, 5, 5, 3]
    cells = [(x, y) for x in (0, 1) for y in (0, 1)]
    weights = []
    for chosen in combinations_with_replacement(range(4), 3):
        small = [cells[place] for place in chosen]
        told = [
            3 * sum(x for x, _ in small),
            3 * sum(y for _, y in small),
            3 * sum(x and y for x, y in small),
            3 * sum(not x for x, _ in small),
        ]
        error = max(abs(a - b) for a, b in zip(exact, told, strict=True))
        weights.append(math.exp(-error / 2))
    law = one.mechanism.law(one.scores(data))
    for place, weight in enumerate(weights):
        low, high = law[place]
        assert low <= weight / sum(weights) * (1 + 1e-9)
        assert weight / sum(weights) <= high * (1 + 1e-9)


def test_a_release_is_a_database_that_answers_all_queries():
    data = JointHistogram.of(ROWS, DOMAIN)
    found = rule().release(data)
    assert len(found) == 3
    assert rule().answers(found).shape == (4,)
    assert rule().guarantee.epsilon(0).upper == pytest.approx(1)
    assert rule().error() > 0


def test_with_much_epsilon_the_best_database_is_chosen():
    data = JointHistogram.of(ROWS, DOMAIN)
    one = SmallDatabase(DOMAIN, QUERIES, size=3, rows_each=3, epsilon=1000)
    best = -one.scores(data).max()
    told = one.answers(one.release(data))
    assert np.abs(told - np.array([6, 5, 5, 3])).max() == best


def test_too_many_databases_are_refused_before_data_is_read():
    with pytest.raises(InputError, match="small databases"):
        SmallDatabase(DOMAIN, QUERIES, size=200, rows_each=1, epsilon=1)
    with pytest.raises(InputError, match="0 queries"):
        SmallDatabase(DOMAIN, (), size=2, rows_each=1, epsilon=1)
