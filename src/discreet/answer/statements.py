"""The SQL that a grouping set becomes, in the order in which it runs.

What is explained and what is run are the same texts, from here.
"""

from dataclasses import dataclass

from discreet.answer.limits import Norm
from discreet.answer.set_plan import SetPlan
from discreet.plan.bounding import Law, Weighing
from discreet.plan.statistics import Distinct, Ranks, needed
from discreet.sql.compile import SECRET, Compiled, Kept
from discreet.sql.dialect import Dialect


@dataclass(frozen=True, slots=True)
class Statements:
    """The statements of one grouping set; `salt` is the question's secret."""

    plan: SetPlan
    compiled: Compiled
    salt: str

    @staticmethod
    def of(plan: SetPlan, dialect: Dialect, salt: str = SECRET) -> "Statements":
        """The statements of a plan on an engine."""
        compiled = Compiled(plan.query, needed(plan.query), dialect, salt)
        return Statements(plan, compiled, salt)

    def people(self) -> list[Kept]:
        """One row for each person and group, and for each person."""
        return [] if self.compiled.by_row else [self.compiled.pairs(), self.compiled.norms()]

    def histogram(self, norm: Norm) -> str:
        """How many people have which norm."""
        return self.compiled.spread(norm.name, norm.bounds)

    def bounding(self, weighing: Weighing) -> list[Kept]:
        """Leave people as many groups as may be found, and write down who is over the limits."""
        compiled = self.compiled
        if compiled.by_row:
            return []
        square = weighing.law is Law.GAUSSIAN
        norm, rows = ("l2", weighing.rows**2) if square else ("l1", weighing.rows)
        # First, so that nobody is weighed by groups that they do not count in.
        few = compiled.few_groups(self.plan.findable(weighing.groups), self.salt)
        return [
            *(few if self.plan.finds_keys else []),
            compiled.weights("heavy", norm, rows, square=square),
            compiled.weights("roaming", "l0", weighing.groups, square=square),
        ]

    def totals(self) -> str:
        """The weighted totals of each group: by place where keys are known, else by key."""
        return self.compiled.placed_totals() if self.compiled.known else self.compiled.totals()

    def distincts(self, statistic: Distinct, weighing: Weighing) -> str:
        """How many different values each group has."""
        return self.compiled.distincts(statistic, weighing.rows, self.salt)

    def ranks(self, statistic: Ranks) -> str:
        """The weight in each cell of each group."""
        return self.compiled.ranks(statistic)

    def all(self, weighing: Weighing) -> list[str]:
        """Every statement, for these bounds."""
        kinds = self.compiled.statistics
        return [
            *map(str, self.people()),
            *(self.histogram(norm) for norm in self.plan.norms.values()),
            *map(str, self.bounding(weighing)),
            self.totals(),
            *(self.distincts(one, weighing) for one in kinds if isinstance(one, Distinct)),
            *(self.ranks(one) for one in kinds if isinstance(one, Ranks)),
        ]
