"""The lines of a scenario with the events of a replayed history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from scenarios.kafka.observation.observation import MembershipChange
from scenarios.kafka.observation.yaml_text import YamlValue, flow_text
from scenarios.language.units import format_duration

_TIME_AFTER_LAST_REBALANCE_MS: Final = 1_800_000
"""Simulated time after the last rebalance of a replayed history."""


def event_lines(changes: Sequence[MembershipChange], names: Mapping[str, str]) -> Iterator[str]:
    """Yield the section `events`.

    `names`: client name by process id.
    """
    yield "events:"
    for change in changes:
        event: dict[str, YamlValue] = {"clients": [names[process] for process in change.process_ids]}
        if change.leaves_group:
            event["leaves_group"] = True
        if change.down_ms is not None:
            event["down"] = format_duration(change.down_ms)
        yield f"  - {flow_text({'at': format_duration(change.at_ms), change.kind: event})}"


def duration_line(last_ms: int) -> str:
    """Return the duration of a scenario whose history has its last rebalance at a time."""
    return f"duration: {format_duration(last_ms + _TIME_AFTER_LAST_REBALANCE_MS)}"
