"""A rolling update of the pods of a StatefulSet or a Deployment."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from scenarios.events.pod_closing_event import PodClosingEvent, Replacements, StoppedClients, find_replacements
from scenarios.events.scenario_event import EventContext
from scenarios.kubernetes.workload import ResolvedWorkload
from scenarios.language.application_entries import ReadyAfter, StartAfter, VolumeName
from scenarios.language.errors import format_value
from scenarios.language.paths import ScenarioPath
from scenarios.language.validation import SourceMap
from simulator.plurals import counted
from simulator.world.pod_events import DeploymentUpdate, PodController, StatefulSetUpdate, Volume

DEFAULT_PODS: Final = "25%"
"""The default of `maxSurge` and `maxUnavailable`."""

_PERCENTAGE: Final = re.compile(r"(\d{1,3})%")


def _parse_pods(value: Any) -> Any:
    """Return a number of pods as it is, and a percentage as the text of a percentage."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 1_000_000:
        return str(value)
    if isinstance(value, str) and (match := _PERCENTAGE.fullmatch(value)) and int(match[1]) <= 100:
        return value
    raise ValueError(f"{format_value(value)} is not a number of pods, such as 1, or a percentage, such as 25%")


PodCount = Annotated[
    str,
    BeforeValidator(_parse_pods),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": 1_000_000},
                {"type": "string", "pattern": r"^\d{1,3}%$"},
            ],
            "examples": ["25%"],
        }
    ),
]
"""A number of pods, or a percentage of them."""


def _resolve_pods(count: str, total: int, *, rounds_up: bool) -> int:
    """Return a number of pods, given all of them; Kubernetes rounds `maxSurge` up and `maxUnavailable` down."""
    match = _PERCENTAGE.fullmatch(count)
    if match is None:
        return int(count)
    share = int(match[1]) * total / 100
    return math.ceil(share) if rounds_up else math.floor(share)


class RollingUpdateEvent(PodClosingEvent, StoppedClients):
    """A rolling update of the pods of a StatefulSet or a Deployment."""

    example = """\
events:
  - at: 30m
    rolling_update: {clients: app, kind: stateful_set, volume: zonal, start_after: 15s, ready_after: 1m}
"""

    kind: Literal["stateful_set", "deployment"] | None = Field(
        default=None,
        description="stateful_set: one pod after another, the last one first, each comes back with its name, rack and "
        "volume. deployment: new pods with new process ids and empty disks replace the old ones. Required, unless the "
        "clients come from a manifest, which says it, and volume, grace, max_surge and max_unavailable.",
    )
    volume: VolumeName | None = Field(
        default=None,
        description="Where a StatefulSet keeps the state directories: zonal (network disk of the zone, kept), local "
        "(disk of the node, kept) or none (lost). Default: zonal. Pods of a Deployment have none.",
    )
    max_surge: PodCount | None = Field(
        default=None,
        description="maxSurge of a Deployment: number or percentage (rounded up) of additional pods; default: 25%.",
    )
    max_unavailable: PodCount | None = Field(
        default=None,
        description="maxUnavailable of a Deployment: number or percentage (rounded down) of missing pods; default: "
        "25%.",
    )
    replacements: Replacements = None
    start_after: StartAfter = 10_000
    ready_after: ReadyAfter = 20_000

    def resolve(self, context: EventContext) -> Iterator[StatefulSetUpdate | DeploymentUpdate]:
        match self.kind:
            case "stateful_set":
                yield self._of_stateful_set(context)
            case "deployment":
                yield from self._of_deployment(context)
            case _ if context.is_valid("kind"):
                context.report("missing; set stateful_set or deployment", "kind")

    def _of_stateful_set(self, context: EventContext) -> StatefulSetUpdate:
        for key in ("max_surge", "max_unavailable"):
            if getattr(self, key) is not None:
                context.report("only with kind: deployment; a StatefulSet replaces one pod at a time", key)
        if self.replacements is not None:
            message = "pods of a StatefulSet come back with their names; remove replacements, or set kind: deployment"
            context.report(message, "replacements")
        clients, volume = context.find_clients(self.clients), Volume(self.volume or Volume.ZONAL)
        return StatefulSetUpdate(
            context.at_ms, clients, self.closing(), volume, start_ms=self.start_after, ready_ms=self.ready_after
        )

    def _of_deployment(self, context: EventContext) -> Iterator[DeploymentUpdate]:
        if self.volume not in (None, "none"):
            message = "pods of a Deployment have no volume of their own; remove volume, or set kind: stateful_set"
            context.report(message, "volume")
        clients = context.find_clients(self.clients)
        if not clients:
            return
        stated_surge, stated_missing = self.max_surge or DEFAULT_PODS, self.max_unavailable or DEFAULT_PODS
        surge = _resolve_pods(stated_surge, len(clients), rounds_up=True)
        missing = _resolve_pods(stated_missing, len(clients), rounds_up=False)
        if not surge and not missing:
            if stated_missing.rstrip("%") == "0":
                message = "max_surge and max_unavailable are both 0, so no pod can be replaced; set one to at least 1"
                context.report(message, "max_unavailable")
            # The controller then sets maxUnavailable to 1 (`ResolveFenceposts`).
            missing = 1
        successors = find_replacements(self.replacements, clients, context)
        if surge and self.replacements is None:
            message = (
                f"max_surge is {stated_surge}, so new pods start before old ones stop: list "
                f"{counted(len(clients), 'client')} with starts: false under replacements, or set max_surge: 0"
            )
            context.report(message)
        yield DeploymentUpdate(
            context.at_ms,
            clients,
            self.closing(),
            successors=successors,
            start_ms=self.start_after,
            ready_ms=self.ready_after,
            max_surge=surge,
            max_unavailable=min(missing, len(clients)),
        )

    def static_member_warnings(self) -> Iterator[tuple[str, str]]:
        if self.replacements is None and self.kind == "deployment":
            rule = "a Deployment gives new pods new names, but here they keep them"
            yield "kind", f"{rule}; list replacements, or use a stateful_set"
        yield from super().static_member_warnings()

    def known_of_kind(self, workload: ResolvedWorkload, path: ScenarioPath, source_map: SourceMap) -> Mapping[str, Any]:
        manifest = workload.manifest
        if manifest.controller is PodController.STATEFUL_SET:
            known = {"kind": "stateful_set", "volume": str(workload.volume), **workload.times}
            if manifest.partition and self.clients == [workload.name]:
                updated = workload.names[max(0, manifest.partition - manifest.first_ordinal) :]
                if not updated:
                    message = f"the partition of {manifest.name}, {manifest.partition}, lets no pod be updated"
                    source_map.add_mistake(path, message)
                return {**known, "clients": list(updated) or self.clients}
            return known
        if workload.scaling is not None:
            message = f"an autoscaler scales {manifest.name}: a rolling update of such a Deployment cannot be simulated"
            source_map.add_mistake(path, f"{message}; name a manifest without the autoscaler")
        surge, missing = manifest.max_surge or DEFAULT_PODS, manifest.max_unavailable or DEFAULT_PODS
        return {"kind": "deployment", "max_surge": surge, "max_unavailable": missing, **workload.times}

    def needs_successors(self, known: Mapping[str, Any], workload: ResolvedWorkload) -> bool:
        if self.replacements is not None or workload.scaling is not None:
            return False
        surge = self.max_surge or known.get("max_surge")
        pods = workload.replicas if self.clients == [workload.name] else len(self.clients)
        is_deployment = (self.kind or known.get("kind")) == "deployment"
        return is_deployment and surge is not None and _resolve_pods(surge, pods, rounds_up=True) > 0
