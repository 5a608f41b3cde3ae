"""What an owner has to decide before a file is loaded, and how they say it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from discreet.plan.kinds import Kind

About = Literal[
    "header", "encoding", "dates", "numbers", "nulls", "sentinel", "unreadable", "table", "words",
    "text",
]  # fmt: skip
"""What an owner may have to decide."""


@dataclass(frozen=True, slots=True)
class OwnerQuestion:
    """A decision for the owner; each answer is an addition to the reading."""

    about: About
    text: str
    column: str | None = None
    answers: tuple[tuple[str, Mapping[str, Any]], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON."""
        answers = [{"label": label, "reading": dict(said)} for label, said in self.answers]
        named = {"about": self.about, "column": self.column, "text": self.text}
        return {**named, "answers": answers}

    def __str__(self) -> str:
        options = ", or ".join(option_words(answer) for _, answer in self.answers)
        return f"? {self.text}{f' ({options})' if options else ''}"


def keep_as(name: str, kind: Kind = Kind.TEXT) -> str:
    """How an owner says that a column is of a kind."""
    return f"kinds={{'{name}': '{kind.value}'}} (--kind {name} {kind.value})"


_SWITCHES: Final = {
    ("header", True): "--header",
    ("header", False): "--no-header",
    ("day_first", True): "--day-first",
    ("day_first", False): "--month-first",
    ("thousands", ""): "",
}


def option_words(answer: Mapping[str, Any]) -> str:
    """The options of the command line that give an answer.

    Example:
        >>> option_words({"decimal": ".", "thousands": ","}), option_words({"nulls": []})
        ('--decimal . --thousands ,', '--no-null')
    """
    found = []
    for name, said in answer.items():
        if name == "dates":
            found += [f"--date-format {column} '{how}'" for column, how in said.items()]
        elif name in {"nulls", "true", "false"}:
            option = "null" if name == "nulls" else name
            found += [f"--{option} {word}" for word in said] or ["--no-null"]
        else:
            found.append(_SWITCHES.get((name, said), f"--{name} {said}"))
    return " ".join(filter(None, found))
