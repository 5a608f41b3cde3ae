"""Row expressions: a syntax tree of allow-listed nodes to the plan's closed set.

Each kind of node has one rule: logic and comparisons in `RULES`, others in `FUNCTIONS`; a node
without a rule is refused. What a name or an aggregate means is given by whoever reads: the columns
of FROM in WHERE, also aliases in HAVING and ORDER BY, released columns in post-processing.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from sqlglot import exp

from discreet.errors import InputError, QueryRefused
from discreet.plan.expressions import (
    MIRRORED,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Function,
    IsIn,
    Like,
    Literal,
    call,
    chain,
    parts_of,
)
from discreet.plan.kinds import Kind, Type
from discreet.plan.summaries import expect
from discreet.plan.typing import infer, unlisted
from discreet.sql.reader import times, zones
from discreet.sql.reader.functions import FUNCTIONS, KNOWN_FUNCTIONS
from discreet.sql.reader.literals import read_literal, read_moment
from discreet.sql.reader.refusals import FUNCTIONS as INSTEAD
from discreet.sql.reader.refusals import NODES, WHY, Refusal, said
from discreet.sql.reader.syntax import (
    AGGREGATES,
    Node,
    Syntax,
    Visible,
    conjuncts,
    is_null,
    nearest,
    resolve,
)

Resolve: TypeAlias = Callable[[exp.Column], Expression]
"""What a name means."""
Ask: TypeAlias = Callable[[Node], Expression]


def column_among(columns: Sequence[Visible], syntax: Syntax) -> Resolve:
    """Names as those of one of these columns."""
    return lambda node: Column(resolve(syntax, node, columns).column)


_LOOKED_UP = (exp.Window, exp.Exists, exp.Subquery)
"""What asks about other rows."""


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
        if self.look is not None and (listed or isinstance(node, _LOOKED_UP)):
            return self.syntax.remember(self.look(node), node)
        if isinstance(node, exp.IgnoreNulls) and isinstance(node.this, exp.AnyValue):
            return self.read(self.syntax.part(node, "this"))  # how the parser reads ANY_VALUE
        rule = RULES.get(type(node)) or FUNCTIONS.get(type(node))
        if rule is None:
            raise self.unknown(node)
        return self.syntax.remember(rule(self, node), node)

    def part(self, node: Node, name: str) -> Expression:
        """The expression that a part of a node means."""
        return self.read(self.syntax.part(node, name))

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
            raise self.syntax.blame(*self._fault(expression, error, node)) from None
        declared = self.types
        if self.computed:
            declared = {n: of for n, of in self.types.items() if n not in self.computed}
        if (wrong := unlisted(expression, declared)) is not None:
            part, said = wrong
            where = self.syntax.origin(part) or node
            raise self.syntax.refuse(where, Refusal.of(said, "unlisted_key"))
        return found

    def expect_condition(self, expression: Expression, node: Node, role: str) -> None:
        """Refuse what is no condition."""
        self.syntax.build(node, expect, expression, self.types, Kind.BOOLEAN, role)

    def condition(self, node: Node) -> Expression:
        """The condition that a node means."""
        found = self.checked(node)
        self.expect_condition(found, node, "a condition")
        return found

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

    def _fault(
        self, expression: Expression, error: InputError, node: Node
    ) -> tuple[Node, InputError]:
        """The place of the smallest part that is wrong by itself, and why it is."""
        node = self.syntax.origin(expression) or node
        for part in parts_of(expression):
            try:
                infer(part, self.types)
            except InputError as inner:
                return self._fault(part, inner, node)
        return node, error

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
        alike = (one for one in KNOWN_FUNCTIONS | KNOWN_AGGREGATES if one[0] == name[:1])
        close = nearest(name, alike)
        hint = f"write {close}, if that is meant" if close else _LISTED
        what = Refusal(
            "unknown_function",
            f"there is no function {name}",
            WHY.get(name, _CLOSED),
            INSTEAD.get(name, hint),
        )
        return self.syntax.refuse(node, what)


_LISTED = "use one of the functions in the reference, under Questions"
_CLOSED = "the list of functions is closed, so that each has a meaning for every row"
Rule: TypeAlias = Callable[[ExpressionReader, Node], Expression]


def function_name(syntax: Syntax, node: Node) -> str:
    """The function's name as typed, in capitals."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper()
    if "start" in node.meta:
        return syntax.text[node.meta["start"] : node.meta["end"] + 1].upper()
    typed = _CALLED.search(syntax.text[: syntax.place(node)[0]])
    named = node.sql_names()[0] if isinstance(node, exp.Func) else type(node).__name__
    return str(typed[1] if typed and isinstance(node, exp.Func) else named).upper()


_CALLED = re.compile(r"(\w+)\s*\(\s*(?:DISTINCT\s+)?$", re.IGNORECASE)
"""A call up to its first argument: its parser forgets which of several names it has."""


def _is_text(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.kind is Kind.TEXT


# --- logic ----------------------------------------------------------------------------------------


def _negate(reader: ExpressionReader, node: Node) -> Expression:
    inner = reader.syntax.part(node, "this")
    if isinstance(inner, exp.Literal) and not inner.args.get("is_string"):
        return read_literal(reader.syntax, inner, negative=True)
    return Call(Function.NEGATE, (reader.read(inner),))


def _logic(function: Function, reader: ExpressionReader, node: Node) -> Expression:
    return Call(function, tuple(map(reader.read, conjuncts(reader.syntax, node, type(node)))))


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
        raise reader.syntax.refuse(condition, _NULL_COMPARED)
    return reader.syntax.remember(
        call(Function.EQUAL, *_comparable(reader, [operand, condition])), branch
    )


def _if(reader: ExpressionReader, node: Node) -> Expression:
    syntax, condition = reader.syntax, reader.part(node, "this")
    return reader.choice([condition], [syntax.part(node, "true")], syntax.part(node, "false"))


# --- comparisons ----------------------------------------------------------------------------------


def _compare(function: Function, reader: ExpressionReader, node: Node) -> Expression:
    sides = [reader.syntax.part(node, "this"), reader.syntax.part(node, "expression")]
    if any(map(is_null, sides)):
        raise reader.syntax.refuse(node, _NULL_COMPARED)
    match [times.is_interval(side) for side in sides]:
        case [False, True]:
            return times.read_longer(reader, function, *sides)
        case [True, False]:
            return times.read_longer(reader, MIRRORED[function], *sides[::-1])
    return call(function, *_compared(reader, sides))


def _compared(reader: ExpressionReader, nodes: list[Node]) -> list[Expression]:
    """Instants, times of a day, or other values of one kind."""
    known = zones.read_instants(reader, nodes) or times.read_clocks(reader, nodes)
    return known or _comparable(reader, nodes)


_NO = Literal(value=False, kind=Kind.BOOLEAN)
_BITS = {Literal(0, Kind.INTEGER), Literal(1, Kind.INTEGER)}


def _comparable(reader: ExpressionReader, nodes: Sequence[Node]) -> list[Expression]:
    """Values of one kind; TRUE is 1 beside a bit, as in DuckDB."""

    def as_bit(value: Expression, node: Node) -> Expression:
        boolean = reader.check(value, node).kind is Kind.BOOLEAN
        return reader.syntax.remember(Cast(value, Kind.INTEGER), node) if boolean else value

    values = reader.alike(nodes)
    return list(map(as_bit, values, nodes)) if _BITS.intersection(values) else values


def _same(reader: ExpressionReader, node: Node) -> Expression:
    """IS NOT DISTINCT FROM: equal, or both NULL."""
    sides = [reader.syntax.part(node, "this"), reader.syntax.part(node, "expression")]
    values = [reader.read(side) for side in sides if not is_null(side)]
    if len(values) < 2:
        return (values[0] if values else reader.read(sides[0])).is_null()
    x, y = _comparable(reader, sides)
    known = isinstance(x, Literal) or isinstance(y, Literal)
    return call(Function.COALESCE, x.equals(y), _NO if known else x.is_null() & y.is_null())


def _is(reader: ExpressionReader, node: Node) -> Expression:
    operand = reader.part(node, "this")
    what = reader.syntax.part(node, "expression")
    if isinstance(what, exp.Null):
        return operand.is_null()
    if not isinstance(what, exp.Boolean):
        raise reader.syntax.refuse(node, _IS)
    asked = operand if reader.syntax.part(what, "this") else ~operand
    return call(Function.COALESCE, asked, _NO)


def _between(reader: ExpressionReader, node: Node) -> Expression:
    parts = [reader.syntax.part(node, name) for name in ("this", "low", "high")]
    if any(map(is_null, parts)):
        raise reader.syntax.refuse(node, _NULL_COMPARED)
    ends = Function.GREATER_EQUAL, Function.LESS_EQUAL
    if times.is_interval(parts[1]):
        longer = partial(times.read_longer, reader)
        sides = (longer(one, parts[0], end) for one, end in zip(ends, parts[1:], strict=True))
        return call(Function.AND, *sides)
    value, low, high = _compared(reader, parts)
    return call(ends[0], value, low) & call(ends[1], value, high)


def _in(reader: ExpressionReader, node: Node) -> Expression:
    """A list of constants, or the same as a chain of equalities."""
    syntax = reader.syntax
    if node.args.get("query") is not None or node.args.get("field") is not None:
        raise syntax.refuse(node, NODES["Subquery"])
    listed = syntax.parts(node, "expressions")
    if isinstance(node.this, exp.Tuple):
        return _in_rows(reader, node, listed)
    if not listed or any(map(is_null, listed)):
        raise syntax.refuse(node, _IN_NULL)
    operand, *values = _comparable(reader, [syntax.part(node, "this"), *listed])
    constants = tuple(dict.fromkeys(v for v in values if isinstance(v, Literal)))
    if all(isinstance(value, Literal) for value in values):
        return IsIn(operand, constants)
    return call(Function.OR, *(operand.equals(value) for value in values))


def _in_rows(reader: ExpressionReader, node: Node, listed: list[Node]) -> Expression:
    """(a, b) IN ((1, 'x'), (2, 'y')): one of them is equal in every part."""
    syntax = reader.syntax
    operands = syntax.parts(syntax.part(node, "this"), "expressions")
    found = []
    for row in listed:
        values = syntax.parts(row, "expressions") if isinstance(row, exp.Tuple) else []
        if len(values) != len(operands) or any(map(is_null, values)):
            raise syntax.refuse(row, _IN_WIDTH)
        parts = (_comparable(reader, pair) for pair in zip(operands, values, strict=True))
        equal = call(Function.AND, *(call(Function.EQUAL, *part) for part in parts))
        found.append(syntax.remember(equal, row))
    return chain(Function.OR, found)


def _like(reader: ExpressionReader, node: Node, escape: str | None = None) -> Expression:
    """LIKE; ILIKE folds A-Z on both sides, as LOWER does."""
    syntax = reader.syntax
    operand = reader.part(node, "this")
    pattern_node = syntax.part(node, "expression")
    if node.args.get("negate") and not isinstance(pattern_node, exp.Literal):
        raise syntax.refuse(pattern_node, _NEITHER)
    pattern = reader.text(pattern_node, "the pattern of LIKE")
    if isinstance(node, exp.ILike):
        if not pattern.isascii() or (escape is not None and escape.isalpha()):
            raise syntax.refuse(pattern_node, _ILIKE)
        operand, pattern = call(Function.LOWER, operand), pattern.lower()
    match = Like(operand, pattern, escape)
    return ~match if syntax.part(node, "negate") else match


def _escape(reader: ExpressionReader, node: Node) -> Expression:
    like = reader.syntax.part(node, "this")
    if not isinstance(like, exp.Like | exp.ILike):
        raise reader.syntax.refuse(node, Refusal("clause", "ESCAPE stands without LIKE"))
    escape = reader.text(reader.syntax.part(node, "expression"), "the escape of LIKE")
    return reader.syntax.remember(_like(reader, like, escape), like)


_NULL_COMPARED = said("""null: a value is compared with NULL
    the comparison is NULL for every row, so it holds for none
    write IS NULL or IS NOT NULL""")
_IN_NULL = said("""null: the list of IN is empty or holds NULL
    nothing equals NULL, and NOT IN would hold for no row
    list the values, and test for NULL with IS NULL""")
_IN_WIDTH = said("""argument: IN compares rows of different length, or with NULL
    each value is compared with the one at its place, and nothing equals NULL
    write (a, b) IN ((1, 'x'), (2, 'y'))""")
_IS = said("""clause: IS is followed by something else
    write IS NULL, IS TRUE or IS FALSE""")
_NEITHER = said("""pattern: NOT LIKE with a list of patterns, or with no text in quotes
    of a list, NOT means one of the patterns to some engines, and all of them to others
    write NOT x LIKE ANY ('a%', 'b%') where no pattern may match, or NOT x LIKE ALL ('a%', 'b%') \
    where one of them may not""")
_ILIKE = said("""pattern: ILIKE with letters beyond A-Z
    engines fold other letters differently
    use LIKE for this pattern""")
_MISSING = Refusal("syntax", "a value is missing", "an operator stands alone", "write its operand")
_AGGREGATE_NAMES = """
COUNT SUM AVG VARIANCE VAR_SAMP VAR_POP STDDEV STDDEV_SAMP STDDEV_POP COVAR_SAMP COVAR_POP CORR
MEDIAN PERCENTILE_CONT QUANTILE QUANTILE_CONT MIN MAX COUNT_IF FILTER WITHINGROUP
"""
KNOWN_AGGREGATES = frozenset(_AGGREGATE_NAMES.split())

RULES: dict[type[Node], Rule] = {
    exp.Paren: lambda reader, node: reader.part(node, "this"),
    exp.Column: lambda reader, node: reader.resolve(node),  # type: ignore[arg-type]
    exp.Literal: lambda reader, node: read_literal(reader.syntax, node),
    exp.Boolean: lambda reader, node: Literal(bool(reader.syntax.part(node, "this")), Kind.BOOLEAN),
    exp.Neg: _negate,
    exp.And: partial(_logic, Function.AND),
    exp.Or: partial(_logic, Function.OR),
    exp.Not: lambda reader, node: ~reader.part(node, "this"),
    exp.EQ: partial(_compare, Function.EQUAL),
    exp.NEQ: partial(_compare, Function.NOT_EQUAL),
    exp.LT: partial(_compare, Function.LESS),
    exp.LTE: partial(_compare, Function.LESS_EQUAL),
    exp.GT: partial(_compare, Function.GREATER),
    exp.GTE: partial(_compare, Function.GREATER_EQUAL),
    exp.NullSafeEQ: _same,
    exp.NullSafeNEQ: lambda reader, node: ~_same(reader, node),
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escape,
    exp.AtTimeZone: zones.read_local,
    exp.Case: _case,
    exp.If: _if,
}
