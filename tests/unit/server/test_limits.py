"""Rates by caller, and how many requests of a name are served at once."""

import asyncio

import pytest

from discreet.server.error_replies import HttpError
from discreet.server.limits import ConcurrencyLimit, TokenBuckets, address


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
