"""Arithmetic of doubles in Postgres, which raises where IEEE 754 gives infinity, NaN or 0.

An error that depends on a value is an answer about a row. So each operation is written as a CASE
that computes it only where it does not raise, and says what it is elsewhere. CASE computes only the
branch it takes; AND guarantees no order, so what may raise has its own branch. Scaling by a power
of two is exact, and shows which results do not fit before they are computed.
"""

import re
import struct
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from typing import Final

from discreet.plan.expressions import Function

REAL: Final = "DOUBLE PRECISION"
INFINITE: Final = f"CAST('Infinity' AS {REAL})"
NOT_A_NUMBER: Final = f"CAST('NaN' AS {REAL})"
_CONSTANT = re.compile(rf"CAST\('([-+.e0-9]+)' AS {REAL}\)")
_TOP = 0x7FEF_FFFF_FFFF_FFFF  # the bits of the largest double
_NOTHING = 2.0**970  # half a step of the largest double
_INFINITE_FROM, _ZERO_TO = Fraction(2**1024 - 2**970), Fraction(1, 2**1075)
_LARGEST = 2.0**1023 * (2 - 2.0**-52)
_LOG_LARGEST, _LOG_LEAST = 709.782712893384, -745.1332191019411


def double(value: float) -> str:
    """A double, exactly."""
    return f"CAST('{float(value)!r}' AS {REAL})"


def guarded(function: Function, *operands: str) -> str:
    """An operation that raises on no operands, each of which is written several times."""
    constant = _CONSTANT.fullmatch(operands[-1])
    if constant and len(operands) == 2:
        return _with_constant(function, operands[0], float(constant[1]))
    return _RULES[function](*operands)


def scaled(text: str, start: float, factor: float) -> str | None:
    """(text - start) * factor, known to fit, where it cannot raise; otherwise None."""
    if abs(start) < _NOTHING and factor >= 1:
        return f"(({text} - {double(start)}) * {double(factor)})"
    return None


def _with_constant(function: Function, x: str, y: float) -> str:
    """An operation with a constant: the doubles on which it raises begin at a known size.

    A sum with less than half a step of the largest double always fits. A product or quotient that
    is at least x can be infinite, another one 0.
    """
    sign, text = function.value, double(y)
    if function in {Function.ADD, Function.SUBTRACT}:
        plain = abs(y) < _NOTHING
        return f"{x} {sign} {text}" if plain else _RULES[function](x, text)
    if y == 0:
        return f"{x} * {text}" if sign == "*" else f"{NOT_A_NUMBER} + {x}"
    grows = (abs(y) >= 1) is (sign == "*")
    end = _end(y, sign, grows=grows)
    if grows:
        inside, past = f"abs({x}) <= {double(end)}", _signed(f"({x} > 0) = ({y > 0})")
    else:
        inside, past = f"abs({x}) >= {double(end)}", double(0)
    return f"CASE WHEN {inside} THEN {x} {sign} {text} WHEN {x} IS NOT NULL THEN {past} END"


@lru_cache(maxsize=1024)
def _end(y: float, sign: str, *, grows: bool) -> float:
    """The largest double whose product or quotient is finite, or the least where it is not 0."""
    size = Fraction(abs(y)) if sign == "*" else 1 / Fraction(abs(y))

    def past(bits: int) -> bool:
        (x,) = struct.unpack("<d", struct.pack("<q", bits))
        exact = Fraction(x) * size
        return exact >= _INFINITE_FROM if grows else exact > _ZERO_TO

    found = bisect_left(range(_TOP + 1), x=True, key=past) - grows
    (end,) = struct.unpack("<d", struct.pack("<q", min(found, _TOP)))
    return float(end)


def _within(texts: tuple[str, ...], low: float, high: float) -> str:
    """Whether sizes lie in an interval."""
    least = [f"abs({text}) >= {double(low)}" for text in texts if low]
    return " AND ".join([*least, *(f"abs({text}) <= {double(high)}" for text in texts)])


def _signed(condition: str) -> str:
    return f"CASE WHEN {condition} THEN {INFINITE} ELSE -{INFINITE} END"


def _plus(sign: str, x: str, y: str) -> str:
    """X + y or x - y. Below 2^1022 it always fits.

    Of two numbers of one sign, a and b <= a, the sum is infinite where it reaches half a step above
    the largest double L: where b >= (L - a) + 2^970, exactly computed for a > L / 2; for smaller a
    the sum fits.
    """
    sizes = f"abs({x}), abs({y})"
    room = f"{double(_LARGEST)} - GREATEST({sizes}) + {double(2.0**970)}"
    alike = "=" if sign == "+" else "<>"
    over = (
        f"({x} > 0) {alike} ({y} > 0) AND GREATEST({sizes}) > {double(_LARGEST / 2)} "
        f"AND LEAST({sizes}) >= {room}"
    )
    return (
        f"CASE WHEN {_within((x, y), 0, 2.0**1022)} THEN {x} {sign} {y} "
        f"WHEN {over} THEN {_signed(f'{x} > 0')} ELSE {x} {sign} {y} END"
    )


def _times(x: str, y: str) -> str:
    """The product; it can be infinite where both are over 1, and vanish where both are below."""
    near = _within((x, y), 2.0**-500, 2.0**500)
    down, up, least = double(2.0**-512), double(2.0**512), double(2.0**-540)
    return (
        f"CASE WHEN {near} THEN {x} * {y} WHEN {x} = 0 OR {y} = 0 THEN {x} * {y} "
        f"WHEN abs({x}) > 1 AND abs({y}) > 1 THEN "
        f"CASE WHEN abs(({x} * {down}) * ({y} * {down})) < 1 THEN {x} * {y} "
        f"ELSE {_signed(f'({x} > 0) = ({y} > 0)')} END "
        f"WHEN abs({x}) < {least} AND abs({y}) < {least} THEN {double(0)} "
        f"WHEN abs({x}) < 1 AND abs({y}) < 1 THEN "
        f"CASE WHEN abs(({x} * {up}) * ({y} * {up})) > {double(2.0**-51)} THEN {x} * {y} "
        f"ELSE {double(0)} END ELSE {x} * {y} END"
    )


def _over(x: str, y: str) -> str:
    """The quotient: NaN by 0, and NULL of NULL; the divisor is never infinite."""
    near = _within((x, y), 2.0**-500, 2.0**500)
    down, up, far = double(2.0**-512), double(2.0**512), double(2.0**125)
    return (
        f"CASE WHEN {near} THEN {x} / {y} WHEN {y} = 0 THEN {NOT_A_NUMBER} + {x} "
        f"WHEN {x} = 0 THEN {x} * {y} "
        f"WHEN abs({y}) < 1 AND abs({x}) > abs({y}) AND abs({x}) > {double(2.0**-100)} THEN "
        f"CASE WHEN abs({x}) * {double(2.0**-900)} >= abs({y}) * {far} THEN {NOT_A_NUMBER} "
        f"WHEN abs(({x} * {down}) / ({y} * {up})) >= 1 THEN {NOT_A_NUMBER} ELSE {x} / {y} END "
        f"WHEN abs({y}) > 1 AND abs({x}) < 1 THEN "
        f"CASE WHEN abs(({x} * {up}) / ({y} * {down})) > {double(2.0**-51)} THEN {x} / {y} "
        f"ELSE {double(0)} END ELSE {x} / {y} END"
    )


def _positive(form: str, x: str) -> str:
    return f"CASE WHEN {x} > 0 THEN {form.format(x)} ELSE {NOT_A_NUMBER} + {x} END"


def _power(x: str) -> str:
    return (
        f"CASE WHEN {x} > {double(_LOG_LARGEST)} THEN {INFINITE} "
        f"WHEN {x} <= {double(_LOG_LEAST)} THEN {double(0)} ELSE exp({x}) END"
    )


_RULES: Final[dict[Function, Callable[..., str]]] = {
    Function.ADD: partial(_plus, "+"),
    Function.SUBTRACT: partial(_plus, "-"),
    Function.MULTIPLY: _times,
    Function.DIVIDE: _over,
    Function.SQRT: lambda x: f"CASE WHEN {x} >= 0 THEN sqrt({x}) ELSE {NOT_A_NUMBER} + {x} END",
    Function.EXP: _power,
    Function.LN: partial(_positive, "ln({})"),
    Function.LOG10: partial(_positive, "log({})"),
    Function.LOG2: partial(_positive, f"ln({{}}) / {double(0.6931471805599453)}"),
}


def out_of_reach(digits: str, exponent: str) -> str:
    """For decimal digits with an exponent: 1 if infinite, 0 if 0, else NULL.

    The first nonzero digit is at a power of ten. Near the ends of the doubles the digits decide,
    compared as texts with those of the ends: half of the least double, and half a step above the
    largest.
    """
    whole = f"split_part({digits}, '.', 1)"
    every = f"replace({digits}, '.', '')"
    head = f"ltrim({every}, '0')"
    size = f"ltrim({exponent}, '+-0')"
    steps = (
        f"CASE WHEN {exponent} IS NULL OR {size} = '' THEN 0 WHEN length({size}) > 9 THEN "
        f"CASE WHEN {exponent} LIKE '-%' THEN -999999999 ELSE 999999999 END "
        f"ELSE CAST({exponent} AS INTEGER) END"
    )
    place = f"(length({whole}) - (length({every}) - length({head})) - 1 + {steps})"
    high, low = str(2**1024 - 2**970), str(5**1075).rstrip("0")
    return (
        f"CASE WHEN {head} = '' THEN 0 WHEN {place} > 308 THEN 1 WHEN {place} < -324 THEN 0 "
        f"WHEN {place} = 308 AND {head} >= '{high}' COLLATE \"C\" THEN 1 "
        f"WHEN {place} = -324 AND rtrim({head}, '0') <= '{low}' COLLATE \"C\" THEN 0 END"
    )
