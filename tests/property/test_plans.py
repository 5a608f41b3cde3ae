"""Grown questions over poison: the engine agrees with the reference to the last integer, one person
moves nothing further than declared, and nothing but released numbers tells two neighbours apart.
"""

from dataclasses import replace
from functools import cache

import pytest

from discreet.answer.measurement_plan import answer
from discreet.answer.plan.price import Price
from discreet.engines.duckdb import DuckDBEngine
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.statistics import needed
from discreet.sql.writer.compile import CompiledQuery
from discreet.sql.writer.relations import render_relation
from recording import moved_too_far, plan_of, record
from reference.growth import Seeded
from reference.plan_growth import (
    POISON,
    SCHEMA,
    SINGLE,
    arrow,
    clean,
    grow_query,
    labels,
    stored_rows,
)
from reference.plans import statistics_of_groups

ROWS = 60
GONE = 1
WIDE = ContributionBounds(NoiseKind.LAPLACE, 1 << 40, 1 << 40)


@cache
def data(*, without=None):
    """An engine over poison, perhaps without one person; and the same rows as values."""
    columns = stored_rows(ROWS, "plans")
    stays = [owner != without for owner in columns["who"]]
    columns = {
        name: [v for v, stay in zip(values, stays, strict=True) if stay or without is None]
        for name, values in columns.items()
    }
    engine = DuckDBEngine()
    for table in (POISON, SINGLE):
        engine.store(table.name, arrow(columns))
    engine.store("labels", labels())
    engine.open(SCHEMA)
    return engine, clean(columns)


def disagreement(query):
    """Where the engine's integers are not those of the reference."""
    engine, tables = data()
    found = record(plan_of(query, WIDE), engine).totals
    counted = {key: total for key, total in found.items() if key[0] != "people" and total}
    meant = statistics_of_groups(query, needed(query), tables)
    meant = {key: total for key, total in meant.items() if total}
    return {
        key: (counted.get(key), meant.get(key))
        for key in {*counted, *meant}
        if counted.get(key) != meant.get(key)
    }


@pytest.mark.parametrize("table", [POISON, SINGLE], ids=["people", "rows"])
@pytest.mark.parametrize("seed", range(4))
def test_the_engine_agrees_with_the_reference_to_the_integer(table, seed):
    choose = Seeded(f"{table.name} {seed}")
    for _ in range(8):
        query = grow_query(choose, table)
        assert disagreement(query) == {}, query


@pytest.mark.audit
@pytest.mark.parametrize("table", [POISON, SINGLE], ids=["people", "rows"])
@pytest.mark.parametrize("seed", range(40))
def test_the_engine_agrees_with_the_reference_on_many_questions(table, seed):
    choose = Seeded(f"many {table.name} {seed}")
    for _ in range(40):
        query = grow_query(choose, table)
        assert disagreement(query) == {}, query


def test_a_union_that_loses_duplicates_is_caught(monkeypatch):
    import discreet.sql.writer.compile as room

    def lossy(relation, dialect, salt, *more):
        return render_relation(relation, dialect, salt, *more).replace("UNION ALL", "UNION")

    monkeypatch.setattr(room, "render_relation", lossy)
    choose = Seeded("planted")
    assert any(disagreement(grow_query(choose)) for _ in range(40))


def test_a_grid_that_is_one_step_off_is_caught(monkeypatch):
    import discreet.sql.writer.compile as room

    grid = room.on_grid
    monkeypatch.setattr(room, "on_grid", lambda text, *rest: f"({grid(text, *rest)} + 1)")
    choose = Seeded("planted")
    assert any(disagreement(grow_query(choose)) for _ in range(20))


# --- neighbours -----------------------------------------------------------------------------------


def moved(query, contributions):
    """What one person moves further than declared."""
    return moved_too_far(query, contributions, data()[0], data(without=GONE)[0])


@pytest.mark.parametrize("law", list(NoiseKind))
@pytest.mark.parametrize("seed", range(2))
def test_one_person_moves_no_statistic_of_a_grown_question_further_than_declared(seed, law):
    choose = Seeded(f"neighbours {seed} {law}")
    for _ in range(8):
        query = grow_query(choose)
        contributions = ContributionBounds(law, choose.one([1, 2, 5]), choose.one([1, 2, 3]))
        assert moved(query, contributions) == [], (query, contributions)


def test_a_person_who_is_not_weighed_is_caught(monkeypatch):
    weights = CompiledQuery.weights
    monkeypatch.setattr(
        CompiledQuery,
        "weights",
        lambda self, bounds: weights(self, replace(bounds, rows=2**30, groups=2**30)),
    )
    choose = Seeded("planted")
    assert any(
        moved(grow_query(choose), ContributionBounds(NoiseKind.LAPLACE, 2, 2)) for _ in range(20)
    )


def seen(release):
    """Everything about a release but its numbers."""
    return (
        release.table.schema,
        {name: width.type for name, width in release.half_widths.items()},
        {name: how.split(" ")[0] for name, how in release.how.items()},
        release.price,
        release.guarantee,
        release.costs,
        release.notes,
        release.facts,
        str(release.statement()),
    )


@pytest.mark.parametrize("seed", range(2))
def test_nothing_but_released_numbers_differs_between_neighbours(seed):
    choose = Seeded(f"replay {seed}")
    for _ in range(4):
        query = grow_query(choose)
        with_, without = (
            answer(query, data(without=gone)[0], Price(1, 0.01)) for gone in (None, GONE)
        )
        assert seen(with_) == seen(without), query
        if query.has_known_keys:
            keys = [name for name in with_.table.column_names if name.startswith("key ")]
            assert with_.table.select(keys) == without.table.select(keys), query
