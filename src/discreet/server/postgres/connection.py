"""One connection: TLS, login, and the messages of the simple and the extended protocol."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import anyio.to_thread

from discreet.server import tokens
from discreet.server.app_state import Caller
from discreet.server.postgres import messages
from discreet.server.postgres.execution import StatementRunner
from discreet.server.postgres.messages import Fields, PostgresError, int32, text
from discreet.server.postgres.scram import LoginRefused, ScramExchange
from discreet.server.postgres.session import (
    BoundStatement,
    ConnectionState,
    Portal,
    PreparedStatement,
    StatementResult,
)
from discreet.server.postgres.session_settings import SessionSettings
from discreet.server.postgres.statements import Statement, compared, split
from discreet.server.postgres.values import literal, sample, write_rows

if TYPE_CHECKING:
    from discreet.server.postgres.listener import PostgresListener

T = TypeVar("T")

_BUFFER: Final = 1 << 16
_PASSWORD_LIMIT: Final = 2048
_ALWAYS: Final = frozenset({"rollback", "abort", "commit", "end"})
"""What may be said in a transaction that failed."""


class PostgresConnection:
    """A client; `cancel` gives up what it waits for."""

    def __init__(
        self,
        listener: "PostgresListener",
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._listener = listener
        self._app_state = listener.app_state
        self._settings = listener.app_state.settings
        self._incoming = messages.MessageReader(reader, patience=self._settings.body_timeout)
        self._writer = writer
        self._out = bytearray()
        self._secure = False
        self._skips = False
        self._runner: StatementRunner | None = None
        self._session: ConnectionState

    @property
    def peer(self) -> tuple[str, int] | None:
        """The client's address."""
        found: tuple[str, int] | None = self._writer.get_extra_info("peername")
        return found

    def cancel(self) -> None:
        """Give up the statement that runs."""
        if self._runner is not None:
            self._runner.cancel()

    def abort(self) -> None:
        """Close at once."""
        self._writer.transport.abort()

    async def serve(self) -> None:
        """Everything, from the first byte to the last."""
        try:
            caller = await self._let_in()
            if caller is not None:
                async with self._listener.joined(caller, self) as key:
                    await self._serve(caller, key)
        except messages.Gone:
            return
        except messages.Malformed:
            await self._end(PostgresError("08P01", "this message breaks the protocol"))
        except messages.Slow:
            await self._end(PostgresError("57P05", "nothing came in time"))
        except PostgresError as wrong:
            await self._end(wrong)
        except (ConnectionError, ssl.SSLError, TimeoutError):
            self.abort()

    async def _end(self, wrong: PostgresError) -> None:
        """Tell why, and close."""
        self._out += messages.report(b"E", "FATAL", wrong.fields)
        try:
            await self._flush()
        except (ConnectionError, TimeoutError, RuntimeError):
            self.abort()

    # --- login ----------------------------------------------------------------------------------

    async def _let_in(self) -> Caller | None:
        """Authenticate the client in time; None for a cancel request."""
        try:
            async with asyncio.timeout(self._settings.header_timeout):
                sent = await self._start()
                return None if sent is None else await self._log_in(sent)
        except TimeoutError:
            raise messages.Slow from None

    async def _start(self) -> dict[str, str] | None:
        for _ in range(3):  # perhaps encryption, perhaps another one, then the start
            fields = Fields(await self._incoming.startup())
            code = fields.int32()
            if code == messages.CANCEL:
                self._listener.cancel(fields.int32(), fields.int32())
                return None
            if code in {messages.TLS, messages.GSS}:
                await self._encrypt(wanted=code == messages.TLS)
            else:
                return self._read_start(code, fields)
        raise messages.Malformed

    async def _encrypt(self, *, wanted: bool) -> None:
        context = self._listener.tls
        if not wanted or context is None or self._secure:
            self._out += b"N"
            await self._flush()
            return
        if not self._incoming.is_empty:
            raise messages.Malformed
        self._out += b"S"
        await self._flush()
        await self._writer.start_tls(context, ssl_handshake_timeout=self._settings.header_timeout)
        self._secure = True

    def _read_start(self, code: int, fields: Fields) -> dict[str, str]:
        if code >> 16 != 3:
            raise PostgresError("0A000", "this protocol is not spoken here", hint="version 3 is")
        sent: dict[str, str] = {}
        while name := fields.text():
            sent[name] = fields.text()
        fields.end()
        if code != messages.PROTOCOL:
            newer = [name for name in sent if name.startswith("_pq_.")]
            self._say(b"v", int32(messages.PROTOCOL, len(newer)), *map(text, newer))
        if self._listener.tls is not None and not self._secure:
            raise PostgresError(
                "28000", "connections are encrypted here", hint="connect with sslmode=require"
            )
        return sent

    async def _log_in(self, sent: dict[str, str]) -> Caller:
        name = sent.get("user", "")
        exchange = ScramExchange(name, self._listener.binding if self._secure else None)
        self._say(b"R", int32(10), *(text(one) for one in exchange.mechanisms), b"\0")
        try:
            fields = Fields(await self._password())
            mechanism, first = fields.text(), fields.value()
            challenge = exchange.challenge(mechanism, first or b"")
            self._say(b"R", int32(11), challenge)
            proof = await self._password()
            known = await anyio.to_thread.run_sync(tokens.scram_keys, self._app_state.access, name)
            identity, signature = exchange.finish(proof, known)
            found = await anyio.to_thread.run_sync(tokens.by_id, self._app_state.access, identity)
        except LoginRefused:
            found = None
        if found is None or not found.works(self._app_state.access.now()):
            raise PostgresError(
                "28P01",
                "nobody was let in: the user is unknown, or the password is not a token of theirs",
                hint="the user is the name of a token, and the password its text (dpt_...)",
            )
        epsilon = await anyio.to_thread.run_sync(
            tokens.default_epsilon, self._app_state.access, found.id
        )
        self._session = ConnectionState(SessionSettings(name, sent, epsilon))
        self._say(b"R", int32(12), signature)
        self._say(b"R", int32(0))
        return Caller.of(found)

    async def _password(self) -> bytes:
        await self._flush()
        kind, body = await self._incoming.message(
            limit=_PASSWORD_LIMIT, idle=self._settings.header_timeout
        )
        if kind != b"p":
            raise messages.Malformed
        return body

    # --- the conversation -----------------------------------------------------------------------

    async def _serve(self, caller: Caller, key: tuple[int, int]) -> None:
        self._runner = StatementRunner(self._listener.catalogues, caller, self._session)
        for name, value in self._session.settings.reported().items():
            self._say(b"S", text(name), text(value))
        self._say(b"K", int32(*key))
        await self._ready()
        while True:
            kind, body = await self._incoming.message(
                limit=self._settings.body_limit, idle=self._settings.session_life
            )
            if kind == b"X":
                return
            if kind == b"S":
                self._skips = False
                await self._ready()
            elif kind == b"H":
                await self._flush()
            elif kind == b"Q":
                await self._simple(Fields(body))
            elif not self._skips:
                await self._extended(kind, Fields(body))

    async def _simple(self, fields: Fields) -> None:
        sent = fields.text()
        fields.end()
        self._skips = False
        try:
            statements = split(sent)
            if not statements:
                self._say(b"I")
            for statement in statements:
                self._check_status(statement.words[0])
                outcome = await self._run.run(self._bound(statement, ()))
                await self._tell(outcome, formats=(), described=False)
        except Exception as wrong:  # noqa: BLE001 - whatever it says could quote data
            self._fail(wrong)
        await self._ready()

    async def _extended(self, kind: bytes, fields: Fields) -> None:
        handler = _HANDLERS.get(kind)
        if handler is None:
            raise messages.Malformed
        try:
            await handler(self, fields)
        except (messages.Malformed, messages.Gone, messages.Slow, ConnectionError, TimeoutError):
            raise
        except Exception as wrong:  # noqa: BLE001 - whatever it says could quote data
            self._fail(wrong)
            self._skips = True
            await self._flush()

    async def _parse(self, fields: Fields) -> None:
        name, sent = fields.text(), fields.text()
        oids = [fields.int32() for _ in range(fields.int16())]
        fields.end()
        statements = split(sent)
        if len(statements) > 1:
            raise PostgresError("42601", "several statements cannot be prepared as one")
        statement = statements[0] if statements else None
        count = 0 if statement is None else max(statement.parameters, len(oids))
        kept = self._session.statements
        if name and name in kept:
            raise PostgresError("42P05", "there is a prepared statement of this name")
        self._session.check_room(kept, name)
        kept[name] = PreparedStatement(statement, tuple((oids + [0] * count)[:count]))
        self._say(b"1")

    async def _bind(self, fields: Fields) -> None:
        portal, name = fields.text(), fields.text()
        forms = fields.shorts()
        raw = [fields.value() for _ in range(fields.int16())]
        formats = tuple(fields.shorts())
        fields.end()
        prepared = _kept(self._session.statements, name, "26000", "prepared statement")
        if len(raw) != len(prepared.oids) or not {*forms, *formats} <= {0, 1}:
            raise PostgresError("08P01", "the parameters are not those of the statement")
        values = tuple(
            literal(value, oid, form)
            for value, oid, form in zip(raw, prepared.oids, _spread(forms, len(raw)), strict=True)
        )
        self._session.check_room(self._session.portals, portal)
        statement = prepared.statement
        bound = None if statement is None else self._bound(statement, values)
        self._session.portals[portal] = Portal(bound, formats)
        self._say(b"2")

    async def _describe(self, fields: Fields) -> None:
        kind, name = fields.raw(1), fields.text()
        fields.end()
        if kind == b"S":
            prepared = _kept(self._session.statements, name, "26000", "prepared statement")
            oids = [oid or 25 for oid in prepared.oids]
            self._say(b"t", messages.int16(len(oids)), int32(*oids))
            statement = prepared.statement
            known = None if statement is None else await self._guessed(prepared, statement)
            self._describe_columns(known)
        elif kind != b"P":
            raise messages.Malformed
        elif name in self._session.cursors:
            self._describe_columns(self._session.cursors[name].columns)
        else:
            portal = _kept(self._session.portals, name, "34000", "portal")
            if portal.asked is not None and not portal.described:
                portal.columns = await self._run.shape(portal.asked)
            portal.described = True
            self._describe_columns(portal.columns, portal.formats)

    async def _guessed(
        self, prepared: PreparedStatement, statement: Statement
    ) -> tuple[messages.ResultColumn, ...] | None:
        """The columns for any parameters: as if each equalled what it is compared with."""
        samples = {at: sample(oid) for at, oid in enumerate(prepared.oids, 1)}
        try:
            likely = list((samples | compared(statement)).values())
            return await self._run.shape(self._bound(statement, likely))
        except PostgresError:
            if not prepared.oids:
                raise
            return await self._run.shape(self._bound(statement, list(samples.values())))

    def _bound(self, statement: Statement, values: Sequence[str]) -> BoundStatement:
        return BoundStatement(statement, values, self._session.settings.intervals)

    def _describe_columns(
        self, columns: tuple[messages.ResultColumn, ...] | None, formats: tuple[int, ...] = ()
    ) -> None:
        self._out += (
            messages.write(b"n")
            if columns is None
            else messages.row_description(columns, _spread(formats, len(columns)))
        )

    async def _execute(self, fields: Fields) -> None:
        name, count = fields.text(), fields.int32()
        fields.end()
        portal = _kept(self._session.portals, name, "34000", "portal")
        if portal.asked is None:
            self._say(b"I")
            return
        self._check_status(portal.asked.statement.words[0])
        if portal.outcome is None:
            portal.outcome = await self._run.run(portal.asked)
        await self._tell(
            portal.outcome, formats=portal.formats, described=True, count=max(0, count)
        )

    async def _close(self, fields: Fields) -> None:
        kind, name = fields.raw(1), fields.text()
        fields.end()
        if kind == b"S":
            self._session.statements.pop(name, None)
        elif kind == b"P":
            self._session.portals.pop(name, None)
        else:
            raise messages.Malformed
        self._say(b"3")

    @property
    def _run(self) -> StatementRunner:
        assert self._runner is not None  # noqa: S101 - narrowing: they were let in
        return self._runner

    def _check_status(self, word: str) -> None:
        if self._session.status == "E" and word not in _ALWAYS:
            raise PostgresError(
                "25P02",
                "an earlier statement of this transaction failed",
                hint="ROLLBACK; what was charged stays charged and is free to ask again",
            )

    # --- telling --------------------------------------------------------------------------------

    async def _tell(
        self, outcome: StatementResult, *, formats: tuple[int, ...], described: bool, count: int = 0
    ) -> None:
        """Send the result of a statement: rows, as many as were asked for, and its tag."""
        for one in outcome.told:
            self._out += one
        outcome.told.clear()
        rows = outcome.rows
        if rows is None:
            self._say(b"C", text(outcome.tag))
            return
        forms = _spread(formats, len(rows.columns))
        if not described:
            self._out += messages.row_description(rows.columns, forms)
        part = rows.take(count)
        for row in write_rows(part, [one.oid for one in rows.columns], forms):
            self._out += messages.data_row(row)
            if len(self._out) > _BUFFER:
                await self._flush()
        if rows.is_over or count == 0:
            counted = outcome.tag in {"SELECT", "FETCH"}
            tag = f"{outcome.tag} {part.num_rows}" if counted else outcome.tag
            self._say(b"C", text(tag))
        else:
            self._say(b"s")

    def _fail(self, wrong: Exception) -> None:
        self._out += messages.report(b"E", "ERROR", messages.as_reply(wrong).fields)
        if self._session.status == "T":
            self._session.status = "E"

    async def _ready(self) -> None:
        if self._session.status == "I":
            self._session.portals.clear()
        self._say(b"Z", self._session.status.encode())
        await self._flush()

    def _say(self, kind: bytes, *parts: bytes) -> None:
        self._out += messages.write(kind, *parts)

    async def _flush(self) -> None:
        self._writer.write(bytes(self._out))
        self._out.clear()
        async with asyncio.timeout(self._settings.send_timeout):
            await self._writer.drain()


def _kept(some: dict[str, T], name: str, state: str, what: str) -> T:
    if name not in some:
        raise PostgresError(state, f"there is no {what} of this name")
    return some[name]


def _spread(formats: list[int] | tuple[int, ...], count: int) -> list[int]:
    """One format for each column: none means text, one means all."""
    if len(formats) <= 1:
        return [*(formats or (0,))] * count
    if len(formats) != count:
        raise PostgresError("08P01", "as many formats as columns, or one for all, or none")
    return list(formats)


_HANDLERS: Final[dict[bytes, Callable[[PostgresConnection, Fields], Awaitable[None]]]] = {
    b"P": PostgresConnection._parse,  # noqa: SLF001 - a table of its own methods
    b"B": PostgresConnection._bind,  # noqa: SLF001
    b"D": PostgresConnection._describe,  # noqa: SLF001
    b"E": PostgresConnection._execute,  # noqa: SLF001
    b"C": PostgresConnection._close,  # noqa: SLF001
}
