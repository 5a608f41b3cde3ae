"""Functions of a row: each allow-listed one as the plan's functions, with the same meaning.

A part of a call that no rule asks for (the second argument of FLOOR, say) is left unread, and the
statement is refused for it.
"""

import operator
from functools import partial, reduce
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plan.calendar import PARTS
from discreet.plan.expressions import Call, Case, Cast, Column, Expression, Function, Literal, call
from discreet.plan.kinds import Kind
from discreet.sql.reader import times
from discreet.sql.reader.composed_functions import COMPOSED, DIGITS, cut_off, scaled, to_digits
from discreet.sql.reader.literals import read_moment, read_whole
from discreet.sql.reader.refusals import said
from discreet.sql.reader.spellings import Converted, Spelling
from discreet.sql.reader.syntax import TOO_LARGE, Node, bare_word, conjuncts
from discreet.sql.reader.zones import ALONE

if TYPE_CHECKING:
    from discreet.sql.reader.expressions import ExpressionReader

_ONE, _TWO = ("this",), ("this", "expression")
_BUCKET = ("this", "min_value", "max_value", "num_buckets")
_REST = (1 << 31) - 1
"""More code points than a text has: what SUBSTRING without a length takes."""


def _plain(
    function: Function, parts: tuple[str, ...], reader: "ExpressionReader", node: Node
) -> Expression:
    return call(function, *(reader.part(node, part) for part in parts))


def _alike(function: Function, reader: "ExpressionReader", node: Node) -> Expression:
    """A function of values of one kind: the first, and a list of further ones."""
    if function is not Function.COALESCE:
        reader.syntax.expect(node, "ignore_nulls", True)  # noqa: FBT003 - the parser's flag
    nodes = [reader.syntax.part(node, "this"), *reader.syntax.parts(node, "expressions")]
    return call(function, *reader.alike(nodes))


# --- arithmetic -----------------------------------------------------------------------------------


def _sum(function: Function, reader: "ExpressionReader", node: Node) -> Expression:
    """Plus and minus, where one side may be an interval."""
    sides = [reader.syntax.part(node, "this"), reader.syntax.part(node, "expression")]
    match [isinstance(side, exp.Interval) for side in sides]:
        case [False, False]:
            return call(function, *map(reader.read, sides))
        case [False, True]:
            return times.read_later(reader, function, *sides)
        case [True, False] if function is Function.ADD:
            return times.read_later(reader, function, *sides[::-1])
    raise reader.syntax.refuse(node, times.INTERVAL)


def _alone(reader: "ExpressionReader", node: Node) -> Expression:
    raise reader.syntax.refuse(node, times.ALONE)


def _divide(reader: "ExpressionReader", node: Node) -> Expression:
    """True division; the parser's flags tell integer division, which this dialect does not have."""
    for flag in ("typed", "safe"):
        if reader.syntax.part(node, flag):
            raise reader.syntax.refuse_clause(node, flag)
    return reader.part(node, "this") / reader.part(node, "expression")


def _logarithm(reader: "ExpressionReader", node: Node) -> Expression:
    """LOG(x) is that to base 10, as in DuckDB and Postgres; LOG(2, x) has its base first."""
    syntax = reader.syntax
    first, second = syntax.part(node, "this"), syntax.part(node, "expression")
    if second is None:
        return call(Function.LOG10, reader.read(first))
    function = _LOGARITHMS.get(reader.read(first))
    if function is None:
        raise syntax.refuse(first, _BASE)
    return call(function, reader.read(second))


_LOGARITHMS: dict[Expression, Function] = {
    Literal(10, Kind.INTEGER): Function.LOG10,
    Literal(2, Kind.INTEGER): Function.LOG2,
}


def _power(reader: "ExpressionReader", node: Node) -> Expression:
    """Small whole powers are products, from the left; the power 0.5 is the root."""
    value = reader.part(node, "this")
    power_node = reader.syntax.part(node, "expression")
    match reader.read(power_node):
        case Literal(int(count), _) if 1 <= count <= _LARGEST_POWER:
            product = reduce(operator.mul, [value] * count)
            return Cast(product, Kind.REAL)  # as a power is on every engine
        case Literal(0.5, _):
            return call(Function.SQRT, value)
    raise reader.syntax.refuse(power_node, _POWER)


_LARGEST_POWER = 4


def _round(reader: "ExpressionReader", node: Node) -> Expression:
    """ROUND(x, 2) is ROUND(x * 100) / 100, and ROUND(x, -2) is ROUND(x / 100) * 100."""
    return scaled(reader, node, partial(call, Function.ROUND))


# --- text -----------------------------------------------------------------------------------------


def _pipe(reader: "ExpressionReader", node: Node) -> Expression:
    """Texts joined with ||: NULL if any of them is."""
    for part in node.find_all(exp.DPipe):
        reader.syntax.part(part, "safe")  # whether the engine casts: `_as_text` does
    parts = conjuncts(reader.syntax, node, exp.DPipe)
    return call(Function.CONCAT, *(_as_text(reader, part) for part in parts))


def _as_text(reader: "ExpressionReader", node: Node) -> Expression:
    """A part of a text: whole numbers and dates as their digits.

    Only of values that are whole numbers in every engine: FLOOR(x) prints as 2.0 in some.
    """
    value = reader.read(node)
    stored = isinstance(value, Column) and value.name not in reader.computed
    whole = isinstance(value, Call) and value.function in {Function.LENGTH, *PARTS}
    plain = stored or whole or isinstance(value, Cast)
    digits = plain and reader.check(value, node).kind in {Kind.INTEGER, Kind.DATE, Kind.BOOLEAN}
    return Cast(value, Kind.TEXT) if digits else value


def _concat(reader: "ExpressionReader", node: Node) -> Expression:
    """CONCAT passes over NULL, unlike ||."""
    for flag in ("safe", "coalesce"):
        reader.syntax.expect(node, flag, True)  # noqa: FBT003 - the parser's flag
    parts = [_as_text(reader, part) for part in reader.syntax.parts(node, "expressions")]
    others = [isinstance(p, Literal) or reader.check(p, node).kind is not Kind.TEXT for p in parts]
    filled = (
        one if other else call(Function.COALESCE, one, "")
        for one, other in zip(parts, others, strict=True)
    )
    return call(Function.CONCAT, *filled)


def _substring(reader: "ExpressionReader", node: Node) -> Expression:
    syntax = reader.syntax
    text = reader.part(node, "this")
    start = syntax.part(node, "start")
    if start is not None and start.find(exp.StrPosition, exp.Neg):
        raise syntax.refuse(start, _AFTER)
    first = read_whole(syntax, start, "the start of SUBSTRING", at_least=1)
    length, rest = syntax.part(node, "length"), _REST - first
    count = rest if length is None else read_whole(syntax, length, "the length of SUBSTRING")
    return call(Function.SUBSTRING, text, first, count)


def _end(reader: "ExpressionReader", node: Node) -> Expression:
    """LEFT(text, 3) and RIGHT(text, 3)."""
    text, count = reader.part(node, "this"), reader.syntax.part(node, "expression")
    length = read_whole(reader.syntax, count, f"the length of {type(node).__name__.upper()}")
    if isinstance(node, exp.Left):
        return call(Function.SUBSTRING, text, 1, length)
    return call(Function.RIGHT, text, length)


def _trim(reader: "ExpressionReader", node: Node) -> Expression:
    """TRIM, LTRIM and RTRIM of spaces; other characters are left unread, and refused."""
    side = str(reader.syntax.part(node, "position") or "").upper()
    return call(_SIDES.get(side, Function.TRIM), reader.part(node, "this"))


_SIDES = {"LEADING": Function.LTRIM, "TRAILING": Function.RTRIM}


def _replace(reader: "ExpressionReader", node: Node) -> Expression:
    syntax = reader.syntax
    text = reader.part(node, "this")
    what = reader.text(syntax.part(node, "expression"), "what REPLACE looks for")
    by_node = syntax.part(node, "replacement")
    by = "" if by_node is None else reader.text(by_node, "what REPLACE puts there")
    return call(Function.REPLACE, text, what, by)


def _contains(reader: "ExpressionReader", node: Node) -> Expression:
    return _plain(Function.POSITION, _TWO, reader, node) > 0


def _length(reader: "ExpressionReader", node: Node) -> Expression:
    """LENGTH of a text; of STRING_SPLIT(text, ' ') the marks in the text and one more."""
    inner = node.this
    if not isinstance(inner, exp.Split):
        if isinstance(node, exp.ArraySize):
            raise reader.unknown(node)
        return call(Function.LENGTH, reader.part(node, "this"))
    reader.syntax.part(node, "this")
    text = reader.part(inner, "this")
    mark = reader.text(reader.syntax.part(inner, "expression"), "what STRING_SPLIT splits at")
    shorter = call(Function.REPLACE, text, mark, "")
    marks = (call(Function.LENGTH, text) - call(Function.LENGTH, shorter)) / len(mark)
    count = call(Function.GREATEST, Cast(marks + 1, Kind.INTEGER), 1)
    return Case(((text.is_null(), Literal(None, Kind.INTEGER)),), count)


# --- casts ----------------------------------------------------------------------------------------

_TIMESTAMPS = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.DATETIME)
_KINDS = {
    exp.DType.BOOLEAN: Kind.BOOLEAN,
    **dict.fromkeys((exp.DType.INT, exp.DType.BIGINT), Kind.INTEGER),
    **dict.fromkeys((exp.DType.DOUBLE, exp.DType.FLOAT, exp.DType.DECIMAL), Kind.REAL),
    **dict.fromkeys((exp.DType.TEXT, exp.DType.VARCHAR), Kind.TEXT),
    exp.DType.DATE: Kind.DATE,
    **dict.fromkeys(_TIMESTAMPS, Kind.TIMESTAMP),
}


def _cast(reader: "ExpressionReader", node: Node) -> Expression:
    """CAST, TRY_CAST and ::, which never fail: a value that has no counterpart is NULL.

    DECIMAL is a double; DECIMAL(10, 2) is rounded to two digits, and 10 of them do not bound it.
    """
    reader.syntax.part(node, "safe")
    to = reader.syntax.part(node, "to")
    name = reader.syntax.part(to, "this")
    if name is exp.DType.DECIMAL and to.args.get("expressions"):
        return _as_decimal(reader, node, to)
    kind = _KINDS.get(name)
    if kind is None or to.args.get("expressions"):
        if name in {exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ}:
            raise reader.syntax.refuse(node, ALONE)
        clock = to.this in {exp.DType.TIME, exp.DType.TIMETZ}
        raise reader.syntax.refuse(reader.syntax.part(node, "this"), _CLOCK if clock else _TYPE)
    return _as_kind(reader, node, kind)


def _converted(reader: "ExpressionReader", node: Node) -> Expression:
    """CONVERT(int, x), where digits are cut off."""
    found = _cast(reader, node)
    if not isinstance(found, Cast) or found.kind is not Kind.INTEGER:
        return found
    real = reader.check(found.operand, node).kind is Kind.REAL
    return Cast(cut_off(found.operand), Kind.INTEGER) if real else found


def _as_decimal(reader: "ExpressionReader", node: Node, to: Node) -> Expression:
    syntax = reader.syntax
    sizes = [syntax.part(one, "this") for one in syntax.parts(to, "expressions")]
    most, *rest = [read_whole(syntax, one, "the digits of DECIMAL") for one in sizes]
    if most == 0 or len(rest) > 1 or sum(rest) > min(most, 15):
        raise syntax.refuse(node, DIGITS)
    return to_digits(_as_kind(reader, node, Kind.REAL), sum(rest), partial(call, Function.ROUND))


def _as_kind(reader: "ExpressionReader", node: Node, kind: Kind) -> Expression:
    operand = reader.syntax.part(node, "this")
    if isinstance(operand, exp.Null):
        return Literal(None, kind)
    value = reader.read(operand)
    if kind.is_time and isinstance(value, Literal) and isinstance(value.value, str):
        return read_moment(reader.syntax, value.value, kind, operand)
    return Cast(value, kind)


# --- by name --------------------------------------------------------------------------------------


def _by_name(reader: "ExpressionReader", node: Node) -> Expression:
    """Functions that the parser does not know by a class of their own."""
    name = str(reader.syntax.part(node, "this")).upper()
    arguments = reader.syntax.parts(node, "expressions")
    word = bare_word(reader.syntax, arguments[0]) if arguments else None
    match name, arguments:
        case "DATEPART", [unit, _] if word and word.text.upper() in {"WEEK", "WEEKDAY"}:
            raise reader.syntax.refuse(unit, times.PART)
        case (("DATE_PART" | "DATEPART"), [unit, of]):
            part = reader.text(unit, "the part of DATE_PART") if word is None else word.text
            return times.read_part(reader, node, part.upper(), of)
        case "AGE", _:
            raise reader.syntax.refuse(node, times.ALONE)
    raise reader.unknown(node)


def _spelled(reader: "ExpressionReader", node: Node) -> Expression:
    """What stands for a call under another name, and the words of the call that it has taken in."""
    for part in (part for one in reader.syntax.parts(node, "expressions") for part in one.walk()):
        for name in part.args:
            reader.syntax.part(part, name)
    if node.args.get("this") is None:
        raise reader.syntax.refuse(node, TOO_LARGE)
    return reader.part(node, "this")


_BASE = said("""argument: a logarithm to another base than 2 or 10
    write LN(x) / LN(base)""")
_POWER = said(f"""argument: a power that is not a whole number from 1 to {_LARGEST_POWER}, or 0.5
    engines compute other powers differently
    write EXP(LN(x) * power), which is NULL where x is not above 0""")
_AFTER = said("""argument: SUBSTRING from where another text is found, or from the end
    its start has to be known before the question is priced, and engines disagree on places \
    before the first
    write SPLIT_PART(x, '@', 2), which is what follows the first @, or RIGHT(x, 2)""")
_TYPE = said("""type: a cast to a type that does not exist here
    kinds are BOOLEAN, BIGINT, DOUBLE, VARCHAR, DATE and TIMESTAMP, without lengths
    cast to one of them, as in CAST(x AS DOUBLE), and cut a text with LEFT(x, 10)""")
_CLOCK = said("""type: the time of a day as a value
    values are booleans, numbers, texts, dates and timestamps
    compare it, as in CAST(x AS TIME) < TIME '18:00', or take a part: EXTRACT(HOUR FROM x)""")
_UNARY = (exp.Abs, exp.Sign, exp.Floor, exp.Ceil, exp.Sqrt, exp.Exp, exp.Ln, exp.Lower, exp.Upper)
_BINARY: dict[type[Node], Function] = {
    exp.Mul: Function.MULTIPLY,
    exp.SafeDivide: Function.DIVIDE,  # by 0 it is NULL anyway
    exp.Mod: Function.MODULO,
    exp.IntDiv: Function.QUOTIENT,
    exp.Nullif: Function.NULL_IF,
    exp.StartsWith: Function.STARTS_WITH,
    exp.EndsWith: Function.ENDS_WITH,
}
_PARTS = (
    *(exp.Year, exp.Quarter, exp.Month, exp.Week, exp.WeekOfYear, exp.Day, exp.DayOfMonth),
    *(exp.DayOfWeek, exp.DayOfYear, exp.Hour, exp.Minute, exp.Second),
)
FUNCTIONS: dict[type[Node], times.Rule] = {
    **COMPOSED,
    **{one: partial(_plain, Function[one.__name__.upper()], _ONE) for one in _UNARY},
    **{one: partial(_plain, function, _TWO) for one, function in _BINARY.items()},
    **{one: partial(times.read_named_part, one.__name__.upper()) for one in _PARTS},
    exp.DayOfWeekIso: partial(times.read_named_part, "ISODOW"),
    exp.Add: partial(_sum, Function.ADD),
    exp.Sub: partial(_sum, Function.SUBTRACT),
    exp.Div: _divide,
    exp.Interval: _alone,
    exp.Pow: _power,
    exp.Log: _logarithm,
    exp.Round: _round,
    exp.Least: partial(_alike, Function.LEAST),
    exp.Greatest: partial(_alike, Function.GREATEST),
    exp.Coalesce: partial(_alike, Function.COALESCE),
    exp.Trim: _trim,
    exp.Replace: _replace,
    exp.Left: _end,
    exp.Right: _end,
    exp.StrPosition: partial(_plain, Function.POSITION, ("this", "substr")),
    exp.Contains: _contains,
    exp.Length: _length,
    exp.ArraySize: _length,
    exp.DPipe: _pipe,
    exp.Concat: _concat,
    exp.Substring: _substring,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    Converted: _converted,
    exp.Date: partial(_as_kind, kind=Kind.DATE),
    exp.Extract: times.read_extract,
    exp.DateDiff: times.read_difference,
    exp.DateBin: times.read_bin,
    exp.DateFromParts: times.read_made_date,
    exp.TimestampTrunc: times.read_truncated,
    exp.DateTrunc: times.read_truncated,
    exp.WidthBucket: partial(_plain, Function.BUCKET, _BUCKET),
    exp.Anonymous: _by_name,
    Spelling: _spelled,
}
_NAMES = """
ABS SIGN FLOOR CEIL ROUND SQRT EXP LN LOG LOG10 LOG2 POWER LEAST GREATEST COALESCE IFNULL NULLIF
LOWER UPPER TRIM LTRIM RTRIM LENGTH CONCAT SUBSTRING LEFT RIGHT REPLACE STRPOS POSITION CONTAINS
STARTS_WITH ENDS_WITH CAST TRY_CAST DATE EXTRACT DATE_PART YEAR QUARTER MONTH WEEK DAY HOUR MINUTE
SECOND DAYOFWEEK ISODOW DAYOFYEAR DATE_TRUNC DATE_DIFF DATE_ADD WIDTH_BUCKET MOD IF IFF
TIME_BUCKET MAKE_DATE
STRFTIME TO_CHAR DAYNAME MONTHNAME EPOCH LAST_DAY TRUNC SPLIT_PART REGEXP_MATCHES REGEXP_EXTRACT NOW
CURRENT_DATE
"""
KNOWN_FUNCTIONS = frozenset(_NAMES.split())
