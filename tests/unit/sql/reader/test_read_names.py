"""What a name means, whom a column identifies, and where a refusal points."""

# ruff: noqa: S608 - the questions are made here, of fixed parts

import pytest

from clinic import CLINIC, FAMILIES
from discreet.errors import InputError, QueryRefused
from discreet.plan.kinds import Kind, Type
from discreet.plan.query import AggregateFunction
from discreet.plan.relations import JoinPerson, PerPerson, Scan
from discreet.plan.schema import KeyPath, Person, Schema, Table
from discreet.plan.summaries import PersonAggregate, Summary
from discreet.sql.reader.read import read
from discreet.sql.reader.syntax import PERSON, identities, nearest
from plan_text import expression_text


def refused(text, schema=CLINIC):
    with pytest.raises(QueryRefused) as caught:
        read(text, schema)
    error = caught.value
    return error, text[error.start : error.end]


def test_the_column_of_the_unit_identifies_people():
    tables = CLINIC.tables
    assert identities(CLINIC, tables["visits"], "patient_id") == {PERSON}
    assert identities(CLINIC, tables["visits"], "city") == frozenset()
    assert identities(CLINIC, tables["tests"], "patient") == {PERSON, ("patients", "id")}
    assert identities(CLINIC, tables["purchases"], "buyer") == {("families", "member")}
    assert identities(CLINIC, FAMILIES, "member") == {("families", "member")}
    assert identities(CLINIC, FAMILIES, "household") == {PERSON}


def test_a_key_that_may_be_null_does_not_group_by_person():
    """Rows without a key belong to different people, and SQL puts them into one group."""
    loose = Table("families", {**FAMILIES.columns, "member": Type(Kind.INTEGER)}, FAMILIES.unit)
    purchases = CLINIC.tables["purchases"]
    question = "SELECT SUM(m) FROM (SELECT member, MAX(size) AS m FROM families GROUP BY member)"
    strict = read(question, CLINIC)
    assert isinstance(strict.relation, PerPerson)
    error, _ = refused(question, Schema({"families": loose, "purchases": purchases}))
    assert error.code == "nested_answer"


def test_the_outer_side_of_a_left_join_does_not_group_by_person():
    error, _ = refused(
        "SELECT COUNT(*) FROM (SELECT p.id FROM visits v LEFT JOIN patients p "
        "ON v.patient_id = p.id GROUP BY p.id)"
    )
    assert error.code == "nested_answer"


def test_an_equality_with_the_outer_side_is_kept():
    query = read(
        "SELECT COUNT(*) FROM visits v LEFT JOIN patients p ON v.patient_id = p.id AND p.sex = 'f' "
        "JOIN tests t ON t.patient = p.id",
        CLINIC,
    )
    assert isinstance(query.relation, JoinPerson)
    ((left, right),) = query.relation.on
    assert (expression_text(left), expression_text(right)) == ("id", "patient")


def test_paths_of_several_steps_name_the_person_by_their_keys():
    number = Type(Kind.INTEGER, nullable=False)
    schema = Schema(
        {
            "people": Table("people", {"id": number}, Person("id")),
            "orders": Table(
                "orders", {"nr": number, "who": number}, KeyPath("who", "people", "id")
            ),
            "items": Table("items", {"order": number}, KeyPath("order", "orders", "nr")),
        }
    )
    query = read(
        'SELECT COUNT(DISTINCT who), COUNT(DISTINCT "order") '
        'FROM items JOIN orders ON "order" = nr',
        schema,
    )
    assert [a.measure for a in query.aggregates] == [
        AggregateFunction.COUNT_PEOPLE,
        AggregateFunction.COUNT_DISTINCT,
    ]
    assert query.relation.on
    error, place = refused(
        "SELECT COUNT(*) FROM items JOIN people ON items.order = people.id", schema
    )
    assert error.code == "join"
    assert place == "people ON items.order = people.id"


def test_a_copy_of_the_persons_column_still_names_the_person():
    query = read("SELECT COUNT(DISTINCT w) FROM (SELECT patient_id AS w FROM visits)", CLINIC)
    assert query.aggregates[0].measure is AggregateFunction.COUNT_PEOPLE
    query = read("SELECT COUNT(DISTINCT w) FROM (SELECT patient_id + 0 AS w FROM visits)", CLINIC)
    assert query.aggregates[0].measure is AggregateFunction.COUNT_DISTINCT


def test_a_union_names_the_person_where_both_sides_do():
    rows = "SELECT id AS w FROM patients UNION ALL SELECT {} FROM visits"
    same = f"SELECT COUNT(DISTINCT w) FROM ({rows})"
    assert (
        read(same.format("patient_id"), CLINIC).aggregates[0].measure
        is AggregateFunction.COUNT_PEOPLE
    )
    assert (
        read(same.format("visit_id"), CLINIC).aggregates[0].measure
        is AggregateFunction.COUNT_DISTINCT
    )


@pytest.mark.parametrize("name", ["city", "CITY", "City", '"city"', "visits.city", "VISITS.City"])
def test_unquoted_names_match_in_any_case(name):
    assert (
        read(f"SELECT COUNT({name}) FROM visits", CLINIC).aggregates[0].arguments[0].name == "city"
    )


@pytest.mark.parametrize("name", ['"City"', '"visits".city2', '"Visits".city'])
def test_quoted_names_match_exactly(name):
    assert refused(f"SELECT COUNT({name}) FROM visits")[0].code.startswith("unknown")


@pytest.mark.parametrize("names", [("Word", "word"), ("_person",), ("_Person",)])
def test_names_that_an_engine_cannot_tell_apart_are_no_columns(names):
    columns = {"who": Type(Kind.INTEGER), **{name: Type(Kind.TEXT) for name in names}}
    with pytest.raises(InputError, match="called"):
        Table("t", columns, Person("who"))


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("SELECT COUNT(*) FROM vists", "vists", "visits"),
        ("SELECT COUNT(*)\nFROM visits\nWHERE agee > 3", "agee", "age"),
        ("SELECT AVERAGE(age) FROM visits", "AVERAGE(age)", "AVG"),
        ("SELECT COUNT(*) FROM visits WHERE lowr(city) = 'x'", "lowr(city)", "LOWER"),
        ("SELECT COUNT(*) FROM visits v WHERE w.age > 3", "w", "use one of"),
    ],
)
def test_a_typing_error_gets_a_place_and_a_name(text, place, hint):
    error, found = refused(text)
    assert found == place
    assert hint in error.fix


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SELECT city, age, COUNT(*) FROM visits GROUP BY city", "age"),
        ("SELECT city, COUNT(*) + cost FROM visits GROUP BY city", "cost"),
        ("SELECT COUNT(*) FROM visits WHERE age > 3 AND city + 1 > 2", "city + 1"),
        ("SELECT COUNT(*) FROM visits WHERE age > 3 AND age > ?", "?"),
        ("SELECT SUM(age), SUM(city) FROM visits", "SUM(city)"),
        (
            "SELECT ROUND(CASE WHEN AVG(age) > 3 THEN 'x' END) FROM visits",
            "ROUND(CASE WHEN AVG(age) > 3 THEN 'x'",
        ),
        ("SELECT city, COUNT(*) FROM visits GROUP BY city HAVING city > 3", "city > 3"),
    ],
)
def test_a_refusal_points_at_the_smallest_part_that_is_wrong(text, place):
    assert refused(text)[1] == place


def test_aliases_lose_to_columns_in_group_by_and_win_in_order_by():
    query = read(
        "SELECT lower(city) AS city, COUNT(*) FROM visits GROUP BY city ORDER BY city", CLINIC
    )
    assert expression_text(query.keys[0].expression) == "city"
    assert expression_text(query.order[0].expression) == "LOWER(city)"


GROUPED = "(SELECT city, COUNT(*) AS n FROM visits GROUP BY 1)"


@pytest.mark.parametrize(
    ("start", "short", "written", "end"),
    [
        ("COUNT(*) AS n", "n + 1", "COUNT(*) + 1", "FROM visits"),
        ("SUM(age) AS s, COUNT(*) AS n", "S / n", "SUM(age) / COUNT(*)", "FROM visits"),
        ("age + 1 AS a, a * 2 AS b", "a + b", "(age + 1) + (age + 1) * 2", "FROM visits) AS r"),
        ("n, n + 1 AS o", "o * 2", "(n + 1) * 2", f"FROM {GROUPED}"),
        ("COUNT(*) AS n", "n / SUM(n) OVER ()", "COUNT(*) / SUM(COUNT(*)) OVER ()", "FROM visits"),
    ],
)
def test_a_value_may_name_values_before_it(start, short, written, end):
    whole = "SELECT AVG(m) FROM (" if end.endswith("r") else ""
    texts = [f"{whole}SELECT {start}, {value} AS m {end}" for value in (short, written)]

    first = texts[1].replace("a * 2 AS b", "(age + 1) * 2 AS b")
    assert read(texts[0], CLINIC) == read(first, CLINIC)


def test_a_column_comes_before_a_value_of_its_name_and_later_values_are_not_seen():
    inner = "SELECT AVG(b) FROM (SELECT age * 2 AS cost, cost + 1 AS b FROM visits)"
    assert (
        read(inner, CLINIC).aggregates
        == read("SELECT AVG(b) FROM (SELECT cost + 1 AS b FROM visits)", CLINIC).aggregates
    )
    error, place = refused("SELECT m + 1 AS n, COUNT(*) AS m FROM visits")
    assert (error.code, place) == ("unknown_column", "m")
    doubled = ", ".join(f"x{i} + x{i} AS x{i + 1}" for i in range(40))
    assert "parts" in str(refused(f"SELECT COUNT(*) AS x0, {doubled} FROM visits")[0])


def test_the_same_aggregate_is_asked_once():
    query = read(
        "SELECT SUM(cost), sum(COST)/COUNT(*) FROM visits HAVING Sum(cost) > COUNT(*)", CLINIC
    )
    assert [a.measure for a in query.aggregates] == [AggregateFunction.SUM, AggregateFunction.COUNT]


def test_a_name_far_from_all_others_gets_no_guess():
    assert nearest("xyzzy", ["age", "city"]) is None
    assert nearest("CTY", ["age", "City"]) == "City"


def test_a_text_in_double_quotes_is_told_how_texts_are_written():
    error, _ = refused('SELECT COUNT(*) FROM visits WHERE city = "Reykjavik"')
    assert (error.code, "single quotes" in error.fix) == ("unknown_column", True)


def test_rows_that_are_the_table_self_have_to_be_read():
    inner = "SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id"
    people = PerPerson(Scan(CLINIC.tables["visits"]), (), (PersonAggregate("n", Summary.COUNT),))
    text = "SELECT AVG(n) FROM self"
    by_rows = read(text, CLINIC, rows=people)  # the rows of visits are measured in their place
    assert by_rows.aggregates == read(text.replace("self", f"({inner})"), CLINIC).aggregates
    with pytest.raises(QueryRefused, match="FROM self") as caught:
        read("SELECT COUNT(*) FROM visits", CLINIC, rows=people)
    assert caught.value.code == "other_rows"
