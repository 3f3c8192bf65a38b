"""The schema of `consumers`: consumer groups and their members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from assignors.model.ids import PartitionTask, TopicPartition
from scenarios.language.application_entries import ApplicationSection, ClientEntry, TasksEntry
from scenarios.language.client_configs import ConsumerConfigs, MemberProtocol, RemoteAssignor, StrategyList
from scenarios.language.fields import (
    Duration,
    KafkaRelease,
    ListEntry,
    Name,
    PartitionLists,
    PositiveInt,
    ScenarioSection,
    TopicName,
    expands_to,
)
from scenarios.language.outcome_entries import ExpectEntry
from scenarios.language.units import LONG_MAX

MAX_GROUPS: Final = 20
_OF_CONSUMERS: Final = frozenset(["consumers", "instance_id", "client_id", "configs", "topics", "partitions"])
"""Keys of a process that a client of an application does not have."""

POLL_MS: Final = 50
"""The default time between two polls, an estimate for consumers that process a batch quickly."""


class ConsumerAssignorSettings(ScenarioSection):
    """An assignor of consumer groups."""

    assignor: Name = Field(
        description="Name of an assignor: range, roundrobin, sticky or cooperative-sticky of the client, "
        "uniform or broker-range of the group coordinator."
    )
    label: Name | None = Field(default=None, description="Label in tables and figures.")
    expect: ExpectEntry | None = Field(
        default=None,
        description="What runs of this assignor must meet; replaces conditions of the scenario for the same metrics.",
    )


ConsumerAssignorEntry = Annotated[ConsumerAssignorSettings, expands_to("assignor")]


class ConsumerClientConfigs(ScenarioSection):
    """The configs in which members of a group may differ."""

    strategies: StrategyList | None = Field(
        default=None,
        alias="partition.assignment.strategy",
        description="The assignors that its consumers list; default: those of the group. The coordinator selects one "
        "that all members list.",
    )
    group_protocol: MemberProtocol | None = Field(
        default=None,
        alias="group.protocol",
        description="The group protocol of its consumers; default: that of the group. The first member with consumer "
        "converts a classic group (KIP-848).",
    )
    remote_assignor: RemoteAssignor = Field(
        default=None,
        alias="group.remote.assignor",
        description="The assignor of the coordinator that its consumers name under group.protocol: consumer; default: "
        "none, so that the coordinator takes uniform.",
    )


class ConsumerClientEntry(ScenarioSection):
    """A process with a consumer, or several identical ones named `<name>-0`, `<name>-1` and so on."""

    name: Name = Field(description="Name of the process, or common prefix of several.")
    count: PositiveInt | None = Field(default=None, description="Number of processes; default: one.")
    process_id: Name | None = Field(
        default=None, description="A UUID that is part of the member id, which orders members; by default drawn."
    )
    rack: Name | None = Field(default=None, description="Rack of the process, and its client.rack.")
    racks: Annotated[list[Name], Field(min_length=1)] | None = Field(
        default=None, description="Racks of several processes, assigned round-robin."
    )
    client_rack: bool = Field(
        default=True, description="Whether client.rack is set; if not, Kafka does not know the rack."
    )
    consumers: Annotated[int, Field(ge=1, le=1_000)] = Field(
        default=1,
        description="Consumers of the process, which are members of the group with a thread of their own.",
    )
    records_per_s: Annotated[int, Field(ge=1, le=LONG_MAX)] | None = Field(
        default=None, description="Records per second that each consumer can process; default: no limit."
    )
    host: Name | None = Field(default=None, description="Host of the process, defined in hosts.")
    hosts: Annotated[list[Name], Field(min_length=1)] | None = Field(
        default=None, description="Hosts of several processes, assigned round-robin."
    )
    static_membership: bool = Field(default=False, description="Whether members have a group.instance.id.")
    instance_id: Name | None = Field(
        default=None,
        description="The group.instance.id of its only consumer, which implies static membership; by default that of "
        "static members is the name of the process and a number.",
    )
    client_id: Name | None = Field(
        default=None, description="The client.id of its consumers, with which member ids begin; default: Kafka's."
    )
    configs: ConsumerClientConfigs = Field(
        default_factory=ConsumerClientConfigs,
        description="Configs of its consumers that differ from those of the group.",
    )
    topics: Annotated[list[TopicName], Field(min_length=1)] | None = Field(
        default=None, description="Topics to which its consumers subscribe; default: those of the group."
    )
    partitions: PartitionLists | None = Field(
        default=None,
        description="Partitions that it owns at the start, for starts: running: one list per consumer, or one list "
        "that is distributed over the consumers.",
    )
    starts: bool = Field(default=True, description="Whether it is up at the start; if not, an event adds it.")

    def to_client(self, topics: Mapping[str, int]) -> ClientEntry:
        """Return the entry as a client of an application, without partitions of topics that have no number."""
        values = {name: value for name, value in self if name not in _OF_CONSUMERS}
        values["static_membership"] = self.static_membership or self.instance_id is not None
        stated = (self.model_fields_set - _OF_CONSUMERS) | {"threads"}
        if self.partitions is not None:
            stated.add("tasks")
            active = _tasks_of(self.partitions, topics)
            values["tasks"] = TasksEntry.model_construct(active=active, standby=[], lags={}, lags_when_opened={})
        return ClientEntry.model_construct(_fields_set=stated, threads=self.consumers, **values)


def _tasks_of(partitions: Sequence[Any], topics: Mapping[str, int]) -> list[Any]:
    """Return the tasks of partitions, or of a list of partitions for each consumer."""
    return [
        PartitionTask(topics[entry.topic], entry.partition, entry.topic)
        if isinstance(entry, TopicPartition)
        else _tasks_of(entry, topics)
        for entry in partitions
        if not isinstance(entry, TopicPartition) or entry.topic in topics
    ]


class ConsumerGroupEntry(ScenarioSection):
    """A consumer group."""

    group: TopicName = Field(description="The group.id.")
    topics: Annotated[list[TopicName], Field(min_length=1)] | None = Field(
        default=None,
        description="Topics of the cluster to which members subscribe; may be missing if every client has topics of "
        "its own.",
    )
    starts: Literal["warm", "running"] = Field(
        default="warm",
        description="State at the start: warm, all members join at once; running, an assignment exists, given by the "
        "partitions of the clients.",
    )
    kafka: KafkaRelease | None = Field(
        default=None, description="Kafka release of the clients, such as 4.3 or 3.9.1; default: the newest, 4.4."
    )
    configs: ConsumerConfigs = Field(
        default_factory=ConsumerConfigs, description="Consumer configs, with Kafka's own keys."
    )
    clients: Annotated[list[ListEntry[ConsumerClientEntry]], Field(min_length=1)] = Field(
        description="The processes of the group, including those that join later."
    )
    assignors: Annotated[list[ListEntry[ConsumerAssignorEntry]], Field(min_length=1)] | None = Field(
        default=None, description="The assignors to compare; default: the one that configs choose."
    )
    poll_interval: Duration = Field(
        default=POLL_MS,
        description="Maximum time between two calls of poll(), in which a member processes a batch; a "
        "rebalance that it learns of waits for the next poll.",
    )
    starts_in: Duration = Field(
        default=0,
        description="From the event that starts a process until its members join; 0 if events say when it is up.",
    )


class ConsumerGroupSection(ApplicationSection):
    """A consumer group as an application whose tasks are partitions; built from its entry, never read from YAML.

    Attributes:
        entry: the entry.
    """

    entry: ConsumerGroupEntry
