import pytest

import discreet as dp
from discreet.errors import InputError
from discreet.plan import canonical
from discreet.plan.builder import From
from discreet.plan.query import Query, questions_in
from discreet.plan.relations import Scan
from discreet.plan.released_tables import AnswerTable, FilteredTable, is_single, sources_of
from discreet.sql.reader.read import read
from visits import schema

SCHEMA = schema()


def visits():
    return From(Scan(SCHEMA.tables["visits"]))


def cities():
    return visits().group_by("city").agg(n=dp.count()).table()


def test_python_and_sql_ask_the_same_of_windows():
    built = cities().with_columns(r=dp.over("rank", order_by=["n"], descending=True))
    asked = read(
        "SELECT city, n, RANK() OVER (ORDER BY n DESC) AS r FROM"
        " (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) t",
        SCHEMA,
    )
    ours, theirs = (one.windows[0] for one in (built.query().then, asked.then.source))
    assert (ours.function, ours.order) == (theirs.function, theirs.order)


def test_groups_joins_stacks_and_limits_of_answers_are_built():
    sums = visits().group_by("city").agg(s=dp.total("amount")).table().select(town="city", s="s")
    both = cities().join(sums, dp.col("city") == dp.col("town"), how="left")
    top = both.with_columns(m=dp.col("s") / dp.col("n")).order_by("m", descending=True).limit(2)
    whole = top.group_by(big=dp.col("n") > 10).agg(most=dp.maximum("m"), k=dp.count())
    query = whole.stack(whole).where(dp.col("k") > 0).query()

    assert len(questions_in(query)) == 2  # each is measured once
    assert list(query.then.columns) == ["big", "most", "k"]
    assert canonical.read(canonical.write(query), SCHEMA) == query


def test_stated_limits_hold_for_every_part_and_beside_earlier_ones():
    sums = visits().group_by("city").agg(s=dp.total("amount")).at_most(max_groups=3, max_rows=9)
    both = cities().join(sums.select(town="city", s="s"), dp.col("city") == dp.col("town"))
    held = both.at_most(max_rows=1).at_most(max_groups=2).at_most(max_rows=4).query()

    assert [one.limits for one in questions_in(both.query())] == [dp.Limits(), dp.Limits(3, 9)]
    assert [one.limits for one in questions_in(held)] == [dp.Limits(2, 1)] * 2
    assert held.then == both.query().then
    assert canonical.read(canonical.write(held), SCHEMA) == held
    with pytest.raises(InputError, match="max_rows"):
        both.at_most(max_rows=0)


def test_a_lag_looks_one_row_back_unless_told_otherwise():
    assert dp.over("lag", "n").number == 1
    assert dp.over("ntile", number=4).number == 4


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: dp.over(dp.median("n")),
        lambda: dp.over("no such function"),
        lambda: cities().group_by("city").where(dp.col("n") > 1),
        lambda: cities().join(visits()),
        lambda: cities().join(cities()),  # both have a column n
        lambda: cities().select(x=dp.col("nobody")),
        lambda: cities().agg(m=dp.mean("city")),
        lambda: cities().stack(cities().select("n")),
        lambda: cities().release(epsilon=1),
    ],
)
def test_what_means_nothing_is_refused(wrong):
    with pytest.raises(InputError):
        wrong()


def test_a_question_holds_its_post_processing_in_one_place():
    query = cities().query()
    table = AnswerTable.of(0, query)
    with pytest.raises(InputError):
        Query(query.relation, query.keys, query.aggregates, limit=3, then=table)
    with pytest.raises(InputError):
        Query(query.relation, query.keys, query.aggregates, also=(query,))
    with pytest.raises(InputError):  # the table of another question
        Query(query.relation, (), query.aggregates, then=table)
    with pytest.raises(InputError):
        Query(query.relation, query.keys, query.aggregates, then=AnswerTable.of(1, query))


def test_what_a_number_is_computed_from_is_known():
    query = cities().where(dp.col("n") > 3).agg(k=dp.count(), top=dp.maximum("city")).query()
    sources = sources_of(query.then, questions_in(query))
    assert sources == {"k": {(0, "n")}, "top": {(0, "n")}, "": set()}
    inner = next(one for one in query.then.nodes() if isinstance(one, FilteredTable))
    assert sources_of(inner, questions_in(query))["city"] == set()


def test_one_row_is_told_from_one_row_at_most():
    one = visits().agg(n=dp.count()).table()

    def single(frame, *, surely):
        return is_single(frame.program.table, frame.program.queries, surely=surely)

    assert single(one, surely=True)
    assert not single(one.where(dp.col("n") > 3), surely=True)
    assert single(one.where(dp.col("n") > 3), surely=False)
    assert single(cities().order_by("n").limit(1), surely=False)
    assert not single(cities(), surely=False)
    assert single(cities().agg(m=dp.maximum("n")), surely=True)
