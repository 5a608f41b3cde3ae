"""Relations: whose rows they are, how many one person has at most, and what cannot be combined."""

import math
from fractions import Fraction

import pytest

from discreet.errors import InputError
from discreet.plan.expressions import Call, Cast, Column, Function, Literal
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.relations import (
    MOST_JOINED,
    FilterRows,
    JoinPerson,
    JoinPublic,
    Keep,
    MatchPerson,
    MatchPublic,
    Named,
    PerPerson,
    PersonWindow,
    Project,
    Scan,
    Union,
    columns_of,
    join_caps,
)
from discreet.plan.summaries import (
    PersonAggregate,
    RowOrder,
    Summary,
    WindowColumn,
    WindowFunction,
    summary_type,
)
from discreet.plan.typing import infer
from visits import EachRow, schema

VISITS, CITIES = schema().tables["visits"], schema().tables["cities"]
SCAN = Scan(VISITS)
BY_ROW = Scan(schema(EachRow()).tables["visits"])
PERSON = Named("who", Column("person"))
COUNTED = PersonAggregate("n", Summary.COUNT)
ONE = PerPerson(SCAN, (PERSON,), (COUNTED,))
SCOPE = columns_of(SCAN)


def pick(relation, **columns):
    return Project(relation, tuple(Named(name, Column(of)) for name, of in columns.items()))


@pytest.mark.parametrize(
    "combine",
    [
        lambda: PerPerson(BY_ROW, (), (COUNTED,)),
        lambda: Union(BY_ROW, BY_ROW),
        lambda: JoinPerson(BY_ROW, pick(BY_ROW, a="amount"), (), Keep.MATCHED),
        lambda: MatchPerson(BY_ROW, pick(BY_ROW, a="amount"), (), "met"),
        lambda: PersonWindow(BY_ROW, (WindowColumn("n", Summary.COUNT),)),
    ],
)
def test_rows_that_are_protected_by_themselves_have_no_person_in_common(combine):
    with pytest.raises(InputError, match="single rows"):
        combine()


def test_rows_meet_where_values_of_one_kind_are_equal():
    with pytest.raises(InputError, match="a join compares real with text"):
        JoinPublic(SCAN, CITIES, (Column("amount"),), Keep.MATCHED, ())
    right = pick(SCAN, a="amount")
    with pytest.raises(InputError, match="a join compares text with real"):
        JoinPerson(SCAN, right, ((Column("street"), Column("a")),), Keep.MATCHED)


def test_unions_have_the_same_kinds_of_columns():
    with pytest.raises(InputError, match="different columns"):
        Union(pick(SCAN, a="amount"), pick(SCAN, a="city"))
    both = Union(pick(SCAN, a="city"), pick(SCAN, b="city"))
    assert columns_of(both)["a"].keys == SCOPE["city"].keys


def test_a_condition_is_true_or_false():
    with pytest.raises(InputError, match="a condition is real"):
        FilterRows(SCAN, Column("amount"))
    with pytest.raises(InputError, match="a condition is text"):
        summary_type(PersonAggregate("n", Summary.COUNT, None, Column("city")), SCOPE)


@pytest.mark.parametrize(
    ("summary", "column", "kind", "range_"),
    [
        (Summary.COUNT, None, Kind.INTEGER, Range(0, 2**63 - 1)),
        (Summary.COUNT_DISTINCT, "street", Kind.INTEGER, Range(0, 2**63 - 1)),
        (Summary.MIN, "amount", Kind.REAL, Range(0, 100)),
        (Summary.MAX, "street", Kind.TEXT, None),
        (Summary.MEAN, "amount", Kind.REAL, Range(0, 100)),
        (Summary.SUM, "amount", Kind.REAL, Range(0, math.inf)),
        (Summary.SUM, "person", Kind.INTEGER, None),
        (Summary.MEDIAN, "amount", Kind.REAL, Range(0, 100)),
        (Summary.VARIANCE_POP, "amount", Kind.REAL, Range(0, math.nextafter(100, 101) ** 2 / 4)),
    ],
)
def test_a_summary_of_a_persons_rows_has_a_type(summary, column, kind, range_):
    found = summary_type(PersonAggregate("n", summary, column and Column(column)), SCOPE)
    assert (found.kind, found.range) == (kind, range_)
    assert found.nullable is (summary not in {Summary.COUNT, Summary.COUNT_DISTINCT})


OPEN = Type(Kind.INTEGER, nullable=False, range=Range(0, 2**63 - 1))


@pytest.mark.parametrize(
    ("summary", "range_"),
    [
        *((one, OPEN.range) for one in (Summary.MIN, Summary.MAX, Summary.SUM, Summary.FIRST)),
        *((one, None) for one in (Summary.MEAN, Summary.MEDIAN)),
    ],
)
def test_a_summary_of_counts_is_not_below_0_and_has_no_end_above(summary, range_):
    """The mean of values without an end above has no bounds that noise could be made for."""
    by = (RowOrder(Column("n")),) if summary is Summary.FIRST else ()
    found = summary_type(PersonAggregate("m", summary, Column("n"), by=by), {"n": OPEN})
    assert found.range == range_
    if range_ is not None:
        held = Call(Function.LEAST, (Column("m"), Literal(30, Kind.INTEGER)))
        assert infer(held, {"m": found}).range == Range(0, 30)


@pytest.mark.parametrize("summary", [Summary.SUM, Summary.MEAN])
def test_only_numbers_within_bounds_add_up(summary):
    unbounded = Cast(Column("street"), Kind.REAL)
    with pytest.raises(InputError, match="only numbers add up"):
        summary_type(PersonAggregate("n", summary, Column("street")), SCOPE)
    with pytest.raises(InputError, match="need bounds"):
        summary_type(PersonAggregate("n", summary, unbounded), SCOPE)
    with pytest.raises(InputError, match="without an argument"):
        summary_type(PersonAggregate("n", summary), SCOPE)


@pytest.mark.parametrize(
    ("summary", "level"),
    [
        (Summary.MAX, Fraction(1, 2)),
        (Summary.MEDIAN, Fraction(-1, 10)),
        (Summary.MEDIAN, Fraction(11, 10)),
        (Summary.MEDIAN, Fraction(1, 10**6 + 1)),
    ],
)
def test_only_a_quantile_has_a_level_and_it_is_a_share_of_six_digits(summary, level):
    with pytest.raises(InputError, match="the level of"):
        summary_type(PersonAggregate("n", summary, Column("amount"), level=level), SCOPE)
    for fine in (Fraction(0), Fraction(1), Fraction(1, 10**6)):
        summary_type(PersonAggregate("n", Summary.MEDIAN, Column("amount"), level=fine), SCOPE)


# --- how many rows one person has -----------------------------------------------------------------


def renamed(relation, name):
    return pick(relation, **{name: "who"})


@pytest.mark.parametrize(
    ("relation", "once"),
    [
        (SCAN, False),
        (ONE, True),
        (PerPerson(SCAN, (), (COUNTED,)), True),
        (PerPerson(SCAN, (Named("s", Column("street")),), (COUNTED,)), False),
        (PerPerson(SCAN, (Named("one", Literal(1, Kind.INTEGER)),), (COUNTED,)), False),
        (FilterRows(ONE, Call(Function.GREATER, (Column("n"), Literal(1, Kind.INTEGER)))), True),
        (renamed(ONE, "whom"), True),
        (PerPerson(pick(SCAN, whom="person"), (Named("p", Column("whom")),), ()), True),
        (PerPerson(pick(SCAN, whom="street"), (Named("p", Column("whom")),), ()), False),
        (
            PerPerson(FilterRows(SCAN, Call(Function.IS_NULL, (Column("street"),))), (PERSON,), ()),
            True,
        ),
        (
            PerPerson(
                JoinPublic(SCAN, CITIES, (Column("city"),), Keep.ALL, (("land", "country"),)),
                (Named("l", Column("land")),),
                (),
            ),
            False,
        ),
        (PerPerson(Union(SCAN, SCAN), (PERSON,), ()), False),  # it is not looked for in unions
        (
            PerPerson(
                Union(pick(SCAN, p="person"), pick(SCAN, p="person")),
                (Named("q", Column("p")),),
                (),
            ),
            False,
        ),
        (Union(ONE, ONE), False),
        (
            JoinPerson(
                ONE, PerPerson(SCAN, (), (PersonAggregate("m", Summary.COUNT),)), (), Keep.MATCHED
            ),
            True,
        ),
    ],
)
def test_whether_nobody_has_more_than_one_row_follows_from_public_facts(relation, once):
    assert relation.facts.one_row_each is once


def test_what_both_sides_of_a_join_keep_of_a_person_multiplies_to_the_most_there_may_be():
    right = pick(SCAN, a="amount")
    many, single = (join_caps(JoinPerson(left, right, (), Keep.ALL)) for left in (SCAN, ONE))
    assert many[0] * many[1] <= MOST_JOINED < (many[0] + 1) * (many[1] + 1)
    assert single == (None, MOST_JOINED)
    other = PerPerson(SCAN, (), (PersonAggregate("m", Summary.COUNT),))
    assert join_caps(JoinPerson(ONE, other, (), Keep.ALL)) == (None, None)


def test_a_left_join_may_leave_columns_empty():
    for keep, nullable in ((Keep.MATCHED, False), (Keep.ALL, True)):
        joined = JoinPublic(SCAN, CITIES, (Column("city"),), keep, (("land", "country"),))
        assert columns_of(joined)["land"].nullable is nullable


# --- rows of the same person ----------------------------------------------------------------------

OTHERS = Project(Scan(VISITS), tuple(Named(f"other {n}", Column(n)) for n in VISITS.columns))
LATER = Call(Function.LESS, (Column("amount"), Column("other amount")))


def test_a_match_keeps_rows_and_columns_and_adds_whether_it_is_there():
    for match in (
        MatchPerson(Scan(VISITS), OTHERS, (), "met"),
        MatchPublic(Scan(VISITS), CITIES, ((Column("city"), "name"),), "met"),
    ):
        assert columns_of(match) == {**VISITS.columns, "met": Type(Kind.BOOLEAN, nullable=False)}


def test_whoever_has_one_row_has_one_after_a_match_or_a_window():
    one = PerPerson(Scan(VISITS), (Named("who", Column("person")),), ())
    assert MatchPerson(one, OTHERS, (), "met").facts.one_row_each
    assert PersonWindow(one, (WindowColumn("n", Summary.COUNT),)).facts.one_row_each
    assert not MatchPerson(Scan(VISITS), OTHERS, (), "met").facts.one_row_each


def test_only_rows_that_are_looked_at_side_by_side_are_cut():
    assert join_caps(MatchPerson(Scan(VISITS), OTHERS, (), "met")) == (None, None)
    assert join_caps(MatchPerson(Scan(VISITS), OTHERS, (), "met", LATER)) == (256, 256)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: MatchPerson(Scan(VISITS), Scan(VISITS), (), "met"), "two columns are called"),
        (lambda: MatchPerson(Scan(VISITS), OTHERS, (), "city"), "two columns are called"),
        (lambda: MatchPerson(Scan(VISITS), OTHERS, (), "m", Column("amount")), "a condition is"),
        (
            lambda: MatchPerson(
                Scan(VISITS), OTHERS, ((Column("city"), Column("other amount")),), "m"
            ),
            "a join compares",
        ),
        (lambda: MatchPublic(Scan(VISITS), CITIES, ((Column("amount"), "name"),), "m"), "compares"),
        (
            lambda: MatchPublic(Scan(VISITS), CITIES, (), "m", Column("name")),
            "a condition is",
        ),
        (lambda: window(WindowFunction.LAG, Column("amount")), "without an order"),
        (lambda: window(WindowFunction.LAG, order=BY), "of nothing"),
        (lambda: window(WindowFunction.LAST_VALUE, Column("amount"), order=BY), "the last value"),
        (lambda: window(Summary.MEDIAN, Column("amount"), order=BY), "over a window"),
        (lambda: window(Summary.SUM, Column("amount"), order=BY, frame=(1, 0)), "too far away"),
        (lambda: window(Summary.SUM, Column("amount"), frame=(-1, 0)), "without an order"),
        (
            lambda: window(
                WindowFunction.LAG, Column("amount"), order=BY, default=Literal("a", Kind.TEXT)
            ),
            "or else a text",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(make, what):
    with pytest.raises(InputError, match=what):
        make()


BY = (RowOrder(Column("amount")),)


def window(function, argument=None, **facts):
    return PersonWindow(Scan(VISITS), (WindowColumn("w", function, argument, **facts),))


def test_a_default_is_one_of_the_values_of_a_window():
    nothing = Literal(0.0, Kind.REAL)
    found = window(WindowFunction.LEAD, Column("amount"), order=BY, default=nothing)
    assert columns_of(found)["w"].range == Range(0, 100)


@pytest.mark.parametrize("summary", [Summary.FIRST, Summary.SUM])
def test_a_summary_that_lacks_what_it_needs_is_refused(summary):
    with pytest.raises(InputError, match="without an argument or an order"):
        summary_type(PersonAggregate("n", summary), SCOPE)
    wide = {"x": Type(Kind.REAL, range=Range(-1e300, 1e300))}
    with pytest.raises(InputError, match="very wide"):
        summary_type(PersonAggregate("n", Summary.VARIANCE, Column("x")), wide)


def test_a_column_that_is_null_on_one_side_of_a_union_keeps_its_range():
    amount, nothing = pick(SCAN, a="amount"), Project(SCAN, (Named("a", Literal(None, Kind.REAL)),))
    for both in (Union(amount, nothing), Union(nothing, amount)):
        assert columns_of(both)["a"].range == columns_of(amount)["a"].range
        assert columns_of(both)["a"].nullable


@pytest.mark.parametrize(
    ("function", "frame", "needed"),
    [
        (WindowFunction.ROW_NUMBER, None, True),
        (WindowFunction.RANK, None, False),
        (Summary.SUM, None, False),
        (Summary.SUM, (None, None), False),
        (Summary.SUM, (-1, 0), True),
    ],
)
def test_rows_that_tie_are_told_apart_where_their_place_matters(function, frame, needed):
    assert WindowColumn("w", function, frame=frame).needs_every_order is needed
