"""Warnings about configs that Kafka accepts but that have no or an unexpected effect.

They also cover how clients close (too slowly, or as their release, protocol or platform does not support) and the
availability of topics (out-of-sync replicas, and writes that can never succeed).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from assignors.model.configs import RackAwareStrategy
from scenarios.events.closing_event import LEAVE_ON_CLOSE
from scenarios.events.event_entry import listed_events
from scenarios.language.application_entries import ClientEntry
from scenarios.language.cluster_entries import parse_topic_configs
from scenarios.language.errors import format_list, format_value
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.releases import (
    NEWEST,
    has_leave_group_config,
    has_transactional_stores,
    parse_release,
)
from scenarios.language.units import format_duration
from scenarios.language.unmodeled_configs import SET_BY_COORDINATOR
from scenarios.language.validation import SourceMap
from scenarios.references import CLUSTER, Brokers, ResolvedClients
from scenarios.resolution.application import APPLICATION
from scenarios.resolution.assignors import AssignorSpec
from scenarios.resolution.events import ResolvedEvents
from scenarios.sampling.blueprint import Blueprint, TopicBlueprint, TopicDefaults
from scenarios.schema import ScenarioDocument
from simulator.brokers.replication_progress import lagging_brokers
from simulator.brokers.safe_restarts import unsafe_restarts
from simulator.plurals import counted
from simulator.world.disturbances import TrafficChange
from simulator.world.group_configs import GroupProtocol
from simulator.world.layout import lay_out
from simulator.world.world import Subtopology

_BUSY_SHARES: Final = 2
"""A task is named as busy if it gets this many times the even share of a thread."""


def warn_about_availability(topics: Iterable[TopicBlueprint], defaults: TopicDefaults, source_map: SourceMap) -> None:
    """Warn about out-of-sync replicas, and about topics with fewer replicas than `min.insync.replicas`."""
    topics = list(topics)
    out_of_sync = [
        f"{plan.name}-{number} (broker {', '.join(str(broker) for broker in replicas if broker not in in_sync)})"
        for plan in topics
        for number, (replicas, in_sync) in enumerate(zip(plan.replicas or (), plan.in_sync or (), strict=False))
        if set(replicas) - set(in_sync)
    ]
    if out_of_sync:
        label = "replicas that are out of sync until their broker restarts during the run"
        source_map.add_warning(CLUSTER, format_list(label, out_of_sync, max_names=4))
    under_replicated = [
        plan.name
        for plan in topics
        if plan.replication_factor
        < (parse_topic_configs(plan.configs).min_insync_replicas or defaults.min_insync_replicas)
    ]
    if under_replicated:
        label = "topics with fewer replicas than min.insync.replicas, which reject writes with acks=all"
        source_map.add_warning(CLUSTER, format_list(label, under_replicated, max_names=4))


def warn_about_default_factor(
    document: ScenarioDocument, blueprint: Blueprint, assignors: Sequence[AssignorSpec], source_map: SourceMap
) -> None:
    """Warn about topics with one replica because nothing states their replication factor, where it decides something.

    It decides which failures of brokers stop tasks, and which partitions rack-aware assignors count as cross-rack.
    """
    fails = any(event.brokers_fail for _, _, event in listed_events(document.events))
    is_rack_aware = any(spec.configs.rack_aware_assignment_strategy is not RackAwareStrategy.NONE for spec in assignors)
    defaulted = blueprint.topics_with_default_factor()
    if defaulted and len(blueprint.brokers) > 1 and (fails or is_rack_aware):
        consequence = "any broker's failure stops tasks, and few clients have a replica in their rack"
        source_map.add_warning((*CLUSTER, "configs"), f"{describe_default_factor(defaulted)}; {consequence}")


def describe_default_factor(topics: Iterable[str]) -> str:
    """Return which topics have one replica because nothing states their replication factor."""
    label = "default.replication.factor is not set (Kafka's default: 1), so these topics have one replica"
    return format_list(label, topics, max_names=3)


def warn_about_unlimited_processing(blueprint: Blueprint, seed: int, source_map: SourceMap) -> None:
    """Warn that no limit of processing is modeled, where nothing but the load of the threads could be the result.

    That is a scenario without events and without racks whose busiest task gets much more than the others. It keeps its
    thread busy alone, so that no assignment helps if the thread processes less.
    """
    clients = [client for client in blueprint.clients if client.starts]
    threads = sum(client.threads for client in clients)
    has_racks = len({broker.rack for broker in blueprint.brokers if broker.rack is not None}) > 1
    if blueprint.events or has_racks or any(client.records_per_s is not None for client in clients):
        return
    layout = lay_out(blueprint.world(seed))
    records_per_s, share = layout.input_records_per_s, layout.input_records_per_s.sum() / max(threads, 1)
    if len(records_per_s) and records_per_s.max() >= _BUSY_SHARES * share > 0:
        busiest = int(records_per_s.argmax())
        part, member = ("partition", "consumer") if blueprint.application.is_consumer_group else ("task", "thread")
        source_map.add_warning(
            ("clients",),
            f"records_per_s is not set, so it is not modeled whether {member}s keep up: {part} "
            f"{layout.tasks.ids[busiest]} gets {records_per_s[busiest]:,.0f} records/s, "
            f"{records_per_s[busiest] / share:.1f} times an even share of "
            f"{counted(threads, member)}",
        )


def warn_about_replication(blueprint: Blueprint, seed: int, events: ResolvedEvents, source_map: SourceMap) -> None:
    """Warn about replicas that cannot keep up with what is produced, and about restarts that do not wait for replicas.

    `seed` places the replicas.
    """
    traffic = [event for event in blueprint.events if isinstance(event, TrafficChange)]
    if not any(change.at_ms == 0 for change in traffic):
        traffic.append(TrafficChange(0, 1.0))
    copied = max(change.factor for change in traffic) * sum(
        (topic.replication_factor - 1) * max(map(sum, (topic.bytes_per_s, *topic.hourly_bytes_per_s)))
        for topic in blueprint.topics
    )
    may_lag = copied > min((broker.replication_bytes_per_s for broker in blueprint.brokers), default=0)
    restarts = events.broker_restarts()
    has_restarts = sum(len(bounce.brokers) for _, bounce in restarts) > 1
    if not may_lag and not has_restarts:
        return
    world = replace(blueprint, events=()).world(seed)
    if lagging := lagging_brokers(world, traffic) if may_lag else ():
        label = "brokers that replicate less than is produced for their replicas, which leave the in-sync set"
        source_map.add_warning((*CLUSTER, "brokers"), format_list(label, lagging, max_names=6))
    bounces = [bounce for _, bounce in restarts]
    unsafe_events = unsafe_restarts(world, bounces, events.profile.changes) if has_restarts else []
    for position, unsafe in enumerate(unsafe_events):
        path, event = restarts[unsafe.number]
        safe = None if unsafe.safe_ms is None else format_duration(unsafe.safe_ms)
        if unsafe.place == 0:
            path, stops = (*path[:-1], "at"), f"stops at {format_duration(event.at_ms)},"
            remedy = f"the earliest safe time is {safe}" if safe else "no time within a day is safe"
        else:
            path, stops = (*path, "pause"), "stops"
            remedy = f"a pause of {safe} suffices" if safe else "no pause within a day suffices"
        condition = "once the restarts before it are safe, " if position else ""
        problem = f"{stops} before the replicas of broker {unsafe.before} are in sync again"
        source_map.add_warning(path, f"{condition}broker {event.brokers[unsafe.place]} {problem}; {remedy}")


def warn_about_closing(
    document: ScenarioDocument, clients: ResolvedClients, assignors: Sequence[AssignorSpec], source_map: SourceMap
) -> None:
    """Add a warning for each event whose clients cannot close as it says.

    `document`: valid; `assignors`: those to compare, whose group protocols may differ.
    """
    application, configs = document.application, document.application.configs
    protocols = {spec.protocol or GroupProtocol(configs.group_protocol) for spec in assignors}
    for _, path, event in listed_events(document.events):
        for key, message in event.closing_warnings(application, clients, protocols):
            source_map.add_warning((*path, key), message)
    if configs.leave_group_on_close and not has_leave_group_config(parse_release(application.kafka or NEWEST)):
        release = application.kafka or f"{NEWEST} by default"
        message = (
            f"does not exist from Kafka 4.2 on (application.kafka: {release}), so clients remain in the group; set "
            "leaves_group: true of events, or application.kafka to the release of the clients"
        )
        source_map.add_warning((*APPLICATION, "configs", LEAVE_ON_CLOSE), message)


_CONFIGS: Final[ScenarioPath] = (*APPLICATION, "configs")
_STRATEGY: Final = "rack.aware.assignment.strategy"
_STANDBYS: Final = "num.standby.replicas"
_RECOVERY_LAG: Final = "acceptable.recovery.lag"
_TAGS: Final = "rack.aware.assignment.tags"
_MAX_LISTED: Final = 4


@dataclass(frozen=True, slots=True)
class WarningContext:
    """The parts of a valid scenario that the warnings depend on; assignors are in the order of the scenario."""

    document: ScenarioDocument
    clients: ResolvedClients
    brokers: Brokers
    subtopologies: Sequence[Subtopology]
    assignors: Sequence[AssignorSpec]
    source_map: SourceMap

    def config_path(self, number: int, key: str) -> ScenarioPath:
        """Return the path that sets a config of an assignor: its own entry, or the application's configs."""
        own = ("assignors", number, "configs", key)
        return own if key in self.assignors[number].changed else (*_CONFIGS, key)

    def stated(self, field: str, key: str, assignors: Iterable[int]) -> Iterator[tuple[ScenarioPath, Any]]:
        """Yield the values of a config with their paths: those of some assignors, and of each event that sets it."""
        for number in assignors:
            yield self.config_path(number, key), getattr(self.assignors[number].configs, field)
        for _, path, event in listed_events(self.document.events):
            configs = event.changed_configs
            if configs is not None and field in configs.model_fields_set:
                yield (*path, "configs", key), getattr(configs, field)


def warn_about_configs(context: WarningContext) -> None:
    """Add a warning for each ineffective config."""
    checks: tuple[Callable[[WarningContext], Iterator[tuple[ScenarioPath, str]]], ...] = (
        _warn_about_racks_without_brokers,
        _warn_about_clients_without_racks,
        _warn_about_default_costs,
        _warn_about_too_many_standbys,
        _warn_about_tags_and_racks,
        _warn_about_commit_markers,
        _warn_about_transactional_stores,
        _warn_about_timeouts_of_streams_groups,
    )
    for check in checks:
        for path, message in check(context):
            context.source_map.add_warning(path, message)


def _warn_about_racks_without_brokers(context: WarningContext) -> Iterator[tuple[ScenarioPath, str]]:
    """Warn about client racks without brokers: Kafka does not check rack names, and no partition is local there."""
    known = context.brokers.racks
    first: dict[str, ScenarioPath] = {}
    for i, entry in valid_entries(context.document.clients):
        for path, rack in _stated_racks(entry, ("clients", i)):
            if rack not in known:
                first.setdefault(rack, path)
    if first and not known:
        yield (
            next(iter(first.values())),
            "no broker has a rack, so rack-aware assignment is disabled, and all traffic is cross-rack",
        )
        return
    for rack, path in first.items():
        problem = f"no broker is in rack {format_value(rack)} ({format_list('racks of brokers', known)})"
        yield path, f"{problem}, so all traffic of its clients is cross-rack"


def _stated_racks(entry: ClientEntry, path: ScenarioPath) -> Iterator[tuple[ScenarioPath, str]]:
    if entry.rack is not None:
        yield (*path, "rack"), entry.rack
    yield from (((*path, "racks", i), rack) for i, rack in enumerate(entry.racks or ()))


def _warn_about_clients_without_racks(context: WarningContext) -> Iterator[tuple[ScenarioPath, str]]:
    """Warn about rack-aware strategies that Kafka disables while a client does not set client.rack.

    Source: `org.apache.kafka.streams.processor.internals.assignment.RackAwareTaskAssignor.validateClientRack`.
    """
    without = [plan.name for plan in context.clients.plans if plan.rack is None or not plan.announces_rack]
    if not without or any(event.sets_client_rack for _, _, event in listed_events(context.document.events)):
        return
    reading = [number for number, spec in enumerate(context.assignors) if not spec.info.ignores(_STRATEGY)]
    names = format_list("without it", without, max_names=_MAX_LISTED)
    for path, strategy in dict(context.stated("rack_aware_assignment_strategy", _STRATEGY, reading)).items():
        if strategy != RackAwareStrategy.NONE:
            yield path, f"has an effect only while every client of the group sets client.rack ({names})"


def _warn_about_default_costs(context: WarningContext) -> Iterator[tuple[ScenarioPath, str]]:
    """Warn about sticky assignors whose default costs make the rack-aware strategy ineffective.

    Source: `LegacyStickyTaskAssignor`; `TaskAssignmentUtils.canPerformRackAwareOptimization`, Kafka 4.3.1.
    """
    read = max(
        (len(subtopology.source_topics) for subtopology in context.subtopologies if subtopology.stores), default=0
    )
    partitions = counted(read, "partition")
    keys = "rack.aware.assignment.traffic_cost and rack.aware.assignment.non_overlap_cost"
    for number, spec in enumerate(context.assignors):
        info, configs = spec.info, spec.configs
        strategy, costs = configs.rack_aware_assignment_strategy, info.weights.configured(configs)
        are_stated = None not in (configs.rack_aware_traffic_cost, configs.rack_aware_non_overlap_cost)
        if strategy is RackAwareStrategy.NONE or are_stated:
            continue
        path = context.config_path(number, _STRATEGY)
        if info.needs_costs:
            yield path, f"{spec.label} is rack-aware only if {keys} are both set, so {strategy} has no effect"
        elif info.weights.traffic_cost < info.weights.non_overlap_cost and 0 < read * costs.traffic_cost <= (
            costs.non_overlap_cost
        ):
            yield (
                path,
                f"{spec.label}: a cross-rack partition costs {costs.traffic_cost}, a move {costs.non_overlap_cost}, "
                f"and stateful tasks read at most {partitions}, so {strategy} moves none of them; set {keys}",
            )


def _warn_about_too_many_standbys(context: WarningContext) -> Iterator[tuple[ScenarioPath, str]]:
    """Warn about more standbys than clients allow: a client holds at most one copy of a task."""
    max_standbys = len(context.clients.plans) - 1
    if not any(subtopology.stores for subtopology in context.subtopologies) or max_standbys < 0:
        return
    for path, standbys in context.stated("num_standby_replicas", _STANDBYS, range(len(context.assignors))):
        if standbys > max_standbys:
            clients = counted(max_standbys + 1, "client")
            needed = f"{counted(standbys, 'standby')} and the active task need {standbys + 1} clients"
            yield path, f"{needed}; with {clients}, a task has at most {max_standbys}"


def _warn_about_tags_and_racks(context: WarningContext) -> Iterator[tuple[ScenarioPath, str]]:
    """Warn about tags together with `client.rack`: tags take precedence for standbys (KIP-925, D, option III).

    Source: `StandbyTaskAssignorFactory`, `TaskAssignmentUtils.defaultStandbyTaskAssignment`, Kafka 4.3.1.
    """
    announcing = [plan for plan in context.clients.plans if plan.rack is not None and plan.announces_rack]
    for number, spec in enumerate(context.assignors):
        tags = spec.configs.rack_aware_assignment_tags
        if not announcing or not tags or spec.info.ignores(_TAGS):
            continue
        conflict = f"clients also set client.rack, but standbys are distributed over tags ({', '.join(tags)})"
        differing = [plan.name for plan in announcing if plan.rack not in [plan.tags.get(tag) for tag in tags]]
        hint = f"; {format_list('no tag equals client.rack of', differing, max_names=_MAX_LISTED)}" if differing else ""
        yield context.config_path(number, _TAGS), conflict + hint


def _warn_about_commit_markers(context: WarningContext) -> Iterator[tuple[ScenarioPath, str]]:
    """Warn about an accepted lag that no copy reaches under exactly-once: a commit marker ends each changelog.

    Source: `simulator.flows.lag_reports`.
    """
    if context.document.application.configs.processing_guarantee != "exactly_once_v2":
        return
    most, owner = max((_count_written_changelogs(part), -part.id) for part in context.subtopologies)
    using = [number for number, spec in enumerate(context.assignors) if not spec.info.ignores(_RECOVERY_LAG)]
    if not using:
        return
    for path, lag in context.stated("acceptable_recovery_lag", _RECOVERY_LAG, using):
        if lag < most:
            changelogs = counted(most, "changelog")
            yield (
                path,
                f"{lag} is less than {most}, the lag of a caught-up copy in subtopology {-owner}: it has {changelogs}, "
                "and with processing.guarantee: exactly_once_v2, a commit marker ends each changelog. Warm-ups and "
                "clients that return never count as caught up",
            )


def _warn_about_transactional_stores(context: WarningContext) -> Iterator[tuple[ScenarioPath, str]]:
    """Warn about transactional stores of clients that do not have them: Kafka ignores unknown configs."""
    application = context.document.application
    release = application.kafka or NEWEST
    if application.configs.transactional_stores and not has_transactional_stores(parse_release(release)):
        message = f"has no effect on Kafka Streams {release} (application.kafka), which has no transactional stores"
        yield (*_CONFIGS, "enable.transactional.statestores"), message


def _warn_about_timeouts_of_streams_groups(context: WarningContext) -> Iterator[tuple[ScenarioPath, str]]:
    """Warn about timeouts of clients whose groups are all streams groups: their coordinator has its own."""
    configs, cluster = context.document.application.configs, context.document.cluster
    protocols = {spec.protocol or GroupProtocol(configs.group_protocol) for spec in context.assignors}
    if protocols != {GroupProtocol.STREAMS}:
        return
    release = parse_release(cluster.kafka or NEWEST)[:2]
    brokers = context.document.application.group_configs.apply_to(cluster.configs, release)
    for key in SET_BY_COORDINATOR:
        field = key.replace(".", "_")
        holding_ms = getattr(brokers, f"streams_{field}")
        if field in configs.model_fields_set and getattr(configs, field) != holding_ms:
            yield (
                (*_CONFIGS, key),
                f"has no effect with group.protocol: streams: group.streams.{key} ({format_duration(holding_ms)}) "
                f"holds; set streams.{key} under application.group_configs",
            )


def _count_written_changelogs(subtopology: Subtopology) -> int:
    """Return the number of changelogs that each task writes, without source topics that serve as changelogs."""
    changelogs = {store.changelog for store in subtopology.stores if store.changelog is not None}
    return len(changelogs - set(subtopology.source_topics))
