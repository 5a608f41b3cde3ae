"""The lab in a browser: nobody signs in, everything is made up, and every promise is shown."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

import discreet as dp
from running_server import QUICK, served

CHECK = (Path(__file__).parent / "accessibility.js").read_text(encoding="utf-8")
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
CALM = {"reduced_motion": "reduce"}


@pytest.fixture(scope="module")
def quiet():
    """One server for all of these tests: the lab needs no data."""
    with dp.Curator.in_memory() as curator, served(curator, settings=QUICK) as one:
        yield one


@pytest.fixture
def server(quiet):
    return quiet


@pytest.fixture
def lab(visit):
    def come(**how):
        page = visit(**{**CALM, **how}).page
        page.set_default_timeout(30_000)
        return page

    return come


# Dots that are drawn where the promise lets nobody be.
BEYOND = """() => {
  const closed = document.querySelector('.errors .closed');
  const dots = [...document.querySelectorAll('.errors .other, .errors .yours')];
  const at = (dot) => new DOMPoint(dot.cx.baseVal.value + 0.5, dot.cy.baseVal.value - 0.5);
  return dots.filter((dot) => closed.isPointInFill(at(dot))).length;
}"""
# Pictures without a title, a description, or their numbers as a table.
UNTOLD = """() => [...document.querySelectorAll('figure.chart')].filter((one) =>
  !one.querySelector('svg[role=img] > title')?.textContent
  || !one.querySelector('svg[role=img] > desc')?.textContent
  || one.querySelectorAll('tbody tr').length < 3).map((one) => one.className)"""
READY = {
    "poll": "#poll figure svg",
    "classroom": "#classroom figure",
    "noise": "#noise figure.errors",
    "attacks": "#attacks .notice",
}


def opened(page, server, *rooms):
    """Go there, and wait until these rooms (all of them, if none is named) are furnished."""
    page.goto(f"{server.url}/lab")
    for room in rooms or READY:
        expect(page.locator(READY[room])).to_be_visible(timeout=30_000)
    return page


# --- the classroom ------------------------------------------------------------------------------


def test_the_estimate_settles_beside_the_truth(lab, server):
    page = opened(lab(reduced_motion="no-preference"), server, "classroom")
    room = page.locator("#classroom")
    page.get_by_label("Pupils", exact=True).select_option("2000")
    expect(room).to_contain_text("after 2,000 pupils")
    expect(room).to_contain_text("The truth, which only the pupils know: 30 of 100")
    expect(room.locator(".big")).to_contain_text("± 5.8")
    estimate = float(room.locator(".big").inner_text().split(" of ")[0])

    # Seven deviations of the coins.
    assert abs(estimate - 30) < 14


def test_coins_decide_what_leaves_the_desks_and_what_it_tells(lab, server):
    page = opened(lab(), server, "classroom")
    room, desks = page.locator("#classroom"), page.locator(".desks")
    expect(page.locator(".desks i")).to_have_count(100)
    for button in ("Ask them again", "Another class"):
        before = desks.inner_html()
        page.get_by_role("button", name=button).click()
        # A hundred coins that fall the same way twice: never.
        expect(desks).not_to_have_js_property("innerHTML", before)
    expect(room).to_contain_text("75 say yes")
    expect(room.get_by_role("img", name="25 of 100 after a yes")).to_be_visible()
    page.get_by_label("How often the first coin says: tell the truth").fill("0")
    expect(room.get_by_role("img", name="11 of 100 after a yes")).to_be_visible()


def test_your_own_answers_never_leave_the_browser(lab, server):
    page = opened(lab(), server)
    page.get_by_label("You", exact=True).check()
    expect(page.locator("#classroom")).to_contain_text("Nobody has answered yet")
    page.wait_for_load_state("networkidle")
    sent = []
    page.on("request", lambda request: sent.append(request.url))
    for _ in range(5):
        page.get_by_role("button", name="My true answer is yes").click()
        page.get_by_role("button", name="My true answer is no").click()

    expect(page.locator("#classroom")).to_contain_text("after 10 pupils")
    expect(page.locator(".desks i")).to_have_count(10)
    assert sent == []
    page.get_by_role("button", name="Start over").click()
    expect(page.locator("#classroom")).to_contain_text("Nobody has answered yet")


# --- noise ----------------------------------------------------------------------------------------


def test_the_slider_trades_privacy_for_accuracy(lab, server):
    page = opened(lab(), server, "noise")
    room = page.locator("#noise")
    slider = page.get_by_label("How much noise")
    for end in ("more privacy", "more accuracy"):
        expect(room.locator(".ends").first).to_contain_text(end)
    expect(room).to_contain_text("at most 28 of 100")
    expect(room).to_contain_text("within 3 of the truth")
    slider.focus()
    page.keyboard.press("Home")
    expect(room).to_contain_text("at most 12 of 100")
    expect(room).to_contain_text("within 30 of the truth")
    expect(slider).to_have_attribute("aria-valuetext", "epsilon 0.1")
    page.get_by_label("Gaussian").check()
    expect(room).to_contain_text("at most 11 of 100")
    expect(room).to_contain_text("within 71 of the truth")
    page.get_by_label("Laplace").check()
    slider.fill("5")
    page.get_by_label("from this answer on").fill("16")
    expect(page.locator("#noise .found")).to_contain_text("73 of 100")
    assert page.evaluate(BEYOND) == 0


def test_the_check_tells_right_from_wrong_and_survives_the_slider(lab, server):
    page = opened(lab(), server, "noise")
    page.get_by_text("Check yourself").click()
    page.get_by_label("It comes closer to the truth.").check()
    expect(page.locator(".quiz")).to_contain_text("Not quite.")
    page.get_by_label("How much noise").fill("0")
    expect(page.get_by_label("At most 12.")).to_be_visible()
    expect(page.locator(".quiz")).to_contain_text("Not quite.")
    page.get_by_label("At most 12.").check()
    expect(page.locator(".quiz")).to_contain_text("Yes.")


# --- attacks --------------------------------------------------------------------------------------


def test_an_attack_is_shown_on_raw_and_private_answers_with_the_bound(lab, server):
    page = opened(lab(), server, "attacks")
    room = page.locator("#attacks")
    expect(room).to_contain_text("guessed the secret of 128 of 128 people")
    expect(room).to_contain_text("no attacker at all gets above 56 of 100")
    expect(room.locator("figure.bars")).to_contain_text("no attacker passes 56")
    expect(room).to_contain_text("within")
    page.get_by_role("button", name="Who was in the study?").click()
    expect(room.locator(".notice")).to_contain_text("The control.")
    expect(room).to_contain_text("no attacker at all gets above 2.7 of 100")
    page.get_by_role("button", name="Wear out a holdout").click()
    expect(room.locator("figure.bars")).to_contain_text("the truth plus 5")
    expect(room.locator(".notice")).not_to_contain_text("no attacker")
    page.get_by_role("button", name="Subtract two answers").click()
    page.get_by_label("The promise").fill("0")
    expect(room.locator(".notice")).to_contain_text("gets above 52 of 100")


def test_all_attacks_stand_side_by_side_and_can_be_stopped(lab, server):
    page = opened(lab(), server, "attacks")
    page.get_by_role("button", name="Run all attacks").click()
    rows = page.locator("table.all tbody tr")
    expect(rows.nth(1).locator("svg")).to_be_visible(timeout=30_000)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Run all attacks")).to_be_visible()
    shown = rows.count()
    page.wait_for_timeout(300)
    assert rows.count() <= shown + 1


def test_a_bench_that_is_taken_is_waited_for(lab, server):
    page = lab()
    taken = []

    def busy(route):
        taken.append(route.request.url)
        if len(taken) > 2:
            route.continue_()
            return
        error = {"kind": "ServiceError", "what": "busy", "why": "another runs", "fix": "wait"}
        route.fulfill(status=503, json={"error": error}, headers={"Retry-After": "1"})

    page.route("**/v1/lab/attacks/*", busy)
    opened(page, server, "attacks")
    assert len(taken) >= 5


# --- for everybody --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "look",
    [
        {"color_scheme": "light"},
        {"color_scheme": "dark"},
        {"color_scheme": "light", **PHONE},
        {"color_scheme": "dark", **PHONE},
    ],
    ids=["light", "dark", "phone", "dark phone"],
)
def test_nothing_keeps_anybody_out_of_the_lab(lab, server, look):
    page = opened(lab(**look), server)
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    expect(page.locator("#limits")).to_contain_text("does not hide facts about people at large")
    assert page.evaluate(UNTOLD) == []
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.get_by_label("It comes closer to the truth.").check()

    assert page.evaluate(CHECK) == []


def test_devices_report_and_intervals_are_drawn(lab, server):
    page = opened(lab(), server, "poll")
    expect(page.locator("#poll-said")).to_contain_text("The first of them drinks tea and sent")
    expect(page.locator("#poll figure svg circle")).to_have_count(8)
    before = page.locator("#poll figure").inner_html()
    page.get_by_role("button", name="Report again").click()
    expect(page.locator("#poll-said")).to_contain_text("of 8 drinks")
    page.wait_for_function(
        "before => document.querySelector('#poll figure').innerHTML !== before", arg=before
    )
    page.get_by_label("What a device reports").select_option("unary")
    expect(page.locator("#poll-said")).to_contain_text("(1 byte)")
