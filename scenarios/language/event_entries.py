"""What may stand under `events`: one pydantic model a kind of event."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field

from scenarios.language.configs import AssignorConfigs, ScenarioSection
from scenarios.language.fields import (
    INT_MAX,
    BrokerId,
    Duration,
    Frequency,
    Name,
    NameList,
    Rate,
    RateLimit,
    ReplicaList,
    ReplicationFactor,
    StrategyParameter,
    TopicName,
    TrafficFactor,
)

Count = Annotated[int, Field(ge=1, le=INT_MAX)]
BrokerIds = Annotated[list[BrokerId], Field(min_length=1)]

LeavesGroup = Annotated[
    bool | None,
    Field(
        description="Whether clients leave the group when they close: CloseOptions LEAVE_GROUP or REMAIN_IN_GROUP. By "
        "default, internal.leave.group.on.close decides. Members of a streams group always leave."
    ),
]

STRATEGY_KEYS: Final = ("strategy", "parameters", "topics", "remove_brokers", "replication_factor", "rack_aware")
"""What a reassignment says only if a strategy plans it."""


class ClientsEvent(ScenarioSection):
    """Something that happens to clients."""

    clients: NameList = Field(description="Names of clients, or of entries that stand for several.")


class StaggeredClientsEvent(ClientsEvent):
    """Clients come or go, all at once or one after the other."""

    every: Duration = Field(default=0, description="How long after the one before each comes or goes; 0 is at once.")


class LeaveEvent(StaggeredClientsEvent):
    """Clients close."""

    leaves_group: LeavesGroup = None


class CrashEvent(ClientsEvent):
    """Clients die."""

    pick: Count | None = Field(
        default=None, description="How many of them, drawn from those that are up; all if not given."
    )
    down: Duration | None = Field(default=None, description="After how long they are back; never if not given.")
    keeps_state: bool = Field(default=True, description="Whether they come back with their disk.")


class RollingBounceEvent(ClientsEvent):
    """Clients restart, one after the other; those that are not there when their turn comes are passed over."""

    order: Literal["listed", "reversed", "shuffled", "by_rack"] = Field(
        default="listed",
        description="Who goes first: the first, the last, whom the seed draws, or all of the rack of the first.",
    )
    down: Duration = Field(default=30_000, description="How long each is down.")
    pause: Duration = Field(default=60_000, description="How long the next one waits once the one before is back.")
    keeps_state: bool = Field(default=True, description="Whether they come back with their disk.")
    configs: AssignorConfigs = Field(
        default_factory=AssignorConfigs,
        description="The keys that are others when they come back, with Kafka's own keys; a rollout.",
    )
    client_rack: bool | None = Field(
        default=None, description="Whether they come back with client.rack; as before if not given."
    )
    leaves_group: LeavesGroup = None


class RackOutageEvent(ScenarioSection):
    """A rack is gone, with its brokers and clients."""

    rack: Name = Field(description="Which rack.")
    down: Duration | None = Field(default=None, description="After how long it is back; never if not given.")


class BrokerLossEvent(ScenarioSection):
    """Brokers are gone."""

    brokers: BrokerIds = Field(description="Ids of the brokers.")
    down: Duration | None = Field(default=None, description="After how long they are back; never if not given.")


class BrokerBounceEvent(ScenarioSection):
    """Brokers restart, one after the other."""

    brokers: BrokerIds = Field(description="Ids of the brokers, in the order in which they go.")
    down: Duration = Field(default=60_000, description="How long each is down.")
    pause: Duration = Field(default=120_000, description="How long the next one waits once the one before is back.")


class ReplicaMoveEvent(ScenarioSection):
    """A partition has other replicas at once; nothing is copied, and the first one leads."""

    topic: TopicName = Field(description="Which topic.")
    partition: Annotated[int, Field(ge=0, le=INT_MAX)] = Field(description="Which partition.")
    replicas: ReplicaList = Field(description="Its brokers from then on, the leader first.")


class ReassignmentEvent(ScenarioSection):
    """Partitions are reassigned by a plan: new replicas copy what there is, and then the others go.

    The plan stands in a file, or a strategy makes it of the cluster as it stands then.
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
        default=None, description="A file that kafka-reassign-partitions.sh takes, relative to the scenario."
    )
    strategy: Name | None = Field(
        default=None, description="Instead: a built-in strategy of assignor-sim plan, which makes the plan."
    )
    parameters: dict[Name, StrategyParameter] | None = Field(
        default=None, description="Parameters of the strategy itself."
    )
    topics: Annotated[list[TopicName], Field(min_length=1)] | None = Field(
        default=None, description="The topics that it may change; all if not given, changelogs included."
    )
    remove_brokers: BrokerIds | None = Field(default=None, description="Brokers that shall hold nothing in the end.")
    replication_factor: ReplicationFactor | None = Field(
        default=None, description="How many replicas partitions shall have; as many as they have if not given."
    )
    rack_aware: bool | None = Field(
        default=None, description="Whether replicas of a partition go to different racks (true)."
    )
    throttle: RateLimit | None = Field(
        default=None,
        description="What every broker may send and receive for it: Kafka's leader and follower throttle. If it is not "
        "given, the last one holds; before there is one, copies take no time.",
    )
    batch: Count | None = Field(default=None, description="How many partitions at a time; all if not given.")
    elects_leaders: Literal["at_end", "auto", "never"] = Field(
        default="auto",
        description="When first replicas come to lead: once all is done, when the controller looks (every 5 minutes), "
        "or never.",
    )


class ConfigChangeEvent(ScenarioSection):
    """The application's configs change, on all clients at once."""

    configs: AssignorConfigs = Field(description="The keys that change.")


class TrafficEvent(ScenarioSection):
    """More or less is produced to the source topics."""

    factor: TrafficFactor = Field(
        description="So many times what topics and traffic.hourly say, until the next such event."
    )


class ChurnEvent(ClientsEvent):
    """Clients crash and join by chance, one at a time; the seed draws when, and who.

    Rates are means of Poisson processes, and times down are exponential. Churn never gets in the way of other events:
    a client crashes only if it is back before the next one happens to it.
    """

    crashes: Frequency | None = Field(
        default=None, description="How often one of them crashes, whichever; never if not given."
    )
    joins: Frequency | None = Field(
        default=None, description="How often the next client joins that was never there; never if not given."
    )
    down: Duration | None = Field(
        default=None, description="After how long, on average, one that crashed is back; never if not given."
    )
    keeps_state: bool = Field(default=True, description="Whether those that crashed come back with their disk.")
    until: Duration | None = Field(default=None, description="When it ends, from the start; never if not given.")


class AutoscaleEvent(ClientsEvent):
    """From now on, so many of the clients are there that together they can take what the source topics bring.

    The first come first and go last. Nothing but the traffic counts: for one that crashed, no other comes.
    """

    bytes_per_s: Annotated[Rate, Field(ge=1)] = Field(
        description="What one client takes of the source topics; repartition topics do not count."
    )
    every: Annotated[Duration, Field(ge=1)] = Field(default=600_000, description="How often it is looked at.")
    fewest: Annotated[int, Field(ge=0, le=INT_MAX)] = Field(default=1, alias="min", description="The fewest clients.")
    most: Count | None = Field(default=None, alias="max", description="The most clients; all of them if not given.")
    leaves_group: LeavesGroup = None


class EventEntry(ScenarioSection):
    """What happens, and when."""

    at: Duration = Field(description="When it happens, from the start.")
    join: StaggeredClientsEvent | None = Field(default=None, description="Clients start and join the group.")
    leave: LeaveEvent | None = Field(default=None, description="Clients close for good.")
    scale_out: StaggeredClientsEvent | None = Field(default=None, description="Clients are added: the same as join.")
    scale_in: LeaveEvent | None = Field(default=None, description="Clients are taken away: the same as leave.")
    crash: CrashEvent | None = Field(default=None, description="Clients die, for a while or for good.")
    rolling_bounce: RollingBounceEvent | None = Field(default=None, description="Clients restart one after the other.")
    rack_outage: RackOutageEvent | None = Field(default=None, description="A rack is gone, brokers and clients.")
    broker_loss: BrokerLossEvent | None = Field(default=None, description="Brokers are gone.")
    broker_bounce: BrokerBounceEvent | None = Field(default=None, description="Brokers restart one after the other.")
    replica_move: ReplicaMoveEvent | None = Field(default=None, description="A partition has other replicas at once.")
    reassignment: ReassignmentEvent | None = Field(default=None, description="Partitions are reassigned by a plan.")
    config_change: ConfigChangeEvent | None = Field(default=None, description="The application's configs change.")
    traffic: TrafficEvent | None = Field(default=None, description="More or less is produced to the source topics.")
    churn: ChurnEvent | None = Field(default=None, description="Clients crash and join by chance, from then on.")
    autoscale: AutoscaleEvent | None = Field(
        default=None, description="Clients come and go with the traffic, from then on."
    )


EVENT_KINDS: Final = tuple(name for name in EventEntry.model_fields if name != "at")
