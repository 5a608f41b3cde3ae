"""Literals that no declared key equals: a typing error that would be paid for, found for nothing.

The owner's list of keys is public, so whether a literal is on it may be told before any charge.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from discreet.errors import InputError
from discreet.plan.expressions import Call, Column, Expression, Function, IsIn, Literal
from discreet.plan.kinds import Kind, Type, Value
from discreet.plan.typing import parts_of

_COMPARED: Final = {Function.EQUAL, Function.NOT_EQUAL}
_SHOWN, _SEARCHED = 6, 5000


def check_listed(expression: Expression, columns: Mapping[str, Type]) -> None:
    """Refuse `sex = 'male'` where the keys of sex are Female and Male; `IN` and `<>` likewise.

    Columns alone are meant, and not what is computed from them: CAST(sex AS TEXT) = 'male' asks
    about rows that are outside of the declared keys.
    """
    found = unlisted(expression, columns)
    if found is not None:
        raise found[1]


def unlisted(
    expression: Expression, columns: Mapping[str, Type]
) -> tuple[Expression, InputError] | None:
    """The first part that compares a column with none of its keys, and why it is refused."""
    pairs: list[tuple[Expression, tuple[Expression, ...]]] = []
    match expression:
        case Call(function, (left, right)) if function in _COMPARED:
            pairs = [(left, (right,)), (right, (left,))]
        case IsIn(operand, values):
            pairs = [(operand, values)]
    for operand, others in pairs:
        if isinstance(operand, Column) and operand.name in columns:
            for other in others:
                if isinstance(other, Literal) and _is_missing(other.value, columns[operand.name]):
                    return expression, _refusal(operand.name, other.value, columns[operand.name])
    return next((one for part in parts_of(expression) if (one := unlisted(part, columns))), None)


def _is_missing(value: Value, of: Type) -> bool:
    """Whether a list that somebody declared lacks a value; numbers in a range are not declared."""
    declared = of.keys is not None and of.range is None and of.kind is not Kind.BOOLEAN
    return declared and value is not None and _moment(value) not in map(_moment, of.keys or ())


def _moment(value: Value) -> Value:
    """A day as its midnight: what it equals among times."""
    is_day = isinstance(value, dt.date) and not isinstance(value, dt.datetime)
    return dt.datetime.combine(value, dt.time()) if is_day else value  # type: ignore[arg-type]


def _refusal(name: str, value: Value, of: Type) -> InputError:
    keys = [key for key in of.keys or () if key is not None]
    listed = ", ".join(_quoted(key) for key in keys[:_SHOWN])
    more = f" and {len(keys) - _SHOWN:,} more" if len(keys) > _SHOWN else ""
    near = [_quoted(key) for key in near_keys(value, keys)]
    meant = (
        f"write {' or '.join(near)}, if that is meant; else" if near else "write one of them, or"
    )
    return InputError(
        f"{name} is compared with {_quoted(value)}, which is not one of its declared keys",
        why=f"its keys are {listed}{more}, and rows with other values are in no group",
        fix=f"{meant} compare CAST({name} AS {_TYPES[of.kind]}) to ask about rows outside the keys",
    )


_TYPES: Final = {
    Kind.INTEGER: "BIGINT",
    Kind.REAL: "DOUBLE",
    Kind.TEXT: "TEXT",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}


def near_keys(value: Value, keys: Sequence[Value]) -> list[Value]:
    """Keys that a value may have meant: one that differs in case and spaces, else up to three."""
    if not isinstance(value, str):
        return []
    folded: dict[str, Value] = {}
    for key in keys[:_SEARCHED]:
        folded.setdefault(str(key).strip().casefold(), key)
    wanted = value.strip().casefold()
    close = [wanted] if wanted in folded else get_close_matches(wanted, folded, n=3, cutoff=0.6)
    return [folded[one] for one in close]


def _quoted(value: Value) -> str:
    return repr(value) if isinstance(value, str) else str(value)
