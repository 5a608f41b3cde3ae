"""Values as plain JSON by the types of their fields, and back."""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Any, Literal

import pytest

from discreet.plain_json import from_fields, from_plain, to_fields, to_plain


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Inner:
    share: Fraction
    day: dt.date | None = None


class Own:
    """Written and read by itself."""

    def __init__(self, text):
        self.text = text

    def to_dict(self):
        return {"own": self.text}

    @staticmethod
    def from_dict(stored):
        return Own(stored["own"])

    def __eq__(self, other):
        return self.text == other.text

    __hash__ = None


@dataclass(frozen=True)
class Outer:
    name: str
    colour: Colour
    inner: Inner
    pair: tuple[int, Fraction]
    many: tuple[Inner, ...]
    listed: Sequence[Fraction]
    by_name: Mapping[str, Fraction]
    moment: dt.datetime
    own: Own
    anything: Any
    either: int | str | None
    word: Literal["a", "b"]
    size: int = field(init=False, default=3)


VALUE = Outer(
    "a",
    Colour.RED,
    Inner(Fraction(1, 3), dt.date(2026, 1, 31)),
    (2, Fraction(1, 7)),
    (Inner(Fraction(1)), Inner(Fraction(-2, 5))),
    [Fraction(1, 2)],
    {"x": Fraction(10**30, 7)},
    dt.datetime(2026, 1, 31, 23, 59, 0, 5, dt.UTC),
    Own("t"),
    [1, {"a": None}],
    "text",
    "b",
)


def test_what_is_written_reads_back_as_it_was():
    through = json.loads(json.dumps(to_plain(VALUE)))
    assert from_plain(Outer, through) == VALUE
    assert from_fields(Outer, through) == VALUE
    assert to_fields(VALUE).keys() == through.keys()
    assert "size" not in through
    assert through["pair"] == [2, "1/7"]
    assert through["moment"] == "2026-01-31T23:59:00.000005+00:00"


def test_a_number_is_written_without_its_point_where_json_has_none():
    assert from_plain(float, 3) == 3


def test_a_place_may_write_and_read_some_types_in_its_own_way():
    written = to_plain(VALUE.many, {Inner: lambda one: str(one.share)})
    assert written == ["1", "-2/5"]
    back = from_plain(tuple[Inner, ...], written, {Inner: lambda text: Inner(Fraction(text))})
    assert back == VALUE.many


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (Fraction, "1/0"),
        (Inner, {"share": "1/3", "colour": "red"}),  # a field that it does not have
        (Inner, {}),
        (Fraction, "1e400000000"),
        (Fraction, 0.1),
        (Colour, "blue"),
        (tuple[int, Fraction], [1]),
        (dt.date, "tomorrow"),
        (Mapping[str, Fraction], ["1/3"]),
        (Fraction, None),
        (Inner, "text"),
        (Inner, 5),
        (tuple[Inner, ...], "text"),
        (tuple[Inner, ...], 5),
        (tuple[str, ...], "text"),
        (Sequence[str], {"a": 1}),
        (tuple[str, str], "ab"),
        (Mapping[str, int], [["a", 1]]),
        (int, True),
        (int, "3"),
        (int, 3.0),
        (str, 3),
        (str, None),
        (bool, 1),
        (float, "nan"),
        (float, True),
        (int | None, "3"),
    ],
)
def test_anything_else_is_one_of_the_errors_that_readers_refuse(kind, stored):
    with pytest.raises((LookupError, TypeError, ValueError)):
        from_plain(kind, stored)
