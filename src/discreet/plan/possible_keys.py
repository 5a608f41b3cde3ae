"""Keys of groups that the conditions of a question leave possible.

`WHERE city = 'Haifa' GROUP BY city` has one group, although the owner declared ten cities: no row
that counts is in another. Its list of keys is public, since the question and the declared keys
are. So nine rows of noise are not released, and one person is in one group instead of ten.
"""

import datetime as dt
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import reduce
from itertools import islice, product
from typing import Any, Final, TypeAlias

from discreet.plan import relations as rel
from discreet.plan.calendar import beginnings, moment, position
from discreet.plan.expressions import (
    COMPARISONS,
    Call,
    Column,
    Expression,
    Function,
    IsIn,
    Like,
    Literal,
    Unit,
)
from discreet.plan.keylists import FEW, listed
from discreet.plan.kinds import PYTHON_KINDS, Kind, Range, Type, Value
from discreet.plan.remembered import remember
from discreet.plan.texts import Wildcard, tokens
from discreet.plan.typing import infer, mapped, parts_of

MOST_STEPS = 1 << 19
"""Keys times parts of conditions that are tried; lists that would take longer stay as they are."""


def possible_type(key: Expression, relation: rel.Relation) -> Type:
    """The type of a key, with the values alone that the conditions on rows leave.

    Neighbours:
        None: the list follows from the question and from declared facts, never from rows.
    Why any list is sound:
        Rows whose key is not listed are left out before they are bounded, as those are whose key is
        not among the declared ones.
    Why the answer is the same:
        A value is ruled out where the condition is false or NULL for it, whatever the other columns
        hold; a row with that value does not count.
    Edge cases:
        Conditions that are not understood rule nothing out, and neither does one that no value
        meets. A key without a list has the values that `key IN (...)` or `key = ...` name, and a
        text such as `YEAR(day) || '-' || MONTH(day)` those of its parts, where they are few.

    Example:
        >>> from discreet.plan.schema import EachRow, Table
        >>> city = Type(Kind.TEXT, keys=("Austin", "Haifa"))
        >>> visits = rel.Scan(Table("visits", {"city": city}, EachRow()))
        >>> is_haifa = Call(Function.EQUAL, (Column("city"), Literal("Haifa", Kind.TEXT)))
        >>> possible_type(Column("city"), rel.FilterRows(visits, is_haifa)).keys
        ('Haifa',)
    """
    columns = dict(possible_columns(relation))
    left = infer(_of_lists(key, columns), columns)
    of = replace(infer(key, rel.columns_of(relation)), keys=left.keys, nullable=left.nullable)
    while isinstance(relation, rel.FilterRows):
        for part in _conjuncts(relation.predicate):
            of = _named(of, key, part)
        relation = relation.input
    return of


def _of_lists(key: Expression, columns: dict[str, Type]) -> Expression:
    """A key in which each part whose values are told here is a column of its own."""
    key = mapped(key, lambda part: _of_lists(part, columns))
    values = _values(key, columns)
    if values is None:
        return key
    name = f"\0listed {len(columns)}"
    columns[name] = replace(infer(key, columns), keys=values, nullable=None in values)
    return Column(name)


def _values(part: Expression, columns: Mapping[str, Type]) -> tuple[Value, ...] | None:
    """The values of months and quarters in a range, of texts put together, of later days."""
    match part:
        case Call(Function.MONTH | Function.QUARTER as function, (operand,)):
            of = infer(operand, columns)
            if of.range is None:
                return None
            low, high = (moment(end, of.kind) for end in (of.range.low, of.range.high))
            months = (day.month - 1 for day in islice(beginnings(low, high, Unit.MONTH), 12))
            held = {month // (1 if function is Function.MONTH else 3) + 1 for month in months}
            return listed(sorted(held), nullable=of.nullable)
        case Call(Function.CONCAT, arguments):
            types = [infer(one, columns) for one in arguments]
            lists = [[key for key in of.keys or () if key is not None] for of in types]
            if not 0 < math.prod(map(len, lists)) <= FEW:
                return None
            texts = ("".join(map(str, parts)) for parts in product(*lists))
            return listed(texts, nullable=any(of.nullable for of in types))
        case Call(Function.ADD | Function.SUBTRACT as function, (operand, Literal(int() as days))):
            of = infer(operand, columns)
            if of.kind is not Kind.DATE or of.keys is None or abs(days) > FEW:
                return None
            step = dt.timedelta(days=days if function is Function.ADD else -days)
            return listed((key and key + step for key in of.keys), nullable=of.nullable)  # type: ignore[operator]
    return None


@remember(64)
def possible_columns(relation: rel.Relation) -> Mapping[str, Type]:
    """The columns of a relation, with the keys alone that conditions leave."""
    match relation:
        case rel.FilterRows(below, predicate):
            columns, steps = dict(possible_columns(below)), MOST_STEPS
            for part in _conjuncts(predicate):
                cut = {name: _cut(columns[name], name, part) for name in _read_by(part)}
                columns |= {n: _named(infer(Column(n), cut), Column(n), part) for n in cut}
                steps -= part.size * sum(len(columns[name].keys or ()) for name in cut)
                if steps >= 0:
                    columns |= {name: _narrowed(name, columns[name], part) for name in cut}
            return columns
        case rel.Project(below, named):
            scope = possible_columns(below)
            return {one.name: infer(one.expression, scope) for one in named}
    return rel.columns_of(relation)


def _conjuncts(predicate: Expression) -> list[Expression]:
    match predicate:
        case Call(Function.AND, parts):
            return [one for part in parts for one in _conjuncts(part)]
    return [predicate]


def _read_by(expression: Expression) -> set[str]:
    if isinstance(expression, Column):
        return {expression.name}
    return set[str]().union(*map(_read_by, parts_of(expression)))


def _narrowed(name: str, of: Type, condition: Expression) -> Type:
    """The type of a column with the keys alone that meet a condition."""
    outcomes = _outcomes(condition, name)
    left = tuple(key for key in of.keys or () if True in outcomes(key))
    return replace(of, keys=left, nullable=of.nullable and True in outcomes(None)) if left else of


def _cut(of: Type, name: str, condition: Expression) -> Type:
    """The type of a column with the part of its range that a comparison with a literal leaves."""
    function, other = _comparison(condition, name)
    if of.range is None or function is None or PYTHON_KINDS.get(type(other)) is not of.kind:
        return of
    at: float = position(other) if isinstance(other, dt.date) else other  # type: ignore[assignment]
    step = 0 if of.kind is Kind.REAL else 1
    low, high = of.range.low, of.range.high
    if function in _FROM:
        low = max(low, at + step * (function is Function.GREATER))
    if function in _UP_TO:
        high = min(high, at - step * (function is Function.LESS))
    return replace(of, range=Range(low, high)) if low <= high and abs(at) < 1 << 53 else of


_FROM: Final = {Function.EQUAL, Function.GREATER, Function.GREATER_EQUAL}
_UP_TO: Final = {Function.EQUAL, Function.LESS, Function.LESS_EQUAL}


def _comparison(condition: Expression, name: str) -> tuple[Function | None, Value]:
    """The comparison of a column with a literal that a condition is, the column first."""
    match condition:
        case Call(function, (Column(column), Literal(other))) if column == name:
            return (function if function in _COMPARED else None), other
        case Call(function, (Literal(other), Column(column))) if column == name:
            return _TURNED.get(function), other
    return None, None


def _named(of: Type, key: Expression, condition: Expression) -> Type:
    """The type of a key without a list, with the values that a condition names."""
    literals: tuple[Literal, ...] = ()
    match condition:
        case IsIn(operand, values) if operand == key:
            literals = values
        case Call(Function.EQUAL, (operand, Literal() as value)) if operand == key:
            literals = (value,)
    known = of.keys is not None or of.kind not in _NAMED
    if known or any(value.kind is not of.kind for value in literals):
        return of
    keys = listed((value.value for value in literals), nullable=False)
    return replace(of, keys=keys, nullable=False) if keys else of


_NAMED: Final = {Kind.TEXT, Kind.INTEGER, Kind.DATE}

Outcomes: TypeAlias = frozenset[bool | None]
"""What a condition may be: true, false, NULL."""

_ANY: Final[Outcomes] = frozenset({True, False, None})


def _outcomes(condition: Expression, name: str) -> Callable[[Value], Outcomes]:
    """What a condition may be in a row with this value of a column, whatever else the row holds."""
    match condition:
        case Call(Function.AND | Function.OR as function, arguments):
            decides = function is Function.OR
            parts = [_outcomes(one, name) for one in arguments]
            return lambda value: reduce(
                lambda a, b: frozenset(_joined({x, y}, decides) for x in a for y in b),
                (part(value) for part in parts),
            )
        case Call(Function.NOT, (operand,)):
            inner = _outcomes(operand, name)
            return lambda value: frozenset(None if x is None else not x for x in inner(value))
        case Call(Function.IS_NULL, (Column(column),)) if column == name:
            return lambda value: frozenset({value is None})
        case IsIn(Column(column), values) if column == name:
            among = frozenset(_place(one.value) for one in values)
            return lambda value: (
                frozenset({None if value is None else _place(value) in among})
                if _is_exact(value)
                else _ANY
            )
        case Like(Column(column), pattern, escape) if column == name:
            matches = _matcher(tokens(pattern, escape))
            return lambda value: frozenset({None if value is None else matches(str(value))})
        case Column(column) if column == name:
            return lambda value: frozenset({value})  # type: ignore[arg-type]  # a truth value
        case Literal(bool() | None as known):
            return lambda _: frozenset({known})
    compared, other = _comparison(condition, name)
    if compared is None:
        return lambda _: _ANY
    return lambda value: _compared(compared, value, other)


def _matcher(pattern: Iterable[str | Wildcard]) -> Callable[[str], bool]:
    """Whether texts match a LIKE pattern, in time in proportion to text and pattern.

    Each part between two % has a fixed length, and the first place that it fits is as good as any.
    """
    parts: list[list[str]] = [[]]
    for one in pattern:
        if one is Wildcard.ANY:
            parts.append([])
        else:
            parts[-1].append("." if one is Wildcard.ONE else re.escape(str(one)))
    first, *rest = [re.compile("".join(part), re.DOTALL) for part in parts]
    size = len(parts[-1])

    def matches(text: str) -> bool:
        if not rest:
            return first.fullmatch(text) is not None
        found = first.match(text)
        for part in rest[:-1]:
            found = found and part.search(text, found.end())
        at = len(text) - size
        return found is not None and found.end() <= at and rest[-1].match(text, at) is not None

    return matches


def _joined(both: set[bool | None], decides: bool) -> bool | None:  # noqa: FBT001 - a truth value
    """What two conditions are together: true decides OR, false decides AND."""
    return decides if decides in both else None if None in both else not decides


def _compared(function: Function, value: Value, other: Value) -> Outcomes:
    if value is None or other is None:
        return frozenset({None})
    left, right = _place(value), _place(other)
    ordered = function not in {Function.EQUAL, Function.NOT_EQUAL}
    texts = isinstance(left, str) or isinstance(right, str)
    if (texts and ordered) or not (_is_exact(left) and _is_exact(right)):
        return _ANY  # engines may sort texts in other ways
    return frozenset({bool(_COMPARED[function](left, right))})


def _is_exact(value: Value) -> bool:
    """Whether a number compares alike as a whole number and as a double."""
    return not isinstance(value, int) or abs(value) < 1 << 53


def _place(value: Value) -> Value:
    """A day as its midnight: what it equals among times."""
    is_day = isinstance(value, dt.date) and not isinstance(value, dt.datetime)
    return dt.datetime.combine(value, dt.time()) if is_day else value  # type: ignore[arg-type]


_COMPARED: Final[Mapping[Function, Callable[[Any, Any], object]]] = dict(
    zip(
        COMPARISONS,
        (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
        strict=True,
    )
)
_TURNED: Final = {
    Function.EQUAL: Function.EQUAL,
    Function.NOT_EQUAL: Function.NOT_EQUAL,
    Function.LESS: Function.GREATER,
    Function.GREATER: Function.LESS,
    Function.LESS_EQUAL: Function.GREATER_EQUAL,
    Function.GREATER_EQUAL: Function.LESS_EQUAL,
}
"""Comparisons with their sides exchanged."""
