"""Partitions without a live leader are not processed, restored or read, and outages are recorded."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from assignors.tasks.legacy_sticky import LegacySticky
from simulator.brokers.partition_locations import Unavailability
from simulator.flows.task_states import TaskState
from simulator.flows.traffic import TrafficKind
from simulator.results.tabulation import tabulate
from simulator.results.trace import Trace
from simulator.world.changes import Disk, Disturbance
from simulator.world.disturbances import BrokerLoss, Crash, Join
from simulator.world.world import NO_LEADER, World
from tests.simulator.small_world_runs import run
from tests.simulator.world_builders import HOUR, MINUTE, topic, with_configs, with_late_clients, world

CHANGELOG = "app-counts-changelog"
VIEWS = 12
"""The row of task 1_0: it reads views-0 and writes app-counts-changelog-0, both led by broker 0."""


def with_topic(base: World, name: str, **changes: object) -> World:
    topics = {**base.cluster.topics, name: dataclasses.replace(base.cluster.topics[name], **changes)}  # type: ignore[arg-type]
    return dataclasses.replace(base, cluster=dataclasses.replace(base.cluster, topics=topics))


def with_single_replicas(base: World) -> World:
    """Return the world with a changelog with one replica: partition p is on broker p only."""
    changelog = topic(CHANGELOG, 6, 1, rate=100_000, size=600_000_000)
    return with_topic(base, CHANGELOG, **{key: getattr(changelog, key) for key in ("replicas", "leaders")})


def outages(trace: Trace) -> list[tuple[str, str, float, float]]:
    return [(str(o.partition), str(o.reason), o.from_ms / HOUR, o.until_ms / HOUR) for o in trace.outages]


def states(trace: Trace, task: int) -> list[tuple[int, TaskState]]:
    return [(steps.at_ms, steps.state) for steps in trace.task_states.transitions if task in steps.tasks]


def read_bytes(trace: Trace, kind: TrafficKind) -> float:
    return float(sum(round_.traffic[kind].sum() for round_ in trace.rounds))


def test_task_is_blocked_while_its_source_has_no_leader() -> None:
    trace = run(world(), BrokerLoss(HOUR, (0,), 2 * HOUR))
    assert trace.downtime_ms[VIEWS] == 2 * HOUR
    assert trace.max_processing_delay_s[VIEWS] == 2 * HOUR / 1000
    assert outages(trace) == [("views-0", "no_leader", 1, 3)]
    assert (trace.downtime_ms[np.arange(18) != VIEWS] == 0).all(), "clicks have another replica"
    steps = states(trace, VIEWS)[-2:]
    assert steps == [(HOUR, TaskState.BLOCKED), (3 * HOUR, TaskState.RUNNING)]


def test_lost_state_is_restored_once_the_changelog_has_a_leader() -> None:
    base = with_single_replicas(world(2))
    crash = Crash(HOUR + 20 * MINUTE, ("c0", "c1"), 1 * MINUTE, disk=Disk.LOST)
    trace = run(base, BrokerLoss(HOUR, (0,), 2 * HOUR), crash)
    [running_at_ms] = [
        at_ms for at_ms, state in states(trace, VIEWS) if state is TaskState.RUNNING and at_ms > 2 * HOUR
    ]
    written_s = (HOUR - trace.rounds[0].at_ms) / 1000
    restored_s = (600_000_000 + written_s * 100_000) / 10_000_000
    assert running_at_ms == 3 * HOUR + restored_s * 1000, "600 MB, and what was written before the outage, at 10 MB/s"
    assert trace.downtime_ms[VIEWS] == running_at_ms - HOUR
    without = run(base, crash)
    assert read_bytes(trace, TrafficKind.RESTORE_READ) == pytest.approx(
        read_bytes(without, TrafficKind.RESTORE_READ) - 20 * 60 * 100_000
    ), "nothing was written in the twenty minutes before the crash"


def test_caught_up_copy_needs_a_changelog_leader_to_run() -> None:
    """Kafka Streams asks the leader for the end offset before it ends a restoration."""
    base = with_single_replicas(world(2))
    trace = run(
        base, BrokerLoss(HOUR, (0,), 2 * HOUR), Crash(HOUR + 20 * MINUTE, ("c0", "c1"), 1 * MINUTE, disk=Disk.KEPT)
    )
    assert [state for at_ms, state in states(trace, VIEWS) if HOUR + 20 * MINUTE < at_ms < 3 * HOUR][-1:] == [
        TaskState.RESTORING
    ]
    assert (3 * HOUR, TaskState.RUNNING) in states(trace, VIEWS)
    assert trace.downtime_ms[VIEWS] == 2 * HOUR


def test_standbys_wait_for_a_changelog_leader() -> None:
    base = with_configs(with_single_replicas(world(2)), num_standby_replicas=1)
    lost = Crash(HOUR + 20 * MINUTE, ("c1",), 1 * MINUTE, disk=Disk.LOST)
    trace = run(base, BrokerLoss(HOUR, (0,), 2 * HOUR), lost)
    # Six tasks with 600 MB and an hour of writes; the changelog on broker 0 is read from 3:00 on.
    assert read_bytes(trace, TrafficKind.RESTORE_READ) + read_bytes(trace, TrafficKind.WARMUP_READ) > 6 * 600_000_000
    never = run(base, BrokerLoss(HOUR, (0,)), lost)
    missing = trace.final_totals.restored_bytes - never.final_totals.restored_bytes
    # The changelog at the time of the loss, and what the task writes when it processes the backlog of two hours.
    assert missing == pytest.approx(600_000_000 + 3 * 3_600 * 100_000, rel=0.02)


@pytest.mark.parametrize(("min_insync", "acks_all", "downtime_ms"), [(1, True, 0), (2, True, 2 * HOUR), (2, False, 0)])
def test_changelog_with_too_few_in_sync_replicas_rejects_writes(
    min_insync: int, acks_all: bool, downtime_ms: int
) -> None:
    base = with_topic(world(), CHANGELOG, min_insync_replicas=min_insync)
    application = dataclasses.replace(base.application, acks_all=acks_all)
    trace = run(dataclasses.replace(base, application=application), BrokerLoss(HOUR, (1,), 2 * HOUR))
    on_broker_1 = [row for row in range(12, 18) if 1 in base.cluster.topics[CHANGELOG].replicas[row - 12]]
    assert trace.downtime_ms[on_broker_1].tolist() == [downtime_ms, 2 * HOUR], "views-1 has no other replica"
    outages_of_changelog = [outage for outage in trace.outages if outage.reason is Unavailability.TOO_FEW_IN_SYNC]
    assert [str(outage.partition) for outage in outages_of_changelog] == (
        [f"{CHANGELOG}-0", f"{CHANGELOG}-1"] if downtime_ms else []
    )


def test_min_insync_replicas_does_not_apply_to_source_topics() -> None:
    trace = run(with_topic(world(), "clicks", min_insync_replicas=2), BrokerLoss(HOUR, (0,), 2 * HOUR))
    assert [str(outage.partition) for outage in trace.outages] == ["views-0"]
    assert not trace.downtime_ms[:12].any()


def test_task_is_blocked_while_a_partition_of_its_output_rejects_writes() -> None:
    base = world()
    topics = {**base.cluster.topics, "out": topic("out", 2, 1, rate=1_000)}
    parts = (
        dataclasses.replace(base.application.subtopologies[0], written_topics=("out",)),
        *base.application.subtopologies[1:],
    )
    base = dataclasses.replace(
        base,
        cluster=dataclasses.replace(base.cluster, topics=topics),
        application=dataclasses.replace(base.application, subtopologies=parts),
    )
    trace = run(base, BrokerLoss(HOUR, (1,), 2 * HOUR))
    assert (trace.downtime_ms[:12] == 2 * HOUR).all()
    assert outages(trace) == [("out-1", "no_leader", 1, 3), ("views-1", "no_leader", 1, 3)]


@pytest.mark.parametrize(("unclean", "until"), [(False, 4), (True, 3)])
def test_only_the_last_in_sync_replica_may_lead_unless_elections_are_unclean(unclean: bool, until: int) -> None:
    """Broker 0 of clicks-0 fails first and returns before broker 1, which was the only in-sync replica."""
    base = with_topic(world(), "clicks", unclean_leader_election=unclean)
    first, second = BrokerLoss(HOUR, (0,), 2 * HOUR), BrokerLoss(2 * HOUR, (1,), 2 * HOUR)
    assert ("clicks-0", "no_leader", 2, until) in outages(run(base, first, second))


def test_partition_without_initial_leader_is_unavailable_from_the_start() -> None:
    leaders = (NO_LEADER, *world().cluster.topics["views"].leaders[1:])
    trace = run(with_topic(world(), "views", leaders=leaders))
    assert outages(trace) == [("views-0", "no_leader", 0, 12)]
    assert trace.downtime_ms[VIEWS] == trace.world.duration_ms - trace.rounds[0].at_ms


def test_replicas_out_of_sync_at_the_start_are_not_elected() -> None:
    base = with_topic(world(), "clicks", in_sync=tuple((row[0],) for row in world().cluster.topics["clicks"].replicas))
    trace = run(base, BrokerLoss(HOUR, (0,), 2 * HOUR))
    assert outages(trace) == [(f"{name}", "no_leader", 1, 3) for name in ("clicks-0", "clicks-6", "views-0")]


def test_outages_are_recorded_and_their_partitions_counted_once() -> None:
    trace = run(world(), BrokerLoss(HOUR, (0,), 2 * HOUR), BrokerLoss(5 * HOUR, (0,)))
    tables = tabulate(trace, "HA", 1)
    rows = tables["unavailable_partitions"].to_pylist()
    assert [(row["topic"], row["partition"], row["reason"], row["from_ms"], row["until_ms"]) for row in rows] == [
        ("views", 0, "no_leader", HOUR, 3 * HOUR),
        ("views", 0, "no_leader", 5 * HOUR, 12 * HOUR),
    ]
    [totals] = tables["runs"].to_pylist()
    assert (totals["unavailable_partitions"], totals["worst_unavailable_ms"]) == (1, 9 * HOUR)


def scale_out(base: World, *disturbances: Disturbance) -> Trace:
    """Run two clients with single-replica changelogs, and a third client that joins at 2:00."""
    base = with_late_clients(with_configs(with_single_replicas(base), acceptable_recovery_lag=0), "late", rack="az3")
    return run(base, Join(2 * HOUR, ("late",)), *disturbances)


def test_leader_without_end_offsets_keeps_the_assignment_and_probes() -> None:
    """In Kafka, the admin client retries for a minute; then `FallbackPriorTaskAssignor` assigns."""
    usual, cut_off = scale_out(world(2)), scale_out(world(2), BrokerLoss(HOUR, (0,), 2 * HOUR))
    first, second = cut_off.rounds[:2]
    assert second.at_ms == usual.rounds[1].at_ms + 60_000
    stateful = np.arange(12, 18)
    assert (second.owner[stateful] == first.owner[stateful]).all()
    assert second.followup_delay_ms == cut_off.world.application.assignment_configs.probing_rebalance_interval_ms
    assert (usual.rounds[1].standby[:, 1] == 2).any(), "with all end offsets, the new client warms up"
    assert not len(second.standby)
    assert (cut_off.rounds[-1].owner == 2).any(), "the new client gets tasks once the broker returns"


def test_leader_assigns_when_end_offsets_arrive_in_time() -> None:
    usual = scale_out(world(2))
    back = scale_out(world(2), BrokerLoss(HOUR, (0,), HOUR + 20_000))
    assert back.rounds[1].at_ms <= usual.rounds[1].at_ms + 20_000
    assert np.array_equal(back.rounds[1].owner, usual.rounds[1].owner)


def test_legacy_sticky_assignor_assigns_without_end_offsets() -> None:
    base = with_late_clients(with_single_replicas(world(2)), "late", rack="az3")
    trace = run(base, Join(2 * HOUR, ("late",)), BrokerLoss(HOUR, (0,), 2 * HOUR), assignor=LegacySticky())
    assert (trace.rounds[1].owner[12:] == 2).any(), "createTaskAssignor: 'whether or not lag computation failed'"


def test_changelog_without_leader_is_the_blocking_cause_of_probing() -> None:
    usual = scale_out(world(2))
    warming_task = int(usual.rounds[1].standby[0, 0])
    lost = scale_out(world(2), BrokerLoss(usual.rounds[1].at_ms, (warming_task - 12,)))
    assert lost.blocking_cause == f"the group leader cannot compute lags: {CHANGELOG}-{warming_task - 12} has no leader"
