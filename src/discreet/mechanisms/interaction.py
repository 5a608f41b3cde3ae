"""A mechanism in use: one question at a time, all answers together for one guarantee."""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from threading import RLock
from typing import Any

from discreet.errors import InputError
from discreet.mechanisms.mechanism import Mechanism


class Interaction(ABC):
    """Answers of a mechanism, one after the other; later questions may depend on them.

    Guarantee:
        That of `rule`, once, for all answers together.
    Why:
        What an observer can see of the state (what is left, how many were asked) is noted from
        answers alone, so it is post-processing; and with the answers of another run in their place
        it is that run's, which is how an audit replays one.
    Edge cases:
        Threads wait for each other; a question that asks the interaction itself is refused. An
        interaction can be neither copied nor pickled, and does not go on in a forked process: two
        copies would share noise and spend one guarantee twice.
    """

    __slots__ = ("_asking", "_lock", "_process", "rule")

    rule: Mechanism

    def __init__(self, rule: Mechanism) -> None:
        self.rule = rule
        self._lock = RLock()
        self._asking = False
        self._process = os.getpid()

    def ask(self, value: Any) -> Any:
        """Answer the next question, or take the next increment and give the running answer."""
        return self._next(value)

    add = release = ask

    def _next(self, value: Any) -> Any:
        """Answer the next question; nothing has changed where that fails."""
        if os.getpid() != self._process:
            raise _copied()
        with self._lock:
            if self._asking:
                raise _nested()
            self._asking = True
            try:
                self._admit()
                answer = self._answer(value)
                self._note(answer)
            finally:
                self._asking = False
            return answer

    @abstractmethod
    def _admit(self) -> None:
        """Refuse a question that the guarantee does not cover any more."""

    @abstractmethod
    def _answer(self, value: Any) -> Any:
        """A fresh private answer about one value."""

    @abstractmethod
    def _note(self, answer: Any) -> None:
        """Keep what is public and follows from an answer."""

    @abstractmethod
    def asked(self, values: Sequence[Any]) -> Any:
        """The argument with which `rule.release` answers the same questions at once; private."""

    def __reduce__(self) -> Any:
        raise _copied()


def _nested() -> InputError:
    return InputError(
        "a question asks the mechanism that it is asked of",
        why="its own answer would have to come first",
        fix="ask one question after the other",
    )


def _copied() -> InputError:
    return InputError(
        "a mechanism in use cannot be copied, nor carried into a forked process",
        why="two copies would share noise, and spend what one of them was charged",
        fix="start another one, which is charged again",
    )
