"""Manifests and scenarios for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from scenarios.load import Scenario, loads

ZONES = ("az1", "az2", "az3")
LABELS = {"app": "shop"}
SCENARIO: dict[str, Any] = {
    "cluster": {
        "brokers": {"count": 3, "racks": list(ZONES)},
        "configs": {"default.replication.factor": 3},
        "topics": [{"name": "orders", "partitions": 12, "bytes_per_s": "6 MB/s"}],
    },
    "application": {
        "id": "shop",
        "configs": {"processing.guarantee": "exactly_once_v2"},
        "subtopologies": [
            {"sources": ["orders"], "stores": [{"name": "totals", "size": "1 GB", "bytes_per_s": "1 MB/s"}]}
        ],
    },
    "clients": {"from": "k8s.yaml", "records_per_s": 3000, "restore": "100 MB/s"},
    "duration": "1h",
}


def workload(kind: str = "StatefulSet", pod: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "app"}], **(pod or {})}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "shop"},
        "spec": {"replicas": 3, "selector": {"matchLabels": LABELS}, "template": template, **spec},
    }


def claims() -> list[dict[str, Any]]:
    return [{"metadata": {"name": "state"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]


def spread(max_skew: int = 1, when: str = "DoNotSchedule", key: str = "topology.kubernetes.io/zone") -> dict[str, Any]:
    return {"topologySpreadConstraints": [{"maxSkew": max_skew, "topologyKey": key, "whenUnsatisfiable": when}]}


def scaled_object(kind: str = "StatefulSet", metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    known = {"consumerGroup": "shop", "topic": "orders", "lagThreshold": "1000", **(metadata or {})}
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "shop"},
        "spec": {
            "scaleTargetRef": {"kind": kind, "name": "shop"},
            "minReplicaCount": 2,
            "maxReplicaCount": 6,
            "triggers": [{"type": "kafka", "metadata": known}],
            **spec,
        },
    }


def budget(**spec: Any) -> dict[str, Any]:
    selector = {"matchLabels": LABELS}
    return {"kind": "PodDisruptionBudget", "metadata": {"name": "shop"}, "spec": {"selector": selector, **spec}}


def load_manifest(folder: Path, *objects: dict[str, Any] | str, **changes: Any) -> Scenario:
    """Return a scenario whose clients come from a manifest with some objects, or with a text."""
    texts = [part if isinstance(part, str) else yaml.safe_dump(part) for part in objects]
    (folder / "k8s.yaml").write_text("---\n".join(texts), encoding="utf-8")
    document = {**SCENARIO, **changes}
    document["clients"] = {**SCENARIO["clients"], **changes.get("clients", {})}
    return loads(yaml.safe_dump(document), folder=folder)
