"""Questions about Adult as an analyst types them: each is answered at the first try."""

from pathlib import Path

import pytest

from adult import adult_curator

LINES = (Path(__file__).parents[2] / "golden" / "ordinary_questions.sql").read_text().splitlines()
QUESTIONS = {
    line.removeprefix("-- "): sql for line, sql in zip(LINES[0::2], LINES[1::2], strict=True)
}


@pytest.fixture(scope="module")
def curator():
    """One curator for all questions."""
    return adult_curator()


def test_there_are_twenty_five_of_them():
    assert len(QUESTIONS) == 25


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_ordinary_question_is_answered_at_the_first_try(curator, name):
    answer = curator.sql(QUESTIONS[name], epsilon=1)
    assert answer.table.num_rows > 0
