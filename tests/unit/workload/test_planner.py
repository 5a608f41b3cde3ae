"""The planner takes the strategy that errs least, predicts its error, and says why."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.plan.kinds import Kind
from discreet.workload.counting_query import CountingQuery
from discreet.workload.domain import Attribute, Domain
from discreet.workload.histogram import JointHistogram
from discreet.workload.planner import answer, plan_workload
from online_cases import DOMAIN, histogram


def line(cells):
    column = Attribute("x", Kind.INTEGER, tuple(range(cells)), nullable=False)
    domain = Domain((column,))
    data = JointHistogram.of({"x": np.arange(5 * cells) % cells}, domain)
    asked = [
        CountingQuery(("x",), (tuple(range(low, min(low + width, cells))),))
        for low in range(0, cells, max(1, cells // 60))
        for width in (cells // 4, cells // 2)
    ]
    return data, asked


def chosen(data, asked):
    return plan_workload(asked, data, Fraction(1, 20))[1].chosen


def test_each_kind_of_workload_has_its_own_best_strategy():
    assert chosen(histogram(), [CountingQuery(("a",), ((1,),))]) in {
        "independent",
        "matrix mechanism",
    }
    assert chosen(*line(100)) == "matrix mechanism"
    assert chosen(*line(5000)) == "range blocks"


def test_few_columns_of_many_are_answered_by_residual_marginals():
    names = [f"c{i}" for i in range(8)]
    domain = Domain(
        tuple(Attribute(n, Kind.INTEGER, tuple(range(9)), nullable=False) for n in names)
    )
    place = np.arange(3000)
    data = JointHistogram.of({n: (place * (i + 3)) % 9 for i, n in enumerate(names)}, domain)
    asked = [
        CountingQuery((names[i], names[j]), ((first,), (second,)))
        for i in range(8)
        for j in range(i + 1, 8)
        for first in range(9)
        for second in range(9)
    ]
    found = answer(asked, data, epsilon=1, delta=1e-6, rows=3000)
    assert found.choice.chosen == "residual marginals"
    assert "43,046,721 cells are too many" in str(found.choice)
    assert "mwem: not predicted" in str(found.choice)
    exact = np.array([q.total(data.marginal(q.clique)) for q in asked])
    inside = np.abs(found.values - exact) <= found.half_widths(0.95)
    assert 0.9 < inside.mean() < 0.99
    error = np.sqrt(((found.values - exact) ** 2).mean())
    assert error == pytest.approx(found.choice.errors["residual marginals"], rel=0.15)


@pytest.mark.parametrize("cells", [64, 2000])
def test_the_predicted_error_is_the_error_or_more(cells):
    data, asked = line(cells)
    found = answer(asked, data, epsilon=1, delta=1e-6)
    exact = np.array([q.total(data.marginal(q.clique)) for q in asked])
    assert np.abs(found.values - exact).mean() < 1.3 * found.deviations.mean()
    assert found.guarantee.delta(1).upper <= 1e-6


def test_a_strategy_that_was_chosen_before_is_taken_again():
    data, asked = line(100)
    for name in ("identity", "range blocks", "independent"):
        assert plan_workload(asked, data, Fraction(1), only=name)[0].name == name


def test_no_queries_are_refused():
    with pytest.raises(InputError, match="no queries"):
        answer([], histogram(), epsilon=1, delta=1e-6)


def test_every_strategy_answers_close_to_the_truth_for_much_budget():
    data = histogram()
    asked = [CountingQuery(("a", "b"), ((0, 1), (2,))), CountingQuery(("c",), ((1,),))]
    from discreet.workload import planner

    at = planner._Setting(DOMAIN, tuple(asked), Fraction(40), data)
    strategies, _ = planner._strategies(at)
    exact = [q.total(data.marginal(q.clique)) for q in asked]
    for one in strategies:
        assert np.abs(one.answer(data) - exact).max() < 8 * one.deviations.max(), one.name
