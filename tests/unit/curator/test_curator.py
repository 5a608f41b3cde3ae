"""A question's one path: priced from public facts, charged, computed, stored."""

import sqlite3
import time
from contextlib import closing, suppress

import pytest

import discreet as dp
from clinic_curator import ABOUT, BUDGET, BY_CITY, COUNT, add_cities, add_visits, spent
from discreet.answer.plan.accuracy import Accuracy
from discreet.errors import BudgetError, EngineError, InputError, LedgerError, QueryRefused
from visits import CITIES, clinic


@pytest.fixture
def curator():
    with dp.Curator.in_memory() as made:
        yield add_visits(made)


class Stopped(BaseException):
    """The process was stopped."""


def stop_engine(curator, monkeypatch):
    """Stop the process while data is read."""
    engine = curator._data_store.open(())

    def stop(*_):
        raise Stopped

    monkeypatch.setattr(type(engine), "snapshot", stop)


# --- charge, then touch -------------------------------------------------------------------------


def test_an_answer_is_charged_and_the_same_question_is_free(curator):
    first = curator.sql(BY_CITY, epsilon=0.1)
    after = spent(curator)

    assert after > (0, 0)
    assert curator.sql(BY_CITY, epsilon=0.1).to_bytes() == first.to_bytes()
    assert spent(curator) == after


def test_the_same_plan_in_other_words_is_the_same_question(curator):
    first = curator.sql(COUNT, epsilon=0.1)

    assert curator.sql("select  count(*)  as n from visits -- hm", epsilon=0.1) == first
    assert curator.table("visits").agg(n=dp.count()).release(epsilon=0.1) == first


def test_another_price_is_another_charge(curator):
    curator.sql(COUNT, epsilon=0.1)
    before = spent(curator)
    curator.sql(COUNT, epsilon=0.2)

    assert spent(curator) > before


def test_what_was_stopped_after_the_charge_is_finished_for_nothing(curator, monkeypatch):
    with monkeypatch.context() as patch:
        stop_engine(curator, patch)
        with pytest.raises(Stopped):
            curator.sql(COUNT, epsilon=0.1)
    charged = spent(curator)
    assert charged > (0, 0)
    assert curator.ledger.verify().pending == 1

    start = time.monotonic()
    answer = curator.sql(COUNT, epsilon=0.1)

    assert time.monotonic() - start < 20  # nobody else is waited for
    assert spent(curator) == charged
    assert curator.ledger.verify().pending == 0
    assert curator.sql(COUNT, epsilon=0.1) == answer


def test_the_charge_is_on_disk_before_the_engine_is_opened(tmp_path, monkeypatch):
    curator = add_visits(dp.Curator(tmp_path / "c"))
    seen = []

    def look(*_):
        with closing(sqlite3.connect(tmp_path / "c" / "ledger.sqlite")) as other:
            seen.extend(other.execute("SELECT sequence FROM charges").fetchall())
        raise EngineError("stop", why="this is as far as it goes", fix="none")

    monkeypatch.setattr(type(curator._data_store), "open", look)
    with curator, pytest.raises(EngineError):
        curator.sql(COUNT, epsilon=0.1)

    assert len(seen) == 1


def test_recovery_finishes_what_a_crash_left_under_the_same_charge(tmp_path, monkeypatch):
    with add_visits(dp.Curator(tmp_path / "c")) as crashed:
        stop_engine(crashed, monkeypatch)
        with pytest.raises(Stopped):
            crashed.sql(COUNT, epsilon=0.1)
        charged = spent(crashed)
    monkeypatch.undo()

    with dp.Curator(tmp_path / "c") as curator:
        assert curator.recover() == 0  # somebody may still be at it
        assert curator.recover(patience=0) == 1
        assert spent(curator) == charged
        assert curator.ledger.verify().pending == 0


def test_what_cannot_be_recovered_stays_charged_and_stops_nobody(tmp_path, monkeypatch):
    def missing(*_):
        raise EngineError("the data cannot be opened", why="it is gone", fix="put it back")

    with add_visits(dp.Curator(tmp_path / "c")) as curator:
        with monkeypatch.context() as patch:
            patch.setattr(type(curator._data_store), "open", missing)
            with pytest.raises(EngineError):
                curator.sql(COUNT, epsilon=0.1)
            assert curator.recover(patience=0) == 0
        charged = spent(curator)
        curator.sql(BY_CITY, epsilon=0.1)
        assert spent(curator) > charged
        assert curator.sql(COUNT, epsilon=0.1).table.num_rows == 1  # nothing was read before


def test_a_request_id_stands_for_one_question(curator):
    first = curator.sql(COUNT, epsilon=0.1, request="monday")

    assert curator.sql(COUNT, epsilon=0.1, request="monday") == first
    with pytest.raises(InputError, match="another question"):
        curator.sql(COUNT, epsilon=0.2, request="monday")


@pytest.mark.parametrize(
    "ask",
    [
        lambda c: c.sql("SELECT * FROM visits", epsilon=0.1),
        lambda c: c.sql("SELECT COUNT(*) AS n FROM nowhere", epsilon=0.1),
        lambda c: c.sql("SELECT SUM(person) AS s FROM visits", epsilon=0.1),
        lambda c: c.sql(
            "SELECT street, COUNT(*) AS n FROM visits GROUP BY street", epsilon=1, delta=0
        ),
        lambda c: c.sql(COUNT, epsilon=0),
        lambda c: c.sql(COUNT, epsilon=-1),
        lambda c: c.sql(COUNT, epsilon=float("nan")),
        lambda c: c.sql(COUNT, epsilon="0.1"),
        lambda c: c.sql(COUNT, epsilon=0.1, delta=1),
        lambda c: c.sql(COUNT),
        lambda c: c.sql(COUNT, epsilon=0.1, accuracy=Accuracy(5)),
        lambda c: c.sql(COUNT, epsilon=0.1, analyst=""),
        lambda c: c.sql(COUNT, epsilon=0.1, request=""),
        lambda c: c.explain(COUNT, epsilon=0.1),
        lambda c: c.remeasure(BY_CITY, epsilon=0.1, weights={"nothing": 4}),
        lambda c: c.dummy().sql(COUNT, epsilon=0.1),
    ],
)
def test_what_is_refused_or_only_explained_charges_nothing(curator, ask):
    before = curator.ledger.head()
    with suppress(InputError, QueryRefused):
        ask(curator)

    assert curator.ledger.head() == before
    assert spent(curator) == (0, 0)


def test_a_price_that_does_not_fit_is_refused_and_charges_nothing(curator):
    before = curator.ledger.head()

    with pytest.raises(BudgetError) as refused:
        curator.sql(COUNT, epsilon=50)

    assert refused.value.asked > refused.value.left
    assert curator.ledger.head() == before


def test_a_budget_can_be_spent_to_the_end_and_no_further():
    with dp.Curator.in_memory() as curator:
        add_visits(curator, budget=dp.Budget(epsilon=1))
        for cents in (10, 20, 30, 40):
            curator.sql(COUNT, epsilon=cents / 100)
        assert curator.budget("visits").left.amount == 0
        with pytest.raises(BudgetError):
            curator.sql(COUNT, epsilon=0.001)


def test_a_pure_budget_is_spent_on_laplace_noise_alone():
    with dp.Curator.in_memory() as curator:
        add_visits(curator, budget=dp.Budget(epsilon=1))
        release = curator.sql(BY_CITY, epsilon=0.25)

        assert {cost.noise for cost in release.costs} == {"Laplace"}
        assert float(curator.budget("visits").total.amount) == 0.25
        assert curator.budget("visits").total.delta == 0


def test_what_is_charged_covers_what_was_done(curator):
    release = curator.sql(BY_CITY, epsilon=0.1)
    charged = curator.budget("visits").total

    assert float(release.guarantee.rho().upper) <= float(charged.amount) * (1 + 1e-9)
    assert release.guarantee.epsilon(release.price.delta).upper <= 0.1 * (1 + 1e-9)


def test_a_question_may_be_asked_for_an_accuracy(curator):
    release = curator.sql(COUNT, accuracy=Accuracy(100))

    assert release.half_widths["n"][0].as_py() <= 100
    assert 0 < release.price.epsilon < 1


def test_explaining_tells_the_error_that_comes_out(curator):
    told = curator.explain(BY_CITY, epsilon=0.1)
    release = curator.sql(BY_CITY, epsilon=0.1)

    assert told.half_width("n") == pytest.approx(release.half_widths["n"][0].as_py(), rel=0.01)


def test_a_question_about_two_datasets_is_refused(curator):
    curator.add("more", clinic(50), **ABOUT, budget=BUDGET)

    with pytest.raises(QueryRefused) as refused:
        curator.sql(
            "SELECT COUNT(*) AS n FROM visits v JOIN more m ON v.person = m.person", epsilon=0.1
        )
    assert refused.value.code == "datasets"


# --- tables -------------------------------------------------------------------------------------


def test_a_public_table_can_be_joined_and_does_not_make_old_answers_new(curator):
    first = curator.sql(COUNT, epsilon=0.1)
    before = spent(curator)
    add_cities(curator)
    text = "SELECT country, COUNT(*) AS n FROM visits JOIN cities ON city = name GROUP BY country"
    assert curator.sql(text, epsilon=1).table.column("country").to_pylist() == ["US", "IL", "NO"]
    after = spent(curator)

    assert curator.sql(COUNT, epsilon=0.1) == first
    assert spent(curator) == after > before


def test_a_key_path_leads_to_the_person_and_shares_the_budget(curator):
    import pyarrow as pa

    people = pa.table({"id": range(200), "born": [1950 + i % 50 for i in range(200)]})
    bills = pa.table({"owner": [i % 200 for i in range(600)], "sum": [5.0] * 600})
    curator.add("people", people, unit="id", dataset="visits", limits=dp.Limits(1, 1))
    curator.add(
        "bills",
        bills,
        unit=dp.KeyPath("owner", "people", "id"),
        dataset="visits",
        columns={"sum": dp.Bounds(0, 10)},
        limits=dp.Limits(1, 3),
    )
    release = curator.sql("SELECT COUNT(*) AS n FROM bills", epsilon=1)

    assert abs(release.table.column("n")[0].as_py() - 600) < 200
    assert curator.datasets() == {"visits": ["visits", "people", "bills"]}
    assert spent(curator) > (0, 0)


def test_a_key_path_between_keys_of_different_kinds_is_refused(curator):
    import pyarrow as pa

    people = pa.table({"id": [str(i) for i in range(9)]})
    with pytest.raises(InputError, match="visits by integer and people by text"):
        curator.add("people", people, unit="id", dataset="visits")
    curator.add("people", people, unit="id", budget=BUDGET)
    with pytest.raises(InputError, match=r"owner is integer and people\.id is text"):
        curator.add(
            "bills",
            pa.table({"owner": range(9)}),
            unit=dp.KeyPath("owner", "people", "id"),
            dataset="people",
        )
    assert "bills" not in curator.schema.tables
    assert set(curator._data_store._frames) == {"visits", "people"}
    curator.sql(COUNT, epsilon=0.1)


def test_a_public_key_that_repeats_is_refused_and_nothing_is_kept(curator):
    import pyarrow as pa

    before = curator.ledger.head()
    with pytest.raises(InputError, match="not unique"):
        curator.add_public("cities", pa.table({"name": ["a", "a"]}), key="name")

    assert list(curator.schema.tables) == ["visits"]
    assert curator.ledger.head() == before


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ({"budget": None}, "neither a budget nor a dataset"),
        ({"dataset": "visits"}, "both"),
        ({"budget": None, "dataset": "nowhere"}, "no dataset nowhere"),
        ({"unit": "nobody"}, "no column nobody"),
        ({"columns": {"agee": dp.Bounds(0, 1)}}, "no column agee"),
        ({"required": ["agee"]}, "no column agee"),
        ({"kinds": {"city": "number"}}, "no kind for city called number"),
        ({"columns": {"city": dp.Bounds(0, 1)}}, "bound"),
    ],
)
def test_what_cannot_be_said_of_a_table_is_refused(curator, said, match):
    before = curator.ledger.head()
    with pytest.raises(InputError, match=match):
        curator.add("more", clinic(9), **{**ABOUT, "budget": BUDGET, **said})
    assert curator.ledger.head() == before


def test_a_name_is_given_once(curator):
    with pytest.raises(InputError, match="already"):
        add_visits(curator)


def test_a_table_that_is_not_there_cannot_be_asked(curator):
    with pytest.raises(InputError, match="known are: visits"):
        curator.table("nowhere")
    with pytest.raises(InputError, match="known are: visits"):
        curator.budget("nowhere")


# --- made-up rows -------------------------------------------------------------------------------


def test_made_up_rows_answer_the_same_questions_for_nothing(curator):
    trial = curator.dummy(rows=300)

    assert trial.sql(BY_CITY, epsilon=0.5).table.column_names == ["city", "n", "s"]
    assert trial.budget("visits").limit == curator.budget("visits").limit
    assert spent(curator) == (0, 0)


def test_change_one_costs_more_than_add_remove():
    costs = {}
    for about in dp.Neighbours:
        with dp.Curator.in_memory(neighbours=about) as curator:
            add_visits(curator)
            release = curator.sql(COUNT, epsilon=0.1)
            costs[about] = release.half_widths["n"][0].as_py()
            assert release.guarantee.neighbours is about
    assert costs[dp.Neighbours.CHANGE_ONE] > costs[dp.Neighbours.ADD_REMOVE]


def test_a_charge_for_other_data_is_never_finished(tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    file = tmp_path / "visits.parquet"
    pq.write_table(clinic(100), file)
    with add_visits(dp.Curator(tmp_path / "c"), file) as curator:
        with monkeypatch.context() as patch:
            stop_engine(curator, patch)
            with pytest.raises(Stopped):
                curator.sql(COUNT, epsilon=0.1)
        pq.write_table(clinic(101), file)
        assert curator.recover(patience=0) == 0
        with pytest.raises(InputError, match="has changed or is gone"):
            curator.sql(COUNT, epsilon=0.1)
        pq.write_table(clinic(100), file)
        curator.sql(COUNT, epsilon=0.1)
        assert curator.ledger.verify().pending == 0


def test_a_file_that_is_swapped_while_it_is_read_gives_no_answer(tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    from discreet.answer.measurement_plan import MeasurementPlan

    file = tmp_path / "visits.parquet"
    pq.write_table(clinic(100), file)
    with add_visits(dp.Curator(tmp_path / "c"), file) as curator:
        measure = MeasurementPlan.measure

        def swap(*args):
            found = measure(*args)
            pq.write_table(clinic(101), file)
            return found

        monkeypatch.setattr(MeasurementPlan, "measure", swap)
        with pytest.raises((InputError, LedgerError)):
            curator.sql(COUNT, epsilon=0.1)
        assert curator.ledger.verify().pending == 1


def test_a_key_path_into_another_dataset_is_refused(curator):
    """Its people would be told about, and their budget would not pay."""
    import pyarrow as pa

    notes = pa.table({"visit": range(9)})
    with pytest.raises(InputError, match="leads to visits, which is another dataset's"):
        curator.add("notes", notes, unit=dp.KeyPath("visit", "visits", "person"), budget=BUDGET)
    assert list(curator.datasets()) == ["visits"]


def test_rows_that_name_nobody_do_not_mix_with_people(curator):
    import pyarrow as pa

    rows = pa.table({"k": range(9)})
    with pytest.raises(InputError, match="protects others than the tables of visits do"):
        curator.add("rows", rows, unit=dp.EachRow(), dataset="visits")
    curator.add("rows", rows, unit=dp.EachRow(), budget=BUDGET)
    with pytest.raises(InputError, match="ends at rows, which names nobody"):
        curator.add("more", rows, unit=dp.KeyPath("k", "rows", "k"), dataset="rows")
    curator.add("others", rows, unit=dp.EachRow(), dataset="rows")
    assert curator.datasets()["rows"] == ["rows", "others"]


def test_a_table_that_was_added_before_it_was_refused_is_not_asked_about(curator, monkeypatch):
    import pyarrow as pa

    with monkeypatch.context() as past:
        past.setattr("discreet.curator.data.table_checks.check_people", lambda *_: None)
        people = pa.table({"id": range(9), "person": range(9)})
        curator.add("people", people, unit="person", budget=BUDGET)
        notes = pa.table({"visit": range(9)})
        curator.add("notes", notes, unit=dp.KeyPath("visit", "people", "id"), budget=BUDGET)
    before = curator.ledger.head()
    with pytest.raises(InputError, match="another dataset's"):
        curator.sql("SELECT COUNT(*) AS n FROM notes", epsilon=0.1)
    with pytest.raises(InputError, match="another dataset's"):
        curator.table("notes").agg(n=dp.count()).release(epsilon=0.1)
    assert curator.ledger.head() == before


def test_names_of_requests_are_each_analysts_own(curator):
    alice, bob = curator.as_analyst("alice"), curator.as_analyst("bob")
    alice.sql(COUNT, epsilon=0.1, request="monday")
    bob.sql(BY_CITY, epsilon=0.1, request="monday")
    with pytest.raises(InputError, match="used again"):
        alice.sql(BY_CITY, epsilon=0.2, request="monday")


@pytest.mark.parametrize("known", [True, False], ids=["known", "found"])
@pytest.mark.parametrize("text", ["SELECT DISTINCT city FROM", "SELECT city FROM visits GROUP BY"])
def test_groups_are_told_without_a_number(known, text):
    """Nothing is measured beside them, and a limit on groups holds all the same."""
    text = f"{text} visits" if "DISTINCT" in text else f"{text} city"
    about = {} if known else {"columns": {"amount": dp.Bounds(0, 100)}}
    with add_visits(dp.Curator.in_memory(), **about) as curator:
        release = curator.sql(text, epsilon=1, delta=0 if known else 1e-7)
        assert set(release.to_arrow().column("city").to_pylist()) <= set(CITIES)
        assert curator.ledger.failed([1, 2, 3, 4, 5]) == ()
