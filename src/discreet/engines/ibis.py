"""Tables of any warehouse that `ibis` connects to: it carries our SQL there and rows back.

Nothing is translated: the SQL is that of a dialect of ours. `check_engine` passes on DuckDB by way
of ibis; what another warehouse does with the same SQL is untested until its owner runs
`check_engine` there.
"""

import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from discreet.engines.duckdb_dialect import DuckDBDialect
from discreet.engines.engine import ARROW
from discreet.engines.remote_engine import InlineSession, RemoteEngine, read_numbers
from discreet.engines.stored_types import DUCKDB
from discreet.engines.timing import Deadline, in_time, unfinished
from discreet.errors import DiscreetError, InputError
from discreet.sql.writer.dialect import Dialect


class InlineDuckDBDialect(DuckDBDialect):
    """That of DuckDB, where a table of a session is a part of WITH."""

    def located(self, place: str, table: str) -> str:
        """The name of a part of WITH."""
        return self.identifier(f"{place}.{table}")


class IbisEngine(RemoteEngine):
    """Tables of a connection of ibis, whose statements are of the dialect given.

    For another warehouse than DuckDB, make a class of it that says its `types` and `half`.

    Edge cases: there is no snapshot over several statements, since ibis has none: each statement
    bounds people separately. Nothing is interrupted: time is looked at between statements. Rows are
    digested before each question, unless a version label replaces the digest.
    """

    half = "CAST(('0x' || substring({h}, {at}, 16)) AS HUGEINT)"
    types = DUCKDB

    def __init__(self, connection: Any, dialect: Dialect | None = None) -> None:
        super().__init__(f"ibis://{connection.name}")
        if dialect is None and connection.name != "duckdb":
            raise InputError(
                f"{connection.name} by way of ibis has no dialect that was tested",
                why="SQL is passed on unchanged, and integers must equal those of DuckDB",
                fix="write a Dialect, run discreet.engines.check_engine, and pass it to IbisEngine",
            )
        self._connection, self.dialect = connection, dialect or InlineDuckDBDialect()
        self.name, self._one_at_a_time = connection.name, threading.Lock()

    def again(self) -> "IbisEngine":
        """Another engine over the same connection, which knows no tables yet."""
        return type(self)(self._connection, self.dialect)

    @property
    def untested(self) -> str:
        """What has not been tested of this connection."""
        tested = self.name == "duckdb"
        every = "" if tested else f"everything on {self.name}: run check_engine; "
        return f"{every}changes while a question runs; stopping a statement"

    def columns_of(self, source: str) -> list[tuple[str, str]]:
        """Column types, as the warehouse describes an empty answer."""
        with _quiet(), self._one_at_a_time:
            found = self._connection.raw_sql(f"SELECT * FROM {source} LIMIT 0").description
            return [(str(one[0]), str(one[1])) for one in found]

    def locate(self, source: str) -> str:
        """The quoted name of a table: a plain name, or as SQL writes it (database.table)."""
        whole = self.dialect.identifier(source)
        parts = ".".join(map(self.dialect.identifier, source.split(".")))
        for form in (whole, parts):
            try:
                self.columns_of(form)
            except DiscreetError:
                continue
            return form
        raise InputError(
            f"there is no table {source[:80]!r} in the warehouse",
            why="none of that name can be read with this connection",
            fix="pass source_table='database.table'",
        )

    def stamp(self, name: str) -> str:
        """Another each time: rows are digested."""
        del name
        return secrets.token_hex(16)

    @contextmanager
    def snapshot(self, until: Deadline | None = None) -> Iterator["IbisSession"]:
        """Statements of their own, one at a time."""
        yield IbisSession(self, until, self.views)

    def rows_of(self, statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The names of columns and the rows of an unchanged statement."""
        with _quiet(), self._one_at_a_time:
            cursor = self._connection.raw_sql(statement)
            return [one[0] for one in cursor.description], cursor.fetchall()


class IbisSession(InlineSession):
    """One question's conversation with a warehouse."""

    def __init__(
        self, engine: IbisEngine, until: Deadline | None, views: Mapping[str, str]
    ) -> None:
        super().__init__(until, views)
        self._engine = engine

    def stream(self, select: str, most: int | None = None) -> Iterator[pa.RecordBatch]:
        """All rows at once: who asks for many uses an engine of ours."""
        del most
        with in_time(self._until):
            names, rows = self._engine.rows_of(self.whole(select))
            columns = list(zip(*rows, strict=True)) or [()] * len(names)
            yield pa.RecordBatch.from_arrays([pa.array(one) for one in columns], names)

    def numbers(self, select: str) -> list[int]:
        """The first row's numbers."""
        with in_time(self._until):
            rows = self._engine.rows_of(self.whole(select))[1]
        return read_numbers(rows[0] if rows else None)

    def constants(self, table: pa.Table) -> str:
        """A VALUES relation; a first row that is filtered out gives the types."""
        dialect, kinds = self._engine.dialect, {arrow: kind for kind, arrow in ARROW.items()}
        of = [kinds[field.type] for field in table.schema]
        rows = [tuple(f"CAST(NULL AS {dialect.types[kind]})" for kind in of)]
        found = zip(*(column.to_pylist() for column in table.columns), strict=True)
        rows += [tuple(map(dialect.literal, row, of)) for row in found]
        values = ", ".join(f"({number}, {', '.join(row)})" for number, row in enumerate(rows))
        names = ", ".join(map(dialect.identifier, table.column_names))
        return f"SELECT {names} FROM (VALUES {values}) AS t(row_, {names}) WHERE row_ > 0"


@contextmanager
def _quiet() -> Iterator[None]:
    """Turn any error of the warehouse into one that says nothing about data."""
    try:
        yield
    except Exception:  # noqa: BLE001 - its errors have no common class
        raise unfinished() from None
