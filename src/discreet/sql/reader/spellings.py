"""Functions as other dialects call them, as what DuckDB's have the same meaning.

A spelling is read as the expression that stands for it, over what it was given: `ZEROIFNULL(x)` is
`COALESCE(x, 0)`. What it means follows from the rules for that expression alone.
"""

import re
from collections.abc import Callable, Container, Sequence
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
    "DATE_SUB": "_1 - _2",
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
    "SUFFIX": "ENDS_WITH(_1, _2)",
    "TIMESTAMP": "CAST(_1 AS TIMESTAMP)",
    "TO_DATE": "CAST(_1 AS DATE)",
    "TO_VARCHAR": "TO_CHAR(_1, _2)",
    "UNIX_TIMESTAMP": "EPOCH(_1)",
    "WEEKDAY": "EXTRACT(DOW FROM _1)",
    "ZEROIFNULL": "COALESCE(_1, 0)",
}
"""What is said instead; _1 is the first of the values that are given."""

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


_MOST_PARTS = 500


@cache
def _template(text: str) -> Node:
    found = sqlglot.parse_one(text, read="duckdb")
    for node in found.walk():
        node.meta.clear()  # places in a template are none in the question
    return found


def _is_large(given: Given) -> bool:
    return sum(1 for one in given for _ in one.walk()) > _MOST_PARTS


def _filled(text: str, given: Given) -> Node:
    """A template with what was given; each stands in it as often as it is named.

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

    return Spelling(this=_template(text).copy().transform(fill, copy=False))


def _spelled(name: str, form: str, given: Given) -> Node:
    many = max([0, *map(int, re.findall("_([1-9])", form))])
    return _filled(form, given) if len(given) == many else _unknown(name, given)


def _unknown(name: str, given: Given) -> Node:
    return exp.Anonymous(this=name, expressions=list(given))


def _own(name: str, given: Given) -> Node:
    """The call as DuckDB's parser has it."""
    build: Builder = DuckDBParser.FUNCTIONS[name]
    return build(list(given))


def _word(node: Any, words: Container[str]) -> exp.Var | None:
    """A unit of time that stands as a bare word, at its place in the text."""
    if not isinstance(node, exp.Column) or node.table or node.name.upper() not in words:
        return None
    word = exp.var(node.name.upper())
    word.meta.update(node.this.meta)
    return word


def _in_unit(node: exp.Expression, unit: exp.Var) -> exp.Expression:
    """The same with its unit at its place in the text."""
    node.args["unit"].meta.update(unit.meta)
    return node


_DATED = {"DAY", "MONTH", "QUARTER", "YEAR"}
_UNITS = _DATED | {"WEEK", "HOUR", "MINUTE", "SECOND"}


def _later(given: Given) -> Node:
    """DATEADD(month, -3, d)."""
    unit = _word(given[0], _UNITS | {one + "S" for one in _UNITS}) if len(given) == 3 else None
    if unit is None:
        return _unknown("DATEADD", given)
    amount = _in_unit(exp.Interval(this=given[1], unit=unit), unit)
    return Spelling(this=exp.Add(this=given[2], expression=amount))


def _named(given: Given) -> Node:
    """DATENAME(month, d), DATENAME(weekday, d) and DATENAME(year, d) of SQL Server."""
    unit = _word(given[0], {*_NAMED, "YEAR", "DAY"}) if len(given) == 2 else None
    if unit is None:
        return _unknown("DATENAME", given)
    number = f"CAST(EXTRACT({unit.name} FROM _1) AS VARCHAR)"
    found = _filled(_NAMED.get(unit.name, number), given[1:])
    found.append("expressions", unit)
    return found


_NAMED = {"MONTH": "MONTHNAME(_1)", "WEEKDAY": "DAYNAME(_1)", "DW": "DAYNAME(_1)"}


def _elapsed(given: Given) -> Node:
    """TIMESTAMPDIFF(MONTH, a, b): whole months from a to b."""
    unit = _word(given[0], _ELAPSED) if len(given) == 3 else None
    if unit is None:
        return _unknown("TIMESTAMPDIFF", given)
    found = _filled(_ELAPSED[unit.name], given[1:])
    found.append("expressions", unit)
    return found


def _difference(name: str, given: Given) -> Node:
    """DATE_DIFF('day', a, b); DATE_DIFF(b, a, DAY) of BigQuery, and DATEDIFF(b, a) of MySQL.

    A column may be called day: the unit is the last only where no text is the first.
    """
    unit = None
    if name == "DATE_DIFF" and len(given) == 3 and not isinstance(given[0], exp.Literal):
        unit = _word(given[2], _DATED)
    if name == "DATEDIFF" and len(given) == 2:
        unit = exp.var("DAY")
    if unit is None:
        return _own("DATE_DIFF", given)
    found = exp.DateDiff(this=given[0], expression=given[1], unit=unit, date_part_boundary=True)
    return _in_unit(found, unit)


_WEEKS = {
    "ISOWEEK": "DATE_TRUNC('week', _1)",
    "WEEK": "DATE_TRUNC('week', _1 + INTERVAL 1 DAY) - INTERVAL 1 DAY",
}


def _truncated(given: Given) -> Node:
    """DATE_TRUNC('month', d), and DATE_TRUNC(d, MONTH) of BigQuery, with weeks from Sunday."""
    unit = _word(given[1], {*_UNITS, "ISOWEEK"}) if len(given) == 2 else None
    if unit is None or isinstance(given[0], exp.Literal) or _word(given[0], _UNITS):
        return _own("DATE_TRUNC", given)
    if unit.name in _WEEKS:
        found = _filled(_WEEKS[unit.name], given[:1])
        found.append("expressions", unit)
        return found
    return _in_unit(exp.TimestampTrunc(this=given[0], unit=unit), unit)


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
"""Letters of formats in MySQL and in SQL Server, as STRFTIME has them."""


def _formatted(name: str) -> Builder:
    pattern, letters = _LETTERS[name]

    def build(given: Given) -> Node:
        if len(given) != 2 or not (isinstance(given[1], exp.Literal) and given[1].is_string):
            return _unknown(name, given)
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
    "DATEADD": _later,
    "DATENAME": _named,
    **{name: partial(_difference, name) for name in ("DATEDIFF", "DATE_DIFF")},
    "DATE_FORMAT": _formatted("DATE_FORMAT"),
    **dict.fromkeys(["DATE_TRUNC", "TIMESTAMP_TRUNC"], _truncated),
    "DECODE": _decoded,
    **{
        name: partial(_zoned, name)
        for name in ("TIMEZONE", "CONVERT_TIMEZONE", "CONVERT_TZ", "DATETIME", "DATE")
    },
    "FORMAT": _formatted("FORMAT"),
    "TIMESTAMPDIFF": _elapsed,
}
PARSERS: dict[str, Callable[[DuckDBParser], Node | None]] = {
    **dict.fromkeys(
        ["APPROX_PERCENTILE", "PERCENTILE_APPROX", "PERCENTILE"],
        DuckDBParser.FUNCTION_PARSERS["QUANTILE_CONT"],
    ),
    **{name: partial(_convert, name) for name in ("CONVERT", "TRY_CONVERT")},
}
"""What reads the values of a call itself."""
