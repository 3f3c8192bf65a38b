"""Applications that run at the same time on the same cluster and hosts: their checks, and their worlds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scenarios.events.event_entry import listed_events
from scenarios.language.errors import format_list, format_value
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.validation import SourceMap
from scenarios.sampling.blueprint import Blueprint
from scenarios.sampling.event_sampling import EventPlan
from scenarios.schema import ScenarioDocument
from simulator.world.world import Broker, Topic, World


def neighbor_world(main: World, neighbor: World) -> World:
    """Return the world of a neighbor on the cluster of another world.

    The brokers, the replicas of topics that both have, the events of brokers and racks, and the duration are those of
    `main`. The clients, their events and the traffic of the application are the neighbor's;
    other traffic of the cluster counts for `main` only.
    """
    topics = {**main.cluster.topics, **neighbor.cluster.topics}
    for name in main.cluster.topics.keys() & neighbor.cluster.topics.keys():
        topics[name] = _with_replicas(neighbor.cluster.topics[name], main.cluster.topics[name])
    cluster_events = (event.for_neighbor() for event in main.disturbances)
    return replace(
        neighbor,
        cluster=replace(main.cluster, topics=topics),
        disturbances=(*neighbor.disturbances, *(event for event in cluster_events if event is not None)),
        duration_ms=main.duration_ms,
        other_traffic=None,
    )


def _with_replicas(topic: Topic, placed: Topic) -> Topic:
    """Return a topic with the replicas and configs of the same topic in another world."""
    return replace(
        topic,
        replicas=placed.replicas,
        leaders=placed.leaders,
        in_sync=placed.in_sync,
        min_insync_replicas=placed.min_insync_replicas,
        unclean_leader_election=placed.unclean_leader_election,
        retention=placed.retention,
    )


@dataclass(frozen=True, slots=True)
class MainScenario:
    """The scenario that runs, as its neighbors need it while they are loaded.

    `folder`: the folder of the files that it names.
    """

    document: ScenarioDocument
    file: Path
    folder: Path

    def adapt(self, neighbor: ScenarioDocument) -> ScenarioDocument:
        """Return the document of a neighbor with the broker configs and at least the duration of this scenario."""
        cluster = neighbor.cluster.model_copy(update={"configs": self.document.cluster.configs})
        duration = max(neighbor.duration, self.document.duration)
        return neighbor.model_copy(update={"cluster": cluster, "duration": duration})

    def warn(self, neighbor: ScenarioDocument, folder: Path, source_map: SourceMap) -> None:
        """Warn about what the document of a neighbor has and what does not happen."""
        main = format_value(self.file.name)
        for _, path, event in listed_events(neighbor.events):
            if event.is_of_cluster:
                message = f"does not happen: brokers, racks and replicas have the events of {main} only"
                source_map.add_warning(path, message)
        if neighbor.other_traffic is not None:
            source_map.add_warning(("other_traffic",), f"does not count: other traffic is that of {main} only")
        listed = [name for _, name in valid_entries(self.document.alongside)]
        together = {os.path.realpath(file) for file in (self.file, *(self.folder / name for name in listed))}
        for i, name in valid_entries(neighbor.alongside):
            if os.path.realpath(folder / name) not in together:
                source_map.add_warning(("alongside", i), f"{format_value(name)} does not run; list it in {main}, too")

    def warn_about_group(self, group: ScenarioDocument, source_map: SourceMap) -> None:
        """Warn about a consumer group in the scenario of a neighbor, which does not run."""
        message = f"'{group.application.id}' does not run; list it in {format_value(self.file.name)}"
        source_map.add_warning(("application", "id"), message)


def check_neighbors(
    own: Blueprint, neighbors: Iterable[tuple[ScenarioPath, str, Blueprint]], source_map: SourceMap
) -> None:
    """Report neighbors with other brokers, hosts or topics than the scenario, or with an application.id twice.

    `neighbors`: where the scenario lists each, its name in messages, and its blueprint.
    """
    known = [("this scenario", own)]
    for path, label, blueprint in neighbors:
        name = format_value(label)
        differences = (
            *_brokers(own.brokers, blueprint.brokers),
            *(text for other_name, other in known for text in _differences(other_name, other, blueprint)),
        )
        if differences:
            source_map.add_mistake(path, f"{name}: {differences[0]}")
        known.append((name, blueprint))


def _brokers(own: Sequence[Broker], others: Sequence[Broker]) -> Iterator[str]:
    """Yield differences in the ids and racks of brokers."""
    racks, other_racks = ({broker.id: broker.rack for broker in brokers} for brokers in (own, others))
    listed = format_list("brokers of this scenario", sorted(racks))
    for broker in sorted(racks.keys() | other_racks.keys()):
        if broker not in racks:
            yield f"unknown broker {broker} ({listed}); both scenarios must describe the same cluster"
        elif broker not in other_racks:
            yield f"lacks broker {broker} ({listed}); both scenarios must describe the same cluster"
        elif racks[broker] != other_racks[broker]:
            there, here = _rack(other_racks[broker]), _rack(racks[broker])
            yield f"broker {broker} is in {there}, but in {here} in this scenario; set the same racks in both"


def _rack(rack: str | None) -> str:
    return "no rack" if rack is None else f"rack {format_value(rack)}"


def _differences(of: str, one: Blueprint, two: Blueprint) -> Iterator[str]:
    """Yield contradictions between an application and a second one: equal ids, other hosts, other topics."""
    if one.application.id == two.application.id:
        yield f"application.id {two.application.id} is also that of {of}; applications on a cluster need different ids"
    rates = {host.name: host.restore_bytes_per_s for host in one.hosts}
    for host in two.hosts:
        if rates.get(host.name, host.restore_bytes_per_s) != host.restore_bytes_per_s:
            rate = f"restores {host.restore_bytes_per_s:,} B/s, but {rates[host.name]:,} B/s in {of}"
            yield f"host {format_value(host.name)} {rate}; set the same rate in both"
    racks = {plan.host: plan.rack for plan in one.clients if plan.rack is not None}
    for plan in two.clients:
        if plan.host is not None and plan.rack is not None and racks.get(plan.host, plan.rack) != plan.rack:
            where = f"{_rack(plan.rack)}, but in {_rack(racks[plan.host])} in {of}"
            yield f"host {format_value(plan.host)} is in {where}; a host is in one rack"
    read = {topic for part in two.application.subtopologies for topic in part.source_topics}
    for event in one.events:
        if isinstance(event, EventPlan) and (conflict := event.conflict(read, of)) is not None:
            yield conflict
    partitions = {topic.name: topic.num_partitions for topic in one.topics}
    for topic in two.topics:
        if partitions.get(topic.name, topic.num_partitions) != topic.num_partitions:
            count = f"has {topic.num_partitions} partitions, but {partitions[topic.name]} in {of}"
            yield f"topic {format_value(topic.name)} {count}; set the same number in both"
