"""Events in which a platform stops pods, and what manifests say about them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from scenarios.events.closing_event import StoppingEvent
from scenarios.events.scenario_event import EventContext, PresenceChange, ScenarioEvent
from scenarios.kubernetes.workload import ResolvedWorkload
from scenarios.language.application_entries import CloseTime, LeavesGroup
from scenarios.language.errors import format_list
from scenarios.language.fields import Duration, NameList
from scenarios.language.paths import ScenarioPath
from scenarios.language.validation import SourceMap
from simulator.plurals import counted
from simulator.world.pod_events import MINIMUM_GRACE_MS, Closing, PodEvent, PodStart, PodStop, always

Replacements = Annotated[
    NameList | None,
    Field(
        description="Clients with starts: false that start instead, one for each stopped client, in their own racks. "
        "By default, a stopped client comes back in its rack."
    ),
]


class PodClosingEvent(StoppingEvent):
    """An event in which Kubernetes stops pods."""

    leaves_group: LeavesGroup = None
    pre_stop: Duration = Field(
        default=0, description="Duration of the preStop hook, during which the client continues to process."
    )
    close: CloseTime = 0
    grace: Annotated[Duration, Field(ge=MINIMUM_GRACE_MS)] = Field(
        default=30_000,
        description="terminationGracePeriodSeconds: time for pre_stop and close together; a pod that takes longer is "
        "killed. At least 2s, which the kubelet grants in any case.",
    )

    def closing(self) -> Closing:
        return Closing(self.leaves_group, self.close, self.pre_stop, self.grace)

    def presence(self, planned: PodEvent, context: EventContext) -> list[PresenceChange]:
        after = False if planned.is_permanent else None
        return [
            PresenceChange(context.at_ms, planned.clients, before=True, after=after),
            PresenceChange(context.at_ms, planned.successors, before=False, after=True, key="replacements"),
        ]

    def added_or_removed(self, planned: PodEvent) -> list[tuple[str, tuple[str, ...]]]:
        return [("clients", planned.clients if planned.is_permanent else ()), ("replacements", planned.successors)]

    def warn_about_end(self, planned: PodEvent, context: EventContext) -> None:
        steps = list(planned.schedule(always))
        starts_ms = sorted(step.at_ms for step in steps if isinstance(step, PodStart))
        stops_ms = sorted(step.at_ms for step in steps if isinstance(step, PodStop))
        label = "clients have started again" if starts_ms else "clients have been stopped"
        context.warn_about_steps(starts_ms or stops_ms, label)

    def known_of(self, workload: ResolvedWorkload, path: ScenarioPath, source_map: SourceMap) -> dict[str, Any]:
        """Return the keys that the manifest of the pods and the section `pods` give."""
        return {
            "grace": workload.manifest.grace_ms,
            "pre_stop": workload.pre_stop_ms,
            "close": workload.pods.close,
            "leaves_group": workload.pods.leaves_group,
            **self.known_of_kind(workload, path, source_map),
        }

    @abstractmethod
    def known_of_kind(self, workload: ResolvedWorkload, path: ScenarioPath, source_map: SourceMap) -> Mapping[str, Any]:
        """Return the keys that only this kind of event has, and report what contradicts the manifest."""

    def needs_successors(self, known: Mapping[str, Any], workload: ResolvedWorkload) -> bool:
        """Return whether new pods start before old ones stop, given the keys of the manifest."""
        return False


class StoppedClients(ScenarioEvent):
    """Clients that a platform stops."""

    clients: NameList = Field(description="Names of clients, or of entries that define several; pods by ordinal.")


def report_kept_volume(context: EventContext) -> None:
    """Report replacements of pods with a volume that they would keep."""
    context.report("replacements have empty disks; set volume: none, or remove replacements", "replacements")


def find_replacements(names: Sequence[str] | None, clients: tuple[str, ...], context: EventContext) -> tuple[str, ...]:
    """Return the clients that start instead, and report if they cannot."""
    if names is None:
        return ()
    found = context.find_clients(names, "replacements")
    both = [name for name in found if name in clients]
    if both:
        context.report(format_list("cannot replace themselves", both, max_names=4), "replacements")
    elif found and clients and len(found) != len(clients):
        replaced = counted(len(clients), "client is", "clients are")
        message = f"{replaced} replaced by {len(found)}; list as many replacements as clients"
        context.report(message, "replacements")
    return found
