"""The workload of an application: the StatefulSet or Deployment that runs its pods, and its PodDisruptionBudget.

Pods are placed one after another, each in the allowed zone with the fewest of them, ties by the order of the zones. The
numbers of any two allowed zones then differ by at most 1, which every `maxSkew` allows. The scheduler also prefers this
without constraints, but guarantees it only with `whenUnsatisfiable: DoNotSchedule`.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scenarios.kubernetes.objects import ManifestNode
from scenarios.language.application_entries import ClientEntry, PodsEntry
from scenarios.language.errors import format_list, format_value
from simulator.world.pod_events import MINIMUM_GRACE_MS, Closing, LagScaling, PodController, PodTemplate, Volume

ZONE_LABELS: Final = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
_SCHEDULING: Final = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class ZoneRules:
    """What a pod template says about zones.

    Attributes:
        node: the pod template's spec, for messages.
        terms: the requirements of which a zone must meet one: names that it must have, or must not have.
        max_skew: the smallest `maxSkew` of a constraint that must hold; None without such a constraint.
        is_spread: whether any constraint spreads pods over zones.
        one_per_zone: whether a required anti-affinity allows one pod in each zone only.
    """

    node: ManifestNode
    terms: tuple[tuple[tuple[bool, frozenset[str]], ...], ...]
    max_skew: int | None
    is_spread: bool
    one_per_zone: bool

    def allowed(self, zones: Sequence[str]) -> tuple[str, ...]:
        """Return the zones in which pods may run; raise ManifestError if none of the zones is allowed."""
        zones = tuple(dict.fromkeys(zones))
        if not self.terms:
            return zones
        allowed = tuple(
            zone
            for zone in zones
            if any(all((zone in names) is wanted for wanted, names in term) for term in self.terms)
        )
        if not allowed:
            listed = format_list("racks of the scenario", zones)
            raise self.node.error(f"node affinity allows no zone ({listed}); name the racks of brokers and pods alike")
        return allowed


def read_zone_rules(pod: ManifestNode, notes: list[str]) -> ZoneRules:
    """Return what the spec of a pod says about zones, and note what is not modeled; raise ManifestError if invalid."""
    skews, is_spread = [], False
    for constraint in pod.nodes("topologySpreadConstraints"):
        skew = constraint.integer("maxSkew", minimum=1)
        must_hold = constraint.choice("whenUnsatisfiable", ("DoNotSchedule", "ScheduleAnyway")) == "DoNotSchedule"
        if constraint.text("topologyKey") in ZONE_LABELS:
            is_spread = True
            skews += [skew] * must_hold
    return ZoneRules(pod, _read_terms(pod, notes), min(skews, default=None), is_spread, _is_one_per_zone(pod))


def place_pods(count: int, zones: Sequence[str], *, is_listed: bool) -> list[str]:
    """Return the zone of each pod; with `is_listed`, `zones` has one for each pod, else the allowed ones."""
    if is_listed:
        return [zones[number % len(zones)] for number in range(count)]
    # The allowed zone with the fewest pods, ties by order, is the next one of the list.
    order = list(dict.fromkeys(zones))
    return [order[number % len(order)] for number in range(count)]


def skew(placed: Sequence[str], zones: Sequence[str]) -> int:
    """Return by how many pods the fullest zone exceeds the emptiest one."""
    counts = Counter(placed)
    return max(counts[zone] for zone in zones) - min(counts[zone] for zone in zones) if zones else 0


def _read_terms(pod: ManifestNode, notes: list[str]) -> tuple[tuple[tuple[bool, frozenset[str]], ...], ...]:
    """Return the alternatives of node selector and node affinity, restricted to zones."""
    selector = pod.node("nodeSelector")
    selected = [(True, frozenset([selector.text(label)])) for label in ZONE_LABELS if label in selector]
    required = pod.node("affinity").node("nodeAffinity").node(_SCHEDULING)
    terms = []
    for term in required.nodes("nodeSelectorTerms"):
        requirements = list(selected)
        for expression in term.nodes("matchExpressions"):
            operator = expression.text("operator")
            if expression.text("key") not in ZONE_LABELS:
                continue
            if operator in ("In", "NotIn"):
                requirements.append((operator == "In", frozenset(expression.texts("values"))))
            elif operator != "Exists":
                notes.append(f"{expression.place('operator')}: not modeled for zones; set racks")
        terms.append(tuple(requirements))
    return tuple(terms) or ((tuple(selected),) if selected else ())


def _is_one_per_zone(pod: ManifestNode) -> bool:
    terms = pod.node("affinity").node("podAntiAffinity").nodes(_SCHEDULING)
    return any(term.text("topologyKey") in ZONE_LABELS for term in terms)


CONTROLLERS: Final = tuple(str(kind) for kind in PodController)
_SLEEP: Final = re.compile(r"(?:/usr/bin/|/bin/)?sleep\s+([0-9]{1,6})s?")
_MAX_REPLICAS: Final = 10_000


@dataclass(frozen=True, slots=True)
class WorkloadManifest:
    """What a manifest says about a workload.

    Attributes:
        node: the object.
        controller: its kind.
        replicas: `spec.replicas`; None if it is not set.
        first_ordinal: `spec.ordinals.start` of a StatefulSet.
        labels: the labels of its pods.
        zones: the zones in which pods may run.
        volume: where the state directories are.
        keeps_volume_when_scaled: whether the volume of a pod is kept when the pod is scaled away.
        grace_ms: `terminationGracePeriodSeconds`.
        pre_stop_ms: the duration of a `preStop` hook that sleeps.
        min_ready_ms: `minReadySeconds`.
        is_parallel: `podManagementPolicy: Parallel`.
        partition: `rollingUpdate.partition`: ordinals below it are not updated.
        max_surge: `rollingUpdate.maxSurge` of a Deployment; None for the default.
        max_unavailable: `rollingUpdate.maxUnavailable` of a Deployment; None for the default.
        notes: what matters and is not modeled, or was assumed.
    """

    name: str
    node: ManifestNode
    controller: PodController
    replicas: int | None
    first_ordinal: int
    labels: tuple[tuple[str, str], ...]
    zones: ZoneRules
    volume: Volume
    keeps_volume_when_scaled: bool
    grace_ms: int
    pre_stop_ms: int
    min_ready_ms: int
    is_parallel: bool
    partition: int
    max_surge: str | None
    max_unavailable: str | None
    notes: tuple[str, ...]


def find_workload(objects: Sequence[ManifestNode], name: str | None) -> ManifestNode | None:
    """Return the workload of a name, or the only one, None without; raise ManifestError if a name must say which."""
    found = [node for node in objects if node.text("kind") in CONTROLLERS]
    matching = [node for node in found if name in (None, workload_name(node))]
    if len(matching) > 1:
        names = format_list("found", [workload_name(node) for node in matching])
        second = matching[1]
        raise second.error(f"is a second StatefulSet or Deployment; set workload to the name of one ({names})", "kind")
    return matching[0] if matching else None


def workload_name(node: ManifestNode) -> str:
    """Return the name of a workload; raise ManifestError if it has none."""
    name = node.node("metadata").text("name")
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9.]{0,200}[a-z0-9])?", name):
        raise node.node("metadata").error(
            f"{format_value(name)} is not a name of an object (lower-case letters, digits, '-' and '.')", "name"
        )
    return name


def read_workload(node: ManifestNode) -> WorkloadManifest:
    """Return what a StatefulSet or a Deployment says; raise ManifestError if a field that matters is invalid."""
    notes: list[str] = []
    controller = PodController(node.text("kind"))
    is_stateful = controller is PodController.STATEFUL_SET
    spec = node.node("spec")
    template = spec.node("template")
    pod = template.node("spec")
    labels = template.node("metadata").node("labels")
    strategy = spec.node("updateStrategy" if is_stateful else "strategy")
    rolling = strategy.node("rollingUpdate")
    kinds = ("RollingUpdate", "OnDelete") if is_stateful else ("RollingUpdate", "Recreate")
    kind = strategy.choice("type", kinds)
    if kind == "OnDelete":
        notes.append(
            f"{strategy.place('type')}: OnDelete: a rolling_update simulates that the pods are deleted one by one"
        )
    if is_stateful and rolling.pods("maxUnavailable") not in (None, "1"):
        notes.append(f"{rolling.place('maxUnavailable')}: not modeled: a StatefulSet replaces one pod at a time")
    volume, keeps = _read_volume(spec, pod, notes, is_stateful=is_stateful)
    return WorkloadManifest(
        name=workload_name(node),
        node=node,
        controller=controller,
        replicas=spec.integer("replicas", maximum=_MAX_REPLICAS) if "replicas" in spec else None,
        first_ordinal=spec.node("ordinals").integer("start", 0, maximum=1_000_000) if is_stateful else 0,
        labels=tuple((key, labels.text(key)) for key in labels.value),
        zones=read_zone_rules(pod, notes),
        volume=volume,
        keeps_volume_when_scaled=keeps,
        grace_ms=max(MINIMUM_GRACE_MS, pod.seconds_ms("terminationGracePeriodSeconds", 30)),
        pre_stop_ms=_read_pre_stop(pod, notes),
        min_ready_ms=spec.seconds_ms("minReadySeconds", 0),
        is_parallel=spec.choice("podManagementPolicy", ("OrderedReady", "Parallel")) == "Parallel",
        partition=rolling.integer("partition", 0) if is_stateful else 0,
        max_surge="0" if kind == "Recreate" else rolling.pods("maxSurge"),
        max_unavailable="100%" if kind == "Recreate" else rolling.pods("maxUnavailable"),
        notes=tuple(notes),
    )


def _read_volume(spec: ManifestNode, pod: ManifestNode, notes: list[str], *, is_stateful: bool) -> tuple[Volume, bool]:
    """Return where state directories are, and whether they are kept when a pod is scaled away."""
    claims = list(spec.nodes("volumeClaimTemplates")) if is_stateful else []
    if claims:
        if len(claims) > 1:
            names = " and ".join(claim.node("metadata").text("name", "?") for claim in claims)
            where = spec.place("volumeClaimTemplates")
            notes.append(f"{where}: assumed that state.dir is in one of {names}, on a disk of the zone")
        policy = spec.node("persistentVolumeClaimRetentionPolicy")
        return Volume.ZONAL, policy.choice("whenScaled", ("Retain", "Delete")) == "Retain"
    for volume in pod.nodes("volumes"):
        kinds = [kind for kind in ("persistentVolumeClaim", "hostPath") if kind in volume]
        lost = "assumed not to hold the state directory; pods lose their state with the pod"
        notes += [f"{volume.place(kind)}: {lost}" for kind in kinds]
    return Volume.NONE, False


def _read_pre_stop(pod: ManifestNode, notes: list[str]) -> int:
    """Return the duration of the longest `preStop` hook; only those that sleep have a known one."""
    longest_ms = 0
    for container in pod.nodes("containers"):
        hook = container.node("lifecycle").node("preStop")
        command = " ".join(hook.node("exec").texts("command"))
        sleep = _SLEEP.fullmatch(re.sub(r"^(?:/bin/)?(?:ba)?sh -c ", "", command))
        if "sleep" in hook:
            longest_ms = max(longest_ms, hook.node("sleep").seconds_ms("seconds"))
        elif sleep is not None:
            longest_ms = max(longest_ms, 1_000 * int(sleep[1]))
        elif hook.value:
            notes.append(f"{hook.place()}: its duration is unknown; set pods.pre_stop, 0s by default")
    return longest_ms


def read_disruption_budget(
    objects: Iterable[ManifestNode], workload: WorkloadManifest, replicas: int, notes: list[str]
) -> int | None:
    """Return how many pods evictions may make unavailable; None without a PodDisruptionBudget.

    `notes`: gets a note about budgets that select other pods. Raises ManifestError if a budget has an invalid value.
    """
    allowed: list[int] = []
    for node in objects:
        if node.text("kind") != "PodDisruptionBudget":
            continue
        spec = node.node("spec")
        if not _selects(spec.node("selector"), dict(workload.labels)):
            notes.append(f"{node.place('kind')}: has no effect: it does not select the pods of {workload.name}")
            continue
        unavailable, available = spec.pods("maxUnavailable"), spec.pods("minAvailable")
        if unavailable is not None and available is not None:
            raise spec.error("conflicts with minAvailable; Kubernetes allows one of them", "maxUnavailable")
        if unavailable is not None:
            allowed.append(_round_up(unavailable, replicas))
        elif available is not None:
            allowed.append(max(0, replicas - _round_up(available, replicas)))
    return min(allowed, default=None)


def _round_up(pods: str, total: int) -> int:
    """Return a number of pods; percentages of budgets round up (`GetScaledValueFromIntOrPercent`)."""
    return math.ceil(int(pods[:-1]) * total / 100) if pods.endswith("%") else int(pods)


def _selects(selector: ManifestNode, labels: dict[str, str]) -> bool:
    """Return whether a label selector matches; an empty one matches all pods of the namespace."""
    wanted = selector.node("matchLabels")
    if any(labels.get(key) != wanted.text(key) for key in wanted.value):
        return False
    for expression in selector.nodes("matchExpressions"):
        key, values = expression.text("key"), expression.texts("values")
        match expression.choice("operator", ("In", "NotIn", "Exists", "DoesNotExist")):
            case "In":
                holds = labels.get(key) in values
            case "NotIn":
                holds = labels.get(key) not in values
            case "Exists":
                holds = key in labels
            case _:
                holds = key not in labels
        if not holds:
            return False
    return True


@dataclass(frozen=True, slots=True)
class ResolvedWorkload:
    """A workload of a scenario.

    `index`: the position of its entry in `clients`. `entry`: with the number of pods, their names and racks. `pods`:
    what the scenario says about pods. `replicas`: how many pods are up at the start. `budget`: how many pods evictions
    may make unavailable; None for no limit. `scaling`: its autoscaler by lag. `notes`: what was assumed or is not
    modeled.
    """

    index: int
    entry: ClientEntry
    manifest: WorkloadManifest
    pods: PodsEntry
    replicas: int
    budget: int | None
    scaling: LagScaling | None
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the clients."""
        return self.entry.name

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all pods, by ordinal."""
        return tuple(f"{self.entry.name}-{number}" for number in range(self.entry.count or 0))

    @property
    def volume(self) -> Volume:
        """Where the state directories are."""
        return self.manifest.volume if self.pods.volume is None else Volume(self.pods.volume)

    @property
    def pre_stop_ms(self) -> int:
        """The duration of the preStop hook."""
        return self.manifest.pre_stop_ms if self.pods.pre_stop is None else self.pods.pre_stop

    @property
    def template(self) -> PodTemplate:
        """How its pods start and stop when their number changes."""
        keeps = self.manifest.keeps_volume_when_scaled or self.volume is not self.manifest.volume
        return PodTemplate(
            self.manifest.controller,
            self.pods.start_after,
            self.pods.ready_after,
            self.manifest.min_ready_ms,
            Closing(self.pods.leaves_group, self.pods.close, self.pre_stop_ms, self.manifest.grace_ms),
            self.volume if keeps else Volume.NONE,
            self.manifest.is_parallel,
        )

    @property
    def times(self) -> Mapping[str, int]:
        """The keys of an event that say when pods start and are ready."""
        ready_ms = self.pods.ready_after + self.manifest.min_ready_ms
        return {"start_after": self.pods.start_after, "ready_after": ready_ms}
