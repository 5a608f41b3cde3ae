"""Row expressions: a syntax tree of allow-listed nodes to the plan's closed set.

Each kind of node has one rule in `RULES` (here, and `read_comparisons`) or `FUNCTIONS`
(`read_functions`); a node without a rule is refused. What a name or an aggregate means is given by
whoever reads: the columns of FROM in WHERE, also aliases in HAVING and ORDER BY, released columns
in post-processing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from discreet.errors import InputError, QueryRefused
from discreet.plan.expressions import Call, Case, Expression, Function, Literal
from discreet.plan.kinds import Kind, Type
from discreet.plan.typing import infer, parts_of, unlisted
from discreet.sql.reader.comparisons import COMPARISONS, NULL_COMPARED, comparable
from discreet.sql.reader.functions import FUNCTIONS, KNOWN_FUNCTIONS
from discreet.sql.reader.literals import read_literal, read_moment
from discreet.sql.reader.refusals import FUNCTIONS as INSTEAD
from discreet.sql.reader.refusals import NODES, WHY, Refusal
from discreet.sql.reader.syntax import Node, Syntax, conjuncts, is_null, nearest

Resolve: TypeAlias = Callable[[exp.Column], Expression]
Ask: TypeAlias = Callable[[Node], Expression]
AGGREGATES = (exp.AggFunc, exp.Filter, exp.WithinGroup)


@dataclass(frozen=True, slots=True)
class ExpressionReader:
    """Reads expressions over columns of known types.

    `resolve` says what a name means, `ask` what an aggregate does, `look` what a subquery or window
    over private rows does; None refuses them, since they stand in `clause`. `beyond` says what
    windows and subqueries over released numbers mean.
    """

    syntax: Syntax
    types: Mapping[str, Type]
    resolve: Resolve
    ask: Ask | None = None
    clause: str = "WHERE"
    look: Ask | None = None
    beyond: "Callable[[ExpressionReader, Node], Expression] | None" = None
    computed: frozenset[str] = frozenset()
    """Columns that a subquery has computed, as CAST(city AS TEXT): they may be none of the keys."""

    def read(self, node: Node | None) -> Expression:
        """The expression that a node means."""
        if node is None:
            raise self.syntax.refuse(None, _MISSING)
        listed = isinstance(node, exp.In) and node.args.get("query") is not None
        if self.beyond is not None and (listed or isinstance(node, exp.Window | exp.Subquery)):
            return self.syntax.remember(self.beyond(self, node), node)
        if isinstance(node, AGGREGATES):
            return self._aggregate(node)
        if self.look is not None and looks_up(node):
            return self.syntax.remember(self.look(node), node)
        if isinstance(node, exp.IgnoreNulls) and isinstance(node.this, exp.AnyValue):
            return self.read(self.syntax.part(node, "this"))  # how the parser reads ANY_VALUE
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
        self.syntax.look_at(expression.size, node)
        try:
            found = infer(expression, self.types)
        except InputError as error:
            deepest, reason = self._fault(expression, error)
            raise self.syntax.blame(self.syntax.origin(deepest) or node, reason) from None
        declared = self.types
        if self.computed:
            declared = {n: of for n, of in self.types.items() if n not in self.computed}
        if (wrong := unlisted(expression, declared)) is not None:
            part, said = wrong
            what = Refusal("unlisted_key", said.what, said.why, said.fix)
            raise self.syntax.refuse(self.syntax.origin(part) or node, what)
        return found

    def call(self, node: Node, function: Function, *arguments: Expression | int) -> Expression:
        """A call that came from a node; whole numbers stand for themselves."""
        parts = (Literal(one, Kind.INTEGER) if isinstance(one, int) else one for one in arguments)
        return self.syntax.remember(Call(function, tuple(parts)), node)

    def alike(self, nodes: Sequence[Node]) -> list[Expression]:
        """Expressions of one kind: NULL and texts that stand for dates take it from the others."""
        read = [None if is_null(node) else self.read(node) for node in nodes]
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
            WHY.get(name, _CLOSED),
            INSTEAD.get(name, hint),
        )
        return self.syntax.refuse(node, what)


_CLOSED = "the list of functions is closed, so that each has a meaning for every row"
Rule: TypeAlias = Callable[[ExpressionReader, Node], Expression]


def has_aggregate(node: Node) -> bool:
    """Whether an aggregate of rows stands anywhere in an expression, outside of subqueries."""
    found = node.walk(prune=lambda part: isinstance(part, exp.Query))
    return any(isinstance(part, AGGREGATES) and not is_windowed(part) for part in found)


def is_windowed(node: Node) -> bool:
    """Whether a function is what a window computes, and no aggregate."""
    above = node.parent
    if isinstance(above, exp.Filter | exp.IgnoreNulls | exp.RespectNulls) and node is above.this:
        return is_windowed(above)
    return isinstance(above, exp.Window) and node is above.this


def looks_up(node: Node) -> bool:
    """Whether a node asks about other rows: a subquery, or a window."""
    if isinstance(node, exp.In):
        return node.args.get("query") is not None
    return isinstance(node, exp.Window | exp.Exists | exp.Subquery)


def function_name(syntax: Syntax, node: Node) -> str:
    """The function's name as typed, in capitals."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper()
    if "start" in node.meta:
        return syntax.text[node.meta["start"] : node.meta["end"] + 1].upper()
    named = node.sql_names()[0] if isinstance(node, exp.Func) else type(node).__name__
    return str(named).upper()


def _is_text(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.kind is Kind.TEXT


# --- rules ----------------------------------------------------------------------------------------


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
    if is_null(condition):
        raise reader.syntax.refuse(condition, NULL_COMPARED)
    return reader.call(branch, Function.EQUAL, *comparable(reader, [operand, condition]))


def _if(reader: ExpressionReader, node: Node) -> Expression:
    syntax = reader.syntax
    condition = reader.read(syntax.part(node, "this"))
    return reader.choice([condition], [syntax.part(node, "true")], syntax.part(node, "false"))


_MISSING = Refusal("syntax", "a value is missing", "an operator stands alone", "write its operand")
_AGGREGATE_NAMES = """
COUNT SUM AVG VARIANCE VAR_SAMP VAR_POP STDDEV STDDEV_SAMP STDDEV_POP COVAR_SAMP COVAR_POP CORR
MEDIAN PERCENTILE_CONT QUANTILE QUANTILE_CONT MIN MAX COUNT_IF FILTER WITHINGROUP
"""
KNOWN_AGGREGATES = frozenset(_AGGREGATE_NAMES.split())

RULES: dict[type[Node], Rule] = {
    exp.Paren: lambda reader, node: reader.read(reader.syntax.part(node, "this")),
    exp.Column: lambda reader, node: reader.resolve(node),  # type: ignore[arg-type]
    exp.Literal: lambda reader, node: read_literal(reader.syntax, node),
    exp.Boolean: lambda reader, node: Literal(bool(reader.syntax.part(node, "this")), Kind.BOOLEAN),
    exp.Neg: _negate,
    exp.And: _logic(Function.AND),
    exp.Or: _logic(Function.OR),
    exp.Not: lambda reader, node: Call(
        Function.NOT, (reader.read(reader.syntax.part(node, "this")),)
    ),
    **COMPARISONS,
    exp.Case: _case,
    exp.If: _if,
}
