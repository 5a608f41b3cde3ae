"""Neighbour relations: the pairs of datasets that a guarantee is about."""

from enum import Enum

from discreet.errors import InputError


class Neighbours(Enum):
    """Two datasets are neighbours when they differ by one person.

    ADD_REMOVE: one dataset is the other with one whole person added or removed.
    CHANGE_ONE: one dataset is the other with one person's data replaced by another's; the number
    of people is the same in both and counts as public.

    Edge cases:
        A name is accepted wherever neighbours are expected; anything else is refused.

    Example:
        >>> Neighbours("add-remove")
        <Neighbours.ADD_REMOVE: 'add-remove'>
    """

    ADD_REMOVE = "add-remove"
    CHANGE_ONE = "change-one"

    @classmethod
    def _missing_(cls, value: object) -> "Neighbours":
        raise InputError(
            f"neighbours are {value!r}" if isinstance(value, str) else "neighbours have no name",
            why="a guarantee is about datasets that differ in one of two ways",
            fix=f"pass {' or '.join(repr(one.value) for one in cls)}, or a Neighbours",
        )
