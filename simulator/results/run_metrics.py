"""The metrics of a run: one declaration each, which every table, output, option and expectation uses.

A metric that has a `type` is a column of the table `runs`; the others are computed from a row of it. An expectation is
what a scenario demands of a metric of its runs.
"""

from __future__ import annotations

import difflib
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from simulator.results.verdict import Verdict

if TYPE_CHECKING:
    from simulator.assignment.measures import FailureLosses
    from simulator.results.run_summary import RunSummary


def _is_equal(value: float, limit: float) -> bool:
    return math.isclose(value, limit, rel_tol=1e-9)


COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = MappingProxyType(
    {"<=": operator.le, ">=": operator.ge, "==": _is_equal, "<": operator.lt, ">": operator.gt}
)
"""How a value is compared with a limit, by the sign that scenarios use; longer signs first."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of a metric with a limit.

    Attributes:
        text: the condition as the scenario states it, such as `< 60s` or `<= +5%`.
        comparison: a key of `COMPARISONS`.
        limit: the limit in the unit of the metric; for a relative condition, a share: 0.05 for `+5%`.
        is_relative: whether the limit is relative to another assignor.
    """

    text: str
    comparison: str
    limit: float
    is_relative: bool

    def limit_for(self, reference: float | None) -> float | None:
        """Return the limit in the unit of the metric; None if it is relative to an unknown value."""
        if not self.is_relative:
            return self.limit
        return None if reference is None else reference * (1 + self.limit)

    def is_met(self, value: float | None, limit: float | None) -> bool:
        """Return whether a value meets the condition; an unknown value, or an unknown limit, does not."""
        return value is not None and limit is not None and COMPARISONS[self.comparison](value, limit)


@dataclass(frozen=True, slots=True)
class Expectation:
    """A condition that runs of a scenario must meet.

    Attributes:
        metric: key of the metric.
        assignor: label of the assignor that it holds for; None for every assignor without its own conditions.
        except_for: with `assignor` None, labels of assignors with their own conditions for the metric.
        against: label of the assignor that a relative condition refers to.
        place: file, line and path in the scenario, for messages.
    """

    metric: str
    condition: Condition
    assignor: str | None
    except_for: tuple[str, ...]
    against: str
    place: str

    def applies_to(self, label: str) -> bool:
        """Return whether it holds for an assignor; a relative condition does not hold for its own reference."""
        if self.condition.is_relative and label == self.against:
            return False
        return label not in self.except_for if self.assignor is None else label == self.assignor


class MetricUnit(StrEnum):
    """The unit of a metric; the value is its name in messages."""

    COUNT = "a number"
    NUMBER = "a number, with decimals"
    PERCENT = "percent"
    MS = "a duration"
    BYTES = "a size"
    BYTES_PER_S = "a rate"
    USD = "US dollars"


@dataclass(frozen=True, slots=True)
class RunMetric:
    """A figure of a run by which assignors are compared.

    Attributes:
        name: key in tables, JSON and options; ends in the unit if there is one.
        title: title in terminals, pages and documents.
        unit: the unit; it decides the format, the conditions of expectations and the smallest relevant difference.
        meaning: definition, in one or two sentences.
        value: computes it from a finished run or, without `type`, from a row of the table `runs`; None if unknown.
        type: type of its column in the table `runs`; None if it has none.
        group: the group of metrics that it is listed in.
        column: what the documentation of that table says of it, such as when it is null; by default, the meaning.
        lower_is_better: whether lower values are better. False also for costs that depend on the configured weights.
        in_consumer_groups: whether consumer groups have it; otherwise it is null in their runs, not 0.
        on_request: whether comparisons show it only if it is named.
    """

    name: str
    title: str
    unit: MetricUnit
    meaning: str
    value: Callable[[Any], float | None]
    type: type[int] | type[float] | None = None
    _: KW_ONLY
    group: str
    column: str = ""
    lower_is_better: bool = True
    in_consumer_groups: bool = True
    on_request: bool = False

    def of(self, run: Mapping[str, Any]) -> float | None:
        """Return the metric of a row of the table `runs`; None if unknown."""
        stored: float | None = self.value(run) if self.type is None else run[self.name]
        return stored


def _final(column: str) -> Callable[[RunSummary], float | None]:
    """Return a function that returns a column of the last round."""
    return lambda run: run.rounds[-1][column] if run.rounds else None


def _total(column: str) -> Callable[[RunSummary], float]:
    """Return a function that sums a column over the rounds."""
    return lambda run: sum(row[column] for row in run.rounds)


def _above(cost: str, bound: str) -> Callable[[Mapping[str, Any]], float | None]:
    """Return a function that computes a cost minus its lower bound; None if either is unknown."""
    return lambda run: None if run[cost] is None or run[bound] is None else run[cost] - run[bound]


def _above_percent(cost: str, bound: str) -> Callable[[Mapping[str, Any]], float | None]:
    """Return a function that computes a cost above its lower bound, in percent of it; None if it is 0 or unknown."""
    return lambda run: 100 * (run[cost] - run[bound]) / run[bound] if run[cost] is not None and run[bound] else None


def _percent(part: str, whole: str) -> Callable[[Mapping[str, Any]], float | None]:
    """Return a function that computes a percentage; None if a number is unknown, or the whole is 0."""
    return lambda run: 100 * run[part] / run[whole] if run[part] is not None and run[whole] else None


MOVES, BALANCE = "Moves", "Balance"
_cross_rack = partial(RunMetric, group="Cross-rack")
_moves = partial(RunMetric, group=MOVES)
_downtime = partial(RunMetric, group="Downtime")
_convergence = partial(RunMetric, group="Convergence")
_balance = partial(RunMetric, group=BALANCE)
_redundancy = partial(RunMetric, group="Redundancy")


def _cost_above_bound(prefix: str, which: str, meaning: str) -> tuple[RunMetric, RunMetric]:
    """Return two metrics: a cost minus its lower bound, and that difference in percent of the bound."""
    name, title = f"{prefix}cost_above_bound", f"Cost above lower bound ({which})"
    cost, bound = f"{prefix}total_cost", f"{prefix}total_cost_bound"
    percent_meaning = "KIP-925 cost above its lower bound as a percentage of the bound; unknown if the bound is 0."
    return (
        _cross_rack(name, title, MetricUnit.NUMBER, meaning, _above(cost, bound)),
        _cross_rack(
            f"{name}_percent",
            f"{title}, percent",
            MetricUnit.PERCENT,
            percent_meaning,
            _above_percent(cost, bound),
            lower_is_better=False,
        ),
    )


def _kafka_cost(kind: str, of: str, meaning: str, column: str, *, in_consumer_groups: bool = True) -> RunMetric:
    return _cross_rack(
        f"{kind}_cost",
        f"Kafka's rack-aware cost, {of}",
        MetricUnit.COUNT,
        meaning,
        _final(f"{kind}_cost"),
        int,
        column=f"final: Kafka's cost of {column}",
        lower_is_better=False,
        in_consumer_groups=in_consumer_groups,
    )


def _moves_because(reason: str, title: str, which: str, column: str, *, in_consumer_groups: bool = True) -> RunMetric:
    """Return the metric of the active moves for a `MoveReason`."""
    return _moves(
        f"moves_{reason}",
        f"Active task moves: {title}",
        MetricUnit.COUNT,
        f"Active task moves {which}.",
        lambda run: run.num_moves(reason),
        int,
        column=f"active_moves {column}",
        lower_is_better=False,
        in_consumer_groups=in_consumer_groups,
    )


def _skew(kind: str, what: str, *, in_consumer_groups: bool = True) -> RunMetric:
    name = f"{kind.lower()}_skew"
    return _balance(
        name,
        f"{kind} skew",
        MetricUnit.NUMBER,
        f"Maximum minus minimum {what} per thread over clients at the end of the run.",
        _final(name),
        float,
        column=f"final: maximum minus minimum of {what} per thread",
        in_consumer_groups=in_consumer_groups,
    )


def _worst_loss(key: str, what: str, where: str, lost: Callable[[FailureLosses], int | None]) -> RunMetric:
    return _redundancy(
        f"worst_{key}_loss",
        f"Tasks lost if the worst {what} fails",
        MetricUnit.COUNT,
        f"Maximum number of stateful tasks with all copies {where}, at the end of the run.",
        lambda run: None if run.trace.failure_losses is None else lost(run.trace.failure_losses),
        int,
        column=f"final: stateful tasks lost if the worst {what} fails",
        in_consumer_groups=False,
    )


_METRICS: Final = (
    _cross_rack(
        "cross_rack_source_partitions",
        "Cross-rack source partitions",
        MetricUnit.COUNT,
        "Source partitions that, at the end of the run, are read by a client without a replica in its rack. This is "
        "what rack-aware assignors count: partitions, not bytes.",
        _final("cross_rack_source_partitions"),
        int,
        column=(
            "final: source partitions without a replica in the rack of the client that reads them, at the end of "
            "the run"
        ),
    ),
    _cross_rack(
        "cross_rack_source_partitions_bound",
        "Lower bound of cross-rack source partitions",
        MetricUnit.COUNT,
        "No assignment has fewer cross-rack source partitions, however unbalanced it is.",
        _final("cross_rack_source_partitions_bound"),
        int,
        column="final: lower bound of cross_rack_source_partitions for any assignment",
        lower_is_better=False,
    ),
    _cross_rack(
        "cross_rack_source_partitions_above_bound",
        "Cross-rack source partitions above lower bound",
        MetricUnit.COUNT,
        "Difference to the lower bound. A balanced assignment may be unable to reach the bound.",
        _above("cross_rack_source_partitions", "cross_rack_source_partitions_bound"),
    ),
    _cross_rack(
        "cross_rack_source_partitions_above_bound_percent",
        "Cross-rack source partitions above lower bound, percent",
        MetricUnit.PERCENT,
        "Cross-rack source partitions above their lower bound as a percentage of it; unknown if the bound is 0.",
        _above_percent("cross_rack_source_partitions", "cross_rack_source_partitions_bound"),
        lower_is_better=False,
    ),
    _cross_rack(
        "cross_rack_bytes_per_s",
        "Cross-rack traffic (steady state)",
        MetricUnit.BYTES_PER_S,
        "Bytes per second between racks with the final assignment, once every task runs and every standby keeps up, "
        "with leaders and replicas as they are at the end of the run: reads, writes and replication. Consumers read "
        "from the leader unless brokers serve the nearest replica, so this can be high without cross-rack source "
        "partitions.",
        _final("cross_rack_bytes_per_s"),
        float,
        column=(
            "steady state of the final assignment: bytes per second between racks once every task runs, all kinds, "
            "with the leaders and replicas at the end of the run; null if the rack of a client is unknown"
        ),
    ),
    _cross_rack(
        "cross_rack_usd_per_day",
        "Cross-rack cost per day",
        MetricUnit.USD,
        "Cost of a day of steady-state cross-rack traffic, each pair of racks at its price; unknown if the scenario "
        "has no price.",
        lambda run: run.usd_per_day,
        float,
        column="price of a day of cross_rack_bytes_per_s; null if that is unknown, or the scenario has no price",
    ),
    _cross_rack(
        "cross_rack_bytes",
        "Cross-rack bytes (whole run)",
        MetricUnit.BYTES,
        "Bytes sent from one rack to another since the first assignment, including restoration and warm-up.",
        lambda run: run.cross_rack_bytes,
        float,
        column="bytes between racks in the whole run, all kinds; null if the rack of a client is unknown",
    ),
    _cross_rack(
        "cross_rack_usd",
        "Cross-rack cost (whole run)",
        MetricUnit.USD,
        "Cost of the cross-rack bytes; unknown if the scenario has no price.",
        lambda run: run.usd,
        float,
        column="price of cross_rack_bytes; null if that is unknown, or the scenario has no price",
    ),
    _cross_rack(
        "cross_rack_standby_partitions",
        "Cross-rack standby partitions",
        MetricUnit.COUNT,
        "Changelog partitions that, at the end of the run, standbys read without a replica in their rack.",
        _final("cross_rack_standby_partitions"),
        int,
        column="final: changelog partitions without a replica in the rack of the standby that reads them",
        lower_is_better=False,
        in_consumer_groups=False,
    ),
    _kafka_cost(
        "stateful",
        "stateful tasks",
        "Cost of the stateful active tasks as Kafka's rack-aware assignor computes it. It depends on the configured "
        "weights: compare it only between equal configs. Unknown if rack-aware assignment is off.",
        "stateful actives, null where rack-aware assignment is off",
        in_consumer_groups=False,
    ),
    _kafka_cost(
        "stateless",
        "stateless tasks",
        "Cost of stateless tasks as Kafka's rack-aware assignor computes it; comparable only between equal configs.",
        "stateless tasks",
    ),
    _kafka_cost(
        "standby",
        "standbys",
        "Cost of standbys as Kafka's rack-aware assignor computes it; comparable only between equal configs.",
        "standbys",
        in_consumer_groups=False,
    ),
    _cross_rack(
        "total_cost",
        "KIP-925 cost (deciding round)",
        MetricUnit.COUNT,
        "Cost of all copies relative to the previous assignment, in the rebalance that decided the final "
        "assignment: traffic_cost for each partition read across racks, non_overlap_cost for each copy on a new "
        "client.",
        lambda run: run.costs.get("total_cost"),
        int,
        column="deciding round: cost of all copies and moves, at KIP-925's weights",
        lower_is_better=False,
    ),
    _cross_rack(
        "total_cost_bound",
        "Lower bound of the KIP-925 cost (deciding round)",
        MetricUnit.COUNT,
        "Lower bound of the cost of all assignments that are at least as balanced: no client has more tasks of a "
        "kind per thread than the most loaded client has here.",
        lambda run: run.costs.get("total_cost_bound"),
        int,
        column="deciding round: lower bound of total_cost for equally balanced assignments",
        lower_is_better=False,
    ),
    *_cost_above_bound(
        "",
        "deciding round",
        "KIP-925 cost minus its lower bound. With standbys, the bound can be lower than the cost of any assignment "
        "unless the optimum is proven (run --prove). Rebalances after the deciding one move nothing.",
    ),
    *_cost_above_bound(
        "mean_",
        "mean of all rounds",
        "KIP-925 cost minus its lower bound, mean over all rebalances with a known cost.",
    ),
    *_cost_above_bound(
        "worst_",
        "worst round",
        "KIP-925 cost minus its lower bound in the rebalance with the largest difference.",
    ),
    _moves(
        "active_moves",
        "Active task moves",
        MetricUnit.COUNT,
        "How often an active task was assigned to another client.",
        _total("active_moves"),
        int,
        column="how often an active task moved to another client",
    ),
    _moves_because(
        "member_lost",
        "client lost",
        "because the client that ran the task had left",
        "because the client had left",
    ),
    _moves_because(
        "promoted",
        "to a standby or warm-up",
        "to a client that had a standby or warm-up of the task",
        "to a client that had a standby or warm-up",
        in_consumer_groups=False,
    ),
    _moves_because(
        "returned",
        "back to an earlier client",
        "to a client that had run the task before",
        "back to a client that had run the task before",
    ),
    _moves_because(
        "rack",
        "fewer cross-rack partitions",
        "to a client that reads fewer of the task's partitions across racks",
        "that reduce cross-rack source partitions",
    ),
    _moves_because("balance", "balance", "for none of the other reasons", "for any other reason: balance"),
    _moves(
        "thread_moves",
        "Thread moves",
        MetricUnit.COUNT,
        "How often a task was assigned to another thread of the same client.",
        _total("thread_moves"),
        int,
        column="how often a task moved to another thread of its client",
    ),
    _moves(
        "standby_moves",
        "Standby moves",
        MetricUnit.COUNT,
        "How often a client got a new standby or warm-up after the first round.",
        _total("standby_moves"),
        int,
        column="how often a client got a standby or warm-up after the first round",
        in_consumer_groups=False,
    ),
    _moves(
        "restored_bytes",
        "Restored state",
        MetricUnit.BYTES,
        "Bytes read from changelogs to restore state.",
        lambda run: round(run.trace.final_totals.restored_bytes),
        int,
        column="bytes read from changelogs to catch up",
        in_consumer_groups=False,
    ),
    _moves(
        "restored_again_bytes",
        "Restored state that the client had lost",
        MetricUnit.BYTES,
        "Restored bytes that the same client had held before and lost: by cleanup of its state directory, by a "
        "kill, or with its disk.",
        lambda run: round(run.trace.final_totals.restored_again_bytes),
        int,
        column="part of restored_bytes that the same client had held before and lost",
        in_consumer_groups=False,
    ),
    _downtime(
        "longest_downtime_ms",
        "Longest task outage",
        MetricUnit.MS,
        "Longest single outage of a task since the first assignment: from when it was no longer processed until it "
        "was again.",
        lambda run: int(run.longest_downtime_ms.max(initial=0)),
        int,
        column="longest single outage of a task",
    ),
    _downtime(
        "worst_downtime_ms",
        "Worst task downtime (total)",
        MetricUnit.MS,
        "Total time since the first assignment in which the task with the longest downtime was not processed: the "
        "sum of its outages.",
        lambda run: int(run.downtime_ms.max(initial=0)),
        int,
        column="total downtime of the worst task",
    ),
    _downtime(
        "p99_downtime_ms",
        "Task downtime (99th percentile)",
        MetricUnit.MS,
        "Downtime of a task since the first assignment, 99th percentile over all tasks.",
        lambda run: run.downtime_percentile_ms(99),
        float,
        column="99th percentile of downtime over all tasks",
    ),
    _downtime(
        "mean_downtime_ms",
        "Task downtime (mean)",
        MetricUnit.MS,
        "Downtime of a task since the first assignment, mean over all tasks.",
        lambda run: float(run.downtime_ms.mean()) if len(run.downtime_ms) else None,
        float,
        column="mean of downtime over all tasks",
    ),
    _downtime(
        "downtime_ms",
        "Task downtime (sum)",
        MetricUnit.MS,
        "Downtime since the first assignment, sum over all tasks.",
        lambda run: int(run.downtime_ms.sum()),
        int,
        column="time in which tasks were not processed, summed over tasks, from the first assignment on",
    ),
    _downtime(
        "max_processing_delay_ms",
        "Maximum processing delay",
        MetricUnit.MS,
        "Maximum unprocessed input of a task, as the time in which that much input usually arrives.",
        lambda run: round(float(run.trace.max_processing_delay_s.max(initial=0.0)) * 1000),
        int,
        column="maximum waiting input of a task, as the time in which that much input usually arrives",
    ),
    _downtime(
        "unqueryable_ms",
        "Time without a queryable copy",
        MetricUnit.MS,
        "Time in which no client had a copy that serves interactive queries, sum over the stateful tasks.",
        lambda run: int(run.trace.unqueryable_ms[run.trace.layout.tasks.stateful].sum()),
        int,
        column="time without a queryable copy, summed over stateful tasks",
        in_consumer_groups=False,
    ),
    _downtime(
        "unavailable_partitions",
        "Unavailable partitions",
        MetricUnit.COUNT,
        "Partitions used by the application that temporarily had no leader, or too few in-sync replicas for writes. "
        "Tasks that need such a partition are down until it is available again.",
        lambda run: len(run.unavailable_ms),
        int,
        column="partitions of tasks that had no leader, or too few in-sync replicas for writes, for some time",
        lower_is_better=False,
    ),
    _downtime(
        "worst_unavailable_ms",
        "Worst partition unavailability (total)",
        MetricUnit.MS,
        "Total time of the partition that was unavailable longest.",
        lambda run: max(run.unavailable_ms.values(), default=0),
        int,
        column="total unavailable time of the worst partition",
        lower_is_better=False,
    ),
    _convergence(
        "rebalances",
        "Rebalances",
        MetricUnit.COUNT,
        "Rebalances in the whole run.",
        lambda run: run.num_rebalances,
        int,
        column="rebalances in the whole run, without the initial state",
        lower_is_better=False,
    ),
    _convergence(
        "rebalances_to_converge",
        "Rebalances to converge (worst event)",
        MetricUnit.COUNT,
        "Maximum number of rebalances from an event until the group converged. The start of the run counts as an "
        "event unless it is warm. 0 if no event triggered a rebalance; unknown if the group did not converge after "
        "an event.",
        lambda run: run.converged.rebalances,
        int,
        column=(
            "maximum rebalances after an event in the table convergence, except a warm start; null if the group had "
            "not converged after one"
        ),
    ),
    _convergence(
        "time_to_converge_ms",
        "Time to converge (worst event)",
        MetricUnit.MS,
        "Maximum time from an event until its last rebalance was complete, every task ran and all standbys and "
        "warm-ups had caught up. Events and unknown values as for the rebalances to converge.",
        lambda run: run.converged.time_to_converge_ms,
        int,
        column=(
            "longest time to converge after an event in the table convergence, except a warm start; null if the "
            "group had not converged after one"
        ),
    ),
    _convergence(
        "leader_compute_ms",
        "Leader compute time (max)",
        MetricUnit.MS,
        "Maximum time that Kafka's group leader needs to compute an assignment: (edge scans of the rack-aware "
        "search x 8.5 ns + time of the other operations, or 0 if it is less than 50 ms) / leader_speed. 0 if the "
        "broker computes, in streams groups, and for assignors that do not count their work. Members wait for their "
        "tasks until then; after max.poll.interval.ms, the leader is removed from the group.",
        lambda run: max((round_.leader_compute_ms for round_ in run.trace.rounds), default=0.0),
        float,
        column="maximum time that Kafka's group leader would need for an assignment",
        in_consumer_groups=False,
    ),
    _balance(
        "load_skew",
        "Load skew",
        MetricUnit.NUMBER,
        "Maximum minus minimum tasks per thread over clients at the end of the run, standbys included.",
        _final("load_skew"),
        float,
        column="final: maximum minus minimum of active + standby tasks per thread",
    ),
    _skew("Active", "active tasks"),
    _skew("Stateful", "stateful active tasks", in_consumer_groups=False),
    _skew("Stateless", "stateless active tasks", in_consumer_groups=False),
    _skew("Standby", "standbys and warm-ups", in_consumer_groups=False),
    _balance(
        "subtopology_skew",
        "Subtopology skew",
        MetricUnit.COUNT,
        "Maximum difference between two clients in active tasks of one subtopology at the end of the run.",
        _final("subtopology_skew"),
        int,
        column="final: largest difference between two clients in active tasks of one subtopology",
    ),
    _redundancy(
        "tasks_without_rack_redundancy",
        "Tasks without rack redundancy",
        MetricUnit.COUNT,
        "Stateful tasks with all copies in one rack at the end of the run. If that rack fails, they must be restored.",
        _final("tasks_without_rack_redundancy"),
        int,
        column="final: stateful tasks all of whose copies are in one rack",
        in_consumer_groups=False,
    ),
    _redundancy(
        "tasks_without_rack_redundancy_percent",
        "Tasks without rack redundancy, percent",
        MetricUnit.PERCENT,
        "Stateful tasks with all copies in one rack as a percentage of all stateful tasks.",
        _percent("tasks_without_rack_redundancy", "stateful_tasks"),
        lower_is_better=False,
    ),
    _worst_loss("rack", "rack", "in the same rack", lambda losses: losses.worst_rack_loss),
    _worst_loss("client", "client", "on the same client", lambda losses: losses.worst_one_client_loss),
    _worst_loss("pair", "pair of clients", "on the same two clients", lambda losses: losses.worst_pair_loss),
    _redundancy(
        "stateful_tasks",
        "Stateful tasks",
        MetricUnit.COUNT,
        "Stateful tasks of the application.",
        lambda run: int(run.trace.layout.tasks.stateful.sum()),
        int,
        column="stateful tasks of the application",
        lower_is_better=False,
        in_consumer_groups=False,
    ),
    _convergence(
        "not_converged",
        "Runs that did not converge",
        MetricUnit.NUMBER,
        "1 if the run did not converge, else 0. The time to converge is compared only between runs that converged.",
        lambda row: float(row["verdict"] != Verdict.STABLE),
        on_request=True,
    ),
)

RUN_METRICS: Final = {metric.name: metric for metric in _METRICS}
"""All metrics by key, in display order."""


def metric_hint(name: str, known: Sequence[str] = tuple(RUN_METRICS)) -> str:
    """Return what may be meant by an unknown key of a metric: the closest one, or all known ones."""
    close = difflib.get_close_matches(name[:100], known, n=1)
    return f"did you mean '{close[0]}'?" if close else f"metrics: {', '.join(known)}"
