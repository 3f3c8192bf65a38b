"""Pods are created and deleted in the order of their controllers."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from simulator.scaling import PodSet
from simulator.world.pod_events import Closing, PodController, PodStart, PodStop, PodTemplate, always

CLOSING = Closing(close_ms=5_000, grace_ms=30_000)
ORDERED = PodTemplate(PodController.STATEFUL_SET, 10_000, 20_000, 0, CLOSING)
PARALLEL = PodTemplate(PodController.STATEFUL_SET, 10_000, 20_000, 0, CLOSING, is_parallel=True)
DEPLOYMENT = PodTemplate(PodController.DEPLOYMENT, 10_000, 20_000, 0, CLOSING)
NAMES = tuple(f"pod-{number}" for number in range(8))


def all_up(_client: str) -> bool:
    return True


def play(pods: PodSet, replicas: Callable[[int], int], until_ms: int) -> list[tuple[str, str, int]]:
    """Return what happens while the replicas change over time, as kind, pod and time."""
    steps: list[tuple[str, str, int]] = []
    now_ms = 0
    while now_ms <= until_ms:
        happening = pods.advance(now_ms, replicas(now_ms), all_up)
        steps += [("start" if isinstance(step, PodStart) else "stop", step.client, now_ms) for step in happening]
        next_ms = pods.next_change_ms(now_ms)
        now_ms = min(until_ms + 1 if next_ms is None else next_ms, (now_ms // 15_000 + 1) * 15_000)
    return steps


def test_ordered_pods_start_one_after_another_once_the_last_is_ready() -> None:
    steps = play(PodSet(ORDERED, NAMES, 1, always), lambda _: 3, 90_000)
    assert steps == [("start", "pod-1", 10_000), ("start", "pod-2", 40_000)]


def test_available_pods_wait_for_min_ready_seconds() -> None:
    template = PodTemplate(PodController.STATEFUL_SET, 10_000, 20_000, 30_000, CLOSING)
    steps = play(PodSet(template, NAMES, 1, always), lambda _: 3, 120_000)
    assert steps == [("start", "pod-1", 10_000), ("start", "pod-2", 70_000)]


def test_ordered_pods_stop_highest_first_and_one_at_a_time() -> None:
    steps = play(PodSet(ORDERED, NAMES, 3, always), lambda _: 1, 60_000)
    assert steps == [("stop", "pod-2", 0), ("stop", "pod-1", 5_000)]


def test_parallel_pods_start_and_stop_together() -> None:
    pods = PodSet(PARALLEL, NAMES, 1, always)
    steps = play(pods, lambda now_ms: 4 if now_ms < 60_000 else 2, 90_000)
    assert steps[:3] == [("start", f"pod-{number}", 10_000) for number in (1, 2, 3)]
    assert steps[3:] == [("stop", "pod-3", 60_000), ("stop", "pod-2", 60_000)]


def test_a_name_is_free_once_its_pod_has_ended() -> None:
    pods = PodSet(PARALLEL, NAMES, 2, always)
    steps = play(pods, lambda now_ms: 1 if now_ms < 1 else 2, 60_000)
    assert steps == [("stop", "pod-1", 0), ("start", "pod-1", 15_000)]


def test_a_deployment_deletes_pods_that_are_not_ready_first() -> None:
    pods = PodSet(DEPLOYMENT, NAMES, 3, always)
    list(pods.advance(0, 4, all_up))
    steps = list(pods.advance(15_000, 3, all_up))
    assert steps == [PodStart("pod-3", 15_000), PodStop("pod-3", 15_000, CLOSING)]


def test_a_pod_that_has_not_started_is_deleted_without_a_process() -> None:
    pods = PodSet(DEPLOYMENT, NAMES, 3, always)
    list(pods.advance(0, 5, all_up))
    assert list(pods.advance(5_000, 3, all_up)) == []
    assert pods.existing() == 3


def test_a_stateful_set_counts_terminating_pods_and_a_deployment_does_not() -> None:
    for template, existing in ((PARALLEL, 3), (DEPLOYMENT, 2)):
        pods = PodSet(template, NAMES, 3, always)
        list(pods.advance(0, 2, all_up))
        assert pods.existing() == existing


def test_a_pod_without_process_is_not_ready() -> None:
    pods = PodSet(PARALLEL, NAMES, 3, always)
    assert pods.ready(0, lambda client: client != "pod-1") == 2


def test_a_zone_that_is_out_for_good_keeps_its_pod_pending() -> None:
    pods = PodSet(PARALLEL, NAMES, 1, lambda _client, _at_ms: None)
    assert play(pods, lambda _: 3, 60_000) == []
    assert pods.existing() == 3


@pytest.mark.parametrize("template", [ORDERED, PARALLEL, DEPLOYMENT])
@pytest.mark.parametrize("seed", range(10))
def test_pods_settle_at_the_replicas_that_are_set(template: PodTemplate, seed: int) -> None:
    rng = random.Random(seed)
    wanted = [rng.randint(0, len(NAMES)) for _ in range(20)]
    first = rng.randint(0, len(NAMES))
    pods = PodSet(template, NAMES, first, always)
    running = set(NAMES[:first])
    end_ms = 20 * 15_000
    for kind, client, _ in play(pods, lambda now_ms: wanted[min(now_ms // 15_000, 19)], end_ms + 600_000):
        assert (client in running) is (kind == "stop")
        running ^= {client}
    assert len(running) == wanted[-1]
    assert set(pods.running) == running
    if template is not DEPLOYMENT:
        assert pods.running == NAMES[: wanted[-1]]
