"""How many people an accuracy takes: the inverse of a mechanism's error."""

from bisect import bisect_left
from collections.abc import Callable

from discreet.errors import InputError
from discreet.mechanisms.mechanism import Mechanism
from discreet.rationals import Real, positive

_MOST = 1 << 60


def people_for(
    error: Real, make: Callable[[int], Mechanism], *, confidence: Real = 0.95, at_least: int = 1
) -> int:
    """The least number of people, from `at_least` on, for whom a mechanism's error is this small.

    `make(n)` is the mechanism for n people; its error must not grow with n. That holds where n
    divides the sensitivity, as in a mean; noise for a count has the same error for any n.

    Edge cases: refused where 2^60 people are not enough. The error of the returned mechanism has
    been checked, whatever the search did.

    Example:
        >>> from discreet.mechanisms import Laplace, sensitivity
        >>> people_for(1, lambda n: Laplace(epsilon=1, sensitivity=sensitivity.mean(n, 0, 100)))
        299
    """
    wanted = positive(error, "error")

    def fits(n: int) -> bool:
        return make(n).error(confidence) <= wanted

    low, high = at_least - 1, at_least
    while not fits(high):
        low, high = high, 2 * high
        if high > _MOST:
            raise InputError(
                "no number of people is enough for this error",
                why="the error of the mechanism does not fall far enough with them",
                fix="allow a larger error, or raise epsilon",
            )
    return low + 1 + bisect_left(range(low + 1, high), x=True, key=fits)
