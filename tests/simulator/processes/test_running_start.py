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
from simulator.results.convergence import Verdict, convergence
from simulator.results.tabulation import tabulate
from simulator.results.trace import INITIAL_ROUND, Trace
from simulator.run import simulate
from simulator.world.disturbances import Crash, Disturbance, Join, Leave, RollingBounce, TrafficChange
from simulator.world.world import GroupProtocol, HeldTasks, Start, World
from tests.simulator.invariants import InvariantChecker
from tests.simulator.small_world_runs import GIGABYTES, SECOND, run
from tests.simulator.world_builders import HOUR, MINUTE, with_clients, with_configs, with_group, with_late, world

CHANGELOG = "app-counts-changelog"
LATE = Join(MINUTE, ("late",))


class Photograph:
    """Writes down what is there at one moment as the start of another world."""

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
                dataclasses.replace(client, starts=execution.fleet.up[row], tasks=held(execution, row))
                for row, client in enumerate(self._base.clients)
            ),
            duration_ms=self._base.duration_ms - self._at_ms,
            start=Start.RUNNING,
        )


def held(execution: Execution, client: int) -> HeldTasks:
    ids, assignment, restoration = execution.layout.tasks.ids, execution.assignment, execution.restoration
    roles = (assignment.owner == client, assignment.standby[:, client])
    threads = range(execution.fleet.num_threads(client))
    active, standby = (
        tuple(
            tuple(ids[row] for row in np.flatnonzero(role & (assignment.thread[:, client] == thread)).tolist())
            for thread in threads
        )
        for role in roles
    )
    there = np.flatnonzero(restoration.holds_copy(np.array([client]))[:, 0]).tolist()
    behind = (restoration.end_bytes - restoration.held_bytes[:, client]) / execution.layout.record_bytes
    open_ = set(np.flatnonzero(roles[0] | roles[1]).tolist())
    lags = {ids[row]: int(behind[row]) for row in there if behind[row] >= 1 or row not in open_}
    return HeldTasks(active, standby, lags)


def told(trace: Trace, after: int, since_ms: int) -> list[tuple[Any, ...]]:
    """What each round after some other decided, with times from some moment on."""
    return [
        (
            each.at_ms - since_ms,
            each.reason,
            each.members.tolist(),
            each.owner.tolist(),
            each.standby.tolist(),
            each.withheld.tolist(),
            each.thread_moves,
            each.followup_delay_ms,
            each.warming_up,
        )
        for each in trace.rounds
        if each.number > after
    ]


def base(protocol: GroupProtocol, *, standbys: int, empty: bool = False, strategy: str = "none") -> World:
    """A world in which copies that nobody needs any more stay on disk."""
    built = with_late(world(num_clients=5, duration_ms=4 * HOUR), "late", "later", rack="az2")
    configs = {"num_standby_replicas": standbys, "rack_aware_assignment_strategy": RackAwareStrategy(strategy)}
    built = with_group(with_configs(built, **configs), protocol=protocol, state_cleanup_delay_ms=10 * HOUR)
    if empty:
        topic = dataclasses.replace(built.cluster.topics[CHANGELOG], size_bytes=(0,) * 6, bytes_per_s=(0,) * 6)
        topics = {**built.cluster.topics, CHANGELOG: topic}
        built = dataclasses.replace(built, cluster=dataclasses.replace(built.cluster, topics=topics))
    return built


def compare(built: World, name: str, event: Disturbance, at_ms: int) -> Trace:
    """Go on from a photograph of a run, and in the run itself, and expect the same; return the former."""
    assignor = registry.make(registry.find(name))
    photograph = Photograph(built, at_ms)
    happens = (LATE, TrafficChange(at_ms, 1.0), dataclasses.replace(event, at_ms=at_ms))
    went_on = simulate(dataclasses.replace(built, disturbances=happens), assignor, observe=photograph)
    assert photograph.captured is not None
    [last] = [each for each in went_on.rounds if each.at_ms < at_ms <= each.until_ms]
    due_ms = None if last.followup_delay_ms is None else last.at_ms + last.followup_delay_ms - at_ms
    found = dataclasses.replace(photograph.captured, disturbances=(event,), next_rebalance_ms=due_ms)
    trace = simulate(found, assignor, observe=InvariantChecker(found))
    assert trace.rounds[0].number == INITIAL_ROUND
    assert trace.rounds[0].owner.tolist() == last.owner.tolist()
    assert trace.rounds[0].standby.tolist() == last.standby.tolist()
    assert told(trace, INITIAL_ROUND, 0) == told(went_on, last.number, at_ms)
    assert len(trace.rounds) > 1
    return trace


EVENTS: dict[str, Disturbance] = {
    "join": Join(0, ("later",)),
    "leave": Leave(0, ("c1",)),
    "crash": Crash(0, ("c2", "late"), 20 * MINUTE, False),
    "bounce": RollingBounce(0, ("c0", "c3"), 2 * MINUTE, MINUTE),
}
CASES = [
    ("high_availability", "none"),
    ("high_availability", "min_traffic"),
    ("sticky_task_assignor", "balance_subtopology"),
    ("legacy_sticky", "none"),
    ("streams_group_sticky", "none"),
]
CLASSIC, STREAMS = GroupProtocol


def settled(built: World, assignor: str) -> int:
    """When hearts beat long after a run has come to rest: from the last assignment on, or, in streams, always."""
    [*_, last] = simulate(
        dataclasses.replace(built, disturbances=(LATE,)), registry.make(registry.find(assignor))
    ).rounds
    assert last.at_ms < 2 * HOUR
    return last.at_ms + HOUR if built.application.group_configs.protocol is CLASSIC else 2 * HOUR


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("protocol", GroupProtocol)
@pytest.mark.parametrize(("assignor", "strategy"), CASES)
def test_a_group_that_has_settled_goes_on_alike(
    assignor: str, strategy: str, protocol: GroupProtocol, event: str
) -> None:
    built = base(protocol, standbys=1, strategy=strategy)
    compare(built, assignor, EVENTS[event], settled(built, assignor))


@pytest.mark.parametrize("standbys", [0, 2])
def test_so_does_one_that_is_probing_whether_copies_on_disk_and_warm_ups_have_caught_up(standbys: int) -> None:
    built = base(CLASSIC, standbys=standbys)
    trace = compare(built, "high_availability", EVENTS["crash"], 5 * MINUTE + 3 * SECOND)
    assert trace.rounds[0].followup_delay_ms is not None


@pytest.mark.parametrize("protocol", GroupProtocol)
def test_so_does_one_whose_changelogs_are_empty_and_whose_members_are_static(protocol: GroupProtocol) -> None:
    built = with_clients(base(protocol, standbys=1, empty=True), is_static=True)
    for event in ("bounce", "leave"):
        compare(built, "sticky_task_assignor", EVENTS[event], settled(built, "sticky_task_assignor"))


def found(*clients: HeldTasks, **changes: Any) -> World:
    """The small world, in which its clients have these tasks."""
    small = world(num_clients=len(clients), start=Start.RUNNING, **changes)
    held = tuple(dataclasses.replace(each, tasks=of) for each, of in zip(small.clients, clients, strict=True))
    return dataclasses.replace(small, clients=held)


def ids(*names: str) -> tuple[TaskId, ...]:
    return tuple(map(TaskId.parse, names))


STATELESS = tuple(TaskId(0, partition) for partition in range(12))
HALVES = (
    HeldTasks((STATELESS[:6], ids("1_0", "1_1", "1_2")), ((), ids("1_3"))),
    HeldTasks((STATELESS[6:], ids("1_3", "1_4", "1_5")), ((), ids("1_0"))),
)


@pytest.mark.parametrize("protocol", GroupProtocol)
def test_a_group_that_nothing_happens_to_stays_as_it_was_found(protocol: GroupProtocol) -> None:
    trace = run(with_group(found(*HALVES), protocol=protocol))
    [only] = trace.rounds
    assert (only.number, only.at_ms, only.reason) == (INITIAL_ROUND, 0, "initial state")
    assert (only.restoring, only.warming_up, only.reconciled_at_ms) == (0, 0, 0)
    verdict = convergence(trace)
    assert (verdict.verdict, verdict.round) == (Verdict.STABLE, INITIAL_ROUND)
    assert (verdict.rebalances, verdict.time_to_converge_ms) == (0, 0)
    assert (trace.downtime_ms == 0).all()
    assert trace.final_totals.restored_bytes == 0
    assert trace.describe_task("1_3") == ["0 s, round 0 (initial state): runs on c1, standby on c0"]


def test_what_was_found_is_measured_and_is_no_rebalance() -> None:
    tables = tabulate(run(found(*HALVES)), "some", 1)
    [before], [total] = tables["rounds"].to_pylist(), tables["runs"].to_pylist()
    assert (total["rebalances"], total["active_moves"], total["verdict_round"]) == (0, 0, INITIAL_ROUND)
    assert (before["round"], before["members"], before["standbys"]) == (INITIAL_ROUND, 2, 2)
    assert before["total_cost"] == before["cross_rack_source_partitions"] + before["cross_rack_standby_partitions"]
    assert before["cross_rack_bytes"] == pytest.approx(before["cross_rack_bytes_per_s"] * 12 * HOUR / 1000)
    assert before["cross_rack_bytes"] > 0
    assert [row["from_round"] for row in tables["clients"].to_pylist()] == [INITIAL_ROUND, INITIAL_ROUND]
    assert len(tables["assignments"]) == 18 + 2


def test_what_was_found_is_told_as_the_reason_of_where_it_is_and_of_later_moves() -> None:
    left = dataclasses.replace(found(*HALVES), disturbances=(Leave(HOUR, ("c1",)),))
    question = ExplanationRequest((TaskId(1, 0), TaskId(1, 3)), break_evens=False)
    rows = tabulate(simulate(left, HighAvailability(), explain=question), "some", 1)["reasons"].to_pylist()
    assert [
        (row["task"], row["role"], row["to_client"], row["kind"]) for row in rows if row["round"] == INITIAL_ROUND
    ] == [
        ("1_0", "active", "c0", "there"),
        ("1_3", "active", "c1", "there"),
        ("1_0", "standby", "c1", "there"),
        ("1_3", "standby", "c0", "there"),
    ]
    later = [(row["task"], row["from_client"]) for row in rows if row["round"] == 1 and row["step"] == 1]
    assert later == [("1_3", "c1")], "what stays has no reason to be told"


def test_copies_are_where_their_lags_say() -> None:
    first = dataclasses.replace(HALVES[0], lags={TaskId(1, 0): 1_000, TaskId(1, 3): 100_000, TaskId(1, 5): 600_000})
    lags = []

    def look(execution: Execution) -> None:
        lags.append(execution.restoration.lags(np.arange(2), execution.running)[12:].tolist())
        lags.append(execution.restoration.holds_copy(np.arange(2))[12:].tolist())

    trace = simulate(found(first, HALVES[1]), registry.make(registry.find("high_availability")), observe=look)
    assert lags[0] == [[1_000, 0], [-2, 600_000], [-2, 600_000], [100_000, -2], [600_000, -2], [600_000, -2]]
    assert lags[1] == [[True, True], [True, False], [True, False], [True, True], [False, True], [True, True]]
    assert trace.rounds[0].restoring == 1, "1_0 runs once it has read 1,000 records"
    assert trace.rounds[0].warming_up == 1
    assert GIGABYTES > trace.final_totals.restored_bytes > 0
    assert trace.task_states.describe(12)[-1] == "0.101 s: running on c0"


def test_a_rebalance_that_was_asked_for_before_comes_when_it_is_due() -> None:
    due = run(found(*HALVES, next_rebalance_ms=8 * MINUTE))
    assert [(each.number, each.requested_at_ms, each.reason) for each in due.rounds[:2]] == [
        (INITIAL_ROUND, 0, "initial state"),
        (1, 8 * MINUTE, "follow-up"),
    ]
    assert due.rounds[0].followup_delay_ms == 8 * MINUTE
    probing = run(found(*HALVES, next_rebalance_ms=13 * HOUR))
    assert convergence(probing).verdict is Verdict.PROBING


def test_a_task_that_nobody_runs_is_down_until_a_rebalance() -> None:
    less = HeldTasks((STATELESS[:6], ids("1_0", "1_1")), HALVES[0].standby)
    trace = run(found(less, HALVES[1]), Leave(HOUR, ("c1",)))
    assert trace.rounds[0].restoring == 1
    assert trace.downtime_ms[14] >= HOUR
    assert (trace.rounds[-1].owner == 0).all()


def test_one_who_was_there_is_missed_when_it_crashes_and_joins_as_another_start_of_itself() -> None:
    trace = run(found(*HALVES), Crash(SECOND, ("c1",), 10 * MINUTE))
    assert (trace.rounds[1].reason, trace.rounds[1].requested_at_ms) == ("c1: session timed out", 45 * SECOND)
    assert "c1 joined" in [each.reason for each in trace.rounds]


def test_without_anybody_there_the_group_begins_when_somebody_joins() -> None:
    nobody = with_clients(with_late(world(num_clients=0), "late"), starts=False)
    trace = run(dataclasses.replace(nobody, start=Start.RUNNING), Join(HOUR, ("late",)))
    assert [each.number for each in trace.rounds] == [1]


def test_a_static_member_that_bounces_calls_for_no_rebalance_after_a_running_start() -> None:
    static = with_clients(found(*HALVES), is_static=True)
    trace = run(static, Crash(MINUTE, ("c1",), 5 * SECOND))
    assert [each.reason for each in trace.rounds] == ["initial state"]
    assert 6 * SECOND >= trace.downtime_ms.max() >= 5 * SECOND
