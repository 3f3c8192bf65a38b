"""KEDA's Kafka scaler: the metric that it computes from the lags of partitions, and what its operator does itself.

Source: `getTotalLag` of `pkg/scalers/kafka_scaler.go`, and `RequestScale` and `scaleToZeroOrIdle` of
`pkg/scaling/executor/scale_scaledobjects.go`, KEDA 2.20; explained in
https://keda.sh/docs/latest/scalers/apache-kafka/ and https://keda.sh/docs/latest/reference/scaledobject-spec/.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.world.lag_scaling import Activation, LagTrigger


def total_lag(lags: Sequence[int]) -> int:
    """Return the lag of a group, given that of each partition."""
    return sum(lags)


def scaled_metric(trigger: LagTrigger, lags: Sequence[int]) -> int:
    """Return the metric that a HorizontalPodAutoscaler reads.

    Args:
        trigger: the trigger.
        lags: the lag of each partition.

    Returns:
        The lag of the group, limited as the trigger says.
    """
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

        Args:
            now_ms: the time.
            is_active: whether a trigger is active.
            current: the replicas that are set.
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
