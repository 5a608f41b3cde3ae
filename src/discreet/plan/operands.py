"""The operands of a call: which kinds a function takes, and literals among them."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from discreet.errors import InputError
from discreet.plan.expressions import Call, Expression, Literal
from discreet.plan.keylists import truth
from discreet.plan.kinds import Kind, Type, Value
from discreet.plan.numeric import ResultType

Rule: TypeAlias = Callable[[Call, Sequence[Type]], ResultType]
"""The type of a call whose operands have these types."""

NUMBERS = frozenset({Kind.INTEGER, Kind.REAL})
TIMES = frozenset({Kind.DATE, Kind.TIMESTAMP})


def expect(call: Call, operands: Sequence[Type], kinds: "set[Kind] | frozenset[Kind]") -> None:
    """Refuse operands of other kinds."""
    if all(of.kind in kinds for of in operands):
        return
    wanted = " or ".join(kind.value for kind in Kind if kind in kinds)
    raise InputError(
        f"{call.function.value} of {names(operands)}",
        why=f"it takes {wanted}",
        fix=f"cast the value to {wanted}, or use another function",
    )


def names(operands: Sequence[Type]) -> str:
    """The kinds of operands, in words."""
    return " and ".join(of.kind.value for of in operands)


def literal(expression: Expression) -> Value:
    """The value of a literal; None for anything else."""
    return expression.value if isinstance(expression, Literal) else None


def over(
    kinds: "set[Kind] | frozenset[Kind]", rule: Callable[[Sequence[Type]], ResultType]
) -> Rule:
    """The rule of a function whose arguments are all of these kinds."""

    def typed(call: Call, operands: Sequence[Type]) -> ResultType:
        expect(call, operands, kinds)
        return rule(operands)

    return typed


def of_truth(operands: Sequence[Type]) -> ResultType:
    """A truth value that is NULL only where an operand is."""
    return ResultType(truth(nullable=any(of.nullable for of in operands)))
