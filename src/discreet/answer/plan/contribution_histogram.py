"""A released histogram of people over rising steps, and the tail that it shows.

Noise hides up to a few noise scales of people in every bucket, so where the histogram seems to end
is not where people end. What follows reads the noisy counts and their scale, and nothing else.
"""

import math
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from discreet.answer.plan.limits import Floats

SURE = 5.0
"""Noise scales from which on a bucket beside those that are seen is seen too."""

GAP = 1.5
"""Noise scales more for each factor of e between a bucket and those that are seen."""

_WIDTHS = (1, 2, 4, 8, 16)
"""Buckets that are looked at together: a thin tail shows in the sum of many."""

_STEP = 2**0.25
"""About how far apart steps are."""

_OCTAVE = 4
"""Buckets after the last one seen that tell how many people may be there."""

_UNSEEN = 1.25
"""Noise scales of people that are always reckoned with after the last bucket seen."""

_DOUBT = 2.0
"""Noise scales less of people before it, so that the tail falls rather slower than it seems to."""

_SLOWEST, _FASTEST = 1.5, 60.0
"""Exponents with which a tail falls at least, and at most."""

_BENT = 0.5
"""How much faster a tail may fall further out than its last octave shows."""

_FINE: Floats = 2.0 ** (np.arange(0, 97) / 16)
"""How far a tail is continued, in multiples of the last step that is seen."""


@dataclass(frozen=True, slots=True)
class NormEstimate:
    """About how many people have which norm; nobody is reckoned with beyond `most`."""

    norms: Floats
    people: Floats
    most: int


@dataclass(frozen=True, slots=True)
class ContributionHistogram:
    """A noisy histogram: how many people first fit each step, and one bucket for those beyond.

    `scale` is that of the Laplace noise on each bucket; `top` is the highest norm that a person can
    have, where it is public.
    """

    people: Floats
    scale: float
    steps: tuple[int, ...]
    top: int | None = None
    end: int = field(init=False)
    """The last bucket that shows people, alone or together with some before it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "end", self._last_seen())

    @property
    def is_seen(self) -> bool:
        """Whether anything rises above the noise."""
        return self.end > 0 or float(self.people[0]) > SURE * self.scale

    def _last_seen(self) -> int:
        """Find `end`.

        Why: a false bucket r times further out makes noise r times wider, and is taken for a true
        one with probability e^-SURE r^-GAP / 2 for each width: on average noise grows little.
        """
        end, sums = 0, [0.0, *(np.cumsum(self.people) / self.scale).tolist()]
        for at in range(1, len(self.steps)):
            sure = SURE + GAP * math.log(self.steps[at] / self.steps[end])
            for width in _WIDTHS:
                if width > 1 and at - width < end:
                    break
                found = sums[at + 1] - sums[at + 1 - width]
                if found > sure and noise_tail(found, width) < math.exp(-sure) / 2:
                    end = at
                    break
        return end

    def beyond(self, limit: int) -> tuple[float, float]:
        """The share of people above a limit, and how far it is off at most, 95 times in 100.

        Buckets up to an octave after the last one seen are added up, whether they show people or
        not: none is left out for being small. People may be further out, unseen: the error
        reaches as far as the sum of all buckets says.
        """
        first = int(np.searchsorted(self.steps, limit, side="right"))
        last = max(self.end, first) + _OCTAVE
        tail, everyone = self.people[first:last], float(self.people[:last].sum())
        whole = max(everyone, self.scale)
        all_ = self.people[first:]
        seen = min(max(float(tail.sum()), 0.0), whole)
        off = max(self._off(tail.size), float(all_.sum()) + self._off(all_.size) - seen)
        return seen / whole, min(off / whole, 1.0)

    def _off(self, buckets: int) -> float:
        """How far the noise in the sum of some buckets leads, 95 times in 100."""
        return 2 * self.scale * math.sqrt(2 * buckets)

    def estimate(self, doubt: float = 0.0) -> NormEstimate:
        """About how many people have which norm, with `doubt` noise scales more in the tail.

        Why: people beyond the last bucket seen are as many as the octave after it says, and never
        fewer than noise could hide. How they go on nobody can see; they are taken to fall off as
        the tail did before: as a power of the norm, with the exponent of the last octave or, where
        it is steeper, of the last bucket, and faster further out if it was falling faster already.
        It ends where not one person is left.
        """
        end = self.end
        edge = float(self.steps[end])
        left = max(_UNSEEN * self.scale, float(self.people[end + 1 :][:_OCTAVE].sum()))
        left += doubt * self.scale
        alive = left * self._falling(end, left, (_DOUBT + doubt) * self.scale)
        further = edge * _FINE
        if self.top is not None:
            alive = np.where(further < self.top, alive, 0.0)
        alive = np.where(alive >= 1, alive, 0.0)
        alive[-1] = 0.0
        steps = np.array(self.steps[: end + 1], dtype=np.float64)
        first = np.concatenate([[0.0], steps[:-1]]) + 1  # norms are whole numbers, or nearly
        return NormEstimate(
            np.concatenate([(first + steps) / 2, np.sqrt(further[1:] * further[:-1])]),
            np.concatenate([np.maximum(self.people[: end + 1], 0.0), alive[:-1] - alive[1:]]),
            math.ceil(further[np.count_nonzero(alive)]) if alive[0] else int(edge),
        )

    def _falling(self, end: int, left: float, less: float) -> Floats:
        """The share of those after the last bucket seen who are further out than `_FINE`."""
        lower = np.searchsorted(self.steps, [self.steps[end] / 2, self.steps[end] / 4])
        half, quarter = np.minimum(lower, max(end - 1, 0)).tolist()
        slope = self._slope(half, end, left, less)
        bent = 0.0
        if quarter < half < end:
            further = max(self._after(half, end), 0.0) + left  # noise may say: fewer than none
            slower = self._slope(quarter, half, further, 0.0)
            if min(slope, slower) > 0:
                bent = min(max(math.log2(slope / slower), 0.0), _BENT)
        steepest = max(slope, self._slope(max(end - 1, 0), end, left, less), _SLOWEST)
        power = min(steepest, _FASTEST)
        if bent < 1 / 16:
            return np.asarray(_FINE**-power)
        return np.asarray(np.exp(-power / bent * (_FINE**bent - 1)))

    def _slope(self, at: int, end: int, left: float, less: float) -> float:
        """The exponent with which people fall from one step to another, where `left` are left."""
        between = max(self._after(at, end) - less, 0.0)
        ratio = self.steps[end] / self.steps[at] if end else _STEP
        return math.log1p(between / left) / math.log(ratio)

    def _after(self, at: int, end: int) -> float:
        """People after one step up to another; of the first step all that it has."""
        return float(self.people[at + 1 if end else 0 : end + 1].sum())


def noise_tail(t: float, width: int) -> float:
    """The probability that the noise of so many buckets adds up to more than t > 0 scales.

    Why: it is the difference of two sums of `width` exponentials, G - H. Given H = h, G is above
    t + h with probability e^-(t + h) times the sum of (t + h)^j / j! for j < width; the mean of
    h^i e^-h / i! is C(width + i - 1, i) / 2^(width + i).
    """
    return math.exp(-t) * sum(one * t**m for m, one in enumerate(_tail_terms(width)))


@cache
def _tail_terms(width: int) -> tuple[float, ...]:
    parts = [math.comb(width + i - 1, i) / 2.0 ** (width + i) for i in range(width)]
    return tuple(sum(parts[: width - m]) / math.factorial(m) for m in range(width))
