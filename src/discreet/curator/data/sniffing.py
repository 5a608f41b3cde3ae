"""Guess kinds and formats of texts, for their owner alone; doubts become questions."""

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from discreet.curator.data.owner_questions import OwnerQuestion, keep_as
from discreet.engines.reading import ABSENT, FALSE, TOTALS, TRUE, Reading, words
from discreet.plan.kinds import Kind

_SHARE: Final = 0.9
"""The share of values that have to look like a kind; what does not is reported as unreadable."""

_DIGITS: Final = 18
_TIMES: Final = {
    "": "",
    " %H:%M": r" \d{1,2}:\d{2}",
    " %H:%M:%S": r" \d{1,2}:\d{2}:\d{2}",
    " %I:%M %p": r" \d{1,2}:\d{2} [AaPp][Mm]",
    " %I:%M:%S %p": r" \d{1,2}:\d{2}:\d{2} [AaPp][Mm]",
}
_DATED: Final = re.compile(r"\d+([./-])\d+\1\d+.*")
_DAY: Final = r"\d{1,2}"
_MONTH: Final = r"[A-Za-z]{3,9}"
_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?")
_NATIVE: Final = {Kind.DATE: re.compile(r"\d{4}-\d{2}-\d{2}"), Kind.TIMESTAMP: _TIME}
_STYLES: Final = tuple(
    (decimal, thousands)
    for thousands in ("", ",", ".", " ", "'", "\u00a0", "\u202f")
    for decimal in (".", ",")
    if decimal != thousands
)


@dataclass(slots=True)
class Guess:
    """Guessed columns of a file and how their texts are read: numbers by `marks`, dates."""

    reading: Reading
    marks: tuple[str, str] = (".", ",")
    dates: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)
    questions: list[OwnerQuestion] = field(default_factory=list)


# --- columns ------------------------------------------------------------------------------------


def guess_columns(
    columns: Mapping[str, Mapping[str, int]], said: Reading, kinds: Mapping[str, Kind]
) -> Guess:
    """Guess what texts are, from how often each occurs; `kinds` are those the owner has stated."""
    found, absent = Guess(said), ("", *ABSENT, *(said.nulls or ()))
    given = {
        name: {text.strip(): n for text, n in texts.items() if text.strip() not in absent}
        for name, texts in columns.items()
    }
    shapes = {name: _shapes(texts) for name, texts in given.items()}
    decimal, thousands = found.marks = _guess_marks(shapes, found, kinds)
    for name, texts in given.items():
        _guess_column(name, texts, found, kinds.get(name))
    dates = {**found.dates, **said.dates}
    found.reading = replace(said, decimal=decimal, thousands=thousands or None, dates=dates)
    return found


_SHAPE: Final = str.maketrans("12345678", "9" * 8)


def _shapes(texts: Mapping[str, int]) -> dict[str, int]:
    """How often texts occur that differ in their digits alone, of which 0 is kept."""
    found: Counter[str] = Counter()
    for text, n in texts.items():
        found[text.translate(_SHAPE)] += n
    return found


def _share(texts: Mapping[str, int], fits: Any) -> float:
    return sum(n for text, n in texts.items() if fits(text)) / max(1, sum(texts.values()))


def _guess_column(
    name: str, texts: Mapping[str, int], found: Guess, stated: Kind | None = None
) -> None:
    """The kind of one column, stated or guessed, and the format of its dates."""
    kind = Kind.TEXT
    if (pattern := found.reading.dates.get(name)) is not None:
        kind = _kind_of(pattern)
    elif texts:
        for native, regex in _NATIVE.items():
            if _share(texts, regex.fullmatch) >= _SHARE:
                kind = native
        if kind is Kind.TEXT and _is_truth(texts, found.reading):
            kind = Kind.BOOLEAN
        shapes = _shapes(texts)
        if kind is Kind.TEXT and _share(shapes, _number(*found.marks).fullmatch) >= _SHARE:
            kind = _number_kind(shapes, found.marks)
        elif kind is Kind.TEXT and stated in (None, Kind.DATE, Kind.TIMESTAMP):
            kind = _guess_date(name, texts, found) or kind
        if stated is None and kind is Kind.TEXT:
            found.questions += _doubtful_text(name, texts)
        elif stated is None:
            found.questions += _doubtful_number(name, texts, found.reading, kind)
    found.kinds[name] = stated or kind


_NO_NUMBERS: Final = (*(sign + "9" * n for n in range(2, 7) for sign in ("-", "")), "-9", "-1")
_COMPACT: Final = re.compile(r"(19|20)\d{6}")
_SERIAL: Final = re.compile(r"[2-5]\d{4}(\.\d+)?")
"""Days since 1899, as spreadsheets count them: 1954 to 2064."""
_DATE_NAME: Final = re.compile(
    r"(^|[^a-z])(date|datum|fecha|birthday|dob|(?<!per)(?<!per[_ ])day)($|[^a-z])", re.IGNORECASE
)
"""A word of its own: births, updates and votes of candidates are numbers."""
_FAR: Final = 4
"""How many times farther from 0 than all others a number is that is taken for a missing value."""


def _doubtful_number(
    name: str, texts: Mapping[str, int], said: Reading, kind: Kind
) -> list[OwnerQuestion]:
    """Ask whether -999 is a missing value, and whether a line has sums of the others."""
    keep = keep_as(name, kind)
    odd = {text for text in texts if text.lower() in TOTALS}
    if odd or (name in texts and not _is_number(name)):
        what = "sums of the others" if odd else "the names of columns again"
        text = f"A line with {min(odd, default=name)} in {name} looks like {what}"
        return [
            OwnerQuestion("text", f"{text}. Delete it, or say what {name} holds: {keep}.", name)
        ]
    if kind is Kind.INTEGER and _share(texts, _COMPACT.fullmatch) == _parsed(texts, "%Y%m%d") == 1:
        text = f"Are numbers such as 20241231 in {name} dates? Else say what it holds: {keep}."
        return [OwnerQuestion("dates", text, name, (("dates", {"dates": {name: "%Y%m%d"}}),))]
    if (
        _DATE_NAME.search(re.sub("([a-z])([A-Z])", r"\1_\2", name))
        and _share(texts, _SERIAL.fullmatch) >= _SHARE
    ):
        text = f"{name} looks like day numbers of a spreadsheet. Write dates in the file"
        return [OwnerQuestion("text", f"{text}, or say what {name} holds: {keep}.", name)]
    if not kind.is_number or len(texts) < 3:
        return []
    plain = {text: float(text) for text in texts if re.fullmatch(r"-?\d{1,15}(\.\d+)?", text)}
    for word in _NO_NUMBERS:
        others = [number for text, number in plain.items() if text != word]
        if texts.get(word, 0) > 1 and others and _stands_apart(float(word), others):
            text = f"Does {word} in {name} stand for NULL? Else say what {name} holds: {keep}."
            answers = (("NULL", {"nulls": [*(said.nulls or ()), word]}),)
            return [OwnerQuestion("sentinel", text, name, answers)]
    return []


def _stands_apart(number: float, others: Collection[float]) -> bool:
    """Whether a number is far from all others, or the only one below 0 and below most of them."""
    alone = number < 0 <= min(others) and max(others) > 1  # -1, 0 and 1 are signs
    return alone or abs(number) > _FAR * max(map(abs, others))


def _doubtful_text(name: str, texts: Mapping[str, int]) -> list[OwnerQuestion]:
    """What texts might be: yes and no in other words, or one of `_DOUBTFUL`."""
    seen = {text.lower() for text in texts}
    if (pair := next((p for p in _YES_NO if set(p) == seen), None)) is not None:
        said = {"true": (pair[0],), "false": (pair[1],)}
        text = f"Are the two words in {name} yes and no? Else keep texts: {keep_as(name)}."
        return [OwnerQuestion("words", text, name, (("yes and no", said),))]
    if all(map(_is_number, texts)):  # codes of digits
        return []
    what = next((one for one, fits in _DOUBTFUL.items() if _share(texts, fits) >= _SHARE), None)
    if what is None:
        return []
    answers = _several_formats(name, texts) if what == _SEVERAL else ()
    instead = "Say them" if answers else "Write plain ones in the file"
    text = f"{name} looks like {what}. {instead}, or keep texts: {keep_as(name)}."
    return [OwnerQuestion("dates" if answers else "text", text, name, answers)]


_YES_NO: Final = (
    *(("ja", "nein"), ("ja", "nej"), ("ja", "nee"), ("oui", "non"), ("si", "no"), ("sí", "no")),
    *(("sì", "no"), ("sim", "não"), ("tak", "nie")),
)
_COINS: Final = "[$€£¥₹]|USD|EUR|GBP|CHF|SEK|NOK|DKK|JPY"
_CURRENCY: Final = re.compile(rf"^-?({_COINS})\s?|\s?({_COINS})$")
_ZONED: Final = re.compile(rf"{_TIME.pattern} ?(Z|[+-]\d\d:?(\d\d)?)")


def _is_number(text: str) -> bool:
    return any(_number(*style).fullmatch(text) for style in _STYLES)


_SEVERAL: Final = "dates in several formats"
_DOUBTFUL: Final[Mapping[str, Callable[[str], bool]]] = {
    "sums of money, with a currency beside the numbers": lambda text: (
        _CURRENCY.search(text) is not None and _is_number(_CURRENCY.sub("", text))
    ),
    "numbers with a unit": lambda text: (
        (found := re.fullmatch(r"(\S*\d)\s[a-zA-Zµ°/²³]{1,5}", text)) is not None
        and _is_number(found[1])
    ),
    "percentages": lambda text: text.endswith("%") and _is_number(text[:-1].rstrip()),
    "numbers, negative ones in brackets or with the sign behind": lambda text: _is_number(
        re.sub(r"^\((.*)\)$|^(.*)-$", r"\1\2", text)
    ),
    "times with a time zone": lambda text: _ZONED.fullmatch(text) is not None,
    "objects or lists": lambda text: re.fullmatch(r"\{.*\}|\[.*\]", text, re.DOTALL) is not None,
    _SEVERAL: lambda text: any(
        one.fullmatch(text) for one in (*_NATIVE.values(), *_FORMATS.values(), _ZONED)
    ),
}
"""The forms of texts that are not plain values, and how each is recognised."""


def _is_truth(texts: Mapping[str, int], said: Reading) -> bool:
    yes, no = set(words(said.true, TRUE)) - {"1"}, set(words(said.false, FALSE)) - {"0"}
    seen = {text.lower() for text in texts}
    return seen <= yes | no and bool(seen & yes) and bool(seen & no)


# --- numbers ------------------------------------------------------------------------------------


def _number(decimal: str, thousands: str) -> re.Pattern[str]:
    point, mark = re.escape(decimal), re.escape(thousands)
    plain = rf"[+-]?(\d+({point}\d*)?|{point}\d+)([eE][+-]?\d+)?"
    grouped = rf"|[+-]?\d{{1,3}}({mark}\d{{3}})+({point}\d*)?" if thousands else ""
    return re.compile(plain + grouped)


def _number_kind(texts: Mapping[str, int], marks: tuple[str, str]) -> Kind:
    """Whole numbers, others, or texts of digits: codes begin with 0, or are very long."""
    decimal, _ = marks
    if any(re.match(r"[+-]?0\d", text) for text in texts):
        return Kind.TEXT
    fits = _number(*marks).fullmatch
    numbers = [text for text in texts if fits(text)]
    if any(decimal in text or "e" in text.lower() for text in numbers):
        return Kind.REAL
    return Kind.INTEGER if all(len(text) <= _DIGITS for text in numbers) else Kind.TEXT


def _guess_marks(
    given: Mapping[str, Mapping[str, int]], found: Guess, kinds: Mapping[str, Kind]
) -> tuple[str, str]:
    """The marks of numbers, one pair for the whole file; a doubt is asked about."""
    said = found.reading
    styles = [
        (d, t) for d, t in _STYLES if said.decimal in (None, d) and said.thousands in (None, t)
    ]
    marked = {
        name: {text: n for text, n in texts.items() if re.search(r"\d.*\d", text)}
        for name, texts in given.items()
        if kinds.get(name, Kind.REAL).is_number and _share(texts, _DATED.fullmatch) < _SHARE
    }
    taken = {
        name: [one for one in styles if _share(texts, _number(*one).fullmatch) >= _SHARE]
        for name, texts in marked.items()
        if texts
    }
    taken = {name: some for name, some in taken.items() if some}
    if not styles or not taken:
        return said.decimal or ".", said.thousands or ""

    def fit(one: tuple[str, str]) -> tuple[int, int]:
        """How many columns it suits, and how many of their values it reads."""
        fits, columns = _number(*one).fullmatch, [n for n, some in taken.items() if one in some]
        return len(columns), sum(m for n in columns for text, m in marked[n].items() if fits(text))

    best = max(styles, key=fit)
    rest = [s for s in styles if all(s in some or best not in some for some in taken.values())]
    doubt = _doubt(rest, {n: marked[n] for n, some in taken.items() if best in some}, said)
    if doubt is not None:
        found.questions.append(doubt)
    return best


def _doubt(
    rest: list[tuple[str, str]], marked: Mapping[str, Mapping[str, int]], said: Reading
) -> OwnerQuestion | None:
    """Is 1,234 (or 1.234) a whole number, or a bit more than one?"""
    for mark, other in ((",", "."), (".", ",")):
        both = {(mark, ""), (other, mark)} <= set(rest)
        of = next((n for n, texts in marked.items() if any(mark in t for t in texts)), None)
        suspect = mark == "," or said.delimiter in (";", "\t", "|")  # a comma parts no fields
        if both and of is not None and suspect:
            text = f"In {of}, is {mark} the decimal mark, or does it group thousands?"
            answers = (
                ("decimal mark", {"decimal": mark, "thousands": ""}),
                ("thousands", {"decimal": other, "thousands": mark}),
            )
            return OwnerQuestion("numbers", text, of, answers)
    return None


# --- dates --------------------------------------------------------------------------------------


def _formats() -> dict[str, re.Pattern[str]]:
    """Formats of dates, by their regular expressions; those with two orders have both."""
    days = {
        f"{a}{mark}{b}{mark}%Y": rf"{_DAY}{re.escape(mark)}{_DAY}{re.escape(mark)}\d{{4}}"
        for mark in "/.-"
        for a, b in (("%d", "%m"), ("%m", "%d"))
    }
    days |= {f"%Y{mark}%m{mark}%d": rf"\d{{4}}\{mark}{_DAY}\{mark}{_DAY}" for mark in "/.-"}
    days |= {f"%d{mark}%b{mark}%Y": rf"{_DAY}{mark}[A-Za-z]{{3}}{mark}\d{{4}}" for mark in " -"}
    days |= {f"%d{mark}%B{mark}%Y": rf"{_DAY}{mark}{_MONTH}{mark}\d{{4}}" for mark in " -"}
    days |= {
        "%b %d, %Y": rf"[A-Za-z]{{3}} {_DAY}, \d{{4}}",
        "%B %d, %Y": rf"{_MONTH} {_DAY}, \d{{4}}",
    }
    return {
        day + time: re.compile(pattern + clock)
        for day, pattern in days.items()
        for time, clock in _TIMES.items()
    }


_FORMATS: Final[dict[str, re.Pattern[str]]] = _formats()
_SHORT: Final = re.compile(rf"{_DAY}([/.-]){_DAY}\1\d{{2}}")


def _parsed(texts: Mapping[str, int], pattern: str) -> float:
    """The share of texts that are dates of this format, or of one of several."""

    def parses(text: str) -> bool:
        for one in pattern.split("|"):
            with suppress(ValueError):
                return bool(dt.datetime.strptime(text, one))  # noqa: DTZ007 - files have no zones
        return False

    return _share(texts, parses)


def _guess_date(name: str, texts: Mapping[str, int], found: Guess) -> Kind | None:
    said = found.reading
    if _share(texts, _SHORT.fullmatch) >= _SHARE:
        text = f"The years of {name} have two digits: say its format."
        mark = next(found[1] for found in map(_SHORT.fullmatch, texts) if found)
        formats = [mark.join(one) for one in (("%d", "%m", "%y"), ("%m", "%d", "%y"))]
        fit = [one for one in formats if _parsed(texts, one) >= _SHARE] or formats
        said_as = tuple((one, {"dates": {name: one}}) for one in fit)
        found.questions.append(OwnerQuestion("dates", text, name, said_as))
        return Kind.DATE
    fit = [p for p, regex in _FORMATS.items() if _share(texts, regex.fullmatch) >= _SHARE]
    fit = [p for p in fit if _parsed(texts, p) >= _SHARE]
    if not fit:
        return None
    orders = [p for p in fit if p.startswith("%d" if said.day_first else "%m")]
    both = [p for p in fit if p[:2] in ("%d", "%m") and "%b" not in p.lower()]
    if len(both) > 1:
        if said.day_first is None and _parsed(texts, both[0]) == _parsed(texts, both[1]):
            text = f"Is 03/04 in {name} the third of April, or March the fourth?"
            answers = (("day first", {"day_first": True}), ("month first", {"day_first": False}))
            found.questions.append(OwnerQuestion("dates", text, name, answers))
        best = max(both, key=lambda p: _parsed(texts, p))
        fit = [best] if said.day_first is None else [p for p in both if p in orders]
    found.dates[name] = fit[0]
    return _kind_of(fit[0])


def _kind_of(pattern: str) -> Kind:
    return Kind.TIMESTAMP if "%H" in pattern or "%I" in pattern else Kind.DATE


def _several_formats(name: str, texts: Mapping[str, int]) -> tuple[tuple[str, Any], ...]:
    """The formats that read all texts, with the day first or with the month first."""
    found = {}
    for label, other in (("day first", "%m"), ("month first", "%d.%m")):
        left, chosen = dict(texts), list[str]()
        usual = {one: regex for one, regex in _FORMATS.items() if not re.match(other, one)}
        formats = {"%Y-%m-%d": _NATIVE[Kind.DATE], **usual}
        while left:
            best = max(formats, key=lambda one: _share(left, formats[one].fullmatch))
            rest = {text: n for text, n in left.items() if not formats[best].fullmatch(text)}
            if len(rest) == len(left):
                break
            chosen, left = [*chosen, best], rest
        if not left and _parsed(texts, "|".join(chosen)) == 1:
            found["|".join(chosen)] = label
    return tuple((label, {"dates": {name: one}}) for one, label in found.items())


# --- headers --------------------------------------------------------------------------------------


def is_record(first: list[str], columns: Mapping[str, Mapping[str, int]]) -> bool:
    """Whether a first line reads like a record: it holds values, or what its columns hold too."""
    for text, texts in zip(first, columns.values(), strict=True):
        guess = Guess(Reading(day_first=True))
        _guess_column("", {text.strip(): 1}, guess)
        if guess.kinds[""] is not Kind.TEXT or text in texts:
            return True
    return False
