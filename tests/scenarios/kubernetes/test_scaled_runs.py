"""Runs whose pods an autoscaler scales by the lag of the group."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarios.load import Scenario
from scenarios.run import run
from simulator.processes.run_options import Observer, RunOptions
from simulator.processes.simulation import simulate
from simulator.results.tabulation import tabulate
from simulator.results.trace import ScalingStep, Trace
from tests.scenarios.kubernetes.manifests import SCENARIO, claims, load_manifest, scaled_object, workload
from tests.simulator.invariants import check_execution


def simulated(scenario: Scenario, seed: int = 1, observe: Observer | None = None) -> Trace:
    return simulate(scenario.world(seed), scenario.assignors[0].make(), options=RunOptions(observe=observe))


def random_manifests(rng: random.Random) -> list[dict[str, Any]]:
    kind = rng.choice(["StatefulSet", "Deployment"])
    spec: dict[str, Any] = {"replicas": rng.randint(1, 4)}
    if kind == "StatefulSet":
        spec |= {"podManagementPolicy": rng.choice(["OrderedReady", "Parallel"])}
        spec |= {"volumeClaimTemplates": claims()} if rng.random() < 0.5 else {}
    minimum = rng.randint(0, 3)
    scaler: dict[str, Any] = {"minReplicaCount": minimum, "maxReplicaCount": minimum + rng.randint(1, 5)}
    if rng.random() < 0.5:
        down = {"stabilizationWindowSeconds": rng.choice([0, 60, 300])}
        scaler["advanced"] = {"horizontalPodAutoscalerConfig": {"behavior": {"scaleDown": down}}}
    metadata = {"lagThreshold": str(rng.choice([100, 1_000, 10_000]))}
    return [workload(kind, **spec), scaled_object(kind, metadata, **scaler)]


@pytest.mark.parametrize("seed", range(6))
def test_replicas_stay_within_their_bounds_and_the_state_of_the_run_is_valid(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    traffic = [
        {"at": f"{10 * number}m", "traffic": {"factor": rng.choice([0, 0.5, 1, 2, 4])}} for number in range(1, 5)
    ]
    crash = {"at": "15m", "crash": {"clients": "shop", "pick": 1, "down": "1m"}}
    manifests = random_manifests(rng)
    scenario = load_manifest(tmp_path, *manifests, events=[*traffic, crash], clients={"threads": 2})
    spec, started = manifests[1]["spec"], manifests[0]["spec"]["replicas"]

    trace = simulated(scenario, seed, check_execution)
    lowest, highest = min(started, spec["minReplicaCount"]), spec["maxReplicaCount"]
    assert trace.scaling
    assert all(lowest <= step.replicas <= highest for step in trace.scaling)
    assert all(0 <= step.ready <= highest for step in trace.scaling)
    changes = [step for step in trace.scaling if step.replicas != step.replicas_before]
    set_pods = [changes[0].replicas_before if changes else 0, *(step.replicas for step in changes)]
    assert [step.replicas_before for step in changes] == set_pods[:-1]


def joined_and_gone(reason: str) -> tuple[set[int], set[int]]:
    """Return the ordinals of the pods that joined and left, from the reason of a round."""
    joined, gone = set(), set()
    for part in reason.split(", "):
        pod, _, what = part.partition(" ")
        if part.endswith("joined"):
            joined.add(int(pod.removeprefix("shop-")))
        elif "session timed out" in part or "left" in what:
            gone.add(int(pod.rstrip(":").removeprefix("shop-")))
    return joined, gone


@pytest.mark.parametrize("seed", range(8))
def test_the_decisions_behind_a_round_are_those_that_add_or_remove_its_pods(tmp_path: Path, seed: int) -> None:
    rng = random.Random(100 + seed)
    traffic = [{"at": f"{7 * number}m", "traffic": {"factor": rng.choice([0, 0.3, 1, 4])}} for number in range(1, 8)]
    volumes = {"volumeClaimTemplates": claims()} if rng.random() < 0.5 else {}
    policy = {"podManagementPolicy": rng.choice(["OrderedReady", "Parallel"])}
    down = {"behavior": {"scaleDown": {"stabilizationWindowSeconds": rng.choice([0, 60])}}}
    scaler = scaled_object(
        metadata={"lagThreshold": str(rng.choice([500, 5_000]))},
        advanced={"horizontalPodAutoscalerConfig": down},
        maxReplicaCount=rng.randint(4, 7),
    )
    scenario = load_manifest(
        tmp_path, workload(replicas=2, **policy, **volumes), scaler, events=traffic, clients={"records_per_s": 1_500}
    )
    trace = simulated(scenario, seed)
    tables = tabulate(trace, "sticky", seed)
    steps = {(step["at_ms"], step["scaler"]): step for step in tables["scaling"].to_pylist()}
    behind: dict[int, list[dict[str, Any]]] = {}
    for row in tables["scaled_rounds"].to_pylist():
        behind.setdefault(row["round"], []).append(row)
        step = steps[row["decided_at_ms"], row["scaler"]]
        assert step["replicas"] != step["replicas_before"]
        assert all(step[name] == row[name] for name in row.keys() & step.keys())
    assert len(behind) >= 3
    for round_ in trace.rounds[1:]:
        decisions = behind.get(round_.number, [])
        assert all(row["decided_at_ms"] <= round_.at_ms for row in decisions)
        joined, gone = joined_and_gone(round_.reason)
        changes = [(row["replicas_before"], row["replicas"]) for row in decisions]
        assert all(any(before <= pod < after for before, after in changes) for pod in joined), round_.reason
        assert all(any(after <= pod < before for before, after in changes) for pod in gone), round_.reason
        assert bool(decisions) == bool(joined | gone)


def test_a_step_is_recorded_again_once_the_lag_has_changed_by_a_tenth() -> None:
    step = ScalingStep(0, "shop", "HPA", 50_000, 10_000, 6, 6, 6, 6, "limited by the maximum of replicas")
    assert replace(step, at_ms=1, lag=54_000).repeats(step)
    assert not replace(step, lag=56_000).repeats(step)
    assert not replace(step, lag=44_000).repeats(step)
    small = replace(step, lag=10)
    assert replace(small, lag=900).repeats(small)
    assert not replace(small, lag=1_100).repeats(small)
    assert not replace(step, ready=5).repeats(step)
    assert not replace(step, replicas=5).repeats(step)


@pytest.mark.parametrize("assignor", ["high_availability", "sticky"])
def test_runs_are_reproducible(tmp_path: Path, assignor: str) -> None:
    scenario = load_manifest(tmp_path, workload(), scaled_object(), clients={"records_per_s": 1_200})
    tables = [tabulate(run(scenario, assignor, seed=3), assignor, 3) for _ in range(2)]
    assert tables[0]["scaling"].num_rows > 2
    assert all(tables[0][name].equals(tables[1][name]) for name in tables[0])


def test_lag_below_the_threshold_never_adds_pods(tmp_path: Path) -> None:
    scenario = load_manifest(tmp_path, workload(replicas=2), scaled_object(), clients={"records_per_s": 100_000})
    trace = simulated(scenario)
    assert {step.replicas for step in trace.scaling} == {2}
    assert len(trace.rounds) == 1
    assert max(step.lag for step in trace.scaling) < 2_000


def test_uncommitted_records_count_as_lag(tmp_path: Path) -> None:
    at_least_once = {"id": "shop", "subtopologies": [{"sources": ["orders"]}]}
    trace = simulated(
        load_manifest(
            tmp_path, workload(), scaled_object(), application=at_least_once, clients={"records_per_s": 100_000}
        )
    )
    assert max(step.lag for step in trace.scaling) > 6_000 * 15 / 2
    assert max(step.replicas for step in trace.scaling) == 6


def test_pods_that_return_find_their_old_state(tmp_path: Path) -> None:
    restored = {}
    for name, spec in {"kept": {"volumeClaimTemplates": claims()}, "lost": {}}.items():
        events = [{"at": "10m", "traffic": {"factor": 4}}, {"at": "20m", "traffic": {"factor": 0.2}}]
        events += [{"at": "35m", "traffic": {"factor": 4}}]
        configs = {"processing.guarantee": "exactly_once_v2", "state.cleanup.delay.ms": 3_600_000}
        store = {"name": "totals", "size": "6 GB", "bytes_per_s": "1 MB/s"}
        application = {"id": "shop", "configs": configs, "subtopologies": [{"sources": ["orders"], "stores": [store]}]}
        scenario = load_manifest(tmp_path, workload(**spec), scaled_object(), events=events, application=application)
        trace = simulated(scenario)
        assert {step.replicas for step in trace.scaling} >= {2, 6}
        restored[name] = trace.final_totals.restored_bytes
    assert restored["kept"] < restored["lost"]


@pytest.mark.parametrize(("threshold", "scales"), [("1000000000", False), ("1000", True)])
def test_an_update_of_scaled_pods_replaces_those_that_run_and_may_add_pods(
    tmp_path: Path, threshold: str, scales: bool
) -> None:
    scenario = load_manifest(
        tmp_path,
        workload(replicas=2, volumeClaimTemplates=claims()),
        scaled_object(metadata={"lagThreshold": threshold}),
        events=[{"at": "30m", "rolling_update": {"clients": "shop"}}],
        clients={"records_per_s": 100_000},
    )
    changes = [str(timed.change) for timed in simulated(scenario).changes]
    updated = [
        "shop-1 closes without LeaveGroup",
        "shop-1 starts",
        "shop-0 closes without LeaveGroup",
        "shop-0 starts",
    ]
    assert [change for change in changes if change in updated] == updated
    assert any(change.startswith("HPA scales shop from 2 to ") for change in changes) is scales


def test_lag_of_a_decision_is_that_of_the_trigger_that_asks_for_the_most_pods(tmp_path: Path) -> None:
    scaler = scaled_object(maxReplicaCount=12)
    known = scaler["spec"]["triggers"][0]["metadata"]
    eager, calm = ({**known, "lagThreshold": threshold} for threshold in ("1000", "1000000"))
    eager["topic"] = "clicks"
    scaler["spec"]["triggers"] = [{"type": "kafka", "metadata": trigger} for trigger in (calm, eager)]
    topics = [{"name": "orders", "partitions": 12, "bytes_per_s": "20 MB/s"}]
    topics += [{"name": "clicks", "partitions": 12, "bytes_per_s": "2 MB/s"}]
    scenario = load_manifest(
        tmp_path,
        workload(),
        scaler,
        cluster={**SCENARIO["cluster"], "topics": topics},
        application={"id": "shop", "subtopologies": [{"sources": [topic["name"]]} for topic in topics]},
        clients={"records_per_s": 30_000},
    )
    steps = [step for step in simulated(scenario).scaling if step.scaler == "HPA" and step.recommended > 1]
    assert steps
    for step in steps:
        asked_for, existing = min(12, math.ceil(step.lag / 1_000)), step.target_lag // 1_000
        assert existing <= 12
        assert step.recommended == asked_for or (step.recommended == existing and asked_for <= 1.1 * existing), step
