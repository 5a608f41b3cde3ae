"""People far beyond a limit that the system chose are counted again, and it may be raised."""

import numpy as np
import pytest

from discreet.answer.execute import measure_set
from discreet.answer.execute.measure_set import look_again
from discreet.answer.plan.contribution_histogram import LADDER, ROWS, ContributionHistogram
from discreet.answer.plan.price import Price
from discreet.noise.bits import Keystream, replaced
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.sql.reader.read import read
from planned import plan_set
from visits import Limits, schema

LAW = pytest.mark.parametrize("law", list(NoiseKind))
PEOPLE = np.zeros(len(LADDER) + 1, dtype=np.int64)
PEOPLE[:3] = 5_000


def looked(law, limit, far=0, text="SELECT COUNT(*) AS n FROM visits"):
    """The plan, the bounds after a second look at people of whom some are `far`, and both looks."""
    plan = plan_set(read(text, schema(None, Limits())), Price(1, 1e-6), law)
    people, stream = PEOPLE.copy(), Keystream(law.value.ljust(32).encode())
    people[LADDER.index(1024)] = far
    seen = ContributionHistogram(PEOPLE.astype(float), plan.histogram_scale, LADDER, None, law, 2)
    with replaced(lambda: stream):
        found = look_again(plan, seen, plan.bounds(limit, 1), people)
    return plan, *found


@LAW
def test_the_limit_is_raised_and_noise_is_wider_by_what_people_far_out_paid(law):
    plan, bounds, both = looked(law, 3, far=2_000)
    assert (bounds.far, bounds.share) == (12, 1 - plan.second)
    assert bounds.full_rows == bounds.far_rows == LADDER[both.end] == 1024
    assert bounds.rows > 1024


@LAW
def test_the_limit_is_raised_no_higher_than_noise_is_made_for(law, monkeypatch):
    monkeypatch.setattr(measure_set, "widest", lambda _: 512)
    _, bounds, _ = looked(law, 3, far=2_000)
    assert bounds.rows == 512


@LAW
def test_the_limit_stays_where_nobody_is_far_and_they_would_weigh_less(law):
    plan, bounds, seen = looked(law, 8)
    assert bounds == ContributionBounds(law, 8, 1, 32, 1 - plan.second)
    assert bounds.far_rows < bounds.full_rows == 8
    assert seen.twice == 0


@LAW
def test_nobody_is_far_beyond_the_highest_limits(law):
    plan, *_ = looked(law, 8)
    assert plan.bounds(2**18 - 1, 1).far == LADDER[-2]
    assert plan.bounds(2**18, 1) == ContributionBounds(law, 2**18, 1)


@LAW
def test_half_of_mu_squared_or_a_quarter_of_epsilon_pays_for_a_count(law):
    plan, *_ = looked(law, 8)
    assert plan.histograms == (ROWS,)
    assert float(plan.second) == pytest.approx({"Laplace": 1 / 4, "Gaussian": 1 / 2}[law.value])
    found = plan_set(
        read("SELECT street, COUNT(*) AS n FROM visits GROUP BY street", schema(None, Limits())),
        Price(1, 1e-6),
        law,
    )
    assert found.second == 0  # people are left less than the histogram knew of
