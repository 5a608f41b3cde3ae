"""The promise to the people in a dataset is read off its budget, and rounds against us."""

import datetime as dt

import pyarrow as pa
import pytest

import discreet as dp
from discreet.curator.reports.privacy_promise import promise
from discreet.privacy import Neighbours

ROWS = pa.table({"id": range(10), "x": range(10)})


def told(budget, unit="id", neighbours=Neighbours.ADD_REMOVE):
    curator = dp.Curator.in_memory(neighbours=neighbours)
    curator.add("visits", ROWS, unit=unit, budget=budget)
    return promise(curator, "visits")


def test_it_names_who_is_protected():
    assert "each person that id names, with all their rows" in told(dp.Budget(epsilon=1))
    assert "each row by itself, and nobody whole" in told(dp.Budget(epsilon=1), dp.EachRow())


@pytest.mark.parametrize(
    "budget", [dp.Budget(epsilon=1), dp.Budget(epsilon=1, delta=1e-6), dp.Budget(rho=0.1)]
)
def test_it_tells_odds_and_what_it_does_not_cover(budget):
    text = told(budget)

    assert "the odds of a person having taken part were 1:9, afterwards they are at most" in text
    assert "does not bound" not in text
    assert "does not hide facts about people at large" in text


def test_a_larger_budget_promises_less():
    def odds(epsilon):
        return told(dp.Budget(epsilon=epsilon)).partition("are at most ")[2].partition(",")[0]

    assert (odds(1), odds(2)) == ("1:3.3", "1:1.2")


def test_changing_one_speaks_of_traits():
    text = told(dp.Budget(epsilon=1), neighbours=Neighbours.CHANGE_ONE)

    assert "what the data says about them" in text
    assert "some trait" in text


def test_odds_of_a_person_are_those_of_what_is_protected():
    days = pa.table({"id": range(10), "day": [dt.date(2026, 1, 1)] * 10})
    curator = dp.Curator.in_memory()
    unit = dp.PersonPeriod("id", "day", every="day")
    curator.add("visits", days, unit=unit, budget=dp.Budget(epsilon=1))

    assert "'person' means one person in one day. If the odds" in promise(curator, "visits")
    assert "'person' means one such row. If the odds" in told(dp.Budget(epsilon=1), dp.EachRow())
    assert "'person' means" not in told(dp.Budget(epsilon=1))
