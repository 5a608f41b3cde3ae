"""What an owner says about data is read back as it was said; whatever else comes is refused."""

import datetime as dt
import json
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from clinic_curator import ABOUT, BUDGET, add_cities, add_visits
from discreet.curator.client import declarations
from discreet.errors import InputError
from visits import clinic


@pytest.fixture(scope="module")
def curator():
    with dp.Curator.in_memory() as made:
        add_cities(add_visits(made))
        made.add("orders", clinic(20), **{**ABOUT, "limits": None}, dataset="visits")
        yield made


def through(facts):
    """Over the wire and back."""
    return json.loads(json.dumps(facts, allow_nan=False))


def test_what_is_said_about_data_is_exact(curator):
    schema, datasets, neighbours = declarations.read_schema(
        through(declarations.write_schema(curator))
    )

    assert (schema, datasets, neighbours) == (
        curator.schema,
        curator.datasets(),
        curator.neighbours,
    )


def test_where_rows_are_does_not_travel(tmp_path):
    with dp.Curator(tmp_path / "secret-place") as curator:
        add_visits(curator)
        text = json.dumps(declarations.write_schema(curator))

    assert "secret-place" not in text
    assert not any(word in text for word in ("fingerprint", "stamp", "source"))


UNITS = ["person", dp.KeyPath("visit", "visits", "id"), dp.EachRow()]


@pytest.mark.parametrize("unit", UNITS)
def test_units_travel(unit):
    assert declarations.read_unit(through(declarations.write_unit(unit))) == unit


COLUMNS = {
    "age": dp.Bounds(0, Fraction(1, 3)),
    "day": dp.Bounds(dt.date(2020, 1, 1), dt.date(2025, 12, 31)),
    "seen": dp.Bounds(dt.datetime(2020, 1, 1, 12), dt.datetime(2021, 1, 1)),  # noqa: DTZ001
    "city": dp.Keys(["Austin", None, "2020-01-01"]),
    "n": dp.Keys([1, 2]),
    "on": dp.Keys([dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 1)]),  # noqa: DTZ001
}


def test_bounds_and_keys_travel():
    assert declarations.read_columns(through(declarations.write_columns(COLUMNS))) == COLUMNS


def test_people_may_write_dates_as_text():
    assert declarations.read_columns({"day": {"bounds": ["2020-01-01", "2020-12-31"]}}) == {
        "day": dp.Bounds(dt.date(2020, 1, 1), dt.date(2020, 12, 31))
    }


@pytest.mark.parametrize(
    "said",
    [
        None,
        {},
        {"bounds": [1]},
        {"bounds": ["x", 1]},
        {"bounds": ["2020-99-99", 1]},
        {"keys": 7},
        {"keys": [{"date": "x"}]},
        {"keys": [[1]]},
        {"bounds": [None, 1]},
        {"bounds": [0, 1], "keys": [1]},
    ],
)
def test_what_says_nothing_about_a_column_is_refused(said):
    with pytest.raises(InputError):
        declarations.read_columns({"x": said})


@pytest.mark.parametrize("budget", [BUDGET, dp.Budget(epsilon=Fraction(1, 3)), dp.Budget(rho=0.5)])
def test_budgets_are_exact(budget):
    assert declarations.read_budget(through(declarations.write_budget(budget))) == budget


@pytest.mark.parametrize("facts", [{}, {"epsilon": 1, "rho": 1}, {"epsilon": "x"}, {"epsilon": 0}])
def test_what_is_no_budget_is_refused(facts):
    with pytest.raises(InputError):
        declarations.read_budget(facts)


def test_keys_that_are_dates_are_dates_in_a_file_of_declarations_too(tmp_path):
    days = dp.Keys([dt.date(2024, 1, 1), dt.date(2024, 2, 1)])
    rows = pa.table({"id": [1, 2], "day": list(days.values)})
    report = dp.describe(rows, unit="id", columns={"day": days})
    text = declarations.write_declarations(report, "visits", "visits.parquet")
    file = tmp_path / "visits.yaml"
    file.write_text(text.replace("confirmed: false", "confirmed: true"))

    [told] = declarations.read_declarations(file)

    assert told.facts["columns"] == {"day": days}
