"""Asking without SQL, suggestions, saved questions, links and dashboards."""

import datetime as dt
import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pyarrow as pa
import pytest
from playwright.sync_api import expect

from browser_watch import CITIES, COUNTS
from discreet.curator.budget import Budget
from discreet.plan.schema import Bounds, Keys

BY_AGE = "SELECT age, COUNT(*) AS n FROM visits GROUP BY age"


def spent(curator):
    return float(curator.budget("visits").total.amount)


def test_a_question_is_built_from_lists_and_runs_at_once_below_the_analysts_share(visit, curator):
    page = visit("analyst").page
    page.get_by_label("Measure", exact=True).select_option("Average age")
    page.get_by_label("By", exact=True).select_option("city")
    page.get_by_role("button", name="+ a condition").click()
    page.get_by_label("Column 1").select_option("age")
    page.get_by_label("Value 1").fill("30")
    page.get_by_role("button", name="+ and").click()
    page.get_by_label("Column 2").select_option("city")
    page.get_by_label("Comparison 2").select_option("is not")
    page.get_by_label("Value 2").select_option("Haifa")
    sql = page.get_by_label("Question in SQL")
    expect(sql).to_have_value(
        "SELECT city, AVG(age) AS average_age\nFROM visits\n"
        "WHERE age >= 30\n  AND city <> 'Haifa'\nGROUP BY city"
    )
    expect(page.locator("#told-summary")).to_contain_text("Costs 5 % of what is left")
    expect(page.locator("#run-note")).to_contain_text("You confirm first")
    page.get_by_label("Ask me first above").select_option("10 % of what is left")
    expect(page.locator("#run-note")).to_contain_text("Runs at once")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("heading", name="Answer: average_age by city")).to_be_visible()
    assert spent(curator) == pytest.approx(0.1)
    page.reload()
    expect(page.get_by_label("Ask me first above")).to_have_value("0.1")
    sql.fill("SELECT 1")
    page.get_by_label("By", exact=True).select_option("urgent")
    expect(sql).to_have_value("SELECT 1")  # what was typed by hand is replaced by a click alone
    page.get_by_role("button", name="Use this instead").click()
    expect(sql).to_have_value(re.compile("urgent"))


def test_every_example_has_a_price_and_the_first_load_is_small(visit, curator, server):
    visitor = visit()
    page, sizes = visitor.page, []
    page.on("response", lambda reply: sizes.append(len(reply.body())) if reply.ok else None)
    visitor.enter(server.token("analyst"), "/ask")
    expect(page.locator(".chip")).to_have_count(5)
    page.wait_for_load_state("networkidle")
    assert sum(sizes) < 1_000_000, sum(sizes)
    sql = page.get_by_label("Question in SQL")
    for chip in page.locator(".chip").all():
        chip.click()
        curator.explain(sql.input_value(), epsilon=0.1)
        expect(page.locator("#build-write")).to_be_hidden()  # the builder shows the same question
    expect(page.locator("#cost")).to_be_visible()
    assert spent(curator) == 0


def test_every_choice_of_the_builder_is_a_question_that_is_answered(visit, curator):
    """Names that are words of SQL or need quotes, all kinds of columns, values with quotes."""
    first = dt.datetime.fromisoformat("2020-01-01")
    curator.add(
        'odd "1"',
        pa.table(
            {
                "who": range(9),
                "select": ["a", "b", "it's"] * 3,
                "Big Cost": [1.5] * 9,
                "when": [first] * 9,
                "date": [first.date()] * 9,
                "small": range(9),
                "flag": [True, False, None] * 3,
                "free": ["x"] * 9,
            }
        ),
        unit="who",
        budget=Budget(epsilon=1),
        columns={
            "select": Keys(["a", "b", "it's"]),
            "Big Cost": Bounds(-1e6, 1e6),
            "when": Bounds(first, dt.datetime.fromisoformat("2026-01-01")),
            "date": Bounds(first.date(), dt.date(2020, 3, 1)),
            "small": Bounds(0, 9),
        },
    )
    page = visit("owner").page
    written = page.evaluate(_EVERY)
    for sql in written:
        curator.explain(sql, epsilon=0.1)
    assert len(written) > 60


_EVERY = """async () => {
  const { choices, comparing, write } = await import("/static/ask/questions.js");
  const { tables } = await (await fetch("/v1/schema")).json();
  const typed = { number: "3", date: "2020-01-05", "datetime-local": "2024-01-05T10:30" };
  return Object.values(tables).flatMap((table) => {
    const { measures, groups } = choices(table);
    const ask = (measures, groups, where = []) => write({ table, measures, groups, where });
    return [
      ...measures.map((one) => ask([one], [])),
      ...groups.map((one) => ask(measures, [one])),
      ask([measures[0]], groups.slice(0, 2)),
      ...table.columns.flatMap((column) => {
        const { signs, values, type } = comparing(column);
        return Object.keys(signs).flatMap((sign) =>
          (values ?? [typed[type] ?? "it's"]).map((value) =>
            ask([measures[0]], [], [{ column: column.name, sign, value: String(value) }])));
      }),
    ];
  });
}"""


def test_names_are_suggested_and_taken_by_keyboard(visit, curator):
    page = visit("analyst").page
    sql, options = page.get_by_label("Question in SQL"), page.locator("#completions li")
    expect(page.locator(".chip").first).to_be_visible()
    sql.click()
    page.keyboard.type("SELECT ci")
    expect(options).to_have_text([re.compile("city")])
    page.keyboard.press("Tab")
    page.keyboard.type(", AV")
    expect(options.first).to_contain_text("aggregate")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#completions [aria-selected=true]")).to_contain_text("AVG")
    page.keyboard.press("Enter")
    page.keyboard.type("ag")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    page.keyboard.type(" AS age FROM vis")
    page.keyboard.press("Escape")
    expect(options).to_have_count(0)
    page.keyboard.press("Control+Space")
    page.keyboard.press("Tab")
    page.keyboard.type(" WHERE city = 'ag")
    expect(options).to_have_count(0)  # a text is no name
    expect(sql).to_have_value("SELECT city, AVG(age) AS age FROM visits WHERE city = 'ag")

    words = page.evaluate("import('/static/ask/complete.js').then((it) => it.vocabulary({}))")
    for word in words:
        if word["kind"] in {"aggregate", "function"}:
            call = f"{word['name']}({ARGUMENTS.get(word['name'], 'age')})"
            shown = call if word["kind"] == "aggregate" else f"COUNT({call}) AS n"
            curator.explain(f"SELECT {shown} FROM visits", epsilon=0.1)  # noqa: S608 - our own words


ARGUMENTS = {
    "QUANTILE_CONT": "age, 0.9",
    "COUNT_IF": "urgent",
    "CORR": "age, age",
    "COVAR_SAMP": "age, age",
    "DATE_TRUNC": "'month', day",
    "EXTRACT": "YEAR FROM day",
    "DATE_DIFF": "'day', day, day",
    "POWER": "age, 2",
    "LEAST": "age, 1",
    "GREATEST": "age, 1",
    "WIDTH_BUCKET": "age, 0, 100, 10",
    "COALESCE": "age, 1",
    "NULLIF": "age, 1",
    "LOWER": "city",
    "UPPER": "city",
    "TRIM": "city",
    "LENGTH": "city",
    "SUBSTRING": "city, 1, 2",
    "REPLACE": "city, 'a', 'b'",
    "CONCAT": "city, 'a'",
    "CAST": "age AS DOUBLE",
}


def test_saved_answers_open_together_on_a_dashboard_for_nothing(visit, curator, server):
    for sql in (COUNTS, "SELECT AVG(age) AS age FROM visits"):
        curator.sql(sql, epsilon=0.1, analyst="ann")
    page = visit("analyst", "ann", permissions=["clipboard-read", "clipboard-write"]).page
    for entry, title in enumerate(("Mean age", "By city")):
        page.locator("#history button").nth(entry).click()
        page.locator("#answer").get_by_role("button", name="Save").click()
        expect(page.get_by_label("Name")).to_be_focused()
        page.get_by_label("Name").fill(title)
        page.get_by_role("combobox", name="Dashboard").fill("Week")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name=f"Answer: {title}")).to_be_visible()
    with page.expect_download() as image:
        page.get_by_role("button", name="PNG").click()
    assert image.value.path().read_bytes()[:4] == b"\x89PNG"
    with page.expect_download() as image:
        page.get_by_role("button", name="SVG").click()
    assert b"<svg" in image.value.path().read_bytes()[:200]
    page.get_by_role("button", name="Dashboard, 2 answers").click()
    board = page.locator("#board")
    expect(board.get_by_role("article", name="Mean age")).to_contain_text("±")
    expect(board.get_by_role("article", name="By city").locator("svg")).to_be_visible()
    page.reload()  # its address is a link of its own
    expect(board.get_by_role("heading", name="Week")).to_be_visible()
    board.get_by_role("button", name="Move Mean age behind").click()
    expect(board.get_by_role("article").first).to_contain_text("By city")
    board.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Link copied")).to_be_visible()
    other = visit(
        "owner", path=page.evaluate("navigator.clipboard.readText()").partition(server.url)[2]
    )
    theirs = other.page.locator("#board")
    expect(theirs.get_by_role("article", name="Mean age")).to_contain_text("±")
    expect(theirs.get_by_role("button", name="Take off Mean age")).to_have_count(0)
    board.get_by_role("button", name="Take off Mean age").click()
    expect(board.get_by_role("article")).to_have_count(1)
    board.get_by_role("button", name="Open By city").click()
    expect(page.get_by_label("Question in SQL")).to_have_value(COUNTS)
    expect(page.get_by_role("heading", name="Answer: By city")).to_be_visible()
    page.get_by_role("button", name="Delete Mean age").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator("#saved .saved")).to_have_count(1)
    assert spent(curator) == pytest.approx(0.2)


def test_what_is_about_public_tables_alone_is_free(visit, curator):
    cities = pa.table({"name": CITIES, "people": [1, 2, 3, 4]})
    curator.add_public("cities", cities, key=["name"])
    visitor = visit("analyst", "ann")
    visitor.ask("SELECT COUNT(*) AS n FROM cities")
    expect(visitor.page.locator("#told-summary")).to_have_text("Exact and free.")
    visitor.page.get_by_role("button", name="Run", exact=True).click()
    expect(visitor.page.locator("#answer")).to_contain_text("public: exact and free")
    assert spent(curator) == 0


def test_a_link_opens_a_question_and_what_was_answered_and_never_buys(visit, curator, server):
    curator.sql(COUNTS, epsilon=0.1, analyst="ann")
    ann = visit()
    page = ann.page
    page.goto(f"{ann.url}/ask#{urlencode({'sql': COUNTS, 'epsilon': '0.1'})}")
    page.get_by_label("Your token").fill(server.token("ann", "analyst"))
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#answer")).to_contain_text("opened again, free")
    expect(page.get_by_label("Price (epsilon)")).to_have_value("0.1")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#answer").get_by_role("button", name="Copy link").click()
    link = page.evaluate("navigator.clipboard.readText()")
    assert parse_qs(urlsplit(link).fragment)["sql"] == [COUNTS]

    page.goto(f"{ann.url}/lab")
    asked = {"sql": COUNTS, "within": "2 %", "of": "1000", "confidence": "0.95"}
    page.goto(f"{ann.url}/ask#{urlencode(asked)}")
    expect(page.get_by_label("of at least")).to_have_value("1000")
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()
    expect(page.locator("#answer")).to_be_empty()

    ben = visit("analyst", "ben").page
    ben.goto("about:blank")
    ben.goto(link)
    expect(ben.get_by_label("Question in SQL")).to_have_value(COUNTS)
    expect(ben.get_by_role("button", name="Run", exact=True)).to_be_enabled()
    expect(ben.locator("#answer")).to_be_empty()
    assert spent(curator) == pytest.approx(0.1)


def test_a_link_opens_what_was_answered_also_where_its_price_comes_late(visit, curator):
    """A wait for more typing once ended a slower request for the price, and nothing was opened."""
    curator.sql(COUNTS, epsilon=0.1, analyst="ann")
    ann = visit("analyst", "ann")
    page, held = ann.page, []
    page.goto("about:blank")
    page.route("**/v1/explain", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks it
    with page.expect_request("**/v1/explain"):
        page.goto(f"{ann.url}/ask#{urlencode({'sql': COUNTS, 'epsilon': '0.1'})}")
    page.wait_for_timeout(600)
    [request] = held
    request.continue_()
    expect(page.locator("#answer")).to_contain_text("opened again, free")


def test_an_answer_says_when_the_question_above_it_changed_and_its_table_is_sorted(visit, curator):
    curator.sql(BY_AGE, epsilon=0.1, analyst="ann")
    visitor = visit("analyst", "ann")
    page = visitor.page
    page.locator("#history button").first.click()
    answer = page.locator("#answer")
    expect(answer.get_by_role("heading", name="Answer: n by age")).to_be_visible()
    expect(answer.locator(".question")).to_have_text(BY_AGE)
    expect(page.locator("#old")).to_be_hidden()
    first = answer.locator("tbody tr td:first-child")
    expect(first).to_have_count(25)
    answer.get_by_role("button", name="age", exact=True).click()
    answer.get_by_role("button", name="age", exact=True).click()
    expect(answer.locator("th").first).to_have_attribute("aria-sort", "descending")
    expect(first.first).to_have_text("120")
    answer.get_by_role("button", name="Next rows").click()
    expect(first.first).to_have_text("95")
    expect(answer.locator("caption")).to_have_text("121 rows: 26 to 50")

    visitor.ask(COUNTS)
    expect(page.locator("#old")).to_contain_text("Not the question above")
    page.get_by_role("button", name="Bring this question back").click()
    expect(page.locator("#old")).to_be_hidden()
    expect(page.get_by_label("Question in SQL")).to_have_value(BY_AGE)
    expect(page.get_by_role("button", name="Open again")).to_be_in_viewport()  # always in sight
