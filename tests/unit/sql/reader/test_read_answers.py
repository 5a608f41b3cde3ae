"""Whole questions, without noise: DuckDB's answer to the text beside the answer of its plan.

Joins, groups per person, unions, grouping sets, HAVING, values over aggregates, and tables of
answers are compared on data where every row has an owner and no value leaves its bounds.
"""

import pytest

from clinic import CLINIC
from discreet.sql.reader.read import read
from golden_pairs import read_pairs
from plain_answers import answered, clinic_tables, tidy


@pytest.fixture(scope="module")
def engine():
    return clinic_tables()


FILES = ["read_aggregates.sql", "read_groups.sql", "read_rows.sql"]
FILES += ["read_composed.sql", "read_tables.sql"]
ELSEWHERE = [
    "LIMIT",  # which rows it keeps depends on the order
    "_CONT(age, [",  # a list there, columns here
    "_CONT([",
    "QUANTILE(age",  # the discrete one there
    "WIDTH_BUCKET",  # unknown there
    "FETCH",  # as LIMIT
    "HISTOGRAM",  # a map there, columns here
    "MODE(city)",  # of declared keys here
    "MEDIAN(n)",  # between two values there, between their logarithms here
]
QUESTIONS = [
    question
    for name in FILES
    for question, _ in read_pairs(name)
    if not any(word in question for word in ELSEWHERE)
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_plan_answers_what_was_asked(engine, question):
    engine.execute("SET schema = 'plain'")
    theirs = engine.execute(question).fetchall()
    engine.execute("SET schema = 'data'")
    ours = answered(engine, read(question, CLINIC))
    assert tidy(ours) == tidy(theirs)
