"""How the reasons of a run become rows of the tables `reasons` and `cycles`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from assignors.model.assignment import TaskType
from assignors.recording.recorder import PlacementStep, StepKind
from simulator.assignment.explanation import AppliedStep, CycleMove, RoundExplanation
from simulator.results.trace import Round, Trace

Row = Mapping[str, Any]

ROLES = {TaskType.ACTIVE: "active", TaskType.STANDBY: "standby"}

_LAGS_COUNT = frozenset({StepKind.CAUGHT_UP, StepKind.CLOSEST, StepKind.WAITS, StepKind.WARM_UP, StepKind.SWAPPED})


def explanation_rows(trace: Trace) -> Iterator[Row]:
    """One row a step of each move; none for rounds of which nobody asked."""
    names = _names(trace)
    ids = [str(task) for task in trace.layout.tasks.ids]
    threads = [client.threads for client in trace.world.clients]
    for each, reasons in _explained(trace):
        for reason in reasons.moves:
            about = {
                "round": each.number,
                "task": ids[reason.task],
                "role": ROLES[reason.role],
                "from_client": names[reason.source],
                "to_client": names[reason.destination],
                "break_even": reason.break_even,
                "no_break_even": None if reason.no_break_even is None else str(reason.no_break_even),
            }
            for number, taken in enumerate(reason.taken, start=1):
                ends = {"step_from": names[taken.source], "step_to": names[taken.destination]}
                yield {**about, **ends, "step": number, "kind": str(taken.kind), **_numbers(taken, reasons, threads)}


def cycle_rows(trace: Trace) -> Iterator[Row]:
    """One row a move of each cycle that is a part of a reason."""
    for each, reasons in _explained(trace):
        concerned = {taken.edge.cycle for reason in reasons.moves for taken in reason.taken if taken.edge is not None}
        for number, edges in groupby(reasons.edges, key=lambda edge: edge.cycle):
            if number in concerned:
                yield from _rows_of_cycle(trace, each.number, list(edges))


def _rows_of_cycle(trace: Trace, number: int, edges: Sequence[CycleMove]) -> Iterator[Row]:
    names, tasks = _names(trace), trace.layout.tasks
    total = sum(edge.cost for edge in edges)
    # Of tasks without state, Kafka fixes the costs.
    has_break_even = total < 0 and bool(tasks.stateful[edges[0].task])
    for place, edge in enumerate(edges, start=1):
        yield {
            "round": number,
            "cycle": edge.cycle,
            "edge": place,
            "role": ROLES[edge.role],
            "task": str(tasks.ids[edge.task]),
            "from_client": names[edge.source],
            "to_client": names[edge.destination],
            "traffic_from": edge.source_traffic,
            "traffic_to": edge.destination_traffic,
            "non_overlap_cost": edge.non_overlap_cost,
            "cost": edge.cost,
            "cycle_cost": total,
            "cycle_break_even": edge.non_overlap_cost - total // len(edges) if has_break_even else None,
        }


def _explained(trace: Trace) -> Iterator[tuple[Round, RoundExplanation]]:
    return ((each, each.reasons) for each in trace.rounds if each.reasons is not None)


def _names(trace: Trace) -> list[str | None]:
    """By row; the last one, which UNASSIGNED stands for, is nobody's."""
    return [*(client.name for client in trace.world.clients), None]


def _numbers(taken: AppliedStep, reasons: RoundExplanation, threads: Sequence[int]) -> Row:
    if taken.edge is not None:
        return {"cycle": taken.edge.cycle}
    step = taken.step
    if step is None:
        return {}
    row = {
        "load_from": step.source_load,
        "load_to": step.destination_load,
        "held": step.held,
        "room": step.room,
        "lag_from": step.source_lag,
        "lag_to": step.destination_lag,
        "acceptable_lag": reasons.acceptable_lag if step.kind in _LAGS_COUNT else None,
        "tags": reasons.tags[taken.destination] if step.kind is StepKind.TAGS else None,
    }
    return {**row, **_after(taken, step, threads)}


def _after(taken: AppliedStep, step: PlacementStep, threads: Sequence[int]) -> Row:
    if step.source_load is None or step.destination_load is None:
        return {}
    return {
        "load_from_after": step.source_load - 1 / threads[taken.source],
        "load_to_after": step.destination_load + 1 / threads[taken.destination],
    }
