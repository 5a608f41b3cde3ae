"""What every relation and statistic means, in plain Python: rows in, exact integers out.

A table is a list of rows, each a mapping from column names to clean values, with its owner under
`PERSON`. Nothing here knows of SQL: groups are dictionaries, sums are of Python's integers, values
on grids are rounded as rationals.
"""

import datetime as dt
import hashlib
import struct
from fractions import Fraction

from discreet.plan.relations import (
    FilterRows,
    JoinPerson,
    JoinPublic,
    Keep,
    PerPerson,
    Project,
    Scan,
    Summary,
    Union,
    columns_of,
    join_caps,
)
from discreet.plan.schema import PERSON
from discreet.plan.statistics import Distinct, People, Ranks, Rows, Total, grid
from discreet.plan.typing import infer
from discreet.sql.writer.compile import SECRET
from reference.interpreter import meaning, value_to_place

FULL = 1024


def rows_of(relation, tables, salt=SECRET):
    """The rows of a relation over these tables; the secret chooses the rows that joins keep."""
    match relation:
        case Scan(table):
            return tables[table.name]
        case FilterRows(below, predicate):
            holds = meaning(predicate, columns_of(below))
            return [row for row in rows_of(below, tables, salt) if holds(row) is True]
        case Project(below, columns):
            parts = {c.name: meaning(c.expression, columns_of(below)) for c in columns}
            return [
                {PERSON: row[PERSON], **{name: part(row) for name, part in parts.items()}}
                for row in rows_of(below, tables, salt)
            ]
        case JoinPublic():
            return join_public(relation, tables, salt)
        case JoinPerson():
            return join_person(relation, tables, salt)
        case PerPerson():
            return per_person(relation, tables, salt)
        case Union(left, right):
            names = list(columns_of(left))
            below = [
                {PERSON: row[PERSON], **dict(zip(names, list_of(row, right), strict=True))}
                for row in rows_of(right, tables, salt)
            ]
            return [*rows_of(left, tables, salt), *below]
    raise AssertionError(relation)


def list_of(row, relation):
    return [row[name] for name in columns_of(relation)]


def join_public(join, tables, salt):
    on = [meaning(expression, columns_of(join.input)) for expression in join.on]
    known = {tuple(row[k] for k in join.table.key): row for row in tables[join.table.name]}
    found = []
    for row in rows_of(join.input, tables, salt):
        match_ = known.get(tuple(part(row) for part in on))
        if match_ is not None or join.keep is Keep.ALL:
            there = {here: match_ and match_[column] for here, column in join.columns}
            found.append({**row, **there})
    return found


def join_person(join, tables, salt):
    pairs = [
        (meaning(a, columns_of(join.left)), meaning(b, columns_of(join.right))) for a, b in join.on
    ]
    found = []
    caps = join_caps(join)
    here = kept(rows_of(join.left, tables, salt), caps[0], salt)
    there = kept(rows_of(join.right, tables, salt), caps[1], salt)
    for left in here:
        matches = [
            right
            for right in there
            if right[PERSON] == left[PERSON]
            and all(a(left) is not None and a(left) == b(right) for a, b in pairs)
        ]
        if not matches and join.keep is Keep.ALL:
            matches = [dict.fromkeys(columns_of(join.right))]
        found += [{**right, **left} for right in matches]
    return found


def kept(rows, most, salt):
    """At most so many rows a person: those whose keyed hash is least."""
    people = grouped(rows, [lambda row: row[PERSON]])
    if most is None or all(len(own) <= most for own in people.values()):
        return rows
    return [
        row
        for own in people.values()
        for row in sorted(own, key=lambda row: digest(row, salt) if len(own) > most else "")[:most]
    ]


def digest(row, salt):
    """The keyed hash of a row, its owner first."""
    values = [row[PERSON], *(value for name, value in row.items() if name != PERSON)]
    texts = [None if value is None else encoded(value) for value in values]
    text = chr(31).join("" if one is None else f"{len(one.encode())}:{one}" for one in texts)
    return hashlib.md5((salt + text).encode(), usedforsecurity=False).hexdigest()


def encoded(value):
    """A value as every engine hashes it."""
    match value:
        case bool():
            return str(value).lower()
        case float():
            return str(struct.unpack("q", struct.pack("d", value + 0.0))[0])
        case dt.datetime():
            return str(value_to_place(value))
    return str(value)


def grouped(rows, keys):
    groups = {}
    for row in rows:
        groups.setdefault(tuple(key(row) for key in keys), []).append(row)
    return groups


def per_person(relation, tables, salt):
    scope = columns_of(relation.input)
    keys = [lambda row: row[PERSON], *(meaning(k.expression, scope) for k in relation.keys)]
    return [
        {
            PERSON: key[0],
            **dict(zip((k.name for k in relation.keys), key[1:], strict=True)),
            **{a.name: summary(a, rows, scope) for a in relation.aggregates},
        }
        for key, rows in grouped(rows_of(relation.input, tables, salt), keys).items()
    ]


def summary(aggregate, rows, scope):
    if aggregate.where is not None:
        holds = meaning(aggregate.where, scope)
        rows = [row for row in rows if holds(row) is True]
    if aggregate.argument is None:
        return len(rows)
    value = meaning(aggregate.argument, scope)
    values = [value(row) for row in rows if value(row) is not None]
    match aggregate.summary:
        case Summary.COUNT:
            return len(values)
        case Summary.COUNT_DISTINCT:
            return len(set(values))
        case Summary.MIN:
            return min(values, default=None)
        case Summary.MAX:
            return max(values, default=None)
    of = infer(aggregate.argument, scope)
    return added(values, of, aggregate.summary) if values else None


def added(values, of, what):
    """A sum or mean: of INTEGER, or of REAL on the grid of its range."""
    if of.kind.value == "integer":
        whole = sum(values)
        if what is Summary.SUM:
            return max(-(2**63), min(2**63 - 1, whole))
        return float(whole) / len(values)
    fine = grid(of.range.low, of.range.high, whole=False)
    steps = float(sum(on_grid(value, fine) for value in values))
    if what is Summary.SUM:
        return fine.centre * len(values) + steps * fine.step
    return max(of.range.low, min(of.range.high, fine.centre + steps * fine.step / len(values)))


def on_grid(value, fine):
    """Rounded to the nearest step, halves to even, of the double value - centre."""
    steps = round(Fraction(float(value) - fine.centre) / Fraction(fine.step))
    return max(-fine.reach, min(fine.reach, steps))


# --- statistics -----------------------------------------------------------------------------------


def statistics_of_groups(query, statistics, tables):
    """{(statistic, group, cell): total} of all groups with rows, nobody weighing less than full."""
    scope = columns_of(query.relation)
    keys = [meaning(key.expression, scope) for key in query.keys]
    known = [infer(key.expression, scope).keys for key in query.keys]
    found = {}
    for group, rows in grouped(rows_of(query.relation, tables), keys).items():
        if any(
            listed is not None and k not in listed for k, listed in zip(group, known, strict=True)
        ):
            continue
        for i, statistic in enumerate(statistics):
            for cell, total in measured(statistic, rows, scope).items():
                found[i, group, cell] = total * FULL
    return found


def measured(statistic, rows, scope):
    """What one statistic of a group counts, by cell."""
    where = getattr(statistic, "where", None)
    if where is not None:
        holds = meaning(where, scope)
        rows = [row for row in rows if holds(row) is True]
    if isinstance(statistic, Rows):
        return {None: len(rows)}
    if isinstance(statistic, People):
        return {None: len({row[PERSON] for row in rows})}
    value = meaning(statistic.value, scope)
    match statistic:
        case Total():
            return {None: sum(on_grid(value(row), statistic.grid) for row in rows)}
        case Distinct():
            return {None: len({value(row) for row in rows})}
        case Ranks():
            found = {}
            for row in rows:
                cell = cell_of(float(value(row)), statistic)
                found[cell] = found.get(cell, 0) + 1
            return found
    raise AssertionError(statistic)


def cell_of(value, ranks):
    if ranks.cells == 1:
        return 0
    scale = ranks.cells / (ranks.high - ranks.low)
    return max(0, min(ranks.cells - 1, int((value - ranks.low) * scale // 1)))
