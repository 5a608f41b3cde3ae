"""The Ask page: price while typing, paying, answers, refusals."""

import re

import pyarrow as pa
import pytest
from playwright.sync_api import expect

from browser_watch import COUNTS
from discreet.answer.measurement_plan import MeasurementPlan
from discreet.curator.budget import Budget
from discreet.curator.orders.order_kinds import KINDS
from discreet.plan.schema import Keys, Limits
from noisy_total import NAME, TotalOrder

MEANS = "SELECT city, COUNT(*) AS n, AVG(age) AS age FROM visits GROUP BY city"


def run(visitor, sql=COUNTS, *, epsilon="0.1"):
    """Ask, confirm, and wait for the answer."""
    page = visitor.page
    visitor.ask(sql)
    page.get_by_label("Price (epsilon)").fill(epsilon)
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Spend and run").click()
    expect(page.get_by_role("heading", name="Answer")).to_be_visible()


def spent(curator):
    return float(curator.budget("visits").total.amount)


def test_the_price_appears_while_typing_and_nothing_is_charged(visit, curator):
    visitor = visit("analyst")
    page = visitor.page
    visitor.ask(MEANS)
    expect(page.locator("#cost")).to_have_text("5 %")
    expect(page.locator("#told")).to_contain_text("visits.age to 0 .. 120")
    expect(page.locator("#told")).to_contain_text("one person, with all of their rows")
    expect(page.locator("#told-summary")).to_contain_text("Costs 5 % of what is left")
    expect(page.locator(".error-bar")).to_have_count(2)
    assert spent(curator) == 0


def test_the_slider_says_what_its_ends_mean_and_moves_price_and_error(visit):
    visitor = visit("analyst")
    page = visitor.page
    visitor.ask(COUNTS)
    expect(page.get_by_text("← more privacy")).to_be_visible()
    expect(page.get_by_text("more accuracy →")).to_be_visible()
    expect(page.locator("#cost")).to_have_text("5 %")
    wide = page.locator(".error-bar .track i").bounding_box()["width"]
    slider = page.get_by_role("slider")
    slider.focus()
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    expect(page.get_by_label("Price (epsilon)")).to_have_value("0.5")
    expect(page.locator("#cost")).to_have_text("25 %")
    assert page.locator(".error-bar .track i").bounding_box()["width"] < wide / 3


def test_an_accuracy_decides_the_price(visit):
    visitor = visit("analyst")
    page = visitor.page
    visitor.ask(COUNTS)
    page.get_by_text("An accuracy", exact=True).click()
    page.get_by_label("Noise at most").fill("2")
    page.get_by_label("Unit").select_option("per cent")
    expect(page.locator("#told")).to_contain_text("Say what the per cent are of")
    page.get_by_label("of at least").fill("1,000")
    expect(page.locator(".error-bar .value")).to_have_text(re.compile(r"± (19|20)"))
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()


def test_a_question_is_confirmed_run_and_shown_with_its_noise(visit, curator):
    visitor = visit("analyst")
    page = visitor.page
    visitor.ask(MEANS)
    page.get_by_role("button", name="Run", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Spend 5 % of what is left?")
    expect(dialog).to_contain_text("10 chances in 100")
    page.get_by_role("button", name="Not now").click()
    assert spent(curator) == 0
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Spend and run").click()
    table = page.get_by_role("region", name="Answer as a table")
    expect(table.locator("tbody tr")).to_have_count(4)
    expect(table).to_contain_text("± noise")
    for number in table.locator("tbody td.n").all_inner_texts():
        assert re.search(r"\d\s*± [\d.,]*\d", number), number
    expect(page.locator("#answer")).to_contain_text("Sampling error: not shown")
    expect(page.locator("#chart svg")).to_contain_text("95 % noise interval")
    assert spent(curator) == pytest.approx(0.1)


def test_asking_the_same_again_is_free_and_says_so(visit, curator):
    visitor = visit("analyst")
    run(visitor)
    expect(visitor.page.locator("#told")).to_contain_text("You asked exactly this before")
    visitor.page.get_by_role("button", name="Open again").click()
    expect(visitor.page.locator("#answer")).to_contain_text("opened again, free")
    assert spent(curator) == pytest.approx(0.1)


def test_earlier_answers_open_for_nothing(visit, curator):
    visitor = visit("analyst")
    run(visitor)
    first = visitor.page.locator("#answer tbody").inner_text()
    visitor.page.reload()
    visitor.page.locator("#history button").first.click()
    expect(visitor.page.locator("#answer")).to_contain_text("opened again, free")
    assert visitor.page.locator("#answer tbody").inner_text() == first
    expect(visitor.page.get_by_label("Question in SQL")).to_have_value(COUNTS)
    assert spent(curator) == pytest.approx(0.1)


def test_answers_can_be_taken_away(visit):
    visitor = visit("analyst", permissions=["clipboard-read", "clipboard-write"])
    page = visitor.page
    run(visitor)
    with page.expect_download() as csv:
        page.get_by_role("link", name="CSV").click()
    assert csv.value.path().read_text(encoding="utf-8").startswith('"city","n","n_low","n_high"\n')
    with page.expect_download() as parquet:
        page.get_by_role("link", name="Parquet").click()
    assert parquet.value.path().read_bytes()[:4] == b"PAR1"
    page.get_by_role("button", name="Copy as Python").click()
    expect(page.get_by_text("Copied as Python.")).to_be_visible()
    assert "Curator(" in page.evaluate("navigator.clipboard.readText()")
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Privacy statement").click()
    expect(opened.value.locator("#sheet")).to_contain_text("differential privacy")


def test_measuring_again_charges_the_new_price_alone_and_narrows_the_noise(visit, curator):
    visitor = visit("analyst")
    page = visitor.page
    run(visitor)
    page.get_by_role("button", name="Measure again").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("This further price is")
    expect(dialog.get_by_label("Price (epsilon)")).to_have_value("0.2")
    page.get_by_role("button", name="Spend and measure").click()
    expect(page.locator("#answer")).to_contain_text("merged from 2 answers")
    expect(page.locator("#chart svg")).to_be_visible()
    with page.expect_download() as csv:
        page.get_by_role("link", name="CSV").click()
    shown = page.locator("#answer tbody td").nth(1).inner_text().split("±")[0]
    first = csv.value.path().read_text(encoding="utf-8").splitlines()[1].split(",")
    assert first[1] == shown.strip().replace(",", "")
    assert spent(curator) == pytest.approx(0.3)


def test_the_refused_part_is_underlined_with_what_why_and_fix(visit, curator):
    visitor = visit("analyst")
    page = visitor.page
    visitor.ask(f"{COUNTS[:26]} -- 🙂 fine\nFROM visits WHERE wage > 3 GROUP BY city")
    expect(page.locator("#paint mark").first).to_be_visible()
    marked = "".join(page.locator("#paint mark").all_inner_texts())
    assert marked == "wage"
    box = page.get_by_role("alert")
    expect(box).to_contain_text("What to do")
    expect(page.get_by_label("Question in SQL")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_disabled()
    visitor.ask(COUNTS)
    expect(page.locator("#paint mark")).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)
    assert spent(curator) == 0


def test_a_price_beyond_what_is_left_cannot_be_run(visit, curator):
    curator.sql("SELECT COUNT(*) AS n FROM visits", epsilon=1.95)
    visitor = visit("analyst")
    visitor.ask(COUNTS)
    expect(visitor.page.locator("#cost")).to_have_text("More than is left")
    expect(visitor.page.get_by_role("button", name="Run", exact=True)).to_be_disabled()
    expect(visitor.page.locator("#run-note")).to_contain_text("does not fit")


def test_a_budget_that_somebody_else_used_up_in_between_is_told(visit, curator):
    visitor = visit("analyst")
    page = visitor.page
    visitor.ask(COUNTS)
    page.get_by_role("button", name="Run", exact=True).click()
    curator.sql("SELECT COUNT(*) AS n FROM visits", epsilon=1.95)
    page.get_by_role("button", name="Spend and run").click()
    fault = page.locator("#answer .fault[data-kind=BudgetError]")
    expect(fault).to_contain_text("left to dataset visits")
    expect(fault).to_contain_text("What to do")
    assert spent(curator) == pytest.approx(1.95)


def test_a_computation_that_failed_is_told_once_and_not_tried_again(visit, monkeypatch):
    def fail(*_):
        raise RuntimeError

    monkeypatch.setattr(MeasurementPlan, "measure", fail)
    visitor = visit("analyst")
    page = visitor.page
    visitor.ask(COUNTS)
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Spend and run").click()
    expect(page.locator("#answer .fault[data-kind=EngineError]")).to_contain_text("charge stays")


def test_names_of_columns_are_text_and_never_markup(visit):
    visitor = visit("analyst")
    name = "<img src=x onerror=alert(1)>"
    run(visitor, COUNTS.replace("n F", f'"{name}" F'))
    expect(visitor.page.locator("#answer th").nth(1)).to_contain_text(name)
    assert visitor.page.locator("#answer img").count() == 0


def test_a_column_of_the_schema_goes_into_the_question(visit):
    visitor = visit("analyst")
    page = visitor.page
    page.get_by_role("button", name="Start a question").first.click()
    expect(page.get_by_label("Question in SQL")).to_have_value(
        "SELECT city, COUNT(*) AS n\nFROM visits\nGROUP BY city"
    )
    expect(page.locator("#cost")).to_have_text("5 %")
    page.get_by_role("button", name="age integer").click()
    expect(page.get_by_label("Question in SQL")).to_have_value(re.compile("city age$"))


def test_names_are_shown_as_they_are_however_large_long_or_odd(visit, curator):
    """Integers beyond 2^53, a key of 200 letters, a dataset with a slash, an opened answer."""
    large, long = [2**53 + 1, -(2**62) - 1, 5], ["a" * 200, "b", "c"]
    rows = {"who": range(30), "code": large * 10, "word": long * 10}
    curator.add(
        "codes 2024/25",
        pa.table(rows),
        unit="who",
        budget=Budget(epsilon=10),
        columns={"code": Keys(large), "word": Keys(long)},
        required=["who", "code", "word"],
        limits=Limits(1, 1),
    )
    for name in ("code", "word"):
        sql = f'SELECT {name}, COUNT(*) AS n FROM "codes 2024/25" GROUP BY {name}'  # noqa: S608 - a name
        curator.sql(sql, epsilon=1, analyst="owner")
    visitor = visit("owner")
    page = visitor.page
    page.locator("#history button").first.click()
    expect(page.locator("#answer tbody td").first).to_have_text(long[0])
    fits = "(table) => table.scrollWidth <= table.clientWidth"
    assert page.locator("#answer .scroll").evaluate(fits)
    page.locator("#history button").nth(1).click()
    expect(page.locator("#answer tbody tr td:first-child")).to_have_text(
        [str(one) for one in large]
    )
    page.goto(f"{visitor.url}/budget")
    expect(page.get_by_role("heading", name="codes 2024/25")).to_be_visible()


@pytest.mark.parametrize("late", ["**/v1/releases/*format=chart", re.compile(r"/v1/releases/\w+$")])
def test_what_comes_late_does_not_replace_what_was_opened_after_it(visit, curator, late):
    for name in ("city", "urgent"):
        sql = f"SELECT {name}, COUNT(*) AS n FROM visits GROUP BY {name}"  # noqa: S608 - a name
        curator.sql(sql, epsilon=0.1, analyst="owner")
    page = visit("owner").page
    held = []
    page.route(late, lambda route: held.append(route) if not held else route.continue_())
    with page.expect_request(late):
        page.locator("#history button").first.click()
    page.locator("#history button").nth(1).click()
    expect(page.locator("#chart svg")).to_be_visible()
    before = page.locator("#answer").inner_text()
    assert "Haifa" in before
    with page.expect_response(late):
        held[0].continue_()
    page.wait_for_timeout(100)

    assert page.locator("#answer").inner_text() == before


def test_a_release_that_is_no_table_is_shown_as_its_kind_tells_it(visit, curator, monkeypatch):
    monkeypatch.setitem(KINDS, NAME, TotalOrder)
    curator.order(NAME, {"table": "visits", "epsilon": "0.1"}, analyst="analyst")
    page = visit("analyst").page
    entry = page.locator("#history button").first
    expect(entry).to_contain_text("a noisy_total about visits")
    entry.click()
    expect(page.locator("#order")).to_contain_text('"table": "visits"')
    expect(page.locator("#statement")).to_contain_text("protects each person of visits")
