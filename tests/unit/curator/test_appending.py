"""Rows that come later are parts of a table; questions name the version they were answered on."""

import dataclasses
import datetime as dt
import hashlib
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.curator.data import data_store, registry
from discreet.curator.data.data_store import DataStore
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.orders.order_kinds import KINDS
from discreet.errors import DiscreetError, InputError, LedgerError

COUNT = "SELECT COUNT(*) AS n FROM visits"
ABOUT = {"unit": "id", "limits": dp.Limits(1, 1)}


class KilledError(BaseException):
    """Stands for the end of the process: nothing catches it on purpose."""


def rows(first, last):
    return pa.table({"id": pa.array(range(first, last), pa.int64())})


def curator_at(place, source=None):
    first, budget = source or rows(0, 1000), dp.Budget(epsilon=10_000, delta=1e-6)
    curator = dp.Curator(place)
    curator.add("visits", first, budget=budget, **ABOUT)
    return curator


def count(curator, **options):
    return curator.sql(COUNT, epsilon=options.pop("epsilon", 1000), **options)


def number(release):
    return release.table.column("n").to_pylist()[0]


def spent(curator):
    return curator.budget("visits").total


@pytest.fixture(params=["memory", "folder"])
def curator(request, tmp_path):
    place = None if request.param == "memory" else tmp_path / "c"
    with curator_at(place) as one:
        yield one


def test_appended_rows_count_and_an_earlier_version_is_free_where_it_was_asked(curator):
    before = count(curator)
    assert curator.append("visits", rows(1000, 1500)) == curator.version("visits") == 2
    after, paid = count(curator), spent(curator)

    assert (number(before), number(after)) == (1000, 1500)
    assert count(curator, as_of=1) == before
    assert count(curator, as_of=2) == after
    assert spent(curator) == paid
    assert after.notes[-1] == "answered on version 2 of visits"
    assert "Answered on version 2 of visits." in " ".join(after.statement().split())


def test_an_earlier_version_that_was_not_asked_is_answered_on_it_under_a_charge(curator):
    curator.append("visits", rows(1000, 1500))
    curator.append("visits", rows(1500, 1600))
    paid = spent(curator)

    assert number(count(curator, as_of=2)) == 1500
    assert number(count(curator, as_of=1)) == 1000
    assert number(count(curator)) == 1600
    assert spent(curator).amount > paid.amount
    assert [one.order.data_version for one in curator.ledger.asked(["visits"])] == [3, 1, 2]
    assert curator.ledger.verify().ok


OLD = COUNT.replace("visits", "visits FOR VERSION AS OF 1 /* the first */")


def test_sql_and_the_builder_name_an_earlier_version_too(curator):
    before = count(curator)
    curator.append("visits", rows(1000, 1500))
    count(curator)
    paid, version = spent(curator), {"epsilon": 1000}
    assert curator.sql(OLD, **version) == before
    assert curator.sql(OLD, **version, as_of=1) == before
    assert curator.as_analyst("owner").sql(OLD.lower(), **version) == before
    made = curator.table("visits", as_of=1).agg(n=dp.count())
    assert number(made.release(epsilon=1000)) == 1000
    assert made.explain(epsilon=1000).price.epsilon == 1000
    assert spent(curator) == paid
    assert number(curator.order("query", {"sql": OLD, "epsilon": "1000"})) == 1000
    joined = "SELECT COUNT(*) AS n FROM visits FOR VERSION AS OF 2 AS v"
    assert number(curator.sql(joined, **version)) == 1500


ODD_VERSIONS = [
    "SELECT COUNT(*) AS n FROM visits FOR VERSION AS OF 'x'",
    "SELECT COUNT(*) AS n FROM visits FOR VERSION AS OF 1 + 1",
    "SELECT COUNT(*) FOR VERSION AS OF 1 AS n FROM visits",
    "SELECT COUNT(*) AS n FROM visits FOR VERSION AS OF 0",
    "SELECT COUNT(*) AS n FROM visits FOR VERSION AS OF 9",
    "SELECT COUNT(*) AS n FROM visits FOR VERSION BETWEEN 1 AND 2",
    "SELECT COUNT(*) AS n FROM visits FOR TIMESTAMP AS OF '2026-01-01'",
    "SELECT COUNT(*) AS n FROM visits FOR VERSION AS OF 1 v JOIN visits w ON v.id = w.id",
    OLD.replace("1", "1 v JOIN visits FOR VERSION AS OF 2 w ON v.id = w.id"),
]


def test_a_version_that_is_not_understood_is_refused_before_any_charge():
    with curator_at(None) as curator:
        curator.append("visits", rows(1000, 1500))
        for text in ODD_VERSIONS:
            with pytest.raises(DiscreetError):
                curator.sql(text, epsilon=1000)
        with pytest.raises(InputError, match="as_of=2"):
            curator.sql(OLD, epsilon=1000, as_of=2)
        assert not spent(curator).amount


def test_no_budget_grows_with_the_rows(curator):
    limit = curator.budget("visits").limit
    curator.append("visits", rows(0, 500))
    assert curator.budget("visits").limit == limit


@pytest.mark.parametrize("asked", [3, 0, -1, True, "1"])
def test_a_version_that_there_is_not_is_refused(curator, asked):
    curator.append("visits", rows(1000, 1500))
    paid = spent(curator)
    with pytest.raises(InputError):
        count(curator, as_of=asked)
    assert spent(curator) == paid


def test_the_same_rows_are_taken_twice_only_with_an_explicit_word(curator):
    curator.append("visits", rows(1000, 1500))
    with pytest.raises(InputError, match="since version 2"):
        curator.append("visits", rows(1000, 1500))
    assert curator.version("visits") == 2
    assert curator.append("visits", rows(1000, 1500), again=True) == 3
    # The same 500 people have two rows now, and weigh as one: 2 * 511/1024, rounded down.
    assert number(count(curator)) == 1499


def test_in_memory_a_file_grows_and_its_own_rows_are_refused(tmp_path):
    pq.write_table(rows(0, 1000), tmp_path / "first.parquet")
    with curator_at(None, tmp_path / "first.parquet") as curator:
        for source in (tmp_path / "first.parquet", rows(0, 1000)):
            with pytest.raises(InputError, match="since version 1"):
                curator.append("visits", source)
        before = count(curator)
        assert curator.append("visits", rows(1000, 1500)) == 2
        assert number(count(curator)) == 1500
        assert count(curator, as_of=1) == before


def test_in_memory_a_changed_file_does_not_grow(tmp_path):
    pq.write_table(rows(0, 1000), tmp_path / "first.parquet")
    with curator_at(None, tmp_path / "first.parquet") as curator:
        pq.write_table(rows(0, 900), tmp_path / "first.parquet")
        with pytest.raises(InputError, match="changed"):
            curator.append("visits", rows(1000, 1500))


@pytest.mark.parametrize(
    "wrong",
    [
        pa.table({"id": pa.array([1.5])}),
        pa.table({"id": pa.array([1], pa.int32())}),
        pa.table({"other": pa.array([1])}),
        pa.table({"id": pa.array([1]), "_part": pa.array([1])}),
        pa.table({"id": pa.array([1]), "_Part": pa.array([1])}),
    ],
    ids=["real", "narrow", "missing", "reserved", "reserved in another case"],
)
def test_rows_with_other_types_are_refused_and_leave_nothing(tmp_path, wrong):
    with curator_at(tmp_path / "c") as curator:
        with pytest.raises(InputError):
            curator.append("visits", wrong)
        assert curator.version("visits") == 1
        assert len(list((tmp_path / "c" / "data").iterdir())) == 1


def test_other_than_private_tables_are_refused(curator):
    curator.add_public("towns", pa.table({"town": ["Haifa"]}), key="town")
    for name in ("towns", "nowhere"):
        with pytest.raises(InputError, match="no private table"):
            curator.append(name, rows(0, 1))


def test_a_file_is_a_part_where_it_is_and_a_csv_file_is_copied(tmp_path):
    pq.write_table(rows(1000, 1200), tmp_path / "more.parquet")
    (tmp_path / "more.csv").write_text("id\n1200\n1201\n", encoding="utf-8")
    with curator_at(tmp_path / "c") as curator:
        curator.append("visits", tmp_path / "more.parquet")
        curator.append("visits", tmp_path / "more.csv")
        curator.append("visits", tmp_path / "more.parquet", again=True)
        assert number(count(curator)) == 1202
        assert curator._data_store.tables.tables["visits"].parts[0].source.endswith("more.parquet")
        curator.check_tables()


def test_a_key_that_a_later_part_repeats_is_refused(tmp_path):
    with dp.Curator(tmp_path / "c") as curator:
        budget = dp.Budget(epsilon=10, delta=1e-6)
        curator.add("people", rows(0, 10), unit="id", budget=budget)
        visits = pa.table({"who": pa.array([1, 2, 3])})
        curator.add("visits", visits, unit=dp.KeyPath("who", "people", "id"), dataset="people")
        with pytest.raises(InputError, match="not unique"):
            curator.append("people", rows(5, 15))
        assert curator.append("people", rows(10, 20)) == 2
        assert curator.append("visits", pa.table({"who": pa.array([12])})) == 3


def test_a_part_that_has_changed_is_refused_and_earlier_versions_are_not(tmp_path):
    with curator_at(tmp_path / "c") as curator:
        curator.append("visits", rows(1000, 1500))
        part = curator._data_store.tables.tables["visits"].parts[0]
        pq.write_table(rows(1000, 1400), part.source)
        with pytest.raises(InputError, match="has changed"):
            count(curator)
        assert number(count(curator, as_of=1)) == 1000
        with pytest.raises(LedgerError, match="not what was added"):
            curator.check_tables()


def test_a_part_that_the_ledger_does_not_know_is_refused(tmp_path):
    with curator_at(tmp_path / "c") as curator:
        curator.append("visits", rows(1000, 1500))
        part = curator._data_store.tables.tables["visits"].parts[0]
    pq.write_table(rows(1000, 1400), part.source)
    said = json.loads((tmp_path / "c" / "tables.json").read_text())
    said["tables"]["visits"]["parts"][0]["fingerprint"] = registry.fingerprint(Path(part.source))
    (tmp_path / "c" / "tables.json").write_text(json.dumps(said))
    with dp.Curator(tmp_path / "c") as curator, pytest.raises(LedgerError, match="is said about"):
        count(curator)


def test_an_older_tables_json_is_found_out(tmp_path):
    with curator_at(tmp_path / "c") as curator:
        older = (tmp_path / "c" / "tables.json").read_text()
        curator.append("visits", rows(1000, 1500))
        curator.check_tables()
    (tmp_path / "c" / "tables.json").write_text(older)
    with dp.Curator(tmp_path / "c") as curator:
        with pytest.raises(LedgerError, match="has not the parts"):
            curator.check_tables()
        assert number(count(curator)) == 1000  # and says so: it is version 1
        with pytest.raises(LedgerError, match="has not the parts"):
            curator.append("visits", rows(2000, 2001))  # there would be two versions 2


def test_the_ledger_has_a_digest_that_confirms_no_guess_about_rows(tmp_path):
    with curator_at(tmp_path / "c") as curator:
        curator.append("visits", rows(1000, 1001))
        [entry] = curator.ledger.appended("visits")
        part = curator._data_store.tables.tables["visits"].parts[0]
        plain = hashlib.sha256(Path(part.source).read_bytes()).hexdigest()
        assert plain == part.fingerprint
        assert plain not in json.dumps(entry.facts)
        assert entry.facts["data"] == registry.salted(part.salt, plain)
        assert part.salt not in json.dumps(entry.facts)
        charged = count(curator)
        assert plain not in json.dumps([one.facts for one in curator.ledger.entries(after=3)])
        assert charged.notes


def test_appending_reads_the_new_rows_alone(tmp_path, monkeypatch):
    read = []
    with curator_at(tmp_path / "c") as curator:
        count(curator)
        digest = registry.fingerprint

        def noting(path):
            read.append(path.name)
            return digest(path)

        monkeypatch.setattr(registry, "fingerprint", noting)
        curator.append("visits", rows(1000, 1500))
        part = curator._data_store.tables.tables["visits"].parts[0]
        assert read == [Path(part.source).name]


def test_a_question_that_was_charged_before_sees_the_version_it_was_charged_for(curator):
    offer = curator._local.offer(COUNT, dp.curator.orders.planned_orders.Terms(epsilon=1000), None)
    receipt = curator._answer_service.charge(offer)
    curator.append("visits", rows(1000, 1500))
    assert number(curator._answer_service.collect(receipt)) == 1000


def test_a_question_sees_one_version_while_rows_are_appended(curator, monkeypatch):
    from discreet.curator.orders.query_orders import QueryOrder

    measure = QueryOrder.measure

    def appending(self, engine, until):
        curator.append("visits", rows(1000, 1500))
        return measure(self, engine, until)

    with monkeypatch.context() as patch:
        patch.setattr(QueryOrder, "measure", appending)
        assert number(count(curator)) == 1000
    assert number(count(curator)) == 1500


def test_a_crashed_question_is_finished_on_its_version(tmp_path, monkeypatch):
    from discreet.curator.orders.query_orders import QueryOrder

    def killed(*_):
        raise KilledError

    with curator_at(tmp_path / "c") as curator:
        curator.append("visits", rows(1000, 1500))
        with monkeypatch.context() as patch:
            patch.setattr(QueryOrder, "measure", killed)
            with pytest.raises(KilledError):
                count(curator)
        curator.append("visits", rows(1500, 1600))
    with dp.Curator(tmp_path / "c") as curator:
        assert curator.recover(patience=0) == 1
        assert number(count(curator, as_of=2)) == 1500
        assert len(curator.ledger.asked(["visits"])) == 1


# --- crashes ------------------------------------------------------------------------------------


def _before_it_is_recorded(patch):
    def killed(*_, **__):
        raise KilledError

    patch.setattr(Ledger, "record", killed)


def _after_it_is_recorded(patch):
    record = Ledger.record

    def killed(self, kind, **facts):
        record(self, kind, **facts)
        raise KilledError

    patch.setattr(Ledger, "record", killed)


def _before_the_tables_have_it(patch):
    def killed(*_):
        raise KilledError

    patch.setattr(DataStore, "_keep", killed)


def _while_it_is_copied(patch):
    def killed(_, path):
        path.write_bytes(b"PAR1")
        raise KilledError

    patch.setattr(data_store, "save", killed)


@pytest.mark.parametrize(
    ("crash", "version"),
    [
        (_while_it_is_copied, 1),
        (_before_it_is_recorded, 1),
        (_after_it_is_recorded, 2),
        (_before_the_tables_have_it, 2),
    ],
)
def test_a_crash_leaves_the_old_version_or_the_new_one(tmp_path, monkeypatch, crash, version):
    with curator_at(tmp_path / "c") as curator:
        with monkeypatch.context() as patch:
            crash(patch)
            patch.setattr(DataStore, "_drop", lambda *_: None)  # nobody is there to clean up
            with pytest.raises(KilledError):
                curator.append("visits", rows(1000, 1500))
        # Whoever is still there sees what was there before.
        assert number(count(curator)) == 1000
    shutil.copytree(tmp_path / "c", tmp_path / "copy")
    with dp.Curator(tmp_path / "c") as curator:
        assert curator.version("visits") == version
        assert number(count(curator)) == (1000, 1500)[version - 1]
        assert curator._data_store.tables.tables["visits"].pending is None
        curator.check_tables()
        if version == 1:
            assert curator.append("visits", rows(1000, 1500)) == 2
        with pytest.raises(InputError, match="since version 2"):
            curator.append("visits", rows(1000, 1500))
        assert curator.ledger.verify().ok
        assert len(curator.ledger.appended("visits")) == 1


def test_what_a_crash_left_is_settled_by_the_next_to_append(tmp_path, monkeypatch):
    with curator_at(tmp_path / "c") as curator:
        with monkeypatch.context() as patch:
            _after_it_is_recorded(patch)
            with pytest.raises(KilledError):
                curator.append("visits", rows(1000, 1500))
        assert curator.append("visits", rows(1500, 1600)) == 3
        assert number(count(curator)) == 1600


def test_copies_of_parts_are_swept_unless_the_ledger_has_them(tmp_path):
    with curator_at(tmp_path / "c") as curator:
        curator.append("visits", rows(1000, 1500))
        part = curator._data_store.tables.tables["visits"].parts[0]
        left = dataclasses.replace(part, source=part.source.replace(part.salt, "0" * 32))
        shutil.copy(part.source, left.source)
        said = {str(one.facts["data"]) for one in curator.ledger.noted("appended")}
        tables = json.loads((tmp_path / "c" / "tables.json").read_text())
        del tables["tables"]["visits"]["parts"]
        (tmp_path / "c" / "tables.json").write_text(json.dumps(tables))
        curator._folder.sweep(said, unused=-1)
        names = {path.name for path in (tmp_path / "c" / "data").iterdir()}
        assert Path(part.source).name in names
        assert Path(left.source).name not in names


# --- people in periods --------------------------------------------------------------------------


def days(people, each):
    day = [dt.date(2026, 1, 1 + i) for _ in range(people) for i in range(each)]
    who = [person for person in range(people) for _ in range(each)]
    return pa.table({"user": pa.array(who, pa.int64()), "day": pa.array(day, pa.date32())})


PERIOD = dp.PersonPeriod("user", "day", every="day")


def visits_by_day(unit=PERIOD, **more):
    curator = dp.Curator.in_memory()
    columns = {"day": dp.Bounds(dt.date(2026, 1, 1), dt.date(2026, 1, 31))}
    budget = dp.Budget(epsilon=10_000, delta=1e-6)
    said = {"columns": columns, "budget": budget, "limits": dp.Limits(1, 1), **more}
    curator.add("visits", days(50, 10), unit=unit, **said)
    return curator


def test_a_person_in_a_period_weighs_what_limits_say_in_each_period():
    with visits_by_day() as curator:
        release = count(curator)
        assert number(release) == 500  # each of 50 people counts once a day
        said, explained = " ".join(release.statement().split()), curator.explain(COUNT, epsilon=1)
        assert "They protect one person in one day, with" in said
        assert "A person is protected for any one day, not for several together" in said
        assert "one person in one day counts for at most 1 row" in said
        assert "one person in one day counts at most as much as 1 group" in repr(explained)
    with visits_by_day(unit="user") as curator:
        assert number(count(curator)) < 100
    with visits_by_day(unit=dp.PersonPeriod("user", "day", every="month")) as curator:
        assert number(count(curator)) < 100


def test_a_unit_with_a_period_is_stored_and_read(tmp_path):
    with dp.Curator(tmp_path / "c") as curator:
        curator.add("visits", days(5, 3), unit=PERIOD, budget=dp.Budget(epsilon=9, delta=1e-6))
    with dp.Curator(tmp_path / "c") as curator:
        assert curator.schema.tables["visits"].unit == PERIOD


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.user = b.user",
        "SELECT AVG(k) FROM (SELECT user, LEAST(COUNT(*), 5) AS k FROM visits GROUP BY user) AS t",
        "SELECT COUNT(*) FROM (SELECT day FROM visits UNION ALL SELECT day FROM visits) AS t",
    ],
)
def test_questions_that_put_periods_of_a_person_together_are_refused(sql):
    with visits_by_day() as curator, pytest.raises(dp.DiscreetError):
        curator.sql(sql, epsilon=1)


def test_orders_that_would_speak_of_whole_people_are_refused():
    told = {name for name, kind in KINDS.items() if kind.says_periods}
    assert told == {"query", "participation", "stream"}
    with visits_by_day() as curator:
        with pytest.raises(dp.DiscreetError, match="people in periods"):
            curator.synthesize("visits", epsilon=1)
        with pytest.raises(dp.DiscreetError, match="people in periods"):
            curator.online("visits", columns=["day"], epsilon=1)
        assert not curator.budget("visits").total.amount


def test_counting_people_over_periods_is_refused():
    with visits_by_day() as curator, pytest.raises(InputError, match="count twice"):
        curator.table("visits").agg(n=dp.count_people()).release(epsilon=1)


def test_people_and_people_in_periods_share_no_budget():
    with visits_by_day() as curator:
        for unit in ("user", dp.PersonPeriod("user", "day", every="week"), dp.EachRow()):
            with pytest.raises(InputError, match="one budget"):
                curator.add("more", days(5, 3), unit=unit, dataset="visits")
        curator.add("more", days(5, 3), unit=PERIOD, dataset="visits")


@pytest.mark.parametrize(
    "unit",
    [("user", "day", "fortnight"), ("user", "user", "day"), ("user", "nothing", "day")],
)
def test_periods_that_are_none_are_refused(unit):
    with pytest.raises(InputError):
        visits_by_day(unit=dp.PersonPeriod(*unit))
