"""The command line: one file for a command or a few, imported when one is called."""

import codecs
import gc
import importlib
import sys
import traceback
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from discreet import errors
from discreet.cli.options import HELP

_COMMANDS = (
    *("demo", "init", "add", "append", "retire", "describe", "profile", "query", "explain"),
    *("order", "budget", "ledger", "serve", "token", "witness", "synth", "release", "online"),
    *("watch", "person", "shell", "attack", "audit", "dossier"),
)
_MODULES = {
    **dict.fromkeys(("init", "append", "retire"), "add"),
    **dict.fromkeys(("profile", "synth", "watch", "online", "release"), "order"),
    **dict.fromkeys(("token", "witness"), "serve"),
    "explain": "query",
    "dossier": "ledger",
    "person": "budget",
}
"""The modules of commands that share one; others have one of their name."""

INTERRUPTED = 130
"""The status that shells give to what was interrupted."""


_STATUS: dict[type[errors.DiscreetError], int] = {
    errors.BudgetError: 3,
    **dict.fromkeys((errors.EngineError, errors.LedgerError, errors.InvariantBroken), 4),
}


class CommandError(click.ClickException):
    """An error message for the terminal, and the status to exit with."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.exit_code = status  # type: ignore[misc] # of this error, not of its class


_PLAIN = {"±": "+-", "─": "-", "█": "#", "░": ".", "…": ".."}


def _plainly(error: UnicodeError) -> tuple[str, int]:
    """A replacement for characters that the terminal cannot show."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_PLAIN.get(one, "?") for one in missing), error.end


class LazyGroup(click.Group):
    """Finds a command in its file; says what went wrong in a line, not in a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"discreet.cli.{_MODULES.get(cmd_name, cmd_name)}")
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101 - our own table
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; of a misspelt one the nearest are named. A curator may come first."""
        near = get_close_matches(args[0], _COMMANDS)
        if args[0] not in _COMMANDS and near:
            raise click.UsageError(f"No such command '{args[0]}'. Meant: {' or '.join(near)}?", ctx)
        name, command, rest = super().resolve_command(ctx, args)
        takes = command is not None and any("--curator" in one.opts for one in command.params)
        said = any(one.partition("=")[0] == "--curator" for one in rest)
        if takes and not said and rest and rest[0][:1] not in {"", "-"}:
            from discreet.curator.data.folder import is_curator  # noqa: PLC0415 - heavy room

            if rest[0].endswith(".discreet") or is_curator(Path(rest[0])):
                rest = ["--curator", *rest]
        return name, command, rest

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run; a terminal that cannot show a character gets another instead of an error."""
        codecs.register_error("plainly", _plainly)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="plainly")
        usual = gc.get_threshold()
        gc.set_threshold(20_000, *usual[1:])  # looking for garbage among modules takes a seventh
        try:
            return super().main(*args, **kwargs)
        finally:
            gc.set_threshold(*usual)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; an error of ours, or of the system, is a message."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            text = f"{error.format_message()}{_example(error)}"
            raise click.UsageError(text, error.ctx) from error
        except errors.DiscreetError as error:
            text = f"{error}{_place(error, ctx.meta.get('sql'))}"
            _let_go(error)
            raise CommandError(text, _STATUS.get(type(error), 2)) from error
        except (BrokenPipeError, click.ClickException, click.exceptions.Exit):
            raise
        except (KeyboardInterrupt, EOFError, click.Abort) as stopped:
            click.echo(
                "\nInterrupted. What was charged stays charged; asking again finishes it.", err=True
            )
            raise click.exceptions.Exit(INTERRUPTED) from stopped
        except OSError as error:
            text = f"{error.filename or 'A file'}: {error.strerror or type(error).__name__}"
            raise CommandError(text) from error
        except Exception as error:
            # Its text may quote data, and a traceback's status, 1, says that a claim was refuted.
            place = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
            _let_go(error)
            told = f"Something went wrong that discreet is not made for: {text}."
            raise CommandError(told, 4) from error


def _example(error: click.UsageError) -> str:
    """A call that works, from a command's help, where its arguments were not understood."""
    told = " ".join(((error.ctx and error.ctx.command.help) or "").split()).partition("Example:")
    misread = error.format_message().startswith(("Got unexpected", "No such", "Missing", "Invalid"))
    return "\n" + "".join(told[1:]) if misread and told[1] else ""


def _let_go(error: BaseException | None) -> None:
    """Drop what the frames of an error hold: readers and engines that outlive Python complain."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


def _place(error: errors.DiscreetError, text: str | None) -> str:
    """The part of a question that is refused, underlined."""
    if not isinstance(error, errors.QueryRefused) or text is None or error.start is None:
        return ""
    start = text.rfind("\n", 0, error.start) + 1
    line = text[start:].partition("\n")[0]
    if not line.strip():
        return ""
    width = max(1, min(error.end or 0, start + len(line)) - error.start)
    return f"\n\n  {line}\n  {' ' * (error.start - start)}{'^' * width}"


@click.command(cls=LazyGroup, context_settings=HELP)
@click.version_option(package_name="discreet", prog_name="discreet")
def main() -> None:
    """Differentially private answers about people.

    Exit status: 0 success; 1 a claim was refuted or the ledger is damaged; 2 wrong usage or input,
    or a refused question; 3 the budget does not suffice; 4 the engine or the ledger failed; 130
    interrupted.
    """
