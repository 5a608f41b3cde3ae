"""How the texts of a file are read as values: as the owner says, else as they look."""

import dataclasses
import io
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from discreet.errors import InputError
from discreet.plan.kinds import Kind

NEWER: Final = ("?", ".")
"""Words for no value that tables of earlier versions may hold as texts."""

ABSENT: Final = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "-", *NEWER)
"""Words for no value; in a column of text the owner has to say whether they are."""

TOTALS: Final = (
    *("total", "totals", "grand total", "subtotal", "sum", "gesamt", "summe", "totaal", "totale"),
)
"""Words, in lower case, for lines that hold sums of the others."""

TRUE: Final = ("true", "t", "yes", "y", "1")
FALSE: Final = ("false", "f", "no", "n", "0")
_MARKS: Final = {
    "delimiter": None,
    "quote": None,
    "decimal": (".", ","),
    "thousands": ("", ",", ".", " ", "'", "\u00a0", "\u202f"),
    "unreadable": ("refuse", "null"),
    "blanks": ("trim", "keep"),
}
_FORMAT: Final = re.compile(
    r"(?=.*%d)(?=.*%[mbB])(?=.*%[Yy])([^%]|%[dmbBYyHMSfIp])+|%Y%j", re.DOTALL
)
_LISTS: Final = ("names", "nulls", "true", "false")


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """How a file without types is read; None is detected, and asked about if in doubt.

    `skip_lines` are above the names of columns. `dates` has a format (%d/%m/%Y), or several
    (%Y-%m-%d|%d/%m/%Y), for each column whose dates are not written 2024-12-31; `day_first` settles
    03/04/2024. `nulls` are words for NULL in every column. `true` and `false` are further words
    like yes/no, true/false, t/f, y/n and 1/0. `unreadable` is "null" where values that cannot be
    read become NULL, and lines with too few or too many fields are left out. `blanks` is "keep"
    where blanks around the values of a delimited file or a sheet belong to them; those around what
    names the person of a row always do.

    Example:
        >>> Reading(delimiter=";", decimal=",", nulls=["NA"]).to_dict()
        {'delimiter': ';', 'decimal': ',', 'nulls': ['NA']}
    """

    delimiter: str | None = None
    quote: str = '"'
    encoding: str | None = None
    header: bool | None = None
    names: tuple[str, ...] | None = None
    decimal: str | None = None
    thousands: str | None = None
    day_first: bool | None = None
    dates: Mapping[str, str] = dataclasses.field(default_factory=dict)
    nulls: tuple[str, ...] | None = None
    true: tuple[str, ...] = ()
    false: tuple[str, ...] = ()
    unreadable: str = "refuse"
    blanks: str | None = None
    skip_lines: int = 0

    def __post_init__(self) -> None:
        for name in _LISTS:
            said = getattr(self, name)
            listed = isinstance(said, list | tuple) and all(map(_is_text, said))
            if said is not None and not listed:
                raise _wrong(name, "it is a list of texts")
            object.__setattr__(self, name, said if said is None else tuple(said))
        for name, marks in _MARKS.items():
            said = getattr(self, name)
            known = isinstance(said, str) and (len(said) == 1 if marks is None else said in marks)
            if said is not None and not known:
                raise _wrong(name, f"it is one of {marks}" if marks else "it is one character")
        if self.decimal is not None and self.decimal == self.thousands:
            raise _wrong("thousands", "it is the decimal mark too")
        if any(said not in (None, True, False) for said in (self.header, self.day_first)):
            raise _wrong("header", "header and day_first are true or false")
        if type(self.skip_lines) is not int or self.skip_lines < 0:
            raise _wrong("skip_lines", "it is a number of lines")
        stated = self.dates.values() if isinstance(self.dates, Mapping) else [None]
        formats = [one for said in stated for one in (said.split("|") if _is_text(said) else [""])]
        if not all(map(_FORMAT.fullmatch, formats)):
            raise _wrong("dates", "each format has a day, a month and a year, as %d/%m/%Y")
        object.__setattr__(self, "dates", dict(self.dates))
        self._check_encoding()

    def _check_encoding(self) -> None:
        if self.encoding is not None:
            try:
                io.TextIOWrapper(io.BytesIO(), self.encoding)  # some codecs are none of texts
            except (LookupError, TypeError, ValueError):
                raise _wrong("encoding", "no encoding has this name") from None

    @property
    def is_strict(self) -> bool:
        """Whether a value that cannot be read is an error."""
        return self.unreadable == "refuse"

    def absent(self, kind: Kind) -> tuple[str, ...]:
        """The words that are NULL in a column of this kind."""
        said = self.nulls or ()
        usual = (word for word in ABSENT if word not in (*self.true, *self.false))
        return said if kind is Kind.TEXT else (*said, "", *usual)

    def to_dict(self) -> dict[str, Any]:
        """The settings that differ from the defaults, as plain JSON."""
        said = ((one, getattr(self, one.name)) for one in dataclasses.fields(self))
        return {
            one.name: list(value) if isinstance(value, tuple) else value
            for one, value in said
            if value not in (one.default, {}, None)
        }

    @staticmethod
    def from_dict(said: "Mapping[str, Any] | Reading | None") -> "Reading":
        """The reading that `to_dict` wrote."""
        if isinstance(said, Reading):
            return said
        known = {one.name for one in dataclasses.fields(Reading)}
        if other := sorted(set(said or ()) - known):
            raise _wrong(other[0], f"known are: {', '.join(sorted(known))}")
        return Reading(**(said or {}))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _wrong(what: str, why: str) -> InputError:
    return InputError(
        f"a reading whose {what} cannot be used", why=why, fix="see Reading for what can be said"
    )


def words(stated: Iterable[str], usual: Iterable[str]) -> list[str]:
    """Words in small letters, those of the owner first."""
    return list(dict.fromkeys(word.strip().lower() for word in (*stated, *usual)))
