"""Questions that a curator bounds by itself, replayed whole on two neighbouring sets of tables.

Sampling a curator would take hours. Record and replay needs two runs: every release inside them is
heard, limits that are chosen from noisy histograms and rows that joins keep included, and nothing
else may tell the neighbours apart.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pyarrow as pa

from discreet.audit.evidence import Evidence, Point
from discreet.audit.replay import replay
from discreet.audit.report import Audit
from discreet.curator.budget import Budget
from discreet.curator.census_plan import releases
from discreet.curator.opening import Curator
from discreet.mechanisms.mechanism import Claim, Pair
from discreet.plan.schema import Bounds
from discreet.privacy import Approximate

_PEOPLE: Final = 40
_MANY: Final = 300
"""Rows of the one person: more than a join keeps of anybody on one side."""

Rows = tuple[tuple[int, int], ...]
Tables = tuple[Rows, Rows]
"""Rows (person, value) of `visits` and of `bills`."""


@dataclass(frozen=True, slots=True)
class CuratorQuestion:
    """A question about visits and bills of people, one of whom has far more than the others."""

    text: str
    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(1, 10**6)

    def ask(self, tables: Tables) -> list[dict[str, Any]]:
        """What a curator of these tables answers."""
        visits, bills = map(_table, tables)
        with Curator.in_memory() as curator:
            budget, bounds = Budget(epsilon=5, delta=self.delta), {"value": Bounds(0, 10)}
            curator.add("visits", visits, unit="person", budget=budget, columns=bounds)
            curator.add("bills", bills, unit="person", dataset="visits", columns=bounds)
            return self._answer(curator)

    def _answer(self, curator: Curator) -> list[dict[str, Any]]:
        answer = curator.sql(self.text, epsilon=self.epsilon)
        rows: list[dict[str, Any]] = answer.to_arrow().to_pylist()
        return rows

    @property
    def claim(self) -> Claim:
        """The tables with and without that person."""
        crowd = tuple((person, person % 10) for person in range(_PEOPLE))
        one = ((_PEOPLE, 7),) * _MANY
        pair = Pair((crowd, crowd), (crowd + one, crowd + one))
        promised = Approximate(self.epsilon, self.delta)
        return Claim("CuratorQuestion", promised, (pair,), self._draw)

    def _draw(self, tables: Tables, runs: int) -> np.ndarray[Any, Any]:
        rows = [[value for row in self.ask(tables) for value in row.values()] for _ in range(runs)]
        return np.array(rows, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class CuratorRelease(CuratorQuestion):
    """A release of the visits by value and by half of all values, made consistent."""

    def _answer(self, curator: Curator) -> list[dict[str, Any]]:
        places = pa.table({"value": range(10), "half": [value // 5 for value in range(10)]})
        curator.add_public("places", places, key="value")
        where: dict[str, Any] = {"geography": "places", "levels": ["half", "value"]}
        price: dict[str, Any] = {"epsilon": self.epsilon, "delta": self.delta}
        plan = releases([[]], table="visits", max_rows=3, **where, **price)
        with TemporaryDirectory() as folder:
            made = curator.release(plan, folder)
            return [row for one in made.files for row in made.read(*one).to_pylist()]


@dataclass(frozen=True, slots=True)
class CuratorProfile(CuratorQuestion):
    """A profile of visits: people, chosen limits, and cells that follow from what is seen."""

    def _answer(self, curator: Curator) -> list[dict[str, Any]]:
        told = curator.profile("visits", epsilon=self.epsilon)
        middle = (float(one.value) for one in told["value"].quantiles)  # type: ignore[arg-type]
        counts = {"rows": told.rows.value, "nulls": told["value"].nulls.value}
        return [{**counts, "middle": sum(middle), "limit": float(told.limit)}]


def _table(rows: Rows) -> pa.Table:
    people, values = zip(*rows, strict=True)
    return pa.table({"person": pa.array(people, pa.int64()), "value": pa.array(values, pa.int64())})


QUESTIONS: Final[Mapping[str, CuratorQuestion]] = MappingProxyType(
    {
        "curator-limit-histograms": CuratorQuestion(
            "SELECT COUNT(*) AS n, SUM(value) AS total FROM visits"
        ),
        "curator-join-caps": CuratorQuestion(
            "SELECT COUNT(*) AS n, SUM(b.value) AS total FROM visits v "
            "JOIN bills b ON v.person = b.person"
        ),
        "curator-release": CuratorRelease("a release of visits by value"),
        "curator-profile": CuratorProfile("a profile of visits"),
        "curator-answer-tables": CuratorQuestion(
            "SELECT a.value % 2 AS odd, MAX(n) AS top, SUM(n * 1.0 / m) AS share FROM"
            " (SELECT value % 4 AS value, COUNT(*) AS n FROM visits GROUP BY 1) a JOIN"
            " (SELECT value % 4 AS value, COUNT(*) AS m FROM bills GROUP BY 1) b"
            " ON a.value = b.value GROUP BY 1 ORDER BY top DESC"
        ),
    }
)
"""Names as the command line takes them."""


def audit_question(name: str, question: CuratorQuestion) -> Audit:
    """Replay a question on its neighbours; certain, and without an epsilon of its own."""
    start, claim = time.process_time(), question.claim
    found = [replay(question.ask, pair.left, pair.right) for pair in claim.pairs]
    reason = "; ".join(str(one) for one in found if one)
    top = Point(float(question.epsilon), float(question.delta))
    event = "neighbours look alike"
    evidence = Evidence(claim.name, "replay", top, 0.0, event, reason=reason)
    return Audit(name, claim, (evidence,), time.process_time() - start)
