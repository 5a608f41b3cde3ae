"""What was drawn for a charge and could not be stored yet."""

from collections.abc import Callable, Sequence
from typing import Any


class HeldDraws:
    """Draws of charges, by the number of their step; the measurements of a charge are step 0.

    Guarantee:
        In one process a step of a charge is drawn once until it is stored. On a full disk the next
        to ask stores what was drawn, and no charge buys a second draw.
    Edge cases:
        None is a draw that failed, which is as final as any other. A crash forgets what nobody was
        told. Of a step that another worker stored meanwhile, what is held is never told.

    Example:
        >>> held = HeldDraws()
        >>> held.draw(7, 1, lambda: [b"first", b"second"]), held.draw(7, 2, lambda: [b"other"])
        (b'first', b'second')
        >>> held.let_go(7, 2)
        >>> held.draw(7, 2, lambda: [b"other"])
        b'other'
    """

    def __init__(self) -> None:
        self._held: dict[tuple[int, int], Any] = {}

    def draw(self, charge: int, step: int, make: Callable[[], Sequence[Any]]) -> Any:
        """What is held of a step, else what is made now: of this step and those that follow it."""
        if (charge, step) not in self._held:
            self._held |= {(charge, number): one for number, one in enumerate(make(), step)}
        return self._held[charge, step]

    def let_go(self, charge: int, step: int) -> None:
        """Forget a step that is stored."""
        self._held.pop((charge, step), None)
