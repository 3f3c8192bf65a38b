"""A rolling restart of clients, perhaps with other configs: a rollout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import Field

from assignors.model.columns import ConsumerUpdate
from scenarios.events.closing_event import ClosingEvent
from scenarios.events.scenario_event import ClientsEvent, EventContext
from scenarios.language.client_configs import (
    AssignorConfigs,
    MemberProtocol,
    RemoteAssignor,
    StrategyList,
    server_assignor_name,
)
from scenarios.language.fields import Duration
from scenarios.sampling.event_sampling import EventPlan, EventSampling
from simulator.world.changes import Disk
from simulator.world.disturbances import RollingBounce
from simulator.world.group_configs import GroupConfigs, GroupProtocol
from simulator.world.pod_events import Closing


@dataclass(frozen=True, slots=True)
class RollingBouncePlan(EventPlan):
    """A rolling restart of clients; other fields are those of `simulator.world.disturbances.RollingBounce`.

    `client_names`: as in `CrashPlan`. `clients`: in restart order, before the seed shuffles it if `is_shuffled`.
    `changes`: the configs that change with the restart, as in `ConfigEdit`. `group_configs`: those of the new release,
    by protocol; empty if the release does not change.
    """

    at_ms: int
    client_names: tuple[str, ...]
    clients: tuple[str, ...]
    is_shuffled: bool
    down_ms: int
    pause_ms: int
    disk: Disk
    changes: Mapping[str, Any]
    announces_rack: bool | None
    closing: Closing
    release: str | None = None
    group_configs: Mapping[GroupProtocol, GroupConfigs] = field(default_factory=dict)
    consumer: ConsumerUpdate | None = None

    @property
    def interval_ms(self) -> int:
        """The time between two restarts."""
        return self.closing.ends_after_ms + self.down_ms + self.pause_ms

    @property
    def restarts_ms(self) -> tuple[int, ...]:
        """When each client starts again, if all are up at their turn."""
        first_ms = self.at_ms + self.interval_ms - self.pause_ms
        return tuple(first_ms + number * self.interval_ms for number in range(len(self.clients)))

    @property
    def num_changes(self) -> float:
        return len(self.clients)

    def realize(self, sampling: EventSampling) -> Iterator[RollingBounce]:
        """Draw the order, and skip clients that are absent at their turn."""
        sampling.configs = replace(sampling.configs, **self.changes)
        clients, uptime = self.clients, sampling.uptime
        if self.is_shuffled:
            stream = sampling.stream("BouncePlan", "order", self.at_ms, self.client_names)
            clients = tuple(clients[i] for i in stream.permutation(len(clients)))
        order: list[str] = []
        at_ms = self.at_ms
        for client in clients:
            if uptime.is_up_or_returning(client, at_ms):
                order.append(client)
                at_ms += self.interval_ms
        for i, client in enumerate(order):
            at_ms = self.at_ms + i * self.interval_ms
            uptime.add_absence(client, at_ms + self.closing.begins_after_ms, at_ms + self.interval_ms - self.pause_ms)
        if order:
            yield RollingBounce(
                at_ms=self.at_ms,
                clients=tuple(order),
                down_ms=self.down_ms,
                pause_ms=self.pause_ms,
                disk=self.disk,
                configs=sampling.configs if self.changes else None,
                announces_rack=self.announces_rack,
                closing=self.closing,
                release=self.release,
                group_configs=self.group_configs.get(sampling.protocol),
                consumer=self.consumer,
            )


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

    example = "events:\n  - {at: 30m, rolling_bounce: {clients: app, down: 30s, pause: 2m}}\n"

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

    @property
    def changed_configs(self) -> RolloutConfigs:
        return self.configs

    @property
    def sets_client_rack(self) -> bool:
        return bool(self.client_rack)

    def resolve(self, context: EventContext) -> Iterator[RollingBouncePlan]:
        clients = context.find_clients(self.clients)
        racks = {plan.name: plan.rack for plan in context.clients.plans}
        if clients and not any(racks[client] for client in clients) and context.source_map.is_valid("clients"):
            for key, is_set in (("order", self.order == "by_rack"), ("client_rack", self.client_rack is not None)):
                if is_set:
                    context.report("the clients have no rack", key)
        yield RollingBouncePlan(
            at_ms=context.at_ms,
            client_names=tuple(self.clients),
            clients=_in_order(clients, self.order, racks),
            is_shuffled=self.order == "shuffled",
            down_ms=self.down,
            pause_ms=self.pause,
            disk=Disk(self.disk or Disk.KEPT),
            changes=context.check_configs(self.configs),
            announces_rack=self.client_rack,
            closing=self.closing(),
            consumer=self.configs.consumer_update(),
        )

    def warn_about_end(self, planned: RollingBouncePlan, context: EventContext) -> None:
        context.warn_about_steps(planned.restarts_ms, "clients have restarted")


def _in_order(clients: tuple[str, ...], order: str, racks: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return the clients in restart order: by rack (the first client's rack first), as listed, or reversed."""
    if order == "by_rack":
        seen = list(dict.fromkeys(racks[client] for client in clients))
        return tuple(sorted(clients, key=lambda client: seen.index(racks[client])))
    return clients[::-1] if order == "reversed" else clients
