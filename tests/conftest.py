"""How tests are collected, and which cases Hypothesis tries."""

import gc
import os

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

COMMON = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.register_profile("discreet", COMMON, derandomize=True)
settings.register_profile("fresh", COMMON, derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "discreet"))


LONGEST = {"test_spark.py", "test_steady.py"}
"""One test each, which takes longest: begun last, it would be waited for alone."""


def pytest_collection_modifyitems(items):
    """The longest tests come first; a bound on a time is missed only if it is three times running.

    A machine that does something else is late once; what is slow is slow each time.
    """
    items.sort(key=lambda item: item.path.name not in LONGEST)
    for item in items:
        if item.get_closest_marker("timed"):
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=2))


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Imports and 16,000 tests are no garbage: looking for some among them takes seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure():
    """What was frozen is freed at the end: libraries complain about what is left."""
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Tests hold no examples: looking for some would import every file of theirs a second time."""
    collectors = yield
    return [found for found in collectors if not isinstance(found, DoctestModule)]
