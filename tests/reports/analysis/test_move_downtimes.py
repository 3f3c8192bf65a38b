"""The downtime of tasks, divided among moves and rounds."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.model.assignment import TaskAssignor
from reports.analysis.explanation import ExplainedMove, list_moves
from simulator.assignment.explanation import ExplanationRequest
from simulator.processes.run_options import RunOptions
from simulator.processes.simulation import simulate
from simulator.results.tabulation import tabulate
from simulator.world.group_configs import GroupProtocol
from simulator.world.world import World
from tests.counts import few_or
from tests.simulator.random_worlds import assignors, disturbed_worlds


def _stop_ms(states: list[dict[str, Any]], at_ms: int, begins_ms: int) -> int:
    """Return when a task that does not run at a time stopped; the time if it runs."""
    stopped = at_ms
    for row in reversed([row for row in states if row["at_ms"] < at_ms]):
        if row["state"] == "running":
            return stopped
        stopped = row["at_ms"]
    return begins_ms


def _check_move(
    move: ExplainedMove, before: ExplainedMove | None, begins_ms: int, until_ms: int, states: list[dict[str, Any]]
) -> None:
    """Check the downtime of a move by the states of its task, interval by interval."""
    since_ms = move.round["at_ms"]
    waited = before is not None and before.runs_at_ms is None
    stop_ms = since_ms if waited else _stop_ms(states, since_ms, begins_ms)
    end_ms = until_ms if move.runs_at_ms is None else move.runs_at_ms
    times = sorted({stop_ms, end_ms, *(row["at_ms"] for row in states if stop_ms < row["at_ms"] < end_ms)})
    down_ms = 0
    for start, end in pairwise(times):
        current = [row["state"] for row in states if row["at_ms"] <= start]
        down_ms += (end - start) * (not current or current[-1] != "running")
    assert move.downtime_ms == down_ms, (move.task, move.round["round"])


@settings(max_examples=few_or(200, 20))
@given(disturbed_worlds(), assignors(), st.sampled_from((GroupProtocol.CLASSIC, GroupProtocol.STREAMS)))
def test_downtimes_of_rounds_add_up_to_that_of_the_run(
    world: World, assignor: TaskAssignor, protocol: GroupProtocol
) -> None:
    configs = dataclasses.replace(world.application.group_configs, protocol=protocol)
    world = dataclasses.replace(world, application=dataclasses.replace(world.application, group_configs=configs))
    tables = tabulate(
        simulate(world, assignor, options=RunOptions(explain=ExplanationRequest(None, break_evens=False))), "own", 1
    )
    if not tables["rounds"]:
        return
    moves = list_moves(tables, "own")
    [run_row] = tables["runs"].to_pylist()
    first, *_ = rounds = tables["rounds"].to_pylist()
    assert sum(downtime.total_ms for downtime in moves.downtimes.values()) == run_row["downtime_ms"]
    listed = [*list_moves(tables, "own", round_=first["round"]).moves, *moves.moves]
    of_round: dict[int, int] = defaultdict(int)
    of_task: dict[str, list[ExplainedMove]] = defaultdict(list)
    for move in listed:
        of_round[move.round["round"]] += move.downtime_ms
        if move.role == "active":
            of_task[move.task].append(move)
    for number, downtime in moves.downtimes.items():
        assert downtime.moved_ms == of_round[number]
        assert downtime.stayed_ms >= 0
    states: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in tables["task_states"].to_pylist():
        states[row["task"]].append({**row, "at_ms": max(row["at_ms"], first["at_ms"])})
    for task, own in of_task.items():
        for index, move in enumerate(own):
            until_ms = own[index + 1].round["at_ms"] if index + 1 < len(own) else rounds[-1]["until_ms"]
            _check_move(move, own[index - 1] if index else None, first["at_ms"], until_ms, states[task])
