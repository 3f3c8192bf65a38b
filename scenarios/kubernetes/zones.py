"""In which zones pods run: node affinity and topology spread constraints.

Guarantees: pods are placed one after another, each in the allowed zone with the fewest of them, ties by the order of
the zones. The numbers of any two allowed zones then differ by at most 1, which every `maxSkew` allows. The scheduler
also prefers this without constraints, but guarantees it only with `whenUnsatisfiable: DoNotSchedule`.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scenarios.kubernetes.objects import ManifestNode
from scenarios.language.errors import format_list

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
    """Return what the spec of a pod says about zones.

    `notes`: gets what is not modeled. Raises ManifestError if a field has an invalid value.
    """
    skews, is_spread = [], False
    for constraint in pod.nodes("topologySpreadConstraints"):
        skew = constraint.integer("maxSkew", minimum=1)
        must_hold = constraint.choice("whenUnsatisfiable", ("DoNotSchedule", "ScheduleAnyway")) == "DoNotSchedule"
        if constraint.text("topologyKey") in ZONE_LABELS:
            is_spread = True
            skews += [skew] * must_hold
    return ZoneRules(pod, _read_terms(pod, notes), min(skews, default=None), is_spread, _is_one_per_zone(pod))


def place_pods(count: int, zones: Sequence[str], *, is_listed: bool) -> list[str]:
    """Return the zone of each pod.

    `zones`: the allowed zones in order of preference, or a zone for each pod; `is_listed` says whether `zones` lists a
    zone for each pod, from the start again if there are more pods.
    """
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
