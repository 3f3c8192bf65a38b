"""Results of replica strategies: their plans, evaluated by six criteria, and the files to execute them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from assignors.errors import AssignorError
from assignors.model.columns import IntArray
from assignors.model.ids import TopicPartition
from assignors.process_exits import ProcessExit, no_process_exit
from assignors.replicas.plan import Plan, PlanStatus, ReplicaAssignor
from assignors.replicas.plan_evaluation import (
    Criterion,
    FailoverMetrics,
    PlacementMetrics,
    PlanEvaluation,
    PlanMovement,
    Stability,
    count_offline_partitions,
    evaluate_plan,
    measure_placement,
    objectives,
)
from assignors.replicas.planning import plan as make_plan
from assignors.replicas.replica_flow import min_replica_moves
from assignors.replicas.state import ClusterState
from scenarios.kafka.plan_files import BatchLimits, ReplicaChange, partitions_to_elect, plan_files, replica_changes
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
        status: a `PlanStatus`, or `imported_plans.STATUS`.
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
    """Run every strategy and evaluate its plan.

    `num_orders`: the number of input orders in which each strategy runs, to test whether its plan is stable. Yields one
    result per strategy.
    """
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
    if evaluation.stability is not None:
        yield from _stability_figures(evaluation.stability)


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
    yield from _failover_figures("broker", metrics.broker_down)
    yield from _failover_figures("rack", metrics.rack_down)


def _failover_figures(failed: str, metrics: FailoverMetrics | None) -> Figures:
    if metrics is not None:
        yield f"{failed}_down_range", metrics.worst_range
        yield f"{failed}_down_mean_range", metrics.mean_range
        yield f"{failed}_down_most_leaders", metrics.most_leaders
        yield f"{failed}_down_leaderless", metrics.leaderless


def movement_figures(movement: PlanMovement) -> Figures:
    """Yield the figures of the changes that a plan requires."""
    yield "replicas_moved", movement.replicas
    yield "bytes_moved", movement.bytes
    yield "leaders_changed_by_order", movement.leaders_by_order
    yield "leaders_changed_by_copy", movement.leaders_by_copy


def _stability_figures(stability: Stability) -> Figures:
    rerun = stability.rerun
    yield "rerun_replicas_moved", None if rerun is None else rerun.replicas
    yield "rerun_leaders_changed", None if rerun is None else rerun.leaders_by_order + rerun.leaders_by_copy
    yield "distinct_plans", stability.distinct_plans
    yield "shuffles", stability.num_orders
