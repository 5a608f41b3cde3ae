"""What every expression means, in plain Python: the definition that each engine must agree with.

`evaluate(expression, row, columns)` is the value of an expression on a row. Values are None (NULL),
bool, int, float, str, date and datetime. Nothing here knows of ranges, guards or engines; types are
asked for one thing only, the kind of a result, since INTEGER arithmetic that could leave 64 bits is
REAL. EXP and LN are those of the system's mathematical library, which engines on it use too.
"""

import datetime as dt
import math
import operator
import re
from fractions import Fraction

from discreet.plan.expressions import (
    Call,
    Case,
    Cast,
    Column,
    Function,
    IsIn,
    Like,
    Literal,
    Truncate,
    Unit,
)
from discreet.plan.kinds import Kind
from discreet.plan.typing import infer

LONGEST = 16384  # code points that CONCAT may have


def evaluate(expression, row, columns):
    """The value of an expression on a row, a mapping from column names to values."""
    return meaning(expression, columns)(row)


def meaning(expression, columns):
    """The function from rows to values that an expression is."""
    match expression:
        case Literal(value, _):
            return lambda _row: value
        case Column(name):
            return lambda row: row[name]
        case Call(function, arguments):
            parts = [meaning(part, columns) for part in arguments]
            kind = infer(expression, columns).kind
            return lambda row: call(function, [part(row) for part in parts], kind)
        case Case(branches, otherwise):
            return case(branches, otherwise, infer(expression, columns).kind, columns)
        case Cast(operand, kind):
            return strict(meaning(operand, columns), lambda value: cast(value, kind))
        case IsIn(operand, values):
            listed = [literal.value for literal in values]
            found = lambda value: any(compare(value, other) == 0 for other in listed)  # noqa: E731
            return strict(meaning(operand, columns), found)
        case Like(operand, pattern, escape):
            return strict(meaning(operand, columns), lambda text: like(text, pattern, escape))
        case Truncate(operand, unit):
            return strict(meaning(operand, columns), lambda value: truncate(value, unit))
    raise AssertionError(expression)


def strict(operand, function):
    """A function of an operand that is not NULL, and NULL of NULL."""

    def value(row):
        argument = operand(row)
        return None if argument is None else function(argument)

    return value


def case(branches, otherwise, kind, columns):
    """The value beside the first condition that is true, neither false nor NULL."""
    arms = [(meaning(test, columns), meaning(value, columns)) for test, value in branches]
    last = meaning(otherwise, columns)

    def value(row):
        chosen = next((result for test, result in arms if test(row) is True), last)
        return as_kind(chosen(row), kind)

    return value


# --- functions ------------------------------------------------------------------------------------


def call(function, values, kind):
    """A function of values; NULL in gives NULL out, but for the first few."""
    present = [value for value in values if value is not None]
    match function:
        case Function.IS_NULL:
            return values[0] is None
        case Function.AND | Function.OR:
            return logic(function, values)
        case Function.COALESCE:
            return as_kind(present[0], kind) if present else None
        case Function.LEAST | Function.GREATEST:
            best = min if function is Function.LEAST else max
            return best(as_kind(value, kind) for value in present) if present else None
        case Function.NULL_IF:
            equal = None not in values and compare(*values) == 0
            return None if equal else values[0]
    return None if len(present) < len(values) else FUNCTIONS[function](kind, *values)


def logic(function, values):
    """AND is false where one is false, OR true where one is true; else NULL where one is NULL."""
    decisive = function is Function.OR
    if decisive in values:
        return decisive
    return None if None in values else not decisive


def number(value, kind):
    """A number of the kind, NULL where it is not finite."""
    if kind is Kind.INTEGER:
        assert type(value) is int
        assert -(2**63) <= value < 2**63
        return value
    return float(value) if math.isfinite(value) else None


def arithmetic(apply):
    """Exact on INTEGER; on REAL the IEEE operation on doubles."""

    def value(kind, *operands):
        return number(apply(*(as_kind(operand, kind) for operand in operands)), kind)

    return value


def add(kind, x, y):
    if kind in {Kind.DATE, Kind.TIMESTAMP}:
        return later(x, y) if isinstance(x, dt.date) else later(y, x)
    return arithmetic(operator.add)(kind, x, y)


def subtract(kind, x, y):
    if isinstance(y, dt.date):
        return (x - y).days
    return later(x, -y) if isinstance(x, dt.date) else arithmetic(operator.sub)(kind, x, y)


def later(time, steps, unit="days"):
    try:
        return time + dt.timedelta(**{unit: steps})
    except OverflowError:
        return None


def add_months(_kind, time, months):
    """The same day of another month, or the last one that month has."""
    count = 12 * time.year + time.month - 1 + months
    if not 12 <= count < 12 * 10000:
        return None
    for day in range(time.day, 27, -1):
        try:
            return time.replace(year=count // 12, month=count % 12 + 1, day=day)
        except ValueError:
            continue
    return time.replace(year=count // 12, month=count % 12 + 1)


def divide(kind, x, y):
    return number(float(x) / float(y), kind) if y else None


def modulo(_kind, x, y):
    return int(math.copysign(1, x)) * (abs(x) % abs(y)) if y else None


def quotient(_kind, x, y):
    if not y:
        return None
    whole = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return whole if -(2**63) <= whole < 2**63 else None


def real(apply, defined=lambda _: True):
    """A function of a double, NULL outside its domain and where it overflows."""

    def value(kind, x):
        try:
            return number(apply(float(x)), kind) if defined(x) else None
        except OverflowError:
            return None

    return value


def half_away(x):
    """ROUND of SQL: halves away from 0."""
    size = math.floor(abs(Fraction(x)) + Fraction(1, 2))
    return -size if x < 0 else size


def whole(rounding):
    """Exact: a whole number, as INTEGER or as the double that it is."""
    return lambda kind, x: as_kind(rounding(x), kind)


def comparison(test):
    return lambda _kind, x, y: test(compare(x, y), 0)


def compare(x, y):
    """-1, 0 or 1. Python compares int and float as numbers, and str by code point."""
    if isinstance(x, dt.date):
        x, y = as_kind(x, Kind.TIMESTAMP), as_kind(y, Kind.TIMESTAMP)
    return (x > y) - (x < y)


def concat(_kind, *texts):
    joined = "".join(texts)
    return joined if len(joined) <= LONGEST else None


def extract(_, x, pattern, group):
    """Python's own matching of the pattern as it was written."""

    def blanks(found):  # as DuckDB has \\s
        if found[0][0] != "[":
            return r"[\t\n\f\r ]" if found[0] == r"\s" else found[0]
        return re.sub(r"\\(.)", lambda m: r"\t\n\f\r " if m[1] == "s" else m[0], found[0])

    text = re.sub(r"(?<!\\)\$$", r"\\Z", pattern)
    text = re.sub(r"\[(?:\\.|[^\]\\])*\]|\\.", blanks, text)
    found = re.search(text, x, re.ASCII)
    return found[group] if found else ""


def replace(_kind, text, what, by):
    replaced = by.join(text.split(what))
    return replaced if len(by) <= len(what) or len(replaced) <= LONGEST else None


def bucket(_kind, value, low, high, count):
    x, low, high = float(value), float(low), float(high)
    if x < low:
        return 0
    if x >= high:
        return count + 1
    return min(math.floor((x - low) / (high - low) * count) + 1, count)


def clock(name):
    return lambda _kind, x: getattr(x, name) if isinstance(x, dt.datetime) else 0


FUNCTIONS = {
    Function.ADD: add,
    Function.SUBTRACT: subtract,
    Function.MULTIPLY: arithmetic(operator.mul),
    Function.DIVIDE: divide,
    Function.MODULO: modulo,
    Function.QUOTIENT: quotient,
    Function.NEGATE: arithmetic(operator.neg),
    Function.ABS: arithmetic(abs),
    Function.SIGN: lambda _, x: (x > 0) - (x < 0),
    Function.FLOOR: whole(math.floor),
    Function.CEIL: whole(math.ceil),
    Function.ROUND: whole(half_away),
    Function.SQRT: real(math.sqrt, lambda x: x >= 0),
    Function.EXP: real(math.exp),
    Function.LN: real(math.log, lambda x: x > 0),
    Function.LOG10: real(math.log10, lambda x: x > 0),
    Function.LOG2: real(math.log2, lambda x: x > 0),
    Function.EQUAL: comparison(operator.eq),
    Function.NOT_EQUAL: comparison(operator.ne),
    Function.LESS: comparison(operator.lt),
    Function.LESS_EQUAL: comparison(operator.le),
    Function.GREATER: comparison(operator.gt),
    Function.GREATER_EQUAL: comparison(operator.ge),
    Function.NOT: lambda _, x: not x,
    Function.LOWER: lambda _, x: re.sub("[A-Z]", lambda m: m[0].lower(), x),
    Function.UPPER: lambda _, x: re.sub("[a-z]", lambda m: m[0].upper(), x),
    Function.TRIM: lambda _, x: x.strip(" "),
    Function.LTRIM: lambda _, x: x.lstrip(" "),
    Function.RTRIM: lambda _, x: x.rstrip(" "),
    Function.LENGTH: lambda _, x: len(x),
    Function.CONCAT: concat,
    Function.SUBSTRING: lambda _, x, first, count: x[first - 1 : first - 1 + count],
    Function.RIGHT: lambda _, x, count: "".join(list(x)[::-1][:count][::-1]),
    Function.REPLACE: replace,
    Function.SPLIT_PART: lambda _, x, mark, n: (x.split(mark) + [""] * n)[n - 1],
    Function.EXTRACT: extract,
    Function.POSITION: lambda _, x, y: x.find(y) + 1,
    Function.STARTS_WITH: lambda _, x, y: x.startswith(y),
    Function.ENDS_WITH: lambda _, x, y: x.endswith(y),
    Function.YEAR: lambda _, x: x.year,
    Function.QUARTER: lambda _, x: (x.month + 2) // 3,
    Function.MONTH: lambda _, x: x.month,
    Function.DAY: lambda _, x: x.day,
    Function.HOUR: clock("hour"),
    Function.MINUTE: clock("minute"),
    Function.SECOND: clock("second"),
    Function.MICROSECOND: lambda _, x: (
        x.second * 1_000_000 + x.microsecond if isinstance(x, dt.datetime) else 0
    ),
    Function.WEEK: lambda _, x: x.isocalendar().week,
    Function.WEEKDAY: lambda _, x: x.isoweekday(),
    Function.YEARDAY: lambda _, x: x.timetuple().tm_yday,
    Function.ADD_MONTHS: add_months,
    Function.ADD_SECONDS: lambda _, x, seconds: later(x, seconds, "seconds"),
    Function.BUCKET: bucket,
}
BY_THEMSELVES = {  # they see NULL, so `call` defines them
    Function.IS_NULL,
    Function.COALESCE,
    Function.LEAST,
    Function.GREATEST,
    Function.NULL_IF,
    Function.AND,
    Function.OR,
}


# --- kinds ----------------------------------------------------------------------------------------


def as_kind(value, kind):
    """INTEGER as REAL, DATE as TIMESTAMP at midnight; every other value is itself."""
    if kind is Kind.REAL and type(value) is int:
        return float(value)
    if kind is Kind.TIMESTAMP and type(value) is dt.date:
        return dt.datetime.combine(value, dt.time())
    return value


def cast(value, kind):
    match value, kind:
        case bool(), Kind.TEXT:
            return "true" if value else "false"
        case bool(), Kind.INTEGER | Kind.REAL:
            return as_kind(int(value), kind)
        case int(), Kind.BOOLEAN:
            return value != 0
        case float(), Kind.INTEGER:
            nearest = round(value)
            return nearest if -(2**63) <= nearest < 2**63 else None
        case str(), _:
            return parse(value, kind)
        case dt.datetime(), Kind.DATE:
            return value.date()
        case ((int() | dt.date()), Kind.TEXT):
            return str(value)
    return as_kind(value, kind)


DATE = r"\d{4}-\d\d-\d\d"
GRAMMAR = {
    Kind.TEXT: r".*",
    Kind.INTEGER: r"[+-]?\d+",
    Kind.REAL: r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?",
    Kind.DATE: DATE,
    Kind.TIMESTAMP: DATE + r"[ T]\d\d:\d\d:\d\d(\.\d{1,6})?",
}


def parse(text, kind):
    if not re.fullmatch(GRAMMAR[kind], text, re.ASCII | re.DOTALL):
        return None
    match kind:
        case Kind.INTEGER:
            value = int(text)
            return value if -(2**63) <= value < 2**63 else None
        case Kind.REAL:
            return number(float(text), kind)
        case Kind.DATE | Kind.TIMESTAMP:
            return parse_time(text, kind)
    return text


def parse_time(text, kind):
    try:
        if kind is Kind.DATE:
            return dt.date.fromisoformat(text)
        seconds, _, fraction = text.replace("T", " ").partition(".")
        at = dt.datetime.fromisoformat(seconds)
        return at.replace(microsecond=int(fraction.ljust(6, "0")))
    except ValueError:
        return None


def truncate(value, unit):
    if isinstance(value, dt.datetime):
        if unit in {Unit.HOUR, Unit.MINUTE}:
            minute = value.minute if unit is Unit.MINUTE else 0
            return value.replace(minute=minute, second=0, microsecond=0)
        return dt.datetime.combine(truncate(value.date(), unit), dt.time())
    match unit:
        case Unit.YEAR:
            return value.replace(month=1, day=1)
        case Unit.QUARTER:
            return value.replace(
                month=(1, 1, 1, 4, 4, 4, 7, 7, 7, 10, 10, 10)[value.month - 1], day=1
            )
        case Unit.MONTH:
            return value.replace(day=1)
        case Unit.WEEK:
            return value - dt.timedelta(days=value.weekday())
        case Unit.DAY | Unit.HOUR | Unit.MINUTE:
            return value
    raise AssertionError(unit)


def like(text, pattern, escape):
    """% is any text, _ any code point; after the escape a character is plain."""
    ends = {0}  # where in the text a match of the pattern so far can end
    characters = iter(pattern)
    for character in characters:
        if character == "%" != escape:
            ends = set(range(min(ends, default=len(text) + 1), len(text) + 1))
            continue
        any_one = character == "_" != escape
        plain = next(characters) if character == escape else character
        ends = {end + 1 for end in ends if any_one or text[end : end + 1] == plain}
    return len(text) in ends


# --- stored values --------------------------------------------------------------------------------


def read(stored, of):
    """A stored value as its declared type: its kind, its range, NULL only where it may be."""
    value = stored if stored is None else clean(stored, of.kind)
    if value is None and not of.nullable:
        value = {Kind.BOOLEAN: False, Kind.TEXT: ""}.get(of.kind, place_to_value(0, of.kind))
    if value is None or of.range is None:
        return value
    if value_to_place(value) < of.range.low:
        return place_to_value(math.ceil(of.range.low), of.kind, of.range.low)
    if value_to_place(value) > of.range.high:
        return place_to_value(math.floor(of.range.high), of.kind, of.range.high)
    return value


def clean(stored, kind):
    if isinstance(stored, float) and not math.isfinite(stored):
        return None
    return cast(stored, kind) if not matches(stored, kind) else stored


def matches(value, kind):
    python = (bool, int, float, str, dt.date, dt.datetime)
    return type(value) is dict(zip(Kind, python, strict=True))[kind]


def value_to_place(value):
    if isinstance(value, dt.datetime):
        return (value - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)  # noqa: DTZ001
    if isinstance(value, dt.date):
        return (value - dt.date(1970, 1, 1)).days
    return value


def place_to_value(place, kind, exact=None):
    match kind:
        case Kind.REAL:
            return float(place if exact is None else exact)
        case Kind.DATE:
            return dt.date(1970, 1, 1) + dt.timedelta(days=place)
        case Kind.TIMESTAMP:
            return dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=place)  # noqa: DTZ001
    return place
