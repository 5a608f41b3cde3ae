"""Grouping sets made consistent: least squares, and only where exact totals add up."""

from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from discreet.answer.estimate.consistency import (
    ConsistentSets,
    consistent_sets,
    make_consistent,
    shrunk_noises,
)
from discreet.answer.estimate.noisy_statistics import interpret
from discreet.answer.measurement_plan import MeasurementPlan
from discreet.answer.plan.price import Price
from discreet.engines.duckdb import DuckDBEngine
from discreet.noise.bits import Keystream, replaced
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.kinds import Kind
from discreet.plan.schema import Bounds, EachRow, Keys, Limits, Person, Schema, Table, column_type
from discreet.plan.statistics import Distinct, People, Rows, Total
from discreet.sql.reader.read import read

SIZES = (2, 3, 2)
SETS = [
    ((0, 1), (0,), ()),
    ((1, 0), (), (1,), (0,)),
    ((0,), (1,)),
    ((2, 0, 1), (1, 2), (0,), (0,)),
    ((0, 1, 2), (0, 1), (0, 2), (1, 2), (0,), (1,), (2,), ()),
]


def least_squares(axes, values, variances):
    """The same by brute force, over the cells of all keys: estimates, and variances of groups."""
    cells = list(product(*map(range, SIZES)))
    rows, noisy, weights = [], [], []
    for own, table, variance in zip(axes, values, variances, strict=True):
        for group, value in zip(product(*(range(SIZES[a]) for a in own)), table, strict=True):
            rows.append([tuple(cell[a] for a in own) == group for cell in cells])
            noisy.append(value)
            weights.append(variance**-0.5)
    design, root = np.array(rows, dtype=float), np.array(weights)
    inverse = np.linalg.pinv(design * root[:, None])
    fitted = design @ inverse @ (np.array(noisy) * root)
    spread = ((design @ inverse) ** 2).sum(axis=1)
    ends = np.cumsum([len(table) for table in values])[:-1]
    return np.split(fitted, ends), [part[0] for part in np.split(spread, ends)]


@pytest.mark.parametrize("axes", SETS)
def test_it_is_weighted_least_squares(axes):
    draw = np.random.default_rng(len(axes))
    values = [draw.normal(size=int(np.prod([SIZES[a] for a in own]))) for own in axes]
    variances = draw.uniform(0.5, 4, size=len(axes)).tolist()
    joint = ConsistentSets(tuple(range(len(axes))), axes, SIZES)
    best, spread = least_squares(axes, values, variances)
    for found, wanted in zip(joint.solve(values, variances), best, strict=True):
        assert found == pytest.approx(wanted)
    after = [v * r for v, r in zip(variances, joint.variance_ratios(variances), strict=True)]
    assert after == pytest.approx(spread)
    assert all(v <= before for v, before in zip(after, variances, strict=True))


# --- where exact totals add up --------------------------------------------------------------------

COLUMNS = {
    "person": column_type("person", Kind.INTEGER, nullable=False),
    "old": column_type("old", Kind.BOOLEAN, nullable=False),
    "ward": column_type("ward", Kind.INTEGER, Bounds(1, 3), nullable=False),
    "sick": column_type("sick", Kind.BOOLEAN),
    "city": column_type("city", Kind.TEXT, Keys(["Austin", "Haifa"])),
    "street": column_type("street", Kind.TEXT),
    "cost": column_type("cost", Kind.REAL, Bounds(0, 100), nullable=False),
}


def schema(unit=None, limits=None):
    return Schema({"visits": Table("visits", COLUMNS, unit or EachRow(), limits or Limits())})


def joined(text, unit=None, kind=NoiseKind.LAPLACE, limits=None):
    """Which sets of a question are made consistent with each other, by their places."""
    query = read(text, schema(unit, limits))
    plan = MeasurementPlan.of(query, Price(1, 1e-6), noise_kinds=(kind,))
    return [one.members for one in consistent_sets((s.query, s.contributions) for s in plan.sets)]


COUNTED = "SELECT COUNT(*) AS n FROM visits "


def test_complete_lists_add_up_also_with_null_as_a_group():
    assert joined(COUNTED + "GROUP BY ROLLUP (old, ward)") == [(0, 1, 2)]
    assert joined(COUNTED + "GROUP BY ROLLUP (sick)") == [(0, 1)]
    assert joined(COUNTED + "GROUP BY ROLLUP (CASE city WHEN 'Haifa' THEN 1 ELSE 0 END)") == [
        (0, 1)
    ]


def test_rows_may_be_outside_a_declared_list_but_not_where_a_condition_says_so():
    assert joined(COUNTED + "GROUP BY ROLLUP (city)") == []
    assert joined(COUNTED + "GROUP BY city, ROLLUP (old)") == [(0, 1)]
    assert joined(COUNTED + "GROUP BY CUBE (city, old)") == [(0, 1), (2, 3)]
    within = "WHERE cost > 1 AND city IN ('Austin', 'Haifa') "
    assert joined(COUNTED + within + "GROUP BY ROLLUP (city)") == [(0, 1)]
    either = "WHERE cost > 1 OR city IN ('Austin', 'Haifa') "
    assert joined(COUNTED + either + "GROUP BY ROLLUP (city)") == []


def test_found_groups_are_not_all_groups():
    assert joined(COUNTED + "GROUP BY ROLLUP (street)") == []
    assert joined(COUNTED + "GROUP BY GROUPING SETS ((street), (old), ())") == [(1, 2)]


def test_people_with_several_rows_have_one_weight_under_laplace_noise_alone():
    text, unit = COUNTED + "GROUP BY ROLLUP (old)", Person("person")
    stated = Limits(2, 3)
    assert joined(text, unit, NoiseKind.LAPLACE, stated) == [(0, 1)]
    assert joined(text, unit, NoiseKind.GAUSSIAN, stated) == []
    assert joined(text, unit, NoiseKind.LAPLACE) == []  # limits are chosen
    # 3 groups of 2 rows each and 2 of 3 are 6 rows; 3 of 3 are 9, and clip nobody alike
    assert joined(COUNTED + "GROUP BY GROUPING SETS ((ward), (old), ())", unit, limits=stated) == [
        (0, 1, 2)
    ]
    query = read(text, schema(unit, stated))
    bounds = [ContributionBounds(NoiseKind.LAPLACE, rows, 1) for rows in (6, 7)]
    assert consistent_sets([(query, bounds[0]), (query, bounds[1])]) == []
    assert len(consistent_sets([(query, bounds[0]), (query, bounds[0])])) == 1


def test_sets_of_very_many_keys_are_left_as_measured():
    names = [f"k{i}" for i in range(13)]
    keys = ", ".join(f"cost > {i} AS {name}" for i, name in enumerate(names))
    text = COUNTED.replace("COUNT", keys + ", COUNT", 1) + "GROUP BY GROUPING SETS "
    all_, fewer, fewest = (", ".join(names[:count]) for count in (13, 12, 11))
    assert joined(text + f"(({all_}), ())") == []
    assert joined(text + f"(({all_}), ({fewer}), ())") == []
    assert joined(text + f"(({fewer}), ({fewest}), ({names[12]}))") == [(0, 1, 2)]


def test_sets_whose_margins_read_very_many_groups_are_left_as_measured():
    """12 truth values that may be NULL have 3^12 groups, each read for 2^11 shared margins."""
    names = [f"k{i}" for i in range(12)]
    keys = ", ".join(f"NULLIF(sick, cost > {i}) AS {name}" for i, name in enumerate(names))
    text = COUNTED.replace("COUNT", keys + ", COUNT", 1) + "GROUP BY GROUPING SETS "
    all_, fewer = (", ".join(names[:count]) for count in (12, 11))
    assert joined(text + f"(({all_}), ({fewer}))") == []
    assert joined(text + f"(({all_}), ())") == [(0, 1)]


# --- answers --------------------------------------------------------------------------------------


def engine_of(about, rows):
    engine = DuckDBEngine()
    i = np.arange(rows)
    engine.store(
        "visits",
        pa.table(
            {
                "person": i // 12,  # each has more rows than the limits
                "old": i % 3 == 0,
                "ward": 1 + i % 3,
                "sick": pa.array([None if k % 5 == 0 else k % 2 == 0 for k in i.tolist()]),
                "city": ["Oslo" if k % 4 == 0 else "Haifa" for k in i.tolist()],
                "street": ["s"] * rows,
                "cost": i % 101.0,
            }
        ),
    )
    engine.open(about)
    return engine


MANY = (
    "SELECT old, ward, COUNT(*) AS n, SUM(cost) AS s, COUNT(DISTINCT city) AS d FROM visits "
    "GROUP BY ROLLUP (old, ward)"
)


@pytest.mark.parametrize("unit", [EachRow(), Person("person")])
def test_exact_totals_add_up_also_of_people_who_are_clipped(unit):
    """With hardly any noise, nothing is moved by making sets consistent: the claim it rests on."""
    about = schema(unit, Limits(2, 3))
    engine = engine_of(about, 600)
    plan = MeasurementPlan.of(read(MANY, about), Price(900), noise_kinds=(NoiseKind.LAPLACE,))
    parts = [interpret(*one) for one in zip(plan.sets, plan.measure(engine), strict=True)]
    engine.close()
    for before, after in zip(parts, make_consistent(parts), strict=True):
        for statistic, values in before.statistics.items():
            near = 20 * before.measurements[statistic].scale
            assert after.statistics[statistic] == pytest.approx(values, abs=near)
            same = isinstance(statistic, Distinct | People)
            assert (after.measurements[statistic].shrunk < 1) is not same
    rows = parts[-1].statistics[Rows(None)][0]
    assert rows == pytest.approx(600 if unit == EachRow() else 300, rel=0.02)


def test_answers_add_up_and_explain_tells_the_narrower_intervals():
    about = schema()
    engine = engine_of(about, 600)
    query = read(MANY, about)
    stream = Keystream(b"consistent answers".ljust(32))
    with replaced(lambda: stream):
        plan = MeasurementPlan.of(query, Price(1, 1e-6))
        drawn = plan.measure(engine)
    engine.close()
    rows = plan.present(drawn).to_arrow().to_pylist()
    fine, mid, all_ = rows[:6], rows[6:8], rows[8]
    assert sum(row["s"] for row in fine) == pytest.approx(all_["s"])
    for old, total in zip((False, True), mid, strict=True):
        assert sum(row["s"] for row in fine if row["old"] == old) == pytest.approx(total["s"])
        # each count is rounded to a whole number by itself
        assert abs(sum(row["n"] for row in fine if row["old"] == old) - total["n"]) <= 2
    for part, one in zip(plan.explain(engine.dialect).parts, plan.sets, strict=True):
        measured = one.noises(one.contributions)[Rows(None)]
        assert part.options[0].lines[0].scale == pytest.approx(measured.scale * measured.terms**0.5)
        assert part.options[0].expected["n"].half_width < measured.quantile(0.95)


def test_noise_is_shrunk_by_public_facts_alone():
    query = read(MANY, schema())
    plan = MeasurementPlan.of(query, Price(1, 1e-6), noise_kinds=(NoiseKind.GAUSSIAN,))
    sets = [(one.query, one.contributions) for one in plan.sets]
    noises = [one.noises(one.contributions) for one in plan.sets]
    shrunk = [one[Rows(None)].shrunk for one in shrunk_noises(sets, noises)]
    # One variance v in all sets: see the closed form in ConsistentSets.
    joint = ConsistentSets((0, 1, 2), ((0, 1), (0,), ()), (2, 3))
    assert shrunk == pytest.approx(np.sqrt(joint.variance_ratios([1, 1, 1])).tolist())


def test_a_statistic_that_leaves_the_doubles_in_one_group_is_left_as_measured():
    plan = MeasurementPlan.of(read(MANY, schema()), Price(1, 1e-6))
    engine = engine_of(schema(), 60)
    parts = [interpret(*one) for one in zip(plan.sets, plan.measure(engine), strict=True)]
    engine.close()
    total = next(of for of in parts[0].statistics if isinstance(of, Total))
    parts[2] = replace(parts[2], statistics={**parts[2].statistics, total: np.array([np.inf])})
    after = make_consistent(parts)
    for one, before in zip(after, parts, strict=True):
        assert one.statistics[total].tolist() == before.statistics[total].tolist()
        assert one.measurements[total].shrunk == 1
    assert all(one.measurements[Rows(None)].shrunk < 1 for one in after)


def test_joins_keep_the_same_rows_of_a_person_in_all_sets():
    """Each has 2,560 rows, of which 256 chosen by the secret enter the join, and few count."""
    columns = {name: COLUMNS[name] for name in ("person", "old")}
    columns["x"] = column_type("x", Kind.INTEGER, Bounds(0, 9999), nullable=False)
    about = Schema({n: Table(n, columns, Person("person"), Limits(2, 3)) for n in ("a", "b")})
    people, rows = 50, 2560
    x = np.tile(np.arange(rows), people)
    engine = DuckDBEngine()
    engine.store(
        "a", pa.table({"person": np.repeat(np.arange(people), rows), "old": x % 2, "x": x})
    )
    engine.store(
        "b", pa.table({"person": np.arange(people), "old": [0] * people, "x": [0] * people})
    )
    engine.open(about)
    text = "SELECT COUNT(*) AS n FROM a JOIN b ON a.person = b.person WHERE a.x < 10 "
    query = read(text + "GROUP BY ROLLUP (a.old)", about)
    plan = MeasurementPlan.of(query, Price(900), noise_kinds=(NoiseKind.LAPLACE,))
    drawn = [plan.measure(engine) for _ in range(3)]
    engine.close()
    for one in drawn:
        fine, all_ = (
            interpret(*part).statistics[Rows(None)] for part in zip(plan.sets, one, strict=True)
        )
        assert fine.sum() == pytest.approx(all_[0], abs=0.5)
    assert len({int(one[1].numbers[0][0]) for one in drawn}) > 1  # another secret a question
