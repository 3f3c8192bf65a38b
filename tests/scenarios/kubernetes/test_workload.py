"""Pods run as the manifests of a StatefulSet or Deployment say."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from scenarios.kubernetes.workload import place_pods, skew
from scenarios.load import ScenarioError
from simulator.world.pod_events import NodeDrain, StatefulSetUpdate, Volume
from tests.scenarios.kubernetes.manifests import ZONES, budget, claims, load_manifest, spread, workload

UPDATE = [{"at": "10m", "rolling_update": {"clients": "shop"}}]
DRAIN = [{"at": "10m", "node_drain": {"clients": "shop"}}]


def test_pods_have_ordinals_and_are_spread_over_zones(tmp_path: Path) -> None:
    clients = load_manifest(tmp_path, workload(replicas=4, pod=spread())).blueprint.clients
    assert [client.name for client in clients] == ["shop-0", "shop-1", "shop-2", "shop-3"]
    assert [client.rack for client in clients] == ["az1", "az2", "az3", "az1"]
    assert all(client.starts and client.announces_rack for client in clients)


def test_even_pods_without_a_constraint_are_an_assumption(tmp_path: Path) -> None:
    [note] = load_manifest(tmp_path, workload()).notes
    assert "k8s.yaml:5: spec: assumed that pods are spread over zones evenly" in note
    assert load_manifest(tmp_path, workload(pod=spread())).notes == ()


def test_node_affinity_restricts_zones(tmp_path: Path) -> None:
    expression = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["az3", "az1"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    pod = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}
    racks = [client.rack for client in load_manifest(tmp_path, workload(pod=pod)).blueprint.clients]
    assert racks == ["az1", "az3", "az1"]
    expression["values"] = ["eu-1"]
    with pytest.raises(ScenarioError, match=r"node affinity allows no zone \(racks of the scenario: az1, az2, az3\)"):
        load_manifest(tmp_path, workload(pod=pod))


def test_listed_zones_must_meet_max_skew(tmp_path: Path) -> None:
    racks = {"racks": ["az1", "az1", "az1", "az2"]}
    with pytest.raises(ScenarioError, match=r"maxSkew is 1, but racks of the scenario place up to 2 pods more"):
        load_manifest(tmp_path, workload(replicas=4, pod=spread()), clients=racks)
    loaded = load_manifest(tmp_path, workload(replicas=4, pod=spread(2)), clients=racks)
    assert [client.rack for client in loaded.blueprint.clients] == racks["racks"]


@pytest.mark.parametrize("seed", range(30))
def test_zones_of_placed_pods_follow_the_smallest_skew(seed: int) -> None:
    rng = random.Random(seed)
    zones = [f"az{number}" for number in range(rng.randint(1, 6))]
    placed = place_pods(rng.randint(0, 40), zones, is_listed=False)
    assert skew(placed, zones) <= 1
    assert set(Counter(placed)) <= set(zones)


def test_an_update_replaces_pods_as_the_manifest_says(tmp_path: Path) -> None:
    pod = {"terminationGracePeriodSeconds": 45, **spread()}
    pod["containers"] = [{"name": "app", "lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", "sleep 7"]}}}}]
    manifest = workload(pod=pod, volumeClaimTemplates=claims(), minReadySeconds=30)
    [event] = load_manifest(tmp_path, manifest, events=UPDATE, clients={"pods": {"close": "4s"}}).blueprint.events
    assert isinstance(event, StatefulSetUpdate)
    assert event.volume is Volume.ZONAL
    assert (event.closing.grace_ms, event.closing.pre_stop_ms, event.closing.close_ms) == (45_000, 7_000, 4_000)
    assert (event.start_ms, event.ready_ms) == (10_000, 50_000)


def test_pods_without_a_claim_lose_their_state(tmp_path: Path) -> None:
    [event] = load_manifest(tmp_path, workload(), events=UPDATE).blueprint.events
    assert isinstance(event, StatefulSetUpdate)
    assert event.volume is Volume.NONE


def test_a_partition_limits_the_update(tmp_path: Path) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    [event] = load_manifest(tmp_path, workload(updateStrategy=strategy), events=UPDATE).blueprint.events
    assert isinstance(event, StatefulSetUpdate)
    assert event.clients == ("shop-2",)
    strategy["rollingUpdate"] = {"partition": 3}
    with pytest.raises(ScenarioError, match="lets no pod be updated"):
        load_manifest(tmp_path, workload(updateStrategy=strategy), events=UPDATE)


def test_new_pods_of_a_deployment_are_new_clients(tmp_path: Path) -> None:
    strategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    blueprint = load_manifest(tmp_path, workload("Deployment", strategy=strategy), events=UPDATE).blueprint
    [event] = blueprint.events
    assert (event.max_surge, event.max_unavailable) == (1, 0)  # type: ignore[union-attr]
    assert event.successors == ("shop-next-0", "shop-next-1", "shop-next-2")  # type: ignore[union-attr]
    assert [client.starts for client in blueprint.clients] == [True] * 3 + [False] * 3


@pytest.mark.parametrize(
    ("spec", "unavailable"),
    [
        ({"maxUnavailable": 2}, 2),
        ({"maxUnavailable": "30%"}, 2),
        ({"minAvailable": 3}, 1),
        ({"minAvailable": "50%"}, 2),
    ],
)
def test_drains_respect_the_budget(tmp_path: Path, spec: dict[str, object], unavailable: int) -> None:
    manifest = workload(replicas=4, volumeClaimTemplates=claims())
    [event] = load_manifest(tmp_path, manifest, budget(**spec), events=DRAIN).blueprint.events
    assert isinstance(event, NodeDrain)
    assert event.max_unavailable == unavailable


def test_a_budget_without_evictions_blocks_a_drain(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="allows no eviction, so the drain never ends"):
        load_manifest(tmp_path, workload(), budget(maxUnavailable=0), events=DRAIN)


def test_a_budget_of_other_pods_has_no_effect(tmp_path: Path) -> None:
    other = budget(maxUnavailable=1)
    other["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    loaded = load_manifest(tmp_path, workload(), other, events=DRAIN)
    [event] = loaded.blueprint.events
    assert isinstance(event, NodeDrain)
    assert event.max_unavailable is None
    assert any("does not select the pods of shop" in note for note in loaded.notes)


def test_keys_of_the_scenario_replace_those_of_the_manifest(tmp_path: Path) -> None:
    events = [{"at": "10m", "rolling_update": {"clients": "shop", "grace": "90s", "volume": "local"}}]
    [event] = load_manifest(tmp_path, workload(volumeClaimTemplates=claims()), events=events).blueprint.events
    assert isinstance(event, StatefulSetUpdate)
    assert (event.volume, event.closing.grace_ms) == (Volume.LOCAL, 90_000)


def test_lists_and_anchors_are_read(tmp_path: Path) -> None:
    text = """
kind: List
items:
  - kind: Service
    metadata: {name: shop}
  - kind: StatefulSet
    metadata: &about {name: shop, labels: {app: shop}}
    spec: {replicas: 2, template: {metadata: *about}}
"""
    assert len(load_manifest(tmp_path, text).blueprint.clients) == 2


def test_several_files_and_workloads(tmp_path: Path) -> None:
    other = workload()
    other["metadata"] = {"name": "other"}
    with pytest.raises(ScenarioError, match="is a second StatefulSet or Deployment; set workload to the name of one"):
        load_manifest(tmp_path, workload(), other)
    loaded = load_manifest(tmp_path, workload(), other, clients={"workload": "other", "from": ["k8s.yaml"]})
    assert loaded.blueprint.clients[0].name == "other-0"
    assert dict(loaded.imports).keys() == {"k8s.yaml"}


MISTAKES = {
    "replicas: {{ .Values.replicas }}": "k8s.yaml:1: is a Helm template; render it first with `helm template`",
    "kind: List\nitems: {{ quote .Values.items }}": "a mapping; if it is a Helm template, render it first",
    "kind: ConfigMap\nbinaryData: {a: !!binary eA==}": "'!!binary' is not allowed: only plain data are read",
    "kind: StatefulSet\nmetadata: {name: shop}\nspec: {replicas: -1}": "k8s.yaml:3: spec.replicas: -1 is not between 0",
    "kind: StatefulSet\nmetadata: {name: shop}\nspec: {replicas: 99999999}": "replicas: 99999999 is not between",
    "kind: StatefulSet\nmetadata: {name: shop}\nspec: {replicas: three}": "expected a whole number, found 'three'",
    "kind: StatefulSet\nmetadata: {name: shop}\nspec: [1]": "k8s.yaml:3: spec: expected a mapping, found a list",
    "kind: StatefulSet\nmetadata: {name: Shop!}": "metadata.name: 'Shop!' is not a name of an object",
    "kind: Job\nmetadata: {name: shop}": "the manifests have no StatefulSet or Deployment (found: Job)",
    "- 1": "expected an object of Kubernetes with apiVersion and kind, found a list",
    "kind: [": "k8s.yaml:1: not YAML",
    "": "k8s.yaml: has no object of Kubernetes",
    "kind: &a [*a]": "contains itself",
    "a: &a [x]\n"
    + "".join(f"{n}: &{n} [{', '.join([f'*{p}'] * 9)}]\n" for p, n in pairwise("abcdefg")): "more than 60,000",
}


@pytest.mark.parametrize("text", MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_of_manifests_are_one_clear_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        load_manifest(tmp_path, text)
    assert MISTAKES[text] in str(raised.value)
    assert len(raised.value.mistakes) == 1


@pytest.mark.parametrize("seed", range(60))
def test_damaged_manifests_load_or_are_rejected(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    folder = Path(__file__).parents[3] / "scenarios" / "library" / "manifests"
    text = (folder / "payments.yaml").read_text() + "---\n" + (folder / "payments_scaler.yaml").read_text()
    text = text.replace("payments", "shop")
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(text))
        damage = rng.choice(["", "-1", "9" * 30, "{", "- ", ": ", "\t", "null", "\x00", "é", "[]", "1e400", "\n"])
        text = text[:place] + damage + text[place + rng.randint(0, 12) :]
    try:
        loaded = load_manifest(tmp_path, text)
    except ScenarioError:
        return
    assert {client.rack for client in loaded.blueprint.clients} <= set(ZONES)


def test_keys_that_the_manifest_says_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"the manifest of the pods says that; set pods\.replicas"):
        load_manifest(tmp_path, workload(), clients={"count": 3})
