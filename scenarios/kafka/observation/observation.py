"""What was seen of a running cluster and of a Kafka Streams application on it.

Whoever looks (`live` by Kafka's API, `dumps` in what its tools printed) fills an `Observation`; `writing` makes a
scenario of it. Tasks are text as Kafka writes them (`0_3`, `name__0_3`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ObservedBroker:
    """A broker, and its `broker.rack`."""

    id: int
    rack: str | None


@dataclass(frozen=True, slots=True)
class ObservedTopic:
    """A topic; every tuple has one entry a partition, and is None where that was not seen.

    Attributes:
        replicas: broker ids, the preferred leader first.
        leaders: the broker that leads, -1 if none.
        size_bytes: what one replica holds on disk.
        start_offsets: the first offset whose record takes room on disk; that may be one which readers no longer get.
        end_offsets: the offset of the next record.
        records_per_s: how fast the end offset grows.
    """

    name: str
    replicas: tuple[tuple[int, ...], ...]
    leaders: tuple[int, ...]
    size_bytes: tuple[int, ...] | None = None
    start_offsets: tuple[int, ...] | None = None
    end_offsets: tuple[int, ...] | None = None
    records_per_s: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class ObservedThread:
    """A stream thread, which is a member of the group, and its tasks, sorted."""

    member_id: str
    active: tuple[str, ...]
    standby: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ObservedProcess:
    """A Kafka Streams process.

    Attributes:
        process_id: its UUID.
        client_id: what its threads' client ids have in common.
        rack: `client.rack`; None if it has none.
        tags: `client.tag.*`.
        threads: its threads, by member id.
        copies: the offset sum of every task that it has a copy of (a running, standby or dormant one), as it told when
            it joined last; -2 (`Task.LATEST_OFFSET`) for one that ran there. Standbys of a group at rest, which have
            read on since, stand at the end. None if that was not seen.
        is_static: whether it has a `group.instance.id`.
    """

    process_id: str
    client_id: str
    rack: str | None
    tags: Mapping[str, str]
    threads: tuple[ObservedThread, ...]
    copies: Mapping[str, int] | None = None
    is_static: bool = False


@dataclass(frozen=True, slots=True)
class ObservedSubtopology:
    """A subtopology; topics by their full names.

    Attributes:
        id: the first number of its task ids.
        sources: the topics it reads, repartition topics included.
        changelogs: the changelog of each of its stores that has one, by the store's name.
        unlogged_stores: its stores without a changelog.
        writes: the topics it writes, as far as they are fixed and not changelogs.
    """

    id: int
    sources: tuple[str, ...]
    changelogs: Mapping[str, str] = field(default_factory=dict)
    unlogged_stores: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """A cluster and an application at one moment.

    Attributes:
        source: where it was seen, as the scenario's head names it (no passwords, no paths of folders above).
        brokers: by id.
        topics: those that the application reads and writes, by name; more if they were asked for.
        application_id: `application.id`.
        protocol: `classic` or `streams`.
        subtopologies: by id.
        processes: by process id; empty if the application does not run.
        configs: the application's configs that were seen or given, with Kafka's keys.
        broker_configs: the same of the brokers.
        listed_members: the member ids of a streams group in the order in which its coordinator lists them, on which its
            answer to ties hangs; empty for other groups.
        next_rebalance_ms: in how long the leader will probe whether warm-ups have caught up; None if it will not.
        kafka_version: the release of the assignor, such as `4.3`, if it was seen or given.
        assumptions: sentences on what was not seen and what was taken for it; shown in the scenario's head.
    """

    source: str
    brokers: tuple[ObservedBroker, ...]
    topics: tuple[ObservedTopic, ...]
    application_id: str
    protocol: str
    subtopologies: tuple[ObservedSubtopology, ...]
    processes: tuple[ObservedProcess, ...]
    configs: Mapping[str, str] = field(default_factory=dict)
    broker_configs: Mapping[str, str] = field(default_factory=dict)
    listed_members: tuple[str, ...] = ()
    next_rebalance_ms: int | None = None
    kafka_version: str | None = None
    assumptions: tuple[str, ...] = ()

    def process_of_member(self) -> dict[str, str]:
        """The process id of every member of a streams group, in the order in which its coordinator lists them."""
        process_of = {thread.member_id: each.process_id for each in self.processes for thread in each.threads}
        return {member_id: process_of[member_id] for member_id in self.listed_members}
