"""A bar for what takes a while; in a terminal alone, and on standard error."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def shown() -> Iterator[None]:
    """Show how far the jobs within have come, and leave nothing behind."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with _bar(console):
        yield


@contextmanager
def _bar(console: Console) -> Iterator[None]:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415 - seen in terminals alone

    from discreet.curator.progress import watched  # noqa: PLC0415 - heavy room

    percent = TextColumn("{task.percentage:>3.0f}%")
    columns = (TextColumn("{task.description}"), BarColumn(), percent, TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        tasks = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        with watched(by=tell):
            yield
