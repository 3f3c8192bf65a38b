"""Rows of the tables `reasons` and `cycles`, from the explanations of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from assignors.model.assignment import TaskType
from assignors.recording.recorder import PlacementStep, StepKind
from simulator.assignment.explanation import AppliedStep, CycleMove, MoveExplanation, RoundExplanation
from simulator.results.trace import Round, Trace

Row = Mapping[str, Any]

ROLES = {TaskType.ACTIVE: "active", TaskType.STANDBY: "standby"}

_KINDS_WITH_LAGS = frozenset({StepKind.CAUGHT_UP, StepKind.CLOSEST, StepKind.WAITS, StepKind.WARM_UP, StepKind.SWAPPED})


def explanation_rows(trace: Trace) -> Iterator[Row]:
    """Yield one row per step of each move; none for rounds without explanation."""
    names = _names(trace)
    ids = [str(task) for task in trace.layout.tasks.ids]
    threads = [client.threads for client in trace.world.clients]
    for round_, explanation in _explained(trace):
        for move in explanation.moves:
            for row in step_rows(move, explanation, names, threads):
                yield {"round": round_.number, "task": ids[move.task], **row}


def step_rows(
    move: MoveExplanation, explanation: RoundExplanation, names: Sequence[str | None], threads: Sequence[int]
) -> Iterator[Row]:
    """Yield one row per step of a move, without round and task.

    `names`: names of the clients by row, and None for UNASSIGNED at the end.
    """
    common = {
        "role": ROLES[move.role],
        "from_client": names[move.source],
        "to_client": names[move.destination],
        "break_even": move.break_even,
        "no_break_even": None if move.no_break_even is None else str(move.no_break_even),
    }
    for number, applied in enumerate(move.steps, start=1):
        step_clients = {"step_from": names[applied.source], "step_to": names[applied.destination]}
        yield {
            **common,
            **step_clients,
            "step": number,
            "kind": str(applied.kind),
            **_step_figures(applied, explanation, threads),
        }


def cycle_rows(trace: Trace) -> Iterator[Row]:
    """Yield one row per move of each cycle that is part of an explained move."""
    for round_, explanation in _explained(trace):
        explained_cycles = {
            applied.edge.cycle for move in explanation.moves for applied in move.steps if applied.edge is not None
        }
        for number, edges in groupby(explanation.edges, key=lambda edge: edge.cycle):
            if number in explained_cycles:
                yield from _rows_of_cycle(trace, round_.number, list(edges))


def _rows_of_cycle(trace: Trace, number: int, edges: Sequence[CycleMove]) -> Iterator[Row]:
    names, tasks = _names(trace), trace.layout.tasks
    total = sum(edge.cost for edge in edges)
    # For stateless tasks, Kafka's costs are fixed.
    has_break_even = total < 0 and bool(tasks.stateful[edges[0].task])
    for position, edge in enumerate(edges, start=1):
        yield {
            "round": number,
            "cycle": edge.cycle,
            "edge": position,
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
    return ((round_, round_.explanation) for round_ in trace.rounds if round_.explanation is not None)


def _names(trace: Trace) -> list[str | None]:
    """Return the names of the clients by row; None for UNASSIGNED, the last one."""
    return [*(client.name for client in trace.world.clients), None]


def _step_figures(applied: AppliedStep, explanation: RoundExplanation, threads: Sequence[int]) -> Row:
    if applied.edge is not None:
        return {"cycle": applied.edge.cycle}
    step = applied.step
    if step is None:
        return {}
    row = {
        "load_from": step.source_load,
        "load_to": step.destination_load,
        "held": step.held,
        "room": step.room,
        "lag_from": step.source_lag,
        "lag_to": step.destination_lag,
        "acceptable_lag": explanation.acceptable_lag if step.kind in _KINDS_WITH_LAGS else None,
        "tags": explanation.tags[applied.destination] if step.kind is StepKind.TAGS else None,
    }
    return {**row, **_loads_after(applied, step, threads)}


def _loads_after(applied: AppliedStep, step: PlacementStep, threads: Sequence[int]) -> Row:
    if step.source_load is None or step.destination_load is None:
        return {}
    return {
        "load_from_after": step.source_load - 1 / threads[applied.source],
        "load_to_after": step.destination_load + 1 / threads[applied.destination],
    }
