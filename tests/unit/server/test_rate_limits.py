"""Rates by caller, and how many questions are computed at a time."""

import asyncio
import threading
import time
from contextlib import ExitStack

import pytest

from discreet.errors import ServiceError
from discreet.server.error_replies import HttpError
from discreet.server.rate_limits import ConcurrencyLimit, Slots, TokenBuckets, address


def test_a_bucket_gives_its_burst_and_then_its_rate():
    now = [0.0]
    buckets = TokenBuckets(rate=2, burst=3, clock=lambda: now[0])

    assert [buckets.take("ann") for _ in range(4)] == [0, 0, 0, 0.5]
    now[0] = 0.5
    assert [buckets.take("ann") for _ in range(2)] == [0, 0.5]
    now[0] = 100
    assert [bool(buckets.take("ann")) for _ in range(4)] == [False, False, False, True]


def test_callers_do_not_drink_from_each_others_buckets():
    buckets = TokenBuckets(rate=1, burst=1, clock=lambda: 0.0)

    assert buckets.take("ann") == 0
    assert buckets.take("ben") == 0
    assert buckets.take("ann") > 0


def test_memory_stays_bounded_whoever_comes():
    buckets = TokenBuckets(rate=1, burst=1, clock=lambda: 0.0)

    for i in range(10_500):
        buckets.take(str(i))

    assert len(buckets._levels) == 10_000


def test_a_refusal_says_when_to_come_again():
    buckets = TokenBuckets(rate=0.1, burst=1, clock=lambda: 0.0)
    buckets.check("ann")

    with pytest.raises(HttpError) as refused:
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


def test_a_crowd_lets_in_so_many_of_each_name():
    async def scene():
        crowd = ConcurrencyLimit(1, threads=8)
        async with crowd.joined("ann"), crowd.joined("ben"):
            with pytest.raises(HttpError) as refused:
                await crowd.joined("ann").__aenter__()
            assert refused.value.status == 429
        with pytest.raises(ZeroDivisionError):
            async with crowd.joined("ann"):
                _ = 1 / 0
        async with crowd.joined("ann"):
            pass
        assert not crowd._present
        assert not crowd._served

    asyncio.run(scene())


def test_whoever_has_the_fewest_requests_served_is_let_in_next():
    async def scene():
        crowd, served, end = ConcurrencyLimit(9, threads=2), [], asyncio.Event()

        async def come(name):
            async with crowd.joined(name):
                served.append(name)
                await end.wait()

        tasks = [asyncio.create_task(come(name)) for name in ("ann", "ann", "ann", "ann", "ben")]
        await asyncio.sleep(0.01)
        assert served == ["ann", "ann"]
        tasks[0].cancel()
        tasks[2].cancel()  # which waits, and takes nobody's place with it
        await asyncio.sleep(0.01)
        assert served == ["ann", "ann", "ben"]
        end.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert served[3:] == ["ann"]
        assert not crowd._served

    asyncio.run(scene())


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
    """Two seconds of bounds are 0.4 usual seconds, which two processors compute in 0.2."""
    slots = Slots(64, room=0.19, processors=2)
    with ExitStack() as held:
        for n in range(4):
            held.enter_context(slots.taken(patience=0.01, caller=f"analyst {n}", seconds=0.5))
        with (
            pytest.raises(ServiceError, match="busy"),
            slots.taken(patience=0.01, caller="ann", seconds=0.01),
        ):
            pass
