"""A relation of the plan as an engine's SELECT: its columns by name, and the person as "_person".

Stored tables are views that already give clean columns and the person
(`discreet.sql.writer.stored_view`). A relation that is used more than once is written
once, under a name of WITH.
"""

from collections.abc import Mapping, Sequence
from typing import assert_never

from discreet.plan import relations as rel
from discreet.plan.expressions import Column
from discreet.plan.kinds import Kind
from discreet.plan.schema import PERSON, EachRow
from discreet.plan.texts import LONGEST_TEXT
from discreet.sql.writer.dialect import Dialect, view_name
from discreet.sql.writer.summaries import render_per_person, render_windows


def render_relation(
    relation: rel.Relation, dialect: Dialect, salt: str, scanned: str | None = None
) -> str:
    """The SELECT of a relation; `salt` is the secret that says which rows of a person are kept.

    `scanned` is read in place of the private table of a relation that scans only one.
    """
    order, shared = rel.nodes_of(relation)
    sources: dict[int, str] = {}
    parts: list[str] = []
    for node in order:
        below = [sources[id(one)] for one in rel.inputs_of(node)]
        replaced = scanned is not None and isinstance(node, rel.Scan)
        text = f"SELECT * FROM {scanned}" if replaced else _render(node, below, dialect, salt)
        if id(node) in shared and not isinstance(node, rel.Scan):
            sources[id(node)] = f"shared{len(parts)}"
            parts.append(f"shared{len(parts)} AS ({text})")
        else:
            sources[id(node)] = f"({text})"
    return f"WITH {', '.join(parts)} {text}" if parts else text


def _render(relation: rel.Relation, sources: Sequence[str], dialect: Dialect, salt: str) -> str:
    """The SELECT of a relation over the sources of its inputs: names, or texts in parentheses."""
    name = dialect.identifier
    match relation:
        case rel.Scan(table):
            return f"SELECT * FROM {view_name(table.name, dialect)}"
        case rel.FilterRows(below, predicate):
            holds = dialect.render(predicate, rel.columns_of(below))
            return f"SELECT * FROM {sources[0]} AS s WHERE {holds}"
        case rel.Project(below, columns):
            scope = rel.columns_of(below)
            parts = [f"{dialect.render(c.expression, scope)} AS {name(c.name)}" for c in columns]
            return f"SELECT {', '.join([*_person(below, dialect), *parts])} FROM {sources[0]} AS s"
        case rel.JoinPublic():
            return _join_public(relation, sources[0], dialect)
        case rel.JoinPerson():
            return _join_person(relation, sources, dialect, salt)
        case rel.MatchPublic():
            return _match_public(relation, sources[0], dialect)
        case rel.MatchPerson():
            return _match_person(relation, sources, dialect, salt)
        case rel.PersonWindow():
            return render_windows(relation, sources[0], dialect)
        case rel.PerPerson():
            return render_per_person(relation, sources[0], dialect)
        case rel.Union(left, right):
            shown = (
                [*_person(one, dialect), *map(name, rel.columns_of(one))] for one in (left, right)
            )
            sides = zip(shown, sources, strict=True)
            return " UNION ALL ".join(f"SELECT {', '.join(c)} FROM {of} AS s" for c, of in sides)
        case _:
            assert_never(relation)


def _person(relation: rel.Relation, dialect: Dialect) -> list[str]:
    """The person's column, where rows have a person."""
    return [] if isinstance(relation.facts.unit, EachRow) else [dialect.identifier(PERSON)]


_JOINS = {rel.Keep.MATCHED: "JOIN", rel.Keep.ALL: "LEFT JOIN"}


def _join_public(join: rel.JoinPublic, source: str, dialect: Dialect) -> str:
    scope = rel.columns_of(join.input)
    name = dialect.identifier
    # Keys meet by equality, so a NULL key matches nothing, as in SQL.
    conditions = [
        f"{dialect.render(expression, scope, prefix='l')} = r.{name(key)}"
        for expression, key in zip(join.on, join.table.key, strict=True)
    ]
    columns = [f"r.{name(there)} AS {name(here)}" for here, there in join.columns]
    return (
        f"SELECT {', '.join(['l.*', *columns])} FROM {source} AS l "
        f"{_JOINS[join.keep]} {view_name(join.table.name, dialect)} AS r "
        f"ON {' AND '.join(conditions)}"
    )


def _join_person(join: rel.JoinPerson, sources: Sequence[str], dialect: Dialect, salt: str) -> str:
    columns = ["l.*", *(f"r.{dialect.identifier(column)}" for column in rel.columns_of(join.right))]
    one, other = _sides(join, sources, dialect, salt)
    return (
        f"SELECT {', '.join(columns)} FROM {one} AS l "
        f"{_JOINS[join.keep]} {other} AS r ON {_meet(join, dialect)}"
    )


def _meet(join: rel.JoinPerson | rel.MatchPerson, dialect: Dialect) -> str:
    """When rows of both sides meet; no two of their columns have one name."""
    person = dialect.identifier(PERSON)
    left, right = rel.columns_of(join.left), rel.columns_of(join.right)
    conditions = [f"l.{person} = r.{person}"]
    conditions += [
        f"{dialect.render(a, left, prefix='l')} = {dialect.render(b, right, prefix='r')}"
        for a, b in join.on
    ]
    if join.condition is not None:
        conditions.append(dialect.render(join.condition, {**left, **right}))
    return " AND ".join(conditions)


def _sides(
    join: rel.JoinPerson | rel.MatchPerson, sources: Sequence[str], dialect: Dialect, salt: str
) -> list[str]:
    """The sources of both sides, with as many rows per person as may be joined."""
    sides = zip(sources, (join.left, join.right), rel.join_caps(join), strict=True)
    return [
        source if cap is None else _capped(source, relation, cap, dialect, salt)
        for source, relation, cap in sides
    ]


def _match_public(match: rel.MatchPublic, source: str, dialect: Dialect) -> str:
    """A left join with the different values there, of which a row matches at most one."""
    scope, name = rel.columns_of(match.input), dialect.identifier
    there = list(dict.fromkeys(column for _, column in match.on))
    listed = ["1 AS hit", *(f"{name(column)} AS c{i}" for i, column in enumerate(there))]
    where = ""
    if match.condition is not None:
        where = f" WHERE {dialect.render(match.condition, match.table.columns)}"
    others = (
        f"(SELECT DISTINCT {', '.join(listed)} FROM {view_name(match.table.name, dialect)}{where})"
    )
    conditions = [
        f"{dialect.render(here, scope, prefix='l')} = r.c{there.index(column)}"
        for here, column in match.on
    ]
    return _marked(match.name, source, others, conditions or ["TRUE"], dialect)


def _marked(
    column: str, source: str, others: str, conditions: Sequence[str], dialect: Dialect
) -> str:
    return (
        f"SELECT l.*, r.hit IS NOT NULL AS {dialect.identifier(column)} FROM {source} AS l "
        f"LEFT JOIN {others} AS r ON {' AND '.join(conditions)}"
    )


def _match_person(
    match: rel.MatchPerson, sources: Sequence[str], dialect: Dialect, salt: str
) -> str:
    """A join by person; under a condition, matched and unmatched rows."""
    left, right, name = rel.columns_of(match.left), rel.columns_of(match.right), dialect.identifier
    person = name(PERSON)
    one, other = _sides(match, sources, dialect, salt)
    if match.condition is None:
        there = [f"{dialect.render(b, right)} AS c{i}" for i, (_, b) in enumerate(match.on)]
        others = f"(SELECT DISTINCT {', '.join([f'{person} AS hit', *there])} FROM {other} AS s)"
        here = [dialect.render(a, left, prefix="l") for a, _ in match.on]
        conditions = [f"l.{person} = r.hit", *(f"{a} = r.c{i}" for i, a in enumerate(here))]
        return _marked(match.name, one, others, conditions, dialect)
    mine = dialect.named("mine", f"SELECT * FROM {one} AS s", once=True)
    theirs = dialect.named("theirs", f"SELECT * FROM {other} AS s", once=True)
    meet = _meet(match, dialect)
    columns = ", ".join(f"l.{name(column)}" for column in (PERSON, *left))
    met, unmet = (
        f"SELECT {columns}, {str(some).upper()} AS {name(match.name)} "
        f"FROM {dialect.matching('mine AS l', 'theirs AS r', meet, some=some)}"
        for some in (True, False)
    )
    return f"WITH {mine}, {theirs} {met} UNION ALL {unmet}"


def _capped(source: str, relation: rel.Relation, most: int, dialect: Dialect, salt: str) -> str:
    """At most `count` rows a person; only the rows of people with more are ordered.

    Why: equal rows are interchangeable, so the kept rows depend only on the person's rows and the
    secret.
    """
    person = dialect.identifier(PERSON)
    kinds = {dialect.identifier(name): of.kind for name, of in rel.columns_of(relation).items()}
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


def _is_stored(relation: rel.Relation) -> bool:
    """Whether rows are those of a stored table, perhaps under other names."""
    match relation:
        case rel.Project(below, columns):
            return _is_stored(below) and all(isinstance(c.expression, Column) for c in columns)
    return isinstance(relation, rel.Scan)


def first_rows(
    each: str,
    person: str,
    kinds: Mapping[str, Kind],
    most: int,
    dialect: Dialect,
    salt: str,
    others: Sequence[str] = (),
) -> str:
    """The `count` rows of each person with the least keyed hash, in any order.

    `kinds` are those of the columns besides the person, by their names as the engine writes them.
    `others` are columns that are kept. The hash covers the person and the row and is keyed by a
    secret, so nobody can choose which rows are kept. Grouping keeps either of 0 and -0: they are
    hashed alike.
    """
    # A name is the same in all rows of a person, who may have a very long one.
    name = dialect.substring(dialect.cast(person, Kind.TEXT), 1, LONGEST_TEXT)
    values = [name, *(dialect.encoded(column, kind) for column, kind in kinds.items())]
    hashed = dialect.keyed_hash(salt, values)
    return dialect.first(each, [person, *kinds, *others], person, hashed, most)
