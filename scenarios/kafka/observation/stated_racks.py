"""Racks of clients that the user states, because they cannot be observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from scenarios.kafka.observation.observation import ObservedProcess

StatedRacks = Sequence[tuple[str, str | None]]
"""Patterns (`*` and `?`) of client ids and process ids, with a rack or None for no rack; the first match applies."""


def matching_racks(process: ObservedProcess, racks: StatedRacks) -> list[str | None]:
    """Return the racks of all patterns that match a process, in the order of the patterns."""
    return [rack for pattern, rack in racks if _matches(process, pattern)]


def with_stated_racks(
    processes: Sequence[ObservedProcess], racks: StatedRacks
) -> tuple[tuple[ObservedProcess, ...], list[str]]:
    """Set the racks of processes that report none; Kafka does not know these racks.

    Returns:
        The processes, and sentences on racks that were not reported or are ignored.
    """
    located: list[ObservedProcess] = []
    unreported: list[str] = []
    contradicted: list[str] = []
    for process in processes:
        stated = next(iter(matching_racks(process, racks)), None)
        if stated is None or stated == process.rack:
            located.append(process)
        elif process.rack is not None:
            located.append(process)
            contradicted.append(f"{process.client_id} ({process.rack})")
        else:
            located.append(replace(process, rack=stated, announces_rack=False))
            unreported.append(process.client_id)
    sentences = []
    if unreported:
        sentences.append(
            "Clients without client.rack are in the racks given with --rack, which Kafka does not know (client_rack: "
            f"false): {', '.join(unreported)}."
        )
    if contradicted:
        sentences.append(f"--rack is ignored for clients that report client.rack: {', '.join(contradicted)}.")
    return tuple(located), sentences


def _matches(process: ObservedProcess, pattern: str) -> bool:
    return fnmatchcase(process.client_id, pattern) or fnmatchcase(process.process_id, pattern)
