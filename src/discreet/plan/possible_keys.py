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
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.plan import relations as rel
from discreet.plan.calendar import as_time, beginnings, moment, position
from discreet.plan.expressions import (
    COMPARISONS,
    MIRRORED,
    Call,
    Column,
    Expression,
    Function,
    IsIn,
    Like,
    Literal,
    Unit,
    conjuncts,
    mapped,
    mentions,
    parts_of,
    remember,
)
from discreet.plan.keylists import FEW, listed
from discreet.plan.kinds import PYTHON_KINDS, Kind, Range, Type, Value
from discreet.plan.texts import LONGEST_CONCAT, Wildcard, tokens
from discreet.plan.typing import infer

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
        for part in conjuncts(relation.predicate):
            of = _named(of, key, part)
        relation = relation.input
    return of


def _of_lists(key: Expression, columns: dict[str, Type]) -> Expression:
    """A key in which each part with the values given here is a column of its own."""
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
            texts = ["".join(map(str, parts)) for parts in product(*lists)]
            if max(map(len, texts)) > LONGEST_CONCAT:
                return None  # which is NULL
            return listed(texts, nullable=any(of.nullable for of in types))
        case Call(Function.ADD | Function.SUBTRACT as function, (operand, Literal(int() as days))):
            of = infer(operand, columns)
            if of.kind is not Kind.DATE or of.keys is None or abs(days) > FEW:
                return None
            step = dt.timedelta(days=days if function is Function.ADD else -days)
            try:
                later = [key and key + step for key in of.keys]  # type: ignore[operator]
            except OverflowError:  # outside the calendar: NULL
                return None
            return listed(later, nullable=of.nullable)
    return None


def possible_columns(relation: rel.Relation) -> Mapping[str, Type]:
    """The columns of a relation, with the keys alone that conditions leave."""
    return _possible(relation)[0]


@remember(64)
def _possible(relation: rel.Relation) -> tuple[Mapping[str, Type], int]:
    """The same, and the steps that are left of `MOST_STEPS`."""
    match relation:
        case rel.FilterRows(below, predicate):
            known, steps = _possible(below)
            columns = dict(known)
            for part in conjuncts(predicate):
                cut = {name: _cut(columns[name], name, part) for name in mentions(part)}
                columns |= {n: _named(infer(Column(n), cut), Column(n), part) for n in cut}
                steps -= _steps(part) * sum(len(columns[name].keys or ()) for name in cut)
                if steps >= 0:
                    columns |= {name: _narrowed(name, columns[name], part) for name in cut}
            return columns, steps
        case rel.Project(below, named):
            scope, steps = _possible(below)
            return {one.name: infer(one.expression, scope) for one in named}, steps
    return rel.columns_of(relation), MOST_STEPS


def _steps(condition: Expression) -> int:
    """How much work a condition is for each value, as far as it differs."""
    own = len(condition.pattern) if isinstance(condition, Like) else 1
    return own + sum(map(_steps, parts_of(condition)))


def _narrowed(name: str, of: Type, condition: Expression) -> Type:
    """The type of a column with the keys alone that meet a condition; NULL may be ruled out."""
    keys = of.keys or ()
    true = _outcomes(condition, name, _Values.of((*keys, None), of.kind))[0]
    left = tuple(key for key, may in zip(keys, true[:-1], strict=True) if may)
    if keys and not left:
        return of
    return replace(of, keys=left or of.keys, nullable=of.nullable and bool(true[-1]))


def _cut(of: Type, name: str, condition: Expression) -> Type:
    """The type of a column with the range that comparing it, or its year, with a literal leaves."""
    function, other = _comparison(condition, name)
    step = 0 if of.kind is Kind.REAL else 1
    match condition:
        case Call(compared, (Call(Function.YEAR, (Column(column),)), Literal(int() as year))) if (
            column == name and compared in _COMPARED and 1 <= year < dt.MAXYEAR and of.kind.is_time
        ):
            function, days = compared, (dt.date(year, 1, 1), dt.date(year + 1, 1, 1))
            begin, end = (position(d if of.kind is Kind.DATE else as_time(d)) for d in days)
            end -= step
        case _ if function is None or PYTHON_KINDS.get(type(other)) is not of.kind:
            return of
        case _:
            begin = end = position(other) if isinstance(other, dt.date) else other  # type: ignore[assignment]
    if of.range is None:
        return of
    low, high = of.range.low, of.range.high
    if function in FROM:
        low = max(low, end + step if function is Function.GREATER else begin)
    if function in UP_TO:
        high = min(high, begin - step if function is Function.LESS else end)
    known = low <= high and abs(end) < 1 << 53
    return replace(of, range=Range(low, high), nullable=False) if known else of


FROM: Final = {Function.EQUAL, Function.GREATER, Function.GREATER_EQUAL}
UP_TO: Final = {Function.EQUAL, Function.LESS, Function.LESS_EQUAL}


def _comparison(condition: Expression, name: str) -> tuple[Function | None, Value]:
    """The comparison of a column with a literal that a condition is, the column first."""
    match condition:
        case Call(function, (Column(column), Literal(other))) if column == name:
            return (function if function in _COMPARED else None), other
        case Call(function, (Literal(other), Column(column))) if column == name:
            return MIRRORED.get(function), other
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

Flags: TypeAlias = NDArray[np.bool_]
Outcomes: TypeAlias = tuple[Flags, Flags, Flags]
"""Whether a condition may be true, false or NULL, for each value."""


@dataclass(frozen=True, slots=True)
class _Values:
    """Values of a column: numbers, times as microseconds, texts."""

    plain: tuple[Value, ...]
    places: NDArray[Any]
    null: Flags
    exact: bool
    """Whether whole numbers and doubles compare alike."""

    @staticmethod
    def of(values: tuple[Value, ...], kind: Kind) -> "_Values":
        null = np.array([value is None for value in values])
        empty, stored = ("", object) if kind is Kind.TEXT else (0, None)
        placed = [empty if value is None else _place(value) for value in values]
        return _Values(values, np.array(placed, stored), null, all(map(_is_exact, values)))

    def outcomes(self, true: Flags) -> Outcomes:
        """Of a condition that is NULL for NULL and known for all else."""
        return true & ~self.null, ~true & ~self.null, self.null

    @property
    def any(self) -> Outcomes:
        """Of a condition that is not understood."""
        anything = np.ones(len(self.plain), dtype=np.bool_)
        return anything, anything, anything


def _outcomes(condition: Expression, name: str, values: _Values) -> Outcomes:
    """What a condition may be in rows with these values of a column, whatever else they hold."""
    match condition:
        case Call(Function.AND | Function.OR as function, arguments):
            parts = [_outcomes(one, name, values) for one in arguments]
            yes, no, null = (np.array(flags) for flags in zip(*parts, strict=True))
            if function is Function.AND:
                return _every(yes), _some(no), _every(yes | null) & _some(null)
            return _some(yes), _every(no), _every(no | null) & _some(null)
        case Call(Function.NOT, (operand,)):
            yes, no, null = _outcomes(operand, name, values)
            return no, yes, null
        case Call(Function.IS_NULL, (Column(column),)) if column == name:
            return values.null, ~values.null, np.zeros_like(values.null)
        case IsIn(Column(column), literals) if column == name and values.exact:
            among = {_place(one.value) for one in literals}
            return values.outcomes(np.array([place in among for place in values.places.tolist()]))
        case Like(Column(column), pattern, escape) if column == name:
            matches = _matcher(tokens(pattern, escape))
            texts = ("" if text is None else str(text) for text in values.plain)
            return values.outcomes(np.array([matches(text) for text in texts]))
        case Column(column) if column == name:
            return values.outcomes(values.places.astype(np.bool_))
        case Literal(bool() | None as known):
            flags = [np.full(len(values.plain), known is one) for one in (True, False, None)]
            return flags[0], flags[1], flags[2]
    compared, other = _comparison(condition, name)
    return values.any if compared is None else _compared(compared, values, other)


_every, _some = np.logical_and.reduce, np.logical_or.reduce


def _compared(function: Function, values: _Values, other: Value) -> Outcomes:
    if other is None:
        nothing = np.zeros_like(values.null)
        return nothing, nothing, ~nothing
    text = isinstance(other, str)
    ordered = function not in {Function.EQUAL, Function.NOT_EQUAL}
    if not (values.exact and _is_exact(other)) or (text and ordered):
        return values.any  # engines may sort texts in other ways
    return values.outcomes(_COMPARED[function](values.places, _place(other)).astype(np.bool_))


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


def _is_exact(value: Value) -> bool:
    """Whether a number compares alike as a whole number and as a double."""
    return not isinstance(value, int) or abs(value) < 1 << 53


def _place(value: Value) -> Value:
    """A day or a time as microseconds; a day is its midnight."""
    return position(as_time(value)) if isinstance(value, dt.date) else value


_COMPARED: Final[Mapping[Function, Callable[[Any, Any], NDArray[Any]]]] = dict(
    zip(
        COMPARISONS,
        (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
        strict=True,
    )
)
