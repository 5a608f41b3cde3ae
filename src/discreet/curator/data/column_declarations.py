"""Column declarations of a table that is added."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from discreet.curator.arguments import unknown
from discreet.curator.data import intake
from discreet.engines.reading import Reading
from discreet.plan.kinds import Kind, Type
from discreet.plan.schema import Bounds, Keys, column_type


@dataclass(frozen=True, slots=True)
class ColumnDeclarations:
    """The owner's declarations about the columns of a table."""

    columns: Mapping[str, Bounds | Keys] = field(default_factory=dict)
    kinds: Mapping[str, Kind | str] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    reading: Reading = field(default_factory=Reading)
    confirm: tuple[str, ...] = ()

    def types(self, incoming: intake.Incoming) -> dict[str, Type]:
        """The types of all columns; InputError if something is said of none of them."""
        for name in (*self.columns, *self.kinds, *self.required):
            if name not in incoming.kinds:
                raise unknown("column", name, incoming.kinds)
        known = {**self.columns, **incoming.columns}
        return {
            name: column_type(name, kind, known.get(name), nullable=name not in self.required)
            for name, kind in incoming.kinds.items()
        }

    def read_kinds(self) -> dict[str, Kind]:
        """The kinds that are spelled out."""
        known = {kind.value for kind in Kind}
        for name, kind in self.kinds.items():
            if not isinstance(kind, Kind) and kind not in known:
                raise unknown(f"kind for {name} called", str(kind), known)
        return {name: Kind(kind) for name, kind in self.kinds.items()}
