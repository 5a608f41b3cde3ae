"""Everybody can use the page: names, contrast, keyboard, phones, dark."""

import pytest
from playwright.sync_api import expect

from browser_watch import COUNTS

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
LOOKS = {"light": {"color_scheme": "light"}, "dark phone": {"color_scheme": "dark", **PHONE}}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_nothing_keeps_anybody_out(visit, curator, look):
    curator.sql(COUNTS, epsilon=0.5, analyst="owner")
    visitor = visit("owner", **look)
    page = visitor.page
    complaints = {"ask, empty": visitor.complaints()}
    page.locator("#history button").first.click()
    expect(page.locator("#chart svg")).to_be_visible()
    expect(page.locator("#told")).to_contain_text("Free.")
    complaints["ask, answered"] = visitor.complaints()
    visitor.ask("SELECT * FROM visits")
    expect(page.get_by_role("alert")).to_be_visible()
    complaints["ask, refused"] = visitor.complaints()
    visitor.ask(COUNTS.replace("n F", "m F"))
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible()
    complaints["ask, confirming"] = visitor.complaints()
    for path, ready in (
        ("/budget", ".burn"),
        ("/data", "[aria-label=Tokens] table"),
        ("/ledger", "#entries table"),
    ):
        page.goto(f"{visitor.url}{path}")
        expect(page.locator(ready).first).to_be_visible()
        complaints[path] = visitor.complaints()
    page.goto(f"{visitor.url}/data")
    page.get_by_role("button", name="Add a table").click()
    complaints["wizard"] = visitor.complaints()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Your token")).to_be_visible()
    complaints["door"] = visitor.complaints()
    assert {name: found for name, found in complaints.items() if found} == {}


def test_the_check_itself_finds_what_is_wrong(visit):
    visitor = visit()
    page = visitor.page
    page.goto(visitor.url)
    page.evaluate(
        """() => {
        const add = (tag, facts) => document.querySelector('main').append(
          Object.assign(document.createElement(tag), facts));
        add('p', {textContent: 'pale', id: 'pale'});
        document.querySelector('#pale').style.color = '#bbb';
        add('input', {});
        add('button', {});
        add('h1', {textContent: 'again'});
    }"""
    )
    found = "\n".join(visitor.complaints())
    for complaint in ("contrast", "no name: input", "no name: button", "not one h1"):
        assert complaint in found


def test_a_question_can_be_asked_by_keyboard_alone(visit, server):
    visitor = visit()
    page = visitor.page
    page.goto(server.url)
    expect(page.get_by_label("Your token")).to_be_focused()
    page.keyboard.type(server.token("alice", "analyst"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/ask")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "sql":
            break
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.type(COUNTS)
    expect(page.locator("#cost")).to_be_visible()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name="Spend and run")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name="Spend and run")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Answer as a table")).to_be_visible()
    assert page.evaluate("document.activeElement.id") == "answer"


def test_the_theme_follows_the_system_until_somebody_chooses(visit, server):
    visitor = visit(color_scheme="dark")
    page = visitor.page
    page.goto(server.url)
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.get_by_role("button", name="Use light colours").click()
    light = page.evaluate(ground)
    assert light != dark
    page.reload()
    assert page.evaluate(ground) == light
    expect(page.get_by_role("button", name="Use dark colours")).to_be_visible()
