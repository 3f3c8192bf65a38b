"""Strategies asked one after the other, and what their plans come to, as rows of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from assignor_sim.plan_request import PlanInput
from assignor_sim.plan_tables import batch_rows, without_source
from assignors.errors import AssignorError
from assignors.model.columns import IntArray
from assignors.model.ids import TopicPartition
from assignors.replicas.movement_bounds import min_replica_moves
from assignors.replicas.placement_metrics import FailoverMetrics, PlacementMetrics, measure_placement
from assignors.replicas.plan import Plan, PlanStatus, ReplicaAssignor
from assignors.replicas.plan_evaluation import (
    Criterion,
    PlanEvaluation,
    PlanMovement,
    Stability,
    evaluate_plan,
    objectives,
)
from assignors.replicas.planning import plan as make_plan
from assignors.replicas.state import ClusterState
from reports.analysis.plans.plan_row import TODAY, PlanRow
from scenarios.kafka.plan_files.batches import BatchLimits
from scenarios.kafka.plan_files.changes import ReplicaChange, changes, led_by_others
from scenarios.kafka.plan_files.files import plan_files

_PROVABLE = 30_000
"""The most replicas for which the least to be moved is worked out; of more it takes longer than most plans do."""

Figures = Iterator[tuple[str, float | None]]


@dataclass(frozen=True, slots=True)
class StrategyResult:
    """What a strategy answered.

    Attributes:
        row: what its plan comes to.
        files: the plan as files by relative path; none if there is no plan, or nothing to change.
        replicas: as `Plan.replicas`; None if there is no plan.
        batches: its rows in the table `batches`.
    """

    row: PlanRow
    files: Mapping[str, bytes]
    replicas: IntArray | None = None
    batches: Sequence[Mapping[str, object]] = ()

    @property
    def has_plan(self) -> bool:
        """Whether there is a plan."""
        return self.replicas is not None


def current_row(asked: PlanInput) -> PlanRow:
    """The cluster as it stands, by the measures of what was asked."""
    measured = measure_placement(asked.state, asked.request, asked.state.replicas)
    return PlanRow(TODAY, figures=dict(placement_figures(measured)), aims=frozenset(Criterion))


def run_strategies(
    strategies: Mapping[str, ReplicaAssignor],
    asked: PlanInput,
    limits: BatchLimits,
    shuffles: int,
    on_progress: Callable[[str], None] = lambda step: None,
) -> Iterator[StrategyResult]:
    """Ask every strategy, and judge what it answers.

    Args:
        strategies: by name.
        asked: what they are asked.
        limits: of a batch.
        shuffles: in how many orders each is told the cluster, to see whether its plan stays the same.
        tell: is told what is being done.
    """
    least: int | None = None
    for name, assignor in strategies.items():
        on_progress(name)
        plan = _ask(assignor, asked)
        if plan.replicas is None:
            row = PlanRow(name, str(plan.status), plan.reason, notes=plan.notes, aims=objectives(assignor.capabilities))
            yield StrategyResult(row, {})
            continue
        on_progress(f"{name}: judging its plan")
        least = min_moves(asked) if least is None else least
        judged, trouble = _judge(assignor, asked, plan, shuffles)
        row = PlanRow(
            strategy=name,
            status=str(plan.status),
            figures={**dict(_of_criteria(judged)), "least_replicas_moved": least},
            aims=judged.objectives,
            notes=(*plan.notes, *trouble, *offline_notes(asked.state, plan.replicas)),
            objective=plan.objective,
            value=plan.value,
            bound=plan.bound,
        )
        others = led_by_others(asked.state, plan.replicas, asked.topics)
        yield write_plan_files(row, plan.replicas, changes(asked.state, plan.replicas, asked.log_dirs), others, limits)


def offline_notes(state: ClusterState, replicas: IntArray) -> Iterator[str]:
    """Yield what a plan cannot do until brokers are back."""
    count = without_source(state, replicas)
    if count:
        counted = "1 partition is" if count == 1 else f"{count:,} partitions are"
        yield f"{counted} offline; new replicas cannot be copied until a broker with a replica is back"


def min_moves(asked: PlanInput) -> int | None:
    """Return the fewest moves to even replicas; None where it takes too long to compute."""
    part = asked.state.take(asked.rows)
    if int(asked.request.factors(part).sum()) > _PROVABLE:
        return None
    return min_replica_moves(part, asked.request)


def write_plan_files(
    row: PlanRow,
    replicas: IntArray,
    changed: Sequence[ReplicaChange],
    others: Sequence[TopicPartition],
    limits: BatchLimits,
) -> StrategyResult:
    """Write a plan as files, and count in its row what they hold.

    Args:
        row: the plan's figures.
        replicas: as `Plan.replicas`.
        changed: what the plan changes, in the order in which it is carried out.
        others: further partitions for an election.
        limits: of a batch.
    """
    files = plan_files(changed, others, limits)
    counted = replace(
        row,
        changes=len(changed),
        elections=len(others) + sum(change.needs_election for change in changed),
        batches=len({path.partition("/")[0] for path in files}) if limits.any else None,
    )
    return StrategyResult(counted, files, replicas, batch_rows(row.strategy, changed, len(others), limits))


def _ask(assignor: ReplicaAssignor, asked: PlanInput) -> Plan:
    """The plan; of a strategy that breaks the contract, or breaks down, that it failed and how."""
    try:
        return make_plan(assignor, asked.state, asked.request, asked.topics)
    except AssignorError as error:
        return Plan.without_replicas(PlanStatus.FAILED, str(error))
    except Exception as error:
        # Strategies may be other people's code, which must not take down those asked after it.
        return Plan.without_replicas(PlanStatus.FAILED, f"{type(error).__name__}: {error}")


def _judge(
    assignor: ReplicaAssignor, asked: PlanInput, plan: Plan, shuffles: int
) -> tuple[PlanEvaluation, tuple[str, ...]]:
    """What the plan comes to, and what kept it from being told whether the strategy is steady, if anything did."""
    try:
        return evaluate_plan(assignor, asked.state, asked.request, plan, asked.topics, shuffles=shuffles), ()
    except Exception as error:
        judged = evaluate_plan(assignor, asked.state, asked.request, plan, asked.topics, shuffles=0)
        return judged, (f"asked again, it fails: {error}",)


def _of_criteria(judged: PlanEvaluation) -> Figures:
    yield from placement_figures(judged.after)
    yield from movement_figures(judged.movement)
    if judged.stability is not None:
        yield from _of_steadiness(judged.stability)


def placement_figures(measured: PlacementMetrics) -> Figures:
    """Yield the figures of a placement."""
    yield "storage_bytes_range", measured.bytes_range
    yield "storage_bytes_cv", measured.bytes_cv
    yield "replicas_range", measured.replicas_range
    yield "topic_replicas_range", measured.topic_replicas_range
    yield from ((f"broken_{rule}", times) for rule, times in measured.violations.items())
    yield "leaders_range", measured.leaders_range
    yield "topic_leaders_range", measured.topic_leaders_range
    yield "leaders_out_of_sync", measured.leaders_out_of_sync
    yield from _of_failover("broker", measured.broker_down)
    yield from _of_failover("rack", measured.rack_down)


def _of_failover(what: str, down: FailoverMetrics | None) -> Figures:
    if down is not None:
        yield f"{what}_down_range", down.worst_range
        yield f"{what}_down_mean_range", down.mean_range
        yield f"{what}_down_most_leaders", down.most_leaders
        yield f"{what}_down_leaderless", down.leaderless


def movement_figures(movement: PlanMovement) -> Figures:
    """Yield the figures of what a plan moves."""
    yield "replicas_moved", movement.replicas
    yield "bytes_moved", movement.bytes
    yield "leaders_changed_by_order", movement.leaders_by_order
    yield "leaders_changed_by_copy", movement.leaders_by_copy


def _of_steadiness(steadiness: Stability) -> Figures:
    second = steadiness.rerun
    yield "again_replicas_moved", None if second is None else second.replicas
    yield "again_leaders_changed", None if second is None else second.leaders_by_order + second.leaders_by_copy
    yield "distinct_plans", steadiness.distinct_plans
    yield "shuffles", steadiness.num_orders
