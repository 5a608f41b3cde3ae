import datetime as dt
import math
import sys
from itertools import product

import pytest

from discreet.errors import InputError
from discreet.plan import intervals
from discreet.plan.calendar import FIRST_TO_LAST, beginnings, moment, position
from discreet.plan.calendar import truncate as calendar_truncate
from discreet.plan.expressions import (
    Call,
    Case,
    Cast,
    Column,
    Function,
    IsIn,
    Like,
    Literal,
    Truncate,
    Unit,
)
from discreet.plan.functions import CASTS, RULES
from discreet.plan.keylists import MOST, counting, listed
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.typing import DEEPEST, infer, settled
from reference.interpreter import BY_THEMSELVES, FUNCTIONS, truncate

COLUMNS = {
    "price": Type(Kind.REAL, range=Range(0, 10)),
    "share": Type(Kind.REAL, nullable=False, range=Range(-0.5, 0.5)),
    "free": Type(Kind.REAL),
    "age": Type(Kind.INTEGER, range=Range(0, 120)),
    "size": Type(Kind.INTEGER, nullable=False, range=Range(-3, 7)),
    "id": Type(Kind.INTEGER),
    "sure": Type(Kind.INTEGER, nullable=False),
    "name": Type(Kind.TEXT),
    "city": Type(Kind.TEXT, nullable=False, keys=("Austin", "Haifa")),
    "ok": Type(Kind.BOOLEAN),
    "day": Type(Kind.DATE),
    "term": Type(
        Kind.DATE,
        nullable=False,
        range=Range(position(dt.date(2023, 11, 5)), position(dt.date(2024, 2, 1))),
    ),
    "at": Type(Kind.TIMESTAMP),
}
F = Function


def lit(value):
    kinds = {bool: Kind.BOOLEAN, int: Kind.INTEGER, float: Kind.REAL, str: Kind.TEXT}
    kinds |= {dt.date: Kind.DATE, dt.datetime: Kind.TIMESTAMP}
    return Literal(value, kinds[type(value)])


def part(value):
    """A column for a string, an expression for itself, a literal for anything else."""
    if isinstance(value, str):
        return Column(value)
    return value if hasattr(type(value), "__slots__") else lit(value)


def call(function, *values):
    return Call(function, tuple(map(part, values)))


def typed(expression):
    return infer(expression, COLUMNS)


def bounds(expression):
    of = typed(expression).range
    return None if of is None else (of.low, of.high)


# --- arithmetic -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "kind", "ends"),
    [
        (call(F.MULTIPLY, "price", "age"), Kind.REAL, (0.0, 1200.0)),
        (call(F.MULTIPLY, "size", "size"), Kind.INTEGER, (-21, 49)),
        (call(F.MULTIPLY, "size", "share"), Kind.REAL, (-3.5, 3.5)),
        (call(F.ADD, "age", "size"), Kind.INTEGER, (-3, 127)),
        (call(F.SUBTRACT, "age", "size"), Kind.INTEGER, (-7, 123)),
        (call(F.ADD, "age", 0.5), Kind.REAL, (0.5, 120.5)),
        (call(F.ADD, "id", 1), Kind.REAL, None),
        (call(F.SUBTRACT, "id", "id"), Kind.REAL, None),
        (call(F.MULTIPLY, "age", 2**60), Kind.REAL, (0.0, 120.0 * 2**60)),
        (call(F.NEGATE, "id"), Kind.REAL, None),
        (call(F.NEGATE, "size"), Kind.INTEGER, (-7, 3)),
        (call(F.ABS, "size"), Kind.INTEGER, (0, 7)),
        (call(F.ABS, call(F.NEGATE, "age")), Kind.INTEGER, (0, 120)),
        (call(F.DIVIDE, "price", 4), Kind.REAL, (0.0, 2.5)),
        (call(F.DIVIDE, "price", "size"), Kind.REAL, (-10.0, 10.0)),  # no divisor is nearer than 1
        (call(F.DIVIDE, "price", "price"), Kind.REAL, None),
        (call(F.DIVIDE, 1, call(F.ADD, "price", 0.5)), Kind.REAL, (1 / 10.5, 2.0)),
        (call(F.DIVIDE, "price", 0), Kind.REAL, None),
        (call(F.MODULO, "id", 7), Kind.INTEGER, (-6, 6)),
        (call(F.MODULO, "age", "id"), Kind.INTEGER, (0, 120)),
        (call(F.MODULO, "id", 0), Kind.INTEGER, None),
        (call(F.SIGN, "age"), Kind.INTEGER, (0, 1)),
        (call(F.FLOOR, "share"), Kind.INTEGER, (-1, 0)),
        (call(F.CEIL, "share"), Kind.INTEGER, (0, 1)),
        (call(F.ROUND, "price"), Kind.INTEGER, (0, 10)),
        (call(F.FLOOR, "free"), Kind.REAL, None),
        (call(F.SQRT, "price"), Kind.REAL, (0.0, math.sqrt(10))),
        (call(F.SQRT, "share"), Kind.REAL, (0.0, math.sqrt(0.5))),
        (call(F.LN, call(F.ADD, "age", 1)), Kind.REAL, pytest.approx((0, math.log(121)))),
        (call(F.LN, "age"), Kind.REAL, pytest.approx((0, math.log(120)))),
        (call(F.EXP, "share"), Kind.REAL, pytest.approx((math.exp(-0.5), math.exp(0.5)))),
    ],
)
def test_ranges_follow_from_ranges(expression, kind, ends):
    assert typed(expression).kind is kind
    assert bounds(expression) == ends


def test_integers_stay_integers_up_to_the_last_that_fits():
    most = Literal(2**63 - 1, Kind.INTEGER)

    assert typed(call(F.ADD, most, 0)).kind is Kind.INTEGER
    assert typed(call(F.ADD, most, 1)).kind is Kind.REAL
    assert typed(call(F.SUBTRACT, Literal(-(2**63), Kind.INTEGER), 0)).kind is Kind.INTEGER
    assert typed(call(F.ABS, Literal(-(2**63), Kind.INTEGER))).kind is Kind.REAL


@pytest.mark.parametrize(
    ("expression", "nullable"),
    [
        (call(F.ADD, "share", 1), False),
        (call(F.ADD, "price", 1), True),
        (call(F.ADD, "sure", "sure"), False),  # as doubles they stay finite
        (call(F.MULTIPLY, call(F.EXP, call(F.MULTIPLY, "share", 1000)), 1e200), True),
        (call(F.DIVIDE, "share", "size"), True),
        (call(F.DIVIDE, "share", call(F.ADD, "size", 4)), False),
        (call(F.MODULO, "sure", "size"), True),
        (call(F.SQRT, "share"), True),
        (call(F.SQRT, call(F.ADD, "share", 0.5)), False),
        (call(F.LN, call(F.ADD, "share", 0.5)), True),
        (call(F.EXP, "sure"), True),
        (call(F.EXP, "size"), False),
        (call(F.IS_NULL, "free"), False),
        (call(F.COALESCE, "price", 0), False),
        (call(F.COALESCE, "price", "free"), True),
        (call(F.LEAST, "price", "share"), False),
        (call(F.NULL_IF, "size", 1), True),
        (Cast(Column("share"), Kind.INTEGER), False),
        (Cast(Column("name"), Kind.INTEGER), True),
        (call(F.ADD, "term", 1), False),
        (call(F.ADD, "term", "sure"), True),
        (call(F.EQUAL, "size", "sure"), False),
        (call(F.AND, call(F.EQUAL, "size", 1), "ok"), True),
    ],
)
def test_null_is_possible_only_where_a_row_can_give_it(expression, nullable):
    assert typed(expression).nullable is nullable


# --- clamps and hulls -----------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["free", "id", "price"])
def test_clamping_with_least_and_greatest_bounds_a_free_column(column):
    for clamp in (
        call(F.LEAST, call(F.GREATEST, column, 0), 100),
        call(F.GREATEST, call(F.LEAST, column, 100), 0),
    ):
        assert bounds(clamp)[0] == 0
        assert bounds(clamp)[1] <= 100 or column != "price"


def test_least_may_be_any_operand_when_the_smaller_is_null():
    assert bounds(call(F.LEAST, "price", "age")) == (0, 120)  # price NULL, age 120
    assert bounds(call(F.LEAST, "share", "age")) == (-0.5, 0.5)
    assert bounds(call(F.GREATEST, "price", "age")) == (0, 120)
    assert bounds(call(F.GREATEST, "share", "price")) == (-0.5, 10)


def test_half_a_bound_is_kept_inside_and_not_claimed_outside():
    assert bounds(call(F.GREATEST, "free", 0.0)) is None
    assert bounds(call(F.LENGTH, "name")) is None
    assert bounds(call(F.LEAST, call(F.LENGTH, "name"), 50)) == (0, 50)


def test_a_case_is_the_hull_of_its_values_and_null_loosens_nothing():
    null = Literal(None, Kind.INTEGER)
    older = Case(((call(F.GREATER, "age", 40), Column("age")),), null)

    ages = (*range(121), None)
    assert typed(older) == Type(Kind.INTEGER, nullable=True, range=Range(0, 120), keys=ages)
    assert bounds(Case(((Column("ok"), Column("size")),), part(99.5))) == (-3.0, 99.5)
    assert bounds(call(F.COALESCE, "size", "price")) == (-3, 10)
    assert bounds(call(F.LEAST, Literal(None, Kind.INTEGER), "size")) == (-3, 7)


def test_dates_are_bounded_in_days():
    assert bounds(call(F.ADD, "term", 10)) == (19666 + 10, 19754 + 10)
    assert bounds(call(F.SUBTRACT, "term", dt.date(2024, 1, 1))) == (-57, 31)
    assert bounds(call(F.SUBTRACT, "day", "day")) == (-3652058, 3652058)
    assert bounds(Cast(Column("term"), Kind.TIMESTAMP))[1] == 19754 * 86_400_000_000
    assert bounds(Cast(Cast(Column("term"), Kind.TIMESTAMP), Kind.DATE)) == (19666, 19754)
    assert bounds(call(F.YEAR, "term")) == (2023, 2024)
    assert bounds(call(F.YEAR, "day")) == (1, 9999)
    assert bounds(Truncate(Column("term"), Unit.YEAR)) == (19358, 19723)


# --- keys -----------------------------------------------------------------------------------------


TERM = tuple(dt.date(2023, 11, 5) + dt.timedelta(days=i) for i in range(89))


@pytest.mark.parametrize(
    ("expression", "keys"),
    [
        (Column("city"), ("Austin", "Haifa")),
        (call(F.UPPER, "city"), ("AUSTIN", "HAIFA")),
        (call(F.SUBSTRING, "city", 2, 1), ("u", "a")),
        (call(F.CONCAT, "city", "city"), None),
        (call(F.NULL_IF, "city", lit("Haifa")), ("Austin", "Haifa", None)),
        (call(F.LESS, "size", 3), (False, True)),
        (call(F.LESS, "age", 3), (False, True, None)),
        (call(F.MONTH, "term"), tuple(range(1, 13))),
        (call(F.YEAR, "term"), (2023, 2024)),
        (call(F.YEAR, "day"), None),
        (call(F.HOUR, "day"), (0, None)),
        (call(F.SIGN, "size"), (-1, 0, 1)),
        (call(F.BUCKET, "share", 0, 1, 2), (0, 1, 2, 3)),
        (Cast(call(F.QUARTER, "term"), Kind.TEXT), ("1", "2", "3", "4")),
        (Cast(call(F.LESS, "size", 3), Kind.INTEGER), (0, 1)),
        (
            Truncate(Column("term"), Unit.MONTH),
            tuple(dt.date(y, m, 1) for y, m in ((2023, 11), (2023, 12), (2024, 1), (2024, 2))),
        ),
        (Truncate(Column("day"), Unit.MONTH), None),
        (Case(((Column("ok"), lit("old")),), lit("young")), ("old", "young")),
        (Case(((Column("ok"), lit("old")),), Literal(None, Kind.TEXT)), ("old", None)),
        (Case(((Column("ok"), lit("old")),), Column("name")), None),
        (
            call(F.COALESCE, call(F.NULL_IF, "city", lit("Haifa")), lit("-")),
            ("Austin", "Haifa", "-"),
        ),
        (Case(((Column("ok"), part(1)),), part(2.5)), (1.0, 2.5)),
        (call(F.ADD, call(F.MONTH, "term"), 1), tuple(range(2, 14))),
        (Column("size"), tuple(range(-3, 8))),
        (call(F.MULTIPLY, call(F.QUOTIENT, "size", 4), 4), (0, 4)),
        (call(F.MODULO, "age", 3), (0, 1, 2, None)),
        (call(F.ABS, "size"), tuple(range(8))),
        (call(F.DIVIDE, "size", 4), tuple(i / 4 for i in range(-3, 8))),
        (
            call(F.DIVIDE, 1, "size"),
            (-1.0, -0.5, -1 / 3, 1 / 7, 1 / 6, 0.2, 0.25, 1 / 3, 0.5, 1.0, None),
        ),
        (call(F.FLOOR, "price"), (*range(11), None)),
        (call(F.ROUND, "share"), (-1, 0, 1)),
        (Cast(Column("share"), Kind.INTEGER), (0,)),
        (call(F.LEAST, "age", 2), (0, 1, 2)),
        (call(F.FLOOR, call(F.MULTIPLY, "price", 1000)), None),
        (call(F.MULTIPLY, "age", "age"), None),
        (Cast(Cast(Column("term"), Kind.TIMESTAMP), Kind.DATE), TERM),
    ],
)
def test_keys_are_listed_where_the_list_is_public(expression, keys):
    assert typed(expression).keys == keys


def test_long_lists_are_not_made_up():
    wide = {"day": Type(Kind.DATE, range=FIRST_TO_LAST[Kind.DATE])}
    almost = {"day": Type(Kind.DATE, range=Range(-400_000, 400_000))}

    assert infer(Truncate(Column("day"), Unit.DAY), wide).keys is None
    assert infer(Truncate(Column("day"), Unit.DAY), almost).keys is None
    assert typed(call(F.BUCKET, "price", 0, 1, 2**31)).keys is None
    assert listed(range(MOST), nullable=False) == tuple(range(MOST))
    assert listed(range(MOST + 1), nullable=False) is None
    assert listed([1] * (MOST + 5) + [2], nullable=True) == (1, 2, None)


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (Column("nobody"), "no column nobody"),
        (call(F.ADD, "name", 1), r"\+ of text and integer"),
        (call(F.ADD, "day", "day"), "date and date"),
        (call(F.ADD, "day", 0.5), "date and real"),
        (call(F.SUBTRACT, 1, "day"), "integer and date"),
        (call(F.SUBTRACT, "at", "at"), "timestamp"),
        (call(F.ADD, "at", 0.5), "timestamp and real"),
        (call(F.ADD_MONTHS, "age", 1), "add_months of integer"),
        (call(F.ADD_MONTHS, "day", 0.5), "add_months of real"),
        (call(F.ADD_SECONDS, "day", 1), "add_seconds of date"),
        (call(F.QUOTIENT, "free", 2), "// of real"),
        (call(F.RIGHT, "name", -1), "right"),
        (call(F.RIGHT, "name", "age"), "right"),
        (call(F.REPLACE, "name", lit(""), lit("a")), "replace"),
        (call(F.REPLACE, "name", "name", lit("a")), "replace"),
        (call(F.POSITION, "name", 1), "strpos of text and integer"),
        (call(F.MODULO, "free", 2), "% of real"),
        (call(F.LESS, "name", 1), "has values of different kinds: text and integer"),
        (call(F.LEAST, "ok", "ok"), "least of boolean"),
        (call(F.AND, "age", "ok"), "and of integer"),
        (call(F.LOWER, "age"), "lower of integer"),
        (call(F.YEAR, "name"), "year of text"),
        (call(F.NEGATE, "age", "age"), "of 2 values"),
        (call(F.AND), "of 0 values"),
        (call(F.SUBSTRING, "name", 0, 1), "substring"),
        (call(F.SUBSTRING, "name", "age", 1), "substring"),
        (call(F.SUBSTRING, "name", True, 1), "substring"),  # noqa: FBT003 - the value under test
        (call(F.BUCKET, "age", 1, 1, 5), "width_bucket"),
        (call(F.BUCKET, "age", 0, 1, 0), "width_bucket"),
        (call(F.BUCKET, "age", -1e308, 1e308, 5), "width_bucket"),
        (call(F.BUCKET, "age", "age", 100, 5), "width_bucket"),
        (Cast(Column("free"), Kind.TEXT), "real to text"),
        (Cast(Column("at"), Kind.INTEGER), "timestamp to integer"),
        (Case((), part(1)), "CASE without WHEN"),
        (Case(((Column("age"), part(1)),), part(2)), "WHEN followed by a integer"),
        (Case(((Column("ok"), part(1)),), lit("x")), "CASE has values of different kinds"),
        (IsIn(Column("age"), ()), "empty list"),
        (IsIn(Column("age"), (Literal(None, Kind.INTEGER),)), "NULL in its list"),
        (IsIn(Column("age"), (lit("1"),)), "IN has values of different kinds"),
        (Like(Column("age"), "%"), "LIKE on a integer"),
        (Like(Column("name"), "a!", "!"), "escapes nothing"),
        (Like(Column("name"), "!a", "!"), "escapes nothing"),
        (Like(Column("name"), "a", "!!"), "escape of 2"),
        (Like(Column("name"), "\ud800"), "literal"),
        (Truncate(Column("age"), Unit.DAY), "truncation of a integer"),
        (Literal(2**63, Kind.INTEGER), "literal"),
        (Literal(1, Kind.REAL), "literal"),
        (Literal(True, Kind.INTEGER), "literal"),  # noqa: FBT003 - the value under test
        (Literal(math.nan, Kind.REAL), "literal"),
        (Literal("\ud800", Kind.TEXT), "literal"),
        (Literal(dt.datetime(2024, 1, 1), Kind.DATE), "literal"),  # noqa: DTZ001 - no zone
        (Literal(dt.datetime(2024, 1, 1, tzinfo=dt.UTC), Kind.TIMESTAMP), "literal"),
    ],
)
def test_what_has_no_meaning_is_refused(expression, message):
    with pytest.raises(InputError, match=message):
        typed(expression)


def test_every_pair_of_kinds_casts_or_is_refused_with_advice():
    by_kind = {of.kind: name for name, of in COLUMNS.items()}
    for source, target in product(Kind, Kind):
        cast = Cast(Column(by_kind[source]), target)
        if source is target or (source, target) in CASTS:
            assert typed(cast).kind is target
        else:
            with pytest.raises(InputError, match="Fix: "):
                typed(cast)


def test_nesting_is_limited_before_python_gives_up():
    deep = Column("ok")
    for _ in range(DEEPEST):
        deep = call(F.NOT, deep)
    assert typed(deep).kind is Kind.BOOLEAN
    for _ in range(5000):
        deep = call(F.NOT, deep)
    with pytest.raises(InputError, match="nested"):
        typed(deep)


# --- declared ranges ------------------------------------------------------------------------------


def test_declared_ends_become_values_of_the_kind():
    assert settled(Type(Kind.INTEGER, range=Range(0.5, 9.5))).range == Range(1, 9)
    assert settled(Type(Kind.INTEGER, range=Range(0, 2**70))).range == Range(0, math.inf)
    assert settled(Type(Kind.INTEGER, range=Range(-math.inf, math.inf))).range is None
    assert settled(Type(Kind.REAL, range=Range(0, 10))).range == Range(0.0, 10.0)
    assert settled(Type(Kind.DATE, range=Range(-(10**9), 0))).range == Range(-math.inf, 0)
    assert settled(Type(Kind.TEXT, range=Range(0, 1))).range is None
    assert infer(Column("n"), {"n": Type(Kind.INTEGER, range=Range(0, 2**63 - 1))}).range is None
    for kind, ends in ((Kind.INTEGER, (0.2, 0.8)), (Kind.DATE, (10**8, 10**9))):
        with pytest.raises(InputError, match=f"holds no {kind.value}"):
            settled(Type(kind, range=Range(*ends)))


# --- intervals ------------------------------------------------------------------------------------

ENDS = [-math.inf, -sys.float_info.max, -2.5, -5e-324, 0.0, 5e-324, 0.1, 3.0, 1e300, math.inf]
RANGES = [Range(a, b) for a in ENDS for b in ENDS if a <= b and a < math.inf and b > -math.inf]
INSIDE = [-1e308, -7.25, -2.5, -1e-310, -5e-324, 0.0, 5e-324, 0.05, 0.1, 2.0, 3.0, 1e299, 1.5e308]


def members(of):
    ends = [end for end in (of.low, of.high) if math.isfinite(end)]
    return {*ends, *(value for value in INSIDE if of.low <= value <= of.high)}


@pytest.mark.parametrize(
    ("operation", "exact"),
    [
        (intervals.add, lambda x, y: x + y),
        (intervals.subtract, lambda x, y: x - y),
        (intervals.multiply, lambda x, y: x * y),
        (
            lambda x, y: intervals.divide(x, y, intervals.TINY),
            lambda x, y: x / y if y else math.nan,
        ),
    ],
)
def test_no_double_leaves_the_interval_of_its_operation(operation, exact):
    for x, y in product(RANGES, RANGES):
        found = operation(x, y)
        for a, b in product(members(x), members(y)):
            value = exact(a, b)
            if math.isfinite(value):
                assert found is not None
                assert found.low <= value <= found.high


def test_no_whole_number_leaves_the_interval_of_its_remainder():
    small = [Range(a, b) for a in range(-4, 5) for b in range(a, 5)]
    for x, y in product(small, small):
        found = intervals.remainder(x, y)
        for a, b in product(range(x.low, x.high + 1), range(y.low, y.high + 1)):
            if b:
                assert found.low <= math.fmod(a, b) <= found.high


def test_one_operand_functions_stay_in_their_intervals():
    for x in RANGES:
        for value in members(x):
            assert intervals.negate(x).low <= -value <= intervals.negate(x).high
            assert intervals.absolute(x).low <= abs(value) <= intervals.absolute(x).high
            if value >= 0:
                root = intervals.square_root(x)
                assert root.low <= math.sqrt(value) <= root.high
            if value > 0:
                log = intervals.logarithm(x, intervals.TINY)
                assert log.low <= math.log(value) <= log.high
            if value < 709:
                power = intervals.exponential(x)
                assert power.low <= math.exp(value) <= power.high


def test_a_library_may_be_off_by_a_unit_in_the_last_place():
    one = Range(1.0, 1.0)
    power = intervals.exponential(one)

    assert power.low < math.nextafter(math.e, 0)
    assert power.high > math.nextafter(math.e, 3)


# --- completeness ---------------------------------------------------------------------------------


def test_every_function_has_a_type_and_a_meaning():
    assert set(RULES) == set(Function)
    assert set(FUNCTIONS) | BY_THEMSELVES == set(Function)
    assert not set(FUNCTIONS) & BY_THEMSELVES


@pytest.mark.parametrize("unit", Unit)
def test_every_unit_is_typed_as_it_is_meant(unit):
    days = [moment(place, Kind.DATE) for place in (-719162, -719161, -1, 0, 11016, 19782, 2932896)]
    hours = [moment(place, Kind.TIMESTAMP) for place in (-62135596800000000, -1, 0, 3_599_999_999)]
    for value in (*days, *hours, moment(253402300799999999, Kind.TIMESTAMP)):
        assert calendar_truncate(value, unit) == truncate(value, unit)
    low, high = dt.date(2023, 2, 27), dt.date(2024, 3, 2)
    every = {truncate(low + dt.timedelta(n), unit) for n in range((high - low).days + 1)}
    assert list(beginnings(low, high, unit)) == sorted(every)


@pytest.mark.parametrize("nullable", [False, True])
def test_whole_numbers_are_listed_where_they_are_few_enough(nullable):
    end = [None] * nullable
    assert counting(Range(-1, 2), nullable=nullable) == (-1, 0, 1, 2, *end)
    assert counting(Range(1, MOST), nullable=nullable) == (*range(1, MOST + 1), *end)
    assert counting(Range(0, MOST), nullable=nullable) is None
    assert counting(Range(-(2.0**63), 2.0**63), nullable=nullable) is None


@pytest.mark.parametrize(("keys", "kept"), [(10, True), (2000, False)])
def test_of_types_with_many_keys_few_are_remembered(keys, kept):
    columns = {"city": Type(Kind.TEXT, keys=tuple(f"city {i}" for i in range(keys)))}
    asked = [call(F.UPPER, call(F.CONCAT, "city", Literal(str(i), Kind.TEXT))) for i in range(50)]
    first = infer(asked[0], columns)
    assert infer(asked[0], columns) is first
    assert {infer(one, columns).kind for one in asked} == {Kind.TEXT}
    assert (infer(asked[0], columns) is first) is kept
