"""Tables of a Spark catalogue, read where they are: on this machine, or by way of Spark Connect.

What a session keeps is persisted when it is first read, so that it is computed once; a part that
is lost with its executor is computed again from the same files to the same rows. Noise is drawn
in this process, never by Spark.
"""

import logging
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from discreet.engines.describe import ColumnDescription, Description
from discreet.engines.engine import ARROW, Deadline
from discreet.engines.owner_checks import (
    check_columns,
    check_keys,
    check_lengths,
    digest_of,
    render_digest,
)
from discreet.engines.spark_dialect import SparkDialect
from discreet.engines.spark_types import stored_kind
from discreet.engines.stopping import in_time, stopping, unfinished
from discreet.errors import DiscreetError, InputError, ServiceError
from discreet.plan.kinds import Kind
from discreet.plan.schema import PublicTable, Schema, Table
from discreet.sql.writer.stored_view import render_view, stored_name, view_name

_SESSION = "spark://session"
_SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
}
_LOST = ("Py4JNetworkError", "ConnectionRefusedError", "RetriesExceeded")
_GONE = ("UNAVAILABLE", "SESSION_CLOSED", "SESSION_CHANGED", "SparkContext was shut down")


class SparkEngine:
    """Tables of one Spark, by reference; every session has views and settings of its own.

    A token comes from SPARK_CONNECT_AUTHENTICATE_TOKEN; an address that holds one is refused.
    Errors of the engine are not passed on, since they may quote data.
    """

    dialect = SparkDialect()

    def __init__(self, address: str, session: Any = None) -> None:
        self._address = check_address(address)
        self._given = session
        self._schema = Schema({})
        self._sources: dict[str, str] = {}
        self._physical: dict[str, dict[str, str]] = {}

    @property
    def address(self) -> str:
        """As it was given."""
        return self._address

    def describe(self, source: str) -> Description:
        """The columns of a table, from the catalogue."""
        with _quiet():
            types = self._session().table(source).dtypes
        return Description(tuple(ColumnDescription(n, t, stored_kind(t)) for n, t in types))

    def locate(self, source: str) -> str:
        """The name of a table as it is, or as SQL writes it (database.table)."""
        session = self._session()
        with _quiet():
            home = self.dialect.identifier(session.catalog.currentDatabase())
        quoted = self.dialect.identifier(source)
        for form in (f"{home}.{quoted}", *([source] if _SQL_NAME.fullmatch(source) else [])):
            with suppress(Exception):
                session.table(form).dtypes  # noqa: B018 - asks the catalogue
                return form
        raise InputError(
            f"there is no table {source[:80]!r} in the catalogue",
            why="none of that name can be read with these credentials",
            fix="pass source_table='database.table'; views of a session are its own",
        )

    def open(self, schema: Schema, sources: Mapping[str, str] = MappingProxyType({})) -> None:
        """Learn where tables are and what their columns are; check keys."""
        self._schema = schema
        for name, source in sources.items():
            described = self.describe(source)
            self._sources[name] = source
            self._physical[name] = {one.name: one.stored for one in described.columns}
        check_columns(schema, self._physical)
        with self.snapshot() as session:
            check_keys(schema, self._physical, lambda one: bool(session.numbers(one)), self.dialect)

    @contextmanager
    def snapshot(self, until: Deadline | None = None) -> Iterator["SparkSnapshot"]:
        """A session whose views are bound to the files that tables have now."""
        tag = f"discreet-{secrets.token_hex(8)}"
        session = self._session()
        with _quiet():
            session.addTag(tag)
        asked = SparkSnapshot(session, until, self._views(session))
        try:
            with stopping(lambda: session.interruptTag(tag), until):
                yield asked
        finally:
            with suppress(Exception):
                session.removeTag(tag)
                asked.forget()

    def _views(self, session: Any) -> dict[str, tuple[str, Any]]:
        """The SELECT and the rows of each view; rows are bound to files when they are made."""
        stored = {
            stored_name(name, self.dialect): ("", partial(session.table, source))
            for name, source in self._sources.items()
        }
        selects = {
            view_name(name, self.dialect): render_view(
                table, self._schema, self._physical, self.dialect
            )
            for name, table in self._schema.tables.items()
        }
        return stored | {
            name: (select, partial(session.sql, select)) for name, select in selects.items()
        }

    def _session(self) -> Any:
        """A new session, with settings of its own."""
        logging.getLogger("SQLQueryContextLogger").disabled = True  # errors may quote data
        with _quiet():
            session = self._base().newSession()
            for name, value in _SETTINGS.items():
                session.conf.set(name, value)
        return session

    def _base(self) -> Any:
        if self._given is None:
            from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

            builder: Any = SparkSession.builder
            if self._address.startswith("sc://"):
                self._given = builder.remote(self._address).create()
            else:
                local = self._address == _SESSION
                self._given = (builder if local else builder.master(self._address)).getOrCreate()
        return self._given

    def check_readable(self, table: Table | PublicTable) -> None:
        """Refuse texts that are no UTF-8 or would take time to fetch."""
        texts = [n for n, t in self._physical[table.name].items() if stored_kind(t) is Kind.TEXT]
        odd = " OR ".join(f"NOT is_valid_utf8({self.dialect.identifier(n)})" for n in texts)
        with self.snapshot() as session:
            stored = stored_name(table.name, self.dialect)
            if odd and session.numbers(f"SELECT COUNT(*) FROM {stored} WHERE {odd}")[0]:
                raise InputError(
                    f"{table.name} holds a text that is no UTF-8",
                    why="a question about it would fail or not, depending on one row",
                    fix="mend the table, or leave the column out",
                )
            check_lengths(table, self._physical, session.numbers, self.dialect)

    def row_count(self, name: str) -> int:
        """How many rows are stored behind a table; for the owner."""
        with self.snapshot() as session:
            return session.numbers(f"SELECT COUNT(*) FROM {stored_name(name, self.dialect)}")[0]

    def stamp(self, name: str) -> str:
        """A digest of the files of a table, their sizes and times; a new one where it has none."""
        names = ("file_path", "file_size", "file_modification_time")
        facts = ", ".join(f"CAST(_metadata.{one} AS STRING)" for one in names)
        files = f"SELECT DISTINCT concat_ws('|', {facts}) AS f FROM {self._sources[name]}"
        select = f"SELECT md5(concat_ws('\\n', array_sort(collect_list(f)))) AS m FROM ({files})"
        session = self._session()
        with suppress(Exception):
            return str(session.sql(select).toArrow().column(0)[0].as_py())
        return secrets.token_hex(16)

    def digest(self, name: str) -> str:
        """A digest of the rows of a table as they are read, in whatever order: 128 bits."""
        half = "CAST(conv(substring({h}, {at}, 16), 16, 10) AS DECIMAL(38, 0))"
        select = render_digest(self._schema.tables[name], self._physical, self.dialect, half)
        with self.snapshot() as session:
            return digest_of(session.numbers(select))

    def close(self) -> None:
        """A session that was given stays open."""


class SparkSnapshot:
    """One question's conversation with Spark."""

    def __init__(
        self, session: Any, until: Deadline | None, views: dict[str, tuple[str, Any]]
    ) -> None:
        self._session, self._until = session, until
        self._views = views
        self._kept: list[Any] = []

    def _ask(self, select: str) -> Any:
        """The rows of a SELECT; tables are bound when they are first read, all for the session."""
        for name in set(_VIEW.findall(select)) & self._views.keys():
            below, make = self._views.pop(name)
            self._ask(below)
            make().createOrReplaceTempView(name)
        return self._session.sql(select) if select else None

    def keep(self, name: str, select: str) -> None:
        """Persisted when it is first read."""
        with self._in_time():
            rows = self._ask(select).persist()
            self._kept.append(rows)
            rows.createOrReplaceTempView(name)

    def put(self, name: str, table: pa.Table) -> None:
        """By way of Arrow."""
        with self._in_time():
            self._session.createDataFrame(table).createOrReplaceTempView(name)

    def stream(self, select: str, most: int | None = None) -> Iterator[pa.RecordBatch]:
        """As one table of Arrow."""
        del most
        with self._in_time():
            found = self._ask(select).toArrow()
            columns = [
                column.cast(_TYPES.get(str(column.type), column.type)) for column in found.columns
            ]
            table = pa.table(columns, names=found.column_names)
            yield from table.to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]

    def numbers(self, select: str) -> list[int]:
        """The whole numbers of a SELECT of one row; none where it has no row."""
        with self._in_time():
            rows = self._ask(select).collect()
        return [int(one or 0) for one in rows[0]] if rows else []

    def forget(self) -> None:
        """Give back what was persisted."""
        for rows in self._kept:
            rows.unpersist()

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        with _quiet(), in_time(self._until):
            yield


_TYPES = {
    "int32": ARROW[Kind.INTEGER],
    "large_string": ARROW[Kind.TEXT],
    "timestamp[us, tz=UTC]": ARROW[Kind.TIMESTAMP],
}
"""What Spark gives for some kinds, and what it is then."""

_VIEW = re.compile(r"\b(?:stored|data)_[0-9a-f]{32}\b")
_SQL_NAME = re.compile(r"((\w+|`(?:[^`]|``)+`)\.){0,2}(\w+|`(?:[^`]|``)+`)")


def check_address(address: str) -> str:
    """An address without a token; InputError where it holds one."""
    if "token=" not in address.lower() and "@" not in address:
        return address
    raise InputError(
        "the address of a Spark holds a token or a password",
        why="addresses are kept and shown",
        fix="leave it out, and set SPARK_CONNECT_AUTHENTICATE_TOKEN",
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Turn any error of the engine into one that says nothing about data."""
    try:
        yield
    except (DiscreetError, ImportError):
        raise
    except Exception as wrong:  # noqa: BLE001 - its errors have no common class
        lost = type(wrong).__name__ in _LOST or any(one in str(wrong) for one in _GONE)
        if not lost:
            raise unfinished() from None
        raise ServiceError(
            "Spark cannot be reached, or broke off",
            why="it is down, restarting, or does not let this program in",
            fix="ask the same again: what was charged stays charged once",
        ) from None
