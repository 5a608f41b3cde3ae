"""Everybody can use the page: names, contrast, keyboard, phones, dark."""

import pytest
from playwright.sync_api import expect

from browser_watch import COUNTS

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
PAGES = {
    "/budget": ".burn",
    "/data": "[aria-label=Tokens] table",
    "/ledger": "#entries table",
    "/statement?dataset=visits": "#sheet h2",
    "/help": "dl",
    "/lab": "h1",
}
LOOKS = {"light": {"color_scheme": "light"}, "dark phone": {"color_scheme": "dark", **PHONE}}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_nothing_keeps_anybody_out(visit, curator, look):
    curator.sql(COUNTS, epsilon=0.5, analyst="owner")
    visitor = visit("owner", **look)
    page, found = visitor.page, {}

    def look_at(name):
        found[name] = [*visitor.complaints(), *visitor.violations()]

    look_at("ask, empty")
    page.locator("#history button").first.click()
    expect(page.locator("#chart svg")).to_be_visible()
    expect(page.locator("#told")).to_contain_text("Free.")
    look_at("ask, answered")
    visitor.ask("SELECT * FROM visits")
    expect(page.get_by_role("alert")).to_be_visible()
    look_at("ask, refused")
    visitor.ask(COUNTS.replace("n F", "m F"))
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible()
    look_at("ask, confirming")
    for path, ready in PAGES.items():
        page.goto(f"{visitor.url}{path}")
        expect(page.locator(ready).first).to_be_visible()
        look_at(path)
    page.goto(f"{visitor.url}/data")
    for panel in ("Tables", "Budgets", "New rows", "Standing questions", "Made from it"):
        page.get_by_role("button", name=panel, exact=True).click()
        expect(page.locator(".panel .spinner")).to_have_count(0)
        look_at(panel)
    page.get_by_role("button", name="Add a table").click()
    look_at("wizard")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Your token")).to_be_visible()
    look_at("login")
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_axe_itself_finds_what_is_wrong(visit):
    visitor = visit()
    visitor.page.goto(visitor.url)
    visitor.page.evaluate("document.querySelector('label').remove()")
    assert [name for name, _ in visitor.violations()] == ["label-title-only", "label"]


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
