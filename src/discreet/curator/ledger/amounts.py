"""Whole units as text that sorts like the numbers, so that a database can compare them itself.

A unit is 1/UNITS (see `discreet.privacy.budgets.charges`), far finer than 64 bits hold. Written
with leading zeros to a fixed width, amounts compare as texts exactly as they do as numbers, and a
CHECK on a table is a second guard under the budget.
"""

from typing import Final

from discreet.errors import InputError
from discreet.privacy.budgets.charges import UNITS, Charge

WIDTH: Final = 78
MOST: Final = 10**WIDTH - 1


def write_units(units: int) -> str:
    """A number of units as text of fixed width.

    Example:
        >>> write_units(9) < write_units(10), read_units(write_units(42))
        (True, 42)
    """
    if 0 <= units <= MOST:
        return f"{units:0{WIDTH}d}"
    raise InputError(
        f"an amount of {units // UNITS:.3g}",
        why=f"a ledger holds amounts from 0 to {MOST // UNITS:.3g}",
        fix="use a budget that protects somebody",
    )


def read_units(text: str) -> int:
    """The number that `write_units` wrote."""
    return int(text)


def cost_units(charge: Charge) -> tuple[int, int]:
    """A cost in whole units, rounded up: amount, then delta."""
    return charge.units, charge.delta_units


def cap_units(cap: Charge) -> tuple[int, int]:
    """A limit in whole units, rounded down: amount, then delta."""
    return cap.amount * UNITS // 1, cap.delta * UNITS // 1
