"""Autoscalers are read with Kubernetes' and KEDA's defaults, and refused where they refuse them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scenarios.load import Scenario, ScenarioError
from simulator.world.pod_events import (
    DEFAULT_SCALE_UP,
    Activation,
    LagScaling,
    LagTrigger,
    ScalingBehavior,
    ScalingPolicy,
    ScalingRules,
    Volume,
)
from tests.scenarios.kubernetes.manifests import claims, load_manifest, scaled_object, workload


def scaling(scenario: Scenario) -> LagScaling:
    [event] = [event for event in scenario.blueprint.events if isinstance(event, LagScaling)]
    return event


def horizontal(metric: dict[str, Any], **spec: Any) -> dict[str, Any]:
    target = {"kind": "StatefulSet", "name": "shop"}
    about = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 5, "metrics": [metric], **spec}
    return {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "shop"}, "spec": about}


def external(name: str = "kafka_consumergroup_lag", **target: Any) -> dict[str, Any]:
    about = {"metric": {"name": name}, "target": target or {"type": "AverageValue", "averageValue": "2k"}}
    return {"type": "External", "external": about}


def test_a_scaled_object_has_the_defaults_of_keda(tmp_path: Path) -> None:
    manifest = scaled_object()
    for key in ("minReplicaCount", "maxReplicaCount"):
        del manifest["spec"][key]
    del manifest["spec"]["triggers"][0]["metadata"]["lagThreshold"]
    event = scaling(load_manifest(tmp_path, workload(), manifest))
    assert event.activation == Activation(polling_ms=30_000, cooldown_ms=300_000, min_replicas=0)
    assert (event.horizontal.min_replicas, event.horizontal.max_replicas) == (1, 100)
    assert event.horizontal.behavior is None
    assert event.triggers == (LagTrigger(10, topics=("orders",), is_limited=True),)
    assert len(event.clients) == 12, "no more pods than partitions"
    assert event.replicas == 3


def test_all_pods_that_may_start_are_clients(tmp_path: Path) -> None:
    blueprint = load_manifest(tmp_path, workload(), scaled_object()).blueprint
    assert [client.starts for client in blueprint.clients] == [True] * 3 + [False] * 3


def test_missing_parts_of_a_behavior_have_the_defaults_of_kubernetes(tmp_path: Path) -> None:
    behavior = {"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 120}], "tolerance": "0.2"}}
    manifest = scaled_object(advanced={"horizontalPodAutoscalerConfig": {"behavior": behavior}})
    down = ScalingRules((ScalingPolicy(1, 120_000),), 300_000, tolerance=0.2)
    event = scaling(load_manifest(tmp_path, workload(), manifest))
    assert event.horizontal.behavior == ScalingBehavior(DEFAULT_SCALE_UP, down)


def test_an_external_metric_of_lag_is_read_in_kubernetes_notation(tmp_path: Path) -> None:
    event = scaling(load_manifest(tmp_path, workload(), horizontal(external())))
    assert event.triggers == (LagTrigger(2_000),)
    assert event.activation is None
    event = scaling(load_manifest(tmp_path, workload(), horizontal(external(type="Value", value="1e4"))))
    assert event.triggers == (LagTrigger(10_000, is_average=False),)


def test_other_metrics_are_named_and_scale_nothing(tmp_path: Path) -> None:
    cpu = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}
    loaded = load_manifest(tmp_path, workload(), horizontal(cpu))
    assert not any(isinstance(event, LagScaling) for event in loaded.blueprint.events)
    assert sum("only external metrics of lag can be simulated" in note for note in loaded.notes) == 2


def test_claims_are_kept_or_deleted_when_a_pod_is_scaled_away(tmp_path: Path) -> None:
    for policy, volume in (("Retain", Volume.ZONAL), ("Delete", Volume.NONE)):
        spec = {"volumeClaimTemplates": claims(), "persistentVolumeClaimRetentionPolicy": {"whenScaled": policy}}
        assert scaling(load_manifest(tmp_path, workload(**spec), scaled_object())).pods.volume is volume


def test_unmodeled_parts_are_named(tmp_path: Path) -> None:
    manifest = scaled_object(metadata={"excludePersistentLag": "true"}, fallback={"failureThreshold": 3, "replicas": 6})
    manifest["spec"]["triggers"].append({"type": "cpu", "metadata": {"value": "60"}})
    notes = "\n".join(load_manifest(tmp_path, workload(), manifest).notes)
    for part in ("excludePersistentLag: not modeled", "spec.fallback: has no effect", "only Kafka triggers"):
        assert part in notes


def test_a_paused_scaled_object_scales_nothing(tmp_path: Path) -> None:
    manifest = scaled_object()
    manifest["metadata"]["annotations"] = {"autoscaling.keda.sh/paused": "true"}
    loaded = load_manifest(tmp_path, workload(), manifest)
    assert not any(isinstance(event, LagScaling) for event in loaded.blueprint.events)
    assert any("paused: the number of pods stays as it is" in note for note in loaded.notes)


def test_an_autoscaler_needs_a_limit_of_processing(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"clients\[0\]\.records_per_s: missing: without a limit of processing"):
        load_manifest(tmp_path, workload(), scaled_object(), clients={"records_per_s": None})


MISTAKES: list[tuple[dict[str, Any], str]] = [
    (scaled_object(metadata={"consumerGroup": "other"}), "consumerGroup: 'other' is not the application.id, 'shop'"),
    (scaled_object(metadata={"topic": "ordres"}), "topic: the application does not read 'ordres' (it reads: orders)"),
    (scaled_object(metadata={"topicFromEnv": "TOPIC"}), "topicFromEnv: environment variables are not read"),
    (scaled_object(metadata={"lagThreshold": "0"}), "lagThreshold: 0 is not between 1"),
    (scaled_object(metadata={"lagThreshold": "many"}), "expected a whole number, found 'many'"),
    (
        scaled_object(metadata={"limitToPartitionsWithLag": "true", "allowIdleConsumers": "true"}),
        "KEDA refuses it together with allowIdleConsumers",
    ),
    (scaled_object(metadata={"topic": "", "limitToPartitionsWithLag": "true"}), "KEDA requires topic with it"),
    (scaled_object(idleReplicaCount=2), "idleReplicaCount: 2 is not less than minReplicaCount (2)"),
    (scaled_object(maxReplicaCount=1), "minReplicaCount: 2 is more than maxReplicaCount (1)"),
    (scaled_object(maxReplicaCount=100_000), "more than 1,000 pods cannot be simulated"),
    (scaled_object(pollingInterval=-5), "pollingInterval: -5 is not between 1"),
    (horizontal(external(type="AverageValue", averageValue="lots")), "a positive whole number of records"),
    (horizontal(external(type="AverageValue", averageValue="500m")), "a positive whole number of records"),
    (
        horizontal(external(), behavior={"scaleUp": {"selectPolicy": "Some"}}),
        "'Some' is not one of: Max, Min, Disabled",
    ),
]


@pytest.mark.parametrize(("manifest", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_impossible_autoscaler_is_one_error_with_file_and_line(
    tmp_path: Path, manifest: dict[str, Any], message: str
) -> None:
    with pytest.raises(ScenarioError) as raised:
        load_manifest(tmp_path, workload(), manifest)
    [mistake] = raised.value.mistakes
    assert message in mistake.message
    assert mistake.source.endswith("k8s.yaml")
    assert mistake.line


def test_two_autoscalers_of_a_workload_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="is a second autoscaler of shop"):
        load_manifest(tmp_path, workload(), scaled_object(), horizontal(external()))


def test_an_update_of_a_scaled_deployment_is_rejected(tmp_path: Path) -> None:
    events = [{"at": "10m", "rolling_update": {"clients": "shop"}}]
    with pytest.raises(ScenarioError, match="a rolling update of such a Deployment cannot be simulated"):
        load_manifest(tmp_path, workload("Deployment"), scaled_object("Deployment"), events=events)


def test_no_event_adds_or_removes_scaled_pods(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="only autoscale can add or remove: shop-1"):
        load_manifest(tmp_path, workload(), scaled_object(), events=[{"at": "10m", "leave": {"clients": "shop-1"}}])
