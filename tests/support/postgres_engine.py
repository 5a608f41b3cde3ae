"""A small engine on Postgres, to prove that the interface is one that a second engine can have.

It copies tables in, keeps selects in temporary tables, and guards what Postgres raises on
(overflow, underflow, casts that fail) with functions of the session.
"""

# ruff: noqa: ARG002, S608 - a dialect has the arguments of others; its statements are its own

import time
from contextlib import contextmanager
from types import MappingProxyType
from typing import ClassVar

import psycopg
import pyarrow as pa

from discreet.engines.describe import ColumnDescription, Description
from discreet.engines.engine import ARROW
from discreet.errors import EngineError, InputError
from discreet.plan.expressions import Function
from discreet.plan.kinds import Kind
from discreet.plan.patterns import Wildcard
from discreet.sql.writer.dialect import Dialect
from discreet.sql.writer.stored_view import SCHEMAS, render_view, stored_name, view_name

SHORT = 60
TYPES = {
    "boolean": Kind.BOOLEAN,
    "bigint": Kind.INTEGER,
    "double precision": Kind.REAL,
    "text": Kind.TEXT,
    "date": Kind.DATE,
    "timestamp without time zone": Kind.TIMESTAMP,
}
OIDS = {16: Kind.BOOLEAN, 20: Kind.INTEGER, 23: Kind.INTEGER, 701: Kind.REAL, 25: Kind.TEXT}
OIDS |= {1082: Kind.DATE, 1114: Kind.TIMESTAMP}
YEAR = "(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
DATE = YEAR + "-[0-9]{2}-[0-9]{2}"
GRAMMAR = {
    Kind.INTEGER: "[+-]?[0-9]+",
    Kind.REAL: r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?",
    Kind.DATE: DATE,
    Kind.TIMESTAMP: DATE + r"[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?",
}
PARTS = {Function.WEEKDAY: "isodow", Function.YEARDAY: "doy"}
REAL = "DOUBLE PRECISION"
GUARDED = {
    Function.ADD: ("x + y", "'Infinity'"),
    Function.SUBTRACT: ("x - y", "'Infinity'"),
    Function.MULTIPLY: (
        "x * y",
        "CASE WHEN abs(x) > 1 AND abs(y) > 1 THEN 'Infinity' ELSE 0::float8 END",
    ),
    Function.DIVIDE: ("x / y", "CASE WHEN y = 0 OR abs(x) > abs(y) THEN 'NaN' ELSE 0::float8 END"),
    Function.SQRT: ("sqrt(x)", "'NaN'"),
    Function.EXP: ("exp(x)", "CASE WHEN x > 0 THEN 'Infinity' ELSE 0::float8 END"),
    Function.LN: ("ln(x)", "'NaN'"),
    Function.LOG10: ("log(x)", "'NaN'"),
    Function.LOG2: ("ln(x) / 0.693147180559945309417", "'NaN'"),
}
"""Each function, and what it is where Postgres raises."""


def guard(name, takes, gives, value, otherwise):
    return (
        f"CREATE FUNCTION pg_temp.{name}({takes}) RETURNS {gives} "
        "LANGUAGE plpgsql IMMUTABLE STRICT "
        f"AS $$BEGIN RETURN {value}; EXCEPTION WHEN data_exception THEN RETURN {otherwise}; END$$"
    )


FUNCTIONS = [
    *(
        guard(f"real_{f.name}", f"x {REAL}" + f", y {REAL}" * ("y" in how[0]), REAL, *how)
        for f, how in GUARDED.items()
    ),
    guard("parse_DATE", "t TEXT", "DATE", "t::DATE", "NULL"),
    guard("parse_TIMESTAMP", "t TEXT", "TIMESTAMP", "t::TIMESTAMP", "NULL"),
    guard("parse_INTEGER", "t TEXT", "BIGINT", "t::BIGINT", "NULL"),
    guard("size_of", "t TEXT", "NUMERIC", "abs(t::NUMERIC)", "(t !~ 'e-')::INT"),
    guard(
        "parse_REAL", "t TEXT", REAL, f"t::{REAL}",
        "CASE WHEN pg_temp.size_of(t) < 1 THEN 0::float8 ELSE 'Infinity' END",
    ),
]  # fmt: skip


class Postgres(Dialect):
    """Postgres 14 or later."""

    types: ClassVar = {
        Kind.BOOLEAN: "BOOLEAN",
        Kind.INTEGER: "BIGINT",
        Kind.REAL: REAL,
        Kind.TEXT: "TEXT",
        Kind.DATE: "DATE",
        Kind.TIMESTAMP: "TIMESTAMP",
    }

    def located(self, place, table):
        stored = place == SCHEMAS[0]
        return super().located(place, table) if stored else f"pg_temp.{self.identifier(table)}"

    def text(self, value):
        return f"CAST({super().text(value)} AS TEXT)"

    def double(self, value):
        return f"CAST('{float(value)!r}' AS {REAL})"

    def cast(self, text, kind, source=None):
        match source, kind:
            case Kind.BOOLEAN, (Kind.INTEGER | Kind.REAL):
                one, zero = (self.literal(n, kind) for n in (1, 0))
                return self.choose([(text, one), (f"NOT {text}", zero)])
            case Kind.INTEGER, Kind.BOOLEAN:
                return f"({text} <> 0)"
        return super().cast(text, kind, source)

    def let(self, texts, body):
        if sum(map(len, texts)) <= SHORT:
            return body(*texts)
        fields = ", ".join(f"{text} AS c{i}" for i, text in enumerate(texts))
        names = [f"it.c{i}" for i in range(len(texts))]
        return f"(SELECT {body(*names)} FROM (SELECT {fields} OFFSET 0) AS it)"

    def wide(self, text, kind=Kind.INTEGER):
        if kind is Kind.INTEGER:
            return f"CAST({text} AS NUMERIC)"

        def body(it):
            high = f"floor({it} / 4294967296)"
            low = f"CAST({it} - {high} * 4294967296 AS BIGINT)"
            return f"(CAST({high} AS BIGINT)::NUMERIC * 4294967296 + {low})"

        return self.let([text], body)

    def extreme(self, which, text, kind, where=""):
        if kind is Kind.BOOLEAN:
            return f"{'bool_and' if which == 'min' else 'bool_or'}({text}){where}"
        return super().extreme(which, text, kind, where)

    def bits(self, text):
        return f"CAST(CAST('x' || encode(float8send({text}), 'hex') AS BIT(64)) AS BIGINT)"

    def microseconds(self, text):
        return f"CAST(extract(epoch FROM {text}) * 1000000 AS BIGINT)"

    def hash(self, texts):
        return f'(md5(concat({", ".join(texts)})) COLLATE "C")'

    def real(self, function, *operands):
        return f"pg_temp.real_{function.name}({', '.join(operands)})"

    def is_finite(self, text):
        return f"({text} > '-Infinity' AND {text} < 'Infinity')"

    def to_integer(self, text):
        low, high = self.double(-(2.0**63)), self.double(2.0**63)
        return self.let(
            [text],
            lambda it: self.only_if(f"{it} >= {low} AND {it} < {high}", f"CAST({it} AS BIGINT)"),
        )

    def whole(self, function, text):
        if function is not Function.ROUND:
            return f"{function.value}({text})"

        def body(it):
            up = f"CASE WHEN abs({it} - trunc({it})) >= 0.5 THEN sign({it}) ELSE 0 END"
            return f"(trunc({it}) + {up})"

        return self.let([text], body)

    def remainder(self, x, y, *, wide):
        return f"({x} % {y})"

    def whole_quotient(self, x, y, *, wide):
        if not wide:
            return f"({x} / {y})"
        least = self.literal(-(2**63), Kind.INTEGER)
        return self.let(
            [x, y],
            lambda a, b: f"CASE WHEN NOT ({a} = {least} AND {b} = -1) THEN {a} / {b} END",
        )

    def recase(self, function, text):
        return f'{function.value}({text} COLLATE "C")'

    def trim(self, function, text):
        return f"{'btrim' if function is Function.TRIM else function.value}({text}, ' ')"

    def length(self, text):
        return f"CAST(char_length({text}) AS BIGINT)"

    def bytes(self, text):
        return f"octet_length({text})"

    def substring(self, text, first, count):
        most = (1 << 31) - 1
        return f"substring({text}, {min(first, most)}, {min(count, most)})"

    def right(self, text, count):
        return f"right({text}, {min(count, (1 << 31) - 1)})"

    def replace(self, text, what, by):
        return f"replace({text}, {self.text(what)}, {self.text(by)})"

    def position(self, text, part):
        return f"CAST(strpos({text}, {part}) AS BIGINT)"

    def starts_with(self, text, beginning):
        return f"starts_with({text}, {beginning})"

    def ends_with(self, text, end):
        return self.let([end], lambda it: f"(right({text}, char_length({it})) = {it})")

    def like(self, text, pattern):
        special = {"%": r"\%", "_": r"\_", "\\": r"\\"}
        escaped = "".join(
            t.value if isinstance(t, Wildcard) else special.get(t, t) for t in pattern
        )
        return rf"({text} LIKE {self.text(escaped)} ESCAPE '\')"

    def part(self, function, text):
        name = PARTS.get(function, function.value)
        return f"CAST(floor(extract({name} FROM CAST({text} AS TIMESTAMP))) AS BIGINT)"

    def truncate(self, unit, text, kind):
        return self.cast(f"date_trunc('{unit.value}', CAST({text} AS TIMESTAMP))", kind)

    def days_later(self, time, operator, days, kind):
        def body(at, count):
            place = f"(CAST({at} AS DATE) - DATE '0001-01-01') {operator} {count}"
            step = f"CAST({count} AS INTEGER)"
            step = step if kind is Kind.DATE else f"make_interval(days => {step})"
            return self.only_if(f"{place} BETWEEN 0 AND 3652058", f"{at} {operator} {step}")

        return self.let([time, days], body)

    def months_later(self, time, months, kind):
        def body(at, count):
            year, month = (f"extract({part} FROM {at})" for part in ("year", "month"))
            place = f"12 * {year} + {month} - 1 + {count}"
            later = f"{at} + make_interval(months => CAST({count} AS INTEGER))"
            return self.only_if(f"{place} BETWEEN 12 AND 119999", self.cast(f"({later})", kind))

        return self.let([time, months], body)

    def seconds_later(self, time, seconds):
        def body(at, count):
            first, end = (
                f"extract(epoch FROM TIMESTAMP '{day}')" for day in ("0001-01-01", "9999-12-31")
            )
            days, rest = f"CAST({count} / 86400 AS INTEGER)", f"{count} % 86400"
            later = f"{at} + make_interval(days => {days}, secs => {rest})"
            place = f"extract(epoch FROM {at}) + {count}"
            return self.only_if(f"{place} >= {first} AND {place} < {end} + 86400", later)

        return self.let([time, seconds], body)

    def days_between(self, later, earlier):
        return f"CAST({later} - {earlier} AS BIGINT)"

    def parse(self, text, kind):
        grammar = self.text(f"^({GRAMMAR[kind]})$")
        return self.let(
            [text], lambda it: self.only_if(f"{it} ~ {grammar}", f"pg_temp.parse_{kind.name}({it})")
        )

    def stored(self, text, physical, wanted):
        kind = TYPES[physical]
        return (f'({text} COLLATE "C")' if kind is Kind.TEXT else text), kind, kind is Kind.REAL


class PostgresEngine:
    """Tables that are copied into a database of Postgres."""

    dialect = Postgres()

    def __init__(self, address):
        self.address = address
        self.owner = psycopg.connect(address, autocommit=True)
        prepare(self.owner)
        self.physical = {}

    def describe(self, source):
        return Description(
            tuple(ColumnDescription(n, t, TYPES.get(t)) for n, t in self.columns(source))
        )

    def columns(self, table):
        found = self.owner.execute(
            "SELECT column_name, data_type FROM information_schema.columns "
            "WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
            (SCHEMAS[0], table),
        )
        return found.fetchall()

    def open(self, schema, sources=MappingProxyType({})):
        self.owner.execute(f"DROP SCHEMA IF EXISTS {SCHEMAS[0]} CASCADE")
        self.owner.execute(f"CREATE SCHEMA {SCHEMAS[0]}")
        for name, rows in sources.items():
            copy_in(self.owner, stored_name(name, self.dialect), rows)
            self.physical[name] = dict(self.columns(name))
        for table in schema.tables.values():
            for column in getattr(table, "key", ()):
                self.check_unique(table.name, column)
        self.schema = schema

    def check_unique(self, table, column):
        name, stored = self.dialect.identifier(column), stored_name(table, self.dialect)
        found = self.owner.execute(f"SELECT COUNT({name}) > COUNT(DISTINCT {name}) FROM {stored}")
        if found.fetchone()[0]:
            raise InputError(f"{table}.{column} is not unique", why="it is a key", fix="repair it")

    @contextmanager
    def snapshot(self, until=None):
        with psycopg.connect(self.address, autocommit=True) as connection:
            prepare(connection)
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            for table in self.schema.tables.values():
                view = render_view(table, self.schema, self.physical, self.dialect)
                name = view_name(table.name, self.dialect)
                connection.execute(f"CREATE VIEW {name} AS {view}")
            yield PostgresSession(connection, until)
            connection.execute("ROLLBACK")

    def check_readable(self, table):
        del table

    def row_count(self, name):
        return self.owner.execute(
            f"SELECT COUNT(*) FROM {stored_name(name, self.dialect)}"
        ).fetchone()[0]

    def close(self):
        self.owner.close()


class PostgresSession:
    """One question's transaction."""

    def __init__(self, connection, until):
        self.connection, self.until, self.kept = connection, until, set()

    def keep(self, name, select):
        with self.in_time() as run:
            run(f"CREATE TEMP TABLE fresh_{name} AS {select}")
            run(f"DROP TABLE IF EXISTS pg_temp.{name}")
            run(f"ALTER TABLE fresh_{name} RENAME TO {name}")

    def stream(self, select, _most=None):
        with self.in_time() as run:
            found = run(select)
            kinds = [OIDS[column.type_code] for column in found.description]
            names = [column.name for column in found.description]
            columns = list(zip(*found.fetchall(), strict=True)) or [()] * len(names)
            arrays = [pa.array(c, ARROW[kind]) for c, kind in zip(columns, kinds, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names)

    def put(self, name, table):
        with self.in_time() as run:
            run(f"DROP TABLE IF EXISTS pg_temp.{name}")
            copy_in(self.connection, f"pg_temp.{name}", table)

    @contextmanager
    def in_time(self):
        try:
            if self.until is not None:
                left = int(1000 * (self.until.moment - time.monotonic()))
                if left <= 0:
                    raise unfinished()
                self.connection.execute(f"SET LOCAL statement_timeout = {left}")
            yield self.connection.execute
        except psycopg.Error:
            raise unfinished() from None


def unfinished():
    return EngineError("the engine could not finish", why="it may not say", fix="ask its owner")


def prepare(connection):
    connection.execute("SET client_min_messages = warning; SET DateStyle = ISO")
    connection.execute("SET default_transaction_read_only = off; SET jit = off")
    for function in FUNCTIONS:
        connection.execute(function)


def copy_in(connection, target, rows):
    types = {arrow: Postgres.types[kind] for kind, arrow in ARROW.items()}
    columns = ", ".join(
        f"{Postgres().identifier(field.name)} {types[field.type]}" for field in rows.schema
    )
    connection.execute(f"CREATE TABLE {target} ({columns})")
    with connection.cursor().copy(f"COPY {target} FROM STDIN") as copy:
        for row in rows.to_pylist():
            copy.write_row(tuple(row.values()))
