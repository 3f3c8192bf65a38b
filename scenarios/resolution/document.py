"""Resolve a document to the seed-independent part of a world, and report how its valid values do not fit together.

The size of the scenario, its seeds and the price of cross-rack traffic are checked, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from assignors.model.configs import AssignmentConfigs
from scenarios.events.scenario_event import EventContext, Releases
from scenarios.language.consumer_entries import ConsumerGroupEntry, ConsumerGroupSection
from scenarios.language.errors import Mistakes, did_you_mean, format_list, format_value
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.releases import NEWEST, KafkaReleases
from scenarios.language.traffic_entries import PRICES, PairPriceEntry, PriceEntry
from scenarios.language.validation import SourceMap
from scenarios.references import (
    ImportedFiles,
    check_configs,
    check_membership,
    check_streams_group,
    resolve_clients,
    warn_about_leak,
)
from scenarios.resolution.application import APPLICATION, resolve_application
from scenarios.resolution.assignors import AssignorSpec, resolve_assignors, resolve_consumer_assignors, with_releases
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
from scenarios.resolution.consumer_groups import (
    check_rollouts_of_application,
    check_rollouts_of_group,
    first_assignor,
    rolled_out,
    with_consumer_properties,
)
from scenarios.resolution.events import resolve_events
from scenarios.resolution.other_traffic import OtherTrafficContext, resolve_other_traffic
from scenarios.resolution.running_application import KnownTasks, check_start, resolve_hosts, resolve_tasks
from scenarios.resolution.traffic import resolve_traffic
from scenarios.resolution.workloads import (
    mark_absent_pods,
    mark_renamed_pods,
    resolve_manifests,
)
from scenarios.sampling.blueprint import MAX_TASK_CLIENT_PAIRS, Blueprint, TopicDefaults
from scenarios.schema import ScenarioDocument
from simulator.world.group_configs import GroupConfigs, GroupProtocol
from simulator.world.world import Application, PairPrice, Price, Start

_PRICE: Final[ScenarioPath] = ("price",)
_PAIRS: Final = (*_PRICE, "pairs")


def resolve_price(entry: PriceEntry | None, racks: Collection[str] | None, source_map: SourceMap) -> Price | None:
    """Return the price of the scenario or the provider's built-in price; report a provider without a price.

    `racks`: the racks of brokers, clients and other traffic; None if not all are known.
    """
    if entry is None:
        return None
    price = _usual_price(entry, source_map)
    pairs: dict[tuple[str, str], PairPrice] = {}
    listed: dict[tuple[str, str], int] = {}
    for i, pair in valid_entries(entry.pairs):
        path = (*_PAIRS, i)
        _check_racks(pair, path, racks, source_map)
        cost = PairPrice(pair.usd_per_gb, _received(pair, path, price, source_map))
        for key in _directions(pair, path, source_map):
            if key in listed:
                message = f"{key[0]} → {key[1]} has a price in pairs[{listed[key]}] already; list it once"
                source_map.add_mistake(path, message)
            listed.setdefault(key, i)
            pairs[key] = cost
    return price if price is None or not pairs else replace(price, pairs=pairs)


def warn_about_dollars(price: Price | None, assignors: Sequence[AssignorSpec], source_map: SourceMap) -> None:
    """Warn about assignors that minimize dollars, which take one price for all pairs of racks."""
    if price is None or not price.pairs:
        return
    for number, spec in enumerate(assignors):
        if spec.parameters.get("minimizes") == "dollars":
            message = f"{spec.label} minimizes dollars at ${price.usd_per_gb:g} per GB between all racks, without pairs"
            source_map.add_warning(("assignors", number), message)


def _usual_price(entry: PriceEntry, source_map: SourceMap) -> Price | None:
    """Return the price of pairs that are not listed."""
    known = PRICES.get(entry.provider.lower())
    if entry.usd_per_gb is not None:
        return Price(entry.provider, entry.usd_per_gb, "the scenario", _received(entry, _PRICE, known, source_map))
    if known is None and source_map.is_valid("price"):
        hint = did_you_mean(entry.provider.lower(), list(PRICES), "providers")
        advice = "or set a price: {provider: mine, usd_per_gb: 0.03}"
        source_map.add_mistake(
            ("price", "provider"), f"no built-in price of {format_value(entry.provider)} ({hint}); {advice}"
        )
    elif entry.received_usd_per_gb is not None and source_map.is_valid("price"):
        source_map.add_mistake(("price", "received_usd_per_gb"), "is a part of usd_per_gb; set usd_per_gb, too")
    return known


def _received(
    entry: PriceEntry | PairPriceEntry, path: ScenarioPath, usual: Price | None, source_map: SourceMap
) -> float:
    """Return the receiver's part of a price; by default, the same fraction as of the usual price."""
    total, received = entry.usd_per_gb or 0.0, entry.received_usd_per_gb
    if received is None:
        if usual is None or usual.usd_per_gb <= 0:
            return 0.0
        return usual.received_usd_per_gb / usual.usd_per_gb * total
    if received > total:
        message = f"{received:g} is more than usd_per_gb: {total:g}, of which it is a part"
        source_map.add_mistake((*path, "received_usd_per_gb"), message)
    return received


def _directions(pair: PairPriceEntry, path: ScenarioPath, source_map: SourceMap) -> Iterator[tuple[str, str]]:
    """Yield the pairs of different racks of an entry, each once; report an entry without any."""
    pairs = [(source, target) for source in pair.from_racks for target in pair.to_racks if source != target]
    if not pairs:
        source_map.add_mistake(path, "from and to are the same rack; only traffic between racks has a price")
    opposite = [(target, source) for source, target in pairs] if pair.both_ways else []
    yield from dict.fromkeys([*pairs, *opposite])


def _check_racks(
    pair: PairPriceEntry, path: ScenarioPath, racks: Collection[str] | None, source_map: SourceMap
) -> None:
    """Report racks that nothing is in."""
    for key, names in (("from", pair.from_racks), ("to", pair.to_racks)):
        for rack in names:
            if racks is not None and rack not in racks:
                message = f"unknown rack {format_value(rack)} ({format_list('racks', sorted(racks))})"
                source_map.add_mistake((*path, key), message)


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

    `notes`: what was inferred from imported files, one line each. `group`: None for an application of Kafka Streams.
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
    """Resolve a document, and report all mistakes in it; the result is to be used only if there are none.

    `mistakes` collects those in imported files, and has those of the source map. `is_main`: whether events of brokers,
    racks and replicas happen: no for what runs beside a scenario. `releases`: those of the document, if they are those
    of some of the assignors and not of the scenario.
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
    own_releases = KafkaReleases(document.cluster.kafka, document.application.kafka)
    context = EventContext(
        brokers=cluster.brokers,
        clients=clients,
        topics=traffic.topics,
        all_topics=None if cluster.all_names is None or mistakes else cluster.all_names.union(application.topics),
        num_partitions={name: plan.num_partitions for name, plan in traffic.topics.items()},
        subtopologies=application.subtopologies,
        budget=cluster.budget,
        source_bytes_per_s=traffic.source_bytes_per_s,
        duration_ms=document.duration if source_map.is_valid("duration") else None,
        releases=Releases(own_releases, [], partial(_configs_of, document)),
        files=files,
        source_map=source_map,
        mistakes=mistakes,
    )
    scalings = (workload.scaling for workload in workloads if workload.scaling is not None)
    resolved = resolve_events(document.events, context, traffic, is_main=is_main)
    events = (*resolved.planned, *scalings)
    mark_renamed_pods(clients, workloads, events)
    release = document.cluster.kafka
    if group is None:
        check_rollouts_of_application(document, source_map)
        if assignors is None:
            assignors = resolve_assignors(
                document.assignors, configs, clients, own_releases, source_map, upgraded=context.releases.upgraded
            )
    else:
        first = first_assignor(group, clients.plans)
        last = context.releases.at(document.duration).brokers
        assignors = resolve_consumer_assignors(
            group, release, first, rolled_out(events, group.configs.strategies), source_map, last
        )
        check_rollouts_of_group(document, clients.plans, events, assignors, context.releases, source_map)
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
    other_traffic, traffic_notes = resolve_other_traffic(document.other_traffic, other, files)
    others = frozenset() if other_traffic is None else other_traffic.racks
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
        events=events,
        duration_ms=document.duration,
        start=Start(document.application.starts),
        next_rebalance_ms=document.application.next_rebalance,
        price=price,
        hosts=hosts,
        other_traffic=other_traffic,
    )
    if not mistakes:
        resolved.check_worlds(blueprint, document.seeds[0])
        warn_about_availability(traffic.topics.values(), defaults, source_map)
        warn_about_default_factor(document, blueprint, assignors, source_map)
        warn_about_replication(blueprint, document.seeds[0], resolved, source_map)
        if releases is None:
            warn_about_unlimited_processing(blueprint, document.seeds[0], source_map)
        if group is None and own:
            warn_about_configs(
                WarningContext(document, clients, cluster.brokers, application.subtopologies, assignors, source_map)
            )
            warn_about_closing(document, clients, own, source_map)
    workload_notes = (note for workload in workloads for note in workload.notes)
    notes = (*application.notes, *traffic.notes, *traffic_notes, *workload_notes, *task_notes)
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


def _configs_of(document: ScenarioDocument, releases: KafkaReleases) -> Mapping[GroupProtocol, GroupConfigs]:
    """Return the group configs with other releases of brokers and clients, by protocol."""
    document = with_releases(document, releases)
    return group_configs(document.application, document.cluster.configs_of_release(), releases.brokers)


def _group_of(
    spec: AssignorSpec, document: ScenarioDocument, groups: Mapping[GroupProtocol, GroupConfigs]
) -> GroupConfigs:
    """Return the group configs of the runs with an assignor; `groups` are those with the releases of the scenario."""
    if spec.releases is not None:
        groups = _configs_of(document, spec.releases)
    return groups[spec.protocol or GroupProtocol(document.application.configs.group_protocol)]
