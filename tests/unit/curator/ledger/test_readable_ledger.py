"""What was asked is found by who asked and about what, without reading the rest."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

import postgres_server
from discreet.curator.ledger import migrations, readable_ledger
from discreet.curator.ledger.accounts import dataset
from discreet.curator.ledger.create import find_place, make_whole
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import NEWEST
from discreet.curator.ledger.store import APPLICATION
from discreet.curator.ledger.transaction import Transaction
from discreet.privacy import Filter

LIMIT = Filter.basic(epsilon=1).limit


def numbers(found):
    return [one.sequence for one in found]


def test_charges_are_found_by_analyst_and_dataset_newest_first(visits, ask):
    visits.open_account(dataset("bills"), LIMIT, by="owner")
    first = visits.charge(ask("a")).sequence
    second = visits.charge(ask("b", by="bob")).sequence
    third = visits.charge(ask("c", about="bills")).sequence

    assert numbers(visits.asked(["visits", "bills"])) == [third, second, first]
    assert numbers(visits.asked(["visits"])) == [second, first]
    assert numbers(visits.asked(["visits", "bills"], analyst="alice")) == [third, first]
    assert numbers(visits.asked(["visits"], analyst="bob")) == [second]
    assert visits.asked([], analyst="alice") == ()


def test_pages_go_back_without_a_gap(visits, ask):
    made = [visits.charge(ask(f"q{n}", epsilon=0.01)).sequence for n in range(7)]
    seen, before = [], NEWEST
    while page := visits.asked(["visits"], before=before, limit=3):
        seen += numbers(page)
        before = page[-1].sequence

    assert seen == made[::-1]


def test_whoever_was_told_an_answer_again_finds_it_too(visits, ask):
    receipt = visits.charge(ask())
    visits.complete(receipt, b"answer")
    assert visits.find(receipt.sequence, told="bob") is None
    visits.charge(ask(by="bob"))

    assert numbers(visits.asked(["visits"], analyst="bob")) == [receipt.sequence]
    assert visits.find(receipt.sequence, told="bob").order.analyst == "alice"
    assert visits.find(receipt.sequence, told="carol") is None
    assert visits.find_question(ask(by="bob")).sequence == receipt.sequence
    assert visits.find_question(ask(by="carol")) is None
    assert visits.find_question(ask("other")) is None


def test_a_charge_tells_when_it_was_made_and_answered_and_what_it_took(visits, ask):
    receipt = visits.charge(ask())
    assert visits.find(receipt.sequence).answered is None
    assert visits.release(receipt.sequence) is None
    visits.complete(receipt, b"answer")
    found = visits.find(receipt.sequence)

    assert found.time <= found.answered
    assert visits.release(receipt.sequence) == b"answer"
    assert found.debits[dataset("visits").key] == visits.account(dataset("visits")).spent
    assert visits.find(receipt.sequence + 100) is None


def test_history_and_total_are_of_one_moment(visits, ask):
    for n in range(3):
        visits.charge(ask(f"q{n}", epsilon=0.1))
    account, filed = visits.history("visits")

    assert sum(one.debits[account.holder.key][0] for one in filed) == account.spent[0]


def test_the_text_that_was_asked_is_kept_and_decides_nothing(visits, ask):
    receipt = visits.charge(replace(ask(), asked="SELECT 1"))
    again = visits.charge(replace(ask(), asked="select 1"))

    assert again.sequence == receipt.sequence
    assert visits.find(receipt.sequence).order.asked == "SELECT 1"
    assert visits.charge(ask("b")).order.asked is None
    assert visits.verify().ok


@pytest.mark.parametrize("column", ["analyst", "dataset"])
def test_verify_compares_who_asked_about_what(tmp_path, ask, column):
    path = tmp_path / "ledger.sqlite"
    with Ledger.open(path) as ledger:
        ledger.open_account(dataset("visits"), LIMIT, by="owner")
        sequence = ledger.charge(ask()).sequence
        with sqlite3.connect(path) as connection:
            connection.execute(f"UPDATE charges SET {column} = 'x'")  # noqa: S608 - our own
        connection.close()

        assert ledger.verify().problem.sequence == sequence


def test_a_ledger_of_the_first_version_knows_who_asked(tmp_path):
    path = tmp_path / "ledger.sqlite"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.executescript((Path(__file__).parent / "version_1.sql").read_text())
    connection.close()
    with Ledger.adopt(path, by="owner", reason="from a dump") as ledger:
        charged = [entry for entry in ledger.entries() if entry.kind == "charged"]
        found = ledger.asked({entry.facts["dataset"] for entry in charged})

        assert numbers(found) == [entry.sequence for entry in charged][::-1]
        assert [one.order.analyst for one in found] == [entry.by for entry in charged][::-1]
        assert all(one.order.asked is None for one in found)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_older_charges_are_filled_in_on_every_store(tmp_path, request, monkeypatch, ask, kind):
    place = tmp_path / "ledger.sqlite"
    if kind == "postgres":
        place = postgres_server.empty_database(request.getfixturevalue("server"))

    def charge_as_before(page):
        order = ask()
        entry = page.append("charged", "alice", {**order.to_dict(), "debits": {}})
        made = (entry.sequence, order.question, "worker", 0)
        page.insert("charges (sequence, question, worker, claimed)", made)
        return entry.sequence

    with monkeypatch.context() as patch:
        patch.setattr(migrations, "STEPS", migrations.STEPS[:1])
        store, seer = find_place(place, tmp_path / "head")
        make_whole(store, seer)
        with Ledger(store, seer) as old:  # without what opening asks of newer tables
            sequence = old._committer.submit_alone(charge_as_before)
    with Ledger.open(place, witness=tmp_path / "head") as ledger:
        assert numbers(ledger.asked(["visits"], analyst="alice")) == [sequence]
        assert ledger.asked(["visits"], analyst="bob") == ()


def test_no_list_of_what_was_asked_reads_the_whole_table(tmp_path, ask):
    """The database's own plan: every step searches an index, none scans."""
    steps = []

    class Spy(Transaction):
        def read(self, sql, values=()):
            steps.extend(row[3] for row in super().read(f"EXPLAIN QUERY PLAN {sql}", values))
            return super().read(sql, values)

    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:

        def explain(execute):
            page = Spy(execute)
            readable_ledger.newest(page, ["visits"], analyst="alice", before=99, limit=10)
            readable_ledger.newest(page, ["visits"], before=99, limit=10)
            readable_ledger.find(page, 7)
            readable_ledger.find_question(page, ask())

        ledger._store.snapshot(explain)
    own = [step for step in steps if "asked_by" in step]
    assert "analyst=? AND dataset=? AND sequence<?" in own[0]
    assert len(steps) >= 4
    assert [step for step in steps if "SCAN" in step or "TEMP B-TREE" in step] == []
