"""The schema of `events`: one pydantic model per kind of event."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from assignors.model.columns import ConsumerUpdate
from scenarios.language.client_configs import (
    AssignorConfigs,
    MemberProtocol,
    RemoteAssignor,
    StrategyList,
    server_assignor_name,
)
from scenarios.language.errors import format_value
from scenarios.language.fields import (
    INT_MAX,
    BrokerId,
    Duration,
    Frequency,
    KafkaRelease,
    Name,
    NameList,
    PartitionCount,
    PositiveInt,
    Rate,
    RateLimit,
    ReplicaList,
    ReplicationFactor,
    ScenarioSection,
    StrategyParameter,
    TopicName,
    TrafficFactor,
)
from simulator.world.pod_events import MINIMUM_GRACE_MS, Closing

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


class ClosingEvent(ScenarioSection):
    """An event in which clients close."""

    leaves_group: LeavesGroup = None
    close: CloseTime = 0
    grace: Duration | None = Field(
        default=None,
        description="Time from the request to stop until SIGKILL; a client that is still closing then loses unflushed "
        "state and does not leave the group. By default clients are never killed.",
    )

    def closing(self) -> Closing:
        """Return how clients are stopped."""
        return Closing(self.leaves_group, self.close, grace_ms=self.grace)


class PodClosingEvent(ScenarioSection):
    """An event in which Kubernetes stops pods."""

    leaves_group: LeavesGroup = None
    pre_stop: Duration = Field(
        default=0, description="Duration of the preStop hook, during which the client continues to process."
    )
    close: CloseTime = 0
    grace: Annotated[Duration, Field(ge=MINIMUM_GRACE_MS)] = Field(
        default=30_000,
        description="terminationGracePeriodSeconds: time for pre_stop and close together; a pod that takes longer is "
        "killed. At least 2s, which the kubelet grants in any case.",
    )

    def closing(self) -> Closing:
        """Return how pods are stopped."""
        return Closing(self.leaves_group, self.close, self.pre_stop, self.grace)


_PERCENTAGE: Final = re.compile(r"(\d{1,3})%")


def _parse_pods(value: Any) -> Any:
    """Return a number of pods as it is, and a percentage as the text of a percentage."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 1_000_000:
        return str(value)
    if isinstance(value, str) and (match := _PERCENTAGE.fullmatch(value)) and int(match[1]) <= 100:
        return value
    raise ValueError(f"{format_value(value)} is not a number of pods, such as 1, or a percentage, such as 25%")


PodCount = Annotated[
    str,
    BeforeValidator(_parse_pods),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": 1_000_000},
                {"type": "string", "pattern": r"^\d{1,3}%$"},
            ],
            "examples": ["25%"],
        }
    ),
]
"""A number of pods, or a percentage of them."""


def resolve_pods(count: str, total: int, *, rounds_up: bool) -> int:
    """Return a number of pods, given all of them; Kubernetes rounds `maxSurge` up and `maxUnavailable` down."""
    match = _PERCENTAGE.fullmatch(count)
    if match is None:
        return int(count)
    share = int(match[1]) * total / 100
    return math.ceil(share) if rounds_up else math.floor(share)


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
Replacements = Annotated[
    NameList | None,
    Field(
        description="Clients with starts: false that start instead, one for each stopped client, in their own racks. "
        "By default, a stopped client comes back in its rack."
    ),
]
VolumeName = Literal["zonal", "local", "none"]


class StoppedClients(ScenarioSection):
    """Clients that a platform stops."""

    clients: NameList = Field(description="Names of clients, or of entries that define several; pods by ordinal.")


class RollingUpdateEvent(PodClosingEvent, StoppedClients):
    """A rolling update of the pods of a StatefulSet or a Deployment."""

    kind: Literal["stateful_set", "deployment"] | None = Field(
        default=None,
        description="stateful_set: one pod after another, the last one first, each comes back with its name, rack and "
        "volume. deployment: new pods with new process ids and empty disks replace the old ones. Required, unless the "
        "clients come from a manifest, which says it, and volume, grace, max_surge and max_unavailable.",
    )
    volume: VolumeName | None = Field(
        default=None,
        description="Where a StatefulSet keeps the state directories: zonal (network disk of the zone, kept), local "
        "(disk of the node, kept) or none (lost). Default: zonal. Pods of a Deployment have none.",
    )
    max_surge: PodCount | None = Field(
        default=None,
        description="maxSurge of a Deployment: number or percentage (rounded up) of additional pods; default: 25%.",
    )
    max_unavailable: PodCount | None = Field(
        default=None,
        description="maxUnavailable of a Deployment: number or percentage (rounded down) of missing pods; default: "
        "25%.",
    )
    replacements: Replacements = None
    start_after: StartAfter = 10_000
    ready_after: ReadyAfter = 20_000


class NodeDrainEvent(PodClosingEvent):
    """A drain of the nodes on which clients run: their pods are evicted and start on other nodes."""

    clients: NameList | None = Field(
        default=None, description="The clients on the drained nodes, in order of eviction."
    )
    rack: Name | None = Field(default=None, description="Instead of clients: the zone, all of whose nodes are drained.")
    max_unavailable: PositiveInt | None = Field(
        default=None,
        description="PodDisruptionBudget: maximum number of evicted pods that are not ready; default: all.",
    )
    volume: VolumeName = Field(
        default="zonal",
        description="Where the state directories are: zonal (network disk: kept, pods start on other nodes of the "
        "zone), local (disk of the node: kept, pods wait until it is back) or none (lost).",
    )
    down: Duration | None = Field(
        default=None, description="Time until the nodes take pods again; by default they never do."
    )
    replacements: Replacements = None
    start_after: StartAfter = 10_000
    ready_after: ReadyAfter = 20_000


class SpotInterruptionEvent(PodClosingEvent, StoppedClients):
    """An interruption of the spot instances on which clients run."""

    notice: Duration = Field(
        default=120_000,
        description="Time from the notice until the instances stop: 2m on AWS, 30s on Google Cloud and Azure.",
    )
    reacts: bool = Field(
        default=True,
        description="Whether clients are stopped at the notice, as by a node termination handler; otherwise they are "
        "killed at its end.",
    )
    replace: Duration | None = Field(
        default=None, description="Time from the notice until the replacements start; by default there are none."
    )
    volume: VolumeName = Field(
        default="none",
        description="Where the state directories are: none (disk of the instance: lost) or zonal (network disk: kept).",
    )
    replacements: Replacements = None


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


BrokerIds = Annotated[list[BrokerId], Field(min_length=1)]

CrashedDisk = Annotated[
    Literal["kept", "unflushed_lost", "lost"] | None,
    Field(
        description="State on disk afterwards: unflushed_lost as after SIGKILL, which depends on processing.guarantee "
        "and the Kafka release; kept as after a clean close; lost. Default: unflushed_lost."
    ),
]

STRATEGY_KEYS: Final = ("strategy", "parameters", "topics", "remove_brokers", "replication_factor", "rack_aware")
"""The keys of a reassignment that apply only if a strategy plans it."""


class ClientsEvent(ScenarioSection):
    """An event of clients."""

    clients: NameList = Field(description="Names of clients, or of entries that define several.")


class StaggeredClientsEvent(ClientsEvent):
    """Clients that join or leave, at once or one after another."""

    every: Duration = Field(default=0, description="Interval between two clients; 0 for all at once.")


class LeaveEvent(ClosingEvent, StaggeredClientsEvent):
    """Clients that close."""


class CrashEvent(ClientsEvent):
    """Clients that crash."""

    pick: PositiveInt | None = Field(
        default=None, description="Number of clients to draw at random from those that are up; default: all."
    )
    down: Duration | None = Field(default=None, description="Time until they restart; by default they never do.")
    disk: CrashedDisk = None


class RolloutConfigs(AssignorConfigs):
    """The configs of clients that restart, which may differ from those before."""

    strategies: StrategyList | None = Field(
        default=None,
        alias="partition.assignment.strategy",
        description="Of a consumer group: the assignors that its members list after the restart, by name or class, the "
        "preferred one first.",
    )
    group_protocol: MemberProtocol | None = Field(
        default=None,
        alias="group.protocol",
        description="Of a consumer group: the group protocol of its members after the restart. The first member with "
        "consumer converts a running classic group (KIP-848); default: as before.",
    )
    remote_assignor: RemoteAssignor = Field(
        default=None,
        alias="group.remote.assignor",
        description="Of members that get group.protocol: consumer: the assignor of the coordinator that they name; "
        "default: none, so that the coordinator takes uniform.",
    )

    def consumer_update(self) -> ConsumerUpdate | None:
        """Return the configs that consumers get with a restart; None if they do not change."""
        protocol = self.group_protocol
        update = ConsumerUpdate(
            None if self.strategies is None else tuple(self.strategies),
            None if protocol is None else protocol == "consumer",
            server_assignor_name(self.remote_assignor),
        )
        return None if update == ConsumerUpdate() else update


class RollingBounceEvent(ClosingEvent, ClientsEvent):
    """A rolling restart of clients; clients that are absent at their turn are skipped."""

    order: Literal["listed", "reversed", "shuffled", "by_rack"] = Field(
        default="listed",
        description="The order: as listed, reversed, shuffled by the seed, or rack by rack, the first client's rack "
        "first.",
    )
    down: Duration = Field(default=30_000, description="Time from the end of a client's process to its restart.")
    pause: Duration = Field(default=60_000, description="Pause between the return of a client and the next restart.")
    disk: Literal["kept", "lost"] | None = Field(
        default=None, description="Whether the state directories survive: kept, or lost; default: kept."
    )
    configs: RolloutConfigs = Field(
        default_factory=RolloutConfigs,
        description="Configs that the clients have after the restart, with Kafka's own keys; a rollout.",
    )
    client_rack: bool | None = Field(
        default=None, description="Whether client.rack is set after the restart; by default unchanged."
    )


class RackOutageEvent(ScenarioSection):
    """An outage of a rack with its brokers and clients."""

    rack: Name = Field(description="The rack.")
    down: Duration | None = Field(default=None, description="Time until it is back; by default it never is.")
    disk: CrashedDisk = None


class BrokerLossEvent(ScenarioSection):
    """An outage of brokers."""

    brokers: BrokerIds = Field(description="The broker ids.")
    down: Duration | None = Field(default=None, description="Time until they are back; by default they never are.")


class BrokerBounceEvent(ScenarioSection):
    """A rolling restart of brokers."""

    brokers: BrokerIds = Field(description="The broker ids, in the order of the restarts.")
    down: Duration = Field(default=60_000, description="Downtime of each broker.")
    pause: Duration = Field(default=120_000, description="Pause between the return of a broker and the next restart.")


class ReplicaMoveEvent(ScenarioSection):
    """An instantaneous change of a partition's replicas; nothing is copied, and the first replica leads."""

    topic: TopicName = Field(description="The topic.")
    partition: Annotated[int, Field(ge=0, le=INT_MAX)] = Field(description="The partition.")
    replicas: ReplicaList = Field(description="Its new brokers, the leader first.")


class PartitionsAddedEvent(ScenarioSection):
    """A topic gets more partitions, as by kafka-topics.sh --alter --partitions.

    The rate of the topic does not change: the new partitions take over their part of it at once. The leader of a
    classic group notices them when it refreshes its metadata (metadata.max.age.ms); the coordinator of another group
    with the next heartbeat. Reassignments leave added partitions where they are, and other_traffic does not use them.
    """

    topic: TopicName = Field(description="A topic that the application, or the group, only reads.")
    partitions: PartitionCount = Field(description="Number of partitions from now on.")
    replicas: Annotated[list[ReplicaList], Field(min_length=1)] | None = Field(
        default=None,
        description="Broker ids of each added partition, the preferred leader first; by default Kafka's placement.",
    )


class ReassignmentEvent(ScenarioSection):
    """A partition reassignment: new replicas copy the data, then the old ones are removed.

    The plan comes from a file, or a strategy computes it from the cluster at that time.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["plan"], "not": {"anyOf": [{"required": [key]} for key in STRATEGY_KEYS]}},
                {"required": ["strategy"], "not": {"required": ["plan"]}},
            ]
        }
    )

    plan: Name | None = Field(
        default=None, description="A plan file for kafka-reassign-partitions.sh, relative to the scenario."
    )
    strategy: Name | None = Field(
        default=None, description="A built-in strategy of assignor-sim plan that computes the plan, instead of a file."
    )
    parameters: dict[Name, StrategyParameter] | None = Field(default=None, description="Parameters of the strategy.")
    topics: Annotated[list[TopicName], Field(min_length=1)] | None = Field(
        default=None, description="Topics that the strategy may change; default: all, changelogs included."
    )
    remove_brokers: BrokerIds | None = Field(default=None, description="Brokers to decommission.")
    replication_factor: ReplicationFactor | None = Field(
        default=None, description="Target replication factor; by default unchanged."
    )
    rack_aware: bool | None = Field(
        default=None, description="Whether replicas of a partition go to different racks (true)."
    )
    throttle: RateLimit | None = Field(
        default=None,
        description="Kafka's leader and follower throttle: the maximum rate at which each broker sends and receives "
        "replica data. By default, the previous throttle applies; before the first one, copies take no time.",
    )
    batch: PositiveInt | None = Field(default=None, description="Number of partitions at a time; default: all.")
    elects_leaders: Literal["at_end", "auto", "never"] = Field(
        default="auto",
        description="When preferred leaders are elected: once the reassignment is complete, when the controller checks "
        "(see leader.imbalance.check.interval.seconds), or never.",
    )


class ConfigChangeEvent(ScenarioSection):
    """A change of the application's configs on all clients at once."""

    configs: AssignorConfigs = Field(description="The configs that change.")


class TrafficEvent(ScenarioSection):
    """A change of the rate at which the source topics are produced to."""

    factor: TrafficFactor = Field(
        description="Multiple of the rates of topics and traffic.hourly, until the next traffic event."
    )


class ChurnEvent(ClientsEvent):
    """Random crashes and joins, one client at a time; the seed draws times and clients.

    Crashes and joins are Poisson processes, and downtimes are exponentially distributed. Churn never interferes with
    other events: a client crashes only if it is back before its next event.
    """

    crashes: Frequency | None = Field(
        default=None, description="Mean frequency of crashes over all these clients; default: none."
    )
    joins: Frequency | None = Field(
        default=None, description="Mean frequency at which the next client that has never been up joins; default: none."
    )
    down: Duration | None = Field(
        default=None, description="Mean downtime after a crash; by default crashed clients never restart."
    )
    disk: CrashedDisk = None
    until: Duration | None = Field(default=None, description="End of the churn, from the start; default: never.")


class AutoscaleEvent(ClosingEvent, ClientsEvent):
    """Autoscaling: from now on, the number of clients follows the traffic of the source topics.

    The first clients listed join first and leave last. Only the traffic counts: a crashed client is not replaced.
    """

    bytes_per_s: Annotated[Rate, Field(ge=1)] = Field(
        description="Capacity of one client in source-topic traffic; repartition topics do not count."
    )
    every: Annotated[Duration, Field(ge=1)] = Field(default=600_000, description="Interval between two evaluations.")
    min_clients: Annotated[int, Field(ge=0, le=INT_MAX)] = Field(
        default=1, alias="min", description="Minimum number of clients."
    )
    max_clients: PositiveInt | None = Field(
        default=None, alias="max", description="Maximum number of clients; default: all."
    )


class ReplaceThreadEvent(ClientsEvent):
    """The first stream thread of each client dies of an exception and is replaced (REPLACE_THREAD).

    Whether the dead thread leaves the group depends on the Kafka release. If it does not, the new thread waits for its
    session timeout.
    """


class StreamThreadsEvent(ClientsEvent):
    """Clients add or remove stream threads at runtime, until they restart."""

    threads: PositiveInt = Field(description="Number of stream threads of each client from now on.")


class EventEntry(ScenarioSection):
    """An event and its time."""

    at: Duration = Field(description="Time of the event, from the start.")
    join: StaggeredClientsEvent | None = Field(default=None, description="Clients start and join the group.")
    leave: LeaveEvent | None = Field(default=None, description="Clients close permanently.")
    scale_out: StaggeredClientsEvent | None = Field(default=None, description="The same as join.")
    scale_in: LeaveEvent | None = Field(default=None, description="The same as leave.")
    crash: CrashEvent | None = Field(default=None, description="Clients crash, temporarily or permanently.")
    rolling_bounce: RollingBounceEvent | None = Field(default=None, description="Clients restart one after another.")
    rolling_update: RollingUpdateEvent | None = Field(
        default=None, description="Kubernetes replaces the pods of a StatefulSet or a Deployment, a few at a time."
    )
    node_drain: NodeDrainEvent | None = Field(
        default=None, description="Kubernetes evicts clients from nodes, and starts them on other nodes."
    )
    spot_interruption: SpotInterruptionEvent | None = Field(
        default=None, description="Spot instances stop after a notice."
    )
    rack_outage: RackOutageEvent | None = Field(default=None, description="A rack fails with its brokers and clients.")
    broker_loss: BrokerLossEvent | None = Field(default=None, description="Brokers fail.")
    broker_bounce: BrokerBounceEvent | None = Field(default=None, description="Brokers restart one after another.")
    upgrade: UpgradeEvent | None = Field(
        default=None, description="Brokers or clients restart one after another with another Kafka release."
    )
    replica_move: ReplicaMoveEvent | None = Field(
        default=None, description="A partition's replicas change instantaneously."
    )
    partitions_added: PartitionsAddedEvent | None = Field(default=None, description="A topic gets more partitions.")
    reassignment: ReassignmentEvent | None = Field(
        default=None, description="Partitions are reassigned as planned by a file or a strategy."
    )
    config_change: ConfigChangeEvent | None = Field(default=None, description="The application's configs change.")
    traffic: TrafficEvent | None = Field(default=None, description="The traffic of the source topics changes.")
    churn: ChurnEvent | None = Field(default=None, description="From now on, clients crash and join at random.")
    autoscale: AutoscaleEvent | None = Field(
        default=None, description="From now on, the number of clients follows the traffic."
    )
    replace_thread: ReplaceThreadEvent | None = Field(
        default=None, description="A stream thread of each client dies of an exception and is replaced."
    )
    stream_threads: StreamThreadsEvent | None = Field(
        default=None, description="Clients add or remove stream threads at runtime."
    )


EVENT_KINDS: Final = tuple(name for name in EventEntry.model_fields if name != "at")
