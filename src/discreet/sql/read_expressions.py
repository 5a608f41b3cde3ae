"""Row expressions: a syntax tree of allow-listed nodes to the plan's closed set.

Each kind of node has one rule in `RULES` (here) or `FUNCTIONS` (`read_functions`); a node without a
rule is refused. What a name or an aggregate means is given by whoever reads: the columns of FROM in
WHERE, also aliases in HAVING and ORDER BY, released columns in post-processing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from discreet.errors import InputError, QueryRefused
from discreet.plan.expressions import (
    Call,
    Case,
    Expression,
    Function,
    IsIn,
    Like,
    Literal,
)
from discreet.plan.kinds import Kind, Type
from discreet.plan.typing import infer, parts_of
from discreet.sql.names import nearest
from discreet.sql.read_functions import FUNCTIONS, KNOWN_FUNCTIONS
from discreet.sql.read_literals import read_literal, read_moment
from discreet.sql.refusals import FUNCTIONS as INSTEAD
from discreet.sql.refusals import NODES, Refusal
from discreet.sql.syntax import Node, Syntax, conjuncts

Resolve: TypeAlias = Callable[[exp.Column], Expression]
Ask: TypeAlias = Callable[[Node], Expression]
AGGREGATES = (exp.AggFunc, exp.Filter, exp.WithinGroup)


@dataclass(frozen=True, slots=True)
class ExpressionReader:
    """Reads expressions over columns of known types.

    `resolve` says what a name means, `ask` what an aggregate does; None refuses aggregates, since
    they stand in `clause`.
    """

    syntax: Syntax
    types: Mapping[str, Type]
    resolve: Resolve
    ask: Ask | None = None
    clause: str = "WHERE"

    def read(self, node: Node | None) -> Expression:
        """The expression that a node means."""
        if node is None:
            raise self.syntax.refuse(None, _MISSING)
        if isinstance(node, AGGREGATES):
            return self._aggregate(node)
        rule = RULES.get(type(node)) or FUNCTIONS.get(type(node))
        if rule is None:
            raise self.unknown(node)
        return self.syntax.remember(rule(self, node), node)

    def checked(self, node: Node) -> Expression:
        """The expression that a node means, with its kinds in order."""
        expression = self.read(node)
        self.check(expression, node)
        return expression

    def check(self, expression: Expression, node: Node) -> Type:
        """The type of an expression; wrong kinds are refused where they stand."""
        try:
            return infer(expression, self.types)
        except InputError as error:
            deepest, reason = self._fault(expression, error)
            raise self.syntax.blame(self.syntax.origin(deepest) or node, reason) from None

    def call(self, node: Node, function: Function, *arguments: Expression) -> Expression:
        """A call that came from a node."""
        return self.syntax.remember(Call(function, arguments), node)

    def alike(self, nodes: Sequence[Node]) -> list[Expression]:
        """Expressions of one kind: NULL and texts that stand for dates take it from the others."""
        read = [None if _is_null(node) else self.read(node) for node in nodes]
        known = [expression for expression in read if expression is not None]
        if len(known) == len(read) and not any(_is_text(expression) for expression in known):
            return known
        if not known:
            raise self.syntax.refuse(nodes[0], NODES["Null"])
        kind = self._common_kind(known, nodes[0])
        return [
            self._fit(expression, kind, node) for expression, node in zip(read, nodes, strict=True)
        ]

    def choice(
        self, conditions: Sequence[Expression], values: Sequence[Node], default: Node | None
    ) -> Expression:
        """A CASE; without ELSE it is NULL where no condition is true."""
        *chosen, last = self.alike([*values, exp.Null() if default is None else default])
        return Case(tuple(zip(conditions, chosen, strict=True)), last)

    def text(self, node: Node, role: str) -> str:
        """A text that has to be written out."""
        value = self.read(node) if isinstance(node, exp.Literal) else None
        if isinstance(value, Literal) and isinstance(value.value, str):
            return value.value
        what = Refusal(
            "argument",
            f"{role} is not a text in quotes",
            "it has to be known before the question is priced",
            "write it out",
        )
        raise self.syntax.refuse(node, what)

    def _fit(self, expression: Expression | None, kind: Kind, node: Node) -> Expression:
        if expression is None:
            return self.syntax.remember(Literal(None, kind), node)
        if isinstance(expression, Literal) and _is_text(expression) and kind.is_time:
            moment = read_moment(self.syntax, expression.value, kind, node)
            return self.syntax.remember(moment, node)
        return expression

    def _common_kind(self, known: Sequence[Expression], node: Node) -> Kind:
        others = [e for e in known if not _is_text(e)] or list(known)
        kinds = [self.check(e, self.syntax.origin(e) or node).kind for e in others]
        return Kind.REAL if Kind.REAL in kinds else kinds[0]

    def _fault(self, expression: Expression, error: InputError) -> tuple[Expression, InputError]:
        """The smallest part that is wrong by itself."""
        for part in parts_of(expression):
            try:
                infer(part, self.types)
            except InputError as inner:
                return self._fault(part, inner)
        return expression, error

    def _aggregate(self, node: Node) -> Expression:
        if self.ask is not None:
            return self.syntax.remember(self.ask(node), node)
        if function_name(self.syntax, node) not in KNOWN_AGGREGATES:
            raise self.unknown(node)
        nested = self.clause == "an aggregate"
        what = Refusal(
            "nested_aggregate" if nested else "misplaced_aggregate",
            f"an aggregate stands inside {self.clause}",
            "it is an answer about many rows, and there each row is asked by itself",
            "aggregate per person in a subquery first"
            if nested
            else "move the condition to HAVING",
        )
        raise self.syntax.refuse(node, what)

    def unknown(self, node: Node) -> QueryRefused:
        """A refusal of a node or function that has no rule."""
        known = NODES.get(type(node).__name__)
        if known is not None:
            return self.syntax.refuse(node, known)
        name = function_name(self.syntax, node)
        if not isinstance(node, exp.Func):
            what = Refusal("clause", f"{name} is not understood in an expression")
            return self.syntax.refuse(node, what)
        close = nearest(name, KNOWN_FUNCTIONS | KNOWN_AGGREGATES)
        hint = f"write {close}, if that is meant" if close else "use one of the functions listed"
        what = Refusal(
            "unknown_function",
            f"there is no function {name}",
            "the list of functions is closed, so that each has a meaning for every row",
            INSTEAD.get(name, hint),
        )
        return self.syntax.refuse(node, what)


Rule: TypeAlias = Callable[[ExpressionReader, Node], Expression]


def has_aggregate(node: Node) -> bool:
    """Whether an aggregate stands anywhere in an expression, outside of subqueries."""
    found = node.walk(prune=lambda part: isinstance(part, exp.Query))
    return any(isinstance(part, AGGREGATES) for part in found)


def function_name(syntax: Syntax, node: Node) -> str:
    """The function's name as typed, in capitals."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper()
    if "start" in node.meta:
        return syntax.text[node.meta["start"] : node.meta["end"] + 1].upper()
    named = node.sql_names()[0] if isinstance(node, exp.Func) else type(node).__name__
    return str(named).upper()


def _is_null(node: Node) -> bool:
    while isinstance(node, exp.Paren):
        node = node.this
    return isinstance(node, exp.Null)


def _is_text(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.kind is Kind.TEXT


# --- rules ----------------------------------------------------------------------------------------


def _paren(reader: ExpressionReader, node: Node) -> Expression:
    return reader.read(reader.syntax.part(node, "this"))


def _column(reader: ExpressionReader, node: Node) -> Expression:
    return reader.resolve(node)  # type: ignore[arg-type]  # the table below sends columns alone


def _literal(reader: ExpressionReader, node: Node) -> Expression:
    return read_literal(reader.syntax, node)


def _boolean(reader: ExpressionReader, node: Node) -> Expression:
    return Literal(bool(reader.syntax.part(node, "this")), Kind.BOOLEAN)


def _negate(reader: ExpressionReader, node: Node) -> Expression:
    inner = reader.syntax.part(node, "this")
    if isinstance(inner, exp.Literal) and not inner.args.get("is_string"):
        return read_literal(reader.syntax, inner, negative=True)
    return Call(Function.NEGATE, (reader.read(inner),))


def _logic(function: Function) -> Rule:
    def rule(reader: ExpressionReader, node: Node) -> Expression:
        operands = conjuncts(reader.syntax, node, type(node))
        return Call(function, tuple(reader.read(operand) for operand in operands))

    return rule


def _not(reader: ExpressionReader, node: Node) -> Expression:
    return Call(Function.NOT, (reader.read(reader.syntax.part(node, "this")),))


def _compare(function: Function) -> Rule:
    def rule(reader: ExpressionReader, node: Node) -> Expression:
        sides = [reader.syntax.part(node, "this"), reader.syntax.part(node, "expression")]
        if any(map(_is_null, sides)):
            raise reader.syntax.refuse(node, _NULL_COMPARED)
        return Call(function, tuple(reader.alike(sides)))

    return rule


def _same(reader: ExpressionReader, node: Node) -> Expression:
    """IS NOT DISTINCT FROM: equal, or both NULL."""
    syntax = reader.syntax
    sides = [syntax.part(node, "this"), syntax.part(node, "expression")]
    values = [reader.read(side) for side in sides if not _is_null(side)]
    if len(values) < 2:
        nulls = values or [reader.read(sides[0])]
        return Call(Function.IS_NULL, tuple(nulls))
    values = reader.alike(sides)
    if any(isinstance(value, Literal) for value in values):
        never = Literal(value=False, kind=Kind.BOOLEAN)
        return Call(Function.COALESCE, (reader.call(node, Function.EQUAL, *values), never))
    nulls = [reader.call(node, Function.IS_NULL, value) for value in values]
    both = reader.call(node, Function.AND, *nulls)
    return Call(Function.COALESCE, (reader.call(node, Function.EQUAL, *values), both))


def _different(reader: ExpressionReader, node: Node) -> Expression:
    return Call(Function.NOT, (reader.syntax.remember(_same(reader, node), node),))


def _is(reader: ExpressionReader, node: Node) -> Expression:
    operand = reader.read(reader.syntax.part(node, "this"))
    what = reader.syntax.part(node, "expression")
    if isinstance(what, exp.Null):
        return Call(Function.IS_NULL, (operand,))
    if not isinstance(what, exp.Boolean):
        raise reader.syntax.refuse(node, _IS)
    no = Literal(value=False, kind=Kind.BOOLEAN)
    if not reader.syntax.part(what, "this"):
        operand = reader.call(node, Function.NOT, operand)
    return Call(Function.COALESCE, (operand, no))


def _between(reader: ExpressionReader, node: Node) -> Expression:
    parts = [reader.syntax.part(node, name) for name in ("this", "low", "high")]
    if any(map(_is_null, parts)):
        raise reader.syntax.refuse(node, _NULL_COMPARED)
    value, low, high = reader.alike(parts)
    above = reader.call(node, Function.GREATER_EQUAL, value, low)
    below = reader.call(node, Function.LESS_EQUAL, value, high)
    return Call(Function.AND, (above, below))


def _in(reader: ExpressionReader, node: Node) -> Expression:
    """A list of constants, or the same as a chain of equalities."""
    syntax = reader.syntax
    if node.args.get("query") is not None or node.args.get("field") is not None:
        raise syntax.refuse(node, NODES["Subquery"])
    listed = syntax.parts(node, "expressions")
    if not listed or any(map(_is_null, listed)):
        raise syntax.refuse(node, _IN_NULL)
    operand, *values = reader.alike([syntax.part(node, "this"), *listed])
    constants = tuple(dict.fromkeys(v for v in values if isinstance(v, Literal)))
    if all(isinstance(value, Literal) for value in values):
        return IsIn(operand, constants)
    equal = [reader.call(node, Function.EQUAL, operand, value) for value in values]
    return Call(Function.OR, tuple(equal))


def _like(reader: ExpressionReader, node: Node, escape: str | None = None) -> Expression:
    """LIKE; ILIKE folds A-Z on both sides, as LOWER does."""
    syntax = reader.syntax
    operand = reader.read(syntax.part(node, "this"))
    pattern_node = syntax.part(node, "expression")
    pattern = reader.text(pattern_node, "the pattern of LIKE")
    if isinstance(node, exp.ILike):
        if not pattern.isascii() or (escape is not None and escape.isalpha()):
            raise syntax.refuse(pattern_node, _ILIKE)
        operand = reader.call(node, Function.LOWER, operand)
        pattern = pattern.lower()
    match = Like(operand, pattern, escape)
    if not syntax.part(node, "negate"):
        return match
    return Call(Function.NOT, (syntax.remember(match, node),))


def _escape(reader: ExpressionReader, node: Node) -> Expression:
    like = reader.syntax.part(node, "this")
    if not isinstance(like, exp.Like | exp.ILike):
        raise reader.syntax.refuse(node, Refusal("clause", "ESCAPE stands without LIKE"))
    escape = reader.text(reader.syntax.part(node, "expression"), "the escape of LIKE")
    return reader.syntax.remember(_like(reader, like, escape), like)


def _case(reader: ExpressionReader, node: Node) -> Expression:
    syntax = reader.syntax
    operand = syntax.part(node, "this")
    branches = syntax.parts(node, "ifs")
    conditions = [_when(reader, operand, branch) for branch in branches]
    values = [syntax.part(branch, "true") for branch in branches]
    return reader.choice(conditions, values, syntax.part(node, "default"))


def _when(reader: ExpressionReader, operand: Node | None, branch: Node) -> Expression:
    condition = reader.syntax.part(branch, "this")
    if operand is None:
        return reader.read(condition)
    if _is_null(condition):
        raise reader.syntax.refuse(condition, _NULL_COMPARED)
    return reader.call(branch, Function.EQUAL, *reader.alike([operand, condition]))


def _if(reader: ExpressionReader, node: Node) -> Expression:
    syntax = reader.syntax
    condition = reader.read(syntax.part(node, "this"))
    return reader.choice([condition], [syntax.part(node, "true")], syntax.part(node, "false"))


_MISSING = Refusal("syntax", "a value is missing", "an operator stands alone", "write its operand")
_NULL_COMPARED = Refusal(
    "null",
    "a value is compared with NULL",
    "the comparison is NULL for every row, so it holds for none",
    "write IS NULL or IS NOT NULL",
)
_IN_NULL = Refusal(
    "null",
    "the list of IN is empty or holds NULL",
    "nothing equals NULL, and NOT IN would hold for no row",
    "list the values, and test for NULL with IS NULL",
)
_IS = Refusal(
    "clause", "IS is followed by something else", fix="write IS NULL, IS TRUE or IS FALSE"
)
_ILIKE = Refusal(
    "pattern",
    "ILIKE with letters beyond A-Z",
    "engines fold other letters differently",
    "use LIKE for this pattern",
)
_AGGREGATE_NAMES = """
COUNT SUM AVG VARIANCE VAR_SAMP VAR_POP STDDEV STDDEV_SAMP STDDEV_POP COVAR_SAMP COVAR_POP CORR
MEDIAN PERCENTILE_CONT QUANTILE QUANTILE_CONT MIN MAX COUNT_IF FILTER WITHINGROUP
"""
KNOWN_AGGREGATES = frozenset(_AGGREGATE_NAMES.split())

RULES: dict[type[Node], Rule] = {
    exp.Paren: _paren,
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Boolean: _boolean,
    exp.Neg: _negate,
    exp.And: _logic(Function.AND),
    exp.Or: _logic(Function.OR),
    exp.Not: _not,
    exp.EQ: _compare(Function.EQUAL),
    exp.NEQ: _compare(Function.NOT_EQUAL),
    exp.LT: _compare(Function.LESS),
    exp.LTE: _compare(Function.LESS_EQUAL),
    exp.GT: _compare(Function.GREATER),
    exp.GTE: _compare(Function.GREATER_EQUAL),
    exp.NullSafeEQ: _same,
    exp.NullSafeNEQ: _different,
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escape,
    exp.Case: _case,
    exp.If: _if,
}
