"""An expression as an engine's SQL text that means the same and fails on no row.

Doubles stray: IEEE arithmetic gives NaN or infinity where the meaning says NULL. A sum, difference,
product, root, logarithm or quotient of a stray value strays again, be it inf - inf or 0 * inf, with
one exception, the quotient by infinity. So strays are let through those and turned into NULL once,
before anything that could lose them: a comparison, a denominator, EXP, the end. Where ranges
exclude strays there is no such step.

Whole numbers never stray: types give INTEGER only where 64 bits hold every result.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

from discreet.plan import expressions as ex
from discreet.plan.calendar import moment
from discreet.plan.expressions import parts_of
from discreet.plan.functions import common_kind
from discreet.plan.kinds import Kind, Type, Value
from discreet.plan.numeric import REACH, ResultType, reach
from discreet.plan.texts import tokens
from discreet.plan.typing import check_depth, deduce
from discreet.sql.writer.render_calls import CALLS, SqlText, ends

if TYPE_CHECKING:
    from discreet.sql.writer.dialect import Dialect

_EXACT_DOUBLES = 1 << 53  # whole numbers up to here are doubles


def render(
    expression: ex.Expression, columns: Mapping[str, Type], dialect: "Dialect", prefix: str = ""
) -> str:
    """The text of an expression over columns of these types, of the table or alias `prefix`.

    Guarantee: on every row whose columns have their types, the engine computes the value that the
    reference interpreter defines, and does not fail.

    Edge cases: NULL, NaN, infinity, overflow, division by 0, failed casts and dates outside the
    calendar all give NULL.
    """
    renderer = Renderer(columns, dialect, f"{dialect.identifier(prefix)}." if prefix else "")
    return renderer.finite(renderer.visit(expression, 0))


@dataclass(frozen=True, slots=True)
class Renderer:
    """Renders expressions over columns of these types."""

    columns: Mapping[str, Type]
    dialect: "Dialect"
    prefix: str

    def visit(self, expression: ex.Expression, depth: int) -> SqlText:
        """The text of an expression at this depth inside another."""
        check_depth(depth)
        parts = [self.visit(part, depth + 1) for part in parts_of(expression)]
        outcome = deduce(expression, [part.type for part in parts], self.columns)
        return self.node(expression, parts, outcome)

    def node(self, expression: ex.Expression, parts: list[SqlText], outcome: ResultType) -> SqlText:
        """The text of a node whose parts have these texts."""
        match expression:
            case ex.Literal(value, kind):
                return SqlText(self.dialect.literal(value, kind), outcome.type, literal=expression)
            case ex.Column(name):
                sql = self.prefix + self.dialect.identifier(name)
            case ex.Call(function, _):
                found = CALLS[function](self, expression, parts, outcome)
                return SqlText(found, outcome.type) if isinstance(found, str) else found
            case ex.Case():
                return self._case(parts, outcome)
            case ex.Cast(_, kind):
                return self._cast(parts[0], kind, outcome)
            case ex.IsIn(_, values):
                sql = self._is_in(parts[0], values)
            case ex.Like(_, pattern, escape):
                sql = self.dialect.like(parts[0].sql, tokens(pattern, escape))
            case ex.Truncate(_, unit):
                sql = self._truncate(unit, parts[0])
            case _:
                assert_never(expression)
        return SqlText(sql, outcome.type)

    # --- shared steps -----------------------------------------------------------------------------

    def finite(self, part: SqlText) -> str:
        """A part with NULL for NaN and infinity."""
        if not part.strays:
            return part.sql
        dialect = self.dialect
        return dialect.let([part.sql], lambda it: dialect.only_if(dialect.is_finite(it), it))

    def real(self, part: SqlText) -> str:
        """A number as a double; it strays if the part does."""
        return self.as_kind(part, Kind.REAL)

    def as_kind(self, part: SqlText, kind: Kind) -> str:
        """INTEGER as REAL, DATE as TIMESTAMP, or the part itself."""
        if part.kind is kind:
            return part.sql
        if kind is Kind.REAL and part.literal is not None and part.literal.value is not None:
            return self.dialect.double(float(part.literal.value))  # type: ignore[arg-type]
        return self.dialect.cast(part.sql, kind, part.kind)

    def clean(self, part: SqlText) -> SqlText:
        """A part with NULL for NaN and infinity, to be used as a part again."""
        return replace(part, sql=self.finite(part), strays=False)

    def within(self, sql: str, kind: Kind) -> str:
        """A date or timestamp, NULL outside the calendar."""
        low, high = (moment(end, kind) for end in ends(REACH[kind]))
        return self.between(sql, low, high, kind)

    def between(self, sql: str, low: Value, high: Value, kind: Kind) -> str:
        """A value, NULL where it is not between two others."""
        dialect = self.dialect
        first, last = (dialect.literal(end, kind) for end in (low, high))
        return dialect.let(
            [sql], lambda it: dialect.only_if(f"{it} BETWEEN {first} AND {last}", it)
        )

    def comparison(self, operator: str, x: SqlText, y: SqlText) -> str:
        """A comparison of values of kinds that can be compared."""
        left, right = self.clean(x), self.clean(y)
        if x.kind is y.kind:
            return f"({left.sql} {operator} {right.sql})"
        kind = common_kind([x.type, y.type], operator)
        if kind is Kind.REAL and _rounds(x.type) and _rounds(y.type):
            return self.dialect.let([left.sql, right.sql], self.exact_comparison(operator, x, y))
        return f"({self.as_kind(left, kind)} {operator} {self.as_kind(right, kind)})"

    def exact_comparison(self, operator: str, x: SqlText, y: SqlText) -> Callable[..., str]:
        """An INTEGER with a REAL, as numbers.

        Why: rounding i to a double is monotone and leaves the double r alone. So where the rounded
        i is below r, so is i, and likewise above. Where they are equal, r is whole and at most 2^63
        in size, and wide integers decide.
        """
        dialect = self.dialect

        def body(a: str, b: str) -> str:
            doubles = [self.real(SqlText(it, part.type)) for it, part in ((a, x), (b, y))]
            wide = [dialect.wide(it, part.kind) for it, part in ((a, x), (b, y))]
            tie = f"{wide[0]} {operator} {wide[1]}"
            equal = f"{doubles[0]} = {doubles[1]}"
            return dialect.choose([(equal, tie)], f"{doubles[0]} {operator} {doubles[1]}")

        return body

    # --- nodes ------------------------------------------------------------------------------------

    def _case(self, parts: list[SqlText], outcome: ResultType) -> SqlText:
        kind = outcome.type.kind
        values = [*parts[1:-1:2], parts[-1]]
        texts = [self.as_kind(value, kind) for value in values]
        conditions = [condition.sql for condition in parts[:-1:2]]
        sql = self.dialect.choose(zip(conditions, texts[:-1], strict=True), texts[-1])
        return SqlText(sql, outcome.type, any(value.strays for value in values))

    def _cast(self, part: SqlText, kind: Kind, outcome: ResultType) -> SqlText:
        sql, strays = cast_text(part.sql, part.kind, kind, self.dialect, strays=part.strays)
        return SqlText(sql, outcome.type, strays)

    def _is_in(self, part: SqlText, values: tuple[ex.Literal, ...]) -> str:
        """INTEGER literals that are not doubles equal no REAL, and fractions equal no INTEGER."""
        kind = part.kind
        if kind is Kind.DATE and any(value.kind is Kind.TIMESTAMP for value in values):
            kind = Kind.TIMESTAMP
        sql = self.as_kind(self.clean(part), kind)
        found = [_same(value.value, kind) for value in values]
        listed = [self.dialect.literal(value, kind) for value in found if value is not None]
        if not listed:
            return f"({sql} IS NULL AND {self.dialect.literal(None, Kind.BOOLEAN)})"
        return f"({sql} IN ({', '.join(listed)}))"

    def _truncate(self, unit: ex.Unit, part: SqlText) -> str:
        if part.kind is Kind.DATE and unit in {ex.Unit.DAY, ex.Unit.HOUR, ex.Unit.MINUTE}:
            return part.sql
        return self.dialect.truncate(unit, part.sql, part.kind)

    def alike(self, parts: list[SqlText], kind: Kind) -> list[str]:
        """Parts of one kind, none straying."""
        return [self.as_kind(self.clean(part), kind) for part in parts]


def cast_text(
    text: str, source: Kind, target: Kind, dialect: "Dialect", *, strays: bool
) -> tuple[str, bool]:
    """A value as another kind, and whether it may stray then; the cast is one that types allow."""
    if source is target:
        return text, strays
    if source is Kind.TEXT:
        return dialect.parse(text, target), target is Kind.REAL
    if source is Kind.REAL:
        return dialect.to_integer(text), False  # NULL for strays too
    return dialect.cast(text, target, source), False


def _rounds(of: Type) -> bool:
    """Whether a number can be as large as the first whole number that is not a double."""
    return max(map(abs, ends(reach(of)))) >= _EXACT_DOUBLES


def _same(value: Value, kind: Kind) -> Value:
    """A literal as the kind it is compared with, or None where no value of the kind equals it."""
    if kind is Kind.INTEGER and isinstance(value, float):
        fits = value.is_integer() and ends(REACH[kind])[0] <= value <= ends(REACH[kind])[1]
        return int(value) if fits else None
    if kind is Kind.REAL and isinstance(value, int):
        return float(value) if float(value) == value else None
    return value
