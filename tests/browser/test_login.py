"""Signing in and out, and what each role is shown."""

import pytest
from playwright.sync_api import expect

WRONG = {
    "letmein": "This is not a token.",
    "dpt_nothing_nobody": "This token does not work here.",
}


def test_a_wrong_token_is_refused_in_words_and_a_right_one_lets_in(visit, server):
    visitor = visit()
    page = visitor.page
    page.goto(server.url)
    for typed, told in WRONG.items():
        page.get_by_label("Your token").fill(typed)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text(told)
        expect(page.get_by_role("alert")).to_contain_text("What to do")
        assert "Bearer" not in page.get_by_role("alert").inner_text()
    expect(page.get_by_label("Your token")).to_have_attribute("aria-invalid", "true")
    visitor.sign_in(server.token("alice", "analyst"))
    expect(page.get_by_text("alice")).to_be_visible()


def test_a_link_that_is_pasted_where_the_page_is_open_fills_its_token_in(visit, server):
    page, token = visit().page, server.token("alice", "analyst")
    page.goto(server.url)
    expect(page.get_by_role("button", name="Sign in")).to_be_enabled()
    page.goto(f"{server.url}/#{token}")  # the same page: the browser loads nothing
    expect(page.get_by_label("Your token")).to_have_value(token)
    assert token not in page.url


def test_the_token_is_kept_nowhere_in_the_browser(visit, server):
    visitor = visit()
    token = server.token("alice", "analyst")
    visitor.sign_in(token)
    kept = visitor.page.evaluate(
        "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])"
    )
    assert token not in kept
    assert visitor.page.evaluate("document.cookie") == ""


@pytest.mark.parametrize("slow", ["login/login.js", "shell.js"])
@pytest.mark.parametrize("how", ["click", "press Enter"])
def test_who_signs_in_before_the_page_is_ready_gets_in(visit, server, slow, how):
    """The losing order: the form is there, its script is not. A bare form would drop the token."""
    page = visit().page
    held = []
    page.route(f"**/static/{slow}", lambda route: held.append(route), times=1)  # noqa: PLW0108 - Playwright marks it
    with page.expect_request(f"**/static/{slow}"):
        page.goto(f"{server.url}/?next=%2Fbudget", wait_until="commit")
    page.get_by_label("Your token").fill(server.token("alice", "analyst"))
    button = page.get_by_role("button", name="Sign in")
    if how == "click":
        button.evaluate("button => button.click()")  # at once, as a hand does
    else:
        page.get_by_label("Your token").press("Enter")
    held.pop().continue_()
    button.click()
    page.wait_for_url("**/budget")


def test_a_browser_that_keeps_no_cookie_is_told_so(visit, server):
    page = visit().page
    page.goto(server.url)

    def without_cookie(route):
        reply = route.fetch()
        kept = {k: v for k, v in reply.headers.items() if k.lower() != "set-cookie"}
        page.context.clear_cookies()  # which `fetch` kept; before the page goes on
        route.fulfill(status=reply.status, headers=kept, body=reply.body())

    page.route("**/v1/session", without_cookie)
    page.get_by_label("Your token").fill(server.token("alice", "analyst"))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("allow cookies")


def test_signing_out_ends_the_session_and_empties_the_page(visit):
    visitor = visit("analyst")
    page = visitor.page
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/")
    page.goto(f"{visitor.url}/ask")
    page.wait_for_url("**/?next=%2Fask")
    expect(page.get_by_label("Your token")).to_be_visible()


def test_nobody_is_sent_off_the_site_after_signing_in(visit, server):
    visitor = visit()
    page = visitor.page
    page.goto(f"{server.url}/?next=https%3A%2F%2Fevil.example%2F")
    page.get_by_label("Your token").fill(server.token("alice", "analyst"))
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{server.url}/ask")


@pytest.mark.parametrize(
    ("role", "links"),
    [
        ("analyst", ["Ask", "Budget", "Lab"]),
        ("auditor", ["Budget", "Ledger", "Dossier", "Lab"]),
        ("owner", ["Ask", "Budget", "Data", "Ledger", "Dossier", "Lab"]),
    ],
)
def test_each_role_sees_its_own_pages(visit, role, links):
    page = visit(role).page
    expect(page.get_by_role("navigation").get_by_role("link")).to_have_text(links)


def test_a_page_of_another_role_says_whose_it_is(visit):
    visitor = visit("analyst")
    visitor.page.goto(f"{visitor.url}/data")
    expect(visitor.page.get_by_text("This page is not for your role")).to_be_visible()
    expect(visitor.page.get_by_role("link", name="Go to your page")).to_be_visible()
