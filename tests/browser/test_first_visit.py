"""From a server with nothing in it to a first private answer, by clicks alone."""

import time

import pytest
from playwright.sync_api import expect

from discreet.curator.curator import Curator


@pytest.fixture
def curator(tmp_path):
    """A curator that nobody has put anything in."""
    with Curator(tmp_path / "clinic.discreet") as one:
        yield one


@pytest.mark.timed
def test_a_first_answer_takes_a_minute_and_six_clicks_at_most_and_no_typing(visit, server, curator):
    visitor = visit()
    page, begun = visitor.page, time.monotonic()
    page.goto(f"{server.url}/#{server.token()}")
    spend, answer = page.get_by_role("button", name="Spend and run"), page.locator("#answer")
    page.get_by_role("button", name="Sign in").click()
    assert "dpt_" not in page.url
    page.get_by_role("button", name="Try the demo clinic").click()
    page.get_by_role("button", name="Run", exact=True).click()
    spend.or_(answer.get_by_text("Ward A")).first.wait_for()
    if spend.count():
        spend.click()
    expect(answer).to_contain_text("Ward A")
    assert time.monotonic() - begun < 60
    assert float(curator.budget("demo_patients").total.amount) > 0


def test_an_owner_without_data_begins_with_it_and_the_demo_is_added_once(visit, server, curator):
    visitor = visit()
    page = visitor.page
    page.goto(f"{server.url}/#{server.token()}")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/data")
    expect(page.get_by_role("button", name="Add a table")).to_be_visible()
    assert visitor.complaints() == visitor.violations() == []
    for _ in range(2):
        owner = {"token": server.token(), "json": {"name": "clinic"}}
        assert server.post("/v1/demo", **owner).json()["dataset"] == "demo_patients"
    assert list(curator.datasets()) == ["demo_patients"]
