import math
import re
import sys

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.answer.estimate import aggregates
from discreet.answer.measurement_plan import answer
from discreet.answer.plan.price import Price
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import EngineError, InputError, QueryRefused
from discreet.plan.bounding import NoiseKind
from discreet.plan.kinds import Kind
from discreet.plan.schema import Bounds, Person, Schema, Table, column_type
from discreet.privacy import Neighbours
from discreet.sql.reader.read import read
from visits import CITIES, EachRow, Limits, ask, clinic, engine_of, schema


@pytest.fixture(scope="module")
def engine():
    engine = engine_of(clinic())
    yield engine
    engine.close()


def rows(release):
    return release.table.to_pylist()


def test_every_known_key_is_answered_in_the_order_it_was_listed(engine):
    release = ask(
        "SELECT city, COUNT(*) AS n FROM visits WHERE LOWER(city) = 'haifa' GROUP BY city", engine
    )

    assert [row["city"] for row in rows(release)] == CITIES
    assert abs(rows(release)[1]["n"] - 4000) < 200
    assert abs(rows(release)[0]["n"]) < 200


def test_counts_sums_means_and_spreads_are_near_the_truth(engine):
    release = ask(
        "SELECT COUNT(*) AS n, COUNT(DISTINCT person) AS p, SUM(amount) AS s, AVG(amount) AS m, "
        "STDDEV(amount) AS d, MEDIAN(amount) AS q FROM visits",
        engine,
        epsilon=10,
    )
    (row,) = rows(release)

    assert row["n"] == pytest.approx(6000, rel=0.02)
    assert row["p"] == pytest.approx(3000, rel=0.02)
    assert row["s"] == pytest.approx(6000 * 49.7, rel=0.03)
    assert row["m"] == pytest.approx(49.7, rel=0.03)
    assert row["d"] == pytest.approx(29.1, rel=0.05)
    assert row["q"] == pytest.approx(50, abs=3)


@pytest.mark.parametrize("unit", [Person("person"), EachRow()], ids=["by person", "by row"])
@pytest.mark.parametrize("law", list(NoiseKind))
def test_constants_are_added_up_like_any_values(unit, law):
    about = schema(unit)
    text = "SELECT COUNT(*) AS n, SUM(1) AS s, AVG(5) AS m, VAR_POP(2) AS v FROM visits"
    (row,) = rows(
        answer(read(text, about), engine_of(clinic(), about), Price(50, 1e-6), noise_kinds=(law,))
    )
    assert row["s"] == pytest.approx(6000, abs=50)
    assert (row["m"], row["v"]) == (pytest.approx(5, abs=0.1), pytest.approx(0, abs=0.1))


def test_rows_that_meet_nothing_in_a_left_join_are_a_group(engine):
    """The owner lists no NULL among countries; it is the question that makes them."""
    found = ask(
        "SELECT country, COUNT(*) AS n FROM visits LEFT JOIN cities ON name = LOWER(city)"
        " GROUP BY country",
        engine,
    )
    assert [row["country"] for row in rows(found)] == ["US", "IL", "NO", None]
    assert rows(found)[-1]["n"] == pytest.approx(6000, abs=300)


def test_sums_of_groups_that_their_own_count_found_have_error_bars():
    """Where the count also decides which groups are shown, a sum is simulated group by group."""
    about = schema(EachRow())
    text = "SELECT street, COUNT(*) AS n, SUM(amount) AS s FROM visits GROUP BY street"
    found = ask(text, engine_of(clinic(), about), about)
    widths = found.half_widths["s"].to_pylist()
    assert len(widths) == 5
    for row, width in zip(rows(found), widths, strict=True):
        assert abs(row["s"] - 60_000) < 2 * width < 5_000


def test_covariance_and_correlation_of_a_column_with_itself(engine):
    release = ask(
        "SELECT COVAR_POP(amount, amount) AS c, VAR_POP(amount) AS v, CORR(amount, amount) AS r "
        "FROM visits",
        engine,
        epsilon=20,
    )
    (row,) = rows(release)

    assert row["c"] == pytest.approx(row["v"])
    assert row["r"] == pytest.approx(1, abs=0.02)


def test_rows_protected_by_themselves_need_no_limits():
    about = schema(EachRow())
    engine = engine_of(clinic(), about)
    release = ask(
        "SELECT city, COUNT(*) AS n, AVG(amount) AS m FROM visits GROUP BY city", engine, about
    )

    assert rows(release)[1]["n"] == pytest.approx(4000, abs=30)


def test_limits_that_nobody_stated_are_chosen_and_paid_for():
    about = schema(limits=Limits())
    engine = engine_of(clinic(people=20_000), about)
    release = ask("SELECT city, COUNT(*) AS n FROM visits GROUP BY city", engine, about)

    assert [cost.what for cost in release.costs] == ["people by rows", "Rows"]
    assert rows(release)[1]["n"] == pytest.approx(26_667, rel=0.01)
    assert float(release.guarantee.epsilon(1e-6)) <= 1 + 1e-9
    assert re.search(
        r"counts for at most 2 rows \(0\.\d % ± 0\.\d % of people have more\)", release.notes[0]
    )
    assert "intervals allow for what that cuts off, up to" in release.notes[0]


@pytest.mark.parametrize(
    ("limits", "said"), [(Limits(2, 4), "at most 6 rows in L2 norm"), (Limits(1, 1), "1 row in L2")]
)
def test_stated_limits_that_bound_a_norm_are_said_to_bound_a_norm(limits, said):
    about = schema(limits=limits)
    engine = engine_of(clinic(), about)
    asked = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"

    release = answer(read(asked, about), engine, Price(1, 1e-6), noise_kinds=[NoiseKind.GAUSSIAN])
    assert said in release.notes[0]
    assert "norm" not in ask("SELECT COUNT(*) AS n FROM visits", engine, about).notes[0]


def test_groups_that_nobody_listed_are_found_only_if_many_people_are_in_them():
    table = clinic()
    lonely = pa.table(
        {"person": [10**6], "city": ["Haifa"], "street": ["nowhere else"], "amount": [1.0]}
    )
    engine = engine_of(pa.concat_tables([table, lonely.cast(table.schema)]))
    release = ask("SELECT street, COUNT(*) AS n FROM visits GROUP BY street", engine)

    assert [row["street"] for row in rows(release)] == [f"street {i}" for i in range(5)]


def test_no_groups_at_all_is_an_answer_like_any_other():
    release = ask("SELECT street, COUNT(*) AS n FROM visits GROUP BY street", engine_of(clinic(0)))

    assert release.table.num_rows == 0
    assert release.table.column_names == ["street", "n"]


def test_groups_that_nobody_listed_cannot_be_found_without_a_delta(engine):
    with pytest.raises(InputError, match="delta"):
        ask("SELECT street, COUNT(*) FROM visits GROUP BY street", engine, delta=0)


def test_subtotals_have_null_keys_and_share_the_price(engine):
    release = ask("SELECT city, COUNT(*) AS n FROM visits GROUP BY ROLLUP (city)", engine)

    assert [row["city"] for row in rows(release)] == [*CITIES, None]
    assert rows(release)[3]["n"] == pytest.approx(6000, rel=0.05)
    assert float(release.guarantee.epsilon(1e-6)) <= 1 + 1e-9


def test_what_follows_the_release_is_free_and_exact(engine):
    release = ask(
        "SELECT city, SUM(amount) / COUNT(*) AS mean, COUNT(*) AS n FROM visits GROUP BY city "
        "HAVING COUNT(*) > 500 ORDER BY n DESC LIMIT 2",
        engine,
    )

    assert rows(release)[0]["city"] == "Haifa"
    assert len(rows(release)) == 2
    assert release.how["mean"] == "by simulation"
    assert 0 < release.half_widths["mean"][0].as_py() < 20


def test_a_public_table_lends_its_columns(engine):
    release = ask(
        "SELECT c.country, COUNT(*) AS n FROM visits v JOIN cities c ON v.city = c.name "
        "GROUP BY c.country",
        engine,
    )

    assert {row["country"]: row["n"] for row in rows(release)}["IL"] == pytest.approx(
        4000, rel=0.05
    )


def test_different_values_are_counted_with_a_limit_a_person(engine):
    (row,) = rows(ask("SELECT COUNT(DISTINCT street) AS n FROM visits", engine, epsilon=10))

    assert abs(row["n"] - 5) < 10


def test_an_empty_table_has_answers_of_the_same_shape():
    engine = engine_of(clinic(people=0))
    release = ask(
        "SELECT city, COUNT(*) AS n, AVG(amount), MEDIAN(amount) FROM visits GROUP BY city", engine
    )

    assert release.table.num_rows == 3
    assert (
        release.table.schema
        == ask(
            "SELECT city, COUNT(*) AS n, AVG(amount), MEDIAN(amount) FROM visits GROUP BY city",
            engine_of(clinic(people=10)),
        ).table.schema
    )


def test_a_release_is_a_value_and_reading_it_again_changes_nothing(engine):
    release = ask("SELECT city, COUNT(*) AS n FROM visits GROUP BY city", engine)

    assert release.to_arrow().equals(release.to_arrow())


def test_errors_of_the_engine_say_nothing_about_data(engine):
    with engine.snapshot() as session, pytest.raises(EngineError) as caught:
        session.keep("it", "SELECT CAST('secret' AS INTEGER)")

    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_changing_one_person_costs_more_noise_for_the_same_price(engine):
    from discreet.answer.measurement_plan import answer
    from discreet.answer.plan.price import Price
    from discreet.sql.reader.read import read

    query = read("SELECT COUNT(*) AS n FROM visits", schema())
    one = answer(query, engine, Price(1, 0))
    other = answer(query, engine, Price(1, 0), Neighbours.CHANGE_ONE)

    assert other.half_widths["n"][0].as_py() > 1.9 * one.half_widths["n"][0].as_py()
    assert math.isfinite(other.half_widths["n"][0].as_py())


def test_limits_that_cannot_be_learned_are_wide_and_not_narrow():
    about = schema(limits=Limits())
    engine = engine_of(clinic(people=300, rows=6), about)
    release = ask("SELECT COUNT(*) AS n FROM visits", engine, about, epsilon=0.1, delta=0)
    (row,) = release.to_arrow().to_pylist()

    assert "16 rows" in release.notes[0]
    assert row["n_low"] <= 1800 <= row["n_high"]


def test_the_median_of_whole_numbers_is_one_of_them():
    engine = engine_of(clinic())
    text = "SELECT MEDIAN(CAST(amount AS INTEGER)) AS m FROM visits"
    (row,) = ask(text, engine, epsilon=20).table.to_pylist()

    assert row["m"] == int(row["m"])
    assert row["m"] == pytest.approx(50, abs=2)


def test_subtotals_are_told_from_keys_that_are_null():
    engine = engine_of(clinic())
    release = ask(
        "SELECT city, GROUPING(city) AS g, COUNT(*) AS n, 2 * GROUPING(city) AS twice FROM visits "
        "GROUP BY ROLLUP (city) ORDER BY GROUPING(city), city",
        engine,
        epsilon=50,
    )

    assert [(row["city"], row["g"], row["twice"]) for row in rows(release)] == [
        ("Austin", 0, 0),
        ("Haifa", 0, 0),
        ("Oslo", 0, 0),
        (None, 1, 2),
    ]
    assert release.facts.keys == ("city", "g", "twice")
    assert set(release.half_widths) == {"n"}


@pytest.mark.parametrize("law", list(NoiseKind))
@pytest.mark.parametrize("what", ["COUNT(*)", "COUNT(DISTINCT person)", "AVG(amount)"])
def test_no_group_that_is_shown_is_no_error_whatever_the_noise(law, what):
    about = schema()
    query = read(
        "SELECT street, what AS n FROM visits GROUP BY street".replace("what", what), about
    )
    for table in (clinic(0), clinic(1)):
        release = answer(query, engine_of(table, about), Price(1, 1e-6), noise_kinds=(law,))
        assert release.table.num_rows == 0
        assert release.table.column_names == ["street", "n"]


def test_rows_with_keys_that_nobody_declared_are_left_out_of_single_rows_too():
    about = schema(EachRow())
    strays = clinic().set_column(1, "city", pa.array(["Paris", "Haifa", None] * 2000, pa.string()))
    query = read("SELECT city, COUNT(*) AS n, MEDIAN(amount) AS m FROM visits GROUP BY city", about)
    release = answer(query, engine_of(strays, about), Price(50, 1e-6))

    assert [row["city"] for row in rows(release)] == ["Austin", "Haifa", "Oslo"]
    assert rows(release)[1]["n"] == pytest.approx(2000, abs=20)
    assert rows(release)[0]["n"] == pytest.approx(0, abs=20)


WIDTHS = [(7.5, 7.500000000000001), (0, 5e-324), (1e300, 1.0000000000000002e300), (-1e307, 1e307)]


@pytest.mark.parametrize(("low", "high"), WIDTHS)
def test_bounds_of_any_width_have_answers(low, high):
    columns = dict(schema().tables["visits"].columns)
    columns["amount"] = column_type("amount", Kind.REAL, Bounds(low, high), nullable=False)
    about = Schema({"visits": Table("visits", columns, Person("person"), Limits(2, 4))})
    text = "SELECT SUM(amount), AVG(amount) AS m, MEDIAN(amount) AS q, MAX(amount) AS x FROM visits"
    engine = DuckDBEngine()
    engine.store("visits", clinic(50))
    engine.open(about)
    (row,) = rows(answer(read(text, about), engine, Price(50, 1e-6)))

    assert all(low <= row[name] <= high for name in ("m", "q", "x"))


@pytest.mark.parametrize(("low", "high"), [(0, 1e308), (-8e307, 8e307), (1e308, 1.5e308)])
def test_a_sum_beyond_the_largest_double_is_told_as_that(low, high):
    assert dp.sum([high] * 50, bounds=(low, high), epsilon=9) == sys.float_info.max
    assert low <= dp.mean([high] * 50, bounds=(low, high), epsilon=9) <= high


def test_a_variance_whose_squares_overflow_is_refused_before_any_charge():
    columns = dict(schema().tables["visits"].columns)
    columns["amount"] = column_type("amount", Kind.REAL, Bounds(0, 1e200), nullable=False)
    about = Schema({"visits": Table("visits", columns, Person("person"))})
    with pytest.raises(QueryRefused, match="very wide bounds"):
        read("SELECT VARIANCE(amount) FROM visits", about)


def test_what_computes_with_released_numbers_can_read_no_files(tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("n\n1\n")
    with pytest.raises(duckdb.Error, match="disabled by configuration"):
        aggregates._run(pa.table({"n": [1]}), f"SELECT * FROM read_csv('{secret}')")  # noqa: S608 - a made-up break-in
    with pytest.raises(duckdb.Error, match="locked"):
        aggregates._run(pa.table({"n": [1]}), "SET enable_external_access = true")
