"""Questions that a curator bounds by itself, replayed whole on two neighbouring sets of tables.

Sampling a curator would take hours. Record and replay needs two runs: every release inside them is
heard, limits that are chosen from noisy histograms and rows that joins keep included, and nothing
else may tell the neighbours apart. All releases that the person moves together may cost no more
than was promised.
"""

import datetime as dt
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby
from operator import attrgetter
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from discreet.audit.distance import too_far
from discreet.audit.evidence import Evidence, Point
from discreet.audit.recorder import CellChoice, RecordedRelease, Recorder
from discreet.audit.replay import ReplayedRun, compared, observe
from discreet.audit.report import Audit
from discreet.audit.trace import picture
from discreet.curator.budget import Budget
from discreet.curator.opening import Curator
from discreet.curator.orders.census.census_plan import releases
from discreet.errors import InvariantBroken
from discreet.mechanisms.continual import FactorizedCount
from discreet.mechanisms.gaussian import RoundedGaussian
from discreet.mechanisms.mechanism import Claim, Pair
from discreet.mechanisms.permute_and_flip_quantile import PermuteAndFlipQuantile
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.smooth_sensitivity import SmoothSensitivity
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.schema import Bounds, EachRow, Limits, PersonPeriod
from discreet.privacy import (
    GDP,
    MU_SQUARED,
    Approximate,
    BoundedRange,
    Guarantee,
    Neighbours,
    compose,
)
from discreet.privacy.budgets.filters import amount_within
from discreet.workload.counting_query import CountingQuery
from discreet.workload.domain import Attribute, Domain
from discreet.workload.histogram import JointHistogram
from discreet.workload.matrix import MatrixMechanism, RangeBlocks, identity_strategy
from discreet.workload.mwem import MWEM
from discreet.workload.online import OnlinePlan, OnlineSession, OnlineState, open_state
from discreet.workload.planner import plan_workload
from discreet.workload.small_database import SmallDatabase
from discreet.workload.synthesizer import SynthesisPlan, synthesize

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


def of_curator(question: "CuratorQuestion", tables: Tables) -> Any:
    """What is asked of a curator who has the tables."""
    budget = (Budget.per_person if question.per_person else Budget)(
        epsilon=_BUDGET, delta=2 * question.delta
    )
    columns = {"value": Bounds(0, 10), "day": Bounds(_FIRST, _FIRST + dt.timedelta(9))}
    columns |= dict.fromkeys(("side", "odd"), Bounds(0, 1))
    columns |= {"turn": Bounds(0, 2), "serial": Bounds(0, 999)}
    visits, bills = map(_table, tables)
    with Curator.in_memory(neighbours=question.neighbours) as curator:
        said: dict[str, Any] = {"unit": question.unit, "limits": question.limits}
        curator.add("visits", visits, budget=budget, columns=columns, **said)
        curator.add("bills", bills, dataset="visits", columns=columns, **said)
        return question.told(curator)


def _of_histogram(question: "CuratorQuestion", tables: Tables) -> Any:
    """What is asked of the histogram of the visits, without a curator."""
    visits = _table(tables[0])
    value = Attribute.of("value", Type(Kind.INTEGER, range=Range(0, 10)), bins=11)
    first = (_FIRST - dt.date(1970, 1, 1)).days
    day = Attribute.of("day", Type(Kind.DATE, range=Range(first, first + 9)), bins=10)
    word = Attribute("word", Kind.TEXT, tuple(f"word {i}" for i in range(4)))
    said: dict[str, Any] = {"person": visits["person"], "neighbours": question.neighbours}
    histogram = JointHistogram.of(visits, Domain((value, day, word)), max_rows=2, **said)
    return question.told(histogram)


def _of_rows(question: "CuratorQuestion", tables: Tables) -> Any:
    """What is learnt from the rows of the visits, and the guarantee that is stated of it."""
    rows = [(person, float("nan") if v is None else v) for person, v in tables[0]]
    people, values = np.array(rows, dtype=np.float64).T
    said = {"groups": people, "y": np.clip(values, 0, 3)}
    return question.told({"X": np.stack([values, 10 - values], axis=1), **said})


def _of_presence(question: "CuratorQuestion", tables: Tables) -> Any:
    """Draws of a width or scale that depends on the data: on whether that person is there.

    They must take as many random words on both sides, where one of them needs more.
    """
    return question.told(len(tables[0]) > question.people)


@dataclass(frozen=True, slots=True)
class CuratorQuestion:
    """A question about visits and bills of people, one of whom has far more than the others.

    Several asks are replayed one by one, each for the whole price: what one of them spends too much
    would not show beside others that spend less than they may.
    """

    asked: Ask | tuple[Ask, ...]
    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(1, 10**6)
    per_person: bool = False
    people: int = _PEOPLE
    limits: Limits | None = None
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: Any = "person"
    source: "Callable[[CuratorQuestion, Tables], Any]" = of_curator
    needs: str = "discreet.mechanisms"
    """A package whose mechanisms have to be there before anybody listens."""

    def told(self, source: Any) -> Any:
        """All that is asked of a source, and what it answers."""
        assert not isinstance(self.asked, tuple)  # noqa: S101 - narrowing: asks are replayed apart
        return self.asked(source, {"epsilon": self.epsilon, "delta": self.delta})

    def ask(self, tables: Tables) -> Any:
        """The answer about these tables."""
        return self.source(self, tables)

    @property
    def parts(self) -> "list[CuratorQuestion]":
        """The same question about one ask each."""
        asks = self.asked if isinstance(self.asked, tuple) else (self.asked,)
        return [replace(self, asked=one) for one in asks]

    @property
    def claim(self) -> Claim:
        """The tables with and without that person, or with others of their rows."""
        crowd = tuple((person, person % 10) for person in range(self.people))
        heavy = ((self.people, 7),) * _MANY
        odd = tuple((self.people, value) for value in _ODD)
        full = heavy[:2]  # as many rows as count in full, and one more
        largest = ((self.people, 10),) * 2  # the same, with values as large as they may be
        added = [heavy, odd, full, heavy[:3], largest]
        if self.limits is not None:  # two rows count in full, one of them without a value
            added.append(((self.people, None), heavy[0]))
        if isinstance(self.unit, PersonPeriod):  # all of the last day: others belong to it as well
            added = [heavy, largest, tuple((self.people, day) for day in (9, 10, 10**9)) * 20]
        if isinstance(self.unit, EachRow):
            added = [((self.people, value),) for value in (None, 7, 10, 10**9)]
        starts = [crowd] * len(added)
        if self.neighbours is Neighbours.CHANGE_ONE:
            # As many rows before: in other groups, with the least value, or on the same day.
            added = [heavy, odd, largest, largest]
            rows = zip((4, 4, 0, 9), added, strict=True)
            starts = [crowd + ((self.people, value),) * len(one) for value, one in rows]
        pairs = (
            Pair((before, before), (crowd + one, crowd + one))
            for before, one in zip(starts, added, strict=True)
        )
        return Claim("CuratorQuestion", self.promised, tuple(pairs), not_drawn)

    @property
    def others(self) -> Tables:
        """Rows of other people altogether: only what was released may tell them apart.

        What is computed from exact numbers where noisy ones belong seldom differs between
        neighbours, and differs here.
        """
        people = range(self.people // 2)
        rows = tuple((one, (3 * one + 1) % 11) for one in people for _ in range(1 + one % 4))
        return rows, rows

    @property
    def promised(self) -> Approximate:
        """The most that one person gives away: by one order, or by all of their budget."""
        whole = (_BUDGET, 2 * self.delta) if self.per_person else (self.epsilon, self.delta)
        return Approximate(*whole, neighbours=self.neighbours)


def not_drawn(_: Any, __: int) -> Any:
    """The `draw` of claims that are replayed or enumerated."""
    raise InvariantBroken(
        "the answers of this claim are not sampled",
        why="as many runs as a refutation needs would take hours, or the law is known",
        fix="replay them with audit_question, or enumerate them with audit_accounting",
    )


def _table(rows: Rows) -> pa.Table:
    people, values = (pa.array(column, pa.int64()) for column in zip(*rows, strict=True))
    # The largest value is on the last day.
    shifts = [v if v is None else max(-999, min(v, 999)) - (v == 10) for _, v in rows]
    dates = [None if shift is None else _FIRST + dt.timedelta(shift) for shift in shifts]
    days = pa.array(dates, pa.date32())
    words = pa.array([f"word {(value or 0) % 4}" for _, value in rows])
    # Two texts and two numbers without bounds: what each of them costs has to add up.
    plain = {"word": words, "other": words, "amount": values, "paid": values}
    # A key that neither the person nor the value nor the day tells, and a number for each row.
    plain["turn"] = pa.array([place % 3 for place in range(len(rows))])
    plain["serial"] = pa.array(range(len(rows)))
    # No pair of value, side and odd tells the parity of the third.
    bits = [(person // 10 % 2, value or 0) for person, value in rows]
    parity = {"side": [side for side, _ in bits], "odd": [sum(both) % 2 for both in bits]}
    return pa.table({"person": people, "value": values, "day": days, **plain, **parity})


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


def _synthesis(*columns: str) -> Ask:
    def ask(curator: Curator, price: Price) -> list[Any]:
        made = curator.synthesize("visits", columns=columns, bins=5, max_rows=2, **price)
        return list(made.table.to_pylist())

    return ask


def _online(curator: Curator, price: Price) -> list[float]:
    """Counting queries that follow the answers before them, about what no pair of columns tells."""
    room: dict[str, Any] = {"accuracy": 150, "updates": 2, "restarts": 0, "queries": 20}
    room |= {"columns": ["value", "side", "odd"], "max_rows": 2}
    session = curator.online("visits", **room, **price)
    told = [0.0]
    for odd in range(10):
        values = list(range(int(sum(told) % 2), 10, 2))
        told += [session.ask({"value": values, "side": 0, "odd": odd % 2}).value]
    return told


def _workload(*columns: str) -> Ask:
    """Ranges of values, on one day where days are counted too, by the strategy that errs least."""

    def ask(curator: Curator, price: Price) -> Any:
        ranges: list[dict[str, Any]] = [
            {"value": Bounds(low, low + 3), "day": _FIRST} for low in range(7)
        ]
        wanted = [{name: one[name] for name in columns} for one in ranges]
        return curator.answer("visits", wanted, max_rows=2, **price).values.tolist()

    return ask


def _fit(kind: str, *args: Any, **said: Any) -> Ask:

    def ask(curator: Curator, price: Price) -> Any:
        model = getattr(import_module("discreet.learn"), kind)(*args, **price)
        fitted = curator.fit(model, "visits", features=["value"], **said)
        return getattr(fitted, "coef_" if said else "cluster_centers_").tolist()

    return ask


def _learnt(kind: str, **said: Any) -> Ask:
    """A model of the rows of visits, with two rows of a person."""

    def ask(rows: dict[str, Any], price: Price) -> list[Any]:
        learn = import_module("discreet.learn")
        model = getattr(learn, kind)(max_rows_per_unit=2, **said, **price).fit(**rows)
        told = {name: str(one) for name, one in vars(model).items() if name.endswith("_")}
        return [told, model.guarantee_]

    ask.__name__ = kind
    return ask


def _trained(*, exact: bool) -> Ask:
    """A network of two layers; everybody is in each sample, so that steps cost all they may."""

    def ask(rows: dict[str, Any], price: Price) -> list[Any]:
        torch = import_module("torch")
        x, y = (torch.tensor(rows[name], dtype=torch.float32) for name in ("X", "y"))
        layers = torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)
        model = torch.nn.Sequential(*layers)
        for place, one in enumerate(model.parameters()):
            torch.nn.init.constant_(one, 0.1 * (place + 1))
        said = {"people": _PEOPLE, "batch": _PEOPLE, "epochs": 2, "clip": 0.01, "exact": exact}
        loss = lambda told, y: (told[:, 0] - y) ** 2  # noqa: E731
        kind = import_module(_TRAINER).Trainer
        trainer = kind(model, loss, max_rows_per_unit=2, **said, **price)
        trainer.fit(x, y, groups=rows["groups"])
        return [[one.tolist() for one in model.parameters()], trainer.guarantee_]

    return ask


def _queried(rows: dict[str, Any], price: Price) -> list[Any]:
    """Statistical queries, of which some leave their range."""
    learn = import_module("discreet.learn")
    asked = learn.StatisticalQueries(**rows, max_rows_per_unit=2, queries=2, **price)
    return [asked(lambda x, _: x[0]), asked(lambda _, y: y - 2), asked.guarantee]


def _tuned(rows: dict[str, Any], price: Price) -> list[Any]:
    learn = import_module("discreet.learn")
    models = [learn.GaussianNB(**_CLASSES)]
    best = learn.tune(models, **rows, expected_runs=1, max_rows_per_unit=2, **price)
    return [best.score_, best.theta_.tolist()]


_RANGE: Final = {"bounds": (0, 10)}
_CLASSES: Final = {**_RANGE, "classes": [0, 1, 2, 3]}
_LEARNT: Final = (
    *(_learnt(kind, **_CLASSES) for kind in ("LogisticRegression", "LinearSVC", "GaussianNB")),
    *(_learnt(kind, **_CLASSES) for kind in ("DecisionTree", "RandomForest", "Perceptron")),
    _learnt("LogisticRegression", standard_errors=True, max_iter=2, **_CLASSES),
    _learnt("AdditiveClassifier", **_CLASSES),
    _learnt("CategoricalNB", classes=_CLASSES["classes"], n_categories=10),
    *(_learnt(kind, **_RANGE) for kind in ("PCA", "StandardScaler", "KMeans")),
    _learnt("Ridge", **_RANGE, target_bounds=(0, 3)),
    *(_queried, _tuned),
)


_TRAINER: Final = "discreet.learn.torch.trainer"
_TRAINING: Final = CuratorQuestion(
    (_trained(exact=False), _trained(exact=True)), source=_of_rows, needs=_TRAINER
)

_FITS: Final = (
    (_fit("LinearRegression", target="value"), _fit("KMeans", 2)) if find_spec("sklearn") else ()
)

_QUERIES: Final = (
    *(CountingQuery(("value",), (tuple(range(low, low + 3)),)) for low in range(7)),
    *(CountingQuery(("value", "day"), ((low,), (low,))) for low in range(4)),
)


def _amount(price: Price) -> Fraction:
    return amount_within(price["epsilon"], price["delta"], MU_SQUARED)


def _strategy(name: str) -> Ask:

    def ask(histogram: JointHistogram, price: Price) -> Any:
        plan, *_ = plan_workload(list(_QUERIES), histogram, _amount(price), only=name)
        return plan.answer(histogram).tolist()

    return ask


def _blocks(histogram: JointHistogram, price: Price) -> Any:
    ends, cells = [(low, low + 3) for low in range(7)], histogram.domain["value"].size
    blocks = RangeBlocks.of(cells, ends, mu_squared=_amount(price), **histogram.terms)
    return blocks.estimate(blocks.measure(histogram.marginal(("value",)))).tolist()


def _thrice(histogram: JointHistogram, price: Price) -> Any:
    """Every cell counted three times: a strategy whose columns are longer than its rows."""
    rows = np.tile(identity_strategy(histogram.domain["value"].size), (3, 1))
    thrice = MatrixMechanism(rows, mu_squared=_amount(price), **histogram.terms)
    return thrice.estimate(thrice.measure(histogram.marginal(("value",)))).tolist()


def _mwem(histogram: JointHistogram, price: Price) -> Any:
    learnt = MWEM(histogram.domain, _QUERIES, rounds=2, **price, **histogram.terms)
    return learnt.release(histogram).marginal(("value",)).tolist()


def _synthesized(histogram: JointHistogram, price: Price) -> Any:
    """A model of three columns, so that several pairs are scored at once."""
    plan = SynthesisPlan(histogram.domain, _amount(price), histogram.neighbours)
    return dict(synthesize(histogram, plan).distances)


def _reopened(histogram: JointHistogram, price: Price) -> list[float]:
    """The same query again and again, by sessions that go on from each other's stored state."""
    room: dict[str, Any] = {"updates": 1, "restarts": 0, **histogram.terms}
    state, told = open_state(OnlinePlan.of(histogram.domain, **room, **price), histogram), []
    for _ in range(20):
        session = OnlineSession(OnlineState.from_bytes(state.to_bytes()), histogram)
        told.append(session.ask(_QUERIES[5]).value)
        state = session.state
    return told


def _small_database(histogram: JointHistogram, price: Price) -> Any:
    queries = tuple(CountingQuery(("value",), ((low, low + 1),)) for low in range(9))
    domain = Domain((histogram.domain["value"],))
    said = {"epsilon": price["epsilon"], **histogram.terms}
    return SmallDatabase(domain, queries, 2, 20, **said).release(histogram)


def _gaps(there: bool, price: Price) -> list[Any]:  # noqa: FBT001 - a side
    """Medians of nobody, from all of a wide range, or of one person, from half of it."""
    said = (Fraction(1, 2), 0, 1 << 33)
    rules = (
        kind(*said, epsilon=price["epsilon"] / 2) for kind in (Quantile, PermuteAndFlipQuantile)
    )
    return [rule.release([1 << 32] if there else []) for rule in rules]


def _smooth(there: bool, price: Price) -> Any:  # noqa: FBT001 - a side
    """Noise of a private scale that takes two words on one side, or would take one on the other."""
    rule, wide = SmoothSensitivity(global_sensitivity=1 << 24, **price), 1 << 20
    turn = math.ceil(2 * wide * wide / rule.law.scale(Fraction(wide)))
    first = turn if there else math.ceil(rule.decay * turn)
    return rule.release((0, [first, *[turn] * 99]))


def _stream(text: str) -> Ask:
    """A standing question over the days, looked at whenever some of them are over."""

    def ask(curator: Curator, price: Price) -> list[Any]:
        until = _FIRST + dt.timedelta(9)
        said: dict[str, Any] = {"every": "day", "max_periods": 2, "max_rows": 2, **price}
        standing, told = curator.watch(text, until=until, **said), []
        for day in (2, 5, 9):
            rows, last = _table(((0, day), (1, day))), _FIRST + dt.timedelta(day)
            curator.append("visits", rows, through=last)
            told.append(standing.release().table.to_pylist())
        return told

    return ask


def _profile(curator: Curator, price: Price) -> Any:
    """A profile of visits: people, chosen limits, and cells that follow from what is seen."""
    return curator.profile("visits", **price).json_facts()


def _people(text: str) -> Ask:
    """Questions until somebody with many rows has run out, and the share of those who have not."""

    def ask(curator: Curator, price: Price) -> list[Any]:
        deltas = (price["delta"] / k for k in range(1, 9))
        counts = [curator.sql(text, **{**price, "delta": delta}) for delta in deltas]
        shares = curator.participation("visits", **price).share
        return [*(one.to_arrow().to_pylist() for one in counts), shares]

    return ask


_COUNTS: Final = "SELECT COUNT(*) AS n FROM visits"
_BY_KIND: Final = _COUNTS.replace("SELECT", "SELECT value % 2 AS k,") + " GROUP BY 1"
_BY_VALUE: Final = "SELECT value, COUNT(*) AS n FROM visits GROUP BY 1"
_BY_TURN: Final = "SELECT turn, COUNT(*) AS n, SUM(value) AS s FROM visits GROUP BY 1"
_DISTINCT: Final = "SELECT turn, COUNT(DISTINCT person) AS n FROM visits GROUP BY 1"
_NOBODY: Final = _BY_TURN.replace("GROUP", "WHERE value = 10 GROUP")  # but that person
_SETS: Final = "SELECT turn, COUNT(*) AS n FROM visits GROUP BY ROLLUP(turn)"
_BOTH: Final = "SELECT COUNT(*) AS n, COUNT(value) AS m, AVG(value) AS mean FROM visits"
_GROUPED: Final = (
    "SELECT value % 4 AS k, COUNT(*) AS n, COUNT(DISTINCT person) AS m FROM visits GROUP BY 1"
)

_STRATEGIES: Final = (
    *map(_strategy, ("independent", "identity", "matrix mechanism", "residual marginals")),
    *(_blocks, _thrice, _mwem, _synthesized, _reopened),
)
_FEW: Final = Limits(max_groups=3, max_rows=2)
_FOUND: Final = (
    _sql("SELECT word, COUNT(*) AS n FROM visits GROUP BY 1"),
    _sql("SELECT word, COUNT(DISTINCT person) AS n FROM visits GROUP BY 1"),
)
_OTHERS: Final = tuple(
    _sql(f"SELECT {function} AS n FROM visits")  # noqa: S608 - of these names
    for function in (
        *("COUNT(DISTINCT serial)", "SUM(DISTINCT serial)", "VAR_POP(value)", "STDDEV_POP(value)"),
        *("COVAR_POP(value, 5 - value)", "CORR(value, value)"),
    )
)
_SHAPES: Final = (
    *map(_sql, (_BOTH, _SETS)),
    _sql(
        "SELECT turn, COUNT(DISTINCT value) AS n, SUM(value) AS s FROM (SELECT * FROM visits"
        " UNION ALL SELECT * FROM bills) AS u WHERE value BETWEEN 3 AND 8 GROUP BY 1"
    ),
    _sql(
        "SELECT b.turn, SUM(v.value) AS s FROM visits v JOIN bills b ON v.person = b.person AND"
        " v.value = b.value WHERE EXISTS (SELECT 1 FROM bills c WHERE c.person = v.person AND"
        " c.value > 6) GROUP BY 1"
    ),
    _sql(
        "SELECT place, COUNT(*) AS n FROM (SELECT LEAST(ROW_NUMBER() OVER (PARTITION BY person"
        " ORDER BY day), 3) AS place FROM visits) AS w WHERE place IN (1, 2, 3) GROUP BY 1"
    ),
    _sql(
        "SELECT AVG(LEAST(n, 5)) AS mean, COUNT(*) AS people FROM"
        " (SELECT person, COUNT(*) AS n FROM visits GROUP BY person) AS p"
    ),
)
"""Grouping sets, unions, joins, windows and summaries of people."""

_SYNTHESES: Final = (_synthesis("value", "day"), _synthesis("amount", "paid"))
_QUANTILES: Final = (
    _sql("SELECT MEDIAN(value) AS m, MODE(value) AS n, MAX(value) AS o FROM visits"),
    _sql("SELECT QUANTILE_CONT(value, [0, 0.1, 0.2, 0.4, 0.5, 0.6, 0.8, 0.9, 1]) AS n FROM visits"),
)


QUESTIONS: Final[Mapping[str, CuratorQuestion]] = {
    "curator-limit-histograms": CuratorQuestion(
        (_sql("SELECT COUNT(*) AS n, SUM(value) AS total FROM visits"), _sql(_GROUPED))
    ),
    "curator-pure": CuratorQuestion(
        (
            _sql("SELECT COUNT(*) AS n, SUM(value) AS total, AVG(value) AS mean FROM visits"),
            _sql("SELECT COUNT(value) AS n, SUM(value) AS total FROM visits"),
            _profile,
        ),
        delta=Fraction(0),
        limits=Limits(max_groups=1, max_rows=2),
    ),
    "curator-pure-groups": CuratorQuestion(
        tuple(map(_sql, (_DISTINCT, _BY_TURN, _NOBODY))), delta=Fraction(0), limits=_FEW
    ),
    "curator-pure-change-one": CuratorQuestion(
        (_sql(_GROUPED), _profile, _QUANTILES[0]),
        delta=Fraction(0),
        neighbours=Neighbours.CHANGE_ONE,
    ),
    "curator-aggregates": CuratorQuestion(_OTHERS, limits=_FEW),
    "curator-shapes": CuratorQuestion(_SHAPES, limits=_FEW),
    "curator-each-row": CuratorQuestion(
        (*map(_sql, (_BY_TURN, _BOTH)), *_FOUND[:1], _QUANTILES[0], _profile, _release),
        people=10 * _PEOPLE,
        unit=EachRow(),
    ),
    "curator-person-periods": CuratorQuestion(
        (*map(_sql, (_BY_TURN, _SETS)), *_FOUND[:1], _QUANTILES[0]),
        people=10 * _PEOPLE,
        limits=_FEW,
        unit=PersonPeriod("person", "day", every="day"),
    ),
    "curator-change-one": CuratorQuestion(
        (_sql(_GROUPED), _profile, *_FITS), neighbours=Neighbours.CHANGE_ONE
    ),
    "curator-orders-change-one": CuratorQuestion(
        (_stream(_BY_VALUE), _workload("value"), _SYNTHESES[0], _QUANTILES[0], _release),
        neighbours=Neighbours.CHANGE_ONE,
    ),
    "curator-found-keys": CuratorQuestion(_FOUND, people=10 * _PEOPLE, limits=_FEW),
    "curator-found-keys-change-one": CuratorQuestion(
        _FOUND, limits=_FEW, neighbours=Neighbours.CHANGE_ONE
    ),
    "curator-quantiles": CuratorQuestion(_QUANTILES, limits=_FEW),
    "curator-quantiles-pure": CuratorQuestion(_QUANTILES, delta=Fraction(0), limits=_FEW),
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
    "curator-synthesis": CuratorQuestion(_SYNTHESES),
    "curator-online": CuratorQuestion(_online, Fraction(4), people=100 * _PEOPLE),
    "curator-workload": CuratorQuestion((_workload("value", "day"), _workload("value"))),
    **({"curator-fits": CuratorQuestion(_FITS)} if _FITS else {}),
    **({"learn-rows": CuratorQuestion(_LEARNT, source=_of_rows)} if _FITS else {}),
    **({"training": _TRAINING} if find_spec("torch") else {}),
    "workload-strategies": CuratorQuestion(_STRATEGIES, source=_of_histogram),
    "workload-strategies-change-one": CuratorQuestion(
        (_STRATEGIES[0], *_STRATEGIES[2:5], _mwem, _synthesized),
        neighbours=Neighbours.CHANGE_ONE,
        source=_of_histogram,
    ),
    "small-database": CuratorQuestion(_small_database, source=_of_histogram),
    "wide-draws": CuratorQuestion((_gaps, _smooth), delta=Fraction(1, 100), source=_of_presence),
    "curator-standing-question": CuratorQuestion((_stream(_COUNTS), _stream(_BY_TURN))),
    "curator-per-person": CuratorQuestion(
        tuple(map(_people, (_DISTINCT, _BY_KIND, _BOTH, _SETS))),
        epsilon=Fraction(2),
        per_person=True,
        limits=Limits(max_groups=2, max_rows=2),
    ),
}
"""Names as the command line takes them."""


def audit_question(name: str, question: CuratorQuestion) -> Audit:
    """Replay a question on its neighbours; certain, and without an epsilon of its own."""
    start, claim, promised = time.process_time(), question.claim, question.promised
    reason, event = "; ".join(findings(question)), "neighbours look alike"
    top = Point(float(promised.epsilon0), float(promised.delta0))
    evidence = Evidence(claim.name, "replay", top, 0.0, event, reason=reason)
    return Audit(name, claim, (evidence,), time.process_time() - start)


def findings(question: CuratorQuestion) -> Iterator[str]:
    """What is wrong, part by part and pair by pair, as it is found."""
    import_module(question.needs)
    for part in question.parts:
        for left, pairs in groupby(question.claim.pairs, key=attrgetter("left")):
            first = observe(part.ask, left, Recorder())
            for pair in pairs:
                yield from _wrong(part, first, pair.right)
        found, _ = compared(first, part.ask, question.others, lambda *_: iter(()))
        yield from (f"with the same answers on other data: {one}" for one in found)


def _wrong(question: CuratorQuestion, first: ReplayedRun, right: Any) -> Iterator[str]:
    """Differences between neighbours beyond released numbers, or a cost above the promise."""
    found, second = compared(first, question.ask, right)
    if found or first.raised is not None:
        yield str(found) if found else f"it is not answered: {first.raised}"
        return
    tapes = zip(*(_joined(run.recorder.finished()) for run in (first, second)), strict=True)
    moved = [both for both in tapes if picture(both[0].inputs) != picture(both[1].inputs)]
    for one, other in moved:
        if isinstance(one.mechanism, FactorizedCount):
            yield from too_far(one.mechanism, one.inputs, other.inputs)
    costs = [_cost(*both, per_person=question.per_person) for both in moved]
    promised = question.promised
    thresholds = first.recorder.thresholds
    for one in thresholds:
        if one.shown > one.guarantee.delta0:
            yield (
                f"a key of one person alone is shown with probability {one.shown:.3g}, "
                f"promised {float(one.guarantee.delta0):.3g}"
            )
    costs += [one.guarantee for one in thresholds]
    # No law is known that a bounded range has at least: what is composed with it would be lost.
    known = [cost for cost in costs if not isinstance(cost, BoundedRange)]
    least, most = compose(known).epsilon(promised.delta0).lower, promised.epsilon0
    stated = first.outcome[-1] if isinstance(first.outcome, list) else None
    if isinstance(stated, Guarantee):  # of a model, which says itself what it spent
        most = min(most, Fraction(stated.epsilon(promised.delta0).upper))
    if least > most:
        yield (
            f"releases that one person moves have epsilon {least:.6g} together, "
            f"promised {float(most):g}"
        )


def _joined(tape: tuple[RecordedRelease, ...]) -> list[RecordedRelease]:
    """The same, where all looks at a stream are one release: each step as it was when told."""
    found: list[RecordedRelease] = []
    for one in tape:
        before = len(one.inputs[0]) - len(one.steps) if one.steps else 0
        for at, other in enumerate(found):
            same = isinstance(one.mechanism, FactorizedCount) and other.mechanism == one.mechanism
            if same and before and len(other.inputs[0]) == before:
                whole = [*other.inputs[0], *one.inputs[0][before:]]
                found[at] = replace(one, inputs=(whole,))
                break
        else:
            found.append(one)
    return found


def _cost(one: RecordedRelease, other: RecordedRelease, *, per_person: bool) -> Guarantee:
    """The cost of a release: Gaussian noise `per_person` against how far they move its input."""
    mechanism = one.mechanism
    if isinstance(mechanism, CellChoice):
        return mechanism.cost(one.inputs[0], other.inputs[0])
    if not per_person or not isinstance(mechanism, RoundedGaussian):
        return mechanism.guarantee
    here, there = (np.ravel(mechanism.grid.index(side.inputs[0])) for side in (one, other))
    gaps = [int(b) - int(a) for a, b in zip(here, there, strict=True)]
    share = Fraction(sum(gap * gap for gap in gaps), mechanism.square)
    return GDP.of_square(2 * mechanism.rho * share)
