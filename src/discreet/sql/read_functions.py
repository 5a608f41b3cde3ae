"""Functions of a row: each allow-listed one as the plan's functions, with the same meaning.

A part of a call that no rule asks for (the second argument of FLOOR, say) is left unread, and the
statement is refused for it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp

from discreet.plan.expressions import Call, Cast, Expression, Function, Literal, Truncate, Unit
from discreet.plan.kinds import Kind
from discreet.sql.read_literals import read_moment, read_whole
from discreet.sql.refusals import Refusal
from discreet.sql.syntax import Node, conjuncts

if TYPE_CHECKING:
    from discreet.sql.read_expressions import ExpressionReader

Rule: TypeAlias = Callable[["ExpressionReader", Node], Expression]
_REST = (1 << 31) - 1
"""More code points than a text has: what SUBSTRING without a length takes."""


def _plain(function: Function, *parts: str) -> Rule:
    def rule(reader: "ExpressionReader", node: Node) -> Expression:
        arguments = [reader.syntax.part(node, part) for part in parts]
        return Call(function, tuple(reader.read(argument) for argument in arguments))

    return rule


def _alike(function: Function, *, flag: str | None = None) -> Rule:
    """A function of values of one kind: the first, and a list of further ones."""

    def rule(reader: "ExpressionReader", node: Node) -> Expression:
        if flag is not None:
            reader.syntax.expect(node, flag, True)  # noqa: FBT003 - the parser's flag
        nodes = [reader.syntax.part(node, "this"), *reader.syntax.parts(node, "expressions")]
        return Call(function, tuple(reader.alike(nodes)))

    return rule


# --- arithmetic -----------------------------------------------------------------------------------


def _sum(function: Function) -> Rule:
    """Plus and minus, where one side may be an interval of days."""

    def rule(reader: "ExpressionReader", node: Node) -> Expression:
        sides = [reader.syntax.part(node, "this"), reader.syntax.part(node, "expression")]
        intervals = [isinstance(side, exp.Interval) for side in sides]
        if all(intervals) or (intervals[0] and function is Function.SUBTRACT):
            raise reader.syntax.refuse(node, _INTERVAL)
        return Call(
            function,
            tuple(
                _days(reader, side) if interval else reader.read(side)
                for side, interval in zip(sides, intervals, strict=True)
            ),
        )

    return rule


def _days(reader: "ExpressionReader", node: Node) -> Expression:
    """The days of INTERVAL 3 DAY or INTERVAL '2 weeks'."""
    syntax = reader.syntax
    amount, unit = syntax.part(node, "this"), syntax.part(node, "unit")
    name = str(syntax.part(unit, "this")).upper() if isinstance(unit, exp.Var) else ""
    text = str(syntax.part(amount, "this")) if isinstance(amount, exp.Literal) else ""
    if name not in _DAYS or not text.removeprefix("-").isdecimal() or len(text) > 9:
        raise syntax.refuse(node, _INTERVAL)
    syntax.part(amount, "is_string")
    return syntax.remember(Literal(int(text) * _DAYS[name], Kind.INTEGER), node)


_DAYS = {"DAY": 1, "DAYS": 1, "WEEK": 7, "WEEKS": 7}


def _divide(reader: "ExpressionReader", node: Node) -> Expression:
    """True division; the parser's flags tell integer division, which this dialect does not have."""
    for flag in ("typed", "safe"):
        if reader.syntax.part(node, flag):
            raise reader.syntax.refuse_clause(node, flag)
    return _plain(Function.DIVIDE, "this", "expression")(reader, node)


def _round(reader: "ExpressionReader", node: Node) -> Expression:
    """ROUND(x, 2) is ROUND(x * 100) / 100, and ROUND(x, -2) is ROUND(x / 100) * 100."""
    value = reader.read(reader.syntax.part(node, "this"))
    digits_node = reader.syntax.part(node, "decimals")
    if digits_node is None:
        return Call(Function.ROUND, (value,))
    negative = isinstance(digits_node, exp.Neg)
    inner = reader.syntax.part(digits_node, "this") if negative else digits_node
    digits = read_whole(reader.syntax, inner, "the number of digits of ROUND")
    if digits > 15:
        raise reader.syntax.refuse(digits_node, _DIGITS)
    scale = Literal(10**digits, Kind.INTEGER)
    up, down = Function.MULTIPLY, Function.DIVIDE
    first, last = (down, up) if negative else (up, down)
    scaled = reader.call(node, Function.ROUND, reader.call(node, first, value, scale))
    return Call(last, (scaled, scale))


# --- text -----------------------------------------------------------------------------------------


def _pipe(reader: "ExpressionReader", node: Node) -> Expression:
    """Texts joined with ||: NULL if any of them is."""
    for part in node.find_all(exp.DPipe):
        reader.syntax.part(part, "safe")  # whether the engine casts; here kinds have to be TEXT
    parts = conjuncts(reader.syntax, node, exp.DPipe)
    return Call(Function.CONCAT, tuple(reader.read(part) for part in parts))


def _concat(reader: "ExpressionReader", node: Node) -> Expression:
    """CONCAT passes over NULL, unlike ||."""
    for flag in ("safe", "coalesce"):
        reader.syntax.expect(node, flag, True)  # noqa: FBT003 - the parser's flag
    empty = Literal("", Kind.TEXT)
    parts = [reader.read(part) for part in reader.syntax.parts(node, "expressions")]
    filled = (
        part if isinstance(part, Literal) else reader.call(node, Function.COALESCE, part, empty)
        for part in parts
    )
    return Call(Function.CONCAT, tuple(filled))


def _substring(reader: "ExpressionReader", node: Node) -> Expression:
    syntax = reader.syntax
    text = reader.read(syntax.part(node, "this"))
    first = read_whole(syntax, syntax.part(node, "start"), "the start of SUBSTRING", at_least=1)
    length_node = syntax.part(node, "length")
    count = _REST - first
    if length_node is not None:
        count = read_whole(syntax, length_node, "the length of SUBSTRING")
    return _slice(text, first, count)


def _left(reader: "ExpressionReader", node: Node) -> Expression:
    text = reader.read(reader.syntax.part(node, "this"))
    count = read_whole(reader.syntax, reader.syntax.part(node, "expression"), "the length of LEFT")
    return _slice(text, 1, count)


def _slice(text: Expression, first: int, count: int) -> Expression:
    limits = (Literal(first, Kind.INTEGER), Literal(count, Kind.INTEGER))
    return Call(Function.SUBSTRING, (text, *limits))


# --- casts ----------------------------------------------------------------------------------------

_KINDS = {
    exp.DType.BOOLEAN: Kind.BOOLEAN,
    exp.DType.INT: Kind.INTEGER,
    exp.DType.BIGINT: Kind.INTEGER,
    exp.DType.DOUBLE: Kind.REAL,
    exp.DType.FLOAT: Kind.REAL,
    exp.DType.TEXT: Kind.TEXT,
    exp.DType.VARCHAR: Kind.TEXT,
    exp.DType.DATE: Kind.DATE,
    exp.DType.TIMESTAMP: Kind.TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: Kind.TIMESTAMP,
    exp.DType.DATETIME: Kind.TIMESTAMP,
}


def _cast(reader: "ExpressionReader", node: Node) -> Expression:
    """CAST, TRY_CAST and ::, which never fail: a value that has no counterpart is NULL."""
    reader.syntax.part(node, "safe")
    to = reader.syntax.part(node, "to")
    kind = _KINDS.get(reader.syntax.part(to, "this"))
    if kind is None or to.args.get("expressions"):
        raise reader.syntax.refuse(reader.syntax.part(node, "this"), _TYPE)
    return _as_kind(reader, reader.syntax.part(node, "this"), kind)


def _date(reader: "ExpressionReader", node: Node) -> Expression:
    return _as_kind(reader, reader.syntax.part(node, "this"), Kind.DATE)


def _as_kind(reader: "ExpressionReader", operand: Node, kind: Kind) -> Expression:
    if isinstance(operand, exp.Null):
        return Literal(None, kind)
    value = reader.read(operand)
    if kind.is_time and isinstance(value, Literal) and isinstance(value.value, str):
        return read_moment(reader.syntax, value.value, kind, operand)
    return Cast(value, kind)


# --- dates ----------------------------------------------------------------------------------------

_PARTS = {
    "YEAR": Function.YEAR,
    "QUARTER": Function.QUARTER,
    "MONTH": Function.MONTH,
    "DAY": Function.DAY,
    "DAYOFMONTH": Function.DAY,
    "HOUR": Function.HOUR,
    "MINUTE": Function.MINUTE,
    "ISODOW": Function.WEEKDAY,
    "DOY": Function.YEARDAY,
    "DAYOFYEAR": Function.YEARDAY,
}
_SUNDAY_FIRST = {"DOW", "DAYOFWEEK", "WEEKDAY"}


def _part(reader: "ExpressionReader", node: Node, unit: str, of: Node) -> Expression:
    value = reader.read(of)
    if unit in _SUNDAY_FIRST:  # Sunday is 0, Saturday is 6
        weekday = reader.call(node, Function.WEEKDAY, value)
        return Call(Function.MODULO, (weekday, Literal(7, Kind.INTEGER)))
    if unit in _PARTS:
        return Call(_PARTS[unit], (value,))
    raise reader.syntax.refuse(node, _PART)


def _named_part(unit: str) -> Rule:
    def rule(reader: "ExpressionReader", node: Node) -> Expression:
        return _part(reader, node, unit, reader.syntax.part(node, "this"))

    return rule


def _extract(reader: "ExpressionReader", node: Node) -> Expression:
    unit = reader.syntax.part(node, "this")
    name = str(reader.syntax.part(unit, "this")).upper()
    reader.syntax.part(unit, "is_string")
    return _part(reader, node, name, reader.syntax.part(node, "expression"))


def _truncate(reader: "ExpressionReader", node: Node) -> Expression:
    operand = reader.read(reader.syntax.part(node, "this"))
    unit = reader.syntax.part(node, "unit")
    name = str(reader.syntax.part(unit, "this")).lower() if isinstance(unit, exp.Var) else ""
    if name not in {known.value for known in Unit}:
        raise reader.syntax.refuse(node, _UNIT)
    return Truncate(operand, Unit(name))


# --- by name --------------------------------------------------------------------------------------


def _by_name(reader: "ExpressionReader", node: Node) -> Expression:
    """Functions that the parser does not know by a class of their own."""
    name = str(reader.syntax.part(node, "this")).upper()
    arguments = reader.syntax.parts(node, "expressions")
    match name, arguments:
        case (("DATE_PART" | "DATEPART"), [unit, of]):
            return _part(reader, node, reader.text(unit, "the part of DATE_PART").upper(), of)
        case "WEEKDAY", [of]:
            return _part(reader, node, "DOW", of)
        case "IFF", [condition, value, default]:
            return reader.choice([reader.read(condition)], [value], default)
    raise reader.unknown(node)


_INTERVAL = Refusal(
    "interval",
    "an interval that is not a number of days or weeks",
    "months and years differ in length, and dates have no hours",
    "write date + INTERVAL 30 DAY",
)
_DIGITS = Refusal(
    "argument", "ROUND to more than 15 digits", "a double has no more", "round to fewer"
)
_TYPE = Refusal(
    "type",
    "a cast to a type that does not exist here",
    "kinds are BOOLEAN, BIGINT, DOUBLE, VARCHAR, DATE and TIMESTAMP, without lengths",
    "cast to one of them",
)
_PART = Refusal(
    "argument",
    "a part of a date that is not known",
    "parts are YEAR, QUARTER, MONTH, DAY, HOUR, MINUTE, DOW, ISODOW and DOY",
    "use one of them, or DATE_TRUNC('week', d) for weeks",
)
_UNIT = Refusal(
    "argument",
    "DATE_TRUNC to a unit that is not known",
    "units are year, quarter, month, week, day, hour and minute",
    "write for example DATE_TRUNC('month', d)",
)

FUNCTIONS: dict[type[Node], Rule] = {
    exp.Add: _sum(Function.ADD),
    exp.Sub: _sum(Function.SUBTRACT),
    exp.Mul: _plain(Function.MULTIPLY, "this", "expression"),
    exp.Div: _divide,
    exp.Mod: _plain(Function.MODULO, "this", "expression"),
    exp.Abs: _plain(Function.ABS, "this"),
    exp.Sign: _plain(Function.SIGN, "this"),
    exp.Floor: _plain(Function.FLOOR, "this"),
    exp.Ceil: _plain(Function.CEIL, "this"),
    exp.Round: _round,
    exp.Sqrt: _plain(Function.SQRT, "this"),
    exp.Exp: _plain(Function.EXP, "this"),
    exp.Ln: _plain(Function.LN, "this"),
    exp.Least: _alike(Function.LEAST, flag="ignore_nulls"),
    exp.Greatest: _alike(Function.GREATEST, flag="ignore_nulls"),
    exp.Coalesce: _alike(Function.COALESCE),
    exp.Nullif: _plain(Function.NULL_IF, "this", "expression"),
    exp.Lower: _plain(Function.LOWER, "this"),
    exp.Upper: _plain(Function.UPPER, "this"),
    exp.Trim: _plain(Function.TRIM, "this"),
    exp.Length: _plain(Function.LENGTH, "this"),
    exp.DPipe: _pipe,
    exp.Concat: _concat,
    exp.Substring: _substring,
    exp.Left: _left,
    exp.StartsWith: _plain(Function.STARTS_WITH, "this", "expression"),
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Date: _date,
    exp.Extract: _extract,
    exp.Year: _named_part("YEAR"),
    exp.Quarter: _named_part("QUARTER"),
    exp.Month: _named_part("MONTH"),
    exp.Day: _named_part("DAY"),
    exp.DayOfMonth: _named_part("DAY"),
    exp.Hour: _named_part("HOUR"),
    exp.Minute: _named_part("MINUTE"),
    exp.DayOfWeek: _named_part("DOW"),
    exp.DayOfWeekIso: _named_part("ISODOW"),
    exp.DayOfYear: _named_part("DOY"),
    exp.TimestampTrunc: _truncate,
    exp.DateTrunc: _truncate,
    exp.WidthBucket: _plain(Function.BUCKET, "this", "min_value", "max_value", "num_buckets"),
    exp.Anonymous: _by_name,
}
_NAMES = """
ABS SIGN FLOOR CEIL ROUND SQRT EXP LN LEAST GREATEST COALESCE IFNULL NULLIF LOWER UPPER TRIM LENGTH
CONCAT SUBSTRING LEFT STARTS_WITH CAST TRY_CAST DATE EXTRACT DATE_PART YEAR QUARTER MONTH DAY HOUR
MINUTE DAYOFWEEK ISODOW DAYOFYEAR DATE_TRUNC WIDTH_BUCKET MOD IF IFF
"""
KNOWN_FUNCTIONS = frozenset(_NAMES.split())
