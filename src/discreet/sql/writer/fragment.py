"""A part of an expression as text, with what has to be known to put it into a larger one."""

from dataclasses import dataclass
from typing import TypeAlias

from discreet.plan.expressions import Literal
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.numeric import ResultType


@dataclass(frozen=True, slots=True)
class SqlText:
    """The text of a part, its type, and whether it may be NaN or infinite for NULL."""

    sql: str
    type: Type
    strays: bool = False
    literal: Literal | None = None

    @property
    def kind(self) -> Kind:
        """The kind of its values."""
        return self.type.kind


Parts: TypeAlias = list[SqlText]


def strays(parts: Parts, outcome: ResultType) -> bool:
    """Whether a double that passes strays on may stray."""
    return outcome.type.kind is Kind.REAL and (outcome.strays or any(p.strays for p in parts))


def ends(of: Range) -> tuple[float, float]:
    """Both ends of a range."""
    return of.low, of.high
