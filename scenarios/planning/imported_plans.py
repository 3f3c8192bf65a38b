"""Plans made by other tools: read, evaluated by the same criteria as strategies, and written in the same files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from assignors.model.columns import IntArray
from assignors.model.ids import TopicPartition
from assignors.replicas.plan_evaluation import measure_movement, measure_placement
from assignors.replicas.planning import leaders_out_of_sync
from assignors.replicas.state import NO_BROKER, ClusterState
from scenarios.clusters.cluster_reader import read_tool_output
from scenarios.kafka.formats.reassignment import ANY_LOG_DIR, PartitionReassignment, parse_reassignment
from scenarios.kafka.plan_files import BatchLimits, LogDirs, ReplicaChange, replica_changes
from scenarios.language.errors import Mistake, Mistakes, ScenarioError, did_you_mean, format_list, format_value
from scenarios.planning.plan_input import PlanInput
from scenarios.planning.strategy_results import (
    StrategyResult,
    compute_min_moves,
    movement_figures,
    offline_notes,
    placement_figures,
)
from simulator.plurals import counted

STATUS = "given"
"""The status of an imported plan."""


@dataclass(frozen=True, slots=True)
class ImportedPlan:
    """A plan made by another tool.

    Attributes:
        name: the file, as the user names it.
        moves: the entries of the topics that may change, in the order of the file.
        num_skipped: the number of entries of other topics.
    """

    name: str
    moves: tuple[PartitionReassignment, ...]
    num_skipped: int


def read_imported_plan(path: Path, plan_input: PlanInput) -> ImportedPlan:
    """Read a reassignment JSON and check it against the cluster.

    Raises ScenarioError if the file is not a reassignment, or contains unknown partitions or brokers; the message lists
    every mistake.
    """
    entries = read_tool_output(path, parse_reassignment)
    _check(str(path), entries, plan_input.state)
    chosen = tuple(move for move in entries if plan_input.topics is None or move.topic in plan_input.topics)
    if not chosen:
        message = f"no entry for the topics that may change ({format_list('topics', plan_input.topics or ())})"
        raise ScenarioError([Mistake(str(path), None, "", message)])
    return ImportedPlan(str(path), chosen, len(entries) - len(chosen))


def evaluate_imported_plan(imported: ImportedPlan, plan_input: PlanInput, limits: BatchLimits) -> StrategyResult:
    """Evaluate a plan and write its files; batches keep the order of its entries.

    `plan_input`: the cluster and the request; without a requested replication factor, that of the plan is valid.
    Returns the result, with figures and files.
    """
    state = plan_input.state
    replicas = _replicas(imported, state)
    uses_plan_factor = plan_input.request.replication_factor is None
    after = measure_placement(
        state.with_replicas(replicas) if uses_plan_factor else state, plan_input.request, replicas, plan_input.topics
    )
    # Replicas that the plan keeps are as in sync as before.
    after = replace(after, leaders_out_of_sync=int(leaders_out_of_sync(state, replicas).sum()))
    factors = (replicas != NO_BROKER).sum(axis=1)
    keeps_factor = bool((plan_input.request.factors(state) == factors)[plan_input.rows].all())
    figures = {**dict(placement_figures(after)), **dict(movement_figures(measure_movement(state, replicas)))}
    ordered_changes = _changes(imported, state, replicas, plan_input.log_dirs)
    return StrategyResult(
        imported.name,
        STATUS,
        figures={**figures, "replicas_moved_bound": compute_min_moves(plan_input) if keeps_factor else None},
        notes=(*_notes(imported, state, replicas, ordered_changes), *offline_notes(state, replicas)),
        replicas=replicas,
        changes=ordered_changes,
        limits=limits,
    )


def _check(source: str, entries: Sequence[PartitionReassignment], state: ClusterState) -> None:
    mistakes = Mistakes(source)
    partitions: dict[str, set[int]] = {name: set() for name in state.topics}
    for topic, number in zip(state.topic.tolist(), state.partition.tolist(), strict=True):
        partitions[state.topics[topic]].add(number)
    alive = {broker.id for broker in state.brokers if broker.is_alive}
    for move in entries:
        for message in _mistakes_of(move, partitions, alive):
            mistakes.add(Mistake(source, move.line, f"{move.topic}-{move.partition}", message))
    mistakes.raise_any()


def _mistakes_of(move: PartitionReassignment, partitions: dict[str, set[int]], alive: set[int]) -> Iterator[str]:
    if move.topic not in partitions:
        yield f"unknown topic {format_value(move.topic)} ({did_you_mean(move.topic, sorted(partitions), 'topics')})"
    elif move.partition not in partitions[move.topic]:
        yield f"unknown partition ({format_list('partitions', sorted(partitions[move.topic]))})"
    for broker in move.replicas:
        if broker not in alive:
            yield f"unknown broker {broker} ({format_list('brokers', sorted(alive))})"


def _replicas(imported: ImportedPlan, state: ClusterState) -> IntArray:
    """Return the replicas of every partition after the plan, as `Plan.replicas`."""
    rows = {state.partition_id(row): row for row in range(state.num_partitions)}
    broker_rows = {id: row for row, id in enumerate(state.ids.tolist())}
    width = max(state.replicas.shape[1], *(len(move.replicas) for move in imported.moves))
    replicas = np.full((state.num_partitions, width), NO_BROKER, dtype=np.int64)
    replicas[:, : state.replicas.shape[1]] = state.replicas
    for move in imported.moves:
        row = rows[TopicPartition(move.topic, move.partition)]
        replicas[row] = NO_BROKER
        replicas[row, : len(move.replicas)] = [broker_rows[broker] for broker in move.replicas]
    return replicas


def _changes(
    imported: ImportedPlan, state: ClusterState, replicas: IntArray, log_dirs_by_partition: LogDirs
) -> list[ReplicaChange]:
    """Return the changes of the plan in its order: replicas, their order, or only the log directory of a replica."""
    changed = {change.key: change for change in replica_changes(state, replicas, log_dirs_by_partition)}
    rows = {state.partition_id(row): row for row in range(state.num_partitions)}
    changes_in_order = []
    for move in imported.moves:
        key = TopicPartition(move.topic, move.partition)
        log_dirs = move.log_dirs if set(move.log_dirs) - {ANY_LOG_DIR} else ()
        if key in changed:
            changes_in_order.append(replace(changed[key], new_log_dirs=log_dirs or changed[key].new_log_dirs))
        elif log_dirs:
            is_led_by_other = bool(replicas[rows[key], 0] != state.leader[rows[key]])
            before = log_dirs_by_partition.get((move.topic, move.partition), {})
            old_dirs = tuple(before.get(broker, ANY_LOG_DIR) for broker in move.replicas) if before else ()
            changes_in_order.append(
                ReplicaChange(
                    key, move.replicas, move.replicas, is_led_by_other, None, move.replicas[0], log_dirs, old_dirs
                )
            )
    return changes_in_order


def _notes(
    imported: ImportedPlan, state: ClusterState, replicas: IntArray, changed: Sequence[ReplicaChange]
) -> Iterator[str]:
    if imported.num_skipped:
        yield f"{counted(imported.num_skipped, 'entry', 'entries')} of other topics skipped"
    num_unchanged = len(imported.moves) - len(changed)
    if num_unchanged:
        yield f"{num_unchanged:,} of {len(imported.moves):,} entries change nothing"
    factors = (replicas != NO_BROKER).sum(axis=1)
    num_resized = int((factors != state.replication_factor).sum())
    if num_resized:
        yield f"the replication factor of {counted(num_resized, 'partition')} changes"
    num_with_log_dirs = sum(bool(change.new_log_dirs) and not change.old_log_dirs for change in changed)
    if num_with_log_dirs:
        partitions = counted(num_with_log_dirs, "partition gets", "partitions get")
        yield f"{partitions} log directories; a rollback restores the brokers, not the directories"
