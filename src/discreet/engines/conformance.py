"""The contract of engines, as checks that an engine's author can run.

`check_engine(load)` raises `InvariantBroken` at the first promise that is not kept. An engine that
passes gives the integers that the reference interpreter of this package gives, on poison, in any
order of rows; it fails on none of them.

The cases are tables, poison values and stored answers. The answers in `cases.json` were computed by
the reference interpreter of the tests, which knows no SQL; a test computes them again. No text
holds the character 0, which some engines lack.
"""

import datetime as dt
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from importlib import resources
from itertools import islice
from typing import Any, Final, TypeAlias

import pyarrow as pa

from discreet.engines.engine import ARROW, Engine, Session
from discreet.engines.timing import Deadline
from discreet.errors import EngineError, InvariantBroken
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.schema import EachRow, Limits, Person, PublicTable, Schema, Table
from discreet.plan.statistics import Distinct, Ranks, needed
from discreet.sql.reader.read import read
from discreet.sql.writer.compile import CompiledQuery
from discreet.sql.writer.dialect import view_name
from discreet.sql.writer.relations import render_relation

COLUMNS: Mapping[str, Type] = {
    "x": Type(Kind.REAL),
    "p": Type(Kind.REAL, range=Range(-3.5, 10)),
    "r": Type(Kind.REAL, nullable=False, range=Range(0, 1e300)),
    "n": Type(Kind.INTEGER),
    "q": Type(Kind.INTEGER, range=Range(0, 100)),
    "m": Type(Kind.INTEGER, nullable=False, range=Range(-(2**40), 2**40)),
    "b": Type(Kind.BOOLEAN, keys=(False, True, None)),
    "t": Type(Kind.TEXT),
    "k": Type(Kind.TEXT, keys=("Ab", "c'd", "", None)),
    "d": Type(Kind.DATE),
    "e": Type(Kind.DATE, range=Range(-400, 20000)),
    "s": Type(Kind.TIMESTAMP),
}
"""Free and bounded columns of every kind, with and without NULL."""

ODD = "we\"ird 'table' é"
CELLS = Table("cells", {"id": Type(Kind.INTEGER, nullable=False), **COLUMNS}, EachRow())
OWNED = Table("owned", {"who": Type(Kind.INTEGER), **COLUMNS}, Person("who"), Limits(40, 40))
MANY = Table(
    "many",
    {
        "who": Type(Kind.REAL),
        "x": Type(Kind.REAL, range=Range(-100, 100)),
        "at": Type(Kind.TIMESTAMP),
        "day": Type(Kind.DATE),
        "b": Type(Kind.BOOLEAN),
        "note": Type(Kind.TEXT),
    },
    Person("who"),
)
NAMED = Table(
    ODD,
    {"Who Is": Type(Kind.TEXT), 'na"me \\ é': Type(Kind.TEXT), "order": Type(Kind.INTEGER)},
    Person("Who Is"),
)
LABELS = PublicTable(
    "labels",
    {
        "code": Type(Kind.INTEGER, nullable=False),
        "name": Type(Kind.TEXT, keys=("x", "y", None)),
        "size": Type(Kind.REAL, range=Range(0, 9)),
    },
    ("code",),
)
SCHEMA = Schema({table.name: table for table in (CELLS, OWNED, MANY, NAMED, LABELS)})


@cache
def stored() -> Mapping[str, Any]:
    """Difficult values, and what must be returned."""
    text = resources.files("discreet.engines").joinpath("cases.json").read_text("utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found


def rows_of(name: str) -> list[dict[str, Any]]:
    """The rows that are stored behind a table, as values of Python."""
    match name:
        case "many":
            return [_one_of_many(i) for i in range(303)]
        case "labels":
            codes = [(0, "x", 1.5), (1, "y", None), (2, None, 99.0), (2**63 - 1, "y", 9.0)]
            return [dict(zip(LABELS.columns, row, strict=True)) for row in codes]
        case _ if name == ODD:
            odd = ["O'Brien", 'a"b', "back\\slash", "%_", "é", "e\u0301", "👨‍👩‍👧", "", "\n"]
            named = [(f"{one}{i % 3}", one, i) for i, one in enumerate(odd * 2)]
            return [dict(zip(NAMED.columns, row, strict=True)) for row in named]
    table, poison = SCHEMA.tables[name], stored()["rows"]
    rows = [dict(zip(poison, row, strict=True)) for row in zip(*poison.values(), strict=True)]
    return [
        {column: value_of(row[column], of.kind) for column, of in table.columns.items()}
        for row in rows
    ]


def arrow_of(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as a table of Arrow."""
    columns = SCHEMA.tables[name].columns.items()
    return pa.table(
        {column: pa.array([row[column] for row in rows], ARROW[of.kind]) for column, of in columns}
    )


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    return value.isoformat() if isinstance(value, dt.date) else value


def value_of(plain: Any, kind: Kind) -> Any:
    """A value, decoded from JSON."""
    if plain is None or not kind.is_time:
        return plain
    return (dt.date if kind is Kind.DATE else dt.datetime).fromisoformat(plain)


_BEFORE = dt.datetime(1969, 12, 31, 23, 59, 59, 999_000)  # noqa: DTZ001 - timestamps have no zone


def _one_of_many(i: int) -> dict[str, Any]:
    """One person has 300 rows, another three: more than a join keeps of anybody."""
    return {
        "who": 0.1 if i < 300 else -2.5e-300,
        "x": (i % 17) / 8 - 1 if i % 5 else -0.0,
        "at": _BEFORE + i * dt.timedelta(microseconds=777),
        "day": dt.date(1969, 12, 1) + dt.timedelta(days=i % 40),
        "b": (True, False, None)[i % 3],
        "note": ("a", "é", "", None, "a\x1f1:b")[i % 5],
    }


Load: TypeAlias = Callable[[Schema, Mapping[str, pa.Table]], Engine]
"""Makes an engine that holds these tables, and opens it."""

Change: TypeAlias = Callable[[Engine, str], None]
"""Deletes all stored rows of a table of an open engine, as somebody else would."""

SALT: Final = "0123456789abcdef"
BUCKETS: Final = (1, 2, 4, 30)
_ROUNDED: Final = ("EXP(", "LN(", "LOG(")
_AT_ONCE: Final = 30
"""Expressions that are asked in one statement."""

_NEAR: Final = 1e-14
"""Libraries disagree about the last digit of these; no other function may."""


def check_engine(load: Load, change: Change | None = None, *, thinned: int = 1) -> None:
    """Run all checks; each is a function of its own and can be run alone, on an opened engine.

    `change` is left out if only the engine can change its data. Questions over shuffled and missing
    rows are `thinned`, where every statement costs an engine seconds.
    """
    with opened(load) as engine:
        for check in CHECKS:
            check(engine)
    with opened(load, _shuffled) as engine:
        check_order(engine, thinned)
    with opened(load, lambda _: []) as engine:
        check_empty(engine, thinned)
    if change is not None:
        with opened(load) as engine:
            check_snapshot(engine, change)


def check_values(engine: Engine) -> None:
    """Every operator and function, on every row of poison, is what the reference says."""
    every = stored()["values"]
    with engine.snapshot() as session:
        for some in batched(every, _AT_ONCE):
            for text, found in zip(some, values_of(some, session, engine), strict=True):
                _compare(found, every[text], text)


def check_questions(engine: Engine, which: slice = slice(None)) -> None:
    """Every relation, statistic and limit gives the integers of the reference."""
    for case, found in _measured(engine, which):
        for step, rows in found.items():
            _compare(rows, case["rows"][step], f"{step} of {case['sql']}")


def check_order(engine: Engine, thinned: int = 1) -> None:
    """The order of stored rows changes nothing; a third of the questions tell."""
    check_questions(engine, slice(0, None, 3 * thinned))


def check_empty(engine: Engine, thinned: int = 1) -> None:
    """Tables without rows are answered too, with nothing but 0; half of the questions tell."""
    for case, found in _measured(engine, slice(1, None, 2 * thinned)):
        for step, rows in found.items():
            numbers = [row for row in rows if any(row)]
            _require(not numbers, f"{step} of {case['sql']} finds somebody in no rows")


def check_sessions(engine: Engine) -> None:
    """A session's tables are private to it, can be replaced by what reads them, and end with it."""
    one = view_name("cells", engine.dialect)
    with engine.snapshot() as first, engine.snapshot() as second:
        first.keep("kept", f"SELECT id FROM {one}")
        second.keep("kept", f"SELECT id + 1 AS id FROM {one} WHERE id < 3")
        first.keep("kept", "SELECT id FROM kept WHERE id < 2")
        _compare(_rows(first, "SELECT id FROM kept ORDER BY 1"), [[0], [1]], "what is kept")
        _compare(_rows(second, "SELECT id FROM kept ORDER BY 1"), [[1], [2], [3]], "what is kept")
    with engine.snapshot() as third:
        _fails(lambda: _rows(third, "SELECT id FROM kept"), "a session reads another's rows")
    _check_loans(engine)


def _check_loans(engine: Engine) -> None:
    """A table that is lent is returned unchanged, whatever is in it; a second takes its place."""
    texts = ["O'Brien", 'a"b', "back\\slash", "%_$1{}", "👨‍👩‍👧", "", "\n", "\t", "e\u0301", None]
    kinds = {"text": Kind.TEXT, "real": Kind.REAL, "whole": Kind.INTEGER}
    whole = [2**63 - 1, -(2**63), *range(8)]
    values = {"text": texts, "real": [1.5, 5e-324, None] * 3 + [-1.7e308], "whole": whole}
    table = pa.table({name: pa.array(values[name], ARROW[kind]) for name, kind in kinds.items()})
    with engine.snapshot() as session:
        session.put("lent", table.slice(0, 2))
        session.put("lent", table)
        found = _rows(session, "SELECT text, real, whole FROM lent")
        meant = [list(row.values()) for row in table.to_pylist()]
        _compare(sorted(found, key=repr), sorted(meant, key=repr), "a table that is lent")


def check_failures(engine: Engine) -> None:
    """Failures and timeouts are an `EngineError` that quotes nothing."""
    with engine.snapshot() as session:
        _fails(lambda: _rows(session, "SELECT canary_77777 FROM canary"), "nonsense runs")
    with engine.snapshot(Deadline(time.monotonic() - 1)) as session:
        one = f"SELECT id FROM {view_name('cells', engine.dialect)}"
        _fails(lambda: session.keep("late", one), "a session runs on after its time")
        _fails(lambda: _rows(session, one), "a session runs on after its time")
    with engine.snapshot() as session:
        _require(len(_rows(session, one)) > 0, "one failure leads to others")


def check_owner(engine: Engine) -> None:
    """The owner's checks, and closing, twice: it is closed again at the end."""
    for name, table in SCHEMA.tables.items():
        engine.check_readable(table)
        _compare([[engine.row_count(name)]], [[len(rows_of(name))]], f"the rows of {name}")
    engine.close()


def check_snapshot(engine: Engine, change: Change) -> None:
    """A session sees the data as they were when it began; the next one as they are now."""
    count = f"SELECT COUNT(*) AS n FROM {view_name('cells', engine.dialect)}"
    with engine.snapshot() as session:
        before = _rows(session, count)
        change(engine, "cells")
        _compare(_rows(session, count), before, "a snapshot, after a change")
    with engine.snapshot() as session:
        _compare(_rows(session, count), [[0]], "a snapshot that was taken after a change")


def _shuffled(name: str) -> list[dict[str, Any]]:
    return sorted(rows_of(name), key=lambda row: sha256(repr(row).encode()).digest())


CHECKS: Final = (check_values, check_questions, check_sessions, check_failures, check_owner)
"""What is checked of rows as they are."""


# --- asking ---------------------------------------------------------------------------------------


def batched(texts: Iterable[str], size: int) -> Iterator[list[str]]:
    """Texts in lists of at most this length."""
    left = iter(texts)
    while some := list(islice(left, size)):
        yield some


def values_of(texts: Sequence[str], session: Session, engine: Engine) -> list[list[list[Any]]]:
    """For each expression, the row number and value of each row of `cells`."""
    listed = ", ".join(f"{text} AS v{i}" for i, text in enumerate(texts))
    query = read(f"SELECT COUNT(*) FROM (SELECT id, {listed} FROM cells)", SCHEMA)
    select = render_relation(query.relation, engine.dialect, SALT)
    columns = ", ".join(f"v{i}" for i in range(len(texts)))
    try:
        rows = _rows(session, f"SELECT id, {columns} FROM ({select}) AS t ORDER BY 1")
    except (EngineError, OverflowError):  # a time that Python has not
        raise _broken(f"one of {', '.join(texts)} fails") from None
    return [[[row[0], row[i + 1]] for row in rows] for i in range(len(texts))]


def _measured(
    engine: Engine, which: slice
) -> Iterator[tuple[Mapping[str, Any], dict[str, list[list[Any]]]]]:
    """Questions, and the rows of each step under limits, in one session for all of them."""
    with engine.snapshot() as session:
        for case in stored()["questions"][which]:
            query = read(case["sql"], SCHEMA)
            compiled = CompiledQuery(query, needed(query), engine.dialect, SALT)
            try:
                yield case, dict(_steps(compiled, case, session))
            except EngineError:
                raise _broken(f"{case['sql']} fails") from None


def _steps(
    compiled: CompiledQuery, case: Mapping[str, Any], session: Session
) -> Iterator[tuple[str, list[list[Any]]]]:
    groups, rows = case["groups"], case["each"]
    _lend_keys(compiled, session)
    if not compiled.query.is_by_row:
        session.keep(*compiled.pairs)
        session.keep(*compiled.norms)
        norms = {f"people by {n}": compiled.spread((n, BUCKETS)) for n in ("l0", "l1", "l2")}
        yield from _at_once(session, norms, 2)
        few = [] if compiled.query.has_known_keys else compiled.few_groups(groups)
        kind = NoiseKind.GAUSSIAN if case["square"] else NoiseKind.LAPLACE
        bounds = ContributionBounds.read([kind.value, rows, groups, *case.get("far", ())])
        for kept in (*few, *compiled.weights(bounds)):
            session.keep(*kept)
    found = _rows(session, compiled.totals)
    yield "totals", found
    if compiled.query.has_known_keys:
        yield "placed totals", _rows(session, compiled.placed_totals, len(found))
    _lend_groups(compiled, session, found)
    every = dict(enumerate(compiled.statistics))
    ranks = {f"ranks {i}": compiled.ranks(s) for i, s in every.items() if isinstance(s, Ranks)}
    yield from _at_once(session, ranks, 3)
    values = {i: one for i, one in every.items() if isinstance(one, Distinct)}
    yield from _at_once(
        session, {f"distinct {i}": compiled.distincts(one, rows) for i, one in values.items()}, 2
    )


def _at_once(
    session: Session, selects: Mapping[str, str], width: int
) -> Iterator[tuple[str, list[list[Any]]]]:
    """The rows of several SELECTs of that many whole numbers, in one statement."""
    if selects:
        numbered = enumerate(selects.values())
        parts = [f"SELECT {i} AS which, t.* FROM ({select}) AS t" for i, select in numbered]
        order = ", ".join(str(i + 1) for i in range(width + 1))
        found = _rows(session, f"SELECT * FROM ({' UNION ALL '.join(parts)}) AS u ORDER BY {order}")
        for i, name in enumerate(selects):
            yield name, [row[1:] for row in found if row[0] == i]


def _lend_keys(compiled: CompiledQuery, session: Session) -> None:
    for i, of in enumerate(compiled.query.key_types):
        if of.keys is not None:
            places = pa.array(range(len(of.keys)), pa.int64())
            session.put(f"d{i}", pa.table({"c": places, "k": pa.array(of.keys, ARROW[of.kind])}))


def _lend_groups(compiled: CompiledQuery, session: Session, found: list[list[Any]]) -> None:
    """The groups that have rows, as those that are released."""
    columns = {"place": pa.array(range(len(found)), pa.int64())}
    for i, (name, of) in enumerate(zip(compiled.keys, compiled.query.key_types, strict=True)):
        columns[name] = pa.array([value_of(row[i], of.kind) for row in found], ARROW[of.kind])
    session.put("groups", pa.table(columns))


def _rows(session: Session, select: str, most: int | None = None) -> list[list[Any]]:
    batches = list(session.stream(select, most))
    return [[plain(value) for value in row.values()] for b in batches for row in b.to_pylist()]


# --- judging --------------------------------------------------------------------------------------


@contextmanager
def opened(load: Load, rows: Callable[[str], list[dict[str, Any]]] = rows_of) -> Iterator[Engine]:
    """An engine over the tables of the cases, closed at the end."""
    engine = load(SCHEMA, {name: arrow_of(name, rows(name)) for name in SCHEMA.tables})
    try:
        yield engine
    finally:
        engine.close()


def _compare(found: list[list[Any]], meant: list[list[Any]], what: str) -> None:
    _require(len(found) == len(meant), f"{what}: {len(found)} rows for {len(meant)}")
    near = what.startswith(_ROUNDED)
    for row, right in zip(found, meant, strict=True):
        same = len(row) == len(right) and all(
            _same(a, b, near=near) for a, b in zip(row, right, strict=True)
        )
        _require(same, f"{what}: {row} for {right}")


def _same(found: Any, meant: Any, *, near: bool) -> bool:
    if near and type(found) is type(meant) is float:
        return math.isclose(found, meant, rel_tol=_NEAR)
    return type(found) is type(meant) and bool(found == meant)


def _fails(act: Callable[[], object], otherwise: str) -> None:
    try:
        act()
    except EngineError as error:
        quiet = "canary" not in str(error) and error.__cause__ is None
        _require(quiet, "an error of the engine quotes what it ran")
        return
    raise _broken(otherwise)


def _require(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - it reads as a sentence
    if not holds:
        raise _broken(otherwise)


def _broken(what: str) -> InvariantBroken:
    return InvariantBroken(
        what,
        why="every engine gives the same integers and never fails on a row",
        fix="correct the dialect or the session of this engine",
    )
