"""A release as bytes and back: an Arrow stream that any Arrow reader opens, with a JSON inside.

The same release always gives the same bytes, and reading them gives a release with those bytes.
"""

import dataclasses
import json
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.answer.estimate import measured_sets
from discreet.answer.plan.price import Price
from discreet.errors import InputError
from discreet.plan.public_facts import PublicFacts
from discreet.privacy import Guarantee

if TYPE_CHECKING:
    from discreet.answer.present.release import Release

_PLACE = b"discreet.release"
_PARTS = b"discreet.parts"
_VERSION = 1


def pack(release: "Release") -> bytes:
    """The bytes of a release: its table, then its half-widths, as columns of one stream."""
    names = list(release.half_widths)
    columns = [*release.table.columns, *(release.half_widths[name] for name in names)]
    titles = [*release.table.column_names, *(f"{name} \N{PLUS-MINUS SIGN}" for name in names)]
    about = json.dumps(_about(release, names), sort_keys=True, separators=(",", ":"))
    fields = [pa.field(title, c.type) for title, c in zip(titles, columns, strict=True)]
    measured = {_PARTS: measured_sets.pack(release.parts)} if release.parts else {}
    schema = pa.schema(fields, metadata={_PLACE: about.encode(), **measured})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(pa.table(columns, schema=schema))
    stored: bytes = sink.getvalue().to_pybytes()
    return stored


def unpack(stored: bytes) -> dict[str, Any]:
    """The fields of the release that `pack` wrote."""
    try:
        table = pa.ipc.open_stream(stored).read_all()
        metadata = table.schema.metadata or {}
        measured = measured_sets.unpack(metadata[_PARTS]) if _PARTS in metadata else ()
        return {**_fields(table, json.loads(metadata[_PLACE])), "parts": measured}
    except InputError:
        raise
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError, IndexError) as wrong:
        raise InputError(
            "stored bytes cannot be read as a release",
            why="they are damaged, or something else",
            fix="restore them from an intact copy",
        ) from wrong


def _about(release: "Release", names: list[str]) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "columns": release.table.num_columns,
        "half_widths": names,
        "how": dict(release.how),
        "price": [str(release.price.epsilon), str(release.price.delta)],
        "guarantee": release.guarantee.to_dict(),
        "costs": [[c.what, c.noise, c.guarantee.to_dict()] for c in release.costs],
        "notes": list(release.notes),
        "facts": None if release.facts is None else dataclasses.asdict(release.facts),
    }


def _fields(table: pa.Table, about: Mapping[str, Any]) -> dict[str, Any]:
    if about["version"] != _VERSION:
        raise InputError(
            f"a stored release of version {about['version']}",
            why=f"this package reads version {_VERSION} and will not guess",
            fix="read it with the package that wrote it, or a later one",
        )
    count, names = about["columns"], about["half_widths"]
    widths = [table.column(count + i).combine_chunks() for i in range(len(names))]
    return {
        "table": table.select(list(range(count))).replace_schema_metadata(None),
        "half_widths": dict(zip(names, widths, strict=True)),
        "how": about["how"],
        "price": _price(*map(Fraction, about["price"])),
        "guarantee": Guarantee.from_dict(about["guarantee"]),
        "costs": [(what, noise, Guarantee.from_dict(g)) for what, noise, g in about["costs"]],
        "notes": tuple(about["notes"]),
        "facts": None if about["facts"] is None else _facts(about["facts"]),
    }


def _price(epsilon: Fraction, delta: Fraction) -> Price:
    return Price(epsilon, delta) if epsilon or delta else Price.free()


def _facts(stored: Mapping[str, Any]) -> PublicFacts:
    lists = {name: tuple(part) for name, part in stored.items() if isinstance(part, list)}
    return PublicFacts(**{**stored, **lists})
