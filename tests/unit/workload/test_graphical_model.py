from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest

from discreet.workload.estimation import fit, targets
from discreet.workload.graphical_model import (
    GraphicalModel,
    JunctionTree,
    TableTooLarge,
    tree_cells,
)
from discreet.workload.histogram import JointHistogram, NoisyMarginal, measure_marginal
from small_tables import domain, people

NAMES = tuple("abcdef")


def random_model(seed):
    """A model with loops, a clique of three, and some impossible cells; and all of it in full."""
    rng = np.random.default_rng(seed)
    sizes = {name: int(rng.integers(2, 4)) for name in NAMES}
    chosen = [pair for pair in combinations(NAMES, 2) if rng.random() < 0.35]
    chosen.append(tuple(NAMES[i] for i in sorted(rng.choice(6, 3, replace=False))))
    potentials = {one: rng.normal(size=[sizes[n] for n in one]) for one in dict.fromkeys(chosen)}
    allowed = {("a", "d"): rng.random((sizes["a"], sizes["d"])) < 0.7}
    allowed["a", "d"][0, 0] = True
    model = GraphicalModel(sizes, potentials, 10.0, allowed if seed % 2 else {})
    full = np.exp(sum(_wide(sizes, one, t) for one, t in potentials.items()))
    for one, table in model.allowed.items():
        full = full * _wide(sizes, one, table)
    return model, np.broadcast_to(full, list(sizes.values())) * 10 / full.sum()


def _wide(sizes, axes, table):
    return table.reshape([sizes[n] if n in axes else 1 for n in NAMES]) + np.zeros(
        list(sizes.values())
    )


@pytest.mark.parametrize("seed", range(8))
def test_every_marginal_is_that_of_the_full_table(seed):
    model, full = random_model(seed)
    for ways in (1, 2, 3, 4):
        for names in combinations(reversed(NAMES), ways):
            wanted = np.einsum(full, list(range(6)), [NAMES.index(n) for n in names])
            assert np.allclose(model.marginal(names), wanted)


@pytest.mark.parametrize("seed", range(4))
def test_counting_queries_over_all_columns_are_exact(seed):
    model, full = random_model(seed)
    rng = np.random.default_rng(seed)
    query = {n: rng.random(model.sizes[n]) for n in NAMES}
    weighed = full
    for i, name in enumerate(NAMES):
        weighed = weighed * query[name].reshape([-1 if j == i else 1 for j in range(6)])
    wanted = weighed.sum()
    assert np.isclose(model.count(query), wanted)


def test_answers_agree_with_each_other():
    model, _ = random_model(3)
    pair = model.marginal(("a", "f"))
    assert np.allclose(pair.sum(axis=1), model.marginal(("a",)))
    assert np.allclose(pair.T, model.marginal(("f", "a")))


def test_a_tree_holds_its_cliques_and_is_connected_by_columns():
    sizes = dict.fromkeys(NAMES, 3)
    cliques = [*pairwise(NAMES), ("a", "f")]  # a loop, to be triangulated
    tree = JunctionTree.of(sizes, cliques)
    assert all(tree.home(one) is not None for one in cliques)
    assert tree.cells == tree_cells(sizes, cliques) == 4 * 27
    for name in NAMES:
        holding = [i for i, one in enumerate(tree.cliques) if name in one]
        inside = [i for i in holding if tree.parents[i] in holding]
        assert len(inside) == len(holding) - 1


def test_fitting_exact_marginals_gives_them_back():
    rows = JointHistogram.of(people(500), domain(bins=2))
    cliques = [("city", "age"), ("age", "income"), ("member",)]
    exact = [
        NoisyMarginal(one, rows.marginal(one), 1, Fraction(1, 100), Fraction(1)) for one in cliques
    ]
    start = GraphicalModel(rows.domain.sizes, {}, 1.0)
    found = fit(start, exact, iterations=3000, stop=1e-3)
    for one in exact:
        assert np.abs(found.model.marginal(one.clique) - one.counts).max() < 0.2


def test_fitting_goes_on_where_it_stopped():
    rows = JointHistogram.of(people(500), domain(bins=2))
    noisy = [measure_marginal(rows, ("city", "age"), Fraction(1, 100))]
    start = GraphicalModel(rows.domain.sizes, {}, 1.0)
    first = fit(start, noisy, iterations=5, stop=0.0)
    second = fit(first.model, noisy, iterations=5, stop=0.0, step=first.step)
    assert second.misfit <= first.misfit


def test_repeated_measurements_are_averaged_by_precision():
    one = NoisyMarginal(("a",), np.array([10, 20]), 1, Fraction(1), Fraction(1))
    other = NoisyMarginal(("a",), np.array([40, 20]), 1, Fraction(2), Fraction(1, 2))
    found = targets([one, other])["a",]
    assert found.counts.tolist() == [20.0, 20.0]
    assert np.isclose(found.variance, 2 / 3)


def test_impossible_cells_stay_empty_whatever_is_measured():
    allowed = {("a", "b"): np.array([[True, False], [True, True]])}
    noisy = NoisyMarginal(("a", "b"), np.array([[5, 50], [5, 5]]), 1, Fraction(4), Fraction(1))
    start = GraphicalModel({"a": 2, "b": 2}, {}, 1.0, allowed)
    found = fit(start, [noisy], iterations=50).model
    assert found.marginal(("a", "b"))[0, 1] == 0


def test_tables_on_the_way_to_a_marginal_stay_small():
    sizes = {"a": 10, "b": 10, "c": 10, "d": 5, "e": 5, "f": 50}
    cliques = [("a", "b", "c"), ("a", "d"), ("b", "e"), ("f",)]
    potentials = {one: np.zeros([sizes[n] for n in one]) for one in cliques}
    model = GraphicalModel(sizes, potentials, 10.0)
    found = model.marginal(("d", "e", "f"), most=5 * 5 * 50)
    assert np.allclose(found, 10 / 1250)
    with pytest.raises(TableTooLarge):
        model.marginal(("d", "e", "f"), most=1249)
