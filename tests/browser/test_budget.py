"""The Budget page: what is left, in plain words, and no way back."""

from playwright.sync_api import expect

from browser_watch import COUNTS
from discreet.curator.budget import Budget


def test_a_budget_burns_down_question_by_question_in_plain_words(visit, curator):
    curator.grant("alice", "visits", Budget(epsilon=1))
    curator.sql(COUNTS, epsilon=0.5, analyst="alice")
    curator.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.25, analyst="alice")
    page = visit("analyst", "alice", path="/budget").page
    budget = page.locator("#budget")
    expect(budget).to_contain_text("62.5 % of everybody's budget is left")
    expect(budget).to_contain_text("10 chances in 100")
    expect(budget).to_contain_text("If all of it were spent")
    expect(budget.get_by_text("(you)")).to_be_visible()
    expect(budget).to_contain_text("25 % left")
    expect(page.locator("svg.burn .point").first).to_be_attached()
    rows = page.get_by_role("region", name="Questions and their costs").locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(1)).to_contain_text("25 %")
    expect(rows.nth(1)).to_contain_text("SELECT city")


def test_there_is_no_reset(visit, curator):
    curator.sql(COUNTS, epsilon=2)
    page = visit("owner", path="/budget").page
    expect(page.locator("#budget")).to_contain_text("The budget is used up.")
    assert page.get_by_role("button", name="eset").count() == 0
    words = page.locator("main").inner_text().lower()
    assert not {"epsilon", "delta", "rho"} & set(words.split())


def test_an_auditor_sees_the_budgets(visit, curator):
    curator.sql(COUNTS, epsilon=0.5)
    page = visit("auditor", path="/budget").page
    expect(page.locator("#budget")).to_contain_text("75 %")
