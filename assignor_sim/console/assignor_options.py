"""Options of the commands that call custom assignors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console.exits import exit_with_error

if TYPE_CHECKING:
    from assignors.containment.limits import CallLimits

AssignorTimeout = Annotated[
    float | None,
    typer.Option(
        help="Time limit of each call of a custom assignor (default: 300; 0 for none).", min=0, metavar="SECONDS"
    ),
]
Isolate = Annotated[
    bool, typer.Option("--isolate", help="Run each custom assignor in a process of its own, with a memory limit.")
]
AssignorMemory = Annotated[
    float | None,
    typer.Option(help="With --isolate: memory that a custom assignor may allocate (default: 4).", metavar="GIB"),
]


def call_limits(timeout_s: float | None, isolate: bool, memory_gib: float | None) -> CallLimits:
    """Return the limits that options select; exit with code 2 if they contradict each other."""
    from assignors.containment.limits import DEFAULT_MEMORY_BYTES, DEFAULT_TIMEOUT_S, CallLimits

    if memory_gib is not None and not (isolate and 0 < memory_gib < math.inf):
        exit_with_error("--assignor-memory: requires --isolate and a number above 0")
    if timeout_s is not None and math.isnan(timeout_s):
        exit_with_error("--assignor-timeout: expected seconds, 0 for no limit")
    return CallLimits(
        DEFAULT_TIMEOUT_S if timeout_s is None else timeout_s or math.inf,
        isolate,
        DEFAULT_MEMORY_BYTES if memory_gib is None else max(1, round(memory_gib * 2**30)),
    )
