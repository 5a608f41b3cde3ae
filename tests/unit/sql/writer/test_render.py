import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import duckdb
import pytest

from discreet.engines.duckdb_dialect import DuckDBDialect
from discreet.engines.stored_types import DUCKDB
from discreet.errors import InputError
from discreet.plan.calendar import position
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
from discreet.plan.kinds import Kind, Range, Type
from discreet.sql.writer.render_calls import CALLS
from discreet.sql.writer.stored_view import render_scan_column
from reference.interpreter import evaluate

F = Function
DIALECT = DuckDBDialect()
COLUMNS = {
    "x": Type(Kind.REAL),
    "y": Type(Kind.REAL),
    "price": Type(Kind.REAL, range=Range(0, 10)),
    "n": Type(Kind.INTEGER),
    "i": Type(Kind.INTEGER),
    "age": Type(Kind.INTEGER, range=Range(0, 120)),
    "t": Type(Kind.TEXT),
    "d": Type(Kind.DATE),
    "s": Type(Kind.TIMESTAMP),
}
LEAST64, MOST64 = -(2**63), 2**63 - 1


def lit(value):
    kinds = {bool: Kind.BOOLEAN, int: Kind.INTEGER, float: Kind.REAL, str: Kind.TEXT}
    kinds |= {dt.date: Kind.DATE, dt.datetime: Kind.TIMESTAMP}
    return Literal(value, kinds[type(value)])


def call(function, *values):
    parts = [
        value
        if hasattr(type(value), "__slots__")
        else Column(value)
        if value in COLUMNS
        else lit(value)
        for value in values
    ]
    return Call(function, tuple(parts))


def rendered(expression, **options):
    return DIALECT.render(expression, COLUMNS, **options)


@pytest.fixture
def engine():
    with duckdb.connect(config={"threads": 1}) as connection:
        yield connection


def one(engine, expression, **row):
    """The engine's value of an expression on a row, its columns in a table and not constants."""
    row = dict.fromkeys(COLUMNS) | row
    columns = ", ".join(f'"{name}" {DIALECT.types[of.kind]}' for name, of in COLUMNS.items())
    engine.execute(f"CREATE OR REPLACE TABLE row ({columns})")
    places = ", ".join("?" * len(row))
    engine.execute(f"INSERT INTO row VALUES ({places})", list(row.values()))  # noqa: S608
    (value,) = engine.execute(f"SELECT {rendered(expression)} FROM row").fetchone()  # noqa: S608
    assert value == evaluate(expression, row, COLUMNS)
    return value


# --- texts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (call(F.MULTIPLY, "price", 2), '("price" * 2.0e0)'),
        (call(F.ADD, "age", 1), "(\"age\" + BIGINT '1')"),
        (call(F.SQRT, "price"), 'sqrt("price")'),
        (call(F.SQRT, "x"), 'CASE WHEN isfinite(sqrt("x")) THEN sqrt("x") END'),
        (call(F.DIVIDE, "price", 4), '("price" / 4.0e0)'),
        (call(F.GREATER, "price", 3), '("price" > 3.0e0)'),
        (call(F.LEAST, "x", 100), 'least("x", 100.0e0)'),
        (call(F.MODULO, "n", 10), "(\"n\" % BIGINT '10')"),
        (call(F.IS_NULL, call(F.LN, "x")), '(isfinite(ln("x")) IS NOT TRUE)'),
        (call(F.YEAR, "d"), 'year("d")'),
        (call(F.ADD, Literal(dt.date(2024, 1, 1), Kind.DATE), "age"),
         "(DATE '2024-01-01' + CAST(\"age\" AS INTEGER))"),
        (Truncate(Column("d"), Unit.MONTH), "CAST(date_trunc('month', \"d\") AS DATE)"),
        (Truncate(Column("d"), Unit.HOUR), '"d"'),
        (IsIn(Column("age"), (lit(1), lit(2.0), lit(0.5))),
         "(\"age\" IN (BIGINT '1', BIGINT '2'))"),
        (Like(Column("t"), "a%"), "(\"t\" LIKE 'a%')"),
        (Like(Column("t"), "5!%%", "!"), "(\"t\" LIKE '5\\%%' ESCAPE '\\')"),
        (Literal(None, Kind.TEXT), "CAST(NULL AS VARCHAR)"),
        (lit("it's"), "'it''s'"),
        (lit(-0.1), "(-0.1e0)"),
        (lit(LEAST64), "BIGINT '-9223372036854775808'"),
    ],
)  # fmt: skip
def test_bounded_values_need_no_guards(expression, text):
    assert rendered(expression) == text


def test_names_are_quoted_whatever_they_hold(engine):
    name = 'a"; DROP TABLE row; --'
    text = DIALECT.render(Column(name), {name: Type(Kind.INTEGER)}, prefix="l")

    assert text == '"l"."a""; DROP TABLE row; --"'
    quoted = DIALECT.identifier(name)
    assert engine.execute(f"SELECT {text} FROM (SELECT 7 AS {quoted}) AS l").fetchone() == (7,)  # noqa: S608


@pytest.mark.parametrize("value", ["'", "\\", "a\x00b", "$$", "--", "\n", "🙂", "''", "\x1a"])
def test_text_constants_come_back_as_they_were(engine, value):
    assert engine.execute(f"SELECT {rendered(lit(value))}").fetchone() == (value,)


@pytest.mark.parametrize(
    "value", [0.1, 1e23, 5e-324, 2.2250738585072011e-308, math.pi, -1.7e308, 1e16]
)
def test_doubles_come_back_as_they_were(engine, value):
    assert engine.execute(f"SELECT {rendered(lit(value))}").fetchone() == (value,)


def test_texts_grow_with_the_expression_and_not_faster(engine):
    expression, sizes = Column("x"), []
    for _ in range(40):  # each level needs its operand twice
        expression = call(F.DIVIDE, 1.5, expression)
        sizes.append(len(rendered(expression)))

    assert max(later - earlier for earlier, later in pairwise(sizes[5:])) < 150
    assert one(engine, expression, x=2.0) is not None
    assert one(engine, expression, x=0.0) is None


def test_a_column_may_have_the_name_of_a_lambda_parameter(engine):
    columns = {"it": Type(Kind.REAL), "long" * 40: Type(Kind.REAL)}
    quotient = Call(F.DIVIDE, (Column("it"), Column("long" * 40)))
    text = DIALECT.render(Call(F.EXP, (quotient,)), columns)
    table = f'(SELECT 3.0e0 AS "it", 1.5e0 AS "{"long" * 40}")'

    assert "lambda" in text
    assert engine.execute(f"SELECT {text} FROM {table}").fetchone() == (math.exp(2),)  # noqa: S608


# --- what engines get wrong -----------------------------------------------------------------------


def test_division_by_zero_is_null(engine):
    assert one(engine, call(F.DIVIDE, "x", "n"), x=1.0, n=0) is None
    assert one(engine, call(F.DIVIDE, "x", "n"), x=0.0, n=0) is None
    assert one(engine, call(F.MODULO, "n", "i"), n=5, i=0) is None
    assert one(engine, call(F.MODULO, "n", 0), n=5) is None


def test_the_least_integer_has_a_remainder_by_minus_one(engine):
    assert one(engine, call(F.MODULO, "n", "i"), n=LEAST64, i=-1) == 0
    assert one(engine, call(F.MODULO, "n", -1), n=LEAST64) == 0
    assert one(engine, call(F.MODULO, "n", "i"), n=-7, i=3) == -1
    assert one(engine, call(F.MODULO, "n", "i"), n=7, i=LEAST64) == 7


def test_integers_do_not_overflow(engine):
    assert one(engine, call(F.ADD, "n", 1), n=MOST64) == 2.0**63
    assert one(engine, call(F.MULTIPLY, "n", "n"), n=LEAST64) == 2.0**126
    assert one(engine, call(F.NEGATE, "n"), n=LEAST64) == 2.0**63
    assert one(engine, call(F.ABS, "n"), n=LEAST64) == 2.0**63
    assert one(engine, call(F.ADD, 2_000_000_000, 2_000_000_000)) == 4_000_000_000


def test_doubles_that_overflow_are_null_and_stay_so(engine):
    square = call(F.MULTIPLY, "x", "x")
    huge = {"x": 1e300, "y": 1.0}
    assert one(engine, square, **huge) is None
    assert one(engine, call(F.SUBTRACT, square, square), **huge) is None
    assert one(engine, call(F.DIVIDE, "y", square), **huge) is None  # not 0
    assert one(engine, call(F.EXP, call(F.NEGATE, square)), **huge) is None  # not 0
    assert one(engine, call(F.LEAST, square, "y"), **huge) == 1.0
    assert one(engine, call(F.GREATEST, square, "y"), **huge) == 1.0
    assert one(engine, call(F.COALESCE, square, "y"), **huge) == 1.0
    assert one(engine, call(F.COALESCE, "y", square), **huge) == 1.0
    assert one(engine, call(F.GREATER, square, "y"), **huge) is None
    assert one(engine, call(F.SIGN, square), **huge) is None
    assert one(engine, call(F.IS_NULL, square), **huge) is True
    assert one(engine, call(F.NULL_IF, square, square), **huge) is None
    assert one(engine, call(F.BUCKET, square, 0, 1, 5), **huge) is None
    assert one(engine, Cast(square, Kind.INTEGER), **huge) is None
    assert one(engine, IsIn(square, (lit(1.0),)), **huge) is None
    assert one(engine, Case(((call(F.LESS, square, 0), lit(1.0)),), square), **huge) is None
    assert one(engine, call(F.FLOOR, square), **huge) is None


def test_functions_are_null_outside_their_domain(engine):
    assert one(engine, call(F.SQRT, "x"), x=-1.0) is None
    assert one(engine, call(F.LN, "x"), x=0.0) is None
    assert one(engine, call(F.LN, "x"), x=-1.0) is None
    assert one(engine, call(F.EXP, "x"), x=710.0) is None
    assert one(engine, call(F.SQRT, call(F.SUBTRACT, "price", 5)), price=1.0) is None


def test_integers_and_doubles_compare_as_numbers(engine):
    for n, x in ((2**53 + 1, 2.0**53), (MOST64, 2.0**63), (LEAST64, -(2.0**63)), (5, 5.5)):
        for function in (F.EQUAL, F.NOT_EQUAL, F.LESS, F.LESS_EQUAL, F.GREATER, F.GREATER_EQUAL):
            one(engine, call(function, "n", "x"), n=n, x=x)
            one(engine, call(function, "x", "n"), n=n, x=x)
            one(engine, call(function, "n", lit(x)), n=n)
    assert one(engine, call(F.EQUAL, "n", "x"), n=2**53 + 1, x=2.0**53) is False
    assert one(engine, IsIn(Column("n"), (lit(2.0**53),)), n=2**53 + 1) is False
    assert one(engine, IsIn(Column("x"), (lit(2**53 + 1),)), x=2.0**53) is False
    assert one(engine, IsIn(Column("x"), (lit(2**53 + 1),))) is None


def test_round_takes_halves_away_from_zero(engine):
    for x, whole in ((0.5, 1), (1.5, 2), (2.5, 3), (-2.5, -3), (0.49999999999999994, 0)):
        assert one(engine, call(F.ROUND, "x"), x=x) == whole


def test_casts_take_halves_to_even(engine):
    for x, whole in ((0.5, 0), (1.5, 2), (2.5, 2), (-2.5, -2), (0.49999999999999994, 0)):
        assert one(engine, Cast(Column("x"), Kind.INTEGER), x=x) == whole
    assert one(engine, Cast(Column("x"), Kind.INTEGER), x=2.0**63) is None
    assert one(engine, Cast(Column("x"), Kind.INTEGER), x=-(2.0**63)) == LEAST64


def test_least_and_greatest_pass_over_null(engine):
    assert one(engine, call(F.LEAST, "x", 100)) == 100.0
    assert one(engine, call(F.GREATEST, call(F.LEAST, "x", 100), 0), x=7.5) == 7.5
    assert one(engine, call(F.LEAST, "x", "y")) is None


def test_letters_beyond_ascii_keep_their_case(engine):
    assert one(engine, call(F.LOWER, "t"), t="ÀB\u0130") == "Àb\u0130"
    assert one(engine, call(F.UPPER, "t"), t="ßa\u0131") == "ßA\u0131"
    assert one(engine, call(F.UPPER, "t"), t="az{") == "AZ{"
    assert one(engine, call(F.TRIM, "t"), t=" \ta\u00a0 ") == "\ta\u00a0"


def test_text_is_counted_and_compared_by_code_point(engine):
    assert one(engine, call(F.LENGTH, "t"), t="e\u0301👨") == 3
    assert one(engine, call(F.SUBSTRING, "t", 2, 1), t="e\u0301x") == "\u0301"
    assert one(engine, call(F.SUBSTRING, "t", 2**40, 1), t="abc") == ""
    assert one(engine, call(F.LESS, "t", lit("\U0001f468")), t="\uffff") is True
    assert one(engine, Like(Column("t"), "e_"), t="e\u0301") is True


def test_texts_that_double_over_and_over_end_as_null(engine):
    text = Column("t")
    for _ in range(18):
        text = call(F.CONCAT, text, Column("t"))
    assert one(engine, text, t="ab" * 100) == "ab" * 1900
    assert one(engine, text, t="ab" * 1000) is None
    twice = call(F.CONCAT, "t", "t")
    assert one(engine, twice, t="é" * 8192) is not None
    assert one(engine, twice, t="é" * 8193) is None


@pytest.mark.parametrize(
    ("text", "integer", "real"),
    [
        ("12", 12, 12.0),
        ("+1", 1, 1.0),
        (" 1", None, None),
        ("1_0", None, None),
        ("0x1f", None, None),
        ("1.5", None, 1.5),
        ("1e2", None, 100.0),
        (".5", None, 0.5),
        ("5.", None, 5.0),
        (".", None, None),
        ("1e400", None, None),
        ("1e-400", None, 0.0),
        ("nan", None, None),
        ("inf", None, None),
        ("\u0661", None, None),
        ("", None, None),
        ("1\n", None, None),
        ("9223372036854775808", None, 2.0**63),
        ("0" * 400 + "7", 7, 7.0),
        ("0.1000000000000000055511151231257827021181583404541015625", None, 0.1),
    ],
)
def test_numbers_are_read_by_one_grammar(engine, text, integer, real):
    assert one(engine, Cast(Column("t"), Kind.INTEGER), t=text) == integer
    assert one(engine, Cast(Column("t"), Kind.REAL), t=text) == real


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2024-02-29", dt.date(2024, 2, 29)),
        ("2023-02-29", None),
        ("0000-01-01", None),
        ("0001-01-01", dt.date(1, 1, 1)),
        ("12024-01-01", None),
        ("2024-1-1", None),
        ("2024-01-01 (BC)", None),
        ("epoch", None),
        ("infinity", None),
    ],
)
def test_dates_are_read_by_one_grammar(engine, text, date):
    assert one(engine, Cast(Column("t"), Kind.DATE), t=text) == date
    moment = None if date is None else dt.datetime.combine(date, dt.time(23, 59, 59, 120000))
    assert one(engine, Cast(Column("t"), Kind.TIMESTAMP), t=text + " 23:59:59.12") == moment
    assert one(engine, Cast(Column("t"), Kind.TIMESTAMP), t=text + " 24:00:00") is None


def test_dates_end_where_the_calendar_ends(engine):
    first, last = dt.date(1, 1, 1), dt.date(9999, 12, 31)
    assert one(engine, call(F.ADD, "d", 1), d=last) is None
    assert one(engine, call(F.SUBTRACT, "d", 1), d=first) is None
    assert one(engine, call(F.ADD, "d", "n"), d=first, n=3652058) == last
    for n in (LEAST64, MOST64, 3652060, -(2**31), 2**31):
        assert one(engine, call(F.ADD, "n", "d"), d=first, n=n) is None
        assert one(engine, call(F.SUBTRACT, "d", "n"), d=first, n=n) is None
    assert one(engine, call(F.SUBTRACT, "d", lit(first)), d=last) == 3652058
    assert one(engine, Truncate(Column("d"), Unit.WEEK), d=dt.date(1, 1, 3)) == first


def test_bins_hold_their_lower_ends_and_rounding_stays_inside(engine):
    tenth = call(F.BUCKET, "x", 0, 1, 10)
    assert one(engine, tenth, x=-0.1) == 0
    assert one(engine, tenth, x=0.3) == 4
    assert one(engine, tenth, x=1.0) == 11
    assert one(engine, tenth, x=math.nextafter(1, 0)) == 10
    assert one(engine, tenth) is None
    for x in (0.1, 0.3, 0.7, math.nextafter(0.7, 0)):
        one(engine, call(F.BUCKET, "x", 0.1, 0.7, 3), x=x)


def test_in_and_null_if_know_null(engine):
    assert one(engine, IsIn(Column("n"), (lit(1), lit(2)))) is None
    assert one(engine, call(F.NULL_IF, "n", 5)) is None
    assert one(engine, call(F.NULL_IF, "n", 5), n=6) == 6
    assert one(engine, call(F.NULL_IF, "n", 5.0), n=5) is None


def test_case_computes_only_the_branch_it_takes(engine):
    """What integers, dates and casts rest on."""
    text = "CASE WHEN i <> 0 THEN 10 % i ELSE 7 END"
    answers = engine.execute(f"SELECT {text} FROM range(5000) AS r(i)").fetchall()  # noqa: S608

    assert answers[0] == (7,)


def test_arithmetic_of_doubles_never_fails(engine):
    assert engine.execute("SELECT current_setting('ieee_floating_point_ops')").fetchone() == (True,)


# --- stored columns -------------------------------------------------------------------------------


def read(engine, physical, values, of):
    engine.execute(f"CREATE OR REPLACE TABLE stored (v {physical})")
    engine.executemany(f"INSERT INTO stored SELECT CAST(? AS {physical})", [[v] for v in values])
    (found,) = {row[1] for row in engine.execute("DESCRIBE stored").fetchall()}
    text = render_scan_column("v", found, of, DIALECT)
    return [row[0] for row in engine.execute(f"SELECT {text} FROM stored").fetchall()]  # noqa: S608


@pytest.mark.parametrize(
    ("physical", "stored", "of", "values"),
    [
        ("DOUBLE", ["nan", "inf", "-inf", "1e300", None, "-5", "2.5"],
         Type(Kind.REAL, range=Range(0, 10)), [None, None, None, 10.0, None, 0.0, 2.5]),
        ("FLOAT", ["nan", "0.1", "inf"], Type(Kind.REAL), [None, 0.10000000149011612, None]),
        ("DOUBLE", ["2.5", "nan", "1e30", "3.5"], Type(Kind.INTEGER), [2, None, None, 4]),
        ("DOUBLE", ["1e18", "-7"], Type(Kind.INTEGER, range=Range(0, 9)), [9, 0]),
        ("TINYINT", ["-128", None], Type(Kind.INTEGER), [-128, None]),
        ("INTEGER", ["-5", "500"], Type(Kind.REAL, range=Range(0, 9.5)), [0.0, 9.5]),
        ("UBIGINT", ["18446744073709551615", "5"], Type(Kind.INTEGER), [None, 5]),
        ("UBIGINT", ["18446744073709551615"], Type(Kind.REAL), [2.0**64]),
        ("HUGEINT", [str(2**100), "-3"], Type(Kind.INTEGER, range=Range(0, 9)), [None, 0]),
        ("DECIMAL(4,1)", ["12.5", "-0.1"], Type(Kind.REAL), [12.5, -0.1]),
        ("DECIMAL(4,1)", ["12.5", "13.5"], Type(Kind.INTEGER), [12, 14]),
        ("DECIMAL(38,0)", ["9" * 38, "4"], Type(Kind.INTEGER), [None, 4]),
        ("BOOLEAN", [True, None], Type(Kind.BOOLEAN), [True, None]),
        ("BOOLEAN", [True, None], Type(Kind.INTEGER), [1, None]),
        ("VARCHAR", ["12", "x", None], Type(Kind.INTEGER, range=Range(0, 9)), [9, None, None]),
        ("VARCHAR", ["1e400", "2"], Type(Kind.REAL), [None, 2.0]),
        ("ENUM('a', 'b')", ["b"], Type(Kind.TEXT), ["b"]),
        ("UUID", ["00000000-0000-0000-0000-000000000001"], Type(Kind.TEXT),
         ["00000000-0000-0000-0000-000000000001"]),
        ("DATE", ["infinity", "-infinity", "0001-12-31 (BC)", "10000-01-01", "2024-02-29"],
         Type(Kind.DATE), [None, None, None, None, dt.date(2024, 2, 29)]),
        ("DATE", ["2024-02-29"], Type(Kind.TIMESTAMP), [dt.datetime(2024, 2, 29)]),  # noqa: DTZ001
        ("DATE", ["2024-02-29", "10000-01-01"],
         Type(Kind.DATE, range=Range(0, position(dt.date(2000, 1, 1)))),
         [dt.date(2000, 1, 1), None]),
        ("TIMESTAMP", ["infinity", "290000-01-01 00:00:00", "2024-02-29 12:00:00"],
         Type(Kind.TIMESTAMP), [None, None, dt.datetime(2024, 2, 29, 12)]),  # noqa: DTZ001
        ("TIMESTAMP_S", ["9999-12-31 00:00:00"], Type(Kind.TIMESTAMP),
         [dt.datetime(9999, 12, 31)]),  # noqa: DTZ001
        ("TIMESTAMP_NS", ["2024-02-29 12:00:00.5"], Type(Kind.DATE), [dt.date(2024, 2, 29)]),
        ("TIMESTAMP WITH TIME ZONE",
         ["infinity", "2024-02-29 23:00:00-02", "290000-01-01 00:00:00+00"],
         Type(Kind.TIMESTAMP), [None, dt.datetime(2024, 3, 1, 1), None]),  # noqa: DTZ001
        ("INTEGER", [None, "7"], Type(Kind.INTEGER, nullable=False, range=Range(2, 9)), [2, 7]),
        ("DOUBLE", ["nan", "7"], Type(Kind.REAL, nullable=False), [0.0, 7.0]),
        ("VARCHAR", [None], Type(Kind.TEXT, nullable=False), [""]),
        ("DATE", [None], Type(Kind.DATE, nullable=False, range=Range(-9, -3)),
         [dt.date(1969, 12, 29)]),
        ("BOOLEAN", [None], Type(Kind.BOOLEAN, nullable=False), [False]),
    ],
)  # fmt: skip
def test_stored_columns_read_as_their_declared_type(engine, physical, stored, of, values):
    assert read(engine, physical, stored, of) == values


def test_decimals_become_the_nearest_double(engine):
    for physical, digits in (
        ("DECIMAL(15,7)", "12345678.1234567"),
        ("DECIMAL(18,3)", "123456789012345.679"),
        ("DECIMAL(38,20)", "123456789012345678.12345678901234567891"),
        ("DECIMAL(18,18)", "0.123456789012345678"),
    ):
        nearest = float(Fraction(Decimal(digits)))
        assert read(engine, physical, [digits], Type(Kind.REAL)) == [nearest]


def test_collations_do_not_change_what_is_equal(engine):
    engine.execute("CREATE TABLE stored (v VARCHAR COLLATE NOCASE)")
    engine.execute("INSERT INTO stored VALUES ('a'), ('B')")
    text = render_scan_column("v", "VARCHAR", Type(Kind.TEXT), DIALECT)
    clean = f"(SELECT {text} AS t FROM stored)"  # noqa: S608

    answers = engine.execute(f"SELECT t = 'A', t < 'a' FROM {clean}").fetchall()  # noqa: S608
    assert answers == [(False, False), (False, True)]
    assert engine.execute(f"SELECT t FROM {clean} ORDER BY t").fetchall() == [("B",), ("a",)]  # noqa: S608


@pytest.mark.parametrize("physical", ["BLOB", "TIME", "INTERVAL", "INTEGER[]", "STRUCT(a INTEGER)"])
def test_columns_of_other_types_are_refused(physical):
    assert DUCKDB.kind(physical) is None
    with pytest.raises(InputError, match="leave it out"):
        render_scan_column("v", physical, Type(Kind.TEXT), DIALECT)


def test_columns_are_not_cast_to_what_has_no_meaning():
    with pytest.raises(InputError, match="real to text"):
        render_scan_column("v", "DOUBLE", Type(Kind.TEXT), DIALECT)


def test_a_key_list_may_hold_null(engine):
    texts = {
        (1, None): [True, False, True],
        (1,): [True, False, None],
        (None,): [False, False, True],
    }
    for keys, answers in texts.items():
        text = DIALECT.is_one_of("v", keys, Kind.INTEGER)
        found = engine.execute(f"SELECT {text} FROM (VALUES (1), (2), (NULL)) AS t(v)")  # noqa: S608
        assert [row[0] for row in found.fetchall()] == answers


# --- completeness ---------------------------------------------------------------------------------


def test_every_function_has_a_rendering():
    assert set(CALLS) == set(Function)


@pytest.mark.parametrize("unit", Unit)
def test_every_unit_has_a_rendering(engine, unit):
    for day in (
        dt.date(1, 1, 1),
        dt.date(1969, 12, 31),
        dt.date(2024, 2, 29),
        dt.date(9999, 12, 31),
    ):
        assert one(engine, Truncate(Column("d"), unit), d=day) is not None
        moment = dt.datetime.combine(day, dt.time(23, 59, 59, 999999))
        assert one(engine, Truncate(Column("s"), unit), s=moment) is not None
