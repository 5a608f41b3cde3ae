"""Online multiplicative weights: what is paid, what is told, and what its intervals hold."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BudgetError, InputError
from discreet.mechanisms.sparse_vector import SparseVectorRun
from discreet.plan.kinds import Kind
from discreet.privacy import EPSILON, MU_SQUARED, RHO, Neighbours
from discreet.privacy.budgets.charges import price
from discreet.workload import hypothesis, online
from discreet.workload.counting_query import CountingQuery
from discreet.workload.domain import Attribute, Domain
from discreet.workload.histogram import JointHistogram
from discreet.workload.hypothesis import Hypothesis
from discreet.workload.online import OnlinePlan, OnlineSession, OnlineState, open_state
from online_cases import DOMAIN, histogram, queries, rows


def plan(**options):
    defaults = {"epsilon": 2, "delta": 1e-6, "updates": 4, "restarts": 1, "queries": 100}
    return OnlinePlan.of(DOMAIN, **{**defaults, **options})


def opened(data=None, **options):
    counted = data or histogram()
    return OnlineSession(open_state(plan(**options), counted), counted)


@pytest.mark.parametrize("measure", [RHO, MU_SQUARED])
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_all_parts_together_cost_no_more_than_the_filter_holds(measure, neighbours):
    one = plan(measure=measure, neighbours=neighbours)
    left = one.filter
    for part in one.guarantees:
        left = left.charge(price(part, measure))
    assert left.left.amount < one.amount / 1000
    assert one.filter.guarantee.delta(2).upper <= one.delta


def test_pairs_of_few_columns_are_measured_when_a_session_opens():
    data, one = histogram(), plan(epsilon=40)
    state = open_state(one, data)
    assert {m.clique: m.mu_squared for m in state.measurements} == one.opening
    assert ("a", "c") in one.opening
    assert state.updates_left == one.updates
    for pair in one.pairs:
        assert np.abs(state.hypothesis.marginal(pair) - data.marginal(pair)).max() < 60


def test_a_marginal_is_fitted_to_pairs_for_a_bounded_time(monkeypatch):
    """Work is counted: cells times axes for each pair in each round."""
    names = [f"c{at:02}" for at in range(20)]
    domain = Domain(tuple(Attribute(n, Kind.INTEGER, (0, 1), nullable=False) for n in names))
    rows = {name: np.arange(4096) >> at % 12 & 1 for at, name in enumerate(names)}  # 12 repeats 0
    fitted, true = [], hypothesis.raked

    def spied(table, axes, wanted):
        if set(axes) <= set(names):  # pairs are freed of noise by it too
            fitted.append((table.size * table.ndim * len(wanted), set(wanted)))
        return true(table, axes, wanted)

    data = JointHistogram.of(rows, domain)
    found = open_state(OnlinePlan.of(domain, epsilon=40, delta=1e-6), data).hypothesis
    monkeypatch.setattr(hypothesis, "raked", spied)
    tables = [found.marginal(tuple(names[:width])) for width in (3, 13, 16, 19)]
    assert max(work for work, _ in fitted) <= hypothesis.MOST_WORK
    assert [len(pairs) for _, pairs in fitted] == [3, 78, 8, 0]
    repeated = {(names[at], names[at + 12]) for at in range(4)}
    assert repeated <= fitted[2][1]  # the most dependent ones
    same = tables[2].sum(axis=tuple(at for at in range(16) if at not in (0, 12)))
    assert same == pytest.approx(np.diag([2048, 2048]), abs=100)
    assert tables[3].sum() == pytest.approx(found.rows)


def test_a_session_that_was_stored_without_pairs_goes_on_as_it_was_priced():
    stored = plan().to_dict()
    assert stored.pop("with_pairs")
    old = OnlinePlan.from_dict(stored)
    assert old.to_dict() == stored
    assert set(old.opening) == {("a",), ("b",), ("c",)}
    assert old.gate_epsilon > plan().gate_epsilon
    spent = sum(price(part, RHO).amount for part in old.guarantees)
    assert old.amount * Fraction(999, 1000) < spent <= old.amount


def test_many_columns_are_not_measured_in_pairs(monkeypatch):
    monkeypatch.setattr(online, "MOST_PAIRS", 2)
    assert not plan().pairs
    assert OnlinePlan.of(DOMAIN, epsilon=2, delta=1e-6).updates == online.UPDATES_WITHOUT


def test_a_budget_counted_twice_is_refused_by_the_filter():
    one = opened().state
    spent = OnlineState(one.plan, one.measurements, one.plan.runs).filter
    assert spent.left.amount > 0
    with pytest.raises(BudgetError):
        _ = OnlineState(one.plan, one.measurements, one.plan.runs * 3).filter
    with pytest.raises(BudgetError):
        _ = OnlineState(one.plan, one.measurements * 11, one.plan.runs).filter


def test_updates_never_exceed_the_plan_and_answers_go_on_without_them():
    hard = OnlineSession(_with_threshold(opened().state, 1), histogram())
    told = [hard.ask(query) for query in queries(40)]
    assert sum(one.bought for one in told) == hard.state.plan.updates
    assert hard.state.updates_left == 0
    assert hard.state.runs_left == 0
    last = told[-1]
    assert not last.checked
    assert not last.bought
    assert last.low <= last.value <= last.high


def _with_threshold(state, rows_):
    tight = OnlinePlan.of(
        DOMAIN, epsilon=2, delta=1e-6, updates=4, restarts=1, queries=100
    ).to_dict()
    return OnlineState(OnlinePlan.from_dict({**tight, "threshold": str(rows_)}), state.measurements)


def test_intervals_hold_the_exact_answers_before_and_after_updates_run_out():
    data = histogram()
    session = opened(data)
    asked = queries(120)
    held = [_holds(session.ask(query), query, data) for query in asked]
    spent = OnlineSession(_with_threshold(session.state, 1), data)
    held += [_holds(spent.ask(query), query, data) for query in asked]
    assert spent.state.runs_left == 0
    assert np.mean(held) >= 0.95


def _holds(told, query, data):
    return told.low <= query.total(data.marginal(query.clique)) <= told.high


def test_a_hard_query_buys_its_whole_marginal(monkeypatch):
    data = histogram()
    session = opened(data)
    monkeypatch.setattr(SparseVectorRun, "ask", lambda _run, _value: True)
    query = CountingQuery(("a", "b", "c"), ((0,), (0,), (0,)))
    told = session.ask(query)
    assert told.bought
    assert session.state.measurements[-1].clique == ("a", "b", "c")
    exact = data.marginal(("a", "b", "c"))
    noisy = session.state.measurements[-1]
    assert np.abs(noisy.counts - exact).max() < 8 * noisy.sigma
    believed = session.hypothesis.marginal(("a", "b", "c"))
    assert np.abs(believed - exact).max() < 12 * noisy.sigma


class Scripted:
    """What a session released, to be told again on other data."""

    def __init__(self, monkeypatch, *, replay=None):
        self.released = [] if replay is None else list(replay)
        self._ask = SparseVectorRun.ask
        self._measure = online.measure_marginal

        def ask(run, value):
            if replay is not None:
                return self.released.pop(0)
            self.released.append(self._ask(run, value))
            return self.released[-1]

        def measure(*arguments):
            if replay is not None:
                return self.released.pop(0)
            self.released.append(self._measure(*arguments))
            return self.released[-1]

        monkeypatch.setattr(SparseVectorRun, "ask", ask)
        monkeypatch.setattr(online, "measure_marginal", measure)


def test_a_neighbour_sees_the_same_of_everything_but_released_numbers(monkeypatch):
    asked = queries(60)
    with monkeypatch.context() as patch:
        recorded = Scripted(patch)
        first = _everything(histogram(), asked)
    extra = {"a": 3, "b": 0, "c": 2}
    with monkeypatch.context() as patch:
        Scripted(patch, replay=recorded.released)
        second = _everything(histogram(extra=[extra]), asked)
    assert first == second


def _everything(data, asked):
    state = OnlineState(plan(), open_state(plan(), data).measurements)
    session = OnlineSession(_with_threshold(state, 20), data)
    told = [
        (one.value, one.low, one.high, one.checked, one.bought) for one in map(session.ask, asked)
    ]
    assert any(one[-1] for one in told)
    return told, session.state.to_bytes(), session.state.filter.spent


def test_answers_come_from_the_hypothesis_and_never_from_the_comparison(monkeypatch):
    session = opened()
    monkeypatch.setattr(SparseVectorRun, "ask", lambda _run, _value: False)
    query = queries(1)[0]
    believed = query.total(session.hypothesis.marginal(query.clique))
    told = session.ask(query)
    assert told.value == pytest.approx(min(max(believed, told.low), told.high))


class DiskFullError(Exception):
    """Nothing can be stored."""


def _ask_all(session):
    for query in queries(40):
        session.ask(query)


def test_a_step_is_stored_before_anything_of_it_is_told():
    stored = []

    def store(measured):
        stored.append("run" if measured is None else measured.clique)
        if measured is not None:
            raise DiskFullError

    data = histogram()
    session = OnlineSession(_with_threshold(opened(data).state, 1), data, store)
    before = session.hypothesis
    with pytest.raises(DiskFullError):
        _ask_all(session)
    assert stored[-1] == ("a", "b", "c")
    assert session.hypothesis is before
    assert session.state.updates_left == session.state.plan.updates


def test_a_saved_session_answers_the_same_for_nothing():
    data = histogram()
    session = OnlineSession(_with_threshold(opened(data).state, 1), data)
    for query in queries(5):
        session.ask(query)
    loaded = OnlineState.from_bytes(session.state.to_bytes())
    assert loaded.to_bytes() == session.state.to_bytes()
    assert loaded.filter.spent == session.state.filter.spent
    told = loaded.answer({"a": [0, 1]})
    exact = CountingQuery(("a",), ((0, 1),)).total(data.marginal(("a",)))
    assert told.low <= exact <= told.high
    assert not told.checked
    with pytest.raises(InputError, match="no online session"):
        OnlineState.from_bytes(b"{}\n")


def test_data_that_was_prepared_otherwise_is_refused():
    state = opened().state
    other = JointHistogram.of(rows(), DOMAIN, person=np.arange(4000), max_rows=2)
    with pytest.raises(InputError, match="not planned for"):
        OnlineSession(state, other)


def test_an_accuracy_decides_how_many_updates_are_paid_for():
    wide, tight = plan(updates=None, accuracy=2000), plan(updates=None, accuracy=150)
    assert wide.threshold == 2000
    assert wide.updates > tight.updates >= 1
    with pytest.raises(InputError, match="accuracy"):
        plan(updates=None, accuracy=1)
    with pytest.raises(InputError, match="delta"):
        plan(delta=0)
    with pytest.raises(InputError, match="counted by"):
        plan(measure=EPSILON)


def test_queries_over_too_many_cells_are_refused_whatever_the_data(monkeypatch):
    monkeypatch.setattr(online, "MOST_CELLS", 30)
    with pytest.raises(InputError, match="60 cells"):
        opened().ask(queries(1)[0])


def test_a_hypothesis_learns_a_marginal_and_keeps_what_it_knew():
    data = histogram()
    state = opened(data, epsilon=40).state
    new = online.measure_marginal(data, ("a", "b"), Fraction(10))
    learnt = Hypothesis(DOMAIN, state.measurements).updated(new)
    assert np.abs(learnt.marginal(("a", "b")) - data.marginal(("a", "b"))).max() < 60
    assert np.abs(learnt.marginal(("c",)) - data.marginal(("c",))).max() < 60
    assert learnt.marginal(("a", "c")).sum() == pytest.approx(learnt.rows, rel=1e-6)


def test_a_marginal_that_would_be_too_large_for_the_model_is_learnt_in_parts(monkeypatch):
    monkeypatch.setattr(hypothesis, "MODEL_CELLS", 40)
    monkeypatch.setattr(hypothesis, "DENSE_CELLS", 0)
    data = histogram()
    state = opened(data, epsilon=40).state
    new = online.measure_marginal(data, ("a", "b", "c"), Fraction(10))
    learnt = Hypothesis(DOMAIN, state.measurements).updated(new)
    assert max(len(one.clique) for one in learnt._lessons) == 2
    assert np.abs(learnt.marginal(("a", "b")) - data.marginal(("a", "b"))).max() < 100


def test_a_marginal_in_slices_is_the_same_marginal(monkeypatch):
    data = histogram()
    state = opened(data, epsilon=40).state
    learnt = Hypothesis(DOMAIN, state.measurements)
    for pair in (("a", "b"), ("b", "c")):
        learnt = learnt.updated(online.measure_marginal(data, pair, Fraction(10)))
    whole = learnt.marginal(("a", "c"))
    learnt._known.clear()
    monkeypatch.setattr(hypothesis, "_TABLE_CELLS", 1)
    assert np.allclose(learnt.marginal(("a", "c")), whole)
    assert learnt.marginal(()) == pytest.approx(learnt.rows)


def test_what_is_remembered_of_marginals_is_bounded(monkeypatch):
    monkeypatch.setattr(hypothesis, "KEPT_CELLS", 100)
    session = opened()
    for query in queries(50):
        session.ask(query)
    for known in (session.hypothesis._known, session._exact):
        assert len(known) == 1 or sum(one.size for one in known.values()) <= 100


@pytest.mark.parametrize("wrong", [{"restarts": 10**9}, {"updates": 10**9}, {"accuracy": 10**400}])
def test_sessions_without_end_are_refused(wrong):
    with pytest.raises(InputError, match="without end"):
        plan(**wrong)
