"""Questions as text: written in one form, read back as they were, or refused."""

import datetime as dt
import json
from fractions import Fraction

import pytest

from discreet.errors import InputError
from discreet.plan import canonical
from discreet.plan.query import Query
from discreet.sql.reader.read import read
from visits import Limits, schema

TEXTS = [
    "SELECT city, COUNT(*) AS n FROM visits GROUP BY city HAVING COUNT(*) > 3 ORDER BY n LIMIT 2",
    "SELECT country, AVG(amount) AS m FROM visits JOIN cities ON city = name GROUP BY country",
    "SELECT QUANTILE(amount, 0.25) AS q FROM visits WHERE amount > 1.5 AND city LIKE 'H%'",
    """SELECT AVG(n) AS m FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person)""",
    "SELECT COUNT(*) AS n FROM visits WHERE DATE '2024-01-02' < TIMESTAMP '2024-01-02 03:04:05'",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_question_is_read_back_as_it_was(text):
    query = read(text, schema())
    written = canonical.write(query)
    assert canonical.read(written, schema()) == query
    assert canonical.write(canonical.read(written, schema())) == written
    assert written == json.dumps(json.loads(written), sort_keys=True, separators=(",", ":"))


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (Fraction(1, 3), {"fraction": "1/3"}),
        (0.1, {"float": "0x1.999999999999ap-4"}),
        (dt.date(2024, 1, 2), {"date": "2024-01-02"}),
        (dt.datetime(2024, 1, 2, 3, 4, 5), {"datetime": "2024-01-02T03:04:05"}),  # noqa: DTZ001 - no zone
        (
            {"b": 1, "a": (2.0,)},
            {"mapping": [["b", 1], ["a", [{"float": "0x1.0000000000000p+1"}]]]},
        ),
        ((1, None, "x", True), [1, None, "x", True]),
        (Limits(2, None), {"node": "Limits", "max_groups": 2, "max_rows": None}),
    ],
)
def test_values_have_one_form_and_come_back(value, form):
    assert canonical.plain(value) == form
    assert canonical.read_plain(form, schema()) == value


def test_shared_subqueries_stand_once_and_come_back(monkeypatch):
    text = """SELECT COUNT(*) AS n FROM (SELECT person, amount FROM visits WHERE amount > 3) a
        JOIN (SELECT person, MAX(amount) AS m FROM
            (SELECT person, amount FROM visits WHERE amount > 3) b GROUP BY person) c
        ON a.person = c.person"""
    query = read(text, schema())
    monkeypatch.setattr(canonical, "WRITTEN_OUT", 0)
    written = canonical.write.__wrapped__(query)
    assert canonical.read(written, schema()) == query


def test_a_question_about_tables_that_are_described_otherwise_now_is_refused():
    written = canonical.write(read(TEXTS[0], schema()))
    for other in (schema(limits=Limits(1, 1)), type(schema())({})):
        with pytest.raises(InputError, match="a stored question cannot be read"):
            canonical.read(written, other)


def test_what_is_no_question_is_refused():
    with pytest.raises(InputError, match="a stored question cannot be read"):
        canonical.read('{"fraction":"1/3"}', schema())


def test_classes_that_are_not_stored_have_no_tag():
    assert canonical.tag(Query) == "Query"
    with pytest.raises(KeyError):
        canonical.tag(int)
