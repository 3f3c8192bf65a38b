"""Checks of a run: its invariants at every change, its rounds, bytes, verdict and tables."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from assignors.model.assignment import UNASSIGNED, TaskAssignor
from simulator.flows.traffic import TrafficKind
from simulator.processes.run_options import RunOptions
from simulator.processes.simulation import simulate
from simulator.results.convergence import Convergence, Verdict, convergence
from simulator.results.run_summary import round_moves
from simulator.results.tables import SCHEMAS
from simulator.results.tabulation import tabulate
from simulator.results.trace import INITIAL_ROUND, Trace, num_rebalances
from simulator.world.changes import TrafficScaled
from simulator.world.world import Start, World
from tests.simulator.invariants import InvariantChecker


def check_run(world: World, assignor: TaskAssignor) -> None:
    """Simulate a world, and check all invariants of the run, its trace and its tables."""
    checker = InvariantChecker(world)
    trace = simulate(world, assignor, options=RunOptions(observe=checker))
    assert trace.failure is None
    assert checker.observations >= len(trace.rounds)
    check_rounds(trace)
    check_bytes(trace)
    check_verdict(trace, checker)
    check_tables(trace)


def check_rounds(trace: Trace) -> None:
    """Check the order of rounds, and that each round is requested, assigned and reconciled in this order."""
    for round_ in trace.rounds:
        assert 0 <= round_.requested_at_ms <= round_.at_ms <= round_.until_ms <= trace.world.duration_ms
        if round_.reconciled_at_ms is not None:
            assert round_.at_ms <= round_.reconciled_at_ms <= round_.until_ms
        assert round_.number == INITIAL_ROUND or (round_.owner != UNASSIGNED).all(), "every task is assigned"
        assert len(np.unique(round_.members)) == len(round_.members)
        assert np.isin(round_.owner, (*round_.members, UNASSIGNED)).all()
        assert np.isin(round_.standby[:, 1], round_.members).all()
    for before, after in pairwise(trace.rounds):
        assert before.number < after.number
        assert before.until_ms == after.at_ms
    if trace.rounds:
        assert trace.rounds[-1].until_ms == trace.world.duration_ms
        run_ms = trace.world.duration_ms - trace.rounds[0].at_ms
        assert (trace.downtime_ms >= 0).all()
        assert (trace.downtime_ms <= run_ms).all()
        assert (trace.unqueryable_ms <= run_ms).all()


def check_bytes(trace: Trace) -> None:
    """Check that restored bytes equal the traffic, and that all input was processed or waits in the backlog.

    A warm start begins without a backlog, as if the application had run before.
    """
    bytes_by_kind = {kind: sum(float(round_.traffic[kind].sum()) for round_ in trace.rounds) for kind in TrafficKind}
    caught_up = bytes_by_kind[TrafficKind.RESTORE_READ] + bytes_by_kind[TrafficKind.WARMUP_READ]
    assert caught_up == pytest.approx(trace.final_totals.restored_bytes, rel=1e-6, abs=1)
    if not trace.rounds:
        return
    input_s = usual_input_s(trace, trace.world.duration_ms)
    if trace.world.start is Start.WARM:
        input_s -= usual_input_s(trace, trace.rounds[0].at_ms)
    processed = trace.layout.input_bytes_per_s * (input_s - trace.final_totals.backlog_s)
    read_bytes = bytes_by_kind[TrafficKind.SOURCE_READ] + bytes_by_kind[TrafficKind.REPARTITION_READ]
    assert read_bytes == pytest.approx(float(processed.sum()), rel=1e-6, abs=1)
    assert (trace.final_totals.backlog_s <= trace.max_processing_delay_s).all()


def usual_input_s(trace: Trace, until_ms: int) -> float:
    """Return the input up to a time, in seconds of usual input."""
    factor, since_ms, total = 1.0, 0, 0.0
    for timed in trace.changes:
        if isinstance(timed.change, TrafficScaled) and timed.at_ms < until_ms:
            total += factor * (timed.at_ms - since_ms)
            factor, since_ms = timed.change.factor, timed.at_ms
    return (total + factor * (until_ms - since_ms)) / 1000


def check_verdict(trace: Trace, checker: InvariantChecker) -> None:
    """Check that a stable run ends with the assignment of its last round."""
    verdict = convergence(trace)
    if verdict.verdict is Verdict.STABLE and trace.rounds[-1].members.size:
        assert checker.last is not None
        up = np.array(checker.last.fleet.up)
        if up.any():
            assert (checker.last.assignment.owner == trace.rounds[-1].owner).all()
            assert (checker.last.assignment.standby == trace.rounds[-1].standbys(len(up))).all()
            assert sorted(trace.rounds[-1].members.tolist()) == np.flatnonzero(up).tolist()
    check_events(trace, verdict)
    assert (verdict.verdict is Verdict.EMPTY) <= (not trace.rounds)
    assert (verdict.cause is not None) == (verdict.verdict in (Verdict.NEVER, Verdict.FAILED))


def check_events(trace: Trace, verdict: Convergence) -> None:
    """Check that each event that caused a rebalance is measured, with a time to converge if it converged."""
    caused = {cause.event for round_ in trace.rounds for cause in round_.causes}
    convergence_by_event = {event.event: event for event in verdict.events}
    assert caused <= set(convergence_by_event) <= caused | {cause.event for cause in trace.pending_causes}
    for event in verdict.events:
        assert 0 <= event.observed_ms <= trace.end_ms - event.at_ms
        assert event.rebalances <= num_rebalances(trace.rounds)
        assert event.time_to_converge_ms in (None, event.observed_ms)
        assert (event.verdict is Verdict.STABLE) == (event.time_to_converge_ms is not None)
        assert event.cut_short_by != event.event
    if verdict.verdict is Verdict.STABLE:
        assert all(event.time_to_converge_ms is not None for event in verdict.events)


def check_tables(trace: Trace) -> None:
    tables = tabulate(trace, "some", 7)
    for name, schema in SCHEMAS.items():
        tables[name].validate(full=True)
        assert tables[name].schema.equals(schema, check_metadata=True)
    [run] = tables["runs"].to_pylist()
    rounds, tasks = tables["rounds"].to_pylist(), tables["tasks"].to_pylist()
    assert run["rebalances"] == sum(row["round"] != INITIAL_ROUND for row in rounds)
    for column in ("active_moves", "thread_moves", "standby_moves", "downtime_ms"):
        assert run[column] == sum(row[column] for row in rounds)
    assert run["downtime_ms"] == sum(row["downtime_ms"] for row in tasks)
    assert run["active_moves"] == sum(row["active_moves"] for row in tasks)
    assert run["restored_bytes"] == pytest.approx(sum(row["restored_bytes"] for row in rounds), abs=len(rounds))
    reasons = ("member_lost", "promoted", "returned", "rack", "balance")
    assert run["active_moves"] == sum(run[f"moves_{reason}"] for reason in reasons)
    assert run["active_moves"] + run["standby_moves"] == len(tables["moves"])
    assert len(tables["task_states"]) == sum(len(steps.tasks) for steps in trace.task_states.transitions)
    check_costs(run, [row for row in rounds if row["round"] != INITIAL_ROUND] or rounds)
    copies = [np.count_nonzero(round_.owner != UNASSIGNED) + len(round_.standby) for round_ in trace.rounds]
    assert len(tables["assignments"]) == sum(copies)
    replay_moves(trace)


def check_costs(run: dict[str, Any], rounds: list[dict[str, Any]]) -> None:
    """Check that the costs of a run are those of its deciding round, the mean and the maximum of its rounds."""
    if not rounds:
        assert run["deciding_round"] is None
        return
    [deciding] = [row for row in rounds if row["round"] == run["deciding_round"]]
    assert (run["total_cost"], run["total_cost_bound"]) == (deciding["total_cost"], deciding["total_cost_bound"])
    later = [row for row in rounds if row["round"] > run["deciding_round"]]
    assert all(row["active_moves"] == row["standby_moves"] == 0 for row in later), (
        "no task moves after the deciding round"
    )
    with_cost = [row for row in rounds if row["total_cost"] is not None]
    above_bound = [row["total_cost"] - row["total_cost_bound"] for row in with_cost]
    if with_cost:
        assert run["worst_total_cost"] - run["worst_total_cost_bound"] == max(above_bound)
        mean = run["mean_total_cost"] - run["mean_total_cost_bound"]
        assert mean == pytest.approx(sum(above_bound) / len(above_bound))
        assert min(above_bound) >= 0


def replay_moves(trace: Trace) -> None:
    """Check that the moves lead from the first assignment to the last."""
    if trace.rounds:
        owner = trace.rounds[0].owner.copy()
        for moves in round_moves(trace):
            assert (owner[moves.tasks] == moves.sources).all()
            owner[moves.tasks] = moves.targets
            assert (owner == moves.into.owner).all()
