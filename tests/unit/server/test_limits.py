"""Rates by caller, and how many questions are computed at a time."""

import threading
import time
from contextlib import ExitStack

import pytest

from discreet.errors import ServiceError
from discreet.server.limits import Buckets, Crowd, Slots, address
from discreet.server.replies import Refusal


def test_a_bucket_gives_its_burst_and_then_its_rate():
    now = [0.0]
    buckets = Buckets(rate=2, burst=3, clock=lambda: now[0])

    assert [buckets.take("ann") for _ in range(4)] == [0, 0, 0, 0.5]
    now[0] = 0.5
    assert [buckets.take("ann") for _ in range(2)] == [0, 0.5]
    now[0] = 100
    assert [bool(buckets.take("ann")) for _ in range(4)] == [False, False, False, True]


def test_callers_do_not_drink_from_each_others_buckets():
    buckets = Buckets(rate=1, burst=1, clock=lambda: 0.0)

    assert buckets.take("ann") == 0
    assert buckets.take("ben") == 0
    assert buckets.take("ann") > 0


def test_memory_stays_bounded_whoever_comes():
    buckets = Buckets(rate=1, burst=1, clock=lambda: 0.0)

    for i in range(10_500):
        buckets.take(str(i))

    assert len(buckets._levels) == 10_000


def test_a_refusal_says_when_to_come_again():
    buckets = Buckets(rate=0.1, burst=1, clock=lambda: 0.0)
    buckets.check("ann")

    with pytest.raises(Refusal) as refused:
        buckets.check("ann")

    assert refused.value.status == 429
    assert int(refused.value.headers["Retry-After"]) >= 10


def test_one_household_is_one_address():
    assert address(("2001:db8::1", 1)) == address(("2001:db8::ffff:1", 2))
    assert address(("2001:db8::1", 1)) != address(("2001:db8:0:1::1", 1))
    assert address(("10.0.0.1", 1)) != address(("10.0.0.2", 1))
    assert address(("fe80::1%eth0", 1)) == "fe80::"
    assert address(None) == "nowhere"
    assert address(("testclient", 1)) == "testclient"


def test_a_crowd_lets_in_so_many_of_each_caller():
    crowd = Crowd(1)

    with crowd.joined("ann"), crowd.joined("ben"):
        with pytest.raises(Refusal) as refused, crowd.joined("ann"):
            pass
        assert refused.value.status == 429
    with pytest.raises(ZeroDivisionError), crowd.joined("ann"):
        _ = 1 / 0
    with crowd.joined("ann"):
        pass
    assert not crowd._inside


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
        with pytest.raises(Refusal) as refused:
            slots.check("ann", 1)
    slots.check("ann", 1)

    assert refused.value.status == 429
