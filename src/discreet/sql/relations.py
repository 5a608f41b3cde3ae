"""A relation of the plan as an engine's SELECT: its columns by name, and the person as "_person".

Stored tables are views that already give clean columns and the person (`discreet.sql.stored`).
"""

from collections.abc import Mapping
from typing import assert_never

from discreet.plan.expressions import Expression
from discreet.plan.kinds import Kind, Type
from discreet.plan.relations import (
    Filter,
    JoinPerson,
    JoinPublic,
    Keep,
    PerPerson,
    PersonAggregate,
    Project,
    Relation,
    Scan,
    Summary,
    Union,
    columns_of,
    unit_of,
)
from discreet.plan.schema import PERSON, EachRow
from discreet.plan.statistics import grid
from discreet.plan.typing import infer
from discreet.sql.duckdb import DuckDB
from discreet.sql.integers import on_grid, saturated
from discreet.sql.stored import view_name


def render_relation(relation: Relation, dialect: DuckDB) -> str:
    """The SELECT of a relation."""
    name = dialect.identifier
    match relation:
        case Scan(table):
            return f"SELECT * FROM {view_name(table.name, dialect)}"
        case Filter(below, predicate):
            inner = render_relation(below, dialect)
            condition = dialect.render(predicate, columns_of(below))
            return f"SELECT * FROM ({inner}) WHERE {condition}"
        case Project(below, columns):
            scope = columns_of(below)
            parts = [f"{dialect.render(c.expression, scope)} AS {name(c.name)}" for c in columns]
            inner = render_relation(below, dialect)
            return f"SELECT {', '.join([*_person(below, dialect), *parts])} FROM ({inner})"
        case JoinPublic():
            return _join_public(relation, dialect)
        case JoinPerson():
            return _join_person(relation, dialect)
        case PerPerson():
            return _per_person(relation, dialect)
        case Union(left, right):
            return _union(left, right, dialect)
        case _:
            assert_never(relation)


def _person(relation: Relation, dialect: DuckDB, prefix: str = "") -> list[str]:
    """The person's column, where rows have a person."""
    if isinstance(unit_of(relation), EachRow):
        return []
    return [prefix + dialect.identifier(PERSON)]


def _join_public(join: JoinPublic, dialect: DuckDB) -> str:
    scope = columns_of(join.input)
    name = dialect.identifier
    # Keys meet by equality, so a NULL key matches nothing, as in SQL.
    conditions = [
        f"{dialect.render(expression, scope, prefix='l')} = r.{name(key)}"
        for expression, key in zip(join.on, join.table.key, strict=True)
    ]
    columns = [f"r.{name(there)} AS {name(here)}" for here, there in join.columns]
    kind = "JOIN" if join.keep is Keep.MATCHED else "LEFT JOIN"
    return (
        f"SELECT {', '.join(['l.*', *columns])} FROM ({render_relation(join.input, dialect)}) AS l "
        f"{kind} {view_name(join.table.name, dialect)} AS r ON {' AND '.join(conditions)}"
    )


def _join_person(join: JoinPerson, dialect: DuckDB) -> str:
    name = dialect.identifier
    left, right = columns_of(join.left), columns_of(join.right)
    conditions = [f"l.{name(PERSON)} = r.{name(PERSON)}"]
    conditions += [
        f"{dialect.render(a, left, prefix='l')} = {dialect.render(b, right, prefix='r')}"
        for a, b in join.on
    ]
    columns = ["l.*", *(f"r.{name(column)}" for column in right)]
    kind = "JOIN" if join.keep is Keep.MATCHED else "LEFT JOIN"
    return (
        f"SELECT {', '.join(columns)} FROM ({render_relation(join.left, dialect)}) AS l {kind} "
        f"({render_relation(join.right, dialect)}) AS r ON {' AND '.join(conditions)}"
    )


def _union(left: Relation, right: Relation, dialect: DuckDB) -> str:
    name = dialect.identifier
    first, second = list(columns_of(left)), list(columns_of(right))
    top = [*_person(left, dialect), *map(name, first)]
    bottom = [*_person(right, dialect), *map(name, second)]
    return (
        f"SELECT {', '.join(top)} FROM ({render_relation(left, dialect)}) UNION ALL "
        f"SELECT {', '.join(bottom)} FROM ({render_relation(right, dialect)})"
    )


def _per_person(relation: PerPerson, dialect: DuckDB) -> str:
    scope = columns_of(relation.input)
    name = dialect.identifier
    keys = [f"{dialect.render(k.expression, scope)} AS {name(k.name)}" for k in relation.keys]
    summaries = [
        f"{_summary(aggregate, scope, dialect)} AS {name(aggregate.name)}"
        for aggregate in relation.aggregates
    ]
    columns = [*_person(relation, dialect), *keys, *summaries]
    positions = ", ".join(str(i + 1) for i in range(1 + len(keys)))
    inner = render_relation(relation.input, dialect)
    return f"SELECT {', '.join(columns)} FROM ({inner}) GROUP BY {positions}"


def _summary(aggregate: PersonAggregate, scope: Mapping[str, Type], dialect: DuckDB) -> str:
    argument = "*" if aggregate.argument is None else dialect.render(aggregate.argument, scope)
    where = ""
    if aggregate.where is not None:
        where = f" FILTER (WHERE {dialect.render(aggregate.where, scope)})"
    match aggregate.summary:
        case Summary.COUNT:
            return f"COUNT({argument}){where}"
        case Summary.COUNT_DISTINCT:
            return f"COUNT(DISTINCT {argument}){where}"
        case Summary.MIN | Summary.MAX:
            return f"{aggregate.summary.value.upper()}({argument}){where}"
        case Summary.SUM | Summary.MEAN:
            assert aggregate.argument is not None  # noqa: S101 - narrowing: summary_type refused it
            return _exact_sum(aggregate, aggregate.argument, scope, where, dialect)
        case _:
            assert_never(aggregate.summary)


def _exact_sum(
    aggregate: PersonAggregate,
    argument: Expression,
    scope: Mapping[str, Type],
    where: str,
    dialect: DuckDB,
) -> str:
    """A sum that no order of rows can change: of integers, or of integers on a grid."""
    of = infer(argument, scope)
    text = dialect.render(argument, scope)
    if of.kind is Kind.INTEGER:
        summed = f"SUM({text}){where}"
        if aggregate.summary is Summary.SUM:
            return saturated(summed, dialect)
        return f"{dialect.as_double(summed)} / COUNT({text}){where}"
    assert of.range is not None  # noqa: S101 - narrowing: summary_type refused it
    fine = grid(of.range.low, of.range.high, whole=False)
    steps = dialect.as_double(f"SUM({on_grid(text, fine, dialect)}){where}")
    count = f"COUNT({text}){where}"
    centre, step = dialect.double(fine.centre), dialect.double(fine.step)
    if aggregate.summary is Summary.MEAN:
        # Rounding to the grid may lead out of the range by a step, which types do not know of.
        low, high = dialect.double(of.range.low), dialect.double(of.range.high)
        mean = f"({centre} + {steps} * {step} / {count})"
        return dialect.choose([(f"{mean} < {low}", low), (f"{mean} > {high}", high)], mean)
    return f"{centre} * {count} + {steps} * {step}"
