"""How clients are stopped, and how a platform stops and starts them: Kubernetes, its autoscalers, and spot instances.

While a `preStop` hook runs, the client continues to process. Then the process gets SIGTERM, and its shutdown hook calls
`KafkaStreams.close`: the client is PENDING_SHUTDOWN, its stream threads leave their loop, commit, and close their tasks
with the stores. No task of the client runs from then on, and its stores cannot be queried. The consumers close last, so
the members send heartbeats until the end, and the LeaveGroup request, if any, is the last one that they send.

A process that is still closing at the end of the grace period gets SIGKILL: it does not leave the group, and state
that was not flushed is lost. After a `preStop` hook that used up the grace period, the kubelet waits for another 2 s.

Pods count as ready a fixed time after their start, whatever the application does; so the schedule of an event does not
depend on the assignor. A successor with the name of its predecessor has its rack, and its process id if the disk is
kept. Other successors are clients of the world that are absent before. A successor cannot start while its zone is out;
a pod that can never start holds up those that wait for it.

Scaling follows the lag of the consumer group: a HorizontalPodAutoscaler, alone or managed by KEDA. Unlike other events,
its joins and leaves depend on the run: on the lag, and therefore on the assignor. What is random in it, the phases of
its timers, depends on the seed only.

Source: `KafkaStreams.shutdownHelper`, `StreamThread.runLoop` and `completeShutdown`, Kafka 4.3.1; `killContainer` in
`pkg/kubelet/kuberuntime/kuberuntime_container.go` (`minimumGracePeriodInSeconds`), `ssc.go` and
`stateful_set_control.go` (StatefulSet, `OrderedReady`), `deployment/rolling.go` and
`deployment/util/deployment_util.go` (Deployment) of `pkg/controller`, the Eviction API (PodDisruptionBudget),
Kubernetes 1.34.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar, Final, NamedTuple

from simulator.world.changes import (
    ChangeContext,
    ClientDown,
    ClientUp,
    Disk,
    Disturbance,
    PodsReplaced,
    Startable,
    TimedChange,
)

MINIMUM_GRACE_MS: Final = 2_000
"""The time that the kubelet grants after a `preStop` hook in any case."""


@dataclass(frozen=True, slots=True)
class Closing:
    """How a client is stopped.

    Attributes:
        leaves_group: whether it leaves the group, as with `CloseOptions` of `KafkaStreams.close`; None for the default
            of the configs and the protocol, see `simulator.world.leave_on_close`.
        close_ms: how long `KafkaStreams.close` takes.
        pre_stop_ms: how long the client continues to process after the request to stop (`preStop`).
        grace_ms: the time from the request to SIGKILL (`terminationGracePeriodSeconds`); None if it is never killed.
    """

    leaves_group: bool | None = None
    close_ms: int = 0
    pre_stop_ms: int = 0
    grace_ms: int | None = None

    @property
    def begins_after_ms(self) -> int:
        """The time from the request to stop until the client begins to close; the grace period cuts the hook off."""
        return self.pre_stop_ms if self.grace_ms is None else min(self.pre_stop_ms, self.grace_ms)

    @property
    def ends_after_ms(self) -> int:
        """The time from the request to stop until the process has ended."""
        closed_ms = self.begins_after_ms + self.close_ms
        return closed_ms if self._killed_after_ms is None else min(closed_ms, self._killed_after_ms)

    @property
    def is_killed(self) -> bool:
        """Whether the process is killed before it has closed."""
        return self._killed_after_ms is not None and self.begins_after_ms + self.close_ms > self._killed_after_ms

    def stop(self, client: str, at_ms: int, disk: Disk, context: ChangeContext) -> TimedChange:
        """Return the change of a client that is asked to stop at a time; `disk`: what is left if it closes properly."""
        leaves = context.leaves_on_close(client, self.leaves_group, at_ms) and not self.is_killed
        if self.is_killed and disk is Disk.KEPT:
            disk = Disk.UNFLUSHED_LOST
        closes_in_ms = self.ends_after_ms - self.begins_after_ms
        down = ClientDown(client, leaves, disk, closes_in_ms=closes_in_ms, is_killed=self.is_killed)
        return TimedChange(at_ms + self.begins_after_ms, down)

    @property
    def _killed_after_ms(self) -> int | None:
        if self.grace_ms is None or not self.pre_stop_ms:
            return self.grace_ms
        return max(self.grace_ms, self.begins_after_ms + MINIMUM_GRACE_MS)


AT_ONCE: Final = Closing()
"""A client that closes in no time, and leaves the group if its configs say so."""


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


class PodStop(NamedTuple):
    """A process that the platform stops. `closing`: how it is stopped; None if it is killed without being asked."""

    client: str
    at_ms: int
    closing: Closing | None

    def change(self, volume: Volume, context: ChangeContext) -> TimedChange:
        """Return the change; `volume`: where the state directory of the pod is."""
        is_lost = volume is Volume.NONE
        if self.closing is not None:
            return self.closing.stop(self.client, self.at_ms, Disk.LOST if is_lost else Disk.KEPT, context)
        disk = Disk.LOST if is_lost else Disk.UNFLUSHED_LOST
        return TimedChange(self.at_ms, ClientDown(self.client, leaves_group=False, disk=disk, crashes=True))


class PodStart(NamedTuple):
    """A process that the platform starts."""

    client: str
    at_ms: int

    def change(self, volume: Volume, context: ChangeContext) -> TimedChange:
        """Return the change."""
        return TimedChange(self.at_ms, ClientUp(self.client))


def always(_client: str, at_ms: int) -> int:
    """Let every client start at any time."""
    return at_ms


@dataclass(frozen=True, slots=True)
class PodEvent(Disturbance):
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

    @property
    def is_temporary(self) -> bool:
        return not self.is_permanent

    @abstractmethod
    def schedule(self, startable: Startable) -> Iterator[PodStop | PodStart]:
        """Yield the stops and starts; each client stops and starts at most once."""

    def changes(self, context: ChangeContext) -> Iterator[TimedChange]:
        """Yield the changes of the pods, or only that they begin if it depends on an autoscaler which pods run."""
        if not context.scaled.isdisjoint(self.clients):
            yield TimedChange(self.at_ms, PodsReplaced(self))
        else:
            yield from self.pod_changes(context)

    def pod_changes(self, context: ChangeContext) -> Iterator[TimedChange]:
        """Yield the changes of the pods."""
        yield from (step.change(self.volume, context) for step in self.schedule(context.startable))

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

    def schedule(self, startable: Startable) -> Iterator[PodStop | PodStart]:
        at_ms = self.at_ms
        for client in reversed(self.clients):
            yield PodStop(client, at_ms, self.closing)
            starts_ms = startable(client, at_ms + self.closing.ends_after_ms + self.start_ms)
            if starts_ms is None:
                return
            yield PodStart(client, starts_ms)
            at_ms = starts_ms + self.ready_ms


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

    def schedule(self, startable: Startable) -> Iterator[PodStop | PodStart]:
        """Create and stop pods as the controller does: whenever a new pod is ready.

        First it creates as many new pods as `max_surge` allows, then it stops as many old ones as `max_unavailable`
        allows. Pods that are stopping do not count.
        """
        desired, at_ms = len(self.clients), self.at_ms
        stopped: list[int] = []
        num_created = 0
        ready_ms: list[int] = []
        while True:
            num_old = desired - len(stopped)
            new = min(desired - num_created, desired + self.max_surge - num_old - num_created)
            for i in range(num_created, num_created + max(0, new)):
                starts_ms = at_ms + self.start_ms
                successor = self.successors[i] if self.successors else self.clients[-1 - i]
                if not self.successors:
                    starts_ms = max(starts_ms, stopped[i] + self.closing.ends_after_ms)
                first_ms = startable(successor, starts_ms)
                if first_ms is not None:
                    yield PodStart(successor, first_ms)
                    ready_ms.append(first_ms + self.ready_ms)
            num_created += max(0, new)
            num_ready = num_old + sum(ready <= at_ms for ready in ready_ms)
            surplus = min(num_old, num_ready - (desired - self.max_unavailable))
            for i in range(len(stopped), len(stopped) + max(0, surplus)):
                yield PodStop(self.clients[-1 - i], at_ms, self.closing)
                stopped.append(at_ms)
            if surplus > 0:
                continue
            later_ms = [ready for ready in ready_ms if ready > at_ms]
            if not later_ms:
                return
            at_ms = min(later_ms)


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

    def schedule(self, startable: Startable) -> Iterator[PodStop | PodStart]:
        """Evict each pod once enough evicted ones are ready again."""
        budget = self.max_unavailable or len(self.clients)
        ready_ms: list[int | None] = []
        for i, client in enumerate(self.clients):
            at_ms: int | None = self.at_ms
            if i >= budget:
                known = sorted(ready for ready in ready_ms if ready is not None)
                at_ms = known[i - budget] if i - budget < len(known) else None
            if at_ms is None:
                return
            yield PodStop(client, at_ms, self.closing)
            successor = self.successors[i] if self.successors else client
            first_ms: int | None = at_ms + self.closing.ends_after_ms + self.start_ms
            if self.is_bound_to_nodes:
                back_ms = self.nodes_back_ms
                first_ms = None if back_ms is None else max(first_ms or 0, self.at_ms + back_ms)
            starts_ms = None if first_ms is None else startable(successor, first_ms)
            if starts_ms is not None:
                yield PodStart(successor, starts_ms)
            ready_ms.append(None if starts_ms is None else starts_ms + self.ready_ms)


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

    def schedule(self, startable: Startable) -> Iterator[PodStop | PodStart]:
        for i, client in enumerate(self.clients):
            if self.reacts:
                yield PodStop(client, self.at_ms, self.closing_by_notice)
            else:
                yield PodStop(client, self.at_ms + self.notice_ms, None)
            if self.replace_ms is None:
                continue
            after_ms = self.replace_ms if self.successors else max(self.replace_ms, self.ends_after_ms)
            successor = self.successors[i] if self.successors else client
            first_ms = startable(successor, self.at_ms + after_ms)
            if first_ms is not None:
                yield PodStart(successor, first_ms)


SYNC_MS: Final = 15_000
"""`--horizontal-pod-autoscaler-sync-period` of the controller manager."""

DOWNSCALE_STABILIZATION_MS: Final = 300_000
"""`--horizontal-pod-autoscaler-downscale-stabilization` of the controller manager."""

TOLERANCE: Final = 0.1
"""`--horizontal-pod-autoscaler-tolerance` of the controller manager."""


class SelectedPolicy(StrEnum):
    """`selectPolicy`: which of several policies limits a change."""

    MAX = "Max"
    MIN = "Min"
    DISABLED = "Disabled"


@dataclass(frozen=True, slots=True)
class ScalingPolicy:
    """A limit of the change of replicas within a period.

    Attributes:
        value: the number of pods, or the percentage of the replicas at the start of the period.
        is_percent: whether the value is a percentage.
    """

    value: int
    period_ms: int
    is_percent: bool = False


@dataclass(frozen=True, slots=True)
class ScalingRules:
    """`behavior.scaleUp` or `behavior.scaleDown` of a HorizontalPodAutoscaler.

    Attributes:
        stabilization_ms: the window in which the most cautious recommendation counts.
        select: which policy applies.
        tolerance: how much the metric may deviate from its target without a change.
    """

    policies: tuple[ScalingPolicy, ...]
    stabilization_ms: int
    select: SelectedPolicy = SelectedPolicy.MAX
    tolerance: float = TOLERANCE


DEFAULT_SCALE_UP: Final = ScalingRules((ScalingPolicy(4, 15_000), ScalingPolicy(100, 15_000, is_percent=True)), 0)
DEFAULT_SCALE_DOWN: Final = ScalingRules((ScalingPolicy(100, 15_000, is_percent=True),), DOWNSCALE_STABILIZATION_MS)


@dataclass(frozen=True, slots=True)
class ScalingBehavior:
    """`behavior` of a HorizontalPodAutoscaler, with Kubernetes' defaults."""

    up: ScalingRules = DEFAULT_SCALE_UP
    down: ScalingRules = DEFAULT_SCALE_DOWN


@dataclass(frozen=True, slots=True)
class HorizontalScaling:
    """A HorizontalPodAutoscaler. `behavior`: `behavior`; None for the rules of the controller without it."""

    min_replicas: int
    max_replicas: int
    behavior: ScalingBehavior | None = None


@dataclass(frozen=True, slots=True)
class LagTrigger:
    """A metric that scaling follows: the lag of a consumer group in records.

    Attributes:
        target: the target value, in KEDA `lagThreshold`.
        is_average: whether the target is a value per pod (`AverageValue`), not of the whole metric (`Value`).
        topics: the topics whose lag counts; empty for all topics that the group reads.
        is_limited: whether the metric is KEDA's, which asks for no more pods than there are partitions.
        allows_idle_consumers: `allowIdleConsumers`: the metric may ask for more pods than there are partitions.
        limits_to_partitions_with_lag: `limitToPartitionsWithLag`: at most one pod per partition with lag.
        distributes_evenly: `ensureEvenDistributionOfPartitions`: a number of pods that divides the partitions.
        activation_lag: `activationLagThreshold`: the trigger is active if the lag exceeds it.
    """

    target: int
    is_average: bool = True
    topics: tuple[str, ...] = ()
    is_limited: bool = False
    allows_idle_consumers: bool = False
    limits_to_partitions_with_lag: bool = False
    distributes_evenly: bool = False
    activation_lag: int = 0


@dataclass(frozen=True, slots=True)
class Activation:
    """The part of a ScaledObject that KEDA's operator does itself: between idle and active.

    Attributes:
        polling_ms: `pollingInterval`.
        cooldown_ms: `cooldownPeriod`: how long no trigger must have been active.
        min_replicas: `minReplicaCount`.
        idle_replicas: `idleReplicaCount`, None if it is not set.
        initial_cooldown_ms: `initialCooldownPeriod`: the cooldown of a ScaledObject that has never been active.
        caches_metric: `useCachedMetrics`: the HorizontalPodAutoscaler reads the metric of the last poll.
    """

    polling_ms: int = 30_000
    cooldown_ms: int = 300_000
    min_replicas: int = 0
    idle_replicas: int | None = None
    initial_cooldown_ms: int = 0
    caches_metric: bool = False


class PodController(StrEnum):
    """What creates and deletes the pods."""

    STATEFUL_SET = "StatefulSet"
    DEPLOYMENT = "Deployment"


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """How pods start and stop.

    Attributes:
        controller: what creates and deletes them.
        start_ms: the time from the creation of a pod until its process starts.
        ready_ms: the time from the start of a process until its pod is ready.
        min_ready_ms: `minReadySeconds`: how long a pod must have been ready to count as available.
        closing: how pods are stopped.
        volume: where their state directories are.
        is_parallel: `podManagementPolicy: Parallel` of a StatefulSet: it does not wait for one pod after another.
    """

    controller: PodController
    start_ms: int = 10_000
    ready_ms: int = 20_000
    min_ready_ms: int = 0
    closing: Closing = AT_ONCE
    volume: Volume = Volume.NONE
    is_parallel: bool = False


@dataclass(frozen=True, slots=True)
class LagScaling(Disturbance):
    """Pods that an autoscaler starts and stops by the lag of their group.

    Attributes:
        clients: all pods that it can start, by ordinal; the first `replicas` are up at the start.
        replicas: the number of pods at the start.
        pods: how pods start and stop.
        triggers: the metrics; the one that asks for the most pods counts.
        activation: what KEDA does besides; None without KEDA.
    """

    at_ms: int
    name: str
    clients: tuple[str, ...]
    replicas: int
    pods: PodTemplate
    triggers: tuple[LagTrigger, ...]
    horizontal: HorizontalScaling
    activation: Activation | None = field(default=None)

    def changes(self, context: ChangeContext) -> Iterator[TimedChange]:
        yield from ()  # They depend on the run.

    def __str__(self) -> str:
        return f"lag scaling of {self.name} ({'HPA' if self.activation is None else 'KEDA'})"
