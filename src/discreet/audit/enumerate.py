"""Exact loss, where a mechanism's output law is small enough to write down.

No samples and no error rate: the divergences between two laws are computed from below and compared
with what the guarantee says. What is refuted here is false.
"""

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, Final

import numpy as np

from discreet.audit.confidence import unlikely
from discreet.audit.evidence import Evidence, Point, points, samples_for, strongest
from discreet.audit.features import Floats, row_codes, rows
from discreet.audit.trace import distinct, picture
from discreet.errors import InputError
from discreet.mechanisms.mechanism import Claim, Law, View
from discreet.privacy import Composed
from discreet.privacy.numerics.binomial import log_probability
from discreet.privacy.numerics.rounding import ELEMENTARY, UNIT, Interval, total

ORDERS: Final = (1.01, 2, 8, 64)
"""Renyi orders at which a wrong theorem shows (near 1, moderate, and large)."""

_NEVER: Final = (0.0, 0.0)
_REST: Final = "the rest"
_ROUNDS: Final = 50
_FINE: Final = 1e-9
_DELTAS: Final = (0, Fraction(1, 10**6), Fraction(1, 1000), Fraction(1, 50), Fraction(1, 5))
_LEVELS: Final = (Fraction(1, 1000), Fraction(1, 20), Fraction(1, 3), Fraction(3, 4))
_LARGEST: Final = 2.0**9


@dataclass(frozen=True, slots=True, eq=False)
class Laws:
    """Two laws over the same outcomes: P from below and Q from above, so that losses are too."""

    p: Floats
    q: Floats

    @staticmethod
    def of(p: Law, q: Law) -> "Laws":
        """Line up two laws; an outcome that one of them does not name is impossible there."""
        return Laws(
            np.array([p[outcome][0] for outcome in p]),
            np.array([q.get(outcome, _NEVER)[1] for outcome in p]),
        )

    def hockey_stick(self, epsilon: float) -> float:
        """The sum of (P - e^epsilon Q)+ over all outcomes, from below."""
        factor = math.exp(epsilon) * (1 + 2 * ELEMENTARY)
        above = self.p - np.multiply(factor, self.q, out=np.zeros_like(self.q), where=self.q > 0)
        seen = above > 0  # any event is a bound from below
        # Every product, difference and partial sum errs by at most UNIT of the masses added up.
        error = (self.p.size + 4) * 4 * UNIT * float(self.p[seen].sum())
        return float(above[seen].sum()) - error

    def max_divergence(self) -> float:
        """The largest log(P/Q), from below."""
        seen = self.p > 0
        with np.errstate(divide="ignore", over="ignore"):
            losses = np.log(self.p[seen] / self.q[seen])
        worst = float(losses.max(initial=-math.inf))
        return worst - 4 * ELEMENTARY * (1 + abs(worst)) if math.isfinite(worst) else worst

    def renyi(self, order: float) -> float:
        """The Renyi divergence of an order above 1, from below.

        Terms are P e^(s loss) with s = order - 1; an error of u in a logarithm of size l moves
        the term by s u l.
        """
        seen = self.p > 0
        if np.any(self.q[seen] <= 0):
            return math.inf
        s, log_p, log_q = order - 1, np.log(self.p[seen]), np.log(self.q[seen])
        exponents = log_p + s * (log_p - log_q)
        error = ELEMENTARY * (8 + 4 * order * (np.abs(log_p) + np.abs(log_q)))
        peak = float(exponents.max())
        mass = float(np.exp(exponents - error - peak).sum()) * (1 - (seen.size + 4) * ELEMENTARY)
        return (peak + math.log(mass)) / s - ELEMENTARY * (8 + abs(peak)) / s

    def missed(self, alarms: float) -> float:
        """The misses of the best attacker with so many false alarms, from above."""
        with np.errstate(divide="ignore", invalid="ignore"):
            order = np.argsort(np.where(self.p > 0, -self.p / self.q, 0.0))
        ends = (np.concatenate([[0.0], np.cumsum(part[order])]) for part in (self.q, self.p))
        alarmed, found = ends
        return float(1 - np.interp(alarms, alarmed, found)) + _FINE

    def certified(self, delta: float) -> float:
        """The largest epsilon (to bisection) whose divergence surely exceeds delta."""
        if delta == 0:
            return self.max_divergence()
        low, high = 0.0, 1.0
        if self.hockey_stick(0.0) <= delta:
            return -math.inf
        while self.hockey_stick(high) > delta and high < _LARGEST:
            low, high = high, 2 * high
        for _ in range(_ROUNDS):
            middle = (low + high) / 2
            fits = self.hockey_stick(middle) > delta
            low, high = (middle, high) if fits else (low, middle)
        return low


def check_statements(claim: Claim) -> Evidence:
    """Compare the exact laws with what a guarantee tells at a delta, or at a share of false alarms.

    Why: each is derived in its own way from the curve delta(epsilon), which `enumerate_loss` holds.
    """
    given, found, top = claim.guarantee, list[Evidence](), points(claim.guarantee)[-1]
    levels = () if isinstance(given, Composed) else _LEVELS  # whose curve takes long
    allowed = [(level, given.tradeoff(level)) for level in levels]
    stated = [Point(given.epsilon(delta).upper, float(delta)) for delta in _DELTAS]
    about = "epsilon at a delta"
    for pair, view in product(claim.pairs, views(claim)):
        left, right = view.law(pair.left), view.law(pair.right)
        for laws in (Laws.of(left, right), Laws.of(right, left)):
            for point in stated:
                bound = laws.certified(point.delta) if math.isfinite(point.epsilon) else 0.0
                found.append(Evidence(claim.name, "law", point, bound, about))
            if any(laws.missed(float(level)) < least for level, least in allowed):
                reason = "an attacker errs less than the guarantee allows"
                found.append(Evidence(claim.name, "law", top, 0.0, about, reason=reason))
    return strongest(found)


def enumerate_loss(claim: Claim) -> Evidence:
    """Compare the exact output laws of all pairs with the whole guarantee.

    Guarantee:
        `bound` is below the true epsilon at the reported delta; a true claim is never refuted.
    Why:
        Hockey-stick divergences at the points of the profile, Renyi divergences at `ORDERS` and the
        chance of an infinite loss, which composition adds up by itself, each computed from below
        with its rounding errors taken off, in both directions.
    """
    promised = points(claim.guarantee)
    claimed = {order: claim.guarantee.rdp(order).upper for order in ORDERS}
    claim, found = remembered(claim), []
    for side, view in product(_inputs(claim), views(claim)):
        mass = total(Interval.between(*ends) for ends in view.law(side).values())
        if not mass.lower <= 1 <= mass.upper:
            reason = "the probabilities do not sum to 1"
            return Evidence(claim.name, "law", promised[-1], 0.0, "the law", reason=reason)
    for pair, view in product(claim.pairs, views(claim)):
        left, right = view.law(pair.left), view.law(pair.right)
        for laws in (Laws.of(left, right), Laws.of(right, left)):
            for point in promised:
                event = f"hockey stick at {point.epsilon:.4g}"
                bound = laws.certified(point.delta)
                found.append(Evidence(claim.name, "law", point, bound, event))
            found += _by_order(claim.name, promised[-1], laws, claimed)
            found += _by_infinity(claim, promised[-1], laws)
    return strongest(found)


def _by_order(name: str, top: Point, laws: Laws, claimed: dict[float, float]) -> Iterator[Evidence]:
    for order, most in claimed.items():
        if (found := laws.renyi(order)) > most:
            reason = f"Renyi divergence {found:.4g} at order {order}, claimed {most:.4g}"
            bound = laws.certified(top.delta)
            yield Evidence(name, "law", top, bound, f"Renyi order {order}", reason=reason)


def _by_infinity(claim: Claim, top: Point, laws: Laws) -> Iterator[Evidence]:
    given, found = claim.guarantee, laws.hockey_stick(math.inf)
    claimed = max(given.infinity(way).upper for way in given.directions)
    # Where moments are infinite they stand for it.
    if found > claimed and math.isfinite(given.log_mgf(1).upper):
        reason = f"the loss is infinite with probability {found:.4g}, claimed {claimed:.4g}"
        yield Evidence(claim.name, "law", top, math.inf, "infinite loss", reason=reason)


def views(claim: Claim) -> tuple[View, ...]:
    """All that has a law: the output itself, and parts of it."""
    whole = (View(lambda outputs: outputs, claim.law),) if claim.law is not None else ()
    if found := (*whole, *claim.views):
        return found
    raise InputError(
        f"{claim.name} states no law", why="its outputs are too many", fix="sample it instead"
    )


def remembered(claim: Claim) -> Claim:
    """The same claim, which computes each law once for each input."""

    def once(law: Callable[[Any], Law]) -> Callable[[Any], Law]:
        known: dict[Any, Law] = {}
        return lambda side: known.get(key := picture(side)) or known.setdefault(key, law(side))

    parts = tuple(replace(view, law=once(view.law)) for view in claim.views)
    return replace(claim, law=claim.law and once(claim.law), views=parts)


def _inputs(claim: Claim) -> list[Any]:
    """Most are in several pairs."""
    return distinct(side for pair in claim.pairs for side in (pair.left, pair.right))


def check_law(claim: Claim, *, samples: int | None = None, alpha: float = 0.01) -> Evidence:
    """Test that the mechanism follows the law it states.

    Guarantee:
        A mechanism that follows its law is refuted with probability at most alpha.
    Why:
        Each outcome's count is held against its stated probability by an exact binomial tail, and
        the counts of all outcomes up to each one, in their order, against the sum of theirs by
        the Dvoretzky-Kiefer-Wolfowitz inequality. Both tests, outcomes, inputs, sides and views
        share alpha. Outcomes that are words (such as 'above') stand together for all outputs that
        have no key.
    """
    looks, runs = views(claim), samples_for(claim.guarantee) if samples is None else samples
    inputs, top = _inputs(claim), points(claim.guarantee)[-1]
    share = alpha / (2 * len(inputs) * len(looks))
    for side in inputs:
        drawn = rows(claim.draw(side, runs))
        for view in looks:
            law = _lumped(view.law(side))
            reason = _disagreement(law, _counts(law, view.read(drawn)), runs, share)
            if reason:
                return Evidence(
                    claim.name, "counts", top, 0.0, "a count", alpha, runs, reason=reason
                )
    return Evidence(claim.name, "counts", top, 0.0, "all counts agree", alpha, runs)


def _disagreement(
    law: dict[Hashable, tuple[float, float]], counts: dict[Hashable, int], runs: int, alpha: float
) -> str:
    """Counts that do not have their stated probability; `alpha` is for each of two tests."""
    ends = np.array([law.get(outcome, _NEVER) for outcome in counts])
    met, share = np.fromiter(counts.values(), np.float64), alpha / (2 * len(counts))
    nearest = np.clip(np.where(met > ends[:, 1] * runs, ends[:, 1], ends[:, 0]), 0.0, 1.0)
    logs, error = log_probability(float(runs), met, nearest)
    # A count that is likely by itself is likely with all that are further off.
    for at in np.flatnonzero(~(logs - error > math.log(share))):
        (low, high), outcome = ends[at], [*counts][at]
        if unlikely(counts[outcome], runs, low, high, share):
            return f"outcome {outcome!r} does not have its stated probability"
    named: list[Any] = [outcome for outcome in law if outcome != _REST]
    order = [*sorted(named), _REST]
    found = np.cumsum([counts[outcome] for outcome in order]) / runs
    lows, highs = (np.cumsum([law[outcome][end] for outcome in order]) for end in (0, 1))
    # Of a million samples and a million outcomes, sums are off by far less than 1e-9.
    off = float(np.max(np.maximum(found - highs, lows - found))) - 1e-9
    if off > math.sqrt(math.log(2 / alpha) / (2 * runs)):
        return "outcomes up to one of them do not have their stated probability"
    return ""


def _lumped(law: Law) -> dict[Hashable, tuple[float, float]]:
    """The law with all outcomes that are words, such as 'above', joined into one."""
    plain = {outcome: ends for outcome, ends in law.items() if not isinstance(outcome, str)}
    words = total(Interval.between(*ends) for key, ends in law.items() if isinstance(key, str))
    return plain | {_REST: (words.lower, words.upper)}


def _counts(law: Law, outputs: Any) -> dict[Hashable, int]:
    """How often each outcome came; what the law does not name counts as the rest."""
    table = rows(outputs)
    _, first, count = np.unique(row_codes(table), return_index=True, return_counts=True)
    counts: dict[Hashable, int] = dict.fromkeys(law, 0)
    for row, times in zip(table[first].tolist(), count.tolist(), strict=True):
        key: Hashable = row[0] if len(row) == 1 and tuple(row) not in law else tuple(row)
        counts[key if key in law else _REST] += times
    return counts
