"""The terminal form of `discreet init`: one table to edit line by line and confirm."""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import discreet as dp
from discreet.cli.add import KINDS, read_columns, read_kinds
from discreet.cli.options import END, EXACT, read_budget
from discreet.curator.client.declarations import read_key
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.curator.data.load_report import LoadReport

_HELP = Path(__file__).with_suffix(".txt").read_text("utf-8").rstrip()
_PERSON = re.compile(
    r"(patient|person|user|customer|client|member|subject|people|who|id)", re.IGNORECASE
)


@dataclass(frozen=True)
class Draft:
    """The proposed declaration of a file."""

    source: Path
    name: str
    reading: "dp.Reading"
    source_table: str | None = None
    unit: str | None = None
    each_row: bool = False
    columns: "Mapping[str, dp.Bounds | dp.Keys | None]" = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    epsilon: Fraction = Fraction(3)
    delta: Fraction = Fraction(1, 10**6)
    max_rows: int | None = None
    max_groups: int | None = None

    def report(self) -> "LoadReport":
        """The load report of the file, read with these settings."""
        return dp.describe(
            self.source,
            unit=self.unit,
            columns={name: said for name, said in self.columns.items() if said is not None},
            kinds=self.kinds,
            reading=self.reading,
            source_table=self.source_table,
        )


def interview(
    source: Path | None, name: str | None, budget: Any, said: dict[str, Any]
) -> tuple[Path | None, Any, dict[str, Any]]:
    """Show what a file is taken for, let its owner change and confirm it; what is then said."""
    source = source or _ask_file()
    if source is None:
        return None, None, said
    draft, said_unit = _begin(source, name, said), bool(said["key_path"] or said["period"])
    while True:
        draft, report = _edit(draft, budget, asks_unit=not said_unit)
        if _is_public():
            break
    known = {one.name: one.known for one in report.columns if one.known is not None}
    known = {n: k for n, k in known.items() if draft.columns.get(n, k) is not None}
    told = said | {
        "unit": None if said_unit or draft.each_row else draft.unit,
        "each_row": draft.each_row,
        "bounds": (),
        "keys": (),
        "columns": known,
        "kinds": tuple((one.name, one.kind.value) for one in report.columns),
        "required": draft.required,
        "max_rows": draft.max_rows,
        "max_groups": draft.max_groups,
        "reading": report.reading,
        "confirm": (),
    }
    return source, budget or read_budget(draft.epsilon, draft.delta, None), told


def _is_public() -> bool:
    """Whether the owner confirms the table; no, or back, returns to it."""
    question = "Analysts will see names, kinds, bounds and keys. Are they public knowledge? [y/n]"
    while (said := click.prompt(question).strip().lower()) not in ("y", "yes", "n", "no", "back"):
        if said == "quit":
            raise click.Abort
        click.echo("  y: keep the table as shown; n or back: change it; quit: make nothing")
    return said in ("y", "yes")


def _ask_file() -> Path | None:
    while True:
        text = click.prompt("Which file holds the data (Enter: none yet)", "", show_default=False)
        path = Path(text.strip()).expanduser()
        if not text.strip() or path.is_file() or set("*?[") & set(text):
            return path if text.strip() else None
        click.echo(f"Error: {text!r} is no file.")


def _begin(source: Path, name: str | None, said: dict[str, Any]) -> Draft:
    table = name or source.name.partition(".")[0]
    kinds = read_kinds(source, table, said)
    likely = [column for column in kinds if _PERSON.search(column)] or list(kinds)
    column = (said["key_path"] or said["period"] or (None,))[0]
    return Draft(
        source,
        table,
        said["reading"],
        said["source_table"],
        unit=None if said["each_row"] else said["unit"] or column or likely[0],
        each_row=said["each_row"],
        columns=read_columns(said["bounds"], said["keys"], kinds),
        kinds=dict(said["kinds"]),
        required=tuple(said["required"]),
        max_rows=said["max_rows"],
        max_groups=said["max_groups"],
    )


def _edit(draft: Draft, budget: Any, *, asks_unit: bool) -> "tuple[Draft, LoadReport]":
    """Take one change after the other until the owner is done and no question is open."""
    before: list[Draft] = []
    report = draft.report()
    shown = True
    while True:
        if shown:
            _show(draft, report, budget)
        line = click.prompt("Change (help, Enter: done)", "", show_default=False).strip()
        shown = line.lower() not in ("help", "?")
        if not line and not report.questions:
            return draft, report
        try:
            if not line:
                click.echo(f"First: {report.questions[0].text}")
            elif not shown:
                click.echo(_HELP)
            elif line.lower() == "quit":
                raise click.Abort
            elif line.lower() == "back":
                draft = before.pop() if before else draft
                report = draft.report()
            elif line.lower() != "show":
                changed = _changed(draft, report, line, asks_unit=asks_unit)
                report = changed.report()
                before.append(draft)
                draft = changed
        except (InputError, ValueError, click.UsageError) as wrong:
            shown = False
            text = wrong.format_message() if isinstance(wrong, click.UsageError) else str(wrong)
            click.echo(f"Error: {text}")


def _show(draft: Draft, report: "LoadReport", budget: Any) -> None:
    for i, line in enumerate(repr(_as_said(draft, report)).split("\n")):
        first = 2 + (not report.typed and bool(report.reading.to_dict()))
        number = i - first + 1
        click.echo(f"{number:>3}" + line if 0 < number <= len(report.columns) else f"   {line}")
    for question in report.questions[:1]:
        for letter, (label, _) in zip("abc", question.answers, strict=False):
            click.echo(f"     {letter}: {label}")
    whom = "each row" if draft.each_row else f"the person that {draft.unit} names"
    limits = ", ".join(
        f"{name} {getattr(draft, name) or 'any'}" for name in ("max_rows", "max_groups")
    )
    spent = "as said" if budget else f"epsilon {draft.epsilon}, delta {float(draft.delta):g}"
    click.echo(f"   table {draft.name}: protects {whom}; {spent}; {limits}")


def _as_said(draft: Draft, report: "LoadReport") -> "LoadReport":
    """The report without proposals that the owner has dropped."""
    gone = {name for name, said in draft.columns.items() if said is None}
    kept = (
        replace(one, known=None, known_from=None) if one.name in gone else one
        for one in report.columns
    )
    return replace(report, columns=tuple(kept))


def _changed(draft: Draft, report: "LoadReport", line: str, *, asks_unit: bool) -> Draft:
    """The draft after one line; ValueError where it is not understood."""
    words = next(csv.reader([line], delimiter=" ", skipinitialspace=True))
    match words:
        case [letter] if letter in "abc" and report.questions:
            answers = report.questions[0].answers
            if "abc".index(letter) < len(answers):
                return _read_as(draft, answers["abc".index(letter)][1])
        case ["private"]:
            taken = [one.name for one in report.columns if one.known_from == "data"]
            return replace(draft, columns={**draft.columns, **dict.fromkeys(taken)})
        case ["unit", "each-row"] if asks_unit:
            return replace(draft, unit=None, each_row=True)
        case ["unit", column] if asks_unit:
            return replace(draft, unit=_column(column, report), each_row=False)
        case [("epsilon" | "delta") as what, text]:
            amount: dict[str, Any] = {what: EXACT.convert(text, None, None)}
            dp.Budget(**{"epsilon": draft.epsilon, "delta": draft.delta, **amount}).cap()
            return replace(draft, **amount)
        case [("max_rows" | "max_groups") as what, text]:
            number: Any = click.IntRange(1)  # which is told that it takes whole numbers alone
            limit: dict[str, Any]
            limit = {what: None if text == "any" else number.convert(text, None, None)}
            return replace(draft, **limit)
        case ["read", name, *values]:
            return _read_as(draft, {name: _reading_value(name, values)})
        case [column, ("kind" | "bounds" | "keys" | "nothing" | "required") as what, *rest]:
            return _about(draft, report, _column(column, report), what, rest)
    raise ValueError(f"{line!r} is not understood: type help")


def _about(draft: Draft, report: "LoadReport", column: str, what: str, rest: list[str]) -> Draft:
    known: Any
    if what == "required":
        return replace(draft, required=(*draft.required, column))
    if what == "kind":
        if rest[:1] not in [[kind] for kind in KINDS]:
            raise ValueError(f"a kind is one of {', '.join(KINDS)}")
        rest_of = {name: said for name, said in draft.columns.items() if name != column}
        return replace(draft, kinds={**draft.kinds, column: rest[0]}, columns=rest_of)
    if what == "nothing":
        known = None
    elif what == "bounds":
        if len(rest) != len(("low", "high")):
            raise ValueError("bounds are two ends, as 0 120")
        known = dp.Bounds(*(END.convert(text, None, None) for text in rest))
    else:
        [values] = csv.reader([" ".join(rest)])
        known = dp.Keys([read_key(value.strip(), report.kinds[column], column) for value in values])
    kinds = {column: report.kinds[column].value} | dict(draft.kinds)
    return replace(draft, columns={**draft.columns, column: known}, kinds=kinds)


def _column(text: str, report: "LoadReport") -> str:
    names = [one.name for one in report.columns]
    if text in names:
        return text
    if text.isdigit() and 0 < int(text) <= len(names):
        return names[int(text) - 1]
    raise ValueError(f"there is no column {text}: type its name or its number")


def _read_as(draft: Draft, patch: Mapping[str, Any]) -> Draft:
    said = draft.reading.to_dict() | dict(patch)
    if "dates" in patch:
        said["dates"] = {**draft.reading.dates, **patch["dates"]}
    return replace(draft, reading=dp.Reading.from_dict(said))


def _reading_value(name: str, values: list[str]) -> Any:
    if name in ("header", "day_first"):
        return bool(values) and values[0].lower() in ("yes", "true", "y")
    if name in ("names", "nulls", "true", "false"):
        return [word for value in values for word in value.split(",") if word]
    if name == "dates":
        return {values[0]: " ".join(values[1:])} if values else {}
    return " ".join(values)
