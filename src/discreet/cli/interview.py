"""What `discreet init` asks in a terminal; what cannot be read is asked again."""

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from discreet.cli.add import KINDS, read_kinds
from discreet.cli.options import read_budget, read_number

if TYPE_CHECKING:
    from discreet.plan.kinds import Kind

_MANY = 12
"""Columns beyond which nobody wants to be asked about each."""


class _Answer(click.ParamType[Any]):
    """An answer that may be left empty."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read it; None where it is empty."""
        return self.read(value.strip()) if isinstance(value, str) and value.strip() else None

    def read(self, text: str) -> Any:
        """Read what is there."""
        return text

    def refuse(self, text: str, why: str) -> NoReturn:
        """Ask again."""
        raise click.BadParameter(f"{text!r} is {why}.")


class _File(_Answer):
    name = "file"

    def read(self, text: str) -> Path:
        """A file that is there."""
        path = Path(text).expanduser()
        return path if path.is_file() else self.refuse(text, "no file")


class _Count(_Answer):
    name = "count"

    def read(self, text: str) -> int:
        """A whole number from 1 on."""
        if not (text.isascii() and text.isdigit() and int(text)):
            self.refuse(text, "no whole number from 1 on")
        return int(text)


class _Ends(_Answer):
    name = "ends"

    def read(self, text: str) -> tuple[Fraction, Fraction]:
        """Two numbers, the smaller first."""
        ends = [end for end in map(read_number, text.split()) if end is not None]
        if len(text.split()) != 2 or len(ends) != 2 or ends[0] >= ends[1]:
            self.refuse(text, "not two numbers, the smaller first, as 0 120")
        return ends[0], ends[1]


class _Amount(_Answer):
    name = "amount"

    def __init__(self, below: Fraction | None, *, least: int) -> None:
        self._below, self._least = below, least

    def read(self, text: str) -> Fraction:
        """A number in its range."""
        found = read_number(text)
        if found is None or found < 0 or (not found and self._least):
            self.refuse(text, "no number above 0")
        if self._below is not None and found >= self._below:
            self.refuse(text, f"not below {self._below}")
        return found


def interview(
    source: Path | None, name: str | None, budget: Any, said: dict[str, Any]
) -> tuple[Path | None, Any, dict[str, Any]]:
    """Ask what was not said; an empty answer leaves it open."""
    source = source or _ask("Which file holds the data", _File())
    if source is None:
        return None, None, said
    kinds = _look(source, name, said)
    if not said["unit"] and not said["key_path"] and not said["period"] and not said["each_row"]:
        choice = click.Choice(list(kinds))
        said["unit"] = click.prompt("Which column names the person", type=choice)
    if said["max_groups"] is None and said["max_rows"] is None:
        said["max_rows"] = _limit("How many rows of one person may count in a group")
        said["max_groups"] = _limit("In how many groups may one person count")
    if not said["bounds"] and not said["keys"] and len(kinds) <= _MANY:
        asked = {name: kind for name, kind in kinds.items() if name != said["unit"]}
        said["bounds"], said["keys"] = _ask_columns(asked)
    return source, budget or _ask_budget(), said


def _look(source: Path, name: str | None, said: dict[str, Any]) -> "dict[str, Kind]":
    """The columns of a file; of which kind they are is asked where the file cannot tell."""
    from discreet.engines.default import describe  # noqa: PLC0415 - heavy room

    source_table = said["source_table"] or name or source.name.partition(".")[0]
    if source.suffix.lower() in {".duckdb", ".db"}:
        return read_kinds(source, {}, source_table)
    described = describe(source)
    click.echo(repr(described))
    if not described.typed and not said["kinds"] and len(described.columns) <= _MANY:
        said["kinds"] = tuple((one.name, _ask_kind(one.name)) for one in described.columns)
    return read_kinds(source, dict(said["kinds"]), source_table)


def _ask(question: str, answer: _Answer) -> Any:
    return click.prompt(question, default="", show_default=False, type=answer)


def _ask_kind(name: str) -> str:
    kind: str = click.prompt(f"What does {name} hold", type=click.Choice(KINDS), default="text")
    return kind


def _limit(question: str) -> int | None:
    found: int | None = _ask(f"{question} (Enter: found out privately)", _Count())
    return found


def _ask_columns(kinds: "dict[str, Kind]") -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    bounds, keys = [], []
    for name, kind in kinds.items():
        if kind.is_number:
            ends = _ask(f"Bounds of {name}, as 0 120 (Enter: none)", _Ends())
            bounds += [] if ends is None else [(name, *ends)]
        elif kind.value == "text":
            text = _ask(f"Public values of {name}, as a,b (Enter: none)", _Answer())
            keys += [] if text is None else [(name, text)]
    return tuple(bounds), tuple(keys)


def _ask_budget() -> Any:
    most = _Amount(None, least=1)
    epsilon = click.prompt("How much may be given away in all: epsilon", type=most, default="3")
    small = _Amount(Fraction(1), least=0)
    delta = click.prompt("and delta, far below 1 / people", type=small, default="1e-6")
    return read_budget(epsilon, delta, None)
