"""A candidate in Kafka's own keys: what would have to be written where.

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

_INTERNAL: Final = "internal.task.assignor.class"
_PUBLIC: Final = "task.assignor.class"
_PROTOCOL: Final = "group.protocol"
_OF_GROUP: Final = "streams.num.standby.replicas"

_INTERNALS: Final = "org.apache.kafka.streams.processor.internals.assignment"
_CHOSEN_BY: Final = {
    "legacy_sticky": (_INTERNAL, f"{_INTERNALS}.LegacyStickyTaskAssignor"),
    "fallback_prior": (_INTERNAL, f"{_INTERNALS}.FallbackPriorTaskAssignor"),
    "sticky_task_assignor": (_PUBLIC, "org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor"),
}
"""How Kafka is told to take an assignor; the high availability one is what it takes if it is told nothing."""

_OF_ASSIGNOR: Final = (_INTERNAL, _PUBLIC, _PROTOCOL, _OF_GROUP)
"""Keys that hang on the assignor."""

_NOTES: Final = {
    _INTERNAL: ("Kafka calls this key internal, and means to remove it; in Kafka 3.x the class is StickyTaskAssignor",),
    _PUBLIC: ("Kafka 3.8 or newer",),
    _PROTOCOL: ("Kafka 4.2 or newer, on brokers and clients; see KIP-1071 on how to migrate",),
    STRATEGY: ("has an effect only if client.rack of every client is the rack that it stands in",),
}


def config_changes(space: SearchSpace, candidate: Candidate, application: str) -> list[SettingChange]:
    """What differs from today's, key by key.

    Args:
        space: what the candidate is of.
        candidate: what is to be set.
        application: the application's id, which is its group's name.
    """
    today, wanted = (_written(space.values(each)) for each in (space.today, candidate))
    moved = {key for place in space.changed(candidate) for key in space.dimensions[place].keys if key in wanted}
    found = []
    for key in (*wanted, *(key for key in today if key not in wanted)):
        before, after = today.get(key), wanted.get(key)
        is_news_to_clients = key == STANDBYS and before is None and after != "0"
        if before == after or not (key in moved or key in _OF_ASSIGNOR or is_news_to_clients):
            continue
        notes = _NOTES.get(key, ()) if after is not None else ()
        if key == _OF_GROUP:
            notes = (_command(application, after),)
        found.append(SettingChange(key, before, after, notes, is_property=key != _OF_GROUP))
    return found


def _written(values: dict[str, Any]) -> dict[str, str]:
    """The keys that Kafka looks at with some values; those that are left to the assignor are not written."""
    assignor = values[ASSIGNOR]
    if registry.find(assignor).in_streams_groups:
        standbys = {_OF_GROUP: str(values[STANDBYS])} if values[STANDBYS] else {}
        return {_PROTOCOL: "streams", **standbys}
    chosen = dict([_CHOSEN_BY[assignor]]) if assignor in _CHOSEN_BY else {}
    is_rack_aware = values[STRATEGY] != "none"
    return chosen | {
        key: str(value)
        for key, value in values.items()
        if key != ASSIGNOR and value is not None and (is_rack_aware or key not in (TRAFFIC_COST, NON_OVERLAP_COST))
    }


def _command(application: str, standbys: str | None) -> str:
    change = f"--delete-config {_OF_GROUP}" if standbys is None else f"--add-config {_OF_GROUP}={standbys}"
    return f"a config of the group: kafka-configs.sh --alter --entity-type groups --entity-name {application} {change}"
