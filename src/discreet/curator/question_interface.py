"""The operations of analysts, in this process or on a server.

Views are for programs that share a process. People who do not trust each other need a server:
whoever holds the curator object holds the data.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, wraps
from inspect import Parameter, cleandoc, signature
from typing import Any, TypeAlias, TypeVar, Unpack, cast, get_args, get_type_hints

from discreet.answer.plan.explain import Explanation
from discreet.answer.present.base_release import BaseRelease
from discreet.answer.present.release import Release, as_table
from discreet.curator.arguments import (
    CallerArguments,
    OnlineArguments,
    PriceArguments,
    QuestionArguments,
    StreamArguments,
    SynthesisArguments,
    WorkloadArguments,
    order_spec,
    unknown,
)
from discreet.curator.ledger.accounts import Account
from discreet.curator.orders.fits.fit_orders import fit_spec, fitted, make_test
from discreet.curator.orders.online_epochs import OnlineQueries
from discreet.curator.orders.online_orders import OnlineRelease
from discreet.curator.orders.planned_orders import OrderExplanation, Terms
from discreet.curator.orders.profile_release import ProfileRelease
from discreet.curator.orders.query_orders import Participation
from discreet.curator.orders.streams.streams import StandingQuery
from discreet.curator.orders.synthesis_orders import SynthesisRelease
from discreet.curator.orders.workload_orders import WorkloadRelease
from discreet.curator.question_backend import OrderRequest, QuestionBackend
from discreet.curator.workbook import Workbook
from discreet.errors import InputError
from discreet.plan.answer_builder import Question
from discreet.plan.builder import Asker, From
from discreet.plan.public_facts import count_outside
from discreet.plan.query import Query
from discreet.plan.relations import Scan
from discreet.plan.schema import Schema, Table
from discreet.privacy.budgets.charges import Charge
from discreet.rationals import Real
from discreet.sql.reader.read import read
from discreet.workload.counting_query import plain_where

F = TypeVar("F", bound=Callable[..., Any])


def spelled_out(method: F) -> F:
    """Make help and completion show the arguments behind `**said`; refuse all others."""
    given = signature(method)
    *before, said = given.parameters.values()
    (options,) = get_args(said.annotation)
    needed, hints = options.__required_keys__, get_type_hints(options)
    caller = CallerArguments.__annotations__
    order = sorted(hints, key=lambda name: (name not in needed, name in caller))
    fields = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if name in needed else None,
            annotation=hints[name],
        )
        for name in order
    ]
    whole = given.replace(parameters=[*before, *fields])

    @wraps(method)
    def checked(*args: Any, **named: Any) -> Any:
        if extra := sorted(named.keys() - whole.parameters.keys()):
            known = ", ".join(list(whole.parameters)[1:])
            raise TypeError(f"{method.__name__}() takes no {extra[0]!r}; it takes {known}")
        return method(*args, **named)

    checked.__signature__ = whole  # type: ignore[attr-defined] # what inspect reads
    checked.__doc__ = f"{cleandoc(method.__doc__ or '')}\n\n{cleandoc(options.__doc__)}"
    return cast("F", checked)


Asked: TypeAlias = str | Query | Question
"""A question in SQL, as a plan, or as it was begun with `table`."""

R = TypeVar("R", bound=BaseRelease)


class QuestionInterface(ABC):
    """The methods that ask questions and place orders, shared by curators, views and clients."""

    _backend: QuestionBackend
    _analyst: str | None = None
    """The analyst who asks, if only one can."""

    @abstractmethod
    def datasets(self) -> dict[str, list[str]]:
        """The tables of each dataset."""

    # --- questions ------------------------------------------------------------------------------

    @spelled_out
    def sql(self, text: str, **said: Unpack[QuestionArguments]) -> Release:
        """Answer a question in SQL, for a price or for the least price that gives an accuracy.

        A question about public tables alone is exact and free: it needs neither.
        """
        priced = said.get("epsilon") is not None or said.get("accuracy") is not None
        if (free := self._backend.public(text, priced=priced)) is not None:
            return free
        return as_table(self._backend.place(self._question(text, said)))

    @spelled_out
    def ask(self, query: Query | Question, **said: Unpack[QuestionArguments]) -> Release:
        """Answer a plan: charge it durably, compute it, store it; or find the stored answer."""
        return as_table(self._backend.place(self._question(query, said)))

    def table(self, name: str, *, analyst: str | None = None, as_of: int | None = None) -> From:
        """Begin a question in Python; `as_of` is a version of its dataset, if not the newest."""
        tables = self.schema.tables
        found = tables.get(name)
        if not isinstance(found, Table):
            raise unknown("table", name, [n for n, one in tables.items() if isinstance(one, Table)])
        said = QuestionArguments(analyst=analyst, as_of=as_of)
        ask, explain = (partial(one, **said) for one in (self.ask, self.explain))
        hold = partial(self._backend.hold, analyst=self._analyst or analyst)
        read_rows = lambda text, rows: read(text, self.schema, rows=rows)  # noqa: E731
        return From(Scan(found), ask=Asker(ask, explain, hold, read_rows))

    __getitem__ = table

    def __iter__(self) -> Iterator[str]:
        return iter(self.schema.tables)

    @spelled_out
    def remeasure(self, question: Asked, **said: Unpack[QuestionArguments]) -> Release:
        """Measure again for a further price, and merge with this analyst's earlier answer.

        Only the new price is charged. Measurements are weighted by their precision, and means,
        variances and all else are computed from the averages.
        """
        return self._backend.remeasure(self._question(question, said))

    @spelled_out
    def explain(self, question: Asked, **said: Unpack[QuestionArguments]) -> Explanation:
        """Cost and expected error of a question; touches no data."""
        told: Explanation = self._backend.quote(self._question(question, said)).explain()
        return told

    @spelled_out
    def outside(
        self,
        question: Asked,
        *,
        shown: Release | None = None,
        as_of: int | None = None,
        **said: Unpack[PriceArguments],
    ) -> Release:
        """Count the people who have a row in none of an answer's groups, for this price.

        Rows are outside where a key is NULL or not listed; where groups had to be found, in those
        that were withheld: pass the answer as `shown`.
        """
        asked = _plan(question)
        query = read(asked, self.schema) if isinstance(asked, str) else asked
        wanted = count_outside(query, None if shown is None else shown.found_keys)
        return self.ask(wanted, as_of=as_of, **said)

    @spelled_out
    def cost(self, question: Asked, **said: Unpack[QuestionArguments]) -> dict[Account, Charge]:
        """The charge to each account for a new question; touches no data."""
        return self._backend.quote(self._question(question, said)).bill()

    def workbook(
        self,
        dataset: str,
        *,
        share: Real,
        questions: int,
        analyst: str | None = None,
        name: str | None = None,
    ) -> Workbook:
        """A share of what is left of a budget, split over a number of questions.

        Each question gets an equal part of what is then left: `with curator.workbook("visits",
        share=0.2, questions=25) as w: w.sql(...)`. With a `name` the ledger keeps it, and a
        later process that opens it by this name goes on with what is left.
        """
        who = self._caller({"analyst": analyst})["analyst"]
        return Workbook(self, dataset, share, questions, who, name)

    # --- orders of other kinds ------------------------------------------------------------------

    @spelled_out
    def synthesize(self, table: str, **said: Unpack[SynthesisArguments]) -> SynthesisRelease:
        """Make a synthetic table with the columns and types of a private one."""
        return self._placed(self._order("synthesis", {"table": table, **said}), SynthesisRelease)

    @spelled_out
    def answer(
        self, table: str, queries: Sequence[Mapping[str, Any]], **said: Unpack[WorkloadArguments]
    ) -> WorkloadRelease:
        """Answer many counting queries at once, for one price, by the most accurate strategy.

        A query is {column: a value, a list of values, or Bounds(low, high)}. The release's notes
        say which strategy was used, and why.
        """
        wheres = [plain_where(one) if isinstance(one, Mapping) else one for one in queries]
        order = self._order("workload", {"table": table, "queries": wheres, **said})
        return self._placed(order, WorkloadRelease)

    @spelled_out
    def online(self, table: str, **said: Unpack[OnlineArguments]) -> OnlineQueries:
        """Open an epoch of online counting queries, or continue the one with the same arguments.

        Any number of queries is answered for one price.
        """
        order = self._order("online", {"table": table, **said})
        made = self._placed(order, OnlineRelease)
        backend, charge = self._backend, self._backend.quote(order).charge()
        return OnlineQueries(charge, made, backend.ask_online, backend.online_state)

    @spelled_out
    def watch(self, text: str, **said: Unpack[StreamArguments]) -> StandingQuery:
        """Ask counts and sums of listed groups in every period until a day, for one price.

        Periods are answered when the owner says that rows are complete: `append(through=...)`. The
        same call continues the same question.
        """
        order = self._order("stream", {"sql": text, **said})
        self._backend.place(order)
        return StandingQuery(self._backend.quote(order).charge(), self._backend.stream_release)

    @spelled_out
    def participation(
        self, table: str, *, again: int = 0, **said: Unpack[PriceArguments]
    ) -> Participation:
        """The share of people who still take part, from a noisy count.

        `again=0` is the first count, which the share is relative to: ask for it while everybody
        takes part; it is placed with the first call. Each later count is a new one, and costs
        everybody in it: name the next number.
        """

        def counted(turn: int) -> Release:
            order = self._order("participation", {"table": table, "again": turn, **said})
            return as_table(self._backend.place(order))

        first = counted(0)
        return Participation(counted(again) if again else first, first)

    @spelled_out
    def profile(self, table: str, **said: Unpack[PriceArguments]) -> ProfileRelease:
        """One private look at every column of a table, at one price.

        It measures rows, people, NULLs, different values, ranges, quantiles and frequent values.
        Its `proposals` are bounds and keys for columns that have none; questions of the same
        analyst that need bounds take them from the newest profile.
        """
        return self._placed(self._order("profile", {"table": table, **said}), ProfileRelease)

    @spelled_out
    def fit(
        self,
        estimator: Any,
        table: str,
        *,
        features: Iterable[str],
        target: str | None = None,
        **said: Unpack[CallerArguments],
    ) -> Any:
        """Fit an estimator of `discreet.learn`, or a pipeline of them, to a table; charged first.

        Bounds and classes that the estimator does not name come from the table's description. The
        fit is one order of kind `fit`: the same again costs nothing and gives the same.
        """
        if hasattr(estimator, "facts"):
            raise InputError(
                "a training run by somebody else than the owner of the curator's folder",
                why="a model is code, and what sees rows has to be the owner's",
                fix="let the owner open the folder and call fit, or fit an estimator",
            )
        spec = fit_spec(estimator, table, features, target)
        return fitted(estimator, self.order("fit", spec, **said))

    def test(
        self,
        name: str,
        table: str,
        *,
        value: str,
        by: str | None = None,
        analyst: str | None = None,
        request: str | None = None,
        **parameters: Any,
    ) -> Any:
        """A statistical test of a column, by the groups of another; charged first.

        `name` is one of `discreet.learn.TESTS`: t, anova, mann-whitney, chi-square, proportion.
        """
        one = make_test(name, parameters)
        return self.fit(one, table, features=[value], target=by, analyst=analyst, request=request)

    @spelled_out
    def order(
        self, kind: str, spec: Mapping[str, Any], **said: Unpack[CallerArguments]
    ) -> BaseRelease:
        """Place an order: charge it durably, compute it, store it; or find the stored release.

        `spec` is the JSON object of this kind of order; it includes the price.
        """
        return self._backend.place(self._request(kind, spec, said))

    @spelled_out
    def explain_order(
        self, kind: str, spec: Mapping[str, Any], **said: Unpack[CallerArguments]
    ) -> OrderExplanation:
        """Cost and expected quality of an order; touches no data."""
        told: OrderExplanation = self._backend.quote(self._request(kind, spec, said)).explain()
        return told

    @spelled_out
    def cost_order(
        self, kind: str, spec: Mapping[str, Any], **said: Unpack[CallerArguments]
    ) -> dict[Account, Charge]:
        """The charge to each account for a new order; touches no data."""
        return self._backend.quote(self._request(kind, spec, said)).bill()

    @property
    def schema(self) -> Schema:
        """The schema of all tables."""
        return self._backend.schema

    # --- requests -------------------------------------------------------------------------------

    def _question(self, question: Asked, said: QuestionArguments) -> OrderRequest:
        terms: dict[str, Any] = {name: one for name, one in said.items() if name not in _CALLER}
        return OrderRequest(_plan(question), Terms(**terms), **self._caller(said))

    def _order(self, kind: str, said: Mapping[str, Any]) -> OrderRequest:
        spec = {name: one for name, one in said.items() if name not in _CALLER}
        return self._request(kind, order_spec(spec), said)

    def _request(self, kind: str, spec: Mapping[str, Any], said: Mapping[str, Any]) -> OrderRequest:
        return OrderRequest(spec, kind=kind, **self._caller(said))

    def _caller(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """The caller's name; an analyst's view asks for nobody else."""
        name = said.get("analyst")
        if self._analyst is not None and name not in (None, self._analyst):
            raise InputError(
                f"{name} asks through the view of {self._analyst}",
                why="a view asks, and pays, for one analyst",
                fix="leave the analyst out",
            )
        return {"analyst": self._analyst or name, "request": said.get("request")}

    def _placed(self, order: OrderRequest, kind: type[R]) -> R:
        made = self._backend.place(order)
        assert isinstance(made, kind)  # noqa: S101 - narrowing: of this kind
        return made


_CALLER = CallerArguments.__annotations__.keys()


def _plan(question: Asked) -> str | Query:
    return question.plan if isinstance(question, Question) else question
