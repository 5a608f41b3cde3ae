"""Which two datasets a guarantee cannot tell apart."""

from enum import Enum


class Neighbours(Enum):
    """Two datasets are neighbours when they differ by one person.

    ADD_REMOVE: one dataset is the other with one whole person added or removed.
    CHANGE_ONE: one dataset is the other with one person's data replaced by another's; the number
    of people is the same in both and counts as public.

    Example:
        >>> Neighbours("add-remove")
        <Neighbours.ADD_REMOVE: 'add-remove'>
    """

    ADD_REMOVE = "add-remove"
    CHANGE_ONE = "change-one"
