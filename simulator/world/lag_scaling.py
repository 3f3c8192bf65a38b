"""Scaling of pods by the lag of the consumer group: a HorizontalPodAutoscaler, alone or managed by KEDA.

Unlike other events, its joins and leaves depend on the run: on the lag, and therefore on the assignor. What is random
in it, the phases of its timers, depends on the seed only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from simulator.world.closing import AT_ONCE, Closing
from simulator.world.pod_events import Volume

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
        policies: the limits.
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
class LagScaling:
    """Pods that an autoscaler starts and stops by the lag of their group.

    Attributes:
        at_ms: when it begins.
        name: the name of the workload.
        clients: all pods that it can start, by ordinal; the first `replicas` are up at the start.
        replicas: the number of pods at the start.
        pods: how pods start and stop.
        triggers: the metrics; the one that asks for the most pods counts.
        horizontal: the HorizontalPodAutoscaler.
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

    def __str__(self) -> str:
        return f"lag scaling of {self.name} ({'HPA' if self.activation is None else 'KEDA'})"
