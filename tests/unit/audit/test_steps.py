"""Record and replay of mechanisms that are asked one question at a time."""

import numpy as np
import pytest

from discreet import noise
from discreet.audit import conformance, replay
from discreet.audit.recorder import Recorder
from discreet.audit.replay import step_by_step
from discreet.errors import InvariantBroken
from discreet.mechanisms.continual import FactorizedCount, Stream, TreeCount
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.reusable_holdout import ReusableHoldout
from discreet.mechanisms.sparse_vector import AboveThreshold, SparseVector, SparseVectorRun

ALARM = SparseVector(threshold=5, epsilon=1, hits=3)
STREAMS = [TreeCount(horizon=9, epsilon=1), FactorizedCount(horizon=9, rho=0.5)]
both = pytest.mark.parametrize("counter", STREAMS, ids=["tree", "factorization"])


def until_spent(value):
    """An analyst who asks further the more hits there were."""
    run, answers = ALARM.start(), []
    while run.hits_left and len(answers) < 40:
        answers.append(run.ask(value + len(answers) - run.hits_left))
    return answers, run.hits_left


def test_a_run_that_is_asked_adaptively_shows_no_difference():
    for value in range(-20, 6):
        assert not replay(until_spent, value, value + 1)


def test_what_is_left_follows_the_answers_of_the_tape():
    """Left never hits and right always would: in the replay right has all its hits left too."""
    seen = []

    def asks(value):
        run = ALARM.start()
        seen.append(([run.ask(value) for _ in range(4)], run.hits_left))
        return seen[-1]

    found = replay(asks, -(10**6), 10**6)

    assert seen == [([False] * 4, 3)] * 2
    assert str(found).count("\n") == 0
    assert "2e+06 apart (largest score change)" in str(found)


def test_a_run_that_is_spent_refuses_alike():
    def asks(value):
        run = ALARM.start()
        return [run.ask(value) for _ in range(4)]

    assert not replay(asks, 10**6, 10**6 + 1)


def test_questions_further_apart_than_the_sensitivity_are_seen_in_any_place():
    def asks(values):
        run = ALARM.start()
        return [run.ask(value) for value in values]

    assert not replay(asks, [0, 0, 0], [1, -1, 0])
    assert "largest score change" in str(replay(asks, [0, 0, 0], [1, 0, 2]))


def test_questions_that_were_declared_monotone_may_not_move_both_ways():
    def asks(values):
        run = SparseVector(threshold=5, epsilon=1, monotone=True).start()
        return [run.ask(value) for value in values]

    assert not replay(asks, [0, 0], [1, 1])
    assert "move both ways" in str(replay(asks, [0, 0], [1, -1]))


def test_how_many_questions_are_asked_may_not_follow_the_data():
    def asks(rows):
        run = ALARM.start()
        return all(run.ask(0) is False for _ in rows)

    assert "2 questions on one side, 3 on the other" in str(replay(asks, [-9] * 2, [-9] * 3))


def test_a_question_that_fails_on_one_side_is_a_difference():
    def asks(value):
        return ALARM.start().ask(value)

    assert "question 0 raises differently" in str(replay(asks, 0, 0.5))


@both
def test_a_stream_shows_no_difference_for_one_event(counter):
    path = step_by_step(counter)

    for at in range(9):
        event = [0] * 9
        event[at] = 1
        assert not replay(path, [0] * 9, event)


@both
def test_a_stream_with_two_events_is_too_far(counter):
    path = step_by_step(counter)

    assert "inputs are 2 apart" in str(replay(path, [0, 0, 0], [1, 0, 1]))
    assert "inputs are 2 apart" in str(replay(path, [0, 1], [1, 0]))
    assert "9 questions on one side, 8" in str(replay(path, [0] * 9, [0] * 8))
    assert "the shape of its input" in str(replay(counter.release, [0] * 9, [0] * 8))


@both
def test_what_a_stream_gets_next_may_follow_its_answers(counter):
    def adapts(event):
        stream, answers = counter.start(), [0]
        for step in range(9):
            answers.append(stream.release(int(answers[-1] > 0) + event * (step == 4)))
        return answers

    assert not replay(adapts, 0, 1)
    assert replay(adapts, 0, 2)


def judged(holdout):
    train = np.zeros(20)
    judge = ReusableHoldout(train, holdout, threshold=0.2, epsilon=1, hits=2)
    answers = []
    while judge.hits_left and len(answers) < 10:
        scale = 1 / (1 + len(answers))
        answers.append(judge.ask(lambda rows, scale=scale: scale * np.asarray(rows)))
    return answers


def test_a_holdout_shows_no_difference_for_one_example():
    ones, one_less, two_less = np.ones(20), np.ones(20), np.ones(20)
    one_less[3] = two_less[3] = two_less[4] = 0

    assert not replay(judged, ones, one_less)
    assert "2 rows" in str(replay(judged, ones, two_less))


def test_examples_in_several_arrays_are_counted_by_example():
    def judged(labels):
        data = np.zeros((6, 2)), labels
        return ReusableHoldout(data, data, threshold=0.5, epsilon=1).ask(lambda pair: pair[1])

    # Training examples are public, so here they may not follow the labels either.
    found = str(replay(judged, np.zeros(6), np.ones(6)))
    assert "depend on the holdout" in found

    def apart(labels):
        train, holdout = (np.zeros((6, 2)), np.zeros(6)), (np.zeros((6, 2)), labels)
        return ReusableHoldout(train, holdout, threshold=0.5, epsilon=1).ask(lambda pair: pair[1])

    assert "6 rows" in str(replay(apart, np.zeros(6), np.ones(6)))
    assert not replay(apart, np.zeros(6), np.eye(6)[0])


class LazyRun(SparseVectorRun):
    """Planted: draws no noise for questions that are far from the threshold."""

    __slots__ = ()

    def _answer(self, value):
        return False if value < -100 else SparseVectorRun._answer(self, value)


class LooseStream(Stream):
    """Planted: a float where nothing has come yet, else an int."""

    __slots__ = ()

    def _answer(self, value):
        answer = Stream._answer(self, value)
        return answer if value else float(answer)


class Lazy(SparseVector):
    __doc__ = SparseVector.__doc__
    __slots__ = ()

    def start(self):
        return LazyRun(self)


class Loose(TreeCount):
    __doc__ = TreeCount.__doc__
    __slots__ = ()

    def start(self):
        return LooseStream(self, TreeCount.start(self)._advance)


class Elsewhere(SparseVector):
    """Planted: another threshold, where nobody draws."""

    __doc__ = SparseVector.__doc__
    __slots__ = ()

    def start(self):
        return SparseVectorRun(SparseVector(threshold=9, epsilon=1))


def test_noise_that_is_drawn_where_it_is_needed_is_noticed():
    path = step_by_step(Lazy(threshold=-100, epsilon=1))

    assert "random words for question 0" in str(replay(path, [-101], [-100]))


def test_an_answer_whose_type_follows_the_data_is_noticed():
    found = replay(step_by_step(Loose(horizon=3, epsilon=1)), [0, 0], [1, 0])

    assert "the form of answer 0 depends on the data" in str(found)


def test_a_run_that_is_not_what_is_audited_is_noticed():
    conformance.check_release(Laplace(epsilon=1, sensitivity=1))
    with pytest.raises(InvariantBroken, match="releases otherwise than its claim"):
        conformance.check_release(Elsewhere(threshold=0, epsilon=1))
    with pytest.raises(InvariantBroken, match="leaks beside its noise"):
        conformance.check_replay(Loose(horizon=3, epsilon=1))


def test_interactions_inside_one_another_are_recorded_in_order():
    recorder = Recorder()
    with recorder.recording():
        judged(np.ones(20))
        ALARM.start().ask(0)

    outer, inner, alone = recorder.finished()
    assert type(outer.mechanism).__name__ == "Thresholdout"
    assert inner.mechanism is outer.mechanism.guard
    assert alone.mechanism is ALARM
    assert len(outer.steps) == len(inner.steps) == len(inner.inputs[0])
    assert outer.words >= inner.words > 0
    assert alone.inputs == ([0],)


def test_nobody_listens_when_nothing_is_recorded():
    first = AboveThreshold(threshold=0, epsilon=1).start()
    with Recorder().recording():
        noise.below(2)

    assert first.ask(10**6) is True
    assert SparseVectorRun._answer.__qualname__ == "SparseVectorRun._answer"
    assert not hasattr(SparseVectorRun._answer, "__wrapped__")
