"""Draws docs/figures/page-*.png: the page in Chromium over made-up visits to a clinic."""

import contextlib
import datetime as dt
import math
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

import discreet as dp
from discreet.server import tokens
from discreet.server.app import build_app
from discreet.server.serving import options
from discreet.server.settings import Settings

FIGURES = Path(__file__).parent / "figures"
CITIES = {"Austin": 31, "Bergen": 9, "Haifa": 24, "Lagos": 42, "Lima": 17, "Osaka": 26}
PEOPLE = 12_000
BY_CITY = """SELECT city, COUNT(*) AS patients, AVG(age) AS mean_age
FROM visits
WHERE urgent
GROUP BY city"""
ASKED = (
    ("alice", "SELECT city, COUNT(*) AS n FROM visits GROUP BY city", 0.2),
    ("bob", "SELECT urgent, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY urgent", 0.25),
    ("alice", "SELECT AVG(age) AS age FROM visits WHERE cost > 200", 0.1),
    ("alice", "SELECT city, SUM(cost) AS cost FROM visits GROUP BY city", 0.3),
    ("bob", "SELECT COUNT(*) AS n FROM visits WHERE age >= 65", 0.05),
)
PAGES = {
    "budget": ".burn",
    "data": "[data-dataset]",
    "ledger": "#entries table",
    "lab": "#names .notice",
}
_PRICES = {"light": "0.25", "dark": "0.2", "phone": "0.15"}
_README = 1120
"""The height of the one that the README shows."""
DESK: dict[str, Any] = {"viewport": {"width": 1180, "height": 900}, "device_scale_factor": 1}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 1,
    "is_mobile": True,
    "has_touch": True,
}


def visits() -> pa.Table:
    """Made-up visits, one a person."""
    weights = [city for city, weight in CITIES.items() for _ in range(weight)]
    first = dt.date(2025, 1, 1)
    return pa.table(
        {
            "patient": range(PEOPLE),
            "city": [weights[i * 7919 % len(weights)] for i in range(PEOPLE)],
            "age": [round(48 + 24 * math.sin(i * 0.37) + i % 9) for i in range(PEOPLE)],
            "cost": [round(180 + 150 * math.sin(i) ** 2 + i % 50, 2) for i in range(PEOPLE)],
            "day": [first + dt.timedelta(days=i * 31 % 365) for i in range(PEOPLE)],
            "urgent": [i * 31 % 10 < 3 for i in range(PEOPLE)],
        }
    )


def open_clinic(folder: Path) -> dp.Curator:
    """A curator with a history."""
    curator = dp.Curator(folder)
    curator.add(
        "visits",
        visits(),
        unit="patient",
        budget=dp.Budget(epsilon=1, delta=1e-6),
        columns={
            "city": dp.Keys(list(CITIES)),
            "age": dp.Bounds(0, 120),
            "cost": dp.Bounds(0, 1000),
            "day": dp.Bounds(dt.date(2025, 1, 1), dt.date(2025, 12, 31)),
        },
        required=["patient", "city", "age", "cost", "day", "urgent"],
        limits=dp.Limits(max_groups=1, max_rows=1),
    )
    curator.grant("alice", "visits", dp.Budget(epsilon=0.75, delta=5e-7))
    for analyst, sql, epsilon in ASKED:
        curator.sql(sql, epsilon=epsilon, analyst=analyst)
    return curator


@contextlib.contextmanager
def served(curator: dp.Curator, folder: Path) -> Iterator[tuple[str, Any]]:
    """A server on a free port: its address and its store of tokens."""
    settings = Settings(rate=1000.0, burst=1000, address_rate=1000.0, address_burst=1000)
    app = build_app(curator, settings, folder=folder, log=lambda _: None)
    server = uvicorn.Server(uvicorn.Config(app, **options(settings)))
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}", app.state.app_state.access
    server.should_exit = True
    thread.join(30)


def sign_in(page: Page, url: str, token: str, path: str) -> None:
    """Sign in."""
    page.goto(url + path)
    page.get_by_label("Your token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Sign out").wait_for()


def ask(page: Page, epsilon: str) -> None:
    """Write a question and wait for its price."""
    page.get_by_label("Question in SQL").fill(BY_CITY)
    page.get_by_label("Price (epsilon)").fill(epsilon)
    page.locator("#cost").wait_for()
    page.locator("#run:enabled").wait_for()


def confirm(page: Page) -> None:
    """Pay, and wait for the chart."""
    page.locator("#run").click()
    page.get_by_role("button", name="Spend and run").click()
    page.locator("#chart svg").wait_for()


def shoot(page: Page, name: str, *, at: str | None = None) -> None:
    """Write one picture: of the whole page, or of what is seen from one place on."""
    page.evaluate("document.activeElement?.blur()")
    page.evaluate("window.scrollTo(0, 0)")
    page.evaluate("document.querySelector('.run-bar')?.style.setProperty('position', 'static')")
    if at is not None:
        page.evaluate("(at) => document.querySelector(at).scrollIntoView()", at)
        page.evaluate("window.scrollBy(0, -110)")
    page.wait_for_timeout(300)
    cut = {"x": 0, "y": 0, "width": DESK["viewport"]["width"], "height": _README}
    clip = cut if name == "ask-light" else None
    page.screenshot(path=FIGURES / f"page-{name}.png", full_page=at is None, clip=clip)
    print(f"page-{name}.png")


def tour(page: Page, url: str, owner: str, look: str) -> None:
    """All pages in one look."""
    sign_in(page, url, owner, "/ask")
    ask(page, _PRICES[look])
    shoot(page, f"ask-{look}")
    confirm(page)
    shoot(page, f"answer-{look}")
    for name, ready in PAGES.items():
        page.goto(f"{url}/{name}")
        page.locator(ready).first.wait_for()
        page.wait_for_load_state("networkidle")
        shoot(page, f"{name}-{look}")


def pocket(page: Page, url: str, owner: str) -> None:
    """What fits on a phone."""
    page.goto(url)
    page.get_by_label("Your token").wait_for()
    shoot(page, "login-phone", at="body")
    sign_in(page, url, owner, "/ask")
    ask(page, _PRICES["phone"])
    shoot(page, "ask-phone", at="body")
    confirm(page)
    shoot(page, "answer-phone", at="#answer")
    for name in ("budget", "data", "ledger"):
        page.goto(f"{url}/{name}")
        page.locator(PAGES[name]).first.wait_for()
        shoot(page, f"{name}-phone", at="body")


def _page(browser: Browser, look: str, how: dict[str, Any]) -> Page:
    return browser.new_context(**how, color_scheme=look, reduced_motion="reduce").new_page()


def main() -> None:
    """Draw all of them."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("Chromium is not installed (apt-get install chromium)")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "clinic.discreet"
        with (
            open_clinic(folder) as curator,
            served(curator, folder) as (url, access),
            sync_playwright() as playwright,
        ):
            browser = playwright.chromium.launch(
                executable_path=chromium, args=["--no-sandbox", "--font-render-hinting=none"]
            )
            owner = tokens.issue(access, "alice", "owner", days=1).text
            for look in ("light", "dark"):
                tour(_page(browser, look, DESK), url, owner, look)
            pocket(_page(browser, "light", PHONE), url, owner)
            browser.close()


if __name__ == "__main__":
    main()
