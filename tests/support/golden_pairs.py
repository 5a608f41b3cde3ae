"""Golden files: a question, then its plan in comments; blocks are parted by empty lines."""

from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden"
MARK = "-- "


def read_pairs(name: str) -> list[tuple[str, str]]:
    """The questions of a golden file and the text of their plans."""
    blocks = (GOLDEN / name).read_text(encoding="utf-8").strip().split("\n\n")
    return [_pair(block) for block in blocks if not block.startswith("--- ")]


def _pair(block: str) -> tuple[str, str]:
    lines = block.splitlines()
    question = "\n".join(line for line in lines if not line.startswith(MARK))
    plan = "".join(f"{line.removeprefix(MARK)}\n" for line in lines if line.startswith(MARK))
    return question, plan
