"""Kafka releases, and the behavior of clients and brokers that depends on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from simulator.world.group_configs import EndedThreads, OffsetStorage

OLDEST_RELEASE: Final = (3, 8)
NEWEST_RELEASE: Final = (4, 4)
"""The oldest and the newest supported release, major and minor; the newest is the default of brokers and clients."""

FIRST_CONSUMER_RELEASE: Final = (4, 0, 0)
"""The first release of clients and brokers with the consumer protocol (KIP-848), not as a preview."""

FIRST_STREAMS_GROUP_RELEASE: Final = (4, 1, 0)
"""The first release of clients with `group.protocol: streams` (KIP-1071)."""

NEWEST: Final = ".".join(map(str, NEWEST_RELEASE))

_NEWEST_PATCH: Final = 999
"""The patch of a release that is given without one: the last."""


class UnknownReleaseError(ValueError):
    """A Kafka release that is not supported."""


@dataclass(frozen=True, slots=True)
class KafkaReleases:
    """The Kafka releases of a run at its start; None for the newest."""

    brokers: str | None
    clients: str | None

    def upgraded_to(self, new: KafkaReleases) -> KafkaReleases:
        """Return the releases after an upgrade, in which None is for who is not upgraded."""
        return KafkaReleases(new.brokers or self.brokers, new.clients or self.clients)


def parse_release(text: str) -> tuple[int, int, int]:
    """Return major, minor and patch (the last one if not stated); raise UnknownReleaseError if it is not supported."""
    parts = text.split(".")
    if len(parts) not in (2, 3) or not all(part.isascii() and part.isdigit() and len(part) <= 3 for part in parts):
        raise UnknownReleaseError(f"'{text}' is not a Kafka release such as 4.3 or 3.9.1")
    major, minor, patch = (*map(int, parts), _NEWEST_PATCH)[:3]
    if not OLDEST_RELEASE <= (major, minor) <= NEWEST_RELEASE:
        oldest, last = (".".join(map(str, release)) for release in (OLDEST_RELEASE, NEWEST_RELEASE))
        raise UnknownReleaseError(f"Kafka {text} is not supported (supported: {oldest} to {last})")
    return major, minor, patch


def can_remain_in_streams_group(clients: tuple[int, int, int]) -> bool:
    """Return whether dynamic members of a release can close without leaving a streams group (from 4.4 on)."""
    return clients >= (4, 4, 0)


def reports_task_offsets(clients: tuple[int, int, int]) -> bool:
    """Return whether clients of a release report task offsets to the coordinator of a streams group (from 4.4 on)."""
    return clients >= (4, 4, 0)


def reads_task_offsets(brokers: tuple[int, int, int]) -> bool:
    """Return whether brokers of a release pass reported task offsets to the assignor of a streams group (4.4)."""
    return brokers >= (4, 4, 0)


def has_static_streams_members(clients: tuple[int, int, int], brokers: tuple[int, int, int]) -> bool:
    """Return whether clients and brokers accept `group.instance.id` in streams groups (KAFKA-20169, 4.4)."""
    return min(clients, brokers) >= (4, 4, 0)


def has_rack_aware_partitioner(clients: tuple[int, int, int]) -> bool:
    """Return whether producers of a release have `partitioner.rack.aware` (KIP-1123, 4.4)."""
    return clients >= (4, 4, 0)


def offset_storage(release: tuple[int, int, int]) -> OffsetStorage:
    """Return where clients of a release keep changelog offsets.

    Source: KIP-1035 (4.3), KAFKA-20685 (4.2.2).
    """
    if release >= (4, 3, 0):
        return OffsetStorage.STORES
    if release >= (4, 2, 2):
        return OffsetStorage.CHECKPOINT_FILE_WITHOUT_LEFTOVER
    return OffsetStorage.CHECKPOINT_FILE


def has_transactional_stores(release: tuple[int, int, int]) -> bool:
    """Return whether clients of a release have `enable.transactional.statestores` (KIP-892, 4.4)."""
    return release >= (4, 4, 0)


def ended_threads(release: tuple[int, int, int]) -> EndedThreads:
    """Return how stream threads of a release leave a classic group when they end while their client goes on.

    Source: KIP-1092 (4.1, `AbstractCoordinator.maybeLeaveGroup`), KIP-1284 (4.2, `StreamThread.shutdown`).
    """
    if release >= (4, 2, 0):
        return EndedThreads.CLOSE_OPERATION
    return EndedThreads.UNSUBSCRIBE_IF_CLOSE_LEAVES if release >= (4, 1, 0) else EndedThreads.UNSUBSCRIBE


def extends_every_initial_delay(release: tuple[int, int, int]) -> bool:
    """Return whether brokers of a release wait longer for a new member whenever the group was empty.

    The coordinator that is the default since 4.0 does; that of 3.x does so only before the first generation.
    """
    return release >= (4, 0, 0)


def has_leave_group_config(release: tuple[int, int, int]) -> bool:
    """Return whether clients of a release have `internal.leave.group.on.close`, which KIP-1284 replaced in 4.2."""
    return release < (4, 2, 0)
