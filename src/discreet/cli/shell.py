"""`discreet shell`: ask one question after the other, with completion and history."""

import os
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from discreet.cli import options
from discreet.cli.rows import plain
from discreet.errors import DiscreetError
from discreet.rationals import read_text

if TYPE_CHECKING:
    from discreet.curator.curator import Curator

_WORDS: Final = """
SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT AS AND OR NOT IN BETWEEN IS NULL CASE WHEN THEN ELSE
END JOIN LEFT ON USING UNION ALL WITH DISTINCT LIKE DESC ASC FILTER COUNT SUM AVG MEDIAN MIN MAX
STDDEV VARIANCE QUANTILE_CONT LEAST GREATEST COALESCE ROUND FLOOR CEIL ABS LOWER UPPER LENGTH
SUBSTRING DATE_TRUNC EXTRACT CAST NULLIF"""
"""What Tab completes in addition to the names of tables and columns."""

_HELP: Final = r"""End a question with ; - it is charged, and the answer shown.
\explain SQL;   what a question would cost; charges nothing
\budget         what is left
\tables         what may be asked about
\epsilon 0.1    what each question is worth from now on
\help           this;  \quit or Ctrl-D ends"""
_COMMANDS: Final = ("\\explain", "\\budget", "\\tables", "\\epsilon", "\\help", "\\quit")
_LINES: Final = 10_000


@options.command()
@options.curator_option
@options.server_option
@options.analyst_option
@click.option("--epsilon", type=options.EXACT, help="Epsilon of each question until \\epsilon.")
def shell(*, folder: Path, analyst: str | None, epsilon: Fraction | None) -> None:
    """Ask questions interactively: Tab completes names, the arrow keys bring back questions.

    Example: discreet shell --epsilon 0.1
    """
    with options.open_curator(folder) as curator:
        session = ShellSession(curator, analyst, epsilon)
        tables = curator.schema.tables
        names = [*tables, *(column for one in tables.values() for column in one.columns)]
        with_history = sys.stdin.isatty() and _prepare([*_WORDS.split(), *names])
        if sys.stdin.isatty():
            click.echo(r"Type a question and ; - or \help.", err=True)
        session.run()
        if with_history:
            _keep_history()


class ShellSession:
    """Lines in, answers out, until the end of input."""

    def __init__(self, curator: "Curator", analyst: str | None, epsilon: Fraction | None) -> None:
        self.curator = curator
        self.analyst = analyst
        self.epsilon = epsilon
        self._begun: list[str] = []
        self._commands: dict[str, Callable[[str], object]] = {
            "explain": self._explain,
            "budget": lambda _: plain("\n".join(map(str, curator.as_auditor().accounts()))),
            "tables": self._tables,
            "epsilon": self._set_epsilon,
            "help": lambda _: plain(_HELP),
        }

    def run(self) -> None:
        """Read until the end; what is wrong is said, and the next line read."""
        while True:
            prompt = (
                "" if not sys.stdin.isatty() else "      ...> " if self._begun else "discreet> "
            )
            try:
                line = input(prompt)
            except EOFError:
                break
            except KeyboardInterrupt:
                self._begun.clear()
                click.echo("", err=True)
                continue
            if line.strip() in (r"\quit", r"\q", *([] if self._begun else ("quit", "exit"))):
                break
            try:
                self.take(line)
            except (DiscreetError, click.UsageError) as wrong:
                click.echo(f"Error: {wrong}", err=True)
        if self._begun:
            click.echo("Error: the last question has no ; at its end. It was not asked.", err=True)

    def take(self, line: str) -> None:
        """One line: a command, or a part of a question, which ends with a semicolon."""
        text = r"\help" if line.strip() in ("help", "?") and not self._begun else line.strip()
        if not self._begun and text.startswith("\\") and not text.startswith("\\explain"):
            name, _, rest = text[1:].partition(" ")
            if name not in self._commands:
                known = ", ".join(f"\\{one}" for one in self._commands)
                raise click.UsageError(f"There is no command \\{name}. Commands are: {known}.")
            self._commands[name](rest.strip())
            return
        self._begun.append(line)
        if text.endswith(";"):
            question = "\n".join(self._begun).strip().removesuffix(";").strip()
            self._begun.clear()
            if question.startswith("\\explain"):
                self._explain(question.removeprefix("\\explain").strip())
            elif question:
                self._ask(question)
        elif not any(part.strip() for part in self._begun):
            self._begun.clear()

    def _price(self) -> Fraction:
        if self.epsilon is None:
            raise click.UsageError("Say what a question is worth first: \\epsilon 0.1")
        return self.epsilon

    def _ask(self, question: str) -> None:
        import json  # noqa: PLC0415 - for one shape

        from discreet.cli.query import facts  # noqa: PLC0415 - heavy room

        told = self.curator.sql(question, epsilon=self._price(), analyst=self.analyst)
        match options.shape():
            case "json":
                click.echo(json.dumps(facts(told)))
            case "csv":
                click.echo(told.to_csv(), nl=False)
            case _:
                plain(f"{told!r}\n")

    def _explain(self, question: str) -> None:
        told = self.curator.explain(question, epsilon=self._price(), analyst=self.analyst)
        plain(f"{told!r}\n")

    def _tables(self, _: str) -> None:
        for name, table in self.curator.schema.tables.items():
            plain(f"{name}: {', '.join(f'{c} {of.kind.value}' for c, of in table.columns.items())}")

    def _set_epsilon(self, text: str) -> None:
        number = read_text(text)
        if number is None or number <= 0:
            raise click.UsageError(f"{text or 'Nothing'} is no epsilon. Write: \\epsilon 0.1")
        self.epsilon = number


def complete(text: str, names: Iterable[str]) -> list[str]:
    """The names that begin like a text, in any case, each once.

    Example:
        >>> complete("co", ["COUNT", "cost", "age"])
        ['COUNT', 'cost']
    """
    found = (name for name in names if name.lower().startswith(text.lower()))
    return sorted(dict.fromkeys(found))


def _prepare(names: list[str]) -> bool:
    """Let Tab complete names and the arrow keys bring back lines; False where Python cannot."""
    try:
        import readline  # noqa: PLC0415 - not on every system
    except ImportError:
        return False

    def completer(text: str, state: int) -> str | None:
        found = complete(text, _COMMANDS if text.startswith("\\") else names)
        return found[state] if state < len(found) else None

    readline.set_completer(completer)
    readline.set_completer_delims(" \t\n,();=<>+-*/'\"")
    editline = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if editline else "tab: complete")
    if (file := _history_file()).is_file():
        readline.read_history_file(file)
    readline.set_history_length(_LINES)
    return True


def _keep_history() -> None:
    import readline  # noqa: PLC0415 - it was there before

    file = _history_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    readline.write_history_file(file)


def _history_file() -> Path:
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "discreet" / "history"
