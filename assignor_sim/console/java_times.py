"""How long assignors in Java took, on standard error with `-v`."""

from __future__ import annotations

import sys

from assignor_sim.console.verbosity import VERBOSITY


def print_java_times() -> None:
    """Print the times that were measured in Java, if any assignor in Java ran and the command is verbose."""
    if not VERBOSITY.verbose or "assignors.jvm.process" not in {
        name.removeprefix("assignor_sim.") for name in sys.modules
    }:
        return
    from assignors.jvm.call_times import call_times
    from assignors.jvm.process import running_processes

    for times in call_times():
        print(f"{times.reference}: {times}", file=sys.stderr)
    for process in running_processes():
        heap = process.peak_heap_bytes() / 2**20
        print(f"Java {process.java}: started in {process.start_s:.2g} s, heap {heap:,.0f} MiB at most", file=sys.stderr)
