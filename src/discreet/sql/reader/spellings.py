"""Functions as other dialects call them, as what DuckDB's have the same meaning.

A spelling is read as the expression that stands for it, over what it was given: `ZEROIFNULL(x)` is
`COALESCE(x, 0)`. What it means follows from the rules for that expression alone.
"""

import re
from collections.abc import Callable, Container, Mapping, Sequence
from functools import cache, partial
from typing import Any, ClassVar, TypeAlias

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.parsers.duckdb import DuckDBParser

from discreet.sql.reader.composed_aggregates import SPELLINGS
from discreet.sql.reader.syntax import Node

Given: TypeAlias = Sequence[Any]
Builder: TypeAlias = Callable[[Given], Node]


class Converted(exp.TryCast):
    """CONVERT(int, x) of SQL Server, which cuts digits off where a cast rounds."""


class Spelling(exp.Expression, exp.Func):
    """A call under another dialect's name: what it is, under the name that it was given."""

    arg_types: ClassVar = {"this": False, "expressions": False}
    is_var_len_args = True


_TEMPLATES = {
    "BTRIM": "TRIM(_1)",
    "CURDATE": "CURRENT_DATE",
    **dict.fromkeys(["DATETIME_ADD", "TIMESTAMP_ADD"], "_1 + _2"),
    **dict.fromkeys(["DATETIME_SUB", "TIMESTAMP_SUB"], "_1 - _2"),
    "DIV0": "IF(_2 = 0 AND NOT _1 IS NULL, 0, _1 / _2)",
    "EOMONTH": "LAST_DAY(_1)",
    "FORMAT_DATE": "STRFTIME(_2, _1)",
    "FORMAT_TIMESTAMP": "STRFTIME(_2, _1)",
    **dict.fromkeys(["GETDATE", "SYSDATE", "NOW", "GET_CURRENT_TIMESTAMP"], "CURRENT_TIMESTAMP"),
    "IFF": "CASE WHEN _1 THEN _2 ELSE _3 END",
    "ISNULL": "COALESCE(_1, _2)",
    "ISODOW": "EXTRACT(ISODOW FROM _1)",
    "NULLIFZERO": "NULLIF(_1, 0)",
    "NVL2": "CASE WHEN _1 IS NULL THEN _3 ELSE _2 END",
    "PREFIX": "STARTS_WITH(_1, _2)",
    "REGEXP_CONTAINS": "REGEXP_MATCHES(_1, _2)",
    "SQUARE": "POWER(_1, 2)",
    "SUFFIX": "ENDS_WITH(_1, _2)",
    "TIMESTAMP": "CAST(_1 AS TIMESTAMP)",
    "TO_DATE": "CAST(_1 AS DATE)",
    "TO_VARCHAR": "TO_CHAR(_1, _2)",
    "UNIX_TIMESTAMP": "EPOCH(_1)",
    "WEEKDAY": "EXTRACT(DOW FROM _1)",
    "ZEROIFNULL": "COALESCE(_1, 0)",
}
"""What is said instead; _1 is the first of the values that are given."""

_MOST_PARTS = 500


@cache
def _template(text: str) -> Node:
    found = sqlglot.parse_one(text, read="duckdb")
    for node in found.walk():
        node.meta.clear()  # places in a template are none in the question
    return found


def _is_large(given: Given) -> bool:
    return sum(1 for one in given for _ in one.walk()) > _MOST_PARTS


def _filled(text: str, given: Given, *words: Node) -> Node:
    """A template with what was given, each as often as it is named, and words that it took in.

    What has many parts already is none: calls inside calls would double them at each step.
    """
    if _is_large(given):
        return Spelling(expressions=list(given))

    def fill(node: Node) -> Node:
        place = re.fullmatch("_([1-9])", node.name) if isinstance(node, exp.Column) else None
        if place is None:
            return node
        found = given[int(place[1]) - 1].copy()
        return exp.Paren(this=found) if isinstance(found, exp.Binary | exp.Unary) else found

    found = _template(text).copy().transform(fill, copy=False)
    return Spelling(this=found, expressions=list(words))


def _spelled(name: str, form: str, given: Given, *words: Node) -> Node:
    many = max([0, *map(int, re.findall("_([1-9])", form))])
    return _filled(form, given, *words) if len(given) == many else _unknown(name, given)


def _unknown(name: str, given: Given) -> Node:
    return exp.Anonymous(this=name, expressions=list(given))


def _own(name: str, given: Given) -> Node:
    """The call as DuckDB's parser has it."""
    build: Builder = DuckDBParser.FUNCTIONS[name]
    return build(list(given))


def _word(node: Any, words: Container[str]) -> exp.Var | None:
    """A unit that stands as a bare word, or WEEK(MONDAY), at its place in the text."""
    inner = node.this if isinstance(node, exp.Week) else node
    if not isinstance(inner, exp.Column) or inner.table:
        return None
    name = inner.name.upper() if inner is node else f"WEEK({inner.name.upper()})"
    word = exp.var(name)
    word.meta.update(inner.this.meta)
    return word if name in words else None


def _by_unit(name: str, forms: Mapping[str, str], given: Given) -> Node:
    """A call whose first value is a unit, which tells the template for the others."""
    unit = _word(given[0], forms) if given else None
    return (
        _unknown(name, given) if unit is None else _spelled(name, forms[unit.name], given[1:], unit)
    )


_DATED = ("DAY", "MONTH", "QUARTER", "YEAR")
_UNITS = (*_DATED, "WEEK", "HOUR", "MINUTE", "SECOND")
_LATER = {unit + end: f"_2 + INTERVAL _1 {unit}" for unit in _UNITS for end in ("", "S")}
"""DATEADD(month, -3, d)."""

_NAMES = {
    **{unit: f"CAST(EXTRACT({unit} FROM _1) AS VARCHAR)" for unit in ("YEAR", "DAY")},
    "MONTH": "MONTHNAME(_1)",
    **dict.fromkeys(("WEEKDAY", "DW"), "DAYNAME(_1)"),
}
"""DATENAME(month, d) of SQL Server."""

_BETWEEN = "CAST(_2 AS TIMESTAMP) - CAST(_1 AS TIMESTAMP)"
_ELAPSED = {
    "YEAR": "EXTRACT(YEAR FROM AGE(_2, _1))",
    "MONTH": "EXTRACT(YEAR FROM AGE(_2, _1)) * 12 + EXTRACT(MONTH FROM AGE(_2, _1))",
    "DAY": f"EXTRACT(DAY FROM {_BETWEEN})",
    **{
        unit: f"CAST(TRUNC(EXTRACT(EPOCH FROM {_BETWEEN}) / {each}) AS BIGINT)"
        for unit, each in (("HOUR", 3600), ("MINUTE", 60), ("SECOND", 1))
    },
}
"""Whole units between two times, as TIMESTAMPDIFF counts them."""

_WEEKDAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
_WEEKS = {"ISOWEEK": 0, "WEEK": 6} | {f"WEEK({day})": at for at, day in enumerate(_WEEKDAYS)}
"""Weeks of BigQuery, and the days after Monday on which they begin."""


def _week(of: str, days: int) -> str:
    """The beginning of a week."""
    shift = f"INTERVAL {7 - days} DAY"
    return f"DATE_TRUNC('week', {of} + {shift}) - {shift}" if days else f"DATE_TRUNC('week', {of})"


_BEGINNINGS = {unit: f"DATE_TRUNC('{unit}', _1)" for unit in _UNITS}
_BEGINNINGS |= {name: _week("_1", days) for name, days in _WEEKS.items()}
_APART = {
    name: {unit: f"DATE_DIFF('{unit}', _1, _2)" for unit in units}
    | {
        week: f"DATE_DIFF('week', {_week('_1', at)}, {_week('_2', at)})"
        for week, at in _WEEKS.items()
    }
    for name, units in (("DATE_DIFF", _DATED), ("DATETIME_DIFF", _UNITS))
}


def _difference(name: str, given: Given) -> Node:
    """DATE_DIFF('day', a, b); DATE_DIFF(b, a, DAY) of BigQuery, and DATEDIFF(b, a) of MySQL.

    A column may be called day: the unit is the last only where no text is the first.
    """
    last = len(given) == 3 and not isinstance(given[0], exp.Literal)
    if last and _word(given[2], forms := _APART.get(name, {})):
        return _by_unit(name, forms, given[::-1])
    if name == "DATEDIFF" and len(given) == 2:
        return _spelled(name, "DATE_DIFF('day', _2, _1)", given)
    return _own("DATE_DIFF", given)


def _truncated(given: Given) -> Node:
    """DATE_TRUNC('month', d), and DATE_TRUNC(d, MONTH) of BigQuery, with weeks from Sunday."""
    last = len(given) == 2 and not isinstance(given[0], exp.Literal)
    if last and _word(given[0], _UNITS) and not isinstance(given[1], exp.Week):
        return _own("DATE_TRUNC", given)  # DATE_TRUNC(month, day) of Snowflake is not read
    if last and _word(given[1], _BEGINNINGS):
        return _by_unit("DATE_TRUNC", _BEGINNINGS, given[::-1])
    return _own("DATE_TRUNC", given)


def _shifted(name: str, given: Given) -> Node:
    """DATE_ADD(d, INTERVAL 1 MONTH), and DATE_ADD(d, 30) of Spark; DATE_SUB likewise."""
    sign = "+" if name == "DATE_ADD" else "-"
    days = len(given) == 2 and not isinstance(given[1], exp.Interval)
    return _spelled(name, f"CAST(_1 AS DATE) {sign} _2" if days else f"_1 {sign} _2", given)


def _cut(given: Given) -> Node:
    """TRUNC(d, 'MM') of Spark and Oracle; TRUNC of a number is the parser's own."""
    if len(given) != 2 or not isinstance(given[1], exp.Literal) or not given[1].is_string:
        return _own("TRUNC", given)
    return Spelling(this=_own("DATE_TRUNC", given[::-1]), expressions=[given[1].copy()])


def _days(given: Given) -> Node:
    """GENERATE_DATE_ARRAY(a, b, INTERVAL 1 DAY) of BigQuery."""
    if len(given) not in {2, 3}:
        return _unknown("GENERATE_DATE_ARRAY", given)
    day = exp.Interval(this=exp.Literal.string("1"), unit=exp.var("DAY"))
    return exp.GenerateSeries(**dict(zip(("start", "end", "step"), (*given, day), strict=False)))


def _zoned(name: str, given: Given) -> Node:
    """TIMEZONE('UTC', t); CONVERT_TIMEZONE('UTC', 'Asia/Tokyo', t), CONVERT_TZ(t, a, b)."""
    match name, given:
        case "TIMEZONE", [zone, of]:
            return exp.AtTimeZone(this=of, zone=zone)
        case "CONVERT_TIMEZONE", [source, target, of]:
            pass
        case "CONVERT_TZ", [of, source, target]:
            pass
        case "DATETIME" | "DATE", [of, target]:
            source = exp.Literal.string("UTC")
        case "DATETIME", [_]:
            return _spelled(name, "CAST(_1 AS TIMESTAMP)", given)
        case "DATE", [_, _, _]:
            return _spelled(name, "MAKE_DATE(_1, _2, _3)", given)
        case "DATE", _:
            return _own("DATE", given)
        case _:
            return _unknown(name, given)
    instant = exp.AtTimeZone(this=of, zone=source)
    found = exp.AtTimeZone(this=instant, zone=target)
    return found if name != "DATE" else exp.Date(this=found)


def _decoded(given: Given) -> Node:
    """DECODE(x, 'a', 1, 'b', 2, 0): a CASE; what is no constant meets NULL where it is NULL."""
    if len(given) < 3:
        return _unknown("DECODE", given)
    if _is_large(given):
        return Spelling(expressions=list(given))
    kinds = [exp.EQ if isinstance(one, exp.Literal) else exp.NullSafeEQ for one in given[1:-1:2]]
    tests = [
        kind(this=given[0].copy(), expression=one)
        for kind, one in zip(kinds, given[1:-1:2], strict=True)
    ]
    ifs = [exp.If(this=a, true=b) for a, b in zip(tests, given[2::2], strict=False)]
    found = exp.Case(ifs=ifs)
    found.set("default", given[-1] if len(given) % 2 == 0 else None)
    return Spelling(this=found)


def _joined(given: Given) -> Node:
    """CONCAT_WS('/', a, b): parts that are not NULL, with the mark between them."""
    if len(given) < 2 or not isinstance(given[0], exp.Literal):
        return _unknown("CONCAT_WS", given)
    parts = ", ".join(f"IF(_{at} IS NULL, '', _1 || _{at})" for at in range(2, len(given) + 1))
    if len(given) > 9:
        return _unknown("CONCAT_WS", given)
    return _filled(f"SUBSTRING(CONCAT({parts}), {len(given[0].name) + 1})", given)


def _aggregate(name: str, given: Given) -> Node:
    """An aggregate of one value."""
    return SPELLINGS[name](this=given[0]) if len(given) == 1 else _unknown(name, given)


_LETTERS = {
    "DATE_FORMAT": (
        "%(.)",
        {one: f"%{one}" for one in "YymdHSjba"}
        | {"i": "%M", "M": "%B", "W": "%A", "s": "%S"}
        | {"c": "%-m", "e": "%-d", "k": "%-H", "T": "%H:%M:%S"},
    ),
    "FORMAT": (
        r"([A-Za-z]+|[\"'\\%])",
        {"yyyy": "%Y", "yy": "%y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
        | {"MMMM": "%B", "MMM": "%b", "dddd": "%A", "ddd": "%a"},
    ),
}
_LETTERS["SPARK"] = (
    _LETTERS["FORMAT"][0],
    {letter: form for letter, form in _LETTERS["FORMAT"][1].items() if letter[0] != "d"}
    | {"dd": "%d", "d": "%-d", "M": "%-m", "H": "%-H", "y": "%Y"}
    | {"EEEE": "%A", **dict.fromkeys(["E", "EE", "EEE"], "%a")},
)
"""Letters of formats in MySQL, in SQL Server and in Spark, as STRFTIME has them."""


def _formatted(name: str) -> Builder:
    def build(given: Given) -> Node:
        if len(given) != 2 or not (isinstance(given[1], exp.Literal) and given[1].is_string):
            return _unknown(name, given)
        spark = name == "DATE_FORMAT" and "%" not in given[1].name
        pattern, letters = _LETTERS["SPARK" if spark else name]
        found = re.findall(pattern, given[1].name)
        spelt = re.sub(pattern, lambda one: letters.get(one[1], "%!"), given[1].name)
        form = exp.Literal.string(spelt if found else "%!")  # which is refused
        form.meta.update(given[1].meta)
        return exp.TimeToStr(this=given[0], format=form)

    return build


def _convert(name: str, parser: DuckDBParser) -> Node | None:
    """CONVERT(date, x) of SQL Server; CONVERT(x, DATE) of MySQL is the parser's own."""
    start = parser._index  # noqa: SLF001 - the parser's own way to look ahead
    kind = parser._parse_types()  # noqa: SLF001
    known = isinstance(kind, exp.DataType) and kind.this is not exp.DType.USERDEFINED
    if known and parser._match(TokenType.COMMA):  # noqa: SLF001
        value = parser._parse_disjunction()  # noqa: SLF001
        if value is not None and parser._curr.token_type is TokenType.R_PAREN:  # noqa: SLF001
            return Converted(this=value, to=kind, safe=True)
    parser._retreat(start)  # noqa: SLF001
    own: Callable[[DuckDBParser], Node | None] = DuckDBParser.FUNCTION_PARSERS[name]
    return own(parser)


FUNCTIONS: dict[str, Builder] = {
    **{name: partial(_spelled, name, form) for name, form in _TEMPLATES.items()},
    **{name: partial(_aggregate, name) for name in SPELLINGS},
    "CONCAT_WS": _joined,
    "DATEADD": partial(_by_unit, "DATEADD", _LATER),
    "DATENAME": partial(_by_unit, "DATENAME", _NAMES),
    **{name: partial(_shifted, name) for name in ("DATE_ADD", "DATE_SUB")},
    **{name: partial(_difference, name) for name in ("DATEDIFF", *_APART)},
    "DATE_FORMAT": _formatted("DATE_FORMAT"),
    **dict.fromkeys(["DATE_TRUNC", "TIMESTAMP_TRUNC", "DATETIME_TRUNC"], _truncated),
    "DECODE": _decoded,
    **{
        name: partial(_zoned, name)
        for name in ("TIMEZONE", "CONVERT_TIMEZONE", "CONVERT_TZ", "DATETIME", "DATE")
    },
    "FORMAT": _formatted("FORMAT"),
    "GENERATE_DATE_ARRAY": _days,
    "TIMESTAMPDIFF": partial(_by_unit, "TIMESTAMPDIFF", _ELAPSED),
    "TIMESTAMP_DIFF": lambda given: _by_unit("TIMESTAMP_DIFF", _ELAPSED, given[::-1]),
    "TRUNC": _cut,
}
PARSERS: dict[str, Callable[[DuckDBParser], Node | None]] = {
    **dict.fromkeys(
        ["APPROX_PERCENTILE", "PERCENTILE_APPROX", "PERCENTILE"],
        DuckDBParser.FUNCTION_PARSERS["QUANTILE_CONT"],
    ),
    **{name: partial(_convert, name) for name in ("CONVERT", "TRY_CONVERT")},
}
"""What reads the values of a call itself."""
