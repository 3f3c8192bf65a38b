"""The events of workloads: a manifest says how Kubernetes replaces pods, which completes the events of a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scenarios.language.application_entries import ClientEntry
from scenarios.language.closing_entries import PodClosingEvent
from scenarios.language.errors import Mistakes
from scenarios.language.event_entries import EventEntry
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.pod_entries import (
    NodeDrainEvent,
    RollingUpdateEvent,
    SpotInterruptionEvent,
    resolve_pods,
)
from scenarios.language.validation import SourceMap
from scenarios.references.brokers import CLUSTER
from scenarios.references.clients import ResolvedClients
from scenarios.references.imported_files import ImportedFiles
from scenarios.resolution.application import ResolvedApplication
from scenarios.resolution.cluster import ResolvedCluster
from scenarios.resolution.pod_events import DEFAULT_PODS
from scenarios.resolution.subtopology_drafts import APPLICATION
from scenarios.resolution.workloads import ResolvedWorkload, WorkloadContext, resolve_workloads
from scenarios.sampling.event_plans import PlannedEvent
from scenarios.schema import ScenarioDocument
from simulator.world.pod_events import DeploymentUpdate, LagScaling, PodController


def resolve_manifests(
    document: ScenarioDocument,
    cluster: ResolvedCluster,
    application: ResolvedApplication,
    files: ImportedFiles,
    source_map: SourceMap,
    mistakes: Mistakes,
) -> tuple[ScenarioDocument, tuple[ResolvedWorkload, ...]]:
    """Replace clients from manifests by their pods, and complete their events; report mistakes.

    `source_map`: collects mistakes in the scenario. Returns the scenario without clients from manifests, and the
    workloads.
    """
    sources = {topic for part in application.subtopologies for topic in part.source_topics}
    partitions = {name: topic.num_partitions for name, topic in application.topics.items() if name in sources}
    racks = sorted({broker.rack for broker in cluster.brokers.known or () if broker.rack is not None})
    known = partitions if source_map.is_valid(*APPLICATION) and source_map.is_valid(*CLUSTER) and partitions else None
    context = WorkloadContext(racks, document.application.id, known, files, source_map, mistakes)
    document, workloads = resolve_workloads(document, context)
    return (complete_events(document, workloads, source_map) if workloads else document), workloads


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


def lag_scalings(workloads: Sequence[ResolvedWorkload]) -> tuple[LagScaling, ...]:
    """Return the autoscalers of workloads."""
    return tuple(workload.scaling for workload in workloads if workload.scaling is not None)


def workload_notes(workloads: Sequence[ResolvedWorkload]) -> tuple[str, ...]:
    """Return what was assumed of workloads, and what is not modeled."""
    return tuple(note for workload in workloads for note in workload.notes)


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
        for kind, event in _pod_events(entry):
            path: ScenarioPath = ("events", index, kind)
            workload = _workload_of(event, workloads, sum(1 for _ in valid_entries(document.clients)))
            if workload is None:
                continue
            known = _known(event, workload, path, source_map)
            if _needs_successors(event, known, workload):
                successors = _successors(workload)
                if all(successors.name != client.name for _, client in valid_entries(clients)):
                    clients.append(successors)
                known["replacements"] = [successors.name]
            stated = event.model_fields_set - {"clients"}
            missing = {key: value for key, value in known.items() if key not in stated}
            entry = entry.model_copy(update={kind: event.model_copy(update=missing)})
        events[index] = entry
    return document.model_copy(update={"events": events, "clients": clients})


def _pod_events(entry: EventEntry) -> Iterator[tuple[str, PodClosingEvent]]:
    for kind in ("rolling_update", "node_drain", "spot_interruption"):
        event = getattr(entry, kind)
        if isinstance(event, PodClosingEvent):
            yield kind, event


def _workload_of(
    event: PodClosingEvent, workloads: Sequence[ResolvedWorkload], num_entries: int
) -> ResolvedWorkload | None:
    """Return the workload of which all clients of an event are pods."""
    names = getattr(event, "clients", None)
    if names is None:  # A drain of a rack, which may have clients of any entry.
        return workloads[0] if len(workloads) == num_entries == 1 else None
    for workload in workloads:
        if set(names) <= {workload.name, *workload.names}:
            return workload
    return None


def _known(
    event: PodClosingEvent, workload: ResolvedWorkload, path: ScenarioPath, source_map: SourceMap
) -> dict[str, Any]:
    """Return the keys of an event that a manifest and the section `pods` give."""
    manifest, pods = workload.manifest, workload.pods
    known: dict[str, Any] = {
        "grace": manifest.grace_ms,
        "pre_stop": workload.pre_stop_ms,
        "close": pods.close,
        "leaves_group": pods.leaves_group,
    }
    match event:
        case RollingUpdateEvent():
            known |= _known_of_update(event, workload, path, source_map)
        case NodeDrainEvent():
            known |= {"volume": str(workload.volume), **_times(workload)}
            if workload.budget == 0 and event.max_unavailable is None:
                message = f"the PodDisruptionBudget of {manifest.name} allows no eviction, so the drain never ends"
                source_map.add_mistake(
                    (*path, "max_unavailable"), f"{message}; set max_unavailable, or change the budget"
                )
            elif workload.budget:
                known["max_unavailable"] = workload.budget
        case SpotInterruptionEvent():
            known["volume"] = "zonal" if workload.volume == "zonal" else "none"
    return known


def _times(workload: ResolvedWorkload) -> Mapping[str, int]:
    ready_ms = workload.pods.ready_after + workload.manifest.min_ready_ms
    return {"start_after": workload.pods.start_after, "ready_after": ready_ms}


def _known_of_update(
    event: RollingUpdateEvent, workload: ResolvedWorkload, path: ScenarioPath, source_map: SourceMap
) -> Mapping[str, Any]:
    manifest = workload.manifest
    if manifest.controller is PodController.STATEFUL_SET:
        known = {"kind": "stateful_set", "volume": str(workload.volume), **_times(workload)}
        if manifest.partition and event.clients == [workload.name]:
            updated = workload.names[max(0, manifest.partition - manifest.first_ordinal) :]
            if not updated:
                message = f"the partition of {manifest.name}, {manifest.partition}, lets no pod be updated"
                source_map.add_mistake(path, message)
            return {**known, "clients": list(updated) or event.clients}
        return known
    if workload.scaling is not None:
        message = f"an autoscaler scales {manifest.name}: a rolling update of such a Deployment cannot be simulated"
        source_map.add_mistake(path, f"{message}; name a manifest without the autoscaler")
    surge, missing = manifest.max_surge or DEFAULT_PODS, manifest.max_unavailable or DEFAULT_PODS
    return {"kind": "deployment", "max_surge": surge, "max_unavailable": missing, **_times(workload)}


def _needs_successors(event: PodClosingEvent, known: Mapping[str, Any], workload: ResolvedWorkload) -> bool:
    if not isinstance(event, RollingUpdateEvent) or event.replacements is not None or workload.scaling is not None:
        return False
    surge = event.max_surge or known.get("max_surge")
    pods = workload.replicas if event.clients == [workload.name] else len(event.clients)
    is_deployment = (event.kind or known.get("kind")) == "deployment"
    return is_deployment and surge is not None and resolve_pods(surge, pods, rounds_up=True) > 0


def _successors(workload: ResolvedWorkload) -> ClientEntry:
    """Return new pods of a Deployment, which the scheduler places like the old ones."""
    return workload.entry.model_copy(update={"name": f"{workload.name}-next", "starts": False})
