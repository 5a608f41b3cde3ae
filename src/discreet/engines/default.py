"""The engine that comes with the package: the rest of it need not know which one that is."""

from discreet.engines.duckdb import DuckDBEngine as DefaultEngine
from discreet.engines.duckdb_files import (
    as_arrow,
    check_names,
    compute,
    list_tables,
    read_database,
    read_json,
    save,
    sniff_delimiter,
)
from discreet.engines.duckdb_files import describe_source as describe
from discreet.engines.duckdb_texts import ColumnCounts, StoredColumn, convert, frequent, measure
from discreet.engines.stored_types import DUCKDB

may_not_fit, stored_kind = DUCKDB.may_not_fit, DUCKDB.kind

__all__ = [
    "ColumnCounts",
    "DefaultEngine",
    "StoredColumn",
    "as_arrow",
    "check_names",
    "compute",
    "convert",
    "describe",
    "frequent",
    "list_tables",
    "may_not_fit",
    "measure",
    "read_database",
    "read_json",
    "save",
    "sniff_delimiter",
    "stored_kind",
]
