"""The outcome of a step: the times of its rebalances, its convergence, restored bytes, and the tasks of threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations

from assignors.model.assignment import UNASSIGNED
from simulator.flows.task_states import TaskState
from simulator.results.trace import INITIAL_ROUND, Round, Trace

TOLERANCE_MS = 3_000
TOLERANCE_SHARE = 0.15

Threads = Mapping[str, tuple[frozenset[str], ...]]
"""Active tasks of each thread, by process id; the order of threads has no meaning."""


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """Times of a step relative to its event, or to the first join of the hosts that it starts.

    Attributes:
        rebalances_ms: Time of each rebalance, when its assignment was computed.
        converged_ms: When the last change had taken effect: all members have the last assignment, all tasks run, and
            all standbys and warm-ups are caught up; None if that did not happen.
        restored_bytes: Bytes of changelogs read by restorations, standbys and warm-ups of all clients.
        active_moves: How often an active task was assigned to another process.
        cross_rack_partitions: Source partitions that are read from another rack at the end; None if unknown.
    """

    rebalances_ms: tuple[int, ...]
    converged_ms: int | None
    restored_bytes: int
    active_moves: int = 0
    cross_rack_partitions: int | None = None


def predict_outcome(trace: Trace, from_ms: int, until_ms: int) -> StepOutcome:
    """Return the outcome of a period of simulated time: `from_ms` inclusive, `until_ms` exclusive."""
    rounds = [round_ for round_ in trace.rounds if round_.number != INITIAL_ROUND]
    owners = [_process_of(trace, round_) for round_ in trace.rounds if round_.at_ms < until_ms]
    in_period = [round_ for round_ in rounds if from_ms <= round_.at_ms < until_ms]
    totals = [round_.totals_before for round_ in rounds if round_.at_ms >= from_ms]
    after = [round_.totals_before for round_ in rounds if round_.at_ms >= until_ms]
    end = after[0] if after else trace.final_totals
    return StepOutcome(
        rebalances_ms=tuple(round_.at_ms - from_ms for round_ in in_period),
        converged_ms=_converged_ms(trace, from_ms, until_ms),
        restored_bytes=round(end.restored_bytes - totals[0].restored_bytes) if totals else 0,
        active_moves=count_moves(owners[-len(in_period) - 1 :]),
        cross_rack_partitions=last_round(trace, until_ms).measures.cross_rack_source_partitions,
    )


def count_moves(owners: Sequence[Mapping[str, str]]) -> int:
    """Return how often a task moves to another process, given the process of each task after each rebalance."""
    return sum(
        task in before and before[task] != process
        for before, after in pairwise(owners)
        for task, process in after.items()
    )


def _process_of(trace: Trace, round_: Round) -> dict[str, str]:
    return {
        str(task): str(trace.world.clients[owner].process_id)
        for task, owner in zip(trace.layout.tasks.ids, round_.owner.tolist(), strict=True)
        if owner != UNASSIGNED
    }


def last_round(trace: Trace, until_ms: int) -> Round:
    """Return the last rebalance before a time."""
    return [round_ for round_ in trace.rounds if round_.at_ms < until_ms][-1]


def cross_rack_partitions(trace: Trace, until_ms: int, process_of: Mapping[str, str]) -> int:
    """Return how many source partitions are read from another rack if tasks run where they were observed.

    Args:
        trace: A simulation with the same clients, tasks and replicas.
        until_ms: Simulated time of the observation.
        process_of: The process of each active task.
    """
    counts = last_round(trace, until_ms).remote_source_counts
    rack_of = dict(zip((str(client.process_id) for client in trace.world.clients), trace.client_racks, strict=True))
    rows = enumerate(map(str, trace.layout.tasks.ids))
    return int(sum(counts[row, rack_of[process_of[task]]] for row, task in rows if task in process_of))


def is_close(predicted_ms: float, observed_ms: float, *, delay_ms: float = 0) -> bool:
    """Return whether two times differ by no more than the larger of 3 s and 15 % of the observed time.

    Args:
        predicted_ms: Predicted time.
        observed_ms: Observed time.
        delay_ms: By how much more the observed time may be later, because the machine was busy.
    """
    tolerance_ms = max(TOLERANCE_MS, TOLERANCE_SHARE * observed_ms)
    return -tolerance_ms <= observed_ms - predicted_ms <= tolerance_ms + delay_ms


def count_close_times(predicted_ms: Sequence[int], observed_ms: Sequence[int], *, delay_ms: float = 0) -> int:
    """Return the maximum number of pairs of a predicted and an observed time, both in order, that are close.

    The arguments are those of `is_close`.
    """
    best = [0] * (len(observed_ms) + 1)
    for predicted in predicted_ms:
        row = [0]
        for column, observed in enumerate(observed_ms):
            row.append(max(best[column + 1], row[-1], best[column] + is_close(predicted, observed, delay_ms=delay_ms)))
        best = row
    return best[-1]


def count_tasks_on_predicted_thread(predicted: Threads, observed: Threads) -> int:
    """Return how many active tasks run on the predicted thread, with threads matched for the maximum overlap."""
    return sum(_overlap(predicted.get(process, ()), threads) for process, threads in observed.items())


def _overlap(predicted: Sequence[frozenset[str]], observed: Sequence[frozenset[str]]) -> int:
    shorter, longer = sorted((predicted, observed), key=len)
    # Too many orders for more than a handful of threads; no tested host has as many.
    return max(
        sum(len(tasks & others) for tasks, others in zip(shorter, order, strict=True))
        for order in permutations(longer, len(shorter))
    )


def _converged_ms(trace: Trace, from_ms: int, until_ms: int) -> int | None:
    reconciled_ms = [
        round_.reconciled_at_ms
        for round_ in trace.rounds
        if from_ms <= round_.at_ms < until_ms and round_.number != INITIAL_ROUND
    ]
    if reconciled_ms and reconciled_ms[-1] is None:
        return None
    running_ms = [
        transition.at_ms
        for transition in trace.task_states.transitions
        if transition.state is TaskState.RUNNING and from_ms <= transition.at_ms < until_ms
    ]
    last_ms = max([from_ms, *running_ms, *(at_ms for at_ms in reconciled_ms if at_ms is not None)])
    caught_up_ms = trace.catching_up.first_without(last_ms)
    return None if caught_up_ms is None else caught_up_ms - from_ms
