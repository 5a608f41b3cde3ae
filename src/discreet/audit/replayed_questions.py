"""Questions that are replayed whole on two neighbouring sets of tables, and judged.

Sampling a curator would take hours. Record and replay needs two runs: every release inside them is
heard, limits that are chosen from noisy histograms and rows that joins keep included, and nothing
else may tell the neighbours apart. All releases that the person moves together may cost no more
than was promised.
"""

import datetime as dt
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from importlib import import_module
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from discreet import privacy as dp
from discreet.answer.present.base_release import BaseRelease
from discreet.audit.distance import too_far
from discreet.audit.evidence import Evidence, Point
from discreet.audit.recorder import CellChoice, RecordedRelease, Recorder
from discreet.audit.replay import ReplayedRun, compared, observe
from discreet.audit.report import Audit
from discreet.audit.trace import picture
from discreet.curator.budget import Budget
from discreet.curator.opening import Curator
from discreet.errors import InvariantBroken
from discreet.mechanisms.continual import FactorizedCount
from discreet.mechanisms.gaussian import RoundedGaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Claim, Pair
from discreet.plan.schema import Bounds, EachRow, Limits, PersonPeriod
from discreet.privacy.budgets.charges import price_sum

FIRST: Final = dt.date(2026, 1, 1)
PEOPLE: Final = 40
BUDGET: Final = Fraction(5)
_MANY: Final = 300
"""Rows of the one person: more than a join keeps of anybody on one side."""

_ROOTS: Final = 1 + Fraction(1, 10**7)
"""Roots in what a mechanism guarantees are rounded up by less."""

_ODD: Final = (None, -5_000, 10**9, *range(10)) * 20
"""Values of a person with rows of every kind: NULL, outside of all bounds, and in each cell."""

Rows = tuple[tuple[int, int | None], ...]
Tables = tuple[Rows, Rows]
"""Rows (person, value) of `visits` and of `bills`."""

Price: TypeAlias = dict[str, Any]


Ask: TypeAlias = Callable[[Any, Price], Any]
"""All that is asked of a curator, or of a histogram, at a price, and everything it answers."""


_FORGETFUL: Final = type("Forgetful", (dict,), {"__setitem__": lambda *_: None})


def of_curator(question: "CuratorQuestion", tables: Tables) -> Any:
    """What is asked of a curator who has the tables."""
    kind = Budget.per_person if question.per_person else partial(Budget, measure=question.measure)
    budget = kind(epsilon=BUDGET, delta=2 * question.delta)
    columns = {"value": Bounds(0, 10), "day": Bounds(FIRST, FIRST + dt.timedelta(9))}
    columns |= dict.fromkeys(("side", "odd"), Bounds(0, 1))
    columns |= {"turn": Bounds(0, 2), "serial": Bounds(0, 999)}
    visits, bills = map(table_of, tables)
    with Curator.in_memory(neighbours=question.neighbours) as curator:
        # Each plan is read back from the ledger, as after a crash between a charge and its answer.
        curator._answer_service._plans = _FORGETFUL()  # noqa: SLF001 - what a crash forgets
        said: dict[str, Any] = {"unit": question.unit, "limits": question.limits}
        curator.add("visits", visits, budget=budget, columns=columns, **said)
        if question.with_bills:
            curator.add("bills", bills, dataset="visits", columns=columns, **said)
        if question.own_limit is not None:
            curator.limit_person(question.people, epsilon=question.own_limit)
        told = question.told(curator)
        if question.per_person:
            own = dp.ZCDP(curator.statement_for(question.people).spent)
            return [told, lambda: own]  # for that person alone: an observer sees the same function
        return [told, curator.budget("visits").total]


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
    people: int = PEOPLE
    limits: Limits | None = None
    neighbours: dp.Neighbours = dp.Neighbours.ADD_REMOVE
    unit: Any = "person"
    with_bills: bool = False  # which take a third of the time
    source: "Callable[[CuratorQuestion, Tables], Any]" = of_curator
    counts_moved: bool = False
    """Whether releases count only where that person moves them: some are of no rows at all."""

    by_distance: bool = False
    """Whether noise that is added costs as much as this person moves its input, not as anybody may.

    So it has to be where one person pays for something that others do not.
    """

    own_limit: Fraction | None = None
    """An epsilon for this person alone, of budgets that each person has."""

    spends_all: bool = False
    """Whether so much is asked that a budget is used up, which alone is promised."""

    measure: Any = None  # epsilons of a few parts add up with nothing to spare

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
        if self.per_person:  # people who add less than anybody may
            added += [((self.people, 3),), ((self.people, 1), (self.people, 8))]
        if self.spends_all:
            added = [heavy]
        starts = [crowd] * len(added)
        if self.neighbours is dp.Neighbours.CHANGE_ONE:
            # As many rows before: in other groups, with the least value, or on the same day.
            added = [heavy, odd, largest, largest]
            rows = zip((4, 4, 0, 9), added, strict=True)
            starts = [crowd + ((self.people, value),) * len(one) for value, one in rows]
            starts.append((*crowd, (self.people, 4)))  # who has more rows, and other limits
            added.append(heavy)
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
    def promised(self) -> dp.Approximate:
        """The most that one person gives away: by one order, or by all of a budget."""
        spent = self.per_person or self.spends_all
        most = BUDGET if self.own_limit is None else self.own_limit
        whole = (most, 2 * self.delta) if spent else (self.epsilon, self.delta)
        return dp.Approximate(*whole, neighbours=self.neighbours)


def not_drawn(_: Any, __: int) -> Any:
    """The `draw` of claims that are replayed or enumerated."""
    raise InvariantBroken(
        "the answers of this claim are not sampled",
        why="as many runs as a refutation needs would take hours, or the law is known",
        fix="replay them with audit_question, or enumerate them with audit_accounting",
    )


def table_of(rows: Rows) -> pa.Table:
    """Rows of people with all columns that are asked about."""
    people, values = (pa.array(column, pa.int64()) for column in zip(*rows, strict=True))
    # The largest value is on the last day.
    shifts = [v if v is None else max(-999, min(v, 999)) - (v == 10) for _, v in rows]
    dates = [None if shift is None else FIRST + dt.timedelta(shift) for shift in shifts]
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
    for run in (first, second):
        yield from dict.fromkeys(run.recorder.faults)
    if found or first.raised is not None:
        yield str(found) if found else f"it is not answered: {first.raised}"
        return
    tapes = [_joined(run.recorder.finished()) for run in (first, second)]
    counted = [
        both
        for both in zip(*tapes, strict=True)
        if not question.counts_moved or picture(both[0].inputs) != picture(both[1].inputs)
    ]
    for one, other in counted:
        if isinstance(one.mechanism, FactorizedCount):
            yield from too_far(one.mechanism, one.inputs, other.inputs)
    costs = [_cost(one, other, question) for one, other in counted]
    promised = question.promised
    thresholds = first.recorder.thresholds
    for one in thresholds:
        if one.shown > one.guarantee.delta0:
            yield (
                f"a key of one person alone is shown with probability {one.shown:.3g}, "
                f"promised {float(one.guarantee.delta0):.3g}"
            )
    costs += [one.guarantee for one in thresholds]
    both_ways = [  # several choices: of two candidates ahead of all others, which move apart
        dp.Pure(one.epsilon0 / 2, neighbours=one.neighbours)
        if isinstance(one, dp.BoundedRange) and len(costs) > 1
        else one
        for one in costs
    ]
    least, most = dp.compose(both_ways).epsilon(promised.delta0).lower, promised.epsilon0
    own = second.outcome[-1] if isinstance(second.outcome, list) else None
    if isinstance(own, dp.Guarantee):  # of a model, which says itself what was spent
        most = min(most, Fraction(own.epsilon(promised.delta0).upper))
    told = second.outcome if isinstance(second.outcome, list) else []
    inside = [fact for part in told if isinstance(part, list) for fact in part]
    yield from _unpaid(dp.compose(costs), [*told, *inside])
    if callable(own):  # of that person, in the measure that shares add up in
        lost_by, paid_by = dp.compose(costs).rho().lower, own().rho().upper
        if lost_by > paid_by:
            yield f"a person loses a rho of {lost_by:.6g}, and is charged {paid_by:.6g}"
    if least > most:
        yield (
            f"releases that one person may move have epsilon {least:.6g} together, "
            f"promised {float(most):g}"
        )


def _unpaid(lost: dp.Composed, facts: list[Any]) -> Iterator[str]:
    """A charge, a cap or what parts are said to give away, which is less than what is lost."""
    for paid in (one for one in facts if isinstance(one, dp.Charge)):
        given = price_sum(lost, paid.measure)
        said = [price_sum(one, paid.measure) for one in facts if isinstance(one, dp.Composed)]
        for most, what in ((paid, "charged"), *((one, "stated") for one in said)):
            if given.amount > most.amount * _ROOTS or given.delta > most.delta * _ROOTS:
                yield f"more is given away than the {float(most.amount):.6g} that is {what}"


def stated(release: BaseRelease) -> dp.Composed:
    """What a release says that its parts have given away."""
    return dp.compose([one.guarantee for one in release.costs])


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


def _cost(one: RecordedRelease, other: RecordedRelease, question: CuratorQuestion) -> dp.Guarantee:
    """What a release costs at least, on the hardest data, or by distance on these."""
    mechanism = one.mechanism
    if isinstance(mechanism, CellChoice):
        return mechanism.cost(one.inputs[0], other.inputs[0], question.neighbours)
    cost = mechanism.guarantee
    if not question.by_distance or not isinstance(mechanism, RoundedGaussian | Laplace):
        return cost
    here, there = (np.ravel(mechanism.grid.index(side.inputs[0])) for side in (one, other))
    gaps = [abs(int(b) - int(a)) for a, b in zip(here, there, strict=True)]
    if isinstance(mechanism, Laplace):
        lost = sum(gaps) * mechanism.grid.step / mechanism.scale
        return dp.Pure(lost, neighbours=question.neighbours)
    share = Fraction(sum(gap * gap for gap in gaps), mechanism.square)
    return dp.GDP.of_square(2 * mechanism.rho * share, neighbours=question.neighbours)
