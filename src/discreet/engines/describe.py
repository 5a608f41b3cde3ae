"""A proposal for a schema, from the types of columns alone: no value is looked at."""

from dataclasses import dataclass

from discreet.plan.kinds import Kind, Type

_STATE = {
    Kind.BOOLEAN: "Keys([False, True]) to group by it",
    Kind.INTEGER: "Bounds(low, high) to add it up or average it; Keys([...]) to group by it",
    Kind.REAL: "Bounds(low, high) to add it up or average it",
    Kind.TEXT: "Keys([...]) to group by it, where its values are public",
    Kind.DATE: "Bounds(first, last) to group by it",
    Kind.TIMESTAMP: "Bounds(first, last) to group by it",
}


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """One column: its stored type and the kind it is read as, None where it cannot be read."""

    name: str
    stored: str
    kind: Kind | None

    @property
    def to_state(self) -> str:
        """What the owner has to say about it."""
        if self.kind is None:
            return "cannot be read: leave it out, or cast it first"
        return _STATE[self.kind]


@dataclass(frozen=True, slots=True, repr=False)
class Description:
    """The columns of a source, and what is left for the owner to state.

    `typed` is False for files whose format knows no types (CSV): everything in them is text until
    the owner says what it is.
    """

    columns: tuple[ColumnDescription, ...]
    typed: bool = True

    def types(self) -> dict[str, Type]:
        """The proposed types, any of them nullable, without bounds and keys."""
        return {one.name: Type(one.kind) for one in self.columns if one.kind is not None}

    def __repr__(self) -> str:
        rows = [("column", "kind", "to state")]
        rows += [(_plain(c.name), _kind(c), c.to_state) for c in self.columns]
        widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
        table = [f"  {a.ljust(widths[0])}  {b.ljust(widths[1])}  {c}" for a, b, c in rows]
        head = f"{len(self.columns)} columns, read from their types alone (no value was looked at)"
        return "\n".join([head, *table, "", *self._still()])

    def _still(self) -> list[str]:
        lines = [] if self.typed else ["The format knows no types: say what is no text."]
        return [
            *lines,
            "State the unit: the column that names the person, or EachRow() for single rows.",
            "Bounds and keys have to come from what is known about the subject, not from the data.",
        ]


def _kind(column: ColumnDescription) -> str:
    return column.stored if column.kind is None else column.kind.value


def _plain(name: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)
