"""Individual privacy accounting: a budget of its own for every person."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InputError
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.guarantees.zcdp import ZCDP
from discreet.rationals import Real, non_negative, positive, whole

Units = NDArray[np.uint64]
Mask = NDArray[np.bool_]

BUDGET_UNITS: Final = 720_720 * 10**13
"""Units in one budget: below 2^63, so that a balance and a cost never overflow together; divisible
by every count up to 16 and by 10^14, so that equal shares and decimal shares of a budget are
exact."""


@dataclass(frozen=True, slots=True, eq=False)
class IndividualFilter:
    """An individual filter: every person has the same budget rho and pays alone.

    Guarantee:
        The whole interaction is `budget`-zCDP, for any sequence of queries chosen from earlier
        answers, when each query is run on the people it admits only and, for each of them, is zCDP
        with at most the rho that was charged to that person (a sum of x_i plus Gaussian noise of
        variance v costs person i x_i^2 / (2v), not the largest possible value). Stop whenever you
        like.
    Neighbours:
        One person is added or removed. Whoever runs dry is left out as if never there.
    Secret:
        Balances and masks depend on the data. Never show them, log them, count them, branch on
        them in public view, or choose a query or its noise by them; they may only decide whose data
        enter a query. The number of people is secret as well. Public are the budget, the queries
        and their noise.
    Why:
        A person's charges are known before each answer and never add up to more than the budget,
        so e^((a-1) loss) less the charges so far is a supermartingale at every order a.
    Edge cases:
        A cost of 0 always fits, one above the budget never does; NaN and negative weights are
        refused. Balances are integers of budget/7.2e18, so nothing drifts. rho is rounded up to
        whole units once, whole weights multiply it exactly, others are rounded up by at most 1 in
        10^15.

    Example:
        >>> start = IndividualFilter(people=3, budget=1)
        >>> later, admitted = start.charge(0.6, weights=[1, 0, 2])
        >>> admitted.tolist(), later.admits(0.5).tolist(), start.admits(1).tolist()
        ([True, True, False], [False, True, True], [True, True, True])

    Reference: Feldman, Zrnic, Individual Privacy Accounting via a Renyi Filter (2021; individual
    filtering), at every order at once.
    """

    people: int = field(repr=False)
    budget: Fraction
    _spent: Units = field(repr=False)

    def __init__(self, people: int, budget: Real) -> None:
        count = whole(people, "people", at_least=0)
        self._fill(count, positive(budget, "budget"), np.zeros(count, dtype=np.uint64))

    def _fill(self, people: int, budget: Fraction, spent: Units) -> None:
        spent.setflags(write=False)
        for name, value in (("people", people), ("budget", budget), ("_spent", spent)):
            object.__setattr__(self, name, value)

    @property
    def guarantee(self) -> ZCDP:
        """The guarantee for every person, whatever was asked."""
        return ZCDP(self.budget, neighbours=Neighbours.ADD_REMOVE)

    def admits(self, rho: Real, weights: ArrayLike | None = None) -> Mask:
        """The people who can pay rho x weights[i] for a query; changes nothing."""
        return self._fits(self._cost(rho, weights))

    def charge(
        self, rho: Real, weights: ArrayLike | None = None
    ) -> tuple["IndividualFilter", Mask]:
        """The filter after such a query, and the mask of those whose data it may touch."""
        cost = self._cost(rho, weights)
        admitted = self._fits(cost)
        after = object.__new__(IndividualFilter)
        after._fill(self.people, self.budget, self._spent + np.where(admitted, cost, _NOTHING))
        return after, admitted

    def _fits(self, cost: Units | np.uint64) -> Mask:
        mask: Mask = cost <= _ALL - self._spent
        return mask

    def _cost(self, rho: Real, weights: ArrayLike | None) -> Units | np.uint64:
        each = -(-non_negative(rho, "rho") * BUDGET_UNITS // self.budget)
        if weights is None:
            return np.uint64(min(each, BUDGET_UNITS + 1))
        return _multiples(each, self._read(weights))

    def _read(self, weights: ArrayLike) -> NDArray[np.uint64] | NDArray[np.float64]:
        given = np.asarray(weights)
        if given.shape != (self.people,) or given.dtype.kind not in "uifb":
            raise InputError(
                "weights do not fit the filter",
                why="every person needs one number",
                fix="pass a list or array with one number for each of them",
            )
        # Written so that NaN fails too. No value is shown: weights are private data.
        if not np.all(given >= 0):
            raise InputError(
                "weights hold a negative number or NaN",
                why="a cost cannot be negative",
                fix="clamp contributions before they are charged",
            )
        return _whole(given)


def _whole(given: NDArray[np.generic]) -> NDArray[np.uint64] | NDArray[np.float64]:
    """Whole weights as integers, which multiply exactly; others as doubles."""
    if given.dtype.kind in "uib":
        return given.astype(np.uint64)
    doubles = given.astype(np.float64)
    if np.all(doubles < 2.0**53) and np.all(doubles == np.floor(doubles)):
        return doubles.astype(np.uint64)
    return doubles


def _multiples(each: int, weights: NDArray[np.uint64] | NDArray[np.float64]) -> Units:
    """The product in whole units, rounded up; anything past the budget becomes `_NEVER`."""
    if each == 0:
        return np.zeros(len(weights), dtype=np.uint64)
    if weights.dtype == np.uint64:
        most = BUDGET_UNITS // each
        fits = weights <= np.uint64(most)
        return np.where(
            fits, np.where(fits, weights, _NOTHING) * np.uint64(min(each, BUDGET_UNITS)), _NEVER
        )
    if each > 2**1000:
        return np.where(weights > 0, _NEVER, _NOTHING)
    # float(each) is off by one part in 2^53 at most, the product by another.
    with np.errstate(over="ignore"):
        product = np.ceil(weights * (float(each) * (1 + 2.0**-50)))
    fits = product <= float(BUDGET_UNITS)
    return np.where(fits, np.where(fits, product, 0.0).astype(np.uint64), _NEVER)


_ALL: Final = np.uint64(BUDGET_UNITS)
_NOTHING: Final = np.uint64(0)
_NEVER: Final = np.uint64(BUDGET_UNITS + 1)
