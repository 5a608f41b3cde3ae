"""The trusted third party: holds data, answers questions, and proves what was spent.

    question -> plan -> price -> charge (durable) -> engine -> noise -> release (stored)

Everything before the charge reads the question and public facts; everything after it happens under
the charge, once. Asking the same again returns the same bytes.
"""

import copy
import datetime as dt
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, ClassVar, Final, Self
from weakref import finalize

from discreet import html_view
from discreet.answer.plan.explain import Explanation
from discreet.answer.present.base_release import BaseRelease
from discreet.answer.present.release import Release, as_table
from discreet.curator.answer_service import AnswerService
from discreet.curator.arguments import about_columns, about_table, expect, placed, several
from discreet.curator.async_session import AsyncSession
from discreet.curator.budget import Budget
from discreet.curator.canonical_json import named
from discreet.curator.census_plan import CensusPlan
from discreet.curator.census_runs import CensusRuns, PublishedTables
from discreet.curator.data.data_store import ColumnDeclarations, DataStore, the_one, unknown
from discreet.curator.data.folder import Folder, is_curator, open_folder
from discreet.curator.data.intake import Incoming
from discreet.curator.data.load_report import confirmed
from discreet.curator.data.registry import Part, Registration, Registry
from discreet.curator.jobs import Jobs
from discreet.curator.ledger import accounts
from discreet.curator.ledger.accounts import Account
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import request_name
from discreet.curator.ledger.remote_witness import is_address
from discreet.curator.online_epochs import OnlineEpochs, OnlineReply
from discreet.curator.order_kinds import kind_named
from discreet.curator.person_statement import (
    PeopleAdmin,
    PersonStatement,
    check_link,
    check_population,
    check_remeasure,
)
from discreet.curator.planned_orders import OWNER, OrderExplanation, PlannedOrder
from discreet.curator.pricing import Offer, Terms
from discreet.curator.profile_bounds import hold, read_bounded
from discreet.curator.public_questions import answer_public
from discreet.curator.query_orders import QueryOrder, UnpricedQuery
from discreet.curator.question_interface import QuestionInterface
from discreet.curator.release_schedule import ReleaseSchedule
from discreet.curator.remeasure import explain_offer, merge, told_before
from discreet.curator.reports.dossier import Dossier, dossier
from discreet.curator.roles import AnalystView, Auditor
from discreet.curator.stored_orders import StoredOrder
from discreet.curator.streams import Streams
from discreet.curator.training_orders import TrainingRuns, training_spec
from discreet.curator.workbook import Workbook
from discreet.engines.reading import Reading
from discreet.errors import DiscreetError, InputError, LedgerError, QueryRefused
from discreet.plan import canonical
from discreet.plan.dummy import ROWS, dummy
from discreet.plan.kinds import Kind
from discreet.plan.query import Query
from discreet.plan.relations import Relation
from discreet.plan.released_tables import ReleasedTable, public_tables
from discreet.plan.remembered import remember
from discreet.plan.schema import (
    Bounds,
    Keys,
    Limits,
    Person,
    PersonPeriod,
    PublicTable,
    Schema,
    Table,
    Unit,
)
from discreet.privacy import Neighbours
from discreet.privacy.budgets.charges import Charge
from discreet.rationals import Real
from discreet.sql.reader.read import read, read_public, reads_clock
from discreet.workload.online import OnlineState

_PATIENCE = 30.0


class Curator(QuestionInterface):
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
        >>> import pyarrow as pa
        >>> rows = pa.table({"id": range(1000), "city": ["Haifa", "Austin"] * 500})
        >>> curator = Curator.in_memory()
        >>> curator.add("visits", rows, unit="id", budget=Budget(epsilon=1, delta=1e-6),
        ...             columns={"city": Keys(["Austin", "Haifa"])})
        >>> text = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
        >>> curator.sql(text, epsilon=0.1).table.column("city").to_pylist()
        ['Austin', 'Haifa']
    """

    _scope: frozenset[str] | None = None
    """The datasets that can be asked about; None for all."""

    _by: str = OWNER
    """Whom entries about accounts and tables name."""

    _SCHEMES: ClassVar[dict[str, type["Curator"]]] = {}
    """Who opens an address, by what it starts with."""

    def __init_subclass__(cls, *, schemes: tuple[str, ...] = ()) -> None:
        """A further kind of curator opens the addresses of its `schemes`."""
        Curator._SCHEMES.update(dict.fromkeys(schemes, cls))

    def __new__(cls, place: str | os.PathLike[str] | None = None, **_: Any) -> Self:
        """A curator of the kind that lives at this place."""
        scheme = place.partition("://")[0].lower() if isinstance(place, str) else ""
        kind = cls._SCHEMES.get(scheme, cls)
        return object.__new__(kind if issubclass(kind, cls) else cls)

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
            seer = _as_text(witness)
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
        self._data_store = DataStore(self._folder)
        self._data_store.settle_pending(self._find_part)
        self._sweep()
        self._answer_service = AnswerService(self._ledger, self._data_store, self._neighbours)
        self._jobs = Jobs(self._answer_service)
        self._epochs = OnlineEpochs(self._ledger, self._answer_service.reopen)
        service = self._answer_service
        self._streams = Streams(self._ledger, self._data_store, service.reread, service.check_data)
        self._scratch: str | None = None
        self._census = CensusRuns(self._ledger, service.reopen, lambda: self._place("releases"))
        self._training = TrainingRuns(self._ledger, service.reopen, lambda: self._place("training"))

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
        """Add a private table: a new dataset with a budget, or one more table of a `dataset`.

        `source` is a file, a frame, or the address of a server that keeps the table
        (postgresql://host/database, sc://host:15002, or a SparkSession). `describe` reports what
        would be kept, lost and asked.

        `unit` is the column that names the person, a key path, or EachRow(). `columns` says what is
        known of columns, `kinds` of which kind they are where a CSV file cannot tell; `required`
        lists columns that are never NULL. `reading` says how texts are read. What `describe`
        proposes from the data is used where you `confirm` that it is public knowledge: "kinds",
        names of columns, or "all". `source_table` is the table or sheet to read.
        `version_label` stands for the rows that a server has, which are known by a digest
        otherwise: whoever states one promises that they do not change under it.
        `max_table_rows` is a public bound on the rows of the table, which estimates of time rest
        on; without one it is the next power of ten, 10,000 at least.
        """
        if (budget is None) is (dataset is None):
            raise InputError(
                f"{name} has {'neither a budget nor a dataset' if budget is None else 'both'}",
                why="a table either starts a dataset with a budget of its own or shares another's",
                fix="pass budget=Budget(epsilon=..., delta=...) or dataset='name'",
            )
        self._check_going(named(dataset or name, "table"))
        if dataset is not None:
            self._known(dataset)
        about_table(unit, limits, columns)
        said = ColumnDeclarations(
            columns or {},
            kinds or {},
            frozenset(several(required, "required columns")),
            Reading.from_dict(reading),
            confirmed(confirm),
        )
        column = unit if isinstance(unit, str) else getattr(unit, "column", None)
        incoming = self._data_store.look(name, source, said, source_table, column)
        whose = Person(unit) if isinstance(unit, str) else unit
        table = Table(name, said.types(incoming), whose, limits or Limits())
        own = isinstance(budget, Budget) and budget.is_per_person
        cap = None if budget is None else self._cap(budget, accounts.dataset(name), each=own)
        if own:
            check_population(whose, self._neighbours)

        def settle(one: Registration) -> int:
            if cap is not None:
                self._open_account(accounts.dataset(name), cap, one, per_person=own)
            return self._record(one)

        owner = dataset or name
        self._data_store.add(table, incoming, owner, settle, max_table_rows, version_label)

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
        """Add rows to a private table; the version of its dataset that begins with them.

        Rows of known people fall under the accounts they have: no budget grows. `through` says that
        rows up to that day, and the day itself, are complete: standing questions go on. Rows that
        were appended before are refused unless they are to count `again`. Texts are read as those
        that were added, unless a `reading` says otherwise.
        """
        if through is not None:
            expect(through, dt.date, "through", fix="pass the last complete day: date(2026, 1, 31)")
        self._data_store.settle_pending(self._find_part)
        if (one := self._tables.tables.get(name)) is not None and one.dataset is not None:
            self._check_going(one.dataset)
            self._data_store.check_parts((one.dataset,), self._ledger.appended)
        said = {} if through is None else {"through": dt.date.isoformat(through)}

        def settle(one: Registration, part: Part) -> int:
            facts = {**one.part_said(part), **said}
            return self._ledger.record("appended", by=self._by, facts=facts).sequence

        read = None if reading is None else Reading.from_dict(reading)
        return self._data_store.append(
            name, rows, settle, again=again, max_table_rows=max_table_rows, reading=read
        )

    def retire(self, dataset: str, *, reason: str) -> None:
        """End a dataset for ever: nothing new is asked of it, and its name is never used again.

        Its account stays, and so does everything that was answered. Its files are no longer read
        and may be removed.
        """
        self._known(dataset)
        if not self._ledger.retired(dataset):
            facts = {"dataset": dataset, "reason": named(reason, "reason")}
            self._ledger.record("retired", by=self._by, facts=facts)

    def retired(self) -> list[str]:
        """The datasets of which nothing new is asked."""
        return [name for name in self._tables.datasets() if self._ledger.retired(name)]

    def _check_going(self, dataset: str) -> None:
        if self._ledger.retired(dataset):
            raise InputError(
                f"{dataset} is retired",
                why="what has ended takes no rows and no tables, and lends its name to none",
                fix="add the data as a new dataset under another name",
            )

    def version(self, dataset: str) -> int:
        """The newest version of a dataset: 1, and one more for each time rows were appended."""
        return self._tables.data_version(self._known(dataset))

    def _find_part(self, one: Registration, part: Part) -> int:
        """The entry that says that a part was appended, 0 where there is none."""
        said = one.part_said(part)
        known = self._ledger.appended(one.table.name)
        return next((each.sequence for each in known if said.items() <= each.facts.items()), 0)

    def max_table_rows(self, table: str) -> int:
        """The public bound on the rows of a table: as stated, or the next power of ten."""
        if table not in self._tables.tables:
            raise unknown("table", table, self._tables.tables)
        return self._data_store.max_table_rows(table)

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
        """Add a table that belongs to nobody; its key must be unique.

        Its values are public, so what they look like is confirmed by adding it.
        """
        keys = (key,) if isinstance(key, str) else tuple(several(key, "keys"))
        about_columns(columns)
        read = Reading.from_dict(reading)
        said = ColumnDeclarations(columns or {}, kinds or {}, frozenset(keys), read, ("kinds",))
        incoming = self._data_store.look(name, source, said, source_table)
        table = PublicTable(name, said.types(incoming), keys)
        self._data_store.add(table, incoming, None, self._record)

    def grant(self, analyst: str, dataset: str, budget: Budget) -> Account:
        """Give an analyst a cap of their own within a dataset."""
        holder = accounts.analyst(analyst, within=self._known(dataset))
        cap = self._cap(budget, accounts.dataset(dataset))
        return self._ledger.open_account(holder, cap, by=self._by)

    def group(
        self, name: str, dataset: str, analysts: Iterable[str], budget: Budget | None = None
    ) -> Account:
        """Hold several analysts to a cap together, or, without one, count what they learn."""
        within = self._known(dataset)
        members = [accounts.analyst(one, within=within) for one in several(analysts, "analysts")]
        cap = None if budget is None else self._cap(budget, accounts.dataset(within))
        holder = accounts.group(name, within=within)
        return self._ledger.open_account(holder, cap, by=self._by, members=members)

    def link(self, name: str, datasets: Iterable[str], budget: Budget | None = None) -> Account:
        """Say that datasets hold the same people; cap, or count, what one of them loses in all."""
        members = [accounts.dataset(self._known(one)) for one in several(datasets, "datasets")]
        check_link(self._ledger, self._tables, members, capped=budget is not None)
        cap = None if budget is None else self._cap(budget, *members[:1])
        return self._ledger.open_account(accounts.link(name), cap, by=self._by, members=members)

    def raise_budget(
        self,
        dataset: str,
        budget: Budget,
        *,
        reason: str,
        analyst: str | None = None,
        group: str | None = None,
    ) -> Account:
        """Change a budget for ever, of a dataset or of somebody in it; the ledger keeps why."""
        holder = accounts.spender(self._known(dataset), analyst, group)
        return self._ledger.set_cap(holder, self._cap(budget, holder), by=self._by, reason=reason)

    def raise_link(self, name: str, budget: Budget, *, reason: str) -> Account:
        """Change for ever what one person may lose over linked datasets; the ledger keeps why."""
        cap = self._cap(budget, accounts.link(name))
        return self._ledger.set_cap(accounts.link(name), cap, by=self._by, reason=reason)

    def readmit(self, analyst: str, dataset: str, *, reason: str) -> int:
        """Let an analyst ask again whose questions failed too often; how many had failed.

        Whether a question fails while data is read may depend on data: find out why first.
        """
        within = self._known(dataset)
        return self._ledger.readmit(analyst, within, by=self._by, reason=reason)

    def cancel(self, charge: int, *, analyst: str | None = None) -> None:
        """Give up a question that is charged and not measured yet, for ever; the charge stays.

        With `analyst` only a question that this one asked first; it goes on for others who asked
        it since.
        """
        window = self.window(None)
        found = window.find(charge)
        if found is None or (analyst is not None and found.order.analyst != analyst):
            raise InputError(
                f"there is no question {charge}",
                why="nothing is known under this number",
                fix="pass the number of a charge",
            )
        for_all = analyst is None
        window.cancel(charge, by=self._by if analyst is None else analyst, for_all=for_all)

    def limit_person(self, unit: object, *, epsilon: Real, dataset: str | None = None) -> None:
        """Let one person lose less than the others, for questions from now on; 0 is to opt out.

        `unit` is the person's name as it stands in the data; whether they are in it is not looked
        at. Where people of several kinds have budgets, `dataset` says which.
        """
        self._people.limit(unit, epsilon, dataset, by=self._by)

    def remove_person(self, unit: object, *, dataset: str | None = None) -> None:
        """Close one person's account for ever: whoever comes back under this name stays out.

        Their rows are in no later answer. Take them out of your own files, too.
        """
        self._people.close(unit, dataset, by=self._by)

    def statement_for(self, unit: object, *, dataset: str | None = None) -> PersonStatement:
        """What was computed with one person in it, and what it can have told: for that person.

        It is computed from the data. Hand it to nobody else, and to no analyst.
        """
        return self._people.statement(unit, dataset)

    def dossier(self, *, audit: object = None) -> Dossier:
        """What can be shown to an authority: datasets, units, budgets, charges, and by which law.

        `audit` is what `discreet audit --json` wrote. Reads the ledger through, and no data.
        """
        return dossier(self, audit=audit)

    def as_owner(self, name: str) -> "Curator":
        """The same curator in the hands of one of several owners, whom the ledger will name."""
        view = copy.copy(self)
        view._by = named(name, "owner")  # noqa: SLF001 - of the same class
        return view

    def as_analyst(self, name: str, datasets: Collection[str] | None = None) -> AnalystView:
        """What one analyst can do: ask, and see what is left; about some datasets, or all.

        A dataset that is not among them does not exist for this analyst.
        """
        return AnalystView(self._within(datasets), name)

    def window(self, caller: str | None, datasets: Collection[str] | None = None) -> AsyncSession:
        """What a server needs for one caller: to ask now and be answered later.

        `caller` None sees what everybody asked.
        """
        view = self._within(datasets)
        prices = (view._public, view._offer, view._offer_order)  # noqa: SLF001 - of the same class
        parts = (*prices, self._answer_service, self._jobs, self._ledger, self._epochs)
        return AsyncSession(view, caller, view._scope, *parts)  # noqa: SLF001 - of the same class

    def as_auditor(self) -> Auditor:
        """What an auditor can do: read and check the ledger; answers are not in it."""
        return Auditor(self._ledger)

    @property
    def ledger(self) -> Ledger:
        """The record of every charge."""
        return self._ledger

    @property
    def _people(self) -> PeopleAdmin:
        """What an owner can do about people who have budgets of their own."""
        known = self._tables.datasets()
        return PeopleAdmin(self._ledger, self._data_store, self._answer_service.people, known)

    # --- public facts ---------------------------------------------------------------------------

    @property
    def schema(self) -> Schema:
        """What is said about all tables."""
        return self._tables.schema

    @property
    def neighbours(self) -> Neighbours:
        """What every guarantee here speaks of."""
        return self._neighbours

    def datasets(self) -> dict[str, list[str]]:
        """The tables of each dataset."""
        tables = self._tables
        return {
            name: [one.table.name for one in tables.tables.values() if one.dataset == name]
            for name in tables.datasets()
        }

    def dummy(self, rows: int = ROWS) -> "Curator":
        """A curator over made-up rows with the same tables and budgets, to try questions on."""
        made, schema, datasets = (
            Curator.in_memory(neighbours=self.neighbours),
            self.schema,
            self.datasets(),
        )
        for name in datasets:
            made._open_like(accounts.dataset(name), self.budget(name))  # noqa: SLF001 - of the same class
        whose = {table: name for name, tables in datasets.items() for table in tables}
        for name, rows_of in dummy(schema, rows).items():
            incoming = Incoming({}, rows=rows_of)
            made._data_store.add(schema.tables[name], incoming, whose.get(name), made._record)  # noqa: SLF001 - of the same class
        return made

    def budget(self, dataset: str | None = None, *, analyst: str | None = None) -> Account:
        """What a dataset, or an analyst within it, may spend, has spent, and has left.

        Where there is one dataset, it need not be named.
        """
        name = the_one("dataset", self.datasets()) if dataset is None else self._known(dataset)
        return self._ledger.account(accounts.spender(name, analyst))

    def _repr_html_(self) -> str:
        known = self.datasets().items()
        rows = [(name, ", ".join(tables), self._left(name)) for name, tables in known]
        return html_view.framed(html_view.table(["dataset", "tables", "budget"], rows))

    def _left(self, dataset: str) -> str:
        """What is said of a budget, where whoever looks may know it."""
        try:
            return repr(self.budget(dataset)).partition(": ")[2]
        except DiscreetError:
            return ""

    def workbook(
        self, dataset: str, *, share: Real, questions: int, analyst: str | None = None
    ) -> Workbook:
        """A share of what is left of a dataset's budget, split over a number of questions.

        Each question gets an equal part of what is then left: `with curator.workbook("visits",
        share=0.2, questions=25) as w: w.sql(...)`.
        """
        return Workbook(self, dataset, share, questions, analyst)

    # --- questions ------------------------------------------------------------------------------

    def _public(self, text: str, *, priced: bool = True) -> Release | None:
        """The answer to a question about public tables alone; None where it is another."""
        del priced  # whatever was offered, it is free
        table = _read_public(self._data_store.tables, self._scope, text)
        if table is None:
            return None
        self._answer_service.check_data(sorted({one.name for one in public_tables(table)}))
        return answer_public(table, self._data_store, self._neighbours)

    def _answer(
        self, question: str | Query, terms: Terms, analyst: str | None, request: str | None
    ) -> Release:
        offer = self._offer(question, terms, analyst)
        told, order = as_table(self._answered(offer, request)), offer.order()
        return replace(told, share=accounts.budget_share(offer.at.touched, order.prices))

    def _remeasure(self, question: str | Query, terms: Terms, analyst: str | None) -> Release:
        offer = self._offer(question, terms, analyst)
        check_remeasure(offer.planned)
        order = offer.order()
        known = self._ledger.find_question(order) is not None
        fresh = as_table(self._answered(offer))
        query = StoredOrder.parse(order.plan).question(self.schema)
        merged = merge(query, fresh, told_before(self._ledger, order))
        return replace(merged, paid_before=known)

    def _explain(self, question: str | Query, terms: Terms, analyst: str | None) -> Explanation:
        return explain_offer(self._ledger, self._offer(question, terms, analyst))

    def _bill(
        self, question: str | Query, terms: Terms, analyst: str | None
    ) -> dict[Account, Charge]:
        return self._offer(question, terms, analyst).bill()

    def order(
        self,
        kind: str,
        spec: Mapping[str, Any],
        *,
        analyst: str | None = None,
        request: str | None = None,
    ) -> BaseRelease:
        """Place an order: charge it durably, compute it, store it; or find the stored release.

        `spec` is the JSON object that the kind of order reads; it says the price too.
        """
        return self._answered(self._offer_order(kind, spec, analyst), request)

    def explain_order(
        self, kind: str, spec: Mapping[str, Any], *, analyst: str | None = None
    ) -> OrderExplanation:
        """What an order would cost and how good its release would be; touches no data."""
        return self._offer_order(kind, spec, analyst).explanation

    def cost_order(
        self, kind: str, spec: Mapping[str, Any], *, analyst: str | None = None
    ) -> dict[Account, Charge]:
        """What each account would be charged for an order not placed before; touches no data."""
        return self._offer_order(kind, spec, analyst).bill()

    def release(
        self, plan: CensusPlan, to: str | os.PathLike[str], *, request: str | None = None
    ) -> PublishedTables:
        """Release many tables at all levels of a geography, as Parquet files in the folder `to`.

        Charged first. Run again after a crash it goes on where it stopped, with the same noise
        and under the same charge; run again at any time it writes the same tables, for nothing.
        """
        expect(plan, CensusPlan, "the plan of a release", fix="make one with discreet.releases")
        offer = self._offer_order("release", plan.spec, None)
        self._census.survey(offer.planned, self._data_store.open(offer.planned.tables))
        self._answered(offer, request)
        return self._census.run(self._sequence(offer), Path(to))

    def fit(
        self,
        estimator: Any,
        table: str,
        *,
        features: Iterable[str],
        target: str | None = None,
        analyst: str | None = None,
        request: str | None = None,
        run: int = 1,
    ) -> Any:
        """Fit an estimator, a pipeline or a `Trainer` of `discreet.learn`; charged first.

        A `Trainer` is the owner's alone: its model is code that sees rows. Its run goes on where a
        crash stopped it; `run` tells runs of the same words apart, each of which is charged.
        """
        if not hasattr(estimator, "facts"):
            more: dict[str, Any] = {"target": target, "analyst": analyst, "request": request}
            return super().fit(estimator, table, features=features, **more)
        spec = training_spec(estimator, table, features, target, run)
        offer = self._offer_order("training", spec, analyst)
        self._training.survey(offer.planned, estimator)
        self._answered(offer, request)
        return self._training.run(self._sequence(offer), estimator)

    def _charge_of(self, kind: str, spec: Mapping[str, Any], analyst: str | None) -> int:
        return self._sequence(self._offer_order(kind, spec, analyst))

    def _sequence(self, offer: Offer[PlannedOrder]) -> int:
        """The number of the charge of an offer that was placed, whatever was appended since."""
        found = self._ledger.find_question(offer.order())
        assert found is not None  # noqa: S101 - narrowing: it was placed
        return found.sequence

    def _ask_online(
        self, charge: int, wheres: Sequence[Mapping[str, Any]], confidence: float
    ) -> OnlineReply:
        return self._epochs.ask(charge, wheres, confidence=confidence)

    def _online_state(self, charge: int) -> OnlineState:
        return self._epochs.state(charge)

    def _stream_release(self, charge: int) -> Release:
        return self._streams.release(charge)

    def _stream_told(self, charge: int) -> Release:
        return self._streams.told(charge)

    def _answered(self, offer: Offer[PlannedOrder], request: str | None = None) -> BaseRelease:
        return self._answer_service.answer(offer, request_name(offer.at.analyst, request))

    def recover(self, *, patience: float | None = None) -> int:
        """Finish what a crash interrupted, under the charges that were made; how many.

        The first question to a curator in a folder does this by itself. With `patience=0` nobody
        else is taken to be computing. What cannot be finished now stays charged, for the next time.
        """
        return self._answer_service.recover(patience=patience)

    def keep_time(self, pace: ReleaseSchedule) -> None:
        """Let recovery keep the pace that questions keep: somebody may be watching.

        The first question no longer recovers by itself, since it would wait for others' steps.
        """
        self._answer_service.pace = pace

    def check_tables(self) -> None:
        """Compare all tables with the ledger, in word and content; LedgerError where one differs.

        Every file is read through.
        """
        tables = self._data_store.tables
        self._answer_service.check_said(tables.tables.values())
        self._data_store.check_parts(tables.datasets(), self._ledger.appended)
        self._data_store.check_content(self._ledger.retired)

    def close(self) -> None:
        """Finish what is being computed and let go of files; what was charged stays."""
        self._jobs.close()
        self._epochs.close()
        self._data_store.close()
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _within(self, datasets: Collection[str] | None) -> "Curator":
        """The same curator, as if it held these datasets and public tables alone; None for all."""
        view = copy.copy(self)
        view._scope = None if datasets is None else frozenset(several(datasets, "datasets"))  # noqa: SLF001 - of the same class
        return view

    def _offer(self, question: str | Query, terms: Terms, analyst: str | None) -> Offer[QueryOrder]:
        """Price a question that speaks of nothing but what can be seen from here."""
        if not isinstance(question, Query):
            query = self._read(question, OWNER if analyst is None else analyst)
        elif self._scope is None:
            query = question
        else:
            query = canonical.read(canonical.write(question), self.schema)
        text = question if isinstance(question, str) else None
        unpriced = UnpricedQuery(query, terms, text)
        return self._answer_service.offer(unpriced, OWNER if analyst is None else analyst)

    def _read(self, text: str, analyst: str) -> Query:
        """A question in SQL; bounds that it lacks come from a profile that the analyst was told."""
        try:
            return _read(self._data_store.tables, self._scope, text)
        except QueryRefused:
            seen = self._tables
            names = (self._ledger, list(seen.datasets()), analyst)
            found = read_bounded(text, seen.schema, *names) if isinstance(text, str) else None
            if found is None:
                raise
            return found

    def _hold(
        self, relation: Relation, make: Callable[[Relation], Query], *, analyst: str | None
    ) -> Query | None:
        seen = self._tables
        names = (self._ledger, list(seen.datasets()), OWNER if analyst is None else analyst)
        return hold(relation, make, seen.schema, *names)

    def _offer_order(
        self, kind: str, spec: Mapping[str, Any], analyst: str | None
    ) -> Offer[PlannedOrder]:
        """Price an order that reads nothing but what can be seen from here."""
        seen = self._tables
        unpriced = kind_named(kind).parse(spec, seen.schema)
        if hidden := sorted(unpriced.tables - seen.tables.keys()):
            raise unknown("table", hidden[0], seen.tables)
        about = (seen.tables[name].table for name in unpriced.tables)
        units = [one.unit for one in about if isinstance(one, Table)]
        if kind not in _SAY_PERIODS and any(isinstance(unit, PersonPeriod) for unit in units):
            raise QueryRefused(
                f"an order of kind {kind} about people in periods",
                why="its statement would speak of whole people, who are not protected",
                fix="ask questions in SQL, or add the data with the person as its unit",
                code="unit",
            )
        return self._answer_service.offer(unpriced, OWNER if analyst is None else analyst)

    @property
    def _tables(self) -> Registry:
        return self._data_store.tables.within(self._scope)

    # --- accounts -------------------------------------------------------------------------------

    def _cap(self, budget: Budget, *like: accounts.Holder, each: bool = False) -> Charge:
        """The cap that keeps a budget; where it leaves the measure open, that of another account.

        Why: accounts within a dataset start with what was spent of it, in its own measure.
        """
        fix = "pass Budget(epsilon=3, delta=1e-6)"
        expect(budget, Budget, "a budget", fix=fix)
        if budget.is_per_person and not each:
            raise InputError(
                "a budget of every person, for somebody else",
                why="the people of a dataset have it from the day the dataset is added",
                fix=fix,
            )
        known = []
        for holder in like:
            with suppress(InputError):  # it has no account yet
                known.append(self._ledger.account(holder).limit)
        return budget.cap(self._neighbours, *(one for one in known if one is not None))

    def _open_account(
        self, holder: accounts.Holder, cap: Charge, one: Registration, *, per_person: bool = False
    ) -> None:
        """Open an account; one that a crash left without its table is taken over.

        Where something was spent of it, answers rest on what was said, and it has to be said again.
        """
        known = {one.holder: one for one in self._ledger.accounts()}.get(holder)
        if known is None:
            self._ledger.open_account(holder, cap, by=self._by, per_person=per_person)
        if per_person:
            self._people.open(holder.name, cap, by=self._by)
        if known is None:
            return
        before, kept = (
            self._ledger.added(one.table.name),
            known.is_under(cap, per_person=per_person),
        )
        same = before is not None and one.is_said(before.facts) and kept
        if known.total.amount and not same:
            raise InputError(
                f"{one.table.name} was added before, with other data, words or budget",
                why="part of its budget is spent, on answers that rest on what was said then",
                fix="put back tables.json, say the same again, or give the table another name",
            )
        if not kept:
            self._ledger.set_cap(holder, cap, by=self._by, reason="the dataset was added again")

    def _open_like(self, holder: accounts.Holder, other: Account) -> None:
        """Open an account under the cap that another curator has for it."""
        each = Budget.per_person(*other.stated) if other.is_per_person and other.stated else None
        cap = other.limit if each is None else each.cap(self._neighbours)
        own = each is not None
        self._ledger.open_account(holder, cap, by=self._by, per_person=own)
        if own and cap is not None:
            self._people.open(holder.name, cap, by=self._by)

    def _record(self, one: Registration) -> int:
        """Let the ledger prove what was said about a table, and which data it was."""
        return self._ledger.record("added", by=self._by, facts=one.said).sequence

    def _known(self, dataset: str) -> str:
        known = self._tables.datasets()
        if dataset in known:
            return dataset
        raise unknown("dataset", dataset, known)


def _as_text(witness: str | os.PathLike[str] | None) -> str | None:
    """A witness by its address, or by the path of its file, wherever the program goes."""
    if witness is None or is_address(witness):
        return witness
    return os.path.abspath(witness)  # noqa: PTH100 - as text


def _read(tables: Registry, scope: frozenset[str] | None, text: str) -> Query:
    """A question in SQL, as far as it can be seen; one that was read lately is not read again."""
    if isinstance(text, str) and len(text) <= _SHORT and not reads_clock(text):
        return _read_lately(tables, scope, text)
    return read(text, tables.within(scope).schema)


def _read_public(tables: Registry, scope: frozenset[str] | None, text: str) -> ReleasedTable | None:
    """A question about public tables alone; None where it names others, or cannot be read."""
    if not isinstance(text, str) or not tables.has_public:
        return None
    if len(text) <= _SHORT and not reads_clock(text):
        return _read_public_lately(tables, scope, text)
    return read_public(text, tables.within(scope).schema)


@remember(512)
def _read_public_lately(
    tables: Registry, scope: frozenset[str] | None, text: str
) -> ReleasedTable | None:
    return read_public(text, tables.within(scope).schema)


@remember(512)
def _read_lately(tables: Registry, scope: frozenset[str] | None, text: str) -> Query:
    return read(text, tables.within(scope).schema)


_SAY_PERIODS: Final = ("query", "stream")
"""The kinds of orders whose statements tell whether a person or one in a period is protected."""

_SHORT: Final = 4096
"""Characters of a question that is worth remembering."""
