"""Questions in Python that come over a network are read strictly."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from clinic_curator import add_cities, add_visits
from discreet.curator.client.plan_json import read_plan
from discreet.errors import DiscreetError, InputError
from discreet.plan import canonical
from discreet.plan.schema import EachRow, Limits, Table
from discreet.sql.reader.read import read


@pytest.fixture(scope="module")
def curator():
    with dp.Curator.in_memory() as made:
        yield add_cities(add_visits(made))


@pytest.fixture(scope="module")
def question(curator):
    built = (
        curator.table("visits")
        .where((dp.col("amount") > 3) & dp.col("city").is_in(["Haifa", "Oslo"]))
        .with_columns(twice=dp.col("amount") * 2)
        .group_by("city")
        .agg(n=dp.count(), m=dp.median("amount"), s=dp.total("twice"))
        .having(dp.col("n") > 1)
        .order_by("n", descending=True)
        .limit(3)
        .at_most(max_groups=2, max_rows=3)
    )
    return built.query()


def test_what_the_fluent_interface_builds_is_read_back(curator, question):
    groups_alone = curator.table("visits").group_by("city").agg().query()
    for built in (question, groups_alone):
        assert read_plan(canonical.write(built), curator.schema) == built


def edited(question, change):
    facts = json.loads(canonical.write(question))
    change(facts)
    return json.dumps(facts)


def forged_table(facts):
    table = {"node": "Table", "name": "visits", "columns": {"mapping": []}}
    unit = {"node": "EachRow"}
    limits = {"node": "Limits", "max_groups": 1, "max_rows": 1}
    facts["relation"] = {"node": "Scan", "table": {**table, "unit": unit, "limits": limits}}


def put(*path, value):
    def change(facts):
        *way, last = path
        for step in way:
            facts = facts[step]
        facts[last] = value

    return change


FORGED = {
    "a table with a unit of its own": forged_table,
    "SQL where a number belongs": put("limit", value="1; DROP TABLE x"),
    "SQL in the offset": put("offset", value="0 UNION SELECT * FROM read_csv('/etc/passwd')"),
    "a negative limit": put("limit", value=-1),
    "true for one": put("limit", value=True),
    "a level above one": put("aggregates", 1, "level", value={"fraction": "3/2"}),
    "a level for a count": put("aggregates", 0, "level", value={"fraction": "1/2"}),
    "a number of a billion digits": put(
        "aggregates", 1, "level", value={"fraction": "1e999999999"}
    ),
    "a number for a name": put("aggregates", 0, "name", value=7),
    "a text for a truth value": put("aggregates", 0, "sample", value="no"),
    "a column for a measure": put(
        "aggregates", 0, "measure", value={"node": "Column", "name": "n"}
    ),
    "grouping sets": put("sets", value=[[0], []]),
    "a key that is not there": put("sets", value=[[5]]),
    "no aggregates": put("aggregates", value=[]),
    "another table's digest": put(
        "relation", value={"node": "Scan", "table": {"table": "visits", "digest": "0"}}
    ),
    "a public table as private": lambda facts: facts.update(
        relation={"node": "Scan", "table": {"table": "cities", "digest": "0"}}
    ),
    "an unknown node": put("relation", value={"node": "Schema", "tables": {"mapping": []}}),
    "a field left out": lambda facts: facts.pop("offset"),
    "a field too many": put("more", value=1),
    "a huge whole number": put("limit", value=1 << 70),
    "a list for a node": put("relation", value=[]),
    "a loose literal": put("having", value={"float": "nan"}),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_question_is_refused(curator, question, name):
    text = edited(question, FORGED[name])

    with pytest.raises(DiscreetError):
        read_plan(text, curator.schema)


def test_a_table_is_named_and_never_described(curator, question):
    text = canonical.write(question)
    loose = Table("visits", curator.schema.tables["visits"].columns, EachRow(), Limits(1, 1))
    facts = json.loads(text)
    plain = {"node": "Table", "name": "visits", "unit": {"node": "EachRow"}}
    limits = {"node": "Limits", "max_groups": 1, "max_rows": 1}
    columns = canonical.plain(loose.columns)
    where = facts["relation"]["input"]["input"]
    where["table"] = {**plain, "columns": columns, "limits": limits}
    forged = json.dumps(facts)

    with pytest.raises(InputError):
        read_plan(forged, curator.schema)
    with pytest.raises(KeyError):  # nor has the reader of stored questions a tag for it
        canonical.read(forged, curator.schema)


SQL = [
    "SELECT country, COUNT(*) AS n FROM visits JOIN cities ON city = name GROUP BY country",
    """SELECT COUNT(*) AS n FROM (SELECT person, COUNT(*) AS c, QUANTILE_CONT(amount, 0.9) AS q FROM
    visits GROUP BY person) WHERE c > 2""",
    """SELECT AVG(amount - before) AS g FROM (SELECT amount, LAG(amount) OVER (PARTITION BY person
    ORDER BY city) AS before FROM visits)""",
    """SELECT COUNT(*) AS n FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.person =
    v.person AND w.amount > v.amount) AND city IN (SELECT name FROM cities)""",
    "SELECT COUNT(*) AS n FROM visits v JOIN visits w ON v.person = w.person AND v.city = w.city",
    "SELECT COUNT(*) AS n FROM (SELECT person FROM visits UNION ALL SELECT person FROM visits)",
    """SELECT t.city, n FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) t JOIN cities c
    ON c.name = t.city""",
    "SELECT MODE(city) AS m, SUM(DISTINCT CAST(amount AS BIGINT)) AS s FROM visits",
]


@pytest.mark.parametrize("text", SQL)
def test_people_and_tables_of_answers_are_read_back(curator, text):
    query = read(text, curator.schema)

    assert read_plan(canonical.write(query), curator.schema) == query


def test_a_forged_join_of_rows_of_others_is_refused(curator):
    """A join names no person: whose rows meet is no part of the text, and cannot be forged."""
    joined = json.loads(canonical.write(read(SQL[4], curator.schema)))
    text = json.dumps(joined)
    assert '"_person"' not in text
    for old, new in (
        ('"JoinPerson"', '"JoinAnybody"'),
        ('"inner"', '"cross"'),
        ("city", "_person"),
    ):
        with pytest.raises(DiscreetError):
            read_plan(text.replace(old, new), curator.schema)


def test_parts_that_refer_to_one_another_are_refused_before_they_are_built(curator, question):
    """Sixty doublings in a thousand characters would be a name without end in an error's text."""
    facts = json.loads(canonical.write(question))
    facts["aggregates"][0]["level"] = {"use": 60}
    shared = [[1, 2], *([{"use": i}, {"use": i}] for i in range(60))]
    with pytest.raises(InputError, match="only SQL can ask for"):
        read_plan(json.dumps({"shared": shared, "question": facts}), curator.schema)
    with pytest.raises(InputError, match="only SQL can ask for"):
        read_plan(json.dumps(facts), curator.schema)


def test_a_table_out_of_sight_reads_like_one_that_is_not_there(question):
    with dp.Curator.in_memory() as other:
        add_visits(other)
        hidden = other.as_analyst("a", datasets=[]).schema
        nothing = dp.Curator.in_memory().schema
        text = canonical.write(question)
        told = []
        for schema in (hidden, nothing):
            with pytest.raises(InputError) as refused:
                read_plan(text, schema)
            told.append(str(refused.value))

    assert told[0] == told[1]


@settings(max_examples=40)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("Query"),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["node", "table", "digest", "enum", "value", "fraction", "keys"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_whatever_comes_is_a_question_or_a_refusal(curator, facts):
    with pytest.raises(DiscreetError):
        read_plan(json.dumps(facts), curator.schema)


@pytest.mark.parametrize("text", ["", "{", "[" * 50_000, "null", "NaN", '"x"', "1e400"])
def test_what_is_no_json_is_refused(curator, text):
    with pytest.raises(InputError):
        read_plan(text, curator.schema)
