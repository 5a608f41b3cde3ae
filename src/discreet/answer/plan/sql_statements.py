"""The SQL that a grouping set becomes, in the order in which it runs.

What is explained and what is run are the same texts, from here.
"""

import secrets
from dataclasses import dataclass

from discreet.answer.plan.limits import Norm
from discreet.answer.plan.set_plan import SetPlan
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.query import Query, parts_in
from discreet.plan.remembered import remember
from discreet.plan.statistics import Distinct, Ranks, needed
from discreet.sql.writer.compile import SECRET, CompiledQuery, Kept
from discreet.sql.writer.dialect import Dialect

_SALT = secrets.token_hex(16)
"""Where the salt will stand in compiled texts; nobody knows it, so no question has it in it."""


@dataclass(frozen=True, slots=True)
class SetStatements:
    """The statements of one grouping set; `salt` is the question's secret."""

    plan: SetPlan
    compiled: CompiledQuery
    salt: str

    @staticmethod
    def of(plan: SetPlan, dialect: Dialect, salt: str = SECRET) -> "SetStatements":
        """The statements of a plan on an engine; compiled once, whatever the salt."""
        return SetStatements(plan, _compile(plan.query, dialect), salt)

    def people(self) -> list[Kept]:
        """One row for each person and group, and for each person."""
        if self.compiled.by_row:
            return []
        return [self._kept(self.compiled.pairs), self.compiled.norms]

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
        found = self.plan.finds_keys
        few = compiled.few_groups(self.plan.findable(groups)) if found else []
        return [
            *map(self._kept, few),
            *compiled.weights(rows, groups, square=contributions.noise_kind is NoiseKind.GAUSSIAN),
        ]

    def totals(self) -> str:
        """The weighted totals of each group: by place where keys are known, else by key."""
        compiled = self.compiled
        return self._salted(compiled.placed_totals if compiled.known else compiled.totals)

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
            *(self.histogram(norm) for norm in self.plan.norms.values()),
            *map(str, self.bounding(contributions)),
            self.totals(),
            *(self.distincts(one, contributions) for one in kinds if isinstance(one, Distinct)),
            *(self.ranks(one) for one in kinds if isinstance(one, Ranks)),
        ]


@remember(64, parts_in)
def _compile(query: Query, dialect: Dialect) -> CompiledQuery:
    return CompiledQuery(query, needed(query), dialect, _SALT)
