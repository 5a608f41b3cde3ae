"""The lab in a browser: nobody signs in, everything is made up, and every promise is shown."""

import time
from contextlib import suppress
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
        return visit(**{**CALM, **how}).page

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
    "names": "#names .notice",
    "sums": "#sums .notice",
    "tricks": "#tricks .notice",
    "classroom": "#classroom figure",
    "poll": "#poll figure svg",
    "noise": "#noise figure.errors",
    "again": "#again .notice",
    "all": "#attack-all",
    "deployments": "#deployments figure.epsilons svg",
    "society": "#society figure.choices svg",
    "law": "#law .paper",
    "quantum": "#quantum figure.gentle svg",
}


def opened(page, server, *rooms):
    """Go there, and walk through these chapters (all of them, if none is named)."""
    page.goto(f"{server.url}/lab")
    for room in rooms or READY:
        _scroll_to(page, room, until=time.monotonic() + 120)
    return page


def _scroll_to(page, room, *, until):
    """Scroll on, as people do: chapters above that open meanwhile push this one out of sight."""
    ready = page.locator(READY[room]).first
    while not ready.is_visible() and time.monotonic() < until:
        page.locator(f"#{room}").scroll_into_view_if_needed()
        with suppress(AssertionError):
            expect(ready).to_be_visible(timeout=3_000)
    expect(ready).to_be_visible()


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
    page = opened(lab(), server, "classroom")
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
    # Chapters further up still run their attacks, on made-up people.
    assert [url for url in sent if "/lab/attacks/" not in url] == []
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
    page = opened(lab(), server, "sums")
    room = page.locator("#sums")
    expect(room).to_contain_text("guessed the secret of 128 of 128 people")
    expect(room).to_contain_text("no attacker at all gets above 55 of 100 in the long run")
    expect(room.locator("figure.bars")).to_contain_text("no attacker passes 55")
    expect(room.locator(".sides")).to_contain_text("Exact answers")
    expect(room).to_contain_text("Dinur, Nissim 2003")
    page.get_by_role("button", name="Who was in the study?").click()
    expect(room.locator(".notice")).to_contain_text("The control.")
    expect(room).to_contain_text("no attacker at all gets above 1.8 of 100")
    page.get_by_role("button", name="Subtract two answers").click()
    room.get_by_label("The promise").fill("0")
    expect(room.locator(".notice")).to_contain_text("gets above 52 of 100")


def test_what_an_analyst_still_learns_stands_beside_every_attack(lab, server):
    page = opened(lab(), server, "again")
    room = page.locator("#again")
    expect(room.locator(".useful")).to_contain_text("How many of the 2,000 people have the secret?")
    expect(room.locator(".useful")).to_contain_text("± 3.5 (truth:")
    expect(room.locator(".useful svg[role=img]")).to_be_visible()
    page.get_by_role("button", name="Wear out a holdout").click()
    expect(room.locator("figure.bars")).to_contain_text("the truth plus 5")
    expect(room.locator(".notice")).not_to_contain_text("no attacker")
    expect(room.locator(".useful")).to_contain_text("that was fixed beforehand?")


def test_cases_and_papers_are_named_and_textbook_noise_is_not_called_exact(lab, server):
    page = opened(lab(), server, "names", "tricks")
    for case in ("The governor of Massachusetts", "Netflix", "Fitness maps"):
        expect(page.locator("#names .cases")).to_contain_text(case)
    expect(page.locator("#tricks .cases")).to_contain_text("InstaHide")
    page.get_by_role("button", name="Read the last digits").click()
    room = page.locator("#tricks")
    expect(room.locator(".sides")).to_contain_text("Textbook noise.")
    expect(room.locator(".notice")).to_contain_text("with textbook noise")
    expect(room.locator(".sides")).not_to_contain_text("Exact")


def test_a_chance_run_above_its_bound_is_told_as_chance(lab, server):
    page = lab()

    def lucky(route):
        reply = route.fetch()
        told = reply.json()
        if told["against"] == "private":
            told |= {"success": 0.74, "bound": 0.731, "lower": 0.69, "upper": 0.78}
            told |= {"refutes": False, "verdict": "at the bound, within chance"}
        route.fulfill(response=reply, json=told)

    page.route("**/v1/lab/attacks/reconstruct", lucky)
    room = opened(page, server, "sums").locator("#sums")
    expect(room.locator(".notice")).to_contain_text("above that by chance, as 69 to 78 are within")
    expect(room.locator(".sides")).to_contain_text("at the bound, within chance")
    expect(room.locator(".sides li").last.locator(".bad")).to_have_count(0)


def test_all_attacks_stand_side_by_side_and_can_be_stopped(lab, server):
    page = opened(lab(), server, "all")
    page.get_by_role("button", name="Run all attacks").click()
    rows = page.locator("table.all tbody tr")
    expect(rows.nth(1).locator("svg")).to_be_visible()
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
    opened(page, server, "sums")
    assert len(taken) >= 5


# --- how much, law, and qubits --------------------------------------------------------------------


def test_real_epsilons_stand_on_one_scale_with_their_sources(lab, server):
    page = opened(lab(), server, "deployments")
    room = page.locator("#deployments")
    expect(room.locator("figure circle")).to_have_count(16)
    room.get_by_text("As a table").click()
    expect(room.locator("table")).to_contain_text("arXiv 2204.08986")
    expect(room).to_contain_text("OpenDP Differential Privacy Deployments Registry")


def test_a_whole_release_is_moved_from_privacy_to_accuracy(lab, server):
    page = opened(lab(), server, "society")
    room = page.locator("#society")
    expect(room.locator("figure.towns rect")).to_have_count(128)
    expect(room.locator(".voices")).to_contain_text("up to 27 of 100 who were counted")
    slider = page.get_by_label("Epsilon of the whole release")
    slider.focus()
    page.keyboard.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", "epsilon 0.05")
    expect(room.locator(".voices")).to_contain_text("up to 11 of 100 who were counted")
    expect(room.locator(".voices")).to_contain_text("± 468 %")
    page.keyboard.press("End")
    expect(room.locator(".voices")).to_contain_text("up to over 99.9 of 100")


def test_laws_are_answered_one_by_one_and_the_dossier_is_there(lab, server):
    page = opened(lab(), server, "law")
    room = page.locator("#law")
    expect(room).to_contain_text("Recital 26")
    for name, row in (("HIPAA", "164.514(b)(1)"), ("FERPA", "99.31(b)(1)")):
        room.get_by_role("radio", name=name).check()
        expect(room.locator(".paper").first).to_contain_text(row)
    room.get_by_role("radio", name="NIST SP 800-226").check()
    expect(room.locator(".paper").first).to_contain_text("Unit of privacy")
    room.get_by_text("The whole dossier of a made-up clinic").click()
    expect(room.get_by_role("heading", name="Is the record whole?")).to_be_visible()


def test_the_dossier_of_the_server_is_for_owners_and_auditors(visit, server):
    page = visit("auditor").page
    page.goto(f"{server.url}/dossier")
    expect(page.get_by_role("button", name="Print or save as PDF")).to_be_visible()
    expect(page.locator(".paper")).to_contain_text("The ledger is whole")
    assert page.evaluate(CHECK) == []
    page.emulate_media(media="print")
    expect(page.get_by_role("button", name="Print or save as PDF")).to_be_hidden()
    expect(page.locator(".top")).to_be_hidden()
    other = visit("analyst").page
    other.goto(f"{server.url}/dossier")
    expect(other.locator("#main")).to_contain_text("This page is not for your role")


def test_qubits_are_measured_gently_where_noise_is_large(lab, server):
    page = opened(lab(), server, "quantum")
    room = page.locator("#quantum")
    expect(room.locator(".notice")).to_contain_text("within trace distance 0.625")
    expect(room.locator(".notice")).to_contain_text("tanh(ε/4) = 0.245")
    page.get_by_label("Noise on the count").fill("0")
    expect(room.locator(".notice")).to_contain_text("within trace distance 0.0353")
    page.get_by_label("1", exact=True).check()
    expect(room.locator(".notice")).to_contain_text("for one qubit is a line")
    expect(room.locator("figure.gentle path.told").first).to_be_visible()
    expect(room.locator("figure.gentle path.harm").first).to_be_visible()


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
