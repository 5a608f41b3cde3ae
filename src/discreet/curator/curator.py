"""The trusted third party: holds data, answers questions, and proves what was spent.

    question -> plan -> price -> charge (durable) -> engine -> noise -> release (stored)

Everything before the charge reads the question and public facts; everything after it happens under
the charge, once. Asking the same again returns the same bytes.
"""

import copy
import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, ClassVar, Self, TextIO, Unpack
from weakref import finalize

from discreet import html_view
from discreet.curator.answer_service import AnswerService
from discreet.curator.arguments import CallerArguments, expect, placed, several, the_one
from discreet.curator.async_session import AsyncSession, Jobs
from discreet.curator.data.data_store import DataStore
from discreet.curator.data.folder import Folder, is_curator, open_folder
from discreet.curator.data.intake import Incoming
from discreet.curator.data.table_checks import known_dataset
from discreet.curator.ledger import accounts
from discreet.curator.ledger.accounts import Account
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Entry, Head, canonical, digest, named
from discreet.curator.ledger.remote_witness import is_address
from discreet.curator.ledger.verify import Report
from discreet.curator.local_backend import LocalBackend
from discreet.curator.orders.census.census_plan import CensusPlan
from discreet.curator.orders.census.census_runs import PublishedTables, run_release, survey_release
from discreet.curator.orders.fits.training_orders import TrainingRun, survey_training, training_spec
from discreet.curator.orders.online_epochs import OnlineEpochs
from discreet.curator.orders.planned_orders import ResumedOrder
from discreet.curator.orders.streams.streams import Streams
from discreet.curator.owner_interface import OwnerInterface
from discreet.curator.question_interface import QuestionInterface
from discreet.curator.reports.dossier import Dossier, dossier
from discreet.engines.timing import ReleaseSchedule
from discreet.errors import DiscreetError, InputError, LedgerError
from discreet.plan.dummy import ROWS, dummy
from discreet.privacy import Neighbours
from discreet.rationals import whole

_PATIENCE = 30.0
_FOLDERS = {"release": "releases", "training": "training"}
"""Where charges of these kinds keep what is made of them."""


class Curator(OwnerInterface, QuestionInterface):
    """Data, budgets, and a ledger: in a folder, in memory, or behind a server.

    Guarantee:
        For each dataset, everything that was ever answered about it together keeps the dataset's
        budget, whoever asked and however they chose their questions. A charge is durable before
        data is touched and is never refunded; every answer is stored with its charge.
    Neighbours:
        One whole person added or removed, with all their rows in all tables of the dataset (or one
        row, where a table says so).
    Edge cases:
        A curator in memory keeps its ledger in memory too: when it ends, what was spent is
        forgotten, so it is for trying things out and for tests. With a postgresql:// address as
        `place`, or as `ledger`, charges are kept there and everything else in `folder`. `witness`
        is a file on another disk that stores the newest head of the ledger, so that restoring an
        old copy of the whole folder is refused; name it when the folder is created. Or it is the
        address of a `discreet witness`, which may be named later, too. With the
        address of a server (http:// or https://) and a `token` it is the curator behind it.

    Example:
        >>> import discreet as dp, pyarrow as pa
        >>> rows = pa.table({"id": range(1000), "city": ["Haifa", "Austin"] * 500})
        >>> curator = dp.Curator.in_memory()
        >>> curator.add("visits", rows, unit="id", budget=dp.Budget(epsilon=1, delta=1e-6),
        ...             columns={"city": dp.Keys(["Austin", "Haifa"])})
        >>> text = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
        >>> curator.sql(text, epsilon=0.1).table.column("city").to_pylist()
        ['Austin', 'Haifa']
    """

    _schemes: ClassVar[tuple[str, ...]] = ()
    """How the addresses begin that a further kind of curator opens."""

    def __new__(cls, place: str | os.PathLike[str] | None = None, **_: Any) -> Self:
        """A curator of the kind that lives at this place."""
        scheme = place.partition("://")[0].lower() if isinstance(place, str) else ""
        known = cls.__subclasses__()
        kinds = (kind for kind in known if scheme in kind._schemes)  # noqa: SLF001 - of the same class
        return object.__new__(next(kinds, cls))

    def __init__(
        self,
        place: str | os.PathLike[str] | None,
        *,
        folder: str | os.PathLike[str] | None = None,
        ledger: str | None = None,
        witness: str | os.PathLike[str] | None = None,
        neighbours: Neighbours | None = None,
        patience: float = _PATIENCE,
        token: str | None = None,
        allow_plain: bool = False,
    ) -> None:
        if token is not None or allow_plain:
            raise InputError(
                "a token for a curator that is not behind a server",
                why="whoever can open its folder needs none",
                fix="leave out token, or pass the address of a server: https://...",
            )
        where, address = placed(place, folder, ledger)
        if neighbours is not None:
            neighbours = Neighbours(neighbours)  # which reads their names too
        self._folder: Folder | None = None
        if where is not None:
            new = not is_curator(where)
            seer = None if witness is None else os.fspath(witness)
            if seer is not None and not is_address(seer):
                seer = os.path.abspath(seer)  # noqa: PTH100 - as text
            self._folder = open_folder(where, neighbours=neighbours, ledger=address, witness=seer)
            self._neighbours = self._folder.neighbours
            try:
                self._ledger = self._folder.open_ledger(address, patience)
            except LedgerError:
                if new:
                    self._folder.unmake()
                raise
        else:
            self._neighbours = neighbours or Neighbours.ADD_REMOVE
            self._ledger = Ledger.in_memory()
        self._data_store = DataStore(self._folder, self._ledger)
        self._answer_service = AnswerService(self._ledger, self._data_store, self._neighbours)
        service, about = self._answer_service, (self._ledger, self._data_store)
        self._jobs = Jobs(service)
        self._epochs = OnlineEpochs(self._ledger, service)
        self._streams = Streams(*about, service)
        parts = (*about, service, self._epochs, self._streams, self._neighbours)
        self._backend = self._local = LocalBackend(*parts)
        self._data_store.settle_pending()
        self._sweep()
        self._scratch: str | None = None

    def _resume(self, charge: int, kind: str) -> ResumedOrder:
        """A released charge of a kind that is gone on with in a folder of its own."""
        fix = "pass the number of another charge"
        receipt = self._answer_service.released(charge, kind, f"{kind} order", fix)
        planned, engine = self._answer_service.reopen(receipt)
        # Of a ledger that was put back, a charge of this number may have been for other noise.
        asked = canonical([receipt.order.version, planned.text, dict(planned.decisions())])
        folder = self._place(_FOLDERS[kind]) / f"{charge}-{digest(asked)[:32]}"
        return receipt.order.analyst, planned, engine, folder

    def _place(self, name: str) -> Path:
        """A folder of what belongs to charges; a curator in memory keeps it as long."""
        if self._folder is not None:
            return self._folder.path / name
        if self._scratch is None:
            self._scratch = mkdtemp(prefix="discreet-")
            finalize(self, rmtree, self._scratch, ignore_errors=True)
        return Path(self._scratch) / name

    def _sweep(self) -> None:
        """Remove what somebody who was killed left in the folder."""
        if self._folder is not None and self._folder.is_littered():
            kinds = ("added", "appended")
            added = {str(e.facts.get("data")) for kind in kinds for e in self._ledger.noted(kind)}
            self._folder.sweep(added)

    @staticmethod
    def in_memory(*, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> "Curator":
        """A curator for notebooks and tests; its ledger ends with it."""
        return Curator(None, neighbours=neighbours)

    # --- the owner ------------------------------------------------------------------------------

    def retired(self) -> list[str]:
        """The datasets of which nothing new is asked."""
        return [name for name in self._tables.datasets() if self._ledger.retired(name)]

    def version(self, dataset: str) -> int:
        """The newest version of a dataset: 1, and one more for each time rows were appended."""
        return self._tables.data_version(known_dataset(self._tables, dataset))

    def readmit(self, analyst: str, dataset: str, *, reason: str) -> int:
        """Let an analyst whose questions failed too often ask again; returns how many had failed.

        Whether a question fails while data is read may depend on data: find out why first.
        """
        within = known_dataset(self._tables, dataset)
        return self._ledger.readmit(analyst, within, by=self._by, reason=reason)

    def cancel(self, charge: int, *, analyst: str | None = None) -> None:
        """Give up for ever a question that is charged and not measured yet; the charge stays.

        With `analyst`, only a question that they asked first; it continues for others who asked it
        since.
        """
        session = self.async_session(None)
        found = session.find(whole(charge, "charge", at_least=1))
        if found is None or (analyst is not None and found.order.analyst != analyst):
            raise InputError(
                f"there is no question {charge}",
                why="nothing is known under this number",
                fix="pass the number of a charge",
            )
        for_all = analyst is None
        session.cancel(charge, by=self._by if analyst is None else analyst, for_all=for_all)

    def dossier(self, *, audit: object = None) -> Dossier:
        """A report for authorities: datasets, units, budgets and charges, arranged by law.

        `audit` is what `discreet audit --json` wrote. Reads the ledger through, and no data.
        """
        return dossier(self, audit=audit)

    def as_owner(self, name: str) -> "Curator":
        """The same curator used by one of several owners, whom the ledger will name."""
        view = copy.copy(self)
        view._by = named(name, "owner")  # noqa: SLF001 - of the same class
        return view

    def as_analyst(self, name: str, datasets: Collection[str] | None = None) -> "AnalystView":
        """One analyst's view of some datasets, or all: ask, and see what is left.

        A dataset that is not among them does not exist for this analyst.
        """
        return AnalystView(self._within(datasets), name)

    def async_session(
        self, caller: str | None, datasets: Collection[str] | None = None
    ) -> AsyncSession:
        """The session of one caller on a server: ask now, get the answer later.

        `caller` None sees what everybody asked.
        """
        local = self._within(datasets)._local  # noqa: SLF001 - of the same class
        return AsyncSession(**vars(local), caller=caller, jobs=self._jobs)

    def as_auditor(self) -> "Auditor":
        """An auditor's view: read and check the ledger; answers are not in it."""
        read = self._ledger
        return Auditor(read.entries, read.accounts, read.verify, read.export)

    @property
    def ledger(self) -> Ledger:
        """The record of every charge."""
        return self._ledger

    def _within(self, datasets: Collection[str] | None) -> "Curator":
        """The same curator, as if it held these datasets and public tables alone; None for all."""
        view = copy.copy(self)
        scope = None if datasets is None else frozenset(several(datasets, "datasets"))
        view._backend = view._local = replace(self._local, scope=scope)  # noqa: SLF001 - of the same class
        return view

    # --- public facts ---------------------------------------------------------------------------

    @property
    def neighbours(self) -> Neighbours:
        """Neighbour relation of all guarantees."""
        return self._neighbours

    def datasets(self) -> dict[str, list[str]]:
        """The tables of each dataset."""
        return self._tables.datasets()

    def dummy(self, rows: int = ROWS) -> "Curator":
        """A curator over made-up rows with the same tables and budgets, to try questions on."""
        made = Curator.in_memory(neighbours=self.neighbours)
        schema, datasets = self.schema, self.datasets()
        for name in datasets:
            made._open_like(accounts.dataset(name), self.budget(name))  # noqa: SLF001 - of the same class
        whose = {table: name for name, tables in datasets.items() for table in tables}
        for name, rows_of in dummy(schema, rows).items():
            incoming = Incoming({}, rows=rows_of)
            about = (schema.tables[name], incoming, whose.get(name))
            made._data_store.add(*about, made._record)  # noqa: SLF001 - of the same class
        return made

    def budget(self, dataset: str | None = None, *, analyst: str | None = None) -> Account:
        """Cap, spent and remaining budget of a dataset, or of an analyst within it.

        If there is only one dataset, its name can be left out.
        """
        name = the_one("dataset", self.datasets()) if dataset is None else dataset
        spender = accounts.spender(known_dataset(self._tables, name), analyst)
        return self._ledger.account(spender)

    def _repr_html_(self) -> str:
        known = self.datasets().items()
        rows = [(name, ", ".join(tables), self._left(name)) for name, tables in known]
        return html_view.framed(html_view.table(["dataset", "tables", "budget"], rows))

    def _left(self, dataset: str) -> str:
        """The remaining budget in words, for whoever may know it."""
        try:
            return repr(self.budget(dataset)).partition(": ")[2]
        except DiscreetError:
            return ""

    # --- runs of many steps ---------------------------------------------------------------------

    def release(
        self, plan: CensusPlan, to: str | os.PathLike[str], *, request: str | None = None
    ) -> PublishedTables:
        """Release many tables at all levels of a geography, as Parquet files in the folder `to`.

        Charged first. After a crash, the same call continues where it stopped, with the same noise
        and under the same charge. A repeated call writes the same tables for nothing.
        """
        expect(plan, CensusPlan, "the plan of a release", fix="make one with discreet.releases")
        offer = self._local.offer_order("release", plan.spec, None)
        survey_release(offer.planned, self._data_store.open(offer.planned.tables))
        self._local.answered(offer, request)
        charge = self._local.sequence(offer)
        return run_release(self._ledger, charge, self._resume(charge, "release"), Path(to))

    def fit(
        self,
        estimator: Any,
        table: str,
        *,
        features: Iterable[str],
        target: str | None = None,
        run: int = 1,
        **said: Unpack[CallerArguments],
    ) -> Any:
        """Fit an estimator, a pipeline or a `Trainer` of `discreet.learn`; charged first.

        Only the owner can fit a `Trainer`: its model is code that sees rows. After a crash its run
        continues. `run` distinguishes runs of the same call; each is charged.
        """
        if not hasattr(estimator, "facts"):
            return super().fit(estimator, table, features=features, target=target, **said)
        spec = training_spec(estimator, table, features, target, run)
        offer = self._local.offer_order("training", spec, said.get("analyst"))
        survey_training(offer.planned, estimator)
        self._local.answered(offer, said.get("request"))
        charge = self._local.sequence(offer)
        return TrainingRun(self._ledger, charge, self._resume(charge, "training")).take(estimator)

    def recover(self, *, patience: float | None = None) -> int:
        """Finish what a crash interrupted, under the charges that were made; returns how many.

        The first question to a curator in a folder does this automatically. `patience=0` assumes
        that nobody else is computing. What cannot be finished now stays charged, for the next time.
        """
        return self._answer_service.recover(patience=patience)

    def set_schedule(self, schedule_of: Callable[[str], ReleaseSchedule]) -> None:
        """Make recovery and later steps keep the schedule of a caller, who may measure their time.

        The first question then does not recover automatically: it would wait for others' steps.
        """
        self._answer_service.schedule_of = schedule_of

    def check_tables(self) -> None:
        """Compare all tables, as declared and as stored, with the ledger; LedgerError if not equal.

        Every file is read through.
        """
        tables = self._data_store.tables
        self._answer_service.check_said(tables.tables.values())
        self._data_store.check_present()
        self._data_store.check_parts(tables.datasets())
        self._data_store.check_content()

    def close(self) -> None:
        """Finish what is being computed and close files; what was charged stays."""
        self._jobs.close()
        self._streams.close()
        self._epochs.close()
        self._answer_service.people.save()
        self._data_store.close()
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AnalystView(QuestionInterface):
    """An analyst's operations: ask, explain, and see what is left."""

    def __init__(self, curator: Curator, analyst: str) -> None:
        self.curator = curator
        self.analyst = self._analyst = named(analyst, "analyst")  # without one the owner asks
        self._backend = curator._backend  # noqa: SLF001 - of the same interface

    def datasets(self) -> dict[str, list[str]]:
        """The tables of each dataset."""
        return self.curator.datasets()

    def retired(self) -> list[str]:
        """The datasets of which nothing new is asked."""
        return self.curator.retired()

    @property
    def neighbours(self) -> Neighbours:
        """Neighbour relation of all guarantees."""
        return self.curator.neighbours

    def cancel(self, charge: int) -> None:
        """Give up a question that this analyst asked, for ever; the charge stays."""
        self.curator.cancel(charge, analyst=self.analyst)

    def dummy(self, rows: int = ROWS) -> Curator:
        """Made-up rows with the same tables, to try questions on."""
        return self.curator.dummy(rows)

    def budget(self, dataset: str | None = None) -> Account:
        """Cap, spent and remaining budget of this analyst."""
        return self.curator.budget(dataset, analyst=self.analyst)


@dataclass(frozen=True, slots=True, repr=False)
class Auditor:
    """An auditor's view of a ledger: every charge and every budget, and no answer."""

    entries: Callable[..., tuple[Entry, ...]]
    """Entries in order, those that follow number `after`, `limit` at most."""
    accounts: Callable[[], tuple[Account, ...]]
    """All budgets and what is spent of them."""
    verify: Callable[[], Report]
    """Read everything and compare; names the first entry that is wrong."""
    export: Callable[[TextIO], Head]
    """Write every entry as a line of JSON with its hash."""
