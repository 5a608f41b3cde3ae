"""What owners say over the wire is read as strictly as what they say in Python."""

import datetime as dt
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from discreet.errors import InputError
from discreet.plan.kinds import Kind
from discreet.plan.schema import Bounds, EachRow, KeyPath, Keys, Limits
from discreet.server.table_models import BudgetBody, TableBody

SAID = {"name": "visits", "upload": "0" * 32, "unit": "id", "budget": {"epsilon": 1}}


def read(kinds=None, **more):
    return TableBody.model_validate(SAID | more).facts(kinds or {})


def test_units_come_in_three_forms():
    assert read()["unit"] == "id"
    assert read(unit={"column": "a", "table": "b", "key": "c"})["unit"] == KeyPath("a", "b", "c")
    assert read(unit={"each_row": True})["unit"] == EachRow()


@pytest.mark.parametrize(
    ("kind", "keys", "found"),
    [
        (Kind.INTEGER, ["1", 2], (1, 2)),
        (Kind.REAL, ["1.5", 2.5], (1.5, 2.5)),
        (Kind.BOOLEAN, ["true", False], (True, False)),
        (Kind.DATE, ["2024-12-31"], (dt.date(2024, 12, 31),)),
        (None, [{"date": "2024-12-31"}], (dt.date(2024, 12, 31),)),
        (Kind.TIMESTAMP, ["2024-12-31T12:00:00"], (dt.datetime(2024, 12, 31, 12),)),  # noqa: DTZ001 - timestamps have no zone
        (Kind.TEXT, ["1", None], ("1", None)),
        (None, ["1"], ("1",)),
    ],
)
def test_keys_that_were_typed_are_of_the_kind_of_their_column(kind, keys, found):
    columns = read({} if kind is None else {"x": kind}, columns={"x": {"keys": keys}})["columns"]

    assert columns == {"x": Keys(found)}
    assert [type(one) for one in columns["x"].values] == [type(one) for one in found]


@pytest.mark.parametrize(
    ("kind", "key"), [(Kind.INTEGER, "nine"), (Kind.BOOLEAN, "maybe"), (Kind.DATE, "31/12/2024")]
)
def test_keys_of_another_kind_are_refused_unquoted(kind, key):
    with pytest.raises(InputError) as refused:
        read({"x": kind}, columns={"x": {"keys": [key]}})

    assert key not in str(refused.value)


def test_bounds_and_budgets_are_exact():
    assert read(columns={"x": {"bounds": ["0.1", 2]}})["columns"]["x"] == Bounds(Fraction(1, 10), 2)
    assert BudgetBody(epsilon=0.1, delta="1/3").read().epsilon == Fraction(1, 10)
    assert BudgetBody(rho="1/3").read().rho == Fraction(1, 3)


@pytest.mark.parametrize(
    "column", [{}, {"bounds": [0, 1], "keys": [1]}, {"bounds": None, "keys": None}]
)
def test_a_column_has_bounds_or_keys(column):
    with pytest.raises(InputError, match="about x cannot be read"):
        read(columns={"x": column})


@pytest.mark.parametrize(
    "wrong",
    [
        {"unit": {"each_row": False}},
        {"unit": 7},
        {"unit": {}},
        {"limits": {"max_rows": 0}},
        {"limits": {"max_rows": "1"}},
        {"columns": {"x": {"bounds": [1]}}},
        {"columns": {"x": {"keys": []}}},
        {"columns": {"x": {"keys": [[1]]}}},
        {"columns": {"x": {"keys": [{"day": "2024-12-31"}]}}},
        {"columns": {"x": {"keys": [{"date": "2024-12-31", "datetime": "2024-12-31"}]}}},
        {"columns": {"x": 1}},
        {"kinds": {"x": "blob"}},
        {"budget": {"epsilon": True}},
        {"budget": 3},
        {"surprise": 1},
    ],
)
def test_other_shapes_are_refused(wrong):
    with pytest.raises(ValidationError):
        TableBody.model_validate(SAID | wrong)


@pytest.mark.parametrize(
    "budget", [{}, {"epsilon": 1, "rho": 1}, {"epsilon": 0}, {"epsilon": "nan"}, {"epsilon": "x"}]
)
def test_senseless_budgets_are_refused(budget):
    with pytest.raises(InputError):
        BudgetBody.model_validate(budget).read()


def test_limits_may_be_left_open():
    assert read()["limits"] == Limits()
    assert read(limits={"max_groups": 2, "max_rows": 3})["limits"] == Limits(2, 3)


def test_kinds_come_from_the_header_and_then_from_the_owner(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [1], "x": ["7"]}), path)

    found = TableBody.model_validate(SAID | {"kinds": {"x": "integer"}}).kinds_in(path)

    assert found == {"id": Kind.INTEGER, "x": Kind.INTEGER}
