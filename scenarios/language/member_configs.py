"""Configs that members of classic groups have in common: consumers, and those of Kafka Streams.

Source: `org.apache.kafka.clients.consumer.ConsumerConfig`.
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from scenarios.language.fields import Duration, PositiveDuration

SESSION_TIMEOUT_MS: Final = 45_000
HEARTBEAT_INTERVAL_MS: Final = 3_000
MAX_POLL_INTERVAL_MS: Final = 300_000
METADATA_MAX_AGE_MS: Final = 300_000

SessionTimeout = Annotated[
    Duration,
    Field(
        alias="session.timeout.ms",
        description="Time until the coordinator removes a crashed member of a classic group.",
    ),
]
HeartbeatInterval = Annotated[
    PositiveDuration,
    Field(
        alias="heartbeat.interval.ms",
        description="Heartbeat interval of members of a classic group; less than the session timeout.",
    ),
]
MetadataMaxAge = Annotated[
    PositiveDuration,
    Field(
        alias="metadata.max.age.ms",
        description="Interval at which the leader of a classic group reads how many partitions topics have.",
    ),
]
