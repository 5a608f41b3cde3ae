"""Texts that are numbers, dates and timestamps, as regular expressions that all engines know."""

from typing import Final

from discreet.plan.kinds import Kind

_YEAR = "(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_FOURTH = "(0[48]|[2468][048]|[13579][26])"
_DATE = _YEAR + "-[0-9]{2}-[0-9]{2}"
_TIME = r"[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
DAY: Final = (
    f"({_YEAR}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    f"|02-(0[1-9]|1[0-9]|2[0-8]))|([0-9]{{2}}{_FOURTH}|{_FOURTH}00)-02-29)"
)
"""Days that there are."""

MOMENT: Final = DAY + _TIME
"""Moments of days that there are."""

GRAMMAR: Final = {
    Kind.INTEGER: "[+-]?[0-9]+",
    Kind.REAL: r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?",
    Kind.DATE: _DATE,
    Kind.TIMESTAMP: _DATE + _TIME,
}
