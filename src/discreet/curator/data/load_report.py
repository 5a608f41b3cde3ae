"""Load reports: what loading would keep, lose and ask; for the owner alone.

Kinds, bounds and keys that are taken from the data are marked as such: analysts would see them, so
they are used only where the owner confirms that they are public knowledge. Bounds that nobody knows
can be bought privately instead.
"""

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from discreet.answer.present.number_text import printable
from discreet.curator.arguments import unknown
from discreet.curator.data.owner_questions import OwnerQuestion, keep_as, option_words
from discreet.curator.data.proposals import propose_known
from discreet.curator.data.sniffing import guess_columns
from discreet.curator.data.sources import LOOKED_AT, Source, refusing
from discreet.curator.data.table_json import write_key
from discreet.engines.default import ColumnCounts, StoredColumn, frequent, measure, stored_kind
from discreet.engines.reading import Reading
from discreet.errors import InputError
from discreet.plan.kinds import PYTHON_KINDS, Kind, Type
from discreet.plan.schema import Bounds, Keys, column_type

Origin = Literal["owner", "file", "data"]
_ALL: Final = "all"
_KINDS: Final = "kinds"
PUBLIC: Final = ("\0public",)
"""What is confirmed of a table that belongs to nobody: everything that it holds."""

_SHOWN: Final = 4
_FEW: Final = 20
_COUNTS: Final = (
    *("values", "unreadable", "examples", "outside", "outside_examples", "low", "high", "distinct"),
)


@dataclass(frozen=True, slots=True)
class ColumnReport:
    """A column: its kind and what is known of it, from whom, and what it holds."""

    name: str
    kind: Kind
    kind_from: Origin
    known: Bounds | Keys | None
    known_from: Origin | None
    nulls: int
    counts: ColumnCounts

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON."""
        known: dict[str, Any] | None = None
        if isinstance(self.known, Keys):
            known = {"keys": [write_key(key) for key in self.known.values]}
        elif self.known is not None:
            known = {"bounds": [_plain(self.known.low), _plain(self.known.high)]}
        told: dict[str, Any] = {"name": self.name, "kind": self.kind.value}
        told |= {"kind_from": self.kind_from, "known": known, "known_from": self.known_from}
        return {**told, "nulls": self.nulls, **_facts(self.counts, _COUNTS)}

    @property
    def known_words(self) -> str:
        """The source of a column's facts, in words."""
        if isinstance(self.known, Keys):
            listed = ", ".join(map(str, self.known.values[:_SHOWN]))
            more = len(self.known.values) - _SHOWN
            return listed + (f" and {more} more" if more > 0 else "")
        if self.known is not None:
            return f"{_plain(self.known.low)} .. {_plain(self.known.high)}"
        return ""


@dataclass(frozen=True, slots=True, repr=False)
class LoadReport:
    """The content of a source and how it would be read; `questions` have to be answered first.

    `unconfirmed` names the columns whose kind is taken from the data and not confirmed, `left_out`
    those that hold lists, bytes or other values that no question can be about.
    """

    source: str
    rows: int
    people: int | None
    skipped: int
    typed: bool
    reading: Reading
    columns: tuple[ColumnReport, ...]
    questions: tuple[OwnerQuestion, ...] = ()
    unconfirmed: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    unit: str | None = None
    left_out: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether nothing is left to ask."""
        return not self.questions and not self.unconfirmed

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kind of each column, stated, stored or proposed."""
        return {one.name: one.kind for one in self.columns}

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON."""
        told = ("rows", "people", "skipped", "typed", "tables", "unconfirmed", "ready")
        return {
            **_facts(self, told),
            "reading": self.reading.to_dict(),
            "columns": [one.to_dict() for one in self.columns],
            "questions": [one.to_dict() for one in self.questions],
        }

    def check(self) -> None:
        """Refuse to load while anything is to be asked; the error quotes no value."""
        for question in self.questions:
            said = [(f"reading={dict(one)}", option_words(one)) for _, one in question.answers]
            answers = " or ".join(f"{one} ({option})" for one, option in said)
            raise InputError(
                f"{self.source} leaves a question open",
                why=question.text.removesuffix("?").removesuffix("."),
                fix=f"answer with {answers}"
                if answers
                else _UNANSWERED.get(question.about, "say so in its reading"),
            )
        if self.unconfirmed:
            found = {name: self.kinds[name].value for name in self.unconfirmed}
            raise InputError(
                f"the kinds of {', '.join(found)} in {self.source} are guesses from the data",
                why="analysts would see them",
                fix="if they are public knowledge, pass confirm='kinds' (--confirm kinds) or kinds="
                f"{found}",
            )

    def __repr__(self) -> str:
        head = f"{self.source}: {self.rows:,} rows"
        head += "" if self.people is None else f", {self.people:,} people"
        head += f", {self.skipped:,} lines with other numbers of fields" if self.skipped else ""
        rows = [("column", "kind", "known", "NULL", "unreadable", "outside")]
        for one in self.columns:
            marks = ["*" if origin == "data" else "" for origin in (one.kind_from, one.known_from)]
            lost = f"{one.counts.unreadable:,}" + _quoted(one.counts.examples)
            out = f"{one.counts.outside:,}" + _quoted(one.counts.outside_examples)
            name = printable(one.name) + (" (person)" if one.name == self.unit else "")
            kind, known = one.kind.value + marks[0], one.known_words + marks[1]
            lost, out = (text if text != "0" else "" for text in (lost, out))
            rows.append((name, kind, printable(known), f"{one.nulls:,}", lost, out))
        widths = [max(len(row[i]) for row in rows) for i in range(6)]
        lines = ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([head, *self._read_as(), *lines, *self._still()])

    def _read_as(self) -> list[str]:
        said = {} if self.typed else self.reading.to_dict()
        words = ", ".join(f"{k} {v!r}" for k, v in said.items() if (k, v) != ("blanks", "trim"))
        return [f"read with {words}"] if words else []

    def _still(self) -> list[str]:
        columns = self.columns
        lines = []
        if self.left_out:
            names = ", ".join(map(printable, self.left_out))
            lines.append(f"left out, since no question can be about such values: {names}")
        if any("data" in (one.kind_from, one.known_from) for one in columns):
            lines.append("* taken from the data: keep it only if it is public knowledge.")
        return [*lines, *map(str, self.questions)]


@dataclass(frozen=True, slots=True)
class Stated:
    """The owner's declarations about a source and what they confirm as public knowledge.

    `required` columns are never NULL; `reading` is how texts are read; `themselves` are words for
    no value that are not asked about.
    """

    columns: Mapping[str, Bounds | Keys] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    confirm: Collection[str] = ()
    required: Collection[str] = ()
    reading: Reading = field(default_factory=Reading)
    themselves: Collection[str] = ()

    def confirms(self, column: str, *, kind: bool) -> bool:
        """Whether what is proposed of a column is confirmed."""
        return bool({_ALL, *PUBLIC, column, *([_KINDS] if kind else [])} & set(self.confirm))


def confirmed(said: str | Collection[str]) -> tuple[str, ...]:
    """Confirmed items as a list: "kinds", names of columns, or "all"."""
    return (said,) if isinstance(said, str) else tuple(said)


def look(
    source: Source, stated: Stated, unit: str | None = None, *, propose: bool = True
) -> LoadReport:
    """Read a source through and report on it; with `propose`, bounds and keys are proposed too."""
    with refusing(source.name):
        return _look(source, stated, unit, propose=propose)


def _look(source: Source, stated: Stated, unit: str | None, *, propose: bool) -> LoadReport:
    kinds, origins, reading, questions = _kinds(source, stated, unit)
    wanted = {
        name: StoredColumn(source.stored[name], column_type(name, kind, stated.columns.get(name)))
        for name, kind in kinds.items()
    }
    rows, people, counts = measure(source.open(), wanted, reading, unit if unit in kinds else None)
    guessed = {name: kind for name, kind in kinds.items() if origins[name] == "data"}
    kinds |= _corrected(source, guessed, wanted, counts, reading)
    origins |= {name: "file" for name in guessed if kinds[name] is Kind.TEXT}
    known: dict[str, Bounds | Keys] = {}
    if propose or set(stated.confirm) - {_KINDS}:
        said, public_rows = {*stated.columns, unit}, rows if stated.confirm == PUBLIC else None
        known = propose_known(source.open, wanted, counts, reading, said, public_rows)
    if not source.typed and reading.nulls is None:
        questions += _absent(counts, stated.themselves)
    questions += _odd_lines({n: counts[n] for n in counts if n not in stated.kinds}, stated.columns)
    if reading.is_strict and source.skipped[0] > rows:
        raise InputError(
            f"most lines of {source.name} have other numbers of fields than the first",
            why="the first line is not part of the table, or the separator is another one",
            fix="pass Reading(skip_lines=1) (--skip-lines 1) for a line above the names of columns,"
            " or Reading(delimiter=...) (--delimiter)",
        )
    asked = {question.column for question in questions}
    open_ = {name: one for name, one in counts.items() if name not in asked}
    questions += _unreadable(open_, kinds, source.skipped[0], strict=reading.is_strict)
    if unit in open_ and open_[unit].values < rows and reading.is_strict and not source.typed:
        text = f"Some lines name no person in {unit}. Leave them out of all answers?"
        questions.append(OwnerQuestion("unreadable", text, unit, _LEFT_OUT))
    questions.sort(key=lambda one: one.about == "sentinel")  # words that are said join NULL's
    columns = tuple(
        ColumnReport(
            name,
            kind,
            origins[name],
            stated.columns.get(name) or known.get(name),
            "owner" if name in stated.columns else "data" if name in known else None,
            rows - counts[name].values,
            counts[name],
        )
        for name, kind in kinds.items()
    )
    unsaid = (n for n in kinds if origins[n] == "data" and not stated.confirms(n, kind=True))
    open_reading = _without_doubts(reading, questions)
    about = (source.name, rows, people, source.skipped[0], source.typed, open_reading, columns)
    left = (tuple(questions), tuple(unsaid), tuple(source.tables), unit, source.left_out)
    return LoadReport(*about, *left)


def _corrected(
    source: Source,
    guessed: Mapping[str, Kind],
    wanted: dict[str, StoredColumn],
    counts: dict[str, ColumnCounts],
    reading: Reading,
) -> dict[str, Kind]:
    """Kinds guessed from the first rows that later ones contradict; measured anew in place.

    Numbers that begin with a 0 are codes, and whole numbers may turn out to have fractions.
    """
    others = {
        name: Kind.TEXT if counts[name].codes else Kind.REAL
        for name, kind in guessed.items()
        if counts[name].codes or (kind is Kind.INTEGER and counts[name].unreadable)
    }
    again = {name: StoredColumn("VARCHAR", Type(kind)) for name, kind in others.items()}
    found = measure(source.open(), again, reading, None)[2] if again else {}
    better = {n: one for n, one in found.items() if one.unreadable < max(1, counts[n].unreadable)}
    counts |= better
    wanted |= {name: again[name] for name in better}
    return {name: others[name] for name in better}


def _absent(counts: Mapping[str, ColumnCounts], themselves: Collection[str]) -> list[OwnerQuestion]:
    """Ask whether NA in a column of text is NULL, or Namibia."""
    found = {n: [w for w in one.absent if w not in themselves] for n, one in counts.items()}
    return [
        OwnerQuestion(
            "nulls",
            f"Does {' or '.join(words)} in {name} stand for NULL, or for itself?",
            name,
            (("NULL", {"nulls": words}), ("itself", {"nulls": []})),
        )
        for name, words in found.items()
        if words
    ]


def _odd_lines(counts: Mapping[str, ColumnCounts], stated: Collection[str]) -> list[OwnerQuestion]:
    """Ask about lines of totals among texts, and about people with two names.

    A word for total that is one in five values, or a key that the owner names, is a value of its
    own: total cholesterol beside HDL.
    """
    asked = []
    for name, one in counts.items():
        keep = f"say what {name} holds: {keep_as(name)}"
        if (
            one.totals
            and name not in stated
            and (one.totals <= _FEW_TOTALS or one.totals * 5 < one.values)
        ):
            text = f"A line with a word for total in {name} looks like sums of the others"
            asked.append(OwnerQuestion("text", f"{text}. Delete it, or {keep}.", name))
        if one.alike:
            text = f"Some names of people in {name} differ in case, blanks or .0 alone"
            text += ": who has two is protected as two. Write each in one way"
            asked.append(OwnerQuestion("text", f"{text}, or {keep}.", name))
    return asked


_FEW_TOTALS: Final = 3
"""Lines of totals that are asked about, however short a file is."""

_LEFT_OUT: Final = (("leave them out", {"unreadable": "null"}),)
_UNANSWERED = {
    "text": "mend the file, or state the kind",
    "table": "name it: source_table='...', or --source-table",
}


def _without_doubts(reading: Reading, questions: Collection[OwnerQuestion]) -> Reading:
    """A reading without what is still asked: sent back as it is, it answers no question."""
    marks = {"header": ["header"], "encoding": ["encoding"], "numbers": ["decimal", "thousands"]}
    asked: dict[str, Any] = {n: None for one in questions for n in marks.get(one.about, [])}
    dated = {one.column for one in questions if one.about == "dates"}
    dates = {name: pattern for name, pattern in reading.dates.items() if name not in dated}
    return replace(reading, **asked, dates=dates)


def proposed_kinds(source: Source, stated: Stated, unit: str | None = None) -> dict[str, Kind]:
    """The kind of each column, stated, stored or guessed from the first rows."""
    return _kinds(source, stated, unit)[0]


def kind_stated(spec: Bounds | Keys | None) -> Kind:
    """The kind that what is said about a column implies; text where nothing is.

    Example:
        >>> kind_stated(Bounds(0, 120)), kind_stated(Keys([1, 2])), kind_stated(None)
        (<Kind.REAL: 'real'>, <Kind.INTEGER: 'integer'>, <Kind.TEXT: 'text'>)
    """
    match spec:
        case Bounds(low=dt.datetime()) | Bounds(high=dt.datetime()):
            return Kind.TIMESTAMP
        case Bounds(low=dt.date()):
            return Kind.DATE
        case Bounds():
            return Kind.REAL
        case Keys(values=values):
            found = {PYTHON_KINDS.get(type(one), Kind.TEXT) for one in values if one is not None}
            return found.pop() if len(found) == 1 else Kind.TEXT
    return Kind.TEXT


def _kinds(
    source: Source, stated: Stated, unit: str | None
) -> tuple[dict[str, Kind], dict[str, Origin], Reading, list[OwnerQuestion]]:
    """The kind of each column, from whom it is, and the reading that fits."""
    said = {name: kind_stated(spec) for name, spec in stated.columns.items()} | dict(stated.kinds)
    confirmed = (one for one in stated.confirm if one not in {_ALL, _KINDS, *PUBLIC})
    asked = (unit, *stated.columns, *stated.kinds, *confirmed)
    if source.typed:
        stored = {name: stored_kind(of) or Kind.TEXT for name, of in source.stored.items()}
        check_columns(stored, asked)
        found = stored | dict(stated.kinds)
        texts = [n for n, kind in found.items() if kind is not stored[n] and stored[n] is Kind.TEXT]
        origins: dict[str, Origin] = {n: "owner" if n in stated.kinds else "file" for n in found}
        reading, questions = source.reading, []
        if texts:
            guess = guess_columns(_sampled(source, texts), reading, found)
            reading, questions = guess.reading, guess.questions
        return found, origins, reading, [*source.questions, *questions]
    check_source(source, asked)
    guess = guess_columns(source.sample(), source.reading, said)
    if unit in guess.kinds and unit not in said and not stated.confirms(str(unit), kind=True):
        guess.kinds[str(unit)] = Kind.TEXT  # people are told apart by what is stored
    origins = {
        name: "owner" if name in said else "file" if kind is Kind.TEXT else "data"
        for name, kind in guess.kinds.items()
    }
    return guess.kinds, origins, guess.reading, [*source.questions, *guess.questions]


def check_source(source: Source, names: Iterable[str | None]) -> None:
    """Refuse names of columns that a source has not, without telling a first line in doubt."""
    asked = list(names)
    if {*asked} - {None, *source.stored} and any(one.about == "header" for one in source.questions):
        raise InputError(
            f"{source.name} has no such columns, if its first line names them",
            why="that line looks like a record, and records are not shown",
            fix="say whether it does: --header, or --no-header with --names id,age,city",
        )
    check_columns(source.stored, asked)


def check_columns(known: Collection[str], names: Iterable[str | None]) -> None:
    """Refuse names of columns that are not known; None names none."""
    for name in names:
        if name is not None and name not in known:
            raise unknown("column", name, known)


def _sampled(source: Source, names: list[str]) -> dict[str, dict[str, int]]:
    texts = StoredColumn("VARCHAR", Type(Kind.TEXT))
    found = frequent(source.open(), dict.fromkeys(names, texts), Reading(), LOOKED_AT)
    return {name: {str(text): n for text, n in one.items()} for name, one in found.items()}


def _unreadable(
    counts: Mapping[str, ColumnCounts], kinds: Mapping[str, Kind], skipped: int, *, strict: bool
) -> list[OwnerQuestion]:
    """Ask about values that cannot be read; a column that would lose most of them is refused."""
    answers = (("make them NULL", _LEFT_OUT[0][1]),)
    asked = []
    for name, one in counts.items():
        what = f"values that cannot be read as {kinds[name].value}"
        if 2 * one.unreadable > max(one.values, _FEW):
            text = f"{name} holds mostly {what}. Write plain ones in the file, or keep texts"
            asked.append(OwnerQuestion("text", f"{text}: {keep_as(name, Kind.TEXT)}.", name))
        elif one.unreadable and strict:
            text = f"{name} holds {what}. Make them NULL?"
            asked.append(OwnerQuestion("unreadable", text, name, answers))
    if skipped and strict:
        text = "Some lines have too few or too many fields. Leave them out?"
        asked.append(OwnerQuestion("unreadable", text, None, _LEFT_OUT))
    return asked


def _facts(one: object, names: Collection[str]) -> dict[str, Any]:
    found = {name: getattr(one, name) for name in names}
    return {name: list(f) if isinstance(f, tuple) else f for name, f in found.items()}


def _plain(end: Any) -> Any:
    if isinstance(end, dt.date):
        return end.isoformat()
    return end if isinstance(end, int | float | str) else float(end)


def _quoted(examples: tuple[str, ...]) -> str:
    shown = ", ".join(repr(one[:30]) for one in examples)
    return f" ({shown})" if shown else ""
