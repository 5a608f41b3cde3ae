"""The Ledger page: entries, verification, export."""

import contextlib
import json
import sqlite3

from playwright.sync_api import expect

from browser_watch import COUNTS


def test_an_auditor_reads_verifies_and_exports_and_sees_no_answer(visit, curator, server):
    curator.sql(COUNTS, epsilon=0.5, analyst="alice")
    visitor = visit("auditor")
    server.record_tokens(curator.ledger)
    page = visitor.page
    entries = page.get_by_role("region", name="Entries as a table")
    expect(entries).to_contain_text("charged")
    expect(entries).to_contain_text("alice asked about visits for epsilon 0.5.")
    entries.get_by_text("alice asked about visits").click()
    expect(entries).to_contain_text("0.5 epsilon from dataset visits")
    assert visitor.violations() == []
    page.get_by_role("button", name="Verify").click()
    expect(page.locator("#verified")).to_contain_text("The ledger is whole.")
    with page.expect_download() as lines:
        page.get_by_role("link", name="Export").click()
    exported = lines.value.path().read_text(encoding="utf-8").splitlines()
    found = [json.loads(line)["entry"] for line in exported]
    assert [one["kind"] for one in found].count("charged") == 1
    assert page.get_by_role("link", name="Ask").count() == 0


def test_an_auditor_takes_all_of_it_along_on_paper(visit, curator, server):
    curator.sql(COUNTS, epsilon=0.5, analyst="alice")
    for i in range(60):
        curator.ledger.record("noted", by="owner", facts={"number": i})
    page = visit("auditor").page
    server.record_tokens(curator.ledger)
    expect(page.locator("#entries tbody tr")).to_have_count(50)
    page.evaluate("window.print = () => (window.printed = true)")
    page.get_by_role("button", name="Print or save as PDF").click()
    page.wait_for_function("window.printed")
    page.emulate_media(media="print")
    report = page.locator("#report")
    expect(report).to_contain_text("The ledger is whole.")
    expect(report).to_contain_text("alice asked about visits for epsilon 0.5.")
    expect(report).to_contain_text("noted: number 59")
    expect(page.locator("#entries")).to_be_hidden()
    assert len(page.pdf()) > 10_000


def test_entries_come_page_by_page(visit, curator):
    for i in range(60):
        curator.ledger.record("noted", by="owner", facts={"number": i})
    page = visit("auditor").page
    expect(page.locator("#entries tbody tr")).to_have_count(50)
    page.get_by_role("button", name="Later").click()
    expect(page.locator("#entries tbody td").first).to_have_text("51")
    page.get_by_role("button", name="Earlier").click()
    expect(page.locator("#entries tbody td").first).to_have_text("1")


def test_a_ledger_that_was_changed_is_called_out(visit, curator, tmp_path):
    curator.sql(COUNTS, epsilon=0.5)
    page = visit("auditor").page
    file = tmp_path / "clinic.discreet" / "ledger.sqlite"
    with contextlib.closing(sqlite3.connect(file)) as forger:
        triggers = forger.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in triggers.fetchall():
            forger.execute(f'DROP TRIGGER "{name}"')
        forger.execute("UPDATE entries SET body = replace(body, 'owner', 'nobody')")
        forger.commit()
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_role("alert")).to_contain_text("its text was changed")
