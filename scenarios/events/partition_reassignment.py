"""A partition reassignment: its plan comes from a file, or a strategy computes it from the cluster at that time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import ConfigDict, Field

from assignors.errors import AssignorError, UnknownAssignorError
from assignors.model.ids import TopicPartition
from assignors.replicas import planning, registry
from assignors.replicas.plan import PlanRequest, PlanStatus, ReplicaAssignor
from assignors.replicas.state import NO_BROKER, BrokerState, ClusterState, TopicRetention
from scenarios.events.scenario_event import ClusterEvent, EventContext, LocatedEvent
from scenarios.kafka.formats.reassignment import PartitionReassignment, parse_reassignment
from scenarios.language.errors import Mistake, ScenarioError, did_you_mean, format_list, format_value
from scenarios.language.fields import (
    BrokerIds,
    Name,
    PositiveInt,
    RateLimit,
    ReplicationFactor,
    StrategyParameter,
    TopicName,
)
from scenarios.language.paths import ScenarioPath, format_path
from scenarios.language.units import format_duration
from scenarios.references import ImportedContent
from scenarios.sampling.blueprint import Blueprint
from scenarios.sampling.event_sampling import EventPlan, EventSampling
from simulator.brokers.replication_progress import ReplicationProgress
from simulator.timeline import replicas_at
from simulator.world.disturbances import LeaderElection, Reassignment, ReassignmentTarget
from simulator.world.world import Broker, World

_STRATEGY_KEYS: Final = ("strategy", "parameters", "topics", "remove_brokers", "replication_factor", "rack_aware")
"""The keys that apply only if a strategy plans the reassignment."""


@dataclass(frozen=True, slots=True)
class ReassignmentPlan(EventPlan):
    """A partition reassignment that a strategy plans from the cluster at that time.

    `path`: that of the event in the scenario. `strategy`: name in `assignors.replicas.registry`. `topics`: those that
    may change; None for all. `removed`: ids of brokers to decommission. `replication_factor`, `rack_aware`: as in
    `assignors.replicas.plan.PlanRequest`. The other fields are those of `simulator.world.disturbances.Reassignment`.
    """

    at_ms: int
    path: ScenarioPath
    strategy: str
    parameters: tuple[tuple[str, Any], ...]
    topics: tuple[str, ...] | None
    removed: tuple[int, ...]
    replication_factor: int | None
    rack_aware: bool
    throttle_bytes_per_s: int | None
    batch: int | None
    election: LeaderElection

    def realize(self, sampling: EventSampling) -> Iterator[Reassignment]:
        planned = plan_reassignment(self, replace(sampling.world, disturbances=tuple(sampling.known)))
        sampling.known.append(planned)
        yield planned


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
    """A strategy that finds no plan. `path`: that of the event in the scenario; `message`: the reason."""

    def __init__(self, source: str, path: ScenarioPath, message: str) -> None:
        self.path, self.message = path, message
        super().__init__([Mistake(source, None, format_path(path), message)])


MakeStrategy = Callable[[str, Mapping[str, Any]], ReplicaAssignor]
"""Creates a strategy from its name and parameters."""


def make_built_in(name: str, parameters: Mapping[str, Any]) -> ReplicaAssignor:
    """Create a built-in strategy."""
    return registry.make(registry.find_strategy(name), parameters)


def plan_reassignment(
    event: ReassignmentPlan, world: World, make_strategy: MakeStrategy = make_built_in
) -> Reassignment:
    """Compute a reassignment of the partitions whose replicas change, with the strategy of the event.

    `world`: with all earlier disturbances of brokers and partitions. Raises NoPlanError if the strategy finds no plan.
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


def to_replica_broker(broker: Broker) -> BrokerState:
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
        status = "not applicable" if plan.status is PlanStatus.NOT_APPLICABLE else str(plan.status)
        return f"{plan.reason} ({status})"
    ids = state.ids.tolist()
    return tuple(tuple(ids[broker] for broker in row if broker != NO_BROKER) for row in plan.replicas.tolist())


class ReassignmentEvent(ClusterEvent):
    """A partition reassignment: new replicas copy the data, then the old ones are removed.

    The plan comes from a file, or a strategy computes it from the cluster at that time.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["plan"], "not": {"anyOf": [{"required": [key]} for key in _STRATEGY_KEYS]}},
                {"required": ["strategy"], "not": {"required": ["plan"]}},
            ]
        }
    )
    example = """\
events:
  - at: 30m
    reassignment: {strategy: exact_flow, remove_brokers: [5], throttle: 50 MB/s}
"""

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

    def resolve(self, context: EventContext) -> Iterator[Reassignment | ReassignmentPlan]:
        election = LeaderElection(self.elects_leaders)
        if self.plan is not None:
            for key in _STRATEGY_KEYS:
                if getattr(self, key) is not None:
                    context.report("conflicts with plan; remove this", key)
            plan = context.files.read((*context.path, "plan"), self.plan, parse_reassignment)
            targets = () if plan is None else tuple(_targets(plan, context))
            yield Reassignment(context.at_ms, targets, self.throttle, self.batch, election)
        elif self.strategy is not None:
            self._check_strategy(self.strategy, context)
            context.check_brokers(self.remove_brokers or (), "remove_brokers")
            self._check_topics(context)
            yield ReassignmentPlan(
                at_ms=context.at_ms,
                path=context.path,
                strategy=self.strategy,
                parameters=tuple((self.parameters or {}).items()),
                topics=None if self.topics is None else tuple(self.topics),
                removed=tuple(self.remove_brokers or ()),
                replication_factor=self.replication_factor,
                rack_aware=self.rack_aware is not False,
                throttle_bytes_per_s=self.throttle,
                batch=self.batch,
                election=election,
            )
        elif context.is_valid():
            context.report("no plan; set plan: FILE, or strategy: NAME")

    def _check_strategy(self, name: str, context: EventContext) -> None:
        try:
            info = registry.find_strategy(name)
            strategy_class = info.find_class()
        except UnknownAssignorError as error:
            context.report(str(error), "strategy")
            return
        defaults: dict[str, Any] = (
            {field.name: field.default for field in fields(strategy_class)} if is_dataclass(strategy_class) else {}
        )
        for key, value in (self.parameters or {}).items():
            if key not in defaults:
                remark = did_you_mean(key, list(defaults), "parameters")
                context.report(f"not a parameter of {name} ({remark})", "parameters", key)
                return
            if not _has_type_of(value, defaults[key]):
                message = f"{format_value(value)} is not a valid value (default: {format_value(defaults[key])})"
                context.report(message, "parameters", key)
                return
        try:
            registry.make(info, self.parameters)
        except UnknownAssignorError as error:
            context.report(str(error), "parameters")

    def _check_topics(self, context: EventContext) -> None:
        for i, name in enumerate(self.topics or ()):
            problem = context.partition_problem(name, 0)
            if problem is not None:
                context.report(problem[1], "topics", i)

    @classmethod
    def check_worlds(cls, events: Sequence[LocatedEvent], blueprint: Blueprint, seed: int) -> None:
        """Report strategies without a plan, and warn about reassignments that do not complete."""
        try:
            world = blueprint.world(seed)
        except NoPlanError as error:
            events[0].context.source_map.add_mistake(error.path, error.message)
            return
        context_of = {located.context.at_ms: located.context for located in events}
        at_end = replicas_at(world, world.duration_ms)
        lagging = [str(name) for name in at_end.falling_behind()]
        for reassignment, left in at_end.unfinished():
            status = f"not complete when the run ends at {format_duration(world.duration_ms)}"
            advice = "set a longer duration or a higher throttle"
            message = f"{status}: {left:,} of {len(reassignment.targets):,} partitions remain; {advice}"
            context_of[reassignment.at_ms].warn(message)
        if lagging:
            problem = "the throttle does not exceed the produce rate, so the reassignment never completes"
            message = f"{problem} ({format_list('partitions', lagging, max_names=4)})"
            context_of[at_end.unfinished()[0][0].at_ms].warn(message, "throttle")


def _has_type_of(value: object, default: object) -> bool:
    """Return whether a value has the type of the default; True if the default has no scalar type."""
    if isinstance(default, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    kind = next((kind for kind in (bool, int, str) if isinstance(default, kind)), None)
    return kind is None or (isinstance(value, kind) and isinstance(value, bool) is (kind is bool))


def _targets(
    plan: ImportedContent[tuple[PartitionReassignment, ...]], context: EventContext
) -> Iterator[ReassignmentTarget]:
    """Yield the targets of a plan up to the first invalid one, which is reported."""
    for move in plan.content:
        problem = context.partition_problem(move.topic, move.partition)
        unknown = [broker for broker in move.replicas if broker not in context.brokers.ids]
        if problem is None and unknown and context.brokers.known is not None:
            brokers = format_list("brokers", context.brokers.ids)
            problem = "replicas", f"unknown broker {unknown[0]} ({brokers})"
        if problem is not None:
            context.mistakes.add(Mistake(plan.source, move.line, "", f"{move.topic}-{move.partition}: {problem[1]}"))
            return
        yield ReassignmentTarget(TopicPartition(move.topic, move.partition), move.replicas)
