"""Plans made elsewhere: read, judged by the same criteria as strategies, and written in the same files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from assignor_sim.plan_answers import (
    StrategyResult,
    min_moves,
    movement_figures,
    offline_notes,
    placement_figures,
    write_plan_files,
)
from assignor_sim.plan_request import PlanInput
from assignors.model.columns import IntArray
from assignors.model.ids import TopicPartition
from assignors.replicas.placement_metrics import measure_placement
from assignors.replicas.plan_evaluation import Criterion, measure_movement
from assignors.replicas.state import NO_BROKER, ClusterState
from reports.analysis.plans.plan_row import PlanRow
from scenarios.clusters.cluster_reader import read_tool_output
from scenarios.kafka.formats.reassignment import ANY_LOG_DIR, PartitionReassignment, parse_reassignment
from scenarios.kafka.plan_files.batches import BatchLimits
from scenarios.kafka.plan_files.changes import LogDirs, ReplicaChange, changes
from scenarios.language.errors import Mistake, Mistakes, ScenarioError, did_you_mean, format_list, format_value

STATUS = "given"
"""The status of a plan made elsewhere."""


@dataclass(frozen=True, slots=True)
class ImportedPlan:
    """A plan made elsewhere.

    Attributes:
        name: the file, as the user names it.
        moves: the entries of the topics that may change, in the order of the file.
        left_out: how many entries are of other topics.
    """

    name: str
    moves: tuple[PartitionReassignment, ...]
    left_out: int


def read_imported_plan(path: Path, asked: PlanInput) -> ImportedPlan:
    """Read a reassignment JSON and check it against the cluster.

    Raises:
        ScenarioError: the file is none, or names partitions or brokers that do not exist; has every mistake.
    """
    entries = read_tool_output(path, parse_reassignment)
    _check(str(path), entries, asked.state)
    chosen = tuple(move for move in entries if asked.topics is None or move.topic in asked.topics)
    if not chosen:
        what = f"no entry is of the topics that may change ({format_list('topics', asked.topics or ())})"
        raise ScenarioError([Mistake(str(path), None, "", what)])
    return ImportedPlan(str(path), chosen, len(entries) - len(chosen))


def evaluate_imported_plan(given: ImportedPlan, asked: PlanInput, limits: BatchLimits) -> StrategyResult:
    """Judge a plan and write its files; batches keep the order of its entries.

    Args:
        given: the plan.
        asked: the cluster, and what the options ask; without a replication factor among them, the plan's own is right.
        limits: of a batch.
    """
    state = asked.state
    replicas = _replicas(given, state)
    own_factor = asked.request.replication_factor is None
    after = measure_placement(state.with_replicas(replicas) if own_factor else state, asked.request, replicas)
    keeps_factor = bool((asked.request.factors(state) == (replicas != NO_BROKER).sum(axis=1))[asked.rows].all())
    figures = {**dict(placement_figures(after)), **dict(movement_figures(measure_movement(state, replicas)))}
    changed = _changes(given, state, replicas, asked.log_dirs)
    row = PlanRow(
        strategy=given.name,
        status=STATUS,
        figures={**figures, "least_replicas_moved": min_moves(asked) if keeps_factor else None},
        aims=frozenset(Criterion),
        notes=(*_notes(given, state, replicas, changed), *offline_notes(state, replicas)),
    )
    return write_plan_files(row, replicas, changed, (), limits)


def _check(source: str, entries: Sequence[PartitionReassignment], state: ClusterState) -> None:
    mistakes = Mistakes(source)
    partitions: dict[str, set[int]] = {name: set() for name in state.topics}
    for topic, number in zip(state.topic.tolist(), state.partition.tolist(), strict=True):
        partitions[state.topics[topic]].add(number)
    alive = {broker.id for broker in state.brokers if broker.is_alive}
    for move in entries:
        for what in _wrong(move, partitions, alive):
            mistakes.add(Mistake(source, move.line, f"{move.topic}-{move.partition}", what))
    mistakes.raise_any()


def _wrong(move: PartitionReassignment, partitions: dict[str, set[int]], alive: set[int]) -> Iterator[str]:
    if move.topic not in partitions:
        yield f"unknown topic {format_value(move.topic)} ({did_you_mean(move.topic, sorted(partitions), 'topics')})"
    elif move.partition not in partitions[move.topic]:
        yield f"unknown partition ({format_list('partitions', sorted(partitions[move.topic]))})"
    for broker in move.replicas:
        if broker not in alive:
            yield f"unknown broker {broker} ({format_list('brokers', sorted(alive))})"


def _replicas(given: ImportedPlan, state: ClusterState) -> IntArray:
    """The replicas of every partition once the plan is carried out, as `Plan.replicas`."""
    rows = {state.partition_id(row): row for row in range(state.num_partitions)}
    broker_rows = {id: row for row, id in enumerate(state.ids.tolist())}
    width = max(state.replicas.shape[1], *(len(move.replicas) for move in given.moves))
    replicas = np.full((state.num_partitions, width), NO_BROKER, dtype=np.int64)
    replicas[:, : state.replicas.shape[1]] = state.replicas
    for move in given.moves:
        row = rows[TopicPartition(move.topic, move.partition)]
        replicas[row] = NO_BROKER
        replicas[row, : len(move.replicas)] = [broker_rows[broker] for broker in move.replicas]
    return replicas


def _changes(given: ImportedPlan, state: ClusterState, replicas: IntArray, known: LogDirs) -> list[ReplicaChange]:
    """What the plan changes, in its order: replicas, their order, or only the log directory of one."""
    changed = {change.key: change for change in changes(state, replicas, known)}
    rows = {state.partition_id(row): row for row in range(state.num_partitions)}
    found = []
    for move in given.moves:
        key = TopicPartition(move.topic, move.partition)
        log_dirs = move.log_dirs if set(move.log_dirs) - {ANY_LOG_DIR} else ()
        if key in changed:
            found.append(replace(changed[key], new_log_dirs=log_dirs or changed[key].new_log_dirs))
        elif log_dirs:
            is_led_by_other = bool(replicas[rows[key], 0] != state.leader[rows[key]])
            before = known.get((move.topic, move.partition), {})
            old_dirs = tuple(before.get(broker, ANY_LOG_DIR) for broker in move.replicas) if before else ()
            found.append(ReplicaChange(key, move.replicas, move.replicas, is_led_by_other, 0, log_dirs, old_dirs))
    return found


def _notes(
    given: ImportedPlan, state: ClusterState, replicas: IntArray, changed: Sequence[ReplicaChange]
) -> Iterator[str]:
    if given.left_out:
        yield f"{given.left_out:,} entries of other topics left out"
    same = len(given.moves) - len(changed)
    if same:
        yield f"{same:,} of {len(given.moves):,} entries change nothing"
    factors = (replicas != NO_BROKER).sum(axis=1)
    resized = int((factors != state.replication_factor).sum())
    if resized:
        yield f"the replication factor of {resized:,} partitions changes"
    placed = sum(bool(change.new_log_dirs) and not change.old_log_dirs for change in changed)
    if placed:
        yield f"{placed:,} partitions get log directories; a rollback restores their brokers, not their directories"
