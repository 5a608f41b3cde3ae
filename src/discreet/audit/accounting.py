"""Guarantees of the accountant, each beside output laws that are small enough to write down.

Mechanisms are audited against the accountant's curves, so a curve that is too low shows there if a
mechanism has it. Composition, sampling, shuffling, groups and filters have no mechanism of their
own: here they are held against products, mixtures and shuffles of small laws, enumerated outcome by
outcome. The same laws are held against every other way to state a guarantee: as it is read back
from storage, its rho, and its price in each measure that a budget may have. Filters are stored and
read back after every charge, as they are between two questions.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from itertools import combinations_with_replacement, product
from operator import mul
from typing import Any, Final, TypeAlias

import numpy as np

from discreet import privacy as dp
from discreet.audit.enumerate import check_statements, enumerate_loss, remembered
from discreet.audit.evidence import Evidence
from discreet.audit.replayed_questions import not_drawn
from discreet.audit.report import Audit
from discreet.errors import InputError
from discreet.mechanisms import noise_tails, sensitivity
from discreet.mechanisms.comparison_laws import at_least, ends
from discreet.mechanisms.gaussian import rounded_tail
from discreet.mechanisms.mechanism import Claim, Pair
from discreet.mechanisms.median import GridRange, Median
from discreet.privacy.budgets.charges import Chargeable
from discreet.privacy.guarantees.bounded_range import Ranges
from discreet.privacy.numerics.rounding import Interval, total

Chances: TypeAlias = Mapping[Any, Interval]
Laws: TypeAlias = tuple[Chances, Chances]
"""The laws of an output on two neighbours."""

_ONE, _RATE, _VARIANCE, _SLIP = Fraction(1), Fraction(1, 4), Fraction(4), Fraction(1, 100)
_FAR: Final = 40
_GROUP: Final = 3
_MOSTLY: Final = _SLIP * Fraction(9999, 10_000)
_MANY: Final = 100
_RUNS: Final = 8
_MOST: Final = 9
_SLACK: Final = 1e-9
_NO_CLONE: Final = math.log1p(-1 / math.e)
_TOP: Final = Fraction(7311, 10_000)  # e/(1 + e), rounded up
_SPREADS: Final = ("covariance", "variance")
_MEASURES: Final = (dp.EPSILON, dp.RHO, dp.MU_SQUARED, dp.renyi(2))


def _noise(tail: Callable[[int], Interval], apart: int = 1) -> Laws:
    """Whole numbers with noise, so far apart; what is far out is one outcome on each side."""

    def law(centre: int) -> Chances:
        above = {k: at_least(tail, k - centre) for k in range(1 - _FAR, _FAR + 1)}
        inside = {k: above[k] - above[k + 1] for k in range(1 - _FAR, _FAR)}
        return {-_FAR: 1 - above[1 - _FAR], **inside, _FAR: above[_FAR]}

    return law(0), law(apart)


def _both(first: Laws, second: Laws) -> Laws:
    both = zip(first, second, strict=True)
    one, other = ({(a, b): p[a] * q[b] for a, b in product(p, q)} for p, q in both)
    return one, other


def _twice(laws: Laws) -> Laws:
    return _both(laws, laws)


def _sampled(laws: Laws, rate: Fraction = _RATE) -> Laws:
    """A person who is there, in a sample with this probability, and who is not."""
    there, gone = laws
    return {k: there[k] * rate + gone[k] * (1 - rate) for k in there}, gone


def _sampled_people(people: int = 1) -> Laws:
    """So many people, each of them in the sample or not, and nobody."""
    sizes = {
        n: math.comb(people, n) * _RATE**n * (1 - _RATE) ** (people - n) for n in range(people + 1)
    }
    moved = {n: _discrete(n)[1] for n in sizes}
    return {k: total(moved[n][k] * p for n, p in sizes.items()) for k in moved[0]}, moved[0]


def _or_truth(laws: Laws, chance: Fraction) -> Laws:
    """The same, but for a chance that tells which of the two it is."""
    one, other = (
        {k: p * (1 - chance) for k, p in law.items()}
        | {f"truth {way}": Interval.of(chance if way == side else 0) for way in range(2)}
        for side, law in enumerate(laws)
    )
    return one, other


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


def _responses(times: int, epsilon: Fraction = _ONE) -> Laws:
    """Answers 1 among so many to one question."""
    lie = 1 / (Interval.of(epsilon).exp() + 1)

    def counts(own: int) -> Chances:
        p = 1 - lie if own else lie
        return {
            i: math.comb(times, i) * (p.log() * i + (1 - p).log() * (times - i)).exp()
            for i in range(times + 1)
        }

    return counts(0), counts(1)


def _discrete(apart: int = 1) -> Laws:
    return _noise(lambda m: noise_tails.gaussian_tail(_VARIANCE, m - 1) / 2, apart)


def _rounded(apart: int = 1, variance: Fraction = _VARIANCE) -> Laws:
    return _noise(lambda m: rounded_tail(variance, m), apart)


def _geometric(apart: int = 1, scale: Fraction = _ONE) -> Laws:
    return _noise(lambda m: noise_tails.laplace_tail(scale, m), apart)


def _laplace(people: int = 1) -> Laws:
    """Laplace noise of scale 1, rounded to eighths."""
    half = Fraction(1, 2)
    return _noise(lambda m: Interval.of((half - m) / 8).exp() / 2, 8 * people)


def _crowd(people: int) -> Claim:
    """How many of a crowd look alike to somebody of one kind or the other, in plain floats.

    Each of the others is a clone with chance 1/e, of either kind alike; one person is true.
    """
    truth, mean, wide = 1 / (1 + math.exp(-1)), people / math.e, 9 * math.sqrt(people / math.e)
    found, logs = dict[Any, float](), [math.lgamma(k + 1) for k in range(people + 1)]
    for clones in range(max(0, int(mean - wide)), min(people, int(mean + wide))):
        left = people - 1 - clones
        log = logs[people - 1] - logs[left] - clones * (1 + math.log(2)) + left * _NO_CLONE
        for kind in range(clones + 1):
            mass = math.exp(log - logs[kind] - logs[clones - kind])
            for own, share in ((1, truth), (0, 1 - truth)):
                key = clones, kind + own
                found[key] = found.get(key, 0.0) + share * mass
    rest: dict[Any, tuple[float, float]] = {
        "the rest": (0.0, 1 - sum(found.values()) + len(found) * _SLACK)
    }
    one = {key: (p * (1 - _SLACK), p * (1 + _SLACK)) for key, p in found.items()}
    other = {(clones, clones + 1 - kind): p for (clones, kind), p in one.items()}
    laws: list[Mapping[Any, Any]] = [rest | one, rest | other]
    claim = _claim(dp.Shuffled(_ONE, people), _reports)
    return replace(claim, law=lambda side: laws[side])


def _shown(people: int) -> Laws:
    """A key of so many people and of nobody, shown as often as (epsilon, delta) allows at most."""
    p = Interval.of(0)
    for _ in range(people):
        p = p * Interval.of(_ONE).exp() + _SLIP
    return {0: 1 - p, 1: p}, {0: Interval.of(1)}


def _best(chances: Chances, runs: int, top: int) -> Chances:
    """The best of runs whose number is drawn: each is the last with chance 1/runs.

    What is above `top` is best, and then what is lowest: the best are likelier on one side, and
    those after them on the other, which costs more than a score that only one side likes.
    """
    below, found, before = Interval.of(0), {}, Interval.of(0)
    for one in sorted(chances, key=lambda k: (k >= top, -k)):
        below = below + chances[one]
        upto = below / (runs - below * (runs - 1))
        found[one], before = upto - before, upto
    return found


def _claim(guarantee: dp.Guarantee, laws: Callable[[], Laws]) -> Claim:
    name, pairs = type(guarantee).__name__, (Pair(0, 1),)
    return Claim(name, guarantee, pairs, not_drawn, lambda side: ends(dict(laws()[side])))


def _theorem(epsilon: Callable[..., Any], lost: Fraction) -> Claim:
    """The epsilon that a theorem gives many answers alike; without a delta, far out in the tail."""
    half = dp.Approximate(_ONE / 2, lost / _MANY) if lost else dp.Pure(_ONE / 2)
    delta = _SLIP if lost else _SLIP**6
    found = Fraction(epsilon([(half, _MANY)], delta).upper)
    told = 1 - (1 - lost / _MANY) ** _MANY
    return _claim(
        dp.Approximate(found, delta), lambda: _or_truth(_responses(_MANY, _ONE / 2), told)
    )


def _tuning() -> Claim:
    """The search of a tuning: the best of some runs, by any score of what Gaussian noise tells."""
    promised = import_module("discreet.learn.tuning").search_guarantee(1 / _VARIANCE, _RUNS)
    pairs = tuple(Pair((0, top), (1, top)) for top in (-_FAR, 1, 3, 5))
    law = lambda side: ends(dict(_best(_rounded()[side[0]], _RUNS, side[1])))  # noqa: E731
    return Claim("search", promised, pairs, not_drawn, law)


@cache
def _loss(name: str, neighbours: dp.Neighbours) -> Fraction:
    """The most that one person moves a statistic of a few, over its stated sensitivity.

    All data sets of so many people are looked at whose values are at a bound or in the middle.
    """
    exact, stated = STATISTICS[name], getattr(sensitivity, name.partition("-")[0])
    extra = {"ddof": 1} if name.endswith("-1") else {}
    changes, losses = neighbours is dp.Neighbours.CHANGE_ONE, [Fraction(0)]
    for low, high in ((-3, 5), (100, 110)):
        columns = 2 if name.startswith("covariance") else 1
        values = list(product((low, (low + high) // 2, high), repeat=columns))
        known = {"n": _GROUP, "lower": low, "upper": high, "first": (low, high)}
        known |= {"second": (low, high), "neighbours": neighbours, **extra}
        taken = {key: one for key, one in known.items() if key in signature(stated).parameters}
        for kept in product(values, repeat=_GROUP):
            left = exact(kept, **extra)
            for one in values:
                right = exact((*kept[changes:], one), **extra)
                moved = sum(abs(a - b) for a, b in zip(left, right, strict=True))
                losses.append(Fraction(moved) / stated(**taken))
    return max(losses) * (1 - Fraction(1, 10**9))  # roots are rounded


@cache
def _local_loss(neighbours: dp.Neighbours) -> Fraction:
    """The most that one person moves the median of data so many changes away, over what is stated.

    All data sets of so few values are looked at; each change is followed to all that it may give.
    """
    public, losses = GridRange.read(0, _GROUP, 1), [Fraction(0)]
    median = Median(public, neighbours)

    def near(data: tuple[int, ...]) -> set[tuple[int, ...]]:
        fewer = {data[:i] + data[i + 1 :] for i in range(len(data))}
        changes = neighbours is dp.Neighbours.CHANGE_ONE
        more = (
            (one, *rest) for rest in (fewer if changes else {data}) for one in range(_GROUP + 1)
        )
        return {tuple(sorted(one)) for one in more} | (set() if changes else fewer)

    @cache
    def moved(data: tuple[int, ...]) -> int:
        values = [median.value(np.array(one, np.int64)) for one in (data, *near(data))]
        return max(abs(one - values[0]) for one in values)

    for size in range(_GROUP + 1):
        for data in combinations_with_replacement(range(_GROUP + 1), size):
            reached = {data}
            for far in range(_GROUP):
                stated = Fraction(median.local(np.array(data, np.int64), far))
                losses.append(max(map(moved, reached)) / (stated or Fraction(1, _FAR)))
                reached = reached.union(*map(near, reached))
    return max(losses)


def _statistic(name: str, neighbours: dp.Neighbours) -> Claim:
    """A statistic with Laplace noise for its stated sensitivity, at its worst."""
    promised = dp.Pure(_ONE, neighbours=neighbours)
    return _claim(promised, lambda: _reports(epsilon=_loss(name, neighbours)))


def _covariance(rows: Any, ddof: int = 0) -> Fraction:
    """Of the first column and the last."""
    n, (x, y) = len(rows), ([row[place] for row in rows] for place in (0, -1))
    return Fraction(n * sum(map(mul, x, y)) - sum(x) * sum(y), n * (n - ddof))


_HIGH: Final = ((5,), (110,))
STATISTICS: Final[Mapping[str, Callable[..., tuple[Any, ...]]]] = {
    "count": lambda rows: (sum(row in _HIGH for row in rows),),
    "histogram": lambda rows: tuple(map(rows.count, ((-3,), (1,), (5,), (100,), (105,), (110,)))),
    "total": lambda rows: (sum(row[0] for row in rows),),
    "mean": lambda rows: (Fraction(sum(row[0] for row in rows), len(rows)),),
    "proportion": lambda rows: (Fraction(sum(row in _HIGH for row in rows), len(rows)),),
    **{
        f"{name}{end}": exact
        for end in ("", "-1")
        for name, exact in (
            *((name, lambda rows, **n: (_covariance(rows, **n),)) for name in _SPREADS),
            ("standard_deviation", lambda rows, **n: (math.sqrt(_covariance(rows, **n)),)),
        )
    },
}
"""All statistics with a stated sensitivity, of rows; with -1, divided by one less."""


def _training() -> Claim:
    """Three steps of training in bands of two: two releases, with samples as large as a band's."""
    plan = import_module("discreet.learn.noise_plan").NoisePlan(
        epsilon=1, delta=_SLIP, people=8, batch=1, epochs=1, band=2, settled=Fraction(1, 2)
    )
    return _claim(plan.guarantee(3), lambda: _twice(_sampled(_rounded(), Fraction(1, 4))))


def _within(measure: dp.Measure) -> Claim:
    """All that a budget of an epsilon and a delta has, spent at once, and a delta of charges."""
    own = Fraction(0) if measure.order else _SLIP / 2
    amount = dp.Filter.within(_ONE, _SLIP, by=measure, deltas=own).limit.amount
    square = amount * {dp.RHO: 2, dp.MU_SQUARED: 1}.get(measure, 2 / (measure.order or _ONE))
    return _claim(dp.Approximate(_ONE, _SLIP), lambda: _or_truth(_rounded(4, 16 / square), own))


def _batches() -> Claim:
    """Sums of rows that are in one of two batches, of which one is asked twice."""
    sums, deal = import_module("discreet.learn.noisy_sums").NoisySums(None, Fraction(1)), object()
    for number in (0, 1, 0):
        sums._spend(Fraction(1, 4), (deal, number))  # noqa: SLF001 - what sums of batches cost
    return _claim(sums.guarantee, lambda: _rounded(1, Fraction(2)))


_BITS: Final = dp.RandomizedResponseNoise(_ONE)
_LATTICE: Final = dp.DiscreteGaussianNoise(1, _VARIANCE)
_HALF: Final = dp.GDP(Fraction(1, 2))
_NAMED: Final = {
    "basic": dp.basic_epsilon,
    "advanced": dp.advanced_epsilon,
    "optimal": dp.optimal_epsilon,
}
_GROUPS: Final[Mapping[str, tuple[Any, Callable[..., Laws]]]] = {
    "pure": (dp.Pure(_ONE), _geometric),
    "responses": (_BITS, _geometric),
    "table": (dp.Tabulated([1, -1], [_TOP, 1 - _TOP]), _geometric),
    "laplacenoise": (dp.LaplaceNoise(_ONE), _laplace),
    "discretelaplacenoise": (dp.DiscreteLaplaceNoise(_ONE), _geometric),
    "wide-laplace": (dp.DiscreteLaplaceNoise(_ONE, 3), lambda n=1: _geometric(3 * n, 3 * _ONE)),
    "gdp": (_HALF, _rounded),
    "gaussiannoise": (dp.GaussianNoise(Fraction(1, 2)), _rounded),
    "zcdp": (dp.ZCDP(1 / (2 * _VARIANCE)), _discrete),
    "discretegaussiannoise": (_LATTICE, _discrete),
    "wide-gaussian": (dp.DiscreteGaussianNoise(2, _VARIANCE), lambda n=1: _discrete(2 * n)),
    "rdp": (dp.RDP(lambda order: order / (2 * _VARIANCE)), _discrete),
    "approximate": (
        dp.Approximate(_ONE, _SLIP),
        lambda n=1: _shown(n) if n > 1 else _or_truth(_reports(), _SLIP),
    ),
    "subsampled": (dp.Subsampled(_LATTICE, _RATE), _sampled_people),
}
"""Guarantees of one person, and the laws of outputs for so many people."""

_CLAIMS: Final[dict[str, Claim]] = {
    "pure-composition": _claim(dp.compose([(dp.Pure(_ONE), 2)]), lambda: _twice(_reports())),
    "mixed-composition": _claim(
        dp.compose([dp.Pure(_ONE), (dp.Pure(_ONE / 2), 2)]),
        lambda: _both(_reports(), _twice(_reports(epsilon=_ONE / 2))),
    ),
    "response-composition": _claim(dp.compose([(_BITS, 2)]), lambda: _twice(_reports())),
    "choices": _claim(
        dp.compose([(dp.BoundedRange(_ONE), 2)]), lambda: _twice(_reports(epsilon=_ONE / 2))
    ),
    "deltas": _claim(
        dp.compose([dp.BoundedRange(_ONE), (dp.Approximate(_ONE, _SLIP), 3)]),
        lambda: _both(_reports(epsilon=_ONE / 2), _or_truth(_responses(3), 1 - (1 - _SLIP) ** 3)),
    ),
    "zcdp-deltas": _claim(
        dp.compose([(dp.ZCDP(1 / (2 * _VARIANCE), _SLIP), 2)]),
        lambda: _or_truth(_twice(_discrete()), 1 - (1 - _SLIP) ** 2),
    ),
    "discrete-gaussian": _claim(dp.compose([(_LATTICE, 2)]), lambda: _twice(_discrete())),
    "sampled-delta": _claim(
        dp.Subsampled(dp.Approximate(_ONE, _SLIP), _RATE),
        lambda: _sampled(_or_truth(_reports(), _SLIP)),
    ),
    "sampled-composition": _claim(
        dp.compose([(dp.Subsampled(_BITS, _RATE), 2)]), lambda: _twice(_sampled(_reports()))
    ),
    "sampled-gaussian": _claim(
        dp.compose([(dp.Subsampled(_LATTICE, _RATE), 2)]), lambda: _twice(_sampled(_discrete()))
    ),
    "fixed-size": _claim(
        dp.Subsampled(dp.Pure(_ONE, neighbours=dp.Neighbours.CHANGE_ONE), _RATE, scheme=1),
        lambda: _sampled(_reports()),
    ),
    "ranges": _claim(Ranges(_ONE / 8), lambda: _reports(epsilon=_ONE / 2)),
    "shuffling": _claim(dp.ShuffledRandomizedResponse(_ONE, 5), lambda: _reports(5, 2)),
    "shuffling-k": _claim(dp.ShuffledRandomizedResponse(_ONE, 4, 3), lambda: _reports(4, 3)),
    "clones": _claim(dp.Shuffled(_ONE, 6), lambda: _reports(6, 2)),
    "clones-many": _crowd(600),
    "responses-k": _claim(
        dp.compose([(dp.RandomizedResponseNoise(_ONE, 4), 2)]), lambda: _twice(_reports(k=4))
    ),
    **{
        f"{way}-{name}": _claim(stated, partial(laws, people))
        for name, (one, laws) in _GROUPS.items()
        for way, people, stated in (
            ("alone", 1, one),
            ("group", _GROUP, one.group(_GROUP)),
            ("change", 2, one.under(dp.Neighbours.CHANGE_ONE)),
        )
    },
    **{
        f"sampled-{name}": _claim(
            dp.Subsampled(one, _RATE),
            lambda laws=laws: _sampled(laws(1)),  # type: ignore[misc]
        )
        for name, (one, laws) in _GROUPS.items()
        if name != "subsampled"
    },
    **{
        f"theorem-{name}{end}": _theorem(one, lost)
        for name, one in _NAMED.items()
        for end, lost in (("", Fraction(0)), ("-delta", _MOSTLY))
    },
    **({"tuning": _tuning(), "training": _training()} if find_spec("sklearn") else {}),
    **({"batches": _batches()} if find_spec("sklearn") else {}),
    **{f"within-{one.name}": _within(one) for one in (dp.RHO, dp.MU_SQUARED, dp.renyi(8))},
    **{
        f"{name.replace('_', '-')}-{about.value}": _statistic(name, about)
        for name, about in product(STATISTICS, dp.Neighbours)
    },
    **{
        f"local-median-{about.value}": _claim(
            dp.Pure(_ONE, neighbours=about),
            lambda about=about: _reports(epsilon=_local_loss(about)),  # type: ignore[misc]
        )
        for about in dp.Neighbours
    },
}

ACCOUNTING: Final[Mapping[str, Claim]] = {
    f"accountant-{name}": claim for name, claim in _CLAIMS.items()
}
"""Names as the command line takes them."""


def audit_accounting(name: str, claim: Claim) -> Audit:
    """Compare exact laws with the accountant's curve, however it is stated; certain."""
    start, claim = time.process_time(), remembered(claim)
    found = [enumerate_loss(claim), check_statements(claim)]
    top, about = found[0].point, claim.guarantee.neighbours
    for one in _restated(claim.guarantee):
        reason = "" if one.neighbours is about else "restated, it is about other neighbours"
        found.append(Evidence(claim.name, "law", top, 0.0, "neighbours", reason=reason))
        with suppress(InputError):  # such a statement of a weak guarantee promises nothing
            found.append(enumerate_loss(replace(claim, guarantee=one)))
    return Audit(name, claim, tuple(found), time.process_time() - start)


def _restated(guarantee: dp.Guarantee) -> Iterator[dp.Guarantee]:
    """The same as it is stored, in rho, and as the price in every measure that can express it."""
    about = guarantee.neighbours
    yield dp.Guarantee.from_dict(guarantee.to_dict())
    if isinstance(guarantee, dp.Composed):  # part by part, and as compositions of compositions
        parts = [one for one, count in guarantee.parts for _ in range(min(count, _MOST))]
        yield dp.compose(parts)
        yield dp.compose([(dp.compose([one]), count) for one, count in guarantee.parts])
    with suppress(InputError):
        yield dp.ZCDP(Fraction(guarantee.rho().upper), neighbours=about)
    for measure in _MEASURES:
        budget = dp.Filter(dp.Charge(0, measure=measure, neighbours=about))
        with suppress(InputError):
            if isinstance(guarantee, dp.Composed):
                yield dp.Filter(budget.price_sum(guarantee)).guarantee
            elif isinstance(guarantee, Chargeable):
                yield dp.Filter(budget.price(guarantee)).guarantee
