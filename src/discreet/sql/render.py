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
from typing import TypeAlias, assert_never

from discreet.plan.calendar import moment
from discreet.plan.expressions import (
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Function,
    IsIn,
    Like,
    Literal,
    Truncate,
    Unit,
)
from discreet.plan.functions import LONGEST_CONCAT, bucket_limits, common_kind, substring_limits
from discreet.plan.kinds import Kind, Range, Type, Value
from discreet.plan.numeric import REACH, Outcome, reach
from discreet.plan.patterns import tokens
from discreet.plan.typing import check_depth, deduce, parts_of
from discreet.sql.dialect import Dialect

_EXACT_DOUBLES = 1 << 53  # whole numbers up to here are doubles


def render(
    expression: Expression, columns: Mapping[str, Type], dialect: Dialect, prefix: str = ""
) -> str:
    """The text of an expression over columns of these types, of the table or alias `prefix`.

    Guarantee: on every row whose columns have their types, the engine computes the value that the
    reference interpreter defines, and does not fail.

    Edge cases: NULL, NaN, infinity, overflow, division by 0, failed casts and dates outside the
    calendar all give NULL.
    """
    renderer = _Renderer(columns, dialect, f"{dialect.identifier(prefix)}." if prefix else "")
    return renderer.finite(renderer.visit(expression, 0))


@dataclass(frozen=True, slots=True)
class _Text:
    """The text of a part, its type, and whether it may be NaN or infinite for NULL."""

    sql: str
    type: Type
    strays: bool = False
    literal: Literal | None = None

    @property
    def kind(self) -> Kind:
        return self.type.kind


@dataclass(frozen=True, slots=True)
class _Renderer:
    columns: Mapping[str, Type]
    dialect: Dialect
    prefix: str

    def visit(self, expression: Expression, depth: int) -> _Text:
        check_depth(depth)
        parts = [self.visit(part, depth + 1) for part in parts_of(expression)]
        outcome = deduce(expression, [part.type for part in parts], self.columns)
        return self.node(expression, parts, outcome)

    def node(self, expression: Expression, parts: list[_Text], outcome: Outcome) -> _Text:
        match expression:
            case Literal(value, kind):
                return _Text(self.dialect.literal(value, kind), outcome.type, literal=expression)
            case Column(name):
                sql = self.prefix + self.dialect.identifier(name)
            case Call(function, _):
                return CALLS[function](self, expression, parts, outcome)
            case Case():
                return self.case(parts, outcome)
            case Cast(_, kind):
                return self.cast(parts[0], kind, outcome)
            case IsIn(_, values):
                sql = self.is_in(parts[0], values)
            case Like(_, pattern, escape):
                sql = self.dialect.like(parts[0].sql, tokens(pattern, escape))
            case Truncate(_, unit):
                sql = self.truncate(unit, parts[0])
            case _:
                assert_never(expression)
        return _Text(sql, outcome.type)

    # --- shared steps -----------------------------------------------------------------------------

    def finite(self, part: _Text) -> str:
        """A part with NULL for NaN and infinity."""
        if not part.strays:
            return part.sql
        dialect = self.dialect
        return dialect.let([part.sql], lambda it: dialect.only_if(dialect.is_finite(it), it))

    def real(self, part: _Text) -> str:
        """A number as a double; it strays if the part does."""
        return self.as_kind(part, Kind.REAL)

    def as_kind(self, part: _Text, kind: Kind) -> str:
        """INTEGER as REAL, DATE as TIMESTAMP, or the part itself."""
        if part.kind is kind:
            return part.sql
        if kind is Kind.REAL and part.literal is not None and part.literal.value is not None:
            return self.dialect.double(float(part.literal.value))  # type: ignore[arg-type]
        return self.dialect.cast(part.sql, kind)

    def clean(self, part: _Text) -> _Text:
        """A part with NULL for NaN and infinity, to be used as a part again."""
        return replace(part, sql=self.finite(part), strays=False)

    def within(self, sql: str, kind: Kind) -> str:
        """A date or timestamp, NULL outside the calendar."""
        low, high = (self.dialect.literal(moment(end, kind), kind) for end in _ends(REACH[kind]))
        dialect = self.dialect
        return dialect.let([sql], lambda it: dialect.only_if(f"{it} BETWEEN {low} AND {high}", it))

    def comparison(self, operator: str, x: _Text, y: _Text) -> str:
        """A comparison of values of kinds that can be compared."""
        left, right = self.clean(x), self.clean(y)
        if x.kind is y.kind:
            return f"({left.sql} {operator} {right.sql})"
        kind = common_kind([x.type, y.type], operator)
        if kind is Kind.REAL and _rounds(x.type) and _rounds(y.type):
            return self.dialect.let([left.sql, right.sql], self.exact_comparison(operator, x, y))
        return f"({self.as_kind(left, kind)} {operator} {self.as_kind(right, kind)})"

    def exact_comparison(self, operator: str, x: _Text, y: _Text) -> Callable[..., str]:
        """An INTEGER with a REAL, as numbers.

        Why: rounding i to a double is monotone and leaves the double r alone. So where the rounded
        i is below r, so is i, and likewise above. Where they are equal, r is whole and at most 2^63
        in size, and wide integers decide.
        """
        dialect = self.dialect

        def body(a: str, b: str) -> str:
            doubles = [self.real(_Text(it, part.type)) for it, part in ((a, x), (b, y))]
            tie = f"{dialect.exact_integer(a)} {operator} {dialect.exact_integer(b)}"
            equal = f"{doubles[0]} = {doubles[1]}"
            return dialect.choose([(equal, tie)], f"{doubles[0]} {operator} {doubles[1]}")

        return body

    # --- nodes ------------------------------------------------------------------------------------

    def case(self, parts: list[_Text], outcome: Outcome) -> _Text:
        kind = outcome.type.kind
        values = [*parts[1:-1:2], parts[-1]]
        texts = [self.as_kind(value, kind) for value in values]
        conditions = [condition.sql for condition in parts[:-1:2]]
        sql = self.dialect.choose(zip(conditions, texts[:-1], strict=True), texts[-1])
        return _Text(sql, outcome.type, any(value.strays for value in values))

    def cast(self, part: _Text, kind: Kind, outcome: Outcome) -> _Text:
        sql, strays = cast_text(part.sql, part.kind, kind, self.dialect, strays=part.strays)
        return _Text(sql, outcome.type, strays)

    def is_in(self, part: _Text, values: tuple[Literal, ...]) -> str:
        """INTEGER literals that are no doubles equal no REAL, nor do fractions any INTEGER."""
        kind = part.kind
        if kind is Kind.DATE and any(value.kind is Kind.TIMESTAMP for value in values):
            kind = Kind.TIMESTAMP
        sql = self.as_kind(self.clean(part), kind)
        found = [_same(value.value, kind) for value in values]
        listed = [self.dialect.literal(value, kind) for value in found if value is not None]
        if not listed:
            return f"({sql} IS NULL AND {self.dialect.literal(None, Kind.BOOLEAN)})"
        return f"({sql} IN ({', '.join(listed)}))"

    def truncate(self, unit: Unit, part: _Text) -> str:
        if part.kind is Kind.DATE and unit in {Unit.DAY, Unit.HOUR, Unit.MINUTE}:
            return part.sql
        return self.dialect.truncate(unit, part.sql, part.kind)

    # --- calls ------------------------------------------------------------------------------------

    def add(self, call: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        if outcome.type.kind is not Kind.DATE:
            return self.infix(call, parts, outcome)
        date, days = parts if parts[0].kind is Kind.DATE else parts[::-1]
        return self.days_later(call.function, date, days, outcome)

    def subtract(self, call: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        if parts[0].kind is not Kind.DATE:
            return self.infix(call, parts, outcome)
        if parts[1].kind is Kind.DATE:
            sql = self.dialect.days_between(parts[0].sql, parts[1].sql)
            return _Text(sql, outcome.type)
        return self.days_later(call.function, parts[0], parts[1], outcome)

    def days_later(self, function: Function, date: _Text, days: _Text, outcome: Outcome) -> _Text:
        """More days than the calendar has lead out of it, and are NULL before they add up."""
        limit = int(REACH[Kind.DATE].width) + 1
        near, dialect = days.sql, self.dialect
        if max(map(abs, _ends(reach(days.type)))) > limit:
            near = dialect.let(
                [near],
                lambda it: dialect.only_if(
                    f"{it} BETWEEN {dialect.literal(-limit, Kind.INTEGER)} "
                    f"AND {dialect.literal(limit, Kind.INTEGER)}",
                    it,
                ),
            )
        sql = dialect.days_later(date.sql, function.value, near)
        return _Text(self.within(sql, Kind.DATE) if outcome.strays else sql, outcome.type)

    def infix(self, call: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        """+, - and *: of INTEGER in 64 bits, or of doubles."""
        kind = outcome.type.kind
        texts = [part.sql if kind is Kind.INTEGER else self.real(part) for part in parts]
        sql = f"({texts[0]} {call.function.value} {texts[1]})"
        return _Text(sql, outcome.type, _stray(parts, outcome))

    def divide(self, _: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        """A quotient by infinity would be 0, so the denominator may not stray."""
        divisor = self.real(self.clean(parts[1]))
        sql = f"({self.real(parts[0])} / {divisor})"
        return _Text(sql, outcome.type, _stray(parts[:1], outcome))

    def modulo(self, _: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        x, y = parts
        divisor, dialect = y.sql, self.dialect
        if outcome.strays:
            zero = dialect.literal(0, Kind.INTEGER)
            divisor = dialect.let([divisor], lambda it: dialect.only_if(f"{it} <> {zero}", it))
        low, high = _ends(reach(y.type))
        wide = reach(x.type).low == REACH[Kind.INTEGER].low and low <= -1 <= high
        return _Text(dialect.remainder(x.sql, divisor, wide=wide), outcome.type)

    def negate(self, _: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        if outcome.type.kind is Kind.REAL:
            sql = f"(-{self.real(parts[0])})"
        else:
            sql = f"({self.dialect.literal(0, Kind.INTEGER)} - {parts[0].sql})"
        return _Text(sql, outcome.type, _stray(parts, outcome))

    def absolute(self, _: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        integer = outcome.type.kind is Kind.INTEGER
        sql = f"abs({parts[0].sql if integer else self.real(parts[0])})"
        return _Text(sql, outcome.type, _stray(parts, outcome))

    def sign(self, _: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        sql = self.dialect.cast(f"sign({self.finite(parts[0])})", Kind.INTEGER)
        return _Text(sql, outcome.type)

    def whole(self, call: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        (part,) = parts
        if part.kind is Kind.INTEGER:
            return part
        sql = self.dialect.whole(call.function, part.sql)
        if outcome.type.kind is Kind.INTEGER:
            return _Text(self.dialect.to_integer(sql), outcome.type)  # NULL for strays too
        return _Text(sql, outcome.type, part.strays)

    def root_or_logarithm(self, call: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        sql = f"{call.function.value}({self.real(parts[0])})"
        return _Text(sql, outcome.type, _stray(parts, outcome))

    def exponential(self, _: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        """EXP of -infinity would be 0, so the operand may not stray."""
        operand = self.real(self.clean(parts[0]))
        return _Text(f"exp({operand})", outcome.type, outcome.strays)

    def extreme(self, call: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        texts = self.alike(parts, outcome.type.kind)
        return _Text(f"{call.function.value}({', '.join(texts)})", outcome.type)

    def alike(self, parts: list[_Text], kind: Kind) -> list[str]:
        """Parts of one kind, none straying."""
        return [self.as_kind(self.clean(part), kind) for part in parts]

    def compare(self, call: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        return _Text(self.comparison(call.function.value, *parts), outcome.type)

    def is_null(self, _: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        (part,) = parts
        if part.strays:
            return _Text(f"({self.dialect.is_finite(part.sql)} IS NOT TRUE)", outcome.type)
        return _Text(f"({part.sql} IS NULL)", outcome.type)

    def logic(self, call: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        word = f" {call.function.value.upper()} "
        return _Text(f"({word.join(part.sql for part in parts)})", outcome.type)

    def negation(self, _: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        return _Text(f"(NOT {parts[0].sql})", outcome.type)

    def coalesce(self, _: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        """The last part may stray: there is nothing after it."""
        kind = outcome.type.kind
        texts = [*self.alike(parts[:-1], kind), self.as_kind(parts[-1], kind)]
        return _Text(f"COALESCE({', '.join(texts)})", outcome.type, parts[-1].strays)

    def null_if(self, _: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        x, y = parts
        null = self.dialect.literal(None, x.kind)

        def body(a: str, b: str) -> str:
            equal = self.comparison("=", _Text(a, x.type), _Text(b, y.type))
            return self.dialect.choose([(equal, null)], a)

        return _Text(self.dialect.let([self.finite(x), self.finite(y)], body), outcome.type)

    def text(self, call: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        dialect, texts = self.dialect, [part.sql for part in parts]
        match call.function:
            case Function.LOWER | Function.UPPER:
                sql = dialect.recase(call.function, texts[0])
            case Function.TRIM:
                sql = dialect.trim(texts[0])
            case Function.LENGTH:
                sql = dialect.length(texts[0])
            case Function.SUBSTRING:
                sql = dialect.substring(texts[0], *substring_limits(call))
            case _:
                sql = dialect.starts_with(*texts)
        return _Text(sql, outcome.type)

    def concat(self, _: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        """Texts that get too long are NULL, lest doubling them over and over exhausts an engine."""

        def body(*texts: str) -> str:
            lengths = " + ".join(map(self.dialect.length, texts))
            return self.dialect.only_if(f"{lengths} <= {LONGEST_CONCAT}", f"({' || '.join(texts)})")

        return _Text(self.dialect.let([part.sql for part in parts], body), outcome.type)

    def part(self, call: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        return _Text(self.dialect.part(call.function, parts[0].sql), outcome.type)

    def bucket(self, call: Call, parts: list[_Text], outcome: Outcome) -> _Text:
        """The top bucket takes what rounding would put above it; NULL passes every WHEN by."""
        low, high, count = bucket_limits(call)
        number, integer = self.dialect.double, Kind.INTEGER
        below, above, top = (self.dialect.literal(n, integer) for n in (0, count + 1, count))

        def body(it: str) -> str:
            share = f"({it} - {number(low)}) / {number(high - low)} * {number(count)}"
            inside = self.dialect.cast(self.dialect.whole(Function.FLOOR, share), integer)
            return self.dialect.choose(
                [
                    (f"{it} < {number(low)}", below),
                    (f"{it} >= {number(high)}", above),
                    (f"{share} >= {number(count)}", top),
                ],
                f"{inside} + {self.dialect.literal(1, integer)}",
            )

        value = self.real(self.clean(parts[0]))
        return _Text(self.dialect.let([value], body), outcome.type)


def cast_text(
    text: str, source: Kind, target: Kind, dialect: Dialect, *, strays: bool
) -> tuple[str, bool]:
    """A value as another kind, and whether it may stray then; the cast is one that types allow."""
    if source is target:
        return text, strays
    if source is Kind.TEXT:
        return dialect.parse(text, target), target is Kind.REAL
    if source is Kind.REAL:
        return dialect.to_integer(text), False  # NULL for strays too
    return dialect.cast(text, target), False


def _stray(parts: list[_Text], outcome: Outcome) -> bool:
    """Whether a double that passes strays on may stray."""
    return outcome.type.kind is Kind.REAL and (outcome.strays or any(p.strays for p in parts))


def _ends(of: Range) -> tuple[float, float]:
    return of.low, of.high


def _rounds(of: Type) -> bool:
    """Whether a number can be as large as the first whole number that is no double."""
    return max(map(abs, _ends(reach(of)))) >= _EXACT_DOUBLES


def _same(value: Value, kind: Kind) -> Value:
    """A literal as the kind it is compared with, or None where no value of the kind equals it."""
    if kind is Kind.INTEGER and isinstance(value, float):
        fits = value.is_integer() and _ends(REACH[kind])[0] <= value <= _ends(REACH[kind])[1]
        return int(value) if fits else None
    if kind is Kind.REAL and isinstance(value, int):
        return float(value) if float(value) == value else None
    return value


Rule: TypeAlias = Callable[[_Renderer, Call, list[_Text], Outcome], _Text]

CALLS: dict[Function, Rule] = {
    Function.ADD: _Renderer.add,
    Function.SUBTRACT: _Renderer.subtract,
    Function.MULTIPLY: _Renderer.infix,
    Function.DIVIDE: _Renderer.divide,
    Function.MODULO: _Renderer.modulo,
    Function.NEGATE: _Renderer.negate,
    Function.ABS: _Renderer.absolute,
    Function.SIGN: _Renderer.sign,
    Function.FLOOR: _Renderer.whole,
    Function.CEIL: _Renderer.whole,
    Function.ROUND: _Renderer.whole,
    Function.SQRT: _Renderer.root_or_logarithm,
    Function.EXP: _Renderer.exponential,
    Function.LN: _Renderer.root_or_logarithm,
    Function.LEAST: _Renderer.extreme,
    Function.GREATEST: _Renderer.extreme,
    Function.EQUAL: _Renderer.compare,
    Function.NOT_EQUAL: _Renderer.compare,
    Function.LESS: _Renderer.compare,
    Function.LESS_EQUAL: _Renderer.compare,
    Function.GREATER: _Renderer.compare,
    Function.GREATER_EQUAL: _Renderer.compare,
    Function.IS_NULL: _Renderer.is_null,
    Function.AND: _Renderer.logic,
    Function.OR: _Renderer.logic,
    Function.NOT: _Renderer.negation,
    Function.COALESCE: _Renderer.coalesce,
    Function.NULL_IF: _Renderer.null_if,
    Function.LOWER: _Renderer.text,
    Function.UPPER: _Renderer.text,
    Function.TRIM: _Renderer.text,
    Function.LENGTH: _Renderer.text,
    Function.CONCAT: _Renderer.concat,
    Function.SUBSTRING: _Renderer.text,
    Function.STARTS_WITH: _Renderer.text,
    Function.YEAR: _Renderer.part,
    Function.QUARTER: _Renderer.part,
    Function.MONTH: _Renderer.part,
    Function.DAY: _Renderer.part,
    Function.HOUR: _Renderer.part,
    Function.MINUTE: _Renderer.part,
    Function.WEEKDAY: _Renderer.part,
    Function.YEARDAY: _Renderer.part,
    Function.BUCKET: _Renderer.bucket,
}
