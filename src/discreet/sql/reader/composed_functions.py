"""Functions of a row that are made of the plan's own: dates as text, truncation, patterns, clocks.

Each is total where its parts are, and costs what they cost; none is new to an engine.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import InputError
from discreet.plan.expressions import Case, Cast, Expression, Function, Like, Literal, call, chain
from discreet.plan.kinds import Kind
from discreet.plan.patterns import read_pattern
from discreet.sql.reader.literals import read_whole
from discreet.sql.reader.refusals import said
from discreet.sql.reader.syntax import Node
from discreet.sql.reader.times import Rule, epoch, last_day

if TYPE_CHECKING:
    from discreet.sql.reader.expressions import ExpressionReader

_MONTHS = "January February March April May June July August September October November December"
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"


# --- dates as text --------------------------------------------------------------------------------


def _name(of: Expression, function: Function, names: str, length: int | None) -> Expression:
    """The name of a month or a weekday."""
    part = call(function, of)
    branches = (
        (part.equals(at), Literal(one[:length], Kind.TEXT))
        for at, one in enumerate(names.split(), start=1)
    )
    return Case(tuple(branches), Literal(None, Kind.TEXT))


def _padded(of: Expression, function: Function, digits: int) -> Expression:
    """A part of a date in so many digits; 0 for as many as it has."""
    text: Expression = Cast(call(function, of), Kind.TEXT)
    if digits > 1:
        text = call(Function.CONCAT, "0" * (digits - 1), text)
    return call(Function.RIGHT, text, digits) if digits else text


_STRFTIME: Mapping[str, tuple[Function, int]] = {
    "%Y": (Function.YEAR, 4),
    "%m": (Function.MONTH, 2),
    "%d": (Function.DAY, 2),
    "%H": (Function.HOUR, 2),
    "%M": (Function.MINUTE, 2),
    "%S": (Function.SECOND, 2),
    "%j": (Function.YEARDAY, 3),
    "%u": (Function.WEEKDAY, 1),
    "%V": (Function.WEEK, 2),
    "%Q": (Function.QUARTER, 1),
    "%y": (Function.YEAR, 2),
    "%-m": (Function.MONTH, 0),
    "%-d": (Function.DAY, 0),
    "%-H": (Function.HOUR, 0),
}
_TO_CHAR: Mapping[str, tuple[Function, int]] = {
    "YYYY": (Function.YEAR, 4),
    "HH24": (Function.HOUR, 2),
    "DDD": (Function.YEARDAY, 3),
    "MM": (Function.MONTH, 2),
    "DD": (Function.DAY, 2),
    "MI": (Function.MINUTE, 2),
    "SS": (Function.SECOND, 2),
    "IW": (Function.WEEK, 2),
    "ID": (Function.WEEKDAY, 1),
    "Q": (Function.QUARTER, 1),
}
_NAMES = {
    "%B": (Function.MONTH, _MONTHS, None),
    "%b": (Function.MONTH, _MONTHS, 3),
    "%A": (Function.WEEKDAY, _DAYS, None),
    "%a": (Function.WEEKDAY, _DAYS, 3),
}
_TO_CHAR_NAMES = {
    "FMMonth": _NAMES["%B"],
    "Mon": _NAMES["%b"],
    "FMDay": _NAMES["%A"],
    "Dy": _NAMES["%a"],
}
_SHORTHANDS = {"%F": "%Y-%m-%d", "%T": "%H:%M:%S", "%x": "%Y-%m-%d", "%X": "%H:%M:%S"}


def _formatted(
    parts: Mapping[str, tuple[Function, int]], plain: str, reader: "ExpressionReader", node: Node
) -> Expression:
    """A date as a text: the parts that a format names, and what stands between them."""
    names = _NAMES if parts is _STRFTIME else _TO_CHAR_NAMES
    known = sorted([*parts, *names], key=len, reverse=True)
    given = [reader.syntax.part(node, "this"), reader.syntax.part(node, "format")]
    if isinstance(given[0], exp.Literal):  # STRFTIME('%Y', day), as in SQLite
        given.reverse()
    of, form = reader.read(given[0]), reader.text(given[1], "the format of a date")
    for short, long in _SHORTHANDS.items() if names is _NAMES else ():
        form = form.replace(short, long)
    pieces = re.findall("|".join([*map(re.escape, known), plain]), form)
    # Plain signs alone may be the format of a number.
    if "".join(pieces) != form or set(pieces).isdisjoint(known):
        raise reader.syntax.refuse(node, _FORMAT)
    texts = [
        _padded(of, *parts[one])
        if one in parts
        else _name(of, *names[one])
        if one in names
        else Literal(one, Kind.TEXT)
        for one in pieces
    ]
    return chain(Function.CONCAT, texts)


# --- numbers --------------------------------------------------------------------------------------


def scaled(
    reader: "ExpressionReader", node: Node, cut: Callable[[Expression], Expression]
) -> Expression:
    """ROUND or TRUNC of a value, to a number of digits behind the point or, below 0, before it."""
    value, digits_node = reader.part(node, "this"), reader.syntax.part(node, "decimals")
    if digits_node is None:
        return cut(value)
    negative = isinstance(digits_node, exp.Neg)
    inner = reader.syntax.part(digits_node, "this") if negative else digits_node
    digits = read_whole(reader.syntax, inner, f"the number of digits of {node.key.upper()}")
    if digits > 15:
        raise reader.syntax.refuse(digits_node, DIGITS)
    return to_digits(value, -digits if negative else digits, cut)


def to_digits(
    value: Expression, digits: int, cut: Callable[[Expression], Expression]
) -> Expression:
    """A value cut to so many digits."""
    scale: int = 10 ** abs(digits)
    return cut(value / scale) * scale if digits < 0 else cut(value * scale) / scale


def cut_off(value: Expression) -> Expression:
    """Digits behind the point cut off, towards 0."""
    return Case(((value < 0, call(Function.CEIL, value)),), call(Function.FLOOR, value))


# --- text -----------------------------------------------------------------------------------------


def _split(reader: "ExpressionReader", node: Node) -> Expression:
    """SPLIT_PART(text, '-', 2): empty where there are fewer parts."""
    text, syntax = reader.part(node, "this"), reader.syntax
    mark = reader.text(syntax.part(node, "delimiter"), "what SPLIT_PART splits at")
    place = read_whole(syntax, syntax.part(node, "part_index"), "the part", at_least=1)
    return call(Function.SPLIT_PART, text, mark, place)


def _extraction(reader: "ExpressionReader", node: Node) -> Expression:
    """REGEXP_EXTRACT(text, pattern, group): empty where nothing matches."""
    syntax = reader.syntax
    syntax.expect(node, "null_if_pos_overflow", True)  # noqa: FBT003 - the parser's flag
    text = reader.part(node, "this")
    pattern = reader.text(syntax.part(node, "expression"), "a regular expression")
    return call(
        Function.EXTRACT, text, pattern, read_whole(syntax, syntax.part(node, "group"), "the group")
    )


_PLAIN = r"(?:[^\\^$.|?*+()\[\]{}]|\\[^A-Za-z0-9])+"
_PATTERN = re.compile(rf"(\^?)(?:\((?:\?:)?({_PLAIN}(?:\|{_PLAIN})*)\)|({_PLAIN}))(\$?)", re.DOTALL)
_ALTERNATIVES = re.compile(rf"{_PLAIN}(?:\|{_PLAIN})+", re.DOTALL)


def _matches(reader: "ExpressionReader", node: Node, *, whole: bool) -> Expression:
    """REGEXP_MATCHES of texts, alternatives and anchors: as LIKE, whose time is bounded."""
    operand = reader.part(node, "this")
    pattern = reader.text(reader.syntax.part(node, "expression"), "a regular expression")
    found = _PATTERN.fullmatch(pattern)
    start, end = whole, whole
    if found is not None:
        start, end = start or bool(found[1]), end or bool(found[4])
        texts = re.findall(_PLAIN, found[2] or found[3])
    elif _ALTERNATIVES.fullmatch(pattern):
        texts = re.findall(_PLAIN, pattern)
    else:
        last = "" if re.search(r"(?<!\\)\$$", pattern) else "$"
        anchored = f"^{pattern.removeprefix('^')}{last}" if whole else pattern
        return _found(reader, node, operand, anchored)
    tests = [Like(operand, _like(one, start=start, end=end), "!") for one in texts]
    return chain(Function.OR, tests)


def _found(reader: "ExpressionReader", node: Node, operand: Expression, pattern: str) -> Expression:
    """Whether a text has a match that cannot be empty: what is extracted is not."""
    with suppress(InputError):
        if not read_pattern(pattern, 0).may_be_empty:
            return call(Function.NOT_EQUAL, call(Function.EXTRACT, operand, pattern, 0), "")
    raise reader.syntax.refuse(node, _REGULAR)


def _like(text: str, *, start: bool, end: bool) -> str:
    plain = re.sub(r"([%_!])", r"!\1", re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL))
    return f"{'' if start else '%'}{plain}{'' if end else '%'}"


# --- clocks ---------------------------------------------------------------------------------------


def _clock(kind: Kind, reader: "ExpressionReader", _: Node) -> Expression:
    """The public time at which the question is asked, which becomes a part of it."""
    now = reader.syntax.now
    return Literal(now.date() if kind is Kind.DATE else now, kind)


_FORMAT = said("""argument: a format of dates that is not known, or one of numbers
    formats are made of %Y %m %d %H %M %S %y %j %u %V %B %b %A %a, \
    or of YYYY MM DD HH24 MI SS Q Mon Dy FMMonth FMDay
    write STRFTIME(d, '%Y-%m') or TO_CHAR(d, 'YYYY-MM'), and of numbers ROUND(x, 2)""")
DIGITS = said("""argument: more than 15 decimals, or more than there are digits in all
    a double has no more
    round to fewer, as in ROUND(x, 2) or DECIMAL(10, 2)""")
_REGULAR = said("""pattern: a regular expression that is not understood here
    each set that repeats has to differ from what can follow it, ranges go up, and alternatives \
    are plain texts: else one row could take long, and engines disagree
    use LIKE, where % is any text and _ any character, or '^(flu|cold)', or '^[A-C][0-9]+'""")
_NOW = (exp.CurrentTimestamp, exp.CurrentDatetime, exp.Localtimestamp)
COMPOSED: dict[type[Node], Rule] = {
    exp.TimeToStr: partial(_formatted, _STRFTIME, r"[^%]"),
    exp.ToChar: partial(_formatted, _TO_CHAR, r"[^A-Za-z]"),
    exp.Dayname: lambda reader, node: _name(reader.part(node, "this"), *_NAMES["%A"]),
    exp.Monthname: lambda reader, node: _name(reader.part(node, "this"), *_NAMES["%B"]),
    exp.TimeToUnix: lambda reader, node: epoch(reader, reader.syntax.part(node, "this")),
    exp.LastDay: lambda reader, node: last_day(reader.part(node, "this")),
    exp.Trunc: partial(scaled, cut=cut_off),
    exp.SplitPart: _split,
    exp.RegexpExtract: _extraction,
    exp.RegexpLike: partial(_matches, whole=False),
    exp.RegexpFullMatch: partial(_matches, whole=True),
    exp.CurrentDate: partial(_clock, Kind.DATE),
    **dict.fromkeys(_NOW, partial(_clock, Kind.TIMESTAMP)),
}
