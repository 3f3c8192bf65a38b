"""Progress of long commands on standard error, and times of assignors in Java; off a terminal, only of sweeps."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from assignor_sim.console.messages import VERBOSITY

if TYPE_CHECKING:
    from pipeline.sweep.run import Progress


def print_java_times() -> None:
    """Print the times that were measured in Java, if any assignor in Java ran and the command is verbose."""
    if not VERBOSITY.verbose:
        return
    from assignors.jvm.assignor import call_times

    measured = call_times()
    for times in measured:
        print(f"{times.reference}: {times}", file=sys.stderr)
    if measured:
        from assignors.jvm.process import running_processes

        for process in running_processes():
            heap_mib = process.peak_heap_bytes() / 2**20
            line = f"Java {process.java}: started in {process.start_s:.2g} s, peak heap {heap_mib:,.0f} MiB"
            print(line, file=sys.stderr)


_INTERVAL_S = 30.0


@contextmanager
def show_progress() -> Iterator[Callable[[str], None]]:
    """Show the current step of a command on the terminal; yield a function that takes the description of each step."""
    if VERBOSITY.verbose:
        yield lambda step: print(step, file=sys.stderr)
        return
    if VERBOSITY.quiet or not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    with console.status("starting", spinner="dots") as status:
        yield lambda step: status.update(escape(step))


@contextmanager
def show_run_progress() -> Iterator[Callable[[Progress], None]]:
    """Show the number of completed, failed and remaining runs of a sweep, and the remaining time.

    Shows a bar on a terminal, and prints a line every 30 seconds elsewhere. Yields a function that takes the progress.
    """
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    started = time.monotonic()
    if not sys.stderr.isatty():
        last_printed = started

        def print_line(progress: Progress) -> None:
            nonlocal last_printed
            if time.monotonic() - last_printed >= _INTERVAL_S:
                last_printed = time.monotonic()
                print(_describe(progress, last_printed - started), file=sys.stderr)

        yield print_line
        return
    with Bar(BarColumn(), TextColumn("{task.description}"), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting Spark")
        yield lambda progress: bar.update(
            task,
            total=progress.total,
            completed=progress.done,
            description=_describe(progress, time.monotonic() - started),
        )


def _describe(progress: Progress, elapsed_s: float) -> str:
    remaining = progress.total - progress.done
    text = f"{progress.done:,} of {progress.total:,} runs done, {progress.failed:,} failed, {remaining:,} left"
    simulated = progress.done - progress.finished_before
    if not simulated or not remaining:
        return text
    minutes, seconds = divmod(round(remaining * elapsed_s / simulated), 60)
    return f"{text}, about {f'{minutes} min {seconds} s' if minutes else f'{seconds} s'}"
