"""Statements are told apart, put together and traced back as a client wrote them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.server.postgres.messages import PostgresError
from discreet.server.postgres.statements import is_question, literals, rewrite, split, unqualified

TABLES = ["visits", "Cities"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        (" ; ;-- nothing\n;/* a /* nested */ ; */", []),
        ("SELECT ';'; SELECT 2", ["SELECT ';'", "SELECT 2"]),
        ("SELECT $a$;$b$;$a$", ["SELECT $a$;$b$;$a$"]),
        ('SELECT "a;""b"', ['SELECT "a;""b"']),
        (r"SELECT E'it\'s;', 'a\'; SELECT 2", [r"SELECT E'it\'s;', 'a\'", "SELECT 2"]),
        ("BEGIN; COMMIT;", ["BEGIN", "COMMIT"]),
    ],
)
def test_statements_end_where_they_end(text, parts):
    assert [one.text for one in split(text)] == parts


@pytest.mark.parametrize(
    "text", ["SELECT 'open", 'SELECT "open', "SELECT E'open\\'", "SELECT $a$ $b$"]
)
def test_a_quote_that_does_not_end_is_told_where_it_begins(text):
    with pytest.raises(PostgresError) as told:
        split(text)
    assert told.value.state == "42601"
    assert text[told.value.position - 1] in "'\"E$"


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("SELECT COUNT(*) FROM visits", True),
        ('SELECT COUNT(*) FROM "public"."visits" AS v', True),
        ("SELECT COUNT(*) FROM pg_class, x JOIN visits ON true", True),
        ("SELECT COUNT(*) FROM nowhere", True),  # refused as unknown, by the reader
        ("SELECT EXTRACT(year FROM day) FROM visits", True),
        ("SELECT 1", False),
        ("SELECT version()", False),
        ("SELECT 'from visits'", False),
        ("SELECT * FROM pg_catalog.pg_class WHERE relname = 'visits'", False),
        ("SELECT * FROM information_schema.tables", False),
        ("WITH c AS (SELECT * FROM pg_class) SELECT * FROM c", False),
        ("SELECT * FROM generate_series(1, 2)", False),
        ("SELECT * FROM information_schema.visits", False),
    ],
)
def test_a_question_is_told_from_a_query_of_the_catalogue(text, asks):
    [statement] = split(text)
    assert is_question(statement, TABLES) is asks


def test_the_schema_is_left_out_and_places_are_those_of_what_was_sent():
    text = "SET a = 1; SELECT COUNT(*) FROM discreet.public.visits WHERE city = $2 AND bad < $1"
    statement = split(text)[1]
    changes, probe = unqualified(statement, TABLES, "discreet")
    found = rewrite(statement, changes | literals(statement, ["10", "'a longer literal'"]))
    assert found.text == "SELECT COUNT(*) FROM visits WHERE city = 'a longer literal' AND bad < 10"
    assert not probe
    for word in ("COUNT", "visits", "city", "bad", "AND"):
        assert found.position(found.text.index(word)) == text.index(word) + 1


def test_a_limit_of_nothing_is_a_probe():
    [statement] = split("SELECT COUNT(*) FROM visits LIMIT 0")
    changes, probe = unqualified(statement, TABLES, "discreet")
    assert probe
    assert rewrite(statement, changes).text.strip() == "SELECT COUNT(*) FROM visits"


def test_a_parameter_that_was_not_bound_is_refused():
    [statement] = split("SELECT COUNT(*) FROM visits WHERE a < $2")
    with pytest.raises(PostgresError, match="parameter"):
        literals(statement, ["1"])
    with pytest.raises(PostgresError, match="too many"):
        assert split("SELECT $9999")[0].parameters


def test_a_statement_does_not_grow_without_end():
    [statement] = split("SELECT " + "$1," * 5000)
    with pytest.raises(PostgresError, match="too long"):
        rewrite(statement, literals(statement, ["'" + "x" * 1000 + "'"]))


@given(st.text("aE_$'\"/*-;. \\\n1", max_size=60))
def test_any_text_is_split_or_refused(text):
    found = []
    with contextlib.suppress(PostgresError):
        found = split(text)
    for one in found:
        assert text[one.start : one.start + len(one.text)] == one.text
