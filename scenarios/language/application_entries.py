"""The schema of `application`, `clients` and `hosts`."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from scenarios.language.client_configs import MAX_TAGS, StreamsConfigs
from scenarios.language.cluster_entries import GroupOverrides
from scenarios.language.fields import (
    Duration,
    KafkaRelease,
    ListEntry,
    Name,
    NameList,
    PartitionCount,
    PositiveInt,
    Rate,
    RateLimit,
    RecordSize,
    ScenarioSection,
    TaskIdField,
    TaskLists,
    TopicName,
    TopicRates,
    TopicSizes,
)
from scenarios.language.paths import ScenarioPath
from scenarios.language.units import LONG_MAX
from simulator.world.world import MEASURED, WRITE_BUFFER_BYTES


class HostEntry(ScenarioSection):
    """A host (a machine or a node), or several identical ones named `<name>-0`, `<name>-1` and so on."""

    name: Name = Field(description="Name of the host, or common prefix of several.")
    count: PositiveInt | None = Field(default=None, description="Number of hosts; default: one.")
    restore: RateLimit = Field(
        description="Maximum restoration rate over all clients on the host, those of alongside included."
    )


UNNAMED: Final = "(workload)"
"""The name of clients from a manifest until the manifest has been read."""

_CLIENTS: Final = "clients"

LeavesGroup = Annotated[
    bool | None,
    Field(
        description="Whether clients leave the group when they close: CloseOptions LEAVE_GROUP or REMAIN_IN_GROUP "
        "(Kafka 4.2 and newer). By default they remain, unless internal.leave.group.on.close is set (4.1 and older). "
        "Dynamic members of a streams group leave; from Kafka 4.4 on, they remain with false."
    ),
]
CloseTime = Annotated[
    Duration,
    Field(
        description="Duration of KafkaStreams.close: the final commit, flushing and closing the stores. No task of the "
        "client runs during that time."
    ),
]
StartAfter = Annotated[
    Duration,
    Field(
        description="Time until a new pod's process starts, counted from the end of the old one (in a Deployment: "
        "from the creation of the new pod): scheduling, image pull, start of the JVM."
    ),
]
ReadyAfter = Annotated[
    Duration, Field(description="Time from the start of a process until its pod is ready (with minReadySeconds).")
]
VolumeName = Literal["zonal", "local", "none"]


class PodsEntry(ScenarioSection):
    """What manifests do not say about pods, or what differs from them."""

    replicas: Annotated[int, Field(ge=0, le=10_000)] | None = Field(
        default=None, description="Number of pods at the start; default: that of the manifest."
    )
    start_after: StartAfter = 10_000
    ready_after: ReadyAfter = 20_000
    close: CloseTime = 0
    leaves_group: LeavesGroup = None
    pre_stop: Duration | None = Field(
        default=None, description="Duration of the preStop hook; default: that of a hook that sleeps, else 0s."
    )
    volume: VolumeName | None = Field(
        default=None,
        description="Where the state directories are: zonal, local or none, as for rolling_update; default: zonal for "
        "a StatefulSet with volumeClaimTemplates, else none.",
    )


def name_workload(value: Any) -> Any:
    """Return the data of a client with a name if it comes from a manifest, which names it."""
    return {"name": UNNAMED, **value} if isinstance(value, dict) and "from" in value else value


def list_clients(root: dict[str, Any], *located: dict[ScenarioPath, Any]) -> dict[str, Any]:
    """Turn `clients: {from: …}` into a list of one entry, in place.

    `root`: the data of a scenario; `located`: values by path, which get the new paths, too. Returns the data as it was.
    """
    clients, before = root.get(_CLIENTS), dict(root)
    if not isinstance(clients, dict) or "from" not in clients:
        return before
    root[_CLIENTS] = [clients]
    for values in located:
        inside = {path: value for path, value in values.items() if path[:1] == (_CLIENTS,)}
        values |= {(_CLIENTS, 0, *path[1:]): value for path, value in inside.items()}
    return before


class RepartitionEntry(ScenarioSection):
    """A repartition topic that a subtopology writes, named `<application.id>-<name>-repartition`."""

    name: TopicName = Field(description="Name, without application id and -repartition.")
    partitions: PartitionCount | None = Field(
        default=None, description="Number of partitions; by default what Kafka Streams chooses."
    )
    bytes_per_s: TopicRates | None = Field(default=None, description="Write rate, as for a topic.")
    size: TopicSizes | None = Field(default=None, description="Size at the start, as for a topic.")
    record_size: RecordSize | None = Field(default=None, description="Mean record size.")


class StoreEntry(ScenarioSection):
    """A state store; its changelog is named `<application.id>-<name>-changelog`."""

    name: TopicName = Field(description="Store name.")
    logged: bool | None = Field(default=None, description="Whether the store has a changelog (true).")
    persistent: bool = Field(default=True, description="Whether the store is on disk.")
    write_buffer: RecordSize = Field(
        default=WRITE_BUFFER_BYTES,
        description="Size of RocksDB's memtable (write_buffer_size), which a killed process loses.",
    )
    changelog: TopicName | None = Field(
        default=None, description="Source topic that serves as the changelog, as with topology.optimization."
    )
    size: TopicSizes | None = Field(default=None, description="Size of the changelog, as for a topic.")
    bytes_per_s: TopicRates | None = Field(default=None, description="Write rate of the changelog, as for a topic.")
    record_size: RecordSize | None = Field(default=None, description="Mean record size of the changelog.")


class SubtopologyEntry(ScenarioSection):
    """A subtopology, with one task per partition of its largest source topic."""

    id: Annotated[int, Field(ge=0, le=999_999_999)] | None = Field(
        default=None, description="Subtopology number in task ids; default: the position in the list."
    )
    sources: Annotated[list[TopicName], Field(min_length=1)] = Field(
        description="Source topics; repartition topics by their short or full name."
    )
    copartitioned: list[Annotated[list[TopicName], Field(min_length=2)]] = Field(
        default=[], description="Groups of sources that are joined and so must be co-partitioned."
    )
    repartition: list[ListEntry[RepartitionEntry]] = Field(default=[], description="Repartition topics that it writes.")
    writes: list[TopicName] = Field(
        default=[], description="Result topics that it writes; no other producer writes to them."
    )
    stores: list[ListEntry[StoreEntry]] = Field(default=[], description="State stores.")


class ApplicationFiles(ScenarioSection):
    """Files that describe the application; paths are relative to the scenario."""

    topology: Name = Field(description="Output of Topology.describe().")


class TimesEntry(ScenarioSection):
    """How long clients need between an assignment and the work on it; defaults as measured on Kafka."""

    start: Duration = Field(
        default=MEASURED.start_ms,
        description="From the event that starts a client until its members join; 0 if events say when it is up.",
    )
    open_store: Duration = Field(
        default=MEASURED.open_store_ms,
        description="Opening one persistent store of a new task; a thread opens its stores one after another.",
    )
    restore_start: Duration = Field(
        default=MEASURED.restore_start_ms,
        description="From the opening of a task's stores until it reads its changelogs: poll, end offsets, seek, "
        "first fetch.",
    )
    rejoin: Duration = Field(
        default=MEASURED.rejoin_ms,
        description="From learning of a rebalance, or having to revoke tasks, until the JoinGroup request: poll, "
        "commit, close.",
    )
    uncertainty: Annotated[float, Field(ge=1, le=100, allow_inf_nan=False)] = Field(
        default=MEASURED.uncertainty,
        description="Factor by which these times may differ; run also simulates the extremes and reports ranges. "
        "1: do not.",
    )


class ApplicationSection(ScenarioSection):
    """The Kafka Streams application."""

    id: TopicName = Field(description="The application.id.")
    starts: Literal["warm", "cold", "running"] = Field(
        default="warm",
        description="State at the start: warm, all state in place; cold, all state to be restored; running, an "
        "assignment exists, given by the tasks of the clients.",
    )
    next_rebalance: Duration | None = Field(
        default=None,
        description="For starts: running with the classic protocol, the time until the next probing rebalance; "
        "default: none is scheduled.",
    )
    kafka: KafkaRelease | None = Field(
        default=None,
        description="Kafka release of the clients, such as 4.4 or 3.9.1; default: the newest, 4.4. It "
        "decides how they close, what they keep after a crash, what they report to a streams group, and, from 4.4 on, "
        "the share of clients in sticky_task_assignor.",
    )
    configs: StreamsConfigs = Field(
        default_factory=StreamsConfigs, description="Streams configs, with Kafka's own keys."
    )
    group_configs: GroupOverrides = Field(
        default_factory=GroupOverrides,
        description="Configs of the streams group (kafka-configs.sh --entity-type groups), with Kafka's own keys.",
    )
    rejoins_when_brokers_bounce: bool = Field(
        default=False,
        description="Whether members with client.rack rejoin when a broker stops or starts, as in releases without "
        "the fix of KAFKA-20778.",
    )
    leader_speed: Annotated[float, Field(ge=0.001, le=1_000, allow_inf_nan=False)] = Field(
        default=1.0,
        description="Speed of the group leader's CPU, as a multiple of the machine on which Kafka was measured.",
    )
    times: TimesEntry = Field(
        default_factory=TimesEntry,
        description="How long clients need to open stores, to begin to read changelogs, and to rejoin.",
    )
    subtopologies: Annotated[list[ListEntry[SubtopologyEntry]], Field(min_length=1)] | None = Field(
        default=None, description="Subtopologies, unless they are imported."
    )
    stores: list[ListEntry[StoreEntry]] = Field(
        default=[], description="Properties of stores that an imported topology does not include, by store name."
    )
    files: ApplicationFiles | None = Field(
        default=None, alias="from", description="Files that describe the application."
    )


class TasksEntry(ScenarioSection):
    """The tasks of a client when the simulation starts with a running application."""

    active: TaskLists = Field(
        default=[],
        description="Active tasks: one list per thread, or one list that is distributed over the threads.",
    )
    standby: TaskLists = Field(default=[], description="Standby and warm-up tasks, in the same form.")
    lags: dict[TaskIdField, Annotated[int, Field(ge=0, le=LONG_MAX)]] = Field(
        default={},
        description="Lag in records by task: of assigned tasks that are not caught up, and of unassigned state on "
        "disk.",
    )
    lags_when_opened: dict[TaskIdField, Annotated[int, Field(ge=0, le=LONG_MAX)]] = Field(
        default={},
        description="Lag in records, at the start of the run, of what was on disk when the stores of an assigned task "
        "were opened: from Kafka 4.3 on, a kill leaves that and full memtables. Default: the stores were empty. Kafka "
        "Streams logs what it finds ('initialized from checkpoint with offset').",
    )


class ClientEntry(ScenarioSection):
    """A client (a Kafka Streams process), or several identical ones named `<name>-0`, `<name>-1` and so on."""

    name: Name = Field(
        description="Name of the client, or common prefix of several; with from, default: that of the workload."
    )
    files: NameList | None = Field(
        default=None,
        alias="from",
        description="Kubernetes manifests, relative to the scenario: a StatefulSet or Deployment, whose pods are the "
        "clients, and a PodDisruptionBudget, HorizontalPodAutoscaler or ScaledObject of it.",
    )
    workload: Name | None = Field(
        default=None, description="Name of the StatefulSet or Deployment, if the manifests have several."
    )
    pods: PodsEntry | None = Field(default=None, description="What manifests do not say about pods.")
    count: PositiveInt | None = Field(default=None, description="Number of clients; default: one.")
    process_id: Name | None = Field(default=None, description="Process id (a UUID); by default the seed draws it.")
    rack: Name | None = Field(default=None, description="Rack of the client, and its client.rack.")
    racks: Annotated[list[Name], Field(min_length=1)] | None = Field(
        default=None,
        description="Racks of several clients, assigned round-robin; with from, the zones of the nodes (default: the "
        "racks of brokers).",
    )
    client_rack: bool = Field(
        default=True, description="Whether client.rack is set; if not, Kafka does not know the rack."
    )
    threads: Annotated[int, Field(ge=1, le=1_000)] | None = Field(
        default=None, description="The num.stream.threads; default: the application's."
    )
    tags: Annotated[dict[Name, Name], Field(max_length=MAX_TAGS)] = Field(
        default={}, description="The client.tag.* configs, without that prefix."
    )
    restore: Rate = Field(default=50_000_000, description="Restoration rate over all tasks.")
    records_per_s: Annotated[int, Field(ge=1, le=LONG_MAX)] | None = Field(
        default=None, description="Source records per second that each thread can process; default: no limit."
    )
    host: Name | None = Field(
        default=None,
        description="Host of the client, defined in hosts; by default it shares its network with no other.",
    )
    hosts: Annotated[list[Name], Field(min_length=1)] | None = Field(
        default=None, description="Hosts of several clients, assigned round-robin."
    )
    static_membership: bool = Field(
        default=False,
        description="Whether members have a group.instance.id, which Kafka rejects in streams groups before 4.4.",
    )
    reports: Literal["current", "stale", "never"] = Field(
        default="current",
        description="Offsets that the client reports when it joins: current ones, those of the previous rebalance, "
        "or only those of running tasks.",
    )
    starts: bool = Field(default=True, description="Whether it is up at the start; if not, an event adds it.")
    tasks: TasksEntry | None = Field(default=None, description="Tasks at the start, for starts: running.")
