"""Numbers and keys as people read them."""

import math
import unicodedata
from fractions import Fraction
from typing import Any

_LONGEST = 40
"""Characters of a key that are shown."""

_DECIMALS = 9


def number(value: Any, width: float | None = None) -> str:
    """A released number, with as many digits as its half-width is worth.

    Example:
        >>> number(48.82396, 1.31), number(1234567), number(0.5), number(None)
        ('48.8', '1,234,567', '0.5', 'NULL')
    """
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return f"{value:,}"
    if not math.isfinite(value):
        return str(value)
    if width is None or not width > 0 or abs(value) >= 1e15:
        return f"{value:,.6g}"
    return f"{value:,.{places(width)}f}" if width >= 10**-_DECIMALS else f"{value:.9g}"


def half(width: float | None, *, whole: bool = False) -> str:
    """A half-width in two digits (those of a count to the unit), rounded up.

    Example:
        >>> half(1.309), half(367.2, whole=True), half(None)
        ('1.4', '368', '?')
    """
    if width is None or not math.isfinite(width):
        return "?"
    if whole or width == 0:
        return f"{math.ceil(width):,}"
    if not 10**-_DECIMALS <= width < 1e15:
        return f"{width:.2g}"
    scale = 10 ** places(width)
    return f"{math.ceil(round(width * scale, 6)) / scale:,.{places(width)}f}"


def places(width: float) -> int:
    """Decimals that show two digits of a half-width."""
    return max(0, min(_DECIMALS + 1, 1 - math.floor(math.log10(width))))


def cost(value: Fraction) -> str:
    """A privacy parameter.

    Example:
        >>> cost(Fraction(1, 10)), cost(Fraction(1, 10**6)), cost(Fraction(1, 3))
        ('0.1', '1e-06', '0.3333')
    """
    return f"{float(value):.4g}"


def plain(value: Any) -> str:
    r"""A key on one line: what cannot be printed is spelled out, what is long is cut.

    Example:
        >>> plain("a\nb"), plain(None), plain(True)
        ('a\\nb', 'NULL', 'true')
    """
    text = printable(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"


def printable(value: Any) -> str:
    """A key in full, on one line."""
    if value is None:
        return "NULL"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def pad(text: str, width: int, *, right: bool = False) -> str:
    """A text widened with blanks."""
    blanks = " " * max(0, width - columns(text))
    return blanks + text if right else text + blanks


def columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def percent(share: float) -> str:
    """A part of a budget, to two digits.

    Example:
        >>> percent(0.00236), percent(0.5), percent(1 / 10**6), percent(12)
        ('0.24 %', '50 %', 'less than 0.01 %', '1,200 %')
    """
    if 0 < share < 0.0001:
        return "less than 0.01 %"
    digits = 2 if 0 < share < 0.01 else 1 if 0 < share < 0.1 else 0
    return f"{100 * share:,.{digits}f} %"
