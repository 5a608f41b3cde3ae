"""Questions that a server answers, its ledger as an auditor reads it, and its replies, read."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeVar
from urllib.parse import quote, urlencode

from discreet.answer.present.base_release import BaseRelease
from discreet.answer.present.release import Release, as_table
from discreet.curator.client import declarations, wire
from discreet.curator.ledger.accounts import Account
from discreet.curator.ledger.orders import Entry, Head, named
from discreet.curator.ledger.verify import Report
from discreet.curator.orders.online_epochs import OnlineReply
from discreet.curator.orders.order_kinds import kind_named
from discreet.curator.question_backend import OrderRequest, QuestionBackend, Quote
from discreet.curator.workbook import AskedQuestion
from discreet.errors import DiscreetError, InputError, ServiceError
from discreet.plain_json import from_fields
from discreet.plan import canonical
from discreet.plan.query import Query
from discreet.plan.schema import Schema
from discreet.workload.counting_query import plain_where
from discreet.workload.online import OnlineState

if TYPE_CHECKING:
    from httpx import Response

    from discreet.curator.client.connection import ServerConnection

T = TypeVar("T")

_STUMBLES: Final = (ArithmeticError, AttributeError, RecursionError)
BUDGETS: Final = "/v1/budgets?odds=false"
PATIENCE: Final = 600.0
"""Seconds to wait for an answer that is charged."""

_PAUSE: Final = 0.25
_PAGE: Final = 1000
_REMEASURE: Final = "/v1/remeasure"


@dataclass(slots=True)
class RemoteBackend(QuestionBackend):
    """Asks a server, which identifies the caller by their token."""

    link: "ServerConnection"
    _me: str | None = None

    @property
    def schema(self) -> Schema:
        """The schema of all visible tables."""
        return read_reply(self.link.get("/v1/schema"), declarations.read_schema)[0]

    def public(self, text: str, *, priced: bool) -> Release | None:
        """Answer a question that the server finds to be free."""
        free = OrderRequest(text)
        return None if priced else as_table(self._asked("/v1/queries", {"sql": text}, free))

    def place(self, asked: OrderRequest) -> BaseRelease:
        """Place an order and wait for its release."""
        place = "orders" if asked.terms is None else "queries"
        return self._asked(f"/v1/{place}", self._body(asked), asked)

    def remeasure(self, asked: OrderRequest) -> Release:
        """Answer a question again, merged with its analyst's earlier answer."""
        return as_table(self._asked(_REMEASURE, self._body(asked), replace(asked, request=None)))

    def quote(self, asked: OrderRequest) -> Quote:
        """The price of an order."""
        explain: Callable[[Any], Any] = wire.read_order_explanation
        path = "/v1/orders/explain"
        if asked.terms is not None:
            path, explain = "/v1/explain", lambda told: wire.read_explanation(told["explanation"])
        told = self.link.post(path, self._body(asked), safe=True)
        return Quote(
            lambda: read_reply(told, explain),
            lambda: read_reply(told, lambda facts: wire.read_bill(facts["bill"])),
            lambda: read_reply(told, lambda facts: int(facts["before"])),
        )

    def ask_online(
        self, charge: int, wheres: Sequence[Mapping[str, Any]], confidence: float
    ) -> OnlineReply:
        """Answer counting queries under the charge of an epoch."""
        body = {"queries": [plain_where(one) for one in wheres], "confidence": confidence}
        told = self.link.post(f"/v1/online/{charge}/ask", body, safe=True)
        return read_reply(told, partial(from_fields, OnlineReply))

    def online_state(self, charge: int) -> OnlineState:
        """The public state of an epoch."""
        return OnlineState.from_bytes(self.link.get(f"/v1/online/{charge}").content)

    def workbook(
        self, dataset: str, name: str, share: Fraction, analyst: str | None
    ) -> list[AskedQuestion]:
        """Open a workbook of the ledger, or find it; the questions that it has paid for."""
        self.check_name(analyst)
        body = {"dataset": dataset, "name": name, "share": str(share)}
        return read_reply(self.link.post("/v1/workbooks", body, safe=True), wire.read_asked)

    def stored(self, charge: int) -> Release:
        """The stored answer of a charge."""
        reply = self.link.get(f"/v1/queries/{charge}", {"Accept": wire.BYTES})
        return Release.from_bytes(reply.content)

    def stream_release(self, charge: int) -> Release:
        """A standing question, after the periods that are complete by now."""
        return Release.from_bytes(self.link.get(f"/v1/streams/{charge}").content)

    def check_name(self, name: str | None) -> None:
        """Refuse to ask for somebody whose token this is not."""
        if name is not None and self._me is None:
            self._me = str(read_reply(self.link.get("/v1/me"), lambda facts: facts["name"]))
        if name not in (None, self._me):
            raise InputError(
                f"this token is not for {name}",
                why="a server knows whoever asks by their token",
                fix="leave the name out, or use a token that was made for it",
            )

    def _body(self, asked: OrderRequest) -> dict[str, Any]:
        self.check_name(asked.analyst)
        what, terms = asked.asked, asked.terms
        if terms is None:
            spec = what if isinstance(what, Mapping) else {}
            return {"kind": kind_named(asked.kind).kind, "spec": wire.plain_json(spec)}
        if isinstance(what, Query):
            return {"plan": canonical.write(what), **wire.write_terms(terms)}
        if not isinstance(what, str):
            raise InputError(
                f"a question of type {type(what).__name__}", why="SQL is text", fix="pass a string"
            )
        return {"sql": what, **wire.write_terms(terms)}

    def _asked(self, path: str, body: dict[str, Any], asked: OrderRequest) -> BaseRelease:
        """Ask, and wait for the answer; after a while it is asked for by its number."""
        headers = {"Accept": wire.BYTES}
        if asked.request is not None:
            headers["Idempotency-Key"] = _header(named(asked.request, "request"))
        end = time.monotonic() + PATIENCE
        reply = self.link.post(path, body, headers, safe=True)
        while reply.status_code == 202:
            if time.monotonic() > end:
                raise ServiceError(
                    "the answer is not there yet",
                    why=f"the server has been computing it for {PATIENCE:g} seconds",
                    fix="ask the same again later: it is charged once",
                )
            time.sleep(_PAUSE)
            charge = int(read_reply(reply, lambda facts: facts["id"]))
            reply = self.link.get(f"/v1/queries/{charge}", {"Accept": wire.BYTES})
            if reply.status_code == 200 and path == _REMEASURE:
                reply = self.link.post(path, body, headers, safe=True)  # to be merged
        share = reply.headers.get(wire.SHARE)
        try:
            release = kind_named(asked.kind).release_type.from_bytes(reply.content)
            return release if share is None else release.with_share(float(share))
        except (InputError, ValueError):
            raise foreign() from None


def _header(request: str) -> str:
    """A request name as a header: what a header cannot hold is escaped."""
    plain = request.isascii() and request.isprintable() and request.strip() == request
    return request if plain and not request.startswith("%") else f"%{quote(request, safe='')}"


class RemoteLedger:
    """A server's ledger, as far as it can be read."""

    def __init__(self, link: "ServerConnection") -> None:
        self._link = link

    def entries(self, *, after: int = 0, limit: int = _PAGE) -> tuple[Entry, ...]:
        """Entries in order, those that follow number `after`."""
        found: list[Entry] = []
        while len(found) < limit:
            size = min(_PAGE, limit - len(found))
            start = found[-1].sequence if found else after
            path = f"/v1/ledger?{urlencode({'after': start, 'limit': size})}"
            page = read_reply(
                self._link.get(path), lambda told: [*map(wire.read_entry, told["entries"])]
            )
            found += page
            if len(page) < size:
                break
        return tuple(found)

    def accounts(self) -> tuple[Account, ...]:
        """All accounts."""
        return read_accounts(self._link.get(BUDGETS))

    def verify(self) -> Report:
        """Let the server read everything and compare."""
        return read_reply(self._link.post("/v1/ledger/verify", {}, safe=True), wire.read_report)

    def export(self, file: TextIO) -> Head:
        """Write every entry as a line of JSON with its hash."""
        head = Head()
        with self._link.stream("/v1/ledger/export") as lines:
            for line in lines:
                text = line.decode()
                file.write(text)
                head = _head(text)
        return head


def read_reply(reply: "Response", read: Callable[[Any], T]) -> T:
    """The content of a reply; ServiceError if it is malformed."""
    try:
        return read(reply.json())
    except ServiceError:
        raise
    except (DiscreetError, LookupError, TypeError, ValueError, *_STUMBLES):
        raise foreign() from None


def read_accounts(reply: "Response") -> tuple[Account, ...]:
    """All accounts of a reply."""
    return read_reply(
        reply, lambda facts: tuple(wire.read_account(one) for one in facts["accounts"])
    )


def _head(line: str) -> Head:
    try:
        facts = json.loads(line)
        return Head(facts["entry"]["sequence"], facts["hash"])
    except (LookupError, TypeError, ValueError):
        raise foreign() from None


def foreign() -> ServiceError:
    """The reply is not one of ours."""
    return ServiceError(
        "the server's reply cannot be read",
        why="it is not what a server of this version sends",
        fix="use a client and a server of the same version",
    )
