"""Freeze the randomness of a run, and write down or play back every release in it."""

import functools
import hashlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fractions import Fraction
from threading import RLock
from typing import Any, Final, TypeAlias

import numpy as np

from discreet.answer.plan.quantile_draws import QuantileDraw
from discreet.answer.plan.thresholded_count import ThresholdedCount
from discreet.mechanisms import noise_tails
from discreet.mechanisms.comparison_laws import at_least
from discreet.mechanisms.gaussian import RoundedGaussian
from discreet.mechanisms.interaction import Interaction
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Mechanism
from discreet.noise import bits
from discreet.noise.bits import BitSource, Keystream, Words, replaced
from discreet.plan.bounding import FULL
from discreet.privacy import Approximate, BoundedRange, Neighbours, Pure
from discreet.privacy.numerics.rounding import Interval
from discreet.workload.profile import ProfileNoise

PATCHING: Final = RLock()
_OUTSIDE: Final = "outside"
_THIN: Final = 1000

Wrapper: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
Rule: TypeAlias = ThresholdedCount | ProfileNoise


@dataclass(frozen=True, slots=True)
class RecordedRelease:
    """One release: who was asked, about what, how it ended, and how many random words it took.

    A mechanism that was used question by question is one release as well: `inputs` is all that was
    asked, and `steps` how each answer came about.
    """

    mechanism: "Mechanism | CellChoice"
    inputs: tuple[Any, ...]
    outcome: Any
    raised: BaseException | None
    words: int
    steps: "tuple[Step, ...]" = ()


@dataclass(frozen=True, slots=True)
class CellChoice:
    """A curator's choice of a cell: one of `size`, from the weight in each."""

    draw: QuantileDraw
    size: int
    scale: Fraction

    def cost(self, left: Any, right: Any, about: Neighbours) -> Pure | BoundedRange:
        """A loss that is reached on the hardest data if one person moves as much weight.

        Why: the scores of two cells move apart by s = `apart` times the weight, in scales.
        Permute-and-flip has a loss of s where one cell is far ahead; the exponential mechanism,
        losses in a range of s.
        """
        gaps: Counter[int] = Counter()
        for sign, (cells, weights) in ((-1, left), (1, right)):
            for cell, weight in zip(cells.tolist(), weights.tolist(), strict=True):
                gaps[cell] += sign * weight
        moved = sum(map(abs, gaps.values()))
        apart = self.draw.apart * moved / self.scale
        kind = Pure if self.draw.flips or not apart else BoundedRange
        return kind(apart, neighbours=about)


@dataclass(frozen=True, slots=True)
class KeyThreshold:
    """A threshold above which keys are shown that one person alone may have.

    `ways` are sets of keys that this person may have: the noise, how many, and how far it has to
    lift each.
    """

    ways: tuple[tuple[Laplace | RoundedGaussian, int, int], ...]
    guarantee: Approximate

    @staticmethod
    def of(rule: Rule, asked: Any, threshold: Callable[[Any, Any], int]) -> "KeyThreshold":
        """From a rule, what it was asked, and how a profile finds its threshold."""
        if isinstance(rule, ThresholdedCount):
            measured = rule.count.measurement
            margin = rule.threshold - FULL // measured.step
            way = measured.mechanism, measured.contributions.groups, margin
            return KeyThreshold((way,), rule.guarantee)
        # A person's rows on one to all of their units' texts, each just too rare to be counted.
        # Beside a thousandth of the noise their weight cannot be left out of the threshold.
        more = rule.epsilon and _THIN * rule.epsilon
        thin = replace(rule, mu_squared=_THIN**2 * rule.mu_squared, epsilon=more)
        weight = rule.full * rule.rows
        ways = tuple(
            (one.mechanism(1), keys, threshold(one, asked) - one.least + 1 - weight // keys)
            for one in (rule, thin)
            for keys in (1, 2, rule.full, weight)
        )
        return KeyThreshold(ways, Approximate(0, asked, neighbours=rule.neighbours))

    @property
    def shown(self) -> float:
        """The probability that a key of one person alone is shown, from below."""
        none = ((-_tail(noise, margin)).log1p() * keys for noise, keys, margin in self.ways)
        return max((-log.expm1()).lower for log in none)


def _tail(noise: Laplace | RoundedGaussian, steps: int) -> Interval:
    if isinstance(noise, RoundedGaussian):
        return at_least(noise.tail, steps)
    scale = noise.scale / noise.grid.step
    return at_least(lambda m: noise_tails.laplace_tail(scale, m), steps)


@dataclass(frozen=True, slots=True)
class Step:
    """One question of an interaction: how it ended, and how many random words it took."""

    value: Any
    outcome: Any
    raised: BaseException | None
    words: int


@dataclass(slots=True)
class Conversation:
    """An interaction while it lasts: all questions so far."""

    interaction: Interaction
    steps: list[Step] = field(default_factory=list)

    def release(self) -> RecordedRelease:
        """All of it as one release."""
        told = [step for step in self.steps if step.raised is None]
        inputs = self.interaction.asked([step.value for step in told])
        answers = [step.outcome for step in told]
        words = sum(step.words for step in self.steps)
        rule = self.interaction.rule
        return RecordedRelease(rule, (inputs,), answers, None, words, tuple(self.steps))


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
    so that its own outcome and its use of randomness are known on both sides. An interaction is one
    release with as many steps as there are questions; each is answered with the tape's answer, and
    what the interaction keeps of its answers follows that.
    """

    tape: tuple[RecordedRelease, ...] | None = None
    releases: list[RecordedRelease | Conversation | None] = field(default_factory=list)
    thresholds: list[KeyThreshold] = field(default_factory=list)
    sources: list[FrozenBits] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)  # of a release by itself
    _label: str = _OUTSIDE
    _marks: set[int] = field(default_factory=set)

    @property
    def is_outside(self) -> bool:
        """Whether nothing is being released."""
        return self._label == _OUTSIDE

    @property
    def words_outside(self) -> int:
        """How many random words were drawn outside of any release."""
        return sum(source.count for source in self.sources if source.label == _OUTSIDE)

    def open_source(self) -> FrozenBits:
        """The bits of the next request."""
        earlier = sum(source.label == self._label for source in self.sources)
        self.sources.append(FrozenBits(self._label, earlier))
        return self.sources[-1]

    def release(
        self, run: Callable[[], Any], mechanism: Mechanism | CellChoice, inputs: tuple[Any, ...]
    ) -> Any:
        """Run one release and write it down; answer with the tape's outcome, if there is one."""
        at = len(self.releases)
        self.releases.append(None)  # keeps its place before any release inside it
        outcome, raised, words = self._ending(run, f"release {at}")
        self.releases[at] = RecordedRelease(mechanism, inputs, outcome, raised, words)
        if raised is not None:
            raise raised
        return _frozen(self._taped(at), outcome)

    def answer(self, run: Callable[[], Any], interaction: Interaction, value: Any) -> Any:
        """Run one step of an interaction, likewise; what it is made of is the same step."""
        at, talk = self._conversation(interaction)
        step = len(talk.steps)
        if self._label == (label := f"release {at}, step {step}"):
            return run()
        outcome, raised, words = self._ending(run, label)
        talk.steps.append(Step(value, outcome, raised, words))
        if raised is not None:
            raise raised
        taped = self._taped(at)
        return _frozen(taped.steps[step] if taped and step < len(taped.steps) else None, outcome)

    def _conversation(self, interaction: Interaction) -> tuple[int, Conversation]:
        """Position of an interaction in the record; the end if it is new."""
        for at, one in enumerate(self.releases):
            if isinstance(one, Conversation) and one.interaction is interaction:
                return at, one
        self.releases.append(talk := Conversation(interaction))
        return len(self.releases) - 1, talk

    def _ending(self, run: Callable[[], Any], label: str) -> tuple[Any, Exception | None, int]:
        """How a run with bits of its own ends, and how many words it takes."""
        first, outside = len(self.sources), self._label
        opener = bits._replacement.get()  # noqa: SLF001 - whose bits a release would have had
        if opener is not None and opener != self.open_source:  # a key's
            if (mark := opener().word()) in self._marks:
                self.faults.append("two releases have the same noise")
            self._marks.add(mark)
        self._label = label
        try:
            with replaced(self.open_source):
                outcome, raised = run(), None
        except Exception as error:  # noqa: BLE001 - however it ends is what is being compared
            outcome, raised = None, error
        self._label = outside
        return outcome, raised, sum(source.count for source in self.sources[first:])

    def _taped(self, at: int) -> RecordedRelease | None:
        return self.tape[at] if self.tape is not None and at < len(self.tape) else None

    def finished(self) -> tuple[RecordedRelease, ...]:
        """The tape."""
        told = [one.release() if isinstance(one, Conversation) else one for one in self.releases]
        return tuple(one for one in told if one is not None)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Freeze bits and listen to every mechanism while this context lasts."""
        with PATCHING, _listening(), replaced(self.open_source):
            token = _current.set(self)
            try:
                yield
            finally:
                _current.reset(token)


def _frozen(taped: RecordedRelease | Step | None, outcome: Any) -> Any:
    """The recorded answer, unless there is none or it is a failure."""
    return outcome if taped is None or taped.raised is not None else taped.outcome


_current: ContextVar[Recorder | None] = ContextVar("_current", default=None)


@contextmanager
def _listening() -> Iterator[None]:
    """Wrap every mechanism's `release` and every interaction's `_answer`, and unwrap them again."""
    originals = [
        (kind, name, kind.__dict__[name], wrap)
        for root, names in _roots()
        for kind in _kinds(root)
        for name, wrap in names.items()
        if name in kind.__dict__
    ]
    for kind, name, original, wrap in originals:
        setattr(kind, name, wrap(original))
    try:
        yield
    finally:
        for kind, name, original, _ in originals:
            setattr(kind, name, original)


def _kinds(root: type) -> dict[type, None]:
    """A class and every class below it."""
    found = [root]
    for kind in found:  # grows meanwhile
        found += kind.__subclasses__()
    return dict.fromkeys(found)


def _heard(by: Callable[..., Any]) -> Wrapper:
    """A wrapper that lets the recorder of this context, if there is one, run what is called."""

    @functools.cache  # runs are many and short: a method is wrapped once
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(owner: Any, *inputs: Any, **named: Any) -> Any:
            recorder, run = _current.get(), functools.partial(original, owner, *inputs, **named)
            return run() if recorder is None else by(recorder, run, owner, *inputs, **named)

        return call

    return wrap


def _release(recorder: Recorder, run: Any, rule: Mechanism, *inputs: Any, **named: Any) -> Any:
    return recorder.release(run, rule, (*inputs, *named.values()))


def _choice(recorder: Recorder, run: Any, rule: Mechanism, counts: Any) -> Any:
    """Keys that are chosen outside of a release of their own are a release."""
    return recorder.release(run, rule, (counts,)) if recorder.is_outside else run()


def _cell(recorder: Recorder, run: Any, draw: QuantileDraw, *asked: Any) -> Any:
    cells, weights, size, scale = asked[:4]
    return recorder.release(run, CellChoice(draw, size, scale), ((cells, weights),))


def _each_row(recorder: Recorder, run: Any, _: Any, statistic: Any, *asked: Any) -> Any:
    """Look at each row of a sum alone, and at the same sum where an engine makes it.

    Why: a person's rows are weighted, so a row whose vector is longer than stated need not show
    between neighbours. What an engine sums follows the same rows by other code.
    """
    rows, total = asked[-1], np.zeros(statistic.width, dtype=object)
    for chunk in rows.chunks():
        total += statistic.sums(chunk).ravel().astype(np.int64)
        parts = zip(chunk.x.tolist(), chunk.y.tolist(), strict=True)
        for at in {repr(row): at for at, row in enumerate(parts)}.values():
            one = replace(chunk, x=chunk.x[[at]], y=chunk.y[[at]], weight=np.ones(1))
            vector = statistic.sums(one).ravel().astype(np.int64)
            if sum(int(n) ** 2 for n in vector[vector != 0]) > statistic.square:
                recorder.faults.append(f"a row of {type(statistic).__name__} is longer than stated")
    found = None if rows.engine is None else rows.engine.totals(statistic)
    if found is not None and not np.array_equal(found, total):
        recorder.faults.append(f"an engine has other sums of {type(statistic).__name__}")
    return run()


def _threshold(recorder: Recorder, run: Any, rule: Rule, asked: Any) -> Any:
    """Write down what a threshold is made of, each time that one is used."""
    found = KeyThreshold.of(rule, asked, run.func)
    if isinstance(rule, ProfileNoise) or found not in recorder.thresholds:  # part by part, one rule
        recorder.thresholds.append(found)
    return run()


def _roots() -> Iterator[tuple[type, dict[str, Wrapper]]]:
    yield from _ROOTS.items()
    if (learn := sys.modules.get("discreet.learn.noisy_sums")) is not None:
        yield learn.NoisySums, {"_release": _heard(_each_row)}


_ROOTS: Final[dict[type, dict[str, Wrapper]]] = {
    Mechanism: {"release": _heard(_release), "keeps": _heard(_choice)},
    Interaction: {"_answer": _heard(Recorder.answer)},
    QuantileDraw: {"cell": _heard(_cell)},
    ThresholdedCount: {"shows": _heard(_threshold)},
    ProfileNoise: {"threshold": _heard(_threshold)},
}
