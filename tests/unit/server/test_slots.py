"""How many questions are computed at a time."""

import threading
import time
from contextlib import ExitStack

import pytest

from discreet.errors import ServiceError
from discreet.server.error_replies import HttpError
from discreet.server.limits import Slots


def test_no_more_are_inside_than_there_are_slots():
    slots, inside, most = Slots(2), [0], [0]
    lock = threading.Lock()

    def work():
        with slots.taken(patience=10):
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            time.sleep(0.01)
            with lock:
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(12)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]

    assert most == [2]


def test_whoever_waits_too_long_is_told_that_the_server_is_busy():
    slots = Slots(1)

    with (
        slots.taken(patience=1),
        pytest.raises(ServiceError, match="busy"),
        slots.taken(patience=0.01),
    ):
        pass

    with slots.taken(patience=0.01):  # the slot came back
        pass


def test_closing_waits_for_those_inside_and_lets_nobody_in():
    slots, begun, done = Slots(1), threading.Event(), []

    def work():
        with slots.taken(patience=1):
            begun.set()
            time.sleep(0.1)
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()

    assert slots.close(grace=5)
    assert done == [True]
    with pytest.raises(ServiceError, match="stopping"), slots.taken(patience=1):
        pass
    thread.join()


def test_closing_does_not_wait_longer_than_its_grace():
    slots = Slots(1)

    with slots.taken(patience=1):
        assert not slots.close(grace=0.01)


def test_one_caller_cannot_take_every_slot():
    slots = Slots(4)
    with ExitStack() as held:
        for _ in range(3):
            held.enter_context(slots.taken(patience=1, caller="ann"))
        with pytest.raises(ServiceError, match="busy"), slots.taken(patience=0.01, caller="ann"):
            pass
        with slots.taken(patience=0.01, caller="ben"):
            pass
        with slots.taken(patience=0.01):
            pass


def test_questions_of_one_caller_that_wait_are_counted():
    slots = Slots(4)
    with slots.taken(patience=1, caller="ann"):
        slots.check("ann", 2)
        slots.check("ben", 1)
        with pytest.raises(HttpError) as refused:
            slots.check("ann", 1)
    slots.check("ann", 1)

    assert refused.value.status == 429


def test_the_next_slot_is_for_whoever_holds_the_fewest():
    slots, order, ends = Slots(2), [], {}

    def work(name):
        with slots.taken(patience=10, caller=name):
            order.append(name)
            ends.setdefault(name, threading.Event()).wait(10)

    def start(name, waiting):
        thread = threading.Thread(target=work, args=(name,))
        thread.start()
        while len(slots._held) + len(slots._waiting) < waiting:
            time.sleep(0.001)
        return thread

    with slots.taken(patience=1):
        threads = [start(name, n) for n, name in enumerate(("ann", "ann", "ann", "ben"), 2)]
        assert order == ["ann"]
    while len(order) < 2:
        time.sleep(0.001)
    assert order == ["ann", "ben"]  # though ann came before
    for name in ("ann", "ben"):
        ends.setdefault(name, threading.Event()).set()
    [thread.join() for thread in threads]


def test_what_nobody_asked_for_gets_a_slot_after_all_others():
    slots, order = Slots(1), []

    def work(name):
        with slots.taken(patience=10, caller=name):
            order.append(name)

    callers = ["", "", "ann", "ann", "ben"]
    with slots.taken(patience=1, caller="ann"):
        threads = [threading.Thread(target=work, args=(name,)) for name in callers]
        for n, thread in enumerate(threads, 1):
            thread.start()
            while len(slots._waiting) < n:
                time.sleep(0.001)
    [thread.join() for thread in threads]

    assert order == ["ben", "ann", "ann", "", ""]


def test_short_questions_do_not_wait_for_long_ones():
    slots = Slots(8, long=2)
    with ExitStack() as held:
        for name in ("eve", "mallory"):
            held.enter_context(slots.taken(patience=1, caller=name, seconds=100.0))
        with (
            pytest.raises(ServiceError, match="busy"),
            slots.taken(patience=0.01, caller="ann", seconds=2.0),
        ):
            pass
        with slots.taken(patience=0.01, caller="ann", seconds=0.1):
            pass


def test_one_caller_has_half_of_the_long_slots():
    slots = Slots(8, long=4)
    with ExitStack() as held:
        for _ in range(2):
            held.enter_context(slots.taken(patience=1, caller="eve", seconds=100.0))
        with (
            pytest.raises(ServiceError, match="busy"),
            slots.taken(patience=0.01, caller="eve", seconds=100.0),
        ):
            pass
        with slots.taken(patience=0.01, caller="ann", seconds=100.0):
            pass


def test_short_questions_have_slots_while_the_processors_are_done_with_them_in_time():
    """Two seconds of bounds are 0.53 usual seconds, which two processors compute in 0.27."""
    slots = Slots(64, room=0.26, processors=2)
    with ExitStack() as held:
        for n in range(4):
            held.enter_context(slots.taken(patience=0.01, caller=f"analyst {n}", seconds=0.5))
        with (
            pytest.raises(ServiceError, match="busy"),
            slots.taken(patience=0.01, caller="ann", seconds=0.01),
        ):
            pass
