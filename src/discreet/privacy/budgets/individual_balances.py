"""The spent amounts of many people with limits of their own, updated question by question.

The arithmetic of `IndividualFilter` for people added one by one, with limits of their own: whole
units of rho, exact sums, costs rounded up.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.rationals import Real, non_negative

RHO_UNITS: Final = 1 << 52
"""Units in a rho of 1."""

MOST_UNITS: Final = 1 << 60
"""Prices and limits are capped at this: sums of two stay far within 64 bits."""

_ABOVE: Final = 1 + 2.0**-50
"""Outweighs the rounding of three double operations, 3 * 2^-53."""


def price_units(rho: Real) -> int:
    """A price in whole units, rounded up."""
    return min(-(-non_negative(rho, "rho") * RHO_UNITS // 1), MOST_UNITS)


def limit_units(rho: Real) -> int:
    """A limit in whole units, rounded down; below every price that is capped."""
    return min(non_negative(rho, "rho") * RHO_UNITS // 1, MOST_UNITS - 1)


def units_as_rho(units: int) -> Fraction:
    """Units as an amount of rho."""
    return Fraction(units, RHO_UNITS)


def share_costs(shares: NDArray[np.int64], prices: Sequence[int], whole: int) -> NDArray[np.int64]:
    """The cost of each row of shares: the sum of price * share / whole, rounded up.

    Guarantee:
        At least the exact sum, for shares of 0 to `whole`, a power of two of at most 2^50, and
        prices of at most 2^60; the same on every machine. Exactly the price for a whole share.
    Edge cases:
        Sums are capped at 2^60, which no limit reaches.
    Why:
        A share is a double exactly; the price, the factor above 1 and the product are rounded once
        each, by 2^-53 at most, and `_ABOVE` outweighs that. A product of at most 2^60 (1 + 2^-50)
        is a 64-bit number.

    Example:
        >>> share_costs(np.array([[4, 0], [1, 2]]), [10, 7], whole=4).tolist()
        [10, 7]
    """
    total = np.zeros(len(shares), dtype=np.int64)
    for column, price in zip(shares.T, prices, strict=True):
        exact = column * (price * _ABOVE / whole)
        part = np.ceil(exact, out=exact).astype(np.int64)
        np.copyto(part, price, where=column == whole)
        np.minimum(np.add(total, part, out=total), MOST_UNITS, out=total)
    return total


@dataclass(frozen=True, slots=True, eq=False)
class ClassCosts:
    """What a charge costs people by class: place i is of class `of[i]`, and pays `costs[of[i]]`.

    The last of `costs` is -1, for whoever is not in the charge: class -1, or a place beyond `of`.
    """

    of: NDArray[np.int32]
    costs: NDArray[np.int64]


class IndividualBalances:
    """Balances of people by their place; people only ever join.

    Guarantee:
        Nobody's total passes their limit as it stood when they were charged. With each question run
        on the people that `charge` admits alone, and a cost that is at least the rho of what it is
        for that person, the whole interaction is zCDP for each with their highest limit.
    Neighbours:
        One person added or removed; nobody's balance depends on another's data.
    Secret:
        As for `IndividualFilter`: balances decide whose data enter a question, and nothing else.
    Edge cases:
        A cost of 0 fits unless a limit was lowered below what is spent. Room doubles as people
        join, so joining one by one takes linear time in all.

    Reference: Feldman, Zrnic, "Individual privacy accounting via a Renyi filter", NeurIPS 2021,
    Theorem 4.5; `docs/explanation/proofs/per-person.md`.
    """

    def __init__(self, limit: int) -> None:
        self.default = limit
        self.people = 0
        self._spent = np.zeros(0, dtype=np.int64)
        self._limits = np.zeros(0, dtype=np.int64)

    @property
    def spent(self) -> NDArray[np.int64]:
        """The spent amounts, in units."""
        return self._spent[: self.people]

    @property
    def limits(self) -> NDArray[np.int64]:
        """The limit of each, in units."""
        return self._limits[: self.people]

    def join(self, count: int) -> None:
        """Add new people at the next positions, with nothing spent."""
        first, last = self.people, self.people + count
        if last > self._spent.size:
            room = max(last, 2 * self._spent.size)
            self._spent = np.concatenate([self._spent, np.zeros(room - first, dtype=np.int64)])
            fresh = np.full(room - first, self.default, dtype=np.int64)
            self._limits = np.concatenate([self._limits, fresh])
        self.people = last

    def charge(self, places: NDArray[np.int64], costs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Charge some people, each named once, who can pay; who can."""
        spent = self._spent[places]
        admitted: NDArray[np.bool_] = costs <= self._limits[places] - spent
        self._spent[places] = spent + np.where(admitted, costs, 0)
        return admitted

    def charge_all(self, charges: Sequence[ClassCosts]) -> None:
        """Apply many charges in order, each to the people who can pay it: as `charge` one by one.

        Why: whoever can pay the sum is admitted every time, and whoever cannot pay the least of
        them never is. Only the others are processed in order.
        """
        total = np.zeros(self.people, dtype=np.int64)
        least = np.full(self.people, MOST_UNITS)
        for of, all_costs in _by_class(charges):
            sums, smallest = np.zeros_like(all_costs[0]), np.full_like(all_costs[0], MOST_UNITS)
            for costs in all_costs:
                sums = np.minimum(sums + np.maximum(costs, 0), MOST_UNITS)
                smallest = np.minimum(smallest, np.where(costs > 0, costs, MOST_UNITS))
            known = slice(len(of))
            total[known] = np.minimum(total[known] + sums[of], MOST_UNITS)
            least[known] = np.minimum(least[known], smallest[of])
        room = self.limits - self.spent
        sure = total <= room
        self.spent[:] += np.where(sure, total, 0)
        others = np.flatnonzero(~sure & (least <= room))
        spent = self.spent[others]
        for _ in self.turns(others, spent, charges):
            pass
        self.spent[others] = spent

    def turns(
        self, places: NDArray[np.int64], spent: NDArray[np.int64], charges: Sequence[ClassCosts]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
        """What each charge costs some people, and which of them can pay; `spent` is kept up."""
        limits, classes = self._limits[places], dict[int, NDArray[np.int32]]()
        for one in charges:
            if id(one.of) not in classes:
                known = np.full(self.people, -1, dtype=np.int32)
                known[: len(one.of)] = one.of
                classes[id(one.of)] = known[places]
            asked = one.costs[classes[id(one.of)]]
            admitted = asked <= limits - spent
            spent += np.where(admitted, np.maximum(asked, 0), 0)
            yield asked, admitted


def _by_class(
    charges: Sequence[ClassCosts],
) -> list[tuple[NDArray[np.int32], list[NDArray[np.int64]]]]:
    found: dict[int, tuple[NDArray[np.int32], list[NDArray[np.int64]]]] = {}
    for one in charges:
        found.setdefault(id(one.of), (one.of, []))[1].append(one.costs)
    return list(found.values())
