"""The autoscalers of a workload: HorizontalPodAutoscaler (autoscaling/v2) and ScaledObject of KEDA.

Only metrics of lag are simulated: a model of tasks has no CPU or memory. Defaults are those of Kubernetes 1.34 and KEDA
2.20: `pkg/apis/autoscaling/v2/defaults.go`, `apis/keda/v1alpha1/scaledobject_types.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from scenarios.kubernetes.objects import ManifestNode, parse_quantity
from scenarios.kubernetes.workload import WorkloadManifest
from scenarios.language.errors import format_value
from simulator.world.pod_events import (
    DEFAULT_SCALE_DOWN,
    DEFAULT_SCALE_UP,
    Activation,
    HorizontalScaling,
    LagTrigger,
    ScalingBehavior,
    ScalingPolicy,
    ScalingRules,
    SelectedPolicy,
)

MAX_REPLICAS: Final = 1_000
"""The maximum of `maxReplicas` that is simulated."""

_MAX_WINDOW_S: Final = 3_600
_MAX_PERIOD_S: Final = 1_800
_KAFKA: Final = ("kafka", "apache-kafka")
_UNMODELED_METADATA: Final = ("excludePersistentLag", "partitionLimitation")


@dataclass(frozen=True, slots=True)
class LocatedTrigger:
    """A trigger with its place in the manifest.

    Attributes:
        node: its place.
        group: the consumer group, empty if it is not stated.
    """

    trigger: LagTrigger
    node: ManifestNode
    group: str


@dataclass(frozen=True, slots=True)
class AutoscalerManifest:
    """What scales a workload by lag.

    Attributes:
        node: the object.
        horizontal: the HorizontalPodAutoscaler, which KEDA creates for a ScaledObject.
        triggers: the metrics.
        activation: what KEDA does besides; None without KEDA.
    """

    node: ManifestNode
    horizontal: HorizontalScaling
    triggers: tuple[LocatedTrigger, ...]
    activation: Activation | None


def read_autoscaler(
    objects: Iterable[ManifestNode], workload: WorkloadManifest, notes: list[str]
) -> AutoscalerManifest | None:
    """Return the autoscaler of a workload; None if none scales it by lag.

    `notes`: gets what is not modeled. Raises ManifestError if an autoscaler has an invalid value, or two scale the
    workload.
    """
    found: list[AutoscalerManifest | None] = []
    for node in objects:
        kind = node.text("kind")
        if kind not in ("HorizontalPodAutoscaler", "ScaledObject"):
            continue
        target = node.node("spec").node("scaleTargetRef")
        own = target.text("kind", "Deployment") == workload.controller and target.text("name") == workload.name
        if not own:
            notes.append(f"{target.place('name')}: has no effect: it scales another workload than {workload.name}")
            continue
        if found:
            raise node.error(f"is a second autoscaler of {workload.name}; two of them work against each other", "kind")
        found.append(_read_scaled_object(node, notes) if kind == "ScaledObject" else _read_horizontal(node, notes))
    return found[0] if found else None


def _read_horizontal(node: ManifestNode, notes: list[str]) -> AutoscalerManifest | None:
    spec = node.node("spec")
    minimum = spec.integer("minReplicas", 1, maximum=MAX_REPLICAS)
    maximum = _read_maximum(spec, "maxReplicas", None)
    if minimum > maximum:
        raise spec.error(f"{minimum} is more than maxReplicas ({maximum})", "minReplicas")
    triggers = tuple(_read_metrics(spec, notes))
    if not triggers:
        place = node.place("spec")
        notes.append(f"{place}: the number of pods stays as it is: only external metrics of lag can be simulated")
        return None
    scaling = HorizontalScaling(minimum, maximum, _read_behavior(spec))
    return AutoscalerManifest(node, scaling, triggers, None)


def _read_maximum(spec: ManifestNode, key: str, default: int | None) -> int:
    maximum = spec.integer(key, default, minimum=1)
    if maximum > MAX_REPLICAS:
        raise spec.error(f"more than {MAX_REPLICAS:,} pods cannot be simulated; found {maximum:,}", key)
    return maximum


def _read_metrics(spec: ManifestNode, notes: list[str]) -> Iterator[LocatedTrigger]:
    """Yield the external metrics of lag, of which only the name says what they are."""
    for metric in spec.nodes("metrics"):
        external = metric.node("external")
        name = external.node("metric").text("name")
        if metric.text("type") != "External":
            notes.append(f"{metric.place('type')}: not modeled: only external metrics of lag can be simulated")
        elif "lag" not in name.lower():
            notes.append(f"{external.place('metric')}: not modeled: {format_value(name)} does not name a lag")
        else:
            target = external.node("target")
            is_average = target.choice("type", ("AverageValue", "Value")) == "AverageValue"
            labels = external.node("metric").node("selector").node("matchLabels")
            topic = next((labels.text(key) for key in ("topic", "topic_name") if key in labels), "")
            group = next((labels.text(key) for key in ("group", "consumergroup", "group_id") if key in labels), "")
            records = target.records("averageValue" if is_average else "value")
            trigger = LagTrigger(records, is_average, (topic,) if topic else ())
            yield LocatedTrigger(trigger, external, group)


def _read_scaled_object(node: ManifestNode, notes: list[str]) -> AutoscalerManifest | None:
    spec = node.node("spec")
    minimum = spec.integer("minReplicaCount", 0, maximum=MAX_REPLICAS)
    maximum = _read_maximum(spec, "maxReplicaCount", 100)
    idle = spec.integer("idleReplicaCount") if "idleReplicaCount" in spec else None
    if minimum > maximum:
        raise spec.error(f"{minimum} is more than maxReplicaCount ({maximum})", "minReplicaCount")
    if idle is not None and idle >= minimum:
        raise spec.error(f"{idle} is not less than minReplicaCount ({minimum}), as KEDA requires", "idleReplicaCount")
    if _is_paused(node):
        notes.append(f"{node.place('metadata', 'annotations')}: paused: the number of pods stays as it is")
        return None
    kafka, caches = [], []
    for number, trigger in enumerate(spec.nodes("triggers")):
        if trigger.text("type") not in _KAFKA:
            notes.append(f"{spec.place('triggers', number)}: not modeled: only Kafka triggers can be simulated")
            continue
        kafka.append(_read_trigger(trigger, notes))
        caches.append(trigger.boolean("useCachedMetrics"))
    advanced = spec.node("advanced")
    for parent, key in ((spec, "fallback"), (advanced, "scalingModifiers")):
        if key in parent:
            why = "the lag can always be read" if key == "fallback" else "each trigger counts by itself"
            notes.append(f"{parent.place(key)}: has no effect in the simulation: {why}")
    if not kafka:
        notes.append(f"{node.place('spec')}: the number of pods stays as it is: it has no Kafka trigger")
        return None
    horizontal = HorizontalScaling(
        max(minimum, 1), maximum, _read_behavior(advanced.node("horizontalPodAutoscalerConfig"))
    )
    activation = Activation(
        polling_ms=spec.seconds_ms("pollingInterval", 30, minimum=1),
        cooldown_ms=spec.seconds_ms("cooldownPeriod", 300),
        min_replicas=minimum,
        idle_replicas=idle,
        initial_cooldown_ms=spec.seconds_ms("initialCooldownPeriod", 0),
        caches_metric=all(caches),
    )
    return AutoscalerManifest(node, horizontal, tuple(kafka), activation)


def _is_paused(node: ManifestNode) -> bool:
    annotations = node.node("metadata").node("annotations")
    return annotations.value.get("autoscaling.keda.sh/paused") in ("true", True) or (
        "autoscaling.keda.sh/paused-replicas" in annotations
    )


def _read_trigger(trigger: ManifestNode, notes: list[str]) -> LocatedTrigger:
    metadata = trigger.node("metadata")
    for key in ("topicFromEnv", "consumerGroupFromEnv"):
        if key in metadata:
            plain = key.removesuffix("FromEnv")
            raise metadata.error(f"environment variables are not read; write {plain} into a copy of the manifest", key)
    unmodeled = [key for key in _UNMODELED_METADATA if metadata.value.get(key) not in (None, "false", False, "")]
    notes += [f"{metadata.place(key)}: not modeled: the lag of all partitions counts" for key in unmodeled]
    topics = tuple(topic.strip() for topic in metadata.text("topic").split(",") if topic.strip())
    found = LagTrigger(
        target=metadata.integer("lagThreshold", 10, minimum=1),
        is_average=trigger.choice("metricType", ("AverageValue", "Value")) == "AverageValue",
        topics=topics,
        is_limited=True,
        allows_idle_consumers=metadata.boolean("allowIdleConsumers"),
        limits_to_partitions_with_lag=metadata.boolean("limitToPartitionsWithLag"),
        distributes_evenly=metadata.boolean("ensureEvenDistributionOfPartitions"),
        activation_lag=metadata.integer("activationLagThreshold", 0),
    )
    _check_trigger(found, metadata)
    return LocatedTrigger(found, metadata, metadata.text("consumerGroup"))


def _check_trigger(trigger: LagTrigger, metadata: ManifestNode) -> None:
    """Report what KEDA refuses (`kafkaMetadata.Validate`)."""
    limits, evenly = "limitToPartitionsWithLag", "ensureEvenDistributionOfPartitions"
    if trigger.limits_to_partitions_with_lag and trigger.allows_idle_consumers:
        raise metadata.error("KEDA refuses it together with allowIdleConsumers; remove one of them", limits)
    if trigger.limits_to_partitions_with_lag and trigger.distributes_evenly:
        raise metadata.error(f"KEDA refuses it together with {evenly}; remove one of them", limits)
    for key, is_set in ((limits, trigger.limits_to_partitions_with_lag), (evenly, trigger.distributes_evenly)):
        if is_set and not trigger.topics:
            raise metadata.error("KEDA requires topic with it; set topic", key)


def _read_behavior(parent: ManifestNode) -> ScalingBehavior | None:
    if "behavior" not in parent:
        return None
    behavior = parent.node("behavior")
    return ScalingBehavior(
        _read_rules(behavior.node("scaleUp"), DEFAULT_SCALE_UP),
        _read_rules(behavior.node("scaleDown"), DEFAULT_SCALE_DOWN),
    )


def _read_rules(node: ManifestNode, default: ScalingRules) -> ScalingRules:
    """Return the rules of one direction; what is not set has its default (`copyHPAScalingRules`)."""
    window_s = node.integer("stabilizationWindowSeconds", default.stabilization_ms // 1_000, maximum=_MAX_WINDOW_S)
    policies: Sequence[ScalingPolicy] = [_read_policy(policy) for policy in node.nodes("policies")]
    tolerance = default.tolerance
    if "tolerance" in node:
        parsed = parse_quantity(node.value["tolerance"])
        if parsed is None or parsed < 0:
            raise node.error("expected a quantity, such as 0.1 or 100m", "tolerance")
        tolerance = float(parsed)
    select = node.choice("selectPolicy", tuple(str(policy) for policy in SelectedPolicy))
    return ScalingRules(tuple(policies) or default.policies, window_s * 1_000, SelectedPolicy(select), tolerance)


def _read_policy(node: ManifestNode) -> ScalingPolicy:
    kind = node.text("type")
    if kind not in ("Pods", "Percent"):
        raise node.error(f"{format_value(kind)} is not one of: Pods, Percent", "type")
    period_s = node.integer("periodSeconds", minimum=1, maximum=_MAX_PERIOD_S)
    return ScalingPolicy(node.integer("value", minimum=1), period_s * 1_000, kind == "Percent")
