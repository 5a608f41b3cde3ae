"""Tables of a Spark catalogue, read where they are: on this machine, or by way of Spark Connect.

What a session keeps is computed once, when it is first read. A task that is killed runs again on
the same rows; what is lost with an executor ends the question, which is asked again under the same
charge. Noise of questions is drawn in this process; that of a census release in Python workers,
where they have this package (`discreet.curator.orders.census.census_workers`).
"""

import logging
import re
import secrets
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from discreet.engines.engine import ARROW, Work
from discreet.engines.remote_engine import RemoteEngine, lost, read_numbers, without_secret
from discreet.engines.spark_dialect import SparkDialect
from discreet.engines.stored_types import SPARK
from discreet.engines.timing import Deadline, in_time, stopping, unfinished
from discreet.errors import DiscreetError, InputError
from discreet.plan.kinds import Kind
from discreet.plan.schema import PublicTable, Table
from discreet.sql.writer.dialect import stored_name

_SESSION = "spark://session"
_FIX = "leave it out, and set SPARK_CONNECT_AUTHENTICATE_TOKEN"
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
_GONE = (
    "UNAVAILABLE",
    "SESSION_CLOSED",
    "SESSION_CHANGED",
    "SparkContext was shut down",
    "Checkpoint block",
)


class SparkEngine(RemoteEngine):
    """Tables of one Spark, by reference; every session has its own views and settings.

    A token comes from SPARK_CONNECT_AUTHENTICATE_TOKEN; an address that holds one is refused.
    Errors of the engine are not passed on, since they may quote data.
    """

    dialect = SparkDialect()
    half = "CAST(conv(substring({h}, {at}, 16), 16, 10) AS DECIMAL(38, 0))"
    types = SPARK

    def __init__(self, address: str, session: Any = None) -> None:
        secret = "token=" in address.lower() or "@" in address
        super().__init__(without_secret(address, secret=secret, fix=_FIX))
        self._given = session

    def columns_of(self, source: str) -> list[tuple[str, str]]:
        """Column types from the catalogue."""
        with _quiet():
            return list(self._session().table(source).dtypes)

    def locate(self, source: str) -> str:
        """The plain name of a table, or as SQL writes it (database.table)."""
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

    @contextmanager
    def snapshot(self, until: Deadline | None = None) -> Iterator["SparkSnapshot"]:
        """A session whose views are bound to the files that tables have now."""
        tag = f"discreet-{secrets.token_hex(8)}"
        session = self._session()
        with _quiet():
            session.addTag(tag)
        asked = SparkSnapshot(session, until, dict(self.views))
        try:
            with stopping(lambda: session.interruptTag(tag), until):
                yield asked
        finally:
            with suppress(Exception):
                session.removeTag(tag)
                asked.forget()

    def _session(self) -> Any:
        """A new session with its own settings."""
        logging.getLogger("SQLQueryContextLogger").disabled = True  # errors may quote data
        with _quiet():
            session = self._base().newSession()
            for name, value in _SETTINGS.items():
                if session.conf.get(name) != value:  # to set some is deprecated
                    session.conf.set(name, value)
        return session

    def _base(self) -> Any:
        if self._given is None and self.address.startswith("sc://"):
            from pyspark.sql.connect.session import SparkSession as Remote  # noqa: PLC0415 - an extra

            self._given = Remote.builder.remote(self.address).create()
        elif self._given is None:
            from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

            builder: Any = SparkSession.builder
            local = self.address == _SESSION
            self._given = (builder if local else builder.master(self.address)).getOrCreate()
        return self._given

    def check_readable(self, table: Table | PublicTable) -> None:
        """Refuse texts that are not UTF-8 or would take time to fetch."""
        texts = [n for n, t in self._physical[table.name].items() if SPARK.kind(t) is Kind.TEXT]
        odd = " OR ".join(f"NOT is_valid_utf8({self.dialect.identifier(n)})" for n in texts)
        with self.snapshot() as session:
            stored = stored_name(table.name, self.dialect)
            if odd and session.numbers(f"SELECT COUNT(*) FROM {stored} WHERE {odd}")[0]:
                raise InputError(
                    f"{table.name} holds a text that is no UTF-8",
                    why="a question about it would fail or not, depending on one row",
                    fix="repair the table, or leave the column out",
                )
        super().check_readable(table)

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


class SparkSnapshot:
    """One question's conversation with Spark."""

    def __init__(self, session: Any, until: Deadline | None, views: dict[str, str]) -> None:
        self._session, self._until = session, until
        self._views = views
        self._kept: list[tuple[str, Any]] = []

    def _ask(self, select: str) -> Any:
        """The rows of a SELECT; tables are bound when they are first read, all for the session."""
        for name in set(_VIEW.findall(select)) & self._views.keys():
            self._ask(self._views.pop(name)).createOrReplaceTempView(name)
        return self._session.sql(select)

    def keep(self, name: str, select: str) -> None:
        """Computed once, when it is first read; plans that read it do not hold its own.

        By way of Spark Connect they do: there it is persisted.
        """
        with self._in_time():
            rows = self._ask(select)
            remote = type(self._session).__module__.startswith("pyspark.sql.connect")
            rows = rows.persist() if remote else rows.localCheckpoint(eager=False)
            rows.createOrReplaceTempView(name)
            self._kept.append((name, rows))

    def put(self, name: str, table: pa.Table) -> None:
        """Register Arrow data."""
        with self._in_time():
            self._session.createDataFrame(table).createOrReplaceTempView(name)

    def stream(self, select: str, most: int | None = None) -> Iterator[pa.RecordBatch]:
        """Stream the answer as one Arrow table."""
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
        return read_numbers(rows[0] if rows else None)

    def has_workers(self) -> bool:
        """Whether Python workers have this version of this package; asks one of them."""
        with suppress(Exception), _quiet():
            told = _mapped(self._session.range(1).coalesce(1), _tell_version, "v string")
            return bool(told.collect()[0][0] == version("discreet"))
        return False

    def map_parts(
        self, select: str, work: Work, columns: str, parts: Sequence[int]
    ) -> Iterator[pa.RecordBatch]:
        """Run `work` in the workers, once for all parts, then give what it made part by part."""
        with self._in_time():
            rows = self._ask(select).repartition("part").sortWithinPartitions("part")
            made = _mapped(rows, work, columns).persist()
            try:
                made.count()
                for part in parts:
                    yield from made.where(f"part = {part}").toArrow().to_batches()
            finally:
                made.unpersist()

    def forget(self) -> None:
        """Let go of what was kept: Spark takes its memory back when nothing reads it."""
        for name, rows in self._kept:
            self._session.catalog.dropTempView(name)
            rows.unpersist()

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        with _quiet(), in_time(self._until):
            yield


def _mapped(rows: Any, work: Work, columns: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about releases of pandas, which nothing here uses
        return rows.mapInArrow(work, columns)


def _tell_version(_rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs in a worker."""
    yield pa.RecordBatch.from_pydict({"v": [version("discreet")]})


_TYPES = {
    "int32": ARROW[Kind.INTEGER],
    "large_string": ARROW[Kind.TEXT],
    "timestamp[us, tz=UTC]": ARROW[Kind.TIMESTAMP],
}
"""The types that Spark returns for some kinds, and their conversions."""

_VIEW = re.compile(r"\b(?:stored|data)_[0-9a-f]{32}\b")
_SQL_NAME = re.compile(r"((\w+|`(?:[^`]|``)+`)\.){0,2}(\w+|`(?:[^`]|``)+`)")


@contextmanager
def _quiet() -> Iterator[None]:
    """Turn any error of the engine into one that says nothing about data."""
    try:
        yield
    except (DiscreetError, ImportError):
        raise
    except Exception as wrong:  # noqa: BLE001 - its errors have no common class
        if type(wrong).__name__ in _LOST or any(one in str(wrong) for one in _GONE):
            raise lost("Spark") from None
        raise unfinished() from None
