"""Events in which a platform stops processes and starts their successors: Kubernetes, and spot instances.

`simulator.pod_schedules` computes when each process stops, and when which successor starts. A successor with the name
of its predecessor has its rack, and its process id if the disk is kept. Other successors are clients of the world that
are absent before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, Final

from simulator.world.closing import AT_ONCE, Closing

_MAX_NAMES: Final = 3


def count_and_names(kind: str, names: Sequence[object]) -> str:
    """Return what a label says of clients, brokers or partitions, such as `6 clients (app-0, app-1, app-2, …)`."""
    if len(names) == 1:
        return f"{kind} {names[0]}"
    listed = ", ".join(map(str, names[:_MAX_NAMES]))
    return f"{len(names):,} {kind}s ({listed}{', …' if len(names) > _MAX_NAMES else ''})"


class Volume(StrEnum):
    """Where the state directory of a pod is.

    Attributes:
        NONE: on the pod's own disk, which is deleted with the pod.
        LOCAL: on a disk of its node; the pod can start on that node only.
        ZONAL: on a network disk of its zone; the pod can start on any node of that zone.
    """

    NONE = "none"
    LOCAL = "local"
    ZONAL = "zonal"


@dataclass(frozen=True, slots=True)
class PodEvent:
    """An event in which a platform stops processes.

    Attributes:
        at_ms: when the first process is asked to stop.
        clients: the processes; the pods of a controller by ordinal.
        closing: how a process is stopped.
        volume: where the state directories are.
        successors: the clients that start instead, as many; empty if successors have the names of their predecessors.
    """

    kind: ClassVar[str] = "rolling update"

    at_ms: int
    clients: tuple[str, ...]
    closing: Closing = AT_ONCE
    volume: Volume = Volume.NONE
    successors: tuple[str, ...] = ()

    @property
    def is_permanent(self) -> bool:
        """Whether the clients never come back, or only as other clients."""
        return bool(self.successors)

    def __str__(self) -> str:
        return f"{self.kind} of {count_and_names('client', self.clients)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatefulSetUpdate(PodEvent):
    """A rolling update of a StatefulSet: from the last pod to the first, each once the one before is ready again.

    Attributes:
        start_ms: the time from the end of a process until its successor starts.
        ready_ms: the time from the start of a process until its pod is ready.
    """

    start_ms: int
    ready_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentUpdate(PodEvent):
    """A rolling update of a Deployment: new pods replace the old ones, of which the last stops first.

    Without `successors`, a new pod has the name and the rack of an old one, which is possible without surge only.

    Attributes:
        start_ms: the time from the creation of a pod until its process starts.
        ready_ms: the time from the start of a process until its pod is ready.
        max_surge: how many pods more than usual may exist, without those that are stopping.
        max_unavailable: how many pods fewer than usual may be ready.
    """

    start_ms: int
    ready_ms: int
    max_surge: int
    max_unavailable: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDrain(PodEvent):
    """A drain of nodes: their pods are evicted in the given order, and start again on other nodes.

    Attributes:
        start_ms: the time from the end of a process until its successor starts.
        ready_ms: the time from the start of a process until its pod is ready.
        max_unavailable: how many evicted pods may be unavailable at a time (PodDisruptionBudget); None for all.
        nodes_back_ms: the time until pods may start on these nodes again; None for never.
        drains_zone: whether these are all nodes of their zones.
    """

    kind: ClassVar[str] = "node drain"

    start_ms: int
    ready_ms: int
    max_unavailable: int | None = None
    nodes_back_ms: int | None = None
    drains_zone: bool = False

    @property
    def is_bound_to_nodes(self) -> bool:
        """Whether the pods cannot start before the drained nodes are back."""
        return self.volume is Volume.LOCAL or (self.volume is Volume.ZONAL and self.drains_zone)

    @property
    def is_permanent(self) -> bool:
        """Whether the clients never come back, or only as other clients."""
        return self.nodes_back_ms is None if self.is_bound_to_nodes else bool(self.successors)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotInterruption(PodEvent):
    """An interruption of spot instances, which stop at the end of a notice.

    Processes that react are asked to stop at the notice, whose end limits the grace period.

    Attributes:
        notice_ms: the time from the notice until the instances stop.
        reacts: whether processes are asked to stop at the notice; otherwise they are killed at its end.
        replace_ms: the time from the notice until the successors start; None for never.
    """

    kind: ClassVar[str] = "spot interruption"

    notice_ms: int
    reacts: bool = True
    replace_ms: int | None = None

    @property
    def is_permanent(self) -> bool:
        """Whether the clients never come back, or only as other clients."""
        return self.replace_ms is None or bool(self.successors)

    @property
    def closing_by_notice(self) -> Closing:
        """How processes are stopped if they react to the notice."""
        grace_ms = self.notice_ms if self.closing.grace_ms is None else min(self.notice_ms, self.closing.grace_ms)
        return replace(self.closing, grace_ms=grace_ms)

    @property
    def ends_after_ms(self) -> int:
        """The time from the notice until the processes have ended."""
        return self.closing_by_notice.ends_after_ms if self.reacts else self.notice_ms
