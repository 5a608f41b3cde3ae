"""A curator behind a server: the same methods, the same values, the same errors."""

import secrets
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn, Unpack
from urllib.parse import quote, urlencode

from discreet.curator.arguments import AppendArguments, order_spec, the_one, unknown
from discreet.curator.budget import Budget
from discreet.curator.client import declarations, wire
from discreet.curator.client.remote_backend import (
    BUDGETS,
    RemoteBackend,
    RemoteLedger,
    read_accounts,
    read_reply,
)
from discreet.curator.curator import AnalystView, Auditor, Curator
from discreet.curator.data.intake import NewTable
from discreet.curator.data.sources import ENDINGS, open_source
from discreet.curator.ledger import accounts
from discreet.curator.ledger.accounts import Account, Holder
from discreet.curator.question_interface import QuestionInterface, spelled_out
from discreet.curator.reports.dossier import Dossier
from discreet.engines.default import save
from discreet.engines.reading import Reading
from discreet.errors import InputError
from discreet.plain_json import from_fields
from discreet.plan.schema import Limits, Schema
from discreet.privacy import Neighbours
from discreet.rationals import whole


class Remote(Curator):
    """A server's curator, as far as the token's role and datasets reach.

    Edge cases:
        A lost connection is tried again. The same question, or request name, is charged once and
        returns the same answer; the same upload makes one table. The token decides who asks. What
        needs the folder of the curator is refused.
    """

    _schemes = ("http", "https")

    def __init__(
        self, place: Any, *, token: str | None = None, allow_plain: bool = False, **other: Any
    ) -> None:
        if other:
            raise InputError(
                f"{', '.join(sorted(other))} for a curator behind a server",
                why="the owner of the server decides that",
                fix="pass the address and the token alone",
            )
        from discreet.curator.client.connection import ServerConnection  # noqa: PLC0415 - httpx

        self._link = ServerConnection(str(place), token, allow_plain=allow_plain)
        self._backend = self._remote = RemoteBackend(self._link)

    def retired(self) -> list[str]:
        """The datasets of which nothing new is asked."""
        told = self._link.get("/v1/schema")
        return [str(one) for one in read_reply(told, lambda facts: facts["retired"])]

    def version(self, dataset: str) -> int:
        """The newest version of a dataset."""
        told = self._link.get(f"/v1/parts/{quote(dataset, safe='')}")
        return int(read_reply(told, lambda facts: facts["version"]))

    def as_owner(self, name: str) -> Curator:
        """This curator, if the token is for that name."""
        self._remote.check_name(name)
        return self

    def as_analyst(self, name: str, datasets: Collection[str] | None = None) -> AnalystView:
        """The view of the analyst whose token this is."""
        self._remote.check_name(name)
        if datasets is not None:
            refuse("a view of some datasets", "a token for these datasets from the owner")
        return AnalystView(self, name)

    def as_auditor(self) -> Auditor:
        """The auditor's view: read and check the ledger."""
        read = RemoteLedger(self._link)
        return Auditor(read.entries, read.accounts, read.verify, read.export)

    def dossier(self, *, audit: object = None) -> Dossier:
        """The server's dossier, for owners and auditors; audits are attached where it runs."""
        if audit is not None:
            refuse("an audit to attach", "`discreet dossier --audit` where the server runs")
        return read_reply(self._link.get("/v1/dossier"), partial(from_fields, Dossier))

    def cancel(self, charge: int, *, analyst: str | None = None) -> None:
        """Give up a question that is charged and not measured yet, for ever; the charge stays.

        Analysts cancel what they asked first, owners everything.
        """
        self._remote.check_name(analyst)
        self._link.delete(f"/v1/queries/{whole(charge, 'charge', at_least=1)}")

    def fit(self, estimator: Any, table: str, **said: Any) -> Any:
        """Fit an estimator of `discreet.learn`, or a pipeline of them; charged first."""
        return QuestionInterface.fit(self, estimator, table, **said)

    # --- the owner ------------------------------------------------------------------------------

    def _add(self, source: Any, new: NewTable) -> None:
        """Upload a table, private or public."""
        _refuse("version_label", new.version_label, "what is uploaded is known by its content")
        _refuse("max_table_rows", new.max_table_rows, "a server takes the next power of ten")
        columns, reading = new.columns, new.columns.reading
        said: dict[str, Any] = {
            "name": new.name,
            "columns": declarations.write_columns(columns.columns),
            "kinds": {name: kind.value for name, kind in columns.kinds.items()},
            "reading": reading.to_dict(),
        }
        if new.source_table and _is_sent(source):
            said["source_table"] = new.source_table
        if new.unit is None:
            said["key"] = list(new.key)
        else:
            said |= {
                "unit": declarations.write_unit(new.unit),
                "limits": asdict(new.limits or Limits()),
                "required": sorted(columns.required),
                "confirm": list(columns.confirm),
                **({"dataset": new.dataset} if new.budget is None else _capped(new.budget)),
            }
        upload = self._uploaded(new.name, source, new.source_table, reading)
        place = "/v1/public-tables" if new.unit is None else "/v1/datasets"
        self._link.post(place, {**said, "upload": upload}, safe=True)

    @spelled_out
    def append(self, name: str, rows: Any, **said: Unpack[AppendArguments]) -> int:
        """Upload rows for a table that is there; the version that begins with them."""
        _refuse("max_table_rows", said.get("max_table_rows"), "the bound follows the rows there")
        stated, through = said.get("reading"), order_spec({"through": said.get("through")})
        reading = Reading.from_dict(stated)
        read = {} if stated is None else {"reading": reading.to_dict()}
        body = {"table": name, "again": said.get("again", False), **read, **through}
        upload = self._uploaded(name, rows, None, reading)
        told = self._link.post("/v1/parts", {**body, "upload": upload}, safe=False)
        return int(read_reply(told, lambda facts: facts["version"]))

    def retire(self, dataset: str, *, reason: str) -> None:
        """End a dataset for ever."""
        place = f"/v1/datasets/{quote(dataset, safe='')}/retire"
        self._link.post(place, {"reason": reason}, safe=True)

    def _open_account(
        self, holder: Holder, budget: Budget | None, members: Sequence[Holder] = ()
    ) -> Account:
        names = [one.name for one in members]
        opened: dict[str, tuple[str, dict[str, Any]]] = {
            "analyst": ("grants", {"analyst": holder.name, "dataset": holder.within}),
            "group": ("groups", {"name": holder.name, "dataset": holder.within, "analysts": names}),
            "link": ("links", {"name": holder.name, "datasets": names}),
        }
        kind, said = opened[holder.kind]
        told = self._link.post(f"/v1/{kind}", {**said, **_capped(budget)})
        return read_reply(told, wire.read_account)

    def _set_cap(self, holder: Holder, budget: Budget, reason: str) -> Account:
        said = {**declarations.write_budget(budget), "reason": reason}
        if holder.within is not None:
            said[holder.kind] = holder.name
        kind = "links" if holder.kind == "link" else "budgets"
        place = f"/v1/{kind}/{quote(holder.within or holder.name, safe='')}/raise"
        return read_reply(self._link.post(place, said), wire.read_account)

    def _uploaded(self, name: str, source: Any, table: str | None, reading: Reading) -> str:
        with _as_file(name, source, table, reading) as path:
            place = f"/v1/uploads?{urlencode({'name': path.name})}"
            return str(read_reply(self._link.upload(place, path), lambda facts: facts["upload"]))

    # --- public facts ---------------------------------------------------------------------------

    @property
    def neighbours(self) -> Neighbours:
        """Neighbour relation of all guarantees."""
        return self._facts()[2]

    def datasets(self) -> dict[str, list[str]]:
        """The tables of each dataset in sight."""
        return self._facts()[1]

    def budget(self, dataset: str | None = None, *, analyst: str | None = None) -> Account:
        """Cap, spent and remaining budget of a dataset, or of an analyst within it."""
        known = self.datasets()
        dataset = the_one("dataset", known) if dataset is None else dataset
        if dataset not in known:
            raise unknown("dataset", dataset, known)
        wanted = accounts.spender(dataset, analyst)
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

    def _facts(self) -> tuple[Schema, dict[str, list[str]], Neighbours]:
        return read_reply(self._link.get("/v1/schema"), declarations.read_schema)


def _refuse(what: str, said: object, why: str) -> None:
    if said is not None:
        what = f"{what} of a table behind a server"
        raise InputError(what, why=why, fix="leave it out, or state it on the server's machine")


def _capped(budget: Budget | None) -> dict[str, Any]:
    return {} if budget is None else {"budget": declarations.write_budget(budget)}


def _is_sent(source: Any) -> bool:
    """Whether a file is sent as it is; anything else is sent as a Parquet file."""
    if not isinstance(source, str | Path):
        return False
    path = Path(source)
    known = path.name.lower().endswith(ENDINGS) and path.suffix not in (".duckdb", ".db")
    return known and path.is_file()


@contextmanager
def _as_file(name: str, source: Any, table: str | None, reading: Reading) -> Iterator[Path]:
    """A file that can be sent: as it is, or made of what cannot be."""
    if _is_sent(source):
        yield Path(source)
        return
    opened = open_source(source, replace(reading, blanks="keep"), table, name)
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        made = Path(folder) / f"{secrets.token_hex(4)}.parquet"
        save(opened.open(), made)
        yield made


def refuse(what: str, instead: str) -> NoReturn:
    """Refuse what needs the folder of a curator."""
    raise InputError(
        f"{what} of a curator behind a server",
        why="it stays on the server, with the data",
        fix=f"use {instead}",
    )


_ON_THE_SERVER: Final = {
    "async_session": ("a session of one caller", "the methods of this curator"),
    "recover": ("what a crash interrupted", "asking again: the server finishes what is charged"),
    "release": ("a release of tables", "`discreet release` where the server runs"),
    "check_tables": ("what was said about tables", "as_auditor(), whose entries have it"),
    "readmit": ("questions that failed", "`discreet ledger readmit` where the server runs"),
    "set_schedule": ("when answers are stored", "the settings of the server"),
}
"""Methods of a curator that a server keeps to itself: what they are about, and what to use."""

_KEPT_THERE: Final = {
    "ledger": ("the ledger itself", "as_auditor(), which can read and check it"),
    "_people": ("the account of one person", "`discreet person` where the server runs"),
}
"""The same of what is read, not called; names of people do not travel."""


def _refusal(what: str, instead: str) -> Callable[..., NoReturn]:
    def refused(*_: object, **__: object) -> NoReturn:
        """Refuse: it stays on the server."""
        refuse(what, instead)

    return refused


for _name, _words in _ON_THE_SERVER.items():
    setattr(Remote, _name, _refusal(*_words))
for _name, _words in _KEPT_THERE.items():
    setattr(Remote, _name, property(_refusal(*_words)))
