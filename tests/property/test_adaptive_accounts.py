"""Analysts who choose the next mechanism from all answers so far, against exact transcripts.

Every mechanism is a coin (randomized response of some epsilon, or the worst choice of some range),
which may give everything away with probability delta. The whole tree of answers is enumerated, so
the privacy of the transcript is known exactly; the filter's promise must not be below it.
"""

import math
from fractions import Fraction
from zlib import crc32

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy import (
    EPSILON,
    MU_SQUARED,
    RHO,
    Approximate,
    BoundedRange,
    Charge,
    Filter,
)

DEPTH = 7
EPSILONS = (0.0, 0.1, 0.3, 0.6, 1.0, 1.5, 2.5)


def coin(epsilon, delta):
    """(P, Q) of each outcome of the worst (epsilon, delta)-private mechanism, and its guarantee."""
    p = 1 / (1 + math.exp(-epsilon))
    rest = 1 - delta
    outcomes = [(rest * p, rest * (1 - p)), (rest * (1 - p), rest * p), (delta, 0.0), (0.0, delta)]
    return outcomes, Approximate(Fraction(epsilon), Fraction(delta))


def choice(r, place):
    """(P, Q) of a coin with odds e^r apart, anywhere: a mechanism of bounded range r."""
    odds_q = math.exp(-r * place)
    p, q = odds_q * math.exp(r) / (1 + odds_q * math.exp(r)), odds_q / (1 + odds_q)
    return [(p, q), (1 - p, 1 - q)], BoundedRange(Fraction(r))


mechanisms = st.one_of(
    st.builds(coin, st.floats(0.01, 1.2), st.sampled_from([0.0, 0.0, 1e-3, 1e-2])),
    st.builds(choice, st.floats(0.02, 2.0), st.floats(0, 1)),
)


def transcripts(guard, plan, seen=()):
    """The (P, Q) of every whole interaction; the next mechanism depends on all outcomes so far."""
    if len(seen) == DEPTH:
        return [(1.0, 1.0)]
    outcomes, guarantee = plan[crc32(repr(seen).encode()) % len(plan)]
    charge = guard.price(guarantee)
    if not guard.fits(charge):
        # Whoever does not fit is refused; another, cheaper one may fit.
        return transcripts(guard, plan, (*seen, None))
    after = guard.charge(charge)
    found = []
    for name, (p, q) in enumerate(outcomes):
        if p or q:
            found += [(p * a, q * b) for a, b in transcripts(after, plan, (*seen, name))]
    return found


limits = st.one_of(
    st.builds(
        lambda m, d: Charge(Fraction(m), Fraction(d), measure=MU_SQUARED),
        st.floats(0.05, 2),
        st.sampled_from([0.0, 0.01, 0.02]),
    ),
    st.builds(
        lambda r, d: Charge(Fraction(r), Fraction(d), measure=RHO),
        st.floats(0.02, 1),
        st.sampled_from([0.0, 0.01, 0.02]),
    ),
    st.builds(
        lambda e, d: Charge(Fraction(e), Fraction(d), measure=EPSILON),
        st.floats(0.1, 2),
        st.sampled_from([0.0, 0.01, 0.02]),
    ),
)


@settings(max_examples=150)
@given(limits, st.lists(mechanisms, min_size=1, max_size=12))
def test_no_adaptive_analyst_learns_more_than_the_filter_promises(limit, plan):
    guard = Filter(limit)
    whole = transcripts(guard, plan)
    promise = guard.guarantee
    for epsilon in EPSILONS:
        grown = math.exp(epsilon)
        one_way = sum(max(0.0, p - grown * q) for p, q in whole)
        other_way = sum(max(0.0, q - grown * p) for p, q in whole)
        assert max(one_way, other_way) <= promise.delta(Fraction(epsilon)).upper + 1e-9
