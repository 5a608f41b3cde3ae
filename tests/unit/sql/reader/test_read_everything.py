"""Nothing of a question is lost: one more clause changes the plan or is refused."""

from functools import cache

import pytest
from sqlglot import exp

from clinic import CLINIC
from discreet.errors import QueryRefused
from discreet.plan.query import Query
from discreet.sql.reader.parse import check_words, parse
from discreet.sql.reader.read import read
from discreet.sql.reader.syntax import Syntax
from golden_pairs import GOLDEN, read_pairs

QUESTIONS = [
    question for path in sorted(GOLDEN.glob("read_*.sql")) for question, _ in read_pairs(path.name)
]
SOME = [
    pytest.param(question, marks=[pytest.mark.audit] * bool(at % 3))
    for at, question in enumerate(QUESTIONS)
]
"""A third meets a clause that is forgotten a hundred times over, and `make audit` asks all."""

BEHIND = [
    "QUALIFY COUNT(*) > 1",
    "FOR UPDATE",
    "LIMIT 3",
    "LIMIT 3 OFFSET 1",
    "OFFSET 1",
    "LIMIT 50%",
    "FETCH FIRST 3 ROWS WITH TIES",
    "WINDOW w AS (PARTITION BY 1)",
    "USING SAMPLE 10",
    "ORDER BY 1 DESC NULLS FIRST",
    "ORDER BY 1 COLLATE nocase",
    "HAVING COUNT(*) > 12345",
    "UNION ALL SELECT 1",
    "UNION SELECT 1",
    "INTERSECT SELECT 1",
    "CLUSTER BY 1",
]


@cache
def meant(question: str) -> Query:
    """What a question means; it is asked about many texts."""
    return read(question, CLINIC)


def changed(question: str, text: str) -> bool:
    """Whether a text is refused or means something else than the question."""
    try:
        return read(text, CLINIC) != meant(question)
    except QueryRefused:
        return True


@pytest.mark.parametrize("question", SOME)
def test_a_clause_behind_is_never_lost(question):
    lost = [clause for clause in BEHIND if not changed(question, f"{question} {clause}")]
    # The same LIMIT, or an order by 1 that stands there already, is no change.
    assert not [clause for clause in lost if clause not in question]


SIGNS = [
    ".",
    ",",
    "*",
    "+",
    "@",
    "(",
    ")",
    "[",
    "AS",
    "ASC",
    "CROSS",
    "NATURAL",
    "IN",
    "ORDER",
    "LIMIT",
]
SHAPES = [
    "SELECT city , COUNT ( * ) AS n FROM visits GROUP BY city ORDER BY n DESC LIMIT 2",
    "SELECT COUNT ( DISTINCT v.patient_id ) FROM visits AS v JOIN tests AS w USING ( patient_id )",
    "WITH t AS ( SELECT city , MAX ( age ) AS m FROM visits GROUP BY 1 ) SELECT AVG ( m ) FROM t",
    "SELECT * FROM ( SELECT city FROM visits ) PIVOT ( COUNT ( * ) FOR city IN ( 'Haifa' , 'a' ) )",
]
LISTED = {"FROM", "GROUP", ")", "WHERE", "ORDER"}
FITTING = {  # a sign between two words that DuckDB reads as if it were not there
    "+": lambda _, after: after[0].isalnum(),
    ",": lambda before, after: before not in {"(", ","} and after in LISTED,
}


@pytest.mark.parametrize("question", SHAPES)
@pytest.mark.parametrize("sign", SIGNS)
def test_a_sign_between_is_never_lost(question, sign):
    words = question.split()
    for at in range(1, len(words)):
        text = " ".join([*words[:at], sign, *words[at:]])
        fits = FITTING.get(sign, lambda *_: False)(words[at - 1], words[at])
        assert fits or changed(question, text), text


def test_names_stand_in_backticks_too():
    plain = "SELECT city, COUNT(*) AS n FROM visits WHERE age > 3 GROUP BY city"
    quoted = "SELECT `city`, COUNT(*) AS `n` FROM `visits` WHERE `visits`.`age` > 3 GROUP BY `city`"
    assert read(quoted, CLINIC) == read(plain, CLINIC)


def test_formats_of_mysql_have_its_letters():
    form = "SELECT COUNT(*) AS n FROM visits WHERE {}(day, '{}') = '2026'"
    for theirs, ours in {"%Y-%m-%d %H:%i:%s": "%Y-%m-%d %H:%M:%S", "%M %e": "%B %-d"}.items():
        mine = form.format("DATE_FORMAT", theirs)
        assert read(mine, CLINIC) == read(form.format("STRFTIME", ours), CLINIC)
    for other in ("%u", "%v %Y", "yyyy-QQ", "%"):
        with pytest.raises(QueryRefused, match="format of dates"):
            read(form.format("DATE_FORMAT", other), CLINIC)


def test_aggregates_of_a_pivot_without_names_are_named_apart():
    text = (
        "SELECT * FROM (SELECT city, cost FROM visits) PIVOT (SUM(cost), COUNT(*) FOR city IN ({}))"
    )
    found = read(text.format("'Haifa', 'Austin'"), CLINIC)
    names = [out.name for out in found.outputs]
    assert names == ["Haifa_sum_cost", "Haifa_count", "Austin_sum_cost", "Austin_count"]


INSIDE = [
    ("SELECT ", "SELECT DISTINCT "),
    ("SELECT ", "SELECT AS STRUCT "),
    ("SELECT ", "SELECT DISTINCT ON (1) "),
    ("FROM visits", "FROM visits TABLESAMPLE 10%"),
    ("FROM visits", "FROM ONLY visits"),
    ("FROM visits", "FROM visits WITH ORDINALITY"),
    ("COUNT(*)", "COUNT(*) OVER ()"),
    ("COUNT(*)", "COUNT(*) FILTER (WHERE age = 77)"),
    ("COUNT(*)", "COUNT(*) IGNORE NULLS"),
    ("COUNT(", "COUNT(DISTINCT "),
    ("JOIN", "NATURAL JOIN"),
    ("JOIN", "ASOF JOIN"),
    ("JOIN", "SEMI JOIN"),
    ("GROUP BY ", "GROUP BY DISTINCT "),
    ("UNION ALL", "UNION"),
    ("UNION ALL", "UNION ALL BY NAME"),
    ("WITH ", "WITH RECURSIVE "),
    ("BETWEEN", "BETWEEN SYMMETRIC"),
    ("BETWEEN", "NOT BETWEEN"),
    (" LIKE", " NOT LIKE"),
    (" IN (", " NOT IN ("),
    (" IS ", " IS NOT "),
    ("::VARCHAR", "::VARCHAR(3)"),
    ("AS BIGINT", "AS SMALLINT"),
    ("TRIM(", "LTRIM("),
    ("DATE_TRUNC('year'", "DATE_TRUNC('month'"),
    ("LN(", "LOG("),
    ("ORDER BY cost)", "ORDER BY cost DESC)"),
]


@pytest.mark.parametrize("question", SOME)
def test_a_clause_inside_is_never_lost(question):
    altered = [question.replace(old, new, 1) for old, new in INSIDE if old in question]
    lost = [text for text in altered if not changed(question, text)]
    assert not [text for text in lost if "NOT NOT" not in text]


def leaves(node):
    """Each part of each node that says something, with a way to take it out."""
    for found in node.walk():
        for name, value in found.args.items():
            if value not in (None, False, []):
                yield found, name


@pytest.mark.parametrize("question", QUESTIONS[::4])
def test_every_part_of_the_tree_has_been_asked_for(question):
    """The record itself is tested: a part that is put into the tree unseen is found."""
    syntax, _ = parse(question)
    seen = Syntax(question, syntax.tree)
    for node, name in leaves(seen.tree):
        seen.part(node, name)
    seen.finish()
    seen.tree.set("into", exp.Into(this=exp.to_identifier("x")))
    with pytest.raises(QueryRefused) as refused:
        seen.finish()
    assert refused.value.code == "statement"


def test_a_word_that_the_parser_drops_is_found():
    question = "SELECT n: COUNT(*) FROM visits"
    syntax, tokens = parse(question)
    assert ":" not in syntax.tree.sql()
    for node, name in leaves(syntax.tree):
        syntax.part(node, name)
    with pytest.raises(QueryRefused) as refused:
        check_words(syntax, tokens)
    assert question[refused.value.start : refused.value.end] == ":"
