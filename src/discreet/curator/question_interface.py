"""What can be asked of a curator, whether it is in this process or behind a server."""

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from discreet.answer.plan.accuracy import Accuracy
from discreet.answer.plan.explain import Explanation
from discreet.answer.present.base_release import BaseRelease
from discreet.answer.present.release import Release, as_table
from discreet.curator.data.data_store import unknown
from discreet.curator.fit_orders import fit_spec, fitted, make_test
from discreet.curator.ledger.accounts import Account
from discreet.curator.online_epochs import OnlineQueries, OnlineReply
from discreet.curator.online_orders import OnlineRelease, online_spec
from discreet.curator.participation_orders import Participation, participation_spec
from discreet.curator.planned_orders import OrderExplanation
from discreet.curator.pricing import Terms
from discreet.curator.profile_orders import profile_spec
from discreet.curator.profile_release import ProfileRelease
from discreet.curator.stream_kind import stream_spec
from discreet.curator.streams import StandingQuery
from discreet.curator.synthesis_orders import synthesis_spec
from discreet.curator.synthesis_release import SynthesisRelease
from discreet.plan.builder import Asker, From, Question
from discreet.plan.outside import count_outside
from discreet.plan.query import Query
from discreet.plan.relations import Relation, Scan
from discreet.plan.schema import Schema, Table
from discreet.privacy.budgets.charges import Charge
from discreet.rationals import Real
from discreet.sql.reader.read import read
from discreet.workload.online import OnlineState

Asked: TypeAlias = str | Query | Question
"""A question in SQL, as a plan, or as it was begun with `table`."""


class QuestionInterface(ABC):
    """The methods that ask questions and place orders; subclasses implement what does it.

    Pass an `epsilon`, or an `accuracy` from which it is computed, and optionally a `delta`.
    `weights` are the weights of columns in the total error (default 1). `as_of` is a version of the
    dataset (default the newest). `request` is an idempotency key: the same one is charged once.
    `analyst` is who asks. A quantile spends a share of its price on an interval in values, unless
    `intervals=False`.
    """

    def sql(
        self,
        text: str,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        accuracy: Accuracy | None = None,
        weights: Mapping[str, Real] | None = None,
        as_of: int | None = None,
        intervals: bool = True,
        analyst: str | None = None,
        request: str | None = None,
    ) -> Release:
        """Answer a question in SQL, for a price or for the least price of an accuracy.

        One about public tables alone is exact and free: it needs neither.
        """
        priced = epsilon is not None or accuracy is not None
        if (free := self._public(text, priced=priced)) is not None:
            return free
        return self._answer(
            text, Terms(epsilon, delta, accuracy, weights, as_of, intervals), analyst, request
        )

    def ask(
        self,
        query: Query | Question,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        accuracy: Accuracy | None = None,
        weights: Mapping[str, Real] | None = None,
        as_of: int | None = None,
        intervals: bool = True,
        analyst: str | None = None,
        request: str | None = None,
    ) -> Release:
        """Answer a plan: charge it durably, compute it, store it; or find the stored answer."""
        return self._answer(
            _plan(query),
            Terms(epsilon, delta, accuracy, weights, as_of, intervals),
            analyst,
            request,
        )

    def table(self, name: str, *, analyst: str | None = None) -> From:
        """Begin a question in Python."""
        tables = self.schema.tables
        found = tables.get(name)
        if not isinstance(found, Table):
            raise unknown("table", name, [n for n, one in tables.items() if isinstance(one, Table)])
        ask, explain = partial(self.ask, analyst=analyst), partial(self.explain, analyst=analyst)
        return From(Scan(found), ask=Asker(ask, explain, partial(self._hold, analyst=analyst)))

    def _hold(
        self, relation: Relation, make: Callable[[Relation], Query], *, analyst: str | None
    ) -> Query | None:
        """A question with bounds from profiles that its analyst was told; None without any."""
        return None

    def remeasure(
        self,
        question: Asked,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        accuracy: Accuracy | None = None,
        weights: Mapping[str, Real] | None = None,
        as_of: int | None = None,
        intervals: bool = True,
        analyst: str | None = None,
    ) -> Release:
        """Answer again for a further price, and merge with what this analyst was told before.

        Only the new price is charged. What was measured is weighed by how well each is known, and
        means, variances and all else that was asked are computed from that.
        """
        return self._remeasure(
            _plan(question), Terms(epsilon, delta, accuracy, weights, as_of, intervals), analyst
        )

    def explain(
        self,
        question: Asked,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        accuracy: Accuracy | None = None,
        weights: Mapping[str, Real] | None = None,
        as_of: int | None = None,
        intervals: bool = True,
        analyst: str | None = None,
    ) -> Explanation:
        """What a question would cost and how wrong its answer would be; touches no data."""
        return self._explain(
            _plan(question), Terms(epsilon, delta, accuracy, weights, as_of, intervals), analyst
        )

    def outside(
        self,
        question: Asked,
        *,
        epsilon: Real,
        delta: Real | None = None,
        shown: Release | None = None,
        as_of: int | None = None,
        analyst: str | None = None,
        request: str | None = None,
    ) -> Release:
        """How many people have a row in none of an answer's groups, counted for this price.

        Rows are outside where a key is NULL or not listed; where groups had to be found, in those
        that were withheld: pass the answer as `shown`.
        """
        asked = _plan(question)
        query = read(asked, self.schema) if isinstance(asked, str) else asked
        wanted = count_outside(query, None if shown is None else shown.found_keys)
        return self._answer(wanted, Terms(epsilon, delta, as_of=as_of), analyst, request)

    def cost(
        self,
        question: Asked,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        accuracy: Accuracy | None = None,
        weights: Mapping[str, Real] | None = None,
        as_of: int | None = None,
        intervals: bool = True,
        analyst: str | None = None,
    ) -> dict[Account, Charge]:
        """What each account would be charged for a question not asked before; touches no data."""
        return self._bill(
            _plan(question), Terms(epsilon, delta, accuracy, weights, as_of, intervals), analyst
        )

    def synthesize(
        self,
        table: str,
        *,
        epsilon: Real,
        delta: Real | None = None,
        columns: Sequence[str] | None = None,
        bins: int | Mapping[str, int] | None = None,
        max_rows: int | None = None,
        impossible: Sequence[Mapping[str, Any]] | None = None,
        workload: Sequence[Sequence[str]] | None = None,
        max_memory: int | None = None,
        analyst: str | None = None,
        request: str | None = None,
    ) -> SynthesisRelease:
        """Make a synthetic table with the columns and types of a private one.

        `bins` are those of numbers and dates, 32 unless said. A person counts for at most
        `max_rows` rows: what the table's limits say, else 1. `impossible` lists combinations of
        values that no row has, `workload` sets of columns whose marginals matter. What would need
        more than `max_memory` bytes is refused before anything is charged.
        """
        options = {
            "epsilon": epsilon,
            "delta": delta,
            "columns": columns,
            "bins": bins,
            "max_rows": max_rows,
            "impossible": impossible,
            "workload": workload,
            "max_memory": max_memory,
        }
        spec = synthesis_spec(table, options)
        made = self.order("synthesis", spec, analyst=analyst, request=request)
        assert isinstance(made, SynthesisRelease)  # noqa: S101 - narrowing: of this kind
        return made

    def online(
        self,
        table: str,
        *,
        columns: Sequence[str],
        epsilon: Real,
        delta: Real | None = None,
        accuracy: Real | None = None,
        bins: int | Mapping[str, int] | None = None,
        max_rows: int | None = None,
        updates: int | None = None,
        restarts: int | None = None,
        queries: int | None = None,
        epoch: int | None = None,
        analyst: str | None = None,
        request: str | None = None,
    ) -> OnlineQueries:
        """Open an epoch of online counting queries, or go on with the one of the same words.

        Any number of queries is answered for one price. Those from which on the public hypothesis
        is `accuracy` rows off are measured, `updates` times at most. Each crash, and each worker
        that goes on, uses up one of `restarts`. `queries` is how many are expected.
        """
        options = {
            "columns": list(columns),
            "epsilon": epsilon,
            "delta": delta,
            "accuracy": accuracy,
            "bins": bins,
            "max_rows": max_rows,
            "updates": updates,
            "restarts": restarts,
            "queries": queries,
            "epoch": epoch,
        }
        spec = online_spec(table, options)
        made = self.order("online", spec, analyst=analyst, request=request)
        assert isinstance(made, OnlineRelease)  # noqa: S101 - narrowing: of this kind
        charge = self._charge_of("online", spec, analyst)
        return OnlineQueries(charge, made, self._ask_online, self._online_state)

    def watch(
        self,
        text: str,
        *,
        every: str,
        until: dt.date,
        epsilon: Real,
        delta: Real | None = None,
        since: dt.date | None = None,
        column: str | None = None,
        max_periods: int | None = None,
        max_rows: int | None = None,
        analyst: str | None = None,
        request: str | None = None,
    ) -> StandingQuery:
        """Ask a count of rows by listed keys in every period until a day, for one price.

        Periods are answered when the owner says that rows are complete: `append(through=...)`.
        `column` has the dates of rows, `since` is the first day (default: the lower bound of the
        column). One person counts in at most `max_periods` periods (default 1), with `max_rows`
        rows in each. The same words go on with the same question.
        """
        options = {
            "every": every,
            "until": until,
            "epsilon": epsilon,
            "delta": delta,
            "since": since,
            "column": column,
            "max_periods": max_periods,
            "max_rows": max_rows,
        }
        spec = stream_spec(text, options)
        self.order("stream", spec, analyst=analyst, request=request)
        return StandingQuery(self._charge_of("stream", spec, analyst), self._stream_release)

    @abstractmethod
    def _stream_release(self, charge: int) -> Release: ...

    @abstractmethod
    def _charge_of(self, kind: str, spec: Mapping[str, Any], analyst: str | None) -> int: ...

    @abstractmethod
    def _ask_online(
        self, charge: int, wheres: Sequence[Mapping[str, Any]], confidence: float
    ) -> OnlineReply: ...

    @abstractmethod
    def _online_state(self, charge: int) -> OnlineState: ...

    # --- people with budgets of their own -------------------------------------------------------

    def participation(
        self,
        table: str,
        *,
        epsilon: Real,
        delta: Real | None = None,
        again: int = 0,
        analyst: str | None = None,
    ) -> Participation:
        """The share of people who still take part, told by counting them with noise.

        `again=0` is the first count, which the share is relative to: ask for it while everybody
        takes part; it is placed with the first call. Each later count is a new one, and costs
        everybody in it: name the next number.
        """

        def counted(turn: int) -> Release:
            spec = participation_spec(table, epsilon, delta, turn)
            return as_table(self.order("participation", spec, analyst=analyst))

        first = counted(0)
        return Participation(counted(again) if again else first, first)

    # --- a first look ---------------------------------------------------------------------------

    def profile(
        self,
        table: str,
        *,
        epsilon: Real,
        delta: Real | None = None,
        analyst: str | None = None,
        request: str | None = None,
    ) -> ProfileRelease:
        """One private look at every column of a table, at one price.

        It counts rows, people and NULLs, and tells different values, ranges, quantiles and frequent
        values. Its `proposals` are bounds and keys for columns that have none; questions of the
        same analyst that need bounds take them from the newest profile.
        """
        spec = profile_spec(table, epsilon, delta)
        made = self.order("profile", spec, analyst=analyst, request=request)
        assert isinstance(made, ProfileRelease)  # noqa: S101 - narrowing: of this kind
        return made

    # --- learning -------------------------------------------------------------------------------

    def fit(
        self,
        estimator: Any,
        table: str,
        *,
        features: Iterable[str],
        target: str | None = None,
        analyst: str | None = None,
        request: str | None = None,
    ) -> Any:
        """Fit an estimator of `discreet.learn`, or a pipeline of them, to a table; charged first.

        Bounds and classes that the estimator does not name come from the table's description. The
        fit is one order of kind `fit`: the same again costs nothing and gives the same.
        """
        spec = fit_spec(estimator, table, features, target)
        return fitted(estimator, self.order("fit", spec, analyst=analyst, request=request))

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

    # --- orders of any kind ---------------------------------------------------------------------

    @abstractmethod
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

    @abstractmethod
    def explain_order(
        self, kind: str, spec: Mapping[str, Any], *, analyst: str | None = None
    ) -> OrderExplanation:
        """What an order would cost and how good its release would be; touches no data."""

    @abstractmethod
    def cost_order(
        self, kind: str, spec: Mapping[str, Any], *, analyst: str | None = None
    ) -> dict[Account, Charge]:
        """What each account would be charged for an order not placed before; touches no data."""

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """What is said about all tables."""

    @abstractmethod
    def _public(self, text: str, *, priced: bool) -> Release | None: ...

    @abstractmethod
    def _answer(
        self, question: str | Query, terms: Terms, analyst: str | None, request: str | None
    ) -> Release: ...

    @abstractmethod
    def _remeasure(self, question: str | Query, terms: Terms, analyst: str | None) -> Release: ...

    @abstractmethod
    def _explain(self, question: str | Query, terms: Terms, analyst: str | None) -> Explanation: ...

    @abstractmethod
    def _bill(
        self, question: str | Query, terms: Terms, analyst: str | None
    ) -> dict[Account, Charge]: ...


def _plan(question: Asked) -> str | Query:
    return question.plan if isinstance(question, Question) else question
