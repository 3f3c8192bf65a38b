"""Resolve the state of disks after clients stop."""

from __future__ import annotations

from typing import Final

from scenarios.language.event_entries import ChurnEvent, CrashEvent, RollingBounceEvent
from scenarios.language.paths import ScenarioPath
from scenarios.resolution.event_context import EventContext
from simulator.world.disturbances import Disk

_FORMER_KEY: Final = "keeps_state"


def resolve_disk(
    event: CrashEvent | RollingBounceEvent | ChurnEvent, default: Disk, path: ScenarioPath, context: EventContext
) -> Disk:
    """Return the state of the disks after an event.

    The former key `keeps_state` is accepted with a warning. It is a mistake if `disk` is set, too.
    """
    if event.keeps_state is None:
        return Disk(event.disk or default)
    if event.disk is not None:
        context.source_map.add_mistake((*path, _FORMER_KEY), "conflicts with disk, its new name; remove keeps_state")
    disk = default if event.keeps_state else Disk.LOST
    context.source_map.add_warning(
        (*path, _FORMER_KEY), f"renamed to disk; accepted until release 0.3.0. Write disk: {disk.value}"
    )
    return disk
