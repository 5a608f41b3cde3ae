"""The columns of a source, from their types alone: no value is looked at."""

from dataclasses import dataclass

from discreet.errors import InputError
from discreet.plan.calendar import FIRST_TO_LAST, moment
from discreet.plan.kinds import Kind


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """One column: its stored type and the kind it is read as, None where it cannot be read."""

    name: str
    stored: str
    kind: Kind | None


@dataclass(frozen=True, slots=True)
class Description:
    """The columns of a source."""

    columns: tuple[ColumnDescription, ...]

    @property
    def stored(self) -> dict[str, str]:
        """The types of columns that can be read; others (lists, blobs) are left out."""
        return {one.name: one.stored for one in self.columns if one.kind is not None}

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kinds of columns that can be read."""
        return {one.name: one.kind for one in self.columns if one.kind is not None}


def unreadable(physical: str) -> InputError:
    """The refusal of a stored type that is read as no kind."""
    return InputError(
        f"a column of type {physical}",
        why="its values are none of boolean, integer, real, text, date and timestamp",
        fix="leave it out, or add a view that casts it",
    )


def in_calendar(text: str, kind: Kind, word: str | None = None) -> str:
    """A date or timestamp in SQL, NULL outside our calendar; `word` is what its type is called."""
    ends = (FIRST_TO_LAST[kind].low, FIRST_TO_LAST[kind].high)
    low, high = (f"{word or kind.name} '{moment(end, kind)}'" for end in ends)
    return f"CASE WHEN {text} BETWEEN {low} AND {high} THEN {text} END"
