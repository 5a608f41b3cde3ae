"""Record and replay: a call on two neighbours must look the same but for its released numbers.

The call runs on `left` with every random draw frozen, and its releases are written down. Then it
runs on `right`, where each release answers with what was released on the left. Now nothing may
differ but the inputs of the mechanisms, and those by no more than their declared sensitivity.
Deterministic, and any difference is a leak: there are no false alarms to weigh.

A report of differences holds facts about the two datasets: it is for whoever may see them.
"""

import io
import logging
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Final, TypeAlias

import numpy as np

from discreet.audit.distance import too_far
from discreet.audit.recorder import RecordedRelease, Recorder, Step
from discreet.audit.trace import form, is_numeric, picture
from discreet.mechanisms.additive import Additive
from discreet.mechanisms.continual import ContinualCount, FactorizedCount
from discreet.mechanisms.mechanism import Mechanism, Pair
from discreet.mechanisms.sparse_vector import AboveThreshold, SparseVector

ROW_BY_ROW: Final = frozenset({"SubsampleAggregate"})
"""Mechanisms that toss a coin for each row: how many follows the number of rows, as time does."""

Call: TypeAlias = Callable[[Any], Any]
"""A mechanism's release, a query, a whole curator: anything that takes data and answers."""

Metric: TypeAlias = Callable[[Mechanism, tuple[Any, ...], tuple[Any, ...]], Iterator[str]]
"""How the inputs of a mechanism in two runs are too far apart."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing an observer can see that is not the same on two neighbours."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class Differences(tuple[Difference, ...]):
    """All that is different; true where there is anything."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "no difference"


@dataclass(slots=True)
class ReplayedRun:
    """The record of one run."""

    recorder: Recorder
    outcome: Any = None
    raised: BaseException | None = None
    lines: list[str] = field(default_factory=list)
    printed: str = ""


def replay(call: Call, left: Any, right: Any) -> Differences:
    """Run a call on two neighbours with everything random frozen, and list what differs.

    Why:
        If each mechanism's inputs differ by no more than its sensitivity and everything else is a
        function of the mechanisms' outputs, then the call is as private as their composition.
    Edge cases:
        The call may raise; it then has to raise the same on both sides. Threads that the call
        starts by itself draw real bits and are not heard. A mechanism that is used question by
        question (a sparse vector's run, a stream, a holdout) has to be started inside the call.

    Example:
        >>> print(replay(lambda data: len(data), [1, 2], [1, 2, 3]))
        answer: not the same to the byte
    """
    return compared(observe(call, left, Recorder()), call, right)[0]


def compared(
    first: ReplayedRun, call: Call, right: Any, metric: Metric = too_far
) -> tuple[Differences, ReplayedRun]:
    """The differences between a run and one on a neighbour, and that one.

    `metric` says how inputs of mechanisms are too far apart; on data that are no neighbours they
    may be as far apart as they like, and all else still has to be the same.
    """
    second = observe(call, right, Recorder(tape=first.recorder.finished()))
    found = (*_of_releases(first, second, metric), *_of_surface(first, second))
    return Differences(found), second


def observe(call: Call, data: Any, recorder: Recorder) -> ReplayedRun:
    """Run once, and keep everything there is to see."""
    run = ReplayedRun(recorder)
    printed = io.StringIO()
    with (
        recorder.recording(),
        _lines(run.lines),
        redirect_stdout(printed),
        redirect_stderr(printed),
    ):
        run.outcome, run.raised = _ending(call, data)
    run.printed = printed.getvalue()
    return run


def _ending(call: Call, data: Any) -> tuple[Any, BaseException | None]:
    owner = getattr(call, "__self__", None)
    # A bound method was bound before anyone listened; look it up again.
    heard = getattr(owner, call.__name__, call) if isinstance(owner, Mechanism) else call
    try:
        return heard(data), None
    except Exception as error:  # noqa: BLE001 - however it ends is what is being compared
        return None, error


@contextmanager
def _lines(lines: list[str]) -> Iterator[None]:
    """Collect log lines of every level, and warnings.

    Lines of Spark's bridge to Java are left out: they number its objects, also those that the
    garbage collector happens to free meanwhile, and so differ between any two runs.
    """
    handler = logging.StreamHandler(text := io.StringIO())
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    handler.addFilter(lambda record: record.name.partition(".")[0] != "py4j")
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            root.removeHandler(handler)
            root.setLevel(level)
            lines.extend(text.getvalue().splitlines())
            lines.extend(f"{one.category.__name__}: {one.message}" for one in caught)


def _of_releases(first: ReplayedRun, second: ReplayedRun, metric: Metric) -> Iterator[Difference]:
    tapes = first.recorder.finished(), second.recorder.finished()
    if len(tapes[0]) != len(tapes[1]):
        yield Difference("releases", f"{len(tapes[0])} on one side, {len(tapes[1])} on the other")
    for at, (left, right) in enumerate(zip(*tapes, strict=False)):
        where = f"release {at} ({type(left.mechanism).__name__})"
        yield from (Difference(where, what) for what in _of_release(left, right, metric))


def _of_release(left: RecordedRelease, right: RecordedRelease, metric: Metric) -> Iterator[str]:
    yield from _of_steps(left, right)
    yield from _shared_noise(left)
    if picture(left.mechanism) != picture(right.mechanism):
        yield "the mechanism's parameters depend on the data"
    elif left.raised is right.raised is None and isinstance(left.mechanism, Mechanism):
        yield from metric(left.mechanism, left.inputs, right.inputs)
    if picture(left.raised) != picture(right.raised):
        yield "it raises differently"
    elif is_numeric(left.outcome) or is_numeric(right.outcome):
        # Lists, keys and None are answers themselves; numbers come in one form whatever they are.
        answered = left.outcome is not None and right.outcome is not None
        if answered and form(left.outcome) != form(right.outcome):
            yield "the form of its answer (type, shape, finiteness) depends on the data"
        # By design as many coins as rows, or up to the place that is told.
        by_row = type(left.mechanism).__name__ in ROW_BY_ROW
        found = isinstance(left.mechanism, AboveThreshold) and left.outcome != right.outcome
        follows = found or (by_row and len(left.inputs[0]) != len(right.inputs[0]))
        if left.words != right.words and not follows:
            yield f"{left.words} random words on one side, {right.words} on the other"


def _shared_noise(release: RecordedRelease) -> Iterator[str]:
    """Numbers that each have noise of their own take a random word each; rounded noise takes 3."""
    stream = isinstance(release.mechanism, FactorizedCount)
    told: tuple[RecordedRelease | Step, ...] = release.steps if stream else (release,)
    if not stream and not isinstance(release.mechanism, Additive):
        return
    for one in told:
        numbers = math.prod(getattr(one.outcome, "shape", (0,)))
        if one.words < numbers * (3 if stream else 1):
            yield f"{one.words} random words for {numbers} noisy numbers"


def _of_steps(left: RecordedRelease, right: RecordedRelease) -> Iterator[str]:
    """An interaction: answers are frozen, so each step takes the same on both sides."""
    if len(left.steps) != len(right.steps):
        yield f"{len(left.steps)} questions on one side, {len(right.steps)} on the other"
    for at, (one, other) in enumerate(zip(left.steps, right.steps, strict=False)):
        if picture(one.raised) != picture(other.raised):
            yield f"question {at} raises differently"
        if one.words != other.words:
            yield f"{one.words} random words for question {at} on one side, {other.words} there"
        numeric = is_numeric(one.outcome) and is_numeric(other.outcome)
        if numeric and form(one.outcome) != form(other.outcome):
            yield f"the form of answer {at} depends on the data"


def _of_surface(first: ReplayedRun, second: ReplayedRun) -> Iterator[Difference]:
    if picture(first.raised) != picture(second.raised):
        yield Difference("status", "raises differently, in kind or in words")
    elif picture(first.outcome) != picture(second.outcome):
        yield Difference("answer", "not the same to the byte")
    if first.recorder.words_outside != second.recorder.words_outside:
        yield Difference("randomness", "different numbers of random words outside of releases")
    if first.printed != second.printed:
        yield Difference("printed", "different text on the terminal")
    for at, (left, right) in enumerate(zip_longest(first.lines, second.lines)):
        if left != right:
            yield Difference("log", f"line {at} differs")


def step_by_step(mechanism: Mechanism) -> Callable[[Any], Any] | None:
    """A function like `release` that asks question by question; None for one-shot mechanisms.

    A `Thresholdout` is not here: its release goes question by question as it is.

    Example:
        >>> alarm = AboveThreshold(threshold=10_000, epsilon=1)
        >>> ask = step_by_step(alarm)
        >>> ask([3, 250_000, 7])
        1
    """
    match mechanism:
        case AboveThreshold():
            return lambda values: next(
                iter(np.flatnonzero(_asked(mechanism, values)).tolist()), None
            )
        case SparseVector():
            return lambda values: _asked(mechanism, values)
        case ContinualCount():
            return lambda increments: list(map(mechanism.start().release, increments))
    return None


def paths_of(mechanism: Mechanism) -> list[Call]:
    """All ways to take a mechanism's answers: at once and, where it can be, step by step."""
    return [one for one in (mechanism.release, step_by_step(mechanism)) if one is not None]


def leaks(mechanism: Mechanism, pairs: Iterable[Pair]) -> str:
    """What any path shows of neighbours beside released numbers, once each."""
    paths = paths_of(mechanism)
    seen = (replay(path, pair.left, pair.right) for pair in pairs for path in paths)
    return "; ".join(dict.fromkeys(str(one) for found in seen for one in found))


def _asked(rule: SparseVector, values: Any) -> list[Any]:
    run, answers = rule.start(), []
    for value in values:
        if not run.hits_left:
            break
        answers.append(run.ask(value))
    return answers
