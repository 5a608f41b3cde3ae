"""Freeze the randomness of a run, and write down or play back every release in it."""

import functools
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, Final

from discreet.mechanisms.mechanism import Mechanism
from discreet.noise.bits import BitSource, Keystream, Words, replaced

_PATCHING: Final = RLock()
_OUTSIDE: Final = "outside"


@dataclass(frozen=True, slots=True)
class Release:
    """One release: who was asked, about what, how it ended, and how many random words it took."""

    mechanism: Mechanism
    inputs: tuple[Any, ...]
    outcome: Any
    raised: BaseException | None
    words: int


class FrozenBits:
    """A bit source that is the same on every run, and counts."""

    __slots__ = ("_stream", "count", "label")

    def __init__(self, label: str, request: int) -> None:
        key = hashlib.sha256(f"{label}/{request}".encode()).digest()
        self._stream: BitSource = Keystream(key)
        self.label = label
        self.count = 0

    def word(self) -> int:
        """One word."""
        self.count += 1
        return self._stream.word()

    def words(self, count: int) -> Words:
        """`count` words."""
        self.count += count
        return self._stream.words(count)


@dataclass(slots=True)
class Recorder:
    """Record the releases of one run; given the tape of another run, answer with its outcomes.

    Each release draws from bits of its own, so what happens in one does not shift the next. A
    release inside a release is recorded as well. The mechanism always runs, whatever is answered,
    so that its own outcome and its use of randomness are known on both sides.
    """

    tape: tuple[Release, ...] | None = None
    releases: list[Release | None] = field(default_factory=list)
    sources: list[FrozenBits] = field(default_factory=list)
    _label: str = _OUTSIDE

    @property
    def words_outside(self) -> int:
        """How many random words were drawn outside of any release."""
        return sum(source.count for source in self.sources if source.label == _OUTSIDE)

    def open_source(self) -> FrozenBits:
        """The bits of the next request."""
        earlier = sum(source.label == self._label for source in self.sources)
        self.sources.append(FrozenBits(self._label, earlier))
        return self.sources[-1]

    def release(self, run: Callable[[], Any], mechanism: Mechanism, inputs: tuple[Any, ...]) -> Any:
        """Run one release and write it down; answer with the tape's outcome, if there is one."""
        at, first, label = len(self.releases), len(self.sources), self._label
        self.releases.append(None)  # keeps its place before any release inside it
        self._label = f"release {at}"
        outcome, raised = None, None
        try:
            outcome = run()
        except Exception as error:  # noqa: BLE001 - however it ends is what is being compared
            raised = error
        self._label = label
        words = sum(source.count for source in self.sources[first:])
        self.releases[at] = Release(mechanism, inputs, outcome, raised, words)
        if raised is not None:
            raise raised
        return self._frozen(at, outcome)

    def _frozen(self, at: int, outcome: Any) -> Any:
        if self.tape is None or at >= len(self.tape) or self.tape[at].raised is not None:
            return outcome
        return self.tape[at].outcome

    def finished(self) -> tuple[Release, ...]:
        """The tape."""
        return tuple(one for one in self.releases if one is not None)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Freeze bits and listen to every mechanism while this context lasts."""
        with _PATCHING, _listening(), replaced(self.open_source):
            token = _current.set(self)
            try:
                yield
            finally:
                _current.reset(token)


_current: ContextVar[Recorder | None] = ContextVar("_current", default=None)


@contextmanager
def _listening() -> Iterator[None]:
    """Wrap `release` of every mechanism class, and unwrap it again."""
    root: type = Mechanism
    originals = [(kind, kind.__dict__["release"]) for kind in _kinds(root)]
    for kind, original in originals:
        setattr(kind, "release", _wrapped(original))  # noqa: B010 - assignment is no method to mypy
    try:
        yield
    finally:
        for kind, original in originals:
            setattr(kind, "release", original)  # noqa: B010 - the same


def _kinds(root: type) -> list[type]:
    """Every class below `root` that has a release of its own."""
    found: dict[type, None] = {}
    children: list[type] = root.__subclasses__()
    for child in children:
        found |= dict.fromkeys([child, *_kinds(child)])
    return [kind for kind in found if "release" in kind.__dict__]


def _wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def release(mechanism: Mechanism, *inputs: Any, **named: Any) -> Any:
        recorder = _current.get()
        if recorder is None:
            return original(mechanism, *inputs, **named)
        return recorder.release(
            lambda: original(mechanism, *inputs, **named), mechanism, (*inputs, *named.values())
        )

    return release
