"""Settings, prepared statements and cursors of one connection."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from discreet.server.postgres.messages import PostgresError, ResultColumn, text, write
from discreet.server.postgres.session_settings import SessionSettings
from discreet.server.postgres.statements import SqlToken, Statement
from discreet.server.postgres.values import TEXT

MOST_OPEN: Final = 256
"""Prepared statements, portals or cursors that one connection may have."""

MOST_HELD: Final = 1 << 26
"""Bytes of answers that the portals and cursors of one connection may hold."""


@dataclass(slots=True)
class ResultRows:
    """A result, as far as it was fetched."""

    columns: tuple[ResultColumn, ...]
    table: pa.Table
    place: int = 0

    def take(self, count: int) -> pa.Table:
        """The next rows, all of them for 0."""
        end = self.table.num_rows if count == 0 else self.place + count
        part = self.table[self.place : end]
        self.place += part.num_rows
        return part

    @property
    def is_over(self) -> bool:
        """Whether no row is left."""
        return bool(self.place >= self.table.num_rows)


@dataclass(slots=True)
class StatementResult:
    """The result of a statement: tag, rows if any, and notices."""

    tag: str
    rows: ResultRows | None = None
    told: list[bytes] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PreparedStatement:
    """A statement and the types of its parameters; None for one that is empty."""

    statement: Statement | None
    oids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BoundStatement:
    """A statement, literals for its parameters, and whether its answer is to have intervals."""

    statement: Statement
    values: Sequence[str]
    intervals: bool


@dataclass(slots=True)
class Portal:
    """A statement with its parameters put in, None for an empty one, and what came of it."""

    asked: BoundStatement | None
    formats: tuple[int, ...]
    columns: tuple[ResultColumn, ...] | None = None
    described: bool = False
    outcome: StatementResult | None = None


class ConnectionState:
    """The state of a connection."""

    def __init__(self, settings: SessionSettings) -> None:
        self.settings = settings
        self.status = "I"
        self.statements: dict[str, PreparedStatement] = {}
        self.portals: dict[str, Portal] = {}
        self.cursors: dict[str, ResultRows] = {}
        self._before: dict[str, str] | None = None
        self._local: dict[str, str] = {}

    def check_room(self, kept: dict[str, Any], name: str) -> None:
        """Refuse to keep more than a client needs; one that is replaced makes room."""
        kept.pop(name, None)
        held = [one.outcome.rows for one in self.portals.values() if one.outcome]
        size = sum(one.table.nbytes for one in (*held, *self.cursors.values()) if one)
        if len(kept) >= MOST_OPEN or size > MOST_HELD:
            raise PostgresError("53200", "too much is open on this connection", hint="close some")

    # --- statements about the session -----------------------------------------------------------

    def control(self, statement: Statement) -> StatementResult | None:
        """Run a statement that is about the session alone; None for others."""
        run = _COMMANDS.get(statement.words[0])
        return None if run is None else run(self, statement)

    def shape(self, statement: Statement) -> tuple[ResultColumn, ...] | None:
        """The columns that such a statement gives, None for none."""
        match statement.words[0]:
            case "show":
                shown = (ResultColumn(_setting_name(statement), TEXT),)
                return _SHOW_ALL if statement.words[1:2] == ["all"] else shown
            case "fetch":
                return self._cursor(statement.tokens[-1].name).columns
            case _:
                return None

    def begin(self, statement: Statement) -> StatementResult:
        """BEGIN, which changes nothing: every answer is durable by itself."""
        if self.status == "I":
            self.status, self._before = "T", self.settings.changes()
        return StatementResult("START TRANSACTION" if statement.words[0] == "start" else "BEGIN")

    def end(self, statement: Statement) -> StatementResult:
        """COMMIT and ROLLBACK; what was charged stays charged."""
        words = statement.words
        if words[0] == "rollback" and "to" in words:
            self.status = "T" if self.status != "I" else "I"
            return StatementResult("ROLLBACK")
        undone = words[0] in {"rollback", "abort"} or self.status == "E"
        before, self._before, local, self._local = self._before, None, self._local, {}
        told = []
        if before is not None:  # what was set for the transaction alone is put back
            kept = before if undone else self.settings.changes() | local
            told = self._report(self.settings.restore(kept))
        self.status, self.cursors, self.portals = "I", {}, {}
        return StatementResult("ROLLBACK" if undone else "COMMIT", told=told)

    def _report(self, names: Sequence[str]) -> list[bytes]:
        return [write(b"S", text(name), text(self.settings[name])) for name in names]

    def set(self, statement: Statement) -> StatementResult:
        """SET."""
        tokens = list(statement.tokens[1:])
        local = bool(tokens) and tokens[0].text.lower() == "local"
        if tokens and tokens[0].text.lower() in {"session", "local"}:
            tokens = tokens[1:]
        words = [one.text.lower() for one in tokens]
        if words[:1] in (["transaction"], ["characteristics"], ["constraints"]):
            return StatementResult("SET")
        if words[:1] in (["role"], ["authorization"]):
            if words[-1] in {"none", "default"}:
                return StatementResult("SET")
            raise PostgresError("42501", "roles follow from tokens", hint="log in with another one")
        name, values = _assignment(tokens, words)
        if self.status != "I" and local:
            self._local.setdefault(name.lower(), self.settings[name])
        elif local:
            return StatementResult("SET")
        else:
            self._local.pop(name.lower(), None)  # it holds after the transaction as well
        if values is None:
            return StatementResult("SET", told=self._report(self.settings.reset(name)))
        told = self.settings.set(name, values)
        return StatementResult("SET", told=self._report([] if told is None else [told]))

    def reset(self, statement: Statement) -> StatementResult:
        """RESET."""
        name = "".join(one.value for one in statement.tokens[1:])
        done = self.settings.reset(None if name.lower() == "all" else name)
        return StatementResult("RESET", told=self._report(done))

    def show(self, statement: Statement) -> StatementResult:
        """SHOW."""
        columns = self.shape(statement)
        assert columns is not None  # noqa: S101 - it shows something
        if columns is _SHOW_ALL:
            rows = [list(self.settings), [self.settings[name] for name in self.settings]]
            rows.append([""] * len(rows[0]))
        else:
            rows = [[self.settings[_setting_name(statement)]]]
        return StatementResult("SHOW", ResultRows(columns, _texts(rows)))

    def discard(self, statement: Statement) -> StatementResult:
        """DISCARD."""
        if statement.words[1:2] == ["all"]:
            self.statements, self.portals, self.cursors = {}, {}, {}
            return StatementResult("DISCARD ALL", told=self._report(self.settings.reset(None)))
        return StatementResult("DISCARD")

    def deallocate(self, statement: Statement) -> StatementResult:
        """DEALLOCATE."""
        name = statement.tokens[-1].name
        if name == "all":
            self.statements = {}
            return StatementResult("DEALLOCATE ALL")
        self.statements.pop(name, None)
        return StatementResult("DEALLOCATE")

    # --- cursors --------------------------------------------------------------------------------

    def fetch(self, statement: Statement) -> StatementResult:
        """FETCH and MOVE, forward."""
        moves = statement.words[0] == "move"
        rows = self._cursor(statement.tokens[-1].name)
        before = rows.place
        part = rows.take(_count(statement))
        if moves:
            return StatementResult(f"MOVE {rows.place - before}")
        return StatementResult("FETCH", ResultRows(rows.columns, part))

    def close(self, statement: Statement) -> StatementResult:
        """CLOSE."""
        name = statement.tokens[-1].name
        if name == "all":
            self.cursors = {}
        else:
            self._cursor(name)
            del self.cursors[name]
        return StatementResult("CLOSE CURSOR")

    def _cursor(self, name: str) -> ResultRows:
        if name not in self.cursors:
            raise PostgresError("34000", "there is no cursor of this name", hint="DECLARE it first")
        return self.cursors[name]


def declared(statement: Statement) -> tuple[str, Statement] | None:
    """The name and the question of DECLARE ... CURSOR ... FOR; None for another statement."""
    if statement.words[0] != "declare":
        return None
    words = [one.text.lower() for one in statement.tokens[:12]]
    if "for" not in words or "cursor" not in words:
        raise PostgresError("42601", "a cursor needs a question", hint="DECLARE c CURSOR FOR ...")
    return statement.tokens[1].name, statement.after(words.index("for") + 1)


def _count(statement: Statement) -> int:
    """How many rows are fetched, 0 for all."""
    words = [one.text.lower() for one in statement.tokens[1:-1] if one.text.lower() not in _FROM]
    said = [one for one in words if one not in {"forward", "next"}]
    if said == ["all"]:
        return 0
    if not said:
        return 1
    if len(said) == 1 and said[0].isdigit() and int(said[0][:9]) > 0:
        return int(said[0][:9])
    raise PostgresError("0A000", "cursors go forward here", hint="FETCH FORWARD 100 FROM c")


_FROM: Final = frozenset({"from", "in"})


def _assignment(tokens: list[SqlToken], words: list[str]) -> tuple[str, str | None]:
    """The name and the value of SET; None for DEFAULT."""
    if words[:2] == ["time", "zone"]:
        return "timezone", "".join(one.value for one in tokens[2:]) or "UTC"
    if words[:1] == ["names"]:
        return "client_encoding", tokens[1].value if tokens[1:] else "UTF8"
    place = next((i for i, word in enumerate(words) if word in {"to", "="}), 0)
    if not 0 < place < len(tokens) - 1:
        raise PostgresError("42601", "SET needs a name and a value", hint="SET name = value")
    name = "".join(one.value for one in tokens[:place])
    if words[place + 1 :] == ["default"]:
        return name, None
    return name, "".join(one.value for one in tokens[place + 1 :])


_SHOW_ALL: Final = tuple(ResultColumn(name, TEXT) for name in ("name", "setting", "description"))


def _setting_name(statement: Statement) -> str:
    said = "".join(one.value for one in statement.tokens[1:])
    return {
        "transactionisolationlevel": "transaction_isolation",
        "timezone": "timezone",
        "sessionauthorization": "session_authorization",
    }.get(said.lower(), said)


def _texts(columns: list[list[str]]) -> pa.Table:
    arrays = [pa.array(column, pa.string()) for column in columns]
    return pa.table(arrays, names=[str(place) for place in range(len(arrays))])


def text_rows(name: str, lines: Sequence[str]) -> ResultRows:
    """Lines of text as a result."""
    return ResultRows((ResultColumn(name, TEXT),), _texts([list(lines)]))


def _accepted(tag: str) -> "Callable[[ConnectionState, Statement], StatementResult]":
    return lambda _session, _statement: StatementResult(tag)


_COMMANDS: Final[dict[str, Callable[[ConnectionState, Statement], StatementResult]]] = {
    "set": ConnectionState.set,
    "show": ConnectionState.show,
    "reset": ConnectionState.reset,
    "discard": ConnectionState.discard,
    "deallocate": ConnectionState.deallocate,
    **dict.fromkeys(("begin", "start"), ConnectionState.begin),
    **dict.fromkeys(("commit", "end", "rollback", "abort"), ConnectionState.end),
    "savepoint": _accepted("SAVEPOINT"),
    "release": _accepted("RELEASE"),
    **dict.fromkeys(("fetch", "move"), ConnectionState.fetch),
    "close": ConnectionState.close,
    "unlisten": _accepted("UNLISTEN"),
}
