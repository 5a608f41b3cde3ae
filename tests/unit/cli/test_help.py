"""docs/reference/cli.md says what the commands say of themselves."""

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_of_commands_is_up_to_date():
    spec = importlib.util.spec_from_file_location("write_commands", DOCS / "write_commands.py")
    writer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(writer)
    written = (DOCS / "reference/cli.md").read_text(encoding="utf-8")

    assert written == writer.page(written), "run: python docs/write_commands.py"
