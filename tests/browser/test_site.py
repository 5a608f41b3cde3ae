"""The site of the docs is built without a warning, has every public name, and needs no network."""

import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from playwright.sync_api import expect

import discreet

ROOT = Path(__file__).parents[2]
PACKAGES = ("attacks", "audit", "learn", "local", "mechanisms", "noise", "privacy", "workload")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site as `make docs` builds it, of a copy of the pages."""
    root = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "docs", root / "docs")
    shutil.copy(ROOT / "zensical.toml", root)
    (root / "src").symlink_to(ROOT / "src")
    built = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "--strict"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout[-4000:] + built.stderr[-4000:]
    assert built.stderr == "No issues found\n"
    return root / "site"


def test_every_public_name_has_a_place_in_the_reference(site):
    pages = "".join(page.read_text() for page in (site / "reference/api").glob("*.html"))
    shown = set(re.findall(r'id="discreet(?:\.[a-z_]+)*\.(\w+)"', pages))  # in modules, not classes
    names = [*discreet.__all__]
    for package in PACKAGES:
        names += import_module(f"discreet.{package}").__all__

    assert set(names) - shown == set()


def test_every_page_is_built_and_loads_nothing_from_elsewhere(site):
    pages = [page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")]
    outside = re.compile(r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="?(?:https?:)?//[^>]*>')

    for page in pages:
        assert outside.findall((site / page.with_suffix(".html")).read_text()) == [], page


def test_search_works_on_files_without_a_network(site, chromium):
    with chromium.new_context(offline=True) as context:
        page = context.new_page()
        page.goto((site / "index.html").as_uri())
        page.keyboard.press("Control+k")
        page.get_by_placeholder("Search").last.fill("sparse vector")

        expect(page.get_by_role("option").first).to_contain_text("Sparse")
