"""Malformed and hostile texts: refused by name, with a place and a hint, quickly; never a crash."""

# ruff: noqa: S608 - the questions are made here, of fixed parts

import logging
import time
from contextlib import suppress

import pytest

from clinic import CLINIC
from discreet.errors import InputError, InvariantBroken, QueryRefused
from discreet.sql.reader import read as reader
from discreet.sql.reader.read import read
from discreet.sql.reader.syntax import Syntax
from golden_pairs import GOLDEN

LINES = (GOLDEN / "refused.txt").read_text(encoding="utf-8").splitlines()
REFUSED = [tuple(line.split(": ", 1)) for line in LINES if line and not line.startswith("# ")]

ODD = {
    "empty": "",
    "blank": " \n\t ",
    "nul": "SELECT COUNT(*) FROM visits WHERE city = 'a\0b' AND \0",
    "surrogate": "SELECT COUNT(*) FROM visits WHERE city = '\ud800'",
    "right to left": "SELECT COUNT(*) FROM \u202evisits",
    "wide digits": "SELECT COUNT(*) FROM visits WHERE age > \uff11\uff12",
    "arabic digits": "SELECT COUNT(*) FROM visits WHERE age > \u0663",
    "fullwidth letters": "\uff33ELECT COUNT(*) FROM visits",
    "emoji": "SELECT \U0001f600 FROM visits",
    "newlines": "SELECT\n\n\nCOUNT(*)\r\nFROM\r\nnowhere",
    "long text": "SELECT COUNT(*) FROM visits WHERE age IN (" + "1," * 500_000 + "1)",
    "many tokens": "SELECT COUNT(*) FROM visits WHERE age IN (" + "1," * 40_000 + "1)",
    "long name": "SELECT COUNT(*) FROM visits WHERE " + "a" * 90_000 + " = 1",
    "long number": "SELECT COUNT(*) FROM visits WHERE age = " + "1" * 90_000,
    "open quotes": "SELECT COUNT(*) FROM visits WHERE city = " + "'" * 90_001,
    "indexes": "SELECT a" + "[a]" * 6000,
    "indexes of NULL": "SELECT " + "[[a]]is null " * 2000,
    "too many names in brackets": "SELECT " + "[a]," * 24_000,
    "open comments": "SELECT COUNT(*) FROM visits " + "/*" * 45_000,
}
NESTED = {
    "patterns": ("(", "city", " LIKE ANY ('a%', 'b%'))"),
    "parts of texts": ("(STRING_SPLIT(", "city", ", 'i'))[2]"),
    "parts of sums": ("RATIO_TO_REPORT(", "age", ") OVER ()"),
    "parentheses": ("(", "age", ")"),
    "open parentheses": ("(", "age", ""),
    "functions": ("ABS(", "age", ")"),
    "coalesce": ("COALESCE(", "age", ", 1)"),
    "case": ("CASE WHEN urgent THEN ", "age", " END"),
    "cast": ("CAST(", "age", " AS BIGINT)"),
    "not": ("NOT ", "urgent", ""),
    "minus": ("- ", "age", ""),
    "plus": ("age + ", "age", ""),
    "pipes": ("city || ", "city", ""),
    "in": ("age IN (", "1", ")"),
    "brackets": ("[", "1", "]"),
    "braces": ("{'a': ", "1", "}"),
    "subqueries": ("(SELECT ", "1", ")"),
    "exists": ("EXISTS (SELECT 1 WHERE ", "1", ")"),
    "lambdas": ("f(x -> ", "1", ")"),
    "distinct": ("urgent IS DISTINCT FROM ", "urgent", ""),
    "dots": ("a.", "a", ""),
    "interval": ("INTERVAL ", "1", ""),
}


ASK = "SELECT COUNT(*) FROM visits WHERE 1 = "


def refusal(text):
    with pytest.raises(QueryRefused) as refused:
        read(text, CLINIC)
    error = refused.value
    assert 0 <= error.start <= error.end <= len(text)
    assert error.start < error.end or not text
    assert error.code
    assert min(map(len, (error.what, error.why, error.fix))) > 4
    return error


@pytest.mark.parametrize(("code", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_a_text_is_refused_with_its_reason_place_and_hint(code, text):
    assert refusal(text).code == code


def test_there_are_more_than_two_hundred_such_texts():
    assert len({text for _, text in REFUSED}) > 300


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_texts_are_refused_quickly(text):
    before = time.process_time()
    assert refusal(text).code != "unreadable"
    assert time.process_time() - before < 1.5


@pytest.mark.parametrize("depth", [61, 300, 10_000])
@pytest.mark.parametrize(("before", "inside", "after"), NESTED.values(), ids=NESTED)
def test_deep_texts_are_refused_quickly(before, inside, after, depth):
    start = time.process_time()
    refusal(ASK + before * depth + inside + after * depth)
    assert time.process_time() - start < 3


@pytest.mark.parametrize("depth", [10, 20, 40])
@pytest.mark.parametrize(("before", "inside", "after"), NESTED.values(), ids=NESTED)
def test_nesting_does_not_take_exponential_time(before, inside, after, depth):
    start = time.process_time()
    with suppress(QueryRefused):
        read(ASK + before * depth + inside + after * depth, CLINIC)
    assert time.process_time() - start < 3


def test_long_chains_of_conditions_are_answered():
    ands = " AND ".join(f"age <> {number}" for number in range(1000))
    query = read("SELECT COUNT(*) FROM visits WHERE " + ands, CLINIC)
    assert len(query.relation.predicate.arguments) == 1000


def test_the_parser_is_not_heard():
    """A warning of the parser would print the question into somebody's log."""
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    logger = logging.getLogger("sqlglot")
    logger.addHandler(handler)
    try:
        for _, text in REFUSED:
            with pytest.raises(QueryRefused):
                read(text, CLINIC)
    finally:
        logger.removeHandler(handler)
    assert not records


@pytest.mark.parametrize(
    "fault", [KeyError("x"), AttributeError(), RecursionError(), MemoryError()]
)
def test_a_fault_of_the_reader_is_a_refusal(monkeypatch, fault):
    def fail(*_):
        raise fault

    monkeypatch.setattr(reader, "_read", fail)
    error = refusal("SELECT COUNT(*) FROM visits")
    assert error.code in {"unreadable", "too_deep"}
    assert error.__context__ is None


def test_a_broken_invariant_is_not_masked(monkeypatch):
    def fail(*_):
        raise InvariantBroken("x", why="y", fix="z")

    monkeypatch.setattr(reader, "_read", fail)
    with pytest.raises(InvariantBroken):
        read("SELECT COUNT(*) FROM visits", CLINIC)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT COUNT(*) FROM visits WHERE REGEXP_MATCHES(city, '^[Z-A]')", "not understood here"),
        ("SELECT * FROM cities a NATURAL JOIN cities b", "NATURAL join of answers"),
        (
            "SELECT STDDEV((SELECT SUM(cost) FROM visits WHERE patient_id = p.id)) FROM patients p",
            "a sum of one person's rows",
        ),
    ],
)
def test_a_refusal_gives_the_true_reason(text, said):
    assert said in refusal(text).what


def test_what_is_suggested_for_a_correlated_sum_keeps_null_and_is_answered():
    value = "(SELECT SUM(cost) FROM visits v WHERE v.patient_id = p.id)"
    hint = refusal(f"SELECT STDDEV({value}) FROM patients p").fix
    instead = f"SELECT STDDEV(CASE WHEN {value} IS NOT NULL THEN LEAST({value}, 1000) END)"
    assert hint.endswith(f"{instead} FROM patients p")
    assert read(f"{instead} FROM patients p", CLINIC)


def test_differences_of_differences_are_read_once(monkeypatch):
    looked = []
    monkeypatch.setattr(Syntax, "look_at", lambda _, parts, __: looked.append(parts))
    for nested in (7, 14):
        read(f"{ASK}{'YEAR(day - ' * nested}1{')' * nested}", CLINIC)
        looked.append(0)
    once = looked.index(0)
    assert len(looked) - once < 4 * once


@pytest.mark.parametrize("text", [None, 3, b"SELECT COUNT(*) FROM visits", ["SELECT"]])
def test_what_is_no_text_is_bad_input(text):
    with pytest.raises(InputError):
        read(text, CLINIC)


@pytest.mark.parametrize(
    ("refused", "instead"),
    [
        (
            "SELECT COUNT(DISTINCT (cost, city)) FROM visits",
            "CAST(x AS BIGINT)",
        ),
        ("SELECT COUNT(*) FROM visits WHERE DATE_DIFF('era', day, seen) = 1", "DATE_DIFF('day', "),
        (
            "SELECT COUNT(*) FROM visits SEMI JOIN patients ON city = sex",
            "patient_id = patients.id",
        ),
        ("SELECT SUM(visit_id) FROM visits", "LEAST(GREATEST("),
    ],
)
def test_what_a_hint_says_to_ask_instead_is_answered(refused, instead):
    working = {
        "COUNT(DISTINCT": "SELECT COUNT(DISTINCT (CAST(cost AS BIGINT), city)) FROM visits",
        "DATE_DIFF": "SELECT COUNT(*) FROM visits WHERE DATE_DIFF('day', day, seen) = 1",
        "SEMI": "SELECT COUNT(*) FROM visits SEMI JOIN patients"
        " ON city = sex AND visits.patient_id = patients.id",
        "SUM": "SELECT SUM(LEAST(GREATEST(visit_id, 0), 100)) FROM visits",
    }
    with pytest.raises(QueryRefused) as caught:
        read(refused, CLINIC)
    hint = caught.value.fix.replace("a AS", "age AS").replace("b AS", "city AS")
    assert instead in hint
    assert read(next(text for word, text in working.items() if word in refused), CLINIC)
