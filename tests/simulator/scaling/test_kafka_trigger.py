"""KEDA's Kafka trigger limits the lag, and its operator activates and deactivates, as its source says."""

from __future__ import annotations

import math
import random

import pytest

from simulator.scaling import Activator, scaled_metric, total_lag
from simulator.world.pod_events import Activation, LagTrigger


def test_the_metric_is_the_lag_of_all_partitions() -> None:
    assert scaled_metric(LagTrigger(10, is_limited=True), [5, 0, 7]) == 12


def test_no_more_pods_than_partitions() -> None:
    assert scaled_metric(LagTrigger(10, is_limited=True), [500, 0, 7]) == 30


def test_idle_consumers_lift_the_limit() -> None:
    assert scaled_metric(LagTrigger(10, is_limited=True, allows_idle_consumers=True), [500, 0, 7]) == 507


def test_partitions_without_lag_get_no_pods_if_limited_to_those_with_lag() -> None:
    trigger = LagTrigger(10, is_limited=True, limits_to_partitions_with_lag=True)
    assert scaled_metric(trigger, [500, 0, 7]) == 20


@pytest.mark.parametrize(("lag", "pods"), [(0, 1), (5, 1), (15, 2), (25, 5), (60, 10), (5_000, 10)])
def test_pods_divide_ten_partitions_evenly(lag: int, pods: int) -> None:
    trigger = LagTrigger(10, is_limited=True, distributes_evenly=True)
    assert scaled_metric(trigger, [lag, *[0] * 9]) == 10 * pods


def test_a_metric_of_an_adapter_has_no_limit() -> None:
    assert scaled_metric(LagTrigger(10), [5_000]) == 5_000


@pytest.mark.parametrize("seed", range(20))
def test_limited_metrics_never_ask_for_more_pods_than_partitions(seed: int) -> None:
    rng = random.Random(seed)
    lags = [rng.choice([0, rng.randint(0, 10**6)]) for _ in range(rng.randint(1, 40))]
    trigger = LagTrigger(rng.randint(1, 10_000), is_limited=True, limits_to_partitions_with_lag=rng.random() < 0.5)
    pods = math.ceil(scaled_metric(trigger, lags) / trigger.target)
    assert pods <= len(lags) + 1  # KEDA compares whole thresholds, so a remainder may add one.
    assert pods <= math.ceil(total_lag(lags) / trigger.target)


def test_an_active_trigger_starts_the_minimum_from_zero() -> None:
    assert Activator(Activation(min_replicas=0)).poll(0, True, 0) == 1
    assert Activator(Activation(min_replicas=3)).poll(0, True, 0) == 3
    assert Activator(Activation(min_replicas=0)).poll(0, True, 2) is None


def test_without_active_triggers_pods_go_after_the_cooldown() -> None:
    activator = Activator(Activation(min_replicas=0, cooldown_ms=300_000))
    assert activator.poll(0, True, 4) is None
    polls = [activator.poll(now_ms, False, 4) for now_ms in range(30_000, 361_000, 30_000)]
    assert polls == [*[None] * 10, 0, 0]


def test_idle_replicas_replace_the_minimum_while_inactive() -> None:
    activator = Activator(Activation(min_replicas=3, idle_replicas=1, cooldown_ms=60_000))
    assert activator.poll(0, True, 1) == 3
    assert activator.poll(30_000, False, 3) is None
    assert activator.poll(90_000, False, 3) == 1


def test_a_minimum_without_idle_replicas_is_never_left() -> None:
    activator = Activator(Activation(min_replicas=2))
    assert activator.poll(10**9, False, 2) is None
    assert activator.poll(10**9, False, 1) == 2
