"""Choose a frequency protocol by domain and epsilon, and say why."""

from dataclasses import dataclass
from typing import Any

from discreet.local.domain import ValueDomain
from discreet.local.frequency import FrequencyProtocol, KRandomizedResponse
from discreet.local.local_hashing import HadamardResponse, LocalHashing
from discreet.local.unary_encoding import SubsetSelection, UnaryEncoding
from discreet.rationals import Real

_AS_GOOD = 1.1
"""Variances within a tenth of the best count as good: an error bar that is 5 % longer."""

_KINDS = (KRandomizedResponse, HadamardResponse, LocalHashing, SubsetSelection, UnaryEncoding)


@dataclass(frozen=True, slots=True)
class Choice:
    """A protocol, the reason, and what all of them would have been like.

    `considered` has for each its name, the standard error of a rare value's share among 10,000
    people, and the bytes of a report.
    """

    protocol: FrequencyProtocol
    why: str
    considered: tuple[tuple[str, float, int], ...]


def choose_protocol(*, epsilon: Real, domain: Any, most_bytes: int | None = None) -> Choice:
    """The protocol with the shortest report among those that are as accurate as the best.

    Example:
        >>> choose_protocol(epsilon=1, domain=4).why
        'k < 3 e^epsilon + 2: telling the value itself is the most accurate, in 1 byte'
        >>> type(choose_protocol(epsilon=1, domain=10_000).protocol).__name__
        'LocalHashing'
    """
    values = ValueDomain.of(domain)
    made: list[FrequencyProtocol] = [
        kind(epsilon=epsilon, domain=values)  # type: ignore[arg-type]
        for kind in _KINDS
    ]
    fitting = [one for one in made if most_bytes is None or one.width <= most_bytes] or made[:1]
    best = min(one.variance(1) for one in fitting)
    good = [one for one in fitting if one.variance(1) <= _AS_GOOD * best]
    chosen = min(good, key=lambda one: (one.width, one.variance(1)))
    size = f"{chosen.width} byte" + "s" * (chosen.width != 1)
    if isinstance(chosen, KRandomizedResponse):
        why = f"k < 3 e^epsilon + 2: telling the value itself is the most accurate, in {size}"
    else:
        share = chosen.variance(1) / best
        why = (
            f"of {values.size} values each report supports many; within "
            f"{max(0.0, share - 1):.1%} of the least variance, and the shortest report: {size}"
        )
    table = tuple(
        (type(one).__name__, one.variance(10_000) ** 0.5 / 10_000, one.width) for one in made
    )
    return Choice(chosen, why, table)
