"""All that is asked of histograms without a curator, by name, and draws of a private width."""

import datetime as dt
import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from discreet.audit.replayed_questions import (
    FIRST,
    PEOPLE,
    Ask,
    CuratorQuestion,
    Price,
    Rows,
    Tables,
    table_of,
)
from discreet.mechanisms.permute_and_flip_quantile import PermuteAndFlipQuantile
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.smooth_sensitivity import SmoothSensitivity
from discreet.plan.kinds import Kind, Range, Type
from discreet.privacy import MU_SQUARED, RHO, Charge, Measure, Neighbours
from discreet.privacy.budgets.filters import amount_within
from discreet.workload.candidates import Candidate, Scorer
from discreet.workload.counting_query import CountingQuery
from discreet.workload.domain import Attribute, Domain
from discreet.workload.histogram import JointHistogram
from discreet.workload.matrix import MatrixMechanism, RangeBlocks, identity_strategy
from discreet.workload.mwem import MWEM
from discreet.workload.online import OnlinePlan, OnlineSession, OnlineState, open_state
from discreet.workload.planner import plan_workload
from discreet.workload.small_database import SmallDatabase
from discreet.workload.synthesizer import SynthesisPlan, synthesize


def _of_histogram(question: CuratorQuestion, tables: Tables) -> Any:
    """What is asked of the histogram of the visits, without a curator."""
    return question.told(_histogram(tables[0], question.neighbours))


def _histogram(rows: Rows, neighbours: Neighbours) -> JointHistogram:
    visits = table_of(rows)
    value = Attribute.of("value", Type(Kind.INTEGER, range=Range(0, 10)), bins=11)
    first = (FIRST - dt.date(1970, 1, 1)).days
    day = Attribute.of("day", Type(Kind.DATE, range=Range(first, first + 9)), bins=10)
    word = Attribute("word", Kind.TEXT, tuple(f"word {i}" for i in range(4)))
    said: dict[str, Any] = {"person": visits["person"], "neighbours": neighbours}
    return JointHistogram.of(visits, Domain((value, day, word)), max_rows=2, **said)


def _of_presence(question: "CuratorQuestion", tables: Tables) -> Any:
    """Draws of a width or scale that depends on the data: on whether that person is there.

    They must take as many random words on both sides, where one of them needs more.
    """
    return question.told(len(tables[0]) > question.people)


_QUERIES: Final = (
    *(CountingQuery(("value",), (tuple(range(low, low + 3)),)) for low in range(7)),
    *(CountingQuery(("value", "day"), ((cell,), (cell,))) for cell in (1, 4, 7)),
)
"""Some are of all rows of the person who has many: every kind is moved as far as it may be."""


def _charge(price: Price, measure: Measure) -> Charge:
    """All that a price may be spent on, in a measure."""
    return Charge(amount_within(price["epsilon"], price["delta"], measure), measure=measure)


def _amount(price: Price) -> Fraction:
    return _charge(price, MU_SQUARED).amount


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
    return [learnt.release(histogram).marginal(("value",)).tolist(), _charge(price, RHO)]


def _synthesized(histogram: JointHistogram, price: Price) -> Any:
    """A model of three columns, so that several pairs are scored at once."""
    plan = SynthesisPlan(histogram.domain, _amount(price), histogram.neighbours)
    return dict(synthesize(histogram, plan).distances)


def _scored(histogram: JointHistogram, price: Price) -> Any:
    """Distances of all pairs from a public table, which is that of people before one changes."""
    rows = (*((person, person % 10) for person in range(PEOPLE)), *((PEOPLE, 0),) * 2)
    public = _histogram(rows, histogram.neighbours)
    pairs = list(combinations(histogram.domain.names, 2))
    tables = {one: public.marginal(one) / public.row_weight for one in pairs}
    model: Any = SimpleNamespace(marginal=tables.__getitem__)
    listed = [Candidate(one, one, (None, None), tables[one].size) for one in pairs]
    return Scorer(histogram).release(listed, model, _amount(price)).tolist()


def _reopened(histogram: JointHistogram, price: Price) -> list[Any]:
    """The same query again and again, by sessions that go on from each other's stored state."""
    room: dict[str, Any] = {"updates": 1, "restarts": 0, **histogram.terms}
    state, told = open_state(OnlinePlan.of(histogram.domain, **room, **price), histogram), []
    for _ in range(20):
        session = OnlineSession(OnlineState.from_bytes(state.to_bytes()), histogram)
        told.append(session.ask(_QUERIES[5]).value)
        state = session.state
    return [*told, _charge(price, RHO)]


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


_STRATEGIES: Final = (
    *map(_strategy, ("independent", "identity", "matrix mechanism", "residual marginals")),
    *(_blocks, _thrice, _mwem, _synthesized, _reopened),
)
_HISTOGRAM: Final[dict[str, Any]] = {"source": _of_histogram}
_CHANGED: Final = (_STRATEGIES[0], *_STRATEGIES[2:5], _mwem, _synthesized, _scored)

WORKLOADS: Final[Mapping[str, CuratorQuestion]] = {
    "workload-strategies": CuratorQuestion(_STRATEGIES, **_HISTOGRAM),
    "workload-strategies-change-one": CuratorQuestion(
        _CHANGED, **_HISTOGRAM, neighbours=Neighbours.CHANGE_ONE
    ),
    "small-database": CuratorQuestion(_small_database, **_HISTOGRAM),
    "wide-draws": CuratorQuestion((_gaps, _smooth), delta=Fraction(1, 100), source=_of_presence),
}
"""Names as the command line takes them."""
