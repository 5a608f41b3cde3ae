"""Questions that a curator bounds by itself, replayed whole on two neighbouring sets of tables.

Sampling a curator would take hours. Record and replay needs two runs: every release inside them is
heard, limits that are chosen from noisy histograms and rows that joins keep included, and nothing
else may tell the neighbours apart. All releases that the person moves together may cost no more
than was promised.
"""

import datetime as dt
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from discreet.audit.evidence import Evidence, Point
from discreet.audit.recorder import RecordedRelease
from discreet.audit.replay import replayed
from discreet.audit.report import Audit
from discreet.audit.trace import picture
from discreet.curator.budget import Budget
from discreet.curator.opening import Curator
from discreet.curator.orders.census.census_plan import releases
from discreet.errors import InvariantBroken
from discreet.mechanisms.mechanism import Claim, Pair
from discreet.mechanisms.rounded_gaussian import RoundedGaussian
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.schema import Bounds, Limits
from discreet.privacy import GDP, MU_SQUARED, Approximate, Guarantee, compose
from discreet.privacy.budgets.filters import amount_within
from discreet.workload.counting_query import CountingQuery
from discreet.workload.domain import Attribute, Domain
from discreet.workload.histogram import JointHistogram
from discreet.workload.mwem import MWEM
from discreet.workload.planner import plan_workload
from discreet.workload.range_blocks import RangeBlocks
from discreet.workload.small_database import SmallDatabase

_FIRST: Final = dt.date(2026, 1, 1)
_PEOPLE: Final = 40
_BUDGET: Final = Fraction(5)
_MANY: Final = 300
"""Rows of the one person: more than a join keeps of anybody on one side."""

_ODD: Final = (None, -5_000, 10**9, *range(10)) * 20
"""Values of a person with rows of every kind: NULL, outside of all bounds, and in each cell."""

Rows = tuple[tuple[int, int | None], ...]
Tables = tuple[Rows, Rows]
"""Rows (person, value) of `visits` and of `bills`."""

Price: TypeAlias = dict[str, Any]


Ask: TypeAlias = Callable[[Any, Price], Any]
"""All that is asked of a curator, or of a histogram, at a price, and everything it answers."""


@dataclass(frozen=True, slots=True)
class CuratorQuestion:
    """What is asked about visits and bills of people, one of whom has far more than the others."""

    asked: Ask
    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(1, 10**6)
    per_person: bool = False

    def ask(self, tables: Tables) -> Any:
        """What a curator of these tables answers."""
        budget = (Budget.per_person if self.per_person else Budget)(
            epsilon=_BUDGET, delta=2 * self.delta
        )
        limits = Limits(max_groups=1, max_rows=2) if self.per_person else None
        columns = {"value": Bounds(0, 10), "day": Bounds(_FIRST, _FIRST + dt.timedelta(9))}
        visits, bills = map(_table, tables)
        with Curator.in_memory() as curator:
            said: dict[str, Any] = {"unit": "person", "columns": columns, "limits": limits}
            curator.add("visits", visits, budget=budget, **said)
            curator.add("bills", bills, dataset="visits", **said)
            price: Price = {"epsilon": self.epsilon, "delta": self.delta}
            return self.asked(curator, price)

    @property
    def claim(self) -> Claim:
        """The tables with and without that person."""
        crowd = tuple((person, person % 10) for person in range(_PEOPLE))
        heavy = ((_PEOPLE, 7),) * _MANY
        odd = tuple((_PEOPLE, value) for value in _ODD)
        full = heavy[:2]  # as many rows as count in full
        pairs = (Pair((crowd, crowd), (crowd + one, crowd + one)) for one in (heavy, odd, full))
        return Claim("CuratorQuestion", self.promised, tuple(pairs), _not_drawn)

    @property
    def promised(self) -> Approximate:
        """What one person gives away at most: by one order, or by all of their budget."""
        whole = (_BUDGET, 2 * self.delta) if self.per_person else (self.epsilon, self.delta)
        return Approximate(*whole)


@dataclass(frozen=True, slots=True)
class HistogramQuestion(CuratorQuestion):
    """The same without a curator: what is asked of the histogram of the visits itself."""

    def ask(self, tables: Tables) -> Any:
        """What is answered about visits of people who weigh two rows at most."""
        visits = _table(tables[0])
        value = Attribute.of("value", Type(Kind.INTEGER, range=Range(0, 10)), bins=11)
        first = (_FIRST - dt.date(1970, 1, 1)).days
        dates = Range(first, first + 9)
        domain = Domain((value, Attribute.of("day", Type(Kind.DATE, range=dates), bins=10)))
        histogram = JointHistogram.of(visits, domain, person=visits["person"], max_rows=2)
        return self.asked(histogram, {"epsilon": self.epsilon, "delta": self.delta})


def _not_drawn(_: Any, __: int) -> Any:
    raise InvariantBroken(
        "a curator's answers are not sampled",
        why="as many runs as a refutation needs would take hours",
        fix="replay them: audit_question",
    )


def _table(rows: Rows) -> pa.Table:
    people, values = (pa.array(column, pa.int64()) for column in zip(*rows, strict=True))
    shifts = [None if value is None else max(-999, min(value, 999)) for _, value in rows]
    dates = [None if shift is None else _FIRST + dt.timedelta(shift) for shift in shifts]
    days = pa.array(dates, pa.date32())
    return pa.table({"person": people, "value": values, "day": days})


def _sql(*texts: str) -> Ask:
    def ask(curator: Curator, price: Price) -> list[Any]:
        return [curator.sql(text, **price).to_arrow().to_pylist() for text in texts]

    return ask


def _release(curator: Curator, price: Price) -> list[Any]:
    """A release of the visits by value and by half of all values, made consistent."""
    places = pa.table({"value": range(10), "half": [value // 5 for value in range(10)]})
    curator.add_public("places", places, key="value")
    where: dict[str, Any] = {"geography": "places", "levels": ["half", "value"]}
    plan = releases([[]], table="visits", max_rows=3, **where, **price)
    with TemporaryDirectory() as folder:
        made = curator.release(plan, folder)
        return [row for one in made.files for row in made.read(*one).to_pylist()]


def _synthesis(curator: Curator, price: Price) -> list[Any]:
    """A synthetic table of the visits."""
    made = curator.synthesize("visits", columns=["value", "day"], bins=5, max_rows=2, **price)
    return list(made.table.to_pylist())


def _online(curator: Curator, price: Price) -> list[float]:
    """Counting queries that follow the answers before them, with updates."""
    room: dict[str, Any] = {"accuracy": 600, "updates": 3, "max_rows": 2, "queries": 20}
    session = curator.online("visits", columns=["value"], **room, **price)
    told = [0.0]
    for low in range(10):
        told += [session.ask({"value": Bounds(low, 10 if sum(told) % 2 < 1 else low)}).value]
    return told


def _workload(curator: Curator, price: Price) -> list[Any]:
    """Ranges of two columns and of one, by the strategy that errs least."""
    ranges = [{"value": Bounds(low, low + 3), "day": _FIRST} for low in range(7)]
    alone = [{"value": Bounds(low, low + 3)} for low in range(7)]
    told = [curator.answer("visits", some, max_rows=2, **_half(price)) for some in (ranges, alone)]
    return [one.values.tolist() for one in told]


def _half(price: Price) -> Price:
    return {name: amount / 2 for name, amount in price.items()}


def _fits(curator: Curator, price: Price) -> list[Any]:
    """A regression and clusters of the visits."""
    from discreet.learn import KMeans, LinearRegression  # noqa: PLC0415 - an extra

    said: dict[str, Any] = {"features": ["value"]}
    line = curator.fit(LinearRegression(**_half(price)), "visits", target="value", **said)
    clusters = curator.fit(KMeans(2, **_half(price)), "visits", **said)
    return [line.coef_.tolist(), clusters.cluster_centers_.tolist()]


def _strategies(histogram: JointHistogram, price: Price) -> list[Any]:
    """Every strategy for known workloads, each for a part of the price, and rounds of MWEM."""
    queries = [CountingQuery(("value",), (tuple(range(low, low + 3)),)) for low in range(7)]
    queries += [CountingQuery(("value", "day"), ((low,), (low,))) for low in range(4)]
    most = amount_within(price["epsilon"], price["delta"], MU_SQUARED) / 8
    names = ("independent", "identity", "matrix mechanism", "residual marginals")
    told = [plan_workload(queries, histogram, most, only=one)[0].answer(histogram) for one in names]
    ends = [(low, low + 3) for low in range(7)]
    blocks = RangeBlocks.of(histogram.domain["value"].size, ends, mu_squared=most, **_of(histogram))
    told.append(blocks.estimate(blocks.measure(histogram.marginal(("value",)))))
    rest = {name: amount / 4 for name, amount in price.items()}
    learnt = MWEM(histogram.domain, tuple(queries), rounds=2, **rest, **_of(histogram))
    return [one.tolist() for one in (*told, learnt.release(histogram).marginal(("value",)))]


def _small_database(histogram: JointHistogram, price: Price) -> Any:
    """A small database that answers some queries."""
    queries = tuple(CountingQuery(("value",), ((low, low + 1),)) for low in range(9))
    domain = Domain((histogram.domain["value"],))
    said = {"epsilon": price["epsilon"], **_of(histogram)}
    return SmallDatabase(domain, queries, 2, 20, **said).release(histogram)


def _of(histogram: JointHistogram) -> dict[str, Any]:
    return {"person_weight": histogram.person_weight, "row_weight": histogram.row_weight}


def _stream(curator: Curator, price: Price) -> list[Any]:
    """A standing question over the days, looked at twice."""
    until = _FIRST + dt.timedelta(9)
    text = "SELECT COUNT(*) AS n FROM visits"
    standing = curator.watch(text, every="day", until=until, max_periods=2, max_rows=2, **price)
    told = [standing.release().table.to_pylist()]
    curator.append("visits", _table(((0, 3), (1, 4))), through=until)
    return [*told, standing.release().table.to_pylist()]


def _profile(curator: Curator, price: Price) -> Any:
    """A profile of visits: people, chosen limits, and cells that follow from what is seen."""
    return curator.profile("visits", **price).json_facts()


def _people(curator: Curator, price: Price) -> list[Any]:
    """Questions until somebody with many rows has run out, and the share of those who have not."""
    counts = [
        curator.sql("SELECT COUNT(*) AS n FROM visits", **{**price, "delta": price["delta"] / k})
        for k in range(1, 9)
    ]
    return [
        *(one.to_arrow().to_pylist() for one in counts),
        curator.participation("visits", **price).share,
    ]


QUESTIONS: Final[Mapping[str, CuratorQuestion]] = MappingProxyType(
    {
        "curator-limit-histograms": CuratorQuestion(
            _sql("SELECT COUNT(*) AS n, SUM(value) AS total FROM visits")
        ),
        "curator-join-caps": CuratorQuestion(
            _sql(
                "SELECT COUNT(*) AS n, SUM(b.value) AS total FROM visits v "
                "JOIN bills b ON v.person = b.person"
            )
        ),
        "curator-profile": CuratorQuestion(_profile),
        "curator-answer-tables": CuratorQuestion(
            _sql(
                "SELECT a.value % 2 AS odd, MAX(n) AS top, SUM(n * 1.0 / m) AS share FROM"
                " (SELECT value % 4 AS value, COUNT(*) AS n FROM visits GROUP BY 1) a JOIN"
                " (SELECT value % 4 AS value, COUNT(*) AS m FROM bills GROUP BY 1) b"
                " ON a.value = b.value GROUP BY 1 ORDER BY top DESC"
            )
        ),
        "curator-release": CuratorQuestion(_release),
        "curator-synthesis": CuratorQuestion(_synthesis),
        "curator-online": CuratorQuestion(_online),
        "curator-workload": CuratorQuestion(_workload),
        **({"curator-fits": CuratorQuestion(_fits)} if find_spec("sklearn") else {}),
        "workload-strategies": HistogramQuestion(_strategies),
        "small-database": HistogramQuestion(_small_database),
        "curator-standing-question": CuratorQuestion(_stream),
        "curator-per-person": CuratorQuestion(_people, epsilon=Fraction(2), per_person=True),
    }
)
"""Names as the command line takes them."""


def audit_question(name: str, question: CuratorQuestion) -> Audit:
    """Replay a question on its neighbours; certain, and without an epsilon of its own."""
    start, claim = time.process_time(), question.claim
    reason = "; ".join(one for pair in claim.pairs for one in _wrong(question, pair))
    promised = question.promised
    top = Point(float(promised.epsilon0), float(promised.delta0))
    event = "neighbours look alike"
    evidence = Evidence(claim.name, "replay", top, 0.0, event, reason=reason)
    return Audit(name, claim, (evidence,), time.process_time() - start)


def _wrong(question: CuratorQuestion, pair: Pair) -> Iterator[str]:
    """What tells two neighbours apart, or costs more than was promised."""
    found, first, second = replayed(question.ask, pair.left, pair.right)
    if found or first.raised is not None:
        yield str(found) if found else f"it is not answered: {first.raised}"
        return
    tapes = zip(first.recorder.finished(), second.recorder.finished(), strict=True)
    moved = [both for both in tapes if picture(both[0].inputs) != picture(both[1].inputs)]
    costs = [_cost(*both) if question.per_person else both[0].mechanism.guarantee for both in moved]
    promised = question.promised
    least = compose(costs).epsilon(promised.delta0).lower
    if least > promised.epsilon0:
        yield (
            f"releases that one person moves have epsilon {least:.6g} together, "
            f"promised {float(promised.epsilon0):g}"
        )


def _cost(one: RecordedRelease, other: RecordedRelease) -> Guarantee:
    """What a release costs the one person: Gaussian noise by how far they move its input."""
    mechanism = one.mechanism
    if not isinstance(mechanism, RoundedGaussian):
        return mechanism.guarantee
    here, there = (np.ravel(mechanism.grid.index(side.inputs[0])) for side in (one, other))
    gaps = [int(b) - int(a) for a, b in zip(here, there, strict=True)]
    share = Fraction(sum(gap * gap for gap in gaps), mechanism.square)
    return GDP.of_square(2 * mechanism.rho * share)
