"""Members of a streams group report the offsets of their copies, with clients and brokers of Kafka 4.4."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.model.assignment import UNASSIGNED
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from scenarios.load import loads
from scenarios.run import run as run_scenario
from simulator.processes.run_options import RunOptions
from simulator.processes.simulation import simulate
from simulator.results.trace import CapturedRound, Trace
from simulator.world.changes import Disk, Disturbance
from simulator.world.disturbances import Crash, Join, Leave, ReplaceThread, RollingBounce
from simulator.world.world import OffsetReports, Start, World
from tests.simulator.small_world_runs import with_streams_protocol
from tests.simulator.world_builders import (
    HOUR,
    MINUTE,
    with_clients,
    with_configs,
    with_group,
    with_late_clients,
    world,
)

REPORTS = {"reports_task_offsets": True, "task_offset_interval_ms": MINUTE}


def reporting(*events: Disturbance, **configs: object) -> World:
    base = with_configs(with_late_clients(world(), "late", "later"), num_standby_replicas=1)
    return dataclasses.replace(
        with_streams_protocol(base, **{**REPORTS, **configs}), disturbances=events, duration_ms=4 * HOUR
    )


def run(base: World) -> Trace:
    return simulate(base, StreamsGroupSticky(), options=RunOptions(capture=True))


def _first_from(trace: Trace, at_ms: int) -> CapturedRound:
    return next(captured for captured in trace.captured_rounds if captured.round.at_ms >= at_ms)


def answers(trace: Trace) -> list[tuple[list[int], list[list[int]]]]:
    return [(round_.owner.tolist(), round_.standby.tolist()) for round_ in trace.rounds]


@pytest.mark.parametrize(
    "configs", [{"reports_task_offsets": False}, {"task_offset_interval_ms": None}], ids=["clients", "brokers"]
)
def test_older_clients_and_older_brokers_leave_the_assignor_without_offsets(configs: dict[str, object]) -> None:
    trace = run(reporting(Join(HOUR, ("late",)), **configs))
    assert len(trace.captured_rounds) > 1
    assert all(not captured.state.thread_offsets for captured in trace.captured_rounds)


def test_each_thread_reports_the_copies_of_its_client_except_the_tasks_that_it_runs() -> None:
    trace = run(reporting(Join(2 * HOUR, ("late",))))
    before, captured = trace.rounds[0], trace.captured_rounds[1]
    state, ids = captured.state, trace.layout.tasks.ids
    for column, row in enumerate(captured.round.members.tolist()):
        name = trace.world.clients[row].name
        if name == "late":
            continue
        held = {ids[task] for task, client in before.standby.tolist() if client == row}
        active = {
            ids[task] for task in np.flatnonzero(before.owner == row).tolist() if trace.layout.tasks.stateful[task]
        }
        for thread, offsets in enumerate(state.thread_offsets[column]):
            own = {
                ids[task]
                for task in np.flatnonzero(before.owner == row).tolist()
                if before.owner_thread[task] == thread
            }
            assert set(offsets) == held | (active - own), (name, thread)
            assert all(600_000 <= offset < 600_000 + 100 * 2 * HOUR // 1000 for offset in offsets.values())
        assert state.task_offsets[column].keys() >= held


def test_offsets_are_those_of_the_last_report_and_no_older_than_its_interval() -> None:
    shares = []
    for interval_ms in (15_000, 10 * MINUTE):
        trace = run(reporting(Join(2 * HOUR, ("late",)), task_offset_interval_ms=interval_ms))
        [*_, captured] = trace.captured_rounds
        end_records = 600_000 + 100 * captured.round.at_ms / 1000
        offsets = [
            n for of_client in captured.state.thread_offsets for reported in of_client for n in reported.values()
        ]
        assert offsets
        ages_ms = [(end_records - offset) / 100 * 1000 for offset in offsets]
        assert min(ages_ms) >= -1_000
        assert max(ages_ms) <= interval_ms + 6_000
        shares.append(max(ages_ms))
    assert shares[1] > shares[0] + MINUTE, "a longer interval makes reports older"


def test_client_that_never_reports_has_no_offsets() -> None:
    base = with_clients(reporting(Join(HOUR, ("late",))), reports=OffsetReports.NEVER)
    assert all(not captured.state.thread_offsets for captured in run(base).captured_rounds)


def test_returning_client_reports_the_copies_on_its_disk() -> None:
    trace = run(reporting(RollingBounce(HOUR, ("c1",), 2 * MINUTE, 0)))
    row = 1
    held = {task for task, client in trace.rounds[0].standby.tolist() if client == row}
    held |= set(np.flatnonzero((trace.rounds[0].owner == row) & trace.layout.tasks.stateful).tolist())
    back = _first_from(trace, HOUR + 2 * MINUTE)
    column = back.round.members.tolist().index(row)
    reported = set(back.state.task_offsets[column])
    assert reported == {trace.layout.tasks.ids[task] for task in held}
    assert reported
    without_disk = run(reporting(RollingBounce(HOUR, ("c1",), 2 * MINUTE, 0, disk=Disk.LOST)))
    lost = _first_from(without_disk, HOUR + 2 * MINUTE)
    assert not lost.state.task_offsets[lost.round.members.tolist().index(row)]


def test_crashed_member_keeps_its_last_report_until_its_session_times_out() -> None:
    trace = run(reporting(Crash(HOUR, ("c1",), None), Join(HOUR + 10_000, ("late",))))
    joined, removed = trace.captured_rounds[1], trace.captured_rounds[-1]
    assert 1 in joined.round.members.tolist()
    assert 1 not in removed.round.members.tolist()
    assert joined.state.task_offsets[joined.round.members.tolist().index(1)]


EVENTS = (
    Join(HOUR, ("late", "later"), MINUTE),
    Crash(HOUR + 7_000, ("c0",), 3 * MINUTE),
    Leave(HOUR + 20_000, ("c2",)),
    RollingBounce(HOUR + 9_000, ("c1", "c3"), 90_000, MINUTE),
    ReplaceThread(HOUR + 31_000, ("c3",)),
)


@settings(max_examples=5)
@given(
    events=st.lists(st.sampled_from(EVENTS), unique=True, max_size=4),
    interval_ms=st.sampled_from((1, 15_000, 61_000)),
    start=st.sampled_from((Start.WARM, Start.COLD)),
)
def test_reports_are_of_copies_that_exist_and_never_ahead_of_them(
    events: list[Disturbance], interval_ms: int, start: Start
) -> None:
    base = dataclasses.replace(reporting(*events, task_offset_interval_ms=interval_ms), start=start)
    trace = run(base)
    for captured in trace.captured_rounds:
        end_records = 600_000 + 100 * captured.round.at_ms / 1000 + 1
        for of_client, largest in zip(captured.state.thread_offsets, captured.state.task_offsets, strict=True):
            assert all(0 <= offset <= end_records for offset in largest.values())
            assert all(largest[task] - n >= 0 for offsets in of_client for task, n in offsets.items())
    without = simulate(
        with_group(base, reports_task_offsets=False),
        StreamsGroupSticky(release="4.3"),
        options=RunOptions(capture=True),
    )
    ignored = simulate(base, StreamsGroupSticky(release="4.3"), options=RunOptions(capture=True))
    assert answers(without) == answers(ignored), "Kafka 4.3 ignores offsets"
    assert all((round_.owner != UNASSIGNED).all() for round_ in trace.rounds[-1:])
    assert all(first.at_ms <= second.at_ms for first, second in pairwise(trace.rounds))


@pytest.mark.parametrize("seed", range(5))
def test_group_that_runs_at_the_start_has_reported_its_dormant_copies(seed: int) -> None:
    """Reports from before the start count, whatever their phase (observed on brokers and clients of 4.4.0)."""
    text = f"""
        cluster:
          kafka: "4.4"
          brokers: {{count: 3, racks: [a, b, c]}}
          topics: [{{name: orders, partitions: 6, bytes_per_s: 0, size: 10 MB}}]
        application:
          id: app
          kafka: "4.4"
          starts: running
          configs: {{group.protocol: streams}}
          subtopologies: [{{sources: [orders], stores: [{{name: totals, size: 1 MB, record_size: 100}}]}}]
        clients:
          - {{name: one, tasks: {{active: [0_0, 0_1], lags: {{0_2: 0, 0_4: 0}}}}}}
          - {{name: two, tasks: {{active: [0_2, 0_3], lags: {{0_0: 0, 0_5: 0}}}}}}
          - {{name: gone, tasks: {{active: [0_4, 0_5]}}}}
        events: [{{at: 1s, leave: {{clients: gone}}}}]
        assignors: [streams_group_sticky]
        seeds: [{seed}]
        duration: 1m
    """
    trace = run_scenario(loads(text, "running"), "streams_group_sticky", seed=seed, options=RunOptions(capture=True))
    first = trace.captured_rounds[0]
    name_of = {client.process_id: client.name for client in trace.world.clients}
    names = [name_of[process] for process in first.state.clients.ids]
    reported = {
        name: {str(task) for task in offsets} for name, offsets in zip(names, first.state.task_offsets, strict=True)
    }
    assert reported == {"one": {"0_2", "0_4"}, "two": {"0_0", "0_5"}}
    owner = dict(zip(map(str, first.state.tasks.ids), first.columns.active.tolist(), strict=True))
    assert (names[owner["0_4"]], names[owner["0_5"]]) == ("one", "two")
