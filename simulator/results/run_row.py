"""The row of the table `runs`: the figures of a whole run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assignors.model.columns import IntArray
from assignors.model.ids import TopicPartition
from simulator.flows.traffic import TrafficBytes
from simulator.results.convergence import Convergence
from simulator.results.moves import REASONS, RoundMoves
from simulator.results.trace import INITIAL_ROUND, Trace, first_final_index, num_rebalances
from simulator.world.layout import FloatArray
from simulator.world.price import Price

MEASURE_COLUMNS = (
    "cross_rack_source_partitions",
    "cross_rack_source_partitions_bound",
    "cross_rack_standby_partitions",
    "load_skew",
    "active_skew",
    "stateful_skew",
    "stateless_skew",
    "standby_skew",
    "subtopology_skew",
    "tasks_without_rack_redundancy",
)
"""The columns of `rounds` that are measures of an assignment; the row of a run has those of its last round."""

NOT_OF_CONSUMER_GROUPS = (
    "leader_compute_ms",
    "moves_promoted",
    "standby_moves",
    "restored_bytes",
    "restored_again_bytes",
    "unqueryable_ms",
    "cross_rack_standby_partitions",
    "stateful_cost",
    "standby_cost",
    "stateful_skew",
    "stateless_skew",
    "standby_skew",
    "stateful_tasks",
    "tasks_without_rack_redundancy",
    "worst_rack_loss",
    "worst_client_loss",
    "worst_pair_loss",
)
"""The columns of state, standbys and the leader's work, which a consumer group does not have: null, not 0."""

_GIGABYTE = 1e9
_SECONDS_PER_DAY = 86_400


def run_row(
    trace: Trace,
    rounds: Sequence[Mapping[str, Any]],
    moved: Sequence[RoundMoves],
    converged: Convergence,
    labels: Mapping[int, str],
    longest_downtime_ms: IntArray,
) -> dict[str, Any]:
    """Return the row of a run.

    Args:
        trace: the run.
        rounds: the rows of its table `rounds`.
        moved: the moves into each round.
        converged: how the run converged.
        labels: the label of each event, by its number.
        longest_downtime_ms: shape (T,); the longest outage of each task.

    Returns:
        The row, by column; columns that are missing are null.
    """
    last = rounds[-1] if rounds else {}
    last_columns = (
        *MEASURE_COLUMNS,
        "stateful_cost",
        "stateless_cost",
        "standby_cost",
        "cross_rack_bytes_per_s",
    )
    reasons = np.concatenate([moves.reasons for moves in moved]) if moved else np.zeros(0, dtype=np.int64)
    cross_rack_bytes = _sum_if_known([row["cross_rack_bytes"] for row in rounds])
    price = trace.world.price
    failure_losses = trace.failure_losses
    application = trace.world.application
    broker_release, client_release = application.releases
    row = {
        "broker_release": broker_release,
        "client_release": client_release,
        "protocol": str(application.group_configs.protocol),
        **{column: last.get(column) for column in last_columns},
        **{f"moves_{reason}": int((reasons == index).sum()) for index, reason in enumerate(REASONS)},
        **_downtime(trace),
        "longest_downtime_ms": int(longest_downtime_ms.max(initial=0)),
        **_unavailability(trace),
        **_costs(trace),
        **_convergence(converged, labels),
        "rebalances": num_rebalances(trace.rounds),
        "leader_compute_ms": max((round_.leader_compute_ms for round_ in trace.rounds), default=0.0),
        "active_moves": sum(row["active_moves"] for row in rounds),
        "thread_moves": sum(row["thread_moves"] for row in rounds),
        "standby_moves": sum(row["standby_moves"] for row in rounds),
        "restored_bytes": round(trace.final_totals.restored_bytes),
        "restored_again_bytes": round(trace.final_totals.restored_again_bytes),
        "cross_rack_bytes": cross_rack_bytes,
        "cross_rack_usd_per_day": _usd_per_day(trace, price),
        "cross_rack_usd": None if price is None or cross_rack_bytes is None else _usd_of_run(trace, price),
        "stateful_tasks": int(trace.layout.tasks.stateful.sum()),
        "worst_rack_loss": None if failure_losses is None else _max_loss(failure_losses.tasks_lost_by_rack),
        "worst_client_loss": None if failure_losses is None else failure_losses.worst_one_client_loss,
        "worst_pair_loss": None if failure_losses is None else failure_losses.worst_pair_loss,
    }
    if application.is_consumer_group:
        row.update(dict.fromkeys(NOT_OF_CONSUMER_GROUPS))
    return row


def _usd_per_day(trace: Trace, price: Price | None) -> float | None:
    """Return the cost of a day of the last round's steady state; None without a price, or if a rack is unknown."""
    if price is None or not trace.rounds or not trace.knows_racks(trace.rounds[-1]):
        return None
    return _SECONDS_PER_DAY * _usd(trace.rounds[-1].steady_state, _usd_per_byte(trace, price))


def _usd_of_run(trace: Trace, price: Price) -> float:
    usd_per_byte = _usd_per_byte(trace, price)
    return sum(_usd(round_.traffic, usd_per_byte) for round_ in trace.rounds)


def _usd_per_byte(trace: Trace, price: Price) -> FloatArray:
    """Return the price from each rack to each rack, shape (R, R); 0 within a rack."""
    racks = trace.layout.racks
    prices = [[price.between(source, target).usd_per_gb * (source != target) for target in racks] for source in racks]
    return np.array(prices, dtype=np.float64).reshape(len(racks), len(racks)) / _GIGABYTE


def _usd(traffic: TrafficBytes, usd_per_byte: FloatArray) -> float:
    return float(sum((matrix[:-1, :-1] * usd_per_byte).sum() for matrix in traffic.values()))


def _convergence(converged: Convergence, labels: Mapping[int, str]) -> dict[str, Any]:
    slowest = converged.slowest_event
    return {
        "verdict": str(converged.verdict),
        "verdict_round": converged.round,
        "repeats_round": converged.repeats,
        "cause": converged.cause,
        "rebalances_to_converge": converged.rebalances,
        "time_to_converge_ms": converged.time_to_converge_ms,
        "slowest_event": None if slowest is None else labels[slowest],
    }


def _costs(trace: Trace) -> dict[str, Any]:
    """Return the total costs and their bounds: in the deciding round, on average and at worst."""
    rounds = [round_ for round_ in trace.rounds if round_.number != INITIAL_ROUND] or trace.rounds
    if not rounds:
        return {}
    deciding = rounds[first_final_index(rounds)]
    appraisal = deciding.appraisal
    costs = {
        "deciding_round": deciding.number,
        "total_cost": None if appraisal is None else appraisal.cost,
        "total_cost_bound": None if appraisal is None else appraisal.bound,
    }
    appraised = [(round_.number, round_.appraisal) for round_ in rounds if round_.appraisal is not None]
    if not appraised:
        return costs
    number, worst = max(appraised, key=lambda pair: pair[1].cost - pair[1].bound)
    return {
        **costs,
        "mean_total_cost": sum(appraisal.cost for _, appraisal in appraised) / len(appraised),
        "mean_total_cost_bound": sum(appraisal.bound for _, appraisal in appraised) / len(appraised),
        "worst_cost_round": number,
        "worst_total_cost": worst.cost,
        "worst_total_cost_bound": worst.bound,
    }


def _max_loss(losses: Mapping[str, int] | None) -> int | None:
    return None if losses is None else max(losses.values(), default=0)


def _downtime(trace: Trace) -> dict[str, Any]:
    downtime_ms = trace.downtime_ms
    stateful = trace.layout.tasks.stateful
    return {
        "downtime_ms": int(downtime_ms.sum()),
        "mean_downtime_ms": float(downtime_ms.mean()) if len(downtime_ms) else None,
        "p99_downtime_ms": float(np.percentile(downtime_ms, 99)) if len(downtime_ms) else None,
        "worst_downtime_ms": int(downtime_ms.max(initial=0)),
        "unqueryable_ms": int(trace.unqueryable_ms[stateful].sum()),
        "max_processing_delay_ms": round(float(trace.max_processing_delay_s.max(initial=0.0)) * 1000),
    }


def _unavailability(trace: Trace) -> dict[str, int]:
    by_partition: Counter[TopicPartition] = Counter()
    for outage in trace.outages:
        by_partition[outage.partition] += outage.until_ms - outage.from_ms
    return {
        "unavailable_partitions": len(by_partition),
        "worst_unavailable_ms": max(by_partition.values(), default=0),
    }


def _sum_if_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known, 0.0) if len(known) == len(values) else None
