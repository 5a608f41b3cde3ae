"""Statements, run: questions by the question service, the catalogue by its own database."""

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeVar

import anyio.to_thread

from discreet.server import tokens
from discreet.server.app_state import Caller, ServerCall
from discreet.server.logs import place, write_line
from discreet.server.postgres.answering import WireQuestion, cancelled, columns_of
from discreet.server.postgres.catalogue import DATABASE, Catalogues
from discreet.server.postgres.messages import PostgresError, ResultColumn, as_reply, report
from discreet.server.postgres.session import (
    BoundStatement,
    ConnectionState,
    ResultRows,
    StatementResult,
    declared,
    text_rows,
)
from discreet.server.postgres.statements import (
    Statement,
    is_question,
    literals,
    rewrite,
    unqualified,
)
from discreet.server.ticks import outlive, wait

T = TypeVar("T")

_READS: Final = frozenset({"select", "with", "values", "table", "("})
_PLAN: Final = "QUERY PLAN"


class StatementRunner:
    """Runs the statements of one connection, one at a time; `stop` gives up the one that runs."""

    def __init__(self, catalogues: Catalogues, caller: Caller, session: ConnectionState) -> None:
        self._catalogues = catalogues
        self._app_state = catalogues.app_state
        self._caller = caller
        self._session = session
        self._stop = threading.Event()
        self._stopped = asyncio.Event()
        self._left: set[asyncio.Task[Any]] = set()

    def cancel(self) -> None:
        """Give up the statement that runs; without one, nothing happens."""
        self._stop.set()
        self._stopped.set()

    # --- what a statement will look like --------------------------------------------------------

    async def shape(self, asked: BoundStatement) -> tuple[ResultColumn, ...] | None:
        """The columns that a statement gives, None for none; it costs nothing."""
        kind = self._kind(asked.statement)
        if kind == "explain":
            return (ResultColumn(_PLAN, 25),)
        if kind == "control":
            return self._session.shape(asked.statement)
        settings = self._session.settings
        if kind == "catalogue":
            return (await self._catalogued(asked)).columns
        return await self._served(
            "describe", lambda: self._question(asked).columns(self._call(), settings)
        )

    # --- running --------------------------------------------------------------------------------

    async def run(self, asked: BoundStatement) -> StatementResult:
        """The result of a statement; PostgresError if it is refused."""
        named = declared(asked.statement)
        if named is None:
            return await self._answered(asked)
        self._session.check_room(self._session.cursors, named[0])
        if self._kind(named[1]) == "control":
            raise PostgresError("42601", "a cursor needs a question")
        found = await self._answered(replace(asked, statement=named[1]))
        assert found.rows is not None  # noqa: S101 - a question has rows
        self._session.cursors[named[0]] = found.rows
        return StatementResult("DECLARE CURSOR", told=found.told)

    async def _answered(self, asked: BoundStatement) -> StatementResult:
        settings, statement = self._session.settings, asked.statement
        match self._kind(statement):
            case "control":
                outcome = self._session.control(statement)
                if outcome is None:
                    raise _only_reads(statement)
                return outcome
            case "catalogue":
                return StatementResult("SELECT", await self._catalogued(asked))
            case "explain":
                question = self._question(replace(asked, statement=_explained(statement)))
                call = self._call()
                lines = await self._served("explain", lambda: question.explain(call, settings))
                return StatementResult("EXPLAIN", text_rows(_PLAN, lines))
            case _:
                return await self._asked(asked)

    async def _asked(self, asked: BoundStatement) -> StatementResult:
        """Ask, and tell the answer or the refusal on a tick, whatever it was computed from."""
        quantum, call = self._app_state.settings.quantum, self._call()
        stop = self._stop = threading.Event()
        settings = self._session.settings
        try:
            question = self._question(asked)
            columns, table, notice = await self._served(
                "question", lambda: question.ask(call, settings, stop)
            )
        finally:
            await asyncio.sleep(wait(time.monotonic() - call.arrived, quantum))
        quiet = settings.quiet or not notice
        told = [] if quiet else [report(b"N", "NOTICE", notice)]
        return StatementResult("SELECT", ResultRows(columns, table), told)

    async def _catalogued(self, asked: BoundStatement) -> ResultRows:
        sql = rewrite(asked.statement, literals(asked.statement, asked.values)).text
        caller, settings = self._caller, self._session.settings
        found = await self._served("catalogue", lambda: self._catalogues.run(sql, caller, settings))
        names = [str(at) for at in range(found.num_columns)]
        return ResultRows(columns_of(found), found.rename_columns(names))

    def _kind(self, statement: Statement) -> str:
        first = statement.words[0]
        if first == "explain":
            return "explain"
        if first not in _READS:
            return "control"
        return "question" if is_question(statement, self._tables()) else "catalogue"

    def _tables(self) -> list[str]:
        return list(self._call().session.schema.tables)

    def _question(self, asked: BoundStatement) -> WireQuestion:
        statement = asked.statement
        changes, probe = unqualified(statement, self._tables(), DATABASE)
        text = rewrite(statement, changes | literals(statement, asked.values))
        return WireQuestion(text, asked.intervals, probe)

    def _call(self) -> ServerCall:
        return ServerCall(self._app_state, self._caller, time.monotonic())

    # --- limits ---------------------------------------------------------------------------------

    async def _served(self, kind: str, work: Callable[[], T]) -> T:
        """Work in a thread, within the limits of the caller's name; given up when it is cancelled.

        A cancelled computation continues in its thread and keeps its place among those of its name.
        """
        begun, state = time.monotonic(), "00000"
        where: dict[str, str] = {}
        try:
            # A client that is quick is slowed down.
            while pause := self._app_state.limits.names.take(self._caller.name):  # noqa: ASYNC110
                await asyncio.sleep(pause)
            self._stopped.clear()
            return await self._awaited(asyncio.create_task(self._within(work)))
        except Exception as error:  # noqa: BLE001 - whatever it says could quote data
            told = as_reply(error)
            state = told.state
            where = place(error) if state == "XX000" else {}
            raise told from None
        finally:
            status, route = {"00000": 200, "XX000": 500}.get(state, 400), f"postgres/{kind}"
            self._app_state.metrics.count(route, "QUERY", status)
            took, token = time.monotonic() - begun, self._caller.token
            write_line(self._app_state, "QUERY", route, state, token, took, where)

    async def _within(self, work: Callable[[], T]) -> T:
        def checked() -> T:
            token = tokens.by_id(self._app_state.access, self._caller.token)
            if token is None or not token.works(self._app_state.access.now()):
                raise PostgresError("28000", "the token has ended", hint="log in with another one")
            return work()

        async with self._app_state.limits.concurrency.joined(self._caller.name):
            return await anyio.to_thread.run_sync(checked)

    async def _awaited(self, task: "asyncio.Task[T]") -> T:
        stopped = asyncio.create_task(self._stopped.wait())
        try:
            await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
            if not task.done():
                outlive(task, self._left)
        if not task.done():
            raise cancelled()
        return task.result()


def _explained(statement: Statement) -> Statement:
    """The statement after EXPLAIN and its options."""
    words = [one.text.lower() for one in statement.tokens]
    return statement.after(next((at for at, word in enumerate(words) if word in _READS - {"("}), 1))


def _only_reads(statement: Statement) -> PostgresError:
    word = statement.words[0]
    named = word.upper() if word.isalpha() and len(word) < 20 else "this"
    return PostgresError(
        "25006",
        f"{named} is no question: data is read here, by aggregates, and never changed",
        hint="SELECT city, COUNT(*) FROM visits GROUP BY city",
        position=statement.start + 1,
    )
