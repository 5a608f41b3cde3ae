"""Constants: numbers, texts, dates, as the values that they denote."""

import datetime as dt
import re
from fractions import Fraction

from sqlglot import exp

from discreet.plan.expressions import Literal
from discreet.plan.kinds import INT64, Kind
from discreet.sql.reader.refusals import Refusal, said
from discreet.sql.reader.syntax import Node, Syntax

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?", re.ASCII)
_WHOLE = re.compile(r"\d+", re.ASCII)
_DECIMAL = re.compile(r"\d*\.?\d*([eE][+-]?\d{1,4})?", re.ASCII)


def read_literal(syntax: Syntax, node: Node, *, negative: bool = False) -> Literal:
    """A number or a text; a decimal is the double nearest to it, a whole number an integer."""
    text = str(syntax.part(node, "this"))
    if syntax.part(node, "is_string"):
        return Literal(text, Kind.TEXT)
    sign = -1 if negative else 1
    if _WHOLE.fullmatch(text):
        value = sign * int(text) if len(text) < 30 else INT64[1] + 1
        if INT64[0] <= value <= INT64[1]:
            return Literal(value, Kind.INTEGER)
        raise syntax.refuse(node, _TOO_LARGE)
    if _DECIMAL.fullmatch(text):
        real = sign * float(text) + 0.0  # no negative zero
        if abs(real) < float("inf"):
            return Literal(real, Kind.REAL)
    raise syntax.refuse(node, _TOO_LARGE)


def read_whole(syntax: Syntax, node: Node | None, role: str, at_least: int = 0) -> int:
    """A whole number that has to be written out."""
    if isinstance(node, exp.Literal) and not node.args.get("is_string"):
        value = read_literal(syntax, node).value
        if isinstance(value, int) and at_least <= value < 1 << 31:
            return value
    raise syntax.refuse(
        node,
        Refusal(
            "argument",
            f"{role} is not a whole number of at least {at_least}",
            "it has to be known before the question is priced",
            f"write the number itself, {at_least} or more",
        ),
    )


def read_level(syntax: Syntax, node: Node) -> Fraction:
    """The level of a quantile, exactly as typed."""
    if isinstance(node, exp.Literal) and not node.args.get("is_string"):
        text = str(syntax.part(node, "this"))
        syntax.part(node, "is_string")
        if _DECIMAL.fullmatch(text) and len(text) < 30 and "e" not in text.lower():
            level = Fraction(text)
            if 0 <= level <= 1:
                return level
    raise syntax.refuse(
        node,
        said("""argument: the level of a quantile is not a number from 0 to 1
            0 is the smallest value, 0.5 the median, 1 the largest
            write for example QUANTILE_CONT(x, 0.9)"""),
    )


def read_moment(syntax: Syntax, text: object, kind: Kind, node: Node | None) -> Literal:
    """A text that stands for a date or a timestamp."""
    value = text if isinstance(text, str) else ""
    try:
        if kind is Kind.DATE and _DATE.fullmatch(value):
            return Literal(dt.date.fromisoformat(value), kind)
        if kind is Kind.TIMESTAMP and (_TIMESTAMP.fullmatch(value) or _DATE.fullmatch(value)):
            return Literal(dt.datetime.fromisoformat(_padded(value)), kind)
    except ValueError:
        pass
    form = "YYYY-MM-DD" if kind is Kind.DATE else "YYYY-MM-DD HH:MM:SS"
    raise syntax.refuse(
        node,
        Refusal(
            "literal", f"a text is not a {kind.value}", f"it has the form {form}", f"write {form}"
        ),
    )


def _padded(text: str) -> str:
    """Pad to six digits of microseconds, which Python 3.11 and older readers agree on."""
    whole, point, part = text.partition(".")
    return whole + point + part.ljust(6, "0") if point else text


_TOO_LARGE = said("""literal: a number is too large
    integers have 64 bits, decimals are finite doubles
    write a smaller number""")
