"""Guarantees of the accountant, each beside output laws that are small enough to write down.

Mechanisms are audited against the accountant's curves, so a curve that is too low shows there if a
mechanism has it. Composition, sampling and shuffling have no mechanism of their own: here they are
held against products, mixtures and shuffles of small laws, enumerated outcome by outcome.
"""

import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from discreet.audit.curator_questions import not_drawn
from discreet.audit.enumerate import enumerate_loss
from discreet.audit.report import Audit
from discreet.mechanisms import gaussian_tail, rounded_tail
from discreet.mechanisms.comparison_laws import at_least, ends
from discreet.mechanisms.mechanism import Claim, Pair
from discreet.privacy import (
    GDP,
    ZCDP,
    BoundedRange,
    DiscreteGaussianNoise,
    Guarantee,
    Pure,
    RandomizedResponseNoise,
    Shuffled,
    ShuffledRandomizedResponse,
    Subsampled,
    compose,
)
from discreet.privacy.numerics.rounding import Interval, total

Chances: TypeAlias = Mapping[Any, Interval]
Laws: TypeAlias = tuple[Chances, Chances]
"""The laws of an output on two neighbours."""

_ONE, _RATE, _VARIANCE = Fraction(1), Fraction(1, 4), Fraction(4)
_FAR: Final = 40


def _noise(tail: Callable[[int], Interval]) -> Laws:
    """Whole numbers with noise, 0 and 1 apart; what is far out is one outcome on each side."""

    def law(centre: int) -> Chances:
        above = {k: at_least(tail, k - centre) for k in range(1 - _FAR, _FAR + 1)}
        inside = {k: above[k] - above[k + 1] for k in range(1 - _FAR, _FAR)}
        return {-_FAR: 1 - above[1 - _FAR], **inside, _FAR: above[_FAR]}

    return law(0), law(1)


def _twice(laws: Laws) -> Laws:
    one, other = ({(a, b): law[a] * law[b] for a, b in product(law, law)} for law in laws)
    return one, other


def _sampled(laws: Laws) -> Laws:
    """A person who is there, in a sample with probability `_RATE`, and who is not."""
    there, gone = laws
    return {k: there[k] * _RATE + gone[k] * (1 - _RATE) for k in there}, gone


def _reports(n: int = 1, k: int = 2, epsilon: Fraction = _ONE) -> Laws:
    """How often each answer comes among n, all of whom have the answer 1 but one who changes."""
    lie = 1 / (Interval.of(epsilon).exp() + (k - 1))
    truth = 1 - lie * (k - 1)

    def counts(own: int) -> Chances:
        found: dict[Any, list[Interval]] = {}
        for said in product(range(k), repeat=n):
            chance = truth if said[0] == own else lie
            for one in said[1:]:
                chance = chance * (truth if one == 1 else lie)
            found.setdefault(tuple(sorted(said)), []).append(chance)
        return {key: total(chances) for key, chances in found.items()}

    return counts(0), counts(1)


def _discrete() -> Laws:
    return _noise(lambda m: gaussian_tail.two_sided_tail(_VARIANCE, m - 1) / 2)


def _rounded() -> Laws:
    return _noise(lambda m: rounded_tail.upper_tail(_VARIANCE, m))


def _claim(guarantee: Guarantee, laws: Callable[[], Laws]) -> Claim:
    name, pairs = type(guarantee).__name__, (Pair(0, 1),)
    return Claim(name, guarantee, pairs, not_drawn, lambda side: ends(dict(laws()[side])))


_BITS: Final = RandomizedResponseNoise(_ONE)
_LATTICE: Final = DiscreteGaussianNoise(1, _VARIANCE)

ACCOUNTING: Final[Mapping[str, Claim]] = MappingProxyType(
    {
        "accountant-pure-composition": _claim(
            compose([(Pure(_ONE), 2)]), lambda: _twice(_reports())
        ),
        "accountant-response-composition": _claim(
            compose([(_BITS, 2)]), lambda: _twice(_reports())
        ),
        "accountant-choices": _claim(
            compose([(BoundedRange(_ONE), 2)]), lambda: _twice(_reports(epsilon=_ONE / 2))
        ),
        "accountant-zcdp": _claim(ZCDP(1 / (2 * _VARIANCE)), _discrete),
        "accountant-gdp": _claim(GDP(Fraction(1, 2)), _rounded),
        "accountant-discrete-gaussian": _claim(
            compose([(_LATTICE, 2)]), lambda: _twice(_discrete())
        ),
        "accountant-sampling": _claim(Subsampled(_BITS, _RATE), lambda: _sampled(_reports())),
        "accountant-sampled-composition": _claim(
            compose([(Subsampled(_BITS, _RATE), 2)]), lambda: _twice(_sampled(_reports()))
        ),
        "accountant-sampled-gaussian": _claim(
            compose([(Subsampled(_LATTICE, _RATE), 2)]), lambda: _twice(_sampled(_discrete()))
        ),
        "accountant-shuffling": _claim(ShuffledRandomizedResponse(_ONE, 5), lambda: _reports(5, 2)),
        "accountant-shuffling-k": _claim(
            ShuffledRandomizedResponse(_ONE, 4, 3), lambda: _reports(4, 3)
        ),
        "accountant-clones": _claim(Shuffled(_ONE, 6), lambda: _reports(6, 2)),
    }
)
"""Names as the command line takes them."""


def audit_accounting(name: str, claim: Claim) -> Audit:
    """Compare exact laws with the accountant's curve; certain."""
    start = time.process_time()
    return Audit(name, claim, (enumerate_loss(claim),), time.process_time() - start)
