"""The columns of a source, from their types alone: no value is looked at."""

from dataclasses import dataclass

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
