"""How far the outcome of a run depends on the times of its clients, within their uncertainty."""

from __future__ import annotations

import time

import pyarrow as pa

from scenarios.load import AssignorSpec, Scenario
from scenarios.run_again import Repetition
from simulator.results.time_ranges import (
    CaughtUpTimes,
    DecisiveCopy,
    Outcome,
    decisive_copy,
    first_difference,
    may_depend_on_times,
    time_range_table,
)
from simulator.results.trace import Trace
from simulator.world.world import GroupProtocol


def time_ranges(
    scenario: Scenario, trace: Trace, spec: AssignorSpec, seed: int, max_seconds: float | None = None
) -> pa.Table:
    """Simulate a run again with copies that begin to read early and late, and compare how it converges.

    A streams group assigns tasks regardless of lags, so client times do not decide its outcome.

    Args:
        scenario: the scenario, whose neighbors run alongside with their own client times.
        trace: the run.
        spec: its assignor.
        seed: its seed.
        max_seconds: limit of wall-clock time; None without a limit.

    Returns:
        The table `time_ranges`: one row if the outcomes differ, otherwise none; none either after the time limit.
    """
    key: dict[str, object] = {"scenario": trace.world.name, "assignor": spec.label, "seed": seed}
    times = trace.world.application.times
    is_classic = trace.world.application.group_configs.protocol is GroupProtocol.CLASSIC
    early_times, late_times = times.early(), times.late()
    may_differ = early_times != late_times and is_classic and trace.failure is None and may_depend_on_times(trace)
    if not may_differ:
        return time_range_table(key, [])
    deadline = None if max_seconds is None else time.monotonic() + max_seconds
    run = Repetition(scenario, trace.world, spec, seed, deadline)
    early, late = run.simulate_both(early_times, late_times, len(trace.rounds))
    if early.stopped or late.stopped:
        return time_range_table(key, [])
    outcomes = [Outcome.of(outcome) for outcome in (early, trace, late)]
    if not any(one.differs(other) for one in outcomes for other in outcomes):
        return time_range_table(key, [])
    pairs = [(trace, late), (early, trace)] if outcomes[1].differs(outcomes[2]) else [(early, trace), (trace, late)]
    reason = next((copy for pair in pairs if (copy := decisive_copy(*pair)) is not None), None)
    different = next((index for pair in pairs if (index := first_difference(*pair)) is not None), None)
    row: dict[str, object] = {
        "rebalances_to_converge": outcomes[1].rebalances,
        "time_to_converge_ms": outcomes[1].time_to_converge_ms,
        "early_rebalances_to_converge": outcomes[0].rebalances,
        "early_time_to_converge_ms": outcomes[0].time_to_converge_ms,
        "late_rebalances_to_converge": outcomes[2].rebalances,
        "late_time_to_converge_ms": outcomes[2].time_to_converge_ms,
        "uncertainty": times.uncertainty,
        "round": None if different is None else trace.rounds[different].number,
    }
    if reason is not None:
        row |= _describe(run, trace, reason)
    return time_range_table(key, [row])


def _describe(run: Repetition, trace: Trace, copy: DecisiveCopy) -> dict[str, object]:
    """Return which copy decides, and when it has caught up; that is unknown if other applications run alongside."""
    decided = trace.rounds[copy.round]
    times = CaughtUpTimes(copy)
    if not trace.neighbors:
        run.simulate(trace.world.application.times, times)
    nearest_ms = times.nearest_ms(decided.at_ms)
    return {
        "round": decided.number,
        "task": str(trace.layout.tasks.ids[copy.task]),
        "client": trace.world.clients[copy.client].name,
        "caught_up_after_ms": None if nearest_ms is None else nearest_ms - decided.at_ms,
    }
