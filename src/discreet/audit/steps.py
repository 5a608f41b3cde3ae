"""Mechanisms that can be asked one question at a time: the same releases, taken that way."""

from collections.abc import Callable
from typing import Any

from discreet.mechanisms.continual import ContinualCount
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.sparse_vector import AboveThreshold, SparseVector


def step_by_step(mechanism: Mechanism) -> Callable[[Any], Any] | None:
    """What takes and gives what `release` does, question by question; None where nothing is asked.

    A `Thresholdout` is not here: its release goes question by question as it is.

    Example:
        >>> alarm = AboveThreshold(threshold=10_000, epsilon=1)
        >>> ask = step_by_step(alarm)
        >>> ask([3, 250_000, 7])
        1
    """
    match mechanism:
        case AboveThreshold():
            return lambda values: _first(_asked(mechanism, values))
        case SparseVector():
            return lambda values: _asked(mechanism, values)
        case ContinualCount():
            return lambda increments: _streamed(mechanism, increments)
    return None


def _asked(rule: SparseVector, values: Any) -> list[Any]:
    """The answers of one run, up to and with its last hit."""
    run, answers = rule.start(), []
    for value in values:
        if not run.hits_left:
            break
        answers.append(run.ask(value))
    return answers


def _first(hits: list[bool]) -> int | None:
    return hits.index(True) if True in hits else None


def _streamed(rule: ContinualCount, increments: Any) -> list[Any]:
    stream = rule.start()
    return [stream.release(increment) for increment in increments]
