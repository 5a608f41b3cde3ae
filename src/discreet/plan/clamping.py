"""Values held between two constants, in a form that is recognised again."""

from collections.abc import Iterator

from discreet.plan.expressions import Call, Case, Column, Expression, Function, Literal
from discreet.plan.kinds import Kind, Value
from discreet.plan.relations import Project, Relation, Scan, nodes_of


def clamp(value: Expression, kind: Kind, low: Value, high: Value) -> Expression:
    """A value moved to the nearest of two ends; NULL stays NULL.

    Why: LEAST and GREATEST pass over NULL, which would become the lower end.
    """
    held = Call(Function.GREATEST, (value, Literal(low, kind)))
    held = Call(Function.LEAST, (held, Literal(high, kind)))
    return Case(((Call(Function.IS_NULL, (value,)), Literal(None, kind)),), held)


def clamped_columns(relation: Relation) -> Iterator[tuple[str, Value, Value]]:
    """The stored columns that `clamp` holds between ends, and the ends."""
    nodes, _ = nodes_of(relation)
    for node in nodes:
        if isinstance(node, Project) and isinstance(node.input, Scan):
            for one in node.columns:
                match one.expression:
                    case Case(
                        (_,),
                        Call(
                            Function.LEAST,
                            (
                                Call(Function.GREATEST, (Column(name), Literal(low))),
                                Literal(high),
                            ),
                        ),
                    ) if name == one.name:
                        yield name, low, high
