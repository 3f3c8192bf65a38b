"""A run that starts with a running application continues like the run that led to its state."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from assignors import registry
from assignors.model.configs import RackAwareStrategy
from assignors.model.ids import TaskId
from assignors.tasks.high_availability import HighAvailability
from simulator.assignment.explanation import ExplanationRequest
from simulator.flows.execution import Execution
from simulator.processes.run_options import RunOptions
from simulator.processes.simulation import simulate
from simulator.results.convergence import Verdict, convergence
from simulator.results.tabulation import tabulate
from simulator.results.trace import INITIAL_ROUND, Trace
from simulator.world.changes import Disk, Disturbance
from simulator.world.disturbances import Crash, Join, Leave, RollingBounce, TrafficChange
from simulator.world.group_configs import GroupProtocol
from simulator.world.world import HeldTasks, Start, World
from tests.simulator.invariants import InvariantChecker
from tests.simulator.small_world_runs import SECOND, TOTAL_STATE_BYTES, run
from tests.simulator.snapshots import decisions, held_tasks
from tests.simulator.world_builders import (
    HOUR,
    MINUTE,
    with_clients,
    with_configs,
    with_group,
    with_late_clients,
    world,
)

pytestmark = pytest.mark.usefixtures("equal_phases")

CHANGELOG = "app-counts-changelog"
LATE = Join(MINUTE, ("late",))


class Snapshot:
    """Records the state of a run at one time as the start of another world."""

    def __init__(self, base: World, at_ms: int) -> None:
        self._base = base
        self._at_ms = at_ms
        self.captured: World | None = None

    def __call__(self, execution: Execution) -> None:
        if execution.now_ms == self._at_ms and self.captured is None:
            self.captured = self._take(execution)

    def _take(self, execution: Execution) -> World:
        topic = self._base.cluster.topics[CHANGELOG]
        end = execution.restoration.end_bytes[execution.layout.tasks.stateful]
        sizes = tuple(np.rint(end).astype(int).tolist())
        topics = {**self._base.cluster.topics, CHANGELOG: dataclasses.replace(topic, size_bytes=sizes)}
        return dataclasses.replace(
            self._base,
            cluster=dataclasses.replace(self._base.cluster, topics=topics),
            clients=tuple(
                dataclasses.replace(client, starts=execution.fleet.up[row], tasks=held_tasks(execution, row))
                for row, client in enumerate(self._base.clients)
            ),
            duration_ms=self._base.duration_ms - self._at_ms,
            start=Start.RUNNING,
        )


def base(protocol: GroupProtocol, *, standbys: int, empty: bool = False, strategy: str = "none") -> World:
    """Return a world in which unassigned copies stay on disk."""
    result = with_late_clients(world(num_clients=5, duration_ms=4 * HOUR), "late", "later", rack="az2")
    configs = {"num_standby_replicas": standbys, "rack_aware_assignment_strategy": RackAwareStrategy(strategy)}
    result = with_group(with_configs(result, **configs), protocol=protocol, state_cleanup_delay_ms=10 * HOUR)
    if protocol is STREAMS:  # Further threads join later, and then have other phases than in a group that runs.
        result = with_clients(result, threads=1)
    if empty:
        topic = dataclasses.replace(result.cluster.topics[CHANGELOG], size_bytes=(0,) * 6, bytes_per_s=(0,) * 6)
        topics = {**result.cluster.topics, CHANGELOG: topic}
        result = dataclasses.replace(result, cluster=dataclasses.replace(result.cluster, topics=topics))
    return result


def check_restart(built: World, name: str, event: Disturbance, at_ms: int) -> Trace:
    """Check that a run restarted from a snapshot equals the uninterrupted run; return the restarted one."""
    assignor = registry.make(registry.find(name))
    snapshot = Snapshot(built, at_ms)
    events = (LATE, TrafficChange(at_ms, 1.0), dataclasses.replace(event, at_ms=at_ms))
    uninterrupted = simulate(
        dataclasses.replace(built, disturbances=events), assignor, options=RunOptions(observe=snapshot)
    )
    assert snapshot.captured is not None
    [last] = [round_ for round_ in uninterrupted.rounds if round_.at_ms < at_ms <= round_.until_ms]
    due_ms = None if last.followup_delay_ms is None else last.at_ms + last.followup_delay_ms - at_ms
    world = dataclasses.replace(snapshot.captured, disturbances=(event,), next_rebalance_ms=due_ms)
    trace = simulate(world, assignor, options=RunOptions(observe=InvariantChecker(world)))
    assert trace.rounds[0].number == INITIAL_ROUND
    assert trace.rounds[0].owner.tolist() == last.owner.tolist()
    assert trace.rounds[0].standby.tolist() == last.standby.tolist()
    assert decisions(trace, INITIAL_ROUND, 0) == decisions(uninterrupted, last.number, at_ms)
    assert len(trace.rounds) > 1
    return trace


EVENTS: dict[str, Disturbance] = {
    "join": Join(0, ("later",)),
    "leave": Leave(0, ("c1",)),
    "crash": Crash(0, ("c2", "late"), 20 * MINUTE, disk=Disk.LOST),
    "bounce": RollingBounce(0, ("c0", "c3"), 2 * MINUTE, MINUTE),
}
CASES = [
    ("high_availability", "none"),
    ("high_availability", "min_traffic"),
    ("sticky_task_assignor", "balance_subtopology"),
    ("legacy_sticky", "none"),
    ("streams_group_sticky", "none"),
]
CLASSIC, STREAMS = GroupProtocol.CLASSIC, GroupProtocol.STREAMS


def settled_at_ms(built: World, assignor: str) -> int:
    """Return a time of a heartbeat after the run has settled; classic members count from the last assignment."""
    [*_, last] = simulate(
        dataclasses.replace(built, disturbances=(LATE,)), registry.make(registry.find(assignor))
    ).rounds
    assert last.at_ms < 2 * HOUR
    return last.at_ms + HOUR if built.application.group_configs.protocol is CLASSIC else 2 * HOUR


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("protocol", [CLASSIC, STREAMS])
@pytest.mark.parametrize(("assignor", "strategy"), CASES)
def test_settled_group_continues_identically(assignor: str, strategy: str, protocol: GroupProtocol, event: str) -> None:
    built = base(protocol, standbys=1, strategy=strategy)
    check_restart(built, assignor, EVENTS[event], settled_at_ms(built, assignor))


@pytest.mark.parametrize("standbys", [0, 2])
def test_probing_group_continues_identically(standbys: int) -> None:
    built = base(CLASSIC, standbys=standbys)
    trace = check_restart(built, "high_availability", EVENTS["crash"], 5 * MINUTE + 3 * SECOND)
    assert trace.rounds[0].followup_delay_ms is not None


@pytest.mark.parametrize("protocol", [CLASSIC, STREAMS])
def test_static_group_with_empty_changelogs_continues_identically(protocol: GroupProtocol) -> None:
    built = with_clients(base(protocol, standbys=1, empty=True), is_static=True)
    for event in ("bounce", "leave"):
        check_restart(built, "sticky_task_assignor", EVENTS[event], settled_at_ms(built, "sticky_task_assignor"))


def running_world(*held_tasks: HeldTasks, **changes: Any) -> World:
    """Return the small world with clients that already have these tasks."""
    small = world(num_clients=len(held_tasks), start=Start.RUNNING, **changes)
    running_clients = tuple(
        dataclasses.replace(client, tasks=tasks) for client, tasks in zip(small.clients, held_tasks, strict=True)
    )
    return dataclasses.replace(small, clients=running_clients)


def ids(*names: str) -> tuple[TaskId, ...]:
    return tuple(map(TaskId.parse, names))


STATELESS = tuple(TaskId(0, partition) for partition in range(12))
HALVES = (
    HeldTasks((STATELESS[:6], ids("1_0", "1_1", "1_2")), ((), ids("1_3"))),
    HeldTasks((STATELESS[6:], ids("1_3", "1_4", "1_5")), ((), ids("1_0"))),
)


@pytest.mark.parametrize("protocol", [CLASSIC, STREAMS])
def test_undisturbed_running_group_keeps_its_assignment(protocol: GroupProtocol) -> None:
    trace = run(with_group(running_world(*HALVES), protocol=protocol))
    [only] = trace.rounds
    assert (only.number, only.at_ms, only.reason) == (INITIAL_ROUND, 0, "initial state")
    assert (only.restoring, only.warming_up, only.reconciled_at_ms) == (0, 0, 0)
    verdict = convergence(trace)
    assert (verdict.verdict, verdict.round) == (Verdict.STABLE, INITIAL_ROUND)
    assert (verdict.rebalances, verdict.time_to_converge_ms) == (0, 0)
    assert (trace.downtime_ms == 0).all()
    assert trace.final_totals.restored_bytes == 0
    assert trace.describe_task("1_3") == ["0 s, round 0 (initial state): runs on c1, standby on c0"]


def test_initial_state_is_measured_and_is_no_rebalance() -> None:
    tables = tabulate(run(running_world(*HALVES)), "some", 1)
    [before], [total] = tables["rounds"].to_pylist(), tables["runs"].to_pylist()
    assert (total["rebalances"], total["active_moves"], total["verdict_round"]) == (0, 0, INITIAL_ROUND)
    assert (before["round"], before["members"], before["standbys"]) == (INITIAL_ROUND, 2, 2)
    assert before["total_cost"] == before["cross_rack_source_partitions"] + before["cross_rack_standby_partitions"]
    assert before["cross_rack_bytes"] == pytest.approx(before["cross_rack_bytes_per_s"] * 12 * HOUR / 1000)
    assert before["cross_rack_bytes"] > 0
    assert [row["from_round"] for row in tables["clients"].to_pylist()] == [INITIAL_ROUND, INITIAL_ROUND]
    assert len(tables["assignments"]) == 18 + 2


def test_initial_state_explains_initial_copies() -> None:
    base = dataclasses.replace(running_world(*HALVES), disturbances=(Leave(HOUR, ("c1",)),))
    request = ExplanationRequest((TaskId(1, 0), TaskId(1, 3)), break_evens=False)
    trace = simulate(base, HighAvailability(), options=RunOptions(explain=request))
    rows = tabulate(trace, "some", 1)["reasons"].to_pylist()
    assert [
        (row["task"], row["role"], row["to_client"], row["kind"]) for row in rows if row["round"] == INITIAL_ROUND
    ] == [
        ("1_0", "active", "c0", "initial"),
        ("1_3", "active", "c1", "initial"),
        ("1_0", "standby", "c1", "initial"),
        ("1_3", "standby", "c0", "initial"),
    ]
    later = [(row["task"], row["from_client"]) for row in rows if row["round"] == 1 and row["step"] == 1]
    assert later == [("1_3", "c1")], "tasks that stay have no explanation"


def test_initial_lags_determine_initial_copies() -> None:
    first = dataclasses.replace(HALVES[0], lags={TaskId(1, 0): 1_000, TaskId(1, 3): 100_000, TaskId(1, 5): 600_000})
    lags = []

    def record_lags(execution: Execution) -> None:
        lags.append(execution.restoration.lags(np.arange(2), execution.running)[12:].tolist())
        lags.append(execution.restoration.holds_copy(np.arange(2))[12:].tolist())

    trace = simulate(
        running_world(first, HALVES[1]),
        registry.make(registry.find("high_availability")),
        options=RunOptions(observe=record_lags),
    )
    assert lags[0] == [[1_000, 0], [-2, 600_000], [-2, 600_000], [100_000, -2], [600_000, -2], [600_000, -2]]
    assert lags[1] == [[True, True], [True, False], [True, False], [True, True], [False, True], [True, True]]
    assert trace.rounds[0].restoring == 1, "1_0 runs once it has read 1,000 records"
    assert trace.rounds[0].warming_up == 1
    assert TOTAL_STATE_BYTES > trace.final_totals.restored_bytes > 0
    assert trace.task_states.describe(12)[-1] == "0.101 s: running on c0"


def test_pending_followup_rebalance_happens_when_due() -> None:
    due = run(running_world(*HALVES, next_rebalance_ms=8 * MINUTE))
    assert [(round_.number, round_.requested_at_ms, round_.reason) for round_ in due.rounds[:2]] == [
        (INITIAL_ROUND, 0, "initial state"),
        (1, 8 * MINUTE, "follow-up"),
    ]
    assert due.rounds[0].followup_delay_ms == 8 * MINUTE
    probing = run(running_world(*HALVES, next_rebalance_ms=13 * HOUR))
    assert convergence(probing).verdict is Verdict.PROBING


def test_unassigned_task_is_down_until_a_rebalance() -> None:
    without_one_task = HeldTasks((STATELESS[:6], ids("1_0", "1_1")), HALVES[0].standby)
    trace = run(running_world(without_one_task, HALVES[1]), Leave(HOUR, ("c1",)))
    assert trace.rounds[0].restoring == 1
    assert trace.downtime_ms[14] >= HOUR
    assert (trace.rounds[-1].owner == 0).all()


def test_initial_member_that_crashes_times_out_and_rejoins() -> None:
    trace = run(running_world(*HALVES), Crash(SECOND, ("c1",), 10 * MINUTE, disk=Disk.KEPT))
    assert (trace.rounds[1].reason, trace.rounds[1].requested_at_ms) == ("c1: session timed out", 45 * SECOND)
    assert "c1 joined" in [round_.reason for round_ in trace.rounds]


def test_running_start_without_members_begins_with_the_first_join() -> None:
    base = with_clients(with_late_clients(world(num_clients=0), "late"), starts=False)
    trace = run(dataclasses.replace(base, start=Start.RUNNING), Join(HOUR, ("late",)))
    assert [round_.number for round_ in trace.rounds] == [1]


def test_static_member_bounce_after_running_start_needs_no_rebalance() -> None:
    static = with_clients(running_world(*HALVES), is_static=True)
    trace = run(static, Crash(MINUTE, ("c1",), 5 * SECOND, disk=Disk.KEPT))
    assert [round_.reason for round_ in trace.rounds] == ["initial state"]
    assert 6 * SECOND >= trace.downtime_ms.max() >= 5 * SECOND
