"""Whatever the text: a query, or a refusal with a place and a hint."""

# ruff: noqa: S608 - the questions are made here, of fixed parts

from hypothesis import given
from hypothesis import strategies as st

from clinic import CLINIC
from discreet.errors import QueryRefused
from discreet.plan.query import Query
from discreet.sql.reader.read import read
from golden_pairs import GOLDEN, read_pairs

QUESTIONS = [q for path in sorted(GOLDEN.glob("read_*.sql")) for q, _ in read_pairs(path.name)]
REFUSED = (GOLDEN / "refused.txt").read_text(encoding="utf-8").splitlines()
WORDS = sorted({word for text in [*QUESTIONS, *REFUSED] for word in text.split()})
SIGNS = list("()[]{},;.:'\"*+-/%<>=|&~^@#$?!\\ \n\t\0")


def outcome(text):
    found = answered(text)
    if isinstance(found, QueryRefused):
        assert 0 <= found.start <= found.end <= len(text)
        assert found.code != "unreadable", text
        assert all((found.what, found.why, found.fix))
        return None
    assert isinstance(found, Query)
    return found


def answered(text):
    try:
        return read(text, CLINIC)
    except QueryRefused as error:
        return error


@given(st.lists(st.sampled_from(WORDS) | st.sampled_from(SIGNS), max_size=25))
def test_soups_of_words_are_read_or_refused(words):
    outcome("SELECT " + " ".join(words))


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    outcome(text)
    outcome("SELECT COUNT(*) FROM visits WHERE " + text)


@given(st.sampled_from(QUESTIONS), st.data())
def test_altered_questions_are_read_or_refused(question, data):
    words = question.split()
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(words) - 1))
        other = data.draw(st.sampled_from(WORDS) | st.sampled_from(SIGNS) | st.just(""))
        words[at] = data.draw(st.sampled_from([other, f"{words[at]} {other}", words[at][:-1]]))
    outcome(" ".join(words))


@given(st.sampled_from(QUESTIONS), st.data())
def test_questions_cut_short_are_read_or_refused(question, data):
    start = data.draw(st.integers(0, len(question)))
    end = data.draw(st.integers(start, len(question)))
    outcome(question[:start] + question[end:])


@given(st.sampled_from(QUESTIONS))
def test_reading_twice_gives_the_same_question(question):
    assert outcome(question) == outcome(question)


@given(st.sampled_from(QUESTIONS), st.text(alphabet=" \n\t\r", min_size=1, max_size=4))
def test_white_space_means_nothing(question, space):
    if "'" not in question:
        assert outcome(question.replace(" ", space)) == outcome(question)
