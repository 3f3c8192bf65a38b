"""Resolve clients that Kubernetes manifests describe: their pods, their events and their autoscalers.

A manifest says how Kubernetes replaces pods, which completes the events of a scenario.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scenarios.events.pod_closing_event import PodClosingEvent
from scenarios.kubernetes.autoscalers import AutoscalerManifest, read_autoscaler
from scenarios.kubernetes.objects import ManifestError, ManifestNode, read_objects
from scenarios.kubernetes.workload import (
    ResolvedWorkload,
    WorkloadManifest,
    find_workload,
    place_pods,
    read_disruption_budget,
    read_workload,
    skew,
)
from scenarios.language.application_entries import UNNAMED, ClientEntry, PodsEntry
from scenarios.language.errors import Mistake, Mistakes, format_list, format_value
from scenarios.language.fields import InvalidEntry, valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.validation import SourceMap
from scenarios.language.yaml_reader import MAX_BYTES
from scenarios.references import CLUSTER, ImportedFiles, ResolvedClients
from scenarios.resolution.application import APPLICATION, ResolvedApplication
from scenarios.resolution.cluster import ResolvedCluster
from scenarios.sampling.event_sampling import PlannedEvent
from scenarios.schema import ScenarioDocument
from simulator.world.pod_events import DeploymentUpdate, LagScaling, PodController


@dataclass(frozen=True, slots=True)
class WorkloadContext:
    """What manifests refer to.

    `racks`: those of the brokers. `partitions`: the number of each source topic of the application; None if they are
    unknown. `mistakes`: collects those in manifests.
    """

    racks: Sequence[str]
    application_id: str
    partitions: Mapping[str, int] | None
    files: ImportedFiles
    source_map: SourceMap
    mistakes: Mistakes


def _check_plain(entry: ClientEntry, path: ScenarioPath, source_map: SourceMap) -> None:
    for key in ("workload", "pods"):
        if getattr(entry, key) is not None:
            source_map.add_mistake((*path, key), "only with from, the manifests of the pods; remove it, or set from")


def _resolve_workload(entry: ClientEntry, index: int, context: WorkloadContext) -> ResolvedWorkload | None:
    path: ScenarioPath = ("clients", index)
    for key in ("count", "rack", "starts", "process_id", "tasks"):
        if key in entry.model_fields_set:
            advice = {"count": "set pods.replicas", "rack": "set racks, the zones of the nodes"}.get(key, "remove it")
            context.source_map.add_mistake((*path, key), f"the manifest of the pods says that; {advice}")
    objects: list[ManifestNode] = []
    for position, name in enumerate(entry.files or ()):
        file_path = (*path, "from") if len(entry.files or ()) == 1 else (*path, "from", position)
        content = context.files.read(file_path, name, str, MAX_BYTES)
        if content is None:
            return None
        objects += read_objects(content.source, content.content)
    node = find_workload(objects, entry.workload)
    if node is None:
        kinds = format_list("found", dict.fromkeys(found.text("kind") for found in objects))
        what = "StatefulSet or Deployment" if entry.workload is None else f"workload {format_value(entry.workload)}"
        context.source_map.add_mistake((*path, "from"), f"the manifests have no {what} ({kinds})")
        return None
    return _combine(entry, index, read_workload(node), objects, context)


def _combine(
    entry: ClientEntry,
    index: int,
    manifest: WorkloadManifest,
    objects: Sequence[ManifestNode],
    context: WorkloadContext,
) -> ResolvedWorkload:
    """Combine a workload with its other objects, and place its pods."""
    notes: list[str] = []
    pods = entry.pods or PodsEntry()
    autoscaler = read_autoscaler(objects, manifest, notes)
    minimum, maximum = (0, 0) if autoscaler is None else _bounds(autoscaler, context)
    stated = manifest.replicas if pods.replicas is None else pods.replicas
    replicas = max(minimum, 1) if stated is None else stated
    if autoscaler is not None:
        replicas = min(max(replicas, minimum), autoscaler.horizontal.max_replicas)
    count = max(replicas, maximum, 1)
    zones = manifest.zones.allowed(entry.racks or context.racks)
    racks = _place(entry, manifest, zones, (count, replicas), notes) if zones else []
    name = manifest.name if entry.name == UNNAMED else entry.name
    update = {"name": name, "count": count, "racks": racks or None}
    resolved = entry.model_copy(update=update)
    budget = read_disruption_budget(objects, manifest, replicas, notes)
    workload = ResolvedWorkload(
        index, resolved, manifest, pods, replicas, budget, None, tuple(dict.fromkeys((*manifest.notes, *notes)))
    )
    if autoscaler is None:
        return workload
    _check_triggers(autoscaler, entry, index, context)
    scaling = LagScaling(
        0,
        manifest.name,
        workload.names,
        replicas,
        workload.template,
        tuple(located.trigger for located in autoscaler.triggers),
        autoscaler.horizontal,
        autoscaler.activation,
    )
    return replace(workload, scaling=scaling)


def _bounds(autoscaler: AutoscalerManifest, context: WorkloadContext) -> tuple[int, int]:
    """Return the fewest pods at the start, and the most that the autoscaler can ask for."""
    horizontal, activation = autoscaler.horizontal, autoscaler.activation
    minimum = horizontal.min_replicas if activation is None else activation.min_replicas
    maximum = horizontal.max_replicas
    partitions = context.partitions
    triggers = [located.trigger for located in autoscaler.triggers]
    is_limited = all(one.is_limited and one.is_average and not one.allows_idle_consumers for one in triggers)
    if partitions is not None and is_limited:
        counts = [sum(partitions.get(topic, 0) for topic in one.topics or partitions) for one in triggers]
        maximum = min(maximum, max(horizontal.min_replicas, *counts))
    return minimum, maximum


def _place(
    entry: ClientEntry,
    manifest: WorkloadManifest,
    zones: Sequence[str],
    pods: tuple[int, int],
    notes: list[str],
) -> list[str]:
    """Return the zone of each pod, and report those that the constraints do not allow.

    `pods`: how many there are, and how many of them at the start; `notes`: gets what was assumed. Raises ManifestError
    if the constraints do not allow the pods.
    """
    count, replicas = pods
    rules, listed = manifest.zones, entry.racks or ()
    is_listed = len(set(listed)) < len(listed)
    if is_listed and set(listed) != set(zones):
        outside = format_list("not allowed by node affinity", sorted(set(listed) - set(zones)))
        raise rules.node.error(f"zones of racks in the scenario {outside}", "affinity")
    racks = place_pods(count, listed if is_listed else zones, is_listed=is_listed)
    imbalance = skew(racks[:replicas], zones)
    if rules.max_skew is not None and imbalance > rules.max_skew:
        raise rules.node.error(
            f"maxSkew is {rules.max_skew}, but racks of the scenario place up to {imbalance} pods more in a zone than "
            "in another; list the zones once each",
            "topologySpreadConstraints",
        )
    if rules.one_per_zone and replicas > len(zones):
        raise rules.node.error(
            f"required podAntiAffinity allows one pod in each of {len(zones)} zones, so {replicas - len(zones)} of "
            f"{replicas} would stay Pending; lower replicas, or prefer the anti-affinity",
            "affinity",
        )
    if len(zones) > 1 and rules.max_skew is None and not is_listed:
        why = "ScheduleAnyway does not guarantee it" if rules.is_spread else "no topologySpreadConstraint guarantees it"
        notes.append(f"{manifest.node.place('spec')}: assumed that pods are spread over zones evenly; {why}")
    return racks


def _check_triggers(autoscaler: AutoscalerManifest, entry: ClientEntry, index: int, context: WorkloadContext) -> None:
    """Report an autoscaler that cannot work: without lag, or by the lag of another group."""
    if entry.records_per_s is None:
        message = (
            "missing: without a limit of processing, no lag builds up, and the autoscaler of the manifest has nothing "
            "to follow; set it to what a stream thread processes per second"
        )
        context.source_map.add_mistake(("clients", index, "records_per_s"), message)
    for located in autoscaler.triggers:
        if located.group not in ("", context.application_id):
            found = format_value(located.group)
            key = "consumerGroup" if "consumerGroup" in located.node else "metric"
            raise located.node.error(f"{found} is not the application.id, {format_value(context.application_id)}", key)
        for topic in located.trigger.topics:
            if context.partitions is not None and topic not in context.partitions:
                known = format_list("it reads", context.partitions)
                key = "topic" if "topic" in located.node else "metric"
                raise located.node.error(f"the application does not read {format_value(topic)} ({known})", key)


def resolve_manifests(
    document: ScenarioDocument,
    cluster: ResolvedCluster,
    application: ResolvedApplication,
    files: ImportedFiles,
    source_map: SourceMap,
    mistakes: Mistakes,
) -> tuple[ScenarioDocument, tuple[ResolvedWorkload, ...]]:
    """Replace clients from manifests by their pods, and complete their events."""
    sources = {topic for part in application.subtopologies for topic in part.source_topics}
    partitions = {name: topic.num_partitions for name, topic in application.topics.items() if name in sources}
    racks = sorted({broker.rack for broker in cluster.brokers.known or () if broker.rack is not None})
    known = partitions if source_map.is_valid(*APPLICATION) and source_map.is_valid(*CLUSTER) and partitions else None
    context = WorkloadContext(racks, document.application.id, known, files, source_map, mistakes)
    workloads, clients = [], list(document.clients)
    for index, entry in valid_entries(document.clients):
        if entry.files is None:
            _check_plain(entry, ("clients", index), source_map)
            continue
        try:
            workload = _resolve_workload(entry, index, context)
        except ManifestError as error:
            mistakes.add(Mistake(error.source, error.line, "", str(error)))
            workload = None
        if workload is None:
            source_map.mark_invalid(("clients", index))
            invalid: Any = InvalidEntry({})
            clients[index] = invalid
        else:
            workloads.append(workload)
            clients[index] = workload.entry
    document = document.model_copy(update={"clients": clients})
    return (complete_events(document, workloads, source_map) if workloads else document), tuple(workloads)


def mark_absent_pods(clients: ResolvedClients, workloads: Sequence[ResolvedWorkload]) -> None:
    """Let only the pods run at the start that a workload has then."""
    absent = {name for workload in workloads for name in workload.names[workload.replicas :]}
    clients.plans = tuple(replace(plan, starts=plan.starts and plan.name not in absent) for plan in clients.plans)
    clients.scaled = frozenset(name for workload in workloads if workload.scaling for name in workload.names)


def mark_renamed_pods(
    clients: ResolvedClients, workloads: Sequence[ResolvedWorkload], events: Sequence[PlannedEvent]
) -> None:
    """Note which clients are pods of a Deployment, as a manifest or an event says: successors have other names."""
    renamed = {
        name
        for workload in workloads
        if workload.manifest.controller is PodController.DEPLOYMENT
        for name in workload.names
    }
    renamed.update(name for event in events if isinstance(event, DeploymentUpdate) for name in event.clients)
    clients.plans = tuple(replace(plan, keeps_name=plan.name not in renamed) for plan in clients.plans)


def complete_events(
    document: ScenarioDocument, workloads: Sequence[ResolvedWorkload], source_map: SourceMap
) -> ScenarioDocument:
    """Complete the events of pods by the manifests, and report what contradicts them.

    Keys that an event sets itself remain. New pods of a Deployment with surge become clients of their own, named
    `<name>-next-0` and so on.
    """
    events: list[Any] = list(document.events)
    clients: list[ClientEntry] = list(document.clients)
    for index, entry in valid_entries(document.events):
        for kind, event in entry.events:
            if not isinstance(event, PodClosingEvent):
                continue
            workload = _workload_of(event, workloads, sum(1 for _ in valid_entries(document.clients)))
            if workload is None:
                continue
            known = event.known_of(workload, ("events", index, kind), source_map)
            if event.needs_successors(known, workload):
                # The scheduler places new pods of a Deployment like the old ones.
                successors = workload.entry.model_copy(update={"name": f"{workload.name}-next", "starts": False})
                if all(successors.name != client.name for _, client in valid_entries(clients)):
                    clients.append(successors)
                known["replacements"] = [successors.name]
            stated = event.model_fields_set - {"clients"}
            missing = {key: value for key, value in known.items() if key not in stated}
            entry = entry.model_copy(update={kind: event.model_copy(update=missing)})
        events[index] = entry
    return document.model_copy(update={"events": events, "clients": clients})


def _workload_of(
    event: PodClosingEvent, workloads: Sequence[ResolvedWorkload], num_entries: int
) -> ResolvedWorkload | None:
    """Return the workload of which all clients of an event are pods."""
    if not event.listed_clients:  # A drain of a rack, which may have clients of any entry.
        return workloads[0] if len(workloads) == num_entries == 1 else None
    for workload in workloads:
        if set(event.listed_clients) <= {workload.name, *workload.names}:
            return workload
    return None
