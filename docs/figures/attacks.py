"""Plays every attack of the lab and writes the table in docs/attacks.md between its markers.

People are made up from a fixed seed; the noise of private answers is fresh, so their column moves
a little from run to run. It takes a few minutes.
"""

from pathlib import Path

from discreet.lab import AGAINST, PLAYS, Outcome, play

PAGE = Path(__file__).parents[1] / "attacks.md"
BEGIN, END = "<!-- attacks: begin -->", "<!-- attacks: end -->"
HEAD = "| attack | chance | raw | classical | private | bound at epsilon 1 | n |"


def main() -> None:
    """Play everything and rewrite the page."""
    lines = [HEAD, "|---|---|---|---|---|---|---|"]
    for name in PLAYS:
        outcomes = {against: play(name, against) for against in AGAINST}
        lines.append(row(name, outcomes))
        print(lines[-1], flush=True)
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), "\n".join(lines)), encoding="utf-8")


def row(name: str, outcomes: dict[str, Outcome]) -> str:
    """One line of the table; chance and bound are those of the private arm."""
    raw, rounded, private = (outcomes[against].success for against in AGAINST)
    last = outcomes["private"]
    return (
        f"| `{name}` | {last.baseline:.3f} | {raw:.3f} | {rounded:.3f} | {private:.3f} "
        f"| {last.bound:.3f} | {last.n} |"
    )


def replaced(page: str, table: str) -> str:
    """The page with another table between its markers."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


if __name__ == "__main__":
    main()
