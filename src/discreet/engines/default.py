"""The engine that comes with the package: the rest of it need not know which one that is."""

from discreet.engines.duckdb import DuckDBEngine as DefaultEngine
from discreet.engines.duckdb_files import (
    as_arrow,
    compute,
    convert_texts,
    read_database,
    save,
)
from discreet.engines.duckdb_files import describe_source as describe

__all__ = [
    "DefaultEngine",
    "as_arrow",
    "compute",
    "convert_texts",
    "describe",
    "read_database",
    "save",
]
