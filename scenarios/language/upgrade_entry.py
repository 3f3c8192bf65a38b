"""The schema of `upgrade` events."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import ConfigDict, Field

from scenarios.language.closing_entries import ClosingEvent
from scenarios.language.fields import Duration, KafkaRelease, NameList

CLIENT_KEYS: Final = ("to", "order", "leaves_group", "close", "grace")
"""The keys of an upgrade that apply only to clients."""


class UpgradeEvent(ClosingEvent):
    """A rolling restart of all brokers, or of clients, with another Kafka release.

    During the roll, releases are mixed. The coordinator of the group has the release of its broker: the leader of the
    group's partition of __consumer_offsets.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["brokers"], "not": {"anyOf": [{"required": [key]} for key in ("clients", *CLIENT_KEYS)]}},
                {"required": ["clients", "to"], "not": {"required": ["brokers"]}},
            ]
        }
    )

    brokers: KafkaRelease | None = Field(
        default=None,
        description="New Kafka release of all brokers, which restart one after another, by id. cluster.kafka states "
        "the release before.",
    )
    clients: NameList | None = Field(
        default=None, description="Names of clients to upgrade, or of entries that define several."
    )
    to: KafkaRelease | None = Field(
        default=None, description="New Kafka release of the clients. application.kafka states the release before."
    )
    order: Literal["listed", "reversed", "shuffled", "by_rack"] = Field(
        default="listed", description="The order of the clients, as in rolling_bounce."
    )
    down: Duration | None = Field(
        default=None,
        description="Time from the end of a process to its restart; default: 60s for brokers, 30s for clients.",
    )
    pause: Duration | None = Field(
        default=None,
        description="Pause between the return of a process and the next restart; default: 2m for brokers, 60s for "
        "clients.",
    )
