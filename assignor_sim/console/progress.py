"""What a person sees while a long command runs; nothing where nobody looks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.sweep.run import Progress

_SAY_EVERY_S = 30.0


@contextmanager
def show_progress() -> Iterator[Callable[[str], None]]:
    """Show on the terminal what is being done; the yielded function is told each next step."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    with console.status("starting", spinner="dots") as status:
        yield lambda step: status.update(escape(step))


@contextmanager
def show_run_progress() -> Iterator[Callable[[Progress], None]]:
    """Show how many runs of a sweep are done, have failed and are left, and how long these will take.

    On a terminal as a bar, elsewhere as a line from time to time.
    """
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    started = time.monotonic()
    if not sys.stderr.isatty():
        said = started

        def say(show_progress: Progress) -> None:
            nonlocal said
            if time.monotonic() - said >= _SAY_EVERY_S:
                said = time.monotonic()
                print(_told(show_progress, said - started), file=sys.stderr)

        yield say
        return
    with Bar(BarColumn(), TextColumn("{task.description}"), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Spark starts")
        yield lambda show_progress: bar.update(
            task,
            total=show_progress.total,
            completed=show_progress.done,
            description=_told(show_progress, time.monotonic() - started),
        )


def _told(show_progress: Progress, elapsed_s: float) -> str:
    left = show_progress.total - show_progress.done
    text = (
        f"{show_progress.done:,} of {show_progress.total:,} runs done, {show_progress.failed:,} failed, {left:,} left"
    )
    made = show_progress.done - show_progress.found
    if not made or not left:
        return text
    minutes, seconds = divmod(round(left * elapsed_s / made), 60)
    return f"{text}, about {f'{minutes} min {seconds} s' if minutes else f'{seconds} s'}"
