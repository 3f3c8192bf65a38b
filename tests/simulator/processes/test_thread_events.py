"""Stream threads that are replaced, added and removed while their client goes on."""

from __future__ import annotations

import dataclasses

import pytest

from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from simulator.results.convergence import Verdict, convergence
from simulator.results.trace import Trace
from simulator.world.changes import Disk
from simulator.world.disturbances import Crash, ReplaceThread, RollingBounce, StreamThreads
from simulator.world.group_configs import EndedThreads, GroupConfigs, GroupProtocol, StateConfigs
from simulator.world.leave_on_close import leaves_when_removed, leaves_when_replaced, num_thread_numbers
from simulator.world.world import ClientTimes, World
from tests.simulator.small_world_runs import SECOND, run, with_streams_protocol
from tests.simulator.world_builders import HOUR, MINUTE, with_clients, with_group, world

UNSUBSCRIBE, IF_CLOSE_LEAVES, CLOSE_OPERATION = EndedThreads


def takeover_ms(trace: Trace) -> int:
    """Return the time from the hour until all tasks run again."""
    return int(trace.downtime_ms.max())


def slots_of(trace: Trace, client: int) -> set[int]:
    """Return the threads of a client that have active tasks at the end."""
    last = trace.rounds[-1]
    return set(last.owner_thread[last.owner == client].tolist())


@pytest.mark.parametrize("seed", range(4))
def test_replaced_thread_takes_over_at_once_if_the_dead_one_leaves(seed: int) -> None:
    base = dataclasses.replace(with_group(with_clients(world(1), threads=1), ended_threads=UNSUBSCRIBE), seed=seed)
    trace = run(base, ReplaceThread(HOUR, ("c0",)))
    assert takeover_ms(trace) < SECOND, "users report less than a second with 3.9"
    assert slots_of(trace, 0) == {1}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ended_threads", [IF_CLOSE_LEAVES, CLOSE_OPERATION])
def test_replaced_thread_waits_for_the_session_of_a_dead_one_that_stays(ended_threads: EndedThreads, seed: int) -> None:
    base = dataclasses.replace(with_group(with_clients(world(1), threads=1), ended_threads=ended_threads), seed=seed)
    trace = run(base, ReplaceThread(HOUR, ("c0",)))
    assert 42 * SECOND <= takeover_ms(trace) <= 45 * SECOND, "users report 42.7 s with 4.1.2"
    assert len([round_ for round_ in trace.rounds if round_.at_ms >= HOUR]) == 1
    assert convergence(trace).verdict is Verdict.STABLE


@pytest.mark.parametrize("event", [ReplaceThread(HOUR + SECOND, ("c0",)), StreamThreads(HOUR + SECOND, ("c0",), 3)])
def test_threads_of_a_client_that_is_starting_change_when_it_has_joined(event: ReplaceThread | StreamThreads) -> None:
    base = with_clients(world(2), threads=1)
    base = dataclasses.replace(
        base, application=dataclasses.replace(base.application, times=ClientTimes(10 * SECOND, 70, 250, 30, 2.0))
    )
    bounce = RollingBounce(HOUR - SECOND, ("c0",), SECOND, 0)
    trace = run(base, bounce, event)
    assert slots_of(trace, 0) == ({1} if isinstance(event, ReplaceThread) else {0, 1, 2})


def test_other_threads_keep_their_tasks_while_a_dead_one_blocks_the_rebalance() -> None:
    trace = run(with_clients(world(2), threads=3), ReplaceThread(HOUR, ("c1",)))
    first = trace.rounds[0]
    lost = (first.owner == 1) & (first.owner_thread == 0)
    assert (trace.downtime_ms[lost] >= 40 * SECOND).all()
    assert (trace.downtime_ms[~lost] <= 10 * SECOND).all()


def test_exactly_once_state_of_a_thread_that_died_is_restored_again() -> None:
    base = with_clients(world(1), threads=1)
    for exactly_once, transactional in ((False, False), (True, False), (True, True)):
        configs = StateConfigs(exactly_once=exactly_once, transactional=transactional)
        application = dataclasses.replace(base.application, state_configs=configs)
        trace = run(dataclasses.replace(base, application=application), ReplaceThread(HOUR, ("c0",)))
        assert (trace.final_totals.restored_again_bytes > 1e9) is (exactly_once and not transactional)


def test_streams_group_replaces_a_thread_without_a_timeout() -> None:
    base = with_streams_protocol(with_clients(world(2), threads=2))
    trace = run(base, ReplaceThread(HOUR, ("c1",)), assignor=StreamsGroupSticky())
    assert takeover_ms(trace) <= 12 * SECOND
    assert 0 not in slots_of(trace, 1)


def test_threads_are_added_and_removed() -> None:
    base = with_clients(world(2), threads=2)
    more = run(base, StreamThreads(HOUR, ("c0",), 4))
    assert slots_of(more, 0) == {0, 1, 2, 3}
    counts = [(more.rounds[-1].owner == client).sum() for client in (0, 1)]
    assert counts[0] > counts[1], "tasks are balanced per thread"
    fewer = run(base, StreamThreads(HOUR, ("c0",), 4), StreamThreads(3 * HOUR, ("c0",), 1))
    assert slots_of(fewer, 0) == {3}, "the oldest threads are removed first"
    assert [round_.reason for round_ in fewer.rounds if round_.requested_at_ms == 3 * HOUR] == ["c0 left"]
    restarted = run(base, StreamThreads(HOUR, ("c0",), 4), RollingBounce(3 * HOUR, ("c0",), 2 * MINUTE, 0))
    assert slots_of(restarted, 0) == {0, 1}, "num.stream.threads applies after a restart"


def test_same_number_of_threads_changes_nothing() -> None:
    trace = run(world(2), StreamThreads(HOUR, ("c0", "c1"), 2))
    assert len(trace.rounds) == 1


def test_removed_thread_that_stays_in_the_group_times_out() -> None:
    base = with_group(with_clients(world(2), threads=2), ended_threads=IF_CLOSE_LEAVES)
    trace = run(base, StreamThreads(HOUR, ("c0",), 1))
    [after, *_] = [round_ for round_ in trace.rounds if round_.at_ms >= HOUR]
    assert after.reason == "c0: session timed out"
    leaving = run(with_group(base, leave_group_on_close=True), StreamThreads(HOUR, ("c0",), 1))
    assert leaving.rounds[1].requested_at_ms == HOUR


def test_events_of_threads_are_ignored_while_the_client_is_down() -> None:
    down = Crash(HOUR, ("c0",), disk=Disk.KEPT)
    quiet = run(world(2), down)
    trace = run(world(2), down, ReplaceThread(HOUR + 1, ("c0",)), StreamThreads(HOUR + 2, ("c0",), 7))
    assert [round_.at_ms for round_ in trace.rounds] == [round_.at_ms for round_ in quiet.rounds]


RULES = [
    # ended threads, leave on close, static: replaced leaves, removed leaves
    (UNSUBSCRIBE, False, False, True, True),
    (UNSUBSCRIBE, False, True, False, True),
    (IF_CLOSE_LEAVES, False, False, False, False),
    (IF_CLOSE_LEAVES, True, False, True, True),
    (IF_CLOSE_LEAVES, True, True, False, True),
    (CLOSE_OPERATION, True, False, False, True),
    (CLOSE_OPERATION, False, True, False, True),
]


@pytest.mark.parametrize(("ended", "on_close", "is_static", "replaced", "removed"), RULES)
def test_rules_of_the_releases(
    ended: EndedThreads, on_close: bool, is_static: bool, replaced: bool, removed: bool
) -> None:
    configs = GroupConfigs(leave_group_on_close=on_close, ended_threads=ended)
    assert leaves_when_replaced(configs, is_static=is_static) is replaced
    assert leaves_when_removed(configs, is_static=is_static) is removed
    streams = dataclasses.replace(configs, protocol=GroupProtocol.STREAMS)
    assert leaves_when_replaced(streams, is_static=False)
    assert not leaves_when_replaced(streams, is_static=True)
    assert leaves_when_removed(streams, is_static=False)
    newest = dataclasses.replace(streams, can_remain_in_streams_group=True)
    assert not leaves_when_replaced(newest, is_static=False), "from Kafka 4.4 on"
    assert leaves_when_removed(newest, is_static=False)


def test_numbers_of_threads_cover_all_events() -> None:
    base: World = with_clients(world(3), threads=2)
    events = ReplaceThread(0, ("c0", "c2")), StreamThreads(1, ("c1", "c2"), 5), StreamThreads(2, ("c2",), 1)
    assert num_thread_numbers(dataclasses.replace(base, disturbances=events)) == [3, 5, 6]
