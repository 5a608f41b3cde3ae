"""Tables where they are, in a database of Postgres, read and never written.

A question is one transaction, REPEATABLE READ and READ ONLY, which may create nothing: what a
session keeps is a part of WITH of the statements that read it. Its SELECT is computed again
in each of them, from the same snapshot and the same secret, to the same rows.
"""

import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.engines.engine import ARROW
from discreet.engines.postgres_dialect import PostgresDialect, without_zero
from discreet.engines.remote_engine import (
    InlineSession,
    RemoteEngine,
    lost,
    read_numbers,
    without_secret,
)
from discreet.engines.stored_types import POSTGRES
from discreet.engines.timing import Deadline, in_time, stopping, unfinished
from discreet.errors import InputError
from discreet.plan.kinds import Kind
from discreet.plan.schema import Schema

if TYPE_CHECKING:
    import psycopg

_FEW, _BATCH = 1 << 12, 1 << 14
_OLDEST = 140_000
_MOST_MS = 6 * 3600 * 1000
"""Milliseconds that any statement may take: a public number."""

_SETTINGS = (
    "SELECT set_config('discreet.path', current_setting('search_path'), false); "
    "SET default_transaction_read_only = on; SET search_path = pg_catalog, pg_temp; "
    "SET TimeZone = 'UTC'; SET DateStyle = ISO; SET standard_conforming_strings = on; "
    "SET extra_float_digits = 1; SET client_encoding = 'UTF8'; SET jit = off; "
    "SET work_mem = '64MB'; SET cursor_tuple_fraction = 1; SET client_min_messages = error; "
    "SET idle_in_transaction_session_timeout = 0"
)
_OIDS = {16: Kind.BOOLEAN, 20: Kind.INTEGER, 23: Kind.INTEGER, 701: Kind.REAL, 25: Kind.TEXT}
_OIDS |= {1082: Kind.DATE, 1114: Kind.TIMESTAMP}
_COLUMNS = """
    SELECT a.attname, CASE b.typtype WHEN 'e' THEN 'enum' ELSE format_type(b.oid,
        CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END) END
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    JOIN pg_type b ON b.oid = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END
    WHERE a.attrelid = CAST(%s AS regclass) AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum"""
_COUNTERS = """
    WITH RECURSIVE every(id) AS (SELECT CAST(to_regclass(%s) AS oid) UNION
        SELECT inhrelid FROM pg_inherits JOIN every ON inhparent = id)
    SELECT CASE WHEN bool_and(c.relkind IN ('r', 'p', 'm') AND NOT c.relrowsecurity)
        AND current_setting('track_counts') = 'on' AND NOT pg_is_in_recovery()
        THEN md5(string_agg(concat_ws('.', c.oid, pg_relation_filenode(c.oid),
            pg_stat_get_tuples_inserted(c.oid), pg_stat_get_tuples_updated(c.oid),
            pg_stat_get_tuples_deleted(c.oid), pg_postmaster_start_time(),
            pg_stat_get_db_stat_reset_time(d.oid)), ' ' ORDER BY c.oid)) END
    FROM every JOIN pg_class c ON c.oid = id
    JOIN pg_database d ON d.datname = current_database()"""


class PostgresEngine(RemoteEngine):
    """Tables of one database, by reference; every session has its own connection.

    Passwords come from where libpq looks for them (PGPASSWORD, ~/.pgpass); an address that holds
    one is refused. Errors of the database are not passed on, since they may quote data.
    """

    dialect = PostgresDialect()
    half = "CAST(CAST('x' || substring({h}, {at}, 16) AS BIT(64)) AS BIGINT)"
    types = POSTGRES

    def __init__(self, address: str) -> None:
        super().__init__(check_address(address))

    def columns_of(self, source: str) -> list[tuple[str, str]]:
        """Column types from the catalogue."""
        with self._connected() as connection:
            found = connection.execute(_COLUMNS, (_located(connection, source),)).fetchall()
        return [(str(name), str(of)) for name, of in found]

    def locate(self, source: str) -> str:
        """The full name of a table: a plain name, or as SQL writes it (schema.table)."""
        with self._connected() as connection:
            return _located(connection, source)

    def open(self, schema: Schema, sources: Mapping[str, str] = MappingProxyType({})) -> None:
        """Open tables by full names: sessions have no search path."""
        super().open(schema, {name: self.locate(source) for name, source in sources.items()})

    @contextmanager
    def snapshot(self, until: Deadline | None = None) -> Iterator["PostgresSnapshot"]:
        """A connection with one read-only transaction."""
        with self._connected() as connection, stopping(connection.cancel, until):
            yield PostgresSnapshot(connection, until, self.views)

    @contextmanager
    def _connected(self) -> Iterator["psycopg.Connection[Any]"]:
        import psycopg  # noqa: PLC0415 - an extra

        with _quiet():
            connection = psycopg.connect(self.address, autocommit=True, prepare_threshold=None)
        try:
            with _quiet():
                connection.execute(f"{_SETTINGS}; SET statement_timeout = {_MOST_MS}")
                _check_server(connection)
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield connection
        finally:
            connection.close()

    def stamp(self, name: str) -> str:
        """The counters of the server that move when rows of a table change.

        Relations without one count as changed each time: views and row policies, whose rows may
        come with the clock, foreign tables, and all of a replica. The server publishes counters
        with a delay of seconds.
        """
        with self._connected() as connection, _quiet():
            found = connection.execute(_COUNTERS, (self._sources[name],)).fetchone()
        return (found and found[0]) or secrets.token_hex(16)


class PostgresSnapshot(InlineSession):
    """One question's transaction."""

    def __init__(
        self,
        connection: "psycopg.Connection[Any]",
        until: Deadline | None,
        views: Mapping[str, str],
    ) -> None:
        super().__init__(until, views)
        self._connection = connection

    def constants(self, table: pa.Table) -> str:
        """A relation made from arrays."""
        dialect, kinds = PostgresEngine.dialect, {arrow: kind for kind, arrow in ARROW.items()}
        names, values, shown = [], [], []
        for field, column in zip(table.schema, table.columns, strict=True):
            name, kind = dialect.identifier(field.name), kinds[field.type]
            items = ",".join(map(_item, column.to_pylist()))
            names.append(name)
            values.append(f"CAST('{{{items}}}' AS {dialect.types[kind]}[])")
            shown.append(f'{name} COLLATE "C" AS {name}' if kind is Kind.TEXT else name)
        rows = f"unnest({', '.join(values)}) AS t({', '.join(names)})"
        return f"SELECT {', '.join(shown)} FROM {rows}"

    def stream(self, select: str, most: int | None = None) -> Iterator[pa.RecordBatch]:
        """Stream by a server-side cursor; few rows are fetched directly."""
        with self._in_time():
            if most is not None and most <= _FEW:
                found = self._connection.execute(self.whole(select))
                yield _batch(found, found.fetchall())
                return
            with self._connection.cursor(name="rows") as cursor:
                cursor.execute(self.whole(select))
                while True:
                    rows = cursor.fetchmany(_BATCH)
                    yield _batch(cursor, rows)
                    if len(rows) < _BATCH:
                        return

    def numbers(self, select: str) -> list[int]:
        """The whole numbers of a SELECT of one row; none where it has no row."""
        with self._in_time():
            found = self._connection.execute(self.whole(select)).fetchone()
        return read_numbers(found)

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        with _quiet(), in_time(self._until):
            yield


def _located(connection: "psycopg.Connection[Any]", source: str) -> str:
    """The full name of a table of the database, quoted; InputError where there is none."""
    find = (
        "SELECT format('%%I.%%I', n.nspname, c.relname) FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass({})"
    )
    forms = ["quote_ident(%s)"] + ["%s"] * bool(_SQL_NAME.fullmatch(source))
    with _quiet():
        connection.execute(
            "SELECT set_config('search_path', current_setting('discreet.path'), true)"
        )
        for form in forms:
            if "\0" not in source and (
                found := connection.execute(find.format(form), (source,)).fetchone()
            ):
                return str(found[0])
    raise InputError(
        f"there is no table {source[:80]!r} in the database",
        why="none of that name can be seen with these credentials",
        fix="pass source_table='schema.table', and let the role read it",
    )


_SQL_NAME = re.compile(r'((\w+|"(?:[^"\0]|"")+")\.)?(\w+|"(?:[^"\0]|"")+")')


def _check_server(connection: "psycopg.Connection[Any]") -> None:
    encoding = connection.execute("SHOW server_encoding").fetchone()
    if connection.info.server_version < _OLDEST or encoding is None or encoding[0] != "UTF8":
        raise InputError(
            "this database cannot be asked",
            why="it is older than Postgres 14, or its encoding is not UTF8",
            fix="use a newer server, or copy the tables into a database in UTF8",
        )


def check_address(address: str) -> str:
    """An address without a password; InputError where it holds one or cannot be read."""
    import psycopg  # noqa: PLC0415 - an extra

    try:
        said = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        raise InputError(
            "the address of a database cannot be read",
            why="it is none that libpq knows",
            fix="pass postgresql://host/database",
        ) from None
    fix = "leave the password out, and set PGPASSWORD or write it to ~/.pgpass"
    return without_secret(address, secret=bool({"password", "sslpassword"} & said.keys()), fix=fix)


@contextmanager
def _quiet() -> Iterator[None]:
    """Turn any error of the database into one that says nothing about data."""
    import psycopg  # noqa: PLC0415 - an extra

    try:
        yield
    except psycopg.errors.QueryCanceled:
        raise unfinished() from None
    except psycopg.OperationalError as wrong:
        if wrong.sqlstate is not None and not wrong.sqlstate.startswith(("57P", "08")):
            raise unfinished() from None
        raise lost("the database") from None
    except psycopg.Error:
        raise unfinished() from None


def _batch(cursor: Any, rows: list[Any]) -> pa.RecordBatch:
    about = cursor.description or ()
    columns = list(zip(*rows, strict=True)) or [()] * len(about)
    arrays = [
        pa.array(values, ARROW[_OIDS[one.type_code]])
        for one, values in zip(about, columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, [one.name for one in about])


def _item(value: Any) -> str:
    """A value as an array of Postgres has it, inside a quoted text."""
    if value is None:
        return "NULL"
    text = repr(value) if isinstance(value, float) else without_zero(str(value))
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("'", "''")
    return f'"{escaped}"'
