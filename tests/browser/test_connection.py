"""Connections break, people come together: a question is paid once, and its answer is found."""

import pytest
from playwright.sync_api import expect

from browser_watch import COUNTS, add_visits
from discreet.curator.budget import Budget


def spent(curator, dataset="visits"):
    return float(curator.budget(dataset).total.amount)


def ask(visitor, sql=COUNTS):
    visitor.ask(sql)
    visitor.page.get_by_role("button", name="Run", exact=True).click()
    visitor.page.get_by_role("button", name="Spend and run").click()


def cut(page, times=1):
    """Let a question reach the server, and lose its reply on the way back."""
    lost, names = [], []

    def drop(route):
        if len(lost) >= times:
            names.append(route.request.headers["idempotency-key"])
            route.continue_()
            return
        names.append(route.request.headers["idempotency-key"])
        lost.append(route.fetch().status)
        route.abort("connectionreset")

    page.route("**/v1/queries", drop)
    return lost, names


def leave(page):
    """Close the page while its connection is still cut, then mend the connection."""
    page.goto("about:blank")
    page.unroute_all(behavior="ignoreErrors")


def test_a_connection_lost_in_mid_query_is_told_and_the_answer_found_for_one_price(visit, curator):
    visitor = visit("analyst")
    page = visitor.page
    lost, names = cut(page)
    ask(visitor)
    expect(page.locator("#lost")).to_contain_text("The connection was lost.")
    expect(page.locator("#lost")).to_contain_text("charged at most once")
    assert lost[0] in {200, 202}
    assert spent(curator) == pytest.approx(0.1)
    page.get_by_role("button", name="Try now").click()
    expect(page.get_by_role("region", name="Answer as a table")).to_be_visible()
    assert spent(curator) == pytest.approx(0.1)
    assert len(names) == 2
    assert len(set(names)) == 1
    assert page.evaluate("sessionStorage.getItem('pending question')") is None


def test_a_page_that_was_closed_in_mid_query_finds_its_answer_when_it_is_opened_again(
    visit, curator
):
    visitor = visit("analyst")
    page = visitor.page
    cut(page, times=99)
    ask(visitor)
    expect(page.locator("#lost")).to_be_visible()
    leave(page)
    page.goto(f"{visitor.url}/ask")
    expect(page.get_by_role("region", name="Answer as a table")).to_be_visible()
    assert spent(curator) == pytest.approx(0.1)


def test_a_network_that_is_away_for_a_while_comes_back_by_itself(visit, curator):
    visitor = visit("analyst")
    page = visitor.page
    visitor.ask(COUNTS)
    page.get_by_role("button", name="Run", exact=True).click()
    page.context.set_offline(True)
    page.get_by_role("button", name="Spend and run").click()
    expect(page.locator("#lost")).to_be_visible()
    page.context.set_offline(False)
    expect(page.get_by_role("region", name="Answer as a table")).to_be_visible()
    assert spent(curator) == pytest.approx(0.1)


def test_waiting_can_be_stopped(visit):
    visitor = visit("analyst")
    page = visitor.page
    cut(page, times=99)
    ask(visitor)
    page.get_by_role("button", name="Stop waiting").click()
    expect(page.locator("#answer")).to_contain_text("You stopped waiting.")
    leave(page)


def test_two_analysts_at_the_same_time_share_a_budget_and_see_their_own_questions(visit, curator):
    alice, bob = visit("analyst", "alice"), visit("analyst", "bob")
    alice.ask(COUNTS)
    bob.ask("SELECT urgent, COUNT(*) AS n FROM visits GROUP BY urgent")
    for one in (alice, bob):
        one.page.get_by_role("button", name="Run", exact=True).click()
    for one in (alice, bob):
        one.page.get_by_role("button", name="Spend and run").click()
    for one in (alice, bob):
        expect(one.page.get_by_role("region", name="Answer as a table")).to_be_visible()
        expect(one.page.locator("#history button")).to_have_count(1)
    expect(bob.page.locator("#history")).to_contain_text("urgent")
    assert spent(curator) == pytest.approx(0.2)
    alice.page.goto(f"{alice.url}/budget")
    expect(alice.page.locator("#budget")).to_contain_text("90 %")
    expect(alice.page.locator("#budget")).not_to_contain_text("bob")


def test_a_scope_hides_other_datasets(visit, curator):
    add_visits(curator, "secrets", Budget(epsilon=1))
    visitor = visit("analyst", datasets=["visits"])
    expect(visitor.page.locator("#schema")).to_contain_text("visits")
    assert "secrets" not in visitor.page.content()
    visitor.ask("SELECT COUNT(*) AS n FROM secrets")
    expect(visitor.page.get_by_role("alert")).to_be_visible()


def test_a_token_revoked_in_between_leads_to_the_door(visit, server):
    visitor = visit("analyst", "carol")
    owner = server.token("owner", "owner")
    known = server.get("/v1/tokens", token=owner).json()["tokens"]
    [place] = [one["id"] for one in known if one["name"] == "carol"]
    assert server.delete(f"/v1/tokens/{place}", token=owner).status == 204
    visitor.ask(COUNTS)
    visitor.page.wait_for_url("**/?next=%2Fask")
    expect(visitor.page.get_by_label("Your token")).to_be_visible()


def test_a_question_left_behind_is_not_asked_for_the_next_person_at_the_same_tab(
    visit, server, curator
):
    visitor = visit("analyst", "alice")
    page = visitor.page
    page.route("**/v1/queries", lambda route: route.abort("connectionreset"))
    ask(visitor)
    expect(page.locator("#lost")).to_be_visible()
    leave(page)
    visitor.enter(server.token("bob", "analyst"), "/ask")
    expect(page.locator("#history")).to_contain_text("Nothing asked yet")
    expect(page.get_by_label("Question in SQL")).to_have_value("")
    assert spent(curator) == 0
