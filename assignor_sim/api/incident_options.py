"""What to investigate of a past night, and what its files lack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class IncidentOptions:
    """What to investigate, and what the files lack.

    Attributes:
        since_ms: Start of the window since 1970; None for the first record.
        until_ms: End of the window; None for the last record.
        configs: Configs of the application or the consumers, and of the brokers.
        racks: Racks of clients that report none, as pairs (pattern of client ids, rack).
        kafka: Kafka release of the clients, or of the brokers if they assign; None for the newest.
        assignors: Other assignors.
        changes: Other settings, as pairs of a path in the scenario and its value, each by itself.
        default_assignors: Assignors for a classic group of Kafka Streams if there are neither other assignors nor other
            settings; the one of the night is left out. A consumer group has defaults of its own; none if this is empty.
    """

    since_ms: int | None = None
    until_ms: int | None = None
    configs: Mapping[str, str] = field(default_factory=dict)
    racks: Sequence[tuple[str, str | None]] = ()
    kafka: str | None = None
    assignors: Sequence[str] = ()
    changes: Sequence[tuple[str, str]] = ()
    default_assignors: Sequence[str] = ()
