"""Questions are asked about neighbours that move what is measured as far as is declared.

A sensitivity that is half of what it should be shows only where somebody moves what is measured by
more than that half. A question whose neighbours never do is no evidence of it.
"""

from collections import defaultdict

import pytest

from discreet.audit import distance, replayed_questions
from discreet.audit.curator_questions import QUESTIONS
from discreet.audit.replayed_questions import findings

MOVED = 0.75
"""At least so far, of what is declared, is what each kind of mechanism hears moved by some pair."""

LESS = {
    ("curator-found-keys-change-one", "KeySelection"): 0.6,
    # Its noise is for a person who leaves one found group and enters another.
    ("curator-found-keys-change-one", "RoundedGaussian"): 0.1,
    # Whose account is closed takes no part in anything.
    ("curator-per-person-closed", "RoundedGaussian"): None,
    # Bounds are bought from rows; how many differ is no distance.
    ("learn-rows", "AutomaticBounds"): None,
    # Neighbours that differ in how wide the noise is, not in what it is added to.
    ("wide-draws", "PermuteAndFlipQuantile"): None,
    ("wide-draws", "Quantile"): None,
    ("wide-draws", "SmoothSensitivity"): None,
}


@pytest.mark.audit
@pytest.mark.parametrize("name", QUESTIONS)
def test_somebody_moves_what_is_measured_as_far_as_is_declared(name, monkeypatch):
    moved, heard = defaultdict(float), []
    compare, too_far, compared = distance._compare, distance.too_far, replayed_questions.compared

    def far(mechanism, left, right):
        heard.append(type(mechanism).__name__)
        moved[heard[-1]] += 0
        yield from too_far(mechanism, left, right)

    def compares(apart, allowed, what):
        if heard and allowed:
            moved[heard[-1]] = max(moved[heard[-1]], float(apart) / float(allowed))
        return compare(apart, allowed, what)

    def listens(first, call, right, metric=far):
        return compared(first, call, right, metric)

    monkeypatch.setattr(distance, "_compare", compares)
    monkeypatch.setattr(replayed_questions, "compared", listens)
    assert not list(findings(QUESTIONS[name]))

    wanted = {kind: LESS.get((name, kind), MOVED) for kind in moved}
    assert {kind: far for kind, far in moved.items() if far < (wanted[kind] or 0)} == {}


def test_every_exception_is_one_of_a_question():
    assert {name for name, _ in LESS} <= set(QUESTIONS)
