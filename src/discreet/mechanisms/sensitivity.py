"""How far one person can move the common statistics: exact rationals, roots rounded up.

Values are clamped to [lower, upper] before they are aggregated. `n` is a number of people that
every dataset in question has at least: under change-one the public number of people, under
add/remove a floor that the smaller of two neighbours still reaches. A floor is a promise about the
data, which only public knowledge can keep; without it, release a sum and a count instead.

>>> mean(n=100, lower=0, upper=50, neighbours=Neighbours.CHANGE_ONE)
Fraction(1, 2)
"""

from fractions import Fraction

from discreet.errors import InputError
from discreet.mechanisms.grid import sqrt_up
from discreet.privacy import Neighbours
from discreet.rationals import Real, rational, whole


def count(neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Fraction:
    """How many people have a property: 1 under both relations.

    Example:
        >>> count()
        Fraction(1, 1)
    """
    Neighbours(neighbours)
    return Fraction(1)


def histogram(neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Fraction:
    """Counts of any number of disjoint bins, in l1: 1, or 2 where a person can move between two.

    Example:
        >>> histogram(Neighbours.CHANGE_ONE)
        Fraction(2, 1)
    """
    return Fraction(2 if _changes(neighbours) else 1)


def total(lower: Real, upper: Real, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Fraction:
    """A sum of values in [lower, upper]: the larger |bound|, or the range under change-one.

    Example:
        >>> total(-3, 5), total(-3, 5, Neighbours.CHANGE_ONE)
        (Fraction(5, 1), Fraction(8, 1))
    """
    low, high = _bounds(lower, upper)
    return high - low if _changes(neighbours) else max(abs(low), abs(high))


def mean(
    n: int, lower: Real, upper: Real, neighbours: Neighbours = Neighbours.ADD_REMOVE
) -> Fraction:
    """A mean of at least n values in [lower, upper]: range/n, or range/(n + 1) under add/remove.

    Why: with a person x more, the mean of m moves by (x - mean)/(m + 1), and m >= n.

    Example:
        >>> mean(9, 0, 1), mean(9, 0, 1, Neighbours.CHANGE_ONE)
        (Fraction(1, 10), Fraction(1, 9))
    """
    low, high = _bounds(lower, upper)
    people = whole(n, "n", at_least=1)
    return (high - low) / (people if _changes(neighbours) else people + 1)


def proportion(n: int, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Fraction:
    """The share of at least n people that has a property: 1/n, or 1/(n + 1) under add/remove.

    Example:
        >>> proportion(1000, Neighbours.CHANGE_ONE)
        Fraction(1, 1000)
    """
    return mean(n, 0, 1, neighbours)


def covariance(
    n: int,
    first: tuple[Real, Real],
    second: tuple[Real, Real],
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    *,
    ddof: int = 0,
) -> Fraction:
    """A covariance of at least n pairs with these bounds, divided by n - ddof, ddof 0 or 1.

    Why: with c the covariance of m people and (x, y) one more at (a, b) from their means, that of
    all m + 1 is m/(m + 1) (c + ab/(m + 1)). Changing (x, y) moves it by at most m/(m + 1)^2 times
    the spread of ab, which is at most the product R of the ranges. Adding (x, y) moves it by
    m ab/(m + 1)^2 - c/(m + 1), which is largest at c = 0, ab = R. With ddof 1 the same two
    arguments give R/(m + 1).

    Example:
        >>> covariance(10, (0, 1), (0, 5), Neighbours.CHANGE_ONE, ddof=1)
        Fraction(1, 2)
    """
    product = _range(first) * _range(second)
    if ddof not in (0, 1):
        raise InputError(f"ddof is {ddof}", why="sums are divided by n or n - 1", fix="pass 0 or 1")
    people = whole(n, "n", at_least=1 + ddof)
    largest = people if _changes(neighbours) else people + 1
    return product / largest if ddof else product * _most(largest)


def variance(
    n: int,
    lower: Real,
    upper: Real,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    *,
    ddof: int = 0,
) -> Fraction:
    """A variance of at least n values in [lower, upper], divided by n - ddof, ddof 0 or 1.

    It is the covariance of the values with themselves; all of them at one bound, and one at the
    other, is as bad as it gets.

    Example:
        >>> variance(10, 0, 1, Neighbours.CHANGE_ONE), variance(10, 0, 1, ddof=1)
        (Fraction(9, 100), Fraction(1, 11))
    """
    return covariance(n, (lower, upper), (lower, upper), neighbours, ddof=ddof)


def standard_deviation(
    n: int,
    lower: Real,
    upper: Real,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    *,
    ddof: int = 0,
) -> Fraction:
    """A standard deviation of at least n values: the root of the variance's, rounded up.

    Why: |sqrt(a) - sqrt(b)| <= sqrt(|a - b|), with equality at a = 0, where the variance's worst
    case is.

    Example:
        >>> standard_deviation(4, 0, 6, Neighbours.CHANGE_ONE, ddof=1)
        Fraction(3, 1)
    """
    return sqrt_up(variance(n, lower, upper, neighbours, ddof=ddof))


def _most(n: int) -> Fraction:
    """(m - 1)/m^2 at its largest over m >= n: it falls from m = 2 on."""
    m = max(n, 2)
    return Fraction(m - 1, m * m)


def _bounds(lower: Real, upper: Real) -> tuple[Fraction, Fraction]:
    low, high = rational(lower, "lower"), rational(upper, "upper")
    if low < high:
        return low, high
    raise InputError(
        f"lower is {lower} and upper is {upper}",
        why="values are clamped between them",
        fix="pass lower < upper",
    )


def _changes(neighbours: Neighbours) -> bool:
    """Whether a person is replaced; neighbours may be given by name."""
    return Neighbours(neighbours) is Neighbours.CHANGE_ONE


def _range(bounds: tuple[Real, Real]) -> Fraction:
    low, high = _bounds(*bounds)
    return high - low
