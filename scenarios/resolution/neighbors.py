"""Load the scenarios of neighbors: applications that run at the same time on the same cluster and hosts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Generic, Protocol, TypeVar

from scenarios.language.errors import Mistakes, ScenarioError, format_list, format_value
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.validation import SourceMap
from scenarios.language.yaml_reader import MAX_BYTES
from scenarios.references.imported_files import ImportedFiles
from scenarios.sampling.blueprint import Blueprint
from scenarios.sampling.event_plans import PartitionsPlan
from scenarios.schema import ScenarioDocument
from simulator.world.world import Broker

_CLUSTER_EVENTS = ("rack_outage", "broker_loss", "broker_bounce", "replica_move", "partitions_added", "reassignment")


class LoadedScenario(Protocol):
    """A loaded scenario: what a neighbor must have."""

    @property
    def blueprint(self) -> Blueprint:
        """The seed-independent part of its world."""

    @property
    def imports(self) -> tuple[tuple[str, str], ...]:
        """The SHA-256 of each imported file, by its name in the scenario."""


S = TypeVar("S", bound=LoadedScenario)


@dataclass(frozen=True, slots=True)
class LocatedNeighbor(Generic[S]):
    """The scenario of a neighbor.

    Attributes:
        path: the path of its file name in the scenario that lists it.
        name: the file name.
    """

    path: ScenarioPath
    name: str
    scenario: S


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
        for i, entry in valid_entries(neighbor.events):
            upgrades = ["upgrade"] if entry.upgrade is not None and entry.upgrade.brokers is not None else []
            for kind in (*_CLUSTER_EVENTS, *upgrades):
                if getattr(entry, kind) is not None:
                    message = f"does not happen: brokers, racks and replicas have the events of {main} only"
                    source_map.add_warning(("events", i, kind), message)
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


def load_neighbors(
    main: MainScenario,
    files: ImportedFiles,
    source_map: SourceMap,
    mistakes: Mistakes,
    load: Callable[[str, Path, MainScenario], S],
) -> list[LocatedNeighbor[S]]:
    """Load the scenarios that run alongside another one, and report all mistakes in them.

    `files`: reads their files, and gets the digests of all that they import; `source_map`: collects the mistakes in the
    list; `load`: loads the scenario of a neighbor from its text and file, or raises a ScenarioError. Returns the valid
    scenarios.
    """
    neighbors = []
    for i, name in valid_entries(main.document.alongside):
        path: ScenarioPath = ("alongside", i)
        if os.path.realpath(main.folder / name) == os.path.realpath(main.file):
            message = f"{format_value(name)} is this scenario itself; list the scenarios of other applications"
            source_map.add_mistake(path, message)
            continue
        content = files.read(path, name, str, MAX_BYTES)
        if content is None:
            continue
        try:
            scenario = load(content.content, main.folder / name, main)
        except ScenarioError as error:
            for mistake in error.mistakes:
                mistakes.add(mistake)
            continue
        # A file that the neighbor imports is relative to the folder of the neighbor.
        for imported, digest in scenario.imports:
            files.digests[str(PurePosixPath(name).parent / imported)] = digest
        neighbors.append(LocatedNeighbor(path, name, scenario))
    return neighbors


def check_neighbors(own: Blueprint, neighbors: Sequence[LocatedNeighbor[S]], source_map: SourceMap) -> None:
    """Report neighbors with other brokers, hosts or topics than the scenario, or with an application.id twice."""
    known = [("this scenario", own)]
    for neighbor in neighbors:
        blueprint, name = neighbor.scenario.blueprint, format_value(neighbor.name)
        differences = (
            *_brokers(own.brokers, blueprint.brokers),
            *(text for other_name, other in known for text in _differences(other_name, other, blueprint)),
        )
        if differences:
            source_map.add_mistake(neighbor.path, f"{name}: {differences[0]}")
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
        if isinstance(event, PartitionsPlan) and event.topic in read:
            yield f"reads {format_value(event.topic)}, to which an event adds partitions; only {of} may read it"
    partitions = {topic.name: topic.num_partitions for topic in one.topics}
    for topic in two.topics:
        if partitions.get(topic.name, topic.num_partitions) != topic.num_partitions:
            count = f"has {topic.num_partitions} partitions, but {partitions[topic.name]} in {of}"
            yield f"topic {format_value(topic.name)} {count}; set the same number in both"
