"""A released table as plain JSON for people's eyes: a page, a terminal, a script."""

import math
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from discreet.answer.present.release import Release

_KINDS: Final = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_integer, "integer"),
    (pa.types.is_floating, "real"),
    (pa.types.is_date, "date"),
    (pa.types.is_timestamp, "timestamp"),
)


def release_rows(release: "Release", rows: slice = slice(None)) -> list[list[Any]]:
    """Some rows of a release; NULL and what JSON has no word for are null."""
    table = release.table[rows]
    return [list(row) for row in zip(*map(_column, table.columns), strict=True)]


def release_widths(release: "Release", name: str, rows: slice = slice(None)) -> list[Any]:
    """Some half-widths of a column."""
    return _column(release.half_widths[name][rows])


def _column(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    if pa.types.is_integer(column.type) or pa.types.is_string(column.type):
        values: list[Any] = column.to_pylist()
        return values
    return [plain(value) for value in column.to_pylist()]


def release_facts(release: "Release", rows: slice = slice(None)) -> dict[str, Any]:
    """A release, or some rows of it."""
    table, facts = release.table, release.facts
    keys = () if facts is None else facts.keys
    return {
        "columns": [
            {"name": field.name, "kind": _kind(field.type), "key": field.name in keys}
            for field in table.schema
        ],
        "rows": release_rows(release, rows),
        "half_widths": {name: release_widths(release, name, rows) for name in release.half_widths},
        "confidence": 0.95,
        "how": dict(release.how),
        "price": {"epsilon": float(release.price.epsilon), "delta": float(release.price.delta)},
        "budget_share": release.share,
        "protects": None if facts is None else facts.unit,
        "neighbours": release.guarantee.neighbours.value,
        "notes": list(release.notes),
        "clamps": [] if facts is None else list(facts.clamped),
    }


def _kind(of: pa.DataType) -> str:
    return next((name for is_kind, name in _KINDS if is_kind(of)), "text")


def plain(value: Any) -> Any:
    """A value as JSON has it; None for NULL and for what JSON has no word for."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value.isoformat()
