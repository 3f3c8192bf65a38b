"""Resolve clients that Kubernetes manifests describe: their pods, their events and their autoscalers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scenarios.kubernetes.autoscalers import AutoscalerManifest, read_autoscaler
from scenarios.kubernetes.objects import ManifestError, ManifestNode, read_objects
from scenarios.kubernetes.workload import (
    WorkloadManifest,
    find_workload,
    read_disruption_budget,
    read_workload,
)
from scenarios.kubernetes.zones import place_pods, skew
from scenarios.language.application_entries import ClientEntry
from scenarios.language.errors import Mistake, Mistakes, format_list, format_value
from scenarios.language.fields import InvalidEntry, valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.validation import SourceMap
from scenarios.language.workload_entries import UNNAMED, PodsEntry
from scenarios.language.yaml_reader import MAX_BYTES
from scenarios.references.imported_files import ImportedFiles
from scenarios.schema import ScenarioDocument
from simulator.world.pod_events import Closing, LagScaling, PodTemplate, Volume


@dataclass(frozen=True, slots=True)
class ResolvedWorkload:
    """A workload of a scenario.

    Attributes:
        index: the position of its entry in `clients`.
        entry: the entry, with the number of pods, their names and racks.
        manifest: what the manifest says.
        pods: what the scenario says about pods.
        replicas: how many pods are up at the start.
        budget: how many pods evictions may make unavailable; None for no limit.
        scaling: its autoscaler by lag; None without one.
        notes: what was assumed or is not modeled.
    """

    index: int
    entry: ClientEntry
    manifest: WorkloadManifest
    pods: PodsEntry
    replicas: int
    budget: int | None
    scaling: LagScaling | None
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the clients."""
        return self.entry.name

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all pods, by ordinal."""
        return tuple(f"{self.entry.name}-{number}" for number in range(self.entry.count or 0))

    @property
    def volume(self) -> Volume:
        """Where the state directories are."""
        return self.manifest.volume if self.pods.volume is None else Volume(self.pods.volume)

    @property
    def pre_stop_ms(self) -> int:
        """The duration of the preStop hook."""
        return self.manifest.pre_stop_ms if self.pods.pre_stop is None else self.pods.pre_stop

    @property
    def template(self) -> PodTemplate:
        """How its pods start and stop when their number changes."""
        keeps = self.manifest.keeps_volume_when_scaled or self.volume is not self.manifest.volume
        return PodTemplate(
            self.manifest.controller,
            self.pods.start_after,
            self.pods.ready_after,
            self.manifest.min_ready_ms,
            Closing(self.pods.leaves_group, self.pods.close, self.pre_stop_ms, self.manifest.grace_ms),
            self.volume if keeps else Volume.NONE,
            self.manifest.is_parallel,
        )


@dataclass(frozen=True, slots=True)
class WorkloadContext:
    """What manifests refer to.

    Attributes:
        racks: the racks of the brokers.
        partitions: the number of partitions of each source topic of the application; None if they are unknown.
        files: reads the manifests.
        source_map: collects mistakes at paths of the scenario.
        mistakes: collects mistakes in manifests.
    """

    racks: Sequence[str]
    application_id: str
    partitions: Mapping[str, int] | None
    files: ImportedFiles
    source_map: SourceMap
    mistakes: Mistakes


def resolve_workloads(
    document: ScenarioDocument, context: WorkloadContext
) -> tuple[ScenarioDocument, tuple[ResolvedWorkload, ...]]:
    """Replace the clients from manifests by their pods, and report mistakes.

    `context`: what manifests refer to.
    """
    workloads, clients = [], list(document.clients)
    for index, entry in valid_entries(document.clients):
        if entry.files is None:
            _check_plain(entry, ("clients", index), context.source_map)
            continue
        try:
            workload = _resolve_workload(entry, index, context)
        except ManifestError as error:
            context.mistakes.add(Mistake(error.source, error.line, "", str(error)))
            workload = None
        if workload is None:
            context.source_map.mark_invalid(("clients", index))
            invalid: Any = InvalidEntry({})
            clients[index] = invalid
        else:
            workloads.append(workload)
            clients[index] = workload.entry
    return document.model_copy(update={"clients": clients}), tuple(workloads)


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
