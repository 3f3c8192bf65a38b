"""The HorizontalPodAutoscaler decides as Kubernetes' documentation and its source say."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from simulator.scaling import HorizontalAutoscaler
from simulator.world.pod_events import (
    DEFAULT_SCALE_DOWN,
    DEFAULT_SCALE_UP,
    SYNC_MS,
    HorizontalScaling,
    LagTrigger,
    ScalingBehavior,
    ScalingPolicy,
    ScalingRules,
    SelectedPolicy,
)

AT_ONCE = ScalingRules((ScalingPolicy(100, 15_000, is_percent=True),), 0)


def autoscaler(
    minimum: int = 1, maximum: int = 100, behavior: ScalingBehavior | None = None, target: int = 100
) -> HorizontalAutoscaler:
    return HorizontalAutoscaler(HorizontalScaling(minimum, maximum, behavior), [LagTrigger(target)])


def synchronize(scaler: HorizontalAutoscaler, now_ms: int, metric: float, replicas: int) -> int:
    return scaler.synchronize(now_ms, [metric], replicas, replicas, replicas).replicas


def test_pods_follow_the_metric_and_not_their_present_number() -> None:
    assert synchronize(autoscaler(), 0, 450, 3) == 5


@pytest.mark.parametrize(("metric", "replicas"), [(901, 10), (1_099, 10), (1_101, 12), (1_100, 10)])
def test_a_metric_within_a_tenth_of_the_target_changes_nothing(metric: int, replicas: int) -> None:
    assert synchronize(autoscaler(), 0, metric, 10) == replicas


def test_a_stated_tolerance_replaces_the_tenth() -> None:
    narrow = ScalingBehavior(replace(DEFAULT_SCALE_UP, tolerance=0.0), DEFAULT_SCALE_DOWN)
    assert synchronize(autoscaler(behavior=narrow), 0, 1_001, 10) == 11


def test_pods_at_most_double_in_a_step_beyond_four() -> None:
    assert synchronize(autoscaler(), 0, 100_000, 1) == 4
    assert synchronize(autoscaler(), 0, 100_000, 3) == 6


def test_pods_stay_for_five_minutes_after_the_last_high_recommendation() -> None:
    scaler = autoscaler()
    assert synchronize(scaler, 0, 1_000, 10) == 10
    for now_ms in range(SYNC_MS, 300_001, SYNC_MS):
        assert synchronize(scaler, now_ms, 0, 10) == 10
    assert synchronize(scaler, 300_000 + SYNC_MS, 0, 10) == 1


def test_zero_replicas_disable_the_autoscaler() -> None:
    assert synchronize(autoscaler(), 0, 1e6, 0) == 0


@pytest.mark.parametrize(("replicas", "expected"), [(2, 3), (12, 10)])
def test_replicas_outside_the_bounds_are_corrected_whatever_the_metric(replicas: int, expected: int) -> None:
    assert synchronize(autoscaler(3, 10), 0, 0, replicas) == expected


def test_the_metric_that_asks_for_most_pods_counts() -> None:
    scaler = HorizontalAutoscaler(HorizontalScaling(1, 100), [LagTrigger(100), LagTrigger(10)])
    assert scaler.synchronize(0, [200, 90], 4, 4, 4).replicas == 8


def test_a_target_of_the_whole_metric_multiplies_the_ready_pods() -> None:
    scaler = HorizontalAutoscaler(HorizontalScaling(1, 100), [LagTrigger(100, is_average=False)])
    assert scaler.synchronize(0, [200], 4, 4, 3).replicas == 6


def test_policies_remove_pods_as_in_the_documentation() -> None:
    """With 4 pods and 10 % per minute, 80 pods become 72, then 64, and below 40 pods 4 leave at a time."""
    down = ScalingRules((ScalingPolicy(4, 60_000), ScalingPolicy(10, 60_000, is_percent=True)), 0)
    scaler = autoscaler(behavior=ScalingBehavior(DEFAULT_SCALE_UP, down))
    replicas, seen = 80, [80]
    for now_ms in range(0, 12 * 60_000, SYNC_MS):
        replicas = synchronize(scaler, now_ms, 1_000, replicas)
        if replicas != seen[-1]:
            seen.append(replicas)
    assert seen == [80, 72, 64, 57, 51, 45, 40, 36, 32, 28, 24, 20, 16]


def test_the_policy_with_the_smallest_change_counts_if_selected() -> None:
    down = ScalingRules((ScalingPolicy(4, 60_000), ScalingPolicy(10, 60_000, is_percent=True)), 0, SelectedPolicy.MIN)
    assert synchronize(autoscaler(behavior=ScalingBehavior(DEFAULT_SCALE_UP, down)), 0, 1, 80) == 76


def test_disabled_scaling_down_keeps_the_pods() -> None:
    disabled = replace(DEFAULT_SCALE_DOWN, select=SelectedPolicy.DISABLED, stabilization_ms=0)
    assert synchronize(autoscaler(behavior=ScalingBehavior(DEFAULT_SCALE_UP, disabled)), 0, 0, 9) == 9


def test_a_scale_up_window_waits_for_the_lowest_recommendation() -> None:
    up = replace(DEFAULT_SCALE_UP, stabilization_ms=60_000)
    scaler = autoscaler(behavior=ScalingBehavior(up, AT_ONCE))
    seen = [synchronize(scaler, now_ms, 400, 2) for now_ms in range(0, 75_001, SYNC_MS)]
    assert seen == [2, 2, 2, 2, 4, 4]


@pytest.mark.parametrize("seed", range(40))
def test_decisions_are_those_of_a_literal_reading_of_the_source(seed: int) -> None:
    rng = random.Random(seed)
    behavior = None if rng.random() < 0.3 else ScalingBehavior(_rules(rng), _rules(rng))
    minimum = rng.randint(0, 3)
    scaling = HorizontalScaling(minimum, minimum + rng.randint(1, 20), behavior)
    scaler, literal = HorizontalAutoscaler(scaling, [LagTrigger(100)]), _Literal(scaling)
    replicas = expected = rng.randint(scaling.min_replicas, scaling.max_replicas)
    seen, metric = [replicas], 0
    for now_ms in range(0, 200 * SYNC_MS, SYNC_MS):
        if rng.random() < 0.2:
            metric = rng.choice([0, 90, 250, 1_000, 5_000, rng.randint(0, 3_000)])
        existing = max(0, replicas - rng.randint(0, 2))
        replicas = scaler.synchronize(now_ms, [metric], replicas, existing, existing).replicas
        expected = literal.synchronize(now_ms, metric, expected, existing)
        assert replicas == expected, (now_ms, metric)
        seen.append(replicas)
    assert all(scaling.min_replicas <= number <= scaling.max_replicas for number in seen if number)


def _rules(rng: random.Random) -> ScalingRules:
    policies = tuple(
        ScalingPolicy(rng.randint(1, 100), 15_000 * rng.randint(1, 8), is_percent=rng.random() < 0.5)
        for _ in range(rng.randint(1, 3))
    )
    window_ms = rng.choice([0, 15_000, 60_000, 300_000])
    return ScalingRules(policies, window_ms, rng.choice([SelectedPolicy.MAX, SelectedPolicy.MAX, SelectedPolicy.MIN]))


class _Literal:
    """The same rules with all recommendations, one condition after another as in the source."""

    def __init__(self, scaling: HorizontalScaling) -> None:
        self.scaling = scaling
        self.recommended: list[tuple[int, int]] = []
        self.changed: dict[int, list[list[int]]] = {1: [], -1: []}

    def synchronize(self, now_ms: int, metric: float, current: int, existing: int) -> int:
        if not self.recommended:
            self.recommended.append((now_ms, current))
        scaling = self.scaling
        if current == 0 and scaling.min_replicas != 0:
            return 0
        wanted = math.ceil(metric / 100)
        if existing:
            ratio = metric / (100 * existing)
            if abs(1.0 - ratio) <= 0.1:
                wanted = existing
        after = self._limited(now_ms, current, wanted)
        self.recommended.append((now_ms, wanted))
        if after != current and self.scaling.behavior is not None:
            self._store(now_ms, after - current)
        return after

    def _store(self, now_ms: int, change: int) -> None:
        behavior = self.scaling.behavior
        assert behavior is not None
        events, rules = self.changed[1 if change > 0 else -1], behavior.up if change > 0 else behavior.down
        longest_ms = 0
        for policy in rules.policies:
            longest_ms = max(longest_ms, policy.period_ms)
        reused = None
        for event in events:
            if event[0] < now_ms - longest_ms:
                reused = event
        if reused is None:
            events.append([now_ms, change])
        else:
            reused[:] = [now_ms, change]

    def _limited(self, now_ms: int, current: int, wanted: int) -> int:
        scaling, behavior = self.scaling, self.scaling.behavior
        if behavior is None:
            highest = max(
                number for at_ms, number in [*self.recommended, (now_ms, wanted)] if now_ms - at_ms <= 300_000
            )
            return max(scaling.min_replicas, min(highest, scaling.max_replicas, max(2 * current, 4)))
        up = [number for at_ms, number in self.recommended if now_ms - at_ms < behavior.up.stabilization_ms]
        down = [number for at_ms, number in self.recommended if now_ms - at_ms < behavior.down.stabilization_ms]
        target = current
        if target < min([wanted, *up]):
            target = min([wanted, *up])
        if target > max([wanted, *down]):
            target = max([wanted, *down])
        if target > current:
            limits = [self._proposal(policy, now_ms, current, 1) for policy in behavior.up.policies]
            limit = max(limits) if behavior.up.select is SelectedPolicy.MAX else min(limits)
            return min(target, scaling.max_replicas, max(limit, current))
        if target < current:
            limits = [self._proposal(policy, now_ms, current, -1) for policy in behavior.down.policies]
            limit = min(limits) if behavior.down.select is SelectedPolicy.MAX else max(limits)
            return max(target, scaling.min_replicas, min(limit, current))
        return current

    def _proposal(self, policy: ScalingPolicy, now_ms: int, current: int, sign: int) -> int:
        start = current - sum(
            change for events in self.changed.values() for at_ms, change in events if now_ms - at_ms < policy.period_ms
        )
        if not policy.is_percent:
            return start + sign * policy.value
        changed = start * (1 + sign * policy.value / 100)
        return math.ceil(changed) if sign > 0 else int(changed)
