"""A candidate as changes of Kafka configs.

Source: `org.apache.kafka.streams.StreamsConfig`, KIP-924 (`task.assignor.class`), KIP-1071 (`group.protocol`,
`streams.num.standby.replicas`), and the upgrade guide of Kafka Streams on `internal.task.assignor.class`.
"""

from __future__ import annotations

from typing import Any, Final

from assignors import registry
from pipeline.recommend.space import (
    ASSIGNOR,
    NON_OVERLAP_COST,
    STANDBYS,
    STRATEGY,
    TRAFFIC_COST,
    Candidate,
    SearchSpace,
)
from reports.analysis.recommendation import SettingChange

_INTERNAL_CLASS: Final = "internal.task.assignor.class"
_PUBLIC_CLASS: Final = "task.assignor.class"
_PROTOCOL: Final = "group.protocol"
_GROUP_STANDBYS: Final = "streams.num.standby.replicas"

_INTERNAL_PACKAGE: Final = "org.apache.kafka.streams.processor.internals.assignment"
_SELECTED_BY: Final = {
    "legacy_sticky": (_INTERNAL_CLASS, f"{_INTERNAL_PACKAGE}.LegacyStickyTaskAssignor"),
    "fallback_prior": (_INTERNAL_CLASS, f"{_INTERNAL_PACKAGE}.FallbackPriorTaskAssignor"),
    "sticky_task_assignor": (
        _PUBLIC_CLASS,
        "org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor",
    ),
}
"""The config that selects each assignor; without one, Kafka uses the high availability assignor."""

_ASSIGNOR_KEYS: Final = (_INTERNAL_CLASS, _PUBLIC_CLASS, _PROTOCOL, _GROUP_STANDBYS)
"""Configs that depend on the assignor."""

_NOTES: Final = {
    _INTERNAL_CLASS: ("an internal config that Kafka may remove; in Kafka 3.x the class is StickyTaskAssignor",),
    _PUBLIC_CLASS: ("Kafka 3.8 or newer",),
    _PROTOCOL: ("Kafka 4.2 or newer, on brokers and clients; see KIP-1071 for the migration",),
    STRATEGY: ("has an effect only if every client sets client.rack to its rack",),
}


def config_changes(space: SearchSpace, candidate: Candidate, application: str) -> list[SettingChange]:
    """Return the configs that differ from the current ones.

    `application`: the application id, which is the name of its group. Returns one change per config; new and changed
    ones first, then removed ones.
    """
    today, recommended = (_kafka_configs(space.values(choice)) for choice in (space.today, candidate))
    changed = {key for index in space.changed(candidate) for key in space.dimensions[index].keys if key in recommended}
    changes = []
    for key in (*recommended, *(key for key in today if key not in recommended)):
        before, after = today.get(key), recommended.get(key)
        is_new_for_clients = key == STANDBYS and before is None and after != "0"
        if before == after or not (key in changed or key in _ASSIGNOR_KEYS or is_new_for_clients):
            continue
        notes = _NOTES.get(key, ()) if after is not None else ()
        if key == _GROUP_STANDBYS:
            notes = (_group_command(application, after),)
        changes.append(SettingChange(key, before, after, notes, is_property=key != _GROUP_STANDBYS))
    return changes


def _kafka_configs(values: dict[str, Any]) -> dict[str, str]:
    """Return the configs that Kafka reads; those left to the default of the assignor are not set."""
    info = registry.find(values[ASSIGNOR])
    if info.in_streams_groups:
        standbys = {_GROUP_STANDBYS: str(values[STANDBYS])} if values[STANDBYS] else {}
        return {_PROTOCOL: "streams", **standbys}
    name = info.name_without_release
    chosen = dict([_SELECTED_BY[name]]) if name in _SELECTED_BY else {}
    is_rack_aware = values[STRATEGY] != "none"
    return chosen | {
        key: str(value)
        for key, value in values.items()
        if key != ASSIGNOR and value is not None and (is_rack_aware or key not in (TRAFFIC_COST, NON_OVERLAP_COST))
    }


def _group_command(application: str, standbys: str | None) -> str:
    change = f"--delete-config {_GROUP_STANDBYS}" if standbys is None else f"--add-config {_GROUP_STANDBYS}={standbys}"
    return f"group config: kafka-configs.sh --alter --entity-type groups --entity-name {application} {change}"
