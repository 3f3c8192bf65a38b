"""From a request to a plan that was checked: what cannot be is refused before a strategy sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assignors.errors import AssignorError
from assignors.model.columns import IntArray
from assignors.replicas.in_sync import warn_of_leaders
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus, ReplicaAssignor
from assignors.replicas.state import NO_BROKER, ClusterState
from assignors.replicas.violations import PlanRule, find_violations


class PlanError(AssignorError):
    """A request that makes no sense, or a strategy's plan that breaks the contract."""


def plan(
    assignor: ReplicaAssignor, state: ClusterState, request: PlanRequest, topics: Sequence[str] | None = None
) -> Plan:
    """Ask a strategy, and check what it answers.

    Args:
        assignor: the strategy.
        state: the cluster.
        request: what is to be.
        topics: the topics that may change, None for all. The strategy plans these alone, as the tools do that take a
            list of topics; all others stay as they are, and take up room.

    Returns:
        A plan for every partition of the state; without one, its status and reason say why.

    Raises:
        PlanError: the request names brokers or topics that are not there, or the plan breaks a rule.
    """
    check_request(state, request, topics)
    rows = _chosen(state, topics)
    part = state.split(rows)
    refused = _refused(assignor.capabilities, part, request)
    if refused is not None:
        return refused
    answer = assignor.plan(part, request)
    if answer.replicas is None:
        return answer
    _check_answer(assignor, part, request, answer.replicas)
    replicas = _merged(state, rows, answer.replicas)
    warnings = warn_of_leaders(state, replicas, set(rows.tolist()))
    return replace(answer, replicas=replicas, notes=(*answer.notes, *warnings))


def check_request(state: ClusterState, request: PlanRequest, topics: Sequence[str] | None = None) -> None:
    """See that what a request names is there.

    Raises:
        PlanError: it is not; says what is.
    """
    ids = sorted(broker.id for broker in state.brokers if broker.is_alive)
    unknown = sorted(set(request.brokers or ()) - set(ids))
    if unknown:
        raise PlanError(f"broker {unknown[0]} is not there (brokers: {_listing(ids)})")
    strangers = sorted(set(topics or ()) - set(state.topics))
    if strangers:
        raise PlanError(f"'{strangers[0]}' is not a topic (topics: {_listing(sorted(state.topics))})")
    if not request.allowed(state).any():
        raise PlanError("no broker is left that may hold replicas")
    if request.replication_factor is not None and request.replication_factor < 1:
        raise PlanError(f"replication factor {request.replication_factor} is less than 1")


def _refused(capabilities: Capabilities, state: ClusterState, request: PlanRequest) -> Plan | None:
    """The answer where there is nothing to ask: nothing can be, or not by this strategy."""
    if not state.num_partitions:
        return Plan(PlanStatus.OPTIMAL, state.replicas)
    allowed, factors = request.allowed(state), request.factors(state)
    hardest = int(factors.argmax())
    if factors[hardest] > allowed.sum():
        reason = f"{state.name(hardest)}: {factors[hardest]} replicas need as many brokers, {allowed.sum()} are allowed"
        return Plan.none(PlanStatus.INFEASIBLE, reason)
    unable = _unable(capabilities, state, request)
    return None if unable is None else Plan.none(PlanStatus.NOT_APPLICABLE, unable)


def _unable(capabilities: Capabilities, state: ClusterState, request: PlanRequest) -> str | None:
    factors, allowed = request.factors(state), request.allowed(state)
    held = state.replicas[state.replicas != NO_BROKER]
    used = [broker for broker, is_allowed in zip(state.brokers, allowed, strict=True) if is_allowed]
    bare = [broker.id for broker in used if broker.rack is None]
    if (factors > state.replication_factor).any() and not capabilities.raises_replication_factor:
        return "it cannot raise the replication factor"
    if (factors < state.replication_factor).any() and not capabilities.lowers_replication_factor:
        return "it cannot lower the replication factor"
    if not allowed[held].all() and not capabilities.decommissions_brokers:
        return "it cannot take brokers out of use"
    if capabilities.needs_sizes and state.size_bytes is None:
        return "it needs the sizes of partitions"
    if capabilities.needs_capacities and any(broker.capacity_bytes is None for broker in used):
        return "it needs the capacities of brokers"
    if request.rack_aware and capabilities.is_rack_aware and 0 < len(bare) < len(used):
        return f"broker {bare[0]} has no rack and others have; leave racks out, or give it one"
    return None


def _check_answer(assignor: ReplicaAssignor, state: ClusterState, request: PlanRequest, replicas: IntArray) -> None:
    """See that every rule is kept; racks as far as the strategy promises, and no worse than they were found."""
    keeps_racks = assignor.capabilities.is_rack_aware and not assignor.capabilities.may_exceed_rack_limit
    before = {
        found.row: found.times
        for found in find_violations(state, request, state.replicas)
        if found.rule == PlanRule.RACK
    }
    for found in find_violations(state, request, replicas):
        is_old = found.times <= before.get(found.row, 0)
        if found.rule != PlanRule.RACK or (keeps_racks and not is_old):
            who = type(assignor).__name__
            raise PlanError(f"{who} breaks {found.rule} at {state.name(found.row)}: {replicas[found.row].tolist()}")


def _chosen(state: ClusterState, topics: Sequence[str] | None) -> IntArray:
    if topics is None:
        return np.arange(state.num_partitions)
    wanted = [i for i, name in enumerate(state.topics) if name in set(topics)]
    return np.flatnonzero(np.isin(state.topic, wanted))


def _merged(state: ClusterState, rows: IntArray, replicas: IntArray) -> IntArray:
    width = max(state.replicas.shape[1], replicas.shape[1])
    merged = np.full((state.num_partitions, width), NO_BROKER, dtype=np.int64)
    merged[:, : state.replicas.shape[1]] = state.replicas
    merged[rows] = NO_BROKER
    merged[rows, : replicas.shape[1]] = replicas
    return merged


def _listing(items: Sequence[object]) -> str:
    shown = ", ".join(map(str, items[:12]))
    return f"{shown}, and {len(items) - 12} more" if len(items) > 12 else shown
