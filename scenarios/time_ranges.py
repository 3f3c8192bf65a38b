"""How far the outcome of a run depends on the times of its clients, within their uncertainty.

A run is simulated again with other client times: here, or in a process of its own that ends with this one.
"""

from __future__ import annotations

import dataclasses
import math
import os
import pickle
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa

from assignors import registry
from assignors.containment.child import end_with_parent, take_pipe
from assignors.containment.isolation import AssignorProcess, python_command
from assignors.errors import CustomAssignorError
from scenarios.load import AssignorSpec, Scenario
from scenarios.run import run_world
from scenarios.run_estimate import MAX_BYTES, estimate_again
from simulator.processes.run_options import Observer, RunOptions
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
from simulator.world.group_configs import GroupProtocol
from simulator.world.world import ClientTimes, World

PROCESS_SECONDS: Final = 4.0
"""Estimated time of a run from which a process of its own is worth its start, which takes about a second."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Repetition:
    """A run that is simulated again. `deadline`: when to stop, as `time.monotonic` counts; None without a limit."""

    scenario: Scenario
    world: World
    spec: AssignorSpec
    seed: int
    deadline: float | None

    def simulate(self, times: ClientTimes, observe: Observer | None = None) -> Trace:
        """Simulate the run with other client times."""
        application = dataclasses.replace(self.world.application, times=times)
        world = dataclasses.replace(self.world, application=application)
        seconds = None if self.deadline is None else self.deadline - time.monotonic()
        options = RunOptions(observe=observe, max_seconds=seconds)
        return run_world(self.scenario, world, self.spec, self.seed, options)

    def simulate_both(self, times: ClientTimes, other: ClientTimes, rebalances: int) -> tuple[Trace, Trace]:
        """Simulate the run with two client times, at the same time if that is worth another process.

        `rebalances`: about how many a run has. The traces do not depend on where they were simulated.
        """
        request = self._request(other) if self._is_worth_a_process(rebalances) else None
        if request is None:
            return self.simulate(times), self.simulate(other)
        with _answer_of_process(request) as answer:
            trace = self.simulate(times)
            other_trace = answer()
        return trace, self.simulate(other) if other_trace is None else other_trace

    def _is_worth_a_process(self, rebalances: int) -> bool:
        """Return whether the run is long, fits into memory twice, and has assignors without a state of their own."""
        if os.name != "posix" or usable_cpus() < 2:  # Elsewhere, a process could outlive this one.
            return False
        estimate = estimate_again(self.scenario, self.spec, rebalances)
        infos = [self.spec.info, *(other.assignors[0].info for other in self.scenario.neighbors)]
        are_built_in = all(registry.is_built_in(info) for info in infos)
        return are_built_in and estimate.seconds >= PROCESS_SECONDS and 2 * estimate.memory_bytes <= MAX_BYTES

    def _request(self, times: ClientTimes) -> bytes | None:
        """Return the request for a run, None if something of it cannot be sent to a process."""
        try:
            return pickle.dumps((self, times))
        except (pickle.PicklingError, AttributeError, TypeError):
            return None


@contextmanager
def _answer_of_process(request: bytes) -> Iterator[Any]:
    """Let a process simulate a run at the same time, and end it in any case.

    Yields a function that waits for the trace, and returns None if the process has failed.
    """
    try:
        process = AssignorProcess(python_command(__name__, {}))
    except CustomAssignorError:
        yield lambda: None
        return
    with ThreadPoolExecutor(1) as thread:
        try:
            answered = thread.submit(process.exchange, request, math.inf)

            def trace() -> Trace | None:
                try:
                    answer: Trace | None = pickle.loads(answered.result())
                except CustomAssignorError:
                    return None
                return answer

            yield trace
        finally:
            process.close()


def main() -> None:
    """Simulate the run of one request, and send its trace; None if it fails, as it will where it was requested."""
    requests, answers = take_pipe()
    end_with_parent(requests.fileno())
    try:
        repetition, times = requests.recv()
    except (EOFError, OSError):
        return
    trace: Trace | None
    try:
        trace = repetition.simulate(times)
    except Exception:
        trace = None
    answers.send(trace)


def usable_cpus() -> int:
    """Return the number of CPUs that this process may use; all of them on macOS and Windows."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def time_ranges(
    scenario: Scenario, trace: Trace, spec: AssignorSpec, seed: int, max_seconds: float | None = None
) -> pa.Table:
    """Simulate a run again with copies that begin to read early and late, and compare how it converges.

    A streams group assigns tasks regardless of lags, so client times do not decide its outcome. Neighbors run alongside
    with their own client times. `max_seconds`: limit of wall-clock time. Returns the table `time_ranges`: one row if
    the outcomes differ, otherwise none; none either after the time limit.
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
