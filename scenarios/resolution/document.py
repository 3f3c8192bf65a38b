"""Resolve a document to the seed-independent part of a world, and report how its valid values do not fit together.

The size of the scenario and its seeds are checked, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assignors.model.configs import AssignmentConfigs
from scenarios.language.consumer_entries import ConsumerGroupEntry, ConsumerGroupSection
from scenarios.language.errors import Mistakes
from scenarios.language.event_entries import EventEntry
from scenarios.language.fields import valid_entries
from scenarios.language.releases import NEWEST, KafkaReleases
from scenarios.language.validation import SourceMap
from scenarios.references.clients import (
    check_configs,
    check_membership,
    check_streams_group,
    resolve_clients,
    warn_about_leak,
)
from scenarios.references.imported_files import ImportedFiles
from scenarios.resolution.application import resolve_application
from scenarios.resolution.assignors import AssignorSpec, resolve_assignors
from scenarios.resolution.cluster import resolve_cluster
from scenarios.resolution.config_warnings import (
    WarningContext,
    warn_about_availability,
    warn_about_closing,
    warn_about_configs,
    warn_about_default_factor,
    warn_about_replication,
    warn_about_unlimited_processing,
)
from scenarios.resolution.configs import (
    group_configs,
    resolve_group_configs,
    resolve_state_configs,
    resolve_times,
)
from scenarios.resolution.consumer_assignors import resolve_consumer_assignors
from scenarios.resolution.entry_releases import with_releases
from scenarios.resolution.event_context import EventContext
from scenarios.resolution.events import resolve_events
from scenarios.resolution.hosts import resolve_hosts
from scenarios.resolution.other_traffic import resolve_other_traffic
from scenarios.resolution.other_traffic_context import OtherTrafficContext
from scenarios.resolution.price import resolve_price, warn_about_dollars
from scenarios.resolution.reassignment_events import check_reassignments
from scenarios.resolution.rollouts import (
    check_rollouts_of_application,
    check_rollouts_of_group,
    first_assignor,
    rolled_out,
)
from scenarios.resolution.running_application import KnownTasks, check_start, resolve_tasks
from scenarios.resolution.subscriptions import with_consumer_properties
from scenarios.resolution.subtopology_drafts import APPLICATION
from scenarios.resolution.traffic import resolve_traffic
from scenarios.resolution.upgrades import Releases
from scenarios.resolution.workload_events import (
    lag_scalings,
    mark_absent_pods,
    mark_renamed_pods,
    resolve_manifests,
    workload_notes,
)
from scenarios.sampling.blueprint import MAX_TASK_CLIENT_PAIRS, Blueprint, TopicDefaults
from scenarios.sampling.neighbor_worlds import without_cluster_events
from scenarios.schema import ScenarioDocument
from simulator.world.group_configs import GroupConfigs, GroupProtocol
from simulator.world.world import Application, Start


def check_size(num_tasks: int, num_clients: int, source_map: SourceMap) -> None:
    """Report more tasks times clients than can be simulated."""
    if num_tasks * num_clients > MAX_TASK_CLIENT_PAIRS:
        product = f"{num_tasks:,} tasks on {num_clients:,} clients are {num_tasks * num_clients:,} pairs"
        source_map.add_mistake((), f"{product}, more than the {MAX_TASK_CLIENT_PAIRS:,} that can be simulated")


def check_seeds(seeds: Sequence[int], source_map: SourceMap) -> None:
    """Report duplicate seeds."""
    seen: set[int] = set()
    for i, seed in enumerate(seeds):
        if seed in seen:
            source_map.add_mistake(("seeds", i), f"duplicate seed {seed}")
        seen.add(seed)


@dataclass(frozen=True, slots=True)
class ResolvedDocument:
    """What the document of an application or a consumer group describes.

    Attributes:
        blueprint: the seed-independent part of the world.
        assignors: the assignors to compare.
        notes: what was inferred from imported files, one line each.
        group: the consumer group; None for an application of Kafka Streams.
    """

    blueprint: Blueprint
    assignors: tuple[AssignorSpec, ...]
    notes: tuple[str, ...]
    group: ConsumerGroupEntry | None


def resolve_document(
    document: ScenarioDocument,
    name: str,
    files: ImportedFiles,
    source_map: SourceMap,
    mistakes: Mistakes,
    *,
    is_main: bool,
    assignors: tuple[AssignorSpec, ...] | None = None,
    releases: KafkaReleases | None = None,
) -> ResolvedDocument:
    """Resolve a document, and report all mistakes in it.

    Returns what the document describes; to be used only if there are no mistakes.

    Args:
        document: the document of an application or a consumer group.
        files: reads the files that the scenario imports.
        source_map: collects mistakes in the document, and warnings.
        mistakes: collects mistakes in imported files; those of the source map are among them.
        is_main: whether its events of brokers, racks and replicas happen: no for what runs beside a scenario.
        releases: the releases of the document, if they are those of some of the assignors and not of the scenario.
    """
    streams_configs, path = document.application.configs, (*APPLICATION, "configs")
    cluster = resolve_cluster(document.cluster, files, source_map, mistakes)
    application = resolve_application(document.application, cluster, files, source_map, mistakes)
    has_valid_application = not mistakes
    document, workloads = resolve_manifests(document, cluster, application, files, source_map, mistakes)
    clients = resolve_clients(document.clients, streams_configs.num_stream_threads, source_map)
    group = document.application.entry if isinstance(document.application, ConsumerGroupSection) else None
    if group is not None:
        with_consumer_properties(clients, group)
    mark_absent_pods(clients, workloads)
    hosts = resolve_hosts(document.hosts, document.clients, clients, source_map)
    clients.check_tags(streams_configs.rack_aware_assignment_tags, (*path, "rack.aware.assignment.tags"), source_map)
    changes: dict[str, Any] = check_configs(streams_configs, path, source_map)
    configs = AssignmentConfigs(**changes)
    traffic = resolve_traffic(document.traffic, application, files, source_map)
    known: KnownTasks | None = None
    if has_valid_application:
        known = KnownTasks.of(application.subtopologies, traffic.topics, are_partitions=group is not None)
    task_notes = resolve_tasks(document.clients, clients, known, source_map, has_consumers=group is not None)
    context = EventContext(
        brokers=cluster.brokers,
        clients=clients,
        topics=traffic.topics,
        all_topics=None if cluster.all_names is None or mistakes else cluster.all_names.union(application.topics),
        subtopologies=application.subtopologies,
        budget=cluster.budget,
        traffic=traffic,
        duration_ms=document.duration if source_map.is_valid("duration") else None,
        releases=Releases(document, source_map),
        files=files,
        source_map=source_map,
        mistakes=mistakes,
    )
    context.releases.check()
    events = (*resolve_events(document.events, context), *lag_scalings(workloads))
    mark_renamed_pods(clients, workloads, events)
    release = document.cluster.kafka
    if group is None:
        check_rollouts_of_application(document, source_map)
        if assignors is None:
            stated = KafkaReleases(release, document.application.kafka)
            assignors = resolve_assignors(
                document.assignors, configs, clients, stated, source_map, upgraded=context.releases.upgraded
            )
    else:
        first = first_assignor(group, clients.plans)
        last, _ = context.releases.at(document.duration)
        assignors = resolve_consumer_assignors(
            group, release, first, rolled_out(events, group.configs.strategies), source_map, last
        )
        check_rollouts_of_group(document, clients.plans, events, assignors, context.releases)
    broker_configs = document.cluster.configs_of_release()
    groups = resolve_group_configs(document.application, broker_configs, document.cluster.kafka, source_map)
    protocol = GroupProtocol(streams_configs.group_protocol)
    own = [spec for spec in assignors if spec.releases == releases]
    if releases is None:
        of_runs = (groups[protocol], *(_group_of(spec, document, groups) for spec in assignors))
        of_scenario = (document.application.kafka or NEWEST, document.cluster.kafka or NEWEST)
        check_membership(document.clients, of_runs, of_scenario, source_map)
    streams = next((spec for spec in own if (spec.protocol or protocol) is GroupProtocol.STREAMS), None)
    if streams is not None:
        of_entry = ("assignors", assignors.index(streams), "kafka")
        is_stated = protocol is GroupProtocol.STREAMS or releases is not None
        check_streams_group(
            (document.application.kafka, release),
            (*APPLICATION, "kafka") if releases is None else of_entry,
            is_stated=is_stated,
            source_map=source_map,
        )
    if releases is None:
        _warn_about_unused_releases(document, assignors, context.releases.upgraded, source_map)
    if own:
        warn_about_leak(document.application.kafka, source_map)
    check_start(document, {spec.protocol or protocol for spec in assignors}, source_map)
    other = OtherTrafficContext(
        application_id=document.application.id,
        application=application,
        topics=traffic.topics,
        all_topics=context.all_topics,
        racks=None if mistakes else {*cluster.brokers.racks, *(plan.rack for plan in clients.plans if plan.rack)},
        broker_racks=cluster.brokers.racks,
        standbys=configs.num_standby_replicas,
        source_map=source_map,
    )
    other_traffic = resolve_other_traffic(document.other_traffic, other, files)
    others = frozenset() if other_traffic.traffic is None else other_traffic.traffic.racks
    price = resolve_price(document.price, None if other.racks is None else {*other.racks, *others}, source_map)
    warn_about_dollars(price, assignors, source_map)
    check_seeds(document.seeds, source_map)
    check_size(application.num_tasks, len(clients.plans), source_map)
    defaults = TopicDefaults(broker_configs.min_insync_replicas, broker_configs.unclean_leader_election)
    blueprint = Blueprint(
        name=name,
        brokers=cluster.brokers.known or (),
        topics=tuple(traffic.topics.values()),
        topic_defaults=defaults,
        reads_from_nearest_replica=cluster.reads_from_nearest_replica,
        controller=cluster.controller,
        replica_lag_time_max_ms=broker_configs.replica_lag_time_max_ms,
        application=Application(
            id=document.application.id,
            subtopologies=application.subtopologies,
            assignment_configs=configs,
            group_configs=groups[protocol],
            acks_all=streams_configs.producer_acks == "all",
            state_configs=resolve_state_configs(document.application),
            times=resolve_times(document.application),
            is_consumer_group=group is not None,
            releases=(release or NEWEST, document.application.kafka or NEWEST),
        ),
        group_configs=groups,
        clients=clients.plans,
        events=events if is_main else without_cluster_events(events),
        duration_ms=document.duration,
        start=Start(document.application.starts),
        next_rebalance_ms=document.application.next_rebalance,
        price=price,
        hosts=hosts,
        other_traffic=other_traffic.traffic,
    )
    if not mistakes:
        paths = {
            event.at: ("events", i, "reassignment") for i, event in valid_entries(document.events) if event.reassignment
        }
        check_reassignments(blueprint, document.seeds[0], paths, source_map)
        warn_about_availability(traffic.topics.values(), defaults, source_map)
        warn_about_default_factor(document, blueprint, assignors, source_map)
        entries = list(valid_entries(document.events))
        restarts = [("events", i, kind) for i, event in entries if (kind := _restart_of_brokers(event)) is not None]
        profile = traffic.profile([(event.at, event.traffic.factor) for _, event in entries if event.traffic])
        warn_about_replication(blueprint, document.seeds[0], restarts, profile, source_map)
        if releases is None:
            warn_about_unlimited_processing(blueprint, document.seeds[0], source_map)
        if group is None and own:
            warn_about_configs(
                WarningContext(document, clients, cluster.brokers, application.subtopologies, assignors, source_map)
            )
            warn_about_closing(document, clients, own, source_map)
    notes = (*application.notes, *traffic.notes, *other_traffic.notes, *workload_notes(workloads), *task_notes)
    return ResolvedDocument(blueprint, assignors, notes, group)


def _warn_about_unused_releases(
    document: ScenarioDocument, assignors: Sequence[AssignorSpec], upgraded: Collection[str], source_map: SourceMap
) -> None:
    """Warn about a release of the scenario if every assignor states its own; upgrades need that of the scenario."""
    stated = {"brokers": document.cluster.kafka, "clients": document.application.kafka}
    for runner, path in (("brokers", ("cluster", "kafka")), ("clients", (*APPLICATION, "kafka"))):
        if stated[runner] is None or runner in upgraded or not assignors:
            continue
        if all(runner in spec.states for spec in assignors):
            source_map.add_warning(path, "no effect on the listed assignors: each states its own release in kafka")


def _group_of(
    spec: AssignorSpec, document: ScenarioDocument, groups: Mapping[GroupProtocol, GroupConfigs]
) -> GroupConfigs:
    """Return the group configs of the runs with an assignor; `groups` are those with the releases of the scenario."""
    if spec.releases is not None:
        document = with_releases(document, spec.releases)
        brokers = document.cluster.configs_of_release()
        groups = group_configs(document.application, brokers, spec.releases.brokers)
    return groups[spec.protocol or GroupProtocol(document.application.configs.group_protocol)]


def _restart_of_brokers(event: EventEntry) -> str | None:
    """Return the kind of an event that restarts brokers, None for any other event."""
    if event.broker_bounce is not None:
        return "broker_bounce"
    return "upgrade" if event.upgrade is not None and event.upgrade.brokers is not None else None
