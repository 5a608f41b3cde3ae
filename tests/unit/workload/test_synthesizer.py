from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from discreet.audit.replay import replay
from discreet.errors import InputError, InvariantBroken
from discreet.plan.kinds import Kind
from discreet.privacy import Neighbours
from discreet.workload import candidates, synthesizer
from discreet.workload.candidates import coarsen, score_noise
from discreet.workload.domain import Attribute, Domain
from discreet.workload.histogram import JointHistogram, total_variation
from discreet.workload.synthesizer import SynthesisPlan, structural_zeros, synthesize
from small_tables import domain, people

MANY = Fraction(4)
ROWS = people(150)


def run(rows, plan):
    made = synthesize(JointHistogram.of(rows, plan.domain), plan)
    return [one.steps.tobytes() for one in made.measured], made.model.marginal(("city", "age"))


@pytest.fixture
def plan():
    return SynthesisPlan(domain(bins=20), Fraction(1, 4))


def test_a_whole_run_shows_a_neighbour_nothing_but_released_numbers(plan):
    differences = replay(lambda rows: run(rows, plan), ROWS, ROWS.slice(1))
    assert not differences, str(differences)


def test_a_choice_by_exact_distances_is_seen(plan, monkeypatch):
    def peek(self, several, model, mu_squared):
        del mu_squared
        tables = {one.pair: model.marginal(one.pair) for one in several}
        return np.array([self._distance(one, tables[one.pair]) for one in several], dtype=float)

    monkeypatch.setattr(candidates.Scorer, "release", peek)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthesizer._Run, "finish", lambda self: self)

        def choices(rows):
            made = synthesize(JointHistogram.of(rows, plan.domain), plan)
            return repr(made.scores)

        assert replay(choices, ROWS, ROWS.slice(1))


def test_what_is_spent_is_what_is_planned_to_the_last_digit(plan):
    made = synthesize(JointHistogram.of(ROWS, plan.domain), plan)
    assert made.spent == plan.mu_squared
    marginals = sum(one.mu_squared for one in made.measured)
    assert marginals < plan.mu_squared - plan.scores - plan.check
    assert plan.guarantee.mu == Fraction(1, 2)


def test_a_budget_that_is_counted_twice_is_caught(plan, monkeypatch):
    measure = synthesizer._Run._measure

    def twice(self, one, mu_squared):
        measure(self, one, mu_squared * 2)

    monkeypatch.setattr(synthesizer._Run, "_measure", twice)
    with pytest.raises(InvariantBroken, match="more than was charged"):
        synthesize(JointHistogram.of(ROWS, plan.domain), plan)


def test_noise_is_that_of_the_sensitivity_of_each_kind_of_neighbours():
    rows = JointHistogram.of(ROWS, domain())
    owned = JointHistogram.of(ROWS, domain(), person=np.arange(150) % 50, max_rows=3)
    swapped = replace(rows, neighbours=Neighbours.CHANGE_ONE)
    mu_squared = Fraction(1, 10)
    assert rows.noise(5, mu_squared).variance == 10
    assert swapped.noise(5, mu_squared).variance == 20
    assert owned.noise(5, mu_squared).variance == 10 * owned.person_weight**2
    assert score_noise(rows, 7, mu_squared).variance == 70
    assert score_noise(swapped, 7, mu_squared).variance == 280
    assert score_noise(owned, 7, mu_squared).guarantee.mu ** 2 == pytest.approx(0.1)


def test_distances_move_by_no_more_than_the_l1_sensitivity():
    rows, fewer = (JointHistogram.of(one, domain()) for one in (ROWS, ROWS.slice(1)))
    model = synthesize(rows, SynthesisPlan(domain(), MANY)).model
    pairs = candidates.Resolutions(domain(), {}).candidates(10**6)
    for one in pairs:
        table = model.marginal(one.pair)
        both = [candidates.Scorer(h)._distance(one, table) for h in (rows, fewer)]
        assert abs(both[0] - both[1]) <= rows.l1_sensitivity()


def test_with_little_noise_the_model_is_near_the_data():
    cells = domain(bins=4)
    rows = JointHistogram.of(people(4000), cells)
    made = synthesize(rows, SynthesisPlan(cells, MANY))
    for pair in combinations(cells.names, 2):
        assert total_variation(rows.marginal(pair).astype(float), made.model.marginal(pair)) < 0.05
    assert abs(made.model.total - 4000) < 40


def test_an_empty_table_can_be_synthesised():
    made = synthesize(JointHistogram.of(ROWS.slice(0, 0), domain()), SynthesisPlan(domain(), MANY))
    assert made.model.total >= 1
    assert made.spent <= MANY


def test_one_column_takes_everything():
    alone = Domain((domain()["city"],))
    made = synthesize(JointHistogram.of(ROWS, alone), SynthesisPlan(alone, MANY))
    assert made.spent == MANY
    assert len(made.measured) == 1


def test_a_workload_decides_which_pairs_are_measured(plan):
    aimed = replace(plan, workload=(("city", "member"),))
    made = synthesize(JointHistogram.of(ROWS, plan.domain), aimed)
    assert {one.clique for one in made.measured if len(one.clique) > 1} == {("city", "member")}


def test_what_needs_too_much_memory_is_refused_with_what_it_would_need():
    wide = Domain(
        tuple(Attribute(f"c{i}", Kind.INTEGER, edges=tuple(range(2001))) for i in range(40))
    )
    with pytest.raises(InputError, match=r"would need .* GB: at most 0.5 GB may be used"):
        SynthesisPlan(wide, MANY, max_memory=500_000_000)


def test_tables_stay_within_the_cells_they_may_have():
    small = replace(SynthesisPlan(domain(bins=20), MANY), max_cells=500)
    made = synthesize(JointHistogram.of(people(1000), domain(bins=20)), small)
    assert made.model.tree.cells <= 500


def test_constraints_that_nothing_keeps_are_refused():
    every = [{"city": [*domain()["city"].values, None]}]
    with pytest.raises(InputError, match="no row can meet"):
        SynthesisPlan(domain(), MANY, allowed=structural_zeros(domain(), every))


def test_a_plan_for_other_columns_is_refused(plan):
    with pytest.raises(InputError, match="not the plan's"):
        synthesize(JointHistogram.of(ROWS, domain()), plan)


def test_coarse_copies_keep_order_and_null():
    many = Attribute("x", Kind.INTEGER, edges=tuple(range(41)))
    groups = coarsen(many, np.r_[np.full(40, 10.0), 3.0])
    assert groups.max() == 8
    assert (np.diff(groups) >= 0).all()
    assert (groups == 8).sum() == 1
    named = Attribute("n", Kind.TEXT, tuple(map(str, range(20))), nullable=False)
    groups = coarsen(named, np.r_[np.zeros(18), 50.0, 90.0])
    assert groups[[18, 19]].tolist() == [1, 0]
    assert coarsen(domain()["city"], np.ones(4)) is None


def test_progress_is_told(plan):
    told = []
    synthesize(JointHistogram.of(ROWS, plan.domain), plan, lambda *now: told.append(now))
    assert told[-1] == (plan.rounds, plan.rounds)
    assert told == sorted(told)


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("mu_squared", [Fraction(1, 10**12), Fraction(1, 30), Fraction(100)])
def test_next_to_nobody_is_synthesised_like_everybody(rows, mu_squared):
    plan = SynthesisPlan(domain(bins=20), mu_squared)
    made = synthesize(JointHistogram.of(ROWS.slice(0, rows), plan.domain), plan)
    assert np.isfinite(made.model.marginal(("city", "age"))).all()
    assert made.spent <= mu_squared


@pytest.mark.parametrize("terms", [{"max_cells": 1}, {"workload": (("city",),)}])
def test_where_no_pair_can_be_measured_columns_are(terms):
    plan = SynthesisPlan(domain(bins=4), Fraction(1), **terms)
    made = synthesize(JointHistogram.of(ROWS, plan.domain), plan)
    assert {one.clique for one in made.measured} == {(name,) for name in plan.domain.names}
    assert sum(one.mu_squared for one in made.measured) == made.spent
    assert made.spent == plan.mu_squared - plan.check  # columns again, for what pairs would cost
    assert not made.distances


def test_a_small_table_is_no_worse_than_its_columns_alone():
    """Of 100 rows noise hides every pair: columns are measured again, not pairs by their noise."""
    cells = domain(bins=16)
    rows = JointHistogram.of(people(100), cells)
    made = synthesize(rows, SynthesisPlan(cells, Fraction(1, 400)))
    pairs = [one for one in made.measured if len(one.clique) > 1]
    assert len(pairs) <= len(made.measured) - 2 * len(cells)
    assert made.spent == Fraction(1, 400)


def test_noise_in_columns_does_not_hide_that_all_columns_depend_on_each_other():
    """Four groups decide 24 columns: nearly every round goes to a pair, not to a column again."""
    rng, names = np.random.default_rng(3), [f"c{i}" for i in range(24)]
    group, rows = rng.integers(0, 4, 6000), {}
    for name in names:
        laws = rng.dirichlet(np.full(8, 6.0), 4).cumsum(axis=1)
        rows[name] = (rng.random((6000, 1)) > laws[group]).sum(axis=1).clip(0, 7)
    cells = Domain(
        tuple(Attribute(n, Kind.INTEGER, tuple(range(8)), nullable=False) for n in names)
    )
    made = synthesize(JointHistogram.of(rows, cells), SynthesisPlan(cells, Fraction(1, 10)))
    assert sum(len(one.clique) == 2 for one in made.measured) > 30


def test_scores_are_moved_to_their_mean_by_as_much_as_noise_explains():
    scores = np.array([1.0, 5.0, 9.0])
    assert candidates.shrunk(scores, 0.0).tolist() == scores.tolist()
    assert candidates.shrunk(scores, 100.0).tolist() == [5.0, 5.0, 5.0]
    half = candidates.shrunk(scores, float(np.sqrt(scores.var() / 2)))
    assert half == pytest.approx([3.0, 5.0, 7.0])
