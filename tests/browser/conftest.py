"""Real Chromium against a real server over a real curator."""

import os
import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from browser_watch import Visitor, add_visits, watch
from discreet.curator.curator import Curator
from discreet.server.routes.pages import vega
from running_server import QUICK, served

_PATIENCE = 120_000
expect.set_options(timeout=_PATIENCE)
HEADLESS = Path(__file__).parents[2] / ".venv/headless/usr/lib/chromium/chromium-headless-shell"
CHROMIUM = next(filter(None, map(shutil.which, (HEADLESS, "chromium", "chromium-browser"))), None)


class Chromium:
    """The browser of a worker: started when first asked for, ended after this folder's last test.

    While it is there, an event loop runs in this thread, and tests of other folders that run one of
    their own would fail after it in the same process.
    """

    def __init__(self):
        self._ending = ExitStack()
        self._browser = None

    def browser(self):
        if self._browser is None:
            playwright = self._ending.enter_context(sync_playwright())
            vega()  # made once a process, and slowly: no test should have to wait for it
            self._browser = playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox"]
            )
            self._ending.callback(self._browser.close)
        return self._browser

    def end(self):
        self._ending.close()
        self._browser = None


_CHROMIUM = Chromium()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem):
    """After the fixtures of the test; pytest asks this of the tests of this folder alone."""
    try:
        return (yield)
    finally:
        if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
            _CHROMIUM.end()


@pytest.fixture
def chromium():
    """The system's browser; without it tests are skipped here and fail where CI is set."""
    if CHROMIUM is None:
        why = "Chromium is not installed (apt-get install chromium)"
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)
    return _CHROMIUM.browser()


@pytest.fixture
def curator(tmp_path):
    with Curator(tmp_path / "clinic.discreet") as one:
        add_visits(one)
        yield one


@pytest.fixture
def server(curator, tmp_path):
    with served(curator, settings=QUICK, folder=tmp_path / "clinic.discreet") as one:
        yield one


@pytest.fixture
def visit(chromium, server):
    """Open a browser of one's own; at the end nothing may have gone wrong in it."""
    opened, visitors = [], []

    def come(role=None, name=None, *, path=None, datasets=None, **how):
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **how})
        context.set_default_timeout(_PATIENCE)
        opened.append(context)
        visitor = Visitor(context.new_page(), server.url)
        visitors.append(visitor)
        watch(visitor)
        if role is not None:
            token = server.token(name or role, role, datasets=datasets)
            visitor.enter(token, path or {"auditor": "/ledger"}.get(role, "/ask"))
        return visitor

    yield come
    for context in opened:
        context.close()
    for visitor in visitors:
        assert visitor.wrong == []
        assert visitor.strangers == []
