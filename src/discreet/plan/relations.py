"""Private rows: a closed set of relations, each of which keeps people separate.

Every row of a relation belongs to one person (or is one, under `EachRow`), and a person's rows come
out of that person's rows alone, and out of public tables. So adding or removing one person adds or
removes just their rows, whatever is built: filters, expressions, joins on the person, unions,
per-person aggregates. What remains to be bounded is how much one person's rows weigh in an answer.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias, assert_never, cast

from discreet.errors import InputError
from discreet.plan.expressions import Column, Expression
from discreet.plan.kinds import Kind, Type
from discreet.plan.schema import EachRow, Limits, Person, PersonPeriod, PublicTable, Table, distinct
from discreet.plan.summaries import PersonAggregate, WindowColumn, expect, summary_type, window_type
from discreet.plan.typing import DEEPEST, infer

LARGEST = 1 << 14
"""Relations and parts of expressions that a question may have, once shared ones are written out.

A question is a graph: a name that WITH gives is one relation, however often it is read. Walks over
it are linear in what is different. Its expansion doubles with every `a UNION ALL a`.
"""


MOST_JOINED = 1 << 16
"""Rows that one join may give one person.

Joins multiply a person's rows, and a chain of them without end. So before rows enter a join, each
side keeps few enough rows per person that no person gets more out of it: all of these against a
side with one row each, and 256 against 256. Few people have as many rows of one kind; what they
have beyond is left out, chosen by a keyed hash.
"""


@dataclass(frozen=True, slots=True)
class RelationFacts:
    """Facts of a relation, computed once when it is built."""

    columns: Mapping[str, Type]
    unit: object
    tables: tuple[Table, ...]
    one_row_each: bool
    size: int
    depth: int


@dataclass(frozen=True, slots=True)
class _Node:
    """The base of relations; it is not part of the question's text or of equality."""

    facts: RelationFacts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._check()
        _settle(cast("Relation", self))

    def _check(self) -> None:
        """Refuse what has no meaning."""


@dataclass(frozen=True, slots=True)
class Named:
    """An expression and the name of the column it becomes."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Scan(_Node):
    """The rows of a private table that have an owner."""

    table: Table


@dataclass(frozen=True, slots=True)
class FilterRows(_Node):
    """The rows for which a predicate is true (neither false nor NULL)."""

    input: "Relation"
    predicate: Expression

    def _check(self) -> None:
        expect(self.predicate, columns_of(self.input), Kind.BOOLEAN, "a condition")


@dataclass(frozen=True, slots=True)
class Project(_Node):
    """Rows with new columns, each a function of the old ones."""

    input: "Relation"
    columns: tuple[Named, ...]

    def _check(self) -> None:
        distinct(column.name for column in self.columns)


class Keep(Enum):
    """What a join does with a left row that has no match."""

    MATCHED = "inner"
    ALL = "left"


@dataclass(frozen=True, slots=True)
class JoinPublic(_Node):
    """Each row joined to the one row of a public table that its key names.

    `on` gives an expression over the input for each column of the table's key, in order. Columns of
    the table have the names in `columns`.
    """

    input: "Relation"
    table: PublicTable
    on: tuple[Expression, ...]
    keep: Keep
    columns: tuple[tuple[str, str], ...]  # (name here, column there)

    def _check(self) -> None:
        distinct([*columns_of(self.input), *(name for name, _ in self.columns)])
        scope = columns_of(self.input)
        for expression, key in zip(self.on, self.table.key, strict=True):
            _meet(infer(expression, scope), self.table.columns[key])


@dataclass(frozen=True, slots=True)
class JoinPerson(_Node):
    """Each row joined to every row of the same person on the right for which `on` is equal.

    `condition` has to be true too; it is over the columns of both sides, which must have different
    names. Under `Keep.ALL` columns of the right may be NULL. Each side keeps at most `join_caps`
    rows of a person, which a keyed hash chooses.
    """

    left: "Relation"
    right: "Relation"
    on: tuple[tuple[Expression, Expression], ...]
    keep: Keep
    condition: Expression | None = field(default=None, metadata={"written": "where it is one"})
    multiplies: bool = field(default=False, metadata={"written": "where it does"})
    """Whether limits on rows multiply; else the wider one holds. See `join_person`."""

    def _check(self) -> None:
        _check_sides(self)


def join_person(
    left: "Relation",
    right: "Relation",
    on: tuple[tuple[Expression, Expression], ...],
    keep: Keep,
    condition: Expression | None = None,
) -> JoinPerson:
    """Rows of the same person joined to each other, with the limits that follow.

    Where nothing but the person has to be equal, each row meets all: rows multiply unless a side
    has one row each. Further equalities are mostly of the one row that both are about.
    """
    single = any(side.facts.one_row_each or _is_stated_once(side) for side in (left, right))
    return JoinPerson(left, right, on, keep, condition, multiplies=not on and not single)


def _is_stated_once(side: "Relation") -> bool:
    """Whether limits state one row of each person; a union may have one from either side."""
    united = any(isinstance(node, Union) for node in nodes_of(side)[0])
    return not united and all(one.limits == Limits(1, 1) for one in side.facts.tables)


@dataclass(frozen=True, slots=True)
class MatchPerson(_Node):
    """Each row on the left, and whether the same person has a row on the right that meets it.

    EXISTS, IN, SEMI, ANTI, INTERSECT and EXCEPT are this and a condition on the new column `name`.
    Rows meet as in `JoinPerson`.

    Stability: rows stay one for one, and the new value of a row is a function of that row and of
    its owner's rows on the right. Whoever is added or removed takes nobody else's rows along, nor
    changes them. Without a `condition` every row counts; with one, both sides keep at most
    `join_caps` rows of a person, since each row is compared with each.
    """

    left: "Relation"
    right: "Relation"
    on: tuple[tuple[Expression, Expression], ...]
    name: str
    condition: Expression | None = None

    def _check(self) -> None:
        _check_sides(self)
        distinct([*columns_of(self.left), *columns_of(self.right), self.name])


@dataclass(frozen=True, slots=True)
class MatchPublic(_Node):
    """Each row, and whether a row of a public table meets it, in the new column `name`.

    `on` are values here and the columns there that equal them, which need not be a key; `condition`
    is over the table's columns alone.

    Stability: rows stay one for one, and the new value is a function of a row and of public facts.
    """

    input: "Relation"
    table: PublicTable
    on: tuple[tuple[Expression, str], ...]
    name: str
    condition: Expression | None = None

    def _check(self) -> None:
        scope = columns_of(self.input)
        distinct([*scope, self.name])
        for expression, there in self.on:
            _meet(infer(expression, scope), infer(Column(there), self.table.columns))
        if self.condition is not None:
            expect(self.condition, self.table.columns, Kind.BOOLEAN, "a condition")


@dataclass(frozen=True, slots=True)
class PersonWindow(_Node):
    """Each row, and values of the rows of the same person before, after and around it.

    Stability: rows stay one for one, and the new values of a row are functions of its owner's rows
    in an order that those alone decide (`needs_every_order`). So whoever is added or removed
    changes nobody else's rows, and the same person has the same rows whoever else is there.
    """

    input: "Relation"
    columns: tuple[WindowColumn, ...]

    def _check(self) -> None:
        _check_grouped(self.input)
        distinct([*columns_of(self.input), *(column.name for column in self.columns)])


def _check_sides(join: "JoinPerson | MatchPerson") -> None:
    left, right = columns_of(join.left), columns_of(join.right)
    same_people(join.left, join.right)
    distinct([*left, *right])
    for here, there in join.on:
        _meet(infer(here, left), infer(there, right))
    if join.condition is not None:
        expect(join.condition, {**left, **right}, Kind.BOOLEAN, "a condition")


@dataclass(frozen=True, slots=True)
class PerPerson(_Node):
    """One row a person (and a value of `keys`), with summaries of that person's rows.

    Sums are exact: of INTEGER, or of bounded REAL on the grid that `grid_step` gives; a sum that
    does not fit 64 bits saturates.
    """

    input: "Relation"
    keys: tuple[Named, ...]
    aggregates: tuple[PersonAggregate, ...]

    def _check(self) -> None:
        _check_grouped(self.input)
        distinct([*(key.name for key in self.keys), *(a.name for a in self.aggregates)])


def _check_grouped(below: "Relation") -> None:
    if below.facts.unit != "person":
        raise InputError(
            "rows are grouped by person and the table protects single rows or periods",
            why="rows that are protected by themselves have no person in common",
            fix="declare the column that names the person as the table's unit",
        )


@dataclass(frozen=True, slots=True)
class Union(_Node):
    """The rows of both, duplicates included; columns are matched by position, named by the left."""

    left: "Relation"
    right: "Relation"

    def _check(self) -> None:
        same_people(self.left, self.right)


Relation: TypeAlias = (
    Scan
    | FilterRows
    | Project
    | JoinPublic
    | JoinPerson
    | MatchPublic
    | MatchPerson
    | PersonWindow
    | PerPerson
    | Union
)


def _meet(here: Type, there: Type) -> None:
    """Rows match if values are equal, and engines can only compare values of one kind.

    Why: as doubles many whole numbers are equal, so that one row would meet many rows of a table
    whose key names one.
    """
    if here.kind is not there.kind:
        raise InputError(
            f"a join compares {here.kind.value} with {there.kind.value}",
            why="rows meet where values of one kind are equal",
            fix=f"cast the left side: CAST(... AS {there.kind.name}) = ...",
        )


def columns_of(relation: Relation) -> Mapping[str, Type]:
    """The columns of a relation and their types."""
    return relation.facts.columns


def join_caps(join: JoinPerson | MatchPerson) -> tuple[int | None, int | None]:
    """The rows of one person that each side of a join keeps; None where it is all of them.

    Guarantee: the product of what both sides keep of a person is at most `MOST_JOINED`, where rows
    of both sides are put beside each other.
    """
    if isinstance(join, MatchPerson) and join.condition is None:
        return None, None
    single = join.left.facts.one_row_each, join.right.facts.one_row_each
    most = MOST_JOINED if any(single) else math.isqrt(MOST_JOINED)
    return None if single[0] else most, None if single[1] else most


def inputs_of(relation: Relation) -> "tuple[Relation, ...]":
    """The relations directly inside one, in order."""
    match relation:
        case Scan():
            return ()
        case JoinPerson() | MatchPerson() | Union():
            return (relation.left, relation.right)
        case FilterRows() | Project() | PerPerson() | JoinPublic() | MatchPublic() | PersonWindow():
            return (relation.input,)
        case _:
            assert_never(relation)


def expressions_of(relation: Relation) -> Iterator[Expression]:
    """The expressions that a relation itself computes for each row."""
    match relation:
        case Scan() | Union():
            return
        case FilterRows(_, predicate):
            yield predicate
        case Project(_, columns):
            yield from (column.expression for column in columns)
        case JoinPublic(_, _, on, _, _):
            yield from on
        case JoinPerson(_, _, on, _, condition) | MatchPerson(_, _, on, _, condition):
            yield from (side for pair in on for side in pair)
            yield from () if condition is None else (condition,)
        case MatchPublic(_, _, on, _, condition):
            yield from (here for here, _ in on)
            yield from () if condition is None else (condition,)
        case PersonWindow(_, columns):
            yield from (one for column in columns for one in column.reads)
        case PerPerson(_, keys, aggregates):
            yield from (key.expression for key in keys)
            yield from (one for aggregate in aggregates for one in aggregate.reads)
        case _:
            assert_never(relation)


def nodes_of(relation: Relation) -> "tuple[list[Relation], set[int]]":
    """Each different relation inside one, inputs first, and the `id` of those used repeatedly.

    Example:
        >>> from discreet.plan.schema import Person, Table
        >>> visits = Scan(Table("visits", {"who": Type(Kind.TEXT)}, Person("who")))
        >>> twice = Union(visits, visits)
        >>> nodes, shared = nodes_of(Union(twice, twice))
        >>> [type(node).__name__ for node in nodes], len(shared)
        (['Scan', 'Union', 'Union'], 2)
    """
    order: list[Relation] = []
    seen, shared = {id(relation)}, set[int]()
    pending = [(relation, iter(inputs_of(relation)))]
    while pending:
        node, rest = pending[-1]
        below = next(rest, None)
        if below is None:
            order.append(node)
            pending.pop()
        elif id(below) in seen:
            shared.add(id(below))
        else:
            seen.add(id(below))
            pending.append((below, iter(inputs_of(below))))
    return order, shared


# --- facts --------------------------------------------------------------------------------------


def _settle(relation: Relation) -> None:
    """Write down what is known of a relation; one that has grown too large is refused."""
    below = [one.facts for one in inputs_of(relation)]
    size = 1 + sum(one.size for one in below) + sum(e.size for e in expressions_of(relation))
    depth = 1 + max((one.depth for one in below), default=0)
    if size > LARGEST or depth > DEEPEST:
        raise InputError(
            f"the question has more than {LARGEST} parts once every name stands for what it means"
            if size > LARGEST
            else f"subqueries, joins and conditions are nested more than {DEEPEST} deep",
            why="it would take an engine too long to plan",
            fix="read fewer subqueries, and each of them less often",
        )
    if isinstance(relation, Scan):
        table = relation.table
        unit: object = table.unit if isinstance(table.unit, EachRow | PersonPeriod) else "person"
        tables = {table.name: table}
    else:
        unit = below[0].unit
        tables = {table.name: table for one in below for table in one.tables}
    columns, single = _columns(relation), _single(relation)
    facts = RelationFacts(columns, unit, tuple(tables.values()), single, size, depth)
    object.__setattr__(relation, "facts", facts)


def _columns(relation: Relation) -> Mapping[str, Type]:
    match relation:
        case Scan(table):
            return table.columns
        case FilterRows(below, _):
            return columns_of(below)
        case Project(below, columns):
            scope = columns_of(below)
            return {column.name: _projected(column.expression, scope) for column in columns}
        case JoinPublic(below, table, _, keep, columns):
            joined = {name: table.columns[there] for name, there in columns}
            return {**columns_of(below), **_kept(joined, keep)}
        case JoinPerson(left, right, _, keep):
            return {**columns_of(left), **_kept(columns_of(right), keep)}
        case MatchPerson() | MatchPublic():
            found = Type(Kind.BOOLEAN, nullable=False)
            return {**columns_of(inputs_of(relation)[0]), relation.name: found}
        case PersonWindow(below, windows):
            scope = columns_of(below)
            return {**scope, **{one.name: window_type(one, scope) for one in windows}}
        case PerPerson(below, keys, aggregates):
            scope = columns_of(below)
            grouped = {key.name: infer(key.expression, scope) for key in keys}
            return {**grouped, **{a.name: summary_type(a, scope) for a in aggregates}}
        case Union(left, right):
            return _united(columns_of(left), columns_of(right))
        case _:
            assert_never(relation)


def _projected(expression: Expression, scope: Mapping[str, Type]) -> Type:
    """A column stays what it is: that a count is never negative, say, which `infer` leaves out."""
    found = infer(expression, scope)
    return scope[expression.name] if isinstance(expression, Column) else found


def _single(relation: Relation) -> bool:
    match relation:
        case Scan() | Union():
            return False
        case PerPerson(below, keys, _):
            return all(names_person(key.expression, below) for key in keys)
        case MatchPerson(left):
            return left.facts.one_row_each
        case _:
            return all(one.facts.one_row_each for one in inputs_of(relation))


def names_person(expression: Expression, relation: Relation) -> bool:
    """Whether an expression is the column that names the person, the same in all their rows."""
    if not isinstance(expression, Column):
        return False
    match relation:
        case Scan(table):
            return isinstance(table.unit, Person) and table.unit.column == expression.name
        case Project(below, columns) | PerPerson(below, columns, _):
            same = (one.expression for one in columns if one.name == expression.name)
            return any(names_person(one, below) for one in same)
        case Union():
            return False
        case _:  # rows beside which there are more columns
            below = inputs_of(relation)[0]
            return expression.name in columns_of(below) and names_person(expression, below)


def computed_columns(relation: Relation) -> frozenset[str]:
    """The columns that are computed from others, and not stored ones under some name."""
    return frozenset(name for name in columns_of(relation) if not _is_stored(name, relation))


def _is_stored(name: str, relation: Relation) -> bool:
    match relation:
        case Scan():
            return True
        case Project(below, columns) | PerPerson(below, columns, _):
            same = (one.expression for one in columns if one.name == name)
            return any(isinstance(one, Column) and _is_stored(one.name, below) for one in same)
        case JoinPublic(below, _, _, _, columns) if name in {here for here, _ in columns}:
            return True
        case Union(left, right):
            places = list(columns_of(left)).index(name)
            return _is_stored(name, left) and _is_stored(list(columns_of(right))[places], right)
        case _:
            holding = (one for one in inputs_of(relation) if name in columns_of(one))
            return any(_is_stored(name, one) for one in holding)


def same_people(left: Relation, right: Relation) -> None:
    """Refuse to bring together relations that do not protect the same people."""
    if left.facts.unit == right.facts.unit == "person":
        return
    raise InputError(
        "two tables are combined and one of them protects single rows or periods",
        why="only rows of the same person can be brought together",
        fix="declare the column that names the person as the unit of both tables",
    )


def _kept(columns: Mapping[str, Type], keep: Keep) -> dict[str, Type]:
    if keep is Keep.MATCHED:
        return dict(columns)
    return {name: type_.may_be_null() for name, type_ in columns.items()}


def _united(left: Mapping[str, Type], right: Mapping[str, Type]) -> dict[str, Type]:
    if [t.kind for t in left.values()] != [t.kind for t in right.values()]:
        raise InputError(
            "a union of tables with different columns",
            why="columns are matched by position and have to be of the same kind",
            fix="list the same kinds of columns on both sides, with CAST where needed",
        )
    return {
        name: _either(first, second)
        for (name, first), second in zip(left.items(), right.values(), strict=True)
    }


def _either(first: Type, second: Type) -> Type:
    for one, other in ((first, second), (second, first)):
        if one.keys == (None,):  # NULL alone widens nothing
            return other.may_be_null()
    hull = first.range.hull(second.range) if first.range and second.range else None
    keys = tuple(dict.fromkeys(first.keys + second.keys)) if first.keys and second.keys else None
    return Type(first.kind, first.nullable or second.nullable, hull, keys)
