"""`pg_catalog` and `information_schema` of the declared tables, from a closed database.

Clients ask about the catalogue in SQL. Such a query is translated and run on a DuckDB in memory
that holds names, types and what was declared of them, and nothing else: no file can be read, no
setting changed, and only known functions are called, for a limited time. It never touches the
engine with the data, so it is free.
"""

import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

import duckdb
import pyarrow as pa
from sqlglot import errors, exp, parse_one

from discreet.plan.kinds import Type
from discreet.plan.schema import PublicTable, Schema
from discreet.server.app_state import AppState, Caller
from discreet.server.limits import Slots
from discreet.server.postgres.messages import PostgresError
from discreet.server.postgres.session_settings import DEFAULTS, VERSION, SessionSettings
from discreet.server.postgres.statements import SYSTEM
from discreet.server.postgres.values import OIDS

SECONDS: Final = 5.0
"""How long a query of the catalogue may take."""

DATABASE: Final = "discreet"
MOST_ROWS: Final = 50_000
FIRST: Final = 16_384
"""The number of the first table; lower ones are Postgres's own."""

_SETTINGS: Final[dict[str, Any]] = {
    "enable_external_access": False,
    "memory_limit": "256MB",
    "max_temp_directory_size": "0KB",
    "threads": 1,
    "python_enable_replacements": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}


class Catalogue:
    """A database with what is public about a schema, as one caller sees it."""

    def __init__(self, schema: Schema, user: str) -> None:
        self._database = duckdb.connect(":memory:", config=_SETTINGS)
        self._database.execute(_script())
        self._fill(schema)
        about = [user, DATABASE, f"PostgreSQL {VERSION} (discreet)"]
        self._database.execute("INSERT INTO session VALUES (?, ?, ?)", about)
        settings = [(name, value) for name, value in DEFAULTS.items() if value]
        sql = "INSERT INTO pgc.pg_settings (name, setting, source) VALUES (?, ?, 'default')"
        self._database.executemany(sql, settings)
        self._database.execute("SET lock_configuration = true")
        self._user = user

    def _fill(self, schema: Schema) -> None:
        tables, columns = [], []
        for oid, name in enumerate(sorted(schema.tables), FIRST):
            table = schema.tables[name]
            is_public = isinstance(table, PublicTable)
            tables.append((oid, name, "public" if is_public else "private: ask for aggregates"))
            for number, (column, of) in enumerate(table.columns.items(), 1):
                said = _declared(of)
                columns.append((oid, number, column, OIDS[of.kind], of.nullable, said))
        if tables:
            self._database.executemany("INSERT INTO declared VALUES (?, ?, ?)", tables)
        if columns:
            sql = "INSERT INTO declared_columns VALUES (?, ?, ?, ?, ?, ?)"
            self._database.executemany(sql, columns)

    def run(self, sql: str, settings: Callable[[str], str]) -> pa.Table:
        """Answer a query; PostgresError for what is not understood, or takes too long."""
        text = _translate(sql, self._user, settings)
        cursor = self._database.cursor()
        timer = threading.Timer(SECONDS, cursor.interrupt)
        timer.start()
        try:
            answer = cursor.sql(text)
            names = list(answer.columns)
            found: pa.Table = answer.limit(MOST_ROWS).to_arrow_table()
        except duckdb.InterruptException:
            raise PostgresError(
                "57014", "this query of the catalogue takes too long", hint="ask for less"
            ) from None
        except duckdb.Error:  # what it says is about our translation, not about the query
            raise _misunderstood() from None
        finally:
            timer.cancel()
            cursor.close()
        return found.rename_columns(names)


_MACRO: Final = r"CREATE MACRO (\w+)"
_ARRAY: Final = r"(\w+) (?:TEXT|BIGINT)\[\]"


@lru_cache(maxsize=1)
def _script() -> str:
    return files(__package__).joinpath("catalogue.sql").read_text("utf-8")


def _declared(of: Type) -> str | None:
    """A column's declaration, as its comment."""
    if of.keys is not None:
        return f"one of {len(of.keys)} declared keys"
    known = of.range is not None and of.kind.is_number
    return f"from {of.range.low:g} to {of.range.high:g}" if known and of.range else None


def _misunderstood() -> PostgresError:
    return PostgresError(
        "0A000",
        "this query of the catalogue is not understood",
        hint="ask information_schema.tables or information_schema.columns",
    )


# --- translation --------------------------------------------------------------------------------


def _translate(sql: str, user: str, settings: Callable[[str], str]) -> str:
    """A query of Postgres's catalogue in the dialect of the database that answers it."""
    try:
        tree: Any = parse_one(sql, dialect="postgres")
        if not isinstance(tree, exp.Query | exp.Values):
            raise _misunderstood()
        _check(tree)
        for one in tree.selects if isinstance(tree, exp.Query) else ():
            _name(one)
        for node in reversed(list(tree.dfs())):  # what is inside comes first
            changed = _changed(node, user, settings)
            if changed is not node:
                tree = changed if node is tree else (node.replace(changed), tree)[1]
        return str(tree.sql(dialect="duckdb"))
    except (errors.SqlglotError, RecursionError):
        raise _misunderstood() from None


MOST_TABLES: Final = 32
MOST_JOINS: Final = 16
"""Tables of one SELECT."""

MOST_SELECTS: Final = 16
MOST_STARS: Final = 16
MOST_JOINED: Final = 64
"""Texts that a query joins, or replaces parts of."""

_LONGEST: Final = 2000
_LITERAL: Final = 8000
_MOST_PARTS: Final = 8
_REPLACEMENT: Final = 8


def _check(tree: Any) -> None:
    """Refuse what would change something, and what is too large to be planned or held.

    How long planning takes, and what texts of one step take, the database does not bound.
    """
    if tree.find(exp.DML, exp.DDL, exp.Into, exp.Describe, exp.Command):
        raise PostgresError("25006", "the catalogue is read here, and never changed")
    if any(one.args.get("recursive") for one in tree.find_all(exp.With)):
        raise _misunderstood()
    counts = Counter(type(node) for node in tree.dfs())
    tables_each = Counter(id(one.parent_select) for one in tree.find_all(exp.Table))
    joined = (exp.DPipe, exp.Concat, exp.ConcatWs, exp.Replace, exp.RegexpReplace)
    if (
        counts[exp.Table] > MOST_TABLES
        or max(tables_each.values(), default=0) > MOST_JOINS
        or counts[exp.Select] + counts[exp.Values] > MOST_SELECTS
        or counts[exp.Star] > MOST_STARS
        or sum(counts[one] for one in joined) > MOST_JOINED
        or any(len(one.expressions) > _MOST_PARTS for one in tree.find_all(*joined))
        or any(len(one.this) > _LITERAL for one in tree.find_all(exp.Literal, exp.ByteString))
    ):
        raise PostgresError(
            "54001", "this query of the catalogue is too large", hint="ask for less at once"
        )


def _name(one: Any) -> None:
    """Call a column of the result as Postgres would."""
    if isinstance(one, exp.Alias | exp.Column | exp.Star) or one.is_star:
        return
    inner = one.expression if isinstance(one, exp.Dot) else one
    if isinstance(inner, exp.Cast):
        inner = inner.this
    named = isinstance(inner, exp.Func) and not isinstance(inner, exp.Connector)
    name = inner.name if isinstance(inner, exp.Column | exp.Anonymous) else inner.key
    said = _CALLED.get(name, name) if named or isinstance(inner, exp.Column) else "?column?"
    one.replace(exp.alias_(one.copy(), said.lower(), quoted=True))


_CALLED: Final = {
    "currentuser": "current_user", "currentdatabase": "current_database",
    "currentschema": "current_schema", "sessionuser": "session_user",
    "currentschemas": "current_schemas", "currentcatalog": "current_catalog",
    "currenttimestamp": "now", "currentversion": "version",
}  # fmt: skip


def _changed(node: Any, user: str, settings: Callable[[str], str]) -> Any:
    match node:
        case exp.Table():
            return _table(node)
        case exp.Column() if node.name == "tableoid" or node.args.get("db"):
            plain = exp.column(node.this, table=node.args["table"])
            return exp.Literal.number(0) if node.name == "tableoid" else plain
        case exp.Dot() if isinstance(node.this, exp.Identifier) and node.this.name in SYSTEM:
            return node.expression  # pg_catalog.f(...)
        case exp.Cast():
            return _cast(node)
        case exp.Operator():
            return _operator(node)
        case exp.Collate():
            return node.this
        case exp.CurrentUser() | exp.SessionUser():
            return exp.Literal.string(user)
        case exp.CurrentCatalog() | exp.CurrentDatabase():
            return exp.Literal.string(DATABASE)
        case exp.Func():
            return _function(node, settings)
        case exp.DPipe():
            return _joined(node)
        case _:
            return node


def _bounded(node: Any, most: int = _LONGEST) -> Any:
    """No text grows without end: one that is joined with itself often enough fills the memory."""
    return exp.Left(this=node.copy(), expression=exp.Literal.number(most))


def _replaced(node: Any) -> Any:
    """Parts of a text replaced, by short ones: a long one for each letter fills the memory."""
    node.set("this", _bounded(node.this))
    if node.args.get("replacement") is not None:
        node.set("replacement", _bounded(node.args["replacement"], _REPLACEMENT))
    return _bounded(node)


def _joined(node: exp.DPipe) -> Any:
    """Texts, or arrays where one of the two looks like one, joined and bounded."""
    sides = [node.this, node.expression]
    arrays = _defined(_ARRAY)
    if not any(isinstance(one, exp.Array | exp.ArrayAgg) or one.name in arrays for one in sides):
        return _bounded(node)
    joined = exp.func("list_concat", *(one.copy() for one in sides))
    return exp.func("list_slice", joined, exp.Literal.number(1), exp.Literal.number(_LONGEST))


def _table(node: exp.Table) -> exp.Expr:
    """`pg_catalog.pg_class`, or `pg_class` alone, is a table of ours."""
    if isinstance(node.this, exp.Func):
        node.set("db", None)
        return node
    schema, name = node.db.lower(), node.name.lower()
    if schema == "information_schema":
        node.set("db", exp.to_identifier("isc"))
    elif schema == "pg_catalog" or (not schema and name.startswith("pg_")):
        node.set("db", exp.to_identifier("pgc"))
    node.set("catalog", None)
    if not node.alias and node.db in {"isc", "pgc"}:
        node.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
    return node


_NUMBERS: Final = frozenset({"oid", "xid", "cid", "xid8"})
_NAMES: Final = {
    "regclass": ("regclass_oid", "regclass_name"),
    "regtype": ("regtype_oid", "type_name"),
}


def _cast(node: exp.Cast) -> Any:
    """Casts to types that only Postgres has."""
    to = node.to
    name = to.sql(dialect="postgres").lower().replace("pg_catalog.", "").strip('"')
    inner = node.this
    if name in _NAMES:
        text = isinstance(inner, exp.Literal) and inner.is_string
        return exp.func(_NAMES[name][0 if text else 1], inner)
    if name in _NUMBERS:
        return exp.cast(inner, "BIGINT")
    if isinstance(inner, exp.Literal) and name.endswith("[]") and inner.this.startswith("{"):
        parts = [one.strip('" ') for one in inner.this[1:-1].split(",") if one]
        return exp.array(*(exp.Literal.string(one) for one in parts))
    if name.endswith(("[]", "vector")):
        return inner
    theirs = isinstance(to, exp.ObjectIdentifier) or to.this == exp.DataType.Type.USERDEFINED
    return exp.cast(inner, "TEXT") if theirs or name in {"name", "char"} else node


_OPERATORS: Final[dict[str, Any]] = {
    "~": exp.RegexpLike, "~*": exp.RegexpILike, "=": exp.EQ, "<>": exp.NEQ, "~~": exp.Like,
    "~~*": exp.ILike, "<": exp.LT, ">": exp.GT, "<=": exp.LTE, ">=": exp.GTE, "+": exp.Add,
    "-": exp.Sub,
}  # fmt: skip


def _operator(node: exp.Operator) -> Any:
    """OPERATOR(pg_catalog.~)."""
    sign = str(node.args["operator"]).removeprefix("pg_catalog.")
    plain = sign.removeprefix("!") if sign.startswith("!~") else sign
    if plain not in _OPERATORS:
        raise _misunderstood()
    made = _OPERATORS[plain](this=node.this, expression=node.expression)
    return made if plain == sign else exp.Not(this=exp.Paren(this=made))


_KNOWN: Final = frozenset(
    """
    abs all and any anyvalue array array_agg array_length array_lower array_ndims
    array_position array_to_string array_upper arrayagg arraylength arraysize arraytostring
    avg bool_and bool_or cardinality case cast ceil coalesce concat concat_ws concatws count
    currentdate currentschemas currenttime currenttimestamp currentversion date_part
    date_trunc denserank exists explode explodinggenerateseries extract floor
    generate_subscripts generateseries greatest groupconcat if initcap least left length
    logicaland logicalor lower ltrim max min mod not now nullif or pg_get_keywords rank
    regexp_matches regexpilike regexplike regexpreplace replace right round rownumber rtrim
    split_part splitpart starts_with startswith string_agg strpos strposition substring sum
    timestamptrunc to_char tochar trim trycast unnest upper xor
    """.split()  # noqa: SIM905 - a list of words
)
"""Functions that only compute, in no more time and room than they are given."""


_OF_NOTHING: Final = frozenset({"format", "json_build_object", "json_agg", "row_to_json"})
"""Functions that clients call of rows that are never there."""


def _function(node: exp.Func, settings: Callable[[str], str]) -> Any:
    """A function that is known and harmless; what depends on the session is answered here."""
    name = (node.name if isinstance(node, exp.Anonymous) else node.key).lower()
    if name == "current_setting":
        asked = node.expressions[0] if node.expressions else None
        known = isinstance(asked, exp.Literal)
        return exp.Literal.string(settings(asked.name)) if known and asked else exp.null()
    if name == "set_config":  # of a search path it changes nothing; a price not set is refused
        asked = node.expressions
        if len(asked) < 2 or asked[0].name.lower().startswith("discreet."):
            raise PostgresError("0A000", "set_config sets nothing here", hint="SET name = value")
        return exp.Literal.string(asked[1].name)
    if name in {"current_database", "currentschema"}:
        return exp.Literal.string("public" if name == "currentschema" else DATABASE)
    if name.endswith("_is_visible"):
        return exp.true()
    if name in _OF_NOTHING:
        return exp.null()
    if name not in _KNOWN and name not in _defined(_MACRO):
        raise PostgresError(
            "42883",
            f"there is no function {name[:60]} here",
            hint="functions are few: pg_catalog's",
        )
    if isinstance(node, exp.Replace | exp.RegexpReplace):
        return _replaced(node)
    return _bounded(node) if name in {"concat", "concatws", "concat_ws"} else node


@lru_cache(maxsize=2)
def _defined(pattern: str) -> frozenset[str]:
    """Names that the script defines in this way."""
    return frozenset(re.findall(pattern, _script()))


_MOST: Final = 16
_AT_ONCE: Final = 2


class Catalogues:
    """One catalogue for each name and scope, made again when what was declared changes."""

    def __init__(self, app_state: AppState) -> None:
        self.app_state = app_state
        self._slots = Slots(_AT_ONCE, each=1)
        self._lock = threading.Lock()
        self._known: OrderedDict[object, tuple[Schema, Catalogue]] = OrderedDict()

    def run(self, sql: str, caller: Caller, settings: SessionSettings) -> pa.Table:
        """Answer a query; few at a time, and one of each name."""
        patience = self.app_state.settings.patience
        with self._slots.taken(patience=patience, caller=caller.name):
            return self._of(caller).run(sql, settings.__getitem__)

    def _of(self, caller: Caller) -> Catalogue:
        schema = self.app_state.curator.async_session(None, caller.datasets).schema
        key = caller.name, caller.datasets
        with self._lock:
            known = self._known.pop(key, None)
            if known is None or known[0] != schema:
                known = schema, Catalogue(schema, caller.name)
            self._known[key] = known
            if len(self._known) > _MOST:
                self._known.popitem(last=False)
            return known[1]
