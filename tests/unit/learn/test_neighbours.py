"""Fits on neighbours look the same but for noise: record and replay, for every estimator."""

import numpy as np
import pytest

from discreet.audit.replay import replay
from discreet.learn.fit_plan import ESTIMATORS
from learners import ALL, fit, people, told

WIDE = np.array([[1e300, -np.inf, 7.0]])


def _more(rows, x, y, person):
    old = rows[0], rows[1], rows[2]
    return (
        np.concatenate([old[0], x]),
        np.concatenate([old[1], np.array([y] * len(x), dtype=object)]),
        np.concatenate([old[2], np.full(len(x), person)]),
    )


def _without_groups(rows):
    return rows[0], rows[1], None


NEIGHBOURS = {
    "a rare label": lambda rows: _more(rows, rows[0][:1], "never seen", 10_000),
    "an extra row": lambda rows: _more(rows, WIDE, "yes", 10_000),
    "a row of NaN": lambda rows: _more(rows, np.full((1, 3), np.nan), "yes", 10_000),
    "a thousand rows": lambda rows: _more(rows, np.repeat(WIDE, 1000, axis=0), "no", 10_000),
    "nobody": lambda rows: tuple(part[:0] for part in rows),
}


def test_every_estimator_is_replayed():
    assert {type(one).__name__ for one in ALL.values()} == set(ESTIMATORS)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("other", [one for one in NEIGHBOURS if one != "nobody"])
def test_a_person_more_moves_sums_within_their_sensitivity_and_nothing_else(name, other):
    rows = people()

    found = replay(lambda data: told(fit(name, data)), rows, NEIGHBOURS[other](rows))

    assert not found, str(found)


@pytest.mark.parametrize("name", ALL)
def test_one_person_or_nobody_makes_no_difference_but_by_noise(name):
    one = _without_groups(tuple(part[:1] for part in people()))

    found = replay(
        lambda data: told(fit(name, data)), one, tuple(p if p is None else p[:0] for p in one)
    )

    assert not found, str(found)


@pytest.mark.parametrize("name", ALL)
def test_rows_without_groups_are_people_each(name):
    rows = _without_groups(people())
    more = np.concatenate([rows[0], WIDE]), np.concatenate([rows[1], ["no"]]), None

    found = replay(lambda data: told(fit(name, data)), rows, more)

    assert not found, str(found)


def test_replay_sees_a_statistic_that_counts_a_person_twice(monkeypatch):
    from discreet.learn import rows as module

    # Everybody counts whole, however many rows they have: the planted fault.
    monkeypatch.setattr(
        module, "weights_of", lambda counts, most: np.full(len(counts), 1024.0 + 0 * most)
    )
    rows = people()

    found = replay(
        lambda data: told(fit("gaussian bayes", data)), rows, NEIGHBOURS["a thousand rows"](rows)
    )

    assert "squared l2 steps" in str(found)
