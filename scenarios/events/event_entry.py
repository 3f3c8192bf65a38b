"""The list of the kinds of events: an entry of `events` has one of them, and its time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, get_args

from pydantic import Field

from scenarios.events.autoscale import AutoscaleEvent
from scenarios.events.broker_bounce import BrokerBounceEvent
from scenarios.events.broker_loss import BrokerLossEvent
from scenarios.events.churn import ChurnEvent
from scenarios.events.config_change import ConfigChangeEvent
from scenarios.events.crash import CrashEvent
from scenarios.events.join_and_leave import LeaveEvent, StaggeredClientsEvent
from scenarios.events.node_drain import NodeDrainEvent
from scenarios.events.partition_reassignment import ReassignmentEvent
from scenarios.events.partitions_added import PartitionsAddedEvent
from scenarios.events.rack_outage import RackOutageEvent
from scenarios.events.replica_move import ReplicaMoveEvent
from scenarios.events.rolling_bounce import RollingBounceEvent
from scenarios.events.rolling_update import RollingUpdateEvent
from scenarios.events.scenario_event import ScenarioEvent
from scenarios.events.spot_interruption import SpotInterruptionEvent
from scenarios.events.thread_events import ReplaceThreadEvent, StreamThreadsEvent
from scenarios.events.traffic_change import TrafficEvent
from scenarios.events.upgrade import UpgradeEvent
from scenarios.language.fields import Duration, ScenarioSection, valid_entries
from scenarios.language.paths import ScenarioPath


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

    @property
    def events(self) -> list[tuple[str, ScenarioEvent]]:
        """The events of the entry with their kinds: one, unless the entry is invalid."""
        return [(kind, event) for kind in EVENTS if (event := getattr(self, kind)) is not None]


EVENTS: Final[Mapping[str, type[ScenarioEvent]]] = {
    kind: get_args(field.annotation)[0] for kind, field in EventEntry.model_fields.items() if kind != "at"
}
"""All kinds, by the key of `EventEntry`."""

FAILURES: Final = tuple(kind for kind, event in EVENTS.items() if event.brokers_fail)
"""The kinds in which brokers fail or restart."""


def listed_events(entries: Sequence[EventEntry]) -> Iterator[tuple[int, ScenarioPath, ScenarioEvent]]:
    """Yield the valid events with their times and paths."""
    for i, entry in valid_entries(entries):
        yield from ((entry.at, ("events", i, kind), event) for kind, event in entry.events)
