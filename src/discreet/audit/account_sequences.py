"""Every kind of account, driven through charges in an order drawn anew, beside sums made here.

Charges are small, exact, too large, repeated or of nothing. Whether each is taken, what is spent
and what is left are compared with plain sums, in accounts that are stored and read back meanwhile.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa

from discreet import noise
from discreet import privacy as dp
from discreet.audit.evidence import Evidence, Point
from discreet.audit.replayed_questions import not_drawn
from discreet.audit.report import Audit
from discreet.curator.budget import Budget
from discreet.curator.opening import Curator
from discreet.errors import BudgetError, DiscreetError
from discreet.local.device_ledger import DeviceLedger
from discreet.local.domain import ValueDomain
from discreet.local.frequency import KRandomizedResponse
from discreet.mechanisms.mechanism import Claim, Pair
from discreet.privacy.budgets.buying import buys
from discreet.privacy.budgets.filters import amount_within
from discreet.privacy.budgets.individual_balances import ClassCosts, IndividualBalances

_MEASURES: Final = (dp.EPSILON, dp.RHO, dp.MU_SQUARED, dp.renyi(3))
_TURNS, _PEOPLE, _MOST, _LOST = 150, 9, Fraction(3), Fraction(1, 7)
_RARE: Final = Fraction(1, 10**6)
_LESS: Final = 1 - Fraction(1, 10**9)
"""Roots and curves are rounded."""


def _lot(most: int) -> int:
    return int(noise.below(most))


def _amount() -> Fraction:
    """Nothing, a share of a whole that adds up exactly, one that does not, or too much."""
    return Fraction(_lot(9), (1, 20, 21, 24, 17)[min(_lot(10), 4)])


def _filter(measure: dp.Measure, about: dp.Neighbours) -> Iterator[str]:
    said: dict[str, Any] = {"measure": measure, "neighbours": about}
    lost = Fraction(0) if measure.order else _LOST
    account, spent, gone = dp.Filter(dp.Charge(_MOST, lost, **said)), Fraction(0), Fraction(0)
    for turn in range(_TURNS):
        amount, slip = _amount(), lost * _amount() / 9
        one, fits = dp.Charge(amount, slip, **said), spent + amount <= _MOST and gone + slip <= lost
        if account.fits(one) and not fits:
            yield "a charge fits that is too large"
        with suppress(BudgetError):
            account, spent, gone = account.charge(one), spent + amount, gone + slip
            if not fits:
                yield "a charge is taken that does not fit"
        if turn % 2:
            account = dp.Filter.from_dict(account.to_dict())
        left, told = account.left, account.spent
        if left.amount > _MOST - spent or left.delta > lost - gone:
            yield "more is left than was not spent"
        if told.amount < spent or told.delta < gone:
            yield "less is spent than was charged"
    bought = buys(measure, _MOST)
    bills: list[Any] = [dp.Pure(bought.epsilon), dp.GDP.of_square(bought.mu_squared)][
        : 1 + (measure != dp.EPSILON)
    ]
    if any(
        dp.Filter(dp.Charge(0, measure=measure)).price(one).amount * _LESS > _MOST for one in bills
    ):
        yield "an amount buys more than it pays for"
    if {account.guarantee.neighbours, account.left.neighbours} != {about}:
        yield "a filter is about other neighbours than its limit"


def _odometer(about: dp.Neighbours) -> Iterator[str]:
    meter, rho, mixed, slips = dp.Odometer(_LOST, neighbours=about), 0.0, False, Fraction(0)
    for turn in range(_TURNS // 5):
        measure, amount = _MEASURES[_lot(3 if turn > _TURNS // 9 else 1)], _amount()
        slip = _LOST * _amount() / 9
        with suppress(BudgetError):
            meter = meter.charge(dp.Charge(amount, slip, measure=measure, neighbours=about))
            own = {dp.EPSILON: amount * Fraction(math.tanh(amount / 2)), dp.MU_SQUARED: amount / 2}
            rho, slips = rho + float(own.get(measure, amount)), slips + slip
            mixed = mixed or (measure != dp.EPSILON and amount > 0)
            if slips > _LOST:
                yield "an odometer takes more deltas than it has"
        meter = dp.Odometer.from_dict(meter.to_dict())
        if meter.spent.amount < rho * _LESS or meter.spent.delta < slips:
            yield "an odometer counts less than was charged"
        if (rho and meter.epsilon(0).upper < math.inf) or meter.neighbours is not about:
            yield "an odometer promises more than its deltas allow"
        told = meter.epsilon(_LOST + _RARE).upper
        if mixed and told < dp.GDP.of_square(Fraction(2 * rho)).epsilon(_RARE).lower * _LESS:
            yield "an odometer says less than Gaussian answers give away"


def _individual() -> Iterator[str]:
    account, spent = dp.IndividualFilter(_PEOPLE, _MOST), [Fraction(0)] * _PEOPLE
    for turn in range(_TURNS):
        rho, kind = _amount() / 3, (int, float, None)[turn % 3]
        weights = [_lot(4) + (0.3 if kind is float else 0) for _ in range(_PEOPLE)]
        asked, known = (weights, weights) if kind else (None, [1] * _PEOPLE)
        fits = account.admits(rho, asked).tolist()
        account, admitted = account.charge(rho, asked)
        paid = zip(spent, known, admitted, strict=True)
        spent = [own + rho * Fraction(weight) * int(taken) for own, weight, taken in paid]
        if max(spent) > _MOST or fits != admitted.tolist():
            yield "a person is charged more than their budget"
    if account.guarantee.rho0 < _MOST:
        yield "a filter of people promises more than their budget"


def _balances() -> Iterator[str]:
    """Many people, some with limits of their own, some who come later, some not in a charge."""
    account, limits, spent = IndividualBalances(_TURNS), list[int](), list[int]()

    def pay(place: int, cost: int) -> None:
        spent[place] += cost if cost <= limits[place] - spent[place] else 0

    for _ in range(_TURNS):
        account.join(many := _lot(3))
        limits, spent = [*limits, *[_TURNS] * many], [*spent, *[0] * many]
        charges = list[ClassCosts]()
        for _ in range(_lot(4)):
            of = np.array([_lot(3) for _ in range(_lot(account.people + 1))], np.int32)
            charges += [ClassCosts(of, np.array([_lot(9), _lot(30), 1, -1]))] * (1 + _lot(2))
        account.charge_all(charges)
        for one in charges:
            for place, kind in enumerate(one.of.tolist()):
                pay(place, int(one.costs[kind]))
        if account.people:
            place, cost = _lot(account.people), _lot(30)
            account.charge(np.array([place]), np.array([cost]))
            pay(place, cost)
            account.limits[place] = limits[place] = _lot(2 * _TURNS)
        if account.spent.tolist() != spent:
            yield "balances differ from charges taken one by one"


def _device() -> Iterator[str]:
    """Answers that a device keeps, some of them again, and some that it cannot keep."""
    most, spent, told = Fraction(9), Fraction(0), dict[tuple[int, bytes], bytes]()
    surveys = [KRandomizedResponse(epsilon=Fraction(1, k), domain=ValueDomain(5)) for k in (1, 4)]
    with TemporaryDirectory() as folder:
        for turn in range(_TURNS // 5):
            asked = (_MOST - Fraction(turn, 50), Fraction(9))[_lot(2)]  # no limit rises
            most = min(most, asked)
            with DeviceLedger(Path(folder) / "told", limit=asked) as ledger:
                which, value, draw, before = _lot(2), bytes([_lot(3)]), bytes([turn]), spent
                with suppress(BudgetError):
                    found = ledger.remember(surveys[which], value, partial(bytes, draw))
                    if told.setdefault((which, value), found) != found:
                        yield "a device answers once more about one value"
                    spent += surveys[which].epsilon if found == draw else 0
                with suppress(BudgetError):
                    ledger.charge("once", paid := Fraction(_lot(3), 8))
                    spent += paid
                if before < spent > most or ledger.spent != spent:
                    yield "a device has told more than its ledger says"


def _curator(measure: dp.Measure) -> Iterator[str]:
    """A dataset, two analysts, a group of them and a link; each in turn has the least room."""
    for tight in _HOLDERS:
        room = {name: Fraction(6, 4 if name == tight else 1) for name in _HOLDERS}
        yield from _spent(measure, room)


_HOLDERS: Final = ("visits", "a", "b", "both", "all")
_WAYS: Final[tuple[tuple[Any, ...], ...]] = (
    ("bills", None, "all"),
    ("visits", None, "visits", "all"),
    *(("visits", who, who, "both", "visits", "all") for who in "ab"),
)
"""A table, who asks about it, and all who pay for an answer that they were not told before."""


def _spent(measure: dp.Measure, room: Mapping[str, Fraction]) -> Iterator[str]:
    slip = Fraction(0) if measure == dp.EPSILON else _RARE
    kind = cast("Any", measure.name)  # Renyi divergence is no budget of a curator
    most = {name: Budget(one, slip, measure=kind) for name, one in room.items()}
    spent, told = dict.fromkeys(room, Fraction(0)), {name: set[Any]() for name in room}
    with TemporaryDirectory() as folder:
        with Curator(folder) as curator:
            for name in ("visits", "bills"):
                rows = pa.table({"person": range(20)})
                curator.add(name, rows, unit="person", budget=most["visits"])
            for name in "ab":
                curator.grant(name, "visits", most[name])
            curator.group("both", "visits", ["a", "b"], most["both"])
            curator.link("all", ["visits", "bills"], most["all"])
        for _ in range(_TURNS // 4):
            epsilon, (table, who, *holders) = Fraction(1 + _lot(4), 5), _WAYS[_lot(4)]
            new = [one for one in holders if (table, epsilon) not in told[one]]
            cost = amount_within(epsilon, slip / 9, measure)
            fits = all(spent[one] + cost <= most[one].cap().amount for one in new)
            with Curator(folder) as curator, suppress(BudgetError):
                price = {"epsilon": epsilon, "delta": slip / 9, "analyst": who}
                curator.sql(f"SELECT COUNT(*) AS n FROM {table}", **price)  # noqa: S608 - one of two
                for one in new:
                    spent[one] += cost
                    told[one].add((table, epsilon))
                if not fits:
                    yield "a curator answers beyond a cap"
        with Curator(folder) as curator:
            for who, name in ((None, "visits"), ("a", "a"), ("b", "b")):
                if curator.budget("visits", analyst=who).total.amount < spent[name]:
                    yield "a curator counts less than was told"


SEQUENCES: Final[Mapping[str, Callable[[], Iterator[str]]]] = {
    **{
        f"account-{one.name}-{about.value}": partial(_filter, one, about)
        for one in _MEASURES
        for about in dp.Neighbours
    },
    **{f"account-odometer-{about.value}": partial(_odometer, about) for about in dp.Neighbours},
    "account-individual": _individual,
    "account-balances": _balances,
    "account-device": _device,
    **{
        f"account-curator-{one.name}": partial(_curator, one) for one in (dp.EPSILON, dp.MU_SQUARED)
    },
}
"""Names as the command line takes them."""


def audit_sequence(name: str, sequence: Callable[[], Iterator[str]]) -> Audit:
    """Drive an account; certain."""
    start, claim = time.process_time(), Claim("Account", dp.Pure(0), (Pair(0, 1),), not_drawn)
    try:
        reason = next(sequence(), "")
    except DiscreetError as error:
        reason = f"an account refuses itself: {error}"
    evidence = Evidence("Account", "sums", Point(0.0, 0.0), 0.0, "sums agree", reason=reason)
    return Audit(name, claim, (evidence,), time.process_time() - start)
