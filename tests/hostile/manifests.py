"""Damaged Kubernetes manifests of clients: objects, Helm templates, and constructs of YAML that few tools write."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import assignor_sim as sim
import scenarios
from assignors.errors import AssignorError
from scenarios.language.errors import Mistake, ScenarioError
from scenarios.language.yaml_reader import read_yaml_documents
from tests.hostile.mutations import changed_document, damaged_bytes, damaged_text, value_places
from tests.hostile.scenarios import TIME_LIMIT_S, unlocated, with_yaml_syntax
from tests.scenarios.kubernetes.manifests import ZONES, budget, claims, load_manifest, scaled_object, spread, workload

_RUN_SHARE = 0.03
_SCENARIO_LINES: Final = 100
_LIBRARY: Final = Path(scenarios.__file__).parent / "library" / "manifests"
_AFFINITY: Final[dict[str, Any]] = {
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": "topology.kubernetes.io/zone", "operator": "In", "values": list(ZONES)}
                        ]
                    }
                ]
            }
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "topology.kubernetes.io/zone"}]
        },
    },
    "terminationGracePeriodSeconds": 45,
    "containers": [{"name": "app", "lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", "sleep 5"]}}}}],
    **spread(),
}
_HORIZONTAL: Final[dict[str, Any]] = {
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "shop"},
    "spec": {
        "scaleTargetRef": {"kind": "Deployment", "name": "shop"},
        "minReplicas": 2,
        "maxReplicas": 9,
        "metrics": [
            {
                "type": "External",
                "external": {
                    "metric": {"name": "kafka_lag", "selector": {"matchLabels": {"topic": "orders"}}},
                    "target": {"type": "AverageValue", "averageValue": "1k"},
                },
            }
        ],
        "behavior": {
            "scaleUp": {"stabilizationWindowSeconds": 0, "tolerance": "100m", "selectPolicy": "Max"},
            "scaleDown": {"policies": [{"type": "Percent", "value": 50, "periodSeconds": 60}]},
        },
    },
}
_DOCUMENTS: Final[tuple[tuple[dict[str, Any], ...], ...]] = (
    (workload(pod=_AFFINITY, volumeClaimTemplates=claims(), ordinals={"start": 3}), scaled_object(), budget()),
    (workload("Deployment", strategy={"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}), _HORIZONTAL),
    (workload(), scaled_object(advanced={"horizontalPodAutoscalerConfig": _HORIZONTAL["spec"]["behavior"]})),
    ({"apiVersion": "v1", "kind": "List", "items": [workload("Deployment"), budget(minAvailable="50%")]},),
)
_VALUES: Final[tuple[Any, ...]] = (
    *("0", "25%", "101%", "1k", "1e99", "9Ei", "-1", "5.5", "100m", "OnDelete", "Recreate", "shop", "Node", "List"),
    *("{{ .Values.replicas }}", "${REPLICAS}", 0, 1, 3, 999, 1_000, 10_000, 10**6, 2**31 - 1, 0.1, -0.0),
)
_TEMPLATES: Final = (
    "{{ .Values.replicas }}",
    "{{- if .Values.enabled }}",
    "{{ quote .Values.name }}",
    "{{ default 3 .Values.replicas | int }}",
    "{{/* a comment */}}",
    "{{",
    "{% if a %}",
    "${REPLICAS}",
    "<no value>",
)


def manifest_failure(rng: random.Random, folder: Path) -> str | None:
    """Change a manifest, load a scenario whose clients it describes, and on a sample run it; return what is wrong."""
    content = _changed(rng)
    clients: dict[str, Any] = {"from": "changed.yaml"}
    if rng.random() < 0.2:
        clients["workload"] = rng.choice(("shop", "payments", "other"))
    if rng.random() < 0.2:
        clients["pods"] = {"replicas": rng.choice((0, 1, 5, 10_000))}
    (folder / "changed.yaml").write_bytes(content)
    started = time.perf_counter()
    failure = None
    try:
        scenario = load_manifest(folder, clients=clients)
        failure = next((f"not located: {remark}" for remark in scenario.remarks if remark.count(": ") < 2), None)
        if rng.random() < _RUN_SHARE:
            sim.run(scenario, explain=False, max_seconds=5, max_rebalances=50)
    except ScenarioError as error:
        failure = _unlocated(error.mistakes, folder / "changed.yaml", content)
    except AssignorError:
        pass
    seconds = time.perf_counter() - started
    failure = f"{seconds:.0f} s" if seconds > TIME_LIMIT_S else failure
    return None if failure is None else f"{failure}\n{clients}\n{content.decode(errors='replace')}"


def _unlocated(mistakes: Iterable[Mistake], manifest: Path, content: bytes) -> str | None:
    """Return the first mistake without its place; a manifest as a whole has no line."""
    lines = content.count(b"\n") + 1
    own = [mistake for mistake in mistakes if mistake.source != str(manifest)]
    for mistake in mistakes:
        if mistake.source == str(manifest) and not 1 <= (mistake.line or 1) <= lines:
            return f"line outside the file: {mistake}"
    return unlocated(own, "scenario", "\n" * _SCENARIO_LINES)


def _changed(rng: random.Random) -> bytes:
    """Return a manifest with changed values, keys, characters or bytes, in one of the encodings of editors."""
    objects: list[Any] = list(rng.choice(_DOCUMENTS)) if rng.random() < 0.8 else _shipped(rng)
    kind = rng.random()
    if kind < 0.5:
        objects = [changed_document(rng, part) for part in objects]
    if 0.3 < kind < 0.6:
        places = value_places(objects)
        for parent, key in rng.sample(places, min(len(places), rng.randint(1, 3))):
            parent[key] = rng.choice(_VALUES)
    text = "\n---\n".join(json.dumps(part, indent=1) for part in objects)
    if 0.6 < kind < 0.7:
        text = damaged_text(rng, text)
    elif 0.7 < kind < 0.8:
        text = with_yaml_syntax(rng, text)
    elif 0.8 < kind < 0.9:
        text = _with_template(rng, text)
    if rng.random() < 0.1:
        text = text.replace("\n", rng.choice(("\r\n", "\r")))
    encoded = text.encode(rng.choice(("utf-8-sig", "utf-16")) if rng.random() < 0.1 else "utf-8", "surrogatepass")
    return damaged_bytes(rng, encoded) if kind > 0.9 else encoded


def _shipped(rng: random.Random) -> list[Any]:
    text = rng.choice(sorted(_LIBRARY.glob("*.yaml"))).read_text(encoding="utf-8")
    return [document.value for document in read_yaml_documents(text)]


def _with_template(rng: random.Random, text: str) -> str:
    """Return the text with an action of a template in place of a value, or as a line of its own."""
    lines = text.split("\n")
    number = rng.randrange(len(lines))
    key, colon, _ = lines[number].partition(": ")
    template = rng.choice(_TEMPLATES)
    lines[number] = f"{key}{colon}{template}" if rng.random() < 0.7 else template
    return "\n".join(lines)
