"""Compare `release` itself, call by call, with a claim's `draw`."""

from dataclasses import replace
from operator import itemgetter
from typing import Any, Final

import numpy as np

from discreet.audit.evidence import Evidence, points, strongest
from discreet.audit.features import Outputs, rows
from discreet.audit.refute import certify, ranked_events
from discreet.audit.replay import Call
from discreet.audit.search import moved
from discreet.audit.trace import distinct
from discreet.errors import DiscreetError, InvariantBroken
from discreet.mechanisms.mechanism import Claim, Mechanism
from discreet.privacy import Pure

RELEASES: Final = 600
"""How often `release` is called on each side where nothing else is said: half a second's work."""

_FEWEST: Final = 100
_MORE: Final = 20


def released(mechanism: Mechanism) -> Claim:
    """The claim of a mechanism, drawn by calling its `release` again and again.

    Example:
        >>> from discreet.mechanisms import KeySelection
        >>> claim = released(KeySelection(epsilon=1, delta=0.1, max_groups_per_unit=2))
        >>> claim.draw({"a": 1000}, 2).tolist()
        [[1], [1]]
    """
    release = mechanism.release
    return replace(mechanism.claim, draw=lambda *asked: _answers(mechanism, release, *asked))


def _answers(mechanism: Mechanism, release: Call, value: Any, runs: int) -> Outputs:
    answers = [release(value) for _ in range(runs)]
    try:
        code = mechanism.claim.code
        table = rows(np.stack([np.asarray(code(value, answer)) for answer in answers]))
        table.astype(np.float64)  # refuses objects that are no numbers
    except Exception as error:
        raise InvariantBroken(
            f"{type(mechanism).__name__} has answers that its claim cannot code",
            why="what is released has to be held against what is audited",
            fix="give the claim a code(input, answer) that makes rows like those of its draw",
        ) from error
    return table


def compare_paths(
    mechanism: Mechanism, *, runs: int = RELEASES, alpha: float = 0.01, release: Call | None = None
) -> Evidence:
    """Try to tell `release` from the claim's `draw`, on all inputs that the claim is about.

    `release` is the mechanism's own; another way to take the same answers, such as question by
    question, is examined if it is given.

    Guarantee:
        A mechanism whose two paths have one law is refuted with probability at most alpha.
    Why:
        That is a claim itself: epsilon 0, with the two paths for neighbours. `runs` calls of
        release are shared by the pairs; drawing is quick, so there are many more draws than calls.
        What a claim's views read of rows is looked at beside the rows: a step of a stream that
        has no noise of its own shows in what the count grew by, and hardly in the count.
    Edge cases:
        A release that refuses an input of its own claim, or whose answers do not have the form of
        what `draw` gives, is refuted by that alone.
    """
    claim = mechanism.claim
    listed = [side for pair in claim.pairs for side in (pair.left, pair.right)]
    path = release or mechanism.release
    if path != mechanism.release:  # far from its threshold a rule answers more by its noise
        listed = [*listed[:4], *(moved(listed[0], None, far) for far in (-10, 10))]
    sides = distinct(listed)
    each = max(_FEWEST, 2 * runs // len(sides))
    found = strongest([_compare(mechanism, path, side, each, alpha / len(sides)) for side in sides])
    reason = found.reason or (f"release and draw differ: {found.event}" if found.refuted else "")
    top, event = points(claim.guarantee)[-1], reason or "release and draw agree"
    return Evidence(claim.name, "release", top, 0.0, event, alpha, each, reason=reason)


def _compare(mechanism: Mechanism, path: Call, side: Any, runs: int, alpha: float) -> Evidence:
    promised = points(Pure(0))
    try:
        answers = _answers(mechanism, path, side, runs)
    except DiscreetError as error:
        reason = f"release does not take what its claim is about: {error}"
        return Evidence("same", "release", promised[-1], 0.0, "status", reason=reason)
    drawn = rows(mechanism.claim.draw(side, _MORE * runs))
    if answers.shape[1] != drawn.shape[1]:
        reason = "release and draw have rows of different lengths"
        return Evidence("same", "release", promised[-1], 0.0, "form", reason=reason)
    kind, cut = np.result_type(answers, drawn), runs // 3
    answers, drawn = answers.astype(kind), drawn.astype(kind)
    tables = [(answers, drawn)]
    if views := mechanism.claim.views:
        seen = [np.column_stack([one.read(side) for one in views]) for side in tables[0]]
        tables.append((seen[0], seen[1]))
    ranked = (
        (reach, event, *table)
        for table in tables
        for reach, event in ranked_events(table[0][:cut], table[1][:cut], promised, alpha)
    )
    _, event, left, right = max(ranked, key=itemgetter(0))
    point, bound = certify(event, left[cut:], right[cut:], promised, alpha)
    return Evidence("same", "release", point, bound, str(event), alpha, runs)
