"""Adversarial texts, up to the 60,000 characters a server takes, are planned or refused in 2 s."""

# ruff: noqa: S608 - the questions are made here, of fixed parts

import time

import pytest

from clinic import CLINIC
from discreet.answer.plan.price import Price
from discreet.engines.duckdb_dialect import DuckDBDialect
from discreet.errors import DiscreetError
from discreet.plan import canonical
from discreet.plan.public_facts import reads
from discreet.sql.reader.read import read
from planned import explain

pytestmark = pytest.mark.timed

SECONDS = 2
LENGTHS = (5_000, 34_000, 60_000)
VISITS = "FROM visits"
MANY = f"SELECT {'+'.join(['x'] * 50)} AS x FROM"
SAME = "ON x.patient_id = y.patient_id"


def filled(before, part, between, after, most):
    """As many numbered parts as a text of so many characters has room for."""
    parts, room = [], most - len(before) - len(after)
    while room > 0:
        parts.append(part.format(i=len(parts), p=len(parts) - 1))
        room -= len(parts[-1]) + len(between)
    return before + between.join(parts[:-1]) + after


def chained(part, most):
    """Names that are each given over the one before."""
    first = "WITH b AS (SELECT patient_id, age, city FROM visits), "
    text = filled("", f"b{{i}} AS ({part})", ", ", "", most - len(first) - 40).replace("b-1", "b")
    return f"{first}{text} SELECT COUNT(*) FROM b{text.count(' AS (') - 1}"


CHAINS = {
    "unions": "SELECT * FROM b{p} UNION ALL SELECT * FROM b{p}",
    "joins": f"SELECT x.patient_id, x.age FROM b{{p}} x JOIN b{{p}} y {SAME}",
    "people": f"SELECT x.patient_id, MAX(y.age) AS age FROM b{{p}} x JOIN b y {SAME} GROUP BY 1",
    "filters": "SELECT * FROM b{p} WHERE age > {i}",
    "columns": "SELECT *, age + 1 AS c{i} FROM b{p}",
}
LISTS = {
    "in numbers": (f"SELECT COUNT(*) {VISITS} WHERE age IN (", "{i}", ",", ")"),
    "in texts": (f"SELECT COUNT(*) {VISITS} WHERE city IN (", "'t{i}'", ",", ")"),
    "medians": ("SELECT ", "MEDIAN(age + {i})", ", ", f" {VISITS}"),
    "means": ("SELECT ", "AVG(age + {i})", ", ", f" {VISITS}"),
    "distincts": ("SELECT ", "COUNT(DISTINCT age + {i})", ", ", f" {VISITS}"),
    "counts": ("SELECT ", "COUNT(*) FILTER (WHERE age = {i})", ", ", f" {VISITS}"),
    "outputs": ("SELECT ", "COUNT(*) + {i}", ", ", f" {VISITS}"),
    "keys": (f"SELECT COUNT(*) {VISITS} GROUP BY ", "age + {i}", ", ", ""),
    "orders": (f"SELECT COUNT(*) {VISITS} ORDER BY ", "COUNT(*) + {i}", ", ", ""),
    "having": (f"SELECT COUNT(*) {VISITS} HAVING ", "COUNT(*) <> {i}", " AND ", ""),
    "cases": (
        f"SELECT COUNT(*) {VISITS} WHERE ",
        "CASE WHEN age = {i} THEN urgent END",
        " OR ",
        "",
    ),
    "arms": ("SELECT SUM(CASE ", "WHEN age = {i} THEN {i}", " ", f" ELSE 0 END) {VISITS}"),
    "likes": (f"SELECT COUNT(*) {VISITS} WHERE ", "city LIKE '%a_{i}%b%'", " OR ", ""),
    "concat": (f"SELECT COUNT(*) {VISITS} WHERE CONCAT(", "city, '{i}'", ", ", ") = 'x'"),
    "unused names": ("WITH ", "a{i} AS (SELECT * FROM visits)", ", ", " SELECT COUNT(*) FROM a0"),
    "sources": (
        f"SELECT COUNT(*) {VISITS} v ",
        "JOIN visits v{i} ON v{i}.patient_id = v.patient_id",
        " ",
        "",
    ),
    "conditions": (
        f"SELECT COUNT(*) {VISITS} x JOIN visits y {SAME} AND ",
        "x.age <> y.age + {i}",
        " AND ",
        "",
    ),
    "copies of an answer": (
        f"WITH a AS (SELECT COUNT(*) AS x {VISITS}), b AS ({MANY} a), c AS ({MANY} b) SELECT ",
        "x AS y{i}",
        ", ",
        " FROM c",
    ),
    "subqueries": (f"SELECT COUNT(*) FROM {'(SELECT * FROM ' * 1000}visits", ") x", "", ""),
}


def text_of(kind, most):
    return chained(CHAINS[kind], most) if kind in CHAINS else filled(*LISTS[kind], most)


def plan(text):
    """Read, write down and explain a question, as a server does for nothing."""
    query = read(text, CLINIC)
    written = canonical.write(query)
    canonical.read(written, CLINIC)
    reads(query)
    return len(written) + len(repr(explain(query, DuckDBDialect(), Price(1, 1e-6))))


def seconds(text):
    before = time.process_time()
    try:
        plan(text)
    except DiscreetError as refused:
        assert refused.fix  # noqa: PT017 - a refusal is an answer here
    return time.process_time() - before


@pytest.fixture(scope="module", autouse=True)
def _warm():
    """The parser is loaded with the first question."""
    plan("SELECT AVG(age) FROM visits")


@pytest.mark.parametrize("most", LENGTHS)
@pytest.mark.parametrize("kind", [*CHAINS, *LISTS])
def test_planning_ends_soon(kind, most):
    text = text_of(kind, most)
    assert len(text) <= 60_100
    taken = seconds(text)
    # A busy machine may take longer once, not twice.
    assert taken < SECONDS or seconds(text) < SECONDS
