"""Rows that are in no group of an answer: which they are, and the question that counts them."""

from collections.abc import Mapping, Sequence

from discreet.errors import InputError
from discreet.plan.expressions import Call, Case, Cast, Column, Expression, Function, IsIn, Literal
from discreet.plan.expressions import Truncate as Truncated
from discreet.plan.keylists import few
from discreet.plan.kinds import Kind, Type, Value
from discreet.plan.query import Aggregate, AggregateFunction, Query
from discreet.plan.relations import FilterRows, Relation, columns_of
from discreet.plan.sensitivity import conjuncts
from discreet.plan.typing import infer

MOST = 5000
"""Groups that are written into a question about what is outside of them."""

OUTSIDE = "outside"
"""The column that tells how many people there are."""


def missing_rows(query: Query) -> list[str]:
    """Rows that public facts leave in no group: NULL keys, or unlisted ones."""
    said = [f"where {name} is {words}" for name, words in incomplete_keys(query).items()]
    return [f"Rows are in no group {', or '.join(said)}"] if said else []


def incomplete_keys(query: Query) -> dict[str, str]:
    """The public keys whose lists rows may be outside of, and what such rows have instead.

    A condition `key IN (...)` that names listed values alone leaves no row outside.
    """
    scope, found = columns_of(query.relation), dict[str, str]()
    for key, of in zip(query.keys, query.key_types, strict=True):
        if of.keys is None or _is_filtered(query.relation, key.expression, of.keys):
            continue
        null = of.nullable and None not in of.keys
        other = is_declared(key.expression, scope)
        words = ["NULL"] * null + [f"none of its {len(of.keys):,} keys"] * other
        found |= {key.name: " or ".join(words)} if words else {}
    return found


def _is_filtered(relation: Relation, key: Expression, keys: Sequence[Value]) -> bool:
    """Whether the conditions on all rows let a key be one of the listed values alone."""
    while isinstance(relation, FilterRows):
        for one in conjuncts(relation.predicate):
            if isinstance(one, IsIn) and one.operand == key:
                return {literal.value for literal in one.values} <= {*keys}
        relation = relation.input
    return False


def is_declared(expression: Expression, scope: Mapping[str, Type]) -> bool:
    """Whether the keys of an expression are somebody's list, which rows may be outside of.

    Truth values, bounded numbers and the texts of a CASE are all listed, whatever a row holds.
    """
    match expression:
        case Column(name):
            of = scope[name]
            every = few(of.range, of.kind, nullable=False)
            complete = every is not None and {*every} <= {*(of.keys or ())}
            return of.keys is not None and of.kind is not Kind.BOOLEAN and not complete
        case Case(branches, otherwise):
            return any(is_declared(one, scope) for one in (*(v for _, v in branches), otherwise))
        case Call(_, arguments):
            boolean = infer(expression, scope).kind is Kind.BOOLEAN
            return not boolean and any(is_declared(one, scope) for one in arguments)
        case Cast(operand, _) | Truncated(operand, _):
            return is_declared(operand, scope)
    return False


def count_outside(query: Query, found: Sequence[Sequence[Value]] | None = None) -> Query:
    """The question how many people have a row in none of the groups; of rows, where each counts.

    `found` are the groups that an answer told, for questions whose groups are not public.
    """
    types = query.key_types
    if not types or query.also:
        raise InputError(
            "rows outside the groups of a question that has none, or several answers",
            why="all rows are in the one group, or each answer has groups of its own",
            fix="ask about one question with GROUP BY",
        )
    keys = [key.expression for key in query.keys]
    if all(of.keys is not None for of in types):
        lists = [of.keys or () for of in types]
        inside = [_among(*one) for one in zip(keys, lists, types, strict=True)]
        condition = _joined(Function.AND, inside)
    elif found is None:
        raise InputError(
            "the groups of this question are not public",
            why="people outside are those in none of the groups that an answer told",
            fix="ask the question first, and pass its answer as shown=answer",
        )
    else:
        _check_few(len(found))
        rows = [
            [_among(*one) for one in zip(keys, _singles(row), types, strict=True)] for row in found
        ]
        each = [_joined(Function.AND, row) for row in rows]
        condition = _joined(Function.OR, each or [_FALSE])
    outside = FilterRows(query.relation, Call(Function.NOT, (condition,)))
    by_row = query.is_by_row
    measure = AggregateFunction.COUNT if by_row else AggregateFunction.COUNT_PEOPLE
    return Query(outside, (), (Aggregate(OUTSIDE, measure),), limits=query.limits)


_FALSE = Literal(value=False, kind=Kind.BOOLEAN)


def _singles(row: Sequence[Value]) -> list[tuple[Value]]:
    return [(value,) for value in row]


def _among(key: Expression, values: Sequence[Value], of: Type) -> Expression:
    """Whether a key is one of some values, NULL among them or not: never NULL itself."""
    _check_few(len(values))
    known = tuple(Literal(_as(v, of.kind), of.kind) for v in values if v is not None)
    parts: list[Expression] = []
    if known:
        parts.append(Call(Function.COALESCE, (IsIn(key, known), _FALSE)))
    if None in values:
        parts.append(Call(Function.IS_NULL, (key,)))
    return _joined(Function.OR, parts)


def _as(value: Value, kind: Kind) -> Value:
    return float(value) if kind is Kind.REAL and isinstance(value, int) else value


def _joined(function: Function, parts: Sequence[Expression]) -> Expression:
    return parts[0] if len(parts) == 1 else Call(function, tuple(parts))


def _check_few(count: int) -> None:
    if count > MOST:
        raise InputError(
            f"{count:,} groups are named to ask about people outside of them",
            why=f"a question names {MOST:,} at most",
            fix="group by a coarser key",
        )
