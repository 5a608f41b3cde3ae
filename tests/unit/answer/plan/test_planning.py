"""What noise cannot be made for is refused before anything is charged."""

import math
from fractions import Fraction

import pyarrow as pa
import pytest

from discreet.answer.measurement_plan import MeasurementPlan, answer
from discreet.answer.plan import planning
from discreet.answer.plan.contribution_histogram import LADDER
from discreet.answer.plan.planning import check_feasible, is_feasible, widest
from discreet.answer.plan.price import Price
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import InputError
from discreet.plan.bounding import ContributionBounds, NoiseKind, limits_of
from discreet.plan.schema import EachRow, Limits
from discreet.privacy import Neighbours
from discreet.privacy.budgets.buying import amount_within
from discreet.privacy.budgets.charges import MU_SQUARED, RHO, price
from discreet.sql.reader.read import read
from planned import explain, plan_set
from visits import clinic, engine_of, schema

ADD = Neighbours.ADD_REMOVE
SUM = "SELECT SUM(amount) AS s FROM visits"


def priced(epsilon, limits, law, delta=1e-6, text=SUM):
    about = schema(limits=limits)
    return MeasurementPlan.of(read(text, about), Price(epsilon, delta), ADD, (law,)).guarantees


@pytest.mark.parametrize("law", list(NoiseKind))
@pytest.mark.parametrize(
    ("epsilon", "limits"),
    [
        ("1e-7", Limits(1000, 1000)),
        ("1e-13", Limits()),
        ("1e-13", Limits(1, 1)),
        (10**25, Limits()),
    ],
)
def test_a_price_that_no_noise_is_made_for_is_refused_when_it_is_quoted(law, epsilon, limits):
    with pytest.raises(InputError, match="epsilon"):
        priced(Fraction(epsilon), limits, law, delta=Fraction(1, 10**30))


def test_gaussian_noise_of_a_tiny_epsilon_is_paid_by_delta():
    [noise] = priced(Fraction("1e-13"), Limits(1, 1), NoiseKind.GAUSSIAN, delta=1e-6)
    assert noise.delta(0).upper == pytest.approx(1e-6, rel=1e-3)


@pytest.mark.parametrize("law", list(NoiseKind))
@pytest.mark.parametrize("limits", [Limits(), Limits(2, 4)])
def test_ordinary_prices_are_not_refused(law, limits):
    for epsilon in (0.01, 1, 100):
        assert priced(epsilon, limits, law)


@pytest.mark.parametrize("law", list(NoiseKind))
def test_limits_that_are_bought_are_no_higher_than_noise_allows(law):
    query = read(SUM, schema(limits=Limits()))
    for epsilon in (1, 1e-3, 1e-5):
        plan = plan_set(query, Price(epsilon, 1e-6), law)
        most = widest(plan)
        check_feasible(plan, ContributionBounds(law, most, most))
        if most < LADDER[-1]:
            above = LADDER[LADDER.index(most) + 1]
            assert not is_feasible(plan, ContributionBounds(law, above, above))


@pytest.mark.parametrize("epsilon", [100, 300, 1000])
def test_histograms_take_no_more_than_is_enough_for_them(epsilon):
    """Noise finer than exact noise is made refused the question."""
    for kinds in (tuple(NoiseKind), (NoiseKind.GAUSSIAN,)):
        for text in (SUM, "SELECT city, MEDIAN(amount) AS m FROM visits GROUP BY city"):
            query = read(text, schema(limits=Limits()))
            assert MeasurementPlan.of(query, Price(epsilon, 1e-6), ADD, kinds, MU_SQUARED).sets


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("text", [SUM, "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"])
def test_chosen_limits_cost_no_more_mu_squared_than_stated_ones(text, neighbours):
    """They cost 2.2 times as much, since an epsilon for histograms was added to a mu squared."""
    whole = {
        limits: sum(
            2 * one.rho().upper
            for one in MeasurementPlan.of(
                read(text, schema(limits=limits)),
                Price(Fraction(1, 2), 1e-8),
                neighbours,
                measure=MU_SQUARED,
            ).guarantees
        )
        for limits in (Limits(), Limits(2, 4))
    }
    assert whole[Limits()] == pytest.approx(whole[Limits(2, 4)], rel=1e-6)


def test_a_question_for_very_little_is_answered_where_it_is_priced():
    about = schema(limits=Limits())
    engine = engine_of(clinic(people=50), about)
    release = answer(read(SUM, about), engine, Price(1e-4, 1e-6))
    engine.close()

    assert math.isfinite(release.table["s"][0].as_py())


# --- nobody is in more groups than there are ------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("SELECT COUNT(*) AS n FROM visits", (1, 7)),
        ("SELECT city, COUNT(*) AS n FROM visits GROUP BY city", (3, 7)),
        ("SELECT city, amount > 3 AS b, COUNT(*) AS n FROM visits GROUP BY city, b", (6, 7)),
        ("SELECT street, COUNT(*) AS n FROM visits GROUP BY street", (60, 7)),
        (
            (
                "SELECT COUNT(*) AS n FROM (SELECT person, MAX(amount) AS m FROM visits "
                "GROUP BY person) AS p"
            ),
            (1, 1),
        ),
        (
            (
                "SELECT m, COUNT(*) AS n FROM (SELECT person AS who, MAX(amount) AS m FROM visits "
                "WHERE amount > 1 GROUP BY person HAVING COUNT(*) > 1) AS p WHERE m < 9 GROUP BY m"
            ),
            (1, 1),
        ),
        (
            (
                "SELECT COUNT(*) AS n FROM (SELECT person, city, COUNT(*) AS k FROM visits "
                "GROUP BY person, city) AS p"
            ),
            (1, 7),
        ),
        (
            (
                "SELECT COUNT(*) AS n FROM (SELECT MIN(amount) AS m FROM visits GROUP BY person "
                "UNION ALL SELECT MAX(amount) AS m FROM visits GROUP BY person) AS p"
            ),
            (1, 2),
        ),
    ],
)
def test_limits_are_held_to_what_a_question_leaves_of_one_person(text, limits):
    query = read(text, schema(limits=Limits(60, 7)))

    assert limits_of(query) == Limits(*limits)


def test_noise_is_for_the_groups_that_there_are():
    count = "SELECT COUNT(DISTINCT person) AS n FROM visits"
    few, many = (
        explain(read(count, schema(limits=Limits(g, 2))), DuckDBEngine.dialect, Price(1, 1e-6))
        for g in (1, 60)
    )

    assert few.half_width("n") == many.half_width("n")


def test_limits_that_are_bought_are_held_to_the_groups_too():
    """Each person is in 30 streets of one city; asked by city they are in three groups at most."""
    about = schema(limits=Limits())
    rows = pa.table(
        {
            "person": [i // 30 for i in range(6000)],
            "city": [["Austin", "Haifa", "Oslo"][i % 3] for i in range(6000)],
            "street": [f"street {i % 30}" for i in range(6000)],
            "amount": [1.0] * 6000,
        }
    )
    engine = engine_of(rows, about)
    text = "SELECT COUNT(DISTINCT person) AS n FROM visits"
    release = answer(read(text, about), engine, Price(0.02, 1e-6))
    engine.close()

    assert release.notes[0].endswith("one person counts for at most 1 group")
    assert [cost.what for cost in release.costs] == ["People"]


SETS = (
    "SELECT city, COUNT(*) AS n, AVG(amount) AS m FROM visits GROUP BY GROUPING SETS ((city), ())"
)


def squares(plan):
    """What the sets of a plan cost in mu^2."""
    parts = [part for one in plan.sets for _, part in one.guarantees]
    return sum((price(part, MU_SQUARED).amount for part in parts), Fraction(0))


@pytest.mark.parametrize("measure", [RHO, MU_SQUARED])
def test_each_set_has_the_noise_that_errs_less_where_an_account_pays_for_both(measure):
    """A person is in three cities, so that l1 and l2 norms differ in one of the sets."""
    query = read(SETS.replace(", AVG(amount) AS m", ""), schema(limits=Limits(3, 1)))
    asked = Price(80, 1e-6)
    plan = MeasurementPlan.of(query, asked, measure=measure)
    kinds = [NoiseKind.GAUSSIAN, NoiseKind.LAPLACE]
    assert [one.noise_kind for one in plan.sets] == kinds
    told = plan.explain(DuckDBEngine().dialect)
    assert [{line.noise_kind for line in part.options[0].lines} for part in told.parts] == [
        {kind} for kind in kinds
    ]
    most = amount_within(asked.epsilon, asked.delta, MU_SQUARED)
    assert most * Fraction(999, 1000) < squares(plan) <= most
    assert plan.charge(MU_SQUARED).amount <= most
    stored = plan.to_dict()
    assert MeasurementPlan.from_dict(stored, query, asked, ADD) == plan
    for one in kinds:  # as good, in all, as one law for all
        alone = MeasurementPlan.of(query, asked, noise_kinds=(one,), measure=measure)
        assert error(plan) <= error(alone)
    [law] = {one.noise_kind for one in MeasurementPlan.of(query, asked).sets}  # no account
    assert law in kinds


def error(plan):
    """The sum of the median errors of all measurements of a plan, relative to a row."""
    bounded = [(one, one.contributions) for one in plan.sets]
    return sum(m.typical() for one, bounds in bounded for m in one.measurements(bounds))


@pytest.mark.parametrize("epsilon", [1, 16])
def test_laplace_noise_errs_more_in_an_account_below_what_it_is_tried_for(monkeypatch, epsilon):
    texts = [
        SETS,
        "SELECT COUNT(*) AS n FROM visits",
        "SELECT COUNT(*) AS n, COUNT(amount) AS a, SUM(amount) AS s FROM visits WHERE amount > 3",
        "SELECT street, COUNT(*) AS n FROM visits GROUP BY street",
        "SELECT MEDIAN(amount) AS m FROM visits",
        "SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE amount > 3) AS a FROM visits",
        "SELECT COUNT(*) AS n, AVG(amount) FILTER (WHERE amount > 3) AS m FROM visits",
    ]
    asked = Price(epsilon, 1e-6)
    queries = [read(text, schema(unit)) for text in texts for unit in (None, EachRow())]
    plans = [MeasurementPlan.of(query, asked, measure=MU_SQUARED) for query in queries]
    monkeypatch.setattr(planning, "_GAUSSIAN_BELOW", 0)
    for query, plan in zip(queries, plans, strict=True):
        assert MeasurementPlan.of(query, asked, measure=MU_SQUARED) == plan
        assert {one.noise_kind for one in plan.sets} == {NoiseKind.GAUSSIAN}
