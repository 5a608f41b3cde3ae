"""Functions of a row that are made of the plan's own: dates as text, truncation, patterns, clocks.

Each is total where its parts are, and costs what they cost; none is new to an engine.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import InputError
from discreet.plan.expressions import (
    Call,
    Case,
    Cast,
    Expression,
    Function,
    Like,
    Literal,
    Truncate,
    Unit,
)
from discreet.plan.kinds import Kind
from discreet.plan.patterns import read_pattern
from discreet.sql.reader.literals import read_whole
from discreet.sql.reader.refusals import Refusal
from discreet.sql.reader.syntax import Node
from discreet.sql.reader.times import Rule, epoch

if TYPE_CHECKING:
    from discreet.sql.reader.expressions import ExpressionReader

_MONTHS = "January February March April May June July August September October November December"
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"


def _number(value: int) -> Literal:
    return Literal(value, Kind.INTEGER)


def _text(value: str) -> Literal:
    return Literal(value, Kind.TEXT)


# --- dates as text --------------------------------------------------------------------------------


def _name(of: Expression, function: Function, names: str, length: int | None) -> Expression:
    """The name of a month or a weekday."""
    part = Call(function, (of,))
    branches = (
        (Call(Function.EQUAL, (part, _number(at))), _text(one[:length]))
        for at, one in enumerate(names.split(), start=1)
    )
    return Case(tuple(branches), Literal(None, Kind.TEXT))


def _named(function: Function, names: str) -> Rule:
    def rule(reader: "ExpressionReader", node: Node) -> Expression:
        return _name(reader.read(reader.syntax.part(node, "this")), function, names, None)

    return rule


def _padded(of: Expression, function: Function, digits: int) -> Expression:
    """A part of a date in so many digits; 0 for as many as it has."""
    text: Expression = Cast(Call(function, (of,)), Kind.TEXT)
    if digits > 1:
        text = Call(Function.CONCAT, (_text("0" * (digits - 1)), text))
    return Call(Function.RIGHT, (text, _number(digits))) if digits else text


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
_SHORTHANDS = {"%F": "%Y-%m-%d", "%T": "%H:%M:%S", "%x": "%Y-%m-%d", "%X": "%H:%M:%S"}


def _formatted(parts: Mapping[str, tuple[Function, int]], plain: str) -> Rule:
    """A date as a text: the parts that a format names, and what stands between them."""
    known = sorted([*parts, *(_NAMES if "%Y" in parts else ())], key=len, reverse=True)
    pattern = re.compile("|".join([*map(re.escape, known), plain]))

    def rule(reader: "ExpressionReader", node: Node) -> Expression:
        syntax = reader.syntax
        given = [syntax.part(node, "this"), syntax.part(node, "format")]
        if isinstance(given[0], exp.Literal):  # STRFTIME('%Y', day), as in SQLite
            given.reverse()
        of, form = reader.read(given[0]), reader.text(given[1], "the format of a date")
        for short, long in _SHORTHANDS.items() if "%Y" in parts else ():
            form = form.replace(short, long)
        pieces = pattern.findall(form)
        if not form or "".join(pieces) != form:
            raise syntax.refuse(node, _FORMAT)
        texts = [_piece(piece, of, parts) for piece in pieces]
        return texts[0] if len(texts) == 1 else Call(Function.CONCAT, tuple(texts))

    return rule


def _piece(piece: str, of: Expression, parts: Mapping[str, tuple[Function, int]]) -> Expression:
    if piece in parts:
        return _padded(of, *parts[piece])
    if piece in _NAMES:
        return _name(of, *_NAMES[piece])
    return _text(piece)


def read_last_day(reader: "ExpressionReader", node: Node) -> Expression:
    """The last day of the month of a date."""
    day = Cast(reader.read(reader.syntax.part(node, "this")), Kind.DATE)
    after = Call(Function.ADD_MONTHS, (Truncate(day, Unit.MONTH), _number(1)))
    return Call(Function.SUBTRACT, (after, _number(1)))


# --- numbers --------------------------------------------------------------------------------------


def read_truncation(reader: "ExpressionReader", node: Node) -> Expression:
    """TRUNC(x) and TRUNC(x, 2): digits cut off, towards 0."""
    value = reader.read(reader.syntax.part(node, "this"))
    places = reader.syntax.part(node, "decimals")
    digits = 0 if places is None else read_whole(reader.syntax, places, "the digits of TRUNC")
    if digits > 15:
        raise reader.syntax.refuse(node, DIGITS)
    scaled = value if not digits else Call(Function.MULTIPLY, (value, _number(10**digits)))
    below = Call(Function.LESS, (scaled, _number(0)))
    sides = Call(Function.CEIL, (scaled,)), Call(Function.FLOOR, (scaled,))
    cut = Case(((below, sides[0]),), sides[1])
    return Call(Function.DIVIDE, (cut, _number(10**digits))) if digits else cut


# --- text -----------------------------------------------------------------------------------------


def read_split(reader: "ExpressionReader", node: Node) -> Expression:
    """SPLIT_PART(text, '-', 2): empty where there are fewer parts."""
    syntax = reader.syntax
    text = reader.read(syntax.part(node, "this"))
    mark = reader.text(syntax.part(node, "delimiter"), "what SPLIT_PART splits at")
    place = read_whole(syntax, syntax.part(node, "part_index"), "the part", at_least=1)
    return Call(Function.SPLIT_PART, (text, _text(mark), _number(place)))


def read_extraction(reader: "ExpressionReader", node: Node) -> Expression:
    """REGEXP_EXTRACT(text, pattern, group): empty where nothing matches."""
    syntax = reader.syntax
    syntax.expect(node, "null_if_pos_overflow", True)  # noqa: FBT003 - the parser's flag
    text = reader.read(syntax.part(node, "this"))
    pattern = reader.text(syntax.part(node, "expression"), "a regular expression")
    group = read_whole(syntax, syntax.part(node, "group"), "the group")
    return Call(Function.EXTRACT, (text, _text(pattern), _number(group)))


_PLAIN = r"(?:[^\\^$.|?*+()\[\]{}]|\\[^A-Za-z0-9])+"
_PATTERN = re.compile(rf"(\^?)(?:\((?:\?:)?({_PLAIN}(?:\|{_PLAIN})*)\)|({_PLAIN}))(\$?)", re.DOTALL)
_ALTERNATIVES = re.compile(rf"{_PLAIN}(?:\|{_PLAIN})+", re.DOTALL)


def _matches(*, whole: bool) -> Rule:
    """REGEXP_MATCHES of texts, alternatives and anchors: as LIKE, whose time is bounded."""

    def rule(reader: "ExpressionReader", node: Node) -> Expression:
        syntax = reader.syntax
        operand = reader.read(syntax.part(node, "this"))
        pattern = reader.text(syntax.part(node, "expression"), "a regular expression")
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
        return tests[0] if len(tests) == 1 else Call(Function.OR, tuple(tests))

    return rule


def _found(reader: "ExpressionReader", node: Node, operand: Expression, pattern: str) -> Expression:
    """Whether a text has a match that cannot be empty: what is extracted is not."""
    with suppress(InputError):
        if not read_pattern(pattern, 0).may_be_empty:
            found = reader.call(node, Function.EXTRACT, operand, _text(pattern), _number(0))
            return Call(Function.NOT_EQUAL, (found, _text("")))
    raise reader.syntax.refuse(node, _REGULAR)


def _like(text: str, *, start: bool, end: bool) -> str:
    plain = re.sub(r"([%_!])", r"!\1", re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL))
    return f"{'' if start else '%'}{plain}{'' if end else '%'}"


# --- clocks ---------------------------------------------------------------------------------------


def _clock(kind: Kind) -> Rule:
    """The public time at which the question is asked, which becomes a part of it."""

    def rule(reader: "ExpressionReader", _: Node) -> Expression:
        now = reader.syntax.now
        return Literal(now.date() if kind is Kind.DATE else now, kind)

    return rule


_FORMAT = Refusal(
    "argument",
    "a format of dates that is not known",
    "formats are made of %Y %m %d %H %M %S %y %j %u %V %B %b %A %a, or of YYYY MM DD HH24 MI SS Q",
    "write STRFTIME(d, '%Y-%m') or TO_CHAR(d, 'YYYY-MM')",
)
DIGITS = Refusal(
    "argument",
    "more than 15 decimals, or more than there are digits in all",
    "a double has no more",
    "round to fewer, as in ROUND(x, 2) or DECIMAL(10, 2)",
)
_REGULAR = Refusal(
    "pattern",
    "a regular expression that is not understood here",
    "each set that repeats has to differ from what can follow it, ranges go up, and alternatives"
    " are plain texts: else one row could take long, and engines disagree",
    "use LIKE, where % is any text and _ any character, or '^(flu|cold)', or '^[A-C][0-9]+'",
)
_NOW = (exp.CurrentTimestamp, exp.CurrentDatetime, exp.Localtimestamp)
COMPOSED: dict[type[Node], Rule] = {
    exp.TimeToStr: _formatted(_STRFTIME, r"[^%]"),
    exp.ToChar: _formatted(_TO_CHAR, r"[^A-Za-z]"),
    exp.Dayname: _named(Function.WEEKDAY, _DAYS),
    exp.Monthname: _named(Function.MONTH, _MONTHS),
    exp.TimeToUnix: lambda reader, node: epoch(reader, reader.syntax.part(node, "this")),
    exp.LastDay: read_last_day,
    exp.Trunc: read_truncation,
    exp.SplitPart: read_split,
    exp.RegexpExtract: read_extraction,
    exp.RegexpLike: _matches(whole=False),
    exp.RegexpFullMatch: _matches(whole=True),
    exp.CurrentDate: _clock(Kind.DATE),
    **dict.fromkeys(_NOW, _clock(Kind.TIMESTAMP)),
}
