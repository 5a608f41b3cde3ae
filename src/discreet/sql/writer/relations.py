"""A relation of the plan as an engine's SELECT: its columns by name, and the person as "_person".

Stored tables are views that already give clean columns and the person
(`discreet.sql.writer.stored_view`). A relation that is used more than once is written
once, under a name of WITH.
"""

from collections.abc import Mapping, Sequence
from typing import assert_never

from discreet.plan.expressions import Column, Expression, Function
from discreet.plan.kinds import Kind, Type
from discreet.plan.relations import (
    FilterRows,
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
    inputs_of,
    join_caps,
    nodes_of,
    unit_of,
)
from discreet.plan.schema import PERSON, EachRow
from discreet.plan.statistics import grid
from discreet.plan.texts import LONGEST_TEXT
from discreet.plan.typing import infer
from discreet.sql.writer.dialect import Dialect
from discreet.sql.writer.integers import on_grid, saturated
from discreet.sql.writer.stored_view import view_name


def render_relation(relation: Relation, dialect: Dialect, salt: str) -> str:
    """The SELECT of a relation; `salt` is the secret that says which rows of a person are kept."""
    order, shared = nodes_of(relation)
    sources: dict[int, str] = {}
    parts: list[str] = []
    for node in order:
        text = _render(node, [sources[id(below)] for below in inputs_of(node)], dialect, salt)
        if id(node) in shared and not isinstance(node, Scan):
            sources[id(node)] = f"shared{len(parts)}"
            parts.append(f"shared{len(parts)} AS ({text})")
        else:
            sources[id(node)] = f"({text})"
    return f"WITH {', '.join(parts)} {text}" if parts else text


def _render(relation: Relation, sources: Sequence[str], dialect: Dialect, salt: str) -> str:
    """The SELECT of a relation over the sources of its inputs: names, or texts in parentheses."""
    name = dialect.identifier
    match relation:
        case Scan(table):
            return f"SELECT * FROM {view_name(table.name, dialect)}"
        case FilterRows(below, predicate):
            holds = dialect.render(predicate, columns_of(below))
            return f"SELECT * FROM {sources[0]} AS s WHERE {holds}"
        case Project(below, columns):
            scope = columns_of(below)
            parts = [f"{dialect.render(c.expression, scope)} AS {name(c.name)}" for c in columns]
            return f"SELECT {', '.join([*_person(below, dialect), *parts])} FROM {sources[0]} AS s"
        case JoinPublic():
            return _join_public(relation, sources[0], dialect)
        case JoinPerson():
            return _join_person(relation, sources, dialect, salt)
        case PerPerson():
            return _per_person(relation, sources[0], dialect)
        case Union(left, right):
            return _union(left, right, sources, dialect)
        case _:
            assert_never(relation)


def _person(relation: Relation, dialect: Dialect, prefix: str = "") -> list[str]:
    """The person's column, where rows have a person."""
    if isinstance(unit_of(relation), EachRow):
        return []
    return [prefix + dialect.identifier(PERSON)]


def _join_public(join: JoinPublic, source: str, dialect: Dialect) -> str:
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
        f"SELECT {', '.join(['l.*', *columns])} FROM {source} AS l "
        f"{kind} {view_name(join.table.name, dialect)} AS r ON {' AND '.join(conditions)}"
    )


def _join_person(join: JoinPerson, sources: Sequence[str], dialect: Dialect, salt: str) -> str:
    name = dialect.identifier
    left, right = columns_of(join.left), columns_of(join.right)
    conditions = [f"l.{name(PERSON)} = r.{name(PERSON)}"]
    conditions += [
        f"{dialect.render(a, left, prefix='l')} = {dialect.render(b, right, prefix='r')}"
        for a, b in join.on
    ]
    columns = ["l.*", *(f"r.{name(column)}" for column in right)]
    kind = "JOIN" if join.keep is Keep.MATCHED else "LEFT JOIN"
    sides = zip(sources, (join.left, join.right), join_caps(join), strict=True)
    one, other = (
        source if cap is None else _capped(source, relation, cap, dialect, salt)
        for source, relation, cap in sides
    )
    return (
        f"SELECT {', '.join(columns)} FROM {one} AS l {kind} {other} AS r "
        f"ON {' AND '.join(conditions)}"
    )


def _capped(source: str, relation: Relation, most: int, dialect: Dialect, salt: str) -> str:
    """At most so many rows a person; only the rows of the few who have more are ordered.

    Why: rows that are equal can stand for one another, so that the rows which are kept depend on
    the person's rows and the secret, and on nothing else.
    """
    person = dialect.identifier(PERSON)
    kinds = {dialect.identifier(name): of.kind for name, of in columns_of(relation).items()}
    many = f"SELECT {person} FROM every GROUP BY 1 HAVING COUNT(*) > {most}"
    # A stored table is read again, column by column; what has to be computed is computed once.
    once = not _is_stored(relation)
    every = dialect.named("every", f"SELECT * FROM {source} AS s", once=once)
    same, columns = f"r.{person} = m.{person}", ", ".join([person, *kinds])
    heavy, light = (
        f"SELECT {columns} FROM {dialect.matching('every AS r', 'many AS m', same, some=some)}"
        for some in (True, False)
    )
    return (
        f"(WITH {every}, {dialect.named('many', many, once=True)} {light} "
        f"UNION ALL {first_rows(heavy, person, kinds, most, dialect, salt)})"
    )


def _is_stored(relation: Relation) -> bool:
    """Whether rows are those of a stored table, perhaps under other names."""
    match relation:
        case Project(below, columns):
            return _is_stored(below) and all(isinstance(c.expression, Column) for c in columns)
    return isinstance(relation, Scan)


def first_rows(
    each: str,
    person: str,
    kinds: Mapping[str, Kind],
    most: int,
    dialect: Dialect,
    salt: str,
    others: Sequence[str] = (),
) -> str:
    """So many rows a person: those whose keyed hash is least, whatever order they come in.

    `kinds` are those of the columns besides the person, by their names as the engine writes them.
    `others` are columns that come along. The hash covers the person and the row and is keyed by a
    secret, so that nobody can place their rows. Grouping keeps either of 0 and -0: they are hashed
    alike.
    """
    # A name is the same in all rows of a person, who may have a very long one.
    name = dialect.substring(dialect.cast(person, Kind.TEXT), 1, LONGEST_TEXT)
    values = [name, *(dialect.encoded(column, kind) for column, kind in kinds.items())]
    hashed = dialect.keyed_hash(salt, values)
    return dialect.first(each, [person, *kinds, *others], person, hashed, most)


def _union(left: Relation, right: Relation, sources: Sequence[str], dialect: Dialect) -> str:
    name = dialect.identifier
    first, second = list(columns_of(left)), list(columns_of(right))
    top = [*_person(left, dialect), *map(name, first)]
    bottom = [*_person(right, dialect), *map(name, second)]
    return (
        f"SELECT {', '.join(top)} FROM {sources[0]} AS s UNION ALL "
        f"SELECT {', '.join(bottom)} FROM {sources[1]} AS s"
    )


def _per_person(relation: PerPerson, source: str, dialect: Dialect) -> str:
    scope = columns_of(relation.input)
    name = dialect.identifier
    keys = [f"{dialect.render(k.expression, scope)} AS {name(k.name)}" for k in relation.keys]
    summaries = [
        f"{_summary(aggregate, scope, dialect)} AS {name(aggregate.name)}"
        for aggregate in relation.aggregates
    ]
    columns = [*_person(relation, dialect), *keys, *summaries]
    positions = ", ".join(str(i + 1) for i in range(1 + len(keys)))
    return f"SELECT {', '.join(columns)} FROM {source} AS s GROUP BY {positions}"


def _summary(aggregate: PersonAggregate, scope: Mapping[str, Type], dialect: Dialect) -> str:
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
            assert aggregate.argument is not None  # noqa: S101 - narrowing: summary_type refused it
            kind = infer(aggregate.argument, scope).kind
            return dialect.extreme(aggregate.summary.value, argument, kind, where)
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
    dialect: Dialect,
) -> str:
    """A sum that no order of rows can change: of integers, or of integers on a grid."""
    of = infer(argument, scope)
    text = dialect.render(argument, scope)
    count, real = dialect.as_double(f"COUNT({text}){where}"), dialect.real
    if of.kind is Kind.INTEGER:
        summed = dialect.sum(text, where)
        if aggregate.summary is Summary.SUM:
            return saturated(summed, dialect)
        return real(Function.DIVIDE, dialect.as_double(summed), count)
    assert of.range is not None  # noqa: S101 - narrowing: summary_type refused it
    fine = grid(of.range.low, of.range.high, whole=False)
    steps = dialect.as_double(dialect.sum(on_grid(text, fine, dialect), where))
    centre = dialect.double(fine.centre)
    away = real(Function.MULTIPLY, steps, dialect.double(fine.step))
    if aggregate.summary is Summary.MEAN:
        # Rounding to the grid may lead out of the range by a step, which types do not know of.
        low, high = dialect.double(of.range.low), dialect.double(of.range.high)
        mean = real(Function.ADD, centre, real(Function.DIVIDE, away, count))
        return dialect.choose([(f"{mean} < {low}", low), (f"{mean} > {high}", high)], mean)
    return real(Function.ADD, real(Function.MULTIPLY, centre, count), away)
