"""A curator behind a server: the same methods, the same values, the same errors."""

import datetime as dt
import os
import secrets
import tempfile
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NoReturn
from urllib.parse import quote, urlencode

from discreet.answer.plan.explain import Explanation
from discreet.answer.present.base_release import BaseRelease
from discreet.answer.present.release import Release, as_table
from discreet.curator.arguments import several
from discreet.curator.async_session import AsyncSession
from discreet.curator.budget import Budget
from discreet.curator.census_plan import CensusPlan
from discreet.curator.census_runs import PublishedTables
from discreet.curator.client import declarations, wire
from discreet.curator.client.explanation_json import read_explanation
from discreet.curator.client.remote_ledger import (
    BUDGETS,
    RemoteLedger,
    foreign,
    read_accounts,
    read_reply,
)
from discreet.curator.curator import Curator
from discreet.curator.data.data_store import the_one
from discreet.curator.data.load_report import confirmed
from discreet.curator.data.sources import ENDINGS, open_source
from discreet.curator.ledger.accounts import Account, Holder
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.online_epochs import OnlineReply
from discreet.curator.order_kinds import KINDS, kind_named
from discreet.curator.person_statement import PeopleAdmin
from discreet.curator.planned_orders import OrderExplanation, OrderKind
from discreet.curator.pricing import Terms
from discreet.curator.release_schedule import ReleaseSchedule
from discreet.curator.reports.dossier import Dossier
from discreet.curator.roles import AnalystView, Auditor
from discreet.engines.default import save
from discreet.engines.reading import Reading
from discreet.errors import InputError, ServiceError
from discreet.plan import canonical
from discreet.plan.kinds import Kind
from discreet.plan.query import Query
from discreet.plan.schema import Bounds, Keys, Limits, Schema, Unit
from discreet.privacy import Neighbours
from discreet.privacy.budgets.charges import Charge
from discreet.rationals import whole
from discreet.workload.counting_query import plain_where
from discreet.workload.online import OnlineState

PATIENCE: Final = 600.0
"""Seconds to wait for an answer that is charged."""

_PAUSE: Final = 0.25
_NOT_SENT: Final = (".duckdb", ".db")


class Remote(Curator, schemes=("http", "https")):
    """A server's curator, as far as the token's role and datasets reach.

    Edge cases:
        A lost connection is tried again. The same question, or request name, is charged once and
        returns the same answer; the same upload makes one table. The token decides who asks.
    """

    def __init__(
        self, place: Any, *, token: str | None = None, allow_plain: bool = False, **other: Any
    ) -> None:
        if other:
            raise InputError(
                f"{', '.join(sorted(other))} for a curator behind a server",
                why="whoever runs the server has decided that",
                fix="pass the address and the token alone",
            )
        from discreet.curator.client.connection import ServerConnection  # noqa: PLC0415 - httpx

        self._link = ServerConnection(str(place), token, allow_plain=allow_plain)
        self._me: Mapping[str, Any] | None = None

    # --- questions ------------------------------------------------------------------------------

    def _public(self, text: str, *, priced: bool = True) -> Release | None:
        """What is asked for nothing, if the server finds that it is free."""
        return None if priced else self._table("/v1/queries", {"sql": text}, None)

    def _answer(
        self, question: str | Query, terms: Terms, analyst: str | None, request: str | None
    ) -> Release:
        return self._table("/v1/queries", self._question(question, terms, analyst), request)

    def _remeasure(self, question: str | Query, terms: Terms, analyst: str | None) -> Release:
        return self._table("/v1/remeasure", self._question(question, terms, analyst), None)

    def _explain(self, question: str | Query, terms: Terms, analyst: str | None) -> Explanation:
        body = self._question(question, terms, analyst)
        return read_reply(self._link.post("/v1/explain", body, safe=True), _explanation)

    def _bill(
        self, question: str | Query, terms: Terms, analyst: str | None
    ) -> dict[Account, Charge]:
        told = self._link.post("/v1/explain", self._question(question, terms, analyst), safe=True)
        return read_reply(told, lambda facts: wire.read_bill(facts["bill"]))

    def order(
        self,
        kind: str,
        spec: Mapping[str, Any],
        *,
        analyst: str | None = None,
        request: str | None = None,
    ) -> BaseRelease:
        """Place an order and wait for its release."""
        body = self._spec(kind, spec, analyst)
        return self._asked("/v1/orders", body, request, kind_named(kind))

    def explain_order(
        self, kind: str, spec: Mapping[str, Any], *, analyst: str | None = None
    ) -> OrderExplanation:
        """What an order would cost and how good its release would be."""
        told = self._link.post("/v1/orders/explain", self._spec(kind, spec, analyst), safe=True)
        return read_reply(told, wire.read_order_explanation)

    def cost_order(
        self, kind: str, spec: Mapping[str, Any], *, analyst: str | None = None
    ) -> dict[Account, Charge]:
        """What each account would be charged for an order not placed before."""
        told = self._link.post("/v1/orders/explain", self._spec(kind, spec, analyst), safe=True)
        return read_reply(told, lambda facts: wire.read_bill(facts["bill"]))

    def _charge_of(self, kind: str, spec: Mapping[str, Any], analyst: str | None) -> int:
        told = self._link.post("/v1/orders/explain", self._spec(kind, spec, analyst), safe=True)
        return int(read_reply(told, lambda facts: facts["before"]))

    def _ask_online(
        self, charge: int, wheres: Sequence[Mapping[str, Any]], confidence: float
    ) -> OnlineReply:
        body = {"queries": [plain_where(one) for one in wheres], "confidence": confidence}
        told = self._link.post(f"/v1/online/{charge}/ask", body, safe=True)
        return read_reply(told, OnlineReply.from_dict)

    def _online_state(self, charge: int) -> OnlineState:
        return OnlineState.from_bytes(self._link.get(f"/v1/online/{charge}").content)

    def _stream_release(self, charge: int) -> Release:
        return Release.from_bytes(self._link.get(f"/v1/streams/{charge}").content)

    # --- the owner ------------------------------------------------------------------------------

    def add(
        self,
        name: str,
        source: Any,
        *,
        unit: str | Unit,
        budget: Budget | None = None,
        dataset: str | None = None,
        columns: Mapping[str, Bounds | Keys] | None = None,
        kinds: Mapping[str, Kind | str] | None = None,
        required: Iterable[str] = (),
        limits: Limits | None = None,
        source_table: str | None = None,
        max_table_rows: int | None = None,
        version_label: str | None = None,
        reading: Reading | Mapping[str, Any] | None = None,
        confirm: str | Collection[str] = (),
    ) -> None:
        """Upload a private table: a new dataset with a budget, or one more table of a dataset."""
        if version_label is not None:
            raise InputError(
                "a version label of a table that is uploaded",
                why="what is uploaded is known by its content",
                fix="leave version_label out",
            )
        if max_table_rows is not None:
            raise InputError(
                f"max_table_rows={max_table_rows} of a table on a server",
                why="a server takes the next power of ten",
                fix="leave it out, or state it with discreet add on the server's machine",
            )
        said = {
            "name": name,
            "unit": declarations.write_unit(unit),
            "limits": declarations.write_limits(limits or Limits()),
            "required": several(required, "required columns"),
            "budget": None if budget is None else declarations.write_budget(budget),
            "dataset": dataset,
            "confirm": list(confirmed(confirm)),
            **_columns(columns, kinds),
        }
        said |= _read_as(source, source_table, reading)
        upload = self._uploaded(name, source, source_table, reading)
        self._link.post("/v1/datasets", {**_known(said), "upload": upload}, safe=True)

    def append(
        self,
        name: str,
        rows: Any,
        *,
        through: dt.date | None = None,
        again: bool = False,
        max_table_rows: int | None = None,
        reading: Reading | Mapping[str, Any] | None = None,
    ) -> int:
        """Upload rows for a table that is there; the version that begins with them."""
        if max_table_rows is not None:
            raise InputError(
                "max_table_rows for a curator behind a server",
                why="the bound follows the rows there",
                fix="leave it out",
            )
        said = {"table": name, "upload": self._uploaded(name, rows, None, reading), "again": again}
        said |= {} if reading is None else {"reading": Reading.from_dict(reading).to_dict()}
        day = {} if through is None else {"through": dt.date.isoformat(through)}
        told = self._link.post("/v1/parts", {**said, **day}, safe=False)
        return int(read_reply(told, lambda facts: facts["version"]))

    def retire(self, dataset: str, *, reason: str) -> None:
        """End a dataset for ever."""
        place = f"/v1/datasets/{_escaped(dataset)}/retire"
        self._link.post(place, {"reason": reason}, safe=True)

    def retired(self) -> list[str]:
        """The datasets of which nothing new is asked."""
        told = self._link.get("/v1/schema")
        return [str(one) for one in read_reply(told, lambda facts: facts["retired"])]

    def version(self, dataset: str) -> int:
        """The newest version of a dataset."""
        told = self._link.get(f"/v1/parts/{quote(dataset, safe='')}")
        return int(read_reply(told, lambda facts: facts["version"]))

    def add_public(
        self,
        name: str,
        source: Any,
        *,
        key: str | Iterable[str],
        columns: Mapping[str, Bounds | Keys] | None = None,
        kinds: Mapping[str, Kind | str] | None = None,
        source_table: str | None = None,
        reading: Reading | Mapping[str, Any] | None = None,
    ) -> None:
        """Upload a table that belongs to nobody."""
        keys = [key] if isinstance(key, str) else several(key, "keys")
        said = {"name": name, "key": keys, **_columns(columns, kinds)}
        said |= _read_as(source, source_table, reading)
        upload = self._uploaded(name, source, source_table, reading)
        self._link.post("/v1/public-tables", {**said, "upload": upload}, safe=True)

    def grant(self, analyst: str, dataset: str, budget: Budget) -> Account:
        """Give an analyst a cap of their own within a dataset."""
        said = {"analyst": analyst, "dataset": dataset, "budget": declarations.write_budget(budget)}
        return self._account("/v1/grants", said)

    def group(
        self, name: str, dataset: str, analysts: Iterable[str], budget: Budget | None = None
    ) -> Account:
        """Hold several analysts to a cap together, or, without one, count what they learn."""
        members = several(analysts, "analysts")
        said = {"name": name, "dataset": dataset, "analysts": members, **_capped(budget)}
        return self._account("/v1/groups", said)

    def link(self, name: str, datasets: Iterable[str], budget: Budget | None = None) -> Account:
        """Say that datasets hold the same people; cap, or count, what one of them loses in all."""
        said = {"name": name, "datasets": several(datasets, "datasets"), **_capped(budget)}
        return self._account("/v1/links", said)

    def raise_budget(
        self,
        dataset: str,
        budget: Budget,
        *,
        reason: str,
        analyst: str | None = None,
        group: str | None = None,
    ) -> Account:
        """Change a budget for ever; the ledger keeps who did it and why."""
        whose = {"analyst": analyst, "group": group}
        said = {**declarations.write_budget(budget), "reason": reason, **whose}
        return self._account(f"/v1/budgets/{_escaped(dataset)}/raise", _known(said))

    def raise_link(self, name: str, budget: Budget, *, reason: str) -> Account:
        """Change for ever what one person may lose over linked datasets; the ledger keeps why."""
        said = {**declarations.write_budget(budget), "reason": reason}
        return self._account(f"/v1/links/{_escaped(name)}/raise", _known(said))

    def as_owner(self, name: str) -> Curator:
        """This curator, if the token is for that name."""
        self._check_name(name)
        return self

    def as_analyst(self, name: str, datasets: Collection[str] | None = None) -> AnalystView:
        """What the analyst can do whose token this is."""
        self._check_name(name)
        if datasets is not None:
            _refuse("a view of some datasets", "a token for these datasets from the owner")
        return AnalystView(self, name)

    def as_auditor(self) -> Auditor:
        """What an auditor can do, if the token is one's: read and check the ledger."""
        return Auditor(RemoteLedger(self._link))

    def dossier(self, *, audit: object = None) -> Dossier:
        """The server's dossier, for owners and auditors; audits are attached where it runs."""
        if audit is not None:
            _refuse("an audit to attach", "`discreet dossier --audit` where the server runs")
        return read_reply(self._link.get("/v1/dossier"), Dossier.of_dict)

    def window(self, caller: str | None, datasets: Collection[str] | None = None) -> AsyncSession:
        """Refuse: there is one on the server."""
        _refuse("a window", "the methods of this curator")

    @property
    def ledger(self) -> Ledger:
        """Refuse: it is on the server."""
        _refuse("the ledger itself", "as_auditor(), which can read and check it")

    def recover(self, *, patience: float | None = None) -> int:
        """Refuse: the server finishes what is charged by itself."""
        _refuse("what a crash interrupted", "asking again: the server finishes what is charged")

    def release(
        self, plan: CensusPlan, to: str | os.PathLike[str], *, request: str | None = None
    ) -> PublishedTables:
        """Refuse: the tables are written where the data is."""
        del plan, to, request
        _refuse("a release of tables", "`discreet release` where the server runs")

    def max_table_rows(self, table: str) -> int:
        """Refuse: the server estimates times itself."""
        _refuse("the bound on rows", "explain(), which estimates the time")

    def check_tables(self) -> None:
        """Refuse: the server checks what it is asked about."""
        _refuse("what was said about tables", "as_auditor(), whose entries have it")

    def readmit(self, analyst: str, dataset: str, *, reason: str) -> int:
        """Refuse: it is for whoever runs the server, and sees why questions failed."""
        _refuse("questions that failed", "`discreet ledger readmit` where the server runs")

    def cancel(self, charge: int, *, analyst: str | None = None) -> None:
        """Give up a question that is charged and not measured yet, for ever; the charge stays.

        Analysts cancel what they asked first, owners everything.
        """
        if analyst is not None:
            self._check_name(analyst)
        self._link.delete(f"/v1/queries/{whole(charge, 'charge', at_least=1)}")

    def fit(self, estimator: Any, table: str, **said: Any) -> Any:
        """Fit an estimator of `discreet.learn`, or a pipeline of them; charged first."""
        if hasattr(estimator, "facts"):
            raise InputError(
                "a training run behind a server",
                why="a model is code, and runs where the rows are",
                fix="let the owner open the curator's folder and call fit, or fit an estimator",
            )
        return super().fit(estimator, table, **said)

    @property
    def _people(self) -> PeopleAdmin:
        """Refused: names of people do not travel, and no token reads one person's account."""
        _refuse("the account of one person", "use the curator's folder")

    def keep_time(self, pace: ReleaseSchedule) -> None:
        """Refuse: the server keeps its own."""
        _refuse("when answers are stored", "the settings of the server")

    # --- public facts ---------------------------------------------------------------------------

    @property
    def schema(self) -> Schema:
        """What is said about all tables in sight."""
        return self._facts()[0]

    @property
    def neighbours(self) -> Neighbours:
        """What every guarantee here speaks of."""
        return self._facts()[2]

    def datasets(self) -> dict[str, list[str]]:
        """The tables of each dataset in sight."""
        return self._facts()[1]

    def budget(self, dataset: str | None = None, *, analyst: str | None = None) -> Account:
        """What a dataset, or an analyst within it, may spend, has spent, and has left."""
        known = self.datasets()
        dataset = the_one("dataset", known) if dataset is None else dataset
        if dataset not in known:
            raise _unknown(dataset, known)
        kind, name = ("dataset", dataset) if analyst is None else ("analyst", analyst)
        wanted = Holder(kind, name, None if analyst is None else dataset)  # type: ignore[arg-type]
        for account in read_accounts(self._link.get(BUDGETS)):
            if account.holder == wanted:
                return account
        raise InputError(
            f"{wanted} has no account",
            why="none was opened for it",
            fix="open one, or look at the names in ledger.accounts()",
        )

    def close(self) -> None:
        """Let go of connections."""
        self._link.close()

    # --- the way there --------------------------------------------------------------------------

    def _question(self, question: str | Query, terms: Terms, analyst: str | None) -> dict[str, Any]:
        if analyst is not None:
            self._check_name(analyst)
        if isinstance(question, Query):
            return {"plan": canonical.write(question), **wire.write_terms(terms)}
        if not isinstance(question, str):
            raise InputError(
                f"a question of type {type(question).__name__}",
                why="SQL is text",
                fix="pass a string",
            )
        return {"sql": question, **wire.write_terms(terms)}

    def _spec(self, kind: str, spec: Mapping[str, Any], analyst: str | None) -> dict[str, Any]:
        if analyst is not None:
            self._check_name(analyst)
        return {"kind": kind_named(kind).name, "spec": wire.plain_json(spec)}

    def _table(self, path: str, body: dict[str, Any], request: str | None) -> Release:
        return as_table(self._asked(path, body, request, KINDS["query"]))

    def _asked(
        self, path: str, body: dict[str, Any], request: str | None, kind: OrderKind
    ) -> BaseRelease:
        """Ask, and wait for the answer; after a while it is asked for by its number."""
        headers = {"Accept": wire.BYTES}
        if request is not None:
            headers["Idempotency-Key"] = _header(request)
        end = time.monotonic() + PATIENCE
        reply = self._link.post(path, body, headers, safe=True)
        while reply.status_code == 202:
            if time.monotonic() > end:
                raise _late()
            time.sleep(_PAUSE)
            charge = int(read_reply(reply, lambda facts: facts["id"]))
            reply = self._link.get(f"/v1/queries/{charge}", {"Accept": wire.BYTES})
            if reply.status_code == 200 and path == "/v1/remeasure":
                reply = self._link.post(path, body, headers, safe=True)  # to be merged
        share = reply.headers.get(wire.SHARE)
        try:
            release = kind.release(reply.content)
            if isinstance(release, Release) and share is not None:
                return replace(release, share=float(share))
        except (InputError, ValueError):
            raise foreign() from None
        return release

    def _account(self, path: str, said: dict[str, Any]) -> Account:
        return read_reply(self._link.post(path, said), wire.read_account)

    def _facts(self) -> tuple[Schema, dict[str, list[str]], Neighbours]:
        return read_reply(self._link.get("/v1/schema"), declarations.read_schema)

    def _check_name(self, name: str) -> None:
        if self._me is None:
            self._me = read_reply(self._link.get("/v1/me"), dict)
        if name != self._me.get("name"):
            raise InputError(
                f"this token is not for {name}",
                why="a server knows whoever asks by their token",
                fix="leave the name out, or use a token that was made for it",
            )

    def _uploaded(
        self,
        name: str,
        source: Any,
        source_table: str | None,
        reading: Reading | Mapping[str, Any] | None = None,
    ) -> str:
        with _as_file(name, source, source_table, Reading.from_dict(reading)) as path:
            place = f"/v1/uploads?{urlencode({'name': path.name})}"
            return str(read_reply(self._link.upload(place, path), lambda facts: facts["upload"]))


def _explanation(facts: Any) -> Explanation:
    return read_explanation(facts["explanation"])


# --- writing ------------------------------------------------------------------------------------


def _columns(
    columns: Mapping[str, Bounds | Keys] | None, kinds: Mapping[str, Kind | str] | None
) -> dict[str, Any]:
    said = (kinds or {}).items()
    spelled = {name: kind.value if isinstance(kind, Kind) else kind for name, kind in said}
    return {"columns": declarations.write_columns(columns or {}), "kinds": spelled}


def _capped(budget: Budget | None) -> dict[str, Any]:
    return {} if budget is None else {"budget": declarations.write_budget(budget)}


def _known(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fact for name, fact in said.items() if fact is not None}


def _escaped(name: str) -> str:
    return quote(name, safe="")


def _header(request: str) -> str:
    """A request name as a header: what a header cannot hold is escaped."""
    plain = request.isascii() and request.isprintable() and request.strip() == request
    return request if plain and not request.startswith("%") else f"%{quote(request, safe='')}"


def _is_sent(source: Any) -> bool:
    """Whether a file is sent as it is; anything else is sent as a Parquet file."""
    if not isinstance(source, str | Path):
        return False
    path = Path(source)
    return path.is_file() and path.name.lower().endswith(ENDINGS) and path.suffix not in _NOT_SENT


def _read_as(
    source: Any, source_table: str | None, reading: Reading | Mapping[str, Any] | None
) -> dict[str, Any]:
    table = {"source_table": source_table} if source_table and _is_sent(source) else {}
    return {"reading": Reading.from_dict(reading).to_dict(), **table}


@contextmanager
def _as_file(name: str, source: Any, source_table: str | None, reading: Reading) -> Any:
    """A file that can be sent: as it is, or made of what cannot be."""
    if _is_sent(source):
        yield Path(source)
        return
    opened = open_source(source, reading, source_table, name)
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        made = Path(folder) / f"{secrets.token_hex(4)}.parquet"
        save(opened.open(), made)
        yield made


# --- refusing -----------------------------------------------------------------------------------


def _refuse(what: str, instead: str) -> NoReturn:
    raise InputError(
        f"{what} of a curator behind a server",
        why="it stays on the server, with the data",
        fix=f"use {instead}",
    )


def _unknown(dataset: str, known: Iterable[str]) -> InputError:
    from discreet.curator.data.data_store import unknown  # noqa: PLC0415 - for those who err

    return unknown("dataset", dataset, known)


def _late() -> ServiceError:
    return ServiceError(
        "the answer is not there yet",
        why=f"the server has been computing it for {PATIENCE:g} seconds",
        fix="ask the same again later: it is charged once",
    )
