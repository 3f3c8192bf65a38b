"""Reassignments that a replica assignor plans from the cluster at the time of the event."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from assignors.errors import AssignorError
from assignors.model.ids import TopicPartition
from assignors.replicas import planning, registry
from assignors.replicas.plan import Plan, PlanRequest, PlanStatus, ReplicaAssignor
from assignors.replicas.state import NO_BROKER, BrokerState, ClusterState, TopicRetention
from scenarios.language.errors import Mistake, ScenarioError
from scenarios.language.paths import ScenarioPath, format_path
from scenarios.sampling.event_plans import ReassignmentPlan
from simulator.brokers.replication_progress import ReplicationProgress
from simulator.timeline import replicas_at
from simulator.world.disturbances import Reassignment, ReassignmentTarget
from simulator.world.world import Broker as WorldBroker
from simulator.world.world import World

MakeStrategy = Callable[[str, Mapping[str, Any]], ReplicaAssignor]
"""Creates a strategy from its name and parameters."""


class _PartitionRow(NamedTuple):
    """The state of a partition; `bytes_per_s` is None if unknown."""

    topic: str
    number: int
    replicas: tuple[int, ...]
    leader: int
    in_sync: tuple[int, ...]
    size_bytes: int
    bytes_per_s: int | None

    @property
    def key(self) -> tuple[str, int]:
        """Return topic and partition number."""
        return self.topic, self.number


class NoPlanError(ScenarioError):
    """A strategy that finds no plan.

    Attributes:
        path: the path of the event in the scenario.
        message: the reason.
    """

    def __init__(self, source: str, path: ScenarioPath, message: str) -> None:
        self.path, self.message = path, message
        super().__init__([Mistake(source, None, format_path(path), message)])


def make_built_in(name: str, parameters: Mapping[str, Any]) -> ReplicaAssignor:
    """Create a built-in strategy."""
    return registry.make(registry.find_strategy(name), parameters)


def plan_reassignment(
    event: ReassignmentPlan, world: World, make_strategy: MakeStrategy = make_built_in
) -> Reassignment:
    """Compute a reassignment with the strategy of the event.

    `world`: the world with all earlier disturbances of brokers and partitions. `make_strategy`: creates the strategy;
    by default a built-in one. Returns the reassignment of the partitions whose replicas change. Raises NoPlanError if
    the strategy finds no plan.
    """
    progress = replicas_at(world, event.at_ms)
    rows = tuple(_rows(world, progress))
    alive = progress.replicas.live_brokers().tolist()
    brokers = tuple(
        replace(to_replica_broker(broker), is_alive=is_alive)
        for broker, is_alive in zip(world.cluster.brokers, alive, strict=True)
    )
    allowed = tuple(broker.id for broker in brokers if broker.is_alive and broker.id not in event.removed)
    request = PlanRequest(allowed if event.removed else None, event.replication_factor, event.rack_aware)
    try:
        retention = tuple((topic.name, topic.retention) for topic in world.cluster.topics.values())
        plan = _plan(make_strategy, event.strategy, event.parameters, brokers, rows, retention, request, event.topics)
    except AssignorError as error:
        raise NoPlanError(world.name, event.path, str(error)) from error
    except Exception as error:
        # Only the strategy validates the values of its parameters.
        message = f"{event.strategy} failed: {type(error).__name__}: {error}"
        raise NoPlanError(world.name, event.path, message) from error
    if isinstance(plan, str):
        raise NoPlanError(world.name, event.path, f"{event.strategy} has no plan: {plan}")
    changed = [
        ReassignmentTarget(TopicPartition(row.topic, row.number), replicas)
        for row, replicas in zip(rows, plan, strict=True)
        if replicas != row.replicas
    ]
    return Reassignment(event.at_ms, tuple(changed), event.throttle_bytes_per_s, event.batch, event.election)


def to_replica_broker(broker: WorldBroker) -> BrokerState:
    """Convert a broker of a world to the type of replica assignors."""
    return BrokerState(broker.id, broker.rack, broker.capacity_bytes, broker.capacity_bytes_per_s)


def _rows(world: World, progress: ReplicationProgress) -> Iterator[_PartitionRow]:
    """Yield the partitions as Kafka's tools print them; with the target replicas if a reassignment is in progress."""
    for name in sorted(world.cluster.topics):
        topic = world.cluster.topics[name]
        for number in range(topic.num_partitions):
            key = TopicPartition(name, number)
            state = progress.replicas.state(key)
            replicas, in_sync = state.target or state.replicas, progress.replicas.live_in_sync(key)
            yield _PartitionRow(
                topic=name,
                number=number,
                replicas=replicas,
                leader=state.leader,
                in_sync=tuple(broker for broker in replicas if broker in in_sync),
                size_bytes=round(progress.held_bytes(key)),
                bytes_per_s=topic.bytes_per_s[number] if topic.has_rates else None,
            )


@lru_cache(maxsize=32)
def _plan(
    make_strategy: MakeStrategy,
    strategy: str,
    parameters: tuple[tuple[str, Any], ...],
    brokers: tuple[BrokerState, ...],
    rows: tuple[_PartitionRow, ...],
    retention: tuple[tuple[str, TopicRetention | None], ...],
    request: PlanRequest,
    topics: tuple[str, ...] | None,
) -> tuple[tuple[int, ...], ...] | str:
    """Return the replicas of every row, or the reason why there is no plan.

    The cache serves a comparison, in which every assignor needs the same plan.
    """
    state = ClusterState.of(
        brokers,
        {row.key: row.replicas for row in rows},
        leaders={row.key: row.leader for row in rows},
        size_bytes={row.key: row.size_bytes for row in rows},
        bytes_per_s={row.key: row.bytes_per_s for row in rows},
        retention=dict(retention),
        in_sync={row.key: row.in_sync for row in rows},
    )
    assignor = make_strategy(strategy, dict(parameters))
    plan = planning.plan(assignor, state, request, topics)
    if plan.replicas is None:
        return _explain_failure(plan)
    ids = state.ids.tolist()
    return tuple(tuple(ids[broker] for broker in row if broker != NO_BROKER) for row in plan.replicas.tolist())


def _explain_failure(plan: Plan) -> str:
    status = "not applicable" if plan.status is PlanStatus.NOT_APPLICABLE else str(plan.status)
    return f"{plan.reason} ({status})"
