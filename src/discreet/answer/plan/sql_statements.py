"""The SQL that a grouping set becomes, in the order in which it runs.

What is explained and what is run are the same texts, from here.
"""

from dataclasses import dataclass

from discreet.answer.plan.limits import Norm
from discreet.answer.plan.set_plan import SetPlan
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.statistics import Distinct, Ranks, needed
from discreet.sql.writer.compile import SECRET, CompiledQuery, Kept
from discreet.sql.writer.dialect import Dialect


@dataclass(frozen=True, slots=True)
class SetStatements:
    """The statements of one grouping set; `salt` is the question's secret."""

    plan: SetPlan
    compiled: CompiledQuery
    salt: str

    @staticmethod
    def of(plan: SetPlan, dialect: Dialect, salt: str = SECRET) -> "SetStatements":
        """The statements of a plan on an engine."""
        compiled = CompiledQuery(plan.query, needed(plan.query), dialect, salt)
        return SetStatements(plan, compiled, salt)

    def people(self) -> list[Kept]:
        """One row for each person and group, and for each person."""
        return [] if self.compiled.by_row else [self.compiled.pairs(), self.compiled.norms()]

    def histogram(self, norm: Norm) -> str:
        """How many people have which norm."""
        return self.compiled.spread(norm.name, norm.bounds)

    def bounding(self, contributions: ContributionBounds) -> list[Kept]:
        """Leave people as many groups as may be found, and write down who is over the limits."""
        compiled = self.compiled
        if compiled.by_row:
            return []
        rows, groups = contributions.rows, contributions.groups
        # First, so that nobody is weighed by groups that they do not count in.
        few = compiled.few_groups(self.plan.findable(groups), self.salt)
        return [
            *(few if self.plan.finds_keys else []),
            *compiled.weights(rows, groups, square=contributions.noise_kind is NoiseKind.GAUSSIAN),
        ]

    def totals(self) -> str:
        """The weighted totals of each group: by place where keys are known, else by key."""
        return self.compiled.placed_totals() if self.compiled.known else self.compiled.totals()

    def distincts(self, statistic: Distinct, contributions: ContributionBounds) -> str:
        """How many different values each group has."""
        return self.compiled.distincts(statistic, contributions.rows, self.salt)

    def ranks(self, statistic: Ranks) -> str:
        """The weight in each cell of each group."""
        return self.compiled.ranks(statistic)

    def all(self, contributions: ContributionBounds) -> list[str]:
        """Every statement, for these bounds."""
        kinds = self.compiled.statistics
        return [
            *map(str, self.people()),
            *(self.histogram(norm) for norm in self.plan.norms.values()),
            *map(str, self.bounding(contributions)),
            self.totals(),
            *(self.distincts(one, contributions) for one in kinds if isinstance(one, Distinct)),
            *(self.ranks(one) for one in kinds if isinstance(one, Ranks)),
        ]
