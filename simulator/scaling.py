"""The HorizontalPodAutoscaler for external metrics, and the pods that it scales, as state machines without a clock.

Guarantees: a change never leaves `min_replicas` to `max_replicas`, and never goes against the recommendations of the
stabilization windows.

Source: `reconcileAutoscaler`, `normalizeDesiredReplicas`, `stabilizeScalingDecisionWithBehaviors` and
`convertDesiredReplicasWithBehaviorRate` of `pkg/controller/podautoscaler/horizontal.go`, and
`GetExternalPerPodMetricReplicas` and `GetExternalMetricReplicas` of `replica_calculator.go`, Kubernetes 1.34; explained
in https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/.

The metric is that of KEDA's Kafka scaler, whose operator activates and deactivates the pods itself.

Source: `getTotalLag` of `pkg/scalers/kafka_scaler.go`, and `RequestScale` and `scaleToZeroOrIdle` of
`pkg/scaling/executor/scale_scaledobjects.go`, KEDA 2.20; explained in
https://keda.sh/docs/latest/scalers/apache-kafka/ and https://keda.sh/docs/latest/reference/scaledobject-spec/.

A StatefulSet creates the lowest missing ordinals and deletes the highest ones. With `OrderedReady`, it changes one pod
at a time, and waits until all pods that it keeps are available. A Deployment creates and deletes pods together; it
deletes pods that are not ready first, then those that became ready last. A pod whose name is still taken by its
terminating predecessor is created once that has ended.

Source: `stateful_set_control.go` and `stateful_set_utils.go` (`monotonic`) of `pkg/controller/statefulset`, and
`ActivePodsWithRanks` of `pkg/controller/controller_utils.go`, Kubernetes 1.34.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from simulator.world.changes import Startable
from simulator.world.pod_events import (
    DOWNSCALE_STABILIZATION_MS,
    TOLERANCE,
    Activation,
    HorizontalScaling,
    LagTrigger,
    PodController,
    PodStart,
    PodStop,
    PodTemplate,
    ScalingBehavior,
    ScalingRules,
    SelectedPolicy,
)

IsUp = Callable[[str], bool]
"""Returns whether the process of a pod runs."""


@dataclass(slots=True)
class _Pod:
    """A pod that exists.

    Attributes:
        starts_ms: when its process starts; None if its zone is out for good.
        has_started: whether its process was started.
        ends_ms: when it has ended, if it is terminating.
    """

    starts_ms: int | None
    has_started: bool = False
    ends_ms: int | None = None


class PodSet:
    """The pods of a workload.

    `template`: how pods start and stop; `names`: the names of all pods that can exist, by ordinal; `replicas`: how many
    exist at the start, ready since long; `startable`: returns when a pod can start.
    """

    def __init__(self, template: PodTemplate, names: tuple[str, ...], replicas: int, startable: Startable) -> None:
        self._template = template
        self._names = names
        self._startable = startable
        long_ago_ms = -template.ready_ms - template.min_ready_ms
        self._pods = {number: _Pod(long_ago_ms, has_started=True) for number in range(replicas)}

    def wants(self, name: str) -> bool:
        """Return whether a pod exists, its process has started, and it is not terminating."""
        pod = self._pods.get(self._names.index(name)) if name in self._names else None
        return pod is not None and pod.has_started and pod.ends_ms is None

    @property
    def running(self) -> tuple[str, ...]:
        """Return the names of the pods whose processes have started and that are not terminating, by ordinal."""
        return tuple(self._names[number] for number in sorted(self._pods) if self.wants(self._names[number]))

    @property
    def kept(self) -> frozenset[str]:
        """Return the names of the pods that exist and are not terminating, started or not."""
        return frozenset(self._names[number] for number in self._alive())

    def existing(self) -> int:
        """Return `status.replicas`; a StatefulSet counts terminating pods, a Deployment does not."""
        if self._template.controller is PodController.STATEFUL_SET:
            return len(self._pods)
        return len(self._alive())

    def ready(self, now_ms: int, is_up: IsUp) -> int:
        """Return how many pods are ready."""
        return sum(self._is_ready(number, now_ms, is_up, self._template.ready_ms) for number in self._alive())

    def next_change_ms(self, now_ms: int) -> int | None:
        """Return when a pod starts, becomes ready or available, or has ended; None if none does."""
        ready_ms = self._template.ready_ms
        times = [
            at_ms
            for pod in self._pods.values()
            for at_ms in (
                [pod.ends_ms]
                if pod.ends_ms is not None
                else []
                if pod.starts_ms is None
                else [pod.starts_ms, pod.starts_ms + ready_ms, pod.starts_ms + ready_ms + self._template.min_ready_ms]
            )
            if at_ms > now_ms
        ]
        return min(times, default=None)

    def advance(self, now_ms: int, replicas: int, is_up: IsUp) -> Iterator[PodStart | PodStop]:
        """Yield the processes that start or are asked to stop now.

        `now_ms`: the time, not before that of the last call. `is_up`: returns whether the process of a pod runs; other
        events may have stopped it.
        """
        for number, pod in sorted(self._pods.items()):
            if pod.ends_ms is not None and pod.ends_ms <= now_ms:
                del self._pods[number]
        yield from self._start(now_ms)
        if self._template.controller is PodController.DEPLOYMENT:
            yield from self._scale_deployment(now_ms, replicas, is_up)
        else:
            yield from self._scale_stateful_set(now_ms, replicas, is_up)
        yield from self._start(now_ms)

    def _start(self, now_ms: int) -> Iterator[PodStart]:
        for number in self._alive():
            pod = self._pods[number]
            if not pod.has_started and pod.starts_ms is not None and pod.starts_ms <= now_ms:
                pod.has_started = True
                yield PodStart(self._names[number], now_ms)

    def _scale_stateful_set(self, now_ms: int, replicas: int, is_up: IsUp) -> Iterator[PodStop]:
        ready_ms = self._template.ready_ms + self._template.min_ready_ms
        for number in range(replicas):
            if number not in self._pods:
                self._create(number, now_ms)
            if not self._template.is_parallel and not self._is_ready(number, now_ms, is_up, ready_ms):
                return
        for number in sorted((number for number in self._pods if number >= replicas), reverse=True):
            yield from self._delete(number, now_ms)
            if not self._template.is_parallel and number in self._pods:
                return

    def _scale_deployment(self, now_ms: int, replicas: int, is_up: IsUp) -> Iterator[PodStop]:
        free = [number for number in range(len(self._names)) if number not in self._pods]
        for number in free[: max(0, replicas - len(self._alive()))]:
            self._create(number, now_ms)

        def by_deletion(number: int) -> tuple[bool, int, int]:
            starts_ms = self._pods[number].starts_ms
            is_ready = self._is_ready(number, now_ms, is_up, self._template.ready_ms)
            return is_ready, -(now_ms if starts_ms is None else starts_ms), -number

        alive = self._alive()
        for number in sorted(alive, key=by_deletion)[: max(0, len(alive) - replicas)]:
            yield from self._delete(number, now_ms)

    def _create(self, number: int, now_ms: int) -> None:
        self._pods[number] = _Pod(self._startable(self._names[number], now_ms + self._template.start_ms))

    def _delete(self, number: int, now_ms: int) -> Iterator[PodStop]:
        pod = self._pods[number]
        if pod.ends_ms is not None:
            return
        if not pod.has_started:
            del self._pods[number]
            return
        pod.ends_ms = now_ms + self._template.closing.ends_after_ms
        yield PodStop(self._names[number], now_ms, self._template.closing)

    def _alive(self) -> list[int]:
        return [number for number in sorted(self._pods) if self._pods[number].ends_ms is None]

    def _is_ready(self, number: int, now_ms: int, is_up: IsUp, after_ms: int) -> bool:
        pod = self._pods[number]
        if pod.ends_ms is not None or not pod.has_started or pod.starts_ms is None:
            return False
        return pod.starts_ms + after_ms <= now_ms and is_up(self._names[number])


def total_lag(lags: Sequence[int]) -> int:
    """Return the lag of a group, given that of each partition."""
    return sum(lags)


def scaled_metric(trigger: LagTrigger, lags: Sequence[int]) -> int:
    """Return the metric that a HorizontalPodAutoscaler reads: the lag of the group, limited as the trigger says."""
    lag, threshold = total_lag(lags), trigger.target
    is_limited = trigger.is_limited and (
        not trigger.allows_idle_consumers or trigger.limits_to_partitions_with_lag or trigger.distributes_evenly
    )
    if not is_limited:
        return lag
    most_pods = len(lags)
    if trigger.distributes_evenly:
        lag = threshold * _dividing_pods(lag, most_pods, threshold)
    if trigger.limits_to_partitions_with_lag:
        most_pods = sum(of_partition > 0 for of_partition in lags)
    return most_pods * threshold if lag // threshold > most_pods else lag


def _dividing_pods(lag: int, num_partitions: int, threshold: int) -> int:
    """Return the fewest pods that the lag needs and that divide the partitions evenly; all partitions if none do."""
    factors = (pods for pods in range(1, num_partitions + 1) if num_partitions % pods == 0)
    return next((pods for pods in factors if pods * threshold >= lag), num_partitions)


class Activator:
    """KEDA's operator: sets replicas when triggers become active, and after a cooldown without active triggers."""

    def __init__(self, activation: Activation) -> None:
        self._activation = activation
        self._last_active_ms: int | None = None

    def poll(self, now_ms: int, is_active: bool, current: int) -> int | None:
        """Return the number of replicas to set now; None for no change.

        `is_active` says whether a trigger is active.
        """
        activation = self._activation
        if is_active:
            self._last_active_ms = now_ms
            is_idle = activation.idle_replicas is not None and current < activation.min_replicas
            return max(activation.min_replicas, 1) if is_idle or current == 0 else None
        if activation.idle_replicas is not None:
            can_be_idle = current > activation.idle_replicas
        else:
            can_be_idle = current > 0 and activation.min_replicas == 0
        if can_be_idle:
            return (activation.idle_replicas or 0) if self._has_cooled_down(now_ms) else None
        is_below = activation.idle_replicas is None and current < activation.min_replicas
        return activation.min_replicas if is_below else None

    def _has_cooled_down(self, now_ms: int) -> bool:
        if self._last_active_ms is None:
            return self._activation.initial_cooldown_ms < now_ms
        return self._last_active_ms + self._activation.cooldown_ms < now_ms


class ScalingDecision(NamedTuple):
    """The outcome of a synchronization.

    Attributes:
        replicas: the number of replicas to set.
        recommended: what the metric alone asks for.
        reason: why `replicas` is not what the metric asks for, or what the metric says.
    """

    replicas: int
    recommended: int
    reason: str


@dataclass(frozen=True, slots=True)
class _Timed:
    at_ms: int
    replicas: int


class HorizontalAutoscaler:
    """The controller of one HorizontalPodAutoscaler."""

    def __init__(self, scaling: HorizontalScaling, triggers: Sequence[LagTrigger]) -> None:
        self._scaling = scaling
        self._triggers = tuple(triggers)
        self._recommendations: list[_Timed] = []
        self._added: list[_Timed] = []
        self._removed: list[_Timed] = []

    def synchronize(
        self, now_ms: int, metrics: Sequence[float], current: int, existing: int, ready: int
    ) -> ScalingDecision:
        """Return the number of replicas to set now.

        `current`: the replicas that are set (`spec.replicas` of the workload); `existing`: the pods that exist
        (`status.replicas`).
        """
        if not self._recommendations:
            self._recommendations.append(_Timed(now_ms, current))
        minimum, maximum = self._scaling.min_replicas, self._scaling.max_replicas
        if current == 0 and minimum != 0:
            return ScalingDecision(0, 0, "disabled at 0 replicas")
        if current > maximum:
            return self._change(now_ms, current, ScalingDecision(maximum, maximum, "above the maximum"))
        if current < minimum:
            return self._change(now_ms, current, ScalingDecision(minimum, minimum, "below the minimum"))
        recommended = max(
            self._recommend(trigger, metric, current, existing, ready)
            for trigger, metric in zip(self._triggers, metrics, strict=True)
        )
        behavior = self._scaling.behavior
        if behavior is None:
            return self._change(now_ms, current, self._normalize(now_ms, current, recommended))
        return self._change(now_ms, current, self._normalize_with(behavior, now_ms, current, recommended))

    def _recommend(self, trigger: LagTrigger, metric: float, current: int, existing: int, ready: int) -> int:
        """Return the replicas that a metric asks for."""
        target = trigger.target
        if trigger.is_average:
            if existing and self._is_tolerated(metric / (target * existing)):
                return existing
            return math.ceil(metric / target)
        ratio = metric / target
        if current == 0:
            return math.ceil(ratio)
        return current if self._is_tolerated(ratio) else math.ceil(ratio * ready)

    def _is_tolerated(self, ratio: float) -> bool:
        behavior = self._scaling.behavior
        up, down = (TOLERANCE, TOLERANCE) if behavior is None else (behavior.up.tolerance, behavior.down.tolerance)
        return 1 - down <= ratio <= 1 + up

    def _normalize(self, now_ms: int, current: int, recommended: int) -> ScalingDecision:
        """Apply the limits of the controller without `behavior`."""
        cutoff_ms = now_ms - DOWNSCALE_STABILIZATION_MS
        recent = [before.replicas for before in self._recommendations if before.at_ms >= cutoff_ms]
        stabilized = max([recommended, *recent])
        self._remember(now_ms, recommended, DOWNSCALE_STABILIZATION_MS)
        limit = min(self._scaling.max_replicas, max(2 * current, 4))
        replicas = min(max(stabilized, self._scaling.min_replicas), limit)
        return ScalingDecision(replicas, recommended, self._reason(current, recommended, stabilized, replicas))

    def _normalize_with(
        self, behavior: ScalingBehavior, now_ms: int, current: int, recommended: int
    ) -> ScalingDecision:
        """Apply the stabilization windows and the policies of `behavior`."""
        lowest = highest = recommended
        for before in self._recommendations:
            if before.at_ms > now_ms - behavior.up.stabilization_ms:
                lowest = min(lowest, before.replicas)
            if before.at_ms > now_ms - behavior.down.stabilization_ms:
                highest = max(highest, before.replicas)
        stabilized = min(max(current, lowest), highest)
        self._remember(now_ms, recommended, max(behavior.up.stabilization_ms, behavior.down.stabilization_ms))
        replicas = stabilized
        if stabilized > current:
            limit = max(current, self._limit(behavior.up, now_ms, current, sign=1))
            replicas = min(stabilized, self._scaling.max_replicas, limit)
        elif stabilized < current:
            limit = min(current, self._limit(behavior.down, now_ms, current, sign=-1))
            replicas = max(stabilized, self._scaling.min_replicas, limit)
        return ScalingDecision(replicas, recommended, self._reason(current, recommended, stabilized, replicas))

    def _limit(self, rules: ScalingRules, now_ms: int, current: int, *, sign: int) -> int:
        """Return the most replicas (sign 1) or the fewest (sign -1) that the policies allow."""
        if rules.select is SelectedPolicy.DISABLED:
            return current
        proposed = []
        for policy in rules.policies:
            cutoff_ms = now_ms - policy.period_ms
            start = current - _sum_after(self._added, cutoff_ms) + _sum_after(self._removed, cutoff_ms)
            if not policy.is_percent:
                proposed.append(start + sign * policy.value)
            elif sign > 0:
                proposed.append(math.ceil(start * (1 + policy.value / 100)))
            else:
                proposed.append(int(start * (1 - policy.value / 100)))
        largest_change = max if (rules.select is SelectedPolicy.MAX) == (sign > 0) else min
        return largest_change(proposed)

    def _reason(self, current: int, recommended: int, stabilized: int, replicas: int) -> str:
        if stabilized != recommended and stabilized == replicas:
            return "stabilized"
        if replicas != stabilized:
            is_bound = replicas in (self._scaling.min_replicas, self._scaling.max_replicas)
            limit = "maximum" if replicas < stabilized else "minimum"
            return f"limited by the {limit} of replicas" if is_bound else "limited by the scaling policies"
        return "lag within the tolerance" if recommended == current else "lag"

    def _remember(self, now_ms: int, recommended: int, window_ms: int) -> None:
        kept = [before for before in self._recommendations if before.at_ms >= now_ms - window_ms]
        self._recommendations = [*kept, _Timed(now_ms, recommended)]

    def _change(self, now_ms: int, current: int, to: ScalingDecision) -> ScalingDecision:
        behavior = self._scaling.behavior
        if behavior is None or to.replicas == current:
            return to
        changes, rules = (self._added, behavior.up) if to.replicas > current else (self._removed, behavior.down)
        longest_ms = max((policy.period_ms for policy in rules.policies), default=0)
        change = _Timed(now_ms, abs(to.replicas - current))
        # As in `storeScaleEvent`, a new change replaces the last outdated one only: the others still count in the
        # longer periods of the other direction.
        outdated = [place for place, before in enumerate(changes) if before.at_ms < now_ms - longest_ms]
        if outdated:
            changes[outdated[-1]] = change
        else:
            changes.append(change)
        return to


def _sum_after(changes: Sequence[_Timed], cutoff_ms: int) -> int:
    return sum(change.replicas for change in changes if change.at_ms > cutoff_ms)
