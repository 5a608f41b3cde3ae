"""The SQL that a grouping set becomes, in the order in which it runs.

What is explained and what is run are the same texts, from here.
"""

import math
import secrets
from dataclasses import dataclass

from discreet.answer.plan.set_plan import SetPlan
from discreet.plan.bounding import ContributionBounds, within_groups
from discreet.plan.expressions import SIZE, remember
from discreet.plan.query import Query
from discreet.plan.statistics import Distinct, Ranks, needed
from discreet.sql.writer.compile import SECRET, CompiledQuery, Kept
from discreet.sql.writer.dialect import Dialect
from discreet.sql.writer.individual import MeasuredTotals, render_contributions, with_accounts

_SALT = secrets.token_hex(16)
"""The place of the salt in compiled texts; nobody knows it, so no question has it in it."""


EXAMPLES = (1, 10, 100)
"""Limits for which noise is reported if they are to be chosen."""


@dataclass(frozen=True, slots=True)
class SetStatements:
    """The statements of one grouping set; `salt` is the question's secret."""

    plan: SetPlan
    compiled: CompiledQuery
    salt: str

    @staticmethod
    def of(
        plan: SetPlan, dialect: Dialect, salt: str = SECRET, *, participants: bool = False
    ) -> "SetStatements":
        """The statements of a plan on an engine; compiled once, whatever the salt."""
        return SetStatements(plan, _compile(plan.query, dialect, participants), salt)

    @property
    def stated(self) -> ContributionBounds:
        """The limits of people with budgets of their own: `check_individual` has these stated."""
        assert self.plan.contributions is not None  # noqa: S101 - narrowing
        return self.plan.contributions

    def people(self) -> list[Kept]:
        """One row for each person and group, and for each person."""
        return [] if self.compiled.query.is_by_row or self._alone else self._people()

    def _people(self) -> list[Kept]:
        pairs, compiled = self._kept(self.compiled.pairs), self.compiled
        return [pairs, compiled.norms] if compiled.keys and not compiled.participants else [pairs]

    def histograms(self) -> list[str]:
        """How many people have which norm, of all norms in one statement; none without norms."""
        norms = [(norm.name, norm.bounds) for norm in self.plan.norms.values()]
        return [self.compiled.spread(*norms)] if norms else []

    def bounding(self, contributions: ContributionBounds) -> list[Kept]:
        """Keep as many groups per person as may be found, and record who is over the limits.

        Whom totals alone weigh less is written down there.
        """
        if self.compiled.query.is_by_row:
            return []
        # First, so that nobody is weighed by groups that they do not count in.
        most = self.plan.findable(contributions.groups)
        few = self.compiled.few_groups(most) if self.plan.finds_keys else []
        weights = self.compiled.weights(contributions) if self._ranked else []
        return [*map(self._kept, few), *weights]

    def totals(self, contributions: ContributionBounds) -> str:
        """The weighted totals of each group: by place where keys are known, else by key."""
        compiled = self.compiled
        text = self._salted(
            compiled.placed_totals if compiled.query.has_known_keys else compiled.totals
        )
        if compiled.query.is_by_row or compiled.participants or self._ranked:
            return text
        weights = [f"{name} AS ({select})" for name, select in compiled.weights(contributions)]
        if self._alone:
            named, several = compiled.dialect.named, len(weights) > 1
            people = [named(*one, once=one.name == "pairs" or several) for one in self._people()]
            weights = [*people, *weights]
        return f"WITH {', '.join(weights)} {text}" if weights else text

    @property
    def _alone(self) -> bool:
        """Whether one statement does all: nothing but the totals reads what would be kept."""
        compiled, plan = self.compiled, self.plan
        more = compiled.participants or self._ranked or plan.histograms or plan.finds_keys
        return compiled.dialect.keeps_in_tables and not more

    def contributions(self) -> str:
        """Contributions of each person to each measurement, group by group, before weights."""
        return render_contributions(self.compiled, self.measured(self.stated))

    @property
    def contribution_columns(self) -> list[str]:
        """The columns of `contributions`, but for the person."""
        sizes = [len(one.strategy.combinations) for one in self.plan.measurements(self.stated)]
        return [*(f"x{i}_{j}" for i, size in enumerate(sizes) for j in range(size)), "n"]

    def _bounding(self, contributions: ContributionBounds) -> list[str]:
        """Every statement between those about people and the totals."""
        if not self.compiled.participants:
            return [*map(str, self.bounding(contributions))]
        columns, dialect = self.contribution_columns, self.compiled.dialect
        return [with_accounts(self.contributions(), columns, dialect)]

    def measured(self, contributions: ContributionBounds) -> list[MeasuredTotals]:
        """Each measurement by the places of its totals."""
        places = self.compiled.statistics.index
        return [
            MeasuredTotals(
                tuple(places(statistic) for statistic in one.strategy.statistics),
                one.strategy.combinations,
                math.ceil(one.sensitivity),
            )
            for one in self.plan.measurements(contributions)
        ]

    @property
    def is_salted(self) -> bool:
        """Whether the question's secret chooses rows of a person."""
        return _SALT in self.compiled.pairs.select

    @property
    def _ranked(self) -> bool:
        """Whether weights are read again: for quantiles."""
        return any(isinstance(one, Ranks) for one in self.compiled.statistics)

    def distincts(self, statistic: Distinct, contributions: ContributionBounds) -> str:
        """How many different values each group has."""
        return self._salted(self.compiled.distincts(statistic, contributions.rows))

    def ranks(self, statistic: Ranks) -> str:
        """The weight in each cell of each group."""
        return self._salted(self.compiled.ranks(statistic))

    def _salted(self, text: str) -> str:
        return text.replace(_SALT, self.salt)

    def _kept(self, kept: Kept) -> Kept:
        return kept._replace(select=self._salted(kept.select))

    def all(self, contributions: ContributionBounds) -> list[str]:
        """Every statement, for these bounds."""
        kinds = self.compiled.statistics
        return [
            *map(str, self.people()),
            *self.histograms(),
            *self._bounding(contributions),
            self.totals(contributions),
            *(self.distincts(one, contributions) for one in kinds if isinstance(one, Distinct)),
            *(self.ranks(one) for one in kinds if isinstance(one, Ranks)),
        ]


@remember(64, SIZE)
def _compile(query: Query, dialect: Dialect, participants: bool) -> CompiledQuery:  # noqa: FBT001 - by position: see `remember`
    return CompiledQuery(query, needed(query), dialect, _SALT, participants)


def examples(plan: SetPlan) -> list[ContributionBounds]:
    """The bounds that hold, or examples of those that have yet to be chosen."""
    if plan.contributions is not None:
        return [plan.contributions]
    return [plan.bounds(limit, within_groups(limit, plan.query)) for limit in EXAMPLES]


def example_statements(
    plan: SetPlan, dialect: Dialect, *, participants: bool = False
) -> tuple[str, ...]:
    """The SQL of a grouping set, for the bounds that hold or for an example."""
    bounds = examples(plan)
    statements = SetStatements.of(plan, dialect, participants=participants)
    return tuple(statements.all(bounds[1 % len(bounds)]))
