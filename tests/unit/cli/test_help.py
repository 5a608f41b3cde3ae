"""docs/reference/cli.md and calls.md say what the commands say of themselves."""

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"


def test_the_pages_of_commands_and_of_calls_are_up_to_date():
    spec = importlib.util.spec_from_file_location("write_commands", DOCS / "write_commands.py")
    writer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(writer)
    written = (DOCS / "reference/cli.md").read_text(encoding="utf-8")

    assert written == writer.page(written), "run: python docs/write_commands.py"
    told = (DOCS / "reference/calls.md").read_text(encoding="utf-8")
    assert told == writer.calls(told), "run: python docs/write_commands.py"
