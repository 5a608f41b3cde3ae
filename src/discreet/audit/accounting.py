"""Guarantees of the accountant, each beside output laws that are small enough to write down.

Mechanisms are audited against the accountant's curves, so a curve that is too low shows there if a
mechanism has it. Composition, sampling and shuffling have no mechanism of their own: here they are
held against products, mixtures and shuffles of small laws, enumerated outcome by outcome.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from discreet.audit.enumerate import enumerate_loss
from discreet.audit.report import Audit
from discreet.errors import InvariantBroken
from discreet.mechanisms import gaussian_tail, rounded_tail
from discreet.mechanisms.comparison_laws import ends
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


def _responses(k: int) -> list[Chances]:
    """The laws of k-ary randomized response at epsilon 1, for each true answer."""
    lie = 1 / (Interval.of(1).exp() + (k - 1))
    return [
        {said: 1 - lie * (k - 1) if said == own else lie for said in range(k)} for own in range(k)
    ]


def _response() -> Laws:
    one, other = _responses(2)
    return one, other


def _choice() -> Laws:
    """Two outputs of which one is e times as likely on one side, set against the other."""
    shares = [Interval.of(half).exp() for half in (Fraction(1, 2), Fraction(-1, 2))]
    one, other = ({0: x / (1 + x), 1: 1 / (1 + x)} for x in shares)
    return one, other


def _noise(tail: Callable[[int], Interval]) -> Laws:
    """Whole numbers with noise, 0 and 1 apart; what is far out is one outcome on each side."""

    def law(centre: int) -> Chances:
        def above(k: int) -> Interval:
            steps = k - centre
            return tail(steps) if steps >= 1 else 1 - tail(1 - steps)

        return {
            -_FAR: 1 - above(1 - _FAR),
            _FAR: above(_FAR),
            **{k: above(k) - above(k + 1) for k in range(1 - _FAR, _FAR)},
        }

    return law(0), law(1)


def _twice(laws: Laws) -> Laws:
    one, other = ({(a, b): law[a] * law[b] for a, b in product(law, law)} for law in laws)
    return one, other


def _sampled(laws: Laws) -> Laws:
    """A person who is there, in a sample with probability `_RATE`, and who is not."""
    there, gone = laws
    return {k: there[k] * _RATE + gone[k] * (1 - _RATE) for k in there}, gone


def _shuffled(n: int, k: int) -> Laws:
    """How often each answer comes among n, all of whom say 1 but the one who changes."""

    def counts(own: int) -> Chances:
        found: dict[Any, list[Interval]] = {}
        people = [_responses(k)[own], *[_responses(k)[1]] * (n - 1)]
        for said in product(range(k), repeat=n):
            chance = Interval.of(1)
            for one, law in zip(said, people, strict=True):
                chance = chance * law[one]
            found.setdefault(tuple(sorted(Counter(said).items())), []).append(chance)
        return {key: total(chances) for key, chances in found.items()}

    return counts(0), counts(1)


def _discrete() -> Laws:
    return _noise(lambda m: gaussian_tail.two_sided_tail(_VARIANCE, m - 1) / 2)


def _rounded() -> Laws:
    return _noise(lambda m: rounded_tail.upper_tail(_VARIANCE, m))


def _claim(guarantee: Guarantee, laws: Callable[[], Laws]) -> Claim:
    return Claim(
        type(guarantee).__name__,
        guarantee,
        (Pair(0, 1),),
        _not_drawn,
        lambda side: ends(dict(laws()[side])),
    )


def _not_drawn(_: Any, __: int) -> Any:
    raise InvariantBroken(
        "a law of the accountant is not sampled", why="it is known", fix="list it"
    )


_BITS: Final = RandomizedResponseNoise(_ONE)
_LATTICE: Final = DiscreteGaussianNoise(1, _VARIANCE)

ACCOUNTING: Final[Mapping[str, Claim]] = MappingProxyType(
    {
        "accountant-pure-composition": _claim(
            compose([(Pure(_ONE), 2)]), lambda: _twice(_response())
        ),
        "accountant-response-composition": _claim(
            compose([(_BITS, 2)]), lambda: _twice(_response())
        ),
        "accountant-choices": _claim(compose([(BoundedRange(_ONE), 2)]), lambda: _twice(_choice())),
        "accountant-zcdp": _claim(ZCDP(1 / (2 * _VARIANCE)), _discrete),
        "accountant-gdp": _claim(GDP(Fraction(1, 2)), _rounded),
        "accountant-discrete-gaussian": _claim(
            compose([(_LATTICE, 2)]), lambda: _twice(_discrete())
        ),
        "accountant-sampling": _claim(Subsampled(_BITS, _RATE), lambda: _sampled(_response())),
        "accountant-sampled-composition": _claim(
            compose([(Subsampled(_BITS, _RATE), 2)]), lambda: _twice(_sampled(_response()))
        ),
        "accountant-sampled-gaussian": _claim(
            compose([(Subsampled(_LATTICE, _RATE), 2)]), lambda: _twice(_sampled(_discrete()))
        ),
        "accountant-shuffling": _claim(
            ShuffledRandomizedResponse(_ONE, 5), lambda: _shuffled(5, 2)
        ),
        "accountant-shuffling-k": _claim(
            ShuffledRandomizedResponse(_ONE, 4, 3), lambda: _shuffled(4, 3)
        ),
        "accountant-clones": _claim(Shuffled(_ONE, 6), lambda: _shuffled(6, 2)),
    }
)
"""Names as the command line takes them."""


def audit_accounting(name: str, claim: Claim) -> Audit:
    """Compare exact laws with the accountant's curve; certain."""
    start = time.process_time()
    return Audit(name, claim, (enumerate_loss(claim),), time.process_time() - start)
