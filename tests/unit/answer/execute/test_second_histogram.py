"""People far beyond a limit that the system chose are counted again, and it may be raised."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.answer.execute import measure_set
from discreet.answer.execute.measure_set import look_again
from discreet.answer.plan.contribution_histogram import LADDER, ROWS, ContributionHistogram
from discreet.answer.plan.price import Price
from discreet.answer.plan.sql_statements import SetStatements
from discreet.noise.bits import Keystream, replaced
from discreet.plan.bounding import FULL, ContributionBounds, NoiseKind
from discreet.sql.reader.read import read
from planned import plan_set
from visits import Limits, engine_of, schema

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


@LAW
@pytest.mark.parametrize("keys", ["", "city, "])
@pytest.mark.parametrize("rows", [3, 7, 40])  # four times 7 is between two steps
def test_whoever_is_counted_twice_weighs_less_and_nobody_else(law, keys, rows):
    """At every border: people have as many rows as each step, or one more or less."""
    sizes = sorted({step + more for step in LADDER[:40] for more in (-1, 0, 1)} - {0})
    persons = np.repeat(np.arange(len(sizes)), sizes)
    cities = pa.array(["Haifa", "Oslo"]).take(pa.array(np.arange(persons.size) % 3 // 2))
    streets, amounts = pa.nulls(persons.size, pa.string()), np.zeros(persons.size)
    table = {"person": persons, "city": cities, "street": streets, "amount": amounts}
    by = " GROUP BY city" if keys else ""
    text = f"SELECT {keys}COUNT(*) AS n FROM visits{by}"  # noqa: S608 - made here
    about = schema(None, Limits())
    plan, engine = (
        plan_set(read(text, about), Price(1, 1e-6), law),
        engine_of(pa.table(table), about),
    )
    bounds, norm = plan.bounds(rows, 1), plan.norms[ROWS]
    statements, power = SetStatements.of(plan, engine.dialect), 1 if norm.name == "l1" else 2
    with engine.snapshot() as session:
        for kept in (*statements.people(), *statements.compiled.weights(bounds)):
            session.keep(*kept)
        [spread] = session.stream(statements.histograms()[0])
        weighed = f"{statements.compiled._norms} JOIN heavy AS h USING (_person)"
        [heavy] = session.stream(f"SELECT {norm.name}, h.w FROM {weighed}")  # noqa: S608 - ours
    engine.close()
    people = np.zeros(len(norm.bounds) + 1, dtype=int)
    people[spread.column(0).to_numpy()] = spread.column(1).to_numpy()
    norms, weights = (column.to_numpy() for column in heavy.columns)
    paid = weights**power * norms <= float((FULL * rows) ** power * bounds.share)
    assert people.sum() == len(sizes)
    assert 0 < people[LADDER.index(bounds.far) + 1 :].sum() == paid.sum() < paid.size
    assert (paid == (norms > bounds.far**power)).all()
