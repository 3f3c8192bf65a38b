"""Checked planning: rejects unsupported requests before the strategy runs, and checks its plan afterwards.

Preferred leaders that are not in sync: Kafka elects a preferred leader only from the ISR, so a lagging replica does not
lead until it has caught up. Added replicas are not affected: a reassignment completes only when all target replicas are
in sync.

Source: `org.apache.kafka.controller.PartitionChangeBuilder` (`electPreferredLeader`, `isValidNewLeader`), KIP-455.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from assignors.errors import AssignorError
from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus, ReplicaAssignor
from assignors.replicas.state import NO_BROKER, ClusterState, count_per_rack

_MOST_NAMES = 20
"""The maximum number of partitions in a message."""


def leaders_out_of_sync(state: ClusterState, replicas: IntArray) -> BoolArray:
    """Return a mask of the partitions whose preferred leader in `replicas` is a current replica that is not in sync.

    `replicas` has shape (P, W), as `Plan.replicas`.
    """
    if state.in_sync is None:
        return np.zeros(state.num_partitions, dtype=np.bool_)
    is_leader = (state.replicas == replicas[:, :1]) & (state.replicas != NO_BROKER)
    out_of_sync: BoolArray = (is_leader & ~state.in_sync).any(axis=1)
    return out_of_sync


def warn_of_leaders(state: ClusterState, replicas: IntArray, rows: Collection[int]) -> Iterator[str]:
    """Yield a warning that lists the partitions among `rows` whose preferred leader is not in sync."""
    rows_out_of_sync = [row for row in np.flatnonzero(leaders_out_of_sync(state, replicas)).tolist() if row in rows]
    if rows_out_of_sync:
        names = [f"{state.name(row)} (broker {state.ids[replicas[row, 0]]})" for row in rows_out_of_sync[:_MOST_NAMES]]
        more = f", and {len(rows_out_of_sync) - _MOST_NAMES:,} more" if len(rows_out_of_sync) > _MOST_NAMES else ""
        yield f"preferred leaders not in sync, they lead only after they have caught up: {', '.join(names)}{more}"


class PlanRule(StrEnum):
    """A rule for every plan. `rack` applies only if racks constrain the plan and the strategy is rack-aware."""

    REPLICATION_FACTOR = "replication_factor"
    DUPLICATE = "duplicate"
    FORBIDDEN_BROKER = "forbidden_broker"
    RACK = "rack"


class Violation(NamedTuple):
    """A partition (a row of the state), the violated rule, and the number of occurrences."""

    row: int
    rule: PlanRule
    occurrences: int


def find_violations(state: ClusterState, request: PlanRequest, replicas: IntArray) -> tuple[Violation, ...]:
    """Return the violations of all partitions; `replicas` has shape (P, W), as `Plan.replicas`."""
    return tuple(_find(state, request, replicas))


def _find(state: ClusterState, request: PlanRequest, replicas: IntArray) -> Iterator[Violation]:
    is_replica = replicas != NO_BROKER
    wrong_factor = np.abs(is_replica.sum(axis=1) - request.factors(state))
    ordered = np.sort(replicas, axis=1)
    duplicates = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != NO_BROKER)).sum(axis=1)
    forbidden = (is_replica & ~np.append(request.is_allowed(state), False)[replicas]).sum(axis=1)
    rack_excess = np.zeros(len(replicas), dtype=np.int64)
    if request.is_rack_aware(state):
        most = request.rack_limits(state)
        rack_excess = np.maximum(count_per_rack(replicas, state.rack, len(state.racks)) - most[:, None], 0).sum(axis=1)
    for rule, count in zip(PlanRule, (wrong_factor, duplicates, forbidden, rack_excess), strict=True):
        for row in np.flatnonzero(count):
            yield Violation(int(row), rule, int(count[row]))


class PlanError(AssignorError):
    """An invalid request, or a strategy's plan that breaks the contract."""


def plan(
    assignor: ReplicaAssignor, state: ClusterState, request: PlanRequest, topics: Sequence[str] | None = None
) -> Plan:
    """Run a strategy and check its plan.

    `topics`: the topics that may change, None for all. The strategy plans only these, like tools that take a list of
    topics; the other topics stay as they are and use capacity. Returns a plan for every partition of the state, or a
    plan without replicas whose status and reason say why. Raises PlanError if the request contains unknown brokers or
    topics, or the plan breaks a rule.
    """
    check_request(state, request, topics)
    rows = _rows_of_topics(state, topics)
    selected = state.split(rows)
    unsupported = _unsupported(assignor.capabilities, selected, request)
    if unsupported is not None:
        return unsupported
    proposal = assignor.plan(selected, request)
    if proposal.replicas is None:
        return proposal
    _check_rules(assignor, selected, request, proposal.replicas)
    replicas = _merge(state, rows, proposal.replicas)
    warnings = warn_of_leaders(state, replicas, set(rows.tolist()))
    return replace(proposal, replicas=replicas, notes=(*proposal.notes, *warnings))


def check_request(state: ClusterState, request: PlanRequest, topics: Sequence[str] | None = None) -> None:
    """Check that the brokers and topics of a request exist.

    Raises PlanError if a broker or topic is unknown, no broker is allowed, or the replication factor is less than 1.
    """
    ids = sorted(broker.id for broker in state.brokers if broker.is_alive)
    unknown_brokers = sorted(set(request.brokers or ()) - set(ids))
    if unknown_brokers:
        raise PlanError(f"unknown broker {unknown_brokers[0]} (brokers: {_listing(ids)})")
    unknown_topics = sorted(set(topics or ()) - set(state.topics))
    if unknown_topics:
        raise PlanError(f"unknown topic '{unknown_topics[0]}' (topics: {_listing(sorted(state.topics))})")
    if not request.is_allowed(state).any():
        raise PlanError("no broker may hold replicas; allow at least one broker that is alive")
    if request.replication_factor is not None and request.replication_factor < 1:
        raise PlanError(f"replication factor {request.replication_factor} is less than 1")


def _unsupported(capabilities: Capabilities, state: ClusterState, request: PlanRequest) -> Plan | None:
    """Return the result for a request that is infeasible or unsupported by the strategy; None for other requests."""
    if not state.num_partitions:
        return Plan(PlanStatus.OPTIMAL, state.replicas)
    allowed, factors = request.is_allowed(state), request.factors(state)
    hardest = int(factors.argmax())
    if factors[hardest] > allowed.sum():
        reason = f"{state.name(hardest)}: replication factor {factors[hardest]} exceeds {allowed.sum()} allowed brokers"
        return Plan.without_replicas(PlanStatus.INFEASIBLE, reason)
    missing = _missing_capability(capabilities, state, request)
    return None if missing is None else Plan.without_replicas(PlanStatus.NOT_APPLICABLE, missing)


def _missing_capability(capabilities: Capabilities, state: ClusterState, request: PlanRequest) -> str | None:
    factors, allowed = request.factors(state), request.is_allowed(state)
    held = state.replicas[state.replicas != NO_BROKER]
    allowed_brokers = [broker for broker, is_allowed in zip(state.brokers, allowed, strict=True) if is_allowed]
    brokers_without_rack = [broker.id for broker in allowed_brokers if broker.rack is None]
    if (factors > state.replication_factor).any() and not capabilities.raises_replication_factor:
        return "cannot raise the replication factor"
    if (factors < state.replication_factor).any() and not capabilities.lowers_replication_factor:
        return "cannot lower the replication factor"
    if not allowed[held].all() and not capabilities.decommissions_brokers:
        return "cannot decommission brokers"
    if capabilities.needs_sizes and state.size_bytes is None:
        return "requires partition sizes"
    if capabilities.needs_capacities and any(broker.capacity_bytes is None for broker in allowed_brokers):
        return "requires broker capacities"
    if request.rack_aware and capabilities.is_rack_aware and 0 < len(brokers_without_rack) < len(allowed_brokers):
        return f"broker {brokers_without_rack[0]} has no rack, others have one; set its rack or ignore racks"
    return None


def _check_rules(assignor: ReplicaAssignor, state: ClusterState, request: PlanRequest, replicas: IntArray) -> None:
    """Check that the plan meets every rule; raise PlanError if a rule is violated.

    Racks are only checked if the strategy promises them, and violations that existed before are accepted.
    """
    promises_racks = assignor.capabilities.is_rack_aware and not assignor.capabilities.may_exceed_rack_limit
    before = {
        violation.row: violation.occurrences
        for violation in find_violations(state, request, state.replicas)
        if violation.rule == PlanRule.RACK
    }
    for violation in find_violations(state, request, replicas):
        existed_before = violation.occurrences <= before.get(violation.row, 0)
        if violation.rule != PlanRule.RACK or (promises_racks and not existed_before):
            strategy = type(assignor).__name__
            raise PlanError(
                f"{strategy} breaks {violation.rule} at {state.name(violation.row)}: {replicas[violation.row].tolist()}"
            )


def _rows_of_topics(state: ClusterState, topics: Sequence[str] | None) -> IntArray:
    if topics is None:
        return np.arange(state.num_partitions)
    wanted = [i for i, name in enumerate(state.topics) if name in set(topics)]
    return np.flatnonzero(np.isin(state.topic, wanted))


def _merge(state: ClusterState, rows: IntArray, replicas: IntArray) -> IntArray:
    width = max(state.replicas.shape[1], replicas.shape[1])
    merged = np.full((state.num_partitions, width), NO_BROKER, dtype=np.int64)
    merged[:, : state.replicas.shape[1]] = state.replicas
    merged[rows] = NO_BROKER
    merged[rows, : replicas.shape[1]] = replicas
    return merged


def _listing(items: Sequence[object]) -> str:
    shown = ", ".join(map(str, items[:12]))
    return f"{shown}, and {len(items) - 12} more" if len(items) > 12 else shown
