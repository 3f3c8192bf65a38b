"""The algorithm of the HorizontalPodAutoscaler for external metrics, as a state machine without a clock.

Guarantees: a change never leaves `min_replicas` to `max_replicas`, and never goes against the recommendations of the
stabilization windows.

Source: `reconcileAutoscaler`, `normalizeDesiredReplicas`, `stabilizeScalingDecisionWithBehaviors` and
`convertDesiredReplicasWithBehaviorRate` of `pkg/controller/podautoscaler/horizontal.go`, and
`GetExternalPerPodMetricReplicas` and `GetExternalMetricReplicas` of `replica_calculator.go`, Kubernetes 1.34; explained
in https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from simulator.world.lag_scaling import (
    DOWNSCALE_STABILIZATION_MS,
    TOLERANCE,
    HorizontalScaling,
    LagTrigger,
    ScalingBehavior,
    ScalingRules,
    SelectedPolicy,
)


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

        Args:
            now_ms: the time.
            metrics: the value of each metric.
            current: the replicas that are set (`spec.replicas` of the workload).
            existing: the pods that exist (`status.replicas`).
            ready: the pods that are ready.
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
