"""What an owner states is believed only where it can hold."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.errors import InputError
from discreet.plan.kinds import Kind
from discreet.plan.schema import Bounds, Keys, Limits, column_type


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        (Kind.REAL, float("nan")),
        (Kind.REAL, float("inf")),
        (Kind.REAL, 2**53 + 1),
        (Kind.REAL, 10**400),
        (Kind.INTEGER, 2**63),
        (Kind.TEXT, "\ud800"),
        (Kind.DATE, dt.datetime(2020, 1, 1)),  # noqa: DTZ001 - a time where a day is wanted
        (Kind.TIMESTAMP, dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
    ],
)
def test_keys_that_no_row_can_have_are_refused(kind, key):
    with pytest.raises(InputError, match="engines hold"):
        column_type("x", kind, Keys([key]))


def test_bounds_of_timestamps_have_no_zone():
    moment = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    with pytest.raises(InputError, match="bound of it is a datetime"):
        column_type("x", Kind.TIMESTAMP, Bounds(moment, moment + dt.timedelta(days=1)))


@pytest.mark.parametrize("limits", [(2**40, 2**40), (1, 2**63), (None, 2**31), (2**31, None)])
def test_limits_that_hide_everything_are_refused(limits):
    with pytest.raises(InputError, match="hides everything"):
        Limits(*limits)


@pytest.mark.parametrize(
    "column",
    [
        ["a", "b", "a", None],
        pa.array(["a", "b", "a", None]),
        pa.table({"x": ["a", "b", "a", None]})["x"],
        pd.Series(["a", "b", "a", None]),
        pl.Series(["a", "b", "a", None]),
        np.array(["a", "b", "a", None], dtype=object),
    ],
    ids=["list", "array", "column", "pandas", "polars", "numpy"],
)
def test_keys_can_be_taken_from_a_public_table(column):
    assert Keys.of(column).values == ("a", "b", None)  # noqa: PD011 - our own


def test_keys_of_numbers_are_plain_numbers():
    assert Keys.of(pd.Series([1.5, float("nan"), 1.5])).values == (1.5, None)  # noqa: PD011 - our own
    assert [type(key) for key in Keys.of(np.arange(2)).values] == [int, int]  # noqa: PD011 - our own
