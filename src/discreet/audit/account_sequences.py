"""Every kind of account, driven through sequences of charges beside sums made here.

Charges follow each other in an order drawn anew: small, exact, too large, repeated and of nothing.
Whether each is taken, what is spent and what is left are compared with plain sums of fractions,
after each charge, in accounts that are stored and read back meanwhile.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import pyarrow as pa

from discreet import noise
from discreet.audit.evidence import Evidence, Point
from discreet.audit.replayed_questions import not_drawn
from discreet.audit.report import Audit
from discreet.curator.budget import Budget
from discreet.curator.opening import Curator
from discreet.errors import BudgetError
from discreet.local.device_ledger import DeviceLedger
from discreet.local.domain import ValueDomain
from discreet.local.frequency import KRandomizedResponse
from discreet.mechanisms.mechanism import Claim, Pair
from discreet.privacy import (
    EPSILON,
    GDP,
    MU_SQUARED,
    RHO,
    Charge,
    Filter,
    IndividualFilter,
    Measure,
    Neighbours,
    Odometer,
    Pure,
    renyi,
)
from discreet.privacy.budgets.individual_balances import ClassCosts, IndividualBalances

Sequence = Callable[[], Iterator[str]]
"""A run that tells what is wrong."""

_MEASURES: Final = (EPSILON, RHO, MU_SQUARED, renyi(3))
_TURNS, _PEOPLE = 60, 9
_MOST, _LOST = Fraction(3), Fraction(1, 7)
_SLACK: Final = 1e-9


def _lot(most: int) -> int:
    return int(noise.below(most))


def _amount() -> Fraction:
    """Nothing, a share of a whole that adds up exactly, one that does not, or too much."""
    return Fraction(_lot(9), (1, 20, 21, 24, 17)[min(_lot(10), 4)])


def _filter(measure: Measure, about: Neighbours) -> Iterator[str]:
    lost = Fraction(0) if measure.order else _LOST
    limit = Charge(_MOST, lost, measure=measure, neighbours=about)
    account, spent, gone = Filter(limit), Fraction(0), Fraction(0)
    for turn in range(_TURNS):
        amount, slip = _amount(), lost * _amount() / 9
        one = Charge(amount, slip, measure=measure, neighbours=about)
        fits = spent + amount <= _MOST and gone + slip <= lost
        if account.fits(one) and not fits:
            yield "a charge fits that is too large"
        with suppress(BudgetError):
            account = account.charge(one)
            spent, gone = spent + amount, gone + slip
            if not fits:
                yield "a charge is taken that does not fit"
        if turn % 2:
            account = Filter.from_dict(account.to_dict())
        left, told = account.left, account.spent
        if left.amount > _MOST - spent or left.delta > lost - gone:
            yield "more is left than was not spent"
        if told.amount < spent or told.delta < gone or len(account.history) > turn + 1:
            yield "less is spent than was charged"
    stated = account.guarantee
    if stated.neighbours is not about or account.left.neighbours is not about:
        yield "a filter is about other neighbours than its limit"


def _odometer(about: Neighbours) -> Iterator[str]:
    meter, rho, pure, slips = Odometer(_LOST, neighbours=about), 0.0, Fraction(0), Fraction(0)
    for turn in range(_TURNS // 2):
        measure, amount = _MEASURES[_lot(3 if turn > _TURNS // 4 else 1)], _amount()
        slip = _LOST * _amount() / 9
        with suppress(BudgetError):
            meter = meter.charge(Charge(amount, slip, measure=measure, neighbours=about))
            own = {EPSILON: amount * Fraction(math.tanh(amount / 2)), MU_SQUARED: amount / 2}
            rho, slips = rho + float(own.get(measure, amount)), slips + slip
            pure = pure + amount if measure == EPSILON else Fraction(10**9)
            if slips > _LOST:
                yield "an odometer takes more deltas than it has"
        meter = Odometer.from_dict(meter.to_dict())
        if meter.spent.amount < rho * (1 - _SLACK) or meter.spent.delta < slips:
            yield "an odometer counts less than was charged"
        if (rho and meter.epsilon(0).upper < math.inf) or meter.neighbours is not about:
            yield "an odometer promises more than its deltas allow"
        for more in (Fraction(1, 100), Fraction(1, 10**6)):
            least = GDP.of_square(Fraction(2 * rho)).epsilon(more).lower if pure > 10**8 else 0
            told = meter.epsilon(_LOST + more).upper
            if told < min(least, float(pure)) * (1 - _SLACK) or (rho and told <= 0):
                yield "an odometer says less than Gaussian answers give away"


def _individual() -> Iterator[str]:
    account, spent = IndividualFilter(_PEOPLE, _MOST), [Fraction(0)] * _PEOPLE
    for turn in range(_TURNS):
        cost, kind = _amount() / 3, (int, float, bool)[turn % 3]
        weights = [kind(_lot(4) + (0.3 if kind is float else 0)) for _ in range(_PEOPLE)]
        asked = None if turn % 5 == 4 else weights  # noqa: PLR2004 - now and then
        costs = [cost * Fraction(one) for one in (weights if asked else [1] * _PEOPLE)]
        known = account.admits(cost, asked)
        account, admitted = account.charge(cost, asked)
        spent = [
            own + more if taken else own
            for own, more, taken in zip(spent, costs, admitted, strict=True)
        ]
        if max(spent) > _MOST or known.tolist() != admitted.tolist():
            yield "a person is charged more than their budget"
    if account.guarantee.rho0 < _MOST:
        yield "a filter of people promises more than their budget"


def _balances() -> Iterator[str]:
    """Many people, some with limits of their own, some who come later, some not in a charge."""
    account, limits, spent = IndividualBalances(_TURNS), list[int](), list[int]()
    for _ in range(_TURNS):
        account.join(many := _lot(3))
        limits, spent = [*limits, *[_TURNS] * many], [*spent, *[0] * many]
        charges = []
        for _ in range(_lot(4)):
            known = _lot(account.people + 1)
            of = np.array([_lot(3) for _ in range(known)], np.int32)
            charges.append(ClassCosts(of, np.array([_lot(9), _lot(30), 1, -1])))
            charges += charges[-1:] * _lot(2)
        account.charge_all(charges)
        for one in charges:
            for place, of_class in enumerate(one.of.tolist()):
                cost = int(one.costs[of_class])
                spent[place] += cost if cost <= limits[place] - spent[place] else 0
        if account.people and _lot(2):
            place, cost = _lot(account.people), _lot(30)
            account.charge(np.array([place]), np.array([cost]))
            spent[place] += cost if cost <= limits[place] - spent[place] else 0
            account.limits[place] = limits[place] = _lot(2 * _TURNS)
        if account.spent.tolist() != spent:
            yield "balances differ from charges taken one by one"


def _device() -> Iterator[str]:
    """Answers that a device keeps, some of them again, and some that it cannot keep."""
    surveys = [KRandomizedResponse(epsilon=Fraction(1, k), domain=ValueDomain(k + 1)) for k in (1, 4)]
    spent, told, most = Fraction(0), dict[tuple[int, bytes], bytes](), _MOST
    with TemporaryDirectory() as folder:
        for turn in range(_TURNS // 4):
            asked = _MOST + turn if turn < 9 else Fraction(5, 2)  # noqa: PLR2004 - a limit falls once
            most = min(most, asked)
            with DeviceLedger(Path(folder) / "told", limit=asked) as ledger:
                which, value, draw, over = _lot(2), bytes([_lot(3)]), bytes([turn]), False
                with suppress(BudgetError):
                    found = ledger.remember(surveys[which], value, lambda draw=draw: draw)
                    if told.setdefault((which, value), found) != found:
                        yield "a device answers once more about one value"
                    spent += surveys[which].epsilon if found == draw else 0
                    over = spent > most and found == draw
                with suppress(BudgetError):
                    ledger.charge("once", paid := Fraction(_lot(3), 8))
                    spent += paid
                    over = over or spent > most
                if over or ledger.spent != spent or ledger.left > max(0, most - spent):
                    yield "a device has told more than its ledger says"


def _curator() -> Iterator[str]:
    """A dataset, two analysts of it, a group of them and a link, until all of them are spent."""
    caps = {"visits": 40, "a": 18, "b": 14, "both": 24, "all": 46}
    spent, told = dict.fromkeys(caps, 0), {name: set[tuple[str, int]]() for name in caps}
    rows = pa.table({"person": range(20)})
    budgets = {name: Budget(Fraction(cap, 10), measure="epsilon") for name, cap in caps.items()}
    with TemporaryDirectory() as folder:
        with Curator(folder) as curator:
            for name in ("visits", "bills"):
                curator.add(name, rows, unit="person", budget=budgets["visits"])
            for name in "ab":
                curator.grant(name, "visits", budgets[name])
            curator.group("both", "visits", ["a", "b"], budgets["both"])
            curator.link("all", ["visits", "bills"], budgets["all"])
        for _ in range(_TURNS):
            price, who = 1 + _lot(9), (None, "a", "b")[_lot(3)]
            table = "visits" if who else "bills"
            holders = ("all", "visits", who, "both") if who else ("all",)
            new = [one for one in holders if (table, price) not in told[one]]
            fits = all(spent[one] + price <= caps[one] for one in new)
            with Curator(folder) as curator, suppress(BudgetError):
                asked = {"epsilon": Fraction(price, 10), "analyst": who}
                curator.sql(f"SELECT COUNT(*) AS n FROM {table}", **asked)  # noqa: S608 - one of two
                for one in new:
                    spent[one] += price
                    told[one].add((table, price))
                if not fits:
                    yield "a curator answers beyond a cap"
        with Curator(folder) as curator:
            for who, name in ((None, "visits"), ("a", "a"), ("b", "b")):
                if curator.budget("visits", analyst=who).total.amount * 10 < spent[name]:
                    yield "a curator counts less than was told"


SEQUENCES: Final[Mapping[str, Sequence]] = {
    **{
        f"account-{measure.name}-{about.value}": partial(_filter, measure, about)
        for measure in _MEASURES
        for about in Neighbours
    },
    **{f"account-odometer-{about.value}": partial(_odometer, about) for about in Neighbours},
    "account-individual": _individual,
    "account-balances": _balances,
    "account-device": _device,
    "account-curator": _curator,
}
"""Names as the command line takes them."""


def audit_sequence(name: str, sequence: Sequence) -> Audit:
    """Drive an account; certain."""
    start = time.process_time()
    claim = Claim("Account", Pure(0), (Pair(0, 1),), not_drawn)
    reason = "; ".join(dict.fromkeys(found for _ in range(3) for found in sequence()))
    evidence = Evidence("Account", "sums", Point(0.0, 0.0), 0.0, "sums agree", reason=reason)
    return Audit(name, claim, (evidence,), time.process_time() - start)
