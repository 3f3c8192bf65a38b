"""A drain of the nodes on which clients run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from scenarios.events.pod_closing_event import PodClosingEvent, Replacements, find_replacements, report_kept_volume
from scenarios.events.scenario_event import EventContext
from scenarios.kubernetes.workload import ResolvedWorkload
from scenarios.language.application_entries import ReadyAfter, StartAfter, VolumeName
from scenarios.language.errors import format_list, format_value
from scenarios.language.fields import Duration, Name, NameList, PositiveInt
from scenarios.language.paths import ScenarioPath
from scenarios.language.validation import SourceMap
from scenarios.references import ResolvedClients
from scenarios.sampling.blueprint import ClientBlueprint
from simulator.plurals import counted
from simulator.world.pod_events import NodeDrain, Volume


class NodeDrainEvent(PodClosingEvent):
    """A drain of the nodes on which clients run: their pods are evicted and start on other nodes."""

    example = "events:\n  - {at: 30m, node_drain: {clients: [app-0, app-3], max_unavailable: 1, close: 8s}}\n"

    clients: NameList | None = Field(
        default=None, description="The clients on the drained nodes, in order of eviction."
    )
    rack: Name | None = Field(default=None, description="Instead of clients: the zone, all of whose nodes are drained.")
    max_unavailable: PositiveInt | None = Field(
        default=None,
        description="PodDisruptionBudget: maximum number of evicted pods that are not ready; default: all.",
    )
    volume: VolumeName = Field(
        default="zonal",
        description="Where the state directories are: zonal (network disk: kept, pods start on other nodes of the "
        "zone), local (disk of the node: kept, pods wait until it is back) or none (lost).",
    )
    down: Duration | None = Field(
        default=None, description="Time until the nodes take pods again; by default they never do."
    )
    replacements: Replacements = None
    start_after: StartAfter = 10_000
    ready_after: ReadyAfter = 20_000

    def resolve(self, context: EventContext) -> Iterator[NodeDrain]:
        if (self.clients is None) == (self.rack is None):
            found = "found none" if self.clients is None else "found both"
            context.report(f"expected clients or rack, the zone to drain; {found}")
            return
        clients = self._drained_clients(context)
        if not clients:
            return
        drain = NodeDrain(
            context.at_ms,
            clients,
            self.closing(),
            Volume(self.volume),
            find_replacements(self.replacements, clients, context),
            start_ms=self.start_after,
            ready_ms=self.ready_after,
            max_unavailable=self.max_unavailable,
            nodes_back_ms=self.down,
            drains_zone=self.rack is not None,
        )
        self._check(drain, context)
        yield drain

    def _drained_clients(self, context: EventContext) -> tuple[str, ...]:
        if self.clients is not None:
            return context.find_clients(self.clients)
        context.check_rack(self.rack or "")
        clients = tuple(plan.name for plan in context.clients.plans if plan.rack == self.rack and plan.starts)
        if not clients and context.source_map.is_valid("clients"):
            message = (
                f"no client of rack {format_value(self.rack)} is up at the start; list the drained clients instead"
            )
            context.report(message, "rack")
        return clients

    def _check(self, drain: NodeDrain, context: EventContext) -> None:
        """Report drains that block, and pods that have nowhere to start."""
        pods = len(drain.clients)
        if self.replacements is not None and drain.volume is not Volume.NONE:
            report_kept_volume(context)
        elif drain.is_bound_to_nodes:
            if drain.max_unavailable is not None and drain.max_unavailable < pods:
                message = (
                    f"the drain never ends: evicted pods with volume: {drain.volume.value} are not ready before the "
                    f"nodes are back, so only {drain.max_unavailable} of {pods} may be evicted; set max_unavailable to "
                    f"at least {pods}"
                )
                context.report(message, "max_unavailable")
        elif self.down is not None:
            context.warn("has no effect: the pods start on other nodes", "down")
        if drain.drains_zone and drain.volume is Volume.NONE:
            rack_of = {plan.name: plan.rack for plan in context.clients.plans}
            inside = [name for name in drain.successors if rack_of[name] == self.rack]
            if self.replacements is None:
                message = (
                    f"all nodes of rack {format_value(self.rack)} are drained, so its pods start in other racks: list "
                    f"{counted(pods, 'client')} of other racks with starts: false under replacements"
                )
                context.report(message)
            elif inside:
                message = format_list(f"in rack {self.rack}, all of whose nodes are drained", inside, max_names=4)
                context.report(message, "replacements")

    def stopped_clients(self, clients: ResolvedClients) -> list[ClientBlueprint]:
        """Return the clients that the event stops; of a rack, also those that are absent at the start."""
        if self.rack is not None:
            return [plan for plan in clients.plans if plan.rack == self.rack]
        return super().stopped_clients(clients)

    def known_of_kind(self, workload: ResolvedWorkload, path: ScenarioPath, source_map: SourceMap) -> Mapping[str, Any]:
        known: dict[str, Any] = {"volume": str(workload.volume), **workload.times}
        if workload.budget == 0 and self.max_unavailable is None:
            message = f"the PodDisruptionBudget of {workload.manifest.name} allows no eviction, so the drain never ends"
            source_map.add_mistake((*path, "max_unavailable"), f"{message}; set max_unavailable, or change the budget")
        elif workload.budget:
            known["max_unavailable"] = workload.budget
        return known
