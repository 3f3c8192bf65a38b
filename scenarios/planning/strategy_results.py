"""Results of replica strategies and of imported plans, evaluated by six criteria, with the files to execute them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from assignors.errors import AssignorError
from assignors.model.columns import IntArray
from assignors.model.ids import TopicPartition
from assignors.process_exits import ProcessExit, no_process_exit
from assignors.replicas.plan import Plan, PlanStatus, ReplicaAssignor
from assignors.replicas.plan_evaluation import (
    Criterion,
    PlacementMetrics,
    PlanEvaluation,
    PlanMovement,
    count_offline_partitions,
    evaluate_plan,
    measure_movement,
    measure_placement,
    objectives,
)
from assignors.replicas.planning import leaders_out_of_sync
from assignors.replicas.planning import plan as make_plan
from assignors.replicas.replica_flow import min_replica_moves
from assignors.replicas.state import NO_BROKER, ClusterState
from scenarios.clusters.cluster_reader import read_tool_output
from scenarios.kafka.formats.reassignment import ANY_LOG_DIR, PartitionReassignment, parse_reassignment
from scenarios.kafka.plan_files import (
    BatchLimits,
    LogDirs,
    ReplicaChange,
    partitions_to_elect,
    plan_files,
    replica_changes,
)
from scenarios.language.errors import Mistake, Mistakes, ScenarioError, did_you_mean, format_list, format_value
from scenarios.planning.plan_input import PlanInput
from simulator.plurals import counted

MAX_PROVABLE_REPLICAS = 30_000
"""The maximum number of replicas for which the minimum movement is computed; for more, that takes too long."""

Figures = Iterator[tuple[str, float | None]]


@dataclass(frozen=True, slots=True)
class StrategyResult:
    """The result of a strategy, or an imported plan.

    Attributes:
        strategy: the name of the strategy, or the file of the imported plan.
        status: a `PlanStatus`, or `IMPORTED_STATUS`.
        reason: why there is no plan.
        figures: figures of the plan by name; an unknown or inapplicable figure is None or missing.
        objectives: the criteria that the strategy optimizes.
        notes: further information for the user.
        objective: what the strategy minimizes or maximizes; empty without a global objective.
        value: the objective value of the plan.
        bound: the proven bound of the objective value.
        replicas: as `Plan.replicas`; None without a plan.
        changes: the changes of the plan, in the order of execution.
        further_elections: unchanged partitions whose preferred leader is elected.
        files: the content of the plan's files by relative path; empty without changes.
    """

    strategy: str
    status: str
    reason: str = ""
    figures: Mapping[str, float | None] = field(default_factory=dict)
    objectives: frozenset[Criterion] = frozenset(Criterion)
    notes: tuple[str, ...] = ()
    objective: str = ""
    value: float | None = None
    bound: float | None = None
    replicas: IntArray | None = None
    changes: Sequence[ReplicaChange] = ()
    further_elections: Sequence[TopicPartition] = ()
    limits: BatchLimits = field(default_factory=BatchLimits)
    files: Mapping[str, bytes] = field(init=False)

    def __post_init__(self) -> None:
        has_plan = self.replicas is not None
        files = plan_files(self.changes, self.further_elections, self.limits) if has_plan else {}
        object.__setattr__(self, "files", files)

    @property
    def has_plan(self) -> bool:
        """Whether there is a plan."""
        return self.replicas is not None

    @property
    def num_elections(self) -> int:
        """The number of partitions whose preferred leader is elected."""
        return len(self.further_elections) + sum(change.needs_election for change in self.changes)

    @property
    def num_batches(self) -> int | None:
        """The number of batches; None if the plan is not split."""
        return len({path.partition("/")[0] for path in self.files}) if self.limits.splits_plan else None


def run_strategies(
    strategies: Mapping[str, ReplicaAssignor],
    plan_input: PlanInput,
    limits: BatchLimits,
    num_orders: int,
    on_progress: Callable[[str], None] = lambda step: None,
) -> Iterator[StrategyResult]:
    """Run every strategy and evaluate its plan, whose stability is tested by runs in `num_orders` input orders."""
    min_moves: int | None = None
    for name, assignor in strategies.items():
        on_progress(name)
        plan = _run(assignor, plan_input)
        aims = objectives(assignor.capabilities)
        if plan.replicas is None:
            yield StrategyResult(name, str(plan.status), plan.reason, objectives=aims, notes=plan.notes)
            continue
        on_progress(f"{name}: evaluating its plan")
        min_moves = compute_min_moves(plan_input) if min_moves is None else min_moves
        evaluation, problems = _evaluate(assignor, plan_input, plan, num_orders)
        yield StrategyResult(
            name,
            str(plan.status),
            figures={**dict(_evaluation_figures(evaluation)), "replicas_moved_bound": min_moves},
            objectives=aims,
            notes=(*plan.notes, *problems, *offline_notes(plan_input.state, plan.replicas)),
            objective=plan.objective,
            value=plan.value,
            bound=plan.bound,
            replicas=plan.replicas,
            changes=replica_changes(plan_input.state, plan.replicas, plan_input.log_dirs),
            further_elections=partitions_to_elect(plan_input.state, plan.replicas, plan_input.topics),
            limits=limits,
        )


def current_figures(plan_input: PlanInput) -> dict[str, float | None]:
    """Return the figures of the current placement."""
    state = plan_input.state
    return dict(placement_figures(measure_placement(state, plan_input.request, state.replicas, plan_input.topics)))


def offline_notes(state: ClusterState, replicas: IntArray) -> Iterator[str]:
    """Yield a note on partitions that cannot be copied because no replica is alive."""
    count = count_offline_partitions(state, replicas)
    if count:
        partitions = counted(count, "partition is", "partitions are")
        yield f"{partitions} offline; new replicas cannot be copied until a broker with a replica is back"


def compute_min_moves(plan_input: PlanInput, max_replicas: int = MAX_PROVABLE_REPLICAS) -> int | None:
    """Return the minimum number of moves that balances replica counts; None for more than `max_replicas` replicas."""
    selected = plan_input.state.take(plan_input.rows)
    if int(plan_input.request.factors(selected).sum()) > max_replicas:
        return None
    return min_replica_moves(selected, plan_input.request)


def _run(assignor: ReplicaAssignor, plan_input: PlanInput) -> Plan:
    """Return the plan of a strategy; a failed plan if it breaks the contract or raises an exception."""
    try:
        with no_process_exit():
            return make_plan(assignor, plan_input.state, plan_input.request, plan_input.topics)
    except (AssignorError, ProcessExit) as error:
        return Plan.without_replicas(PlanStatus.FAILED, str(error))
    except Exception as error:
        # An error in user code must not stop the other strategies.
        return Plan.without_replicas(PlanStatus.FAILED, f"{type(error).__name__}: {error}")


def _evaluate(
    assignor: ReplicaAssignor, plan_input: PlanInput, plan: Plan, num_orders: int
) -> tuple[PlanEvaluation, tuple[str, ...]]:
    """Return the evaluation of a plan, without its stability if the strategy fails when it runs again."""
    state, request, topics = plan_input.state, plan_input.request, plan_input.topics
    try:
        with no_process_exit():
            return evaluate_plan(assignor, state, request, plan, topics, num_orders=num_orders), ()
    except (Exception, ProcessExit) as error:
        evaluation = evaluate_plan(assignor, state, request, plan, topics, num_orders=0)
        return evaluation, (f"fails when run again: {error}",)


def _evaluation_figures(evaluation: PlanEvaluation) -> Figures:
    yield from placement_figures(evaluation.after)
    yield from movement_figures(evaluation.movement)
    if (stability := evaluation.stability) is not None:
        rerun = stability.rerun
        yield "rerun_replicas_moved", None if rerun is None else rerun.replicas
        yield "rerun_leaders_changed", None if rerun is None else rerun.leaders_by_order + rerun.leaders_by_copy
        yield "distinct_plans", stability.distinct_plans
        yield "shuffles", stability.num_orders


def placement_figures(metrics: PlacementMetrics) -> Figures:
    """Yield the figures of a placement."""
    yield "storage_bytes_range", metrics.bytes_range
    yield "storage_bytes_cv", metrics.bytes_cv
    yield "replicas_range", metrics.replicas_range
    yield "topic_replicas_range", metrics.topic_replicas_range
    yield from ((f"broken_{rule}", count) for rule, count in metrics.violations.items())
    yield "leaders_range", metrics.leaders_range
    yield "topic_leaders_range", metrics.topic_leaders_range
    yield "leaders_out_of_sync", metrics.leaders_out_of_sync
    for failed, failover in (("broker", metrics.broker_down), ("rack", metrics.rack_down)):
        if failover is not None:
            yield f"{failed}_down_range", failover.worst_range
            yield f"{failed}_down_mean_range", failover.mean_range
            yield f"{failed}_down_most_leaders", failover.most_leaders
            yield f"{failed}_down_leaderless", failover.leaderless


def movement_figures(movement: PlanMovement) -> Figures:
    """Yield the figures of the changes that a plan requires."""
    yield "replicas_moved", movement.replicas
    yield "bytes_moved", movement.bytes
    yield "leaders_changed_by_order", movement.leaders_by_order
    yield "leaders_changed_by_copy", movement.leaders_by_copy


IMPORTED_STATUS = "given"
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
    """Read a reassignment JSON; raise ScenarioError, with every mistake, if it is none or does not fit the cluster."""
    entries = read_tool_output(path, parse_reassignment)
    _check(str(path), entries, plan_input.state)
    chosen = tuple(move for move in entries if plan_input.topics is None or move.topic in plan_input.topics)
    if not chosen:
        message = f"no entry for the topics that may change ({format_list('topics', plan_input.topics or ())})"
        raise ScenarioError([Mistake(str(path), None, "", message)])
    return ImportedPlan(str(path), chosen, len(entries) - len(chosen))


def evaluate_imported_plan(imported: ImportedPlan, plan_input: PlanInput, limits: BatchLimits) -> StrategyResult:
    """Evaluate a plan and write its files in its order; without a requested replication factor, its own is valid."""
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
        IMPORTED_STATUS,
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
