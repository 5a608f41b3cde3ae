"""The Data page: adding a dataset in steps, raising, tokens, a statement to print."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import expect

from browser_watch import COUNTS, add_visits, visits
from discreet import local
from discreet.curator.budget import Budget


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "Visits 2025.parquet"
    pq.write_table(visits(300), path)
    return path


def choose(visitor, path):
    page = visitor.page
    page.get_by_role("button", name="Add a table").click()
    page.get_by_label("File", exact=True).set_input_files(path)
    expect(page.locator("#load-report")).to_be_visible()


def test_a_dataset_is_added_by_one_form_and_tried_on_made_up_rows(visit, curator, parquet):
    visitor = visit("owner", path="/data")
    page = visitor.page
    choose(visitor, parquet)
    expect(page.locator("#load-report")).to_contain_text("300 rows, 5 columns")
    expect(page.get_by_label("Name in questions")).to_have_value("visits_2025")
    expect(page.get_by_label("Kind of age")).to_be_disabled()
    page.get_by_label("Column that names the person", exact=True).select_option("patient")
    expect(page.locator("#load-report")).to_contain_text("300 people")
    page.get_by_label("Rows of one person in one group").fill("1")
    page.get_by_label("Groups of one answer").fill("1")
    page.get_by_label("What is known about city").select_option("listed values")
    page.get_by_label("Values, parted by commas, of city").fill('Austin, Haifa, Lagos, "Oslo"')
    page.get_by_label("What is known about age").select_option("bounds")
    page.get_by_label("Lowest of age").fill("30")
    page.get_by_label("Highest of age").fill("120")
    expect(page.get_by_role("region", name="Columns of the file")).to_contain_text("outside")
    page.get_by_label("Lowest of age").fill("0")
    page.get_by_label("In all (epsilon)").fill("1")
    expect(page.get_by_role("region", name="How much may ever be told?")).to_contain_text(
        "at most 28 in 100"
    )
    assert visitor.complaints() == visitor.violations() == []
    page.get_by_role("button", name="Try it on made-up rows").click()
    expect(page.locator("#promise")).to_contain_text("differential privacy")
    expect(page.get_by_role("region", name="Made-up rows").last).to_contain_text("±")
    assert "visits_2025" not in curator.datasets()
    page.get_by_role("button", name="Add the dataset").click()
    expect(page.locator("[data-dataset=visits_2025]")).to_contain_text("100 % of the budget left")
    told = curator.schema.tables["visits_2025"]
    assert told.columns["city"].keys == ("Austin", "Haifa", "Lagos", "Oslo")
    assert (told.columns["age"].range.low, told.columns["age"].range.high) == (0, 120)
    assert (told.limits.max_groups, told.limits.max_rows) == (1, 1)


MESSY = """patient;city;age;day;cost
1;Haifa;34;03/04/2025;12,50
2;Austin;41;13/04/2025;7,25
3;Haifa;unknown;14/05/2025;1.200,00
4;Oslo;29;15/05/2025;3,10;extra
5;Oslo;60;17/05/2025;4,00
6;Total;50;18/05/2025;5,00
"""


def test_a_messy_file_is_reported_asked_about_and_added(visit, curator, tmp_path):
    path = tmp_path / "stays.csv"
    path.write_text(MESSY, encoding="utf-8")
    visitor = visit("owner", path="/data")
    page = visitor.page
    choose(visitor, path)
    page.get_by_role("button", name="Add the dataset").click()
    expect(page.get_by_role("alert")).to_have_text("Answer the questions about the file first.")
    page.get_by_role("button", name="leave them out").click()
    page.get_by_role("button", name="city holds text").click()
    report = page.locator("#load-report")
    expect(report).to_contain_text("1 line with too few or too many fields is left out.")
    expect(report).to_contain_text("parted by semicolons")
    expect(page.get_by_label("Kind of day")).to_have_value("date")
    expect(page.get_by_label("Kind of cost")).to_have_value("real")
    expect(page.get_by_label("Kind of age")).to_have_value("text")
    page.get_by_label("Kind of age").select_option("integer")
    unread = page.get_by_role("region", name="Columns of the file").get_by_text("1 unreadable")
    expect(unread).to_be_visible()
    page.get_by_role("button", name="Use 0 to 2000").click()
    page.get_by_label("Column that names the person", exact=True).select_option("patient")
    page.get_by_role("button", name="Add the dataset").click()
    expect(page.locator("[data-dataset=stays]")).to_be_visible()
    told = curator.schema.tables["stays"].columns
    assert [told[name].kind.value for name in ("age", "day", "cost")] == ["integer", "date", "real"]


def test_a_late_reply_about_a_file_undoes_no_later_decision(visit, tmp_path):
    path = tmp_path / "stays.csv"
    path.write_text(MESSY, encoding="utf-8")
    visitor = visit("owner", path="/data")
    page, held = visitor.page, []
    choose(visitor, path)
    page.route("**/report", lambda one: held.append(one), times=1)  # noqa: PLW0108 - marked by playwright
    with page.expect_request("**/report"):
        page.get_by_role("button", name="leave them out").click()
    page.get_by_role("button", name="city holds text").click()
    city = page.get_by_role("group", name="Question about city")
    expect(city).to_have_count(0)
    with page.expect_response("**/report"):
        held[0].continue_()
    page.wait_for_timeout(500)
    expect(page.get_by_role("group", name="Question about")).to_have_count(0)


def test_who_is_protected_has_no_default(visit, parquet):
    visitor = visit("owner", path="/data")
    page = visitor.page
    choose(visitor, parquet)
    expect(page.locator("input[name=unit]:checked")).to_have_count(0)
    page.get_by_role("button", name="Add the dataset").click()
    expect(page.get_by_role("alert")).to_have_text("Choose who is protected, and the column.")


def test_a_public_table_has_a_key_and_no_budget(visit, curator, tmp_path):
    path = tmp_path / "cities.csv"
    path.write_text("name,people\nAustin,1000\nOslo,700\n")
    visitor = visit("owner", path="/data")
    page = visitor.page
    choose(visitor, path)
    page.get_by_label("Whom it is about").select_option("Nobody: a public table to join with")
    page.get_by_role("button", name="Add the table").click()
    expect(page.get_by_role("alert")).to_contain_text("Choose at least one column")
    page.get_by_label("name", exact=True).check()
    page.get_by_role("button", name="Add the table").click()
    expect(page.get_by_role("heading", name="Public tables")).to_be_visible()
    assert curator.schema.tables["cities"].key == ("name",)


def test_a_file_that_is_none_is_refused_in_words(visit, tmp_path):
    path = tmp_path / "notes.parquet"
    path.write_bytes(b"not a table")
    page = visit("owner", path="/data").page
    page.get_by_role("button", name="Add a table").click()
    page.get_by_label("File", exact=True).set_input_files(path)
    expect(page.get_by_role("alert")).to_contain_text("What to do")


def test_made_up_rows_are_shown_and_labelled(visit):
    page = visit("owner", path="/data").page
    page.get_by_role("button", name="Tables").click()
    page.get_by_role("button", name="Made-up rows").click()
    expect(page.get_by_role("region", name="Made-up rows")).to_contain_text("nothing here was read")
    expect(page.get_by_role("region", name="Made-up rows").locator("tbody tr")).to_have_count(8)


def test_a_budget_is_raised_with_a_reason_that_the_ledger_keeps(visit, curator):
    page = visit("owner", "olga", path="/data").page
    page.get_by_role("button", name="Budgets").click()
    page.get_by_role("button", name="Raise the budget").click()
    page.get_by_label("New total").fill("3")
    page.get_by_role("button", name="Raise", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Write down the reason")
    page.get_by_label("Reason").fill("the board said so")
    page.get_by_role("button", name="Raise", exact=True).click()
    page.get_by_role("button", name="Raise it").click()
    expect(page.get_by_text("the ledger says why")).to_be_visible()
    assert float(curator.budget("visits").limit.amount) == 3
    last = curator.ledger.entries(after=0, limit=100)[-1]
    assert (last.by, last.facts["reason"]) == ("olga", "the board said so")


def test_an_analyst_is_given_a_limit(visit, curator):
    page = visit("owner", path="/data").page
    page.get_by_role("button", name="Budgets").click()
    page.get_by_role("button", name="Give an analyst a limit").click()
    page.get_by_label("Analyst, as in their token").fill("alice")
    page.get_by_label("In all (epsilon)").fill("0.5")
    page.get_by_role("button", name="Give the limit").click()
    expect(page.get_by_text("alice has a limit within visits.")).to_be_visible()
    assert float(curator.budget("visits", analyst="alice").limit.amount) == 0.5


def test_a_token_is_shown_once_lets_in_and_is_revoked(visit, server):
    owner = visit("owner", path="/data")
    page = owner.page
    page.get_by_text("Let somebody in").click()
    page.get_by_label("Name", exact=True).fill("dora")
    page.get_by_role("button", name="Make a token").click()
    token = page.locator("#secret").inner_text()
    dora = visit()
    dora.sign_in(token)
    page.reload()
    expect(page.get_by_role("button", name="Revoke the token of dora")).to_be_visible()
    assert token not in page.content()
    page.get_by_role("button", name="Revoke the token of dora").click()
    page.get_by_role("button", name="Revoke", exact=True).last.click()
    expect(page.get_by_text("The token of dora is revoked.")).to_be_visible()
    dora.page.goto(f"{server.url}/ask")
    dora.page.wait_for_url("**/?next=%2Fask")


def test_the_statement_prints_alone(visit):
    page = visit("owner", path="/data").page
    page.get_by_role("link", name="Privacy statement").click()
    sheet = page.locator("#sheet")
    expect(sheet).to_contain_text("identified by the column patient")
    expect(sheet).to_contain_text("visits.age: 0 to 120")
    expect(sheet).to_contain_text("What is not protected")
    page.emulate_media(media="print")
    expect(sheet).to_be_visible()
    for away in ("#top", ".foot", ".no-print"):
        expect(page.locator(away).first).to_be_hidden()
    assert len(page.pdf()) > 10_000
    page.emulate_media(media="screen")
    page.get_by_role("link", name="Back").click()
    expect(page.get_by_role("button", name="Add a table")).to_be_visible()


def test_the_statement_of_an_answer_is_typeset(visit, curator):
    curator.sql(COUNTS, epsilon=0.5, analyst="alice")
    [asked] = curator.async_session("alice").newest()
    page = visit("analyst", "alice", path=f"/statement?release={asked.sequence}").page
    sheet = page.locator("#sheet")
    expect(sheet).to_contain_text("epsilon 0.5")
    expect(sheet.locator("pre")).to_have_text(COUNTS)
    assert sheet.locator("p").count() > 5
    assert "\n" not in "".join(sheet.locator("p").all_text_contents())


def test_groups_and_links_are_made_and_listed(visit, curator):
    add_visits(curator, "stays")
    page = visit("owner", path="/data").page
    card = page.locator("[data-dataset=visits]")
    card.get_by_role("button", name="Budgets").click()
    card.get_by_role("button", name="Group analysts").click()
    card.get_by_label("Name of the group").fill("students")
    card.get_by_label("Analysts, parted by commas").fill("ann, bo")
    card.get_by_label("In all (epsilon)", exact=True).fill("0.5")
    card.get_by_role("button", name="Make the group").click()
    budgets = card.get_by_role("region", name="Budgets within visits")
    expect(budgets).to_contain_text("ann, bo")
    card.get_by_role("button", name="Link datasets").click()
    card.get_by_label("Name of the link").fill("everybody")
    card.get_by_role("button", name="Link them").click()
    expect(card.get_by_role("alert")).to_have_text("Choose at least one other dataset.")
    card.get_by_label("stays").check()
    card.get_by_role("button", name="Link them").click()
    expect(budgets).to_contain_text("Linked datasets everybody")
    assert curator.budget("visits").limit.amount == 2


def test_a_dataset_is_retired_with_a_reason(visit, curator):
    page = visit("owner", path="/data").page
    page.get_by_role("button", name="Budgets").click()
    page.get_by_role("button", name="Retire the dataset").click()
    page.get_by_label("Reason, for the ledger").fill("the study is over")
    page.get_by_role("button", name="Retire", exact=True).click()
    page.get_by_role("button", name="Retire it").click()
    expect(page.locator("[data-dataset=visits]")).to_contain_text("nothing new is asked")
    assert curator.retired() == ["visits"]


def test_rows_are_appended_and_a_standing_question_grows(visit, curator, tmp_path):
    add_visits(curator, "stays", Budget(epsilon=2, delta=1e-6))
    visitor = visit("owner", path="/data")
    page = visitor.page.locator("[data-dataset=stays]")
    page.get_by_role("button", name="Standing questions").click()
    page.get_by_text("Begin a standing question").click()
    page.get_by_label("Until").fill("2025-03-31")
    page.get_by_label("Answered every").select_option("month")
    page.get_by_role("button", name="Look at the price").click()
    expect(visitor.page.get_by_role("dialog")).to_contain_text("over 3 months")
    visitor.page.get_by_role("button", name="Spend and begin").click()
    panel = page.locator(".panel")
    expect(panel).to_contain_text("Nothing is complete yet")
    page.get_by_role("button", name="New rows").click()
    more = tmp_path / "more.parquet"
    pq.write_table(visits(40).set_column(0, "patient", pa.array(range(9000, 9040))), more)
    page.get_by_label("File with the same columns").set_input_files(more)
    page.get_by_label("Complete through").fill("2025-02-28")
    page.get_by_role("button", name="Append the rows").click()
    expect(page.get_by_role("region", name="Parts of stays")).to_contain_text("2025-02-28")
    assert curator.version("stays") == 2
    page.get_by_role("button", name="Standing questions").click()
    expect(panel.locator(".chart svg")).to_be_visible()
    assert visitor.violations() == []


def test_what_was_made_from_a_dataset_has_its_place(visit, curator):
    add_visits(curator, "stays", Budget(epsilon=2, delta=1e-6))
    curator.profile("stays", epsilon=0.5)
    visitor = visit("owner", path="/data")
    page, card = visitor.page, visitor.page.locator("[data-dataset=stays]")
    card.get_by_role("button", name="Made from it").click()
    with page.expect_download() as profile:
        card.get_by_role("link", name="JSON").click()
    assert '"columns"' in profile.value.path().read_text(encoding="utf-8")
    card.get_by_text("Order something").click()
    card.get_by_label("What", exact=True).select_option("Fitted model")
    card.get_by_role("button", name="Look at the price").click()
    expect(card.get_by_role("alert")).to_contain_text("What to do")  # it has no features
    card.get_by_label("What", exact=True).select_option("Synthetic table")
    card.get_by_label("Columns").fill("city, urgent")
    card.get_by_label("Price (epsilon)").fill("0.5")
    card.get_by_role("button", name="Look at the price").click()
    expect(page.get_by_role("dialog")).to_contain_text("of what is left?")
    assert visitor.violations() == []
    page.get_by_role("button", name="Spend and begin").click()
    made = page.get_by_role("region", name="Made from stays")
    expect(made).to_contain_text("Synthetic table")
    with page.expect_download() as rows:
        made.get_by_role("link", name="CSV").click()
    assert rows.value.path().read_text(encoding="utf-8").startswith('"city"')
    made.get_by_role("link", name="Statement").first.click()
    expect(page.locator("#sheet")).to_contain_text("differential privacy")


def test_a_campaign_is_shown_with_intervals_as_reports_come_in(visit, server):
    poll = local.KRandomizedResponse(epsilon=4, domain=["tea", "coffee"])
    page = visit("owner", path="/data").page
    card = page.get_by_role("region", name="Campaigns")
    card.get_by_text("Begin a campaign").click()
    card.get_by_role("button", name="Begin the campaign").click()
    expect(card.get_by_role("alert")).to_contain_text("list at least two answers")
    card.get_by_label("What it is called").fill("drinks")
    card.get_by_label("Possible answers").fill("tea, coffee")
    card.get_by_label("Price of one report").fill("4")
    card.get_by_label("Ends on").fill("2931-01-01")
    card.get_by_role("button", name="Begin the campaign").click()
    expect(card).to_contain_text("0 reports, 0 refused.")
    server.post("/v1/reports/drinks", body=poll.reporter().report(["tea"] * 40))
    page.get_by_role("button", name="Count again").click()
    expect(card).to_contain_text("40 reports, 0 refused.")
    expect(card.locator("tbody tr")).to_have_count(2)
    server.post("/v1/reports/drinks", body=poll.reporter().report(["coffee"] * 2))
    page.get_by_role("button", name="Count again").click()
    expect(card).to_contain_text("42 reports")
    expect(card.locator("tbody tr").first).to_contain_text("tea")
