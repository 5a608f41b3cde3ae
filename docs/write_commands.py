"""Writes the help of every command into docs/reference/cli.md, below its first heading of one.

The calls for words of courses go to docs/reference/calls.md, below the head of its table. Run it
after a command or a call has changed; a test compares.
"""

import re
import sys
from pathlib import Path

from click.testing import CliRunner

from discreet import argument_names
from discreet.cli import _COMMANDS, main

PAGE = Path(__file__).parent / "reference/cli.md"
CALLS = PAGE.with_name("calls.md")


def help_of(*words: str) -> str:
    """What a command says of itself on a terminal of 80 columns."""
    asked = CliRunner().invoke(
        main, [*words, "--help"], prog_name="discreet", env={"COLUMNS": "80"}
    )
    return asked.stdout.rstrip()


def section(*words: str) -> str:
    """One command's part of the page."""
    title = f"{'#' * (1 + len(words))} discreet {' '.join(words)}"
    return f"{title}\n\n```text\n{help_of(*words)}\n```\n"


def sections() -> list[str]:
    """The parts of all commands, and of the commands below them."""
    found = []
    for name in _COMMANDS:
        found.append(section(name))
        inner = getattr(main.get_command(None, name), "commands", {})  # type: ignore[arg-type]
        found += [section(name, one) for one in inner]
    return found


def page(before: str) -> str:
    """The page with its sections renewed."""
    top = re.split(r"^## ", before, maxsplit=1, flags=re.MULTILINE)[0]
    return top + "\n".join(sections())


def calls(before: str) -> str:
    """The page of calls with its table renewed: a row a call, and the words that mean it."""
    lines = Path(argument_names.__file__).with_name("course_calls.txt").read_text("utf-8")
    told = [line.partition(": ") for line in lines.splitlines() if not line.startswith("#")]
    rows = [
        f"| {words.replace(' ', ', ').replace('_', ' ')} | `{call}` |\n" for words, _, call in told
    ]
    head = re.split(r"(?<=\|---\|---\|\n)", before, maxsplit=1)[0]
    return head + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    CALLS.write_text(calls(CALLS.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"{PAGE.name} is up to date\n")
