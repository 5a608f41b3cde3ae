"""The command line: one file a command, imported when it is called."""

import importlib

import click

from discreet.errors import DiscreetError

_COMMANDS = ("audit", "demo")


class Rooms(click.Group):
    """Finds a command in its file; says what went wrong in a line, not in a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        command = getattr(importlib.import_module(f"discreet.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101 - our own table
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; an error of ours is a message and exit status 2."""
        try:
            return super().invoke(ctx)
        except DiscreetError as error:
            raise click.UsageError(str(error)) from error


@click.command(cls=Rooms, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="discreet", prog_name="discreet")
def main() -> None:
    """Answers about people that give none of them away."""
