"""Whatever happens to a world, its run keeps the rules at every moment, and its trace and tables agree in the end."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from assignors.model.assignment import UNASSIGNED, TaskAssignor
from simulator.flows.traffic import TrafficKind
from simulator.results.convergence import Convergence, Verdict, convergence
from simulator.results.moves import round_moves
from simulator.results.tables import SCHEMAS
from simulator.results.tabulation import tabulate
from simulator.results.trace import INITIAL_ROUND, Trace, num_rebalances
from simulator.run import simulate
from simulator.world.changes import TrafficScaled
from simulator.world.world import Start, World
from tests.conftest import PROFILE
from tests.simulator.invariants import InvariantChecker
from tests.simulator.random_worlds import assignors, disturbed_worlds

EXAMPLES = {"ci": 300, "nightly": 10_000}.get(PROFILE, 60)


@settings(max_examples=EXAMPLES)
@given(disturbed_worlds(), assignors())
def test_a_run_keeps_the_rules_whatever_happens(world: World, assignor: TaskAssignor) -> None:
    watch = InvariantChecker(world)
    trace = simulate(world, assignor, observe=watch)
    assert trace.failure is None
    assert watch.observations >= len(trace.rounds)
    check_rounds(trace)
    check_bytes(trace)
    check_verdict(trace, watch)
    check_tables(trace)


def check_rounds(trace: Trace) -> None:
    """Rounds follow each other; each is asked for before it is handed out, and settled before the next."""
    for each in trace.rounds:
        assert 0 <= each.requested_at_ms <= each.at_ms <= each.until_ms <= trace.world.duration_ms
        if each.reconciled_at_ms is not None:
            assert each.at_ms <= each.reconciled_at_ms <= each.until_ms
        assert each.number == INITIAL_ROUND or (each.owner != UNASSIGNED).all(), (
            "an assignor gives every task to somebody"
        )
        assert np.isin(each.owner, (*each.members, UNASSIGNED)).all()
        assert np.isin(each.standby[:, 1], each.members).all()
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
    """What was read to catch up is what the ledger says; what came in was processed, or waits.

    In a warm start nothing waits, as if the application had run before.
    """
    ledger = {kind: sum(float(each.traffic[kind].sum()) for each in trace.rounds) for kind in TrafficKind}
    caught_up = ledger[TrafficKind.RESTORE_READ] + ledger[TrafficKind.WARMUP_READ]
    assert caught_up == pytest.approx(trace.final_totals.restored_bytes, rel=1e-6, abs=1)
    if not trace.rounds:
        return
    came_s = usual_input_s(trace, trace.world.duration_ms)
    if trace.world.start is Start.WARM:
        came_s -= usual_input_s(trace, trace.rounds[0].at_ms)
    processed = trace.layout.input_bytes_per_s * (came_s - trace.final_totals.backlog_s)
    read = ledger[TrafficKind.SOURCE_READ] + ledger[TrafficKind.REPARTITION_READ]
    assert read == pytest.approx(float(processed.sum()), rel=1e-6, abs=1)
    assert (trace.final_totals.backlog_s <= trace.max_processing_delay_s).all()


def usual_input_s(trace: Trace, until_ms: int) -> float:
    """How much input came in up to some time, in seconds of the usual."""
    factor, since_ms, total = 1.0, 0, 0.0
    for timed in trace.changes:
        if isinstance(timed.change, TrafficScaled) and timed.at_ms < until_ms:
            total += factor * (timed.at_ms - since_ms)
            factor, since_ms = timed.change.factor, timed.at_ms
    return (total + factor * (until_ms - since_ms)) / 1000


def check_verdict(trace: Trace, watch: InvariantChecker) -> None:
    """A run that is called stable has ended with every task where the last round put it."""
    verdict = convergence(trace)
    if verdict.verdict is Verdict.STABLE and trace.rounds[-1].members.size:
        assert watch.last is not None
        up = np.array(watch.last.fleet.up)
        if up.any():
            assert (watch.last.assignment.owner == trace.rounds[-1].owner).all()
            assert sorted(trace.rounds[-1].members.tolist()) == np.flatnonzero(up).tolist()
    check_events(trace, verdict)
    assert (verdict.verdict is Verdict.EMPTY) <= (not trace.rounds)
    assert (verdict.cause is not None) == (verdict.verdict in (Verdict.NEVER, Verdict.FAILED))


def check_events(trace: Trace, verdict: Convergence) -> None:
    """Each event that called for a rebalance is measured, within the run; the time is known where it converged."""
    called = {cause.event for each in trace.rounds for cause in each.causes}
    measured = {each.event: each for each in verdict.events}
    assert called <= set(measured) <= called | {cause.event for cause in trace.pending_causes}
    for each in verdict.events:
        assert 0 <= each.observed_ms <= trace.end_ms - each.at_ms
        assert each.rebalances <= num_rebalances(trace.rounds)
        assert each.time_to_converge_ms in (None, each.observed_ms)
        assert (each.verdict is Verdict.STABLE) == (each.time_to_converge_ms is not None)
        assert each.cut_short_by != each.event
    if verdict.verdict is Verdict.STABLE:
        assert all(each.time_to_converge_ms is not None for each in verdict.events)


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
    copies = [np.count_nonzero(each.owner != UNASSIGNED) + len(each.standby) for each in trace.rounds]
    assert len(tables["assignments"]) == sum(copies)
    replay_moves(trace)


def check_costs(run: dict[str, Any], rounds: list[dict[str, Any]]) -> None:
    """What a run says of costs is what its rounds say: the deciding one, all of them, and the worst."""
    if not rounds:
        assert run["deciding_round"] is None
        return
    [deciding] = [row for row in rounds if row["round"] == run["deciding_round"]]
    assert (run["total_cost"], run["total_cost_bound"]) == (deciding["total_cost"], deciding["total_cost_bound"])
    later = [row for row in rounds if row["round"] > run["deciding_round"]]
    assert all(row["active_moves"] == row["standby_moves"] == 0 for row in later), "nothing is decided after it"
    known = [row for row in rounds if row["total_cost"] is not None]
    above = [row["total_cost"] - row["total_cost_bound"] for row in known]
    if known:
        assert run["worst_total_cost"] - run["worst_total_cost_bound"] == max(above)
        mean = run["mean_total_cost"] - run["mean_total_cost_bound"]
        assert mean == pytest.approx(sum(above) / len(above))
        assert 0 <= mean <= max(above)


def replay_moves(trace: Trace) -> None:
    """Put on top of one another, moves lead from the first round to the last."""
    if trace.rounds:
        owner = trace.rounds[0].owner.copy()
        for each in round_moves(trace):
            assert (owner[each.tasks] == each.sources).all()
            owner[each.tasks] = each.targets
            assert (owner == each.into.owner).all()
