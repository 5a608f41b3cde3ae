"""Questions and the plans that they become, in files that people read."""

import datetime as dt

import pytest

from clinic import CLINIC
from discreet.sql.reader.read import read
from golden_pairs import GOLDEN, read_pairs
from plan_text import plan_text

NOW = dt.datetime(2026, 3, 14, 15, 9, 26, tzinfo=dt.UTC)
FILES = sorted(path.name for path in GOLDEN.glob("read_*.sql"))
PAIRS = [pair for name in FILES for pair in read_pairs(name)]


@pytest.mark.parametrize(("question", "plan"), PAIRS, ids=[question for question, _ in PAIRS])
def test_a_question_becomes_its_plan(question, plan):
    assert plan_text(read(question, CLINIC, NOW)) == plan


@pytest.mark.parametrize("question", [question for question, _ in PAIRS])
def test_semicolons_comments_and_case_of_keywords_change_nothing(question):
    plain = read(question, CLINIC, NOW)
    assert read(question + " ;\n-- the end", CLINIC, NOW) == plain
    assert read(f"/* first */ ({question})", CLINIC, NOW) == plain
    lowered = question.replace("SELECT", "select").replace("FROM", "From").replace("WHERE", "where")
    assert read(lowered, CLINIC, NOW) == plain


def test_there_are_enough_pairs():
    assert len(PAIRS) > 70
