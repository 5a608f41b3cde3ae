"""A curator behind a server: the same methods, the same values, the same errors."""

from collections.abc import Callable, Collection
from typing import Any, Final, NoReturn
from urllib.parse import quote

from discreet.curator.arguments import the_one, unknown
from discreet.curator.client import declarations
from discreet.curator.client.remote_backend import RemoteBackend
from discreet.curator.client.remote_ledger import BUDGETS, RemoteLedger, read_accounts, read_reply
from discreet.curator.client.remote_owner import RemoteOwner
from discreet.curator.curator import Curator
from discreet.curator.ledger import accounts
from discreet.curator.ledger.accounts import Account
from discreet.curator.owner_interface import OwnerBackend
from discreet.curator.question_interface import QuestionInterface
from discreet.curator.reports.dossier import Dossier
from discreet.curator.roles import AnalystView, Auditor
from discreet.errors import InputError
from discreet.plan.schema import Schema
from discreet.privacy import Neighbours
from discreet.rationals import whole


class Remote(Curator, schemes=("http", "https")):
    """A server's curator, as far as the token's role and datasets reach.

    Edge cases:
        A lost connection is tried again. The same question, or request name, is charged once and
        returns the same answer; the same upload makes one table. The token decides who asks. What
        needs the folder of the curator is refused.
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
        self._backend = self._remote = RemoteBackend(self._link)

    @property
    def _owner(self) -> OwnerBackend:
        return RemoteOwner(self._link)

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
        return read_reply(self._link.get("/v1/dossier"), Dossier.of_dict)

    def cancel(self, charge: int, *, analyst: str | None = None) -> None:
        """Give up a question that is charged and not measured yet, for ever; the charge stays.

        Analysts cancel what they asked first, owners everything.
        """
        self._remote.check_name(analyst)
        self._link.delete(f"/v1/queries/{whole(charge, 'charge', at_least=1)}")

    def fit(self, estimator: Any, table: str, **said: Any) -> Any:
        """Fit an estimator of `discreet.learn`, or a pipeline of them; charged first."""
        return QuestionInterface.fit(self, estimator, table, **said)

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
    "max_table_rows": ("the bound on rows", "explain(), which estimates the time"),
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
