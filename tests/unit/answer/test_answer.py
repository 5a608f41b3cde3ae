import math

import pyarrow as pa
import pytest

from discreet.errors import EngineError, InputError
from discreet.privacy import Neighbours
from visits import CITIES, EachRow, Limits, ask, clinic, engine_of, schema

pytestmark = pytest.mark.usefixtures("fixed_bits")


@pytest.fixture(scope="module")
def engine():
    engine = engine_of(clinic())
    yield engine
    engine.close()


def rows(release):
    return release.table.to_pylist()


def test_every_known_key_is_answered_in_the_order_it_was_listed(engine):
    release = ask(
        "SELECT city, COUNT(*) AS n FROM visits WHERE city = 'Haifa' GROUP BY city", engine
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

    assert [cost.what for cost in release.costs][:3] == [
        "people by l1",
        "people by l2",
        "people by l0",
    ]
    assert rows(release)[1]["n"] == pytest.approx(26_667, rel=0.01)
    assert float(release.guarantee.epsilon(1e-6)) <= 1 + 1e-9


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
    with engine.session() as session, pytest.raises(EngineError) as caught:
        session.run("SELECT CAST('secret' AS INTEGER)")

    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_changing_one_person_costs_more_noise_for_the_same_price(engine):
    from discreet.answer.answer import answer
    from discreet.answer.budget import Price
    from discreet.sql.read import read

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
