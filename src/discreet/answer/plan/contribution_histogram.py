"""A released histogram of people over rising steps, and the tail that it shows.

Noise hides up to a few noise scales of people in every bucket, so where the histogram seems to end
is not where people end. What follows reads the noisy counts and their scale, and nothing else.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from discreet.plan.bounding import ContributionBounds, NoiseKind

ROWS, GROUPS = "rows", "groups"
"""Quantities whose histograms of people limits are chosen by."""

FEW = 10
"""With fewer groups twice the share of a price is paid for histograms, and some twice for a second.

Why: a limit suits many groups if it leaves as many people over it as noise is wide in all of them
together; with few groups those people are few, and seeing them takes a better histogram.
"""

FAR = 4
"""How many times the limit people have who are looked at a second time."""

Floats = NDArray[np.float64]

LADDER: tuple[int, ...] = tuple(sorted({math.ceil(2 ** (j / 4)) for j in range(81)}))
"""Limits to choose from: up to 2^20, each about a fifth above the last."""

_SQUARES = tuple(step * step for step in LADDER)

ALLOWED = "intervals allow for what that cuts off"
"""How the note of an answer begins to say so; answers that older versions stored do not."""

BLIND = 16
"""The limit that is taken where too little was paid to learn how much one person has."""


@dataclass(frozen=True, slots=True)
class Norm:
    """How much of a question one person has: `what` is their rows over all groups, or their groups.

    Rows are measured by their sum (l1) for Laplace, and by l2 for Gaussian noise. Where groups are
    `found`, people are left some of theirs and no more.
    """

    what: str
    noise_kind: NoiseKind
    groups: int
    found: bool = False
    rows: ContributionBounds | None = None
    """The limits on rows, where people far out have one of their own."""

    @property
    def name(self) -> str:
        """Column name in the engine."""
        if self.what == GROUPS:
            return "l0"
        return "l1" if self.noise_kind is NoiseKind.LAPLACE else "l2"

    @property
    def top(self) -> int | None:
        """The highest norm that a person can have, where it is public."""
        return self.groups if self.what == GROUPS and not self.found else None

    @property
    def steps(self) -> tuple[int, ...]:
        """Limits to choose from: no higher than a norm can be."""
        if self.top is None:
            return LADDER
        return (*(step for step in LADDER if step < self.top), self.top)

    @property
    def bounds(self) -> tuple[int, ...]:
        """The limits as the engine compares them: it holds l2 squared."""
        return _SQUARES if self.name == "l2" else self.steps

    def noise(self, limits: Floats) -> Floats:
        """How noise grows with the limit."""
        gaussian = self.noise_kind is NoiseKind.GAUSSIAN
        return np.sqrt(limits) if gaussian and self.what == GROUPS else limits

    def counted(self, norms: Floats) -> Floats:
        """The rows, or groups, of people with these norms.

        Why: with an l2 norm x, a person with rows in k groups has at most x sqrt(k) of them, in at
        most x^2 groups. The most is taken: a little more noise is better than an unseen bias.
        """
        if self.name != "l2":
            return norms
        return np.asarray(norms * np.minimum(norms, math.sqrt(self.groups)))

    def lost(self, norms: Floats, limit: float) -> Floats:
        """The rows, or groups, that weights of limit/norm take from people with these norms.

        Under Gaussian noise the square of a weight in groups is that, unless groups are found.
        """
        share, bounds = np.minimum(limit / norms, 1.0), self.rows
        if self.what == ROWS and bounds is not None and bounds.far is not None:
            share = np.where(norms > bounds.far, np.minimum(bounds.far_rows / norms, 1.0), share)
        kept = share if self.found else self.noise(share)
        return np.asarray(self.counted(norms) * (1 - kept))


@dataclass(frozen=True, slots=True)
class ClippedShare:
    """The share clipped by a limit that the system chose, estimated from the released histogram.

    About a `share` of people is over the limit, give or take `error` (95 times in 100). At most a
    share `lost` of all rows (or of people in groups) is cut off, if the tail goes on as far out as
    it is seen to fall, or, whatever it does, if nobody has more than `most`. On average a lost row
    is of a person who loses `each`; of answers that older versions stored that is not known.
    """

    share: float
    error: float
    lost: float
    most: int
    each: float | None = None

    def __str__(self) -> str:
        return share_text(self.share, self.error)

    def stored(self) -> list[float]:
        """The fields as they are stored; `each` is left out where it is not known."""
        return [one for one in astuple(self) if one is not None]


def share_text(share: float, error: float) -> str:
    """A share with its error; one that may be nearly anything is called unknown."""
    if error >= 0.5:
        return "an unknown share"
    return f"{100 * share:.1f} % \N{PLUS-MINUS SIGN} {100 * error:.1f} %"


SURE = {NoiseKind.LAPLACE: 5.0, NoiseKind.GAUSSIAN: 5.5}
"""A bucket beside those that are seen is seen too if its noise is as large with e^-SURE / 2.

Of Laplace noise that is so many scales. The tail of Gaussian noise falls faster: to be surer costs
little there, and saves much where nobody is.
"""

GAP = 1.5
"""Noise scales more for each factor of e between a bucket and those that are seen."""

_SURE_TWICE, _GAP_TWICE = 5.5, 1.75
"""The same of histograms of which people far out are in a second one: both ask for more."""

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

    `scale` is that of the Laplace noise on each bucket, or of Gaussian noise its deviation divided
    by sqrt(2), so that noise of one scale has one deviation. `top` is the highest norm that a
    person can have, where it is public.
    """

    people: Floats
    scale: float
    steps: tuple[int, ...]
    top: int | None = None
    noise_kind: NoiseKind = NoiseKind.LAPLACE
    looks: int = 1
    """How often people far out are counted, from the bucket `twice` on; until then 0."""
    twice: int = 0
    end: int = field(init=False)
    """The last bucket that shows people, alone or together with some before it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "end", self._last_seen())

    @property
    def is_seen(self) -> bool:
        """Whether anything rises above the noise."""
        return self.end > 0 or float(self.people[0]) > SURE[self.noise_kind] * self.scale

    def with_second(self, people: Floats) -> "ContributionHistogram":
        """Both looks together: the last buckets have the mean of two counts of `people`."""
        first = self.people.size - people.size
        both = np.concatenate([self.people[:first], (self.people[first:] + people) / 2])
        return replace(self, people=both, scale=self.scale / math.sqrt(2), twice=first)

    def _last_seen(self) -> int:
        """Find `end`.

        Why: a false bucket r times further out makes noise r times wider, and is taken for a true
        one with probability e^-SURE r^-GAP / 2 for each width: on average noise grows little. Two
        looks may ask for more, as they see more. A mean of two has the noise of twice the buckets.
        """
        end, sums = max(self.twice - 1, 0), [0.0, *(np.cumsum(self.people) / self.scale).tolist()]
        least, gap = (SURE[self.noise_kind], GAP) if self.looks == 1 else (_SURE_TWICE, _GAP_TWICE)
        counts = self.looks if self.twice else 1
        for at in range(end + 1, len(self.steps)):
            ratio = self.steps[at] / self.steps[end] * (FAR if end < self.twice else 1)
            sure = least + gap * math.log(ratio)
            for width in _WIDTHS:
                if width > 1 and at - width < end:
                    break
                found = (sums[at + 1] - sums[at + 1 - width]) * math.sqrt(counts)
                tail = noise_tail(found, width * counts, self.noise_kind) if found > 0 else 1.0
                if tail < math.exp(-sure) / 2:
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
        return NormEstimate(
            np.concatenate([_middles(steps), np.sqrt(further[1:] * further[:-1])]),
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


def _middles(steps: Floats) -> Floats:
    """The middle of the norms that first fit each step: they are whole numbers, or nearly."""
    return np.asarray((np.concatenate([[0.0], steps[:-1]]) + 1 + steps) / 2)


def noise_tail(t: float, width: int, noise_kind: NoiseKind = NoiseKind.LAPLACE) -> float:
    """The probability that the noise of so many buckets adds up to more than t > 0 scales.

    Why: of Laplace noise it is the difference of two sums of `width` exponentials, G - H. Given
    H = h, G is above t + h with probability e^-(t + h) times the sum of (t + h)^j / j! for
    j < width; the mean of h^i e^-h / i! is C(width + i - 1, i) / 2^(width + i).
    """
    if noise_kind is NoiseKind.GAUSSIAN:
        return math.erfc(t / (2 * math.sqrt(width))) / 2
    return math.exp(-t) * sum(one * t**m for m, one in enumerate(_tail_terms(width)))


@cache
def _tail_terms(width: int) -> tuple[float, ...]:
    parts = [math.comb(width + i - 1, i) / 2.0 ** (width + i) for i in range(width)]
    return tuple(sum(parts[: width - m]) / math.factorial(m) for m in range(width))


# --- limits that the system chooses where nobody has stated them, and what they cut off -----------
# A limit that is too low leaves rows out; one that is too high pays for people who do not exist.

_BIAS = 0.7
"""The most that clipping may take from a typical group, in scales of its noise."""

_FAR = 8
"""How many times further than the last step seen a limit may be."""

_DOUBTED = 1.25
"""Noise scales of people by which the tail may be longer than it seems, for intervals."""

_NEAR, _LARGE = 16, 0.05
"""A share of rows, and how many limits a person has, that intervals allow for once it is likely."""


def choose(spread: ContributionHistogram, norm: Norm, noise: float, groups: int) -> int:
    """The least limit whose bias in a typical group is small beside its noise.

    `noise` is the scale of the noise for a limit of 1.

    Why: the error is least where one person more below the limit saves as much bias as it adds
    noise; there bias and noise are alike. A bias below the scale of the noise is cheaper than a
    wrong guess of the tail: at worst a quarter more error for a tail that falls as 1/x^2.
    """
    if not spread.is_seen:  # wide error bars are honest; leaving people out is not
        return min(BLIND, spread.steps[-1])
    found, last = spread.estimate(), _FAR * spread.steps[spread.end]
    candidates = [step for step in spread.steps if step <= last]
    allowed = _BIAS * groups * noise * norm.noise(np.array(candidates, dtype=np.float64))
    for step, most in zip(candidates, allowed, strict=True):
        if float(found.people @ norm.lost(found.norms, step)) <= most:
            return step
    return candidates[-1]


def far_beyond(limit: int) -> int | None:
    """The step above which people are far out, for a limit on rows; None where it is the last."""
    within = bisect_right(LADDER, FAR * limit)
    return LADDER[within - 1] if within < len(LADDER) else None


def raise_limit(
    both: ContributionHistogram, norm: Norm, bounds: ContributionBounds, noise: float, groups: int
) -> ContributionBounds | None:
    """The bounds with the limit that two looks together suggest; None where they show nobody far.

    Why: those far out have a share of the limit, so noise is wider by that than for a limit that
    one look suggests. It is worth that if somebody is seen there, and only then.
    """
    if both.end < both.twice:
        return None
    wider = float(bounds.share) ** (-1 if norm.noise_kind is NoiseKind.LAPLACE else -0.5)
    limit = choose(both, norm, noise * wider, groups)
    return bounds.raised(max(limit, both.steps[both.twice - 1]))


def clipped_share(spread: ContributionHistogram, norm: Norm, limit: int) -> ClippedShare | None:
    """The share that a limit clips; None where the histogram shows nothing.

    Guarantee:
        Post-processing of the released histogram: it costs nothing more.
    """
    evident = _evidently_lost(spread, norm, limit)
    if not spread.is_seen and not evident:
        return None
    found = spread.estimate(_DOUBTED)
    whole = max(float(found.people @ norm.counted(found.norms)), 1.0)
    losses = norm.lost(found.norms, limit)
    lost = float(found.people @ losses)
    each = float(found.people @ losses**2) / lost if lost > 0 else 1.0
    most = _surely_covered(spread, norm, limit, max(lost, evident * whole))
    return ClippedShare(*spread.beyond(limit), min(max(lost / whole, evident), 1.0), most, each)


def _evidently_lost(spread: ContributionHistogram, norm: Norm, limit: int) -> float:
    """The share that people up to `_NEAR` limits lose, where it is large and likely; or 0.

    Why: limits wait for buckets that are surely seen, since all noise grows with them. In small
    tables many people may stay below that; an interval is rather too wide than without them.
    """
    steps = np.array(spread.steps, dtype=np.float64)
    near = int(np.searchsorted(steps, _NEAR * limit, side="right"))
    norms, people = _middles(steps)[:near], spread.people[:near]
    each = norm.lost(norms, limit)
    lost, unsure = np.cumsum(people * each), 2 * spread.scale * np.sqrt(2 * np.cumsum(each * each))
    most = float(lost[lost > unsure].max(initial=0.0))
    share = most / (most + max(float(people @ (norm.counted(norms) - each)), 1.0))
    return share if share > _LARGE else 0.0


def _surely_covered(spread: ContributionHistogram, norm: Norm, limit: int, allowed: float) -> int:
    """The highest norm up to which no more than is allowed for is cut off, whatever the tail.

    Why: what is allowed for rests on how the tail falls as far as it is seen, and nobody can see
    how it goes on. If nobody had a higher norm than m, the noisy counts themselves bound what is
    lost: their sum, and two standard deviations more. At m = limit nothing is.
    """
    ends = np.array([*spread.steps, np.inf])
    covered = limit
    for most in (step for step in spread.steps if step > limit):
        each = norm.lost(np.minimum(ends, most), limit)
        unsure = 2 * spread.scale * math.sqrt(2 * float(each @ each))
        if float(spread.people @ each) + unsure > allowed:
            break
        covered = most
    return covered


def lost_rows(clipped: Mapping[str, ClippedShare], *, found: bool) -> float:
    """The share of all rows that chosen limits cut off at most: so far they move a quantile."""
    counted = (ROWS, GROUPS) if found else (ROWS,)
    return min(sum(clipped[what].lost for what in counted if what in clipped), 1.0)
