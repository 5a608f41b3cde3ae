"""What every relation and statistic means, in plain Python: rows in, exact integers out.

A table is a list of rows, each a mapping from column names to clean values, with its owner under
`PERSON`. Nothing here knows of SQL: groups are dictionaries, sums are of Python's integers, values
on grids are rounded as rationals.
"""

import datetime as dt
import hashlib
import math
import struct
from dataclasses import replace
from fractions import Fraction

from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.relations import (
    FilterRows,
    JoinPerson,
    JoinPublic,
    Keep,
    MatchPerson,
    MatchPublic,
    PerPerson,
    PersonWindow,
    Project,
    Scan,
    Union,
    columns_of,
    join_caps,
)
from discreet.plan.schema import PERSON
from discreet.plan.statistics import Distinct, People, Ranks, Rows, Total, grid
from discreet.plan.summaries import PersonAggregate, Summary, WindowFunction, variance_range
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
        case MatchPublic():
            return match_public(relation, tables, salt)
        case MatchPerson():
            return match_person(relation, tables, salt)
        case PersonWindow():
            return with_windows(relation, tables, salt)
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
    found = []
    for left, there in meeting(join, tables, salt):
        alone = not there and join.keep is Keep.ALL
        matches = [dict.fromkeys(columns_of(join.right))] if alone else there
        found += [{**right, **left} for right in matches]
    return found


def meeting(join, tables, salt):
    """Each row on the left that is kept, and the rows on the right that meet it."""
    pairs = [
        (meaning(a, columns_of(join.left)), meaning(b, columns_of(join.right))) for a, b in join.on
    ]
    both = {**columns_of(join.left), **columns_of(join.right)}
    holds = (lambda _: True) if join.condition is None else meaning(join.condition, both)
    caps = join_caps(join)
    here = kept(rows_of(join.left, tables, salt), caps[0], salt)
    there = kept(rows_of(join.right, tables, salt), caps[1], salt)
    for left in here:
        yield (
            left,
            [
                right
                for right in there
                if right[PERSON] == left[PERSON]
                and all(a(left) is not None and a(left) == b(right) for a, b in pairs)
                and holds({**left, **right}) is True
            ],
        )


def match_person(match, tables, salt):
    return [{**left, match.name: bool(found)} for left, found in meeting(match, tables, salt)]


def match_public(match, tables, salt):
    here = [meaning(expression, columns_of(match.input)) for expression, _ in match.on]
    columns = match.table.columns
    holds = (lambda _: True) if match.condition is None else meaning(match.condition, columns)
    public = [row for row in tables[match.table.name] if holds(row) is True]
    known = {tuple(row[there] for _, there in match.on) for row in public}
    found = []
    for row in rows_of(match.input, tables, salt):
        values = tuple(part(row) for part in here)
        found.append({**row, match.name: None not in values and values in known})
    return found


# --- windows --------------------------------------------------------------------------------------


class Place:
    """A value in an order of rows; NULL comes first or last, whichever way the others go."""

    def __init__(self, value, *, descending=False, nulls_first=False):
        self.key = (value is None) != nulls_first, value
        self.value, self.descending = value, descending

    def __lt__(self, other):
        if self.value is None or other.value is None:
            return self.key[0] < other.key[0]
        return other.value < self.value if self.descending else self.value < other.value

    def __eq__(self, other):
        return self.value == other.value

    __hash__ = None


def order_of(parts, scope):
    """A row's place in an order."""
    keys = [(meaning(one.expression, scope), one) for one in parts]
    return lambda row: [
        Place(key(row), descending=one.descending, nulls_first=one.nulls_first) for key, one in keys
    ]


def with_windows(relation, tables, salt):
    scope = columns_of(relation.input)
    rows = [dict(row) for row in rows_of(relation.input, tables, salt)]
    found = [dict(row) for row in rows]
    for column in relation.columns:
        parts = [lambda row: row[PERSON], *(meaning(one, scope) for one in column.partition)]
        for places in grouped(
            range(len(rows)), [lambda at, p=p: p(rows[at]) for p in parts]
        ).values():
            for at, value in window_values(column, places, rows, scope):
                found[at][column.name] = value
    return found


def window_values(column, places, rows, scope):
    """A window's value for each row of one part."""
    order = order_of(column.order, scope)
    every = lambda at: (order(rows[at]), [Place(rows[at][name]) for name in scope])  # noqa: E731
    places = sorted(places, key=every)
    value = meaning(column.argument, scope) if column.argument is not None else None
    first = [
        i for i, at in enumerate(places) if not i or order(rows[at]) != order(rows[places[i - 1]])
    ]
    for i, at in enumerate(places):
        peers = [j for j, other in enumerate(places) if order(rows[other]) == order(rows[at])]
        low, high = 0, len(places) - 1
        if column.frame is not None and column.order:
            low = 0 if column.frame[0] is None else i + column.frame[0]
            high = high if column.frame[1] is None else i + column.frame[1]
        elif column.order:
            high = peers[-1]
        inside = [rows[places[j]] for j in range(max(low, 0), min(high, len(places) - 1) + 1)]
        match column.function:
            case WindowFunction.ROW_NUMBER:
                yield at, i + 1
            case WindowFunction.RANK:
                yield at, peers[0] + 1
            case WindowFunction.DENSE_RANK:
                yield at, sum(j <= i for j in first)
            case WindowFunction.LAG | WindowFunction.LEAD:
                back = column.function is WindowFunction.LAG
                there = i - column.offset if back else i + column.offset
                default = column.default and column.default.value
                here = 0 <= there < len(places)
                yield at, value(rows[places[there]]) if here else default
            case WindowFunction.FIRST_VALUE:
                yield at, value(inside[0]) if inside else None
            case WindowFunction.LAST_VALUE:
                yield at, value(inside[-1]) if inside else None
            case kind:
                one = PersonAggregate(column.name, kind, column.argument, column.where)
                yield at, summary(one, inside, scope)


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
    if aggregate.summary is Summary.FIRST:
        order = order_of(aggregate.by, scope)
        ordered = sorted(rows, key=lambda row: (order(row), Place(value(row))))
        return value(ordered[0]) if ordered else None
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
        case Summary.MEDIAN:
            return quantile(sorted(map(float, values)), aggregate.level or Fraction(1, 2))
    of = infer(aggregate.argument, scope)
    if aggregate.summary in {Summary.VARIANCE, Summary.VARIANCE_POP}:
        return variance(values, of, aggregate.summary)
    return added(values, of, aggregate.summary) if values else None


def quantile(values, level):
    """Between the two values next to its place, as near to each as the place is."""
    if not values:
        return None
    place = level * (len(values) - 1)
    low, high, share = math.floor(place), math.ceil(place), float(place - math.floor(place))
    return (1.0 - share) * values[low] + share * values[high]


def variance(values, of, what):
    """The squares of deviations from the mean, added up on a grid."""
    number = len(values) - (what is Summary.VARIANCE)
    if number < 1:
        return None
    mean = added(values, of, Summary.MEAN)
    widest = Range(0.0, math.nextafter(float(of.range.width), math.inf) ** 2)
    off = [(float(value) - mean) * (float(value) - mean) for value in values]
    total = added(off, Type(Kind.REAL, range=widest), Summary.SUM, 2**20)
    return max(0.0, min(variance_range(of, what).high, total / number))


def added(values, of, what, finer=1):
    """A sum or mean: of INTEGER, or of REAL on the grid of its range."""
    if of.kind.value == "integer":
        whole = sum(values)
        if what is Summary.SUM:
            return max(-(2**63), min(2**63 - 1, whole))
        return float(whole) / len(values)
    fine = grid(of.range.low, of.range.high, whole=False)
    fine = replace(fine, step=fine.step / finer, reach=fine.reach * finer)
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
