import logging
import sys
import warnings

import numpy as np
import pytest

from discreet import noise
from discreet.audit import replay
from discreet.audit.recorder import Recorder
from discreet.audit.replay import compared, observe
from discreet.errors import InputError
from discreet.mechanisms.automatic_bounds import AutomaticBounds
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.histogram import Histogram
from discreet.mechanisms.key_selection import KeySelection
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.noisy_max import ReportNoisyMax
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.smooth_sensitivity import SmoothMedian
from discreet.mechanisms.subsample_aggregate import SubsampleAggregate
from discreet.privacy import Neighbours
from repetition import repeats

COUNT = Laplace(epsilon=1, sensitivity=1)


def places(call, left=(), right=(1,)):
    return [one.where for one in replay(call, list(left), list(right))]


def test_a_noisy_count_shows_no_difference():
    found = replay(lambda data: {"n": COUNT.release(len(data))}, [1, 2], [1, 2, 3])

    assert not found
    assert len(found) == 0
    assert str(found) == "no difference"


def test_a_bound_method_is_heard_as_well():
    assert not replay(COUNT.release, 5, 6)
    assert replay(COUNT.release, 5, 7)


def test_what_is_computed_from_released_numbers_may_branch():
    def adaptive(data):
        first = COUNT.release(len(data))
        return "many" if first > 0 else "few"

    assert places(adaptive) == []


def test_frozen_outcomes_steer_later_releases_alike():
    def adaptive(data):
        answers = [COUNT.release(len(data))]
        while answers[-1] < 3 and len(answers) < 50:
            answers.append(COUNT.release(len(data)))
        return answers

    assert places(adaptive) == []


@pytest.mark.parametrize(
    ("call", "where"),
    [
        (len, "answer"),
        (lambda data: COUNT.release(2 * len(data)), "release 0 (Laplace)"),
        (lambda data: [COUNT.release(0) for _ in data], "releases"),
        (lambda data: sys.stdout.write(f"{len(data)}") and None, "printed"),
        (lambda data: sys.stderr.write(f"{len(data)}") and None, "printed"),
        (lambda data: logging.getLogger("x").debug("%d", len(data)), "log"),
        (lambda data: warnings.warn(f"{len(data)}", stacklevel=1), "log"),
        (lambda data: data[0], "status"),
        (lambda data: noise.below(10, size=len(data)).sum() * 0, "randomness"),
        (
            lambda data: Laplace(epsilon=1 + len(data), sensitivity=1).release(0),
            "release 0 (Laplace)",
        ),
    ],
)
def test_every_place_where_data_can_show_is_looked_at(call, where):
    assert where in places(call)


def test_what_spark_says_to_java_is_no_line_of_the_log():
    assert places(lambda data: logging.getLogger("py4j.clientserver").debug("o%d", len(data))) == []
    assert places(lambda data: logging.getLogger("py4jx").debug("o%d", len(data))) == ["log"]


def test_errors_have_to_agree_to_the_letter():
    def quotes(data):
        raise InputError(f"{len(data)} rows", why="few", fix="more")

    def fixed(_data):
        raise InputError("rows", why="few", fix="more")

    assert places(quotes) == ["status"]
    assert places(fixed) == []


def test_an_error_inside_one_release_is_a_difference():
    found = replay(COUNT.release, 1, 1.5)

    assert "release 0 (Laplace): it raises differently" in str(found)


def test_public_arguments_of_a_release_must_not_follow_the_data():
    class Scaled(Laplace):
        def release(self, value, factor=1):
            return factor * Laplace.release(self, value)

    rule = Scaled(epsilon=1, sensitivity=1)

    assert "public arguments" in str(replay(lambda d: rule.release(len(d), len(d)), [], [1]))
    assert not replay(lambda d: rule.release(len(d), 3), [], [1])


def test_distances_are_measured_in_the_norm_of_the_mechanism():
    wide = Gaussian(rho=0.5, sensitivity=2, dimension=4)

    assert not replay(wide.release, [0, 0, 0, 0], [1, 1, 1, 1])
    assert "squared l2" in str(replay(wide.release, [0, 0, 0, 0], [2, 1, 0, 0]))
    vector = Laplace(epsilon=1, sensitivity=2)
    assert "l1 steps" in str(replay(vector.release, [0, 0, 0, 0], [1, 1, 1, 0]))
    assert not replay(vector.release, [0, 0, 0, 0], [1, 0, -1, 0])


def test_distances_of_scores_are_their_largest_and_of_one_sign_where_monotone():
    free, monotone = (ReportNoisyMax(3, epsilon=1, monotone=m) for m in (False, True))

    assert not replay(free.release, [0, 0, 0], [1, -1, 1])
    assert "largest score" in str(replay(free.release, [0, 0, 0], [2, 0, 0]))
    assert "monotone" in str(replay(monotone.release, [0, 0, 0], [1, -1, 1]))


def test_distances_of_raw_rows_count_people():
    vote = ExponentialMechanism(
        ["a", "b"], epsilon=1, utility=lambda rows, output: rows.count(output)
    )

    assert not replay(vote.release, ["a"], ["a", "b"])
    assert "2 rows added" in str(replay(vote.release, ["a"], ["a", "b", "b"]))


def test_rows_may_come_in_any_order_and_as_many_as_a_person_may_have():
    median = SmoothMedian(0, 8, epsilon=1, delta=0.01)
    changed = SmoothMedian(0, 8, epsilon=1, delta=0.01, neighbours=Neighbours.CHANGE_ONE)
    bounds = AutomaticBounds(epsilon=1, max_rows_per_unit=2)

    assert not replay(median.release, [1, 2, 3], [3, 2, 1])
    assert not replay(median.release, [1, 2, 3], [4, 3, 2, 1])
    assert "1 rows added and 1 removed" in str(replay(median.release, [1, 2, 3], [1, 2, 4]))
    assert not replay(changed.release, [1, 2, 3], [1, 2, 4])
    assert "1 rows added" in str(replay(changed.release, [1, 2, 3], [1, 2, 3, 4]))
    assert not replay(bounds.release, [1], [1, 2, 3])
    assert "3 rows added" in str(replay(bounds.release, [1], [1, 2, 3, 4]))


def test_one_person_changes_one_answer_of_a_survey():
    survey = RandomizedResponse(epsilon=1)

    assert not replay(survey.release, [0, 1, 0], [0, 1, 1])
    assert "(answers)" in str(replay(survey.release, [0, 1, 0], [1, 1, 1]))
    assert "shape" in str(replay(survey.release, [0, 1], [0, 1, 1]))


def test_distances_of_keys_count_what_one_person_can_be_under():
    one = KeySelection(epsilon=1, delta=0.01)
    two = KeySelection(epsilon=1, delta=0.01, max_groups_per_unit=2)
    changed = KeySelection(epsilon=1, delta=0.01, neighbours=Neighbours.CHANGE_ONE)
    left, right, moved = {"a": 3}, {"a": 4, "b": 1}, {"a": 2, "b": 1}

    assert "over keys" in str(replay(one.release, left, right))
    assert not replay(two.release, left, right)
    assert "adding one person" in str(replay(two.release, left, moved))
    assert not replay(changed.release, left, moved)
    assert "more than one" in str(replay(two.release, {"a": 3}, {"a": 5}))
    assert "over keys" in str(replay(changed.release, {"a": 1, "b": 1}, {"c": 1, "d": 1}))


def test_as_many_coins_as_rows_are_no_difference_where_a_coin_is_tossed_for_each():
    middle = Quantile(0.5, 0, 8, epsilon=1, neighbours=Neighbours.CHANGE_ONE)
    blocks = SubsampleAggregate(max, blocks=3, aggregate=middle, default=0)

    assert not replay(blocks.release, [1] * 9, [1] * 10)
    assert "2 rows added" in str(replay(blocks.release, [1] * 9, [1] * 11))

    class Wasteful(Laplace):
        def release(self, value):
            noise.below(5, size=value)
            return Laplace.release(self, value)

    assert "random words" in str(replay(Wasteful(epsilon=1, sensitivity=1).release, 9, 10))


def test_a_release_inside_a_release_is_recorded_with_it():
    recorder = Recorder()
    with recorder.recording():
        Histogram(bins=2, epsilon=1).release([3, 4])

    outer, inner = recorder.finished()
    assert type(outer.mechanism) is Histogram
    assert type(inner.mechanism) is Laplace
    assert outer.words == inner.words > 0
    assert "l1 steps" in str(replay(Histogram(bins=2, epsilon=1).release, [0, 0], [1, 1]))


def test_recording_ends_with_its_context_and_bits_are_frozen_inside():
    original = vars(COUNT.__class__.__mro__[1])["release"]
    answers = []
    for _ in range(2):
        with Recorder().recording():
            answers.append([COUNT.release(0) for _ in range(20)])

    assert vars(COUNT.__class__.__mro__[1])["release"] is original
    assert answers[0] == answers[1]
    assert len({repr([COUNT.release(0) for _ in range(20)]) for _ in range(3)}) == 3


def test_each_release_has_bits_of_its_own():
    with Recorder().recording():
        answers = [COUNT.release(0) for _ in range(40)]

    assert len(set(answers)) > 3


class Bare(Mechanism):
    """A mechanism of somebody else's, with a sensitivity or without."""

    guarantee = error = claim = None

    def __init__(self, **facts):
        self.__dict__.update(facts)

    def release(self, value):
        return np.sum(value) + noise.discrete_laplace(1)


def test_an_unknown_mechanism_is_measured_by_the_sensitivity_it_declares():
    assert "(l1)" in str(replay(Bare(sensitivity=1).release, [0, 0], [1, 1]))
    assert not replay(Bare(sensitivity=2).release, [0, 0], [1, 1])
    assert not replay(Bare().release, [0, 0], [9, 9])


@pytest.mark.fresh
def test_fresh_bits_are_not_repeated_by_children():
    assert not repeats(lambda: noise.discrete_laplace(10**6, size=64))
    assert repeats(lambda: 4)


def test_a_child_that_fails_repeats_nothing():
    import os

    parent = os.getpid()

    def only_here():
        if os.getpid() != parent:
            raise RuntimeError
        return 1

    assert not repeats(only_here)


def test_on_other_data_only_what_reaches_a_mechanism_may_differ():
    rule = Laplace(epsilon=1, sensitivity=1)

    def asked(rows):
        return rule.release(len(rows))

    def telling(rows):
        return rule.release(len(rows)), len(rows) > 100

    def on_others(call):
        return compared(observe(call, [0] * 9, Recorder()), call, [0] * 200, lambda *_: iter(()))[0]

    assert "apart" in str(replay(asked, [0] * 9, [0] * 200))
    assert not on_others(asked)
    assert "answer" in str(on_others(telling))
