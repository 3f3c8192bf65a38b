"""How long assignors in Java took, on standard error with `-v`."""

from __future__ import annotations

import sys

from assignor_sim.console.verbosity import VERBOSITY


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
