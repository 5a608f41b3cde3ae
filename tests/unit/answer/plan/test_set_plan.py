"""What is decided about a grouping set: shares, guarantees, and the form it is stored in."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.answer.plan.contribution_histogram import GROUPS, ROWS
from discreet.answer.plan.price import Price
from discreet.answer.plan.set_plan import (
    EXACT,
    FINDING,
    SetPlan,
    amount_for,
    cost_of,
    histogram_of,
    is_inner,
    is_ranked,
    second_share,
    words,
)
from discreet.answer.plan.thresholded_count import ThresholdedCount
from discreet.mechanisms import KeySelection
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.sensitivity import Strategy, apart
from discreet.plan.statistics import Distinct, People, Ranks, Rows, needed
from discreet.privacy import GDP, Approximate, DiscreteLaplaceNoise, Neighbours, Pure, Ranges
from discreet.privacy.budgets.charges import EPSILON, MU_SQUARED, price
from discreet.sql.reader.read import read
from planned import plan_set
from visits import EachRow, Limits, schema

LAPLACE, GAUSSIAN = NoiseKind.LAPLACE, NoiseKind.GAUSSIAN
ADD, CHANGE = Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE
BY_CITY = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
BY_STREET = "SELECT street, SUM(amount) AS n FROM visits GROUP BY street"
PEOPLE = "SELECT street, COUNT(DISTINCT person) AS n FROM visits GROUP BY street"
MANY = "SELECT MEDIAN(amount) AS q, COUNT(DISTINCT street) AS d, COUNT(*) AS n FROM visits"
PRICE = Price(1, 1e-6)


def asked(text, limits=None, unit=None):
    return read(text, schema(unit, limits or Limits(2, 4)))


def planned(text, noise_kind=LAPLACE, limits=None, neighbours=ADD):
    return plan_set(asked(text, limits), PRICE, noise_kind, neighbours)


def made(text, noise_kind=LAPLACE, neighbours=ADD, **decided):
    query = asked(text)
    costs = {one: Fraction(i + 1, 10) for i, one in enumerate(apart(needed(query)))}
    return SetPlan(query, noise_kind, neighbours, costs, **decided)


@pytest.mark.parametrize("text", [BY_CITY, BY_STREET, PEOPLE, MANY])
@pytest.mark.parametrize("noise_kind", list(NoiseKind))
@pytest.mark.parametrize("limits", [Limits(2, 4), Limits(max_groups=1)])
@pytest.mark.parametrize("neighbours", [ADD, CHANGE])
def test_what_is_stored_is_read_back_as_it_was(text, noise_kind, limits, neighbours):
    plan = planned(text, noise_kind, limits, neighbours)
    stored = json.loads(json.dumps(plan.to_dict()))
    assert SetPlan.from_dict(stored, plan.query, neighbours) == plan


def test_the_stored_form_never_changes():
    plan = made(
        PEOPLE,
        contributions=ContributionBounds(LAPLACE, 8, 2),
        shared=People(None),
        hidden=Fraction(1, 100),
    )
    assert plan.to_dict() == {
        "noise": "laplace",
        "bounds": [8, 2],
        "histograms": [],
        "histogram_epsilon": "0",
        "keys": None,
        "count": 0,
        "count_delta": "1/100",
        "measured": [[[0], "1/10"]],
    }
    chosen = made(
        BY_STREET,
        GAUSSIAN,
        histograms=(ROWS, GROUPS),
        choice=Fraction(1, 5),
        keys=Price(Fraction(1, 4), Fraction(1, 9)),
    )
    assert chosen.to_dict() == {
        "noise": "gaussian",
        "bounds": None,
        "histograms": ["rows", "groups"],
        "histogram_epsilon": "1/5",
        "keys": ["1/4", "1/9"],
        "count": None,
        "count_delta": "0",
        "measured": [[[0], "1/10"]],
    }


def counting(noise_kind, choice, **costs):
    query = asked("SELECT COUNT(*) AS n, SUM(amount) AS total FROM visits", Limits())
    paid = dict(zip(apart(needed(query)), costs.values(), strict=True))
    made = SetPlan(query, noise_kind, ADD, paid, histograms=(ROWS,), choice=choice)
    return replace(made, histogram_noise=noise_kind)


@pytest.mark.parametrize(
    ("noise_kind", "share"), [(LAPLACE, Fraction(1, 3)), (GAUSSIAN, Fraction(1, 5))]
)
def test_one_measurement_pays_epsilon_for_a_second_histogram_and_all_of_them_rho(noise_kind, share):
    plan = counting(noise_kind, Fraction(1, 10), n=Fraction(3, 10), total=Fraction(1, 5))
    assert second_share(plan) == share
    both = replace(plan, histograms=(ROWS, GROUPS), choice=Fraction(1, 5))
    assert second_share(both) == share
    half = counting(noise_kind, Fraction(1, 10), n=Fraction(1, 5), total=Fraction(0))
    assert second_share(half) == Fraction(1, 2)
    dear = counting(noise_kind, Fraction(3, 10), n=Fraction(3, 10), total=Fraction(1, 5))
    assert second_share(dear) == 0  # more than half


@pytest.mark.parametrize(
    ("text", "decided"),
    [
        (BY_STREET, {"keys": PRICE}),
        ("SELECT COUNT(*) AS n FROM visits", {"histograms": (GROUPS,)}),
        ("SELECT COUNT(*) AS n FROM visits", {"histogram_noise": GAUSSIAN}),
        ("SELECT COUNT(DISTINCT person) AS n FROM visits", {}),
        ("SELECT MEDIAN(amount) AS n FROM visits", {}),
        ("SELECT COUNT(*) AS n FROM visits", None),
    ],
)
def test_a_second_histogram_needs_public_groups_limits_on_rows_and_a_sum_of_rows(text, decided):
    chosen = {"histograms": (ROWS,), "choice": Fraction(1, 100)} | (decided or {})
    assert (second_share(made(text, **chosen)) > 0) is (decided is None)


def below(law, odds):
    """The delta of a symmetric law at odds e^odds, also below 1."""
    if odds >= 0:
        return float(law.delta(odds).upper)
    return 1 - math.exp(odds) * (1 - float(law.delta(-odds).upper))


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)])
@pytest.mark.parametrize("share", [Fraction(1, 9), Fraction(1, 3), Fraction(1, 2)])
def test_a_second_histogram_and_laplace_noise_are_below_the_curve_that_is_told(epsilon, share):
    """An epsilon alone would be less than what an answer tells of the noise it has."""
    plan = counting(LAPLACE, share * epsilon, n=epsilon, total=Fraction(0))
    plan = replace(plan, second=second_share(plan))
    assert plan.second == share
    first, *_ = plan.measurements(plan.bounds(1, 1))
    told, counted = first.mechanism.guarantee, plan.histogram.guarantee
    assert (counted.epsilon0, counted.sensitivity) == (share * epsilon, 1)
    moved = math.floor((1 - share) * told.sensitivity)
    rows = DiscreteLaplaceNoise(epsilon * moved / told.sensitivity, moved)
    a = float(counted.epsilon0)
    for part in range(20):
        odds = float(epsilon) * part / 20
        joint = (math.exp(a) * below(rows, odds - a) + below(rows, odds + a)) / (1 + math.exp(a))
        assert joint <= float(told.delta(odds).upper) * (1 - 1e-9)


def test_ten_groups_have_no_second_histogram():
    arms = " ".join(f"WHEN amount > {i} THEN {i}" for i in range(2, 10))
    for first, groups in (("", 9), ("WHEN amount > 1 THEN 1", 10)):
        case = f"CASE {first} {arms} ELSE 0 END"
        text = f"SELECT {case} AS a, COUNT(*) AS n FROM visits GROUP BY 1"  # noqa: S608 - made here
        plan = made(text, histograms=(ROWS,), choice=Fraction(1, 100))
        assert plan.query.group_count == groups
        assert (second_share(plan) > 0) is (groups == 9)


def test_a_second_histogram_is_stored_and_read_and_older_plans_have_none():
    plan = counting(LAPLACE, Fraction(1, 10), n=Fraction(3, 10), total=Fraction(1, 5))
    chosen = replace(plan, second=second_share(plan))
    stored = chosen.to_dict()
    assert stored["second_histogram"] == "1/3"
    assert SetPlan.from_dict(stored, plan.query, ADD) == chosen
    assert chosen.guarantees == plan.guarantees
    assert chosen.bounds(5, 2) == ContributionBounds(LAPLACE, 5, 2, 20, Fraction(2, 3))
    assert plan.bounds(5, 2) == ContributionBounds(LAPLACE, 5, 2)
    older = {name: one for name, one in stored.items() if name != "second_histogram"}
    assert SetPlan.from_dict(older, plan.query, ADD).second == 0
    with pytest.raises(ValueError, match="second_histogram"):
        SetPlan.from_dict(stored | {"second_histogram": "1/4"}, plan.query, ADD)


def test_histograms_with_gaussian_noise_are_stored_by_their_rho():
    chosen = made(
        BY_CITY, GAUSSIAN, histograms=(ROWS,), choice=Fraction(1, 5), histogram_noise=GAUSSIAN
    )
    stored = chosen.to_dict()
    assert "histogram_epsilon" not in stored
    assert stored["histogram_rho"] == "1/5"
    assert SetPlan.from_dict(stored, chosen.query, ADD) == chosen


def test_groups_are_found_by_a_selection_by_a_count_or_not_at_all():
    two = ContributionBounds(LAPLACE, 8, 2)
    assert made(BY_CITY).selection(two) is None
    assert not made(BY_CITY).finds_keys

    cost = Price(Fraction(1, 4), Fraction(1, 9))
    keys = made(BY_STREET, neighbours=CHANGE, keys=cost)
    assert keys.finds_keys
    assert keys.selection(two) == KeySelection(
        epsilon=cost.epsilon, delta=cost.delta, max_groups_per_unit=2, neighbours=CHANGE
    )

    shared = made(PEOPLE, shared=People(None), hidden=Fraction(1, 100))
    assert shared.finds_keys
    noise = shared.noises(two)[People(None)]
    assert shared.selection(two) == ThresholdedCount(noise, Fraction(1, 100), 2)


def test_a_person_helps_to_find_so_many_groups_that_each_has_a_thousandth_of_epsilon():
    keys = made(BY_STREET, keys=Price(Fraction(1, 4), Fraction(1, 9)))
    assert [keys.findable(groups) for groups in (1, 249, 250, 251, 9999)] == [1, 249, 250, 250, 250]
    assert made(BY_STREET, keys=Price(1, Fraction(1, 9))).findable(9999) == 1000
    assert made(BY_CITY).findable(9999) == 9999


def test_totals_come_before_different_values_and_cells_are_no_numbers():
    plan = made(MANY)
    kinds = [type(one.statistics[0]) for one in plan.costs]
    assert kinds == [Ranks, Distinct, Rows]
    assert [type(one.statistics[0]) for one in plan.added] == [Rows, Distinct]
    assert [is_ranked(one) for one in plan.costs] == [True, False, False]


@pytest.mark.parametrize("neighbours", [ADD, CHANGE])
def test_measurements_have_the_costs_of_the_plan_and_its_neighbours(neighbours):
    plan = made(MANY, GAUSSIAN, neighbours)
    found = plan.measurements(ContributionBounds(GAUSSIAN, 3, 2))
    assert [one.cost for one in found] == list(plan.costs.values())
    assert {one.neighbours for one in found} == {neighbours}
    assert {one.whole for one in found} == {False}
    assert {one.contributions.rows for one in found} == {3}
    by_row = replace(plan, query=asked(MANY, unit=EachRow()))
    assert {one.whole for one in by_row.measurements(ContributionBounds(GAUSSIAN, 1, 1))} == {True}


def test_shares_of_the_price_add_up_and_what_goes_along_is_free():
    for kind in NoiseKind:
        plan = planned(MANY, kind)
        assert sum(plan.share(one) for one in needed(plan.query)) == 1
    plan = planned("SELECT COUNT(*) AS n, AVG(amount) AS m FROM visits")
    rows, total = needed(plan.query)
    assert (plan.share(rows), plan.share(total)) == (1, 0)
    # Gaussian costs are rho: ranks pay more of mu^2 for theirs than counts do.
    plan = made(MANY, GAUSSIAN)
    ranks, distinct, rows = needed(plan.query)
    amounts = [Fraction(1, 10) * Fraction(355, 113), Fraction(2, 10) * 2, Fraction(3, 10) * 2]
    shares = [plan.share(one) for one in (ranks, distinct, rows)]
    assert shares == [one / sum(amounts) for one in amounts]


@pytest.mark.parametrize(("neighbours", "buckets"), [(ADD, 1), (CHANGE, 2)])
def test_a_person_is_in_one_bucket_of_each_histogram(neighbours, buckets):
    plan = made(BY_CITY, neighbours=neighbours, histograms=(ROWS, GROUPS), choice=Fraction(1, 5))
    histogram = plan.histogram
    assert (histogram.epsilon, histogram.sensitivity) == (Fraction(1, 10), buckets)
    assert histogram.neighbours is neighbours
    assert plan.histogram_scale == histogram.scale == 10 * buckets
    assert list(plan.norms) == [ROWS, GROUPS]
    assert (plan.norms[GROUPS].groups, plan.norms[GROUPS].found) == (3, False)
    streets = made(BY_STREET, histograms=(GROUPS,), choice=Fraction(1, 5))
    assert list(streets.norms) == [GROUPS]
    assert (streets.norms[GROUPS].groups, streets.norms[GROUPS].found) == (100, True)


@pytest.mark.parametrize(("neighbours", "square"), [(ADD, 1), (CHANGE, 2)])
def test_gaussian_histograms_have_the_mu_that_is_stated_for_them(neighbours, square):
    """Changing a person moves two buckets by 1: the root of 2 in l2."""
    plan = made(
        BY_CITY,
        GAUSSIAN,
        neighbours,
        histograms=(ROWS, GROUPS),
        choice=Fraction(1, 5),
        histogram_noise=GAUSSIAN,
    )
    each = GDP.of_square(Fraction(1, 5), neighbours=neighbours)
    assert plan.guarantees[:2] == ((histogram_of(ROWS), each), (histogram_of(GROUPS), each))
    assert plan.histogram.guarantee == each
    assert square <= plan.histogram.sensitivity**2 <= square * (1 + Fraction(1, 10**9))
    assert float(plan.histogram.variance) == pytest.approx(5 * square)
    assert plan.histogram_scale == pytest.approx(math.sqrt(5 * square / 2))


@pytest.mark.parametrize("neighbours", [ADD, CHANGE])
def test_every_part_has_a_guarantee_whatever_bounds_are_chosen(neighbours):
    cost = Price(Fraction(1, 4), Fraction(1, 9))
    plan = made(MANY, LAPLACE, neighbours, histograms=(ROWS,), choice=Fraction(1, 5), keys=cost)
    assert plan.guarantees == (
        ("people by rows", Pure(Fraction(1, 5), neighbours=neighbours)),
        (FINDING, Approximate(Fraction(1, 4), Fraction(1, 9), neighbours=neighbours)),
        ("Ranks", Pure(Fraction(1, 10), neighbours=neighbours)),
        ("Distinct", Pure(Fraction(2, 10), neighbours=neighbours)),
        ("Rows", Pure(Fraction(3, 10), neighbours=neighbours)),
    )
    plan = made(MANY, GAUSSIAN, neighbours, shared=Rows(None), hidden=Fraction(1, 100))
    assert plan.guarantees == (
        (FINDING, Approximate(0, Fraction(1, 100), neighbours=neighbours)),
        ("Ranks", Ranges(Fraction(1, 10), neighbours=neighbours)),
        ("Distinct", GDP.of_square(Fraction(4, 10), neighbours=neighbours)),
        ("Rows", GDP.of_square(Fraction(6, 10), neighbours=neighbours)),
    )


def test_histograms_share_what_choosing_costs():
    plan = made(BY_CITY, histograms=(ROWS, GROUPS), choice=Fraction(1, 5))
    assert plan.guarantees[:2] == (
        (histogram_of(ROWS), Pure(Fraction(1, 10))),
        (histogram_of(GROUPS), Pure(Fraction(1, 10))),
    )
    assert (FINDING, EXACT) == ("which groups there are", "exact choice")


def test_strategies_are_told_in_words():
    rows, total = needed(asked("SELECT COUNT(*) AS n, AVG(amount) AS m FROM visits"))
    assert words(Strategy.of((rows, total))) == "Rows and Total"


def test_a_price_buys_epsilon_or_the_mu_squared_that_its_delta_allows():
    one, delta = Fraction(1), Fraction(1, 10**6)
    assert amount_for(one, delta, LAPLACE) == one
    assert amount_for(one, delta, LAPLACE, EPSILON) == one
    assert amount_for(one, Fraction(0), LAPLACE, MU_SQUARED) == one
    assert amount_for(one, Fraction(0), GAUSSIAN) == 0
    square = amount_for(one, delta, GAUSSIAN)
    assert 0 < square == amount_for(one, delta, GAUSSIAN, MU_SQUARED)
    # Under an account in mu^2 Laplace noise has the epsilon that so much mu^2 pays for.
    bought = amount_for(one, delta, LAPLACE, MU_SQUARED)
    assert price(Pure(bought), MU_SQUARED).amount <= square
    assert price(Pure(bought * Fraction(101, 100)), MU_SQUARED).amount > square


def test_the_cost_of_ranks_is_charged_at_pi_and_rounded_against_the_spender():
    rank, count = made(MANY).costs, made(BY_CITY).costs
    (ranked, *_), (rows,) = rank, count
    amount = Fraction(1, 3)
    assert cost_of(ranked, amount, LAPLACE) == cost_of(rows, amount, LAPLACE) == amount
    assert cost_of(rows, amount, GAUSSIAN) == amount / 2
    rho = cost_of(ranked, amount, GAUSSIAN)
    assert Fraction(31415927, 10**7) * rho <= amount <= Fraction(3141593, 10**6) * rho


def test_a_stored_plan_that_does_not_suit_its_question_is_refused():
    plan = plan_set(asked(BY_CITY), PRICE, LAPLACE)
    with pytest.raises(ValueError, match="measured"):
        SetPlan.from_dict({**plan.to_dict(), "measured": []}, plan.query, ADD)


def test_a_plan_is_stored_with_the_count_that_finds_its_groups_measured_alone():
    plan = made(
        "SELECT street, COUNT(DISTINCT person) AS p, COUNT(*) AS n FROM visits GROUP BY street",
        contributions=ContributionBounds(LAPLACE, 8, 2),
        shared=People(None),
        hidden=Fraction(1, 100),
    )
    people, rows = needed(plan.query)
    assert (type(people), type(rows)) == (People, Rows)
    stored = plan.to_dict()
    assert SetPlan.from_dict(stored, plan.query, ADD) == plan
    with pytest.raises(ValueError, match="measured"):  # of rows, which is measured alone
        SetPlan.from_dict({**stored, "count": 1}, plan.query, ADD)
    mean = "SELECT street, COUNT(*) AS n, AVG(amount) AS m FROM visits GROUP BY street"
    by_row = asked(mean, unit=EachRow())
    apart_, together = [[[0], "1/10"], [[1], "1/10"]], [[[0, 1], "1/10"]]
    assert SetPlan.from_dict({**stored, "measured": apart_}, by_row, ADD).shared == Rows(None)
    with pytest.raises(ValueError, match="measured"):
        SetPlan.from_dict({**stored, "measured": together}, by_row, ADD)


def test_what_a_plan_has_measured_is_no_part_of_it():
    plan, bounds = made(MANY, GAUSSIAN), ContributionBounds(GAUSSIAN, 3, 2)
    same = made(MANY, GAUSSIAN)
    dearer = replace(plan, costs={one: 2 * cost for one, cost in plan.costs.items()})
    assert plan.measurements(bounds) is plan.measurements(bounds)
    assert (plan, repr(plan)) == (same, repr(same))
    again = replace(plan, costs=dearer.costs)
    assert [one.cost for one in again.measurements(bounds)] == list(dearer.costs.values())


def test_quantiles_with_values_on_both_sides_are_inner():
    query = asked("SELECT MEDIAN(amount) AS q, MAX(amount) AS top, COUNT(*) AS n FROM visits")
    assert [is_inner(one) for one in query.aggregates] == [True, False, False]
    ends = [replace(query.aggregates[0], level=Fraction(level)) for level in (0, 1)]
    assert [is_inner(one) for one in ends] == [False, False]
