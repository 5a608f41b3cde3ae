"""The files of the page: what is served, how, and what they may not hold."""

import gzip
import re
from pathlib import Path

import pytest

import discreet.server
from discreet.curator.curator import Curator
from discreet.server.routes.pages import _PAGES as PAGES_AT
from discreet.server.routes.pages import assets
from running_server import served

PAGE = Path(discreet.server.__file__).parent / "page"
FILES = sorted(path for path in PAGE.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def server():
    with Curator.in_memory() as curator, served(curator) as one:
        yield one


@pytest.mark.parametrize("path", PAGES_AT)
def test_pages_come_without_a_token_and_hold_nothing(server, path):
    found = server.get(path)
    assert found.status == 200
    assert found.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "script-src 'self'" in found.headers["Content-Security-Policy"]
    assert "unsafe" not in found.headers["Content-Security-Policy"]
    assert found.headers["Set-Cookie"] is None


def test_all_that_comes_before_a_chart_is_below_a_third_of_a_megabyte():
    assert sum(len(one.packed) for one in assets().values()) < 333_000


def test_a_file_is_sent_once_and_confirmed_after(server):
    first = server.get("/static/style.css", headers={"Accept-Encoding": "gzip"})
    assert gzip.decompress(first.body) == (PAGE / "style.css").read_bytes()
    tag = first.headers["ETag"]
    again = server.get("/static/style.css", headers={"If-None-Match": tag})
    assert (again.status, again.body) == (304, b"")
    plain = server.get("/static/style.css", headers={"If-None-Match": '"another"'})
    assert plain.body == (PAGE / "style.css").read_bytes()


@pytest.mark.parametrize(
    "path",
    [
        "/static/",
        "/static/nothing.js",
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
        "/static/ask/../../app.py",
        "/static/style.css%00.js",
        "/static/ask.html",
        "/static/STYLE.CSS",
    ],
)
def test_no_path_leads_anywhere_else(server, path):
    assert server.get(path).status == 404


def test_the_charts_script_is_the_installed_packages(server):
    found = server.get("/static/vega.js")
    assert found.status == 200
    assert found.headers["Content-Type"].startswith("text/javascript")
    assert b"window.vegaEmbed" in found.body


def test_the_licence_of_vega_is_served_with_it(server):
    found = server.get("/static/vega-licence.txt")

    assert (found.status, found.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert b"University of Washington" in found.body
    assert b"vl-convert" in found.body
    assert b"vega-licence.txt" in server.get("/static/vega.js").body[:100]


def test_files_hold_no_inline_script_or_style_and_nothing_from_elsewhere():
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".html":
            assert not re.search(r"<script(?![^>]*\bsrc=)", text), path
            assert not re.search(r"<style|\bstyle=|\son\w+=", text), path
        for away in re.findall(r"https?://[^\s\"'`)…]+", text):
            assert away == "http://www.w3.org/2000/svg", (path, away)


def test_text_from_the_server_never_becomes_markup():
    ways = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
        r"|setAttribute\(\s*[\"']style"
    )
    for path in FILES:
        if path.suffix == ".js":
            assert not ways.search(path.read_text(encoding="utf-8")), path


def test_every_module_that_is_named_is_there():
    names = {path.relative_to(PAGE).as_posix() for path in FILES} | {"vega.js"}
    for path in FILES:
        for name in re.findall(r"[\"']/static/([^\"'?]+)[\"']", path.read_text(encoding="utf-8")):
            assert name in names or name == "$module", (path, name)
    for where in PAGES_AT:
        assert PAGES_AT[where][2] in names


def test_every_page_has_the_frame_and_a_title_of_its_own(server):
    titles = set()
    for where in PAGES_AT:
        text = server.get(where).body.decode()
        assert text.count('<main id="main"') == text.count("</html>") == 1
        assert "$" not in text.split("<main")[0]
        titles.add(re.search("<title>(.*) · discreet</title>", text)[1])
    assert len(titles) == len(PAGES_AT)
